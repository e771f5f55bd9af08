"""An independent checker: is a claimed limit the limit? Plain Python on fractions, from the theory alone."""

from fractions import Fraction

from forever import first_change
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
        ties = all(
            dot(times(A, look), x) == dot(times(A, look), p)
            for look in (p, Z[i])
            for x in here + there
        )
        top = max(dot(times(A, p), z) for z in Z) == dot(times(A, p), p)
        return p if ties and top and mean(there, range(len(there))) == p else None

    zeros = [
        i for i in range(n) if not any(Z[i])
    ]  # they follow all, and stay if all others have settled and balance
    goals = [Z[i] if i in zeros else goal(i) for i in range(n)]
    if None in goals:  # a tie whose mean moves: do these sets stay while alpha changes,
        late = Z  # and is the linear run with them the run, for ever?
        for a in alphas[end.settled_at : -1]:
            late = step(late, a, A)
            if attention_sets(late, A) != sets:
                return "not settled"
        change, forms = first_change(late, alphas[-1], A)
        if forms is None or change is not None:
            return "not settled"
        goals = [M for M, _ in forms]
    if (
        zeros
        and len(zeros) < n
        and (any(mean(Z, range(n))) or any(mean(goals, range(n))))
    ):
        return "a token at 0 will move"
    if born != dict(zip(end.leaders.tolist(), end.born.tolist(), strict=True)):
        return f"the leaders and their layers are {born}"
    for i in range(n):
        at = [v for v in born if Z[v] == goals[i]]
        if end.follows[i] != (at[0] if at else -1):
            return f"token {i} does not follow {end.follows[i]}"
        if any(
            abs(Fraction(t) - g) > Fraction(end.error_bound)
            for t, g in zip(end.tokens[i], goals[i], strict=True)
        ):
            return f"token {i} goes to {goals[i]}"
    return None
