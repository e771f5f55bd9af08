"""A study is a graph of tasks. Dask runs it, here or on a cluster; what is done is kept, and not done again.

A task is a function with its arguments and the tasks whose results it takes. It returns a pair (facts, arrays): what JSON
can hold, and tensors by name. Everything random comes from its arguments, so the result does not depend on who runs it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import dask
import torch
from dask.distributed import Client, LocalCluster, as_completed

from benchmarks.fingerprint import Project
from benchmarks.provenance import commit, provenance
from hmlib.files import read_sealed, write_sealed
from hmlib.reviews import with_bar

# A task is one long call of torch. Nobody is dead because he is silent; and memory that is given back to the system
# after each layer, as Dask would have it, makes everything three times slower.
KEEP = {
    "MALLOC_ARENA_MAX": 1,
    "MALLOC_TRIM_THRESHOLD_": 2**30,
    "MALLOC_MMAP_THRESHOLD_": 2**30,
}
SETTINGS = {
    "distributed.scheduler.worker-ttl": None,
    "distributed.nanny.pre-spawn-environ": KEEP,
}
SETTINGS |= {
    "distributed.scheduler.worker-saturation": 1.0
}  # nobody waits behind an hour's work while another is idle


@dataclass(frozen=True)
class Task:
    """run(folder=..., **given, **{name: result of the task that needs names}) -> (facts, arrays)

    `folder` is the task's own, as long as its key is the same: a task that was killed may go on from what it finds there.
    """

    name: str
    run: Callable
    given: dict = field(default_factory=dict)
    needs: dict = field(default_factory=dict)


class Key(NamedTuple):
    """Digests of all that determines a result: what was asked, and the code that answers, with those of what is needed."""

    asked: str
    code: str


def keys(tasks):
    """name: its Key. The code is what the function uses of this project; comments and other functions do not count."""
    by_name, found = {task.name: task for task in tasks}, {}
    if len(by_name) < len(tasks):
        raise ValueError("Two tasks have the same name.")

    def key(name):
        if name not in found:
            task = by_name[name]
            needs = {argument: key(other) for argument, other in task.needs.items()}
            run = f"{task.run.__module__}.{task.run.__qualname__}"
            asked = digest(
                [
                    run,
                    task.given,
                    {argument: other.asked for argument, other in needs.items()},
                ]
            )
            found[name] = Key(
                asked,
                digest([code_of(task.run), *(other.code for other in needs.values())]),
            )
        return found[name]

    return {name: key(name) for name in by_name}


@cache
def code_of(function):
    """The digest of what a function uses of this project, as it is when this process first asks."""
    return project().of_function(function)


project = cache(Project)


def digest(of):
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()


class Shelf:
    """Results in a folder, each sealed: facts and arrays, with their key and the commit that made them."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def get(self, name, key):
        """((facts, arrays), whether this code made it), or None if it is not there, is another's, or is damaged."""
        record, arrays = read_sealed(self.folder / name) or ({}, None)
        if record.get("key") != key.asked:
            return None
        same = record["code"] == key.code
        made_by = (
            record["commit"]
            if same
            else f"{record['commit']} (its code has changed since)"
        )
        return (record["facts"] | {"commit": made_by}, arrays), same

    def put(self, name, key, made_by, facts, arrays):
        record = {
            "key": key.asked,
            "code": key.code,
            "commit": made_by,
            "facts": json.loads(json.dumps(facts)),
        }
        write_sealed(self.folder / name, record, arrays)
        return record["facts"] | {"commit": made_by}, arrays


def wanted(tasks, names):
    """The tasks of these names, and all that they need."""
    by_name, out = {task.name: task for task in tasks}, {}

    def take(name):
        for other in by_name[name].needs.values():
            take(other)
        out[name] = by_name[name]

    for name in names:
        take(name)
    return list(out.values())


def on_shelf(tasks, folder):
    """({name: (facts, arrays)} of the tasks that are done, the same of those that other code than this has done)."""
    shelf, of = Shelf(Path(folder) / "done"), keys(tasks)
    found = {name: one for name, key in of.items() if (one := shelf.get(name, key))}
    return tuple(
        {name: one for name, (one, same) in found.items() if same is kind}
        for kind in (True, False)
    )


def finished(tasks, folder, stale=False):
    """{name: (facts, arrays)} of those tasks that are done; also of those that other code did, if `stale`."""
    done, other = on_shelf(tasks, folder)
    return done | other if stale else done


def run(tasks, folder, scheduler=None, workers=2, progress=True, stale=False):
    """{name: (facts, arrays)} of all tasks; what stands on the shelf is taken from there.

    scheduler  the address of a Dask cluster; None starts one here, of so many `workers`; 0: all in this process
    stale      take what other code did as it is; then what is made of it counts as done by other code, too
    """
    shelf, of, made_by = Shelf(Path(folder) / "done"), keys(tasks), commit()
    done, other = on_shelf(tasks, folder)
    if other and progress:
        how = (
            "taken as it is" if stale else "done again (--keep-stale takes it as it is)"
        )
        print(f"Other code than this did {len(other)} of the tasks: {how}.", flush=True)
    done, older = (done | other, set(other)) if stale else (done, set())
    if len(done) == len(tasks):
        return done
    shelf.folder.mkdir(parents=True, exist_ok=True)
    TemporaryFile(
        dir=shelf.folder
    ).close()  # a folder that cannot be written is known before hours of work
    graph = {}
    for task in wanted(tasks, [task.name for task in tasks]):
        if task.name not in done:
            if not older.isdisjoint(task.needs.values()):
                older.add(task.name)
                of[task.name] = of[task.name]._replace(code=f"not {of[task.name].code}")
            needs = {
                argument: done.get(other) or graph[other]
                for argument, other in task.needs.items()
            }
            place = str(
                Path(folder) / "running" / task.name / digest(of[task.name])[:16]
            )
            graph[task.name] = dask.delayed(_execute)(
                task.run, place, task.given, needs, dask_key_name=task.name
            )
    with dask.config.set(SETTINGS), _client(scheduler, workers) as client:
        futures = dict(zip(client.compute(list(graph.values())), graph, strict=True))
        ended = as_completed(futures)
        for future in (
            with_bar(ended, desc="tasks", total=len(futures)) if progress else ended
        ):
            name = futures[future]
            done[name] = shelf.put(name, of[name], made_by, *future.result())
    return done


def about(done, command, data, seeds):
    """The provenance of what is made of these tasks: that of the run, and the commits that the tasks were done at."""
    commits = {found["commit"] for found, _ in done.values()}
    return provenance(command, data, seeds) | {
        "commits_of_tasks": sorted(commits, key=lambda one: one or "")
    }


def _client(scheduler, workers):
    if scheduler:
        return Client(scheduler)
    here = (
        {"n_workers": workers, "processes": True}
        if workers
        else {"n_workers": 1, "processes": False}
    )
    return Client(LocalCluster(threads_per_worker=1, dashboard_address=":0", **here))


def _execute(run, folder, given, needs):
    torch.set_num_threads(1)  # so that sums are added in one order, wherever
    torch.set_flush_denormal(True)  # softmax at 1e-3 has many, and they are slow
    return run(folder=folder, **given, **needs)


def rounded(value):
    """Six digits: more are the machine's."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(x) for key, x in value.items()}
    return [rounded(x) for x in value] if isinstance(value, list) else value
