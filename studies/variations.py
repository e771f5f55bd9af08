"""The study of chapter 8, beyond the assumptions: which clouds are run, and what goes
to results/variations.json. What is done with each stands in `departures`."""

from itertools import product

import numpy as np

from studies.departures import (
    DIALS,
    feed_forward,
    one_dial,
    restless,
    several_heads,
    softmax_life,
    which_matrix,
)
from studies.graph import Task

SIGNATURES = [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
LOW_RANK = [(3, 0), (2, 0), (1, 0), (0, 2), (1, 1)]
TURNS = (0, 0.25, 0.5, 1, 2, 4, 8)
HEADS, DISAGREEMENTS = (1, 2, 4, 8), (0, 0.25, 0.5, 1)
INVERSES = range(1, 11)
GAMES = [(2, 3, 3), (3, 3, 3), (2, 4, 4), (3, 4, 4), (3, 3, 2)]  # heads, leaders, d
SEEDS = range(5)
DATA = None  # all is drawn


def matrices():
    """(plus, minus), turn."""
    return [*product(SIGNATURES, TURNS), *product(LOW_RANK, [0])]


def _matrix(signature, turn):
    """The name of its task."""
    plus, minus = signature
    return f"matrix +{plus} -{minus} turn {turn}"


def tasks():
    return [*_tasks()]


def _tasks():
    for number, (signature, turn) in enumerate(matrices()):
        given = {"signature": signature, "turn": turn, "seed": 1000 + number}
        yield Task(_matrix(signature, turn), which_matrix, given)
    for d, heads, disagreement in product((2, 4), HEADS, DISAGREEMENTS):
        given = {"heads": heads, "disagreement": disagreement, "d": d, "seed": 2000 + d}
        yield Task(f"heads {heads} {disagreement} d={d}", several_heads, given)
    for heads, lead, d in GAMES:
        given = {"heads": heads, "lead": lead, "d": d, "seed": 2100}
        yield Task(f"restless {heads} {lead} d={d}", restless, given)
    for d, inverse in product((2, 4), INVERSES):
        given = {"inverse": inverse, "d": d, "seed": 3000 + d}
        yield Task(f"softmax 1-{inverse} d={d}", softmax_life, given)
    for seed in SEEDS:
        yield Task(f"feed-forward {seed}", feed_forward, {"seed": seed})
    for dial, definite in product(DIALS, (False, True)):
        given = {"dial": dial, "definite": definite, "seed": 4000}
        yield Task(f"dial {dial}, {'any' if definite else 'I'}", one_dial, given)


def law(rows, draws=1000):
    """log(t T) = a + b / T, least squares over temperatures where every cloud has left;
    b with its bootstrap interval."""
    rows = [row for row in rows if min(row["left"]) > 0]
    x = np.array([row["inverse"] for row in rows], float)
    left = np.array([row["left"] for row in rows], float)  # (temperatures, clouds)
    y, rng = np.log(left * x[:, None]), np.random.default_rng(0)
    # Before that, leaders are left while the others are still on their way.
    late = x >= 6

    def fit(y):
        return np.polyfit(x[late], y[late].mean(1), 1)

    again = [fit(y[:, rng.integers(0, y.shape[1], y.shape[1])]) for _ in range(draws)]
    b, a = fit(y)
    ends = np.quantile([b for b, _ in again], [0.025, 0.975])
    return {"a": a, "b": [b, *ends], "inverses": x[late].tolist()}


def _softmax(facts, d):
    rows = [facts[f"softmax 1-{x} d={d}"] for x in INVERSES]
    return {"rows": rows, "law": law(rows)}


TABLES = {  # of results/variations.json
    "matrices": lambda facts: [
        {"plus": p, "minus": m, "turn": turn} | facts[_matrix((p, m), turn)]
        for (p, m), turn in matrices()
    ],
    "heads": lambda facts: [
        {"d": d, "heads": h, "disagreement": x} | facts[f"heads {h} {x} d={d}"]
        for d, h, x in product((2, 4), HEADS, DISAGREEMENTS)
    ],
    "restless": lambda facts: [facts[f"restless {h} {n} d={d}"] for h, n, d in GAMES],
    "softmax": lambda facts: {str(d): _softmax(facts, d) for d in (2, 4)},
    "feed_forward": lambda facts: [facts[f"feed-forward {seed}"] for seed in SEEDS],
    "dials": lambda facts: {
        dial: {kind: facts[f"dial {dial}, {kind}"] for kind in ("I", "any")}
        for dial in DIALS
    },
}
