"""python -m studies NAME: run a study, or go on with it; results go to results/."""

import argparse
import shlex
import sys
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from studies import data
from studies.data import HOME
from studies.provenance import ROOT

STUDIES = {
    "sentiment": "the sentiment experiment of chapters 4 to 6, on the 50,000 reviews "
    "(about half an hour on one core)",
    "variations": "the experiments of chapter 8, beyond the assumptions (about five "
    "minutes on one core)",
    "statistics": "depth and statistics of chapter 9, on 250,000 random clouds and "
    "5,000 reviews (about 20 minutes)",
    "real_text": "heads, matrices, norms, feed-forward: chapter 10, on the 50,000 "
    "reviews (about half an hour on two cores)",
    "calibration": "how sure the classifier of chapter 4's live figure should be "
    "(two minutes on one core)",
    "circle": "what few leaders cost on the circle, and what becomes of it when "
    "training may leave it (about half an hour on one core)",
    "starts": "what training makes of alpha and of accidental leaders (the cheap part "
    "about two hours on one core, all of it twenty)",
    "ladder": "from the paper's protocol to the circle, one thing a step (about four "
    "hours on one core)",
    "penalised": "training with a penalty, chapter 7, at the size of the second paper "
    "(about an hour and a half on one core)",
    "budgets": "every model with the same budget, on reviews and on sentences of "
    "another site (about seven hours on one core)",
}
MORE = """
A run that was stopped goes on where it was: give the same command again. What is done
is added to results/ when all tasks are, or where --results says; a part of a study goes
to the folder `partial` beside its tasks. Nothing drops out when other tasks come.

`python -m studies check` says which results today's code would compute again, and
computes the cheapest. `python -m studies data --help` says how to get the data."""
OPTIONS = {
    "--scheduler": {
        "metavar": "ADDRESS",
        "help": "a Dask cluster; without it, one is started here",
    },
    "--workers": {
        "type": int,
        "default": 2,
        "help": "of the cluster here; 0: everything in this process",
    },
    "--tasks": {
        "nargs": "+",
        "default": ["*"],
        "metavar": "PATTERN",
        "help": "only these, and what they need",
    },
    "--list": {
        "action": "store_true",
        "help": "name the tasks: done, to do, or stale (by other code)",
    },
    "--keep-stale": {
        "action": "store_true",
        "help": "take what other code did as it is; results say so",
    },
    "--folder": {"help": "for what is done so far; every worker must reach it"},
    "--collect": {
        "action": "store_true",
        "help": "run nothing; add what is done to the results",
    },
    "--results": {
        "type": Path,
        "help": "the folder that what is done is added to (all tasks: results/)",
    },
}


def main(arguments=None):
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["data"]:
        data.main(words[1:])
        return
    from studies import check, graph, ledger  # which take Dask along

    if words[:1] == ["check"]:
        check.main(words[1:], STUDIES)
        return
    given = _parser().parse_args(words)
    study = import_module(f"studies.{given.study}")
    tasks = study.tasks()
    chosen = [
        task.name
        for task in tasks
        if any(fnmatch(task.name, pattern) for pattern in given.tasks)
    ]
    if not chosen:
        sys.exit(
            f"No task is called {' or '.join(given.tasks)}. "
            f"`python -m studies {given.study} --list` names them all."
        )
    chosen = graph.wanted(tasks, chosen)
    folder = Path(given.folder or f"{HOME}/studies/{given.study}").expanduser()
    try:
        done, other = graph.on_shelf(tasks, folder)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    if given.list:
        states = dict.fromkeys(other, "stale") | dict.fromkeys(done, "done")
        for task in chosen:
            print(f"{states.get(task.name, 'to do'):6} {task.name}")
        return
    if not given.collect:
        how = {"stale": given.keep_stale, "data": study.DATA}
        graph.run(chosen, folder, given.scheduler, given.workers, **how)
    done = graph.finished(tasks, folder, given.keep_stale)
    print(f"{len(done)} of the study's {len(tasks)} tasks are done.")
    place = given.results
    if place is None and len(done) < len(tasks):
        place = folder / "partial"
        print("results/ stays as it was (--results adds to it). What there is so far:")
    place = place or ROOT / "results"
    if place.resolve() == ROOT / "results":
        done = shipped(done)
    asked = ["--tasks", *given.tasks] if given.tasks != ["*"] else []
    command = shlex.join(["python", "-m", "studies", given.study, *asked])
    files = ledger.write(study, done, place, command)
    if hasattr(study, "write"):
        files += study.write(done, place, command)
    for file in files:
        print(f"wrote {file}")


def shipped(done):
    """Those tasks that one commit stands for, without changes on top: what is shipped
    can be made again."""
    clean = {
        name: found
        for name, found in done.items()
        if (found.made["commit"] or "+changes").isalnum()
    }
    if left := sorted(set(done) - set(clean)):
        print(
            f"{len(left)} tasks are left out: they were done without a commit, or with "
            f"changes on top of it ({', '.join(left[:3])}{', ...' * (len(left) > 3)})."
        )
    return clean


def _parser():
    studies = "\n".join(f"  {name:10} {what}" for name, what in STUDIES.items())
    parser = argparse.ArgumentParser(
        "python -m studies",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
        epilog=f"studies:\n{studies}\n{MORE}",
    )
    which = {"choices": STUDIES, "metavar": "NAME", "help": "one of the studies below"}
    parser.add_argument("study", **which)
    for name, options in OPTIONS.items():
        parser.add_argument(name, **options)
    return parser


if __name__ == "__main__":
    main()
