"""Exact classification: weights, written down, that label given sequences exactly.

A block is a feed-forward layer, then self-attention. All but the first live in a plane:
p = <g, x> is where a token stands on a line, q = what the block wants to say. Which
sequence a token belongs to is told by one number, and labels are read off it. The same
code runs on float64 and on `fractions.Fraction`.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hmlib import arithmetic, inputs
from hmlib.separation import Line, Verdict, cold_enough, heat, separate
from hmlib.shapes import Cloud, Mask, Matrix, Number, Tokens

SCORES = 2**22  # held in memory at a time


class Block(NamedTuple):
    """FF(x) = eta x + W relu(U x + b), SA(x_i) = rho x_i + V mean{ x_l : l in C_i }.

    C_i = argmax_l <Q x_i, K x_l> holds all maximisers.
    """

    stage: str
    U: Matrix
    W: Matrix
    b: np.ndarray
    eta: Number
    Q: Matrix
    K: Matrix
    V: Matrix
    rho: Number

    def feed_forward(self, X):
        return self.eta * X + np.maximum(X @ self.U.T + self.b, 0) @ self.W.T

    def attend(self, X, mask=None, temperature=0):
        """Hardmax; or softmax of the scores over a temperature > 0."""
        if not self.V.any():
            return self.rho * X
        batch = X.reshape(-1, *X.shape[-2:])
        if temperature or len(self.Q) > 1:  # scores of every pair
            n = X.shape[-2]
            inputs.room((4, n, n), 8, "attention", "Give it fewer tokens.")
        real = np.ones(X.shape[:-1], bool) if mask is None else mask
        real = real.reshape(len(batch), 1, -1)
        size = max(1, SCORES // batch.shape[1] ** 2)
        parts = [slice(i, i + size) for i in range(0, len(batch), size)]
        means = [self._means(batch[k], real[k], temperature) for k in parts]
        return self.rho * X + np.concatenate(means).reshape(X.shape)

    def _means(self, X, real, temperature):
        query, key, value = X @ self.Q.T, (X @ self.K.T).swapaxes(-1, -2), X @ self.V.T
        if temperature:
            scores = np.where(real, query @ key, -np.inf)
            with np.errstate(over="ignore"):  # a gap over a tiny one: a weight of 0
                scores = (scores - scores.max(-1, keepdims=True)) / temperature
            weights = np.exp(scores)
            return weights @ value / weights.sum(-1, keepdims=True)
        if len(self.Q) > 1:
            return _mean_of_maximisers(query @ key, real, value)
        # Of rank one, only the sign of the query matters: three means, whatever the
        # length, and ties to the last bit.
        sign = (query > 0).astype(int) - (query < 0)
        scores = np.array([[0], [1], [-1]]) * key
        three = _mean_of_maximisers(scores, real, value)
        return np.take_along_axis(three, sign % 3, axis=1)

    def floats(self):
        return Block(self.stage, *(np.asarray(w, float)[()] for w in self[1:]))


def _mean_of_maximisers(scores, real, value):
    top = np.where(real, scores, scores.min() - 1).max(-1, keepdims=True)
    sets = (real & (scores == top)).astype(value.dtype)
    return sets @ value / sets.sum(-1, keepdims=True)


@dataclass(frozen=True, eq=False, repr=False)
class ExactTransformer:
    """A transformer written down by `classify_exactly` or `interpolate_exactly`.

    classes      the labels, if it has some: the last block says which, by its number
    margin       sequences this near to one that was given get its label
    temperature  with softmax up to there, all given sequences still get what is theirs;
                 0 if float64, in which softmax is computed, cannot tell them apart
    error        the largest on what was given: of a class number, or of a coordinate
    """

    blocks: list[Block]
    classes: list | None = None
    margin: Number | None = None
    temperature: float | None = None
    error: Number = 0.0

    def states(
        self, X: Tokens, mask: Mask | None = None, temperature: float = 0
    ) -> Iterator[tuple[str, str, Tokens]]:
        """(stage, layer, tokens): as they come in, and after each half of a block."""
        X, d = inputs.cloud(X, "X"), self.blocks[0].U.shape[1]
        mask = inputs.real_tokens(mask, X)
        expected = f"tokens of {d} coordinates, (..., n, {d})"
        inputs.check(X.shape[-1] == d, "X", X, expected)
        temperature = inputs.number(temperature, "temperature", ">= 0")
        blocks = [B.floats() for B in self.blocks] if temperature else self.blocks
        X = arithmetic.like(X, blocks[0].U, "X")
        return _states(blocks, X, mask, temperature)  # what is bad is refused at once

    def transform(
        self, X: Tokens, mask: Mask | None = None, temperature: float = 0
    ) -> Tokens:
        """The tokens after the last block: of a sequence (n, d), or of a batch."""
        with np.errstate(over="ignore", invalid="ignore"):
            *_, (_, _, tokens) = self.states(X, mask, temperature)
        return inputs.in_range(tokens, "X, on its way through the blocks,")

    def predict(self, X: Tokens, mask: Mask | None = None, temperature: float = 0):
        """The label of a sequence, or the labels of a batch as a list.

        It is that of the class whose number is nearest to the mean of q.
        """
        if self.classes is None:
            given = "this transformer has no labels, it maps sequences"
            inputs.refuse(given, "a call of transform")
        scores = np.asarray(self.scores(X, mask, temperature), float)
        nearest = np.floor(scores + 0.5).astype(int).clip(0, len(self.classes) - 1)
        labels = [self.classes[k] for k in nearest.reshape(-1)]
        return labels if nearest.ndim else labels[0]

    def scores(
        self, X: Tokens, mask: Mask | None = None, temperature: float = 0
    ) -> np.ndarray:
        """The mean of q over the tokens: on what was given, the number of its class."""
        q = self.transform(X, mask, temperature)[..., 1]
        real = np.ones(q.shape, int) if mask is None else np.asarray(mask).astype(int)
        return (q * real).sum(-1) / real.sum(-1)

    @property
    def n_parameters(self) -> int:
        """As a trained model would count: V by its two factors of size d x rank."""
        every = sum(np.size(w) for B in self.blocks for w in B[1:])
        factors = [2 * len(B.V) * int(B.V.any(axis=1).sum()) for B in self.blocks]
        return every - sum(B.V.size for B in self.blocks) + sum(factors)

    @property
    def n_nonzero(self) -> int:
        return sum(int(np.count_nonzero(w)) for B in self.blocks for w in B[1:])

    def stages(self) -> dict[str, int]:
        """{stage: how many blocks}, in order."""
        return dict(Counter(B.stage for B in self.blocks))

    def __repr__(self):
        what = f"{len(self.blocks)} blocks: {self.stages()}, {self.n_nonzero} nonzero"
        return f"ExactTransformer({what} parameters)"


def _states(blocks, X, mask, temperature):
    yield "input", "input", X
    for block in blocks:
        X = block.feed_forward(X)
        yield block.stage, "feed-forward", X
        X = block.attend(X, mask, temperature)
        yield block.stage, "attention", X


def classify_exactly(
    sequences: list[Cloud], labels: list, mode: str = "set"
) -> ExactTransformer:
    """A transformer, of at most 2 N - 1 blocks, that gives N sequences their labels.

    >>> a, b, c = [0.0, 1.0], [1.0, 0.5], [2.0, 0.0]
    >>> machine = classify_exactly([[a, b], [a, b, c], [c, a]], ["two", "three", "two"])
    >>> machine.predict([b, c, a]), machine.predict([a, a, a, c])
    ('three', 'two')
    >>> len(machine.blocks) <= 5
    True

    sequences  N arrays (n, d) of any lengths, d >= 2; Fractions for exact numbers
    labels     N of anything that can be compared and hashed
    mode       "set": sequences are told apart by which tokens they have
               "measure": also by how often, in proportion; attention is then the plain
               mean, with softmax too
    Equal sequences with equal labels are one. What cannot be told apart raises a
    ValueError that names two sequences.
    `.margin`: a sequence this near to one of those given gets its label. Distances of
    tokens are in the max-norm, of sequences Hausdorff's (set) or Wasserstein's W_1
    (measure); so each token may move that far.
    `.temperature`: with softmax up to there, the given sequences still get their labels
    (and any as long near them).
    """
    inputs.choice(mode, "mode", ("set", "measure"))
    (sequences,) = read_sequences(sequence=sequences)
    classes, numbers = _classes(labels, len(sequences))
    kept = different(sequences, numbers, mode)
    y = numbers[kept]
    line = separate([sequences[i] for i in kept], mode, _labels_apart(y))

    # All go to their place M and say the first label; each change of label has a ramp.
    script, M, order = Script(line), line.places, np.argsort(line.places, kind="stable")
    p, q = script.plane
    off = script.rounding([sequences[i] for i in kept], line)
    neurons = (1, 0, p), (0, 1, int(y[order[0]]) * q)
    script.add("collapse", neurons, key=p, V=np.eye(2), rho=0)
    changes = [(i, j) for i, j in pairwise(order) if y[i] != y[j]]
    for i, j in changes:
        if not M[j] - M[i] > (0 if line.exact else 8 * arithmetic.EPS * M[j]):
            _too_fine(kept[i], kept[j])
        low, high = (2 * M[i] + M[j]) / 3, (M[i] + 2 * M[j]) / 3
        slope, what = 1 / (high - low), int(y[j] - y[i]) * q
        ramp = (slope, -slope * low, what), (slope, -slope * high, -what)
        script.add("label", ramp, eta=1)

    # Labels stay while no place is off by more than a third of a gap, and p > 1/2.
    thirds = [(M[j] - M[i]) / 3 for i, j in changes]
    slack = min([*thirds, line.number(1) / 2]) if changes else math.inf
    longest = max(map(len, sequences)) if mode == "set" else 1  # the mean is the mean
    hot = heat(line, longest) + 2 * math.log(longest)  # the collapse is a block, too
    warm = cold_enough(float(slack) - off, hot)
    machine = ExactTransformer(script.blocks, classes, slack / line.stretch, warm)
    return replace(machine, error=_largest_error(machine, sequences, numbers))


def _classes(labels, N):
    """The different labels, and for each label the number of its class."""
    text = isinstance(labels, str)
    labels = labels if text else inputs.sequence(labels, "labels", "labels")
    if len(labels) != N:
        given = f"there are {N} sequences and {len(labels)} labels"
        inputs.refuse(given, "as many of both")
    expected = "numbers, strings or tuples"
    try:  # those of NumPy and of torch have a plain number inside
        labels = [x.tolist() if hasattr(x, "tolist") else x for x in labels]
        classes = list(dict.fromkeys(labels))
    except Exception:
        inputs.refuse("labels cannot be hashed", expected)
    if any(isinstance(label, float) and math.isnan(label) for label in classes):
        inputs.refuse("labels has NaN, which equals nothing", expected)
    return classes, np.array([classes.index(label) for label in labels])


def _labels_apart(y):
    """The goal: no two sequences of different labels y have the same place."""

    def judge(line, least):
        M = line.places
        order = np.argsort(M, kind="stable")
        gaps, change = np.diff(M[order]), np.diff(y[order]) != 0
        apart = gaps > least * line.P.max()
        groups = np.zeros(len(M), int)
        groups[order[1:]] = np.cumsum(apart)
        mixed = np.flatnonzero(change & ~apart)[:1]  # two labels in one group
        gap = min(gaps[change & apart], default=0) / line.P.max()
        return Verdict(groups, gap, [*order[mixed], *order[mixed + 1]])

    return judge


def _largest_error(machine, sequences, numbers):
    """The largest error of a class number; refused where it may confuse labels."""
    if exact := sequences[0].dtype == object:  # where padding would cost
        read = np.array([machine.scores(X) for X in sequences])
    else:
        read = machine.scores(*padded(sequences))
    off = abs(read - numbers)
    if not off.max() <= (0 if exact else 0.25):
        i = int(np.argmax(~(off <= 0.25)))
        others = np.flatnonzero(numbers != numbers[i])
        _too_fine(i, min(others, key=lambda j: abs(read[j] - read[i])))
    return off.max()


def padded(sequences: list[Cloud]) -> tuple[Tokens, Mask]:
    """Sequences of any lengths as one batch (N, n, d), and the mask of its tokens."""
    lengths = np.array([len(X) for X in sequences])
    mask = np.arange(lengths.max()) < lengths[:, None]
    stacked = np.concatenate(sequences)
    tokens = np.zeros((*mask.shape, stacked.shape[1]), stacked.dtype)
    tokens[mask] = stacked
    return tokens, mask


class Script:
    """Blocks, written one after another: those of a line's folds, and what follows.

    The first reads p = <g, x> + b; from there on tokens are p and q, in the plane.
    """

    def __init__(self, line: Line):
        self.blocks, self.read, self.number = [], (line.g, line.b), line.number
        self.sets = line.weights is None
        self.plane = p, q = arithmetic.like(np.eye(2, len(line.g)), line.P)
        for t, c, lift in line.folds:
            neurons = (1, 0, p), (1, -t, -q), (-1, t, -q)
            self.add("separate", neurons, key=q, V=[[0, -c], [0, 0]])
            self.read = p, lift

    def array(self, X) -> np.ndarray:
        return arithmetic.like(np.array(X, object), self.plane)

    def rounding(self, sequences: list[Cloud], line: Line) -> float:
        """Four times as far as exact places are off if the blocks run on floats."""
        if not line.exact:  # places are what floats make of them
            return 0.0
        worst, floats = 0.0, [block.floats() for block in self.blocks]
        try:
            g, b = self.read[0].astype(float), float(self.read[1])
            for X, places in zip(sequences, line.P.astype(float), strict=True):
                X = np.array([*dict.fromkeys(map(tuple, X))], float)
                *_, (_, _, X) = _states(floats, X, None, 0)
                worst = max(worst, abs(X @ g + b - places[: len(X)]).max())
        except OverflowError:
            return math.inf
        return 4 * float(worst + arithmetic.EPS * line.P.max())

    def add(self, stage, neurons, eta=0, key=None, V=((0, 0), (0, 0)), rho=1) -> None:
        """A block of neurons (slope, bias, what) that say `what` relu(slope p + bias).

        The query is p, if there is a key and sequences are sets; V is of the plane.
        """
        (g, b), self.read = self.read, (self.plane[0], 0)
        slopes, biases, whats = map(self.array, zip(*neurons, strict=True))
        Q = K = self.plane[:1] * 0
        if key is not None and self.sets:
            Q, K = self.plane[:1], key[None]
        V = self.plane.T @ self.array(V) @ self.plane
        eta, rho = self.array([eta, rho])
        layer = np.outer(slopes, g), whats.T, slopes * b + biases, eta
        self.blocks.append(Block(stage, *layer, Q, K, V, rho))


# What is given


def read_sequences(**given: list) -> list[list[Cloud]]:
    """For each name its sequences, arrays (n, d) of one arithmetic and one d >= 2."""
    clouds, start = {}, next(iter(given))
    for name, sequences in given.items():
        for i, X in enumerate(inputs.sequence(sequences, f"{name}s", "arrays (n, d)")):
            clouds[name, i] = inputs.cloud(X, f"{name} {i}")
        if (name, 0) not in clouds:
            inputs.refuse(f"there are no {name}s", "at least one")
    d, kind = clouds[start, 0].shape[-1], np.empty(0, np.result_type(*clouds.values()))
    expected = f"tokens as rows, (n, d), with one d >= 2 for all; {start} 0 has d = {d}"
    expected += ". Add a coordinate 0 to tokens that have one"
    read = {name: [] for name in given}
    for (name, i), X in clouds.items():
        right = X.ndim == 2 and X.shape[1] == max(d, 2)
        inputs.check(right, f"{name} {i}", X, expected)
        read[name].append(arithmetic.like(X, kind))
    return [*read.values()]


def different(
    sequences: list[Cloud], answers: list, mode: str, name="sequence", answer="label"
) -> list[int]:
    """The first of equal sequences each; refused where equal ones differ in answers."""
    first, same, hint = {}, "the same set of tokens", ""
    if mode == "measure":
        same = "the same tokens in the same proportions"
    elif answer == "label":
        hint = ', or mode "measure", which counts tokens that repeat'
    for i, X in enumerate(sequences):
        counts = Counter(map(tuple, X))
        whole = math.gcd(*counts.values())
        shares = ((x, k // whole) for x, k in counts.items())
        j = first.setdefault(frozenset(counts if mode == "set" else shares), i)
        if answers[j] != answers[i]:
            inputs.refuse(
                f"{name}s {j} and {i} have different {answer}s but hold {same}",
                f"one {answer} for both, or positions added to the tokens{hint}",
            )
    return list(first.values())


def _too_fine(i, j):
    inputs.refuse(
        f"float64 cannot tell sequences {i} and {j} apart after the blocks",
        "Fractions, which are exact, or tokens that differ by more than its rounding",
    )
