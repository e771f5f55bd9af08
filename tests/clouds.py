"""Random clouds for hypothesis: small numbers, so that ties, duplicates and zeros are common, and any floats."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

SMALL = st.integers(-3, 3)
FRACTIONS = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 5))
FLOATS = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 3))
ALPHAS = st.builds(Fraction, st.integers(1, 40), st.integers(1, 10))


@st.composite
def clouds(draw, numbers=SMALL, d=None, distinct=False, nonzero=False, most=8):
    """An exact cloud (n, d) of Fractions."""
    d = draw(st.integers(1, 4)) if d is None else d
    token = st.tuples(*[numbers] * d)
    if nonzero:
        token = token.filter(any)
    rows = draw(st.lists(token, min_size=1, max_size=most, unique=distinct))
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)


@st.composite
def definite(draw, d):
    """An exact symmetric positive definite matrix, R^T R + I, or none at all."""
    if draw(st.booleans()):
        return None
    R = np.array(draw(st.lists(SMALL, min_size=d * d, max_size=d * d)), dtype=object).reshape(d, d)
    return R.T @ R + np.eye(d, dtype=int).astype(object)


@st.composite
def models(draw, **kwargs):
    """An exact cloud with a matrix for it."""
    Z = draw(clouds(**kwargs))
    return Z, draw(definite(Z.shape[1]))


def awkward(seed):
    """(Z, alpha, A), exact: symmetric, lattice and duplicated clouds of few tokens, where exact ties abound."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    Z = rng.integers(-4, 5, size=(n, d))
    match seed % 5:
        case 0:
            Z = np.concatenate([Z, -Z])
        case 1:
            Z = np.concatenate([Z, Z * np.where(np.arange(d) == 0, -1, 1)])
        case 2:
            Z = Z[rng.integers(0, n, n + 3)]
        case 3:
            Z = np.array(np.meshgrid(*[[-1, 0, 1]] * d)).reshape(d, -1).T + rng.integers(-1, 2, size=d) * (seed % 2)
        case 4:
            Z = np.concatenate([Z, Z[:, ::-1], -Z])
    Z = (
        np.array([[Fraction(int(x), int(rng.choice([1, 2, 3, 10]))) for x in Z.flat]]).reshape(Z.shape)
        if seed % 7 == 0
        else exact(Z)
    )
    R = rng.integers(-2, 3, size=(d, d))
    A = (R.T @ R + np.eye(d, dtype=int)).astype(object) if seed % 4 == 0 else None
    alpha = Fraction(*rng.choice([(1, 2), (1, 1), (3, 1), (1, 10), (20, 1)]).tolist())
    return Z, alpha, A


def exact(Z):
    return np.array([[Fraction(int(x)) for x in z] for z in Z])


def generic(seed):
    """(Z, alpha, A), floats: Gaussian clouds, clustered and shifted ones, of up to 200 tokens in up to 8 dimensions."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 201), rng.integers(1, 9)
    alpha = float(np.exp(rng.uniform(np.log(0.05), np.log(32))))
    Z = rng.normal(size=(n, d))
    if seed % 3 == 1:
        Z = 3 * rng.normal(size=(5, d))[rng.integers(0, 5, n)] + 0.1 * Z
    if seed % 3 == 2:
        Z += 3 * rng.normal(size=d)
    R = rng.normal(size=(d, d))
    A = R.T @ R + 0.1 * np.eye(d)
    return Z, alpha, (A + A.T) / 2 if seed % 2 else None
