"""What a reader leans on: whose a statement is, what a reference is called, what a link shows."""

import io
import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import captions
import citations
import cover
import matplotlib.pyplot as plt
import numpy as np
import pictures
import previews
import pytest
import standing
import tables
from docutils import frontend, nodes, utils
from pybtex.database import parse_string
from sphinx import addnodes
from sphinx_proof.nodes import lemma_node, proof_node
from test_project import NOTEBOOKS, ROOT

from hmlib import limit
from hmlib.figures import style

MAP = (ROOT / "book" / "statements.md").read_text()
ROW = "| {prf:ref}`lem-one`: one | {standing}`ours` | {ref}`step <code-step>` | {ref}`test_it_holds` |"


# Boxes


def test_every_box_has_a_row_and_every_row_a_box():
    found = re.findall(
        r"\{prf:(?!ref|proof)\w+\}[^\n]*\n:label: ([\w-]+)",
        "".join(
            "".join(cell["source"])
            for path in NOTEBOOKS
            for cell in json.loads(path.read_text())["cells"]
        ),
    )
    assert sorted(found) == sorted(standing.rows(MAP)) and len(found) > 70


def box(label="lem-one"):
    node = lemma_node(label=label)
    node += [nodes.title("", "One"), nodes.section()]
    document = nodes.Element("", node)
    env = SimpleNamespace(docname="notebooks/1", note_dependency=lambda path: None)
    return document, node, SimpleNamespace(env=env)


def test_a_box_says_whose_it_is_and_where_it_is_tested(monkeypatch, tmp_path):
    (tmp_path / "map.md").write_text(ROW)
    monkeypatch.setattr(standing, "MAP", tmp_path / "map.md")
    document, node, app = box()
    standing.mark(app, document)
    (badge,) = node[0].findall(nodes.inline)
    assert badge.astext() == "ours" and badge["classes"] == [
        "standing",
        "standing-ours",
    ]
    assert node[-1].astext() == "Code step Tests it holds "
    assert [link["reftarget"] for link in node[-1].findall() if "reftarget" in link]


def test_a_box_without_a_row_is_an_error(monkeypatch, tmp_path, caplog):
    """The build takes warnings for errors."""
    (tmp_path / "map.md").write_text(ROW)
    monkeypatch.setattr(standing, "MAP", tmp_path / "map.md")
    said = []
    monkeypatch.setattr(
        standing.logging,
        "getLogger",
        lambda name: SimpleNamespace(
            warning=lambda text, *a, **k: said.append(text % a)
        ),
    )
    document, node, app = box("lem-two")
    standing.mark(app, document)
    assert said == ["the box lem-two has no row in the statement map"]
    assert len(node) == 2


def test_a_box_has_one_row():
    with pytest.raises(ValueError, match="lem-one has two rows in the statement map"):
        standing.rows(f"{ROW}\n{ROW}")


def test_a_standing_is_one_of_six():
    said = []
    reporter = SimpleNamespace(error=lambda text, line: said.append(text))
    inliner = SimpleNamespace(
        reporter=reporter, problematic=lambda *args: nodes.problematic()
    )
    assert standing.role("standing", "", "reconstructed", 1, inliner)[1] == []
    standing.role("standing", "", "theirs", 1, inliner)
    assert said[0].startswith("no such standing: 'theirs'; expected one of paper,")
    for name in standing.STANDINGS:
        assert f"\n{{standing}}`{name}`\n: " in MAP, "the map explains each"


def test_a_long_proof_is_closed_and_a_short_one_is_not():
    long = nodes.admonition("", nodes.paragraph("", "long"), classes=["dropdown"])
    short = nodes.admonition("", nodes.paragraph("", "short"), classes=["proof"])
    document = nodes.Element("", proof_node("", long), proof_node("", short))
    standing.fold(document)
    start, proof, end, other = document.children
    assert start.astext().startswith("<details class='folded-proof'>")
    assert end.astext() == "</details>\n" and other.astext() == "short"
    assert proof.astext() == "long" and proof[0]["classes"] == []


# References

TWO = """@misc{a, author = {R{\\'e}nyi, Alfr{\\'e}d and Sulanke, Rolf}, year = {1963}}
@misc{b, author = {van der Waerden, Bartel and Noether, Emmy and Artin, Emil}, year = {1930a}}
@misc{c, author = {{The Group}}}"""


def test_a_reference_is_called_by_its_authors_and_its_year():
    entries = list(parse_string(TWO, "bibtex").entries.values())
    labels = citations.Labels().format_labels(entries)
    assert labels == [
        "Rényi and Sulanke, 1963",
        "van der Waerden et al., 1930a",
        "The Group, n.d.",
    ]


def test_two_works_with_one_name_are_refused():
    entries = list(parse_string(TWO, "bibtex").entries.values())
    with pytest.raises(
        ValueError, match=r"letters in references\.bib: \{'The Group, n.d.'\}"
    ):
        citations.Labels().format_labels([*entries, entries[-1]])


# Previews

BOX = '<div class="proof lemma admonition" id="lem-one"><p id="x">One <a href="#y">two</a></p></div>'
PAGE = "<html><body><article>{}</article></body></html>"


def link(href):
    return f'<a class="reference internal" href="{href}">see</a>'


@pytest.fixture
def site(tmp_path):
    previews.targets.cache_clear()
    (tmp_path / "book").mkdir()
    (tmp_path / "one.html").write_text(PAGE.format(BOX))
    return tmp_path


@pytest.mark.parametrize(
    ("href", "shown"),
    [
        ("../one.html#lem-one", True),
        ("../one.html#elsewhere", False),
        ("../gone.html#lem-one", False),
        ("../../one.html#lem-one", False),  # beyond the site
        ("#lem-one", False),  # the script finds it on the page
        ("https://example.org/one.html#lem-one", False),
    ],
)
def test_a_page_holds_what_its_links_lead_to(site, href, shown):
    path = site / "book" / "two.html"
    path.write_text(PAGE.format(link(href) * 2))
    (site.parent / "one.html").write_text(PAGE.format(BOX))
    previews.write(site)
    text = path.read_text()
    kept = '<div class="proof lemma admonition"><p>One two</p></div>'
    template = f'<template class="preview" data-for="{href}">{kept}</template>\n</body>'
    assert text.count("<template") == (template in text) == shown


def test_a_target_within_a_target_is_one_too(site):
    inner = '<div class="math" id="eq-a">x</div>'
    (site / "four.html").write_text(
        PAGE.format(BOX.replace("</div>", f"{inner}</div>"))
    )
    found = previews.targets(site / "four.html")
    assert set(found) == {"lem-one", "eq-a"} and "id=" not in "".join(found.values())


def test_previews_are_not_previewed(site):
    """A template holds no target: the pages are read before any is written."""
    for name in ("two", "three"):
        (site / f"{name}.html").write_text(PAGE.format(link("one.html#lem-one")))
    previews.write(site)
    assert "lem-one" not in previews.targets(site / "two.html")


# Pictures


@pytest.fixture(scope="module")
def drawn():
    """A figure with text, markers that are used again, clips and colours: (its file, as the page has it)."""
    with plt.rc_context({"svg.hashsalt": "test", "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(4, 3))
        axes.plot([0, 1, 2], [0.123456, 2.5, -1], "o-", color="#0072B2")
        axes.plot([0, 1, 2], [1, -2.5, 1], "o-", color="#123456")
        axes.set_title('a < b & "c"')
        file = io.StringIO()
        figure.savefig(file, format="svg")
        plt.close(figure)
    return file.getvalue(), pictures.inline(file.getvalue(), "p7", 'x < "y"')


def test_a_picture_is_named_and_its_text_is_text(drawn):
    _, svg = drawn
    root = ElementTree.fromstring(svg)
    assert (root.get("role"), root.get("aria-label")) == ("img", 'x < "y"')
    assert 'a < b & "c"' in [node.text for node in root.iter("text")]
    assert root.get("style") == "max-width: 384px"  # four inches


def test_names_in_a_picture_are_its_own_and_lead_somewhere(drawn):
    _, svg = drawn
    names = re.findall(r' id="([^"]*)"', svg)
    linked = set(re.findall(r'(?:href="#|url\(#)([^")]*)', svg))
    assert len(names) == len(set(names)) and set(names) == linked
    assert linked and all(name.startswith("p7.") for name in linked)


def test_colours_of_the_book_follow_the_theme_and_others_stay(drawn):
    _, svg = drawn
    assert "var(--picture-blue, #0072b2)" in svg and "#123456" in svg
    css = (ROOT / "book" / "assets" / "book.css").read_text()
    for name in set(pictures.NAMES.values()):
        assert f"--picture-{name}: #" in css
    assert {c.lower() for c in style.COLOURS} | {style.INK} <= set(pictures.NAMES)


def test_a_picture_is_shorter_and_off_by_no_more_than_a_tenth_of_a_point(drawn):
    file, svg = drawn
    assert len(svg) < 0.6 * len(file)
    paths = [
        [np.array([float(x) for x in pictures.NUMBER.findall(d)]) for d in found]
        for found in (re.findall(r' d="([^"]*)"', text) for text in (file, svg))
    ]
    before = [d for d in paths[0] if len(d)]
    for after in paths[1]:
        near = [abs(b - after).max() for b in before if len(b) == len(after)]
        assert min(near) <= 0.05 + 1e-9  # none of these lines stays on the spot


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("M 100 0 \nL 100.04 0 \nL 150 0 \nL 150 0 \nz", "M100 0L150 0z"),
        ("M 0 100 C 1 2 3 4 0 100 L 0 100 L 5 5", "M0 100C1 2 3 4 0 100L0 100L5 5"),
        ("M 0 1.23456 L 2 3", "M0 1.235L2 3"),
    ],
)
def test_a_line_that_stays_on_the_spot_is_there_once(path, text):
    assert pictures.short(path) == text


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [("1.25", 1, "1.2"), ("-0.04", 1, "0"), ("10", 1, "10"), ("2.5e-2", 3, "0.025")],
)
def test_numbers_are_short(number, digits, text):
    assert pictures.rounded(number, digits) == text


def test_a_page_holds_its_pictures_and_leaves_others(tmp_path, drawn):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a.svg").write_text(drawn[0])
    page = '<img alt="a &quot;b&quot;" src="_images/a.svg" /><img src="_images/a.svg"><img src="_images/b.gif">'
    text = pictures.with_pictures(page, tmp_path / "x.html")
    assert text.count('class="picture"') == 2 and '<img src="_images/b.gif">' in text
    assert 'aria-label="a &quot;b&quot;"' in text and ' id="p2.' in text


@pytest.mark.parametrize(
    ("columns", "stacked"),
    [
        ({"column-0": (0, 300)}, []),
        ({"column-0": (0, 140), "column-1": (150, 290)}, []),  # fits as it is
        ({"column-0": (0, 190), "column-1": (200, 390)}, [[(0, 190)], [(200, 390)]]),
        (
            {"column-0": (0, 90), "column-1": (95, 190), "column-2": (200, 390)},
            [[(0, 190)], [(200, 390)]],
        ),
        (
            {"column-0": (0, 190), "column-1": (200, 390), "shared": (0, 40)},
            [[(0, 190)], [(0, 40), (200, 390)]],
        ),
        (  # two would fit without the marks beside them
            {f"column-{k}": (150 * k, 150 * k + 145) for k in range(4)}
            | {"shared": (0, 40)},
            [[(0, 295)], [(0, 40), (300, 445)], [(0, 40), (450, 595)]],
        ),
    ],
)
def test_columns_of_a_figure_are_stacked_as_far_as_they_have_to_be(columns, stacked):
    assert pictures.windows(columns, 300) == stacked


def test_strips_are_windows_on_one_drawing(monkeypatch):
    """Each shows all of its panels and nothing of others, and none is drawn twice."""
    file = io.StringIO()
    save = lambda: plt.savefig(file, format="svg", bbox_inches="tight")  # noqa: E731
    monkeypatch.setattr(plt, "show", save)
    with style.canvas(1, 3, sharey=True) as axes:
        for k, ax in enumerate(axes):
            ax.set_title(f"panel {k}")
            ax.plot([k, k + 1])
    plt.close("all")
    text = pictures.inline(file.getvalue(), "p3", "three panels")
    root = ElementTree.fromstring(text)
    whole, *strips = root.findall("svg")
    assert len(strips) == 2 and "column-" not in text and text.count("panel 1") == 1
    assert all(strip.get("aria-hidden") for strip in strips)
    assert {use.get("href") for use in root.iter("use")} >= {"#p3.all"}
    where = {node.text: float(node.get("x")) for node in whole.iter("text")}
    for strip, shown in zip(
        strips, (("panel 0", "panel 1"), ("panel 2",)), strict=True
    ):
        left, _, width, _ = map(float, strip[-1].get("viewBox").split())
        inside = {t for t, x in where.items() if left < x < left + width}
        assert {t for t in inside if t.startswith("panel")} == set(shown)


# Cover and card


def test_the_cover_is_the_cloud_that_it_says():
    """Ninety tokens, six leaders, as caption and alt text have it; colours of the theme."""
    end = limit(cover.CLOUD, cover.ALPHA)
    assert (len(cover.CLOUD), len(end.leaders), end.certified) == (90, 6, True)
    svg = pictures.inline((cover.ASSETS / "cover.svg").read_text(), "p1", "cover")
    assert not re.findall(r"(?<!, )#[0-9a-f]{6}", svg)


def test_the_card_has_the_size_that_links_ask_for():
    head = (cover.ASSETS / "card.png").read_bytes()[:24]
    sizes = [int.from_bytes(head[k : k + 4]) for k in (16, 20)]
    assert sizes == [1200, 630]


# Chapters


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_begins_with_its_question_and_ends_with_what_to_remember(path):
    cells = json.loads(path.read_text())["cells"]
    start = "".join(cells[0]["source"])
    marks = "# ", "**The question.**", "**The answer", "**What you need.**"
    places = [start.find(mark) for mark in marks]
    assert places == sorted(places) and -1 not in places
    headings = re.findall(
        r"^## (.*)$", "\n".join("".join(cell["source"]) for cell in cells), re.M
    )
    after = headings[headings.index("What to remember") + 1 :]
    assert set(after) <= {"Exercise", "Exercises", "Where this is in the code"}


# Tables


def test_the_caption_of_a_cell_becomes_that_of_its_table():
    table, caption = nodes.table(), nodes.caption("", "Two numbers.")
    figure = nodes.figure("", nodes.container("", table), caption, names=["tab-two"])
    document = utils.new_document("chapter", frontend.get_default_settings())
    document += [figure, nodes.figure("", nodes.image())]
    figure["ids"] = ["tab-two"]
    captions.TablesOfCells(document).apply()
    assert table[0].astext() == "Two numbers." and isinstance(table[0], nodes.title)
    assert table["names"] == table["ids"] == ["tab-two"]
    assert document.ids["tab-two"] is table
    assert len([*document.findall(nodes.figure)]) == 1
    assert not [*document.findall(nodes.caption)]


def test_cells_know_the_head_of_their_column():
    table = (
        '<table tabindex="0" class="table"><thead><tr><th>name</th><th>size '
        '<span class="math">\\(n_{1}\\)</span></th></tr></thead>'
        "<tbody><tr><td>a</td><td>1 &lt; 2</td></tr><tr><td colspan=2>b</td></tr></tbody></table>"
    )
    page = f"<p>before</p>{table}<p>after</p>"
    text = tables.with_labels(page)
    assert '<td data-label="name">a</td><td data-label="size n_1">1 &lt; 2</td>' in text
    assert "<p>before</p><table" in text and "</table><p>after</p>" in text
    assert text.count("data-label") == 2
    assert tables.plain(r"\(1/\sqrt{\delta}\)") == "1/√δ"


def test_heads_say_mathematics_in_plain_text():
    """Bug: "at 3 cdot 10^-4 , five seeds" stood before a cell."""
    for given, said in {
        r"at \(3 \cdot 10^{-4}\) , five seeds": "at 3 \u00b7 10\u207b\u2074, five seeds",
        r"leaders, \(n = 10^5\)": "leaders, n = 10\u2075",
        r"fits? ( \(\chi^2\) / free)": "fits? ( \u03c7\u00b2 / free)",
        r"\(p_d^{-1/2}\)": "p_d^-1/2",
        r"\(\langle Ax, x\rangle > 0\)": "\u27e8Ax, x\u27e9 > 0",
        r"\(1/(1 - \Phi(\sqrt d))\)": "1/(1 - \u03a6(\u221ad))",
    }.items():
        assert tables.plain(given) == said


def test_a_test_is_called_by_what_it_says():
    node = addnodes.pending_xref(
        "", nodes.literal("", "test_a_b"), reftarget="test_a_b"
    )
    named = addnodes.pending_xref("", nodes.inline("", "this"), reftarget="test_a_b")
    named["refexplicit"] = True
    document = nodes.Element("", node, named)
    standing.mark(SimpleNamespace(env=SimpleNamespace(docname="x")), document)
    assert (node.astext(), named.astext()) == ("a b", "this")
