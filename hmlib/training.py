"""Training a classifier: Adam on binary cross entropy, seeded epoch by epoch."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from hmlib import inputs
from hmlib.classifier import HardmaxClassifier, tensor

with inputs.extra("torch"):
    import torch
    from torch import nn
    from torch.nn import functional as F

MOST_ROWS, MOST_SEED = 2**53, 2**43  # times 1,000,003 it still is a seed of torch
CLIP = 5.0  # the largest norm of a gradient


@dataclass
class Plan:
    """How it is trained; in each step a share of the words is left out at random."""

    epochs: int = 10
    rate: float = 0.01
    batch: int = 64
    seed: int = 0
    dropout: float = 0.0

    def __post_init__(self):
        self.epochs = inputs.count(self.epochs, "epochs")
        self.rate = inputs.number(self.rate, "rate", "> 0")
        self.batch = inputs.count(self.batch, "batch", MOST_ROWS, least=1)
        self.seed = inputs.count(self.seed, "seed", MOST_SEED)
        self.dropout = inputs.number(self.dropout, "dropout", ">= 0 and < 1")


@dataclass
class Run:
    """How far a training is: a dict for each epoch, and the weights of the best."""

    model: HardmaxClassifier
    optimiser: torch.optim.Optimizer
    weights: dict
    epochs: list = field(default_factory=list)

    @property
    def best(self) -> int:
        """The first epoch that is best on validation; without it, the last."""
        worth = [row.get("validation_accuracy", k) for k, row in enumerate(self.epochs)]
        return worth.index(max(worth)) if worth else -1


def train(
    model: HardmaxClassifier,
    data: tuple,
    validation: tuple | None = None,
    plan: Plan | None = None,
    hook: Callable | None = None,
) -> Run:
    """Minimise the mean of log(1 + exp(-y logit)), y = 1 or -1; keep the best epoch.

    data        integer ids (N, length) and labels 0 or 1, (N,)
    validation  the same two, to choose the epoch by; None: the last weights stay
    plan        Plan(epochs=5, dropout=0.3), for instance
    hook        called with the Run before the first epoch, to go on where another one
                stopped, and after each, to measure, to save, to show how far it is
    All that is random comes from the plan's seed and the number of the epoch, and one
    thread adds in one order: it repeats bit for bit. After an interruption the model is
    as before.
    """
    plan = Plan() if plan is None else inputs.instance(plan, "plan", Plan)
    hook = (lambda run: None) if hook is None else hook
    inputs.check(callable(hook), "hook", hook, "a function or None")
    ids, labels = pair(model, data)
    held_out = None if validation is None else pair(model, validation, "validation ")
    learned = [p for p in model.parameters() if p.requires_grad]
    before, threads = state_of(model), torch.get_num_threads()
    run = Run(model, torch.optim.Adam(learned, plan.rate, fused=True), before)
    try:
        torch.set_num_threads(1)
        hook(run)
        while len(run.epochs) < plan.epochs:
            run.epochs.append(_epoch(run, ids, labels, plan))
            if held_out is not None:
                loss, accuracy = evaluate(model, *held_out)
                judged = {"validation_loss": loss, "validation_accuracy": accuracy}
                run.epochs[-1] |= judged
            if run.best == len(run.epochs) - 1:
                run.weights = state_of(model)
            hook(run)
        model.load_state_dict(run.weights)
    except BaseException:
        model.load_state_dict(before)
        raise
    finally:
        torch.set_num_threads(threads)
    return run


def _epoch(run, ids, labels, plan):
    """Once through the data, in random order; loss, accuracy and alpha."""
    model, loss, right, number = run.model, 0.0, 0, len(run.epochs)
    random = torch.Generator().manual_seed(1_000_003 * plan.seed + number)
    for some in torch.randperm(len(ids), generator=random).split(plan.batch):
        keep, shape = None, (len(some), ids.shape[1])
        if plan.dropout:
            keep = torch.rand(shape, generator=random) >= plan.dropout
        logits = model(ids[some], keep)
        cost = F.binary_cross_entropy_with_logits(logits, labels[some])
        run.optimiser.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        run.optimiser.step()
        loss += float(cost.detach()) * len(some)
        right += int(((logits > 0) == (labels[some] > 0)).sum())
    loss, accuracy = loss / len(ids), right / len(ids)
    finite = all(bool(p.isfinite().all()) for p in model.parameters())
    if not (math.isfinite(loss) and finite):
        raise ValueError(
            f"epoch {number + 1}: the loss is {loss}, or weights are not finite. "
            "Take a smaller rate."
        )
    return {"loss": loss, "accuracy": accuracy, "alpha": float(model.alpha.detach())}


@torch.no_grad()
def evaluate(
    model: HardmaxClassifier, ids: torch.Tensor, labels: torch.Tensor
) -> tuple[float, float]:
    """(mean loss, accuracy) of a model."""
    ids, labels = pair(model, (ids, labels))
    logits = torch.cat([model(some) for some in ids.split(256)])
    loss = F.binary_cross_entropy_with_logits(logits, labels)
    return float(loss), float(((logits > 0) == (labels > 0)).float().mean())


def state_of(model):
    """A copy of its weights, by name."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def pair(model, data, whose=""):
    """(ids, labels) as tensors that belong together, for the model."""
    inputs.instance(model, "model", HardmaxClassifier)
    name = whose.strip() or "data"
    data = inputs.sequence(data, name, "ids and labels")
    if len(data) != 2:
        inputs.refuse(f"{name} has {len(data)} parts", "two, ids and labels")
    x, y = model.checked(data[0], f"{whose}ids"), tensor(data[1], f"{whose}labels")
    if y.shape != (len(x),) or len(x) == 0 or not ((y == 0) | (y == 1)).all():
        raise ValueError(
            f"{whose}ids: {len(x)} rows and {whose}labels of shape {tuple(y.shape)}; "
            "expected as many of both, labels 0 or 1."
        )
    return x, y.to(model.decoder.weight.dtype)
