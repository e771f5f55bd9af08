"""python -m studies check: which results would today's code compute again, and does it
find the same? The cheapest tasks of each study are computed again."""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from studies import graph, ledger
from studies.provenance import ROOT


def states(study, entries):
    """{task: "same", "other code" or "no entry"} of all that the study asks for, by
    whom its entry was made."""
    out = {}
    for name, key in graph.keys(study.tasks()).items():
        kept = entries.get(name, {})
        if kept.get("key") != key.asked:
            out[name] = "no entry"
        else:
            out[name] = "same" if kept["code"] == key.code else "other code"
    return out


def of_tables(study, entries, stored):
    """{table: what its numbers rest on}."""
    state, out = states(study, entries), {}
    made = ledger.tables(study, ledger.believed(study, entries))
    for name, (value, asked) in made.items():
        if name not in stored:
            out[name] = "not there yet"
        elif value is None:
            out[name] = "from before tasks had entries"
        elif value != stored[name]:
            out[name] = "is not what its entries give"
        else:
            out[name] = told([state.get(task) for task in asked])
    return out


def told(states):
    """In words: how many of a table's tasks are to do, and to do again."""
    say, n = [], len(states)
    if other := states.count("other code"):
        say.append(f"{other} of its {n} tasks would be computed again")
    if missing := states.count("no entry"):
        say.append(f"{missing} of its {n} tasks are still to do")
    return ", ".join(say) or "today's"


def cheapest(study, entries, many=1):
    """So many tasks with an entry that take least time, with all that they need."""
    tasks, costs = study.tasks(), {}
    for name, state in states(study, entries).items():
        chain = [task.name for task in graph.wanted(tasks, [name])]
        if state != "no entry" and all(other in entries for other in chain):
            costs[name] = sum(entries[other].get("seconds") or 0 for other in chain)
    return sorted(costs, key=lambda name: (costs[name], name))[:many]


def again(study, names, folder):
    """{task: its facts, computed by today's code}."""
    done = {}
    for task in graph.wanted(study.tasks(), names):
        needs = {argument: done[other] for argument, other in task.needs.items()}
        place = str(Path(folder) / task.name)
        done[task.name] = graph.execute(task.run, place, task.given, needs)
    kept = {name: json.loads(json.dumps(done[name][0])) for name in names}
    return ledger.rounded(kept)


def main(arguments, studies):
    parser = argparse.ArgumentParser("python -m studies check", description=__doc__)
    choice = {"nargs": "*", "metavar": "NAME", "help": f"of {', '.join(studies)}"}
    parser.add_argument("studies", **choice)
    about = "how many tasks of each study are computed again (%(default)s)"
    parser.add_argument("--sample", type=int, default=1, help=about)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    given = parser.parse_args(arguments)
    if unknown := set(given.studies) - set(studies):
        parser.error(f"no study is called {', '.join(sorted(unknown))}.")
    wrong = [
        line
        for name in given.studies or studies
        for line in of_study(name, given.results, given.sample)
    ]
    if wrong:
        sys.exit("\n".join(["Not as stored:", *wrong]))


def of_study(name, results, sample):
    """Say how a study stands; return what is not as it is stored."""
    study = import_module(f"studies.{name}")
    entries = ledger.read(ledger.file_of(study, results))
    stored = ledger.read(results / f"{ledger.name_of(study)}.json")
    state = [*states(study, entries).values()]
    say = [f"{state.count(kind)} {kind}" for kind in ("same", "other code", "no entry")]
    print(f"{name}: {len(state)} tasks, {', '.join(say)}")
    wrong = []
    for table, rests_on in of_tables(study, entries, stored).items():
        print(f"  {table:18} {rests_on}")
        if rests_on.startswith("is not"):
            wrong.append(f"{name}, {table}")
    chosen = cheapest(study, entries, sample)
    try:
        with TemporaryDirectory(prefix="studies-") as folder:
            found = again(study, chosen, folder)
    except FileNotFoundError as error:
        print(f"  not computed again: {error}")
        return wrong
    for task, facts in found.items():
        same = facts == entries[task]["facts"]
        print(f"  computed again: {task}, {'the same' if same else 'NOT the same'}")
        wrong += [] if same else [f"{name}, {task}"]
    return wrong
