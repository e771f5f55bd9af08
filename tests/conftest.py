"""The browser, and the built site on a server, for the tests that want them; large clouds of few tokens."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import BROWSER, FLAGS, PAGES, SITE
from clouds import every_cloud_is_large


@pytest.fixture
def no_size_is_small():
    with every_cloud_is_large():
        yield


@pytest.fixture(scope="session")
def browser():
    if not BROWSER:
        pytest.skip(
            "no Chromium on this machine: install it, for instance with `apt-get install chromium`"
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
