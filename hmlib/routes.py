"""Roads from a token to those it follows that are shorter than asking all n.

A linear function is largest on a convex hull at a corner, or along an edge. In the plane the corners stand in a circle,
sorted by direction: token z follows corner k if the direction A z lies between the outward normals of the edges that
end and begin there. So a layer takes one hull and, for each token, one look into a table of directions. In three or
four dimensions there is no such order, but the hull still has few corners, and nobody else need be asked.

Rounding decides nothing: floats say what is certain, and the rest, usually nothing, is asked again in whole numbers.
"""

from fractions import Fraction

import numpy as np

from hmlib import arithmetic, rounding

UNSURE = (
    4 * arithmetic.EPS
)  # times the size of its terms: more than the rounding of x y' - y x' for differences of floats
TINY = 1e-300  # more than any underflow in it
FEW = 4  # dimensions in which a hull is worth its price
MARGIN = 1e-9  # of its size: how deep in the hull of `candidates` a token is left out; far more than Qhull's rounding
SMALL = 64  # points that are not worth an array


def plane(Q, X, A=None, blur=0):
    """Whom the tokens Q (m, 2) follow among X (n, 2), as `attention.choose` says it: O((m + n) log n)."""
    hull = Hull(X, A)
    k, tied, edges = hull.farthest(*Q.T)
    if blur:
        return hull.tokens.take(k), _close(hull, k, Q, X, blur)
    first, ties, order = hull.tokens.take(k), [], edges.argsort(kind="stable")
    for some in (
        np.split(order, np.flatnonzero(np.diff(edges[order])) + 1) if len(order) else []
    ):
        rows, edge = tied[some], edges[some[0]]
        members = hull.edge(edge) if edge >= 0 else np.arange(len(X))
        first[rows] = members[0]
        ties.append((rows, members))
    return first, ties


def _close(hull, k, Q, X, blur):
    """The rows where another token is, or may be, as far as corner k: the next corner, the last, or one of the others.

    On a convex polygon whoever is not a neighbour is behind a neighbour; the others stand in a hull of their own.
    """
    rest = np.delete(np.arange(len(X)), hull.tokens)
    h, P = len(hull.tokens), X[hull.tokens]
    best = P.take(k, 0)
    rivals = [P.take((k + 1) % h, 0), P.take(k - 1, 0)] if h > 1 else []
    if len(rest):
        inner = Hull(X[rest], hull.A)
        rivals.append(X[rest].take(inner.tokens.take(inner.farthest(*Q.T)[0]), 0))
    looks = Q if hull.A is None else Q @ hull.A
    gap = (
        np.min([((best - rival) * looks).sum(-1) for rival in rivals], axis=0)
        if rivals
        else np.full(len(Q), np.inf)
    )
    close = np.flatnonzero(~(gap > rounding.of_scores(Q, looks, X, hull.A, blur)))
    return [(close, np.arange(len(X)))] if len(close) else []


class Hull:
    """The convex hull of the tokens of the plane (n, 2), exactly, with its edges in order of direction."""

    def __init__(self, Z, A=None):
        self.A = A
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rim = rim_of(Z)
            self.rim = rim[
                np.lexsort((Z[rim, 1], Z[rim, 0]))
            ]  # from left to right; stable: copies stay in order
            at = Z[self.rim]
            self._first = np.flatnonzero(np.append(True, (at[1:] != at[:-1]).any(-1)))
            self._distinct = at[self._first]
            self._corner = corners(self._distinct)
            self._sort()
        self.tokens = self.rim[
            self._first[self._corner]
        ]  # the corners, counter-clockwise; of copies the first

    def _sort(self):
        """Turn the corners so that the normals of the edges k -> k + 1 run once around, from straight down."""
        edge = rolled(self._at(), 1) - self._at()
        size = abs(edge).sum(-1)
        if self.A is not None:
            size, edge = (abs(edge) @ abs(self.A)).sum(-1), edge @ self.A
        normal = direction(edge[:, 1], -edge[:, 0])
        blur = arithmetic.EPS * (
            16 + 8 * size / abs(edge).sum(-1)
        )  # how far rounding may have turned them
        blur[~np.isfinite(normal + blur)], normal[~np.isfinite(normal)] = 4, 1
        seam = (
            np.flatnonzero((normal < -1 + blur) | (normal > 3 - blur))
            if self.A is not None
            else []
        )
        if len(seam):  # left or right of straight down: that has to be right
            ends = arithmetic.integers(
                np.stack([rolled(self._at(), 1)[seam], self._at(seam)])
            )
            exact = arithmetic.unit(
                (ends[0] - ends[1]) @ arithmetic.integers(self.A), -1
            )
            normal[seam] = direction(exact[:, 1], -exact[:, 0])
        turn = (rolled(normal, -1) - normal).argmax()
        self._corner, normal, blur = (
            rolled(x, turn) for x in (self._corner, normal, blur)
        )
        self._past = np.maximum.accumulate(
            normal + blur
        )  # a direction above has passed k for certain,
        self._near = np.minimum.accumulate((normal - blur)[::-1])[
            ::-1
        ]  # one below has certainly not
        self._seam = -1 + blur.max(), 3 - blur.max()
        parts = 2 ** int(np.clip(np.log2(8 * len(normal)), 9, 20))
        marks = np.arange(parts + 1) / (parts / 4) - 1
        past, near = self._past.searchsorted(marks), self._near.searchsorted(marks)
        self._table = np.append(
            np.where(past[:-1] == near[1:], past[:-1] % len(normal), -1), -1
        )
        self._table[
            (marks < self._seam[0]) | (np.append(marks[1:], 3) > self._seam[1])
        ] = -1
        self._scale = parts / 4

    def _at(self, k=slice(None)):
        return self._distinct[self._corner[k]]

    def farthest(self, x, y):
        """(k, rows, edges): the corner farthest in the direction A z for each z = (x, y), and the rows where all of an
        edge is. For z = 0, where all tokens are equally far, that is edge -2."""
        if len(self.tokens) == 1:
            return np.zeros(len(x), int), *np.zeros((2, 0), int)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            size = abs(x) + abs(y)
            lost = np.flatnonzero(~((size > TINY) & (size < 1 / TINY)))
            turn = direction(x, y, size)
            turn[lost] = -1
            k = self._table[(turn * self._scale + self._scale).astype(np.intp)]
            unsure = np.flatnonzero(k < 0)
            turn = turn[unsure]
            past, near = (
                self._past.searchsorted(turn),
                self._near.searchsorted(turn, "right"),
            )
            k[unsure] = past % len(self.tokens)
            sure = (past == near) & (turn > self._seam[0]) & (turn < self._seam[1])
            unsure = unsure[~sure]
        if len(unsure) == 0:
            return k, unsure, unsure
        k[unsure], edge = self._walk(np.stack([x[unsure], y[unsure]], -1), k[unsure])
        return k, unsure[edge != -1], edge[edge != -1]

    def _walk(self, z, k):
        """Go from corner k to the next or the last as long as that leads farther, in whole numbers."""
        h, z = len(self.tokens), arithmetic.integers(z)
        zero = ~z.any(-1)
        if self.A is not None:
            z = z @ arithmetic.integers(self.A)
        while True:
            last, here, next_ = arithmetic.integers(
                self._at(np.stack([k - 1, k, (k + 1) % h]))
            )
            ahead, behind = (z * (next_ - here)).sum(-1), (z * (here - last)).sum(-1)
            move = np.where(ahead > 0, 1, np.where(behind < 0, -1, 0))
            if not move.any():
                on = np.where(ahead == 0, k, np.where(behind == 0, (k - 1) % h, -1))
                return k, np.where(zero, -2, on)
            k = (k + move) % h

    def edge(self, k):
        """The tokens on edge k, copies and all."""
        ends = sorted(self._corner[[k, (k + 1) % len(self._corner)]])
        between = np.arange(ends[0], ends[1] + 1)
        a, b = self._distinct[ends]
        p = self._distinct[between]
        on = between[
            turns(np.broadcast_to(a, p.shape), p, np.broadcast_to(b, p.shape)) == 0
        ]
        bounds = np.append(self._first, len(self.rim))
        return np.sort(
            np.concatenate([self.rim[bounds[i] : bounds[i + 1]] for i in on])
        )


def direction(x, y, size=None):
    """A number from -1 to 3 that grows with the angle of (x, y), counter-clockwise from straight down."""
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = y / (abs(x) + abs(y) if size is None else size)
    return np.where(x < 0, 2 - turn, turn)


def rim_of(Z):
    """The tokens that are not well inside the octagon of those that reach farthest in eight directions."""
    if len(Z) <= SMALL:
        return np.arange(len(Z))
    x, y = np.ascontiguousarray(Z.T)
    return outside(x, y, octagon(x, y))


def octagon(x, y):
    """The corners of the hull of those points that reach farthest in eight directions."""
    with np.errstate(over="ignore"):
        far = {int(f(u)) for u in (x, y, x + y, x - y) for f in (np.argmin, np.argmax)}
    far = np.array(sorted({(x[i], y[i]) for i in far}))
    return far[corners(far)]


def on_rims(Z, real=None):
    """The same for many small clouds (b, n, 2), of real tokens: bool (b, n)."""
    real = np.ones(Z.shape[:2], bool) if real is None else real
    some = np.take_along_axis(
        Z, real.argmax(-1)[:, None, None], 1
    )  # a token of each cloud
    x, y = np.moveaxis(np.where(real[..., None], Z, some), -1, 0).copy()
    plus, minus = x + y, x - y
    around = (x.argmax(1), plus.argmax(1), y.argmax(1), minus.argmin(1))
    around += (x.argmin(1), plus.argmin(1), y.argmin(1), minus.argmax(1))
    px, py = (np.take_along_axis(u, np.stack(around, 1), 1) for u in (x, y))
    ex, ey = np.roll(px, -1, 1) - px, np.roll(py, -1, 1) - py
    inside = np.repeat((ex != 0).any(1, keepdims=True), Z.shape[1], 1)
    for k in range(8):
        a, b = (
            ex[:, k, None] * (y - py[:, k, None]),
            ey[:, k, None] * (x - px[:, k, None]),
        )
        point = (ex[:, k, None] == 0) & (ey[:, k, None] == 0)  # an edge that is none
        inside &= (a - b > UNSURE * (abs(a) + abs(b)) + TINY) | point
    return real & ~inside


def outside(x, y, polygon, margin=0.0):
    """The points that do not lie inside the polygon, and farther than the margin from its boundary, for certain.

    A point to the left of each step of a closed way is in the hull: the way turns around it.
    """
    if len(polygon) < 3:
        return np.arange(len(x))
    edge = rolled(polygon, 1) - polygon
    normal, center = np.stack([edge[:, 1], -edge[:, 0]], -1), polygon.mean(0)
    with np.errstate(all="ignore"):
        left = beyond(
            (x, y),
            center,
            np.ptp(polygon, 0) / 2,
            normal,
            (normal * (polygon - center)).sum(-1),
            margin,
        )
        # The others have to be to the left of all edges.
        inside, right, up = np.ones(len(left), bool), x[left], y[left]
        for (px, py), (ex, ey) in zip(polygon.tolist(), edge.tolist(), strict=True):
            a, b = ex * (up - py), ey * (right - px)
            inside &= a - b > UNSURE * (abs(a) + abs(b)) + (
                TINY + margin * np.hypot(ex, ey)
            )
    return left[~inside]


def beyond(columns, center, size, normals, heights, margin):
    """The points outside a ball in the polytope { x : <normal, x - center> <= height }, once its box is made a cube."""
    width = abs(normals) @ size
    if not (size.min() > TINY and width.min() > TINY):
        return np.arange(len(columns[0]))
    radius = (1 - 1e-9) * (heights / width).min() - 1e-9 - margin / size.min()
    square = sum(
        ((x - c) / s) ** 2 for x, c, s in zip(columns, center, size, strict=True)
    )
    return np.flatnonzero(~(square < max(radius, 0) ** 2))


def rolled(X, k):
    """The rows of X from the k-th on, and then those before."""
    return np.concatenate([X[k:], X[:k]])


def corners(points):
    """Indices of the corners of the hull of distinct points that are sorted from left to right; counter-clockwise."""
    lower, upper = chain(points), len(points) - 1 - chain(points[::-1])
    return np.concatenate([lower[:-1], upper[:-1]]) if len(points) > 1 else lower


def chain(points):
    """Andrew's chain: leave out points until the way from the first to the last turns left at each."""
    way = np.arange(len(points))
    while (
        len(way) > SMALL
    ):  # many at a time, while that helps; whoever lies to the left of two others is no corner
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
    return way[kept]


def turns(P, Q, R):
    """Does the way P -> Q -> R turn left (> 0), right (< 0) or not at all (0)? Row by row, exactly."""
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
    """The same question for three points, as pairs of Python floats."""
    a, b = (q[0] - p[0]) * (r[1] - q[1]), (q[1] - p[1]) * (r[0] - q[0])
    if abs(a - b) > UNSURE * (abs(a) + abs(b)) + TINY:
        return a > b
    p, q, r = ([Fraction(x) for x in point] for point in (p, q, r))
    return (q[0] - p[0]) * (r[1] - q[1]) > (q[1] - p[1]) * (r[0] - q[0])


def candidates(X, blur=0):
    """The tokens that may be on the hull of X (n, d), each coordinate up to `blur` off, up to four dimensions; else all."""
    n, d = X.shape
    if d == 1:
        far = np.array([[X.argmin()], [X.argmax()]])
        return np.unique(np.nonzero(abs(X[far[:, 0]] - X[:, 0]) <= 4 * blur)[1])
    if d > FEW:
        return np.arange(n)
    from scipy.spatial import ConvexHull, QhullError

    axes = (
        np.array(np.meshgrid(*[[-1, 0, 1]] * d)).reshape(d, -1).T[: 3**d // 2]
    )  # half of a cube's
    margin = (
        MARGIN * abs(X).max() + 4 * blur
    )  # twice as far as a blur moves a token in four dimensions
    left = np.unique([end(X @ axis) for axis in axes for end in (np.argmin, np.argmax)])
    rest = None
    try:
        for _ in range(
            2
        ):  # a coarse polytope of few tokens, then the hull of those that are not well inside
            facets = ConvexHull(X[left]).equations
            if rest is None:
                normals, center, size = (
                    facets[:, :-1],
                    X[left].mean(0),
                    np.ptp(X[left], 0) / 2,
                )
                rest = beyond(
                    X.T,
                    center,
                    size,
                    normals,
                    -facets[:, -1] - normals @ center,
                    margin,
                )
            height = (facets[:, :-1] @ X[rest].T + facets[:, -1:]).max(0)
            left = rest = rest[height > -margin]
    except QhullError:  # a flat cloud
        return np.arange(n) if rest is None else rest
    return rest
