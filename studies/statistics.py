"""The study of chapter 9: how many lead, how soon all is settled, and how much of it a
few layers have, for random clouds by the hundred thousand and for real reviews.

Every function of the first part is a task; clouds come from seeds that belong to the
task.
"""

from functools import cache

import numpy as np
import torch
from safetensors.numpy import load_file

from hmlib import limit
from hmlib.counting import LAWS, by_layer, expected, vertices
from studies.data import SHA256, load_published
from studies.graph import Task
from studies.laws import families, fits, settling, spread
from studies.provenance import ROOT
from studies.texts import encoded


def _rng(seed, law, n, d):
    return np.random.default_rng([seed, [*LAWS].index(law), n, d])


# Random clouds


def clouds(law, n, d, many, alphas=(1.0,), seed=0):
    """`many` clouds of one law, the same for each alpha: how many lead, when all is
    settled, how large the basins are."""
    rng, hulls, shares = _rng(seed, law, n, d), [], []
    rows = {alpha: [] for alpha in alphas}
    for _ in range(many):
        Z = LAWS[law](rng, n, d)
        hull = vertices(Z)
        hulls.append(-1 if hull is None else len(hull))
        for alpha in alphas:
            end = limit(Z, alpha)
            at_once = end.leaders[end.born == 0]
            basins = np.bincount(end.follows[end.follows >= 0], minlength=n)
            basins = np.sort(basins[end.leaders])[::-1]
            no_vertex = 0 if hull is None else len(np.setdiff1d(at_once, hull))
            settled = end.settled_at if end.certified else -1
            counts = len(end.leaders), len(at_once), settled, basins[0], no_vertex
            rows[alpha].append(counts)
            if alpha == alphas[0]:
                shares.append(basins / n)
    hulls = np.array(hulls)
    facts = {
        "clouds": many,
        "alpha": [
            {"alpha": alpha} | _counted(np.array(counts), hulls, n)
            for alpha, counts in rows.items()
        ],
        "hull": spread(hulls) if hulls[0] >= 0 else None,
    }
    return facts, {"shares": torch.tensor(np.concatenate(shares), dtype=torch.float32)}


def _counted(counts, hulls, n):
    lead, at_once, settled, biggest, no_vertex = counts.T
    quantiles = np.quantile(settled, [0.05, 0.5, 0.95]).tolist()
    return {
        "leaders": spread(lead),
        "at_once": spread(at_once),
        "settled": spread(settled[settled >= 0]) | {"quantiles": quantiles},
        "biggest": spread(biggest / n),
        "certified": int((settled >= 0).sum()),
        "with_emerging": int((lead > at_once).sum()),
        "emerging": int((lead - at_once).sum()),
        "all_lead": int((lead == n).sum()),
        "more_than_hull": int((lead > hulls).sum()) if hulls[0] >= 0 else None,
        "at_once_no_vertex": int(no_vertex.sum()),
    }


def basins(seed=0, **kinds):
    """The sizes of basins, divided by their mean over all clouds, against families of
    laws: of each kind of clouds, the results of its task."""
    facts = {}
    for name, (task, arrays) in kinds.items():
        mean = 1 / task["alpha"][0]["leaders"]["mean"]
        facts[name] = families(arrays["shares"].double().numpy() / mean, seed)
    return facts, {}


# Finite depth

COLUMNS = ("settled", "all_settled", "found", "distance", "away")  # of `by_layer`


def depth(law, n, d, alpha, many, seed=1, layers=12):
    """`by_layer`, over random clouds."""
    rng = _rng(seed, law, n, d)
    return averages(
        [by_layer(LAWS[law](rng, n, d), alpha, layers) for _ in range(many)]
    ), {}


def depth_of_reviews(which, many=5000, seed=0, layers=12):
    """`by_layer`, over test reviews: with the published weights, or with those of
    chapter 4's live figure."""
    ours = which != "published"
    texts, weights = encoded("128" if ours else "paper"), load_published()
    if ours:
        weights = load_file(ROOT / "results" / "sentiment_model.safetensors")
    table, alpha = np.asarray(weights["embedding"], float), float(weights["alpha"])
    chosen = np.random.default_rng(seed).choice(texts.test.numpy(), many, replace=False)
    rows, words = [], []
    for ids in texts.ids[torch.tensor(chosen)].numpy():
        ids = np.unique(ids)
        # Padding is a token of the published model, and no token of ours.
        Z = np.unique(table[ids[ids > 0] if ours else ids], axis=0)
        words.append(len(Z))
        rows.append(by_layer(Z, alpha, layers))
    return averages(rows) | {"alpha": alpha, "words": spread(words)}, {}


def averages(rows):
    """Mean and deviation over clouds, layer by layer."""
    mean, deviation = np.mean(rows, 0).T, np.std(rows, 0, ddof=1).T
    facts = {
        name: {"mean": mean[i].tolist(), "deviation": deviation[i].tolist()}
        for i, name in enumerate(COLUMNS)
    }
    return facts | {"clouds": len(rows)}


# The graph

DATA = {name: SHA256[name] for name in ("kaggle", "published")}
SIZES = {  # n, and how many clouds
    10: 10_000,
    30: 10_000,
    100: 10_000,
    300: 4000,
    1000: 2000,
    3000: 1000,
    10_000: 600,
    30_000: 300,
    100_000: 200,
}
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
MANY = {10: 1000, 30: 1000, 100: 1000, 300: 300, 1000: 100}
LARGE = [(3, 10_000, 100), (3, 100_000, 20), (4, 10_000, 50), (8, 10_000, 5)]
ALPHAS = (1.0, 0.05, 0.1, 0.2, 0.5, 2.0, 5.0, 10.0, 30.0)
BASINS = [("Gaussian", 100), ("Gaussian", 1000), ("Gaussian", 10_000)]
BASINS += [("ball", 1000), ("Cauchy", 1000)]
DEPTHS = [  # n, d, clouds
    (30, 2, 200),
    (100, 2, 200),
    (1000, 2, 100),
    (10_000, 2, 20),
    (30, 8, 200),
    (100, 8, 100),
]


def kinds():
    """(law, d, n, clouds, alphas): what is asked for first, with more alphas,
    counts."""
    for d in (2, 3, 8):
        for n, many in {30: 1000, 100: 1000, 1000: 200}.items():
            yield "Gaussian", d, n, SIZES[n] if d == 2 else many, ALPHAS
    for law in LAWS:
        yield law, 2, 100, SIZES[100], ALPHAS
        for n, many in SIZES.items():
            yield law, 2, n, many, (1.0,)
        for d in (1, 3, 8, 64):
            for n in (10, 100, 1000):
                yield law, d, n, MANY[n], (1.0,)
    for d in DIMENSIONS:
        for n, many in MANY.items():
            yield "Gaussian", d, n, many, (1.0,)
    for d, n, many in LARGE:
        yield "Gaussian", d, n, many, (1.0,)


def tasks():
    out = {}
    for law, d, n, many, alphas in kinds():
        given = {"law": law, "n": n, "d": d, "many": many, "alphas": list(alphas)}
        name = f"clouds {law} d={d} n={n}"
        out.setdefault(name, Task(name, clouds, given))
    needs = {f"{law}, n = {n}": f"clouds {law} d=2 n={n}" for law, n in BASINS}
    out["basins"] = Task("basins", basins, needs=needs)
    for n, d, many in DEPTHS:
        for alpha in (0.2, 1.0, 4.0):
            given = {"law": "Gaussian", "n": n, "d": d, "alpha": alpha, "many": many}
            name = f"depth d={d} n={n} alpha={alpha}"
            out[name] = Task(name, depth, given)
    for which in ("published", "ours"):
        name = f"reviews {which}"
        out[name] = Task(name, depth_of_reviews, {"which": which})
    return [*out.values()]


def rows(facts, kind, *settings):
    """The tasks of one kind, with these of their settings."""
    return [
        {name: task.given[name] for name in settings} | facts[task.name]
        for task in tasks()
        if task.name.startswith(f"{kind} ")
    ]


_expected = cache(expected)  # several tables ask the same


def counts(facts):
    """Of all clouds, with what is expected; the file is to be small."""
    out = rows(facts, "clouds", "law", "n", "d")
    for row in out:
        row["expected"] = _expected(row["law"], row["n"], row["d"])
        row["alpha"] = [
            x | {what: _short(x[what]) for what in ("at_once", "biggest")}
            for x in row["alpha"]
        ]
    return out


def _short(spread):
    return {name: spread[name] for name in ("mean", "deviation")}


TABLES = {  # of results/statistics.json
    "total": lambda facts: sum(row["clouds"] for row in rows(facts, "clouds")),
    "runs": lambda facts: sum(
        r["clouds"] * len(r["alpha"]) for r in rows(facts, "clouds")
    ),
    "clouds": counts,
    "laws": lambda facts: fits(counts(facts)),
    "settlement": lambda facts: settling(counts(facts)),
    "basins": lambda facts: facts["basins"],
    "depth": lambda facts: rows(facts, "depth", "law", "n", "d", "alpha"),
    "reviews": lambda facts: {
        which: facts[f"reviews {which}"] for which in ("published", "ours")
    },
}
