"""Everything again, and a record of it: python tools/reproduce.py

The record says what was run and where, from what, what came out, and how far that agrees
with what is stored. `found` and `inputs` are the same in every run of the same sources
and data; `made` is not. Two records are compared by --compare.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from agreement import compared  # noqa: E402, the path is set above
from problems import numbers  # noqa: E402

RECORD = ROOT / "_build" / "reproduction.json"
SOURCES = "hmlib notebooks book studies tests tools proofs results benchmarks"
SINGLE = (
    "pyproject.toml requirements.lock requirements.hashes requirements.lite Makefile"
)
THREADS = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


# From what


def of_folder(folder):
    """One digest of all files that are no by-product, by their names."""
    lines = []
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        by_product = any(p.startswith((".", "__pycache__")) for p in name.parts)
        if file.is_file() and not by_product and _made_here(file):
            lines.append(f"{sha256(file.read_bytes())} {name.as_posix()}")
    return sha256("\n".join(lines).encode())


def _made_here(file):
    """Whether it belongs to the sources: no record of a run, nothing that Coq leaves."""
    kind = {".v", ".md", ".txt", ".sh"} if file.parent.name == "proofs" else None
    return file.name != "reproduction.json" and (not kind or file.suffix in kind)


def inputs():
    """{what: its sha256}: the sources, folder by folder, and the data that are here."""
    from studies import data

    found = {name: of_folder(ROOT / name) for name in SOURCES.split()}
    found |= {name: sha256((ROOT / name).read_bytes()) for name in SINGLE.split()}
    for name in data.NAMES:
        with suppress(FileNotFoundError):
            place = data.place(name)
            found[f"data: {name}"] = (
                of_folder(place) if place.is_dir() else sha256(place.read_bytes())
            )
    return found


def made(command):
    """Where and when, and by what: what may differ from run to run."""
    from studies.provenance import record

    pins = (ROOT / "requirements.lock").read_text().split()
    versions = {}
    for name in (pin.split("==")[0] for pin in pins):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    here = record()
    return {
        "command": command,
        "commit": here["commit"],
        "date": here["date"],
        "machine": here["machine"] | {"system": platform.platform()},
        "python": platform.python_version(),
        "versions": versions,
        "threads": {name: os.environ.get(name) for name in THREADS.split()},
    }


# The parts. Each gives what it found, and whether all is well.


def run(*command):
    return subprocess.run([sys.executable, *map(str, command)], cwd=ROOT).returncode


def proofs(_):
    """The formal proofs, by Coq; where there is none, that is said."""
    if not shutil.which("coqc"):
        return {"checked": "not here: there is no Coq"}, True
    fine = subprocess.run(["make", "proofs"], cwd=ROOT).returncode == 0
    stated = ROOT / "proofs" / "statements.txt"
    return {"checked": fine, "statements": sha256(stated.read_bytes())}, fine


def book(_):
    """The site, every chapter executed; each page, and each number that a chapter prints
    beside the one that is stored."""
    shutil.rmtree(ROOT / "_build" / ".jupyter_cache", ignore_errors=True)
    fine = run("tools/build_book.py") == 0
    site = ROOT / "_build" / "html"
    pages = {
        str(page.relative_to(site)): sha256(page.read_bytes())
        for page in sorted(site.rglob("*.html"))
    }
    chapters = {}
    for stored in sorted((ROOT / "notebooks").glob("*.ipynb")):
        executed = site / "_sources" / "notebooks" / stored.name
        if executed.exists():
            chapters[stored.stem] = compared(outputs(stored), outputs(executed))
    agreed = {name: chapter.facts() for name, chapter in chapters.items()}
    fine = fine and all(chapter.whole for chapter in chapters.values())
    return {"pages": pages, "chapters": agreed}, fine


def outputs(notebook):
    """What the cells of a notebook say, but for those that are exempt."""
    said = {}
    for k, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        exempt = "nbval-ignore-output" in cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code" and not exempt:
            parts = cell.get("outputs", [])
            texts = [
                p.get("text") or p.get("data", {}).get("text/plain") for p in parts
            ]
            said[str(k)] = "".join(line for text in texts for line in text or "")
    return said


def suite(_):
    """All tests, those of the notebooks among them: which passed, and which did not."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        many = "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"
        code = run("-m", "pytest", *many, f"--junitxml={report}")
        cases = list(ET.parse(report).iter("testcase")) if report.exists() else []
    return outcomes(cases), code == 0 and bool(cases)


def outcomes(cases):
    """What a report of pytest says, by outcome: a digest of those that passed, the names
    of the others."""
    names = {"passed": [], "skipped": [], "failed": []}
    for case in cases:
        kinds = {child.tag for child in case} & {"skipped", "failure", "error"}
        outcome = {"": "passed", "skipped": "skipped"}.get("".join(kinds), "failed")
        names[outcome].append(f"{case.get('classname')} {case.get('name')}")
    tests = "\n".join(sorted(names["passed"]))
    return {
        "passed": {"tests": len(names["passed"]), "sha256": sha256(tests.encode())},
        "skipped": sorted(names["skipped"]),
        "failed": sorted(names["failed"]),
    }


def studies(full):
    """A sample of each study computed again; FULL=1: all of each, table by table."""
    from studies.__main__ import STUDIES

    each = {name: whole_study(name) if full else sample(name) for name in STUDIES}
    return each, all(_well(facts) for facts in each.values())


def _well(facts):
    return all(
        isinstance(agreed, str)
        or (agreed["equal"] == agreed["values"] and "unlike" not in agreed)
        for agreed in facts.values()
    )


def sample(name):
    """Its cheapest task by today's code, beside its entry."""
    from studies import check, ledger

    study = import_module(f"studies.{name}")
    entries = ledger.read(ledger.file_of(study, ROOT / "results"))
    chosen = check.cheapest(study, entries)
    if not chosen:
        return {"all": "no task has an entry yet"}
    try:
        with tempfile.TemporaryDirectory() as folder:
            again = check.again(study, chosen, folder)
    except FileNotFoundError:
        return dict.fromkeys(chosen, "not here: its data")
    stored = {task: entries[task]["facts"] for task in chosen}
    return {task: compared(stored[task], again[task]).facts() for task in chosen}


def whole_study(name):
    """All its tasks; what is done is kept in _build, so that it may be stopped."""
    from studies import ledger

    place = ROOT / "_build" / "reproduction"
    study = import_module(f"studies.{name}")
    kept = "--folder", place / "tasks" / name, "--results", place / "results"
    if run("-m", "studies", name, *kept):
        return {"all": "not here, or failed: see above"}
    file = f"{ledger.name_of(study)}.json"
    stored, again = (
        ledger.read(folder / file) for folder in (ROOT / "results", place / "results")
    )
    return {
        table: compared(stored[table], again.get(table)).facts()
        for table in stored
        if table != "provenance"
    }


PARTS = {
    "numbers": lambda _: numbers(),
    "proofs": proofs,
    "book": book,
    "suite": suite,
    "studies": studies,
}


# The record


def differences(one, other, place=""):
    """The places at which two records differ, but for how they were made."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if place or key != "made":
                yield from differences(
                    one.get(key), other.get(key), f"{place}/{key}" if place else key
                )
    elif one != other:
        yield place


def parts(text):
    """Names of parts, as they are asked for."""
    names = re.split(r"[ ,]+", text.strip())
    if unknown := set(names) - set(PARTS):
        given, known = ", ".join(sorted(unknown)), ", ".join(PARTS)
        raise argparse.ArgumentTypeError(
            f"there is no part {given}: expected of {known}"
        )
    return [name for name in PARTS if name in names]


def main(arguments=None):
    parser = argparse.ArgumentParser("python tools/reproduce.py", description=__doc__)
    about = f"only these parts, of {','.join(PARTS)}"
    parser.add_argument("--only", type=parts, default=list(PARTS), help=about)
    about = "all tasks of all studies: days; it goes on where it was stopped"
    parser.add_argument("--full", action="store_true", help=about)
    about = "the file for the record (%(default)s)"
    parser.add_argument("--record", type=Path, default=RECORD, help=about)
    about = "run nothing; say where two records differ"
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help=about)
    given = parser.parse_args(arguments)
    if given.compare:
        records = [json.loads(file.read_text()) for file in given.compare]
        if found := list(differences(*records)):
            sys.exit("\n".join(["They differ:", *found]))
        print("The records are the same, but for how they were made.")
        return
    command = ["make reproduce", "FULL=1"][: 1 + given.full]
    if given.only != list(PARTS):
        command.append(f"ONLY={','.join(given.only)}")
    begun = {"made": made(" ".join(command)), "inputs": inputs()}
    found, well, seconds = {}, {}, {}
    for name in given.only:
        print(f"== {name}", flush=True)
        began = time.perf_counter()
        found[name], well[name] = PARTS[name](given.full)
        seconds[name] = round(time.perf_counter() - began, 1)
    begun["made"]["seconds"] = seconds
    record = begun | {"found": found}
    from hmlib.files import write_whole

    write_whole(given.record, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    for name in given.only:
        print(
            f"{name:8} {seconds[name]:8} s  {'as stored' if well[name] else 'NOT WELL'}"
        )
    print(f"The record: {given.record}")
    if not all(well.values()):
        sys.exit("Not all is as it is stored: see above, and `found` in the record.")


if __name__ == "__main__":
    main()
