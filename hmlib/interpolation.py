"""Exact interpolation: weights, written down, that take given sets of tokens to others.

Sequences are separated as in `exact`. Then tokens that stand alone, the leaders, go to
a circle so wide that all others follow them, and from there to their targets. A strip
of the line goes to one point, so softmax, which comes near it, arrives there, too.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hmlib.exact import ExactTransformer, Script, different, read_sequences
from hmlib.inputs import refuse
from hmlib.separation import Verdict, cold_enough, heat, power, separate
from hmlib.shapes import Cloud, Number


class Alone(NamedTuple):
    """A token, and how far the next one is that is not in its place."""

    gap: Number
    place: Number


def interpolate_exactly(inputs: list[Cloud], outputs: list[Cloud]) -> ExactTransformer:
    """A transformer that takes each of N sets of tokens to its output.

    It has at most 2 M + N blocks for M tokens in all outputs.

    >>> a, b, c = [0.0, 1.0], [1.0, 0.5], [2.0, 0.0]
    >>> machine = interpolate_exactly([[a, b], [a, b, c]], [[[5, 5]], [[0, 0], [1, 3]]])
    >>> np.unique(machine.transform([c, a, b]).round(6) + 0.0, axis=0).tolist()
    [[0.0, 0.0], [1.0, 3.0]]

    inputs   N arrays (n, d), d >= 2, of floats or Fractions
    outputs  N arrays (m, d), each with at most as many tokens as its input; equal
             tokens count once, in both
    `.error` is how far a coordinate of what was given is off at most, 0 for Fractions.
    `.temperature`: with softmax up to there, it is no more.
    """
    X, Y = read_sequences(input=inputs, output=outputs)
    if len(X) != len(Y):
        refuse(f"there are {len(X)} inputs and {len(Y)} outputs", "as many of both")
    sets = [frozenset(map(tuple, y)) for y in Y]
    for i, (x, y) in enumerate(zip(X, sets, strict=True)):
        if (distinct := len(set(map(tuple, x)))) < len(y):
            refuse(
                f"input {i} has {distinct} distinct tokens and output {i} has {len(y)}",
                "at most as many in the output, as a token cannot become two",
            )
    kept = different(X, sets, "set", "input", "output")
    targets = [np.array([*dict.fromkeys(map(tuple, Y[i]))]) for i in kept]
    counts = [len(y) for y in targets]
    line = separate([X[i] for i in kept], "set", _leaders_alone(counts))
    leaders = zip(_alone(line.P), counts, strict=True)
    places = [token.place for tokens, n in leaders for token in tokens[:n]]
    radius = 8 / power(max([line.P.max(), *(abs(y).max() for y in targets)]))
    script = Script(line)
    off = script.rounding([X[i] for i in kept], line)
    script.add("reset", [(1, 0, script.plane[0])])
    points, slack = _to_the_circle(script, line.P, places, radius)
    room = _to_the_targets(script, points[:, 0], np.concatenate(targets), radius)
    warm = _temperature(line, float(slack) - off, room, max(map(len, X)))
    machine = ExactTransformer(script.blocks, temperature=warm)
    return replace(machine, error=_largest_error(machine, X, Y))


def _alone(P):
    """For each sequence its tokens, the loneliest first."""
    stands = sorted({(place, i) for i, row in enumerate(P) for place in row})
    gaps = [P.max(), *(b - a for (a, _), (b, _) in pairwise(stands)), P.max()]
    alone = [[] for _ in P]
    for (place, i), (left, right) in zip(stands, pairwise(gaps), strict=True):
        alone[i].append(Alone(min(left, right), place))
    return [sorted(tokens, reverse=True) for tokens in alone]


def _leaders_alone(counts):
    """The goal: so many tokens of each are alone. Sequences moved alike are a group.

    A direction may put two tokens in one place: then they are too few, and the gap 0.
    """

    def judge(line, least):
        P = line.P
        last = [  # of the leaders of each sequence
            row[n - 1] if n <= len(row) else Alone(0, row[0].place)
            for row, n in zip(_alone(P), counts, strict=True)
        ]
        i = min(range(len(P)), key=lambda i: last[i].gap)
        groups = np.unique(line.shifts, return_inverse=True)[1]
        if last[i].gap > 64 * least * P.max() or len(P) == 1:
            return Verdict(groups, last[i].gap / P.max(), [])
        away = line.distances(last[i].place)
        j = min((j for j in range(len(P)) if j != i), key=away.item)
        taken = {(place, g) for row, g in zip(P, groups, strict=True) for place in row}
        clash = line.exact and len(taken) > len({place for place, _ in taken})
        return Verdict(groups, -1 if clash else last[i].gap / P.max(), [i, j])

    return judge


def _to_the_circle(script, P, places, radius):
    """Select leaders, each to its own point, farther out than all that stays behind.

    There they stay, and everybody else goes to one of them; then all drop to the line.
    Returns the points, and how far places may be off.
    """
    taken, points, slack, axis = set(P.flat), [], script.number(1) / 2, script.plane[0]
    for k, place in enumerate(places, 1):
        u = script.number(7) * (len(places) + k) / (20 * len(places))
        x, y = radius * (1 - u * u) / (1 + u * u), 2 * radius * u / (1 + u * u)
        points.append(script.array([x, y]) @ script.plane)
        taken.remove(place)
        gap = min([abs(other - place) for other in taken] + [place])
        _squash(script, "select", place, gap, points[-1])
        slack = min(slack, gap / 4)
        taken.add(x)
    Q, V = script.plane, np.outer(axis, axis)
    last = script.blocks.pop()._replace(Q=Q, K=Q, V=V, rho=script.number(0))
    script.blocks.append(last)
    return np.array(points), slack


def _to_the_targets(script, places, targets, radius):
    """Move leaders to targets, which are nearer to 0 than all of them."""
    gaps = []
    for k, (place, target) in enumerate(zip(places, targets, strict=True)):
        apart = abs(np.delete(places, k) - place)
        gaps.append(min([*apart, place - radius / 4]))
        _squash(script, "move", place, gaps[-1], target)
    return min(gaps) / 4


def _squash(script, stage, place, gap, point):
    """Take what is within gap / 4 of a place on the line to one point.

    What is as near to other places stays. The slope is -1 inside of the strip.
    """
    axis, move = script.plane[0] * gap / 4, point - place * script.plane[0]
    bends = {-3: move + axis, -1: -move - 3 * axis, 1: 3 * axis - move, 3: move - axis}
    edges = [(place + k * gap / 4, what) for k, what in bends.items()]
    script.add(stage, [(2 / gap, -2 * edge / gap, what) for edge, what in edges], eta=1)


def _temperature(line, slack, room, longest):
    """With softmax up to there, all arrive in their strips.

    Places are off by less than the slack, so leaders are on the circle. Of scores
    <x, y> softmax misses the maximum by at most T log(n). So a leader misses its place
    by at most the root of 2 T log(n), and the others by 2 T log(n), as p > 1/2.
    """
    entropy, room = 2 * math.log(longest), float(min(room, 2**500))
    rules = (slack, heat(line, longest)), (min(room, room**2), entropy)
    return min(cold_enough(*rule) for rule in rules)


def _largest_error(machine, X, Y):
    """The largest error of a coordinate; refused where tokens were led astray."""
    worst, exact = 0, X[0].dtype == object
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        away = abs(machine.transform(x)[:, None] - y).max(-1)
        error = max(away.min(1).max(), away.min(0).max())
        if not error <= (0 if exact else 1e-6 * max(1, abs(y).max())):
            near = [abs(other[:, None] - x).max(-1).min(1).max() for other in X]
            rest = [j for j in range(len(X)) if j != i]
            j = min(rest, key=near.__getitem__, default=i)
            refuse(
                f"input {i} misses its output by {float(error):.1g}, in float64: "
                f"inputs {i} and {j} are too near, or there are too many",
                "Fractions, which are exact, or inputs farther apart",
            )
        worst = max(worst, error)
    return worst
