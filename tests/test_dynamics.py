"""The layer is the formula, and the theory's first facts hold wherever hypothesis looks."""

from fractions import Fraction

import numpy as np
import oracle
import pytest
from clouds import (
    ALPHAS,
    EMERGING,
    FLOATS,
    FRACTIONS,
    SMALL,
    clouds,
    definite,
    models,
    square,
)
from hypothesis import given
from hypothesis import strategies as st

from hmlib import attention_sets, simulate, step

# The formula


@given(models(numbers=FRACTIONS), ALPHAS)
def test_the_formula_exactly(model, alpha):
    Z, A = model
    assert step(Z, alpha, A).tolist() == oracle.step(Z, alpha, A)


@given(models(numbers=st.one_of(SMALL, FLOATS)), ALPHAS)
def test_the_formula_on_floats(model, alpha):
    Z, A = model[0].astype(float), model[1]
    after = step(Z, float(alpha), A)
    assert after.dtype == float
    np.testing.assert_allclose(
        after,
        np.array(oracle.step(Z, float(alpha), A), float),
        rtol=0,
        atol=1e-14 * abs(Z).max(),
    )


@given(st.data())
def test_a_batch_with_padding_is_its_clouds_one_by_one(data):
    d, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    batch = np.array(
        data.draw(st.lists(FRACTIONS, min_size=2 * n * d, max_size=2 * n * d)), object
    ).reshape(2, n, d)
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=2 * n, max_size=2 * n))
    ).reshape(2, n)
    mask[:, 0] = True
    A, alpha = data.draw(definite(d)), data.draw(ALPHAS)
    after = step(batch, alpha, A, mask=mask)
    assert after.tolist() == [
        oracle.step(Z, alpha, A, real) for Z, real in zip(batch, mask, strict=True)
    ]
    path = simulate(batch, alpha, 3, A, mask=mask)
    assert path.tokens.shape == (4, 2, n, d) and (path.tokens[1] == after).all()
    single = [
        simulate(Z[real], alpha, 3, A) for Z, real in zip(batch, mask, strict=True)
    ]
    for b, (one, real) in enumerate(zip(single, mask, strict=True)):
        assert (path.tokens[:, b, real] == one.tokens).all()
        assert (np.nonzero(real)[0][one.leaders(3)] == path.leaders(3)[b]).all()


def test_simulate_repeats_step_and_goes_on_with_the_last_alpha():
    Z = np.random.default_rng(0).normal(size=(12, 3))
    path = simulate(Z, [0.5, 2, 1], layers=5)
    for k, alpha in enumerate([0.5, 2, 1, 1, 1]):
        assert (path.tokens[k + 1] == step(path.tokens[k], alpha)).all()
        assert (path.attention_sets(k) == attention_sets(path.tokens[k])).all()
    assert path.layers == 5 and (path.tokens[0] == Z).all()
    assert simulate(Z, 1, layers=0).tokens.shape == (1, 12, 3)


def test_the_numbers_that_go_in_decide_the_arithmetic():
    exact = step(EMERGING, 0.5)
    assert all(isinstance(x, Fraction) for x in exact.flat)
    assert exact.tolist() == oracle.step(EMERGING, Fraction(1, 2))
    assert step(EMERGING.astype(float), Fraction(1, 2)).dtype == float
    assert step([[1, 2], [3, 4]], 1).dtype == float


# Ties, duplicates, zeros


@given(models(numbers=FLOATS), ALPHAS, st.randoms(use_true_random=False))
def test_equal_tokens_stay_equal_to_the_last_bit(model, alpha, random):
    Z, A = model[0].astype(float), model[1]
    twice = np.array(random.sample([i % len(Z) for i in range(3 * len(Z))], 3 * len(Z)))
    path = simulate(Z[twice], float(alpha), 4, A).tokens
    for i in range(len(Z)):
        assert (path[:, twice == i] == path[:, twice == i][:, :1]).all()


@given(
    models(numbers=st.one_of(SMALL, FLOATS)), ALPHAS, st.randoms(use_true_random=False)
)
def test_permutations_to_the_last_bit(model, alpha, random):
    Z, A = model[0].astype(float), model[1]
    p = np.array(random.sample(range(len(Z)), len(Z)))
    assert (step(Z[p], float(alpha), A) == step(Z, float(alpha), A)[p]).all()


def test_a_leader_with_copies_stands_still_to_the_last_bit():
    Z = np.array([[0.1, 0.3]] * 3 + [[0.05, 0.1]])
    assert (step(Z, 0.7)[:3] == Z[:3]).all()


def test_a_zero_token_follows_everybody_and_jumps_to_the_edge():
    path = simulate([[0, 0], [1, 0], [0, 1]], 1, 40)
    assert path.attention_sets(0)[0].all()
    assert path.tokens[1, 0].tolist() == [1 / 6, 1 / 6]
    assert path.tokens[-1, 0].round(9).tolist() == [
        0.5,
        0.5,
    ]  # the projection of 0 on the edge


def test_a_zero_token_may_stay_for_ever():
    path = simulate([[0, 0], [1, 0], [-1, 0]], 1, 10)
    assert (path.tokens[:, 0] == 0).all()


# Leaders


def test_the_emerging_leader():
    path = simulate(EMERGING, Fraction(1, 2), 8)
    assert path.leaders(0).tolist() == [0, 2]
    assert path.leaders(1).tolist() == [0, 1, 2] == path.leaders(8).tolist()
    assert (
        path.tokens[1, 1].tolist()
        == [Fraction(-1, 18), Fraction(5, 36)]
        == path.tokens[8, 1].tolist()
    )


@given(models(nonzero=True, most=6), ALPHAS)
def test_leaders_are_those_of_the_definition(model, alpha):
    Z, A = model
    path = simulate(Z, alpha, 4, A)
    for k in range(5):
        assert path.leaders(k).tolist() == oracle.leaders(path.tokens[: k + 1], A)


@pytest.mark.long
def test_no_leaders_from_rounding():
    """Far beyond the layer where tokens merge in float64, the leaders are those found before."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(rng.integers(1, 20), rng.integers(1, 5)))
        path = simulate(Z, rng.choice([0.5, 2, 8]), 120)
        assert (path.leaders(120) == path.leaders(30)).all()


# The theory's first facts, exactly


@given(models(numbers=FRACTIONS), ALPHAS, st.data())
def test_orthogonal_maps(model, alpha, data):
    """Turn the tokens (a rational Cayley transform) and A with them: everything turns along."""
    Z, A = model
    d = Z.shape[1]
    K = np.array(
        data.draw(st.lists(SMALL, min_size=d * d, max_size=d * d)), dtype=object
    ).reshape(d, d)
    Q = cayley(K - K.T)
    assert (np.eye(d, dtype=int) == Q @ Q.T).all()
    turned = None if A is None else Q @ A @ Q.T
    assert (step(Z @ Q.T, alpha, turned) == step(Z, alpha, A) @ Q.T).all()


def cayley(K):
    """(I - K)(I + K)^-1 in Fractions, by elimination."""
    d = len(K)
    eye = np.array([[Fraction(i == j) for j in range(d)] for i in range(d)])
    M = np.concatenate([(eye + K).T, (eye - K).T], axis=1)  # solve X (I + K) = I - K
    for k in range(d):
        pivot = next(i for i in range(k, d) if M[i, k] != 0)
        M[[k, pivot]] = M[[pivot, k]]
        M[k] /= M[k, k]
        for i in range(d):
            if i != k:
                M[i] -= M[i, k] * M[k]
    return M[:, d:].T


@given(
    models(numbers=FRACTIONS),
    ALPHAS,
    st.fractions(Fraction(1, 9), 9, max_denominator=9),
)
def test_positive_scaling(model, alpha, factor):
    Z, A = model
    assert (step(factor * Z, alpha, A) == factor * step(Z, alpha, A)).all()


@given(clouds(numbers=FRACTIONS), ALPHAS, st.data())
def test_the_reduction_to_the_identity(Z, alpha, data):
    """A = R^T R: the tokens R z follow the model with A = I."""
    d = Z.shape[1]
    R = np.array(
        data.draw(st.lists(SMALL, min_size=d * d, max_size=d * d)), dtype=object
    ).reshape(d, d)
    R = np.triu(R, 1) + np.diag(
        data.draw(st.lists(st.integers(1, 3), min_size=d, max_size=d))
    )
    assert (attention_sets(Z @ R.T) == attention_sets(Z, R.T @ R)).all()
    assert (step(Z @ R.T, alpha) == step(Z, alpha, R.T @ R) @ R.T).all()


@given(clouds(numbers=FRACTIONS, d=2), ALPHAS, st.data())
def test_hulls_decrease(Z, alpha, data):
    """Hulls decrease, in the plane: by the exact hull."""
    after = step(Z, alpha, data.draw(definite(2)))
    assert all(oracle.in_hull(p, Z) for p in after)


@given(models(numbers=FRACTIONS), ALPHAS, st.data())
def test_hulls_decrease_in_every_direction(model, alpha, data):
    """In any dimension: the hull reaches no farther in any direction."""
    Z, A = model
    after = step(Z, alpha, A)
    for _ in range(10):
        u = np.array(data.draw(st.tuples(*[SMALL] * Z.shape[1])), dtype=object)
        assert (after @ u).max() <= (Z @ u).max()


@given(models(numbers=FRACTIONS), ALPHAS)
def test_energy_inequality(model, alpha):
    """|z+|^2 >= |z|^2 + |z+ - z|^2."""
    Z, A = model
    after = step(Z, alpha, A)
    assert (square(after, A) >= square(Z, A) + square(after - Z, A)).all()


@given(models(numbers=FRACTIONS, nonzero=True), ALPHAS)
def test_the_attention_graph_has_no_cycles(model, alpha):
    """Take away the arrows between equal tokens; then peel off those whom nobody is left to follow."""
    for Z in simulate(model[0], alpha, 2, model[1]).tokens:
        arrows = attention_sets(Z, model[1]) & (Z[:, None] != Z).any(-1)
        left = np.ones(len(Z), bool)
        while left.any():
            end = left & ~(arrows & left).any(-1)
            assert end.any()
            left &= ~end


@given(models(numbers=FRACTIONS), ALPHAS)
def test_no_collisions(model, alpha):
    """|z_i+ - z_j+| >= |z_i - z_j| / (1 + alpha)."""
    Z, A = model
    after = step(Z, alpha, A)
    for i in range(len(Z)):
        assert (
            (1 + alpha) ** 2 * square(after - after[i], A) >= square(Z - Z[i], A)
        ).all()


@given(models(numbers=FRACTIONS, distinct=True, most=6), ALPHAS)
def test_leaders_are_frozen(model, alpha):
    """A token that follows itself alone does so for ever, and stands still."""
    Z, A = model
    path = simulate(Z, alpha, 4, A)
    alone = [
        C.diagonal() & (C.sum(-1) == 1) for C in map(path.attention_sets, range(5))
    ]
    for k in range(4):
        assert (alone[k] <= alone[k + 1]).all()
        assert (path.tokens[k + 1][alone[k]] == path.tokens[k][alone[k]]).all()


@given(models(numbers=FRACTIONS), ALPHAS, st.integers(0, 4))
def test_without_normalisation_it_is_an_exact_rescaling(model, alpha, layers):
    """W^k = (1 + alpha)^k Z^k, where W^(k+1) = W + alpha m(W): same sets, same leaders, larger numbers."""
    Z, A = model
    W = Z
    for _ in range(layers):
        W = np.array(oracle.step(W, alpha, A), dtype=object) * (1 + alpha)
    assert ((1 + alpha) ** layers * simulate(Z, alpha, layers, A).tokens[-1] == W).all()


@pytest.mark.parametrize("alpha", [1e-12, 1e12, 1e300])
def test_extreme_rates(alpha):
    Z = np.random.default_rng(0).normal(size=(5, 2))
    after = step(Z, alpha)
    target = Z[attention_sets(Z).argmax(-1)]
    np.testing.assert_allclose(after, Z if alpha < 1 else target, atol=1e-11)


@given(models(numbers=FRACTIONS), ALPHAS, st.integers(0, 10**6))
def test_one_layer_solves_the_linear_problem(model, alpha, seed):
    """One layer goes the share alpha / (1 + alpha) to a maximiser of <grad J(z), .> over the hull; J never decreases."""
    Z, A = model
    after = step(Z, alpha, A)
    m = Z + (1 + alpha) / alpha * (after - Z)
    gradient = Z if A is None else Z @ A
    weights = (
        np.random.default_rng(seed).integers(0, 9, size=(40, len(Z))).astype(object)
    )
    weights[:, 0] += 1
    hull = (weights @ Z) / weights.sum(1)[:, None] * Fraction(1)
    reached = (gradient * m).sum(-1)
    assert (reached == (gradient @ Z.T).max(-1)).all() and (
        reached >= (gradient @ hull.T).max(-1)
    ).all()
    assert (square(after, A) >= square(Z, A)).all()
