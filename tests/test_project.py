"""The project's own promises: pins that agree, a statement map without gaps, notebooks that can be compared."""

import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = {
    canonicalize_name(r.name): r
    for r in map(Requirement, (ROOT / "requirements.lock").read_text().split())
}
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BOOK = {page.name: page.read_text() for page in (ROOT / "book").glob("*.md")}


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Versions


def pinned(requirement):
    """The one version that a line of the lock allows."""
    (spec,) = requirement.specifier
    assert spec.operator == "==" and "+" not in spec.version, (
        f"{requirement} is not a plain pin"
    )
    return spec.version


@pytest.mark.parametrize("extra", ["core", *PROJECT["optional-dependencies"]])
def test_the_lock_pins_what_the_package_asks_for(extra):
    wanted = (
        PROJECT["dependencies"]
        if extra == "core"
        else PROJECT["optional-dependencies"][extra]
    )
    for requirement in map(Requirement, wanted):
        if requirement.name == PROJECT["name"]:  # an extra that takes another along
            assert requirement.extras <= PROJECT["optional-dependencies"].keys()
            continue
        version = pinned(LOCK[canonicalize_name(requirement.name)])
        assert requirement.specifier.contains(version), (
            f"{requirement} but the lock has {version}"
        )


def test_the_environment_for_conda_agrees():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    versions = dict(package.split("=") for package in conda if "=" in package)
    assert versions.keys() == {"python", "pytorch-cpu"} and "pip" in conda
    assert versions["pytorch-cpu"] == pinned(LOCK["torch"])
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(
        versions["python"] + ".0"
    )
    extras = re.search(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert pip["pip"] == ["-c requirements.lock", f"-e .[{extras}]"]
    assert extras.split(",") == list(PROJECT["optional-dependencies"])


def test_what_is_installed_is_what_the_lock_says():
    """Only in the environment that the Makefile has made."""
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("not in .venv: run `make test` to check the installed versions")
    from importlib.metadata import distributions

    for distribution in distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name in LOCK:
            assert LOCK[name].specifier.contains(distribution.version), (
                f"{name} {distribution.version}"
            )


def test_import_is_light():
    """numpy alone: what is heavy loads when it is first used."""
    code = "import sys, hmlib; print(sorted({'torch', 'matplotlib', 'scipy', 'ipywidgets', 'pandas'} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_the_code_is_clean():
    for check in (["check"], ["format", "--check"]):
        ruff = subprocess.run(
            [sys.executable, "-m", "ruff", *check, ROOT], capture_output=True, text=True
        )
        assert ruff.returncode == 0, f"run `make lint`:\n{ruff.stdout}"


# The statement map

ROWS = [
    row
    for row in BOOK["statements.md"].splitlines()
    if row.startswith("| ") and not row.startswith("| statement")
]


def test_the_map_has_rows():
    assert len(ROWS) >= 16


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row[2:60]))
def test_every_statement_has_a_function_and_a_test(row):
    _, statement, standing, functions, tests, _ = re.split(r"(?<!\\)\|", row)
    sources = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    said = re.match(r" \{standing\}`([^`]+)`", standing)
    assert said and said[1] in tool("standing").STANDINGS
    for label in re.findall(r"\{prf:ref\}`(\S+)`", statement):
        assert any(
            f":label: {label}\\n" in notebook.read_text() for notebook in NOTEBOOKS
        )
    for label in re.findall(r"<(code-[\w-]+)>", functions) or pytest.fail(
        "no function"
    ):
        assert f":name: {label}\n" in BOOK["code.md"]
    for name in re.findall(r"\{ref\}`(test_\w+)`", tests) or pytest.fail("no test"):
        assert f"\ndef {name}(" in sources and f":name: {name}\n" in "".join(
            BOOK[page] for page in BOOK if page.startswith("tests")
        )


def test_every_public_name_is_documented():
    import hmlib

    later = set(chain.from_iterable(hmlib.LATER.values()))
    assert hmlib.__all__ == sorted(hmlib.__all__)
    assert all(getattr(hmlib, name).__doc__ for name in later | set(hmlib.__all__))
    assert later | set(hmlib.__all__) <= set(dir(hmlib))


def test_the_source_pages_are_up_to_date():
    for path, text in tool("source_pages").pages().items():
        assert path.read_text() == text, (
            f"run `make refresh`: {path.name} is out of date"
        )


# Notebooks


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text())


def code_cells(notebook):
    return [
        c | {"source": "".join(c["source"])}
        for c in notebook["cells"]
        if c["cell_type"] == "code"
    ]


def test_a_notebook_begins_with_the_colab_cell(notebook):
    first = code_cells(notebook)[0]
    assert (
        'if "google.colab" in sys.modules:' in first["source"]
        and first["outputs"] == []
    )
    assert f"git+{CONFIG['repository']['url']}" in first["source"]


def test_a_notebook_can_be_compared(notebook):
    cells = code_cells(notebook)
    tags = [set(c["metadata"].get("tags", [])) for c in cells]
    exempt = sum(bool(t & {"nbval-ignore-output", "nbval-skip"}) for t in tags)
    assert 8 * exempt <= len(cells)
    assert not any("raises-exception" in t for t in tags)
    for cell in cells:
        assert len(cell["source"].splitlines()) <= 25, (
            f"belongs in hmlib:\n{cell['source']}"
        )
        for output in cell["outputs"]:
            assert output["output_type"] != "error" and output.get("name") != "stderr"
            assert not any(
                "image/" in kind or "widget" in kind for kind in output.get("data", {})
            )


def printed(cell):
    """What a cell says on the page; a table there has lines of its own."""
    if {"remove-cell", "remove-output"} & set(cell["metadata"].get("tags", [])):
        return
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "text/markdown" not in data:
            yield "".join(data.get("text/plain", ""))


def test_cells_and_what_they_print_fit_the_page(notebook):
    for cell in code_cells(notebook):
        for text in (cell["source"], *printed(cell)):
            assert [line for line in text.splitlines() if len(line) > 79] == []


def test_every_figure_has_caption_name_and_alt_text(notebook):
    for cell in code_cells(notebook):
        draws = any(
            "<Figure" in "".join(o.get("data", {}).get("text/plain", ""))
            for o in cell["outputs"]
        )
        about = cell["metadata"].get("mystnb", {})
        if draws or (
            re.search(r"figures\.(?!table|review_text)", cell["source"])
            and "import" not in cell["source"]
        ):
            assert (
                len(about["image"]["alt"]) > 40 and len(about["figure"]["caption"]) > 40
            )
            assert re.fullmatch(r"fig-[a-z-]+", about["figure"]["name"])


def test_every_table_has_caption_and_name(notebook):
    """A cell's in its metadata, as a figure's; one of Markdown by the directive."""
    names = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if "figures.table(" in source:
            about = cell["metadata"]["mystnb"]["figure"]
            names.append(about["name"])
            assert len(about["caption"]) > 20
        if cell["cell_type"] == "markdown":
            found = re.findall(CAPTIONED, source)
            assert len(found) == len(re.findall(r"^\|[-|]+\|$", source, re.M))
            names += found
    assert all(re.fullmatch(r"tab-[a-z-]+", name) for name in names)
    assert len(set(names)) == len(names) > 0


CAPTIONED = (
    r":::\{table\} .{20,}\n:name: (\S+)\n\n\|.*\n\|[-|]+\|\n(?:\|.*\n)+:::(?!\S)"
)


def test_every_notebook_is_in_the_book():
    listed = re.findall(
        r"file: (notebooks/\S+)", (ROOT / "book" / "_toc.yml").read_text()
    )
    assert listed == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


def test_a_changed_digit_fails(tmp_path):
    """Strict nbval, with our conftest: the stored output is compared to the last digit."""
    import nbformat

    for name, stored in {"right": "0.3333\n", "wrong": "0.3334\n"}.items():
        cell = nbformat.v4.new_code_cell("print(round(1 / 3, 4))", execution_count=1)
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)]
        notebook = nbformat.v4.new_notebook(cells=[cell])
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "__ wrong.ipynb::Cell 0 __" in done.stdout


# Tools


ABOUT = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """A project with one chapter, and a build whose kernel only counts: chapter() gives the executed notebook."""
    import nbformat
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from myst_nb.core.execute.cache import NotebookClientCache

    for file, text in {
        "requirements.lock": "",
        "hmlib/__init__.py": "",
        "hmlib/used.py": "from hmlib import words\n\n\ndef f():\n    return words.g('list.txt')\n",
        "hmlib/words.py": "def g(x):\n    return x\n\n\ndef h(x):\n    return x\n",
        "hmlib/other.py": "",
        "hmlib/list.txt": "",
        "results/study.json": "{}",
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)

    class Client:
        nb_config = type("", (), {"execution_cache_path": str(tmp_path / "cache")})
        path, executed = tmp_path / "notebooks" / "01.ipynb", 0

        def __init__(self, cells):
            self._notebook = nbformat.v4.new_notebook(
                cells=cells, metadata=json.loads(json.dumps(ABOUT))
            )
            self.notebook.cells.insert(0, nbformat.v4.new_markdown_cell("A text."))

        notebook = property(lambda self: self._notebook)

    def execute_or_find(client):
        cache = get_cache(client.nb_config.execution_cache_path)
        try:
            client._notebook = cache.merge_match_into_notebook(client.notebook)[1]
        except KeyError:
            Client.executed += 1
            widget = uuid.uuid4().hex
            client.notebook.cells[1].outputs = [
                nbformat.v4.new_output("display_data", {"text/plain": widget})
            ]
            state = {
                "state": {
                    widget: {"state": {"layout": f"IPY_MODEL_{uuid.uuid4().hex}"}}
                }
            }
            state["state"] |= {
                state["state"][widget]["state"]["layout"][10:]: {"state": {}}
            }
            client.notebook.metadata["widgets"] = {
                "application/vnd.jupyter.widget-state+json": state
            }
            bundle = CacheBundleIn(client.notebook, str(client.path), data={})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    steady = tool("steady")
    monkeypatch.setattr(steady, "ROOT", tmp_path)
    monkeypatch.setattr(NotebookClientCache, "start_client", execute_or_find)
    steady.setup(None)
    source = "from hmlib.used import f\nf()\nopen('../results/study.json')"

    def build():
        client = Client([nbformat.v4.new_code_cell(source)])
        given = client.notebook
        NotebookClientCache.start_client(client)
        assert given == client.notebook  # what is shown is what is offered for download
        return given

    build.client, build.root = Client, tmp_path
    return build


def test_a_chapter_is_executed_when_what_it_uses_changes(chapter):
    """And not for anything else; what is undone is found again."""
    chapter()
    for k, file in enumerate(
        (
            "requirements.lock",
            "hmlib/used.py",
            "hmlib/words.py",
            "hmlib/list.txt",
            "results/study.json",
        )
    ):
        text = (chapter.root / file).read_text()
        (chapter.root / file).write_text(
            text.replace("return", "return 1,") if file.endswith("py") else "x"
        )
        chapter()
        chapter()
        assert chapter.client.executed == k + 2, file
        (chapter.root / file).write_text(text)
        chapter()
        assert chapter.client.executed == k + 2, f"{file}, undone"
    for file, text in {
        "hmlib/other.py": "x = 1",
        "hmlib/new.py": "x = 1",
        "results/other.json": "{}",
        "hmlib/words.py": "# A remark.\ndef g(x):\n    return x\n\n\ndef h(x):\n    return 2 * x\n",
    }.items():
        (chapter.root / file).write_text(text)
        chapter()
    assert chapter.client.executed == 6


def test_a_chapter_looks_the_same_whether_it_was_executed_or_found(chapter):
    """Nothing is left to chance: names of cells and widgets, and no trace of the key."""
    import nbformat

    cold, warm = nbformat.writes(chapter()), nbformat.writes(chapter())
    shutil.rmtree(chapter.root / "cache")
    assert chapter.client.executed == 1 and cold == warm == nbformat.writes(chapter())
    assert chapter.client.executed == 2 and "fingerprint" not in cold
    notebook = json.loads(cold)
    assert [cell["id"] for cell in notebook["cells"]] == ["cell-000", "cell-001"]
    widget, layout = notebook["metadata"]["widgets"][
        "application/vnd.jupyter.widget-state+json"
    ]["state"].items()
    assert (
        notebook["cells"][1]["outputs"][0]["data"]["text/plain"]
        == [widget[0]]
        != [layout[0]]
    )
    assert widget[1]["state"]["layout"] == f"IPY_MODEL_{layout[0]}"


def test_widgets_have_the_same_names_whatever_chance_calls_them():
    """A figure with its parts, and progress that no cell shows, of which two are alike but for their parts."""
    import nbformat

    order = ["figure", "layout", "bar", "text", "style", "bar 2", "text 2", "style 2"]
    parts = {
        "figure": ["layout"],
        "bar": ["text", "style"],
        "bar 2": ["text 2", "style 2"],
    }
    found = set()
    for k in range(20):
        rng = random.Random(k)
        name = {x: f"{rng.getrandbits(128):032x}" for x in order}
        state = {
            name[x]: {
                "state": {
                    "parts": [f"IPY_MODEL_{name[y]}" for y in parts.get(x, [])],
                    "is": x.rstrip(" 2"),
                }
            }
            for x in (rng.sample(order, 8) if k % 2 else sorted(order, key=name.get))
        }
        state[name["text 2"]]["state"]["value"] = 2
        cell = nbformat.v4.new_code_cell("x", id=f"random-{k}")
        cell.outputs = [
            nbformat.v4.new_output(
                "display_data", {"text/plain": f"({name['figure']}, {'a' * 33})"}
            )
        ]
        widgets = {"application/vnd.jupyter.widget-state+json": {"state": state}}
        notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": widgets})
        found.add(nbformat.writes(tool("steady").steady(notebook, "a")))
        other = nbformat.writes(tool("steady").steady(notebook, "b"))
    (text,) = found
    names = {tuple(re.findall(r"\b[0-9a-f]{32}\b", one)) for one in (text, other)}
    assert (
        "a" * 33 in text
        and len(names) == 2
        and len({x for one in names for x in one}) == 16
    )


def test_a_damaged_execution_is_not_believed(chapter):
    """Cut, emptied, one digit changed, another notebook, a folder, without its digest: executed again, to the same."""
    sound = chapter()
    (base,) = chapter.root.glob("cache/executed/*/base.ipynb")
    content = base.read_bytes()
    flipped = content.replace(b'"output_type"', b'"output_typf"')
    for k, damage in enumerate(
        (content[:-9], b"", flipped, b"{}", b"[" * 10**5, "folder", "digest")
    ):
        (base.with_name("sha256") if damage in ("digest", "folder") else base).unlink()
        if damage == "folder":
            base.with_name("sha256").mkdir()
        elif damage != "digest":
            base.write_bytes(damage)
        assert (
            chapter() == sound
            and chapter() == sound
            and chapter.client.executed == k + 2
        )


def test_every_builder_executes_what_is_stale(monkeypatch):
    """The printed book as well as the site: both read all pages anew, and with the extension that knows."""
    sphinx, build, calls = CONFIG["sphinx"], tool("build_book"), []
    assert "steady" in sphinx["config"]["extensions"]
    assert sphinx["local_extensions"]["steady"] == "tools"
    assert CONFIG["execute"]["execute_notebooks"] == "cache"
    run = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(
        build.subprocess, "run", lambda command, **_: calls.append(command) or run
    )
    build.build("--builder", "singlehtml")
    assert calls[0][1:3] == ["build", "."] and {"--all", "singlehtml"} <= set(calls[0])
    assert (
        'build("--builder", "singlehtml")'
        in (ROOT / "tools" / "print_book.py").read_text()
    )


def test_the_build_refuses_another_jupyter_book(monkeypatch):
    build = tool("build_book")
    monkeypatch.setattr(build, "version", lambda name: "2.1.7")
    with pytest.raises(
        SystemExit,
        match=re.escape("Jupyter Book 2.1.7 is installed: expected version 1."),
    ):
        build.main()


def test_the_build_fails_without_an_index(tmp_path, monkeypatch):
    build = tool("build_book")
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "INDEX", tmp_path / "index.html")
    for returned, message in (
        (0, "reported success but there is no"),
        (1, "The book was not built"),
    ):
        done = subprocess.CompletedProcess([], returned)
        monkeypatch.setattr(build.subprocess, "run", lambda *_, done=done, **__: done)
        with pytest.raises(SystemExit, match=message):
            build.main()


def test_printed_text_is_stored_in_one_piece():
    """However the kernel cuts it, which depends on what else is running; but not across other outputs."""
    from nbformat.v4 import new_output

    refresh = tool("refresh_notebooks")

    def stored(*pieces):
        made = [
            new_output("stream", name=n, text=t)
            if n
            else new_output("display_data", {})
            for n, t in pieces
        ]
        return [(o.get("name"), o.get("text")) for o in refresh.merged(made)]

    parts = [
        ("stdout", "ab"),
        ("stderr", "c"),
        ("stdout", "d"),
        (None, None),
        ("stdout", "ef"),
    ]
    cut = [
        ("stdout", "a"),
        ("stdout", "b"),
        *parts[1:4],
        ("stdout", "e"),
        ("stdout", ""),
        ("stdout", "f"),
    ]
    assert stored(*parts) == stored(*cut) == parts and stored() == []


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    import nbformat

    path = tmp_path / "fails.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path
    )
    before = path.read_bytes()
    refresh = [sys.executable, ROOT / "tools" / "refresh_notebooks.py", path]
    done = subprocess.run(refresh, capture_output=True, text=True)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
