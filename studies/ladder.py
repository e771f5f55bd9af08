"""From the paper's protocol to the circle, d = 2, one thing a step; and back from the
circle, one thing at a time. Each run goes on to its own peak on validation.
`python -m studies ladder`"""

from functools import partial

import torch
from torch.nn.utils import parametrize

from hmlib import HardmaxClassifier
from studies import measures, models
from studies.baselines import parameters
from studies.checkpoints import train_to_peak
from studies.classifiers import judged
from studies.data import SHA256
from studies.graph import Task
from studies.ledger import present
from studies.paired import difference, pooled
from studies.texts import encoded

DATA = {"kaggle": SHA256["kaggle"]}
SEEDS = range(3)
DELTA, STEEPNESS = 0.01, 40.0  # of the circle

PAPER = {  # but for the 5,000 reviews that choose the epoch, which the paper trains on
    "way": "paper",
    "padding": "token",
    "rate": 1e-3,
    "dropout": 0.0,
    "start": "normal",
    "place": "free",
    "depth": 8,
    "attention": "softmax",
    "alpha": None,  # learned
}
STEPS = {  # up the ladder: each rung has all that is above it
    "the paper's protocol": {},
    "hardmax": {"attention": "hardmax"},
    "words of the fitted reviews": {"way": "paper, fitted words"},
    "padding left out": {"padding": "mask"},
    "plain words": {"way": "128"},
    "rate 0.002": {"rate": 2e-3},
    "start: all words alike": {"start": "alike"},
    "dropout 0.3": {"dropout": 0.3},
    "on the circle": {"place": "circle"},
    "alpha = 4": {"alpha": 4.0},
    "3 layers": {"depth": 3},
    "pass-through": {"attention": "pass-through"},
}
AWAY = {  # from the end, one thing taken away
    "softmax": {"attention": "softmax"},
    "its own gradient": {"attention": "hardmax"},
    "8 layers": {"depth": 8},
    "alpha learned": {"alpha": None},
    "free words": {"place": "free"},
    "no dropout": {"dropout": 0.0},
    "start: normal": {"start": "normal"},
    "rate 0.001": {"rate": 1e-3},
    "the paper's words": {"way": "paper, fitted words"},
    "words of all reviews": {"way": "paper, plain words"},
    "padding": {"padding": "token"},
}
BESIDE = {  # the rate that the book's other runs have, from the rungs before and after
    "plain words, rate 0.01": ("plain words", {"rate": 1e-2}),
    "plain words, rate 0.01, dropout 0.3": (
        "plain words",
        {"rate": 1e-2, "dropout": 0.3},
    ),
    "plain words, no attention": ("plain words", {"depth": 0}),
    "pass-through, no attention": ("pass-through", {"depth": 0}),
}


def rung(folder, seed, way, rate, dropout, patience=10, most=300, **about):
    """One set-up, to its peak on validation: alpha in all epochs, who leads before and
    after, how it is judged."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model = starting(texts, **about)
    how = {"rate": rate, "dropout": dropout, "seed": seed, "folder": folder}
    data, ids = (texts.of("fit"), texts.of("held")), texts.of("held")[0]
    alpha = float(model.alpha.detach())
    before = measures.how_many_lead(model, ids) if model.depth else {}
    history = train_to_peak(model, *data, patience=patience, most=most, **how)
    facts = {"epochs": history.epochs, "best": history.best}
    facts |= judged(model, texts) | {"parameters": parameters(model)}
    facts |= {"alpha_before": alpha, "alpha": float(model.alpha.detach())}
    if model.depth:
        facts |= measures.how_many_lead(model, ids)
        facts["leaders_before"] = before["leaders"]
    return facts, {}


def starting(texts, start, place, **layers):
    """The classifier before it is trained.

    start  "normal": words from N(0, 1), a decoder of torch's; "alike": all words at
           (1, 0) but for their lengths, under the decoder (0, STEEPNESS), as on the
           circle when all scores are 0
    place  where words may go: "free", or along the "circle"
    """
    rows = len(texts.words)
    model = HardmaxClassifier(rows, 2, **layers)
    circle = models.Circle(models.lengths(texts, DELTA))
    t = torch.zeros(rows, 1) if start == "alike" else torch.randn(rows, 1)
    with torch.no_grad():
        if start == "alike":
            model.decoder.weight.copy_(torch.tensor([[0.0, STEEPNESS]]))
            model.decoder.bias.zero_()
            model.embedding.weight.copy_(circle(t))
    if place == "circle":
        model.embedding.weight.data = t
        parametrize.register_parametrization(
            model.embedding, "weight", circle, unsafe=True
        )
    return model


def set_ups():
    """{name: settings} of all runs but for their seed."""
    out, so_far = {}, PAPER
    for step, change in STEPS.items():
        so_far = so_far | change
        out[f"up, {step}"] = so_far
    for what, change in AWAY.items():
        out[f"away, {what}"] = so_far | change
    for name, (step, change) in BESIDE.items():
        out[f"beside, {name}"] = out[f"up, {step}"] | change
    return out


def tasks():
    """One seed of all first."""
    return [
        Task(f"{name} {seed}", rung, given | {"seed": seed})
        for seed in SEEDS
        for name, given in set_ups().items()
    ]


# What goes to results/ladder.json


def row(facts, name, other, spread):
    """A set-up, and how far it is from another one."""
    seeds = facts.seeds(name, SEEDS)
    apart = difference(*facts.pair(name, other, SEEDS), spread)
    out = facts.over(name, seeds) | {"against": other, **apart}
    runs = [facts[f"{name} {seed}"]["epochs"] for seed in seeds]
    return out | {"alphas": [[epoch["alpha"] for epoch in run] for run in runs]}


def compared():
    """{part: {name: the set-up it is compared with}}."""
    up = [f"up, {step}" for step in STEPS]
    below = [up[0], *up[:-1]]
    return {
        "up": dict(zip(up, below, strict=True)),
        "away": {f"away, {what}": up[-1] for what in AWAY},
        "beside": {f"beside, {k}": f"up, {step}" for k, (step, _) in BESIDE.items()},
    }


def table(facts, part):
    """Three seeds say little of their spread, so all comparisons say it together."""
    pairs = {k: v for rows in compared().values() for k, v in rows.items() if k != v}
    parts = {k: partial(facts.pair, k, v, SEEDS) for k, v in pairs.items()}
    spread = pooled(present(parts).values())
    rows = compared()[part].items()
    return present({k: partial(row, facts, k, v, spread) for k, v in rows})


TABLES = {
    "settings": lambda facts: set_ups(),
    "up": lambda facts: table(facts, "up"),
    "away": lambda facts: table(facts, "away"),
    "beside": lambda facts: table(facts, "beside"),
}
