"""A study is a graph of tasks. Dask runs it, here or on a cluster; what is done is
kept, and not done again.

A task is a function with its arguments and the tasks whose results it takes. It returns
a pair (facts, arrays): what JSON can hold, and tensors by name. Everything random comes
from its arguments, so the result does not depend on who runs it.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import dask
import torch
from dask.distributed import Client, as_completed

from studies.checkpoints import read_sealed, write_sealed
from studies.fingerprint import Project
from studies.provenance import record

# A task is one long call of torch. Nobody is dead because he is silent; and memory that
# is given back to the system after each layer, as Dask would have it, makes everything
# three times slower.
KEEP = {
    "MALLOC_ARENA_MAX": 1,
    "MALLOC_TRIM_THRESHOLD_": 2**30,
    "MALLOC_MMAP_THRESHOLD_": 2**30,
}
SETTINGS = {
    "distributed.scheduler.worker-ttl": None,
    "distributed.nanny.pre-spawn-environ": KEEP,
    # Nobody waits behind an hour's work while another is idle.
    "distributed.scheduler.worker-saturation": 1.0,
}


@dataclass(frozen=True)
class Task:
    """run(**given, **{name: result of the task that needs names}) -> (facts, arrays)

    Where `run` has a parameter `folder`, it gets one of its own, the same as long as
    its key is: a task that was killed may go on from what it finds there.
    """

    name: str
    run: Callable
    given: dict = field(default_factory=dict)
    needs: dict = field(default_factory=dict)


class Key(NamedTuple):
    """Digests of all that determines a result: what was asked, and the code that
    answers, each with those of what is needed."""

    asked: str
    code: str


class Done(NamedTuple):
    """What a task has found, and how: `provenance.record`, with its key, its code and
    the seconds of processor time since it was last begun or gone on with."""

    facts: dict
    arrays: dict
    made: dict


def keys(tasks):
    """name: its Key. The code is what the function uses of this project; comments and
    other functions do not count."""
    by_name = {task.name: task for task in tasks}
    if len(by_name) < len(tasks):
        raise ValueError("Two tasks have the same name.")

    @cache
    def key(name):
        task = by_name[name]
        needs = {argument: key(other) for argument, other in task.needs.items()}
        run = f"{task.run.__module__}.{task.run.__qualname__}"
        below = {argument: other.asked for argument, other in needs.items()}
        code = [code_of(task.run), *(other.code for other in needs.values())]
        return Key(digest([run, task.given, below]), digest(code))

    return {name: key(name) for name in by_name}


@cache
def code_of(function):
    """The digest of what a function uses of this project, as it is when this process
    first asks."""
    return project().of_function(function)


project = cache(Project)


def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


class Shelf:
    """Results in a folder, each sealed: facts and arrays, with the record of how they
    were made."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def get(self, name, key):
        """(Done, whether this code did it), or None if it is not there, is another's,
        or is damaged."""
        made, arrays = read_sealed(self.folder / name) or ({}, None)
        if made.get("key") != key.asked:
            return None
        return Done(made.pop("facts"), arrays, made), made["code"] == key.code

    def put(self, name, key, done):
        """Keep what is done, as the answer to this key; return it as `get`."""
        made = done.made | {"key": key.asked, "code": key.code}
        facts = json.loads(json.dumps(done.facts))
        write_sealed(self.folder / name, made | {"facts": facts}, done.arrays)
        return Done(facts, done.arrays, made)


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
    """Two dicts {name: Done}: of the tasks that are done, and of those that other code
    than this has done."""
    shelf, done, other = Shelf(Path(folder) / "done"), {}, {}
    for name, key in keys(tasks).items():
        kept = shelf.get(name, key)
        if kept is not None:
            found, same = kept
            (done if same else other)[name] = found
    return done, other


def finished(tasks, folder, stale=False):
    """{name: Done} of those tasks that are done; also of those that other code did, if
    `stale`."""
    done, other = on_shelf(tasks, folder)
    return done | other if stale else done


def run(
    tasks, folder, scheduler=None, workers=2, progress=True, stale=False, data=None
):
    """{name: Done} of all tasks; what stands on the shelf is taken from there.

    scheduler  the address of a Dask cluster; None starts one here, of so many
               `workers`; 0: all in this process
    stale      take what other code did as it is; then what is made of it counts as done
               by other code, too
    data       sha256 of what tasks read, by name, for their records
    """
    shelf, key = Shelf(Path(folder) / "done"), keys(tasks)
    done, other = on_shelf(tasks, folder)
    if other and progress:
        how = "done again (--keep-stale takes it as it is)"
        how = "taken as it is" if stale else how
        print(f"Other code than this did {len(other)} of the tasks: {how}.", flush=True)
    done, older = (done | other, set(other)) if stale else (done, set())
    todo = wanted(tasks, [task.name for task in tasks if task.name not in done])
    todo = {task.name: task for task in todo if task.name not in done}
    if not todo:
        return done
    # A folder that cannot be written is known before hours of work.
    shelf.folder.mkdir(parents=True, exist_ok=True)
    TemporaryFile(dir=shelf.folder).close()
    calls = {}
    for name, task in todo.items():
        if not older.isdisjoint(task.needs.values()):
            older.add(name)
            key[name] = key[name]._replace(code=f"not {key[name].code}")
        needs = {a: done.get(other) or calls[other] for a, other in task.needs.items()}
        place = Path(folder) / "running" / name / digest(key[name])[:16]
        arguments = task.run, str(place), task.given, needs
        calls[name] = dask.delayed(execute)(*arguments, dask_key_name=name)
    with dask.config.set(SETTINGS), _client(scheduler, workers) as client:
        futures = dict(zip(client.compute([*calls.values()]), calls, strict=True))
        ended = as_completed(futures)
        if progress:
            ended = with_bar(ended, desc="tasks", total=len(futures))
        for future in ended:
            name = futures[future]
            facts, arrays, seconds = future.result()
            made = record(data, todo[name].given.get("seed")) | {"seconds": seconds}
            done[name] = shelf.put(name, key[name], Done(facts, arrays, made))
    return done


def with_bar(items, **about):
    """The items, with a progress bar where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return items
    return tqdm(items, **about)


def _client(scheduler, workers):
    if scheduler:
        return Client(scheduler)
    here = {"n_workers": workers or 1, "processes": bool(workers)}
    # A cluster that the client starts ends with it.
    return Client(threads_per_worker=1, dashboard_address=":0", **here)


def execute(run, folder, given, needs):
    """(facts, arrays, seconds of processor time) of a task, here."""
    torch.set_num_threads(1)  # so that sums are added in one order, wherever
    torch.set_flush_denormal(True)  # softmax at 1e-3 has many, and they are slow
    own = {"folder": folder} if "folder" in signature(run).parameters else {}
    needs = {argument: found[:2] for argument, found in needs.items()}
    begun = time.process_time()
    try:
        facts, arrays = run(**own, **given, **needs)
    finally:
        torch.set_flush_denormal(False)  # whoever comes after may need subnormals
    return facts, arrays, round(time.process_time() - begun, 1)
