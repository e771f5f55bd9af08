"""Separation: a line, and folds of it, on which sequences of tokens stand apart.

A token x stands at p = <g, x> + b >= 1. A fold at t moves all tokens of a sequence by c
times its distance from t, so that sequences that differ there part; what parting means,
a goal says. The same code runs on float64 and on `fractions.Fraction`.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from hmlib import arithmetic
from hmlib.shapes import Cloud, Number, Token

LEAST_GAPS = 2.0**-30, 2.0**-44  # that count on floats, relative to the largest place


@dataclass(frozen=True, eq=False)
class Line:
    """A line p = <g, x> + b, folded some times, and where on it N sequences stand.

    P[i, k] is the place of token k of sequence i, and weights[i, k] its share of the
    sequence (None where sequences are sets). Folds have moved sequence i by shifts[i].
    """

    g: Token
    b: Number
    P: np.ndarray
    weights: np.ndarray | None
    shifts: np.ndarray
    folds: tuple = ()  # (t, c, lift)

    @property
    def exact(self) -> bool:
        return self.P.dtype == object

    @property
    def number(self) -> type:
        return Fraction if self.exact else float

    @property
    def places(self) -> np.ndarray:
        """M, the one number of each sequence that tells it apart in the end."""
        return self.P.max(1) if self.weights is None else (self.weights * self.P).sum(1)

    def distances(self, t: Number) -> np.ndarray:
        """D_t, how far each sequence is from t."""
        away = abs(self.P - t)
        return away.min(1) if self.weights is None else (self.weights * away).sum(1)

    def folded(self, t: Number, c: Number, D: np.ndarray) -> "Line":
        """p + c D_t, lifted so that p >= 1."""
        P, shifts = self.P + (c * D)[:, None], self.shifts + c * D
        lift = 1 - P.min()
        folds = (*self.folds, (t, c, lift))
        return replace(self, P=P + lift, shifts=shifts, folds=folds)

    @property
    def stretch(self) -> Number:
        """How much farther apart two sequences may be on the line than as they came."""
        each = (1 + abs(c) for _, c, _ in self.folds)
        return math.prod(each, start=abs(self.g).sum())


class Verdict(NamedTuple):
    """How well a line tells sequences apart, by the goal of a search."""

    groups: np.ndarray  # of each sequence, by number; those of one group are alike yet
    gap: Number  # the smallest that counts, over the largest place
    pair: list  # two sequences that have to be told apart yet, if there are any


class Merit(NamedTuple):
    """What a line gains; of two, the first difference decides which is better."""

    sound: bool  # nothing falls together, and something parts
    finished: bool  # no pair is left
    groups: int
    gap: Number


Goal = Callable[[Line, float], Verdict]  # of a line, and the least gap that counts


def separate(sequences: list[Cloud], mode: str, goal: Goal) -> Line:
    """A line with at most N - 1 folds, since groups only part, that reaches the goal.

    On floats narrower gaps count, too, where no fold helps any more, and the goal may
    not be reached: what is made of the line has to be checked on the sequences.
    """
    rng, gaps = np.random.default_rng(0), LEAST_GAPS
    if sequences[0].dtype == object:
        gaps = (0,)
    line = _straight(sequences, mode, goal, gaps[0], rng)
    for least in gaps:
        while (now := goal(line, least)).pair and len(line.folds) < len(line.P) - 1:
            merit, folded = _best_fold(line, goal, least, now, rng)
            # On Fractions it has to be sound; on floats, no worse than what is.
            if merit < Merit(line.exact, False, len({*now.groups}), now.gap):
                break
            line = folded
    return line


def _straight(sequences, mode, goal, least, rng):
    """The best of some lines; of Fractions, one that tells all tokens apart."""
    tokens = np.array([*dict.fromkeys(tuple(x) for X in sequences for x in X)])
    index, weights = _shares(sequences, tokens)
    exact, bits = tokens.dtype == object, 2 * len(tokens).bit_length() + 4

    def along(g):
        g = arithmetic.like(g.astype(object), tokens) * power(abs(tokens).max())
        p = tokens @ g
        unit = power(p.max() - p.min())
        g, p = g * unit, p * unit
        P, nothing = (p - p.min() + 1)[index], np.zeros(len(index), tokens.dtype)
        line = Line(g, 1 - p.min(), P, None if mode == "set" else weights, nothing)
        then = goal(line, least)
        return Merit(len(set(p)) == len(p), not then.pair, 1, then.gap), line

    while True:
        draws = rng.integers(-(2**bits), 2**bits, (4 if exact else 16, tokens.shape[1]))
        merit, line = max(map(along, draws), key=itemgetter(0))
        if merit.sound or not exact:
            return line
        bits += 4


def _shares(sequences, tokens):
    """Which tokens each sequence has, (N, n), and their weights in it."""
    names = {tuple(x): k for k, x in enumerate(tokens)}
    counts = [Counter(names[tuple(x)] for x in X) for X in sequences]
    most = max(map(len, counts))  # shorter ones repeat their first token, with weight 0
    index = np.array([[*c] + [*c][:1] * (most - len(c)) for c in counts])
    weights = np.array([[*c.values()] + [0] * (most - len(c)) for c in counts], object)
    weights = arithmetic.like(weights, tokens)
    return index, weights / weights.sum(1, keepdims=True)


def _best_fold(line, goal, least, now, rng):
    """(merit, line) of the best of some folds; of Fractions, of one that is sound."""
    for bits in range(4, 64) if line.exact else (6,):  # of c
        best = max(_folds(line, goal, least, now, rng, bits), key=itemgetter(0))
        if best[0].sound:
            break
    return best


def _folds(line, goal, least, now, rng, bits):
    """At t where only one of the pair has a token near, or at any; by any c."""
    i, j = now.pair
    atoms = np.unique(line.P[now.pair])
    tells = [D[i] != D[j] for D in map(line.distances, atoms)]
    chosen = rng.permutation(atoms[tells])[:6]
    if not line.exact:
        chosen = np.append(chosen, rng.choice(line.P.reshape(-1), 6))
    for t in chosen:
        D = line.distances(t)
        for k in rng.integers(-(2**bits), 2**bits, 3 if line.exact else 8).tolist():
            folded = line.folded(t, line.number(k) / 2**bits, D)
            then = goal(folded, least)
            both, groups = {*zip(then.groups, now.groups, strict=True)}, {*then.groups}
            parts = len(both) == len(groups) > len({*now.groups})
            sound = parts and then.gap >= 0
            yield Merit(sound, not then.pair, len(groups), then.gap), folded


def power(x: Number) -> Number:
    """A power of 2 that takes x > 0 to between 1/2 and 2, in the range of floats."""
    if isinstance(x, Fraction):
        return Fraction(2) ** (x.denominator.bit_length() - x.numerator.bit_length())
    return 2.0 ** min(480, -math.frexp(x)[1])


def heat(line: Line, longest: int) -> float:
    """With softmax at T, places of sequences no longer are off by at most this times T.

    Softmax misses a maximum of scores p q by at most T log(n), of q by T log(n) / p,
    where p > 1/2. Through a block, errors grow by the factor 1 + c.
    """
    h, entropy = 0.0, 2 * math.log(longest)
    for _, c, _ in line.folds:
        h += float(abs(c)) * (entropy + h)
    return h


def cold_enough(slack: float, hot: float) -> float:
    """Up to which T errors of at most hot T stay within the slack; 0 if there is none."""
    return 0.0 if slack <= 0 else slack / hot if hot else math.inf
