"""Attention sets that never change again, also where they are ties whose mean moves.

As long as all sets C_i stay what they are, the layers are linear. Whoever is followed
is longer, so from long to short, with r = 1 / (1 + alpha) and means over j in C_i,

    z_i(t) = M_i + r^t sum over k of binom(t, k) q_i,k
    M_i = mean of M_j,    q_i,0 = z_i(0) - M_i,    q_i,k+1 = alpha * mean of q_j,k.

So the sets stay for ever if and only if these formulas say so: with j in C_i,
<A z_i(t), z_j(t) - z_x(t)> is 0 for all t if x is in C_i, too, and positive for all t
if it is not. Both can be decided, and all numbers are exact here.
"""

from collections import defaultdict
from contextlib import suppress
from fractions import Fraction
from math import ceil, comb, factorial, inf
from time import perf_counter

import numpy as np

MOST_LAYERS = 20_000  # of a gap, looked at one by one, before its sign is left open
UNSURE, TINY = 1e-9, 1e-200  # far more than roundings, and underflow, of such a sum


def for_ever(Z, goals, sets, copies, alpha, A=None, until=inf):
    """(M, q) if all sets stay as they are; else, or if that takes too long, None.

    For a token in its own set the mean is that of the others: right if it is at rest,
    and else its gap to itself, in the mean over those others <A z_i, r^t (Q - q)> with
    q of higher degree than their Q, is not 0 for ever.

    Z       tokens at a layer from which on alpha is the same, (n, d)
    goals   where those go who have settled, (n, d)
    sets    {i: C_i} for all who have not, as arrays of indices
    copies  how often each token is there, (n,)
    until   when to give up, by `perf_counter`
    """
    M, q = goals.copy(), [Z - goals]
    look = Z if A is None else Z @ A
    for i in sorted(sets, key=lambda i: (look[i] * Z[i]).sum(), reverse=True):
        others = sets[i][sets[i] != i]
        weights = copies[others].astype(object) * Fraction(1, int(copies[others].sum()))
        M[i], after = weights @ M[others], [alpha * (weights @ x[others]) for x in q]
        if after[-1].any():
            q.append(np.zeros_like(Z))
        for x, new in zip(q, [Z[i] - M[i], *after], strict=False):
            x[i] = new
    r = 1 / (1 + alpha)
    for i, members in sets.items():
        if perf_counter() > until:
            return None
        gaps = gaps_of(i, members[members != i][0], M, q, A)
        for x in range(len(Z)):  # at t = 0 the gap is 0 for x in C_i alone
            gap = {term: c[x] for term, c in gaps.items() if c[x]}
            if gap and not positive(gap, r, until):
                return None
    return M, q


def gaps_of(i, j, M, q, A):
    """<A z_i(t), z_j(t) - z_x(t)>, the sum of c r^(p t) binom(t, k): {(p, k): c}.

    There is one c for each x: (n,).
    """
    gaps = defaultdict(int)
    looks, apart = [M[i], *(x[i] for x in q)], [M[j] - M, *(x[j] - x for x in q)]
    for a, look in enumerate(looks):
        for b, behind in enumerate(apart):
            c = behind @ (look if A is None else A @ look)
            u, v = max(a - 1, 0), max(b - 1, 0)
            for k in range(max(u, v), u + v + 1):
                # binom(t, u) binom(t, v), in terms of binom(t, k)
                orders = factorial(k - u) * factorial(k - v) * factorial(u + v - k)
                gaps[(a > 0) + (b > 0), k] += factorial(k) // orders * c
    return gaps


def positive(gap, r, until=inf):
    """Is f(t) = sum of c r^(p t) binom(t, k) over {(p, k): c} positive for all t >= 0?

    In the end the term with the largest r^p, of these that with the largest k,
    outweighs all others. From the layer on where they shrink beside it, it is enough
    that it outweighs the negative ones once. What is not known by the time `until` is
    left open: no Yes.
    """
    first = min(gap, key=lambda term: (term[0], -term[1]))
    late = max(first[1], ceil(max(k for _, k in gap) / (1 - r)))
    if gap[first] < 0:
        return False
    value = _Sum(gap, r)
    against = _Sum({term: c for term, c in gap.items() if c < 0 or term == first}, r)
    for t in range(MOST_LAYERS):
        if value.sign(t) <= 0 or perf_counter() > until:
            return False
        if t >= late and against.sign(t) > 0:
            return True
    return False


class _Sum:
    """A sum of c r^(p t) binom(t, k). Its sign is asked, of floats where they tell."""

    def __init__(self, gap, r):
        self.gap, self.r, self.rate = gap, r, float(r)
        top, least = max(map(abs, gap.values())), min(p for p, _ in gap)
        rough = {(p - least, k): Fraction(c) / top for (p, k), c in gap.items()}
        self.rough = [(p, k, float(c)) for (p, k), c in rough.items()]  # the same sign

    def sign(self, t):
        with suppress(OverflowError):  # a binomial may be no float
            left = self.rate**t
            terms = [c * comb(t, k) * left**p for p, k, c in self.rough]
            total = sum(terms)
            if abs(total) > UNSURE * sum(map(abs, terms)) + TINY:
                return total
        return sum(c * self.r ** (p * t) * comb(t, k) for (p, k), c in self.gap.items())
