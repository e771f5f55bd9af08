"""Random clouds for hypothesis: small numbers, so that ties, duplicates and zeros are common, and any floats."""

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from hmlib import attention
from hmlib.fast import plane, tiles

SMALL = st.integers(-3, 3)
FRACTIONS = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 5))
FLOATS = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 3))
ALPHAS = st.builds(Fraction, st.integers(1, 40), st.integers(1, 10))

# Its hull is a triangle; four of it lead, 1 and 3 from layer 1 on, for alpha = 1.
TRIANGLE = [[29, -32], [11, 12], [19, 5], [13, 8], [10, 13]]
EMERGING = [(1, "1/3"), ("-1/12", "1/12"), (-1, -1), (0, "1/4"), ("-3/10", "-7/10"), ("-3/5", "-9/10"),
            ("4/5", "1/10"), ("3/5", "3/20")]  # Fig. 2, row 2  # fmt: skip
EMERGING = np.array([[Fraction(x) for x in row] for row in EMERGING])


def square(X, A=None):
    """<A x, x> for each row."""
    return (X * X).sum(-1) if A is None else (X @ A * X).sum(-1)


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
    R = np.array(
        draw(st.lists(SMALL, min_size=d * d, max_size=d * d)), dtype=object
    ).reshape(d, d)
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
            Z = np.array(np.meshgrid(*[[-1, 0, 1]] * d)).reshape(
                d, -1
            ).T + rng.integers(-1, 2, size=d) * (seed % 2)
        case 4:
            Z = np.concatenate([Z, Z[:, ::-1], -Z])
    Z = (
        np.array(
            [[Fraction(int(x), int(rng.choice([1, 2, 3, 10]))) for x in Z.flat]]
        ).reshape(Z.shape)
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


def near(seed):
    """(Z, alpha, A), floats at the edge of what they can tell: tokens a few units in the last place apart, or 1e-9, or
    1e-6; lattices; alpha from 1e-6 to 1e300, also one per layer; matrices of condition up to 1e12."""
    rng = np.random.default_rng([seed, 14])
    d, n = int(rng.choice([1, 2, 2, 2, 3, 4, 6])), int(rng.integers(1, 15))
    Z = rng.normal(size=(n, d))
    if seed % 3 == 0:
        Z = rng.integers(-6, 7, (n, d)) / rng.choice([1, 2, 3, 10])
    if seed % 4 != 3:  # some near-copies, of near-copies as well
        for _ in range(rng.integers(1, 4)):
            z = Z[
                rng.integers(0, len(Z))
                if rng.random() < 0.3
                else (Z**2).sum(1).argmax()
            ]  # of the longest, above all
            close = (
                rng.integers(-5, 6, d) * np.spacing(z)
                if rng.random() < 0.5
                else rng.normal(size=d)
            )
            size = 1 if abs(close).max() < 1e-12 else rng.choice([1e-9, 1e-6])
            Z = np.concatenate([Z, [z + size * close]])[rng.permutation(len(Z) + 1)]
    if seed % 7 == 0:
        Z = Z * 10.0 ** rng.integers(-300, 295)
    alpha = float(np.exp(rng.uniform(np.log(0.05), np.log(50))))
    if seed % 5 in (1, 3):
        alpha = float(10.0 ** rng.uniform(3, 17))
    if seed % 5 == 2:
        alpha = [float(10.0**x) for x in rng.uniform(-2, 6, size=4)]
    if seed % 50 == 3:
        alpha = float(rng.choice([1e-6, 1e-3, 1e100, 1e300]))
    if seed % 50 == 4:
        alpha = [float(10.0**x) for x in rng.uniform(-300, 300, size=4)] + [1.0]
    U = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = U * 10.0 ** rng.uniform(-6 if seed % 2 else -1, 6 if seed % 2 else 1, d) @ U.T
    return Z, alpha, None if seed % 3 else (A + A.T) / 2


def adversary(seed, d=2, most=24):
    """(Z, A): lattices, circles, lines, flat and clustered clouds, copies, zeros and near-ties, at any scale."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most))
    Z = rng.normal(size=(n, d))
    match seed % 8:
        case 0:
            Z = rng.integers(-3, 4, size=(n, d)).astype(float)
        case 1:  # a circle, and what looks at the middle of its edges
            angle = np.arange(n) * 2 * np.pi / n
            Z[:, :2] = np.stack([np.cos(angle), np.sin(angle)], -1)[:, :d]
            Z = (
                np.concatenate([Z, Z + np.roll(Z, 1, 0)])
                if seed % 16 == 1
                else np.round(5 * Z)
            )
        case 2:  # a line, through 0 or not
            Z = rng.integers(-5, 6, size=(n, 1)) * rng.integers(
                -2, 3, size=d
            ) + rng.integers(0, 2) * np.ones(d)
        case 3:  # flat, exactly or nearly
            Z[:, -1] = 1 + 1e-16 * rng.integers(0, 3, n)
        case 4:  # one rounding apart
            Z = np.concatenate([Z, np.nextafter(Z, rng.choice([-9, 9], size=Z.shape))])
        case 5:  # clusters of copies, and 0
            Z = np.append(Z[rng.integers(0, n, 2 * n)], np.zeros((2, d)), 0)
        case 6:
            Z = Z * 10.0 ** rng.integers(-12, 3, size=(n, 1))
    Z = (
        Z
        * float(rng.choice([1, 1, 1, 1e-300, 1e-160, 1e150, 1e300]))
        * (0.1 if seed % 5 == 0 else 1)
    )
    R = rng.normal(size=(d, d)) if seed % 2 else rng.integers(-2, 3, size=(d, d))
    A = R.T @ R + np.eye(d) * (1e-3 if seed % 2 else 1)
    return Z, (A + A.T) / 2 if seed % 3 == 0 else None


@contextmanager
def every_cloud_is_large(large=4):
    """From so many tokens on a cloud takes the road of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "LARGE", large)
        patch.setattr(tiles, "WIDTH", max(1, large // 4))
        patch.setattr(plane, "SMALL", 3)
        yield
