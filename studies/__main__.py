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
    "sentiment": "the sentiment experiment of chapter 4, on the 50,000 reviews (about "
    "five hours on two cores)",
    "variations": "the experiments of chapter 6, beyond the assumptions (about ten "
    "minutes on one core)",
    "statistics": "depth and statistics of chapter 7, on 250,000 random clouds and "
    "5,000 reviews (about 20 minutes)",
    "real_text": "heads, matrices, norms, feed-forward: chapter 6 on the 50,000 "
    "reviews (about half an hour on two cores)",
}
MORE = """
A run that was stopped goes on where it was: give the same command again. As long as
not all tasks are done, what there is goes to the folder `partial` beside them.

`python -m studies data --help` says how to get the data."""
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
    "--results": {
        "type": Path,
        "default": ROOT / "results",
        "help": "where the results of all tasks go",
    },
}


def main(arguments=None):
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["data"]:
        data.main(words[1:])
        return
    from studies import graph  # which takes Dask along, as the studies do

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
    graph.run(chosen, folder, given.scheduler, given.workers, stale=given.keep_stale)
    done = graph.finished(tasks, folder, given.keep_stale)
    print(f"{len(done)} of the study's {len(tasks)} tasks are done.")
    place = given.results
    if len(done) < len(tasks):
        place = folder / "partial"
        print(f"{given.results} stays as it was until all are; what there is so far:")
    for file in study.write(
        done, place, shlex.join(["python", "-m", "studies", *words])
    ):
        print(f"wrote {file}")


def _parser():
    studies = "\n".join(f"  {name:12} {what}" for name, what in STUDIES.items())
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
