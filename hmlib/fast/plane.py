"""The plane: one convex hull, and for each token one look into a table of directions.

The corners stand in a circle, sorted by direction: token z follows corner k if the
direction A z lies between the outward normals of the edges that end and begin there.
"""

import numpy as np

from hmlib import arithmetic, rounding
from hmlib.fast import WORK
from hmlib.fast.candidates import TINY, outside_ball

# Times the size of its terms: more than the rounding of x y' - y x' for differences.
UNSURE = 4 * arithmetic.EPS
SMALL = 64  # points that are not worth an array
NONE, ALL = -1, -2  # instead of an edge: a corner alone, and all tokens


@np.errstate(divide="ignore", invalid="ignore")
def by_hull(Q, X, A=None, blur: float = 0.0):
    """Whom Q (m, 2) follow among X (n, 2), in O((m + n) log n): (first, ties).

    As `attention.attend` says it: the first of each set, and [(rows, members)] where
    these rows of Q have a set of different values. `keeps_order` has to hold for A.
    """
    hull = Hull(X, A)
    corner, rows, edges = hull.farthest(Q)
    first, ties = hull.tokens.take(corner), []
    if blur:
        return first, _open(hull, corner, Q, X, blur)
    for edge in np.unique(edges[edges != NONE]):
        tied, members = rows[edges == edge], hull.members(edge)
        first[tied] = members[0]
        ties.append((tied, members))
    return first, ties


def _open(hull, corner, Q, X, blur):
    """The rows where another token is, or may be, as far as the corner.

    On a convex polygon whoever is not a neighbour is behind a neighbour; the tokens
    that are no corners, copies of corners among them, stand in a hull of their own.
    """
    h, at = len(hull.at), hull.at
    best, rest = at.take(corner, 0), np.delete(np.arange(len(X)), hull.tokens)
    rivals = [at.take((corner + 1) % h, 0), at.take(corner - 1, 0)]
    if len(rest):
        inner = Hull(X[rest], hull.A)
        rivals.append(inner.at.take(inner.farthest(Q)[0], 0))
    looks = Q if hull.A is None else Q @ hull.A
    gap = np.min([((best - rival) * looks).sum(-1) for rival in rivals], axis=0)
    rows = np.flatnonzero(~(gap > rounding.of_scores(Q, looks, X, hull.A, blur)))
    return [(rows, np.arange(len(X)))] if len(rows) else []


def keeps_order(A) -> bool:
    """Is det A > 0? Then directions z stand around the circle as A z do."""
    a, b, c, d = arithmetic.integers(A).flat
    return a * d > b * c


class Hull:
    """The convex hull of the tokens Z (n, 2), exactly, its edges in order of direction.

    tokens   the corners, counter-clockwise; of copies the first
    at       where they are: edge k goes from `at[k]` to the next
    normals  the outward normals of the edges, as `direction`s, each of them up to `off`
    """

    def __init__(self, Z, A=None):
        self.Z, self.A = Z, A
        x, y = np.ascontiguousarray(Z.T)
        self.rim = outside(x, y, octagon(x, y))
        WORK["sorted"] += len(self.rim)
        # From left to right; the sort is stable, so copies stay in order.
        order = self.rim[np.lexsort((y[self.rim], x[self.rim]))]
        at = Z[order]
        order = order[np.append(True, (at[1:] != at[:-1]).any(-1))]
        self.tokens = order[corners(Z[order])]
        self.at = Z[self.tokens]
        self._sort()
        self._tabulate()

    def _sort(self):
        """Turn the corners so that the normals go around from straight down."""
        edge = rolled(self.at, 1) - self.at
        size = abs(edge).sum(-1)
        if self.A is not None:
            size, edge = (abs(edge) @ abs(self.A).T).sum(-1), edge @ self.A.T
        turned = abs(edge).sum(-1)
        self.off = (arithmetic.EPS * (16 + 8 * size / turned) + TINY / turned).max()
        normals = direction(edge[:, 1], -edge[:, 0])
        # Left or right of straight down? No direction that is so near will be sure.
        seam = self.off if self.off < 4 / 3 else 0.0  # beyond, nothing is sure anyway
        normals[normals > 3 - seam] -= 4
        turn = (rolled(normals, -1) - normals).argmax()
        self.normals = np.maximum.accumulate(rolled(normals, turn))
        self.tokens, self.at = rolled(self.tokens, turn), rolled(self.at, turn)

    def _tabulate(self):
        """Which corner the directions have, by equal parts of the circle; or -1.

        By search alone a layer of 10^5 tokens takes 1.7 times as long.
        """
        parts = 2 ** int(np.clip(np.log2(8 * len(self.at)), 9, 20))
        self._scale = parts / 4
        marks = np.arange(parts + 1) / self._scale - 1
        corner, sure = self._between(marks[:-1], marks[1:])
        self._table = np.append(np.where(sure, corner, -1), -1)

    def _between(self, low, high):
        """The corner of the directions from low to high; is it the same, for sure?"""
        passed = self.normals.searchsorted(low - self.off)
        reached = self.normals.searchsorted(high + self.off, "right")
        off_seam = high < 3 - 3 * self.off  # an edge that may be there comes first
        sure = off_seam & (passed == reached) | (len(self.at) == 1)
        return passed % len(self.at), sure

    def farthest(self, Q):
        """(corner, rows, edges): who is farthest in the direction A z for the z of Q.

        The corner for each z; and for the rows that are close calls the edge, all of
        which is as far, or NONE. For z = 0, for which all are equally far, that is ALL.
        """
        x, y = Q.T
        turn = direction(x, y)
        turn[np.isnan(turn)] = 3  # z = 0: a direction that is never sure
        corner = self._table[(turn * self._scale + self._scale).astype(np.intp)]
        unsure = np.flatnonzero(corner < 0)
        corner[unsure], sure = self._between(turn[unsure], turn[unsure])
        unsure = unsure[~sure]
        near = self.normals.searchsorted(turn[unsure]) % len(self.at)
        corner[unsure], edges = self._walk(Q[unsure], near)
        return corner, unsure, edges

    def _walk(self, Q, k):
        """From corner k to its neighbours while these are farther, in whole numbers.

        Both ways: where `off` is large, the way may begin beyond half of the circle.
        """
        h, looks = len(self.at), arithmetic.looks(Q, self.A)
        while True:
            around = self.at[np.stack([k - 1, k, (k + 1) % h])]
            last, here, after = arithmetic.integers(around)
            ahead = (looks * (after - here)).sum(-1)
            behind = (looks * (here - last)).sum(-1)
            move = np.where(ahead > 0, 1, np.where(behind < 0, -1, 0))
            if not move.any():
                edge = np.where(ahead == 0, k, np.where(behind == 0, (k - 1) % h, NONE))
                return k, np.where(Q.any(-1), edge, ALL)
            k = (k + move) % h

    def members(self, k):
        """The tokens on edge k, copies and all, in order."""
        if k == ALL:
            return np.arange(len(self.Z))
        start, end = self.at[k], self.at[(k + 1) % len(self.at)]
        rim = self.Z[self.rim]
        return self.rim[turns(start[None], rim, end[None]) == 0]


def direction(x, y):
    """A number from -1 to 3 that grows with the angle of (x, y) from straight down."""
    turn = y / (abs(x) + abs(y))
    return np.where(x < 0, 2 - turn, turn)


def rolled(X, k):
    """The rows of X from the k-th on, and then those before."""
    return np.concatenate([X[k:], X[:k]])


# Who is well inside


def octagon(x, y):
    """The points that are farthest in eight directions, counter-clockwise."""
    plus, minus = x + y, x - y
    right = y.argmin(), minus.argmax(), x.argmax(), plus.argmax()
    left = y.argmax(), minus.argmin(), x.argmin(), plus.argmin()
    at = np.array([*right, *left])
    points = np.stack([x[at], y[at]], -1)
    return points[(points != rolled(points, 1)).any(-1)]


def outside(x, y, polygon, margin: float = 0.0):
    """The points that do not, for certain, lie inside and off the boundary by a margin.

    A point to the left of each step of a closed way is in its hull: the way turns
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


# The corners of a hull


def corners(points):
    """The corners of the hull of distinct points that are sorted from left to right.

    Returns their indices, counter-clockwise.
    """
    lower, upper = chain(points), len(points) - 1 - chain(points[::-1])
    return np.concatenate([lower[:-1], upper[:-1]]) if len(points) > 1 else lower


def chain(points):
    """Andrew's: leave out points until the way from first to last turns left."""
    way, before = np.arange(len(points)), np.inf
    # Many at a time, while that helps: whoever is to the left of two is no corner.
    while SMALL < len(way) < 0.9 * before:
        at, before = points[way], len(way)
        left = turns(at[:-2], at[1:-1], at[2:]) > 0
        if left.all():
            return way
        way = way[np.concatenate([[True], left, [True]])]
    kept, at = [], arithmetic.integers(points[way]).tolist()
    for i, (x, y) in enumerate(at):
        while len(kept) > 1:
            (px, py), (qx, qy) = at[kept[-2]], at[kept[-1]]
            if (qx - px) * (y - qy) > (qy - py) * (x - qx):
                break
            kept.pop()
        kept.append(i)
    WORK["turns"] += 2 * len(at) - len(kept)  # at most: one for each that came or went
    return way[kept]


def turns(P, Q, R):
    """Does P -> Q -> R turn left (> 0), right (< 0) or not (0)? By rows, exactly."""
    WORK["turns"] += len(Q)
    u, v = Q - P, R - Q
    a, b = u[:, 0] * v[:, 1], u[:, 1] * v[:, 0]
    turn = a - b
    unsure = np.flatnonzero(~(abs(turn) > UNSURE * (abs(a) + abs(b)) + TINY))
    if len(unsure):
        ends = np.broadcast_arrays(P, Q, R)
        p, q, r = arithmetic.integers(np.stack([X[unsure] for X in ends]))
        u, v = q - p, r - q
        exact = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        turn[unsure] = (exact > 0).astype(float) - (exact < 0)
    return turn
