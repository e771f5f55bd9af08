"""The geometry of attention: half-spaces and the separation of a vertex."""

from typing import NamedTuple

import numpy as np

from hmlib import inputs


class HalfSpace(NamedTuple):
    """{ x : <normal, x> >= offset }"""

    normal: np.ndarray
    offset: float

    def side(self, points):
        """<normal, x> - offset for each point (row): positive inside, 0 on the boundary, negative outside."""
        return (inputs.points(points, len(self.normal), "points") * self.normal).sum(-1) - self.offset

    def contains(self, points):
        """Which of the points (rows) lie in it, its boundary included: bool (n,)."""
        return self.side(points) >= 0


def half_space(z, A=None):
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
    normal = z if A is None else A @ z
    return HalfSpace(normal, normal @ z)


def separation_radius(s, others, A=None):
    """How close to s a point has to be to look past all others, at s.

    If <A s, w> < <A s, s> for each w of the others, then every x in their hull with s, 0 < |x - s| < delta, has
    <A x, w - x> < 0 < <A x, s - x> for each w, where, with distances and lengths in the A-inner product,

        delta = min over w of <A s, s - w> / (|s - w| + |s|).

    >>> separation_radius([1, 1], others=[[1, -1], [-1, -1], [-1, 1]])
    0.585786437626905
    """
    s = inputs.token(s).astype(float)
    W = inputs.points(others, len(s), "others").astype(float)
    A = np.eye(len(s)) if A is None else inputs.matrix(A, s)
    gap = (s - W) @ A @ s
    if gap.min() <= 0:
        raise ValueError(
            f"s = {s} is not separated from {W[gap.argmin()]}: expected <A s, w> < <A s, s> for each other w."
        )

    def length(X):
        return np.sqrt((X @ A * X).sum(-1))

    return float((gap / (length(s - W) + length(s))).min())
