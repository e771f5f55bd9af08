"""Do the attention sets of a layer stay as they are for ever? Decided on fractions, as lem-forever says it."""

from fractions import Fraction
from itertools import count, pairwise
from math import comb

from oracle import attention_sets, dot, exact, times


def closed_forms(Z, sets, alpha, A=None):
    """[(M, [q_0, q_1, ...])], so that token i is at M + r^t sum_m binom(t, m) q_m while the sets stay; None if a token in
    its own set moves (or one at 0 will): then they do not stay."""
    d = len(Z[0])

    def mean(rows):
        return [sum(row[c] for row in rows) / len(rows) for c in range(d)]

    forms = {}
    for i in sorted(
        range(len(Z)), key=lambda i: -dot(times(A, Z[i]), Z[i])
    ):  # whoever is followed is longer
        if not any(Z[i]):
            continue
        followed = [forms[j] if Z[j] != Z[i] else (Z[i], []) for j in sets[i]]
        M, deep = mean([M for M, _ in followed]), max(len(q) for _, q in followed)
        moves = [
            mean([[*q, *[[0] * d] * deep][k] for _, q in followed]) for k in range(deep)
        ]
        if any(Z[j] == Z[i] for j in sets[i]):
            if Z[i] != M or any(any(q) for q in moves):
                return None
            forms[i] = M, []
        else:
            q = [
                [z - m for z, m in zip(Z[i], M, strict=True)],
                *[[alpha * x for x in q] for q in moves],
            ]
            while q and not any(q[-1]):
                q.pop()
            forms[i] = M, q
    rest = [
        i for i in range(len(Z)) if i not in forms
    ]  # at 0: they follow all, and stay if all balance
    if rest:
        deep = max((len(q) for _, q in forms.values()), default=0)
        sums = [[sum(M[c] for M, _ in forms.values()) for c in range(d)]]
        sums += [
            [sum(q[k][c] for _, q in forms.values() if k < len(q)) for c in range(d)]
            for k in range(deep)
        ]
        if any(map(any, sums)):
            return None
        forms |= {i: ([Fraction(0)] * d, []) for i in rest}
    return [forms[i] for i in range(len(Z))]


def first_not_positive(f, r, terms):
    """The first t with f(t) <= 0, or None if f > 0 for ever: f(t) is the sum of the terms (k, m, c), c binom(t, m) r^(k t)."""
    power, top, lead = min(terms, key=lambda term: (term[0], -term[1]))
    t, sure = 0, False
    while f(t) > 0 and not sure:
        if lead > 0 and t >= top and all((t + 1) * (1 - r) >= m for _, m, _ in terms):
            against = sum(-c * comb(t, m) * r ** (k * t) for k, m, c in terms if c < 0)
            sure = lead * comb(t, top) * r ** (power * t) > against
        t += 1
    return None if sure else t


def newton(values):
    """The c_m with values[t] = sum_m c_m binom(t, m): forward differences."""
    found = []
    while values:
        found.append(values[0])
        values = [b - a for a, b in pairwise(values)]
    return found


def first_change(Z, alpha, A=None):
    """(t, forms): the first layer whose sets are not those of Z, None if there is none. forms None: it comes, some time."""
    Z, alpha, A = exact(Z), Fraction(alpha), None if A is None else exact(A)
    r, sets = 1 / (1 + alpha), attention_sets(Z, A)
    forms = closed_forms(Z, sets, alpha, A)
    if forms is None:
        return None, None

    def at(q, t):
        return [
            sum(comb(t, m) * part[c] for m, part in enumerate(q))
            for c in range(len(Z[0]))
        ]

    changes = []
    for i, C in enumerate(sets):
        j = min(C, key=lambda j: (Z[j] == Z[i], j))
        for x in range(len(Z)):
            (M, p), (N, q), (goal, o) = forms[i], forms[j], forms[x]
            apart, deep = (
                [a - b for a, b in zip(N, goal, strict=True)],
                max(len(p), len(q), len(o)),
            )
            moves = [
                [a - b for a, b in zip(at(q, t), at(o, t), strict=True)]
                for t in range(2 * deep + 1)
            ]
            own = [at(p, t) for t in range(2 * deep + 1)]
            AM, A_own = times(A, M), [times(A, z) for z in own]
            one = [dot(AM, moves[t]) + dot(A_own[t], apart) for t in range(deep + 1)]
            two = [dot(A_own[t], moves[t]) for t in range(2 * deep + 1)]
            terms = [
                (0, 0, dot(AM, apart)),
                *((1, m, c) for m, c in enumerate(newton(one))),
            ]
            terms = [
                term
                for term in [*terms, *((2, m, c) for m, c in enumerate(newton(two)))]
                if term[2]
            ]

            def f(t, terms=terms):
                return sum(c * comb(t, m) * r ** (k * t) for k, m, c in terms)

            if x in C:
                if terms:
                    changes.append(next(t for t in count() if f(t) != 0))
            elif (t := first_not_positive(f, r, terms)) is not None:
                changes.append(t)
    return min(changes, default=None), forms
