"""What tasks have found, an entry each: its facts, and how they were made. Runs of a
few tasks, on one machine or several, add up in results/tasks/; what is there stays."""

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hmlib.files import write_whole
from studies.graph import keys
from studies.paired import unpacked
from studies.provenance import merge, provenance, read


class Missing(Exception):
    """A task that has no entry yet."""


class Facts(dict):
    """Facts of tasks by their names; what was asked for is remembered."""

    def __init__(self, *args):
        super().__init__(*args)
        self.asked = set()

    def __getitem__(self, name):
        self.asked.add(name)
        if name not in self:
            raise Missing(name)
        return super().__getitem__(name)

    def seeds(self, name, among):
        """Those of the seeds that a family of tasks is done with: at least one."""
        self.asked |= {f"{name} {seed}" for seed in among}
        done = [seed for seed in among if f"{name} {seed}" in self]
        if not done:
            raise Missing(name)
        return done

    def right(self, name, seeds):
        """Which test reviews were judged rightly, (seeds, reviews)."""
        return np.array([unpacked(self[f"{name} {seed}"]["right"]) for seed in seeds])

    def pair(self, name, other, among):
        """What is right with two families of tasks, of the seeds that both are done
        with."""
        both = self.seeds(other, self.seeds(name, among))
        return [self.right(family, both) for family in (name, other)]

    def over(self, name, seeds):
        """One list for the seeds, for each number of a family of tasks; without what
        belongs to single epochs and reviews."""
        rows = [self[f"{name} {seed}"] for seed in seeds]
        names = [key for key in rows[0] if key not in ("epochs", "right")]
        return {key: [row[key] for row in rows] for key in names}


def present(parts):
    """{name: part()} of those parts whose tasks are done: at least one."""
    out = {}
    for name, part in parts.items():
        with suppress(Missing):
            out[name] = part()
    if not out:
        raise Missing(", ".join(parts))
    return out


class Table(NamedTuple):
    """A part of results/STUDY.json: its value, None if it cannot do without a task that
    is missing, and the tasks that it asks for."""

    value: object
    tasks: set


def file_of(study, results):
    return Path(results) / "tasks" / f"{name_of(study)}.json"


def name_of(study):
    return study.__name__.rpartition(".")[2]


def entry(done):
    """What is kept of a task that is done."""
    return {"facts": rounded(done.facts)} | done.made


def believed(study, entries):
    """The Facts of those entries that answer what the study asks today."""
    asked = {name: key.asked for name, key in keys(study.tasks()).items()}
    return Facts(
        {
            name: kept["facts"]
            for name, kept in entries.items()
            if kept["key"] == asked.get(name)
        }
    )


def tables(study, facts):
    """{name: Table} of all the study's tables."""
    return {name: _table(part, Facts(facts)) for name, part in study.TABLES.items()}


def _table(part, facts):
    try:
        value = rounded(part(facts))
    except Missing:
        value = None
    return Table(value, facts.asked)


def write(study, done, results, command):
    """Add what is done to the entries of results/tasks/STUDY.json, and make anew those
    tables of results/STUDY.json that they allow. The rest of both stays."""
    file, path = file_of(study, results), Path(results) / f"{name_of(study)}.json"
    entries = read(file) | {name: entry(found) for name, found in done.items()}
    made = tables(study, believed(study, entries))
    made = {name: table for name, table in made.items() if table.value is not None}
    values, before = {name: table.value for name, table in made.items()}, read(path)
    old = before.get("provenance", {})
    named = set(made) <= set(old.get("tables", []))
    if before and named and before == before | values:  # nothing is new
        write_whole(file, _lines(entries))
        return [file]
    tasks = set().union(*(table.tasks for table in made.values())) & set(entries)
    seeds = sorted({entries[task].get("seeds") for task in tasks} - {None})
    about = provenance(command, study.DATA, seeds) | {"tables": sorted(made)}
    if set(before) - set(made) - {"provenance"}:  # older than entries
        about["before"] = old.get("before", old) if "tables" in old else old
    write_whole(file, _lines(entries))
    merge(values | {"provenance": about}, path)
    return [file, path]


def _lines(entries):
    """JSON, a line for each task."""
    rows = [f"{json.dumps(k)}: {json.dumps(entries[k])}" for k in sorted(entries)]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def rounded(value):
    """Six digits: more are the machine's."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(x) for key, x in value.items()}
    return [rounded(x) for x in value] if isinstance(value, list) else value
