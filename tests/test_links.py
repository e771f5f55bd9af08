"""Every state is an address: written by the page, read by the page and by Python, to the last bit; or refused."""

import html
import json
import random
import re
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from browsing import ROOT, visit
from live import page as live_page

from hmlib import Playground, live
from hmlib.live import links, source, wired
from hmlib.live.playground import presets

IN_THE_PAGE = """
async ([source, presets, states, texts]) => {
  const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const written = states.map((state) => H.sealed(H.addressOf(state, presets)));
  const read = (text) => {
    const body = H.unsealed(text), said = body === null ? null : H.stateFrom(body, presets);
    return said && { ...said, tokens: said.tokens.map((z) => z.map(H.textOf)), alpha: H.textOf(said.alpha) };
  };
  return [written, written.map(read), texts.map(read)];
}
"""


def drawn(seed):
    """A state with doubles of all sizes, fractions, copies, and zeros of both signs."""
    rng = random.Random(seed)

    def number():
        match rng.randrange(6):
            case 0:
                return rng.uniform(-2, 2)
            case 1:
                return rng.choice([1, -1]) * 10.0 ** rng.uniform(-300, 300)
            case 2:
                return links.kept(Fraction(rng.randint(-99, 99), rng.randint(1, 99)))
            case 3:
                return float(rng.randint(-5, 5))
            case 4:
                return rng.choice([0.0, -0.0, 5e-324, 2.0**1000, 0.1, 1e21, 1e-7])
        return round(rng.gauss(0, 1), 2)

    name = rng.choice(list(presets()))
    start, state = presets()[name], {"preset": name}
    n = rng.randint(1, 12)
    own = [[number(), number()] for _ in range(n)]
    state["tokens"] = rng.choice([start["tokens"], own])
    state["alpha"] = rng.choice([start["alpha"], Fraction(2, 9), abs(number()) or 1.0])
    state["A"] = rng.choice(
        [None, [[2.0, 0.1], [0.1, Fraction(1, 3)]], [[1.0, 0.0], [0.0, 3.0]]]
    )
    state["layer"] = rng.choice([0, 3, 9999])
    state["chosen"] = rng.randrange(len(state["tokens"]))
    state["show"] = rng.sample(Playground.SHOW, rng.randrange(5))
    return state


def same(state, play):
    """Bit for bit: repr tells -0.0 from 0.0, but where all is rational there is one 0."""
    for name in ("tokens", "alpha", "A", "layer", "chosen", "show"):
        now, then = getattr(play, name), state[name]
        assert now == then, name
        assert "Fraction" in repr(state) or repr(now) == repr(then), name


@pytest.fixture(scope="module")
def said(browser):
    """400 states and their links, each read again, and as many damaged ones."""
    states = [drawn(seed) for seed in range(400)]
    rng, page = random.Random(0), browser.new_page()

    def ask(texts):
        given = [source("address.js"), wired(presets()), [wired(s) for s in states]]
        return page.evaluate(IN_THE_PAGE, [*given, texts])

    written, read, _ = ask([])
    damaged = []
    for text in written:
        at = rng.randrange(len(text))
        other = rng.choice("0123456789abc-_/&=,%+.")
        damaged.append(text[:at])
        damaged.append(text[:at] + other + text[at + 1 :])
        damaged.append(text[:at] + text[at + 1 :])
    damaged = [text for text in damaged if text not in written]
    *_, refused = ask(damaged)
    page.close()
    return states, written, read, damaged, refused


def test_a_state_is_read_to_the_last_bit_by_the_page_and_by_python(said):
    states, written, read, *_ = said
    for state, text, again in zip(states, written, read, strict=True):
        same(state, Playground.from_link(f"https://example.org/page.html#{text}"))
        for x, y in zip(chain(*state["tokens"]), chain(*again["tokens"]), strict=True):
            assert repr(links.number(y)) == repr(x)
        assert links.number(again["alpha"]) == state["alpha"]
        for name in ("layer", "chosen", "show", "preset"):
            assert again[name] == state[name]


def test_a_preset_is_short_and_as_it_stands(said):
    for state, text in zip(*said[:2], strict=True):
        start = presets()[state["preset"]]
        assert ("tokens=" in text) == (state["tokens"] != start["tokens"])
        assert ("alpha=" in text) == (state["alpha"] != start["alpha"])
    assert len(f"play=edges&sum={links.check_sum('play=edges')}") < 25


def test_a_damaged_link_is_refused_by_both(said):
    *_, damaged, refused = said
    assert len(damaged) > 1000
    believed = [text for text, state in zip(damaged, refused, strict=True) if state]
    assert believed == []
    for text in damaged:
        with pytest.raises(ValueError, match="expected"):
            Playground.from_link(text)


def sealed(body):
    return f"#{body}&sum={links.check_sum(body)}"


BAD = {
    "another preset": "play=__proto__",
    "no preset": "alpha=1",
    "an unknown name": "play=edges&onload=1",
    "a name twice": "play=edges&alpha=1&alpha=2",
    "code": "play=edges&alpha=alert(1)",
    "alpha is 0": "play=edges&alpha=0",
    "alpha is negative": "play=edges&alpha=-1/2",
    "not a number": "play=edges&alpha=NaN",
    "infinite": "play=edges&alpha=Infinity",
    "too large": "play=edges&alpha=1e400",
    "a hexadecimal": "play=edges&alpha=0x10",
    "no denominator": "play=edges&alpha=1/0",
    "three coordinates": "play=edges&tokens=1,2,3",
    "one coordinate": "play=edges&tokens=1_2",
    "no tokens": "play=edges&tokens=",
    "too many tokens": "play=edges&tokens=" + "_".join(["0,1"] * 1001),
    "too many digits": "play=edges&alpha=1/" + "7" * 41,
    "too many signs": "play=edges&alpha=" + "1" * 61,
    "too long": "play=edges&alpha=" + "1" * 100_000,
    "longer than any link": "play=edges&tokens="
    + "_".join([f"{'0' * 31},{'0' * 31}1"] * 1000),
    "A is not definite": "play=edges&A=1,2,1",
    "A is no matrix": "play=edges&A=1,2",
    "a layer too far": "play=edges&layer=10001",
    "a layer in between": "play=edges&layer=1.5",
    "a token that is none": "play=edges&token=11",
    "token 0": "play=edges&token=0",
    "what cannot be shown": "play=edges&show=arrows,secrets",
    "shown twice": "play=edges&show=arrows,arrows",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_state_is_refused_though_it_is_sealed(body):
    with pytest.raises(ValueError, match="expected"):
        Playground.from_link(sealed(body))


def test_the_page_refuses_what_python_refuses(browser):
    page = browser.new_page()
    bad = [sealed(body)[1:] for body in BAD.values()]
    given = [source("address.js"), wired(presets()), [], bad]
    *_, read = page.evaluate(IN_THE_PAGE, given)
    page.close()
    assert [name for name, state in zip(BAD, read, strict=True) if state] == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("play=edges&alpha=1e400", "at most 2\\*\\*1000"),
        ("play=edges&layer=10001", "expected 0 to 10000"),
    ],
)
def test_what_is_too_large_is_refused_before_there_is_a_figure(body, expected):
    with pytest.raises(ValueError, match=expected):
        links.read(sealed(body))


def test_a_link_survives_messengers():
    """That write %2F for a slash, or a text before the link."""
    link = sealed("play=comb-of-windows&alpha=2/9")
    for sent in (link.replace("/", "%2F"), "see " * 20_000 + link, f"  {link}\n"):
        assert Playground.from_link(sent).alpha == Fraction(2, 9)


def test_a_layer_under_way_is_the_one_it_came_from(browser):
    page = browser.new_page()
    state = wired(presets()["edges"]) | {"preset": "edges", "chosen": 0, "show": []}
    states = [state | {"layer": layer} for layer in (2, 2.9)]
    given = [source("address.js"), wired(presets()), states, []]
    written, *_ = page.evaluate(IN_THE_PAGE, given)
    page.close()
    assert written[0] == written[1] and "&layer=2&" in written[0]


def test_only_a_link_is_taken():
    for link in (None, 3, b"play=edges"):
        with pytest.raises(ValueError, match="link is"):
            Playground.from_link(link)


# As a reader


def opened(browser, tmp_path, at="", figures=1):
    plays = [Playground("triangle") for _ in range(figures)]
    page, wrong = visit(browser, live_page(tmp_path, *plays) + at)
    page.locator("[data-live]").nth(figures - 1).wait_for()
    page.wait_for_timeout(300)
    return page, wrong


def copied_link(figure):
    figure.locator(".hm-more:not([open]) > summary").click()
    figure.get_by_role("button", name="Copy link").click()
    figure.get_by_text(re.compile("^(copied|select and copy)$")).wait_for()
    return figure.locator("pre").inner_text()


def test_a_link_is_opened_followed_and_copied(browser, tmp_path):
    state = drawn(3) | {"preset": "edges", "layer": 2, "show": ["K"]}
    state["tokens"] = [[1.0, Fraction(1, 3)], [0.1 + 0.2, -1.0], [-1.0, 1.0]]
    state |= {"alpha": Fraction(2, 9), "A": None, "chosen": 1}
    text = "play=edges&tokens=1,1/3_0.30000000000000004,-1_-1,1&alpha=2/9&layer=2&token=2&show=K"
    page, wrong = opened(browser, tmp_path, sealed(text))
    status = page.locator(".hm-status")
    assert (
        status.inner_text().startswith("Layer 2:") and "Token 2" in status.inner_text()
    )
    link = copied_link(page.locator("[data-live]"))
    assert link == page.url
    same(state, Playground.from_link(link))
    # What the reader does is in the address, and a new address in the figure.
    page.get_by_label("alpha, a decimal or a fraction").fill("1/7")
    page.wait_for_function("location.hash.includes('alpha=1/7')")
    page.evaluate("hash => (location.hash = hash)", sealed("play=square"))
    page.locator(".hm-about", has_text="four corners").wait_for()
    page.get_by_role("button", name="Reset").click()
    assert wrong == []
    page.context.close()


def test_a_damaged_link_says_so_and_shows_the_preset(browser, tmp_path):
    page, wrong = opened(browser, tmp_path, "#play=edges&layer=2&sum=zzzz")
    status = page.locator(".hm-status").inner_text()
    assert "This link is damaged" in status and "Layer 0: 3 leaders" in status
    page.get_by_label("Layer").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    assert "damaged" not in page.locator(".hm-status").inner_text()
    assert wrong == []
    page.context.close()


def test_two_figures_of_a_page_have_links_of_their_own(browser, tmp_path):
    page, wrong = opened(browser, tmp_path, figures=2)
    second = page.locator("[data-live]").nth(1)
    second.get_by_label("Layer").focus()
    page.keyboard.press("ArrowRight")
    link = copied_link(second)
    assert "#play2=triangle&layer=1&" in link and Playground.from_link(link).layer == 1
    page.context.close()
    page, wrong = opened(browser, tmp_path, "#" + link.split("#")[1], figures=2)
    said = page.locator(".hm-status").all_inner_texts()
    assert [text[:7] for text in said] == ["Layer 0", "Layer 1"]
    assert wrong == []
    page.context.close()


def test_the_copied_code_is_the_state(browser, tmp_path):
    """Bit for bit, fractions and both zeros included: it is run."""
    states = [drawn(seed) for seed in range(60)]
    page = browser.new_page()
    codes = page.evaluate(
        """async ([source, states]) => {
          const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
          return states.map(H.python);
        }""",
        [source("python.js"), [wired(state) for state in states]],
    )
    page.close()
    for state, code in zip(states, codes, strict=True):
        names, quick = {}, re.sub(r"^(path|print|end).*$", "", code, flags=re.M)
        exec(quick, names)
        same(state, names["play"])
        exact = names["Z"].dtype == object
        assert names["alpha"] == state["alpha"] and exact == (
            any(
                isinstance(x, Fraction)
                for x in np.ravel(np.array(state["tokens"], object))
            )
            or isinstance(state["alpha"], Fraction)
            or "/" in str(wired(state["A"]))
        )


# Guided


def places():
    """Every place of the chapters that sets a figure: (chapter, what it says)."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            said = re.findall(r'<span data-show="([^"]*)">', "".join(cell["source"]))
            yield from ((path.stem, html.unescape(text)) for text in said)


def test_what_the_chapters_show_can_be_shown():
    assert {chapter for chapter, _ in places()} >= {
        "01_geometry",
        "02_convergence",
        "03_leaders",
        "04_sentiment",
        "11_limits_that_are_no_vertices",
    }
    for _, text in places():
        if not text.startswith("review="):  # of which test_explorer.py knows
            assert Playground.from_link(sealed(text)).tokens


def test_places_of_the_text_set_the_figure_before_them(browser, tmp_path):
    """By mouse and by keys; what cannot be read stays text, and without JavaScript all does."""
    spans = "".join(
        f'<p>See <span data-show="{html.escape(text)}">{html.escape(text)}</span>.</p>'
        for text in ("alpha=2/9&layer=1", "play=edges&token=5", "alpha=<script>")
    )
    address = live_page(tmp_path, Playground("comb of windows"), Playground("square"))
    file = tmp_path / "page.html"
    first = file.read_text().index("</script>") + len("</script>")
    text = file.read_text()
    file.write_text(
        f"{text[:first]}{spans}{text[first:].replace('</main>', spans + '</main>')}"
    )
    page, wrong = visit(browser, address)
    page.locator("[data-live]").nth(1).wait_for()
    buttons = page.locator("button.hm-show")
    assert buttons.count() == 4 and page.locator("span[data-show]").count() == 6
    said = page.locator(".hm-status")
    buttons.nth(0).click()
    said.nth(0).filter(has_text="Layer 1:").wait_for()
    alpha = page.get_by_label("alpha, a decimal or a fraction")
    assert [alpha.nth(i).input_value() for i in (0, 1)] == ["2/9", "0.5"]
    buttons.nth(3).focus()
    page.keyboard.press("Enter")
    said.nth(1).filter(has_text="Token 5").wait_for()
    assert said.nth(0).inner_text().startswith("Layer 1:")
    assert wrong == []
    page.context.close()
    page, _ = visit(browser, address, java_script_enabled=False)
    assert page.get_by_text("See alpha=2/9&layer=1.").count() == 2
    assert page.locator("button").count() == 0
    page.context.close()


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ("url: https://github.com/OWNER/REPO", ""),
        (
            "url: https://github.com/A-Name/the.book",
            "https://a-name.github.io/the.book/",
        ),
        ("url: https://github.com/A/a.GitHub.io", "https://a.github.io/"),
        ("url: https://github.com/a/b/c", ""),
        ("url: https://gitlab.com/a/b", ""),
        (None, ""),  # installed, not checked out
    ],
)
def test_the_site_is_where_config_says(monkeypatch, tmp_path, config, address):
    package = tmp_path / "hmlib" / "live" / "__init__.py"
    monkeypatch.setattr(live, "__file__", str(package))
    if config is not None:
        (tmp_path / "_config.yml").write_text(f"repository:\n  {config}\nhtml: x\n")
    assert live.site() == address
    assert Playground("triangle").site == address


def test_a_link_full_of_beginnings_is_read_once():
    with pytest.raises(ValueError, match="expected a link as it was copied"):
        links.read("#play=&sum=aaaa" * 4000 + "x")
    body = "play=triangle"
    text = f"https://a.b/#play=c#play=triangle&sum={links.check_sum('play=c#' + body)}"
    assert links.read(text) == {"play": "c#play=triangle"}
