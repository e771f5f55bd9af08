"""What floats certify is what the run on fractions finds, in every field, also where floats can hardly tell."""

import os
from fractions import Fraction

import numpy as np
from clouds import near

from hmlib import inputs, limit, limits

MANY = int(os.environ.get("HMLIB_CLOUDS", 1))  # how many times as many clouds: HMLIB_CLOUDS=20 for a long run


def differs(Z, alpha, A, rational=inputs.rationals):
    """In what the limit on floats differs from that on fractions; None where it does not, or has no certificate."""
    end = limit(Z, alpha, A)
    if not end.certified:
        return None
    truth = limit(rational(Z), rational(np.asarray(alpha)), None if A is None else rational(A))
    if not truth.certified:
        return "certified"
    for name in ("leaders", "born", "follows", "settled_at"):
        if not np.array_equal(getattr(end, name), getattr(truth, name)):
            return name
    off = abs(rational(end.tokens) - truth.tokens).max()
    return "tokens" if off > Fraction(end.error_bound) else None


def test_near_copies_and_extreme_rates(monkeypatch):
    """5,000 clouds; HMLIB_CLOUDS=20 makes it 100,000."""
    monkeypatch.setattr(limits, "MOST_LAYERS", 200)  # small rates are left open soon
    for seed in range(5_000 * MANY):
        Z, alpha, A = near(seed)
        assert differs(Z, alpha, A) is None, (seed, differs(Z, alpha, A))
