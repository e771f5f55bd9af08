"""Bad input: the error says what was given, with its shape, and what is expected."""

import re
from fractions import Fraction

import numpy as np
import pytest
from clouds import SMALL
from hypothesis import given
from hypothesis import strategies as st

import hmlib
from hmlib import arithmetic, inputs
from hmlib.geometry import separation_radius

Z = np.array([[1.0, 0], [2, 1], [2, -1]])

ENDLESS = []
ENDLESS.append(ENDLESS)


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no, and\nmore of it")

    def __iter__(self):
        raise RuntimeError("no, and\nmore of it")


BAD = [
    (lambda: hmlib.step([[1, np.nan]], 1), "Z has NaN or infinite entries (shape (1, 2)): expected finite numbers."),
    (lambda: hmlib.follow([[1, np.inf]]), "Z has NaN or infinite entries (shape (1, 2)): expected finite numbers."),
    (lambda: hmlib.step([[Fraction(1), float("nan")]], 1), "Z has NaN or infinite entries (shape (1, 2))"),
    (lambda: hmlib.step([1, 2], 1), "Z has shape (2,): expected tokens as rows, (n, d), or a batch of clouds, (..., n, d)."),
    (lambda: hmlib.step(3, 1), "Z is array(3.): expected tokens as rows"),
    (lambda: hmlib.step([["a", "b"]], 1), "Z is of type <U1: expected real numbers (floats, ints or fractions.Fraction)."),
    (lambda: hmlib.step([[1, "b"]], 1), "expected real numbers"),
    (lambda: hmlib.step([[None, 1]], 1), "Z is of type object: expected real numbers"),
    (lambda: hmlib.step([[1j, 1]], 1), "Z is of type complex128: expected real numbers"),
    (lambda: hmlib.step([[True, False]], 1), "Z is of type bool: expected real numbers"),
    (lambda: hmlib.step([[1, 2], [3]], 1), "Z is ragged: expected rows of equal length (pad them and pass a mask)."),
    (lambda: hmlib.step([[[1, 2], [3]]], 1), "Z is ragged"),
    (lambda: hmlib.step([[]], 1), "Z has shape (1, 0): expected at least one token, of at least one coordinate."),
    (lambda: hmlib.step(np.zeros((0, 2)), 1), "Z has shape (0, 2): expected at least one token"),
    (lambda: hmlib.attention_sets(Z, [[1, 0]]), "A has shape (1, 2): expected (2, 2), because the tokens have 2 coordinates."),
    (lambda: hmlib.attention_sets(Z, 2), "A is array(2.): expected (2, 2)"),
    (lambda: hmlib.attention_sets(Z, np.eye(3)), "A has shape (3, 3): expected (2, 2)"),
    (lambda: hmlib.attention_sets(Z, [[1, 0.5], [0.4, 1]]),
     "A is not symmetric: A[0, 1] = 0.5 but A[1, 0] = 0.4: expected equal ones. If only rounding parts them, pass (A + A.T) / 2."),
    (lambda: hmlib.attention_sets(Z, [[1, 2], [2, 1]]),
     "A is not positive definite: its smallest eigenvalue is -1: expected > 0."),
    (lambda: hmlib.attention_sets(Z, [[1, 1], [1, 1]]), "A is not positive definite: its smallest eigenvalue is 0: expected > 0."),
    (lambda: hmlib.attention_sets(Z, [[0, 0], [0, 0]]), "A is not positive definite"),
    (lambda: hmlib.attention_sets(Z, [[np.nan, 0], [0, 1]]), "A has NaN or infinite entries (shape (2, 2))"),
    (lambda: hmlib.attention_sets(Z, "identity"), "A is of type <U8: expected real numbers"),
    (lambda: hmlib.step(Z, 0), "alpha is 0.0: expected a number > 0."),
    (lambda: hmlib.step(Z, -0.5), "alpha is -0.5: expected a number > 0."),
    (lambda: hmlib.step(Z, np.inf), "alpha has NaN or infinite entries"),
    (lambda: hmlib.step(Z, "1"), "alpha is of type <U1: expected real numbers"),
    (lambda: hmlib.step(Z, [1, 2]), "alpha has shape (2,): expected one number for one layer (simulate takes one per layer)."),
    (lambda: hmlib.simulate(Z, [], 3), "alpha has shape (0,): expected a number, or a sequence with one number per layer."),
    (lambda: hmlib.simulate(Z, [[1]], 3), "alpha has shape (1, 1): expected a number, or a sequence"),
    (lambda: hmlib.simulate(Z, [1, -1], 3), "alpha is -1.0: expected a number > 0."),
    (lambda: hmlib.simulate(Z, 1, -1), "layers is -1: expected a whole number >= 0."),
    (lambda: hmlib.simulate(Z, 1, 2.5), "layers is 2.5: expected a whole number >= 0."),
    (lambda: hmlib.simulate(Z, 1, True), "layers is True: expected a whole number >= 0."),
    (lambda: hmlib.simulate(Z, 1, 3).leaders(4), "layer is 4: expected a whole number from 0 to 3."),
    (lambda: hmlib.simulate(Z, 1, 3).attention_sets(-1), "layer is -1: expected a whole number from 0 to 3."),
    (lambda: hmlib.step(Z, 1, mask=[True, False]), "mask has shape (2,) and type bool: expected one bool per token, (3,)."),
    (lambda: hmlib.step(Z, 1, mask=[1, 1, 0]), "mask has shape (3,) and type int64: expected one bool per token, (3,)."),
    (lambda: hmlib.step(Z, 1, mask=[False] * 3), "mask hides a whole sequence: expected at least one True in each."),
    (lambda: hmlib.follow([Z, Z], mask=[[True] * 3, [False] * 3]), "mask hides a whole sequence"),
    (lambda: hmlib.half_space(Z), "z has shape (3, 2): expected one token, (d,)."),
    (lambda: hmlib.half_space([]), "z has shape (0,): expected one token, (d,)."),
    (lambda: hmlib.half_space([1, 0], np.eye(3)), "A has shape (3, 3): expected (2, 2)"),
    (lambda: hmlib.half_space([1, 0]).contains([1, 2]), "points has shape (2,): expected points as rows of 2 coordinates, (n, 2)."),
    (lambda: separation_radius([1, 1], [[1, 2, 3]]), "others has shape (1, 3): expected points as rows of 2 coordinates"),
    (lambda: hmlib.step(np.ma.array(Z, mask=Z > 1), 1),
     "Z is a masked array: expected plain numbers. Pass its .data, and what is hidden as a mask."),
    (lambda: hmlib.step([np.ma.array([1, 2])], 1), "Z is a masked array"),
    (lambda: hmlib.step(ENDLESS, 1), "Z is a list of lists without end: expected an array of numbers."),
    (lambda: hmlib.step(Unreadable(), 1), "Z cannot be read, no, and: expected an array of numbers."),
    (lambda: hmlib.step((z for z in Z), 1), "Z is of type generator: expected real numbers"),
    (lambda: hmlib.step(Z, 10**5000), "alpha is too large for float64, as which it is taken: pass all numbers as Fractions."),
    (lambda: inputs.count("7" * 99, "layers"), f"layers is '{'7' * 56}...: expected a whole number >= 0."),
    (lambda: inputs.count(-(10**5000), "layers"), "layers is of type int, and too long to be shown: expected"),
    (lambda: inputs.number([1], "rate", "> 0"), "rate is [1]: expected a number > 0."),
    (lambda: inputs.number(1, "dropout", ">= 0 and < 1"), "dropout is 1: expected a number >= 0 and < 1."),
    (lambda: inputs.number(0, "rate", "> 0"), "rate is 0: expected a number > 0."),
    (lambda: inputs.number(-1e-9, "dropout", ">= 0 and < 1"), "dropout is -1e-09: expected a number >= 0 and < 1."),
    (lambda: inputs.number("1", "rate"), "rate is of type <U1: expected real numbers"),
    (lambda: inputs.amount(-1, "seconds"), "seconds is -1: expected a number >= 0."),
    (lambda: inputs.choice("c", "mode", ("a", "b")), "mode is 'c': expected one of 'a', 'b'."),
    (lambda: inputs.choice(["a"], "mode", {"a": 1}), "mode is ['a']: expected one of 'a'."),
    (lambda: inputs.instance(3, "layer", hmlib.Layer), "layer is of type int: expected a Layer."),
    (lambda: inputs.flag(1, "causal"), "causal is 1: expected True or False."),
    (lambda: inputs.sequence({"a": 1}, "labels", "labels"), "labels is of type dict: expected a list of labels."),
    (lambda: inputs.sequence(Unreadable(), "labels", "labels"), "labels cannot be read, no, and: expected a list of labels."),
    (lambda: inputs.words([1], "words"), "words holds something of type int: expected a list of words, each a str."),
    (lambda: inputs.path(3), "path is of type int: expected the name of a file or of a folder."),
    (lambda: inputs.path("a\0b"), "path is 'a\\x00b': expected the name of a file or of a folder, which holds no NUL."),
    (lambda: inputs.path("~nobody-at-all/x"), "path is '~nobody-at-all/x', and nobody has that home: expected the name of a file"),
    (lambda: inputs.room((2**20, 2**20), 8, "this", "Take less."),
     "this would take 8,192.0 GB, as an array of shape (1048576, 1048576): expected at most 2.0 GB "
     "(hmlib.inputs.MOST_BYTES). Take less."),
    (lambda: inputs.room((10**400,), 8, "this", "Take less."), "this would take far too much, as an array of shape (1000"),
    (lambda: inputs.in_range(np.array([1, np.inf]), "it"),
     "it leaves the range of floats: expected numbers on another scale, or Fractions, which have no range."),
    (lambda: separation_radius([1, 0], [[2, 0]]), "s = [1. 0.] is not separated from [2. 0.]: expected <A s, w> < <A s, s>"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize(
    "Z",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2]], np.float32),
        np.array([[1, 2]], np.int8),
        [[Fraction(1), 2]],
    ],
)
def test_good_input(Z):
    assert hmlib.step(Z, 1).shape == np.shape(Z)


def test_mixed_numbers_are_exact():
    Z = hmlib.simulate(
        np.array([[Fraction(1, 3), 0.1, np.int64(2), np.float64(0.5)]], object), 1, 0
    ).tokens
    assert Z.tolist() == [[[Fraction(1, 3), Fraction(0.1), 2, Fraction(1, 2)]]]
    assert all(type(x) is Fraction and type(x.numerator) is int for x in Z.flat)


def test_input_is_left_alone():
    given = Z.copy()
    path = hmlib.simulate(given, 1, 3, mask=np.array([True, True, False]))
    path.tokens[0] += 1
    assert (given == Z).all()


@given(st.lists(SMALL, min_size=9, max_size=9), st.integers(0, 60))
def test_positive_definite_is_decided_exactly(numbers, bits):
    """R^T R + t I is definite for t > 0 and, with R singular, not for t = 0, however small t is."""
    R = np.array(numbers, object).reshape(3, 3)
    R[2] = R[0] + R[1]
    Z = np.array([[Fraction(1)] * 3])
    for sign, fine in ((0, False), (1, True), (-1, False)):
        A = R.T @ R + sign * Fraction(1, 2**bits) * np.eye(3, dtype=int).astype(object)
        if fine:
            assert (inputs.matrix(A, Z) == A).all()
        else:
            with pytest.raises(ValueError, match="not positive definite"):
                inputs.matrix(A, Z)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6)
)
def test_whole_numbers_in_the_same_proportions(numbers):
    exact = [Fraction(x) for x in numbers]
    for X in (np.array(numbers), np.array(exact, object)):
        whole = arithmetic.integers(X)
        assert all(type(x) is int for x in whole)
        pairs = list(zip(whole, exact, strict=True))
        assert all(a * y == b * x for a, x in pairs for b, y in pairs)
        assert all(
            (w > 0) == (x > 0) and (w < 0) == (x < 0)
            for w, x in zip(whole, exact, strict=True)
        )
        unit = arithmetic.unit(whole, -1)
        assert unit.dtype == float and abs(unit).max() <= 1
