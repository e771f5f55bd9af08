"""A study is a graph of tasks. Dask runs it, here or on a cluster; what is done is kept, and not done again.

A task is a function with its arguments and the tasks whose results it takes. It returns a pair (facts, arrays): what JSON
can hold, and tensors by name. Everything random comes from its arguments, so the result does not depend on who runs it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import dask
import torch
from dask.distributed import Client, LocalCluster, as_completed
from safetensors.torch import load, save

from benchmarks.provenance import commit, write_whole
from hmlib.reviews import with_bar

# A task is one long call of torch. Nobody is dead because he is silent; and memory that is given back to the system
# after each layer, as Dask would have it, makes everything three times slower.
KEEP = {"MALLOC_ARENA_MAX": 1, "MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**30}
SETTINGS = {"distributed.scheduler.worker-ttl": None, "distributed.nanny.pre-spawn-environ": KEEP}
SETTINGS |= {"distributed.scheduler.worker-saturation": 1.0}  # nobody waits behind an hour's work while another is idle


@dataclass(frozen=True)
class Task:
    """run(folder=..., **given, **{name: result of the task that needs names}) -> (facts, arrays)

    `folder` is the task's own, for checkpoints: a task that was killed may go on from what it finds there.
    """

    name: str
    run: Callable
    given: dict = field(default_factory=dict)
    needs: dict = field(default_factory=dict)


def keys(tasks):
    """name: a digest of all that determines its result: function, arguments, and the same of what it needs."""
    by_name, found = {task.name: task for task in tasks}, {}
    if len(by_name) < len(tasks):
        raise ValueError("Two tasks have the same name.")

    def key(name):
        if name not in found:
            task = by_name[name]
            needs = {argument: key(other) for argument, other in task.needs.items()}
            run = f"{task.run.__module__}.{task.run.__qualname__}"
            found[name] = hashlib.sha256(json.dumps([run, task.given, needs]).encode()).hexdigest()
        return found[name]

    return {name: key(name) for name in by_name}


class Shelf:
    """Finished tasks in a folder, each in two files: facts with their key, and arrays with the same key."""

    def __init__(self, folder):
        self.folder = Path(folder) / "done"

    def get(self, name, key):
        """(facts, arrays), or None if it is not there, is another's, or is damaged."""
        try:
            record = json.loads((self.folder / f"{name}.json").read_text())
            content = (self.folder / f"{name}.safetensors").read_bytes()
            if record["key"] != key or record["sha256"] != hashlib.sha256(content).hexdigest():
                return None
            return record["facts"] | {"commit": record["commit"]}, load(content)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, name, key, made_by, facts, arrays):
        content = save({k: v.contiguous() for k, v in arrays.items()})
        record = {"key": key, "commit": made_by, "sha256": hashlib.sha256(content).hexdigest(), "facts": facts}
        write_whole(self.folder / f"{name}.safetensors", content)
        write_whole(self.folder / f"{name}.json", (json.dumps(record, indent=1) + "\n").encode())
        return self.get(name, key)


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


def finished(tasks, folder):
    """{name: (facts, arrays)} of those tasks that are done."""
    shelf = Shelf(folder)
    return {name: found for name, key in keys(tasks).items() if (found := shelf.get(name, key))}


def run(tasks, folder, scheduler=None, workers=2, progress=True):
    """{name: (facts, arrays)} of all tasks; what stands on the shelf is taken from there.

    scheduler  the address of a Dask cluster; None starts one here, of so many `workers`; 0: all in this process
    """
    shelf, of, done, made_by = Shelf(folder), keys(tasks), finished(tasks, folder), commit()
    if len(done) == len(tasks):
        return done
    graph = {}
    for task in wanted(tasks, [task.name for task in tasks]):
        if task.name not in done:
            needs = {argument: done.get(other) or graph[other] for argument, other in task.needs.items()}
            place = str(Path(folder) / "running" / task.name)
            graph[task.name] = dask.delayed(_execute)(task.run, place, task.given, needs, dask_key_name=task.name)
    with dask.config.set(SETTINGS), _client(scheduler, workers) as client:
        futures = dict(zip(client.compute(list(graph.values())), graph, strict=True))
        ended = as_completed(futures)
        for future in with_bar(ended, desc="tasks", total=len(futures)) if progress else ended:
            name = futures[future]
            done[name] = shelf.put(name, of[name], made_by, *future.result())
    return done


def _client(scheduler, workers):
    if scheduler:
        return Client(scheduler)
    here = {"n_workers": workers, "processes": True} if workers else {"n_workers": 1, "processes": False}
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
