"""Words on a circle, with more seeds: what few leaders cost, and what becomes of it
when training may leave the circle. `python -m studies circle`"""

from functools import partial

from studies.classifiers import circle, in_order, leave, put_back, scores
from studies.data import SHA256
from studies.graph import Task
from studies.ledger import present
from studies.paired import difference

DATA = {"kaggle": SHA256["kaggle"]}
SEEDS = range(5)
CONTROL = "no attention"
CURVE = {  # scale of the heights, delta: the more of it, the fewer lead
    CONTROL: {"delta": 0.001, "depth": 0},
    "0.3, 0.001": {"delta": 0.001},
    "0.3, 0.003": {"delta": 0.003},
    "0.3, 0.01": {"delta": 0.01},
    "0.6, 0.03": {"scale": 0.6, "delta": 0.03},
    "1.0, 0.1": {"scale": 1.0, "delta": 0.1},
    "1.0, 0.3": {"scale": 1.0, "delta": 0.3},
    "1.0, 1.0": {"scale": 1.0, "delta": 1.0},
}
ALIKE = {  # the control of each setting: no attention, and all else the same
    name: CONTROL if name in (CONTROL, "0.3, 0.001") else f"{CONTROL}, {name}"
    for name in CURVE
}
RATES = (1e-5, 3e-5, 1e-4, 3e-4)
LOSING = RATES[2:]
WAYS_OUT = {CONTROL: CONTROL, "hardmax": "0.3, 0.001", "pass-through": "0.3, 0.001"}


def tasks():
    """All of seed 0 first."""
    return [task for seed in SEEDS for task in _of_one(seed)]


def _of_one(seed):
    given = {"way": "128", "seed": seed}
    first = {"first": f"scores {seed}"}
    yield Task(f"scores {seed}", scores, given)
    for name, options in CURVE.items():
        options = {"epochs": 3} | options
        yield Task(f"circle {name}, {seed}", circle, given | options, first)
        if ALIKE[name] != CONTROL:
            alike = given | options | {"depth": 0}
            yield Task(f"circle {ALIKE[name]}, {seed}", circle, alike, first)
    for rate in RATES:
        for kind, start in WAYS_OUT.items():
            needs = {"first": f"circle {start}, {seed}"}
            how = {"attention": kind if kind != CONTROL else "pass-through"}
            options = given | how | {"rate": rate}
            left = f"left {kind}, {rate:g}, {seed}"
            yield Task(left, leave, options, needs)
            if kind != CONTROL:
                needs = needs | {"left": left}
                back = f"back {kind}, {rate:g}, {seed}"
                yield Task(back, put_back, {"way": "128"}, needs)
                if rate in LOSING:
                    order = f"order {kind}, {rate:g}, {seed}"
                    yield Task(order, in_order, {"way": "128"}, needs)


def against(facts, name, control):
    """The numbers of a family of tasks, of the seeds that it is done with, and its
    difference from its control."""
    apart = difference(*facts.pair(name, control, SEEDS))
    return facts.over(name, facts.seeds(name, SEEDS)) | {"against": apart}


def curve(facts):
    """Each setting, against its own control."""

    def row(name, alike):
        families = f"circle {name},", f"circle {alike},"
        control = facts.over(families[1], facts.seeds(families[1], SEEDS))
        return against(facts, *families) | {"control": control["test"]}

    return present({name: partial(row, name, alike) for name, alike in ALIKE.items()})


def left(facts):
    """Each way out at each rate, against the control that was trained on alike."""
    names = {f"{kind}, {rate:g}": rate for kind in WAYS_OUT for rate in RATES}
    return present(
        {name: partial(_left, facts, name, rate) for name, rate in names.items()}
    )


def _left(facts, name, rate):
    row = against(facts, f"left {name},", f"left {CONTROL}, {rate:g},")
    runs = [
        facts[f"left {name}, {seed}"] for seed in facts.seeds(f"left {name},", SEEDS)
    ]
    chosen = [run["epochs"][run["best"]] for run in runs]
    row |= {key: [epoch[key] for epoch in chosen] for key in ("gone", "longer")}
    seen = "longer", "validation_accuracy"
    path = [[[epoch[key] for key in seen] for epoch in run["epochs"]] for run in runs]
    return row | {"path": path}


def back(facts):
    """What was lost, and which part of it comes back with what is put back."""
    return parts(facts, "back", RATES)


def order(facts):
    """Is it which lengths there are, or which word has which?"""
    return parts(facts, "order", LOSING)


def parts(facts, what, rates):
    """Of each way out at each of the rates, what is judged rightly in parts."""
    ways = [f"{kind}, {rate:g}" for kind in list(WAYS_OUT)[1:] for rate in rates]

    def of(way):
        name = f"{what} {way},"
        return facts.over(name, facts.seeds(name, SEEDS))

    return present({way: partial(of, way) for way in ways})


# of results/circle.json
TABLES = {"curve": curve, "left": left, "back": back, "order": order}
