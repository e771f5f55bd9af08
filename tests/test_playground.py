"""The playground, as a reader uses it: in a browser, on a page without a kernel."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from browsing import ROOT, visit
from live import page as live_page

from hmlib import Playground, limit
from hmlib.live import source
from hmlib.live.playground import presets


def timed(text):
    """The figure's code, with the milliseconds of each frame's work in window.frames."""
    work = "const before = performance.now(), more = work(now);"
    work += (
        " (window.frames_ ??= []).push(performance.now() - before); if (more) ask();"
    )
    assert "if (work(now)) ask();" in text
    return text.replace("if (work(now)) ask();", work)


# Python


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"preset": "circle"},
            "preset is 'circle': expected one of 'triangle', 'emerging leader'",
        ),
        (
            {"tokens": [[1, 2, 3]]},
            r"tokens has shape \(1, 3\): expected points as rows of 2 coordinates, \(n, 2\).",
        ),
        ({"tokens": [[1, float("nan")]]}, "tokens has NaN or infinite entries"),
        ({"alpha": 0}, "alpha is 0.0: expected a number > 0"),
        (
            {"A": [[1, 2], [2, 1]]},
            "A is not positive definite: its smallest eigenvalue is -1",
        ),
        ({"layer": -1}, "layer is -1: expected a whole number from 0 to 10000"),
        (
            {"show": ["stars"]},
            "each of show is 'stars': expected one of 'arrows', 'forest'",
        ),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Playground(**given)


def test_presets_are_the_clouds_of_the_chapters():
    """What chapters 2, 3 and 11 define is executed here, and compared."""
    cells, ties = {}, "11_limits_that_are_no_vertices"
    for chapter in ("02_convergence", "03_leaders", ties):
        notebook = json.loads((ROOT / f"notebooks/{chapter}.ipynb").read_text())
        cells[chapter] = [
            "".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"
        ]

    def defined(chapter, line):
        """The names that a cell defines, run up to the first output."""
        names = {
            "np": np,
            "Fraction": Fraction,
            "square": [(1, 1), (-1, 1), (-1, -1), (1, -1)],
        }
        (cell,) = [source for source in cells[chapter] if line in source]
        exec(re.split(r"^(?:for|end|path) ?", cell, flags=re.M)[0], names)
        return names

    known = {name: preset["tokens"] for name, preset in presets().items()}
    rows = defined("02_convergence", '"emerging leader": emerging')["clouds"]
    assert len(rows) == 4
    for name, tokens in rows.items():
        assert np.array_equal(np.array(tokens, float), np.array(known[name], float))
    three = "03_leaders"
    assert np.array_equal(
        defined(three, "emerging = ")["emerging"].astype(float),
        np.array(known["emerging leader"], float),
    )
    assert np.array_equal(
        defined(three, "cannot = np.array")["cannot"], known["hidden corner"]
    )
    assert np.array_equal(
        defined(three, "chain = np.array")["chain"].astype(float),
        known["comb of windows"],
    )
    moving = defined(ties, "[-1, 2], [1, 2], [0, 1]]")["cloud"].astype(float)
    assert np.array_equal(moving, known["a tie of moving tokens"])


def test_the_report_follows_the_attributes():
    play = Playground("the rule")
    panel = play.panel()
    assert "6 tokens, alpha = 0.5\n" in panel.value and "A =" not in panel.value
    play.A = [[2, 1], [1, 1]]
    play.alpha = 3
    assert "alpha = 3, A = [[2.0, 1.0], [1.0, 1.0]]" in panel.value
    play.tokens = [[0, 0], [1, 0], [-1, 0]]
    assert "leaders: 2 (born at layer 0), 3 (born at layer 0)" in panel.value
    assert (
        repr(play)
        == "Playground(3 tokens, alpha=3, A=[[2.0, 1.0], [1.0, 1.0]], layer=0)"
    )


def test_the_figure_asks_nothing_of_the_network():
    files = [p for p in ROOT.glob("hmlib/live/*") if p.suffix in (".js", ".css")]
    assert len(files) > 4
    for file in files:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text and "innerHTML" not in text and "eval(" not in text


# The browser


def certified(page):
    """Wait until the limit is known."""
    page.wait_for_function(
        "/certified\\)|NOT/.test(document.querySelector('.hm-status').textContent)"
    )


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page with a playground; what went wrong is looked at in the end."""
    open_ = []

    def open_page(*args, context=None, change=lambda text: text, at="", **kwargs):
        figure = Playground(*args, **kwargs)
        figure._esm = change(figure._esm)
        address = live_page(tmp_path, figure) + at
        page, wrong = visit(browser, address, **(context or {}))
        certified(page)
        open_.append((page, wrong))
        return page

    yield open_page
    for page, wrong in open_:
        assert wrong == []
        page.context.close()


def state(page):
    """What is on screen, by way of "Copy as Python": the names that the copied code defines."""
    names = {}
    exec(copied(page, "Copy as Python"), names)
    play = names["play"]
    assert np.array_equal(np.array(play.tokens, names["Z"].dtype), names["Z"])
    assert (play.alpha, play.A is None) == (names["alpha"], names["A"] is None)
    return names


def more(page):
    """Open what is folded."""
    if page.locator(".hm-more:not([open])").count():
        page.locator(".hm-more > summary").click()
    return page


def copied(page, name):
    more(page).get_by_role("button", name=name).click()
    page.get_by_text(re.compile("^(copied|select and copy)$")).wait_for()
    return page.locator("[data-live] pre").inner_text()


def at(page, z):
    """Where a point of the plane is on screen: the tokens at (1, 1) and (-1, -1) tell."""
    page.locator("[data-live] canvas").scroll_into_view_if_needed()
    box = page.locator("[data-live] canvas").bounding_box()
    scale = min(box["width"], box["height"]) / 2 / 1.15
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return x + z[0] * scale, y - z[1] * scale


def test_a_token_is_dragged(opened):
    page = opened("square")
    before = state(page)["Z"]
    page.mouse.move(*at(page, (1, 1)))
    page.mouse.down()
    page.mouse.move(*at(page, (0.5, 0.9)), steps=5)
    page.mouse.up()
    now = state(page)
    assert (
        abs(now["Z"][0] - [0.5, 0.9]).max() < 0.02
        and (now["Z"][1:] == before[1:]).all()
    )
    text = page.locator(".hm-status").inner_text()
    assert f"{len(now['end'].leaders)} leaders" in text
    assert f"From layer {now['end'].settled_at} on" in text
    assert page.get_by_label("Cloud").input_value() == ""


def test_the_start_of_a_token_is_dragged_at_a_later_layer(opened):
    page = opened("edges", layer=5)
    page.mouse.move(*at(page, (0.5, 0)))
    page.mouse.down()
    page.mouse.move(*at(page, (0.5, 0.2)), steps=3)
    page.mouse.up()
    now = state(page)
    assert abs(now["Z"][5] - [0.5, 0.2]).max() < 0.02 and now["path"].layers == 5


def test_a_token_is_touched(opened):
    page = opened(
        "square",
        context={
            "viewport": {"width": 400, "height": 800},
            "has_touch": True,
            "is_mobile": True,
        },
    )
    page.locator("[data-live] canvas").scroll_into_view_if_needed()
    touch = page.context.new_cdp_session(page)

    def finger(kind, *z):
        points = [dict(zip("xy", at(page, p), strict=True)) for p in z]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    finger("touchStart", (1, 1))
    for x in (0.9, 0.7, 0.5):
        finger("touchMove", (x, 0.8))
    finger("touchEnd")
    assert abs(state(page)["Z"][0] - [0.5, 0.8]).max() < 0.03
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_keys_do_what_the_mouse_does(opened):
    page = opened("square")
    canvas = page.locator("[data-live] canvas")
    canvas.focus()
    for key in ("p", "p", "ArrowUp", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    assert state(page)["Z"][2].tolist() == [-0.94, -0.95]
    canvas.focus()
    page.keyboard.press("Insert")
    assert len(state(page)["Z"]) == 11
    canvas.focus()
    page.keyboard.press("Delete")
    page.keyboard.press("p")
    page.keyboard.press("Delete")
    page.keyboard.press("]")
    page.keyboard.press("]")
    page.keyboard.press("[")
    now = state(page)
    assert len(now["Z"]) == 9 and now["path"].layers == 1
    page.get_by_role("slider", name="\u03b1").focus()
    page.keyboard.press("ArrowRight")
    assert now["alpha"] < state(page)["alpha"] < 0.6
    page.get_by_role("slider", name="first axis of the ellipse").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    A = state(page)["A"]
    assert A[0, 0] < 0.8 < 0.9 < A[1, 1] <= 1 and A[0, 1] == A[1, 0] < 0
    page.get_by_role("button", name="Back to I").click()
    assert state(page)["A"] is None
    page.get_by_label("number of the chosen token").fill("2")
    page.get_by_label("x of the chosen token").fill("0.125")
    assert state(page)["Z"][1].tolist() == [0.125, 1]


def test_a_field_renewed_under_the_cursor_takes_what_is_typed_whole(opened):
    """Another token is chosen, and x is selected before the next frame shows its x."""
    page = more(opened("square"))
    page.evaluate("""() => new Promise((done) => {
        const field = (label) => document.querySelector(`[aria-label="${label}"]`);
        const choice = field("number of the chosen token");
        choice.value = 2;
        choice.dispatchEvent(new Event("input"));
        field("x of the chosen token").select();
        field("x of the chosen token").focus();
        requestAnimationFrame(() => requestAnimationFrame(done));
    })""")
    assert page.get_by_label("x of the chosen token").input_value() == "-1"
    page.keyboard.insert_text("0.125")
    assert state(page)["Z"][1].tolist() == [0.125, 1]


@pytest.mark.parametrize("typed", ["1.5", "0", "9", "-1", ""])
def test_a_token_that_is_none_is_not_chosen(opened, typed):
    """1.5 would stop the drawing until a whole number is typed."""
    page = more(opened("the rule"))
    page.get_by_label("number of the chosen token").fill("3")
    page.get_by_label("number of the chosen token").fill(typed)
    page.get_by_label("Layer").fill("2")
    page.wait_for_function(
        "document.querySelector('.hm-status').textContent.includes('Layer 2:')"
    )
    assert "Token 3 is at" in page.locator(".hm-status").inner_text()


def test_everything_has_its_turn_in_the_tab_order(opened):
    page = more(opened("square"))
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        what = page.evaluate(
            "document.activeElement.closest('[data-live]') ? document.activeElement.tagName : ''"
        )
        ring = page.evaluate("""() => { const s = getComputedStyle(document.activeElement);
            return s.outlineStyle !== 'none' || parseFloat(s.strokeWidth) > 3 }""")
        assert ring or not what, "the focus is not to be seen"
        seen.append(what)
    assert {"CANVAS", "SELECT", "INPUT", "BUTTON", "circle", "SUMMARY"} <= set(seen)


@pytest.mark.parametrize("name", presets())
def test_a_preset_says_what_hmlib_says(opened, name):
    page = more(opened("triangle", show=Playground.SHOW))
    page.get_by_label("Cloud").select_option(name)
    page.wait_for_function(
        f"document.querySelector('.hm-about').textContent === {json.dumps(presets()[name]['about'])}"
    )
    certified(page)
    now, text = state(page), page.locator(".hm-status").inner_text()
    end = limit(presets()[name]["tokens"], presets()[name]["alpha"])
    assert now["Z"].tolist() == presets()[name]["tokens"]
    assert now["alpha"] == presets()[name]["alpha"]
    settled = end.settled_at
    assert (
        f"From layer {settled} on" if not settled else f"until layer {settled} "
    ) in text
    born = list(zip(end.leaders + 1, end.born, strict=True))
    first, later = [i for i, k in born if not k], [(i, k) for i, k in born if k]
    count = "1 leader" if len(first) == 1 else f"{len(first)} leaders"
    said = f"Layer 0: {count}, {', '.join(map(str, first))}"
    said += "".join(f"; then {i} from layer {k}" for i, k in later)
    assert f"{said}." in text
    token = presets()[name]["token"]
    assert f"Token {token} is at" in text
    assert (", which is no vertex" in text) == bool(end.follows[token - 1] < 0)


def test_play_goes_on_while_something_moves_and_rests(opened):
    """Faster where nobody turns; to the layer from which on nothing can be seen."""
    page = opened("triangle", change=timed)
    page.get_by_role("button", name="Play").click()
    status = page.locator(".hm-status", has_text="to the eye all have arrived")
    status.wait_for()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    assert 8 <= int(page.locator(".hm-bar output").inner_text()) < 20
    assert page.evaluate("frames_.length") > 10
    page.wait_for_timeout(700)
    before = page.evaluate("frames_.length")
    page.wait_for_timeout(500)
    assert page.evaluate("frames_.length") == before, "computes while nothing moves"
    page.get_by_role("button", name="Reset").click()
    page.locator(".hm-status", has_text="Layer 0:").wait_for()


def test_reduced_motion_jumps(opened):
    """From layer to layer, with nothing in between."""
    line = "state.set({ layer, playing: this.reached < last });"
    noted = f"{line} (window.layers_ ??= new Set()).add(layer);"
    page = opened(
        "triangle",
        layer=8,
        context={"reduced_motion": "reduce"},
        change=lambda text: text.replace(line, noted),
    )
    page.get_by_role("button", name="Play").click()
    page.locator(".hm-status", has_text="to the eye all have arrived").wait_for()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    assert set(page.evaluate("[...layers_]")) <= set(range(8, 30))


def test_what_is_not_certified_is_said_to_be(opened):
    page = opened(
        "zero that goes",
        change=lambda text: text.replace("MOST_BITS = 2 ** 23", "MOST_BITS = 0"),
    )
    assert (
        "NOT certified: rounding may have decided"
        in page.locator(".hm-status").inner_text()
    )
    page = opened("zero that goes")
    assert "until layer 1 (certified)" in page.locator(".hm-status").inner_text()


def test_a_frame_of_500_tokens_is_short(opened):
    tokens = np.random.default_rng(0).normal(size=(500, 2)).round(2).tolist()
    page = opened(tokens=tokens, show=["arrows", "K"], change=timed)
    box = page.locator("[data-live] canvas").bounding_box()
    page.evaluate("frames_.length = 0")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for k in range(90):
        page.mouse.move(
            box["x"] + box["width"] / 2 + k, box["y"] + box["height"] / 2 + (k % 7)
        )
    page.mouse.up()
    work = np.array(page.evaluate("frames_"))[10:]
    print(
        f"frames: {len(work)}, work: median {np.median(work):.1f} ms, 90 % {np.quantile(work, 0.9):.1f} ms"
    )
    assert len(work) > 20 and np.median(work) < 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn_in_the_colours_of_the_page(opened, scheme):
    page = opened("triangle")
    page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
    page.wait_for_timeout(200)
    ground = page.evaluate("""() => { const c = document.querySelector('[data-live] canvas');
        return [...c.getContext('2d').getImageData(2, 2, 1, 1).data] }""")
    assert sum(ground[:3]) > 700 if scheme == "light" else sum(ground[:3]) < 100


# Numbers at their word


def test_a_fraction_is_typed_and_stays_exact(opened):
    """Chapter 3's window: at 2/9, not only near it, token 1 does not lead."""
    page = opened("comb of windows")
    alpha = page.get_by_label("alpha, a decimal or a fraction")
    assert alpha.input_value() == "2/11" and "leads from layer 5" in text(page)
    alpha.fill("4/18")
    page.locator(".hm-done", has_text="2/9").wait_for()
    assert state(page)["alpha"] == Fraction(2, 9)
    page.get_by_label("x of the chosen token").fill("22/3")
    now = state(page)
    assert now["Z"][0].tolist() == [Fraction(22, 3), -6]
    end = now["end"]
    assert end.tokens.dtype == object and f"until layer {end.settled_at}" in text(page)
    for wrong in ("", "2/0", "x", "1e999", "-", "0x10", "1/3/4"):
        page.get_by_label("x of the chosen token").fill(wrong)
        assert page.locator("[aria-invalid=true]").count() == 1
    alpha.fill("-1")
    assert state(page)["Z"][0].tolist() == [Fraction(22, 3), -6]
    assert state(page)["alpha"] == Fraction(2, 9)
    assert page.locator("[aria-invalid=true]").count() == 0, "left, it shows what is so"


def text(page):
    page.wait_for_timeout(150)
    return page.locator(".hm-status").inner_text()


# The screen


@pytest.mark.parametrize("size", [(1280, 900), (400, 800)])
def test_plane_play_and_status_are_on_one_screen_and_nothing_jumps(opened, size):
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = opened("emerging leader", context={"viewport": viewport})
    page.locator("[data-live]").evaluate("root => root.scrollIntoView()")

    def box(name):
        return page.locator(name).bounding_box()

    for name in ("canvas", ".hm-bar", ".hm-status"):
        there = box(name)
        assert there["y"] >= 0 and there["y"] + there["height"] <= size[1], name
    canvas = box("canvas")
    assert min(canvas["width"], canvas["height"]) > min(size[0] - 60, 0.6 * size[1])
    watched = (".hm-bar", ".hm-status", ".hm-legend", ".hm-about", ".hm-more > summary")
    before = [box(name)["y"] for name in watched]
    page.mouse.move(*at(page, (1, 1 / 3)))
    page.mouse.down()
    page.mouse.move(*at(page, (0.5, 0.9)), steps=3)
    page.mouse.up()
    page.get_by_label("Layer").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("slider", name="\u03b1").focus()
    page.keyboard.press("End")
    text(page)
    assert [box(name)["y"] for name in watched] == before
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", [(1280, 900), (400, 800)])
def test_nothing_jumps_whatever_is_chosen(opened, size):
    """Under the pointer, too: a box that is ticked stays where it is."""
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = more(opened("the rule", context={"viewport": viewport}))
    names = (".hm-bar", ".hm-status", ".hm-legend", ".hm-about", ".hm-tasks")
    names = (
        *names,
        ".hm-more > summary",
        ".hm-more select",
        ".hm-A",
        "fieldset:not(.hm-A)",
    )

    def places():
        page.wait_for_timeout(60)
        return page.evaluate(
            "names => names.map((name) => document.querySelector(`.hm-live ${name}`).offsetTop)",
            names,
        )

    before = places()
    for box in page.locator(".hm-box input").all():
        box.check()
        assert places() == before
    for name in presets():
        page.get_by_label("Cloud").select_option(name)
        certified(page)
        for layer in ("0", "1", "12"):
            page.get_by_role("slider", name="Layer").fill(layer)
            assert places() == before, (name, layer)
    handle = page.get_by_role("slider", name="first axis of the ellipse")
    height = page.locator(".hm-A").bounding_box()["height"]
    handle.focus()
    for key in ("ArrowLeft", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        assert places() == before
        assert page.locator(".hm-A").bounding_box()["height"] == height


def test_who_is_still_on_the_way_has_not_arrived(opened):
    """With so small steps that no layer that can be chosen is the last one."""
    page = opened("triangle", alpha=0.002, layer=399)
    assert "they are still on their way" in text(page)
    page.get_by_role("button", name="Play").click()
    page.locator(".hm-status", has_text="Layer 0:").wait_for()


def test_a_cloud_of_ones_own_is_not_called_a_preset(opened):
    page = opened("triangle")
    about = page.locator(".hm-about")
    page.get_by_label("alpha, a decimal or a fraction").fill("2")
    assert about.inner_text() == presets()["triangle"]["about"]
    page.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(150)
    assert about.inner_text() == 'Your own cloud, made from "triangle".'


IN_THE_PAGE = """async ([source, ...given]) => {
  const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  %s
}"""


def test_a_tree_keeps_its_look_while_layers_go_by(browser):
    """Token 1 changes its leader when token 3 becomes one: nobody else is drawn anew."""
    page = browser.new_page()
    code = "const [tokens, layers, born] = given;\n" + (
        "return layers.map((sets) => H.treesOf({ tokens, sets }, null, new Map(born)));"
    )
    tokens = [[0.1, 0], [2, 0], [0, 1], [0.1, 0.1]]
    layers = [[[1], [1], [1], [1]], [[2], [1], [2], [1]]]
    born = [[1, 0], [2, 1]]
    given = [source("trees.js"), tokens, layers, born]
    first, second = page.evaluate(IN_THE_PAGE % code, given)
    page.close()
    assert first == [0, 0, 0, 0] and second == [1, 0, 1, 0]


def test_what_is_pointed_at_is_said_and_lit(opened):
    page = opened("emerging leader")
    picture = "document.querySelector('canvas').toDataURL()"
    dark = page.evaluate(picture)
    page.mouse.move(*at(page, (-0.6, -0.9)))
    page.wait_for_timeout(200)
    assert page.evaluate(picture) != dark
    page.mouse.move(0, 0)
    page.wait_for_timeout(200)
    assert page.evaluate(picture) == dark
    page.locator("canvas").focus()
    page.wait_for_timeout(200)
    assert page.evaluate(picture) != dark


def test_the_probe_says_where_one_more_token_ends(opened):
    page = opened("square", show=["basin"])
    rng = np.random.default_rng(0)
    cloud = presets()["square"]["tokens"]
    seen = set()
    for z in [*rng.uniform(-1.1, 1.1, (12, 2)), (1.1, 1.08), (1.02, 0.4)]:
        page.mouse.move(*at(page, z))
        page.locator(".hm-status", has_text="A token that starts at").wait_for()
        page.wait_for_timeout(300)
        said = page.locator(".hm-status").inner_text()
        near = [float(x) for x in re.search(r"at \(([^)]*)\)", said)[1].split(", ")]
        if max(abs(np.array(near) - z)) > 0.02:
            continue
        end = limit([*cloud, near], 0.5)
        leader = end.follows[-1]
        if len(cloud) in end.leaders:
            assert "would lead" in said
        else:
            assert f"end with leader {leader + 1}" in said
        assert ("would lead no longer" in said) == (
            not {0, 1, 2, 3} <= set(end.leaders)
        )
        seen.add(leader)
    assert len(seen) >= 4
    page.locator("canvas").focus()
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert "A token that starts at" in text(page)


def test_the_probe_is_put_down_by_a_finger(opened):
    """Where no token is; it stays when the finger goes, and a token takes it away."""
    viewport = {"width": 400, "height": 800}
    context = {"viewport": viewport, "has_touch": True, "is_mobile": True}
    page = opened("square", show=["basin"], context=context)
    page.touchscreen.tap(*at(page, (0.6, 0.5)))
    assert "A token that starts at (0.6, 0.5) would end with leader 1" in text(page)
    assert page.get_by_text("one more token", exact=False).first.is_visible()
    page.touchscreen.tap(*at(page, (-1, 1)))
    assert "Token 2 is at (-1, 1) and leads." in text(page)
    assert state(page)["Z"].tolist() == presets()["square"]["tokens"]


def test_tokens_that_leave_the_view_are_fetched_back(opened):
    page = opened("square")
    page.mouse.move(*at(page, (1, 1)))
    page.mouse.down()
    page.mouse.move(*at(page, (2, 1)), steps=3)
    page.mouse.up()
    page.wait_for_timeout(200)
    assert state(page)["Z"][0][0] == 1.15
    page.mouse.move(
        *at(page, (1, 1 / 1.15))
    )  # where it is drawn, the plane reaching farther
    page.mouse.down()
    page.mouse.move(*at(page, (0, 0)), steps=3)
    page.mouse.up()
    assert abs(state(page)["Z"][0]).max() < 0.03
