"""An independent checker: is a claimed limit the limit? Plain Python on fractions, from the theory alone."""

from fractions import Fraction
from itertools import pairwise
from math import comb

from oracle import attention_sets, dot, exact, step, times


def rejected(end, Z, alpha, A=None):
    """The reason why the certificate of `end` is no proof, or None if it is one."""
    if not end.certified:
        return "not certified"
    alphas = list(alpha) if isinstance(alpha, (list, tuple)) else [alpha]
    Z, A = exact(Z), None if A is None else exact(A)
    start, born = Z, {}
    for k in range(end.settled_at + 1):
        sets = attention_sets(Z, A)
        for i, C in enumerate(sets):
            if i == min(C) and all(start[j] == start[i] for j in C):
                born.setdefault(i, k)
        if k < end.settled_at:
            Z = step(Z, alphas[min(k, len(alphas) - 1)], A)
    n, d = len(Z), len(Z[0])

    def mean(X, members):
        return [sum(X[j][c] for j in members) / len(members) for c in range(d)]

    def goal(i):
        """Where token i goes if it has settled, else None. The recursion ends: whoever is followed is longer."""
        p, others = mean(Z, sets[i]), [j for j in sets[i] if Z[j] != Z[i]]
        ends = [goal(j) for j in others]
        if None in ends or (len(others) < len(sets[i]) and p != Z[i]):
            return None
        there = ends + [Z[i]] * (len(sets[i]) - len(others))
        here = [Z[j] for j in sets[i]]
        ties = all(dot(times(A, look), x) == dot(times(A, look), p) for look in (p, Z[i]) for x in here + there)
        top = max(dot(times(A, p), z) for z in Z) == dot(times(A, p), p)
        return p if ties and top and mean(there, range(len(there))) == p else None

    zeros = [i for i in range(n) if not any(Z[i])]  # they follow all, and stay if all others have settled and balance
    goals = [Z[i] if i in zeros else goal(i) for i in range(n)]
    if None in goals:  # a tie whose mean moves: is the linear run with these sets the run, for ever?
        goals = frozen(Z, sets, alphas[-1], A) if end.settled_at >= len(alphas) - 1 else None
        if goals is None:
            return "not settled"
    if zeros and len(zeros) < n and (any(mean(Z, range(n))) or any(mean(goals, range(n)))):
        return "a token at 0 will move"
    if born != dict(zip(end.leaders.tolist(), end.born.tolist(), strict=True)):
        return f"the leaders and their layers are {born}"
    for i in range(n):
        at = [v for v in born if Z[v] == goals[i]]
        if end.follows[i] != (at[0] if at else -1):
            return f"token {i} does not follow {end.follows[i]}"
        if any(abs(Fraction(t) - g) > Fraction(end.error_bound) for t, g in zip(end.tokens[i], goals[i], strict=True)):
            return f"token {i} goes to {goals[i]}"
    return None


def frozen(Z, sets, alpha, A, layers=80):
    """Where tokens go if none of these sets ever changes; None if one does, or that is not seen in some layers."""
    n, alpha, r = len(Z), Fraction(alpha), 1 / (1 + Fraction(alpha))

    def layer(Y):
        means = [[sum(Y[j][c] for j in C) / len(C) for c in range(len(Y[0]))] for C in sets]
        return [[r * a + (1 - r) * m for a, m in zip(y, mean, strict=True)] for y, mean in zip(Y, means, strict=True)]

    path = [Z]
    for _ in range(layers):
        path.append(layer(path[-1]))
    if any(attention_sets(Y, A) != sets for Y in path):
        return None

    goals = []  # in the end, a token is at the mean of where those are whom it follows
    for i in sorted(range(n), key=lambda i: -dot(times(A, Z[i]), Z[i])):
        others = [j for j in sets[i] if Z[j] != Z[i]]
        ends = [dict(goals)[j] for j in others]
        goals.append((i, [sum(x) / len(ends) for x in zip(*ends, strict=True)] if others else Z[i]))
    M = [goal for _, goal in sorted(goals)]

    def newton(values):
        """The c of f(t) = sum of c_k binom(t, k), from values at t = 0, 1, ...; they have to end in zeros."""
        c = []
        while values:
            c.append(values[0])
            values = [b - a for a, b in pairwise(values)]
        return c

    D = 2 * n + 2
    away = [[[(x - m) / r**t for x, m in zip(path[t][i], M[i], strict=True)] for t in range(D)] for i in range(n)]
    for i in range(n):
        for j in sorted(sets[i])[:1]:
            look, looks = times(A, M[i]), [times(A, p) for p in away[i]]
            for x in set(range(n)) - sets[i]:
                gap = [[a - b for a, b in zip(away[j][t], away[x][t], strict=True)] for t in range(D)]
                rest = [a - b for a, b in zip(M[j], M[x], strict=True)]
                parts = [
                    [dot(look, rest)],
                    newton([dot(look, gap[t]) + dot(looks[t], rest) for t in range(D)]),
                    newton([dot(looks[t], gap[t]) for t in range(D)]),
                ]
                if parts[1][-1] or parts[2][-1]:  # no polynomials: a token that moves in its own set
                    return None
                terms = [
                    (c * comb(layers, k) * r ** (p * layers), k, p)
                    for p, part in enumerate(parts)
                    for k, c in enumerate(part)
                    if c
                ]
                lead, *rest = sorted(terms, key=lambda term: (term[2], -term[1]))
                # From here on all other terms shrink beside the leading one, which is larger than them already.
                late = layers >= max(k for _, k, _ in terms) * (1 + alpha) / alpha
                if not late or lead[0] <= sum(abs(c) for c, _, _ in rest):
                    return None
    return M
