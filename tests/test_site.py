"""The built site as a reader opens it: in a browser, offline, wide and narrow, light and dark."""

import html
import re
import shutil
import subprocess
import tarfile

import pytest
from browsing import PAGES, SITE, visit
from bs4 import BeautifulSoup
from test_project import tool

from hmlib.live import links

if not PAGES:
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)
ADDRESS = tool("build_book").address()
CHAPTERS = [path for path in PAGES if path.startswith("notebooks/")]


@pytest.fixture(scope="module", params=PAGES)
def visited(browser, request):
    """A page from a file, opened once for all tests that look at it."""
    page, wrong = visit(browser, f"file://{SITE}/{request.param}")
    yield request.param, page, wrong
    page.context.close()


@pytest.fixture
def wide(visited):
    _, page, _ = visited
    page.set_viewport_size({"width": 1280, "height": 820})
    page.emulate_media(color_scheme="light")
    return visited


@pytest.fixture
def narrow(visited):
    """As a telephone shows it."""
    _, page, _ = visited
    page.set_viewport_size({"width": 400, "height": 800})
    return visited


def test_a_page_is_complete_offline(wide):
    _, page, wrong = wide
    assert wrong == []
    if page.locator(".math").count():
        page.wait_for_selector("mjx-container", state="attached")
    for image in page.locator(".bd-article img").all():
        alt = image.get_attribute("alt") or ""
        assert len(alt) > 40 and "_images/" not in alt
        assert (
            image.evaluate(
                "i => { i.loading = 'eager'; return i.decode().then(() => i.naturalWidth) }"
            )
            > 0
        )
    for picture in page.locator(".bd-article svg.picture:not(.strip)").all():
        assert len(picture.get_attribute("aria-label")) > 40
        assert picture.bounding_box()["width"] > 100
    assert page.locator(".bd-article img[src$='.svg']").count() == 0
    # What a cell draws takes the colours of the page; only what moves is a picture.
    assert page.locator(".cell_output img:not([src$='.gif'])").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_narrow_screen(narrow, scheme):
    _, page, wrong = narrow
    page.emulate_media(color_scheme=scheme)
    theme, left = "document.documentElement.dataset.theme", 100
    while (
        page.evaluate(theme) != scheme and left
    ):  # it may be told of it a little later
        page.wait_for_timeout(20)
        left -= 1
    assert page.evaluate(theme) == scheme
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    wide = "tables => tables.filter(t => t.scrollWidth > t.clientWidth + 1).length"
    assert page.eval_on_selector_all(".bd-article table.table", wide) == 0
    small = page.eval_on_selector_all("svg.picture:not(.strip)", SMALLEST_LETTERS)
    assert [name for name, size in small if size < 8.95] == []


# Of each figure its caption, and the pixels of its smallest letters, as it is shown.
SMALLEST_LETTERS = """pictures => pictures.map(whole => {
  const strips = [...whole.parentElement.querySelectorAll(":scope > svg.strip")];
  const shown = strips.length ? strips : [whole];
  const scales = shown.map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width);
  const letters = [...whole.querySelectorAll("text, tspan")].filter(t => t.textContent.trim());
  const sizes = letters.map(t => parseFloat(getComputedStyle(t).fontSize));
  const caption = whole.closest("figure")?.querySelector(".caption-number")?.textContent;
  return [caption ?? "no figure", Math.min(...sizes, 100) * Math.min(...scales)];
})"""


def test_the_front_door_leads_to_the_intro(browser, server):
    page, wrong = visit(browser, f"{server}/index.html")
    page.wait_for_url("**/book/intro.html")
    page.wait_for_function("document.title.includes('Hardmax transformers, exactly')")
    assert not [
        w for w in wrong if not w.startswith("failed")
    ]  # the redirect may cut a request short
    page.context.close()


@pytest.mark.parametrize("word", ["__proto__", "constructor", "tostring", "hull"])
def test_the_search_finds_pages_or_nothing(browser, server, word):
    """Bug: what every object has was taken for a word of the index, and led to undefined.html, or to no answer at all."""
    page, wrong = visit(browser, f"{server}/search.html?q={word}")
    page.wait_for_function(
        "/found|did not match/i.test(document.querySelector('#search-results').textContent)"
    )
    links = page.eval_on_selector_all(
        "#search-results li a", "links => links.map(a => a.getAttribute('href'))"
    )
    assert wrong == []
    assert all((SITE / re.split("[?#]", link)[0]).is_file() for link in links)
    assert links or word != "hull"
    page.context.close()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("S(K)", "02_convergence.html#def-S"),
        ("Theorem 2.6", "02_convergence.html#thm-clustering"),
        ("leader", "03_leaders.html#def-leader"),
        ("Leaders are frozen", "03_leaders.html#lem-frozen"),
    ],
)
def test_the_search_knows_boxes_and_shows_no_code(browser, server, asked, found):
    page, wrong = visit(browser, f"{server}/search.html?q={asked}")
    links = page.locator("#search-results li a")
    page.locator(f"#search-results li a[href*='{found}']").first.wait_for()
    page.wait_for_function(
        "/found/i.test(document.querySelector('#search-results').textContent)"
    )
    assert links.count() and wrong == []
    assert "\\(" not in page.locator("#search-results").inner_text()
    page.context.close()


# Live figures

LIVE = {"book/intro.html": "playground", "notebooks/01_geometry.html": "playground"}
LIVE |= {
    "notebooks/02_convergence.html": "playground",
    "notebooks/03_leaders.html": "playground",
}
LIVE |= {"notebooks/11_limits_that_are_no_vertices.html": "playground"}
LIVE |= {"notebooks/04_sentiment.html": "reviews"}


SEEN = [(*figure, "light") for figure in LIVE.items()]
SEEN += [(*figure, "dark") for figure in list(LIVE.items())[-2:]]
TOLD = [path for path in LIVE if LIVE[path] == "playground" and "notebooks" in path]


@pytest.mark.parametrize(("path", "name", "scheme"), SEEN)
def test_the_live_figures_are_alive(browser, path, name, scheme):
    """From a file, and beside a figure that stands still, for those who have no JavaScript."""
    page, wrong = visit(browser, f"file://{SITE}/{path}", color_scheme=scheme)
    figure = page.locator(f"[data-live={name}]").first
    figure.wait_for()
    still = ".bd-article img, .bd-article svg.picture"
    assert page.locator(still).count(), "no figure for those who have no JavaScript"
    if name == "playground":
        text = figure.locator(".hm-status")
        text.filter(has_text="(certified)").wait_for()
        figure.get_by_label("Layer").focus()
        page.keyboard.press("End")
        text.filter(has_text="to the eye all have arrived").wait_for()
    else:
        figure.get_by_label("Your review").fill("a boring film")
        assert figure.locator(".hm-text").inner_text() == "a boring film"
        if (SITE / "_static" / "review-model.js").exists():
            figure.get_by_role("button", name="Load the model").click()
            page.locator("[data-live=reviews][data-loaded]").wait_for()
            figure.locator(".hm-status", has_text="% sure").wait_for()
    assert wrong == []
    page.context.close()


@pytest.mark.parametrize("path", TOLD)
def test_a_link_is_opened_and_the_text_sets_the_figure(browser, path):
    """Under the site's policy, beside the theme's scripts, which read the address, too."""
    body = "play=hidden-corner&alpha=2/9&layer=2"
    address = f"file://{SITE}/{path}#{body}&sum={links.check_sum(body)}"
    page, wrong = visit(browser, address)
    figure = page.locator("[data-live=playground]").first
    figure.locator(".hm-status", has_text="Layer 2:").wait_for()
    assert figure.locator(".hm-exact").first.input_value() == "2/9"
    places = page.locator("button.hm-show")
    assert (
        places.count() >= 3
        and page.locator("span[data-show]:not([data-shown])").count() == 0
    )
    state = page.locator("[data-show]").first.get_attribute("data-show")
    layer = (*re.findall(r"layer=(\d+)", state), "0")[0]
    places.first.focus()
    page.keyboard.press("Enter")
    figure.locator(".hm-status", has_text=f"Layer {layer}:").wait_for()
    assert wrong == []
    page.context.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_light(path):
    assert (SITE / path).stat().st_size < 500_000


def test_the_front_page_is_alive_within_a_screen(browser, server):
    page, wrong = visit(
        browser, f"{server}/book/intro.html", viewport={"width": 1280, "height": 900}
    )
    figure = page.locator("[data-live=playground]")
    for name in ("canvas", ".hm-bar", ".hm-status", ".hm-legend", ".hm-tasks"):
        there = figure.locator(name).bounding_box()
        assert there["y"] >= 0 and there["y"] + there["height"] <= 900, name
    figure.get_by_role("slider", name="Layer").fill("0")
    figure.locator("summary").click()
    # Boxes are ticked when a frame is drawn; before that a click would untick one.
    drawn = "requestAnimationFrame(() => requestAnimationFrame(done))"
    page.evaluate(f"() => new Promise(done => {drawn})")
    top = "document.querySelector('.hm-more fieldset:not(.hm-A)').offsetTop"
    before = page.evaluate(top)
    for box in figure.locator(".hm-box input").all():
        box.check()
        assert page.evaluate(top) == before, "a box that is ticked stays where it is"
    assert wrong == []
    page.context.close()


# The policy, cards, and addresses


def test_scripts_that_are_not_the_books_do_not_run(browser, server):
    page, _ = visit(browser, f"{server}/book/notation.html")
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = 1";
      document.body.append(script);
      document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = 1'>");
    }""")
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    policies = page.locator("meta[http-equiv=Content-Security-Policy]")
    assert (
        policies.count() == 1
        and "unsafe-inline"
        not in policies.get_attribute("content").split("style-src")[0]
    )
    page.context.close()


def test_every_page_has_a_card_to_be_shared():
    for path in PAGES:
        page = (SITE / path).read_text()
        card = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', page))
        assert set(card) >= {"title", "description"}, path
        assert ("image" in card) == bool(ADDRESS), path
        assert (
            20 < len(html.unescape(card["description"])) <= 200
            and "<" not in card["description"]
        ), path
        assert not ADDRESS or (SITE / card["image"].removeprefix(ADDRESS)).exists()


def test_nothing_leads_to_an_address_that_is_not_there_yet():
    for path in [*PAGES, "404.html"]:
        links = re.findall(r'(?:href|src|content)="([^"]*)"', (SITE / path).read_text())
        assert not [link for link in links if "OWNER" in link.upper()], path


@pytest.mark.skipif(not ADDRESS, reason="no address yet: nothing is launched")
def test_what_is_launched_is_a_notebook():
    launched = [
        url
        for path in PAGES
        for url in re.findall(
            r"https://(?:mybinder|colab)[^\"]*", (SITE / path).read_text()
        )
    ]
    assert len(launched) >= 12 and all(url.endswith(".ipynb") for url in launched)


def test_an_address_that_leads_nowhere_leads_back(browser, server):
    page, wrong = visit(browser, f"{server}/404.html")
    assert (
        page.get_by_role("link", name="front page")
        .get_attribute("href")
        .endswith("index.html")
    )
    assert page.get_by_role("heading").inner_text() == "No such page" and wrong == []
    page.context.close()


# Boxes, and what links show


CUT = """
parts => parts.filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText.slice(0, 60))
"""

CUT_FORMULAS = """
async formulas => {
  await MathJax.startup.promise;
  const right = e => e.getBoundingClientRect().right;
  return formulas.filter(f => right(f.querySelector("mjx-math")) > right(f) + 1)
      .map(f => f.innerText.slice(0, 60));
}
"""


chapters = pytest.mark.parametrize("visited", CHAPTERS, indirect=True, scope="module")


def test_nothing_is_cut(wide):
    """At 1280 pixels, folded cells opened."""
    _, page, _ = wide
    folded = page.locator("details:not([open])").element_handles()
    for cell in folded:
        cell.evaluate("cell => cell.open = true")
    assert page.locator("article :is(pre, table)").evaluate_all(CUT) == []
    if page.locator("div.math").count():
        page.wait_for_selector("mjx-container", state="attached")
        shown = page.locator("article mjx-container[display]")
        assert shown.evaluate_all(CUT_FORMULAS) == []
    for cell in folded:
        cell.evaluate("cell => cell.open = false")


def test_every_table_has_a_number_and_says_what_it_is():
    """Table 4.1, 4.2 and so on in chapter 4; on pages that are no chapter 1, 2, 3."""
    beside = []
    for path in PAGES:
        page = BeautifulSoup((SITE / path).read_text(), "html.parser")
        tables = page.select(".bd-article table.table")
        captions = [table.select_one("caption") for table in tables]
        assert all(caption.select_one(".caption-text") for caption in captions), path
        numbers = [one.select_one(".caption-number").text.split() for one in captions]
        assert {word for word, _ in numbers} <= {"Table"}
        if path in CHAPTERS:
            chapter = int(path.split("/")[1][:2])
            expected = [f"{chapter}.{k + 1}" for k in range(len(tables))]
            assert [number for _, number in numbers] == expected != []
        else:
            beside += [int(number) for _, number in numbers]
    assert sorted(beside) == list(range(1, len(beside) + 1)) != []


@chapters
def test_a_chapter_is_read_at_one_sitting(wide):
    """25 screens, and a little for other fonts; those on the experiment, 20."""
    path, page, _ = wide
    height = page.locator(".bd-article").bounding_box()["height"]
    experiment = path.split("/")[1][:2] in ("04", "05", "06")
    assert height <= 820 * (20.4 if experiment else 25.4)


@chapters
def test_every_box_carries_its_standing(wide):
    path, page, _ = wide
    boxes = page.locator(".bd-article div.proof:not(.a-proof)")
    badges = boxes.locator("> .admonition-title > .standing")
    assert boxes.count() == badges.count()
    measured = "05_evaluation" in path or "10_real_text" in path  # which only measure
    assert boxes.count() > 0 or measured
    assert boxes.locator("> .box-links a").count() >= 2 * boxes.count()
    numbers = boxes.locator(".caption-number").all_inner_texts()
    for number, said in enumerate(numbers, 1):
        assert said.strip().endswith(f".{number}"), "one counter for all boxes"
    assert len(numbers) == boxes.count()
    assert page.locator("[id=proof]").count() == 0


def test_a_link_shows_where_it_leads(browser, server):
    """By mouse and by keyboard, from this page and from others; Escape takes it away, and touch just follows."""
    page, wrong = visit(browser, f"{server}/notebooks/03_leaders.html")
    card = page.locator("#preview")
    there = page.locator(
        "article a.reference.internal[href='02_convergence.html#lem-hulls']"
    )
    there.first.scroll_into_view_if_needed()
    there.first.hover()
    card.filter(has_text="never grows").wait_for()
    card.locator("mjx-container").first.wait_for()
    assert card.locator("[id], a").count() == 0
    page.keyboard.press("Escape")
    assert card.is_hidden()
    page.mouse.move(0, 0)
    here = page.locator("article a.reference.internal[href='#lem-frozen']").first
    here.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    card.filter(has_text="Leaders are frozen").wait_for()
    assert here.get_attribute("aria-describedby") == "preview"
    place = card.bounding_box()
    assert (
        place["x"] >= 0 and place["x"] + place["width"] <= page.viewport_size["width"]
    )
    assert wrong == []
    page.context.close()


# Access for everyone: last, because a page is thinned for it


@pytest.fixture(scope="module")
def axe():
    """axe-core, fetched once with npm; it is not part of the project."""
    package = SITE.parent / "axe-core-4.14.0.tgz"
    if not package.exists():
        npm = shutil.which("npm")
        fetched = npm and subprocess.run(
            [npm, "pack", "axe-core@4.14.0"], cwd=package.parent, capture_output=True
        )
        if not fetched or fetched.returncode:
            pytest.skip(
                "axe-core cannot be had: install npm, and have its registry within reach"
            )
    with tarfile.open(package) as files:
        return files.extractfile("package/axe.min.js").read().decode()


# Of ten thousand coloured words of code, three of each colour are enough to look at, and
# of the formulas twenty: axe asks the page about each anew.
FEW_OF_A_KIND = """() => {
  const seen = {};
  for (const word of document.querySelectorAll(".highlight pre span[class]:not(:has(*))")) {
    seen[word.className] = (seen[word.className] ?? 0) + 1;
    if (seen[word.className] > 3) word.replaceWith(word.textContent);
  }
  const formulas = [...document.querySelectorAll("mjx-container")].slice(20);
  for (const formula of formulas) formula.replaceChildren("x");
}"""


# What other colours or less room may break; the rest was asked in the light.
OF_DARK_AND_NARROW = [
    "color-contrast",
    "link-in-text-block",
    "meta-viewport",
    "region",
    "scrollable-region-focusable",
    "target-size",
]


def violations(page, axe, rules=None):
    page.wait_for_timeout(300)  # buttons take their colours in a sixth of a second
    page.evaluate(FEW_OF_A_KIND)
    page.evaluate(axe)
    asked = {"resultTypes": ["violations"]}
    if rules:
        asked["runOnly"] = {"type": "rule", "values": rules}
    found = page.evaluate("asked => axe.run(asked)", asked)["violations"]
    serious = [
        (v["id"], v["nodes"][0]["html"])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    return serious + [v["id"] for v in found if v["id"] == "region"]


def test_axe_finds_nothing_in_the_light(wide, axe):
    _, page, _ = wide
    assert violations(page, axe) == []


# When the window changes, the theme looks again what can be scrolled, a while later.
CODE_IS_SCROLLED_BY_KEYS = """() => [...document.querySelectorAll("article pre")].every(
  (code) => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0
)"""


def test_axe_finds_nothing_in_the_dark(narrow, axe):
    _, page, _ = narrow
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(CODE_IS_SCROLLED_BY_KEYS)
    assert violations(page, axe, OF_DARK_AND_NARROW) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [TOLD[0], "notebooks/04_sentiment.html"])
def test_axe_finds_nothing_in_a_figure_that_is_used(browser, axe, path, scheme):
    """With all that is folded, a model that is loaded, a word left out, a text copied."""
    page, _ = visit(browser, f"file://{SITE}/{path}", color_scheme=scheme)
    figure = page.locator("[data-live]").first
    figure.locator(".hm-more > summary").click()
    for box in figure.locator("fieldset .hm-box input").all():
        box.check()
    if LIVE[path] == "reviews":
        figure.get_by_role("button", name="Load the model").click()
        page.locator("[data-live=reviews][data-loaded]").wait_for()
        figure.get_by_role("combobox").select_option("unknown words")
        figure.get_by_role("button", name="great").click()
    else:
        figure.get_by_label("x of the chosen token").fill("not a number")
    figure.get_by_role("button", name="Copy link").click()
    page.wait_for_timeout(700)
    assert violations(page, axe) == []
    page.context.close()
