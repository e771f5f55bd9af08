"""Training that may be stopped. What is kept, of it and of tasks, is sealed: a dict as
JSON and tensors as safetensors, believed only together, and as they were written."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load, save

from hmlib import inputs, training
from hmlib.files import write_whole
from hmlib.training import CLIP, Plan, Run, pair, state_of


def train(
    model,
    data,
    validation=None,
    folder=None,
    measure=None,
    alpha_rate=None,
    **plan,
) -> Run:
    """`hmlib.train`, which goes on from a folder, and ends like an unbroken run.

    folder      where checkpoints go; None: nowhere
    measure     a function of the model and the number of the epoch: the dict it returns
                joins the row of that epoch
    alpha_rate  a rate for alpha of its own
    plan        what a Plan takes
    After an interruption the model is as it was before, so that the same call goes on.
    """
    plan = Plan(**plan)
    if measure is not None and not callable(measure):
        inputs.refuse(f"measure is {inputs.shown(measure)}", "a function, or None")
    if alpha_rate is not None:
        alpha_rate = inputs.number(alpha_rate, "alpha_rate", "> 0")
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    store = None
    if folder is not None:
        settings = {name: x for name, x in asdict(plan).items() if name != "epochs"}
        settings |= {"alpha_rate": alpha_rate, "clip": CLIP, "learned": list(learned)}
        given = pair(model, data)
        given += () if validation is None else pair(model, validation, "validation ")
        start = state_of(model).values()
        settings |= {"data": digest(*given), "start": digest(*start)}
        layers = [model.depth, model.padding, model.attention, model.temperature]
        store = Checkpoints(inputs.path(folder, "folder"), settings | {"model": layers})

    def hook(run):
        if run.epochs:
            if measure is not None:
                told = measure(model, len(run.epochs) - 1)
                run.epochs[-1] |= inputs.instance(told, "what measure returns", dict)
            if store is not None:
                store.save(run)
            return
        rates = dict.fromkeys(learned, plan.rate)
        if alpha_rate is not None and "raw_alpha" in rates:
            rates["raw_alpha"] = alpha_rate
        groups = [{"params": [p], "lr": rates[name]} for name, p in learned.items()]
        run.optimiser = torch.optim.Adam(groups, fused=True)
        if store is not None:
            store.restore(run)

    return training.train(model, data, validation, plan, hook)


def train_to_peak(model, *data, folder, patience=10, most=300, **plan) -> Run:
    """`train` until `patience` epochs in a row have not been better on validation than
    the best one, which is kept; at most so many epochs."""
    start, best = state_of(model), 0
    while True:
        epochs = min(best + 1 + patience, most)
        model.load_state_dict(start)
        run = train(model, *data, folder=folder, epochs=epochs, **plan)
        if run.best == best or epochs == most:
            return run
        best = run.best


class Checkpoints:
    """The last two epochs in a folder, each sealed with its digest."""

    def __init__(self, folder, settings):
        self.folder, self.settings = folder, settings
        if folder.exists() and not folder.is_dir():
            raise ValueError(
                f"folder is {folder}, a file: expected a folder for checkpoints."
            )
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, run):
        tensors = {f"model.{name}": x for name, x in run.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in run.weights.items()}
        for i, state in run.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{name}": value for name, value in state.items()}
        record = {"settings": self.settings, "epochs": run.epochs, "best": run.best}
        write_sealed(self.folder / f"epoch-{len(run.epochs):04d}", record, tensors)
        for old in sorted(self.folder.glob("epoch-*.json"))[:-2]:
            # It is missing, if another run goes on here as well.
            old.unlink(missing_ok=True)
            old.with_suffix(".safetensors").unlink(missing_ok=True)

    def restore(self, run):
        """To where it was at the newest sound checkpoint."""
        record, tensors = self._newest()
        kinds = {"model": {}, "best": {}, "adam": {}}
        for name, value in tensors.items():
            kind, rest = name.split(".", 1)
            kinds[kind][rest] = value
        state = {}
        for name, value in kinds["adam"].items():
            i, entry = name.split(".")
            state.setdefault(int(i), {})[entry] = value
        if tensors:
            run.model.load_state_dict(kinds["model"])
            run.optimiser.load_state_dict(run.optimiser.state_dict() | {"state": state})
            run.weights, run.epochs = kinds["best"], record["epochs"]

    def _newest(self):
        """(record, tensors); damaged ones are passed over."""
        for file in sorted(self.folder.glob("epoch-*.json"), reverse=True):
            record, tensors = read_sealed(file.with_suffix("")) or (None, None)
            if record is None:
                continue
            theirs, ours = record.get("settings", {}), self.settings
            if theirs != ours:
                other = [name for name in ours if theirs.get(name) != ours[name]]
                raise ValueError(
                    f"{self.folder} holds a run with other settings or data "
                    f"({', '.join(other)}): choose another folder, or empty it."
                )
            return record, tensors
        return {"epochs": []}, {}


def digest(*tensors):
    """Of their shapes and bytes."""
    sha = hashlib.sha256()
    for tensor in tensors:
        content = tensor.detach().contiguous().cpu().numpy().tobytes()
        sha.update(str(tuple(tensor.shape)).encode() + content)
    return sha.hexdigest()


def write_sealed(path, record, tensors):
    """path.safetensors, and path.json, written last, with the sha256 of both."""
    content = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    write_whole(f"{path}.safetensors", content)
    record = record | {"sha256": _sha256(record, content)}
    write_whole(f"{path}.json", json.dumps(record, indent=1) + "\n")


def read_sealed(path):
    """(record, tensors) as they were written; None if they are not there, or are not
    what was written."""
    for file in (Path(f"{path}.json"), Path(f"{path}.safetensors")):
        if file.is_dir():  # not ours, and in the way of what is to be written
            raise ValueError(
                f"{file} is a folder: expected a file. Remove it, or choose another "
                "place."
            )
    try:
        record = json.loads(Path(f"{path}.json").read_bytes())
        content = Path(f"{path}.safetensors").read_bytes()
        if record.pop("sha256") == _sha256(record, content):
            return record, load(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # as good as none
    return None


def _sha256(record, content):
    return hashlib.sha256(json.dumps(record).encode() + content).hexdigest()
