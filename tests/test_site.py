"""The built site as a reader opens it: in a browser, offline, wide and narrow, light and dark."""

import functools
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = sorted(str(p.relative_to(SITE)) for folder in ("book", "notebooks") for p in SITE.glob(f"{folder}/*.html"))

if not PAGES:
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)
if not BROWSER:
    pytest.skip(
        "no Chromium on this machine: install it, for instance with `apt-get install chromium`", allow_module_level=True
    )
playwright = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def browser():
    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=BROWSER, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server():
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def visit(browser, address, **context):
    """Open a page; return it and what went wrong on the way: requests that leave the site, errors, missing files."""
    home = "/".join(address.split("/")[:3])
    page = browser.new_context(**context).new_page()
    wrong = []
    page.on(
        "request", lambda r: r.url.startswith((home, "data:", "blob:")) or wrong.append(f"leaves the site: {r.url}")
    )
    page.on("requestfailed", lambda r: wrong.append(f"failed: {r.url}"))
    page.on("response", lambda r: r.status < 400 or wrong.append(f"{r.status}: {r.url}"))
    page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(f"console: {m.text}"))
    page.on("pageerror", lambda e: wrong.append(f"error: {e}"))
    page.goto(address, wait_until="networkidle")
    return page, wrong


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_complete_offline(browser, path):
    page, wrong = visit(browser, f"file://{SITE}/{path}")
    assert wrong == []
    if page.locator(".math").count():
        page.wait_for_selector("mjx-container", state="attached")
    for image in page.locator(".bd-article img").all():
        alt = image.get_attribute("alt") or ""
        assert len(alt) > 40 and "_images/" not in alt
        assert image.evaluate("i => { i.loading = 'eager'; return i.decode().then(() => i.naturalWidth) }") > 0
    page.context.close()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_narrow_screen(browser, server, path, scheme):
    page, wrong = visit(browser, f"{server}/{path}", viewport={"width": 400, "height": 800}, color_scheme=scheme)
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.context.close()


def test_the_front_door_leads_to_the_intro(browser, server):
    page, wrong = visit(browser, f"{server}/index.html")
    page.wait_for_url("**/book/intro.html")
    assert "Hardmax transformers, exactly" in page.title()
    assert not [w for w in wrong if not w.startswith("failed")]  # the redirect may cut a request short
    page.context.close()
