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
