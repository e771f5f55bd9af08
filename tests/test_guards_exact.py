"""Guards of exact classification: each test dies with bugs that whole problems, solved without an error, let through."""

import math
from fractions import Fraction

import numpy as np
import pytest
from clouds import exact as fractions
from test_exact import family, labelled, rational

from hmlib import classify_exactly, interpolate_exactly
from hmlib.exact import ExactTransformer, padded
from hmlib.separation import Verdict, separate

a, b, c = [0.0, 1.0], [1.0, 0.5], [2.0, 0.0]


def read_off(machine):
    """From the weights: |g|_1 of the line, the product of 1 + |c| over the blocks that separate, the narrowest ramp."""
    grown = math.prod(
        1 + abs(B.V[0, 1]) for B in machine.blocks if B.stage == "separate"
    )
    ramps = []  # both neurons of a ramp have its slope, 1 / width; p is the first coordinate after the collapse
    for B in machine.blocks:
        if B.stage == "label":
            (slope,) = set(B.U[:, 0].tolist())
            ramps.append(1 / slope)
    return abs(machine.blocks[0].U[0]).sum(), grown, min(ramps)


@pytest.mark.parametrize(
    "name, mode, many",
    [
        ("extremes", "set", 6),
        ("nested", "set", 6),
        ("nested", "set", 16),
        ("random", "set", 6),
        ("balanced", "measure", 6),
    ],
)
def test_margin_and_temperature_are_those_of_the_proof(name, mode, many):
    """Bugs: a factor too much, a block's stretch or heat forgotten, entropy of the wrong length, the largest gap taken.

    A move by e in each coordinate moves p by |g|_1 e, and each block makes that 1 + |c| times as much. With softmax, E = 2
    T log n is lost at first, and each block makes it, too, 1 + |c| times as much. Neither may pass a third of a gap, or 1/2.
    """
    separating = 0
    for seed in range(3):
        sequences, labels = labelled(name, many, d=2, seed=seed, longest=6)
        sequences = [rational(X) for X in sequences]
        machine = classify_exactly(sequences, labels, mode)
        size, grown, ramp = read_off(machine)
        slack = min(ramp, Fraction(1, 2))
        assert machine.margin == slack / (size * grown)
        longest = max(map(len, sequences))
        heat = 2 * math.log(longest) * float(grown)
        assert machine.temperature == (
            math.inf if mode == "measure" else pytest.approx(float(slack) / heat)
        )
        separating += machine.stages().get("separate", 0)
    assert separating > 0 or name != "extremes"
    assert separating > 6 or many < 16  # errors add up from block to block


def test_a_ramp_is_the_middle_third_of_its_gap():
    """Bug: labels that change nearer to one of the two places than the margin says."""
    for X, Y in (([[0, 1]], [[1, 1]]), ([[0, 1], [5, 0]], [[1, 3]])):
        machine = classify_exactly([fractions(X), fractions(Y)], "xy")
        (ramp,) = [B for B in machine.blocks if B.stage == "label"]
        low, high = sorted(-ramp.b / ramp.U[:, 0])
        one, two = sorted(
            list(machine.states(fractions(Z)))[-3][2][0, 0] for Z in (X, Y)
        )
        assert (low, high) == ((2 * one + two) / 3, (one + 2 * two) / 3)


def test_within_the_margin_p_stays_above_one_half():
    """Bug: a margin of a third of a wide gap takes p to where softmax misses a maximum by more than 2 T log n."""
    wide = 0
    for k in range(2, 40):
        machine = classify_exactly([fractions([[0, 0]]), fractions([[k, 1]])], "xy")
        g = machine.blocks[0].U[0]
        down = (
            fractions([[0, 0], [k, 1]])
            - np.array([Fraction(int(np.sign(x))) for x in g]) * machine.margin
        )
        wide += read_off(machine)[2] > Fraction(1, 2)
        p = machine.blocks[0].feed_forward(down)[:, 0]
        assert (p >= Fraction(1, 2)).all()
    assert wide > 0


def said(monkeypatch, off):
    """Every machine's scores are off by so much."""
    scores = ExactTransformer.scores

    def wrong(self, X, mask=None, temperature=0):
        return scores(self, X, mask, temperature) + np.asarray(off)

    monkeypatch.setattr(ExactTransformer, "scores", wrong)


def test_what_was_given_is_run_and_looked_at(monkeypatch):
    """Bugs: no check, a check of the first sequence alone, a tolerance of a whole class, an `.error` of 0 or the least."""
    given = [[a, b], [a, b, c], [b, c]], ["x", "y", "x"]
    said(monkeypatch, [0.0, 0.2, -0.1])
    assert classify_exactly(*given).error == pytest.approx(0.2)
    for off, names in (
        ([0, 0.3, 0], {"1"}),
        ([0, 0, 0.6], {"2"}),
        ([-0.3, 0, 0], {"0"}),
        ([0, np.nan, 0], {"1"}),
    ):
        monkeypatch.undo()
        said(monkeypatch, off)
        with pytest.raises(
            ValueError, match="float64 cannot tell sequences"
        ) as refused:
            classify_exactly(*given)
        assert names <= set(str(refused.value).split())


def test_places_that_rounding_may_confuse_are_refused():
    """Bug: two places a rounding apart get a ramp between them."""
    refused = 0
    for k in range(40):
        near = [
            [[1.0, 2.0 + k * 2.0**-51]],
            [[1.0, 2.0 + (k + 1) * 2.0**-51]],
            [[-5.0, 9.0]],
        ]
        with pytest.raises(ValueError, match="float64 cannot tell"):
            classify_exactly(near, [0, 1, 0])
        refused += 1
    assert refused == 40


def test_an_interpolation_is_run_and_looked_at(monkeypatch):
    """Bugs: an `.error` of the last pair alone, one that looks one way only, a tolerance of a thousandth, no check."""
    X, Y = [[a, b], [a, b, c]], [[[5.0, 5.0], [9.0, 0.0]], [[0.0, 0.0], [1.0, 3.0]]]
    transform = ExactTransformer.transform

    def with_ends(change):
        def wrong(self, x, mask=None, temperature=0):
            return change(transform(self, x, mask, temperature).round(9) + 0.0, len(x))

        monkeypatch.setattr(ExactTransformer, "transform", wrong)

    with_ends(lambda end, n: end + 1e-7 * (n == 2))
    assert interpolate_exactly(X, Y).error == pytest.approx(1e-7)
    for change in (
        lambda end, n: end + 1e-4 * (n == 2),
        lambda end, n: end[[0, 0]] if n == 2 else end,  # an output that nobody reaches
        lambda end, n: np.vstack([end, [[100.0, 0]]]),  # a token that is nowhere near
    ):
        monkeypatch.undo()
        with_ends(change)
        with pytest.raises(
            ValueError,
            match=r"input 0 misses its output by .*: inputs 0 and 1 are too near",
        ):
            interpolate_exactly(X, Y)


def test_the_class_is_the_nearest_number(monkeypatch):
    """Bugs: rounding down or up, a number beyond the last class, or below the first, read from the other end."""
    machine = classify_exactly([[a], [b], [c]], "xyz")
    monkeypatch.setattr(
        ExactTransformer,
        "scores",
        lambda *args: np.array([-0.7, 0.4, 0.6, 1.4, 1.6, 2.7]),
    )
    assert machine.predict([a]) == list("xxyyzz")


def test_scores_are_means_over_real_tokens():
    """Bugs: padding in the sum, or in the number by which it is divided; predict without its mask."""
    machine = classify_exactly([[a, b], [a, b, c, c, c], [c]], "xyz")
    batch, mask = padded([np.array(x) for x in ([a, b], [a, b, c, c, c], [c])])
    batch[~mask] = 7.0
    assert machine.scores(batch, mask) == pytest.approx([0, 1, 2]) and machine.predict(
        batch, mask
    ) == list("xyz")
    assert machine.predict(batch, mask, 1e-9) == list("xyz")
    q = np.array([[0, 0, 9, 9, 9], [1, 2, 3, 4, 5], [2, 9, 9, 9, 9]], float)
    fake = ExactTransformer([], None, None, None)
    fake.__dict__["transform"] = lambda *args: np.stack([q + 50, q], -1)
    assert fake.scores(None, mask).tolist() == [0, 3, 2]


def test_batches_in_parts_are_batches(monkeypatch):
    """Bug: of a batch that is done in parts, each part with the mask of the first; or the last part left out."""
    from hmlib import exact

    X = family("extremes", 7)
    machine, (batch, mask) = classify_exactly(X, range(7)), padded(X)
    whole = machine.transform(batch, mask)
    monkeypatch.setattr(exact, "SCORES", 1)
    assert (machine.transform(batch, mask)[mask] == whole[mask]).all()


def test_the_parameters_are_counted_by_hand():
    """One block of collapse and one label: U, W (2 x 2, 2 neurons each), b, Q, K (1 x 2 each), V by its factors, eta, rho."""
    machine = classify_exactly([[a], [b]], "xy")
    assert machine.stages() == {"collapse": 1, "label": 1}
    one = 4 + 4 + 2 + 2 + 2 + 2
    assert (
        machine.n_parameters == (one + 2 * 2 * 2) + one
    )  # V of the collapse has rank 2, that of the label none


def test_groups_only_split():
    """Bug: a fold that parts a pair, with a wide gap, where two others fall together."""

    def goal(line, least):
        if not line.folds:
            return Verdict(np.array([0, 0, 0, 1]), 1, [0, 1])
        _, c, _ = line.folds[-1]
        if c > 0:
            return Verdict(np.array([0, 1, 2, 2]), 2, [])
        return Verdict(np.array([0, 1, 0, 2]), 1, [])

    sequences = [fractions([[k, k * k]]) for k in range(4)]
    for mode in ("set", "measure"):
        line = separate(sequences, mode, goal)
        assert len(line.folds) == 1 and line.folds[0][1] <= 0


def test_never_more_than_so_many_folds():
    """Bug: a search that goes on where a goal is never reached."""

    def goal(line, least):
        return Verdict(np.zeros(4, int), len(line.folds), [0, 1])

    sequences = [np.array([[k, k * k]], float) for k in range(4)]
    assert len(separate(sequences, "set", goal).folds) == 3


def test_equal_tokens_of_an_output_count_once():
    """Bug: an output of a token and its copy asks for two tokens."""
    machine = interpolate_exactly([fractions([[0, 1]])], [fractions([[2, 3], [2, 3]])])
    assert machine.error == 0
    assert machine.transform(fractions([[0, 1]])).tolist() == [[2, 3]]


def test_no_fold_puts_two_sequences_in_one_place():
    """Bug: a fold that parts sequences, and puts tokens of two of them in one place.

    No later fold parts those: all five have been moved each in its own way by then.
    """
    words = [[0, 0], [0, 3], [0, 2], [2, 2], [3, 0]]
    chosen = [0, 1, 2, 3], [0, 4, 3], [0, 3], [1, 2, 3], [0, 1, 3]
    inputs = [fractions([words[k] for k in some]) for some in chosen]
    outputs = [fractions([[j, i] for j in range(len(X))]) for i, X in enumerate(inputs)]
    assert interpolate_exactly(inputs, outputs).error == 0
