"""Ties that last: tokens settle through them, at 0, and even where those that are followed never come to rest."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from clouds import awkward
from forever import first_change, first_not_positive
from hypothesis import given
from hypothesis import strategies as st
from oracle import attention_sets, dot, exact, step, times

from hmlib import limit, simulate
from hmlib.frozen import positive

MOVING = [[3, 3, -3], [-3, 3, 3], [3, 3, -1], [-1, 3, 3], [0, 1, 0]]


def test_five_tokens_tied_for_ever_with_a_mean_that_moves():
    """From layer 1 on the fifth follows the third and the fourth; all of it in closed form."""
    half, layers = Fraction(1, 2), 40
    path = simulate(np.array(MOVING, object), alpha=Fraction(1), layers=layers)
    for t in range(1, layers + 1):
        a, b = (t - half) * half**t, 3 - 2 * half**t
        assert np.flatnonzero(path.attention_sets(t)[4]).tolist() == [2, 3]
        assert path.tokens[t, 4].tolist() == [a, b, a]
        assert (path.tokens[t, 2:4].sum(0) * half).tolist() == [half**t, 3, half**t]
        scores = path.tokens[t] @ path.tokens[t, 4]
        assert scores.tolist() == [
            3 * b,
            3 * b,
            3 * b + 2 * a * half**t,
            3 * b + 2 * a * half**t,
            2 * a**2 + b**2,
        ]


@pytest.mark.parametrize("alpha", ["1/10", "1/2", "1", "3"])
def test_the_criterion_sees_it(alpha):
    """No finite number of layers shows it; the criterion says so at once, and where the fifth token ends."""
    Z, alpha = exact(MOVING), Fraction(alpha)
    for _ in range(30):
        change, forms = first_change(Z, alpha)
        if forms and change is None:
            break
        Z = step(Z, alpha)
    M, q = forms[4]
    assert (
        change is None
        and M == [0, 3, 0]
        and len(q) == 2
        and q[1][0] == q[1][2] > 0 == q[1][1]
    )


@pytest.mark.parametrize("seed", range(0, 400, 10))
def test_the_criterion_is_right(seed):
    """On awkward clouds: the sets change exactly at the layer that it says, or not at all; tokens are where it says."""
    Z, alpha, A = awkward(seed)
    Z = exact(Z[:10])
    for _ in range(4):
        change, forms = first_change(Z, alpha, A)
        if forms:
            path, last = [Z], 12 if change is None else min(change, 12)
            for _ in range(last):
                path.append(step(path[-1], alpha, A))
            sets = [attention_sets(X, A) for X in path]
            assert all(
                s == sets[0] for s in sets[: last if change == last else last + 1]
            )
            assert change != last or sets[last] != sets[0]
            r = 1 / (1 + alpha)
            for t in (0, 1, 2, last):
                if t <= last:
                    for z, (M, q) in zip(path[t], forms, strict=True):
                        sums = [
                            sum(c * part[k] for c, part in zip(row(t), q, strict=False))
                            for k in range(len(z))
                        ]
                        assert z == [m + r**t * s for m, s in zip(M, sums, strict=True)]
        else:  # a token in its own set that moves, or one at 0 that will: the sets change
            X, sets = Z, attention_sets(Z, A)
            assert any(
                attention_sets(X := step(X, alpha, A), A) != sets for _ in range(40)
            )
        if change is None and forms:
            return
        Z = step(Z, alpha, A)


def row(t):
    """Row t of Pascal's triangle, and zeros."""
    numbers = [1]
    for k in range(20):
        numbers.append(numbers[-1] * (t - k) // (k + 1))
    return numbers


@pytest.mark.parametrize(
    ("terms", "change"),
    [
        ([(0, 0, 1)], None),
        ([(1, 0, 1), (0, 0, -1)], 0),
        ([(1, 0, 100), (0, 0, -1)], 7),  # 100 / 2^t is at most 1 from t = 7 on
        ([(1, 0, 1), (1, 1, -1)], 1),
        (
            [(0, 0, Fraction(51, 100)), (1, 1, -1)],
            None,
        ),  # t / 2^t is never above a half
        ([(0, 0, Fraction(1, 2)), (1, 1, -1)], 1),
        ([(0, 0, Fraction(1, 100)), (1, 0, 1), (1, 1, -1), (1, 2, 1)], None),
        ([(2, 0, 1), (1, 3, 1), (2, 1, -1)], 1),
        ([(2, 0, 3), (1, 3, 1), (2, 2, -1)], None),
        ([(2, 0, 3), (2, 1, 1), (2, 2, -1)], 5),
    ],
)
def test_positive_for_ever(terms, change):
    """Sums of c binom(t, m) 2^(-k t): the first that is not positive, or a proof that there is none."""

    def f(t):
        return sum(c * comb(t, m) * Fraction(1, 2) ** (k * t) for k, m, c in terms)

    assert (
        first_not_positive(
            f, Fraction(1, 2), [(k, m, Fraction(c)) for k, m, c in terms]
        )
        == change
    )
    assert [t for t in range(60) if f(t) <= 0][:1] == (
        [] if change is None else [change]
    )
    assert positive({(k, m): Fraction(c) for k, m, c in terms}, Fraction(1, 2)) == (
        change is None
    )


TERMS = st.one_of(st.just((0, 0)), st.tuples(st.integers(1, 2), st.integers(0, 3)))
NUMBERS = st.integers(-30, 30).filter(bool).map(lambda c: Fraction(c, 3))


@given(st.dictionaries(TERMS, NUMBERS, min_size=1), st.sampled_from([1, 9, 10, 19, 99]))
def test_positive_for_ever_whatever_the_terms(gap, r):
    """`frozen.positive` against an independent search for the first layer that is not positive."""
    r = Fraction(r, 1 + r)
    terms = [(p, k, c) for (p, k), c in gap.items()]

    def f(t):
        return sum(c * comb(t, k) * r ** (p * t) for p, k, c in terms)

    assert positive(gap, r) == (first_not_positive(f, r, terms) is None)


def test_a_gap_that_takes_too_long_is_left_open(monkeypatch):
    """1 / 2^t - 1 / 1000 + ... : where the leading term outweighs the others only after many layers, nothing is claimed."""
    monkeypatch.setattr("hmlib.frozen.MOST_LAYERS", 20)
    gap = {
        (0, 0): Fraction(1, 10**9),
        (1, 0): Fraction(2),
        (1, 1): Fraction(-1),
        (1, 2): Fraction(1),
    }
    assert not positive(gap, Fraction(1, 2))
    monkeypatch.undo()
    assert positive(gap, Fraction(1, 2))


def settled_ties(Z, A):
    """The tokens that lem-settled-ties and lem-settlement settle at once: {i: where they go}."""
    sets, goals = attention_sets(Z, A), {}
    for i in sorted(range(len(Z)), key=lambda i: -dot(times(A, Z[i]), Z[i])):
        C, others = sorted(sets[i]), [j for j in sets[i] if Z[j] != Z[i]]
        if not any(Z[i]) or any(j not in goals for j in others):
            continue
        m = [sum(Z[j][c] for j in C) / len(C) for c in range(len(Z[i]))]
        there = [goals[j] if j in others else Z[i] for j in C]
        at_rest = len(others) == len(C) or m == Z[i]
        balance = m == [sum(g[c] for g in there) / len(C) for c in range(len(m))]
        ties = all(
            dot(times(A, look), x) == dot(times(A, look), m)
            for look in (m, Z[i])
            for x in [*there, *(Z[j] for j in C)]
        )
        if (
            at_rest
            and balance
            and ties
            and max(dot(times(A, m), x) for x in Z) == dot(times(A, m), m)
        ):
            goals[i] = m
    return goals


@pytest.mark.parametrize("seed", range(1, 400, 10))
def test_ties_settle(seed):
    """Whoever meets the criterion keeps its set, and its goal, whatever the others do and however alpha changes."""
    Z, alpha, A = awkward(seed)
    Z = exact(Z[:10])
    goals, sets = settled_ties(Z, A), attention_sets(Z, A)
    for k in range(8):
        rate = alpha * (1 + k % 3)
        after = step(Z, rate, A)
        for i, goal in goals.items():
            assert attention_sets(Z, A)[i] == sets[i]
            assert all(
                (1 + rate) * (z - g) == old - g
                for z, old, g in zip(after[i], Z[i], goal, strict=True)
            )
        Z = after


@pytest.mark.parametrize(
    ("others", "stays"),
    [
        ([[2, 0], [-2, 0]], True),
        (
            [[2, 0], [-2, 0], [1, 0], [-1, 0]],
            True,
        ),  # followers that approach their leaders in balance
        (
            [[2, 0], [-2, 0], [1, 0], [0, -1], [-1, 1]],
            False,
        ),  # in balance now, and not for ever
        ([[2, 0], [-2, 1]], False),
    ],
)
def test_a_zero_token_stays_if_all_balance(others, stays):
    """Now and in the limit; on fractions."""
    Z = np.array([[0, 0], *others], object)
    path = simulate(Z, alpha=Fraction(1), layers=12).tokens
    assert (path[:, 0] == 0).all() == stays
    end = limit(Z, Fraction(1))
    assert end.certified and (end.tokens[0] == 0).all() == stays
