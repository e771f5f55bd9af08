"""What the functions accept, and how it is taken at its word: the one door of the package.

A cloud is an array of floats, or, exactly, of rationals (`fractions.Fraction`, dtype object). The cloud decides: with
rational tokens every other number becomes rational too, with float tokens everything is float64. Numbers are not
rounded on the way in: tokens that no float64 holds, such as 2**53 + 1, whole or of any other type, make the cloud
rational. Bad input raises a `ValueError` that says what was given, what is expected and what to do.
"""

import math
import os
from contextlib import contextmanager
from numbers import Integral, Rational, Real
from pathlib import Path

import numpy as np

from hmlib import arithmetic

MOST_BYTES = 2**31  # that one array may take; set it higher where there is more memory
LARGEST = 2.0**1000  # coordinate of a token that moves


def cloud(Z, name="Z"):
    """Z as a float64 or Fraction array of shape (..., n, d): tokens are rows."""
    Z = numbers(Z, name)
    if Z.ndim < 2:
        raise ValueError(
            f"{name} has shape {Z.shape}: expected tokens as rows, (n, d), or a batch of clouds, (..., n, d)."
        )
    if 0 in Z.shape:
        raise ValueError(
            f"{name} has shape {Z.shape}, an empty cloud: expected at least one token of at least one coordinate."
        )
    return Z


def summable(Z):
    """Z, if its floats are not so large that sums of them may overflow."""
    if Z.dtype != object and max(Z.max(), -Z.min()) > LARGEST:
        raise ValueError(
            f"Z has coordinates up to {abs(Z).max():.3g}: expected at most 2^1000, about 1e301, so that sums of tokens "
            "are floats. Divide all by a power of two, which changes nothing else, or pass Fractions."
        )
    return Z


def points(X, d, name):
    """X as rows of d coordinates, (n, d)."""
    X = numbers(X, name)
    if X.ndim != 2 or X.shape[1] != d or 0 in X.shape:
        raise ValueError(
            f"{name} has shape {X.shape}: expected points as rows of {d} coordinates, (n, {d})."
        )
    return X


def token(z, name="z"):
    """z as one token, (d,)."""
    z = numbers(z, name)
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
            f"A is not symmetric: A[{i}, {j}] = {shown(A[i, j], str)} but A[{j}, {i}] = {shown(A[j, i], str)}. "
            "If only rounding parts them, pass (A + A.T) / 2."
        )
    if not _is_positive_definite(A):
        smallest = min(0.0, np.linalg.eigvalsh(arithmetic.like(A, np.zeros(0), "A"))[0])
        raise ValueError(
            f"A is not positive definite: its smallest eigenvalue is {smallest:.3g}, expected > 0."
        )
    return A


def square(A, Z, name="A", heads=False):
    """A as a square matrix for the tokens of Z; where there may be several heads, as (heads, d, d)."""
    d, A = Z.shape[-1], arithmetic.like(numbers(A, name), Z, name)
    if A.shape[-2:] != (d, d) or A.ndim > 2 + heads or 0 in A.shape:
        more = f" (or one for each head, (heads, {d}, {d}))" if heads else ""
        raise ValueError(
            f"{name} has shape {A.shape}: expected ({d}, {d}){more}, because the tokens have {d} coordinates."
        )
    return A.reshape(-1, d, d) if heads else A


def rate(alpha, Z):
    """The number alpha > 0 of one layer, of the same kind as the tokens of Z."""
    alpha = arithmetic.like(numbers(alpha, "alpha"), Z, "alpha")
    if alpha.ndim:
        raise ValueError(
            f"alpha has shape {alpha.shape}: expected one number for one layer (simulate takes one per layer)."
        )
    if not alpha > 0:
        raise ValueError(f"alpha is {shown(alpha, str)}: expected a number > 0.")
    return alpha[()]


def rates(alpha, Z):
    """The alpha of the first layers, as a list; all later layers have the last."""
    values = numbers(alpha, "alpha")
    if values.ndim > 1 or values.size == 0:
        raise ValueError(
            f"alpha has shape {values.shape}: expected a number, or a sequence with one number per layer."
        )
    return [rate(value, Z) for value in values.reshape(-1)]


def real_tokens(mask, Z):
    """The mask of real tokens (False is padding), or None."""
    if mask is None:
        return None
    mask = array(mask, "mask")
    if mask.dtype != bool or mask.shape != Z.shape[:-1]:
        raise ValueError(
            f"mask has shape {mask.shape} and type {mask.dtype}: expected one bool per token, {Z.shape[:-1]}."
        )
    if not mask.any(-1).all():
        raise ValueError(
            "mask hides a whole sequence: expected at least one True in each."
        )
    return mask


def count(value, name, top=None, least=0):
    """A whole number >= least (and <= top, where there is one)."""
    if (
        not isinstance(value, Integral)
        or isinstance(value, bool)
        or value < least
        or (top is not None and value > top)
    ):
        expected = f">= {least}" if top is None else f"from {least} to {top}"
        raise ValueError(
            f"{name} is {shown(value)}: expected a whole number {expected}."
        )
    return int(value)


def number(value, name, expected="", exact=False):
    """One finite number as a float, or as a Fraction that is exact; `expected` says of what kind, see RANGES."""
    x = numbers(value, name)
    x = x if exact else arithmetic.like(x, np.zeros(0), name)
    if x.ndim or not RANGES[expected](x):
        raise ValueError(
            f"{name} is {shown(value)}: expected a number{expected and ' '}{expected}."
        )
    return x.item()


def amount(value, name):
    """A number >= 0, infinity included."""
    if isinstance(value, bool) or not isinstance(value, Real) or not value >= 0:
        raise ValueError(f"{name} is {shown(value)}: expected a number >= 0.")
    return value


RANGES = {
    "": lambda x: True,
    "> 0": lambda x: x > 0,
    ">= 0": lambda x: x >= 0,
    ">= 0 and < 1": lambda x: 0 <= x < 1,
}


def choice(value, name, known):
    """One of some names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"{name} is {shown(value)}: expected one of {', '.join(map(repr, known))}."
        )
    return value


def instance(value, name, kind, article="a"):
    """A value of this type."""
    if not isinstance(value, kind):
        raise ValueError(
            f"{name} is of type {type(value).__name__}: expected {article} {kind.__name__}."
        )
    return value


def flag(value, name):
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}: expected True or False.")
    return bool(value)


def sequence(value, name, of="things"):
    """A list of things that come in an order."""
    none = str, bytes, set, frozenset, np.ma.MaskedArray
    table = (
        hasattr(type(value), "keys") and getattr(value, "ndim", 2) == 2
    )  # a dict, or a DataFrame: a list of its columns
    if isinstance(value, none) or table or not hasattr(type(value), "__iter__"):
        raise ValueError(
            f"{name} is of type {type(value).__name__}: expected a list of {of}."
        )
    try:
        return list(value)
    except Exception as error:
        raise ValueError(
            f"{name} cannot be read as a list of {of}: {first_line(error)}"
        ) from None


def words(value, name):
    """A list of words, as `preprocess` gives it."""
    if isinstance(value, str):
        raise ValueError(
            f"{name} is a str: expected a list of words, as preprocess gives it."
        )
    value = sequence(value, name, "words")
    if strange := [kind for kind in set(map(type, value)) if not issubclass(kind, str)]:
        raise ValueError(
            f"{name} holds something of type {strange[0].__name__}: expected a list of words, each a str."
        )
    return value


def path(value, name="path"):
    """The name of a file or of a folder."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError(
            f"{name} is of type {type(value).__name__}: expected the name of a file or of a folder."
        )
    if "\0" in os.fsdecode(value):
        raise ValueError(
            f"{name} is {shown(value)}: expected the name of a file or of a folder, which holds no NUL."
        )
    try:
        return Path(os.fsdecode(value)).expanduser()
    except RuntimeError as error:  # ~ of nobody
        raise ValueError(f"{name} is {shown(value)}: {first_line(error)}") from None


def room(shape, size, what, instead):
    """Refuse what would take too much memory: an array of this shape, of entries of so many bytes."""
    need = math.prod(shape) * size
    if need > MOST_BYTES:
        gigabytes = f"{need / 2**30:,.1f} GB" if need < 2**80 else "far too much"
        raise ValueError(
            f"{what} would take {gigabytes}, as an array of shape {shown(tuple(shape))}; at most "
            f"{MOST_BYTES / 2**30:.1f} GB are taken (hmlib.inputs.MOST_BYTES). {instead}"
        )


def in_range(X, what):
    """X, if it did not leave the range of floats on the way."""
    if np.asarray(X).dtype != object and not np.isfinite(X).all():
        raise ValueError(
            f"{what} leaves the range of floats: scale the numbers, or pass Fractions, which have no range."
        )
    return X


def shown(value, how=repr):
    """A value as it is shown in an error: short, whatever it is."""
    try:
        text = how(value)
    except Exception:
        return f"of type {type(value).__name__}, and too long to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextmanager
def extra(name):
    """Say of a module that is missing which of hmlib's extras holds it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"No module named {error.name!r}: it comes with hmlib[{name}]. In a copy of the project: "
            f"`python -m pip install '.[{name}]'`.",
            name=error.name,
        ) from None


def array(X, name):
    """X as NumPy reads it. Nothing that is hidden comes to light: masked arrays are refused."""
    rows = X if isinstance(X, list | tuple) else [X]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        raise ValueError(
            f"{name} is a masked array: expected plain numbers. Pass its .data, and what is hidden as a mask."
        )
    inner, depth = X, 0
    while isinstance(inner, list | tuple) and len(inner) and depth < 64:
        inner, depth = inner[0], depth + 1
    if depth == 64:
        raise ValueError(
            f"{name} is a list of lists without end: expected an array of numbers."
        )
    try:
        return np.asarray(X)
    except Exception as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name} is ragged: expected rows of equal length (pad them and pass a mask)."
            ) from None
        raise ValueError(
            f"{name} (of type {type(X).__name__}) cannot be read as an array of numbers: {first_line(error)}"
        ) from None


def numbers(X, name):
    """X as a finite float64 array; as an array of Fractions if it holds Python rationals, or what no float64 holds."""
    given, X = X, array(X, name)
    if X.dtype == object and all(
        isinstance(x, Rational | float | np.floating) and not isinstance(x, bool)
        for x in X.flat
    ):
        finite = all(isinstance(x, Rational) or np.isfinite(x) for x in X.flat)
    elif X.dtype.kind in "iuf":
        finite = np.isfinite(X).all()
    else:
        kind = X.dtype if X.ndim or X.dtype != object else type(given).__name__
        raise ValueError(
            f"{name} is of type {kind}: expected real numbers (floats, ints or fractions.Fraction)."
        )
    if not finite:
        raise ValueError(
            f"{name} has NaN or infinite entries (shape {X.shape}): expected finite numbers."
        )
    if X.dtype == object:
        return arithmetic.rationals(X)
    with np.errstate(all="ignore"):
        floats = X.astype(float)
    sure = X.dtype.kind == "f" and not isinstance(
        given, list | tuple
    )  # NumPy rounds where ints stand among floats
    if X.itemsize <= 8 and (sure or abs(floats).max(initial=0) < 2**53):
        return floats
    exact = arithmetic.rationals(
        np.array(given, object) if isinstance(given, list | tuple) else X.astype(object)
    )
    return exact if (exact != floats).any() else floats


def first_line(error):
    """The first line of what somebody else's error says."""
    return shown((str(error).splitlines() or [type(error).__name__])[0], str)


def _is_positive_definite(A):
    """The smallest eigenvalue is positive; where rounding leaves that open, all leading minors are, in whole numbers."""
    values = np.linalg.eigvalsh(
        arithmetic.unit(arithmetic.integers(A) if A.dtype == object else A, None)
    )
    if abs(values[0]) > 16 * len(A) * arithmetic.EPS * abs(values).max():
        return values[0] > 0
    A, last = arithmetic.integers(A), 1
    while len(A):
        minor = A[0, 0]
        if minor <= 0:
            return False
        A, last = (
            (minor * A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:])) // last,
            minor,
        )  # without remainder
    return True
