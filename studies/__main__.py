"""python -m studies NAME: run a study, or go on with it; results go to results/."""

import argparse
import shlex
import sys
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from studies import data, graph
from studies.data import HOME
from studies.provenance import ROOT

STUDIES = {
    "sentiment": "the sentiment experiment of chapter 4, on the 50,000 reviews (about five hours on two cores)",
    "variations": "the experiments of chapter 6, beyond the assumptions (about ten minutes on one core)",
    "statistics": "depth and statistics of chapter 7, on 250,000 random clouds and 5,000 reviews (about 20 minutes)",
    "real_text": "heads, matrices, norms, feed-forward: chapter 6 on the 50,000 reviews (about half an hour on two cores)",
}


def main(arguments=None):
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["data"]:
        data.main(words[1:])
        return
    given = _parser().parse_args(arguments)
    study = import_module(f"studies.{given.study}")
    tasks = study.tasks()
    chosen = [
        task.name
        for task in tasks
        if any(fnmatch(task.name, pattern) for pattern in given.tasks)
    ]
    if not chosen:
        sys.exit(
            f"No task is called {' or '.join(given.tasks)}. `python -m studies {given.study} --list` names them all."
        )
    chosen, folder = (
        graph.wanted(tasks, chosen),
        Path(given.folder or f"{HOME}/studies/{given.study}").expanduser(),
    )
    try:
        done, other = graph.on_shelf(tasks, folder)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    if given.list:
        for name in (task.name for task in chosen):
            print(
                f"{'done' if name in done else 'stale' if name in other else 'to do':6} {name}"
            )
        return
    graph.run(chosen, folder, given.scheduler, given.workers, stale=given.keep_stale)
    done = graph.finished(tasks, folder, given.keep_stale)
    print(f"{len(done)} of the study's {len(tasks)} tasks are done.")
    place = given.results
    if len(done) < len(tasks):
        place = folder / "partial"
        print(f"{given.results} stays as it was until all are; what there is so far:")
    command = shlex.join(
        ["python", "-m", "studies", *(sys.argv[1:] if arguments is None else arguments)]
    )
    for file in study.write(done, place, command):
        print(f"wrote {file}")


def _parser():
    studies = "\n".join(f"  {name:12} {what}" for name, what in STUDIES.items())
    parser = argparse.ArgumentParser(
        "python -m studies",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
        epilog=f"studies:\n{studies}\n\nA run that was stopped goes on where it was: give the same command again. As long as\nnot all tasks are done, what there is goes to the folder `partial` beside them.\n\n`python -m studies data --help` says how to get the data.",
    )
    parser.add_argument(
        "study", choices=STUDIES, metavar="NAME", help="one of the studies below"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask cluster; without it, one is started here",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2,
        help="of the cluster here; 0: everything in this process",
    )
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="only these, and what they need",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="name the tasks: done, to do, or stale (by other code)",
    )
    parser.add_argument(
        "--keep-stale",
        action="store_true",
        help="take what other code did as it is; results say so",
    )
    parser.add_argument(
        "--folder", help="for what is done so far; every worker must reach it"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "results",
        help="where the results of all tasks go",
    )
    return parser


if __name__ == "__main__":
    main()
