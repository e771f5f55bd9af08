"""Exact classification: the weights of a hardmax transformer that labels given sequences without an error, written down.

A block is a feed-forward layer, then self-attention. All but the first live in a plane: p = <g, x> is where a token stands
on a line, q = what the block wants to say. Which sequence a token belongs to is told by one number, and labels are read
off it. The same code runs on float64 and on `fractions.Fraction`.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hmlib import arithmetic, inputs

SCORES = 2**22  # held in memory at a time


@dataclass(frozen=True, eq=False)
class Block:
    """FF(x) = eta x + W relu(U x + b), then SA(x_i) = rho x_i + V mean{ x_l : l in C_i }, C_i = argmax_l <Q x_i, K x_l>."""

    stage: str
    U: np.ndarray
    W: np.ndarray
    b: np.ndarray
    eta: float
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    rho: float

    def feed_forward(self, X):
        return self.eta * X + np.maximum(X @ self.U.T + self.b, 0) @ self.W.T

    def attend(self, X, mask=None, temperature=0):
        """Self-attention of a batch (..., n, d): hardmax, or softmax of the scores over a temperature > 0."""
        if not self.V.any():
            return self.rho * X
        batch = X.reshape(-1, *X.shape[-2:])
        real = (
            np.ones(batch.shape[:2], bool)
            if mask is None
            else mask.reshape(batch.shape[:2])
        )
        some = max(1, SCORES // batch.shape[1] ** 2)
        means = [
            self._means(batch[i : i + some], real[i : i + some, None], temperature)
            for i in range(0, len(batch), some)
        ]
        return self.rho * X + np.concatenate(means).reshape(X.shape)

    def _means(self, X, real, temperature):
        query, key, value = X @ self.Q.T, (X @ self.K.T).swapaxes(-1, -2), X @ self.V.T
        if temperature:
            scores = np.where(real, query @ key, -np.inf)
            with np.errstate(
                over="ignore"
            ):  # a gap over a tiny temperature: a weight of 0
                weights = np.exp((scores - scores.max(-1, keepdims=True)) / temperature)
            return weights @ value / weights.sum(-1, keepdims=True)
        if len(self.Q) > 1:
            return _mean(query @ key, real, value)
        # Of rank one, only the sign of the query matters: three means, whatever the length, and ties to the last bit.
        which = (query > 0).astype(int) - (query < 0)
        three = _mean(np.array([[0], [1], [-1]]) * key, real, value)
        return np.take_along_axis(three, which % 3, axis=1)

    @property
    def arrays(self):
        return (
            self.U,
            self.W,
            self.b,
            np.array([self.eta]),
            self.Q,
            self.K,
            self.V,
            np.array([self.rho]),
        )


def _mean(scores, real, value):
    top = np.where(real, scores, scores.min() - 1).max(-1, keepdims=True)
    sets = real & (scores == top)
    count = sets.sum(-1, keepdims=True)
    if value.dtype == object:
        sets, count = sets.astype(object), count.astype(object)
    return sets @ value / count


@dataclass(frozen=True, eq=False, repr=False)
class ExactTransformer:
    """A transformer written down, not trained. `classify_exactly` and `interpolate_exactly` make them."""

    blocks: list
    classes: list | None  # the labels: the last block says which, by its number
    margin: (
        float | None
    )  # sequences this near to one that was given get its label (max-norm; see classify_exactly)
    temperature: (
        float | None
    )  # with softmax up to this temperature, all given sequences still get theirs
    error: float = (
        0.0  # the largest on what was given: of a class number, or of a coordinate
    )

    def states(self, X, mask=None, temperature=0):
        """Yield (stage, layer, tokens): the tokens that come in, and after each half of each block."""
        X = inputs.cloud(X, "X")
        mask, d = inputs.real_tokens(mask, X), self.blocks[0].U.shape[1]
        if X.shape[-1] != d:
            raise ValueError(
                f"X has shape {X.shape}: expected tokens of {d} coordinates, (..., n, {d})."
            )
        temperature = inputs.number(temperature, "temperature", ">= 0")  # 0 is hardmax
        exact = self.blocks[0].U.dtype == object and not temperature
        return self._states(
            arithmetic.like(X, np.empty(0, object if exact else float), "X"),
            mask,
            temperature,
            exact,
        )

    def _states(self, X, mask, temperature, exact):
        yield "input", "input", X
        for block in (
            self.blocks if exact or self.blocks[0].U.dtype != object else self._floats()
        ):
            X = block.feed_forward(X)
            yield block.stage, "feed-forward", X
            X = block.attend(X, mask, temperature)
            yield block.stage, "attention", X

    def transform(self, X, mask=None, temperature=0):
        """The tokens after the last block: of one sequence (n, d), or of a batch (..., n, d) with a mask of real tokens."""
        with np.errstate(over="ignore", invalid="ignore"):
            *_, (_, _, tokens) = self.states(X, mask, temperature)
        return inputs.in_range(tokens, "X, on its way through the blocks,")

    def predict(self, X, mask=None, temperature=0):
        """The label of a sequence, or the labels of a batch as a list: the class number nearest to the mean of q."""
        if self.classes is None:
            raise ValueError(
                "this transformer has no labels, it maps sequences to sequences: use transform."
            )
        nearest = np.floor(
            np.asarray(self.scores(X, mask, temperature), float) + 0.5
        ).astype(int)
        labels = [
            self.classes[k] for k in nearest.clip(0, len(self.classes) - 1).reshape(-1)
        ]
        return labels if nearest.ndim else labels[0]

    def scores(self, X, mask=None, temperature=0):
        """The mean of q over the tokens, (...): the number of the class, on what was given."""
        q = self.transform(X, mask, temperature)[..., 1]
        real = np.ones(q.shape, int) if mask is None else np.asarray(mask).astype(int)
        return (q * real).sum(-1) / real.sum(-1)

    @property
    def n_parameters(self):
        """Counted as a trained model would: every entry of U, W, b, Q, K, eta and rho; V by its two factors of size d x rank."""
        return sum(
            sum(a.size for a in B.arrays)
            - B.V.size
            + 2 * len(B.V) * int(B.V.any(axis=1).sum())
            for B in self.blocks
        )

    @property
    def n_nonzero(self):
        return sum(int((a != 0).sum()) for B in self.blocks for a in B.arrays)

    def stages(self):
        """{stage: how many blocks}, in order."""
        names = [B.stage for B in self.blocks]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def _floats(self):
        return [
            Block(
                B.stage,
                **{
                    k: np.asarray(v, float)[()]
                    for k, v in vars(B).items()
                    if k != "stage"
                },
            )
            for B in self.blocks
        ]

    def to_torch(self):
        """The same as a torch module in float64: called with tokens (batch, n, d), a mask and a temperature, as `transform`."""
        with inputs.extra("torch"):
            import torch

        class Blocks(torch.nn.Module):
            def __init__(self, blocks):
                super().__init__()
                for k, B in enumerate(blocks):
                    for name in "UWbQKV":
                        self.register_parameter(
                            f"{name}{k}",
                            torch.nn.Parameter(torch.tensor(getattr(B, name))),
                        )
                self.scalars = [(float(B.eta), float(B.rho)) for B in blocks]

            def forward(self, X, mask=None, temperature=0):
                away = (
                    0.0
                    if mask is None
                    else torch.zeros(mask.shape).masked_fill(~mask, -math.inf)[
                        ..., None, :
                    ]
                )
                for k, (eta, rho) in enumerate(self.scalars):
                    U, W, b, Q, K, V = (
                        getattr(self, f"{name}{k}") for name in "UWbQKV"
                    )
                    X = eta * X + torch.relu(X @ U.T + b) @ W.T
                    query = X @ Q.T
                    if not temperature and len(Q) == 1:
                        query = query.sign()  # the same sets, without rounding
                    scores = query @ (X @ K.T).transpose(-1, -2) + away
                    if temperature:
                        weights = (
                            (scores - scores.amax(-1, keepdim=True)) / temperature
                        ).softmax(-1)
                    else:
                        weights = (scores == scores.amax(-1, keepdim=True)).double()
                        weights = weights / weights.sum(-1, keepdim=True)
                    X = rho * X + weights @ (X @ V.T)
                return X

        return Blocks(self._floats())

    def __repr__(self):
        return f"ExactTransformer({len(self.blocks)} blocks: {self.stages()}, {self.n_nonzero} nonzero parameters)"


def classify_exactly(sequences, labels, mode="set"):
    """A transformer that gives each of N labelled sequences its label, with at most 2 N - 1 blocks.

    >>> a, b, c = [0.0, 1.0], [1.0, 0.5], [2.0, 0.0]
    >>> machine = classify_exactly([[a, b], [a, b, c], [c, a]], ["two", "three", "two"])
    >>> machine.predict([b, c, a]), machine.predict([a, a, a, c]), len(machine.blocks) <= 5
    ('three', 'two', True)

    sequences  N arrays (n, d) of any lengths, d >= 2; floats, or Fractions for exact numbers
    labels     N of anything that can be compared and hashed
    mode       "set": sequences are told apart by which tokens they have
               "measure": also by how often, in proportion; attention is then the plain mean, with softmax too
    Equal sequences with equal labels are one. What cannot be told apart raises a ValueError that names two sequences.
    `.margin`: a sequence this near to one of those given gets its label. Distances of tokens are in the max-norm, of
    sequences Hausdorff's (set) or Wasserstein's W_1 (measure); so each token may move that far.
    `.temperature`: with softmax up to there, the given sequences still get their labels (and any as long near them).
    """
    inputs.choice(mode, "mode", ("set", "measure"))
    (sequences,) = _sequences(sequence=sequences)
    labels = (
        list(labels)
        if isinstance(labels, str)
        else inputs.sequence(labels, "labels", "labels")
    )
    if len(labels) != len(sequences):
        raise ValueError(
            f"there are {len(sequences)} sequences and {len(labels)} labels: expected as many of both."
        )
    try:
        labels = [
            label.tolist() if hasattr(label, "tolist") else label for label in labels
        ]  # of NumPy, of torch
        classes = list(dict.fromkeys(labels))
    except Exception:
        raise ValueError(
            "labels cannot be hashed: expected numbers, strings or tuples."
        ) from None
    if any(isinstance(label, float) and math.isnan(label) for label in classes):
        raise ValueError(
            "labels has NaN, which equals nothing: expected numbers, strings or tuples."
        )
    of = np.array(
        [classes.index(label) for label in labels]
    )  # the class of each sequence, by its number
    kept = _distinct(sequences, of, mode)
    y, line = of[kept], _Line([sequences[i] for i in kept], mode)

    def judge(P, _):
        """Sequences that share a place share a group; two labels in one group show in two neighbours."""
        M = line.place(P)
        order = np.argsort(M, kind="stable")
        gaps, change, group = (
            np.diff(M[order]),
            np.diff(y[order]) != 0,
            np.zeros(len(M), int),
        )
        apart = gaps > line.faint(P)
        group[order[1:]] = np.cumsum(apart)
        pair = np.flatnonzero(change & ~apart)[:1]
        return (
            group,
            min(gaps[change & apart], default=0) / P.max(),
            [*order[pair], *order[pair + 1]],
        )

    line.separate(judge)
    M = line.place(line.P)
    order = np.argsort(M, kind="stable")
    line.collapse(int(y[order[0]]))
    changes = [(i, j) for i, j in pairwise(order) if y[i] != y[j]]
    for i, j in changes:
        if not M[j] - M[i] > (0 if line.exact else 8 * arithmetic.EPS * M[j]):
            raise _too_fine(kept[i], kept[j])
        line.label((2 * M[i] + M[j]) / 3, (M[i] + 2 * M[j]) / 3, int(y[j] - y[i]))

    # Labels stay while no place is off by more than a third of a gap, and p stays above 1/2. Through a block, errors grow
    # by the factor 1 + c; softmax misses a maximum of scores p q by at most T log(n), that of q by T log(n) / p.
    slack = (
        min([(M[j] - M[i]) / 3 for i, j in changes] + [line.number(1) / 2])
        if changes
        else math.inf
    )
    heat, entropy = 0.0, 2 * math.log(max(map(len, sequences)))
    for c in line.strengths:
        heat += float(c) * (entropy + heat)
    heat += entropy
    warm = (
        math.inf
        if mode == "measure" or heat == 0 or not changes
        else float(slack) / heat
    )
    machine = ExactTransformer(
        line.blocks, classes, slack / line.stretch if changes else math.inf, warm
    )

    read = (
        machine.scores(*padded(sequences))
        if not line.exact
        else np.array([machine.scores(X) for X in sequences])
    )
    off = abs(read - of)
    if not off.max() <= (0 if line.exact else 0.25):
        i = int(np.argmax(~(off <= 0.25)))
        j = min(np.flatnonzero(of != of[i]), key=lambda j: abs(read[j] - read[i]))
        raise _too_fine(i, j)
    return replace(machine, error=off.max())


def interpolate_exactly(inputs, outputs):
    """A transformer that takes each of N sets of tokens to its output: at most 2 M + N blocks for M tokens in all outputs.

    >>> a, b, c = [0.0, 1.0], [1.0, 0.5], [2.0, 0.0]
    >>> machine = interpolate_exactly([[a, b], [a, b, c]], [[[5, 5]], [[0, 0], [1, 3]]])
    >>> np.unique(machine.transform([c, a, b]).round(6) + 0.0, axis=0).tolist()
    [[0.0, 0.0], [1.0, 3.0]]

    inputs   N arrays (n, d), d >= 2, of floats or Fractions
    outputs  N arrays (m, d), each with at most as many tokens as its input; equal tokens count once, in both
    `.error` is the largest deviation of a coordinate on what was given, 0 for Fractions.
    """
    X, Y = _sequences(input=inputs, output=outputs)
    if len(X) != len(Y):
        raise ValueError(
            f"there are {len(X)} inputs and {len(Y)} outputs: expected as many of both."
        )
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        n, m = len(set(map(tuple, x))), len(set(map(tuple, y)))
        if n < m:
            raise ValueError(
                f"input {i} has {n} distinct tokens and output {i} has {m}: a token cannot become two; "
                "expected at most as many in the output."
            )
    kept = _distinct(
        X, [frozenset(map(tuple, y)) for y in Y], "set", "inputs", "outputs"
    )
    targets = [np.array(list(dict.fromkeys(map(tuple, Y[i])))) for i in kept]
    line = _Line([X[i] for i in kept], "set")

    def isolated(P):
        """[(gap, value), ...] for the tokens of each sequence: how far any other token is, the loneliest first."""
        points = sorted({(value, j) for j, row in enumerate(P) for value in row})
        far = [P.max(), *(b[0] - a[0] for a, b in pairwise(points)), P.max()]
        gaps = [[] for _ in P]
        for (value, j), left, right in zip(points, far, far[1:], strict=False):
            gaps[j].append((min(left, right), value))
        return [sorted(g, reverse=True) for g in gaps]

    def judge(P, shift):
        """Sequences moved alike share a group. There have to be as many tokens alone in each as it has targets."""
        # (A direction may put two tokens in one place: then there are too few, and the gap is 0.)
        weakest = [
            ([*free, *[(0, free[0][1])] * len(y)])[len(y) - 1]
            for free, y in zip(isolated(P), targets, strict=True)
        ]
        j = min(range(len(P)), key=lambda j: weakest[j][0])
        group, owners = np.unique(shift, return_inverse=True)[1], {}
        clash = line.exact and any(
            owners.setdefault(v, g) != g
            for row, g in zip(P, group, strict=True)
            for v in row
        )
        if weakest[j][0] > 64 * line.faint(P) or len(P) == 1:
            return group, weakest[j][0] / P.max(), []
        near = line.distance(P, weakest[j][1])
        return (
            group,
            -1 if clash else weakest[j][0] / P.max(),
            [j, min(set(range(len(P))) - {j}, key=near.item)],
        )

    line.separate(judge)
    line.block("reset", [(1, 0, (1, 0))])
    leaders = [
        (j, value)
        for j, free in enumerate(isolated(line.P))
        for _, value in free[: len(targets[j])]
    ]
    # Each leader goes to a point of its own on a circle round 0, farther along the first axis than all that stays behind.
    size = max([line.P.max(), *(abs(y).max() for y in targets)])
    R = 8 / line.power(size)
    now = {value for row in line.P for value in row}
    points = []
    for k, (_, value) in enumerate(leaders):
        u = line.number(7) * (k + 1) / (10 * len(leaders))
        points.append(
            line.array(
                [R * (1 - u * u) / (1 + u * u), 2 * R * u / (1 + u * u)]
                + [0] * (line.d - 2)
            )
        )
        now.discard(value)
        gap = min([abs(x - value) for x in now] + [value])
        line.bump("select", line.axis, value, gap, points[-1] - value * line.axis)
        now.add(points[-1][0])
    line.blocks[-1] = replace(
        line.blocks[-1],
        Q=line.plane,
        K=line.plane,
        V=line.plane.T @ line.plane,
        rho=line.number(0),
    )
    now, rng = np.array(points), np.random.default_rng(1)
    todo = [iter(y) for y in targets]
    for k, (j, _) in enumerate(leaders):
        target = next(todo[j])
        others = now[(now != now[k]).any(1)]
        best = (0, ())  # the widest gap, and the direction that has it
        while not best[0]:
            for f in map(line.array, rng.integers(-64, 65, (16, line.d)).tolist()):
                best = max(
                    best,
                    (
                        min(abs((others - now[k]) @ f), default=R) / (1 + abs(f).sum()),
                        tuple(f),
                    ),
                )
        f = line.array(best[1])
        line.bump("move", f, now[k] @ f, best[0] * (1 + abs(f).sum()), target - now[k])
        now[k] = target

    machine, worst = ExactTransformer(line.blocks, None, None, None), 0
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        far = abs(machine.transform(x)[:, None] - y).max(-1)
        error = max(far.min(1).max(), far.min(0).max())
        if not error <= (0 if line.exact else 1e-6 * max(1, abs(y).max())):
            j = min(
                set(range(len(X))) - {i},
                key=lambda j: abs(X[j][:, None] - x).max(-1).min(1).max(),
                default=i,
            )
            raise ValueError(
                f"input {i} misses its output by {float(error):.1g}, "
                + FINER.format(i, j)
            )
        worst = max(worst, error)
    return replace(machine, error=worst)


def padded(sequences):
    """(tokens, mask): sequences of any lengths as one batch (N, n, d), with False where there is no token."""
    longest = max(map(len, sequences))
    mask = np.arange(longest) < np.array([len(X) for X in sequences])[:, None]
    tokens = np.zeros(
        (*mask.shape, np.shape(sequences[0])[1]),
        np.result_type(*(np.asarray(X) for X in sequences)),
    )
    tokens[mask] = np.concatenate(sequences)
    return tokens, mask


class _Line:
    """All tokens of N different sequences on one line, and the blocks that have moved them so far."""

    def __init__(self, sequences, mode):
        self.d, self.exact, self.mode = (
            sequences[0].shape[1],
            sequences[0].dtype == object,
            mode,
        )
        self.number, self.blur = (Fraction, 0) if self.exact else (float, 2.0**-30)
        self.axis, self.plane = (
            self.array(np.eye(self.d, dtype=int)[k].tolist()) for k in (0, [0, 1])
        )
        names = {
            x: k
            for k, x in enumerate(dict.fromkeys(tuple(x) for X in sequences for x in X))
        }
        self.tokens = np.array(list(names))
        counts = [Counter(names[tuple(x)] for x in X) for X in sequences]
        most = max(map(len, counts))  # shorter sequences repeat a token, with weight 0
        self.index = np.array(
            [list(c) + [next(iter(c))] * (most - len(c)) for c in counts]
        )
        weights = [
            [self.number(k) / len(X) for k in c.values()] + [0] * (most - len(c))
            for c, X in zip(counts, sequences, strict=True)
        ]
        self.weights = self.array(weights)
        self.blocks, self.strengths, self.read = [], [], None

    def array(self, X):
        return (
            np.array(
                [
                    [Fraction(x) for x in row]
                    if isinstance(row, list)
                    else Fraction(row)
                    for row in X
                ]
            )
            if self.exact
            else np.array(X, float)
        )

    def place(self, P):
        """The one number that tells the sequences apart in the end."""
        return P.max(1) if self.mode == "set" else (self.weights * P).sum(1)

    def distance(self, P, t):
        """D_t, the distance of t from each sequence."""
        return (
            abs(P - t).min(1)
            if self.mode == "set"
            else (self.weights * abs(P - t)).sum(1)
        )

    def faint(self, P):
        return self.blur * P.max()

    def separate(self, judge):
        """Choose p = <g, x> + b, then add blocks until `judge` names no pair: at most N - 1, since groups only split."""
        rng, N = np.random.default_rng(0), len(self.index)
        nothing, size = self.array([0] * N), self.power(abs(self.tokens).max())
        bits, best = 2 * len(self.tokens).bit_length() + 4, None
        while best is None or (self.exact and not best[0][0]):
            for g in rng.integers(
                -(2**bits), 2**bits, (4 if self.exact else 16, self.d)
            ):
                g = self.array(g.tolist()) * size
                p = self.tokens @ g
                unit = self.power(p.max() - p.min())
                g, p = g * unit, p * unit
                P = (p - p.min() + 1)[self.index]
                _, quality, pair = judge(P, nothing)
                score = (len(set(p)) == len(p), not pair, quality)
                if best is None or score > best[0]:
                    best = score, g, 1 - p.min(), P
            bits += 4
        _, g, b, self.P = best
        self.read, self.stretch = (g, b), abs(g).sum()
        shift, (group, quality, pair) = nothing, judge(self.P, nothing)
        while pair and len(self.strengths) < N - 1:
            found = None
            for bits in range(4, 64) if self.exact else [6]:
                found = found or self._best(rng, judge, shift, group, pair, bits)
            if not found or found[0] < (False, False, max(group) + 1, quality):
                if self.blur < 2.0**-40:
                    break  # rounding: the check on the sequences themselves will tell
                self.blur /= 2**14
                group, quality, pair = judge(self.P, shift)
                continue
            _, t, c, self.P, shift, lift = found
            self.block(
                "separate",
                [(1, 0, (1, 0)), (1, -t, (0, -1)), (-1, t, (0, -1))],
                key=1,
                V=[(0, 1, -c)],
                rho=1,
            )
            self.read = self.axis, lift
            self.strengths.append(abs(c))
            self.stretch *= 1 + abs(c)
            group, quality, pair = judge(self.P, shift)

    def power(self, x):
        """A power of 2 that takes x > 0 to between 1/2 and 2, within the range of floats."""
        if self.exact:
            return Fraction(2) ** (
                x.denominator.bit_length() - x.numerator.bit_length()
            )
        return 2.0 ** min(480, -math.frexp(x)[1])

    def _best(self, rng, judge, shift, group, pair, bits):
        """The (score, t, c, P, shift) of the best of some blocks: t a token that only one of the pair is near to, c any."""
        atoms, best = np.unique(self.P[pair]), None
        tells = np.array(
            [(x := self.distance(self.P, t)[pair])[0] != x[1] for t in atoms]
        )
        some = np.append(
            rng.permutation(atoms[tells])[:6],
            rng.choice(self.P.reshape(-1), 0 if self.exact else 6),
        )
        for t in some:
            D = self.distance(self.P, t)
            for k in rng.integers(-(2**bits), 2**bits, 3 if self.exact else 8).tolist():
                c = self.number(k) / 2**bits
                P, moved = self.P + (c * D)[:, None], shift + c * D
                lift = 1 - P.min()
                P = P + lift
                new, quality, left = judge(P, moved)
                splits = (
                    len(set(zip(new, group, strict=True)))
                    == len(set(new))
                    > len(set(group))
                    and quality >= 0
                )
                score = (splits, not left, len(set(new)), quality)
                if (splits or not self.exact) and (best is None or score > best[0]):
                    best = score, t, c, P, moved, lift
        return best

    def collapse(self, first):
        """All tokens of a sequence go to its place, and say the first class."""
        self.block(
            "collapse",
            [(1, 0, (1, 0)), (0, 1, (0, first))],
            key=0,
            V=[(0, 0, 1), (1, 1, 1)],
            rho=0,
        )

    def label(self, low, high, step):
        """Beyond a ramp from low to high, say another class."""
        slope = 1 / (high - low)
        self.block(
            "label",
            [(slope, -slope * low, (0, step)), (slope, -slope * high, (0, -step))],
            eta=1,
        )

    def bump(self, stage, f, centre, gap, displacement):
        """Move what is within gap / 4 of <f, x> = centre, and nothing that is gap / 4 from all others: four neurons."""
        U = np.array([f * (2 / gap)] * 4)
        b = -self.array(
            [2 * (4 * centre + k * gap) / (4 * gap) for k in (-3, -1, 1, 3)]
        )
        W = np.array([displacement * s for s in (1, -1, -1, 1)]).T
        self._add(stage, U, W, b, 1, None, [], 1)

    def block(self, stage, neurons, eta=0, key=None, V=(), rho=1):
        """Neurons (slope, bias, what) say `what` in the plane (p, q) times relu(slope p + bias). Queries are p, in a set."""
        (g, b), self.read = self.read, (self.axis, 0)
        U = np.array([slope * g for slope, _, _ in neurons])
        bias = self.array([slope * b + more for slope, more, _ in neurons])
        W = self.plane.T @ self.array([list(what) for _, _, what in neurons]).T
        self._add(stage, U, W, bias, eta, key if self.mode == "set" else None, V, rho)

    def _add(self, stage, U, W, b, eta, key, V, rho):
        Q, K, matrix = (
            self.axis[None] * 0,
            self.axis[None] * 0,
            np.outer(self.axis, self.axis) * 0,
        )
        if key is not None:
            Q, K = self.plane[:1], self.plane[[key]]
        for i, j, v in V:
            matrix[i, j] = self.number(v)
        self.blocks.append(
            Block(stage, U, W, b, self.number(eta), Q, K, matrix, self.number(rho))
        )


FINER = "in float64: inputs {} and {} are too near, or there are too many. Pass Fractions, which are exact, or part them."


def _too_fine(i, j):
    return ValueError(
        f"float64 cannot tell sequences {i} and {j} apart after the blocks: their places are too near for its rounding. "
        "Pass Fractions, which are exact, or give tokens that differ by more."
    )


def _sequences(**given):
    """For each name, a list of sequences as arrays (n, d); all of one arithmetic, and one d >= 2."""
    checked = {}
    for name, sequences in given.items():
        sequences = inputs.sequence(sequences, f"{name}s", "arrays (n, d)")
        if not sequences:
            raise ValueError(f"there are no {name}s: expected at least one.")
        for i, X in enumerate(sequences):
            X = checked[name, i] = inputs.cloud(X, f"{name} {i}")
            (first, _), start = next(iter(checked.items()))
            if X.ndim != 2 or X.shape[1] != start.shape[1]:
                raise ValueError(
                    f"{name} {i} has shape {X.shape}: expected tokens as rows, (n, d), with one d for all; "
                    f"{first} 0 has shape {start.shape}."
                )
    if start.shape[1] < 2:
        raise ValueError(
            "tokens have 1 coordinate: expected at least 2. Add a coordinate, 0 for all tokens."
        )
    kind = np.empty(
        0, object if any(X.dtype == object for X in checked.values()) else float
    )
    return [
        [arithmetic.like(X, kind) for (of, _), X in checked.items() if of == name]
        for name in given
    ]


def _distinct(sequences, labels, mode, what="sequences", labelled="labels"):
    """The first of equal sequences each; equal ones with different labels are refused."""
    first = {}
    for i, X in enumerate(sequences):
        counts = Counter(map(tuple, X))
        whole = math.gcd(*counts.values())
        key = (
            frozenset((x, k // whole) for x, k in counts.items())
            if mode == "measure"
            else frozenset(counts)
        )
        j = first.setdefault(key, i)
        if labels[j] == labels[i]:
            continue
        equal = (
            "the same tokens in the same proportions"
            if mode == "measure"
            else "the same set of tokens"
        )
        advice = "no transformer without positions tells them apart. Give them one label, or add positions to them."
        if mode == "set":
            advice = 'give them one label; where tokens repeat, mode "measure" may tell them apart; order never counts.'
        if what == "inputs":
            advice = "give them one output, or add positions to the tokens."
        raise ValueError(
            f"{what} {j} and {i} have different {labelled} but hold {equal}: {advice}"
        )
    return sorted(first.values())
