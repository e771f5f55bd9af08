"""Training a classifier: Adam on binary cross entropy, seeded epoch by epoch."""

import math
from collections.abc import Callable
from typing import NamedTuple

from hmlib import inputs
from hmlib.classifier import HardmaxClassifier, tensor

with inputs.extra("torch"):
    import torch
    from torch import nn
    from torch.nn import functional as F

MOST_ROWS, MOST_SEED = 2**53, 2**43  # times 1,000,003 it still is a seed of torch
CLIP = 5.0  # the largest norm of a gradient


class History(NamedTuple):
    """What training did: a dict for each epoch, and the number of the one chosen."""

    epochs: list
    best: int


class Start(NamedTuple):
    """Where a run begins: its optimiser, the epochs that are done, the best weights."""

    optimiser: torch.optim.Optimizer
    epochs: tuple | list = ()
    best: dict | None = None


def train(
    model: HardmaxClassifier,
    ids: torch.Tensor,
    labels: torch.Tensor,
    validation: tuple | None = None,
    *,
    epochs: int = 10,
    rate: float = 0.01,
    batch: int = 64,
    seed: int = 0,
    dropout: float = 0.0,
    after: Callable | None = None,
    start: Start | None = None,
) -> History:
    """Minimise the mean of log(1 + exp(-y logit)), y = 1 or -1; keep the best epoch.

    ids, labels  integer ids (N, length) and labels 0 or 1, (N,)
    validation   the same two, to choose the epoch by; None: the last weights stay
    dropout      the share of words left out at random in each step
    after        called with model, optimiser and epochs when one is done: to measure
                 (epochs[-1] may be added to), to save, to show how far it is
    start        to go on with a run, or to train with another optimiser than Adam(rate)
    All that is random comes from `seed` and the number of the epoch, and one thread adds
    in one order: it repeats bit for bit. After an interruption the model is as before.
    """
    epochs = inputs.count(epochs, "epochs")
    batch = inputs.count(batch, "batch", MOST_ROWS, least=1)
    seed = inputs.count(seed, "seed", MOST_SEED)
    rate = inputs.number(rate, "rate", "> 0")
    dropout = inputs.number(dropout, "dropout", ">= 0 and < 1")
    if after is not None and not callable(after):
        raise ValueError(
            f"after is {inputs.shown(after)}: expected a function or None."
        )
    data, validation = pair(model, ids, labels), held_out(model, validation)
    if start is None:
        learned = [p for p in model.parameters() if p.requires_grad]
        start = Start(torch.optim.Adam(learned, rate, fused=True))
    optimiser, rows, best = inputs.instance(start, "start", Start)
    rows, before, threads = list(rows), state_of(model), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for number in range(len(rows), epochs):
            random = torch.Generator().manual_seed(1_000_003 * seed + number)
            row = _epoch(model, optimiser, *data, random, batch, dropout)
            finite = all(bool(p.isfinite().all()) for p in model.parameters())
            if not (math.isfinite(row["loss"]) and finite):
                raise ValueError(
                    f"epoch {number + 1}: the loss is {row['loss']}, or weights are not "
                    "finite. Take a smaller rate."
                )
            if validation is not None:
                judged = evaluate(model, *validation)
                row |= zip(
                    ("validation_loss", "validation_accuracy"), judged, strict=True
                )
            rows.append(row)
            if best_of(rows) == number:
                best = state_of(model)
            if after is not None:
                after(model, optimiser, rows)
    except BaseException:
        model.load_state_dict(before)
        raise
    finally:
        torch.set_num_threads(threads)
    model.load_state_dict(before if best is None else best)
    return History(rows, best_of(rows))


def _epoch(model, optimiser, ids, labels, random, batch, dropout):
    """Once through the data, in random order; loss, accuracy and alpha."""
    loss, right = 0.0, 0
    for some in torch.randperm(len(ids), generator=random).split(batch):
        keep, shape = None, (len(some), ids.shape[1])
        if dropout:
            keep = torch.rand(shape, generator=random) >= dropout
        logits = model(ids[some], keep)
        cost = F.binary_cross_entropy_with_logits(logits, labels[some])
        optimiser.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        loss += float(cost.detach()) * len(some)
        right += int(((logits > 0) == (labels[some] > 0)).sum())
    loss, accuracy = loss / len(ids), right / len(ids)
    return {"loss": loss, "accuracy": accuracy, "alpha": float(model.alpha.detach())}


@torch.no_grad()
def evaluate(
    model: HardmaxClassifier, ids: torch.Tensor, labels: torch.Tensor, batch: int = 256
) -> tuple[float, float]:
    """(mean loss, accuracy) of a model."""
    ids, labels = pair(model, ids, labels)
    batch = inputs.count(batch, "batch", MOST_ROWS, least=1)
    logits = torch.cat([model(some) for some in ids.split(batch)])
    loss = F.binary_cross_entropy_with_logits(logits, labels)
    return float(loss), float(((logits > 0) == (labels > 0)).float().mean())


def best_of(rows):
    """The number of the first epoch that is best on validation; of the last without."""
    scores = [row.get("validation_accuracy", k) for k, row in enumerate(rows)]
    return scores.index(max(scores)) if scores else -1


def state_of(model):
    """A copy of its weights, by name."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def pair(model, ids, labels, whose=""):
    """(ids, labels) as tensors that belong together, for the model."""
    inputs.instance(model, "model", HardmaxClassifier)
    x, y = model.checked(ids, f"{whose}ids"), tensor(labels, f"{whose}labels")
    if y.shape != (len(x),) or len(x) == 0 or not ((y == 0) | (y == 1)).all():
        raise ValueError(
            f"{whose}ids: {len(x)} rows and {whose}labels of shape {tuple(y.shape)}; "
            "expected as many of both, labels 0 or 1."
        )
    return x, y.to(model.decoder.weight.dtype)


def held_out(model, validation):
    """`pair` of validation, or None."""
    if validation is None:
        return None
    validation = inputs.sequence(validation, "validation", "ids and labels")
    if len(validation) != 2:
        raise ValueError(
            f"validation has {len(validation)} parts: expected two, ids and labels."
        )
    return pair(model, *validation, "validation ")
