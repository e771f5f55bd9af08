"""The tool that puts bugs into the code: it finds the text, sees a test notice, and refuses what is not there."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def mutate():
    spec = importlib.util.spec_from_file_location(
        "mutate", ROOT / "tools" / "mutate.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutate"]


def test_the_lists_are_data(mutate):
    """Files and tests that exist, names that differ, proofs of one line; nothing else is in the lists."""
    names = []
    for path in mutate.LISTS.iterdir():
        about = tomllib.loads(path.read_text())
        assert (
            about.keys() <= {"file", "tests", "sample", "mutant", "systematic"}
            and (ROOT / about["file"]).is_file()
        )
        assert all(
            (ROOT / word.split("::")[0]).is_file()
            for word in about["tests"]
            if word.endswith(".py")
        )
        for row in about.get("mutant", []):
            assert {"name", "old", "new"} <= row.keys() <= {
                "name",
                "old",
                "new",
                "equivalent",
            } and row["old"] != row["new"]
            names.append((about["file"], row["name"]))
        proofs = [
            row["equivalent"]
            for kind in ("mutant", "systematic")
            for row in about.get(kind, [])
            if "equivalent" in row
        ]
        assert all(proof and "\n" not in proof for proof in proofs)
    assert len(set(names)) == len(names) >= 400


def test_every_mutant_finds_its_text(mutate):
    """Or it would be missed only by the next long run."""
    sources = {}
    for mutant in mutate.mutants():
        if mutant.file not in sources:
            sources[mutant.file] = (ROOT / mutant.file).read_text()
        if mutant.old and mutant.at is None:  # by hand
            assert mutant.text(sources[mutant.file]), mutant.name


def test_an_old_text_that_is_not_there_is_refused(mutate):
    mutant = mutate.Mutant("a.py", "sign", "a - b", "a + b")
    assert mutant.text("x = a - b") == "x = a + b"
    for source, message in (
        ("x = a + b", "occurs 0 times, expected once"),
        ("a - b, a - b", "occurs 2 times"),
    ):
        with pytest.raises(ValueError, match=message):
            mutant.text(source)
    with pytest.raises(ValueError, match="the new text is the old one"):
        replace(mutant, new="a - b").text("a - b")
    with pytest.raises(SyntaxError):
        replace(mutant, new="a -").text("a - b")


def test_a_fate_is_that_of_a_definition(mutate):
    """It holds while the definition that is changed stays as it is, and for no other change."""
    source = "N = 3\n\n\ndef f(x):\n    y = x\n    return y - 1\n\n\nclass C:\n    def f(self):\n        return 2\n"
    mutant = mutate.Mutant("a.py", "sign", "y - 1", "y + 1")
    key = mutant.key(source)
    assert mutant.key(source.replace("N = 3", "N = 4").replace("2", "5")) == key
    assert mutant.key(source.replace("y = x", "y = -x")) != key
    others = [
        replace(mutant, new="y"),
        replace(mutant, file="b.py"),
        replace(mutant, old="    return y - 1\n", new=""),
        replace(mutant, old="N = 3", new="N = 2"),
        replace(mutant, old="return 2", new="return y + 1"),
        replace(mutant, old="return 2", new="return 3"),
    ]
    assert len({key, *(other.key(source) for other in others)}) == 7


SOURCE = '''"""A docstring with 1 < 2."""
def f(x, y=3):
    """Not this: x < y and 1."""
    if x < y and not x == 1:
        raise ValueError(f"{x} < {y}")
    return max(x, y)[1:] + 0.5
'''


def test_systematic_mutants(mutate):
    """Operators, conditions, constants, names, slices and refusals; neither docstrings nor messages."""
    found = {(old, new) for _, old, new in mutate.in_python(SOURCE)}
    for pair in [
        ("x < y", "(x <= y)"),
        ("x == 1", "(x != 1)"),
        ("not x == 1", "(x == 1)"),
        ("x < y and not x == 1", "(x < y or not x == 1)"),
        ("x < y and not x == 1", "(x < y)"),
        ("x < y and not x == 1", "(not x == 1)"),
        ("3", "4"),
        ("0.5", "5.0"),
        ("max(x, y)", "(min(x, y))"),
        ("1:", ":"),
        ("max(x, y)[1:] + 0.5", "(max(x, y)[1:] - 0.5)"),
        ('raise ValueError(f"{x} < {y}")', "pass"),
    ]:
        assert pair in found
    assert all(at > 30 for at, _, _ in mutate.in_python(SOURCE))
    for at, old, new in mutate.in_python(SOURCE):
        assert SOURCE[at : at + len(old)] == old
        compile(SOURCE[:at] + new + SOURCE[at + len(old) :], "x", "exec")
    assert (
        mutate.drawn(SOURCE, "x.py", 5)
        == mutate.drawn(SOURCE, "x.py", 5)
        != mutate.drawn(SOURCE, "y.py", 5)
    )
    page = "if (a < b) x = 2n; // a < b\nconst s = `1 < 2`;"
    assert {(old, new) for _, old, new in mutate.in_javascript(page)} == {
        (" < ", " <= "),
        ("2n", "3n"),
        ("2n", "1n"),
    }


WRITE = """import json
def provenance(command, data, seeds): return {"command": command}
def write_whole(path, content): path.parent.mkdir(exist_ok=True), path.write_bytes(content)
def write(result, path): write_whole(path, json.dumps(result).encode())
"""


@pytest.mark.usefixtures("git")
def test_a_mutant_is_killed_and_another_survives(tmp_path):
    """The tool as it is used, on a project of one function; a proof that is wrong, and a text that is gone, are errors."""
    tool = tmp_path / "tools/mutate.py"
    tool.parent.mkdir()
    tool.write_text(
        re.sub(
            r'PRELOADED = """[^"]*"""',
            'PRELOADED = "json"',
            (ROOT / "tools/mutate.py").read_text(),
        )
    )
    files = {
        "hmlib/__init__.py": "def larger(x, y):\n    return x if x > y else y\n\n\nSIZE = 3\n",
        "tests/test_larger.py": "from hmlib import larger\n\n\ndef test_larger():\n    assert larger(1, 2) == 2\n",
        "studies/provenance.py": WRITE,
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['tests']\n",
    }
    list_of = 'file = "hmlib/__init__.py"\ntests = ["tests/test_larger.py"]\n'

    def row(name, old, new, more=""):
        return f"[[mutant]]\nname = '{name}'\nold = '{old}'\nnew = '{new}'\n{more}"

    rows = [
        row("sign", "x > y", "x < y"),
        row("border", "x > y", "x >= y", "equivalent = 'equal numbers are the same'\n"),
        row("size", "SIZE = 3", "SIZE = 4"),
    ]
    files["tools/mutants/larger.toml"] = list_of + "".join(rows)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("_build/\n")

    def run():
        command = [sys.executable, tool, "--workers", "1"]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120
        )

    said = run()
    assert (
        said.returncode == 1 and "survived: hmlib/__init__.py: size" in said.stdout
    ), said.stderr
    assert "50.0% of 2 mutants that are not equivalent are killed." in said.stdout
    assert (tmp_path / "hmlib/__init__.py").read_text() == files["hmlib/__init__.py"]
    result = json.loads((tmp_path / "results/mutants.json").read_text())
    fates = {row["name"]: (row["fate"], row["by"]) for row in result["mutants"]}
    assert fates == {
        "sign": ("killed", "tests/test_larger.py::test_larger"),
        "border": ("equivalent", "equal numbers are the same"),
        "size": ("survived", "0"),
    }
    assert (
        result["score"] == 0.5
        and result["provenance"]["command"] == "python tools/mutate.py"
    )
    assert (
        "| `hmlib/__init__.py` | by hand | 1 | 1 | 1 |"
        in (tmp_path / "results/mutants.md").read_text()
    )
    rows[1:] = [
        row("sign again", "x > y", "x < y", "equivalent = 'no'\n"),
        row("gone", "x / y", "x"),
    ]
    (tmp_path / "tools/mutants/larger.toml").write_text(list_of + "".join(rows))
    said = run()
    assert (
        said.returncode == 1
        and "its proof is wrong: tests/test_larger.py::test_larger" in said.stdout
    )
    assert (
        "error: hmlib/__init__.py: gone (the old text occurs 0 times, expected once)"
        in said.stdout
    )
