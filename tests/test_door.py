"""At the door: every public function against whatever may be handed to it. It is refused in our words, or taken right.

Refused: a ValueError or TypeError that hmlib itself raises, that names the argument, within a second, and with all
arguments as they were. What is legal is written down for each kind of argument; all else has to be refused.
"""

import inspect
import itertools
import json
import linecache
import math
import re
import subprocess
import sys
import time
import tomllib
import traceback
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse
import torch

import hmlib
from hmlib import (
    HardmaxClassifier,
    Vocabulary,
    Weights,
    evaluate,
    explain,
    geometry,
    inputs,
    train,
)
from hmlib.live import reviews as live_reviews
from hmlib.live.playground import Playground
from hmlib.live.reviews import ReviewExplorer
from studies import checkpoints

PACKAGE = str(Path(hmlib.__file__).parent)


class Raises:
    """It looks like a sequence and like an array, and is neither."""

    def __array__(self, dtype=None, copy=None):
        raise OSError("the disk is gone")

    def __iter__(self):
        raise OSError("the disk is gone")

    def __len__(self):
        return 2


def inside_itself(times):
    rows = []
    rows += [rows] * times
    return rows


def objects(rows):
    X = np.empty(np.shape(rows), object)
    X[:] = rows
    return X


BAD = {
    "None": lambda: None,
    "text": lambda: "abc",
    "a number as text": lambda: "1.5",
    "bytes": lambda: b"ab",
    "a bool": lambda: True,
    "complex": lambda: 1j,
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "-1": lambda: -1,
    "0": lambda: 0,
    "-0.0": lambda: -0.0,
    "1.5": lambda: 1.5,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "1/10**400": lambda: Fraction(1, 10**400),
    "an array of one number": lambda: np.array(2.0),
    "nothing": list,
    "no rows": lambda: np.zeros((0, 2)),
    "one row": lambda: np.ones(2),
    "five axes": lambda: np.ones((1, 1, 1, 3, 2)),
    "ragged": lambda: [[1, 2], [3]],
    "strings": lambda: np.array([["a", "b"], ["c", "d"]], object),
    "nan inside": lambda: [[1, math.nan], [0, 1]],
    "infinity inside": lambda: np.array([[1, math.inf], [0, 1]]),
    "complex inside": lambda: [[1j, 0], [0, 1]],
    "bools": lambda: np.eye(2, dtype=bool),
    "a bool among fractions": lambda: objects([[True, Fraction(1, 2)], [0, 1]]),
    "None inside": lambda: [[None, 1], [0, 1]],
    "masked": lambda: np.ma.array(np.eye(2), mask=[[0, 1], [0, 0]]),
    "a list of masked": lambda: [np.ma.array([1, 2], mask=[0, 1])] * 2,
    "structured": lambda: np.zeros(2, "f8,i4"),
    "dates": lambda: np.array([["2024-07-02", "2025-02-04"]], "M8[D]"),
    "sparse": lambda: scipy.sparse.csr_matrix(np.eye(2)),
    "a tensor with a gradient": lambda: torch.eye(2, requires_grad=True),
    "a tensor of bfloat16": lambda: torch.eye(2, dtype=torch.bfloat16),
    "a sparse tensor": lambda: torch.eye(2).to_sparse(),
    "a tensor without data": lambda: torch.eye(2, device="meta"),
    "a table of strings": lambda: pd.DataFrame({"x": ["a", "b"], "y": ["c", "d"]}),
    "a dict": lambda: {"Z": 1},
    "a set": lambda: {1, 2},
    "a generator": lambda: (row for row in [[1, 0], [0, 1]]),
    "a range": lambda: range(2),
    "a class": lambda: int,
    "a function": lambda: lambda: None,
    "a list in itself": lambda: inside_itself(1),
    "a list twice in itself": lambda: inside_itself(2),
    "what raises": Raises,
    "no symmetry": lambda: [[1.0, 2.0], [0.0, 1.0]],
    "singular": lambda: [[1.0, 1.0], [1.0, 1.0]],
    "a wrong shape": lambda: np.ones((3, 5)),
    "a short mask": lambda: [True] * 7,
    "a mask of ints": lambda: [1, 1, 0],
    "fractions and floats": lambda: [[Fraction(4, 3), 0.5], [0.5, 1]],
    "float32 among fractions": lambda: objects(
        [[np.float32(1.1), Fraction(1, 2)], [Fraction(1, 2), np.float64(1)]]
    ),
    "longdoubles": lambda: np.array([[1.1, 0.5], [0.5, 1]], np.longdouble),
    "float16": lambda: np.array([[1.1, 0.5], [0.5, 1]], np.float16),
    "int8": lambda: np.array([[2, 1], [1, 1]], np.int8),
    "uint64": lambda: np.array([[2**63 + 1, 1], [1, 1]], np.uint64),
    "a matrix": lambda: np.array([[2, 1], [1, 1]]).view(np.matrix),
    "a tensor": lambda: torch.eye(2),
    "10**400 inside": lambda: [[10**400, 0], [0, 1]],
    "no memory for it": lambda: 10**9,
}

# What is right, and has to be taken, for each kind of argument; the rest of BAD has to be refused.
ENDLESS = {"no memory for it", "10**400", "10**5000"}
NOTHING, NONE, ZERO, ANY_NUMBER = (
    set(),
    {"None"},
    {"0", "-0.0", "1/10**400"},
    {"1.5", "an array of one number"},
)
POSITIVE = ANY_NUMBER | {
    "no memory for it"
}  # 10**9 is a number like others; 10**400 is too large for floats
HUGE = {"10**400 inside"}  # which makes a cloud rational, but does not fit into floats
MATRICES = {
    "fractions and floats",
    "float32 among fractions",
    "longdoubles",
    "float16",
    "int8",
    "uint64",
    "a matrix",
    "a tensor",
}
SQUARES = MATRICES | {"no symmetry", "singular"}
CLOUD = SQUARES | HUGE | {"a wrong shape"}
TEXT, EMPTY = {"text", "a number as text"}, {"nothing", "no rows"}
FUNCTION = {
    "None",
    "a class",
    "a function",
}  # what it does when it is called is its own affair

Z = np.array([[1.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
A, B, C = [[0.0, 1.0], [1.0, 0.0]], [[2.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 3.0]]
WORDS = ["good", "bad", "film"]


def a_model():
    torch.manual_seed(0)
    model = HardmaxClassifier(4, 2, alpha=1, depth=2)
    model.vocabulary = Vocabulary([WORDS])
    return model


MODEL, MACHINE = a_model(), hmlib.classify_exactly([A, B], [0, 1])
IDS, LABELS = torch.tensor([[1, 2], [3, 0]]), torch.tensor([1, 0])
WEIGHTS = {"embedding": Z, "alpha": 1, "depth": 2, "v": [1, 2], "bias": 0}


def layer(**dials):
    """A layer is checked when it is made, but for its matrices."""
    return hmlib.vary(Z, hmlib.Layer(**dials))


def assigned(**values):
    play = Playground()
    for name, value in values.items():
        setattr(play, name, value)
    return play


def trained(**options):
    return train(a_model(), **{"plan": hmlib.Plan(epochs=1)} | options)


# (what is called, its good arguments, {argument: which of BAD it has to take; or that, and its name in errors})
MODEL_OF_TOKENS = {"Z": CLOUD | {"five axes"}, "A": MATRICES | NONE, "mask": NONE}
LIMIT = {"Z": CLOUD, "alpha": POSITIVE | {"one row"}, "A": MATRICES | NONE}
BUDGET = dict.fromkeys(
    ("seconds", "megabytes"), {"0", "-0.0", "1.5", "1/10**400", "infinity"} | ENDLESS
)
DOORS = {
    "attention_sets": (hmlib.attention_sets, {"Z": Z}, MODEL_OF_TOKENS),
    "follow": (hmlib.follow, {"Z": Z}, MODEL_OF_TOKENS),
    "roots": (
        hmlib.roots,
        {"follows": [1, 1, 0]},
        {"follows": {"a range", "a mask of ints"}},
    ),
    "alone": (hmlib.alone, {"C": np.eye(2, dtype=bool)}, {"C": {"bools"}}),
    "step": (hmlib.step, {"Z": Z, "alpha": 1}, MODEL_OF_TOKENS | {"alpha": POSITIVE}),
    "simulate": (
        hmlib.simulate,
        {"Z": Z, "alpha": 1, "layers": 2},
        MODEL_OF_TOKENS | {"alpha": POSITIVE | {"one row"}, "layers": {"0"}},
    ),
    "limit": (hmlib.limit, {"Z": Z, "alpha": 1}, LIMIT | BUDGET),
    "leaders": (
        hmlib.leaders,
        {"Z": Z, "alpha": 1},
        LIMIT,
    ),
    "limit_polytope": (
        hmlib.limit_polytope,
        {"Z": Z, "alpha": 1},
        LIMIT,
    ),
    "Limit.at": (hmlib.limit(Z, 1).at, {"layer": 3}, {"layer": {"0"} | ENDLESS}),
    "Trajectory.leaders": (
        hmlib.simulate(Z, 1, 3).leaders,
        {"k": 3},
        {"k": ({"0"}, "layer")},
    ),
    "Trajectory.attention_sets": (
        hmlib.simulate(Z, 1, 3).attention_sets,
        {"k": 3},
        {"k": ({"0"}, "layer")},
    ),
    "half_space": (
        hmlib.half_space,
        {"z": Z[1]},
        {"z": {"one row", "a range", "a mask of ints"}, "A": MATRICES | NONE},
    ),
    "HalfSpace.contains": (
        hmlib.half_space(Z[1]).contains,
        {"points": Z},
        {"points": SQUARES},
    ),
    "HalfSpace.side": (hmlib.half_space(Z[1]).side, {"points": Z}, {"points": SQUARES}),
    "separation_radius": (
        geometry.separation_radius,
        {"s": [9, 9], "others": -Z},
        {
            "s": ({"one row"}, "s|others"),
            "others": (SQUARES - {"uint64"}, "s|others"),
            "A": MATRICES | NONE,
        },
    ),
    "project": (
        hmlib.project,
        {"x": [0, 0], "vertices": Z},
        {
            "x": ({"one row", "a range"}, "x|vertices"),
            "vertices": SQUARES | HUGE,
            "A": MATRICES | NONE,
        },
    ),
    "cluster_points": (
        hmlib.cluster_points,
        {"vertices": Z},
        {"vertices": CLOUD, "A": MATRICES | NONE},
    ),
    "classify_exactly": (
        hmlib.classify_exactly,
        {"sequences": [A, B], "labels": [0, 1], "mode": "set"},
        {
            "sequences": ({"a matrix"}, "sequences?"),
            "labels": {"one row", "structured", "a range"},
            "mode": NOTHING,
        },
    ),
    "interpolate_exactly": (
        hmlib.interpolate_exactly,
        {"inputs": [A, B], "outputs": [C, A]},
        {"inputs": (NOTHING, "inputs?"), "outputs": ({"a matrix"}, "outputs?")},
    ),
    **{
        f"ExactTransformer.{name}": (
            getattr(MACHINE, name),
            {"X": A, "temperature": 0.5},
            {
                "X": SQUARES | {"five axes"},
                "mask": NONE,
                "temperature": POSITIVE | ZERO,
            },
        )
        for name in ("predict", "scores", "transform", "states")
    },
    "Layer": (
        layer,
        {},
        {
            "alpha": POSITIVE,
            "A": SQUARES | NONE,
            "V": SQUARES | NONE,
            "temperature": POSITIVE | ZERO,
            "tolerance": POSITIVE | ZERO,
            "ties": NOTHING,
            "causal": {"a bool"},
            "normalise": NOTHING,
            "feed_forward": FUNCTION,
        },
    ),
    "vary": (
        hmlib.vary,
        {"Z": Z, "layers": hmlib.Layer()},
        {"Z": CLOUD | {"five axes"}, "layers": EMPTY, "mask": NONE},
    ),
    "settle": (
        hmlib.settle,
        {"Z": Z, "layer": hmlib.Layer()},
        {"Z": CLOUD, "layer": NOTHING},
    ),
    "preprocess": (
        hmlib.preprocess,
        {"text": "good", "style": "plain"},
        {"text": TEXT, "style": NOTHING},
    ),
    "load_reviews": (hmlib.load_reviews, {"path": "x"}, {"path": TEXT | NONE}),
    "Vocabulary": (
        Vocabulary,
        {"documents": [WORDS], "most": 3, "least": 1},
        {
            "documents": (EMPTY | {"strings"}, "documents?"),
            "most": NONE | {"0"} | ENDLESS,
            "least": {"0"} | ENDLESS,
        },
    ),
    "Vocabulary.encode": (
        Vocabulary([WORDS]).encode,
        {"words": WORDS, "length": 4},
        {"words": EMPTY, "length": NONE | {"0"}},
    ),
    "Vocabulary.table": (
        Vocabulary([WORDS]).table,
        {"documents": [WORDS], "length": 4},
        {"documents": (EMPTY | {"strings"}, "documents?|words"), "length": {"0"}},
    ),
    "Weights": (
        Weights,
        WEIGHTS,
        {
            "embedding": (SQUARES, "embedding|v"),
            "alpha": POSITIVE,
            "depth": {"0", "no memory for it"},
            "v": ({"one row", "a range"}, "v|embedding"),
            "bias": POSITIVE | ZERO | {"-1"},
            "A": MATRICES | NONE,
            "padding": NOTHING,
            "vocabulary": NONE,
        },
    ),
    "Weights.load": (Weights.load, {"path": "x"}, {"path": TEXT}),
    "HardmaxClassifier.from_weights": (
        HardmaxClassifier.from_weights,
        {"weights": Weights(**WEIGHTS)},
        {"weights": NOTHING},
    ),
    "HardmaxClassifier": (
        HardmaxClassifier,
        {"rows": 4, "dim": 2},
        {
            "rows": NOTHING,
            "dim": NOTHING,
            "depth": {"0", "no memory for it"},
            "padding": NOTHING,
            "attention": NOTHING,
            "alpha": POSITIVE | NONE,
            "A": MATRICES | NONE,
        },
    ),
    "HardmaxClassifier.set_alpha": (
        a_model().set_alpha,
        {"value": 1},
        {"value": (POSITIVE, "alpha")},
    ),
    "HardmaxClassifier.forward": (
        MODEL,
        {"ids": IDS, "keep": IDS > 0},
        {"ids": {"int8", "a matrix"}, "keep": NONE | {"bools"}},
    ),
    "train": (
        trained,
        {"data": (IDS, LABELS), "validation": (IDS, LABELS)},
        {
            "data": (NOTHING, "data|ids"),
            "validation": NONE,
            "plan": NONE,
            "hook": FUNCTION,
        },
    ),
    "Plan": (
        hmlib.Plan,
        {},
        {
            "epochs": {"0"} | ENDLESS,
            "rate": POSITIVE,
            "batch": {"no memory for it"},
            "seed": {"0", "no memory for it"},
            "dropout": ZERO,
        },
    ),
    "evaluate": (
        evaluate,
        {"model": MODEL, "ids": IDS, "labels": LABELS},
        {
            "model": NOTHING,
            "ids": {"int8", "a matrix"},
            "labels": {"one row", "a range"},
        },
    ),
    "explain": (
        explain,
        {"model": MODEL, "words": WORDS, "vocabulary": MODEL.vocabulary, "length": 5},
        {"model": NOTHING, "words": NOTHING, "vocabulary": NONE, "length": NONE},
    ),
    "Playground": (
        Playground,
        {"preset": "square"},
        {
            "preset": NOTHING,
            "tokens": SQUARES | NONE,
            "alpha": POSITIVE | NONE,
            "A": MATRICES | NONE,
            "layer": {"0"},
            "show": (EMPTY, "show"),
            "chosen": {"0"} | NONE,
        },
    ),
    "Playground, assigned": (
        assigned,
        {},
        {
            "tokens": SQUARES,
            "alpha": POSITIVE,
            "A": MATRICES | NONE,
            "layer": {"0"},
            "show": EMPTY,
            "chosen": {"0"},
        },
    ),
    "packed": (
        live_reviews.packed,
        {"model": MODEL},
        {"model": NOTHING, "calibration": NONE},
    ),
    "write_review_model": (
        live_reviews.write_review_model,
        {"model": MODEL, "path": "x"},
        {"model": NOTHING, "path": TEXT, "calibration": NONE},
    ),
    "ReviewExplorer": (
        ReviewExplorer,
        {},
        {"model": NONE, "text": TEXT, "calibration": NONE},
    ),
}
CASES = [
    (door, argument) for door, (_, _, kinds) in DOORS.items() for argument in kinds
]


def looks(x, deep=4):
    """What an argument looks like, to see whether it has changed."""
    if isinstance(x, list | tuple) and deep:
        return [looks(y, deep - 1) for y in x]
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tolist()
    return (
        (x.dtype, x.tolist())
        if isinstance(x, torch.Tensor) and x.layout == torch.strided and not x.is_meta
        else type(x)
    )


def answer(door, argument, bad):
    """None if it was taken, "" if it was refused as it should be, else what is wrong."""
    call, good, kinds = DOORS[door]
    name = kinds[argument][1] if isinstance(kinds[argument], tuple) else argument
    arguments = good | {argument: BAD[bad]()}
    before, began, wrong = looks([*arguments.values()]), time.process_time(), None
    try:
        call(**arguments)
    except FileNotFoundError:  # a name like any other
        pass
    except Exception as error:
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        file, wrong = frame.f_code.co_filename, ""
        if not (
            file.startswith(PACKAGE)
            and linecache.getline(file, line).lstrip().startswith("raise")
        ):
            wrong = f"raised by {file}:{line}"
        elif not isinstance(error, ValueError | TypeError) or not re.search(
            rf"\b({name})\b", str(error)
        ):
            wrong = f"{type(error).__name__}, and {name} is not named"
        wrong = wrong and f"{wrong}: {error}"
    took = time.process_time() - began
    if looks([*arguments.values()]) != before:
        return "its arguments have changed"
    return f"it took {took:.1f} s; {wrong}" if took > 1 else wrong


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is loaded or compiled by the first call is not what takes long."""
    hmlib.project(np.zeros(9), np.eye(9))
    trained(data=(IDS, LABELS))


@pytest.mark.parametrize(
    "door, argument", CASES, ids=[f"{door}, {argument}" for door, argument in CASES]
)
def test_it_is_refused_in_our_words_or_taken(door, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = DOORS[door][2][argument]
    legal, wrong = kinds[0] if isinstance(kinds, tuple) else kinds, {}
    for bad in BAD:
        if legal is FUNCTION and bad in FUNCTION - NONE:
            continue
        said = answer(door, argument, bad)
        if said or (said is None) != (bad in legal):
            wrong[bad] = said or (
                "taken, but it should be refused"
                if said is None
                else "refused, but it is legal"
            )
    assert not wrong


def test_the_table_is_complete():
    """Every public name has a row; the rest are results, whose methods have rows."""
    results = {"Limit", "Trajectory", "ExactTransformer", "Vocabulary"}
    public = {*hmlib.__all__, *itertools.chain(*hmlib.LATER.values())}
    assert (
        len(BAD) >= 30
        and {door.split(".")[0].split(",")[0] for door in DOORS} >= public
    )
    assert results <= public
    for door, (call, _, kinds) in DOORS.items():
        known = set(
            inspect.signature(
                call.forward if door.endswith("forward") else call
            ).parameters
        )
        if known not in ({"dials"}, {"values"}, {"options"}):
            assert known == set(kinds), door
    options = set(inspect.signature(train).parameters) - {"model"}
    assert options == set(DOORS["train"][2]) and set(
        hmlib.Layer.__dataclass_fields__
    ) == set(DOORS["Layer"][2])


# Numbers at their word

BIG = [[2**53, 0], [2**53 + 1, 0]]  # as floats they would be equal


@pytest.mark.parametrize(
    "cloud",
    [
        BIG,
        np.array(BIG),
        np.array(BIG, np.uint64),
        np.array(BIG, np.longdouble),
        torch.tensor(BIG),
        [
            [2**53, 0.0],
            [2**53 + 1, 0.0],
        ],  # NumPy would round the whole number, for the sake of the floats beside it
        [np.array([2**53, 0]), np.array([2**53 + 1, 0.0], np.longdouble)],
        [[Fraction(2**53), 0], [Fraction(2**53 + 1), 0]],
        pd.DataFrame(BIG),
    ],
    ids=[
        "ints",
        "int64",
        "uint64",
        "longdouble",
        "tensor",
        "among floats",
        "rows",
        "fractions",
        "table",
    ],
)
def test_whole_numbers_are_not_rounded(cloud):
    end = hmlib.limit(cloud, 1)
    assert (
        end.leaders.tolist() == [1]
        and end.certified
        and end.tokens.tolist() == [[2**53 + 1, 0]] * 2
    )
    assert hmlib.attention_sets(cloud).tolist() == [[False, True]] * 2


@pytest.mark.parametrize(
    "number",
    [2**53, -(2**53), 2**53 + 2, 2**60, 2.0**70, 1e300, 5e-324, np.float32(0.1)],
)
def test_what_a_float_holds_is_a_float(number):
    for X in (
        [[number, 1]],
        np.array([[number, 1]]),
        np.array([[number, 1]], np.longdouble),
    ):
        taken = inputs.cloud(X)
        assert taken.dtype == float and taken[0, 0] == number


@pytest.mark.parametrize(
    "number",
    [2**53 + 1, 2**63 + 1, 10**400, np.longdouble("0.1"), np.longdouble("1e-4000")],
)
def test_what_no_float_holds_is_a_fraction(number):
    for X in ([[number, 1]], objects([[number, 1]])):
        taken = inputs.cloud(X)
        assert taken.dtype == object and type(taken[0, 0]) is Fraction
        assert taken[0, 0] == Fraction(*number.as_integer_ratio())


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_of_any_size_among_fractions(kind):
    """`Fraction` itself takes those of 64 bits alone."""
    X = objects([[kind(0.1), Fraction(1, 3)]])
    assert inputs.cloud(X).tolist() == [
        [Fraction(*kind(0.1).as_integer_ratio()), Fraction(1, 3)]
    ]


# No silent wrong answer, and no NaN


@pytest.mark.parametrize("temperature", [5e-324, 1e-308, 1e-200, 1e-30])
def test_a_tiny_temperature_is_hardmax(temperature):
    """Scores over it leave the range of floats; their gaps may, too, and are weights of 0."""
    X = [A, B, C]
    machine = hmlib.classify_exactly(X, "abc")
    assert [machine.predict(x, temperature=temperature) for x in X] == list("abc")
    tokens = np.array(A)
    assert (
        machine.transform(tokens, temperature=temperature) == machine.transform(tokens)
    ).all()
    assert (
        hmlib.vary(Z, hmlib.Layer(temperature=temperature))
        == hmlib.vary(Z, hmlib.Layer())
    ).all()


@pytest.mark.parametrize("power", [-700, -300, 300, 500])
@pytest.mark.parametrize(
    "dials",
    [
        {"temperature": 1.0},
        {"tolerance": 1.0},
        {"normalise": "rms"},
        {"normalise": "layer"},
    ],
)
@pytest.mark.parametrize("M", [None, np.array([[2.0, 1], [0, 1]])])
def test_layers_at_the_ends_of_the_floats(power, dials, M):
    """Tokens on another scale, with temperature and tolerance on it as far as floats go, move alike."""
    scale, scores = 2.0**power, math.ldexp(1, max(-1074, min(2 * power, 1000)))
    moved = {
        name: value * scores if not isinstance(value, str) else value
        for name, value in dials.items()
    }
    got = hmlib.vary(Z * scale, hmlib.Layer(A=M, **moved))[1]
    want = hmlib.vary(Z, hmlib.Layer(A=M, **dials))[1]
    if "normalise" in dials:
        assert (got == want).all()
    elif 2 * power > -1074:
        assert np.allclose(got / scale, want, rtol=1e-12, atol=0)
    else:  # scores below all floats: none is known from another, and everybody follows all
        assert np.allclose(got / scale, (Z + Z.mean(0)) / 2, rtol=1e-12, atol=1e-12)


def test_what_leaves_the_range_of_floats_is_said():
    with pytest.raises(ValueError, match=r"layer \d+ leaves the range of floats"):
        hmlib.vary(Z, [hmlib.Layer(alpha=1e30, normalise="none")] * 20)
    with pytest.raises(ValueError, match="what feed_forward returns has NaN"):
        hmlib.vary(Z, hmlib.Layer(feed_forward=lambda X: X * math.nan))
    with pytest.raises(ValueError, match="<A z, z> leaves the range of floats"):
        hmlib.half_space([1e200, 0])
    with pytest.raises(ValueError, match="<A s, s - w> leaves the range of floats"):
        geometry.separation_radius([1, 1], [[-1, -1]], [[1e308, 9e307], [9e307, 1e308]])
    with pytest.raises(
        ValueError, match="X, on its way through the blocks, leaves the range of floats"
    ):
        MACHINE.predict([[-1e301, 1e301]], temperature=1e-9)
    with pytest.raises(ValueError, match="A is too large for float64"):
        hmlib.step(Z, 1, [[10**400, 0], [0, 1]])


def test_a_function_of_the_user_changes_nothing():
    def clear(X):
        X[:] = 0
        return X

    assert (
        hmlib.vary(Z, hmlib.Layer(feed_forward=clear)) == hmlib.vary(Z, hmlib.Layer())
    ).all()


def test_a_vocabulary_of_another_model():
    with pytest.raises(
        ValueError,
        match="vocabulary has 3 rows, padding included: expected 4, those of the model",
    ):
        explain(MODEL, ["good"], Vocabulary([["good", "bad"]]))


# What costs too much is refused before it begins


def test_memory_is_asked_for_first(monkeypatch):
    with pytest.raises(
        ValueError,
        match=r"vary would take 4\.5 GB, .*\(6, 10000, 10000\).*Pass fewer tokens",
    ):
        hmlib.vary(np.zeros((10**4, 2)), hmlib.Layer(temperature=1))
    with pytest.raises(
        ValueError,
        match=r"rows x dim would take 14\.9 GB, as an array of shape \(1000000000, 4\)",
    ):
        HardmaxClassifier(10**9, 4)
    with pytest.raises(ValueError, match="Pass a shorter one"):
        Vocabulary([WORDS]).encode(WORDS, 10**9)
    monkeypatch.setattr(inputs, "MOST_BYTES", 2 * Z.nbytes)
    assert len(hmlib.vary(Z, hmlib.Layer())) == 2
    with pytest.raises(
        ValueError, match=r"vary would take .* Go through fewer layers at a time"
    ):
        hmlib.vary(Z, [hmlib.Layer()] * 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hmlib.attention_sets(np.ones((100, 2))),
        lambda: hmlib.simulate(np.ones((10, 2)), 1, 100),
    ],
    ids=["attention_sets", "simulate"],
)
def test_attention_asks_for_memory_first(call, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 2**13)
    with pytest.raises(ValueError, match=r"would take 0\.0 GB, as an array of shape"):
        call()


# Training


def test_a_loss_that_is_not_finite_is_no_result():
    model = a_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(
        ValueError,
        match=r"epoch 1: the loss is .*, or weights are not finite. Take a smaller rate.",
    ):
        train(model, (IDS, LABELS), plan=hmlib.Plan(rate=1e38, epochs=3))
    assert all(
        (value == before[name]).all() for name, value in model.state_dict().items()
    )


def test_threads_are_given_back():
    seen, before = [], torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        trained(
            data=(IDS, LABELS),
            hook=lambda *_: seen.append(torch.get_num_threads()),
        )
        assert seen == [1, 1] and torch.get_num_threads() == 3
        with pytest.raises(
            ValueError, match="what measure returns is of type int: expected a dict"
        ):
            checkpoints.train(a_model(), (IDS, LABELS), measure=lambda model, number: 3)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


# Live figures


def test_the_playground_takes_what_functions_take():
    M = np.array([[2, 1], [1, 2]])
    fractions = [[Fraction(1, 2), 1], [2, 0]]
    for tokens in (Z, Z.astype(np.float32), torch.tensor(Z), fractions):
        play = Playground(
            tokens=tokens, A=M, alpha=Fraction(1, 2), layer=np.int64(3), show=("K",)
        )
        assert (
            play.tokens == np.asarray(tokens).astype(float).tolist()
            and M.tolist() == play.A
        )
        assert (play.alpha, play.layer, play.show) == (0.5, 3, ["K"])
        assert (
            all(type(x) is float for x in [*play.tokens[0], *play.A[0], play.alpha])
            and type(play.layer) is int
        )
    play.tokens, play.A = Z[:2], None
    assert play.tokens == Z[:2].tolist() and play.A is None
    with pytest.raises(ValueError, match="A is not symmetric"):
        play.A = [[1, 2], [0, 1]]
    assert play.A is None


def stored(folder, tensors=None, **about):
    weights = {
        "embedding": np.ones((3, 2)),
        "alpha": np.array(1.0),
        "weight": np.ones(2),
        "bias": np.array(0.0),
    }
    safetensors.numpy.save_file(weights | (tensors or {}), folder / "model.safetensors")
    (folder / "model.json").write_text(
        json.dumps({"words": ["<PAD>", "a", "b"], "depth": 2} | about)
    )
    return folder / "model.safetensors"


def test_a_stored_model_is_read(tmp_path):
    assert live_reviews.packed(Weights.load(stored(tmp_path)))["words"] == "a b"


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f: stored(f, {"bias": np.array(math.nan)}), "bias has NaN"),
        (lambda f: stored(f, {"bias": np.ones(3)}), ""),
        (lambda f: stored(f, {"embedding": np.ones((3, 3))}), "embedding has shape"),
        (lambda f: stored(f, {"alpha": np.array(-1.0)}), "alpha is -1.0"),
        (
            lambda f: stored(f, depth=10**10),
            "depth is 10000000000: expected a whole number from 0 to",
        ),
        (lambda f: stored(f, depth="2"), "depth is '2'"),
        (lambda f: stored(f, words=3), ""),
        (lambda f: stored(f, words="abc"), "each document is a str"),
        (
            lambda f: stored(f, words=["<PAD>", "a", None]),
            "each document holds something of type NoneType",
        ),
        (
            lambda f: stored(f, words=["<PAD>", "a"]),
            "vocabulary has 2 rows, padding included: expected 3",
        ),
        (lambda f: (f / "model.json").write_text("[]"), ""),
        (lambda f: (f / "model.json").write_text("{}"), "'words'"),
        (lambda f: (f / "model.json").write_text("{"), ""),
        (lambda f: (f / "model.json").write_text("[" * 10**5), "recursion"),
        (lambda f: (f / "model.json").write_bytes(b"\xff\x00"), ""),
        (lambda f: (f / "model.safetensors").write_bytes(b""), ""),
        (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 99), ""),
        (
            lambda f: (f / "model.safetensors").write_bytes(
                (f / "model.safetensors").read_bytes()[:-8]
            ),
            "",
        ),
        (
            lambda f: safetensors.numpy.save_file(
                {"x": np.ones(2)}, f / "model.safetensors"
            ),
            "'embedding'",
        ),
    ],
)
def test_a_damaged_model_is_refused(change, message, tmp_path):
    file = stored(tmp_path)
    change(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"model\.safetensors, or the \.json beside it, is damaged.*" + message,
    ):
        Weights.load(file)


# What is not installed

WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
{code}
"""


def without(missing, code):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing=missing, code=code)],
        capture_output=True,
        text=True,
    )
    return run.stdout, run.stderr


def test_everything_is_imported_without_extras():
    """And what needs one is listed by dir."""
    code = "from hmlib import *; import hmlib; print(vary, preprocess, 'train' in dir(hmlib), 'torch' in sys.modules)"
    out, err = without(["anywidget", "matplotlib"], code)
    assert not err and out.split()[-2:] == ["True", "False"]


@pytest.mark.parametrize(
    "missing, code, extra",
    [
        ("torch", "from hmlib import train", "torch"),
        ("safetensors", "import hmlib; hmlib.Weights.load('x')", "torch"),
        ("anywidget", "from hmlib import Playground", "live"),
        ("ipywidgets", "from hmlib import ReviewExplorer", "live"),
        ("matplotlib", "from hmlib import figures", "book"),
    ],
)
def test_an_extra_that_is_missing_is_named(missing, code, extra):
    _, err = without([missing], code)
    last = err.strip().splitlines()[-1]
    assert re.match(
        rf"ModuleNotFoundError: .*'{missing}[.\w]*'.* hmlib\[{extra}\]", last
    )
    project = tomllib.loads((Path(PACKAGE).parent / "pyproject.toml").read_text())[
        "project"
    ]
    assert any(missing in need for need in project["optional-dependencies"][extra])
