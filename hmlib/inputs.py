"""What the functions accept, and how it is taken at its word: the gate of the package.

A cloud is an array of floats, or, exactly, of rationals (`fractions.Fraction`, dtype
object). The cloud decides: with rational tokens every other number becomes rational
too, with float tokens everything is float64. Numbers are not rounded on the way in:
tokens that no float64 holds, such as 2**53 + 1, whole or of any other type, make the
cloud rational. Bad input raises a `ValueError` that says what was given, what is
expected and what to do.
"""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Rational
from pathlib import Path
from typing import NoReturn

import numpy as np

from hmlib import arithmetic
from hmlib.shapes import Cloud, Clouds, Mask, Matrix, Number, Token, Tokens

MOST_BYTES = 2**31  # that one array may take; set it higher where there is more memory
LARGEST = 2.0**1000  # coordinate of a token that moves
RANGES = {
    "": lambda x: True,
    "> 0": lambda x: x > 0,
    ">= 0": lambda x: x >= 0,
    ">= 0 and < 1": lambda x: 0 <= x < 1,
}
FLOATS = np.zeros(0)


def refuse(given: str, expected: str) -> NoReturn:
    raise ValueError(f"{given}: expected {expected}.") from None


def check(right: bool, name: str, value, expected: str):
    """The value, if it is right; an array that is not is said by its shape."""
    if not right:
        shape = getattr(value, "shape", ())
        given = f"has shape {shape}" if shape else f"is {shown(value)}"
        refuse(f"{name} {given}", expected)
    return value


def typed(right: bool, name: str, value, expected: str):
    """The value, if it is right; one that is not is said by its type."""
    if not right:
        refuse(f"{name} is of type {type(value).__name__}", expected)
    return value


# Arrays


def layer(Z, A, mask) -> tuple[Tokens, Matrix | None, Mask | None]:
    """The three arguments of a layer."""
    Z = cloud(Z)
    return Z, matrix(A, Z), real_tokens(mask, Z)


def as_batch(Z: Tokens, mask: Mask | None) -> tuple[Clouds, Mask | None]:
    """Clouds, (b, n, d), and which of their tokens are real, (b, n), or None."""
    n, d = Z.shape[-2:]
    return Z.reshape(-1, n, d), None if mask is None else mask.reshape(-1, n)


def cloud(Z, name: str = "Z") -> Tokens:
    """Z as a float64 or Fraction array of shape (..., n, d): tokens are rows."""
    Z = numbers(Z, name)
    rows = "tokens as rows, (n, d), or a batch of clouds, (..., n, d)"
    check(Z.ndim >= 2, name, Z, rows)
    return check(Z.size, name, Z, "at least one token, of at least one coordinate")


def summable(Z: Tokens) -> Tokens:
    """Z, if its floats are not so large that sums of them may overflow."""
    if Z.dtype != object and max(Z.max(), -Z.min()) > LARGEST:
        refuse(
            f"Z has coordinates up to {abs(Z).max():.3g}",
            "at most 2^1000, about 1e301, so that sums of tokens are floats. Divide all "
            "by a power of two, which changes nothing else, or pass Fractions",
        )
    return Z


def points(X, d: int, name: str) -> Cloud:
    """X as rows of d coordinates, (n, d)."""
    X = numbers(X, name)
    right = X.ndim == 2 and X.shape[1] == d and X.size
    return check(right, name, X, f"points as rows of {d} coordinates, (n, {d})")


def token(z, name: str = "z") -> Token:
    """z as one token, (d,)."""
    z = numbers(z, name)
    return check(z.ndim == 1 and z.size, name, z, "one token, (d,)")


def matrix(A, Z: Tokens) -> Matrix | None:
    """A as a symmetric positive definite matrix for the tokens of Z; None is I."""
    if A is None:
        return None
    A = square(A, Z)
    if (A != A.T).any():
        i, j = np.argwhere(A != A.T)[0]
        given = f"A[{i}, {j}] = {shown(A[i, j])} but A[{j}, {i}] = {shown(A[j, i])}"
        expected = "equal ones. If only rounding parts them, pass (A + A.T) / 2"
        refuse(f"A is not symmetric: {given}", expected)
    if not _is_positive_definite(A):
        least = min(0.0, np.linalg.eigvalsh(arithmetic.like(A, FLOATS, "A"))[0])
        given = f"its smallest eigenvalue is {least:.3g}"
        refuse(f"A is not positive definite: {given}", "> 0")
    return A


def square(A, Z: Tokens, name: str = "A", heads: bool = False) -> Matrix:
    """A as a matrix for the tokens of Z; where there may be heads, as (heads, d, d)."""
    d, A = Z.shape[-1], arithmetic.like(numbers(A, name), Z, name)
    right = A.shape[-2:] == (d, d) and A.ndim <= 2 + heads and A.size
    more = f" (or one for each head, (heads, {d}, {d}))" if heads else ""
    why = f"because the tokens have {d} coordinates"
    check(right, name, A, f"({d}, {d}){more}, {why}")
    return A.reshape(-1, d, d) if heads else A


def rate(alpha, Z: Tokens) -> Number:
    """The number alpha > 0 of one layer, of the same kind as the tokens of Z."""
    alpha = arithmetic.like(numbers(alpha, "alpha"), Z, "alpha")
    one = "one number for one layer (simulate takes one per layer)"
    alpha = check(not alpha.ndim, "alpha", alpha, one)[()]
    return check(alpha > 0, "alpha", alpha, "a number > 0")


def rates(alpha, Z: Tokens) -> list[Number]:
    """The alpha of the first layers, as a list; all later layers have the last."""
    values = numbers(alpha, "alpha")
    expected = "a number, or a sequence with one number per layer"
    check(values.ndim < 2 and values.size, "alpha", values, expected)
    return [rate(value, Z) for value in values.reshape(-1)]


def real_tokens(mask, Z: Tokens) -> Mask | None:
    """The mask of real tokens (False is padding), or None."""
    if mask is None:
        return None
    mask = array(mask, "mask")
    if mask.dtype != bool or mask.shape != Z.shape[:-1]:
        given = f"mask has shape {mask.shape} and type {mask.dtype}"
        refuse(given, f"one bool per token, {Z.shape[:-1]}")
    if not mask.any(-1).all():
        refuse("mask hides a whole sequence", "at least one True in each")
    return mask


# One value


def count(value, name: str, top: int | None = None, least: int = 0) -> int:
    """A whole number >= least (and <= top, where there is one)."""
    expected = f">= {least}" if top is None else f"from {least} to {top}"
    right = isinstance(value, Integral) and is_real(value)
    right = right and least <= value and (top is None or value <= top)
    return int(check(right, name, value, f"a whole number {expected}"))


def number(value, name: str, expected: str = "", exact: bool = False) -> Number:
    """A finite number in one of RANGES: a float, or a Fraction that is exact."""
    x = numbers(value, name)
    x = x if exact else arithmetic.like(x, FLOATS, name)
    right = not x.ndim and RANGES[expected](x)
    check(right, name, value, f"a number {expected}".strip())
    return x.item()


def amount(value, name: str) -> Number:
    """A number >= 0, infinity included."""
    return check(is_real(value) and value >= 0, name, value, "a number >= 0")


def choice(value, name: str, known: Iterable[str]) -> str:
    """One of some names."""
    right = isinstance(value, str) and value in known
    return check(right, name, value, f"one of {', '.join(map(repr, known))}")


def instance(value, name: str, kind: type):
    """A value of this type."""
    return typed(isinstance(value, kind), name, value, f"a {kind.__name__}")


def flag(value, name: str) -> bool:
    """True or False."""
    right = isinstance(value, bool | np.bool_)
    return bool(check(right, name, value, "True or False"))


def sequence(value, name: str, things: str = "things") -> list:
    """A list of things that come in an order: no set, no dict or other table."""
    none = isinstance(value, str | bytes | set | frozenset | np.ma.MaskedArray)
    table = hasattr(type(value), "keys") and getattr(value, "ndim", 2) == 2
    ordered = hasattr(type(value), "__iter__") and not (none or table)
    typed(ordered, name, value, f"a list of {things}")
    try:
        return list(value)
    except Exception as error:
        refuse(f"{name} cannot be read, {first_line(error)}", f"a list of {things}")


def words(value, name: str) -> list[str]:
    """A list of words, as `preprocess` gives it."""
    if isinstance(value, str):
        refuse(f"{name} is a str", "a list of words, as preprocess gives it")
    value = sequence(value, name, "words")
    for kind in {type(word) for word in value if not isinstance(word, str)}:
        given = f"{name} holds something of type {kind.__name__}"
        refuse(given, "a list of words, each a str")
    return value


def path(value, name: str = "path") -> Path:
    """The name of a file or of a folder."""
    expected = "the name of a file or of a folder"
    typed(isinstance(value, str | os.PathLike), name, value, expected)
    text = os.fsdecode(value)
    check("\0" not in text, name, value, f"{expected}, which holds no NUL")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        refuse(f"{name} is {shown(value)}, and nobody has that home", expected)


# What it would take, or comes to


def room(shape: tuple, size: int, what: str, instead: str) -> None:
    """Refuse what would take too much memory: an array of entries of so many bytes."""
    need = math.prod(shape) * size
    if need > MOST_BYTES:
        gigabytes = f"{need / 2**30:,.1f} GB" if need < 2**80 else "far too much"
        given = f"would take {gigabytes}, as an array of shape {shown(tuple(shape))}"
        most = f"at most {MOST_BYTES / 2**30:.1f} GB (hmlib.inputs.MOST_BYTES)"
        refuse(f"{what} {given}", f"{most}. {instead.rstrip('.')}")


def in_range(X, what: str):
    """X, if it did not leave the range of floats on the way."""
    if np.asarray(X).dtype != object and not np.isfinite(X).all():
        expected = "numbers on another scale, or Fractions, which have no range"
        refuse(f"{what} leaves the range of floats", expected)
    return X


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Say of a module that is missing which of hmlib's extras holds it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"No module named {error.name!r}: it comes with hmlib[{name}]. In a copy of "
            f"the project: `python -m pip install '.[{name}]'`.",
            name=error.name,
        ) from None


# How errors show things, and how numbers are read


def shown(value) -> str:
    """A value as it is shown in an error: short, whatever it is."""
    try:
        text = str(value) if is_real(value) else repr(value)
    except Exception:
        return f"of type {type(value).__name__}, and too long to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_line(error: Exception) -> str:
    """The first line of what somebody else's error says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:60]


def array(X, name: str) -> np.ndarray:
    """X as NumPy reads it. What is hidden stays so: masked arrays are refused."""
    rows = X if isinstance(X, list | tuple) else [X]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        expected = "plain numbers. Pass its .data, and what is hidden as a mask"
        refuse(f"{name} is a masked array", expected)
    inner, depth = X, 0
    while isinstance(inner, list | tuple) and len(inner):
        inner, depth = inner[0], depth + 1
        if depth == 64:
            refuse(f"{name} is a list of lists without end", "an array of numbers")
    try:
        return np.asarray(X)
    except Exception as error:
        if "inhomogeneous" in str(error):
            expected = "rows of equal length (pad them and pass a mask)"
            refuse(f"{name} is ragged", expected)
        refuse(f"{name} cannot be read, {first_line(error)}", "an array of numbers")


def numbers(X, name: str) -> np.ndarray:
    """X as finite float64; as Fractions, for rationals and for what no float does."""
    given, X = X, array(X, name)
    if X.dtype.kind in "iuf":
        finite = np.isfinite(X).all()
    elif X.dtype == object and all(map(is_real, X.flat)):
        finite = all(isinstance(x, Rational) or np.isfinite(x) for x in X.flat)
    else:
        kind = X.dtype if X.ndim or X.dtype != object else type(given).__name__
        expected = "real numbers (floats, ints or fractions.Fraction)"
        refuse(f"{name} is of type {kind}", expected)
    if not finite:
        given = f"{name} has NaN or infinite entries (shape {X.shape})"
        refuse(given, "finite numbers")
    if X.dtype == object:
        return arithmetic.rationals(X)
    with np.errstate(all="ignore"):
        floats = X.astype(float)
    listed = isinstance(given, list | tuple)  # where NumPy rounds ints beside floats
    sure = X.dtype.kind == "f" and not listed
    if X.itemsize <= 8 and (sure or abs(floats).max(initial=0) < 2**53):
        return floats
    exact = arithmetic.rationals(np.array(given if listed else X, object))
    return exact if (exact != floats).any() else floats


def is_real(x) -> bool:
    """A real number of any type; a bool is none, though it is an Integral to Python."""
    real = isinstance(x, Rational | float | np.floating)
    return real and not isinstance(x, bool)


def _is_positive_definite(A):
    """By the smallest eigenvalue; where rounding leaves it open, by leading minors."""
    rough = arithmetic.unit(arithmetic.integers(A) if A.dtype == object else A, None)
    values = np.linalg.eigvalsh(rough)
    if abs(values[0]) > 16 * len(A) * arithmetic.EPS * abs(values).max():
        return values[0] > 0
    whole, minor = arithmetic.integers(A), 1
    while len(whole) and minor > 0:  # elimination in whole numbers, without remainder
        last, minor = minor, whole[0, 0]
        whole = minor * whole[1:, 1:] - np.outer(whole[1:, 0], whole[0, 1:])
        whole //= last
    return minor > 0
