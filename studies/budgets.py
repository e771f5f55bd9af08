"""Every model with the same budget: the same small grid of rates and dropouts, each to
its own peak on validation; on the paper's reviews, some of them on the official split,
too, and on sentences of another site. `python -m studies budgets`"""

from functools import partial
from itertools import product

import torch

from studies import measures
from studies.baselines import built, parameters
from studies.checkpoints import train_to_peak
from studies.classifiers import judged, without_a_network
from studies.data import SHA256
from studies.graph import Task
from studies.ledger import present
from studies.models import document_frequency
from studies.paired import any_two, difference
from studies.texts import encoded

DATA = {name: SHA256[name] for name in ("kaggle", "official", "sentences")}
RATES, DROPOUTS = (1e-3, 3e-3, 1e-2), (0.0, 0.3)
LARGER = 3e-2
SEEDS = {"sentences": range(5), "128": range(3), "official": range(3)}
CONTROL = "no attention"

FIXED = {"alpha": 1.0}
THROUGH = FIXED | {"attention": "pass-through"}
RANDOM = {"kind": "random"}
SOFT = {"attention": "softmax"}
KINDS = {
    CONTROL: {"dim": 2, "depth": 0},
    "no attention, d = 16": {"dim": 16, "depth": 0},
    "no attention, from 0": {"dim": 1, "depth": 0, "zero": True},
    "hardmax": {"dim": 2},
    "hardmax, d = 16": {"dim": 16},
    "hardmax, alpha = 1": {"dim": 2} | FIXED,
    "hardmax, alpha = 1, 3 layers": {"dim": 2, "depth": 3} | FIXED,
    "pass-through": {"dim": 2} | THROUGH,
    "pass-through, 3 layers": {"dim": 2, "depth": 3} | THROUGH,
    "random": {"dim": 2} | RANDOM | FIXED,
    "random, 3 layers": {"dim": 2, "depth": 3} | RANDOM | FIXED,
    "random, pass-through": {"dim": 2} | RANDOM | THROUGH,
    "random, pass-through, 3 layers": {"dim": 2, "depth": 3} | RANDOM | THROUGH,
    "softmax, T = 0.001": {"dim": 2} | SOFT,
    "softmax, T = 1": {"dim": 2, "temperature": 1.0} | SOFT,
    "ordinary attention": {"kind": "ordinary", "dim": 2},
    "ordinary attention, d = 16": {"kind": "ordinary", "dim": 16},
    "attention pooling": {"kind": "pooling", "dim": 2},
    "attention pooling, d = 16": {"kind": "pooling", "dim": 16},
    "one head, random A": {"kind": "variant", "dim": 2, "random_matrix": True},
    "two heads, random A": {"kind": "variant", "dim": 2, "heads": 2},
    "four heads, random A": {"kind": "variant", "dim": 2, "heads": 4},
    "feed-forward alone": {"kind": "variant", "dim": 2, "width": 16, "attend": False},
}
AT_RANDOM = {  # the like of it that follows a word drawn at random
    "hardmax, alpha = 1": "random",
    "hardmax, alpha = 1, 3 layers": "random, 3 layers",
    "pass-through": "random, pass-through",
    "pass-through, 3 layers": "random, pass-through, 3 layers",
}
IN_16 = {  # their own control
    f"{kind}, d = 16": f"{CONTROL}, d = 16"
    for kind in ("hardmax", "ordinary attention", "attention pooling")
}
ALSO_OFFICIAL = (
    CONTROL,
    "no attention, from 0",
    "hardmax",
    "hardmax, alpha = 1",
    "random",
    "pass-through, 3 layers",
    "random, pass-through, 3 layers",
)
BEYOND = {  # at a rate that no model gets: those that might have chosen it
    "sentences": tuple(KINDS),
    "128": (  # here, and below, their best rate is the largest
        CONTROL,
        "hardmax",
        "random, pass-through",
        "random, pass-through, 3 layers",
        "softmax, T = 0.001",
        "softmax, T = 1",
        "attention pooling, d = 16",
        "one head, random A",
        "feed-forward alone",
    ),
    "official": (
        "no attention, from 0",
        "random",
        "random, pass-through, 3 layers",
    ),
}
LEAD = ("classifier", "variant")  # of which leaders are counted


def trained(folder, way, model, seed, rate, dropout, patience=5, most=60):
    """One model, with one rate and one dropout, to its peak on validation."""
    texts = encoded(way)
    torch.manual_seed(seed)
    net = built(len(texts.words), **model)
    how = {"rate": rate, "dropout": dropout, "seed": seed, "folder": folder}
    data = texts.of("fit"), texts.of("held")
    history = train_to_peak(net, *data, patience=patience, most=most, **how)
    facts = {"rate": rate, "dropout": dropout, "best": history.best}
    facts |= {"run": len(history.epochs), "alpha": float(net.alpha.detach())}
    facts |= judged(net, texts) | {"parameters": used_parameters(net, texts)}
    counted = model.get("kind", "classifier") in LEAD and model.get("attend", True)
    if net.depth and counted and net.attention != "softmax":
        facts |= measures.how_many_lead(net, texts.of("held")[0])
    return facts, {}


def used_parameters(net, texts):
    """How many numbers are learned, without the rows of words that no fitted review
    has."""
    unused = int((document_frequency(texts) == 0).sum())
    return parameters(net) - unused * net.embedding.embedding_dim


def again(folder, way, model, seed, **grid):
    """A model with another seed, at the rate and dropout of the grid that are best on
    validation."""
    best = max((facts for facts, *_ in grid.values()), key=lambda facts: facts["held"])
    if seed == 0:
        return best, {}
    how = {name: best[name] for name in ("rate", "dropout")}
    return trained(folder, way, model, seed, **how)


def points(kind, way):
    """{name of an argument: task} of the grid."""
    grid = product(RATES, DROPOUTS)
    return {
        f"at{i}": f"{way} {kind}, {rate:g}, {dropout:g}"
        for i, (rate, dropout) in enumerate(grid)
    }


def kinds(way):
    """The models that are trained on these texts."""
    return ALSO_OFFICIAL if way == "official" else tuple(KINDS)


def tasks():
    """The small data first; of each, one seed of all, then the others."""
    return [task for way in SEEDS for task in _of(way)]


def _of(way):
    yield Task(f"{way} TF-IDF", without_a_network, {"way": way})
    models = {kind: KINDS[kind] for kind in kinds(way)}
    for kind, model in models.items():
        given = {"way": way, "model": model, "seed": 0}
        grid = zip(points(kind, way).values(), product(RATES, DROPOUTS), strict=True)
        for name, (rate, dropout) in grid:
            yield Task(name, trained, given | {"rate": rate, "dropout": dropout})
    for seed in SEEDS[way]:
        for kind, model in models.items():
            given = {"way": way, "model": model, "seed": seed}
            yield Task(f"{way} {kind} {seed}", again, given, points(kind, way))
    for kind in BEYOND.get(way, ()):
        given = {"way": way, "model": models[kind], "seed": 0, "rate": LARGER}
        for name, dropout in zip(_beyond(kind, way), DROPOUTS, strict=True):
            yield Task(name, trained, given | {"dropout": dropout})


def _beyond(kind, way):
    return [f"{way} {kind}, {LARGER:g}, {dropout:g}" for dropout in DROPOUTS]


# What goes to results/budgets.json


def _regression(facts, way):
    return facts[f"{way} TF-IDF"]["TF-IDF"]


def table(facts, way):
    """Of each model with a task that is done: the grid, the chosen point with its
    seeds, and the difference from the control."""
    return present({kind: partial(_row, facts, kind, way) for kind in kinds(way)})


def _row(facts, kind, way):
    family = f"{way} {kind}"
    grid = [facts[name]["held"] for name in points(kind, way).values()]
    row = facts.over(family, facts.seeds(family, SEEDS[way]))
    return row | {"grid": grid, "against": _apart(facts, kind, CONTROL, way)}


def _apart(facts, kind, other, way):
    """The difference of two models; all models say together how seeds spread."""

    def right(name):
        return facts.right(f"{way} {name}", facts.seeds(f"{way} {name}", SEEDS[way]))

    spread = any_two(
        present({name: partial(right, name) for name in kinds(way)}).values()
    )
    pair = facts.pair(f"{way} {kind}", f"{way} {other}", SEEDS[way])
    return difference(*pair, spread)


def beside(others, facts, way):
    """The difference of each model from another one, {model: other}."""
    return present(
        {
            kind: partial(_apart, facts, kind, other, way)
            for kind, other in others.items()
            if {kind, other} <= {*kinds(way)}
        }
    )


def beyond(facts, way):
    """By how much a model is better on validation at a rate outside the grid."""

    def gain(kind):
        inside, outside = (
            max(facts[name]["held"] for name in names)
            for names in (points(kind, way).values(), _beyond(kind, way))
        )
        return outside - inside

    return present({kind: partial(gain, kind) for kind in BEYOND[way]})


TABLES = {
    "grid": lambda facts: {"rate": list(RATES), "dropout": list(DROPOUTS)},
    "kinds": lambda facts: KINDS,
    "128": lambda facts: table(facts, "128"),
    "official": lambda facts: table(facts, "official"),
    "sentences": lambda facts: table(facts, "sentences"),
    "random": lambda facts: present(
        {way: partial(beside, AT_RANDOM, facts, way) for way in SEEDS}
    ),
    "in 16": lambda facts: present(
        {way: partial(beside, IN_16, facts, way) for way in ("128", "sentences")}
    ),
    "beyond": lambda facts: present(
        {way: partial(beyond, facts, way) for way in BEYOND}
    ),
    "TF-IDF": lambda facts: present(
        {way: partial(_regression, facts, way) for way in SEEDS}
    ),
}
