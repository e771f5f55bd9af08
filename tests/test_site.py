"""The built site as a reader opens it: in a browser, offline, wide and narrow, light and dark."""

import pytest
from browsing import PAGES, SITE, visit

if not PAGES:
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)


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
