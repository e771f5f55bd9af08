"""The record of a reproduction: the same for the same sources, whatever the machine does besides."""

import doctest
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import agreement
import pytest
import yaml
from agreement import compared, digits
from test_project import ROOT, tool

REPRODUCE = tool("reproduce")
THREADS = REPRODUCE.THREADS.split()
SAID = {"capture_output": True, "text": True, "cwd": ROOT}


def test_two_runs_with_more_threads_or_fewer_give_the_same_record(tmp_path):
    """But for how they were made."""
    records = [tmp_path / f"{k}.json" for k in range(2)]
    command = [sys.executable, ROOT / "tools" / "reproduce.py"]
    for record, threads in zip(records, "13", strict=True):
        many = os.environ | dict.fromkeys(THREADS, threads)
        run = [*command, "--only", "numbers", "--record", record]
        done = subprocess.run(run, env=many, **SAID)
        assert done.returncode == 0, done.stdout + done.stderr
    first, other = (json.loads(record.read_text()) for record in records)
    assert first["inputs"] == other["inputs"] and first["found"] == other["found"]
    assert first["made"]["threads"] != other["made"]["threads"]
    assert {"commit", "machine", "versions", "seconds"} <= first["made"].keys()
    assert first["found"]["numbers"]["limits"]["n=8 d=2"]["digits"] == 12
    same = subprocess.run([*command, "--compare", *records], **SAID)
    assert same.returncode == 0 and "the same" in same.stdout
    first["found"]["numbers"]["limits"]["n=8 d=2"]["digits"] = 11
    records[0].write_text(json.dumps(first))
    other = subprocess.run([*command, "--compare", *records], **SAID)
    assert other.returncode == 1
    assert other.stderr == "They differ:\nfound/numbers/limits/n=8 d=2/digits\n"


def test_what_is_not_as_stored_is_said(tmp_path, monkeypatch, capsys):
    """The record is written all the same."""
    monkeypatch.setitem(REPRODUCE.PARTS, "book", lambda full: ({"full": full}, False))
    monkeypatch.setitem(REPRODUCE.PARTS, "suite", lambda full: ({}, True))
    record = tmp_path / "record.json"
    given = ["--only", "suite book", "--full", "--record", str(record)]
    with pytest.raises(SystemExit, match="Not all is as it is stored"):
        REPRODUCE.main(given)
    kept = json.loads(record.read_text())
    assert kept["found"] == {"book": {"full": True}, "suite": {}}
    assert kept["made"]["command"] == "make reproduce FULL=1 ONLY=book,suite"
    assert re.search(
        r"^book .* NOT WELL\nsuite .* as stored$", capsys.readouterr()[0], re.M
    )
    with pytest.raises(SystemExit):
        REPRODUCE.main(["--only", "tests"])
    assert "there is no part tests: expected of numbers, " in capsys.readouterr().err


def test_agreement():
    assert doctest.testmod(agreement).failed == 0
    assert [digits(1.0, 1 + 0.9 * 10.0**-k) for k in (1, 5, 12)] == [1, 5, 12]
    assert digits(0.0, 1e-300) == 0 and digits(-2, 2) == 0
    told = "of 25 tokens, 0.125 lead, e-3 not"
    assert compared(told, told.replace("0.125", "0.126")).facts() == {
        "values": 3,
        "equal": 2,
        "digits": 2,
    }
    for other in (told + "!", told.replace("lead", "follow"), None, 3):
        assert compared({"a": [told]}, {"a": [other]}).facts()["unlike"] == ["/a/0"]
    assert compared([1, True, None, "x"], [1, True, None, "x"]).whole
    assert not compared([True], [1]).whole and not compared([1], [1, 2]).whole


def test_what_a_notebook_says():
    """Streams and results, but for cells that are exempt; pictures are not compared."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        said = REPRODUCE.outputs(path)
        whole = compared(said, said)
        assert whole.whole and whole.values >= 5
        cells = json.loads(path.read_text())["cells"]
        exempt = [
            k
            for k, cell in enumerate(cells)
            if "nbval-ignore-output" in cell["metadata"].get("tags", [])
        ]
        assert not {str(k) for k in exempt} & said.keys()


def test_outcomes_of_tests():
    report = """<testsuites><testsuite><testcase classname="a" name="1"/>
    <testcase classname="a" name="2"><skipped/></testcase>
    <testcase classname="a" name="3"><failure/></testcase>
    <testcase classname="a" name="4"><error/></testcase>
    <testcase classname="b" name="1"><skipped/><error/></testcase></testsuite></testsuites>"""
    cases = list(ET.fromstring(report).iter("testcase"))
    found = REPRODUCE.outcomes(cases)
    assert found["passed"]["tests"] == 1 and found["skipped"] == ["a 2"]
    assert found["failed"] == ["a 3", "a 4", "b 1"]
    assert found == REPRODUCE.outcomes(cases[::-1]) != REPRODUCE.outcomes(cases[1:])


def test_digests_of_folders_take_sources_alone(tmp_path):
    proofs = tmp_path / "proofs"
    (proofs / "__pycache__").mkdir(parents=True)
    (proofs / "a.v").write_text("a")
    before = REPRODUCE.of_folder(proofs)
    for by_product in ("a.vo", ".a.aux", "__pycache__/a.pyc", "reproduction.json"):
        (proofs / by_product).write_text("x")
    assert REPRODUCE.of_folder(proofs) == before
    (proofs / "b.v").write_text("")
    added = REPRODUCE.of_folder(proofs)
    (proofs / "b.v").rename(proofs / "c.v")
    assert len({before, added, REPRODUCE.of_folder(proofs)}) == 3


def test_a_sample_says_to_which_digit_it_agrees(tmp_path, monkeypatch):
    """With an entry in which one number is another from its fourth digit on."""
    name, stored = "variations", ROOT / "results" / "tasks" / "variations.json"
    ((task, agreed),) = REPRODUCE.sample(name).items()
    assert agreed["values"] == agreed["equal"] > 3 and REPRODUCE._well({task: agreed})
    changed = json.loads(stored.read_text())
    facts = changed[task]["facts"]
    key = next(
        key for key in facts if isinstance(facts[key], int | float) and facts[key]
    )
    facts[key] *= 1.0003
    (tmp_path / "results" / "tasks").mkdir(parents=True)
    copy = tmp_path / "results" / "tasks" / "variations.json"
    copy.write_text(json.dumps(changed))
    monkeypatch.setattr(REPRODUCE, "ROOT", tmp_path)
    agreed = REPRODUCE.sample(name)[task]
    assert agreed["digits"] == 3 and agreed["equal"] == agreed["values"] - 1
    assert not REPRODUCE._well({task: agreed})


def test_the_manifest_leads_to_what_there_is():
    """CODECHECK's file: all tables and the record, each with a line on it."""
    check = yaml.safe_load((ROOT / "codecheck.yml").read_text())
    assert check["version"] == "https://codecheck.org.uk/spec/config/1.0/"
    head = yaml.safe_load((ROOT / "paper" / "paper.md").read_text().split("---\n")[1])
    assert check["paper"]["title"] == head["title"]
    assert {a["name"] for a in check["paper"]["authors"]} == {
        author["name"] for author in head["authors"]
    }
    files = [entry["file"] for entry in check["manifest"]]
    assert files[0] == "results/reproduction.json"
    ours = {f"results/{path.name}" for path in (ROOT / "results").glob("*.json")}
    assert set(files) == ours - {"results/sentiment_model.json"}
    assert all(entry["comment"] for entry in check["manifest"])
