"""A second implementation, deliberately naive: plain Python, loops and fractions, written from the definition alone."""

from fractions import Fraction


def exact(rows):
    """Arrays or lists of numbers as lists of Fractions."""
    return [
        [Fraction(x) if isinstance(x, Fraction) else Fraction(float(x)) for x in row]
        for row in rows
    ]


def dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def times(A, x):
    return x if A is None else [dot(row, x) for row in A]


def attention_sets(Z, A=None, real=None):
    """C_i(Z) as a list of sets, by the definition; real marks the tokens that are not padding."""
    Z, A = exact(Z), None if A is None else exact(A)
    heard = [j for j in range(len(Z)) if real is None or real[j]]
    sets = []
    for i, z in enumerate(Z):
        scores = {j: dot(times(A, z), Z[j]) for j in heard}
        best = max(scores.values())
        sets.append({j for j in heard if scores[j] == best} if i in heard else set())
    return sets


def step(Z, alpha, A=None, real=None):
    """One layer, (z + alpha * mean) / (1 + alpha), on Fractions."""
    alpha, sets, Z = Fraction(alpha), attention_sets(Z, A, real), exact(Z)
    after = []
    for z, C in zip(Z, sets, strict=True):
        mean = [sum(Z[j][k] for j in C) / len(C) for k in range(len(z))] if C else z
        after.append(
            [(a + alpha * m) / (1 + alpha) for a, m in zip(z, mean, strict=True)]
        )
    return after


def leaders(path, A=None):
    """Every token (of several equal ones the first) that at some layer of the path follows itself alone."""
    found = set()
    for Z in path:
        for i, C in enumerate(attention_sets(Z, A)):
            if all(list(path[0][j]) == list(path[0][i]) for j in C) and i == min(C):
                found.add(i)
    return sorted(found)


def hull(points):
    """The corners of a planar hull, counter-clockwise (Andrew's monotone chain), on any numbers."""
    points = sorted(set(map(tuple, points)))
    if len(points) < 3:
        return points

    def chain(points):
        line = []
        for p in points:
            while len(line) > 1 and turn(line[-2], line[-1], p) <= 0:
                line.pop()
            line.append(p)
        return line[:-1]

    return chain(points) + chain(points[::-1])


def turn(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def in_hull(p, points):
    """Is p in the planar hull of the points? Exact on Fractions."""
    corners = hull(points)
    if len(corners) == 1:
        return tuple(p) == corners[0]
    if len(corners) == 2:
        a, b = corners
        between = min(a, b) <= tuple(p) <= max(a, b)
        return turn(a, b, p) == 0 and between
    return all(
        turn(a, b, p) >= 0
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True)
    )


def as_sets(C):
    """The rows of a bool array as sets."""
    return [{j for j, there in enumerate(row) if there} for row in C]
