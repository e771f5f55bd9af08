"""Entries of tasks add up, whoever runs which of them and when; tables follow from them;
and the check says what today's code would compute again, and computes some of it."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("distributed", reason="studies need dask.distributed")

import chores  # noqa: E402

from studies import __main__ as command  # noqa: E402
from studies import check, graph, ledger, provenance  # noqa: E402
from studies.graph import Task  # noqa: E402

ROOT = Path(__file__).parents[1]
CLEAN = "a" * 40


def a_study(values=(1, 2), add=chores.total):
    """Two numbers and their sum, each with a table."""
    tasks = [
        Task(f"n {k}", chores.constant, {"value": x}) for k, x in enumerate(values)
    ]
    tasks.append(Task("sum", add, needs={"one": "n 0", "other": "n 1"}))
    return SimpleNamespace(
        __name__="studies.numbers",
        DATA={"numbers": "their sha256"},
        TABLES={
            "numbers": lambda facts: facts.over("n", range(2)),
            "sum": lambda facts: facts["sum"]["value"] / 3,
        },
        tasks=lambda: tasks,
    )


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Runs some tasks of the study, through the command; returns the two files."""
    monkeypatch.setattr(provenance, "commit", lambda: CLEAN)

    def run(study, *more, folder="study"):
        monkeypatch.setattr(command, "import_module", lambda _: study)
        monkeypatch.setattr(check, "import_module", lambda _: study)
        results, place = tmp_path / "results", str(tmp_path / folder)
        line = ["variations", "--folder", place, "--workers", "0", *more]
        command.main([*line, "--results", str(results)])
        files = results / "tasks" / "numbers.json", results / "numbers.json"
        return [json.loads(file.read_text()) for file in files]

    return run


def test_parts_of_a_study_add_up(ran):
    """From two machines that share nothing but results/, in any order."""
    entries, tables = ran(a_study(), "--tasks", "n 1", folder="here")
    assert set(entries) == {"n 1"} and set(tables) == {"provenance"}
    entries, tables = ran(a_study(), "--tasks", "n 0", folder="there")
    assert set(entries) == {"n 0", "n 1"}
    assert tables["numbers"] == {"value": [1, 2]} and "sum" not in tables
    entries, tables = ran(a_study(), "--tasks", "sum", folder="there")
    assert set(entries) == {"n 0", "n 1", "sum"} and tables["sum"] == 1
    assert tables["provenance"]["tables"] == ["numbers", "sum"]
    assert "before" not in tables["provenance"]
    again = ran(a_study(), "--tasks", "n 0", folder="elsewhere")
    assert again[0].keys() == entries.keys() and again[1].keys() == tables.keys()


def test_an_entry_says_where_it_comes_from(ran):
    entries, _ = ran(a_study())
    (kept, key) = entries["n 1"], graph.keys(a_study().tasks())["n 1"]
    assert kept["facts"] == {"value": 2} and kept["commit"] == CLEAN
    assert (kept["key"], kept["code"]) == key
    assert kept["data"] == {"numbers": "their sha256"}
    packages = ("numpy", "scipy", "torch", "scikit-learn", "dask", "hmlib", "python")
    assert set(kept["versions"]) == set(packages)
    assert kept["seconds"] >= 0 and kept["date"] and "seeds" in kept


def test_what_is_asked_otherwise_is_not_believed(ran):
    """The entry stays until it is made anew; the table too, which was made of it."""
    ran(a_study())
    entries, tables = ran(a_study((1, 5)), "--tasks", "n 0")
    assert entries["n 1"]["facts"] == {"value": 2}
    assert tables["numbers"] == {"value": [1, 2]} and tables["sum"] == 1
    assert tables["provenance"]["tables"] == ["numbers", "sum"]
    assert check.states(a_study((1, 5)), entries) == {
        "n 0": "same",
        "n 1": "no entry",
        "sum": "no entry",
    }
    entries, tables = ran(a_study((1, 5)))
    assert tables["numbers"] == {"value": [1, 5]} and tables["sum"] == 2
    assert "before" not in tables["provenance"]


def test_tables_from_before_entries_stand_with_their_provenance(ran, tmp_path):
    old = {"numbers": "old", "more": [1], "provenance": {"command": "older"}}
    provenance.write(old, tmp_path / "results" / "numbers.json")
    _, tables = ran(a_study(), "--tasks", "n 0")
    assert tables == old
    _, tables = ran(a_study(), "--tasks", "n 1")
    assert tables["numbers"] == {"value": [1, 2]} and tables["more"] == [1]
    assert tables["provenance"]["before"] == {"command": "older"}
    assert tables["provenance"]["tables"] == ["numbers"]


def test_tables_found_again_to_the_digit_have_a_new_origin(ran, tmp_path):
    old = {"numbers": {"value": [1, 2]}, "sum": 1.0, "provenance": {"command": "older"}}
    provenance.write(old, tmp_path / "results" / "numbers.json")
    _, tables = ran(a_study())
    assert tables == old | {"provenance": tables["provenance"]}
    assert tables["provenance"]["tables"] == ["numbers", "sum"]


def test_what_is_done_is_collected_without_running(ran, tmp_path):
    ran(a_study(), "--tasks", "n 0")
    (tmp_path / "results" / "tasks" / "numbers.json").unlink()
    entries, _ = ran(a_study(), "--collect")
    assert set(entries) == {"n 0"}


@pytest.mark.parametrize("commit", [None, f"{CLEAN}+changes"])
def test_only_clean_commits_are_shipped(ran, tmp_path, monkeypatch, capsys, commit):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    ran(a_study(), "--tasks", "n 0")
    monkeypatch.setattr(provenance, "commit", lambda: commit)
    entries, _ = ran(a_study())
    assert set(entries) == {"n 0"}
    assert "2 tasks are left out" in capsys.readouterr().out
    monkeypatch.setattr(command, "ROOT", tmp_path / "elsewhere")
    entries, _ = ran(a_study())
    assert set(entries) == {"n 0", "n 1", "sum"}


@pytest.mark.parametrize("damage", ["", "{", "[1]", "[[[["])
def test_damaged_entries_are_not_written_over(ran, tmp_path, damage):
    ran(a_study(), "--tasks", "n 0")
    file = tmp_path / "results" / "tasks" / "numbers.json"
    file.write_text(damage)
    with pytest.raises(ValueError, match=r"numbers\.json is damaged, or another file"):
        ran(a_study(), "--tasks", "n 1")
    assert file.read_text() == damage


def test_the_check(ran, tmp_path, capsys, monkeypatch):
    """It tells same from other, computes the cheapest again, and fails if it differs."""
    ran(a_study())
    results = tmp_path / "results"
    line = ["variations", "--results", str(results), "--sample", "3"]
    capsys.readouterr()
    check.main(line, command.STUDIES)
    said = capsys.readouterr().out
    assert "3 tasks, 3 same, 0 other code, 0 no entry" in said
    assert said.count("today's") == 2 and said.count(", the same") == 3
    monkeypatch.setattr(graph, "code_of", lambda function: "other")
    check.main(line[:-2], command.STUDIES)
    said = capsys.readouterr().out
    assert "0 same, 3 other code" in said
    assert "2 of its 2 tasks would be computed again" in said
    assert said.count(", the same") == 1
    file = results / "tasks" / "numbers.json"
    file.write_text(file.read_text().replace('"value": 2', '"value": 7'))
    with pytest.raises(SystemExit, match=r"(?s)Not as stored.*numbers.*n 1"):
        check.main(line, command.STUDIES)
    said = capsys.readouterr().out
    assert "is not what its entries give" in said and "NOT the same" in said
    with pytest.raises(SystemExit):
        check.main(["nothing"], command.STUDIES)


def test_the_check_without_the_data(ran, tmp_path, capsys, monkeypatch):
    """What can be said without it is said, with how to get it."""
    ran(a_study())

    def missing(*_):
        raise FileNotFoundError("reviews not found. Get them.")

    monkeypatch.setattr(check, "again", missing)
    check.main(["variations", "--results", str(tmp_path / "results")], command.STUDIES)
    said = capsys.readouterr().out
    assert said.count("today's") == 2
    assert "not computed again: reviews not found. Get them." in said


def test_the_cheapest_counts_what_it_needs(ran):
    entries, _ = ran(a_study())
    for name, seconds in {"n 0": 5, "n 1": 2, "sum": 0}.items():
        entries[name]["seconds"] = seconds
    assert check.cheapest(a_study(), entries, 3) == ["n 1", "n 0", "sum"]
    del entries["n 0"]
    assert check.cheapest(a_study(), entries, 3) == ["n 1"]


@pytest.mark.long
@pytest.mark.parametrize("study", command.STUDIES)
def test_the_cheapest_task_of_each_study_again(study, tmp_path):
    """By today's code, what its entry says."""
    module = command.import_module(f"studies.{study}")
    entries = ledger.read(ledger.file_of(module, ROOT / "results"))
    names = check.cheapest(module, entries)
    if not names:
        pytest.skip(f"no task of {study} has an entry yet")
    if set(module.DATA or {}) & {"kaggle"} and not os.environ.get("HMLIB_DATA"):
        pytest.skip("needs the full data: `python -m studies data --help`")
    again = check.again(module, names, tmp_path)
    assert again == {name: entries[name]["facts"] for name in names}


@pytest.mark.usefixtures("git")
def test_results_do_not_make_a_tree_unclean(tmp_path, monkeypatch):
    """Or the first task that is added would leave all others out. Code does."""

    def git(*command):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)

    git("init", "-q")
    for folder in ("results", "studies"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("1")
    git("add", "-A")
    git("commit", "-qm", "x")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.commit().isalnum()
    (tmp_path / "results" / "x").write_text("2")
    (tmp_path / "results" / "more").write_text("2")
    assert provenance.commit().isalnum()
    (tmp_path / "studies" / "x").write_text("2")
    assert provenance.commit().endswith("+changes")
