"""What the functions accept, and how it is taken at its word.

A cloud is an array of floats, or, exactly, of rationals (`fractions.Fraction`, dtype object). The cloud decides: with
rational tokens every other number becomes rational too, with float tokens everything is float64. Bad input raises a
`ValueError` that says what was given, what is expected and what to do.
"""

import math
from fractions import Fraction
from numbers import Integral, Rational, Real

import numpy as np

EPS = np.finfo(float).eps
LARGEST = 2.0**1000  # coordinate of a token


def cloud(Z):
    """Z as a float64 or Fraction array of shape (..., n, d): tokens are rows."""
    Z = _numbers(Z, "Z")
    if Z.ndim < 2:
        raise ValueError(f"Z has shape {Z.shape}: expected tokens as rows, (n, d), or a batch of clouds, (..., n, d).")
    if 0 in Z.shape:
        raise ValueError(
            f"Z has shape {Z.shape}, an empty cloud: expected at least one token of at least one coordinate."
        )
    if Z.dtype != object and max(Z.max(), -Z.min()) > LARGEST:
        raise ValueError(
            f"Z has coordinates up to {abs(Z).max():.3g}: expected at most 2^1000, about 1e301, so that sums of tokens are "
            "floats. Divide all by a power of two, which changes nothing else, or pass Fractions."
        )
    return Z


def points(X, d, name):
    """X as rows of d coordinates, (n, d)."""
    X = _numbers(X, name)
    if X.ndim != 2 or X.shape[1] != d or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}: expected points as rows of {d} coordinates, (n, {d}).")
    return X


def token(z, name="z"):
    """z as one token, (d,)."""
    z = _numbers(z, name)
    if z.ndim != 1 or z.size == 0:
        raise ValueError(f"{name} has shape {z.shape}: expected one token, (d,).")
    return z


def matrix(A, Z):
    """A as a symmetric positive definite matrix for the tokens of Z; None stands for the identity."""
    if A is None:
        return None
    A = square(A, Z)
    if (A != A.T).any():
        i, j = np.argwhere(A != A.T)[0]
        raise ValueError(
            f"A is not symmetric: A[{i}, {j}] = {A[i, j]} but A[{j}, {i}] = {A[j, i]}. "
            "If only rounding parts them, pass (A + A.T) / 2."
        )
    if not _is_positive_definite(A):
        smallest = min(0.0, np.linalg.eigvalsh(A.astype(float))[0])
        raise ValueError(f"A is not positive definite: its smallest eigenvalue is {smallest:.3g}, expected > 0.")
    return A


def square(A, Z, name="A", heads=False):
    """A as a square matrix for the tokens of Z; where there may be several heads, as (heads, d, d)."""
    d, A = Z.shape[-1], like(_numbers(A, name), Z)
    if A.shape[-2:] != (d, d) or A.ndim > 2 + heads or 0 in A.shape:
        more = f" (or one for each head, (heads, {d}, {d}))" if heads else ""
        raise ValueError(
            f"{name} has shape {A.shape}: expected ({d}, {d}){more}, because the tokens have {d} coordinates."
        )
    return A.reshape(-1, d, d) if heads else A


def rate(alpha, Z):
    """The number alpha > 0 of one layer, of the same kind as the tokens of Z."""
    alpha = _numbers(alpha, "alpha")
    if alpha.ndim:
        raise ValueError(
            f"alpha has shape {alpha.shape}: expected one number for one layer (simulate takes one per layer)."
        )
    if not alpha > 0:
        raise ValueError(f"alpha is {alpha}: expected a number > 0.")
    return like(alpha, Z)[()]


def rates(alpha, Z):
    """The alpha of the first layers, as a list; all later layers have the last."""
    values = _numbers(alpha, "alpha")
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"alpha has shape {values.shape}: expected a number, or a sequence with one number per layer.")
    return [rate(value, Z) for value in values.reshape(-1)]


def real_tokens(mask, Z):
    """The mask of real tokens (False is padding), or None."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.shape != Z.shape[:-1]:
        raise ValueError(
            f"mask has shape {mask.shape} and type {mask.dtype}: expected one bool per token, {Z.shape[:-1]}."
        )
    if not mask.any(-1).all():
        raise ValueError("mask hides a whole sequence: expected at least one True in each.")
    return mask


def count(value, name, top=None):
    """A whole number from 0 (to top, where there is one)."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0 or (top is not None and value > top):
        raise ValueError(
            f"{name} is {value!r}: expected a whole number {'>= 0' if top is None else f'from 0 to {top}'}."
        )
    return int(value)


def amount(value, name):
    """A number >= 0, infinity included."""
    if isinstance(value, bool) or not isinstance(value, Real) or not value >= 0:
        raise ValueError(f"{name} is {value!r}: expected a number >= 0.")
    return value


def like(X, Z):
    """X in the arithmetic of Z: rational if the tokens are, float64 otherwise."""
    return rationals(X) if Z.dtype == object else X.astype(float)


def integers(X):
    """X times one positive number that makes all entries whole: Python ints, exact."""
    if X.dtype == object:
        whole = math.lcm(*(x.denominator for x in X.flat))
        return np.frompyfunc(lambda x: x.numerator * (whole // x.denominator), 1, 1)(X)
    mantissa, exponent = np.frexp(X)
    mantissa = (mantissa * 2**53).astype(np.int64).astype(object)
    return mantissa << (exponent - exponent.min(initial=0)).astype(object)


def distinct(Z):
    """(first, of): the rows Z[first] are the distinct ones in order of appearance, and Z[first][of] is Z."""
    some = _perhaps_equal(Z) if Z.dtype != object else np.arange(len(Z))
    codes = [np.unique(column, return_inverse=True)[1] for column in Z[some].T]
    order = np.lexsort(codes)  # stable: equal rows stay in order
    new = np.append(True, np.any([np.diff(code[order]) != 0 for code in codes], axis=0))[: len(some)]
    name = np.arange(len(Z))  # the first of the rows that are equal to this one
    name[some[order]] = some[order[new]][np.cumsum(new) - 1]
    first = np.flatnonzero(name == np.arange(len(Z)))
    of = np.empty(len(Z), int)
    of[first] = np.arange(len(first))
    return first, of[name]


def _perhaps_equal(Z):
    """The rows that share their sum with weights (of floats, in one order, hence the same for equal rows)."""
    d = Z.shape[1]
    total = sum(column * weight for column, weight in zip(Z.T, np.sqrt(np.arange(2, d + 2) / (d + 2)) / d, strict=True))
    order = total.argsort()
    same = total[order[1:]] == total[order[:-1]]
    shared = np.append(same, False) | np.append(False, same)
    return np.sort(order[shared])


def exponent(X, axis):
    """The smallest e with abs(X) <= 2^e along the axes (kept)."""
    top = abs(X).max(axis, keepdims=True)
    return np.frompyfunc(int.bit_length, 1, 1)(top) if X.dtype == object else np.frexp(top)[1]


def unit(X, axis):
    """X (floats or ints) over 2^e, in [-1, 1]: floats, at most one rounding away."""
    e = exponent(X, axis)
    return (X / 2**e).astype(float) if X.dtype == object else np.ldexp(X, -e)


def _numbers(X, name):
    """X as a finite float64 array, or as an array of Fractions if it holds Python rationals."""
    try:
        X = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} is ragged: expected rows of equal length (pad them and pass a mask).") from None
    if X.dtype == object and all(isinstance(x, (Rational, float, np.floating)) for x in X.flat):
        finite = all(isinstance(x, Rational) or math.isfinite(x) for x in X.flat)
    elif X.dtype.kind in "iuf":
        X = X.astype(float)
        finite = np.isfinite(X).all()
    else:
        raise ValueError(f"{name} is of type {X.dtype}: expected real numbers (floats, ints or fractions.Fraction).")
    if not finite:
        raise ValueError(f"{name} has NaN or infinite entries (shape {X.shape}): expected finite numbers.")
    return rationals(X) if X.dtype == object else X


@np.vectorize(otypes=[object])
def rationals(x):
    return Fraction(int(x)) if isinstance(x, Integral) else Fraction(x)


def _is_positive_definite(A):
    """The smallest eigenvalue is positive; where rounding leaves that open, all pivots of exact elimination are."""
    values = np.linalg.eigvalsh(unit(integers(A) if A.dtype == object else A, None))
    if abs(values[0]) > 16 * len(A) * EPS * abs(values).max():
        return values[0] > 0
    A = rationals(A)
    for k in range(len(A)):
        if A[k, k] <= 0:
            return False
        A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
    return True
