"""What floats certify (lem-floats), constant by constant: all of a small float format, and worst cases of float64.

u is half of eps, the largest relative rounding; s the smallest subnormal number.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmlib import limit, rounding
from hmlib.attention import attend
from hmlib.dynamics import advance
from hmlib.rounding import EPS

# Of lem-floats: a layer moves no coordinate by more than LAYER max|Z| + LOST too far.
LAYER, LOST = 7 * Fraction(EPS), Fraction(rounding.SMALLEST)


def rounded(x, p, s):
    """x to the nearest float of p bits, with subnormals: multiples of s; to even. Exact where x is, in float64."""
    unit = np.maximum(np.ldexp(1.0, np.frexp(x)[1] - p), s)
    return np.rint(x / unit) * unit


def small_floats(p, low, high):
    """All floats of p bits from 0 to 2^high, and s = 2^low."""
    normal = [
        k * 2.0**e
        for e in range(low + 1, high - p + 1)
        for k in range(2 ** (p - 1), 2**p)
    ]
    return np.array(
        [*(k * 2.0**low for k in range(2**p)), *normal, 2.0**high]
    ), 2.0**low


def test_small_floats_round_as_they_should():
    """Against fractions: the nearest of all floats, and of two equally near ones the even one."""
    floats, s = small_floats(3, -5, 3)
    assert (np.diff(floats) > 0).all() and (rounded(floats, 3, s) == floats).all()
    x = np.arange(0, 8, 2.0**-8)
    assert (abs(rounded(x, 3, s) - x) == abs(floats[:, None] - x).min(0)).all()
    # halfway: 9/8 lies between 1 (mantissa 100) and 5/4 (101), 11/8 between 5/4 and 3/2 (110)
    assert rounded(np.array([9 / 8, 11 / 8, s / 2, 3 * s / 2]), 3, s).tolist() == [
        1,
        3 / 2,
        0,
        2 * s,
    ]


@pytest.mark.parametrize("p", [4, 5, 6])
def test_the_rounding_of_a_layer_in_a_small_format(p):
    """All z, m and alpha, huge and tiny, in p bits: a step is off by at most 9 u max(|z|, |m|) and little more.

    The division of alpha by 1 + alpha is rounded twice on the way, by float64 first; with p <= 25 that changes nothing.
    """
    u = 2.0**-p
    positive, s = small_floats(p, -8, 0)
    alphas = small_floats(p, -8, p + 4)[0][
        1:
    ]  # up to where 1 + alpha is alpha, and alpha / (1 + alpha) is 1
    z, m = np.concatenate([-positive, positive])[:, None], positive[None]
    top = np.maximum(abs(z), m)
    allowed = (2 * ((1 + u) ** 3 / (1 - u) - 1) * (1 + u) + u) * top + (0.5 + top) * (
        1 + u
    ) ** 3 * s
    assert 2 * ((1 + u) ** 3 / (1 - u) - 1) * (1 + u) + u <= 9 * u * (1 + 4 * u)
    most, without = 0, 0
    for alpha in alphas:
        share = rounded(alpha / rounded(1 + alpha, p, s), p, s)
        assert share <= 1
        new = rounded(z + rounded(share * rounded(m - z, p, s), p, s), p, s)
        off = abs(new - (z + alpha / (1 + alpha) * (m - z))) - 1e-12
        assert (off <= allowed).all()
        most = max(most, ((off - (0.5 + top) * s) / np.maximum(top, s)).max() / u)
        without = max(without, (off / np.maximum(top, s)).max() / u)
    assert (
        3.5 < most < 9 and without > 4
    )  # the constant is needed up to a factor of about 2


def test_the_rounding_of_a_mean_in_a_small_format():
    """fl(fl(sum of fl(copies x)) / n), the sum rounded once: off by at most 3 u max|x| and little more."""
    p = 5
    u = 2.0**-p
    positive, s = small_floats(p, -8, 0)
    x, y = np.concatenate([-positive, positive])[:, None], positive[None]
    top, most = np.maximum(abs(x), y), 0
    for a, b in product(range(1, 8), repeat=2):
        total = rounded(rounded(a * x, p, s) + rounded(b * y, p, s), p, s)
        off = abs(rounded(total / (a + b), p, s) - (a * x + b * y) / (a + b)) - 1e-12
        assert (off <= ((1 + u) ** 3 - 1) * top + s / 2).all()
        most = max(most, ((off - s / 2) / np.maximum(top, s)).max() / u)
    assert 1 < most < 3 * (1 + 2 * u)


ALPHAS = [
    5e-324,
    1e-310,
    1e-300,
    2.0**-53,
    1e-8,
    0.1,
    0.5,
    1.0,
    3.0,
    1e8,
    2.0**52 + 1,
    2.0**53,
    1e16,
    1e300,
    1.7e308,
]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_rounding_of_a_layer_in_float64(alpha):
    """The layer of hmlib against fractions, at all sizes; the worst of a thousand is climbed from, bit by bit."""
    rng, worst = np.random.default_rng(ALPHAS.index(alpha)), 0
    exact = Fraction(alpha) / (1 + Fraction(alpha))

    def off(z, m):
        """In units of what lem-floats allows."""
        new = advance(np.array([z]), np.array([m]), alpha)[0]
        true = Fraction(z) + exact * (Fraction(m) - Fraction(z))
        return abs(Fraction(float(new)) - true) / (
            LAYER * max(abs(Fraction(z)), abs(Fraction(m))) + LOST
        )

    for size in (5e-324, 1e-320, 1e-300, 1.0, 1e300):
        some = [
            tuple(
                map(
                    float, rng.choice([1, 1e-4, 1e-9], 2) * rng.uniform(-1, 1, 2) * size
                )
            )
            for _ in range(60)
        ]
        some += [
            (x, y)
            for x in (-size, 0.0, size)
            for y in (size, np.nextafter(size, 0), np.nextafter(size, np.inf))
        ]
        best = max(some, key=lambda pair: off(*pair))
        for _ in range(40):
            near = [
                tuple(np.nextafter(x, x + rng.choice([-1, 1]) * abs(x)) for x in best)
                for _ in range(3)
            ]
            best = max([best, *near], key=lambda pair: off(*pair))
        worst = max(worst, off(*best))
    assert worst <= 1


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-310, 0.7, 1.0, 3e300])
def test_the_code_takes_a_little_more(size):
    """More than lem-floats by an eighth: the sum of these bounds is rounded, too. And not much more."""
    taken = Fraction(rounding.of_layer(np.array([[size, -size / 2]])))
    assert (
        LAYER * Fraction(size) + LOST
        <= taken
        <= LAYER * Fraction(size) * Fraction(8, 7) + 3 * LOST
    )


def test_errors_add_up_and_do_not_grow():
    """A hundred layers with the same choices: no coordinate is off by more than a hundred roundings."""
    rng = np.random.default_rng(0)
    for alpha in (1e-3, 0.3, 1e3, 1e17):
        Z = rng.normal(size=(5, 1)) + 1e3  # far away: rounding counts
        X, exact = Z, [Fraction(float(z)) for z in Z[:, 0]]
        share = Fraction(alpha) / (1 + Fraction(alpha))
        for k in range(1, 101):
            follows = [
                0,
                *rng.integers(0, np.arange(1, 5)),
            ]  # whoever it is, also a token that moves
            X = advance(X, X[follows], alpha)
            exact = [
                z + share * (exact[j] - z) for z, j in zip(exact, follows, strict=True)
            ]
            exact = [z.limit_denominator(10**60) for z in exact]
            apart = max(
                abs(Fraction(float(x)) - z) for x, z in zip(X[:, 0], exact, strict=True)
            )
            assert apart <= k * (LAYER * Fraction(float(abs(Z).max())) + LOST)
        assert X[0] == Z[0]  # a leader stands still to the last bit


def test_a_token_may_be_thrown_beyond_its_target():
    """A full step, alpha so large that the share is 1, can overshoot by a unit: why the bound takes max|Z| + blur."""
    z, m = np.array([1.5 * EPS]), np.array([1.5 + EPS])
    assert advance(z, m, 1e17) == 1.5 + 2 * EPS > m > z


# The score under blur

WHOLE = st.integers(-9, 9).map(Fraction)


def score(A, q, x):
    return sum(
        a * v * w
        for row, w in zip(A, x, strict=True)
        for a, v in zip(row, q, strict=True)
    )


def times(A, x):
    return [sum(a * v for a, v in zip(row, x, strict=True)) for row in A]


def norm(x):
    return sum(map(abs, x))


def score_bound(A, q, x, y, b):
    """2 b |A q|_1 + b |A (x - y)|_1 + 2 b^2 |A|: lem-floats."""
    apart = [v - w for v, w in zip(x, y, strict=True)]
    return (
        2 * b * norm(times(A, q))
        + b * norm(times(A, apart))
        + 2 * b * b * sum(map(norm, A))
    )


@given(st.data())
def test_a_score_under_blur(data):
    """Of all ways to move three tokens by b in each coordinate none changes <A q, x - y> by more, and one by nearly so much."""
    d = data.draw(st.integers(1, 2))
    R = data.draw(
        st.lists(st.lists(WHOLE, min_size=d, max_size=d), min_size=d, max_size=d)
    )
    A = [[R[i][j] + R[j][i] for j in range(d)] for i in range(d)]  # definite or not
    q, x, y = (data.draw(st.lists(WHOLE, min_size=d, max_size=d)) for _ in range(3))
    b = Fraction(1, data.draw(st.integers(1, 100)))

    def gap(q, x, y):
        return score(A, q, x) - score(A, q, y)

    bound, changes = score_bound(A, q, x, y, b), []
    for signs in product([-b, b], repeat=3 * d):
        moved = [
            [v + s for v, s in zip(z, signs[k * d : k * d + d], strict=True)]
            for k, z in enumerate((q, x, y))
        ]
        changes.append(gap(*moved) - gap(q, x, y))
    assert max(map(abs, changes)) <= bound
    assert max(map(abs, changes)) >= bound - 4 * b * b * sum(map(norm, A))
    # what the code takes for all rivals at once: columns of |A| times the spans of the coordinates
    spans = [max(v, w) - min(v, w) for v, w in zip(x, y, strict=True)]
    columns = [sum(abs(row[j]) for row in A) for j in range(d)]
    apart = [v - w for v, w in zip(x, y, strict=True)]
    assert norm(times(A, apart)) <= sum(
        c * s for c, s in zip(columns, spans, strict=True)
    )


@pytest.mark.parametrize("p", [4, 5])
def test_the_rounding_of_scores_in_a_small_format(p):
    """All q and rivals x, y on a line with A = (a); then sums of two products, at random and in either order."""
    u, d, s = 2.0**-p, 1, 2.0**-40
    mantissas = np.arange(2.0 ** (p - 1), 2**p) / 2**p  # exponents scale all alike
    a, q = mantissas[:, None, None, None], mantissas[:, None, None]
    x, y = mantissas[:, None], np.concatenate([-mantissas, mantissas])
    looks = rounded(a * q, p, s)
    computed = rounded(rounded(looks * x, p, s) - rounded(looks * y, p, s), p, s)
    off = abs(computed - a * q * (x - y)) / (a * q * np.maximum(x, abs(y))) / (2 * u)
    assert 1 < off.max() < 2 * d + 8
    rng, d = np.random.default_rng(p), 2
    A, Q, X, Y = (
        rng.choice([-1, 0.5, 1, 2], (100_000, *shape))
        * rng.choice(mantissas, (100_000, *shape))
        for shape in ((2, 2), (2,), (2,), (2,))
    )

    def product(U, V):
        return rounded(rounded(U * V, p, s).sum(-1), p, s)

    looks = np.stack([product(Q, A[..., b]) for b in (0, 1)], -1)
    computed = rounded(product(looks, X) - product(looks, Y), p, s)
    exact = np.einsum("na,nab,nb->n", Q, A, X - Y)  # few bits: exact in float64
    total = np.einsum("na,nab,nb->n", abs(Q), abs(A), np.maximum(abs(X), abs(Y)))
    worst = (abs(computed - exact) / total).max() / (2 * u)
    assert 1 < worst < 2 * d + 8


def test_the_largest_entry_of_A_q_is_not_enough():
    """Why |A q|_1: with A = diag(1, h) and q = (1, 1/h) the change is nearly 2 b (1 + 1), not 2 b (1 + h)."""
    h, b = Fraction(1, 1000), Fraction(1, 10**9)
    A, q, x, y = [[1, 0], [0, h]], [1, 1 / h], [0, 0], [0, 0]
    change = score(A, q, [b, b]) - score(A, q, [-b, -b])
    assert (
        change
        == 4 * b
        == 2 * b * norm(times(A, q))
        > 2 * b * sum(map(norm, A)) * max(times(A, q))
    )
    assert change <= score_bound(A, q, x, y, b)


@pytest.mark.parametrize("blur", [0, 1e-16, 1e-12, 1e-3])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_bound_of_the_code(d, blur):
    """`of_scores` covers what floats make of <A q, x - y>, all three off by the blur in the worst directions; and is not
    twenty times what is reached, blur or none."""
    rng, worst = np.random.default_rng(d), 0
    for _ in range(40):
        R = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-3, 3, d)
        A = None if rng.random() < 0.3 else (R.T @ R + (R.T @ R).T) / 2
        q, x, y = rng.normal(size=(3, d)) * 10.0 ** rng.uniform(-4, 1, (3, 1))
        y = x + (y - x) * rng.choice([1, 1e-8])
        looks = q if A is None else q @ A
        bound = rounding.of_scores(q[None], looks[None], np.stack([x, y]), A, blur)[0]
        exact_A = [
            [Fraction(float(a)) for a in row] for row in (np.eye(d) if A is None else A)
        ]
        b, computed = (
            Fraction(blur),
            Fraction(float(x @ looks)) - Fraction(float(y @ looks)),
        )
        away = np.sign(looks)
        turn = np.sign((x - y) if A is None else A @ (x - y))
        for sign in (-1, 1):
            moved = [
                [
                    Fraction(float(v)) + sign * b * int(s)
                    for v, s in zip(z, signs, strict=True)
                ]
                for z, signs in ((q, turn), (x, away), (y, -away))
            ]
            off = abs(
                score(exact_A, moved[0], moved[1])
                - score(exact_A, moved[0], moved[2])
                - computed
            )
            assert off <= Fraction(float(bound))
            worst = max(worst, off / Fraction(float(bound)))
    assert worst > (0.3 if blur > 1e-14 else 0.02)


def test_contenders_under_blur():
    """Two keys a gap apart: one contender just above the bound, two just below; equal floats are two at any blur."""
    q, looks = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])
    for blur in (1e-15, 1e-6, 0.01):
        for times, open_ in ((0.9, True), (1.2, False), (0.0, True)):
            keys = np.array([[1.0, 0.0], [1.0, 0.0]])
            keys[1, 0] -= times * rounding.of_scores(q, looks, keys, None, blur)[0]
            assert bool(attend(q[None], keys[None], blur=blur).ties) == open_, (
                blur,
                times,
            )


def test_merged_floats_are_two_tokens():
    """Two tokens of an exact run whose floats have met: equal here, apart there, and either may be farther."""
    share = Fraction(2, 3)
    z, exact = np.array([[1.0], [1 / 3]]), [Fraction(1), Fraction(1 / 3)]
    for _ in range(60):
        z = advance(z, z[[0, 0]], 2.0)
        exact = [exact[0], exact[1] + share * (exact[0] - exact[1])]
    assert z[0] == z[1] and exact[1] < exact[0]


# The closed form


def left(alphas, last, t):
    """The share of the way that is left: exp(-sum log(1 + alpha))."""
    return np.exp(-(fsum(map(np.log1p, alphas)) + t * np.log1p(last)))


@pytest.mark.parametrize(
    "alpha", [1e-300, 1e-17, 1e-9, 1e-3, 0.1, 1 / 3, 1.0, 7.0, 1e9, 1e300]
)
def test_what_is_left_of_the_way(alpha):
    """It is off by at most 4 u, at any depth; the product of rounded factors is not."""
    with localcontext() as context:
        context.prec = 400
        log = (1 + Decimal(alpha)).ln()
        for t in (0, 1, 2, 3, 10, 1000, 10**6, 10**9, 10**18, 10**30):
            true = (-log * t).exp() if log * t < 10**4 else Decimal(0)
            assert (
                abs(Decimal(float(left([], alpha, t))) - true) <= 4 * Decimal(EPS) / 2
            )
            assert (
                abs(
                    Decimal(float(left([alpha] * min(t, 100), alpha, max(t - 100, 0))))
                    - true
                )
                <= 4 * Decimal(EPS) / 2
            )
    assert (1 / (1 + 1e-17)) ** 10**18 == 1 and left([], 1e-17, 10**18) < 1e-4


def test_the_closed_form_of_a_limit():
    """`Limit.at` at depths where powers of a rounded factor are wrong, and at those that no float holds."""
    end = limit([[1, 0], [2, 0]], 1e-17)
    for layer in (10**15, 10**17, 10**18):
        assert abs(end.at(layer)[0, 0] - (2 - np.exp(-layer / 1e17))) < 1e-15
    assert end.at(10**400).tolist() == [[2, 0], [2, 0]]


def test_the_closed_form():
    """target + left (settled - target), against fractions: off by at most 7 eps max|Z| where both ends are exact."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        start, target = rng.uniform(-1, 1, 2) * 10.0 ** rng.integers(-3, 4)
        alpha, t = float(10 ** rng.uniform(-2, 2)), int(rng.integers(0, 60))
        here = target + left([], alpha, t) * (start - target)
        true = (
            Fraction(target)
            + (Fraction(start) - Fraction(target)) / (1 + Fraction(alpha)) ** t
        )
        assert abs(Fraction(float(here)) - true) <= LAYER * Fraction(
            max(abs(start), abs(target))
        )
