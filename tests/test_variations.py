"""The layer with its dials: the theorem's case to the last bit, each dial against loops, and what each assumption is for."""

import re
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import oracle
import pytest
from clouds import ALPHAS, FLOATS, SMALL, clouds, exact, generic, models
from hypothesis import given
from hypothesis import strategies as st

import hmlib
from hmlib import Layer, leaders, settle, simulate, step, vary

TURN = [[1, -4], [4, 1]]  # <A x, x> = |x|^2, and A turns by 76 degrees
TRIANGLE = [[8, 0], [-4, 7], [-4, -7]]
FIVE = exact([[6, 0, 3], [-6, 0, 3], [0, 6, -3], [0, -6, -3], [0, 0, 1]]) / 3
SADDLE = np.diag([1, 1, -1])


@st.composite
def any_matrix(draw, d, heads=None):
    shape = (d, d) if heads is None else (heads, d, d)
    size = int(np.prod(shape))
    return np.array(
        draw(st.lists(SMALL, min_size=size, max_size=size)), dtype=object
    ).reshape(shape)


@st.composite
def any_models(draw, heads=None, **kwargs):
    """An exact cloud with any square matrix, or one for each head."""
    Z = draw(clouds(**kwargs))
    return Z, draw(any_matrix(Z.shape[1], heads))


def random_model(seed, heads=None, n=6, d=2, size=4):
    rng = np.random.default_rng(seed)
    Z = np.unique(rng.integers(-size, size + 1, (n, d)), axis=0)
    shape = (d, d) if heads is None else (heads, d, d)
    return exact(rng.permutation(Z)), rng.integers(-3, 4, shape)


def definite_part(A):
    """The symmetric part of a 2 x 2 matrix has positive eigenvalues."""
    return A[0, 0] > 0 and 4 * A[0, 0] * A[1, 1] > (A[0, 1] + A[1, 0]) ** 2


# The theorem's case


@given(models(), ALPHAS, st.integers(0, 4))
def test_untouched_it_is_step_on_fractions(model, alpha, depth):
    Z, A = model
    path = vary(Z, [Layer(alpha, A)] * depth)
    assert path.dtype == object and (path == simulate(Z, alpha, depth, A).tokens).all()


@given(models(numbers=FLOATS), ALPHAS)
def test_untouched_it_is_step_to_the_last_bit(model, alpha):
    Z, A = model[0].astype(float), None if model[1] is None else model[1].astype(float)
    assert (vary(Z, Layer(float(alpha), A))[1] == step(Z, float(alpha), A)).all()


@pytest.mark.parametrize("seed", range(12))
def test_untouched_it_is_step_on_generic_clouds_batches_and_padding(seed):
    Z, alpha, A = generic(seed)
    assert (
        vary(Z, [Layer(alpha, A)] * 3)[-1] == simulate(Z, alpha, 3, A).tokens[-1]
    ).all()
    rng = np.random.default_rng(seed)
    batch = rng.integers(-3, 4, (4, 9, 3)) / 2
    mask = np.arange(9) < rng.integers(1, 10, (4, 1))
    assert (
        vary(batch, Layer(alpha), mask=mask)[1] == step(batch, alpha, mask=mask)
    ).all()
    one = vary(batch, Layer(alpha, causal=True), mask=mask)[1]
    for Z, real, out in zip(batch, mask, one, strict=True):
        assert (vary(Z[real], Layer(alpha, causal=True))[1] == out[real]).all() and (
            out[~real] == Z[~real]
        ).all()


def test_it_is_exported_and_light():
    assert hmlib.Layer is Layer and {"Layer", "settle", "vary"} <= set(hmlib.__all__)


# Each dial, against loops


@given(any_models(), ALPHAS)
def test_any_matrix(model, alpha):
    Z, A = model
    assert vary(Z, Layer(alpha, A))[1].tolist() == oracle.step(Z, alpha, A)


@given(any_models(numbers=FLOATS))
def test_any_matrix_on_floats_is_exact_in_its_choices(model):
    """alpha = 1 and single choices: the mean of two floats, rounded once or twice."""
    Z, A = model[0].astype(float), model[1].astype(float)
    found, right = vary(Z, Layer(1, A))[1], np.array(oracle.step(Z, 1, A), dtype=float)
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_any_matrix_on_every_road(d, no_size_is_small):
    """Large clouds, too: a matrix that turns tokens, or turns the circle around, or is singular."""
    for seed in range(40):
        rng = np.random.default_rng([seed, d])
        Z = rng.normal(size=(14, d)) if seed % 2 else rng.integers(-3, 4, (14, d))
        A = rng.integers(-3, 4, (d, d)) if seed % 4 < 2 else rng.normal(size=(d, d))
        Z, A = Z.astype(float), A.astype(float)
        scores = exact_scores(Z, A)
        want = [np.flatnonzero(row == row.max()) for row in scores]
        got = vary(Z, Layer(1, A, ties="first"))[1]
        assert (got == (Z + (Z[[C[0] for C in want]] - Z) / 2)).all(), seed


def exact_scores(Z, A):
    Z, A = (np.vectorize(F, otypes=[object])(X) for X in (Z, A))
    return Z @ A.T @ Z.T


@given(any_models(heads=2, d=2), any_matrix(2, heads=2), ALPHAS)
def test_heads_and_values(model, V, alpha):
    Z, A = model
    right = []
    for i, z in enumerate(Z):
        goal = 0
        for a, v in zip(A, V, strict=True):
            C = oracle.attention_sets(Z, a)[i]
            goal = goal + v @ (sum(Z[j] for j in C) * F(1, len(C)))
        right.append((z + alpha * goal / 2) / (1 + alpha))
    assert (vary(Z, Layer(alpha, A, V))[1] == np.array(right)).all()


@given(any_models(), ALPHAS)
def test_one_head_is_none_and_equal_heads_are_one(model, alpha):
    Z, A = model
    one = vary(Z, Layer(alpha, A))[1]
    assert (vary(Z, Layer(alpha, A[None]))[1] == one).all()
    assert (vary(Z, Layer(alpha, [A, A, A]))[1] == one).all()
    eye = np.eye(Z.shape[1], dtype=int)
    assert (vary(Z, Layer(alpha, A, [eye, eye]))[1] == one).all()


def test_heads_that_agree_move_no_leader_by_a_bit():
    Z = np.random.default_rng(0).normal(size=(20, 3))
    path = vary(Z, [Layer(0.7, [np.eye(3)] * 7)] * 30)
    lead = leaders(Z, 0.7)
    assert (path[:, lead] == Z[lead]).all() and settle(
        path[20], Layer(0.7, [np.eye(3)] * 7)
    )[1].all()


@given(clouds(), st.booleans(), st.sampled_from(["mean", "first", "self"]), ALPHAS)
def test_ties_and_causal_masks(Z, causal, ties, alpha):
    after = []
    for i, z in enumerate(Z):
        seen = Z[: i + 1] if causal else Z
        C = sorted(oracle.attention_sets(seen)[i])
        values = {tuple(seen[j]) for j in C}
        if ties == "first" or len(values) == 1:
            C = C[:1]
        elif ties == "self" and i in C:
            C = [i]
        after.append((z + alpha * sum(seen[j] for j in C) * F(1, len(C))) / (1 + alpha))
    assert (vary(Z, Layer(alpha, ties=ties, causal=causal))[1] == np.array(after)).all()


@given(clouds(), st.integers(0, 9), st.booleans())
def test_tolerance(Z, tolerance, causal):
    found = vary(Z, Layer(1, tolerance=tolerance, causal=causal))[1]
    for i, z in enumerate(Z):
        seen = Z[: i + 1] if causal else Z
        scores = [oracle.dot(z, x) for x in seen]
        C = [
            x for x, s in zip(seen, scores, strict=True) if s >= max(scores) - tolerance
        ]
        assert (found[i] == (z + sum(C) * F(1, len(C))) / 2).all()
    assert (vary(Z, Layer(1, tolerance=0))[1] == vary(Z, Layer(1))[1]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_softmax_means(causal):
    rng = np.random.default_rng(0)
    Z, A, T = rng.normal(size=(3, 7, 2)), rng.normal(size=(2, 2)), 0.7
    mask = np.arange(7) < np.array([[7], [4], [5]])
    found = vary(Z, Layer(1.5, A, temperature=T, causal=causal), mask=mask)[1]
    for b, i in np.ndindex(3, 7):
        z = Z[b, i]
        if mask[b, i]:
            seen = [j for j in range(7) if mask[b, j] and (j <= i or not causal)]
            w = np.array([np.exp((A @ z) @ Z[b, j] / T) for j in seen])
            z = (z + 1.5 * w @ Z[b, seen] / w.sum()) / 2.5
        np.testing.assert_allclose(found[b, i], z, rtol=1e-12)


def test_softmax_knows_the_scale_of_its_scores():
    """Bug: of large tokens, or of a large matrix, the gap is one of another size."""
    rng = np.random.default_rng(0)
    Z, A = rng.normal(size=(7, 2)), np.array([[2.0, 1], [1, 1]])
    plain = vary(Z, Layer(1.5, A, temperature=0.5))[1]
    large = vary(Z * 2.0**400, Layer(1.5, A, temperature=0.5 * 2.0**800))[1]
    assert np.array_equal(large, plain * 2.0**400)
    steep = vary(Z, Layer(1.5, A * 2.0**400, temperature=0.5 * 2.0**400))[1]
    assert np.array_equal(steep, plain)


@pytest.mark.parametrize("seed", range(5))
def test_softmax_goes_to_hardmax(seed):
    Z, alpha, A = generic(3 * seed)
    hard = vary(Z, Layer(alpha, A))[1]
    scores = Z @ (np.eye(Z.shape[1]) if A is None else A) @ Z.T
    ordered = np.sort(scores, 1)
    gap = ordered[:, -1] - ordered[:, -2] if len(Z) > 1 else np.ones(1)
    far = np.linalg.norm(Z[:, None] - Z, axis=-1).max()
    for T in (1.0, 1e-1, 1e-2, 1e-3):
        error = np.linalg.norm(
            vary(Z, Layer(alpha, A, temperature=T))[1] - hard, axis=1
        )
        bound = alpha / (1 + alpha) * (len(Z) - 1) * np.exp(-gap / T) * far
        assert (error <= bound + 1e-12 * (1 + far)).all()


def test_annealing_is_a_layer_each():
    Z = np.random.default_rng(0).normal(size=(6, 2))
    layers = [Layer(1, temperature=T) for T in (1, 0.1, 0.01)] + [Layer(1)]
    path = vary(Z, layers)
    assert all(
        (vary(path[k], layer)[1] == path[k + 1]).all() for k, layer in enumerate(layers)
    )


@pytest.mark.parametrize("how", ["rms", "layer"])
def test_norms(how):
    Z = np.random.default_rng(1).normal(size=(9, 4)) * 5
    path = vary(Z, [Layer(0.5, normalise=how)] * 4)
    np.testing.assert_allclose((path[1:] ** 2).mean(-1), 1, rtol=1e-12)
    if how == "layer":
        np.testing.assert_allclose(path[1:].mean(-1), 0, atol=1e-12)
    z = Z[0] + 0.5 * Z[np.argmax(Z @ Z[0])]
    z = z - z.mean() if how == "layer" else z
    np.testing.assert_allclose(path[1, 0], z / np.sqrt((z**2).mean()))
    assert (vary([[0.0, 0.0]], Layer(normalise=how))[1] == 0).all()


@given(clouds(), ALPHAS)
def test_without_normalisation_it_is_the_same_on_another_scale(Z, alpha):
    assert (
        vary(Z, [Layer(alpha, normalise="none")] * 3)[-1]
        == (1 + alpha) ** 3 * simulate(Z, alpha, 3).tokens[-1]
    ).all()


def test_feed_forward_comes_after_attention():
    Z = exact([[1, 2], [3, -1]])
    layer = Layer(1, feed_forward=lambda Z: Z * Z)
    plain = vary(Z, Layer(1))[1]
    assert (vary(Z, layer)[1] == plain + plain * plain).all()
    scaled = vary(Z.astype(float), Layer(1, feed_forward=np.sin, normalise="rms"))[1]
    np.testing.assert_allclose((scaled**2).mean(-1), 1)


@given(any_models(distinct=True), st.randoms(use_true_random=False))
def test_order_does_not_matter_but_to_masks_and_first(model, random):
    Z, A = model
    order = random.sample(range(len(Z)), len(Z))
    for options in ({}, {"tolerance": 2}, {"ties": "self"}):
        layer = Layer(1, A, **options)
        assert (vary(Z[order], layer)[1] == vary(Z, layer)[1][order]).all()
    tie = exact([[1, 0], [2, 1], [2, -1]])
    assert (
        vary(tie[::-1], Layer(ties="first"))[1]
        != vary(tie, Layer(ties="first"))[1][::-1]
    ).any()


@given(any_models(), st.integers(0, 6))
def test_a_causal_mask_hides_the_future(model, i):
    Z, A = model
    whole = vary(Z, [Layer(1, A, causal=True)] * 3)
    part = vary(Z[: i + 1], [Layer(1, A, causal=True)] * 3)
    assert (whole[:, : i + 1] == part).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Layer(temperature=-1), "temperature is -1: expected a number >= 0"),
        (
            lambda: Layer(tolerance=float("nan")),
            "tolerance has NaN or infinite entries (shape ())",
        ),
        (
            lambda: Layer(tolerance=1, temperature=1),
            "exclude each other: expected at most one",
        ),
        (
            lambda: Layer(tolerance=1, ties="first"),
            "exclude each other: expected at most one",
        ),
        (
            lambda: Layer(ties="last"),
            "ties is 'last': expected one of 'mean', 'first', 'self'",
        ),
        (
            lambda: Layer(normalise="l2"),
            "normalise is 'l2': expected one of 'paper', 'none', 'rms', 'layer'",
        ),
        (lambda: vary([[1, 2]], [1]), "expected a Layer, or a sequence of them"),
        (lambda: vary([1, 2], Layer()), "Z has shape (2,): expected tokens as rows"),
        (lambda: vary([[1, 2]], Layer(0)), "alpha is 0: expected a number > 0"),
        (
            lambda: vary([[1, 2]], Layer(A=[[1]])),
            "A has shape (1, 1): expected (2, 2) (or one for each head",
        ),
        (
            lambda: vary([[1, 2]], Layer(V=np.ones((2, 3, 2)))),
            "V has shape (2, 3, 2): expected (2, 2)",
        ),
        (lambda: vary([[1, 2]], Layer(A=np.ones((0, 2, 2)))), "A has shape (0, 2, 2)"),
        (
            lambda: vary([[1, 2]], Layer(A=np.ones((2, 2, 2)), V=np.ones((3, 2, 2)))),
            "A has 2 heads but V has 3",
        ),
        (
            lambda: vary(FIVE, Layer(temperature=1)),
            "softmax leaves the rationals, but the tokens are Fractions",
        ),
        (
            lambda: vary(FIVE, Layer(normalise="rms")),
            "normalise='rms' leaves the rationals",
        ),
        (
            lambda: vary([[1, 2]], Layer(feed_forward=np.sum)),
            "feed_forward returns shape (): expected that of the",
        ),
        (lambda: vary([[1, 2]], Layer(), mask=[False]), "mask hides a whole sequence"),
        (
            lambda: settle([[1, 2]], Layer(causal=True)),
            "leave the other dials as they are",
        ),
        (
            lambda: settle([[1, 2]], Layer(V=[[1, 0], [0, 1]])),
            "leave the other dials as they are",
        ),
        (
            lambda: settle([[[1, 2]]], Layer()),
            "Z has shape (1, 1, 2): expected one cloud, (n, d)",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


# What holds for every matrix


@given(any_models(d=2), ALPHAS, st.lists(SMALL, min_size=2, max_size=2))
def test_hulls_decrease_for_any_matrix(model, alpha, direction):
    Z, A = model
    for options in ({}, {"causal": True}, {"tolerance": 3}, {"ties": "self"}):
        for before, after in pairwise(vary(Z, [Layer(alpha, A, **options)] * 2)):
            assert (after @ direction).max() <= (before @ direction).max()


@given(any_models(d=2, distinct=True), ALPHAS)
def test_leaders_are_frozen_for_any_matrix(model, alpha):
    Z, A = model
    path = [np.array(X) for X in vary(Z, [Layer(alpha, A)] * 3)]
    for before, after in pairwise(path):
        for i, C in enumerate(oracle.attention_sets(before, A)):
            if {i} == C:
                assert (after[i] == before[i]).all() and oracle.attention_sets(
                    after, A
                )[i] == {i}


def check_settlement(Z, A, alpha):
    layer = Layer(alpha, A)
    heads = np.reshape(A, (-1, *np.shape(A)[-2:]))
    for _ in range(2):
        goals, sure = settle(Z, layer)
        sets = [oracle.attention_sets(Z, a) for a in heads]
        path = vary(Z, [layer] * 3)
        for i in np.flatnonzero(sure):
            for t, X in enumerate(path):
                assert (X[i] == goals[i] + (Z[i] - goals[i]) / (1 + alpha) ** t).all()
                values = [{tuple(path[0][j]) for j in s[i]} for s in sets]
                assert all(len(v) == 1 for v in values)
                assert [
                    {tuple(path[0][j]) for j in oracle.attention_sets(X, a)[i]}
                    for a in heads
                ] == values
        Z = path[1]
    return sure.sum()


@pytest.mark.parametrize("heads", [None, 2, 3])
def test_settlement_for_any_matrix_and_several_heads(heads):
    found = 0
    for seed in range(15):
        found += check_settlement(
            *random_model(seed, heads, size=9), F(1 + seed % 4, 2)
        )
    assert found > 5


def test_settled_agrees_with_the_theorem():
    for seed in range(20):
        Z, _ = random_model(seed)
        goals, sure = settle(Z, Layer(1))
        end = hmlib.limit(Z, 1)
        assert (goals[sure] == end.tokens[sure]).all()
        assert end.settled_at == 0 or not sure.all()


@pytest.mark.parametrize("heads", [None, 2])
def test_vertices_of_K_are_maximal_for_every_head(heads):
    """Certified runs only: then K is the hull of the goals."""
    runs = 0
    for seed in range(40):
        Z, A = random_model(seed, heads)
        layer = Layer(1, A)
        for _ in range(15):
            goals, sure = settle(Z, layer)
            if sure.all():
                break
            Z = vary(Z, layer)[-1]
        else:
            continue
        runs += 1
        for v in oracle.hull(goals):
            for a in np.reshape(A, (-1, 2, 2)):
                assert all(oracle.dot(a @ v, v) >= oracle.dot(a @ v, w) for w in goals)
    assert runs > (20 if heads is None else 5)


def spread(Z):
    return np.ptp(np.asarray(Z, float), axis=0).max()


def test_a_negative_definite_head_brings_all_to_one_point():
    rng = np.random.default_rng(0)
    for seed in range(12):
        Z = rng.normal(size=(8, 3))
        R, B, other = rng.normal(size=(3, 3, 3))
        A = -(R.T @ R + 0.3 * np.eye(3)) + (B - B.T) * (seed % 3)
        heads = A if seed % 2 else np.array([A, other])
        assert spread(vary(Z, [Layer(1, heads)] * 300)[-1]) < 1e-6 * spread(Z), seed


def test_semidefinite_the_wrong_way_there_is_one_leader_at_most():
    """<A (v - w), v - w> > 0 for two leaders; an antisymmetric A has 0, a turn of a hyperbola has not."""
    for seed in range(40):
        Z, A = random_model(seed)
        lead = [Z[i] for i, C in enumerate(oracle.attention_sets(Z, A)) if {i} == C]
        assert all(
            oracle.dot(A @ (v - w), v - w) > 0
            for v in lead
            for w in lead
            if (v != w).any()
        )
        turn = [[0, -1], [1, 0]]
        assert sum({i} == C for i, C in enumerate(oracle.attention_sets(Z, turn))) <= 1


def test_a_definite_symmetric_part_forbids_collisions():
    seen = 0
    for seed in range(200):
        Z, A = random_model(seed)
        if definite_part(A):
            seen += 1
            alpha = F(1 + seed % 7, 2)
            after = vary(Z, Layer(alpha, A))[1]
            for i, j in np.ndindex(len(Z), len(Z)):
                D, new = Z[i] - Z[j], after[i] - after[j]
                assert oracle.dot(A @ D, new) >= oracle.dot(A @ D, D) / (1 + alpha)
    assert seen > 10


# Cycles


def test_five_tokens_in_a_true_cycle():
    path = vary(FIVE, [Layer(1, SADDLE)] * 4)
    assert (path[2] == path[0]).all() and (path[1] != path[0]).any()
    assert path[:, 4, 2].tolist() == [F(1, 3), F(-1, 3), F(1, 3), F(-1, 3), F(1, 3)]
    assert oracle.attention_sets(path[0], SADDLE.tolist()) == [
        {0},
        {1},
        {2},
        {3},
        {2, 3},
    ]
    assert oracle.attention_sets(path[1], SADDLE.tolist())[4] == {0, 1}
    shaken = FIVE.copy()
    shaken[4, 0] = F(1, 10**9)
    end = vary(shaken, [Layer(1, SADDLE)] * 6)[-1]
    assert settle(end, Layer(1, SADDLE))[
        1
    ].all()  # the tie is gone, and so is the cycle


def seven():
    """Three pairs, on a triangle, and a follower: the symmetric part of A is definite, and the cycle has three layers."""
    A = np.zeros((4, 4), dtype=int)
    A[:2, :2], A[2:, 2:] = [[1, -6], [5, 1]], [[10, -5], [-5, 10]]
    corners = [(1, 0), (0, 1), (-1, -1)]
    Z = [[*m, *(sign * x for x in m)] for m in corners for sign in (1, -1)]
    return np.array([*exact(Z), [F(2, 7), F(-1, 7), F(0), F(0)]]), A


def test_seven_tokens_in_a_true_cycle_of_three():
    Z, A = seven()
    assert np.linalg.eigvalsh(A + A.T)[0] > 0
    path = vary(Z, [Layer(1, A)] * 3)
    assert (path[3] == path[0]).all() and len({tuple(z) for z in path[:3, 6]}) == 3
    assert all(
        oracle.attention_sets(path[k], A)[:6] == [{i} for i in range(6)]
        for k in range(3)
    )


def test_cycles_need_ties():
    """Random clouds of few values, any A: who comes back, has been tied at every layer; in the plane nobody comes back."""
    back = 0
    for seed in range(60):
        d = 2 + seed % 2
        Z, A = random_model(seed, n=5, d=d, size=2)
        A = np.diag([1, 1, -1]) if seed % 4 == 1 else A
        path = vary(Z, [Layer(1, A)] * 12)
        for p in (1, 2, 3, 4, 6):
            if (path[8] == path[8 - p]).all() and (path[8] != path[7]).any():
                back += 1
                assert d > 2
    ties = [
        oracle.attention_sets(X, SADDLE.tolist())[4]
        for X in vary(FIVE, [Layer(1, SADDLE)] * 5)
    ]
    assert all(len(C) > 1 for C in ties) and back == 0


@given(
    st.one_of(any_models(d=2, distinct=True), any_models(d=3, distinct=True, most=4)),
    ALPHAS,
)
def test_no_cycle_in_the_plane_or_of_four_tokens(model, alpha):
    Z, A = model
    path = vary(Z, [Layer(alpha, A)] * 8)
    for p in range(1, 8):
        assert (path[p] != path[0]).any() or (path[1] == path[0]).all()


def test_no_cycle_of_three_leaders_and_a_tied_follower():
    """On e_1, e_2, e_3 the scores may be any: small whole numbers, a follower that is tied at the start."""
    tied, rng = 0, np.random.default_rng(0)
    while tied < 60:
        M = -rng.integers(1, 5, (3, 3)) * (1 - np.eye(3, dtype=int))  # <A e_v, e_w>
        share = rng.integers(1, 6, 3)
        scores = share @ M
        if (scores == scores.max()).sum() > 1:
            tied += 1
            Z = np.array(
                [
                    *exact(np.eye(3, dtype=int)),
                    [F(int(x), int(share.sum())) for x in share],
                ]
            )
            path = vary(Z, [Layer(F(1 + tied % 3, 2), M.T)] * 6)
            assert (
                all((path[0] != X).any() for X in path[1:])
                or (path[1] == path[0]).all()
            )


def test_a_matrix_that_changes_makes_cycles():
    """Both definite: three tokens in the plane; on a line, or of two tokens, there is none."""
    Z = np.array([[F(1), F(1)], [F(-1), F(1)], [F(-1, 3), F(1)]])
    path = vary(Z, [Layer(1, [[2, 1], [1, 2]]), Layer(1, [[2, -1], [-1, 2]])] * 2)
    assert (path[2] == path[0]).all() and (path[1] != path[0]).any()
    assert [str(x) for x in path[:, 2, 0]] == ["-1/3", "1/3", "-1/3", "1/3", "-1/3"]


HEADS = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[2, 1, 0], [1, 6, -3], [0, -3, 2]],
    [[4, -3, 0], [-3, 3, 0], [0, 0, 1]],
]


def test_three_definite_heads_make_a_cycle_that_attracts():
    Z = np.array([*exact(np.eye(3, dtype=int)), [F(2, 9), F(3, 9), F(4, 9)]])
    assert all(np.linalg.eigvalsh(A)[0] > 0 for A in HEADS)
    path = vary(Z, [Layer(1, HEADS)] * 2)
    assert (path[2] == path[0]).all() and path[1, 3].tolist() == [
        F(1, 9),
        F(3, 9),
        F(5, 9),
    ]
    for X in path[:2]:
        assert all(len(C) == 1 for A in HEADS for C in oracle.attention_sets(X, A))
    near = Z.copy()
    near[3] += np.array([F(1, 1000), F(-1, 500), F(1, 1000)])
    later = vary(near, [Layer(1, HEADS)] * 10)[-1]
    assert (later - Z == (near - Z) / 2**10).all()


def test_two_definite_heads_make_a_cycle_of_ten():
    heads = [
        [[24, -17, 7, 15], [-17, 29, -17, -20], [7, -17, 35, 33], [15, -20, 33, 35]],
        [[37, 31, 4, 0], [31, 34, -1, 10], [4, -1, 9, -3], [0, 10, -3, 20]],
    ]
    assert all(np.linalg.eigvalsh(A)[0] > 0 for A in heads)
    Z = np.array(
        [*exact(np.eye(4, dtype=int)), [F(x, 2046) for x in (769, 254, 480, 543)]]
    )
    path = vary(Z, [Layer(1, heads)] * 10)
    assert (path[10] == path[0]).all() and len({tuple(z) for z in path[:10, 4]}) == 10
    assert all(
        len(C) == 1 for X in path for A in heads for C in oracle.attention_sets(X, A)
    )


def test_values_make_cycles():
    assert vary([[F(1)]], [Layer(1, V=[[-3]])] * 2)[:, 0, 0].tolist() == [1, -1, 1]


def test_a_feed_forward_sublayer_makes_cycles():
    assert vary([[F(1)]], [Layer(1, feed_forward=lambda Z: -2 * Z)] * 2)[
        :, 0, 0
    ].tolist() == [1, -1, 1]


# What is lost


def test_low_rank_is_the_theorem_in_fewer_dimensions():
    rng = np.random.default_rng(0)
    for _ in range(30):
        R, Z = rng.integers(-3, 4, (2, 3)), exact(rng.integers(-5, 6, (7, 3)))
        Y = Z @ R.T
        before, after = (
            {tuple(z) for z in Z},
            {tuple(z) for z in vary(Z, Layer(1, R.T @ R))[1]},
        )
        assert len(before) == len(after)
        if len({tuple(y) for y in Y}) == 7 and Y.any(1).all():
            path, low = vary(Z, [Layer(1, R.T @ R)] * 5), simulate(Y, 1, 5).tokens
            assert (path @ R.T == low).all()
            assert all(
                oracle.attention_sets(X, R.T @ R) == oracle.attention_sets(y)
                for X, y in zip(path, low, strict=True)
            )
    Z, A = exact([[1, 0], [1, 1]]), [[1, 0], [0, 0]]
    path = vary(Z, [Layer(1, A)] * 9)
    assert all(oracle.attention_sets(X, A) == [{0, 1}] * 2 for X in path)
    assert path[9, 0].tolist() == [1, F(1, 2) - F(1, 2**10)]


def test_who_would_follow_others_from_its_goal_is_not_sure():
    """Bug: nobody asks there. Two heads take this token half the way between two leaders, and on the way it turns to others."""
    Z = [[1, 5], [0, -6], [1, 2], [-5, 0], [-2, 2], [3, -6]]
    layer = Layer(1, [[[9, 2], [2, 14]], [[11, 8], [8, 11]]])
    goals, sure = settle(Z, layer)
    end = vary(Z, [layer] * 40)[-1]
    assert not sure[4] and abs(end[4] - goals[4]).max() > 1


def test_a_causal_token_does_not_see_padding_before_it():
    """Bug: what is before it counts, padding too."""
    Z, real = [[10, 0], [1, 0], [0, 1]], [False, True, True]
    after = vary(Z, Layer(1, causal=True), mask=real)[1]
    assert after.tolist() == [[10, 0], [1, 0], [0, 1]]


def test_a_causal_mask_keeps_energy_and_frozen_leaders():
    for seed in range(20):
        Z, _ = random_model(seed)
        alpha = F(1 + seed % 5, 2)
        path = vary(Z, [Layer(alpha, causal=True)] * 3)
        for before, after in pairwise(path):
            for i in range(len(Z)):
                new, moved = after[i], after[i] - before[i]
                assert oracle.dot(new, new) >= oracle.dot(
                    before[i], before[i]
                ) + oracle.dot(moved, moved)
                if oracle.attention_sets(before[: i + 1])[i] == {i}:
                    assert not moved.any() and oracle.attention_sets(after[: i + 1])[
                        i
                    ] == {i}


def test_a_causal_mask_allows_collisions_and_leaders_inside():
    Z = exact([[8, 0], [4, 0], [10, -1], [2, 1]])
    after = vary(Z, Layer(1, causal=True))[1]
    assert after[1].tolist() == after[3].tolist() == [6, 0]
    line = exact([[1], [2], [-1]])
    assert (
        vary(line, [Layer(1, causal=True)] * 3) == line
    ).all()  # all lead, and 1 is no end of [-1, 2]
    assert all(oracle.attention_sets(line[: i + 1])[i] == {i} for i in range(3))
    path = vary(
        exact([[20, 0], [60, -20], [2, 5]]), [Layer(1, causal=True)] * 2
    )  # the third turns away from a leader
    assert [oracle.attention_sets(Z)[2] for Z in path] == [{0}, {1}, {1}] and (
        path[:, 0] == path[0, 0]
    ).all()


def test_other_ties_may_leave_a_vertex_without_a_leader():
    Z = exact([[1, 0], [1, 1]])
    assert oracle.attention_sets(Z) == [{0, 1}, {1}]
    for ties in ("first", "self"):
        assert (vary(Z, Layer(1, ties=ties))[1] == Z).all()
    assert (vary(Z, Layer(1))[1][0] == [1, F(1, 4)]).all() and leaders(
        Z, 1
    ).tolist() == [1]


@given(
    clouds(distinct=True, nonzero=True, d=2), ALPHAS, st.sampled_from(["first", "self"])
)
def test_other_ties_keep_energy_and_distance(Z, alpha, ties):
    after = vary(Z, Layer(alpha, ties=ties))[1]
    for i in range(len(Z)):
        moved = after[i] - Z[i]
        assert oracle.dot(after[i], after[i]) >= oracle.dot(Z[i], Z[i]) + oracle.dot(
            moved, moved
        )
        for j in range(i):
            D, new = Z[i] - Z[j], after[i] - after[j]
            assert oracle.dot(new, new) >= oracle.dot(D, D) / (1 + alpha) ** 2


def test_a_tolerance_takes_the_leaders_away():
    path = vary(exact([[2], [3]]), [Layer(1, tolerance=3)] * 9)[:, :, 0]
    assert path[9].tolist() == [F(5, 2) - F(1, 2**10), F(5, 2) + F(1, 2**10)]


@pytest.mark.parametrize("seed", range(8))
def test_rms_with_the_identity_moves_nobody(seed):
    Z, alpha, _ = generic(2 * seed)
    path = vary(Z, [Layer(alpha, normalise="rms")] * 6)
    np.testing.assert_allclose(
        path[1:], np.broadcast_to(path[1], path[1:].shape), atol=1e-12
    )


def test_rms_unseats_leaders():
    A = np.diag([3, 1, 8])
    path = vary(
        np.array([[0, 1, 2], [1, -2, 2], [2, 1, 1.0]]) / np.sqrt([[5], [9], [6]]),
        [Layer(2, A, normalise="rms")],
    )
    scores = [X @ A @ X.T for X in path]
    ahead = [
        np.diag(s) - np.where(np.eye(3, dtype=bool), -np.inf, s).max(1) for s in scores
    ]
    assert ahead[0][[0, 2]].min() > 0.3 and ahead[1][[0, 2]].max() < -0.08


def test_the_turning_triangle_has_no_leader():
    path = vary(exact(TRIANGLE), [Layer(1, TURN)] * 30)
    assert all(oracle.attention_sets(X, TURN) == [{1}, {2}, {0}] for X in path)
    assert spread(path[-1]) < 1e-6 and not settle(path[-1], Layer(1, TURN))[1].any()


def test_opposites_meet():
    path = vary(exact([[1, 0], [-1, 0]]), Layer(1, [[-1, 0], [0, -1]]))
    assert not path[1].any()


@pytest.mark.parametrize("seed", range(10))
def test_random_matrices_settle(seed):
    """Not proved: random clouds under random matrices end at leaders, with a certificate."""
    rng = np.random.default_rng(seed)
    Z, A = exact(rng.integers(-999, 1000, (6, 3))), rng.integers(-99, 100, (3, 3))
    for _ in range(120):
        if settle(Z, Layer(1, A))[1].all():
            return
        Z = vary(Z, Layer(1, A))[-1]
    raise AssertionError("undecided after 120 layers")


def test_a_tie_beyond_the_floats_is_refused():
    Z = [[1, 1], [1, -1], [0.1, 0]]
    with pytest.raises(ValueError, match=r"layer \d+ leaves the range of floats"):
        vary(Z, [Layer(1, normalise="none")] * 1100)
