"""Training that may be stopped. What is kept, of it and of tasks, is sealed: a dict as
JSON and tensors as safetensors, believed only together, and as they were written."""

import hashlib
import json
from pathlib import Path

import torch
from safetensors.torch import load, save

from hmlib import inputs, training
from hmlib.files import write_whole
from hmlib.training import CLIP, History, Start, best_of, held_out, pair, state_of


def train(
    model,
    ids,
    labels,
    validation=None,
    folder=None,
    measure=None,
    alpha_rate=None,
    **more,
) -> History:
    """`hmlib.train`, which goes on from a folder, and ends like an unbroken run.

    folder      where checkpoints go; None: nowhere
    measure     a function of the model and the number of the epoch: the dict it returns
                joins the row of that epoch
    alpha_rate  a rate for alpha of its own
    more        what hmlib.train takes
    After an interruption the model is as it was before, so that the same call goes on.
    """
    if measure is not None and not callable(measure):
        raise ValueError(
            f"measure is {inputs.shown(measure)}: expected a function, or None."
        )
    if alpha_rate is not None:
        alpha_rate = inputs.number(alpha_rate, "alpha_rate", "> 0")
    rate = inputs.number(more.get("rate", DEFAULTS["rate"]), "rate", "> 0")
    data = pair(model, ids, labels)
    data += held_out(model, validation) or ()
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    groups = [{"params": [p], "lr": rate} for p in learned.values()]
    if alpha_rate is not None and "raw_alpha" in learned:
        groups[list(learned).index("raw_alpha")]["lr"] = alpha_rate
    optimiser, before, store = (
        torch.optim.Adam(groups, fused=True),
        state_of(model),
        None,
    )
    if folder is not None:
        step = {name: more.get(name, DEFAULTS[name]) for name in ("batch", "seed")}
        step |= {"clip": CLIP, "dropout": more.get("dropout", DEFAULTS["dropout"])}
        settings = {"rate": rate, "alpha_rate": alpha_rate} | step
        settings |= {"data": digest(*data), "start": digest(*before.values())}
        layers = [model.depth, model.padding, model.attention, model.temperature]
        settings |= {"learned": list(learned), "model": layers}
        store = Checkpoints(inputs.path(folder, "folder"), settings)

    def after(model, optimiser, rows):
        if measure is not None:
            told = measure(model, len(rows) - 1)
            rows[-1] |= inputs.instance(told, "what measure returns", dict)
        if store is not None:
            store.save(model, optimiser, rows)

    try:
        rows = [] if store is None else store.restore(model, optimiser)
        start = Start(optimiser, rows, store and store.best)
        return training.train(
            model, ids, labels, validation, after=after, start=start, **more
        )
    except BaseException:
        model.load_state_dict(before)
        raise


DEFAULTS = training.train.__kwdefaults__


class Checkpoints:
    """The last two epochs in a folder, each sealed with its digest."""

    def __init__(self, folder, settings):
        self.folder, self.settings, self.best = folder, settings, None
        if folder.exists() and not folder.is_dir():
            raise ValueError(
                f"folder is {folder}, a file: expected a folder for checkpoints."
            )
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, model, optimiser, rows):
        if best_of(rows) == len(rows) - 1:
            self.best = state_of(model)
        tensors = {f"model.{name}": x for name, x in model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for i, state in optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{name}": value for name, value in state.items()}
        record = {"settings": self.settings, "epochs": rows, "best": best_of(rows)}
        write_sealed(self.folder / f"epoch-{len(rows):04d}", record, tensors)
        for old in sorted(self.folder.glob("epoch-*.json"))[:-2]:
            # It is missing, if another run goes on here as well.
            old.unlink(missing_ok=True)
            old.with_suffix(".safetensors").unlink(missing_ok=True)

    def restore(self, model, optimiser):
        """The epochs of the newest sound checkpoint; model and optimiser as they were."""
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
            model.load_state_dict(kinds["model"])
            optimiser.load_state_dict(optimiser.state_dict() | {"state": state})
            self.best = kinds["best"]
        return record["epochs"]

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
    """(record, tensors) as they were written; None if they are not there, or are not what
    was written."""
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
