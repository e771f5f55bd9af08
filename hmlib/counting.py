"""How many lead, and how soon: random clouds, what is expected, what is counted.

Of n tokens of one law, a token at x leads at layer 0 if no other has <x, z> >= |x|^2:

    E |L_0| = n E[ P( <x, Z> < |x|^2 )^(n - 1) ].
"""

import numpy as np
from scipy import optimize, spatial, special, stats

from hmlib.attention import follow
from hmlib.dynamics import simulate
from hmlib.limits import certain, limit
from hmlib.shapes import Cloud, Indices, Token

# How to draw n points in d dimensions. All but the cube's look alike in each direction.
LAWS = {
    "Gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "ball": lambda rng, n, d: (
        _directions(rng.normal(size=(n, d))) * rng.uniform(size=(n, 1)) ** (1 / d)
    ),
    "cube": lambda rng, n, d: rng.uniform(-1, 1, size=(n, d)),
    "Student 3": lambda rng, n, d: (
        rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    ),
    "Cauchy": lambda rng, n, d: rng.normal(size=(n, d)) / abs(rng.normal(size=(n, 1))),
}
TAILS = {"Student 3": 3, "Cauchy": 1}  # degrees of freedom


def _directions(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def expected(law: str, n: float, d: int) -> float | None:
    """n E[ P( <x, Z> < |x|^2 )^(n - 1) ], the expected number of leaders at layer 0.

    >>> [round(expected("Gaussian", n, d=2), 3) for n in (1, 10, 1000)]
    [1.0, 3.857, 8.125]

    law  one of LAWS. If it is isotropic, one coordinate has to stay below |x|; of the
         cube it is known for d = 2 alone, and None beyond.
    """
    if law not in LAWS:
        raise ValueError(f"law is {law!r}: expected one of {', '.join(LAWS)}.")
    if law == "cube":
        return float(n * _on_square(n)) if d == 2 else None
    y = 60 * np.linspace(0, 1, 60_001) ** 4
    q = np.exp(-y)  # P(|Z| > r): in y all is smooth, but for a root at 0
    if law == "ball":
        height = -np.expm1(2 / d * np.log1p(-np.minimum(q, 1 - 1e-16)))  # 1 - r^2
        beyond = special.betainc((d + 1) / 2, 0.5, height) / 2
    elif law == "Gaussian":
        beyond = stats.norm.sf(stats.chi.isf(q, d))
    else:
        beyond = stats.t.sf(np.sqrt(d * stats.f.isf(q, d, TAILS[law])), TAILS[law])
    return float(n * np.trapezoid(np.exp((n - 1) * np.log1p(-beyond)) * q, y))


def _on_square(n):
    """E[ P( <x, Z> < |x|^2 )^(n - 1) ]: <x, Z> is a sum of two uniform variables."""
    t, w = np.polynomial.legendre.leggauss(16)
    edges = np.append(0, np.geomspace(1e-9, 1, 60))
    step = np.diff(edges)[:, None]
    u, w = (edges[:-1, None] + step * (t + 1) / 2).ravel(), (step * w / 2).ravel()
    a, b = 1 - u[:, None], 1 - u[None]  # x = (a, b), at distances u from the sides
    s = a * u[:, None] + b * u[None]  # how far <x, z> can exceed |x|^2, at the corner
    beyond = s**2 - np.maximum(s - 2 * a, 0) ** 2 - np.maximum(s - 2 * b, 0) ** 2
    beyond = (beyond + np.maximum(s - 2 * a - 2 * b, 0) ** 2) / (8 * a * b)
    return w @ np.exp((n - 1) * np.log1p(-np.clip(beyond, 0, 1 - 1e-16))) @ w


def vertices(Z: Cloud) -> Indices | None:
    """The vertices of the hull of tokens; None where it has too many faces to list.

    For tokens in general position: no d + 1 of them in one plane.
    >>> vertices([[0, 0], [2, 0], [0.5, 0.5], [0, 2]]).tolist()
    [0, 1, 3]
    """
    Z = np.asarray(Z, float)
    n, d = Z.shape
    if d == 1:
        return np.unique([Z.argmin(), Z.argmax()])
    if n <= d + 1:  # a simplex
        return np.arange(n)
    if d > 4 or (d == 4 and n > 1000):
        return None
    return np.sort(spatial.ConvexHull(Z).vertices)


def by_layer(Z: Cloud, alpha: float, layers: int = 12) -> np.ndarray:
    """How much of the limit each layer has, (layers + 1, 5).

    The share of tokens that have settled; whether all have; the share of leaders that
    lead by now; the distance of the hull to K, and the mean distance of a token to its
    limit, both in lengths of the longest token.

    >>> by_layer([[1, 0], [2, 0], [3, 0]], alpha=1, layers=1).round(3)
    array([[1.   , 1.   , 1.   , 0.667, 0.333],
           [1.   , 1.   , 1.   , 0.333, 0.167]])
    """
    end, rows = certain(limit(Z, alpha)), []
    K, unit = end.K, np.linalg.norm(Z, axis=1).max()
    for k, X in enumerate(simulate(Z, alpha, layers).tokens):
        to, over = follow(X), k >= end.settled_at
        settled = 1.0 if over else (to[to] == to).mean()
        away = np.linalg.norm(X - end.tokens, axis=1).mean()
        if len(X) > 50 and X.shape[1] <= 3:  # QJ: tokens may be nearly on a line
            X = X[spatial.ConvexHull(X, qhull_options="QJ").vertices]
        farthest = 0 if len(K) == len(Z) else max(distance(x, K) for x in X)
        born = (end.born <= k).mean()
        rows.append([settled, over, born, farthest / unit, away / unit])
    return np.array(rows)


def distance(x: Token, K: Cloud) -> float:
    """min |x - y| over the y in the hull of the points K, in floats.

    The w >= 0 with least |w (K - x)|^2 + (sum w - 1)^2 weigh K as y, times a number.

    >>> round(distance([0, 0], [[2, 0], [0, 1], [3, 3]]), 3)
    0.894
    """
    apart = np.asarray(K) - x
    goal = np.append(np.zeros(apart.shape[1]), 1)
    w, _ = optimize.nnls(np.vstack([apart.T, np.ones(len(apart))]), goal)
    return float(np.linalg.norm(w / w.sum() @ apart))


def band(spread: dict, many: int) -> np.ndarray:
    """mean +- 1.96 deviation / sqrt(many), (..., 3): a mean in its 95 % band.

    >>> band({"mean": 5, "deviation": 2}, many=100)
    array([4.608, 5.   , 5.392])
    """
    half = np.multiply.outer(spread["deviation"], [-1.96, 0, 1.96]) / many**0.5
    return np.expand_dims(spread["mean"], -1) + half


def wilson(hits: int, runs: int) -> np.ndarray:
    """Wilson's 95 % interval of a share: its lower end, its middle, its upper end.

    >>> wilson(8, runs=20).round(3)
    array([0.219, 0.416, 0.613])
    """
    share, z = hits / runs, np.array([-1.96, 0, 1.96])
    half = z * np.sqrt((share * (1 - share) + 1.96**2 / runs / 4) / runs)
    return (share + 1.96**2 / runs / 2 + half) / (1 + 1.96**2 / runs)
