"""The geometry of attention: half-spaces, projections, and where tokens can cluster."""

import math
from contextlib import suppress
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hmlib import arithmetic, inputs
from hmlib.shapes import Cloud, Matrix, Number, Token

MOST_WORK = 4_000_000  # of cluster_points, in microseconds: k points take about k^3
MOST_DIMENSIONS = 80  # in which project goes to work on whole numbers
DEAR = 8  # of them, and a start from floats is worth its price
BLOCK = 2**12  # subsets of points held in memory at a time


class HalfSpace(NamedTuple):
    """{ x : <normal, x> >= offset }"""

    normal: Token
    offset: Number

    def side(self, points: Cloud) -> np.ndarray:
        """<normal, x> - offset for each point (row): positive inside, negative out."""
        points = inputs.points(points, len(self.normal), "points")
        points = arithmetic.like(points, self.normal, "points")
        return (points * self.normal).sum(-1) - self.offset

    def contains(self, points: Cloud) -> np.ndarray:
        """Which of the points (rows) lie in it, its boundary included: bool (n,)."""
        return self.side(points) >= 0


def half_space(z: Token, A: Matrix | None = None) -> HalfSpace:
    """H = { x : <A z, x - z> >= 0 }: whatever a token at z follows lies in it.

    >>> H = half_space([1, -1], A=[[2, 1], [1, 1]])
    >>> H.normal, float(H.offset)
    (array([1., 0.]), 1.0)
    >>> H.contains([[3, -1], [3.5, 1], [-1, 1.5]])
    array([ True,  True, False])

    z  one token, (d,), of floats or Fractions
    A  symmetric positive definite, (d, d); the identity if None
    A token at 0 has no direction: its half-space is the whole space.
    """
    z = inputs.token(z)
    A = inputs.matrix(A, z)
    with np.errstate(over="ignore", invalid="ignore"):
        normal = z if A is None else A @ z
        return HalfSpace(normal, inputs.in_range(normal @ z, "<A z, z>"))


def separation_radius(s: Token, others: Cloud, A: Matrix | None = None) -> float:
    """How close to s a point has to be to look past all others, at s.

    If <A s, w> < <A s, s> for each w of the others, then every x in their hull with s,
    0 < |x - s| < delta, has <A x, w - x> < 0 < <A x, s - x> for each w, where, with
    distances and lengths in the A-inner product,

        delta = min over w of <A s, s - w> / (|s - w| + |s|).

    >>> separation_radius([1, 1], others=[[1, -1], [-1, -1], [-1, 1]])
    0.585786437626905
    """
    s = arithmetic.like(inputs.token(s, "s"), inputs.FLOATS, "s")
    W = inputs.points(others, len(s), "others")
    W = arithmetic.like(W, inputs.FLOATS, "others")
    A = np.eye(len(s)) if A is None else inputs.matrix(A, s)
    e = arithmetic.exponent(np.vstack([s, W]), None).item()
    x, V = np.ldexp(s, -e), np.ldexp(W, -e)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = inputs.in_range((x - V) @ A @ x, "<A s, s - w>")
    if gap.min() <= 0:
        given = f"s = {s} is not separated from {W[gap.argmin()]}"
        inputs.refuse(given, "<A s, w> < <A s, s> for each other w")

    def length(X):
        return np.sqrt((X @ A * X).sum(-1))

    return float(np.ldexp((gap / (length(x - V) + length(x))).min(), e))


def project(x: Token, vertices: Cloud, A: Matrix | None = None) -> Token:
    """argmin of <A (y - x), y - x> over the y in the convex hull of the vertices.

    >>> project([0, 0], vertices=[[2, 0], [0, 1], [3, 3]])
    array([0.4, 0.8])
    >>> project([0, 0], vertices=[[2, 0], [0, 1], [3, 3]], A=[[1, 0], [0, 4]])
    array([1. , 0.5])

    x         the point, (d,), of floats or Fractions
    vertices  points as rows, (m, d); any points, also inside the hull of the others, or
              equal, or in a plane
    A         symmetric positive definite, (d, d); the identity if None
    Returns y, (d,): exact for Fractions, the nearest floats to it for floats (Wolfe's
    method, on whole numbers).
    """
    x = inputs.token(x, "x")
    V = inputs.points(vertices, len(x), "vertices")
    A = inputs.matrix(A, V)
    most = f"at most {MOST_DIMENSIONS} points or {MOST_DIMENSIONS} coordinates"
    why = "because the projection is exact, on whole numbers that grow with both"
    inputs.check(min(V.shape) <= MOST_DIMENSIONS, "vertices", V, f"{most}, {why}")
    whole = arithmetic.integers(np.vstack([arithmetic.like(x, V, "x"), V]))
    P = whole[1:] - whole[0]
    AP = arithmetic.looks(P, A)

    T, target = _start(P, AP, A)  # the nearest point to x of the affine hull of T
    while True:
        if (target > 0).all():
            # <A (y - x), v - x> for each vertex v; the same on all of T
            scores = AP @ arithmetic.integers(target @ P[T])
            if scores.min() == scores[T[0]]:
                return arithmetic.like(target @ arithmetic.rationals(V[T]), V)
            T, weights = np.append(T, scores.argmin()), np.append(target, Fraction(0))
        else:
            # As far as the hull reaches; what has lost its weight goes.
            pairs = zip(weights, target, strict=True)
            reach = min(w / (w - t) for w, t in pairs if t <= 0)
            weights = weights + reach * (target - weights)
            T, weights = T[weights > 0], weights[weights > 0]
        target = _weights(AP[T] @ P[T].T)
        target = target * Fraction(1, target.sum())


def _start(P, AP, A):
    """Points and their positive weights to begin with; if steps are dear, by floats.

    To 0 from 20 points in 12 dimensions that is 6 times faster, from 60 in 40 13 times.
    """
    if min(P.shape) > DEAR:
        # Floats may fail, and SciPy may be missing.
        with suppress(np.linalg.LinAlgError, RuntimeError, ModuleNotFoundError):
            from scipy.optimize import nnls

            X = arithmetic.unit(P, None)
            if A is not None:
                B = arithmetic.unit(arithmetic.integers(A), None)
                X = X @ np.linalg.cholesky(B)
            target = np.append(np.zeros(X.shape[1]), 1)
            T = np.flatnonzero(nnls(np.vstack([X.T, np.ones(len(X))]), target)[0])
            weights = _weights(AP[T] @ P[T].T)
            if (weights > 0).all():
                return T, weights * Fraction(1, weights.sum())
    return np.array([0]), np.array([Fraction(1)])


class ClusterPoints(NamedTuple):
    """The points s of S(K), and for each its face { v : <A s, v> = <A s, s> }."""

    points: Cloud
    faces: list[list[int]]


def cluster_points(vertices: Cloud, A: Matrix | None = None) -> ClusterPoints:
    """S(K) = { s in K, s != 0 : <A s, s> = max over x in K of <A s, x> }, K a polytope.

    >>> S = cluster_points([[1, 0], [0, 1]])
    >>> S.points
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    >>> S.faces
    [[0], [1], [0, 1]]

    vertices  points as rows, (m, d), whose hull K is; any points, as in `project`
    A         symmetric positive definite, (d, d); the identity if None
    Returns ClusterPoints(points, faces): the vertices of K first, as they were given;
    then by the size of the face. Each s is the A-projection of 0 onto the affine hull
    of at most d of the points, with positive weights: all such subsets are tried,
    exactly; more than MOST_WORK, some seconds, is refused.
    """
    V = inputs.numbers(vertices, "vertices")
    inputs.check(V.ndim == 2 and V.size, "vertices", V, "points as rows, (m, d)")
    A = inputs.matrix(A, V)
    P, AP = arithmetic.integers(V), arithmetic.looks(V, A)
    different = sorted({tuple(p): i for i, p in reversed([*enumerate(P)])}.values())
    m, d = len(different), V.shape[1]
    count = [math.comb(m, size) for size in range(1, min(d, m) + 1)]
    work = sum(n * size**3 for size, n in enumerate(count, 1))
    if work > MOST_WORK:
        many = f"{m} different points of {d} coordinates"
        subsets = f"{inputs.shown(sum(count))} subsets of at most {d} points"
        given = f"{many} have {subsets}, about {inputs.shown(work)} operations"
        fewer = "Points that are no vertices of the hull can be left out"
        refused = f"vertices has shape {V.shape}: {given}"
        inputs.refuse(refused, f"at most {MOST_WORK}. {fewer}")

    G = AP @ P.T
    # face: the last, so the largest, subset with s inside. A face has one s, the
    # nearest point to 0.
    inside = {}
    for size in range(1, min(d, m) + 1):
        subsets = np.array([*combinations(different, size)])
        for T in np.array_split(subsets, len(subsets) // BLOCK + 1):
            weights = _weights(G[T[:, :, None], T[:, None, :]])
            level = (weights * G[T, T[:, :1]]).sum(-1)  # <A s, s> times sum(weights)
            keep = (weights > 0).all(-1) & (level > 0)
            for v in different:
                T, weights, level = T[keep], weights[keep], level[keep]
                keep = (weights * G[T, v]).sum(-1) <= level
            for t, w, top in zip(T[keep], weights[keep], level[keep], strict=True):
                inside[tuple(np.flatnonzero(w @ G[t] == top).tolist())] = t, w

    def order(face):
        t, _ = inside[face]
        return (0, t[0]) if len(t) == 1 else (1, len(face), face)

    faces, exact = sorted(inside, key=order), arithmetic.rationals(V)
    points = [w @ exact[t] / w.sum() for t, w in map(inside.get, faces)]
    points = np.array(points, object).reshape(-1, d)
    return ClusterPoints(arithmetic.like(points, V), list(map(list, faces)))


def _weights(G):
    """The u, up to a positive factor, with least <u, G u> where sum(u) = 1.

    G is the Gram matrix, (..., k, k), of k points, of whole numbers: the projection of
    0 onto their affine hull is sum(u_i p_i) / sum(u_i). Then G u is the same in each
    place, so (G + 1) u = 1 after scaling; the matrix is definite if the points are
    affinely independent; else a pivot is 0, and from there on all is. Fraction-free
    elimination: all divisions are exact.
    """
    M = np.concatenate([G + 1, np.ones_like(G[..., :1])], -1)
    last = 1
    for j in range(G.shape[-1]):
        row, pivot = M[..., j : j + 1, :], M[..., j : j + 1, j : j + 1]
        after = (pivot * M - M[..., j : j + 1] * row) // last
        after[..., j : j + 1, :] = row
        M, last = after, np.maximum(pivot, 1)
    return M[..., -1]
