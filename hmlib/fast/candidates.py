"""Three or four dimensions: a hull has few corners, and nobody else need be asked."""

import numpy as np

FEW = 4  # dimensions in which a hull is worth its price
# Of the cloud's size: how deep inside a token is left out. Qhull is exacter.
MARGIN = 1e-9
TINY = 1e-300  # more than any underflow in the products of `outside_ball`


def on_hull(X: np.ndarray, blur: float = 0.0) -> np.ndarray:
    """The tokens X (n, d) that may be on their hull, each coordinate up to `blur` off.

    In more than four dimensions, where the cloud is flat, and without SciPy, these may
    be all.
    """
    n, d = X.shape
    if d == 1:
        x = X[:, 0]
        return np.flatnonzero((x - x.min() <= 4 * blur) | (x.max() - x <= 4 * blur))
    if d > FEW:
        return np.arange(n)
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ModuleNotFoundError:  # as in a browser
        return np.arange(n)

    # Twice as far as a blur moves a token in four dimensions.
    margin = MARGIN * abs(X).max() + 4 * blur
    axes = np.array(np.meshgrid(*[[-1, 0, 1]] * d)).reshape(d, -1).T
    axes = axes[: 3**d // 2]  # half of a cube's
    extreme = [end(X @ axis) for axis in axes for end in (np.argmin, np.argmax)]
    rest, corners = np.arange(n), X[np.unique(extreme)]
    try:
        coarse = ConvexHull(corners).equations
        center, size = corners.mean(0), np.ptp(corners, 0) / 2
        normals, heights = coarse[:, :-1], -coarse[:, -1] - coarse[:, :-1] @ center
        rest = outside_ball(X.T, center, size, normals, heights, margin)
        rest = _near_or_out(coarse, X, rest, margin)
        rest = _near_or_out(ConvexHull(X[rest]).equations, X, rest, margin)
    except QhullError:  # a flat cloud
        pass
    return rest


def _near_or_out(facets, X, rest, margin):
    """Those of the rest who are not deep inside all facets."""
    height = (facets[:, :-1] @ X[rest].T + facets[:, -1:]).max(0)
    return rest[height > -margin]


def outside_ball(columns, center, size, normals, heights, margin) -> np.ndarray:
    """The points outside of a ball in { x : <normal, x - center> <= height }.

    It is the largest one at the center, once the box of that size is made a cube: a
    quick look, after which few are left: without it a layer of 10^6 tokens takes 1.8
    times as long in the plane, 3.5 times in space. The margin is how far inside they
    have to be.
    """
    width = abs(normals) @ size
    if not (size.min() > TINY and width.min() > TINY):
        return np.arange(len(columns[0]))
    radius = (1 - 1e-9) * (heights / width).min() - 1e-9 - margin / size.min()
    parts = zip(columns, center, size, strict=True)
    square = sum(((x - c) / s) ** 2 for x, c, s in parts)
    return np.flatnonzero(~(square < max(radius, 0) ** 2))
