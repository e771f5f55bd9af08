"""Every route finds the sets of the definition: hulls, rims, candidates and tiles against the naive oracle."""

import tracemalloc
from math import log

import numpy as np
import oracle
import pytest
from clouds import adversary, every_cloud_is_large, generic
from hypothesis import given
from hypothesis import strategies as st
from oracle import as_sets

from hmlib import attention, attention_sets, follow, limit, simulate, step
from hmlib.fast import plane


@pytest.mark.long
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_every_route_against_the_definition(d, no_size_is_small):
    """1 to 4 dimensions: hulls; 5: tiles."""
    for seed in range(500 if d == 2 else 100):
        Z, A = adversary(seed, d)
        expected = oracle.attention_sets(Z, A)
        assert as_sets(attention_sets(Z, A)) == expected, seed
        assert follow(Z, A).tolist() == [min(C) for C in expected], seed


@given(st.integers(0, 10**9), st.integers(1, 5))
def test_routes_on_any_adversary(seed, d):
    with every_cloud_is_large():
        Z, A = adversary(seed, d, most=12)
        assert as_sets(attention_sets(Z, A)) == oracle.attention_sets(Z, A)
        Z = np.clip(Z, -1e100, 1e100)
        np.testing.assert_allclose(
            step(Z, 0.7, A),
            np.array(oracle.step(Z, 0.7, A), float),
            rtol=0,
            atol=1e-14 * abs(Z).max(),
        )


@given(st.integers(0, 10**9), st.booleans())
def test_batches_of_planar_clouds(seed, masked):
    """Each cloud is asked by itself; padding is neither asked nor asking."""
    rng = np.random.default_rng(seed)
    clouds = [adversary(int(seed), 2)[0] for seed in rng.integers(0, 10**6, 3)]
    n = max(map(len, clouds)) if masked else min(map(len, clouds))
    Z = np.stack([np.resize(cloud, (n, 2)) for cloud in clouds])
    real = np.arange(n) < np.array([[len(cloud)] for cloud in clouds])
    real &= rng.random(real.shape) < 0.9
    real[:, 0] = True
    mask = real if masked else None
    with every_cloud_is_large():
        C, c = attention_sets(Z, mask=mask), follow(Z, mask=mask)
    for b in range(3):
        expected = oracle.attention_sets(Z[b], None, mask[b] if masked else None)
        assert as_sets(C[b]) == expected
        assert c[b].tolist() == [min(C, default=-1) for C in expected]


@pytest.mark.parametrize(
    "shape", ["lattice", "circle", "line", "parabola", "copies", "rings"]
)
def test_large_clouds_of_whole_numbers(shape):
    """Scores of small whole numbers are exact in a matrix product: the definition by brute force, 1,500 tokens."""
    rng, n = np.random.default_rng(0), 1500
    angle = rng.uniform(0, 2 * np.pi, n)
    k = np.arange(n) - n // 2
    Z = {
        "lattice": lambda: np.stack(
            np.meshgrid(np.arange(-20, 20), np.arange(-19, 19)), -1
        ).reshape(-1, 2),
        "circle": lambda: np.round(
            10**6 * np.stack([np.cos(angle), np.sin(angle)], -1)
        ),
        "line": lambda: np.stack([3 * k, 1 - 2 * k], -1),
        "parabola": lambda: np.stack([k, k**2 - 9], -1),
        "copies": lambda: rng.integers(-2, 3, size=(n, 2)),
        "rings": lambda: (
            rng.choice([5, 10, 1000], n)[:, None]
            * np.array([[3, 4], [4, 3], [-3, 4], [-4, -3], [0, 5], [5, 0], [0, -5]])[
                rng.integers(0, 7, n)
            ]
        ),
    }[shape]().astype(float)
    for A in (None, np.array([[3.0, 1], [1, 2]])):
        for X in (Z, Z[::-1], Z * 2.0**-600):
            whole = X * 2.0**600 if abs(X).max() < 1 else X
            scores = (whole if A is None else whole @ A) @ whole.T
            assert (
                attention_sets(X, A) == (scores == scores.max(1, keepdims=True))
            ).all()


def test_many_dimensions_in_tiles():
    """Copies in different tiles are one tie, found whole."""
    rng = np.random.default_rng(0)
    Z = rng.integers(-2, 3, size=(1200, 6)).astype(float)
    Z = np.concatenate([Z, Z[rng.integers(0, 1200, 300)]])
    scores = Z @ Z.T
    assert (attention_sets(Z) == (scores == scores.max(1, keepdims=True))).all()


@given(st.integers(0, 10**6))
def test_what_inside_means(seed):
    """Whoever is left out as inside is in the exact hull of the polygon, and not on its boundary."""
    rng = np.random.default_rng(seed)
    Z = adversary(seed, 2)[0]
    Z = Z[np.isfinite(Z * 1e3).all(-1) & (abs(Z).max(-1) < 1e100)]
    if len(Z) == 0:
        return
    some = np.array(sorted(set(map(tuple, Z[rng.integers(0, len(Z), 6)]))))
    corners = some[plane.corners(some)]
    assert sorted(map(tuple, corners.tolist())) == sorted(
        oracle.hull(oracle.exact(some))
    )
    inside = np.delete(np.arange(len(Z)), plane.outside(*Z.T, corners))
    for z in oracle.exact(Z[inside]):
        pairs = zip(corners, np.roll(corners, -1, 0), strict=True)
        assert all(oracle.turn(*oracle.exact([a, b]), z) > 0 for a, b in pairs)


# What has settled


def test_a_trajectory_is_layer_after_layer():
    """Tokens that have settled are not asked again, and go where they would have gone."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(3, rng.integers(1, 90), rng.integers(1, 5)))
        if seed % 3 == 0:
            Z = np.round(Z)
        mask = rng.random(Z.shape[:2]) < 0.8 if seed % 2 else None
        if mask is not None:
            mask[:, 0] = True
        path, X = simulate(Z, 1.5, 6, mask=mask), Z
        for k in range(6):
            X = step(X, 1.5, mask=mask)
            assert (path.tokens[k + 1] == X).all(), (seed, k)


def test_limits_do_not_depend_on_the_route(monkeypatch):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        Z, alpha, _ = generic(seed)
        Z = (Z if Z.shape[1] > 1 else np.repeat(Z, 2, 1) * [1, 0.3])[:, :2]
        if seed % 4 == 0:
            Z = np.round(4 * Z)
        A = np.array([[2.0, 0.3], [0.3, 1]]) if rng.random() < 0.5 else None
        ends = []
        for size in (512, 4):
            monkeypatch.setattr(attention, "LARGE", size)
            ends.append(limit(Z, alpha, A))
        one, two = ends
        assert one.certified and two.certified
        assert (one.leaders.tolist(), one.born.tolist()) == (
            two.leaders.tolist(),
            two.born.tolist(),
        ), seed
        assert (one.follows == two.follows).all()
        np.testing.assert_allclose(
            one.tokens, two.tokens, rtol=0, atol=one.error_bound + two.error_bound
        )


# Growth, counted and not timed


def work(function, *args):
    """What it takes: tokens that ask and are asked, scores, turns, points that are sorted."""
    attention.WORK.clear()
    function(*args)
    return attention.WORK.copy()


def test_growth_in_the_plane():
    """No score at all: a hull whose work grows no faster than n, even where every token is a corner."""
    for make in (
        lambda rng, n: rng.normal(size=(n, 2)),
        lambda rng, n: rng.uniform(-1, 1, size=(n, 2)),
        lambda rng, n: np.stack([np.cos(u := rng.uniform(0, 7, n)), np.sin(u)], -1),
    ):
        for n in (1000, 30_000):
            done = work(step, make(np.random.default_rng(0), n), 1)
            assert done["scores"] == 0 and done["sorted"] <= n
            assert 0 < done["turns"] < 8 * n + 1000
    done = work(step, np.random.default_rng(0).normal(size=(100_000, 2)), 1)
    # of Gaussian tokens hardly any can be a corner
    assert done["sorted"] < 1000 and done["turns"] < 5000


def test_growth_in_space():
    """Only corners are asked: scores grow with an exponent of at most 1.15."""
    few, many = (
        work(step, np.random.default_rng(0).normal(size=(n, 3)), 1)["scores"]
        for n in (2000, 100_000)
    )
    assert log(many / few) / log(50) < 1.15
    assert few > 0 and many < 200 * 100_000


def test_limit_asks_little_once_tokens_have_settled():
    """In the first layer all ask all; all others together take less than half of that."""
    Z = np.random.default_rng(0).normal(size=(50_000, 2))
    for n in (10_000, 50_000):
        done = work(limit, Z[:n], 0.5)
        assert n <= done["asking"] < 1.5 * n  # who still asks
        assert n <= done["asked"] < 1.5 * n  # and who is still worth asking


def test_a_batch_asks_only_the_unsettled():
    """Eight layers for less than the price of two."""
    Z = np.random.default_rng(0).normal(size=(50, 128, 2))
    assert 50 * 128 * 128 <= work(simulate, Z, 1, 8)["scores"] < 2 * 50 * 128 * 128


def test_memory_of_many_dimensions():
    """4,000 tokens in 16 dimensions: less than a tenth of n x n floats."""
    Z = np.random.default_rng(0).normal(size=(4000, 16))
    tracemalloc.start()
    step(Z, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 4000**2
