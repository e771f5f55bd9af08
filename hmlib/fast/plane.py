"""The plane: one convex hull, and for each token one look into a table of directions.

The corners stand in a circle, sorted by direction: token z follows corner k if the
direction A z lies between the outward normals of the edges that end and begin there.
"""

from fractions import Fraction

import numpy as np

from hmlib import arithmetic, rounding
from hmlib.fast import WORK
from hmlib.fast.candidates import TINY, outside_ball

# Times the size of its terms: more than the rounding of x y' - y x' for differences.
UNSURE = 4 * arithmetic.EPS
SMALL = 64  # points that are not worth an array
NONE, ALL = -1, -2  # instead of an edge: a corner alone, and all tokens
EXTREMES = {"over": "ignore", "invalid": "ignore", "under": "ignore"}


def by_hull(Q, X, A=None, blur: float = 0.0):
    """Whom Q (m, 2) follow among X (n, 2), in O((m + n) log n): (first, ties).

    As `attention.attend` says it: the first of each set, and [(rows, members)] where
    these rows of Q have a set of different values.
    """
    hull = Hull(X, A)
    corner, rows, edges = hull.farthest(*Q.T)
    first, ties = hull.tokens.take(corner), []
    if blur:
        return first, _open(hull, corner, Q, X, blur)
    order = edges.argsort(kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(edges[order])) + 1):
        if len(some):
            tied, edge = rows[some], edges[some[0]]
            members = np.arange(len(X)) if edge == ALL else hull.edge(edge)
            first[tied] = members[0]
            ties.append((tied, members))
    return first, ties


def _open(hull, corner, Q, X, blur):
    """The rows where another token is, or may be, as far as the corner.

    On a convex polygon whoever is not a neighbour is behind a neighbour; the tokens
    that are no corners, copies of corners among them, stand in a hull of their own.
    """
    h, at = len(hull.tokens), X[hull.tokens]
    best, rivals = at.take(corner, 0), []
    if h > 1:
        rivals = [at.take((corner + 1) % h, 0), at.take(corner - 1, 0)]
    rest = np.delete(np.arange(len(X)), hull.tokens)
    if len(rest):
        inner = Hull(X[rest], hull.A)
        rivals.append(X[rest].take(inner.tokens.take(inner.farthest(*Q.T)[0]), 0))
    if not rivals:
        return []
    looks = Q if hull.A is None else Q @ hull.A
    gap = np.min([((best - rival) * looks).sum(-1) for rival in rivals], axis=0)
    rows = np.flatnonzero(~(gap > rounding.of_scores(Q, looks, X, hull.A, blur)))
    return [(rows, np.arange(len(X)))] if len(rows) else []


class Hull:
    """The convex hull of the tokens Z (n, 2), exactly, its edges in order of direction.

    tokens  the corners, counter-clockwise; of copies the first
    """

    def __init__(self, Z, A=None):
        self.A = A
        with np.errstate(**EXTREMES):
            rim = rim_of(Z)
            WORK["sorted"] += len(rim)
            # From left to right; the sort is stable, so copies stay in order.
            self._rim = rim[np.lexsort((Z[rim, 1], Z[rim, 0]))]
            at = Z[self._rim]
            self._first = np.flatnonzero(np.append(True, (at[1:] != at[:-1]).any(-1)))
            self._distinct = at[self._first]
            self._corner = corners(self._distinct)
            self._sort()
            self._tabulate()
        self.tokens = self._rim[self._first[self._corner]]

    def _at(self, k=slice(None)):
        return self._distinct[self._corner[k]]

    def _sort(self):
        """Turn the corners so that normals of edges k -> k + 1 go around from down.

        Rounding knows the direction of each normal up to something: edge k has been
        passed for certain by a direction above `_passed[k]`, and for certain not by one
        below `_ahead[k]`. Directions between the two of `_clear` are not straight down.
        """
        edge = rolled(self._at(), 1) - self._at()
        size = abs(edge).sum(-1)
        if self.A is not None:
            size, edge = (abs(edge) @ abs(self.A)).sum(-1), edge @ self.A
        normal = direction(edge[:, 1], -edge[:, 0])
        off = arithmetic.EPS * (16 + 8 * size / abs(edge).sum(-1))
        off[~np.isfinite(normal + off)], normal[~np.isfinite(normal)] = 4, 1
        if self.A is not None:
            down = np.flatnonzero((normal < -1 + off) | (normal > 3 - off))
            if len(down):  # to the left of it, or to the right: that has to be right
                ends = np.stack([rolled(self._at(), 1)[down], self._at(down)])
                head, tail = arithmetic.integers(ends)
                exact = (head - tail) @ arithmetic.integers(self.A)
                exact = arithmetic.unit(exact, -1)
                normal[down] = direction(exact[:, 1], -exact[:, 0])
        turn = (rolled(normal, -1) - normal).argmax()
        self._corner, normal, off = (
            rolled(x, turn) for x in (self._corner, normal, off)
        )
        self._passed = np.maximum.accumulate(normal + off)
        self._ahead = np.minimum.accumulate((normal - off)[::-1])[::-1]
        self._clear = -1 + off.max(), 3 - off.max()

    def _tabulate(self):
        """Which corner the directions have, by equal parts of the circle; or -1."""
        h, (low, high) = len(self._corner), self._clear
        parts = 2 ** int(np.clip(np.log2(8 * h), 9, 20))
        marks = np.arange(parts + 1) / (parts / 4) - 1
        passed, ahead = (
            self._passed.searchsorted(marks),
            self._ahead.searchsorted(marks),
        )
        sure = passed[:-1] == ahead[1:]
        self._table = np.append(np.where(sure, passed[:-1] % h, -1), -1)
        self._table[(marks < low) | (np.append(marks[1:], 3) > high)] = -1
        self._scale = parts / 4

    def farthest(self, x, y):
        """(corner, rows, edges): who is farthest in the direction A z for z = (x, y).

        The corner for each z; and the rows for which that is all of an edge, with its
        number. For z = 0, for which all are equally far, that is ALL.
        """
        if len(self.tokens) == 1:
            return np.zeros(len(x), int), *np.zeros((2, 0), int)
        with np.errstate(**EXTREMES):
            size = abs(x) + abs(y)
            lost = np.flatnonzero(~((size > TINY) & (size < 1 / TINY)))
            turn = direction(x, y, size)
            turn[lost] = -1
            corner = self._table[(turn * self._scale + self._scale).astype(np.intp)]
            unsure = np.flatnonzero(corner < 0)
            turn, (low, high) = turn[unsure], self._clear
            passed = self._passed.searchsorted(turn)
            ahead = self._ahead.searchsorted(turn, "right")
            corner[unsure] = passed % len(self.tokens)
            unsure = unsure[~((passed == ahead) & (turn > low) & (turn < high))]
        if len(unsure) == 0:
            return corner, unsure, unsure
        z = np.stack([x[unsure], y[unsure]], -1)
        corner[unsure], edge = self._walk(z, corner[unsure])
        return corner, unsure[edge != NONE], edge[edge != NONE]

    def _walk(self, z, k):
        """From corner k to its neighbours while these are farther, in whole numbers."""
        h, z = len(self.tokens), arithmetic.integers(z)
        zero = ~z.any(-1)
        if self.A is not None:
            z = z @ arithmetic.integers(self.A)
        while True:
            around = self._at(np.stack([k - 1, k, (k + 1) % h]))
            last, here, next_ = arithmetic.integers(around)
            ahead, behind = (z * (next_ - here)).sum(-1), (z * (here - last)).sum(-1)
            move = np.where(ahead > 0, 1, np.where(behind < 0, -1, 0))
            if not move.any():
                edge = np.where(behind == 0, (k - 1) % h, NONE)
                edge = np.where(ahead == 0, k, edge)
                return k, np.where(zero, ALL, edge)
            k = (k + move) % h

    def edge(self, k):
        """The tokens on edge k, copies and all."""
        start, end = sorted(self._corner[[k, (k + 1) % len(self._corner)]])
        between = np.arange(start, end + 1)
        a, p, b = np.broadcast_arrays(
            self._distinct[start], self._distinct[between], self._distinct[end]
        )
        on = between[turns(a, p, b) == 0]
        bounds = np.append(self._first, len(self._rim))
        copies = [self._rim[bounds[i] : bounds[i + 1]] for i in on]
        return np.sort(np.concatenate(copies))


def direction(x, y, size=None):
    """A number from -1 to 3 that grows with the angle of (x, y) from straight down."""
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = y / (abs(x) + abs(y) if size is None else size)
    return np.where(x < 0, 2 - turn, turn)


# Who is well inside


def rim_of(Z):
    """The tokens not well inside the octagon of those farthest in eight directions."""
    if len(Z) <= SMALL:
        return np.arange(len(Z))
    x, y = np.ascontiguousarray(Z.T)
    return outside(x, y, octagon(x, y))


def octagon(x, y):
    """The corners of the hull of those points that are farthest in eight directions."""
    with np.errstate(over="ignore"):
        looks = x, y, x + y, x - y
        extreme = {int(end(u)) for u in looks for end in (np.argmin, np.argmax)}
    points = np.array(sorted({(x[i], y[i]) for i in extreme}))
    return points[corners(points)]


def outside(x, y, polygon, margin: float = 0.0):
    """The points that do not, for certain, lie inside and off the boundary by a margin.

    A point to the left of each step of a closed way is in the hull: the way turns
    around.
    """
    if len(polygon) < 3:
        return np.arange(len(x))
    with np.errstate(all="ignore"):
        edge = rolled(polygon, 1) - polygon
        normal, center = np.stack([edge[:, 1], -edge[:, 0]], -1), polygon.mean(0)
        size, height = np.ptp(polygon, 0) / 2, (normal * (polygon - center)).sum(-1)
        left = outside_ball((x, y), center, size, normal, height, margin)
        # The others have to be to the left of all edges.
        inside, right, up = np.ones(len(left), bool), x[left], y[left]
        for (px, py), (ex, ey) in zip(polygon.tolist(), edge.tolist(), strict=True):
            a, b = ex * (up - py), ey * (right - px)
            lost = UNSURE * (abs(a) + abs(b)) + TINY
            inside &= a - b > lost + margin * np.hypot(ex, ey)
    return left[~inside]


def rolled(X, k):
    """The rows of X from the k-th on, and then those before."""
    return np.concatenate([X[k:], X[:k]])


# The corners of a hull


def corners(points):
    """The corners of the hull of distinct points that are sorted from left to right.

    Returns their indices, counter-clockwise.
    """
    lower, upper = chain(points), len(points) - 1 - chain(points[::-1])
    return np.concatenate([lower[:-1], upper[:-1]]) if len(points) > 1 else lower


def chain(points):
    """Andrew's: leave out points until the way from first to last turns left."""
    way = np.arange(len(points))
    # Many at a time, while that helps: whoever is to the left of two is no corner.
    while len(way) > SMALL:
        at = points[way]
        left = np.concatenate([[True], turns(at[:-2], at[1:-1], at[2:]) > 0, [True]])
        if left.all():
            return way
        way = way[left]
        if 10 * len(way) > 9 * len(left):
            break
    kept, at = [], points[way].tolist()
    for i, p in enumerate(at):
        while len(kept) > 1 and not turns_left(at[kept[-2]], at[kept[-1]], p):
            kept.pop()
        kept.append(i)
    WORK["turns"] += 2 * len(at) - len(kept)  # at most: one for each that came or went
    return way[kept]


def turns(P, Q, R):
    """Does P -> Q -> R turn left (> 0), right (< 0) or not (0)? By rows, exactly."""
    WORK["turns"] += len(P)
    u, v = Q - P, R - Q
    a, b = u[:, 0] * v[:, 1], u[:, 1] * v[:, 0]
    turn = a - b
    unsure = np.flatnonzero(~(abs(turn) > UNSURE * (abs(a) + abs(b)) + TINY))
    if len(unsure):
        p, q, r = arithmetic.integers(np.stack([P[unsure], Q[unsure], R[unsure]]))
        u, v = q - p, r - q
        exact = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        turn[unsure] = (exact > 0).astype(float) - (exact < 0)
    return turn


def turns_left(p, q, r):
    """Does the way turn left, for three points as pairs of Python floats? Exactly."""
    a, b = (q[0] - p[0]) * (r[1] - q[1]), (q[1] - p[1]) * (r[0] - q[0])
    if abs(a - b) > UNSURE * (abs(a) + abs(b)) + TINY:
        return a > b
    p, q, r = ([Fraction(x) for x in point] for point in (p, q, r))
    return (q[0] - p[0]) * (r[1] - q[1]) > (q[1] - p[1]) * (r[0] - q[0])
