"""What floats certify is what the run on fractions finds, in every field, also where floats can hardly tell."""

import os
from fractions import Fraction

import numpy as np
import pytest
from clouds import near

from hmlib import limit, limit_polytope, runs
from hmlib.arithmetic import rationals

MANY = int(
    os.environ.get("HMLIB_CLOUDS", 1)
)  # how many times as many clouds: HMLIB_CLOUDS=20 for a long run


def differs(Z, alpha, A):
    """In what the limit on floats differs from that on fractions; None where it does not, or claims nothing."""
    end = limit(Z, alpha, A)
    exact = (
        rationals(Z),
        rationals(np.asarray(alpha)),
        None if A is None else rationals(A),
    )
    truth = limit(*exact)
    if not end.certified:
        true = dict(zip(truth.leaders.tolist(), truth.born.tolist(), strict=True))
        claims = dict(zip(end.leaders.tolist(), end.born.tolist(), strict=True)).items()
        return (
            None
            if claims <= true.items() or not truth.certified
            else "leaders, without a certificate"
        )
    if not truth.certified:
        return "certified"
    for name in ("leaders", "born", "follows", "settled_at"):
        if not np.array_equal(getattr(end, name), getattr(truth, name)):
            return name
    if abs(rationals(end.tokens) - truth.tokens).max() > Fraction(end.error_bound):
        return "tokens"
    if Z.shape[1] == 2 and len(truth.leaders) > 2 and np.ptp(end.tokens) > 1e-3:
        K, exactly = limit_polytope(Z, alpha, A), limit_polytope(*exact)
        if K.shape != exactly.shape or abs(rationals(K) - exactly).max() > Fraction(
            end.error_bound
        ):
            return "polytope"
    return None


@pytest.mark.long
def test_near_copies_and_extreme_rates(monkeypatch):
    """5,000 clouds; HMLIB_CLOUDS=20 makes it 100,000."""
    monkeypatch.setattr(runs, "MOST_LAYERS", 200)  # small rates are left open soon
    for seed in range(5_000 * MANY):
        Z, alpha, A = near(seed)
        assert differs(Z, alpha, A) is None, (seed, differs(Z, alpha, A))


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "d"),
    [(512, 2), (513, 2), (523, 2), (700, 1), (600, 3), (513, 4), (600, 5), (2500, 2)],
)
def test_where_one_route_ends_and_another_begins(n, d):
    """Large clouds with near-copies of those at the rim, also after forgetting; larger ones behind the long flag."""
    for seed in range(2 * MANY if n < 1000 else MANY):
        rng = np.random.default_rng([n, d, seed])
        Z = rng.normal(size=(n * 2 if MANY > 1 and n > 1000 else n, d))
        rim = np.argsort(-(Z**2).sum(1))[:6]
        Z[rng.integers(0, n, 18)] = Z[rim].repeat(3, 0) * (
            1 + rng.integers(-3, 4, (18, 1)) * rng.choice([2.0**-52, 1e-9])
        )
        alpha = float(rng.choice([0.5, 3.0, 1e5, 1e10, 1e16]))
        assert differs(Z, alpha, None) is None, seed
