"""The playground, as a reader uses it: in a browser, on a page without a kernel."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from browsing import ROOT, visit
from live import page as live_page

from hmlib import Playground, limit
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
    """What chapters 2 and 3 define is executed here, and compared."""
    cells = {}
    for chapter in ("02_convergence", "03_leaders"):
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
        assert np.array_equal(np.array(tokens, float), known[name])
    three = "03_leaders"
    assert np.array_equal(
        defined(three, "emerging = np.array")["emerging"].astype(float),
        known["emerging leader"],
    )
    assert np.array_equal(
        defined(three, "cannot = np.array")["cannot"], known["hidden corner"]
    )
    assert np.array_equal(
        defined(three, "chain = np.array")["chain"].astype(float),
        known["comb of windows"],
    )
    moving = defined(three, "[-1, 2], [1, 2], [0, 1]]")["cloud"].astype(float)
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


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page with a playground; what went wrong is looked at in the end."""
    open_ = []

    def open_page(*args, context=None, change=lambda text: text, **kwargs):
        figure = Playground(*args, **kwargs)
        figure._esm = change(figure._esm)
        page, wrong = visit(browser, live_page(tmp_path, figure), **(context or {}))
        page.wait_for_function(
            "document.querySelector('.hm-status').textContent.includes('ertified')"
        )
        open_.append((page, wrong))
        return page

    yield open_page
    for page, wrong in open_:
        assert wrong == []
        page.context.close()


def state(page):
    """What is on screen, by way of "Copy as Python": the names that the copied code defines."""
    page.get_by_role("button", name="Copy as Python").click()
    code, names = page.locator("[data-live] pre").inner_text(), {}
    exec(code, names)
    return names


def at(page, z):
    """Where a point of the plane is on screen: the tokens at (1, 1) and (-1, -1) tell."""
    box = page.locator("[data-live] canvas").bounding_box()
    scale = box["width"] / 2 / 1.15
    return box["x"] + box["width"] / 2 + z[0] * scale, box["y"] + box["height"] / 2 - z[
        1
    ] * scale


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
    assert (
        f"{len(now['end'].leaders)} leaders" in text
        and f"Certified at layer {now['end'].settled_at}" in text
    )
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
    for key in ("n", "n", "ArrowUp", "ArrowRight", "Shift+ArrowRight"):
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
    page.get_by_label("\u03b1").focus()
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


@pytest.mark.parametrize("typed", ["1.5", "0", "9", "-1", ""])
def test_a_token_that_is_none_is_not_chosen(opened, typed):
    """1.5 would stop the drawing until a whole number is typed."""
    page = opened("the rule")
    page.get_by_label("number of the chosen token").fill("3")
    page.get_by_label("number of the chosen token").fill(typed)
    page.get_by_label("Layer").fill("2")
    page.wait_for_function(
        "document.querySelector('.hm-status').textContent.includes('Layer 2. ')"
    )
    assert "Token 3 is at" in page.locator(".hm-status").inner_text()


def test_everything_has_its_turn_in_the_tab_order(opened):
    page = opened("square")
    seen = []
    for _ in range(30):
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
    page = opened("triangle", show=Playground.SHOW)
    page.get_by_label("Cloud").select_option(name)
    page.wait_for_function(
        f"document.querySelector('.hm-about').textContent === {json.dumps(presets()[name]['about'])}"
    )
    page.wait_for_function(
        "!document.querySelector('.hm-status').textContent.includes('not certified yet')"
    )
    now, text = state(page), page.locator(".hm-status").inner_text()
    end = limit(presets()[name]["tokens"], presets()[name]["alpha"])
    assert (
        now["Z"].tolist() == presets()[name]["tokens"]
        and now["alpha"] == presets()[name]["alpha"]
    )
    assert f"Certified at layer {end.settled_at}:" in text
    count = "One leader" if len(end.leaders) == 1 else f"{len(end.leaders)} leaders"
    born = [
        f"{i + 1}" + (f" (from layer {k})" if k else "")
        for i, k in zip(end.leaders, end.born, strict=True)
    ]
    assert f"{count}: {', '.join(born)}." in text
    assert (", which is no vertex" in text) == bool(end.follows[0] < 0)


def test_play_and_rest(opened):
    page = opened("triangle", layer=28, change=timed)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "document.querySelector('.hm-status').textContent.startsWith('Layer 30')"
    )
    page.get_by_role("button", name="Play", exact=True).wait_for()
    assert page.evaluate("frames_.length") > 10
    page.wait_for_timeout(700)
    before = page.evaluate("frames_.length")
    page.wait_for_timeout(500)
    assert page.evaluate("frames_.length") == before, "computes while nothing moves"


def test_reduced_motion_jumps(opened):
    """From layer to layer, with nothing in between."""
    line = "state.set({ layer, playing: reached < last });"
    noted = f"{line} (window.layers_ ??= new Set()).add(layer);"
    motion = {"reduced_motion": "reduce"}
    page = opened(
        "triangle",
        layer=28,
        context=motion,
        change=lambda text: text.replace(line, noted),
    )
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "document.querySelector('.hm-status').textContent.startsWith('Layer 30')"
    )
    assert set(page.evaluate("[...layers_]")) <= {28, 29, 30}


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
    assert "Certified at layer 1" in page.locator(".hm-status").inner_text()


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
