"""The formal proofs: compiled, without axioms of our own, and their extracted checker against the one in Python."""

import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from certificate import rejected
from clouds import awkward, generic
from test_dynamics import EMERGING

from hmlib import limit

PROOFS = Path(__file__).resolve().parent.parent / "proofs"


@pytest.fixture(scope="module")
def verdicts():
    """What the extracted checker says of [(end, Z, alpha, A), ...]: bool for each."""
    if not (PROOFS / "checker").exists():
        pytest.skip("the proofs are not compiled: run `make proofs` (Debian's coq, libcoq-mathcomp-analysis)")

    def ask(claims):
        text = "\n".join(written(*claim) for claim in claims)
        done = subprocess.run([PROOFS / "checker"], input=text, capture_output=True, text=True, check=True)
        return [line == "yes" for line in done.stdout.split()]

    return ask


def written(end, Z, alpha, A=None):
    """A claim as the checker reads it. What is not certified makes no claim: it is written with a layer alpha = 0."""
    n, d = np.shape(Z)
    alphas = list(alpha) if isinstance(alpha, list | tuple) else [alpha]
    born = dict(zip(end.leaders.tolist(), end.born.tolist(), strict=True))
    words = [n, d, *(np.eye(d, dtype=int) if A is None else A).flat, len(alphas), *(alphas if end.certified else [0])]
    words += [*np.asarray(Z).flat, end.settled_at or 0, *(born.get(i, -1) for i in range(n)), *end.follows.tolist()]
    return " ".join(str(Fraction(x)) for x in [*words, *end.tokens.flat, end.error_bound])


def test_both_checkers_say_yes_to_what_is_certified(verdicts):
    """The clouds of tests/test_limits.py: awkward ones on fractions and on floats, and generic ones."""
    claims = []
    for seed in range(1600):
        Z, alpha, A = awkward(seed)
        Z, alpha = (Z, alpha) if seed < 1000 else (Z.astype(float), float(alpha))
        claims.append((limit(Z, alpha, A), Z, alpha, A))
    for seed in range(0, 2000, 10):
        Z, alpha, A = generic(seed)
        claims.append((limit(Z[:12], round(alpha, 1) + 0.1, A), Z[:12], round(alpha, 1) + 0.1, A))
    assert all(verdicts(claims))


def tampered(end, seed):
    """Claims near the truth, most of them false."""
    rng = np.random.default_rng(seed)
    off, n, m = end.tokens.copy(), len(end.tokens), len(end.leaders)
    off[rng.integers(n), 0] += Fraction(1, 10**9)
    yield replace(end, tokens=off)
    yield replace(end, leaders=end.leaders[: m - 1], born=end.born[: m - 1])
    yield replace(end, born=end.born * 0)
    yield replace(end, born=end.born + 1)
    yield replace(end, follows=np.roll(end.follows, 1))
    yield replace(end, follows=np.full(n, -1))
    yield replace(end, settled_at=max(end.settled_at - 1, 0))
    yield replace(end, settled_at=end.settled_at + 1)
    yield replace(end, certified=False)


def test_both_checkers_agree_on_false_claims(verdicts):
    claims = []
    for seed in range(0, 1000, 17):
        Z, alpha, A = awkward(seed)
        claims += [(false, Z, alpha, A) for false in tampered(limit(Z, alpha, A), seed)]
    claims += [(false, EMERGING, Fraction(1, 2)) for false in tampered(limit(EMERGING, Fraction(1, 2)), 0)]
    accepted = [rejected(*claim) is None for claim in claims]
    assert verdicts(claims) == accepted and sum(accepted) < len(claims) / 2
