"""Tasks for the tests of studies/graph.py: workers import them."""

import os
import signal
from pathlib import Path

import torch

from hmlib import HardmaxClassifier
from studies import graph
from studies.checkpoints import train


def constant(folder, value):
    note(folder)
    return {"value": value}, {"tensor": torch.full((3,), float(value))}


def total(folder, one, other):
    note(folder)
    return {"value": one[0]["value"] + other[0]["value"]}, {
        "tensor": one[1]["tensor"] + other[1]["tensor"]
    }


def subnormal(folder):
    """Are there numbers below the smallest normal one?"""
    return {"there": bool(torch.tensor(5e-324, dtype=torch.float64) * 1)}, {}


def trained(folder, seed, deadly=None, after=2):
    """A short training; where `deadly` names a file that is not there yet, the worker is killed after some epochs."""
    torch.manual_seed(seed)
    ids = torch.randint(0, 30, (200, 12))
    labels = (ids < 12).sum(1) > 4
    model = HardmaxClassifier(30, 2, depth=3)

    def measure(model, number):
        if deadly and number == after and not Path(deadly).exists():
            Path(deadly).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"number": number}

    history = train(
        model,
        (ids, labels),
        epochs=4,
        seed=seed,
        folder=folder,
        measure=measure,
    )
    return {"epochs": history.epochs}, model.state_dict()


def broken():
    raise ZeroDivisionError("as it must")


def note(folder):
    """That the task ran."""
    file = Path(folder) / "ran"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(file.read_text() + "x" if file.exists() else "x")


def as_done(study, found, commit="abc"):
    """(facts, arrays) of tasks by name, as if this code had done them at this commit."""
    out, key = {}, graph.keys(study.tasks())
    for name, (facts, arrays) in found.items():
        made = {"key": key[name].asked, "code": key[name].code, "commit": commit}
        out[name] = graph.Done(facts, arrays, made | {"seeds": 0, "seconds": 1.0})
    return out
