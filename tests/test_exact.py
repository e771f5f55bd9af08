"""Exact classification: no error, within the bounds, on whatever can be told apart; and what cannot be is refused."""

import os
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from clouds import exact as fractions
from cooling import softmax_error
from hypothesis import given, settings
from hypothesis import strategies as st

from hmlib import classify_exactly, interpolate_exactly
from hmlib.exact import Block, ExactTransformer, padded

MANY = int(os.environ.get("HMLIB_CLOUDS", 1))


# Independent of the package: a block from the definition, in plain Python; and when two sequences are the same


def by_hand(blocks, X):
    def times(M, x):
        return [sum(a * b for a, b in zip(row, x, strict=True)) for row in M.tolist()]

    tokens = [list(x) for x in X]
    for B in blocks:
        fed = []
        for x in tokens:
            hidden = [
                max(0, u + b) for u, b in zip(times(B.U, x), B.b.tolist(), strict=True)
            ]
            fed.append(
                [B.eta * a + w for a, w in zip(x, times(B.W, hidden), strict=True)]
            )
        tokens = []
        for x in fed:
            scores = [
                sum(q * k for q, k in zip(times(B.Q, x), times(B.K, y), strict=True))
                for y in fed
            ]
            followed = [y for y, s in zip(fed, scores, strict=True) if s == max(scores)]
            mean = [
                sum(c) / Fraction(len(followed)) for c in zip(*followed, strict=True)
            ]
            tokens.append(
                [B.rho * a + v for a, v in zip(x, times(B.V, mean), strict=True)]
            )
    return tokens


def in_torch(machine):
    """Another oracle, in torch: called with tokens (batch, n, d), a mask, a temperature."""
    import torch

    def forward(X, mask=None, temperature=0):
        away = torch.zeros(X.shape[:2], dtype=X.dtype)
        away = away if mask is None else away.masked_fill(~mask, -torch.inf)
        for B in machine.blocks:
            U, W, b, Q, K, V = (
                torch.tensor(getattr(B, name).astype(float)) for name in "UWbQKV"
            )
            X = float(B.eta) * X + torch.relu(X @ U.T + b) @ W.T
            query = X @ Q.T
            if not temperature and len(Q) == 1:
                query = query.sign()  # the same sets, without rounding
            scores = query @ (X @ K.T).transpose(-1, -2) + away[:, None]
            gaps = scores - scores.amax(-1, keepdim=True)
            if temperature:
                weights = (gaps / temperature).softmax(-1)
            else:
                weights = (gaps == 0).double()
                weights = weights / weights.sum(-1, keepdim=True)
            X = float(B.rho) * X + weights @ (X @ V.T)
        return X.numpy()

    return forward


def rational(X):
    return np.array([[Fraction(x) for x in z] for z in X])


def key(X, mode):
    rows = [tuple(x) for x in X]
    return (
        frozenset((x, Fraction(rows.count(x), len(rows))) for x in rows)
        if mode == "measure"
        else frozenset(rows)
    )


# Families of sequences that are hard in different ways


def family(name, N, d=3, seed=0, longest=50):
    rng = np.random.default_rng([N, d, seed])
    words = rng.normal(size=(max(N, 12), d)).round(4)
    if name == "random":
        return [
            rng.normal(size=(n, d)).round(4) for n in rng.integers(1, longest + 1, N)
        ]
    if name == "vocabulary":  # many subsets of twelve words
        some = [c for k in range(1, 6) for c in combinations(range(12), k)]
        return [words[list(some[i])] for i in rng.choice(len(some), N, replace=False)]
    if name == "nested":  # {1}, {1, 2}, {1, 2, 3}, ...
        return [words[: k + 1] for k in range(N)]
    if (
        name == "extremes"
    ):  # all share the tokens that are farthest out, in every direction
        far = np.vstack([np.eye(d), -np.eye(d)]) * 50
        return [
            np.vstack([far, rng.normal(size=(n, d)).round(4)])
            for n in rng.integers(1, 20, N)
        ]
    if name == "balanced":  # all have the mean 0, in every direction
        return [
            np.vstack([x, -x])
            for x in (rng.normal(size=(n, d)).round(4) for n in rng.integers(1, 6, N))
        ]
    return [
        words[[0] * k + [1]] for k in range(1, N + 1)
    ]  # "multiplicities": the same two tokens


CASES = [
    (name, mode)
    for name in ("random", "vocabulary", "nested", "extremes")
    for mode in ("set", "measure")
]
CASES += [("multiplicities", "measure"), ("balanced", "measure")]


def labelled(name, N, d=3, classes=3, seed=0, **more):
    return family(name, N, d, seed, **more), np.random.default_rng(seed).integers(
        0, classes, N
    ).tolist()


# The theorem


@pytest.mark.parametrize(
    "N, d, classes",
    [(1, 2, 2), (2, 2, 2), (5, 10, 5), (50, 5, 4), (100 if MANY == 1 else 200, 10, 5)],
)
@pytest.mark.parametrize("name, mode", CASES)
def test_all_are_classified_within_the_bounds(name, mode, N, d, classes):
    for seed in range(MANY):
        sequences, labels = labelled(name, N, d, classes, seed)
        machine = classify_exactly(sequences, labels, mode)
        assert len(machine.blocks) <= 2 * N - 1
        assert (
            machine.n_parameters <= 16 * N * d + 9 * N
            and machine.n_nonzero <= 3 * d + 21 * N
        )
        assert machine.predict(*padded(sequences)) == labels and machine.error < 1e-3
        rng = np.random.default_rng(seed)
        shuffled = [rng.permutation(np.repeat(X, 2, axis=0)) for X in sequences]
        assert machine.predict(*padded(shuffled)) == labels


@pytest.mark.parametrize("name, mode", CASES)
def test_on_fractions_without_any_error(name, mode):
    sequences, labels = labelled(name, 20 if MANY == 1 else 60, d=2, longest=10)
    sequences = [rational(X) for X in sequences]
    machine = classify_exactly(sequences, labels, mode)
    assert machine.error == 0 and len(machine.blocks) <= 2 * len(sequences) - 1
    for X, label in zip(sequences, labels, strict=True):
        end = machine.transform(X[::-1])
        assert all(type(x) is Fraction for x in end.flat)
        assert (end[:, 1] == machine.classes.index(label)).all() and machine.predict(
            X
        ) == label


tokens = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
problems = st.lists(
    st.tuples(st.lists(tokens, min_size=1, max_size=6), st.integers(0, 2)),
    min_size=1,
    max_size=7,
)


@settings(max_examples=150)
@given(problems, st.sampled_from(["set", "measure"]))
def test_whatever_differs_is_classified(problem, mode):
    """Exactly those problems are refused that give two labels to one set, or to one measure."""
    sequences, labels = [fractions(X) for X, _ in problem], [y for _, y in problem]
    keys = [key(X, mode) for X in sequences]
    wrong = [
        (i, j)
        for i, j in combinations(range(len(keys)), 2)
        if keys[i] == keys[j] and labels[i] != labels[j]
    ]
    if wrong:
        with pytest.raises(
            ValueError, match="have different labels but hold"
        ) as refused:
            classify_exactly(sequences, labels, mode)
        assert tuple(map(int, re.findall(r"\d+", str(refused.value))[:2])) in wrong
        return
    machine = classify_exactly(sequences, labels, mode)
    assert machine.error == 0 and [machine.predict(X) for X in sequences] == labels
    assert len(machine.blocks) <= 2 * len(set(keys)) - 1
    as_floats = classify_exactly([X.astype(float) for X in sequences], labels, mode)
    assert as_floats.predict(*padded([X.astype(float) for X in sequences])) == labels


@settings(max_examples=20)
@given(problems, st.sampled_from(["set", "measure"]))
def test_the_blocks_are_the_definition(problem, mode):
    """An independent transformer in plain Python computes the same tokens."""
    sequences = [fractions(X) for X, _ in problem]
    keys = [key(X, mode) for X in sequences]
    machine = classify_exactly(sequences, [keys.index(k) for k in keys], mode)
    for X in sequences:
        assert by_hand(machine.blocks, X) == machine.transform(X).tolist()


def test_all_subsets_of_six_words():
    words = np.random.default_rng(0).normal(size=(6, 2))
    subsets = [words[list(c)] for k in range(1, 7) for c in combinations(range(6), k)]
    machine = classify_exactly(subsets, range(63))
    assert (
        machine.predict(*padded(subsets)) == list(range(63))
        and len(machine.blocks) <= 125
    )


def test_the_bound_is_attained():
    """With one sequence, and with two that share all extreme tokens: this construction has no blocks to spare."""
    a, b = [0.0, 0.0], [2.0, 2.0]
    assert len(classify_exactly([[a, b]], [7]).blocks) == 1
    assert len(classify_exactly([[a, b], [a, [1.0, 1.0], b]], [7, 8]).blocks) == 3
    assert len(classify_exactly([[a, b], [a, [1.0, 1.0], b]], [7, 7]).blocks) == 1


def test_two_sequences_take_two_blocks():
    """So 2 N - 1 is what this construction needs, not what is possible: fold and collapse in one block, then one ramp."""
    p, q = np.array([[1, 0]]), np.array([[0, 1]])
    U, W = (
        np.array([[1, 0], [1, 0], [-1, 0]]),
        np.array([[1, 0, 0], [0, -1, -1]]),
    )  # x + 1 and -|x - 1|
    fold = Block("fold", U, W, np.array([1, -1, 1]), 0, p, q, q.T @ q, 0)
    U, W = (
        np.array([[0, 3], [0, 3]]),
        np.array([[0, 0], [1, -1]]),
    )  # 0 up to q = -2/3, 1 from q = -1/3 on
    ramp = Block("ramp", U, W, np.array([2, 1]), 0, p, p, 0 * W, 1)
    for X, label in (([[0, 0], [2, 2]], 0), ([[0, 0], [1, 1], [2, 2]], 1)):
        X = np.array(X, object)
        for block in (fold, ramp):
            X = block.attend(block.feed_forward(X))
        assert X.tolist() == [[0, label]] * len(X)


def test_nothing_depends_on_the_lengths():
    short, labels = labelled("vocabulary", 20)
    long = [np.repeat(X, 400, axis=0) for X in short]
    for mode in ("set", "measure"):
        one, two = (
            classify_exactly(short, labels, mode),
            classify_exactly(long, labels, mode),
        )
        assert (one.n_parameters, one.n_nonzero) == (two.n_parameters, two.n_nonzero)
        assert two.predict(*padded(long)) == labels


def test_long_sequences():
    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(n, 2)) for n in (8_000, 3, 2_000)]
    for mode in ("set", "measure"):
        machine = classify_exactly(sequences, "abc", mode)
        assert [machine.predict(X) for X in sequences] == list("abc")


def test_equal_sequences_are_one():
    a, b = [0.0, 1.0], [1.0, 0.0]
    machine = classify_exactly([[a, b], [b, a, a], [a], [a, a]], ["x", "x", "y", "y"])
    assert (
        len(machine.blocks) <= 3
        and machine.predict([a, a, a]) == "y"
        and machine.predict([b, b, a]) == "x"
    )


# Distinct


@given(st.integers(0, 10**6))
def test_no_transformer_sees_more_than_the_measure(seed):
    """Random blocks of any rank: order and common multiples change nothing, on fractions."""
    rng = np.random.default_rng(seed)
    d, n, h, r = rng.integers(1, 4, 4)

    def some(*shape):
        return (
            fractions(rng.integers(-3, 4, shape))
            if len(shape) == 2
            else fractions(rng.integers(-3, 4, (1, *shape)))[0]
        )

    X, Y = some(n, d), None
    order = rng.permutation(np.repeat(np.arange(n), 3))
    Y = X[order]
    for _ in range(2):
        block = Block(
            "any",
            some(h, d),
            some(d, h),
            some(h),
            1,
            some(r, d),
            some(r, d),
            some(d, d),
            1,
        )
        X, Y = block.attend(block.feed_forward(X)), block.attend(block.feed_forward(Y))
        assert (X[order] == Y).all()


def test_what_has_no_difference_is_refused():
    a, b = [0.0, 1.0], [1.0, 0.0]
    same_set = 'sequences 0 and 1 have different labels but hold the same set of tokens: .* mode "measure"'
    same_measure = "sequences 1 and 2 have different labels but hold the same tokens in the same proportions: expected one label"
    for other in ([b, a], [a, b, b]):
        with pytest.raises(ValueError, match=same_set):
            classify_exactly([[a, b], other], [0, 1])
    with pytest.raises(ValueError, match=same_measure):
        classify_exactly([[a], [a, b], [a, b, a, b]], [2, 0, 1], mode="measure")
    assert (
        classify_exactly([[a, b], [a, b, b]], [0, 1], mode="measure").predict([b, a, b])
        == 1
    )
    with pytest.raises(
        ValueError,
        match="inputs 0 and 1 have different outputs but hold the same set of tokens",
    ):
        interpolate_exactly([[a, b], [b, a]], [[a], [b]])


def test_positions_make_order_count():
    a, b = [0.0, 1.0], [1.0, 0.0]
    at = (
        [[*x, float(t)] for t, x in enumerate((a, b))],
        [[*x, float(t)] for t, x in enumerate((b, a))],
    )
    machine = classify_exactly(at, ["ab", "ba"])
    assert [machine.predict(X) for X in at] == ["ab", "ba"]


# Where float64 is not enough


def test_what_floats_cannot_tell_they_refuse():
    near = [[[1.0, k * 1e-15 + 2], [9.0, 1e5], [-9.0, -1e5]] for k in range(3)]
    with pytest.raises(
        ValueError,
        match=r"float64 cannot tell sequences \d and \d apart .* Fractions",
    ):
        classify_exactly(near, [0, 1, 0])
    sure = [[[Fraction(x) for x in z] for z in X] for X in near]
    machine = classify_exactly(sure, [0, 1, 0])
    assert machine.error == 0 and [machine.predict(X) for X in sure] == [0, 1, 0]


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_any_scale(scale):
    sequences, labels = labelled("vocabulary", 12)
    machine = classify_exactly([scale * X for X in sequences], labels)
    assert machine.predict(*padded([scale * X for X in sequences])) == labels


def test_wrong_or_refused_never_silent():
    """Clouds that differ by ever less: classified without an error, or refused."""
    refused = 0
    for e in range(6, 18, 2):
        sequences = [[[0.0, 0.0], [k * 10.0**-e, 1.0], [1.0, 2.0]] for k in range(10)]
        labels = [k % 2 for k in range(10)]
        try:
            assert [
                classify_exactly(sequences, labels).predict(X) for X in sequences
            ] == labels
        except ValueError as error:
            refused += 1
            assert "float64" in str(error) or e > 15
    assert 0 < refused < 4


def test_fractions_of_any_size():
    tiny = Fraction(1, 10**400)
    X = [
        [[Fraction(1), Fraction(2)]],
        [[Fraction(1) + tiny, Fraction(2)]],
        [[1 / tiny, Fraction(0)]],
    ]
    assert classify_exactly(X, "abc").predict(X[1]) == "b"


# Neighbours


@pytest.mark.parametrize("name, mode", CASES)
def test_the_margin(name, mode):
    """On fractions, with every coordinate moved by the margin itself: same labels. By fifty times as much: not always."""
    sequences, labels = labelled(name, 8, d=2, longest=6)
    sequences = [rational(X) for X in sequences]
    machine, rng, wrong = (
        classify_exactly(sequences, labels, mode),
        np.random.default_rng(0),
        0,
    )
    for X, label in zip(sequences, labels, strict=True):
        for factor in (1, 50):
            moves = fractions(rng.integers(-1, 2, X.shape)) * machine.margin * factor
            if factor == 1:
                assert machine.scores(X + moves) == machine.classes.index(label)
                if (
                    mode == "set"
                ):  # more tokens near those that are there change nothing either
                    assert (
                        machine.predict(np.concatenate([X, X + moves, X - moves]))
                        == label
                    )
    for factor in (10, 100, 1000, 10**4):
        for X, label in zip(sequences, labels, strict=True):
            wrong += machine.scores(
                X + machine.margin * factor
            ) != machine.classes.index(label)
    assert wrong > 0


# Softmax


@pytest.mark.parametrize("name, mode", CASES)
def test_softmax(name, mode):
    sequences, labels = labelled(name, 20)
    machine, batch = classify_exactly(sequences, labels, mode), padded(sequences)
    if mode == "measure":  # uniform attention does not know of temperatures
        assert machine.temperature == np.inf
        for T in (1e-2, 1, 1e2):
            assert machine.predict(*batch, temperature=T) == labels
    else:
        assert machine.predict(*batch, temperature=machine.temperature) == labels
        assert (
            abs(
                machine.scores(*batch, temperature=machine.temperature)
                - machine.scores(*batch)
            ).max()
            < 1e-6
        )
        assert machine.predict(*batch, temperature=1e3) != labels


# Sequence to sequence


def targets(sequences, seed=0, most=4):
    rng = np.random.default_rng(seed)
    sizes = [
        rng.integers(1, min(most, len({tuple(x) for x in X})) + 1) for X in sequences
    ]
    return [rng.normal(size=(m, sequences[0].shape[1])).round(4) for m in sizes]


@pytest.mark.parametrize("name", ["random", "vocabulary", "extremes", "nested"])
@pytest.mark.parametrize("N", [1, 2, 12, 40])
def test_interpolation(name, N):
    N = min(N, 20) if name == "nested" else N
    X = family(name, N, longest=12)
    Y = targets(X)
    machine, M = interpolate_exactly(X, Y), sum(map(len, Y))
    d = X[0].shape[1]
    assert (
        len(machine.blocks) <= 2 * M + N
        and machine.n_parameters <= (2 * M + N) * (10 * d + 6) + 6 * d
    )
    assert machine.error < 1e-6
    for x, y in zip(X, Y, strict=True):
        end = np.unique(machine.transform(x[::-1]).round(5) + 0.0, axis=0)
        assert end.shape == y.shape and np.allclose(
            end, np.unique(y.round(5), axis=0), atol=2e-5
        )


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(tokens, min_size=1, max_size=5, unique=True), min_size=1, max_size=5
    ),
    st.integers(0, 99),
)
def test_interpolation_without_any_error(X, seed):
    """Fractions, outputs that may coincide from one sequence to another, with inputs too, and anything that is no set twice."""
    X = [fractions(x) for x in {frozenset(x): x for x in X}.values()]
    rng = np.random.default_rng(seed)
    Y = [fractions(rng.integers(-2, 3, (rng.integers(1, len(x) + 1), 2))) for x in X]
    machine, M = (
        interpolate_exactly(X, Y),
        sum(len({tuple(y) for y in out}) for out in Y),
    )
    assert machine.error == 0 and len(machine.blocks) <= 2 * M + len(X)
    for x, y in zip(X, Y, strict=True):
        assert {tuple(z) for z in machine.transform(x)} == {tuple(z) for z in y}
    as_floats = interpolate_exactly(
        [x.astype(float) for x in X], [y.astype(float) for y in Y]
    )
    assert as_floats.error < 1e-6 and len(as_floats.blocks) <= 2 * M + len(X)
    assert {tuple(z) for z in by_hand(machine.blocks, X[0])} == {tuple(z) for z in Y[0]}


@pytest.mark.parametrize("name", ["random", "vocabulary", "extremes", "nested"])
def test_interpolation_with_softmax(name):
    """Up to .temperature the account of `cooling`, which knows the blocks alone, has no error at all in the end: all
    errors of softmax are gone in the strips. Rounding is left, and well above it nothing holds."""
    X = family(name, 8, longest=12)
    Y = targets(X)
    machine = interpolate_exactly(X, Y)
    T = machine.temperature
    assert 0 < T < np.inf
    for x, y in zip(X, Y, strict=True):
        assert softmax_error(machine, x, T).max() == 0
        end = machine.transform(x, temperature=T)
        away = abs(end[:, None] - y).max(-1)
        assert max(away.min(1).max(), away.min(0).max()) < 1e-6
    apart = [
        abs(machine.transform(x, temperature=1e6 * T) - machine.transform(x)).max()
        for x in X
    ]
    assert max(apart) > 0.01


def test_the_account_of_softmax():
    """It is a bound: of machines, and of random blocks, at temperatures at which they err."""
    seen = set()
    for seed in range(30):
        draw = np.random.default_rng(seed)
        n, d = draw.integers(2, 6, 2)
        blocks = [
            Block(
                "any",
                draw.normal(size=(3, d)),
                draw.normal(size=(d, 3)) * draw.integers(0, 2),
                5 * draw.normal(size=3),
                draw.normal(),
                draw.normal(size=(2, d)),
                draw.normal(size=(2, d)),
                draw.normal(size=(d, d)),
                draw.normal(),
            )
            for _ in range(draw.integers(1, 3))
        ]
        machine, X = ExactTransformer(blocks), 3 * draw.normal(size=(n, d))
        for T in (0.03, 0.3, 3.0):
            bound = softmax_error(machine, X, T)
            found = abs(machine.transform(X, temperature=T) - machine.transform(X))
            assert (found <= 1.000001 * bound + 1e-12).all()
            seen.add((bool(np.isinf(bound).any()), bool((found > 1e-3 * bound).any())))
    assert (True, False) in seen and (False, True) in seen


def test_the_temperature_of_interpolation_by_hand():
    """One leader, who has to be far out: the circle has radius 8 * 1024, and u = 7 / 10."""
    X, n = np.random.default_rng(3).normal(size=(7, 2)), 7
    machine = interpolate_exactly([X], [[[1000.0, 0.0]]])
    x = 8192 * (1 - 0.49) / (1 + 0.49)
    room = (x - 8192 / 4) / 4
    assert machine.temperature == pytest.approx(room / (2 * np.log(n)))
    # What follows would not arrive much beyond it, where leaders alone still would.
    assert np.isinf(softmax_error(machine, X, room**2 / (2 * np.log(n)))).all()


def test_leaders_stay_in_a_crowd():
    """Of sixty leaders one has 500 copies: its neighbours on the circle hear them, unless it is cold."""
    rng = np.random.default_rng(0)
    words = rng.normal(size=(60, 2))
    X, Y = (
        np.vstack([words, np.repeat(words[:1], 500, 0)]),
        rng.normal(size=(60, 2)) / 4,
    )
    machine = interpolate_exactly([X], [Y])
    T = machine.temperature
    assert softmax_error(machine, X, T).max() == 0
    # 2 T log(n) < room still holds here, and it is not enough.
    room = np.sqrt(T * 2 * np.log(len(X)))
    warm = room / (2 * np.log(len(X)))
    moved = abs(machine.transform(X, temperature=warm) - machine.transform(X)).max()
    assert room < 0.05 and moved > 1


def test_targets_are_out_of_the_way():
    """127 / 512 of the radius, which is nearly a quarter: no strip may reach there."""
    X = fractions([[0, 0], [1, 2]])
    Y = fractions([[127, 0], [127, 1]])
    machine = interpolate_exactly([X], [Y])
    assert machine.error == 0
    assert {tuple(z) for z in by_hand(machine.blocks, X)} == {tuple(y) for y in Y}


def test_one_token_needs_no_cold():
    machine = interpolate_exactly([[[0.0, 1.0]], [[2.0, 0.0]]], [[[1, 1]], [[5, 5]]])
    assert machine.temperature == np.inf
    assert np.allclose(machine.transform([[2.0, 0.0]], temperature=1e9), [[5, 5]])


def test_the_bound_of_interpolation_is_attained():
    a, b, c = [0.0, 0.0], [1.0, 1.0], [2.0, 2.0]
    assert len(interpolate_exactly([[a, b, c]], [[a, b]]).blocks) == 2 * 2 + 1
    machine = interpolate_exactly([[a, c], [a, b, c]], [[a], [b, c]])
    assert len(machine.blocks) == 2 * 3 + 2


def test_interpolation_says_when_floats_are_not_enough():
    X = [[[k * 1e-14, 1.0], [0.0, 0.0]] for k in range(1, 30)]
    with pytest.raises(
        ValueError,
        match=r"input \d+ misses its output .* inputs \d+ and \d+ are too near.* Fractions",
    ):
        interpolate_exactly(X, [[[float(k), 0.0], [0.0, 0.0]] for k in range(1, 30)])


# The lemmas on one hardmax layer


def attention(X, Q, rho=0, V=None):
    d = X.shape[1]
    zero, V = (
        fractions(np.zeros((1, d), int)),
        fractions(np.eye(d, dtype=int)) if V is None else V,
    )
    return Block("one", zero, zero.T, zero[0, :1], 1, Q, Q, V, rho).attend(X)


@given(st.lists(tokens, min_size=1, max_size=7, unique=True), tokens)
def test_attention_along_a_direction_finds_the_extreme_tokens(X, v):
    X, v = fractions(X), fractions([v])
    p, after = X @ v[0], attention(fractions(X), v)
    for x, height in zip(after, p, strict=True):
        extreme = p == (p.max() if height > 0 else p.min()) if height != 0 else p == p
        assert (x == X[extreme].sum(0) / Fraction(int(extreme.sum()))).all()


@given(st.lists(tokens, min_size=1, max_size=7, unique=True))
def test_a_dominating_token_is_followed_by_all(X):
    X = fractions(X) + 3
    R = X.max(0) + 1
    after = attention(np.concatenate([X, R[None]]), fractions(np.eye(2, dtype=int)))
    assert (after == R).all()


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=9, unique=True))
def test_tokens_on_a_sphere_stay(u):
    X = np.array(
        [[Fraction(1 - k * k, 1 + k * k), Fraction(2 * k, 1 + k * k)] for k in u]
    )
    assert (attention(X, fractions(np.eye(2, dtype=int))) == X).all()


# Regularised training


@given(st.integers(0, 10**6), st.floats(1e-6, 10))
def test_the_tikhonov_bound(seed, eps):
    """On least squares with an exact solution, where the regularised minimiser is known."""
    rng = np.random.default_rng(seed)
    A, exact = rng.normal(size=(3, 6)), rng.normal(size=6)
    theta = np.linalg.solve(A.T @ A + eps * np.eye(6), A.T @ (A @ exact))
    E = ((A @ (theta - exact)) ** 2).sum()
    assert theta @ theta <= exact @ exact * (1 + 1e-9)
    assert eps * (exact @ exact - theta @ theta) + 1e-12 >= E


@pytest.mark.parametrize("power", [2, 4])
def test_the_penalised_loss_falls_faster_than_the_penalty(power):
    """E = |x - y|^power on a line of pairs that differ by 1: the minimiser is known up to one equation. E / eps goes to
    0, like eps if losses grow like squares of distances, and more slowly if they are flatter."""
    eps = np.geomspace(1e-2, 1e-6, 9)
    loss = []
    for e in eps:
        # Of x - y = g the shortest is (g, -g) / 2, of length g^2 / 2: minimise (1 - g)^power + e g^2 / 2.
        low, high = 0.0, 1.0
        for _ in range(200):
            g = (low + high) / 2
            falls = power * (1 - g) ** (power - 1) > e * g
            low, high = (g, high) if falls else (low, g)
        loss.append((1 - low) ** power)
    over = loss / eps
    assert (np.diff(over) < 0).all() and over[-1] < 0.02
    slope = np.diff(np.log(loss)) / np.diff(np.log(eps))
    assert np.allclose(slope[-2:], power / (power - 1), atol=0.02)
    if power == 2:  # the constant of the lemma: rho^2 = 1/2, and E = 2 distance^2
        assert (np.array(loss) <= 4 * 0.5 * eps**2 / 2).all()
        large = np.geomspace(1e-2, 1e4, 9)  # for all of them: g = 2 / (2 + e)
        assert ((large / (2 + large)) ** 2 <= 4 * 0.5 * large**2 / 2).all()


# The object


def test_batches_masks_and_torch_agree():
    torch = pytest.importorskip("torch")
    for machine, X in (
        *(
            (classify_exactly(*labelled("extremes", 12), mode), family("extremes", 12))
            for mode in ("set", "measure")
        ),
        (
            interpolate_exactly(family("extremes", 5), targets(family("extremes", 5))),
            family("extremes", 5),
        ),
    ):
        batch, mask = padded(X)
        oracle = in_torch(machine)
        for T in (0, 1e-3, 1):
            ours = machine.transform(batch, mask, T)
            theirs = oracle(torch.tensor(batch), torch.tensor(mask), T)
            assert np.allclose(ours[mask], theirs[mask], atol=1e-6)
            alone = [machine.transform(x, temperature=T) for x in X]
            assert np.allclose(np.concatenate(alone), ours[mask], atol=1e-6)
            first = oracle(torch.tensor(X[0])[None], temperature=T)[0]
            assert np.allclose(first, alone[0], atol=1e-6)


def test_states_block_by_block():
    sequences, labels = labelled("extremes", 5)
    machine = classify_exactly(sequences, labels)
    states = list(machine.states(sequences[0]))
    assert len(states) == 2 * len(machine.blocks) + 1
    assert (states[-1][2] == machine.transform(sequences[0])).all() and (
        states[0][2] == sequences[0]
    ).all()
    assert sum(machine.stages().values()) == len(machine.blocks) and repr(
        machine
    ).startswith("ExactTransformer(")
    assert [stage for stage, _, _ in states[1::2]] == [
        block.stage for block in machine.blocks
    ]


def test_fractions_and_floats_share_a_machine():
    exact = classify_exactly(
        [fractions([[0, 1], [1, 0]]), fractions([[0, 1], [2, 2]])], "xy"
    )
    assert (
        exact.predict([[0.0, 1.0], [1.0, 0.0]]) == "x"
        and exact.predict(fractions([[2, 2], [0, 1]]), temperature=1e-3) == "y"
    )
    assert all(type(x) is Fraction for x in exact.transform([[0.0, 1.0]]).flat)
    assert type(exact.margin) is Fraction


A = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: classify_exactly([A], [0], mode="bag"),
            "mode is 'bag': expected one of 'set', 'measure'.",
        ),
        (
            lambda: classify_exactly([A, A], [0]),
            "there are 2 sequences and 1 labels: expected as many of both.",
        ),
        (
            lambda: classify_exactly([A], [[0]]),
            "labels cannot be hashed: expected numbers, strings or tuples.",
        ),
        (
            lambda: classify_exactly([], []),
            "there are no sequences: expected at least one.",
        ),
        (
            lambda: classify_exactly([A, [[1.0]]], [0, 1]),
            "sequence 1 has shape (1, 1): expected tokens as rows, (n, d)",
        ),
        (
            lambda: classify_exactly([A, [A]], [0, 1]),
            "sequence 1 has shape (1, 2, 2): expected tokens as rows, (n, d)",
        ),
        (
            lambda: classify_exactly([A, []], [0, 1]),
            "sequence 1 has shape (0,): expected",
        ),
        (
            lambda: classify_exactly([A, [[1, np.nan]]], [0, 1]),
            "sequence 1 has NaN or infinite entries",
        ),
        (
            lambda: classify_exactly([[[1.0], [2.0]]], [0]),
            "sequence 0 has shape (2, 1): expected tokens as rows, (n, d), with one d >= 2 "
            "for all; sequence 0 has d = 1. Add a coordinate 0 to tokens that have one.",
        ),
        (
            lambda: interpolate_exactly([A], [A, A]),
            "there are 1 inputs and 2 outputs: expected as many of both.",
        ),
        (
            lambda: interpolate_exactly([A], [[[1.0]]]),
            "output 0 has shape (1, 1): expected tokens as rows, (n, d)",
        ),
        (
            lambda: interpolate_exactly([A, A[:1]], [A, A]),
            "input 1 has 1 distinct tokens and output 1 has 2",
        ),
        (
            lambda: interpolate_exactly([A], [A]).predict(A),
            "this transformer has no labels, it maps sequences: expected a call of transform.",
        ),
        (
            lambda: classify_exactly([A], [0]).predict([[1.0, 2, 3]]),
            "X has shape (1, 3): expected tokens of 2 coord",
        ),
        (
            lambda: classify_exactly([A], [0]).predict(A, temperature=-1),
            "temperature is -1: expected a number >= 0",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("mode", ["set", "measure"])
def test_softmax_is_promised_where_floats_tell_sequences_apart(mode):
    """Softmax is computed in float64. Exact sequences that are one to it have no temperature; farther apart, what is promised holds."""
    promised = []
    for ulp in (1, 2, 10, 100, 398, 10**4, 10**6, 10**9):
        for seed in range(4):
            rng, far = np.random.default_rng(seed), 10**9 * (seed % 2)
            X = fractions(rng.normal(size=(2, 2)).round(3)) + far
            Y = X.copy()
            Y[0, 0] += Fraction(ulp, 2**53) * max(far, 1)
            machine = classify_exactly([X, Y], [0, 1], mode)
            T = machine.temperature
            assert [machine.predict(x) for x in (X, Y)] == [0, 1]
            for t in [T, T / 2, T * 1e-6] if 0 < T < np.inf else [T and 1.0]:
                read = [machine.predict(x, temperature=t) for x in (X, Y)]
                assert read == [0, 1], (ulp, seed)
            promised.append((ulp, T > 0))
    assert (1, False) in promised and (10**9, True) in promised


def test_interpolation_without_a_range():
    """Outputs whose square no float holds, or that no float holds."""
    machine = interpolate_exactly([[[0.0, 1], [1, 0]]], [[[1e160, 1.0]]])
    assert 0 < machine.temperature < np.inf
    far = fractions([[10**400, 1]])
    machine = interpolate_exactly([fractions([[0, 1], [1, 0]])], [far])
    assert machine.error == 0
    close = fractions([[1, 2], [3, 1]]), fractions([[1, 2], [3, 1]])
    close[1][0, 0] += Fraction(1, 10**17)
    machine = interpolate_exactly([*close], [close[0][:1], close[0][1:]])
    assert machine.error == 0 and machine.temperature == 0


def test_scores_of_all_pairs_have_to_find_room():
    machine = classify_exactly([[[0.0, 1], [1, 0]], [[1.0, 1], [2, 0]]], [0, 1])
    many = np.zeros((25_000, 2))
    assert machine.predict(many) in (0, 1)
    with pytest.raises(ValueError, match=r"attention would take 18\.6 GB"):
        machine.predict(many, temperature=1e-3)
