"""The review explorer: the page's words, leaders and verdicts against hmlib, on 1,000 reviews; then as a reader uses it."""

import hashlib
import json
import re
from html import unescape

import numpy as np
import pytest
import torch
from browsing import ROOT, visit
from live import page as live_page

from hmlib import (
    HardmaxClassifier,
    ReviewExplorer,
    Vocabulary,
    Weights,
    explain,
    load_reviews,
    preprocess,
    simulate,
)
from hmlib.explanation import Calibration
from hmlib.figures import review_text
from hmlib.live import links, reviews, source

DEPTH = 3
CALIBRATION = Calibration(scale=1.75, few=60)
IN_THE_PAGE = """
async ([source, stored, texts, left]) => {
  const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const net = H.unpack(stored);
  return texts.map((text) => {
    const words = H.plain(text, net.stop), e = H.explain(net, words);
    const without = left ? e.names.map((word) => H.explain(net, words, new Set([word])).logit ?? null) : [];
    return { sure: e.sure ?? null, words, names: e.names, unknown: e.unknown, leaders: e.leaders, logit: e.logit ?? null, weights: e.weights,
      root: e.root, shares: e.shares ? [...e.shares] : [], last: e.tokens?.at(-1), without };
  });
}
"""


@pytest.fixture(scope="module")
def texts():
    texts = load_reviews().texts[:980]
    odd = [
        "",
        "<br /> ' '' 'tis O'Neill's <b>bold</b> <script>x</script>",
        "naïve café ΣΟΦΟΣ İstanbul K ﬁlm",
        "the and of",
    ]
    odd += [text.upper() for text in texts[:8]] + [
        "zzz " + text.replace(" ", "\n\t'") for text in texts[8:16]
    ]
    return texts + odd


@pytest.fixture(scope="module")
def model(texts):
    """Not trained, but with the words of the reviews; one in ten is unknown."""
    torch.manual_seed(0)
    documents = [preprocess(text, "plain") for text in texts]
    vocabulary = Vocabulary(documents, most=9000)
    model = HardmaxClassifier(len(vocabulary), dim=2, depth=DEPTH, alpha=4.0)
    model.vocabulary = vocabulary
    return model


@pytest.fixture(scope="module")
def said(browser, texts, model):
    page = browser.new_page()
    given = [
        source("judge.js"),
        reviews.packed(model, CALIBRATION),
    ]
    all_ = page.evaluate(IN_THE_PAGE, [*given, texts, False])
    few = page.evaluate(IN_THE_PAGE, [*given, texts[:40], True])
    page.close()
    return all_, few


def test_words_and_ids_are_equal(texts, model, said):
    assert len(texts) == 1000
    for text, js in zip(texts, said[0], strict=True):
        words = preprocess(text, "plain")
        assert js["words"] == words
        ids = model.vocabulary.encode(words)
        assert js["names"] == list(
            dict.fromkeys(model.vocabulary.words[i] for i in ids if i)
        )
        assert js["unknown"] == [
            word for word in words if word not in model.vocabulary.index
        ]


def test_odd_signs_are_read_alike_and_at_once(browser, model):
    """Tags that do not end, and apostrophes, by the hundred thousand: a search that is quadratic freezes the page."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("<>'ab "), rng.integers(30))) for _ in range(3000)]
    texts += [
        "<" * 300_000,
        "<" * 300_000 + ">",
        "a" + "'" * 300_000 + " bad",
        "a" + "'" * 300_000 + "b",
    ]
    page = browser.new_page()
    code = source("judge.js")
    words, took = page.evaluate(
        """async ([source, texts, stop]) => {
          const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
          const began = performance.now();
          return [texts.map((text) => H.plain(text, new Set(stop))), performance.now() - began];
        }""",
        [code, texts, reviews.packed(model)["stop"]],
    )
    page.close()
    assert words == [preprocess(text, "plain") for text in texts] and took < 1000


def test_leaders_and_verdicts_are_equal(model, said):
    E = model.embedding.weight.detach().double().numpy()
    v, b = (
        model.decoder.weight.detach().double().numpy()[0],
        float(model.decoder.bias.detach()),
    )
    stored = reviews.packed(model)
    judged = 0
    for js in said[0]:
        if js["logit"] is None:
            assert js["names"] == []
            continue
        path = simulate(
            E[[model.vocabulary.index[word] for word in js["names"]]],
            stored["alpha"],
            DEPTH,
        )
        assert path.leaders(DEPTH - 1).tolist() == js["leaders"]
        assert (path.tokens[-1] == js["last"]).all()
        logit = np.average(path.tokens[-1], axis=0, weights=js["weights"]) @ v + b
        assert abs(logit - js["logit"]) < 1e-12
        assert (logit > 0) == (js["logit"] > 0)
        judged += 1
    assert judged > 990


def test_explanations_and_what_if_are_equal(texts, model, said):
    for text, js in zip(texts, said[1], strict=False):
        e = explain(model, preprocess(text, "plain"))
        assert e.words == js["names"] and e.counts.tolist() == js["weights"]
        assert e.root.tolist() == js["root"]
        assert abs(CALIBRATION.sure(e) - js["sure"]) < 1e-12
        assert {
            e.words[i]: pytest.approx(share, abs=1e-12) for i, share in js["shares"]
        } == e.shares
        np.testing.assert_allclose(
            np.array(js["without"], float), e.without, atol=1e-12
        )


def test_bad_models_are_refused(model, tmp_path):
    good = {"alpha": 1, "depth": 2, "v": [1, 0], "bias": 0}

    def weights(words=("good", "bad"), dim=2, **changed):
        E = np.ones((len(words) + 1, dim))
        vocabulary = Vocabulary([list(words)])
        return Weights(**{"embedding": E, "vocabulary": vocabulary} | good | changed)

    for bad, message in (
        (weights(["good film", "bad"]), "a word is 'good film': expected one without"),
        (weights([""]), "a word is '': expected one without blanks"),
        (
            weights(dim=3, v=[1, 0, 1]),
            r"embedding has shape \(3, 3\): expected points as rows of 2",
        ),
        (weights(A=[[2, 0], [0, 1]]), "The model has A or its padding is a token: exp"),
        (weights(padding="token"), "expected A = None and padding = 'mask'"),
        (weights(depth=1001), "depth is 1001: expected a whole number from 0 to 1000"),
        (weights(embedding=np.full((3, 2), 1e300)), "as float32, leaves the range"),
        (HardmaxClassifier(3, dim=2), "The model carries no vocabulary"),
        ("model.js", "model is of type str: expected a HardmaxClassifier, or its Weig"),
    ):
        with pytest.raises(ValueError, match=message):
            ReviewExplorer(bad)
    many = weights([f"word{i:08}" for i in range(60_000)])
    with pytest.raises(ValueError, match="bytes: expected at most 1000000"):
        reviews.write_review_model(many, tmp_path / "model.js")


def test_the_stored_calibration_is_that_of_the_stored_model():
    stored = json.loads((ROOT / "results" / "calibration.json").read_text())
    model = (ROOT / "results" / "sentiment_model.safetensors").read_bytes()
    assert stored["fit"]["model"] == hashlib.sha256(model).hexdigest()
    losses = {name: row["mean"] for name, row in stored["validation"].items()}
    assert stored["fit"]["chosen"] == min(losses, key=losses.get) == "by length"
    for row in stored["test"].values():
        assert row["calibrated"]["loss"] < row["as it says"]["loss"]


def test_the_stored_model_of_the_study(tmp_path):
    stored = ROOT / "results" / "sentiment_model.safetensors"
    if not stored.exists():
        pytest.skip(f"there is no {stored.name} in results: the study has not been run")
    weights = Weights.load(stored)
    reviews.write_review_model(weights, tmp_path / "model.js")
    assert (tmp_path / "model.js").stat().st_size < 1_000_000
    assert len(reviews.packed(weights)["words"].split()) == 30_000


# As a reader


@pytest.fixture
def page(browser, model, tmp_path):
    (tmp_path / "_static").mkdir()
    file = tmp_path / "_static" / "review-model.js"
    reviews.write_review_model(model, file, CALIBRATION)
    page, wrong = visit(browser, live_page(tmp_path, ReviewExplorer()))
    page.locator("[data-live=reviews]").wait_for()
    yield page
    assert wrong == []
    page.context.close()


BLAME = reviews.EXAMPLES["blame"]


def sealed(body):
    return f"#{body}&sum={links.check_sum(body)}"


def status(page):
    return page.locator(".hm-status").inner_text()


def verdict(model, text, left=()):
    e = explain(model, [word for word in preprocess(text, "plain") if word not in left])
    percent = round(100 * CALIBRATION.sure(e))
    return f"{'▲ positive' if e.logit > 0 else '▼ negative'}, {percent} % sure"


def load(page):
    page.get_by_role("button", name="Load the model").click()
    page.locator("[data-live=reviews][data-loaded]").wait_for()
    page.wait_for_timeout(100)


def test_it_is_alive_before_the_model_has_loaded(page):
    assert page.evaluate("typeof hmlibReviewModel") == "undefined"
    page.get_by_label("Your review").fill("A boring film")
    assert page.locator(".hm-text").inner_text() == "A boring film"
    assert "Load it to see them gather" in status(page)


def test_a_review_is_typed_and_a_word_left_out(page, model):
    load(page)
    text = "Great actors, great story, but the ending was boring. Zzzyx!"
    page.get_by_label("Your review").fill(text)
    page.wait_for_timeout(200)
    assert verdict(model, text) in status(page)
    assert page.locator(".hm-text .hm-unknown").all_inner_texts() == ["Zzzyx?"]
    boring = page.get_by_role("button", name="boring")
    boring.focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert (
        boring.get_attribute("aria-pressed") == "true"
        and page.evaluate("document.activeElement.dataset.word") == "boring"
    )
    assert status(page).startswith(verdict(model, text, {"boring"}))
    assert f"Left out: boring. With all words: {verdict(model, text)}." in status(page)
    page.get_by_role("button", name="All words again").click()
    page.wait_for_timeout(200)
    assert status(page).startswith(verdict(model, text)) and "Left out" not in status(
        page
    )


def test_an_example_is_chosen_and_played(page, model):
    load(page)
    page.get_by_role("combobox").select_option("blame")
    assert page.locator(".hm-text").inner_text().replace("★", "") == BLAME
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        f"document.querySelector('[data-live] output').textContent === '{DEPTH}'"
    )
    assert verdict(model, reviews.EXAMPLES["blame"]) in status(page)
    assert f"Layer {DEPTH}:" in page.locator("[data-live] canvas").get_attribute(
        "aria-label"
    )


def test_the_text_is_marked_as_hmlib_says(page, model):
    """By signs that those who see no colours, and those who listen, have too."""
    load(page)
    for name, text in reviews.EXAMPLES.items():
        page.get_by_role("combobox").select_option(name)
        page.wait_for_timeout(150)
        e = explain(model, preprocess(text, "plain"))
        leads = {e.words[i] for i in e.leaders}
        found = {kind: set() for kind in ("leads", "follows", "unknown", "dropped")}
        for kind, words in found.items():
            shown = page.locator(f".hm-text .hm-{kind}").all_inner_texts()
            words |= {word.rstrip("★?").lower() for word in shown}
            if kind in ("leads", "unknown"):
                assert all(word[-1] in "★?" for word in shown)
        assert found["leads"] == leads and found["unknown"] == set(e.unknown)
        assert found["follows"] == set(e.words) - leads
        assert page.locator(".hm-text [title=leads]").count() >= len(leads)


def test_the_votes_add_up_to_the_verdict_in_view(page, model):
    load(page)
    for name, text in reviews.EXAMPLES.items():
        page.get_by_role("combobox").select_option(name)
        page.wait_for_timeout(150)
        rows = [row.split("\n") for row in page.locator(".hm-vote").all_inner_texts()]
        votes = {who: float(vote.replace("\u2212", "-")) for who, vote in rows}
        e = explain(model, preprocess(text, "plain"))
        total = votes.pop("sum")
        assert abs(total - e.logit) < 0.006
        assert abs(sum(votes.values()) - total) < 0.006 * len(rows)
        assert all(
            abs(votes[who] - e.shares[who]) < 0.006
            for who in set(votes) & set(e.shares)
        )
    sight = (
        page.locator(".hm-sum").bounding_box()["y"]
        - page.locator(".hm-status").bounding_box()["y"]
    )
    assert sight < 600, "verdict and votes are in one view"


def test_a_model_without_calibration_says_so(browser, model, tmp_path):
    (tmp_path / "_static").mkdir()
    reviews.write_review_model(model, tmp_path / "_static" / "review-model.js")
    page, wrong = visit(browser, live_page(tmp_path, ReviewExplorer()))
    load(page)
    e = explain(model, preprocess(reviews.EXAMPLES["praise"], "plain"))
    own = round(100 * max(e.probability, 1 - e.probability))
    assert f"{own} % sure: by its own account, which is not" in status(page)
    assert wrong == []
    page.context.close()


def test_nothing_is_a_hundred_percent_sure(browser, tmp_path):
    words = Vocabulary([["good", "bad"]])
    E = [[0, 0], [900, 0], [-900, 0]]
    loud = Weights(E, 1, 0, [1, 0], 0, vocabulary=words)
    (tmp_path / "_static").mkdir()
    reviews.write_review_model(
        loud, tmp_path / "_static" / "review-model.js", CALIBRATION
    )
    page, wrong = visit(browser, live_page(tmp_path, ReviewExplorer(text="good")))
    load(page)
    assert "▲ positive, over 99 % sure: about so often such" in status(page)
    assert wrong == []
    page.context.close()


def test_few_known_words_are_flagged(page):
    load(page)
    page.get_by_label("Your review").fill("Great story.")
    page.wait_for_timeout(200)
    assert "It knows only 2 of the words: do not trust it." in status(page)


def link(page):
    page.locator(".hm-more:not([open]) > summary").click() if page.locator(
        ".hm-more:not([open])"
    ).count() else None
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_timeout(200)
    return page.locator("[data-live] pre").inner_text()


def test_a_link_has_what_is_left_out_and_never_the_text_unless_asked(page, model):
    load(page)
    page.get_by_role("combobox").select_option("blame")
    page.get_by_role("button", name="boring").click()
    page.get_by_role("slider", name="Layer").fill("2")
    page.wait_for_function("location.hash.includes('layer=2')")
    address = link(page)
    assert "#review=blame&left=boring&layer=2&sum=" in address and address == page.url
    own = "Great actors in a s\u00e9cret story & more; 100 % good"
    page.get_by_label("Your review").fill(own)
    page.wait_for_function("!location.hash")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("a review of your own is not told").wait_for()
    assert "#" not in page.url
    page.get_by_label("a link may tell my review's text").check()
    page.get_by_role("button", name="great").click()
    page.wait_for_function("location.hash.includes('left=great')")
    told = link(page)
    assert "cret" not in told, "packed"
    for there, text, left in ((address, BLAME, "boring"), (told, own, "great")):
        page.goto("about:blank")
        page.goto(there)
        page.locator("[data-live=reviews]").wait_for()
        load(page)
        assert page.get_by_label("Your review").input_value() == text
        assert f"Left out: {left}." in status(page)
        assert status(page).startswith(verdict(model, text, {left}))
    page.goto("about:blank")
    page.goto(told[:-9] + "&sum=0000")
    page.locator(".hm-status", has_text="This link is damaged").wait_for()
    page.goto("about:blank")
    page.goto(address.split("#")[0] + sealed("review=own&text=PHNjcmlwdD4&left=<b>"))
    page.locator(".hm-status", has_text="This link is damaged").wait_for()


def test_places_of_the_text_set_the_explorer_before_them(browser, model, tmp_path):
    """Those of chapter 4, by mouse and by keys; a text that tells a review stays text, too."""
    chapter = (ROOT / "notebooks" / "04_sentiment.ipynb").read_text()
    said = re.findall(r'<span data-show=\\"([^>]*)\\">', chapter)
    spans = [f'<p>See <span data-show="{text}">{text}</span>.</p>' for text in said]
    (tmp_path / "_static").mkdir()
    reviews.write_review_model(model, tmp_path / "_static" / "review-model.js")
    address = live_page(tmp_path, ReviewExplorer())
    file = tmp_path / "page.html"
    broken = '<p><span data-show="review=unheard-of">x</span></p>'
    text = file.read_text().replace("</main>", "".join(spans) + broken + "</main>")
    file.write_text(text)
    page, wrong = visit(browser, address)
    load(page)
    buttons = page.locator("button.hm-show")
    assert len(said) >= 5 and buttons.count() == len(said)
    names = {name.replace(" ", "-"): text for name, text in reviews.EXAMPLES.items()}
    shown = set()
    for k, text in enumerate(map(unescape, said)):
        buttons.nth(k).focus()
        page.keyboard.press("Enter")
        asked = dict(part.split("=") for part in text.split("&"))
        assert page.get_by_label("Your review").input_value() == names[asked["review"]]
        left = asked.get("left")
        assert (f"Left out: {left}." in status(page)) == bool(left)
        shown.add(asked["review"])
    assert {"negation,-a-failure", "an-accident"} <= shown
    assert wrong == []
    page.context.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_jumps_while_words_are_left_out(page, width):
    """The words are below the verdict, and under the pointer."""
    page.set_viewport_size({"width": width, "height": 900})
    load(page)
    text = (
        "great actors story ending boring film time plot music scene acting wonderful"
    )
    page.get_by_label("Your review").fill(text)
    page.wait_for_timeout(150)
    places = "[...document.querySelectorAll('.hm-columns, .hm-text, .hm-more')]"
    tops = f"{places}.map((node) => node.offsetTop)"
    words = (
        "[...document.querySelectorAll('.hm-text > *')].map((node) => node.offsetLeft)"
    )
    before, lefts = page.evaluate(tops), page.evaluate(words)
    for word in text.split()[:10]:
        page.get_by_role("button", name=word, exact=False).first.click()
        page.wait_for_timeout(60)
        assert page.evaluate(tops) == before, word
        assert page.evaluate(words) == lefts, word
    assert "Left out: great, actors, story, ending, …." in status(page)


def test_leaders_that_lie_close_are_all_named(browser):
    """Farther off, with a line; no label hides another."""
    page = browser.new_page()
    written = page.evaluate(
        """async (source) => {
          const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
          const found = { far: [], near: [] };
          for (const kind of ["far", "near"]) {
            const pen = document.createElement("canvas").getContext("2d");
            pen.fillText = (text, x, y) => found[kind].push([x, y, pen.measureText(text).width]);
            const labels = [..."abcdefghij"].map((letter) => letter.repeat(9)).map((text, i) =>
              ({ at: [200 + i, 100 + i], text, font: "13px sans-serif", far: kind === "far" }));
            H.place({ pen, width: 300, height: 200, colours: {} }, labels, []);
          }
          return found;
        }""",
        source("labels.js"),
    )
    page.close()
    assert len(written["near"]) < 10 == len(written["far"])
    for i, (x, y, wide) in enumerate(written["far"]):
        assert x >= 0 and x + wide <= 300
        for u, v, other in written["far"][:i]:
            assert abs(y - v) >= 13 or abs(x - u) >= min(wide, other) - 2


def test_markup_is_shown_and_not_run(page):
    load(page)
    page.get_by_label("Your review").fill(
        '<img src=x onerror="window.ran = 1"> <b>great</b> \'<script>window.ran=1</script>'
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert (
        page.locator("[data-live] img, [data-live] b, [data-live] script").count() == 0
    )


def test_nothing_known_is_said(page):
    load(page)
    page.get_by_label("Your review").fill("qqq wwwq")
    page.wait_for_timeout(200)
    assert "knows none of these words" in status(page)


def test_a_page_without_its_model_says_so(browser, tmp_path):
    page, wrong = visit(browser, live_page(tmp_path, ReviewExplorer()))
    page.get_by_role("button", name="Load the model").click()
    page.get_by_text("There is no trained model beside this page.").wait_for()
    assert all(re.search("ERR_FILE_NOT_FOUND|review-model.js", w) for w in wrong)
    page.context.close()


def test_the_kernel_is_asked_for_the_model(model):
    explorer, sent = ReviewExplorer(model), []
    explorer.send = sent.append
    explorer._answer(explorer, {"load": True}, [])
    explorer._answer(explorer, {"other": 1}, [])
    assert len(sent) == 1 and json.dumps(sent[0]["model"]["depth"]) == "3"


# A review as text


def test_a_review_as_text_says_who_leads_and_who_follows_whom():
    weights = Weights.load(ROOT / "results" / "sentiment_model.safetensors")
    for text in load_reviews().texts[:40]:
        text += " <b> & 'Unheardofword' "
        why = explain(weights, preprocess(text, "plain"))
        html = review_text(text, why).data
        leaders = why.leaders.tolist()
        lead = re.findall(r"'leader'>([^<]*)<sup>★(\d+)<", html)
        follow = re.findall(r"'follower'>([^<]*)<sub>(\d*)<", html)
        marked = [(unescape(w).lower().strip("'"), k) for w, k in lead + follow]
        words = {word: i for i, word in enumerate(why.words)}
        assert {word for word, _ in marked} == words.keys()
        numbers = {(words[word], int(k)) for word, k in marked[: len(lead)]}
        assert numbers == {(i, k) for k, i in enumerate(leaders, 1)}
        for word, k in marked[len(lead) :]:
            end = why.root[words[word]]
            assert end == leaders[int(k) - 1] if k else end not in leaders
        assert "&lt;b&gt; &amp; " in html and "Unheardofword" in html
        assert ("Verdict: positive" in html) == (why.logit > 0)
        only = review_text(text, why, followers=False).data
        assert "<su" not in only and only.count("'leader'") == len(lead)
