"""The project's own promises: pins that agree, a statement map without gaps, notebooks that can be compared."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = {canonicalize_name(r.name): r for r in map(Requirement, (ROOT / "requirements.lock").read_text().split())}
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
    assert spec.operator == "==" and "+" not in spec.version, f"{requirement} is not a plain pin"
    return spec.version


@pytest.mark.parametrize("extra", ["core", *PROJECT["optional-dependencies"]])
def test_the_lock_pins_what_the_package_asks_for(extra):
    wanted = PROJECT["dependencies"] if extra == "core" else PROJECT["optional-dependencies"][extra]
    for requirement in map(Requirement, wanted):
        version = pinned(LOCK[canonicalize_name(requirement.name)])
        assert requirement.specifier.contains(version), f"{requirement} but the lock has {version}"


def test_the_environment_for_conda_agrees():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    versions = dict(package.split("=") for package in conda if "=" in package)
    assert versions.keys() == {"python", "pytorch-cpu"} and "pip" in conda
    assert versions["pytorch-cpu"] == pinned(LOCK["torch"])
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(versions["python"] + ".0")
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
            assert LOCK[name].specifier.contains(distribution.version), f"{name} {distribution.version}"


def test_import_is_light():
    """numpy alone: what is heavy loads when it is first used."""
    code = (
        "import sys, hmlib; print(sorted({'torch', 'matplotlib', 'scipy', 'ipywidgets', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_code_is_clean():
    for check in (["check"], ["format", "--check"]):
        ruff = subprocess.run([sys.executable, "-m", "ruff", *check, ROOT], capture_output=True, text=True)
        assert ruff.returncode == 0, f"run `make lint`:\n{ruff.stdout}"


# The statement map

ROWS = [row for row in BOOK["statements.md"].splitlines() if row.startswith("| ") and not row.startswith("| statement")]


def test_the_map_has_rows():
    assert len(ROWS) >= 16


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row[2:60]))
def test_every_statement_has_a_function_and_a_test(row):
    _, statement, whose, chapter, functions, tests, _ = re.split(r"(?<!\\)\|", row)
    sources = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    assert whose.strip()
    assert re.search(r"\{doc\}`\d <(/notebooks/\w+)>`|^ \d, to come $", chapter)
    for label in re.findall(r"\{prf:ref\}`(\S+)`", statement):
        assert any(f":label: {label}\\n" in notebook.read_text() for notebook in NOTEBOOKS)
    for label in re.findall(r"<(code-[\w-]+)>", functions) or pytest.fail("no function"):
        assert f":name: {label}\n" in BOOK["code.md"]
    for name in re.findall(r"\{ref\}`(test_\w+)`", tests) or pytest.fail("no test"):
        assert f"\ndef {name}(" in sources and f":name: {name}\n" in BOOK["tests.md"] + BOOK["tests_beyond.md"]


def test_every_public_name_is_documented():
    import hmlib

    later = set(chain.from_iterable(hmlib.LATER.values()))
    assert hmlib.__all__ == sorted(hmlib.__all__)
    assert all(getattr(hmlib, name).__doc__ for name in later | set(hmlib.__all__))
    assert later | set(hmlib.__all__) <= set(dir(hmlib))


def test_the_source_pages_are_up_to_date():
    for path, text in tool("source_pages").pages().items():
        assert path.read_text() == text, f"run `make refresh`: {path.name} is out of date"


# Notebooks


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text())


def code_cells(notebook):
    return [c | {"source": "".join(c["source"])} for c in notebook["cells"] if c["cell_type"] == "code"]


def test_a_notebook_begins_with_the_colab_cell(notebook):
    first = code_cells(notebook)[0]
    assert 'if "google.colab" in sys.modules:' in first["source"] and first["outputs"] == []
    assert f"git+{CONFIG['repository']['url']}" in first["source"]


def test_a_notebook_can_be_compared(notebook):
    cells = code_cells(notebook)
    tags = [set(c["metadata"].get("tags", [])) for c in cells]
    exempt = sum(bool(t & {"nbval-ignore-output", "nbval-skip"}) for t in tags)
    assert 8 * exempt <= len(cells)
    assert not any("raises-exception" in t for t in tags)
    for cell in cells:
        assert len(cell["source"].splitlines()) <= 25, f"belongs in hmlib:\n{cell['source']}"
        for output in cell["outputs"]:
            assert output["output_type"] != "error" and output.get("name") != "stderr"
            assert not any("image/" in kind or "widget" in kind for kind in output.get("data", {}))


def test_every_figure_has_caption_name_and_alt_text(notebook):
    for cell in code_cells(notebook):
        draws = any("<Figure" in "".join(o.get("data", {}).get("text/plain", "")) for o in cell["outputs"])
        about = cell["metadata"].get("mystnb", {})
        if draws or (
            "figures." in cell["source"] and "interact" not in cell["source"] and "import" not in cell["source"]
        ):
            assert len(about["image"]["alt"]) > 40 and len(about["figure"]["caption"]) > 40
            assert re.fullmatch(r"fig-[a-z-]+", about["figure"]["name"])


def test_every_notebook_is_in_the_book():
    listed = re.findall(r"file: (notebooks/\S+)", (ROOT / "book" / "_toc.yml").read_text())
    assert listed == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


def test_a_changed_digit_fails(tmp_path):
    """Strict nbval, with our conftest: the stored output is compared to the last digit."""
    import nbformat

    for stored, code in (("0.3333\n", 0), ("0.3334\n", 1)):
        cell = nbformat.v4.new_code_cell("print(round(1 / 3, 4))", execution_count=1)
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)]
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "digits.ipynb")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
        done = subprocess.run(
            [*command, "--rootdir", tmp_path, tmp_path / "digits.ipynb"], capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout


# Tools


def test_the_execution_cache_is_dropped_when_what_it_depends_on_changes(tmp_path, monkeypatch):
    build = tool("build_book")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path / "_build")
    for file in ("requirements.lock", "hmlib/a.py", "hmlib/b.js", "studies/d.py", "results/c.json"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(file)
    cached = tmp_path / "_build" / ".jupyter_cache" / "executed"

    def survives():
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.touch()
        build.drop_stale_cache(build.fingerprint())
        return cached.exists()

    assert not survives()  # nothing is known of this cache
    assert survives()
    for file in ("requirements.lock", "hmlib/a.py", "hmlib/b.js", "studies/d.py", "results/c.json"):
        (tmp_path / file).write_text("changed")
        assert not survives() and survives()
    (tmp_path / "hmlib" / "new.py").touch()
    assert not survives() and survives()
    os.rename(tmp_path / "hmlib" / "new.py", tmp_path / "hmlib" / "other.py")
    assert not survives() and survives()


def test_the_build_refuses_another_jupyter_book(monkeypatch):
    build = tool("build_book")
    monkeypatch.setattr(build, "version", lambda name: "2.1.7")
    with pytest.raises(SystemExit, match=re.escape("Jupyter Book 2.1.7 is installed: expected version 1.")):
        build.main()


def test_the_build_fails_without_an_index(tmp_path, monkeypatch):
    build = tool("build_book")
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "INDEX", tmp_path / "index.html")
    for returned, message in ((0, "reported success but there is no"), (1, "The book was not built")):
        done = subprocess.CompletedProcess([], returned)
        monkeypatch.setattr(build.subprocess, "run", lambda *_, done=done, **__: done)
        with pytest.raises(SystemExit, match=message):
            build.main()


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    import nbformat

    path = tmp_path / "fails.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    refresh = [sys.executable, ROOT / "tools" / "refresh_notebooks.py", path]
    done = subprocess.run(refresh, capture_output=True, text=True)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
