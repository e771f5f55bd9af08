"""Guards of the core: each test dies with bugs that generic clouds, and the routes' own tests, let through."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import comb
from time import perf_counter

import certificate
import numpy as np
import oracle
import pytest
from certificate import rejected
from clouds import EMERGING, adversary, awkward, every_cloud_is_large, exact, near
from forever import first_change
from oracle import as_sets

from hmlib import (
    arithmetic,
    attention,
    attention_sets,
    cluster_points,
    dynamics,
    fast,
    follow,
    frozen,
    half_space,
    inputs,
    limit,
    project,
    roots,
    rounding,
    runs,
    simulate,
    step,
    vary,
)
from hmlib.attention import attend, by_all_scores
from hmlib.explanation import Weights
from hmlib.fast import plane, tiles
from hmlib.geometry import separation_radius
from hmlib.variations import Layer

EPS, S = Fraction(rounding.EPS), Fraction(rounding.SMALLEST)


def followed(X, A=None, *, blur=0.0, by=attend):
    """(first, ties) of one cloud: whom its tokens follow, and [(rows, members)]."""
    who = by(X[None], X[None], A, blur=blur)
    return who.first[0], [(rows, members) for _, rows, members in who.ties]


def tied(ties):
    return {int(row) for rows, _ in ties for row in rows}


def definite(rng, d):
    R = rng.normal(size=(d, d))
    return R.T @ R + 0.2 * np.eye(d)


# Margins: the code's constants are not below those of lem-floats


def test_the_margin_of_a_layer():
    """Bugs: no rounding, a constant below 7 eps, no place for subnormals, the smallest coordinate for the largest."""
    for size in (1.0, 1e300, 1e-300, 5e-324):
        Z = size * np.array([[0.0, 1], [-3, 2]])
        taken, needed = (
            Fraction(rounding.of_layer(Z)),
            7 * EPS * Fraction(float(abs(Z).max())) + S,
        )
        assert needed <= taken <= 2 * needed


def test_the_margins_are_those_of_the_lemma():
    """Bugs: another constant than lem-floats and the code say; the reach without its blur."""
    Z = np.array([[1.0, -3], [2, 0]])
    assert rounding.of_layer(Z) == 8 * rounding.EPS * 3 + 2 * rounding.SMALLEST
    nowhere = np.zeros((1, 2))  # nothing is rounded: what underflows is left
    for size in (0.0, 3.0):
        lost = rounding.of_scores(nowhere, nowhere, size * np.eye(2))
        assert lost == 8 * 4 * rounding.SMALLEST * (1 + size)
    q, keys = np.array([[1.0, 1]]), np.zeros((2, 2))
    blurred = rounding.of_scores(q, q, keys, blur=0.5)
    assert blurred > 1.01 * 0.5 * (4 + 2 * 0.5 * 2)  # and what is rounded


def blur_needed(looks, A, x, y, b):
    """2 b |A q|_1 + b |A (x - y)|_1 + 2 b^2 |A|."""
    return (
        2 * b * abs(looks).sum() + b * abs(A @ (x - y)).sum() + 2 * b * b * abs(A).sum()
    )


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_margin_of_scores(d):
    """Bugs: a term of the lemma dropped or made smaller, in rounding and in blur, with a matrix and without."""
    rng = np.random.default_rng(d)
    for k in range(40):
        M = rng.normal(size=(d, d))
        A = None if k % 2 else M + M.T  # entries of both signs, whose products cancel
        X, Q = (
            -rng.uniform(0.1, 1, (7, d)) * 10.0 ** rng.integers(-2, 3, d),
            rng.normal(size=(4, d)),
        )
        looks, B = Q if A is None else Q @ A, np.eye(d) if A is None else A
        plain = rounding.of_scores(Q, looks, X, A)
        terms = abs(Q) @ abs(B) @ abs(X).max(0)
        assert (plain >= (2 * d + 8) * rounding.EPS * terms * 0.999).all()
        assert (plain <= (2 * d + 8) * rounding.EPS * terms * 1.001 + 1e-300).all()
        for blur in (1e-12, 1e-3, 100.0):
            more = rounding.of_scores(Q, looks, X, A, blur) - plain
            needed = np.array(
                [
                    max(blur_needed(q, B, x, y, blur) for x in X for y in X)
                    for q in looks
                ]
            )
            span = np.ptp(X, axis=0) @ abs(B)
            most = (
                1.02
                * blur
                * (2 * abs(looks).sum(-1) + span.sum() + 2 * blur * abs(B).sum())
                + 1e-9 * terms * blur
            )
            assert (more >= needed).all() and (
                more <= most + 1e-12 * blur * terms
            ).all()


def test_who_follows_itself_alone_in_a_cloud_and_in_a_batch():
    """Bug: one cloud is refused."""
    one = np.array([[True, False], [True, True]])
    assert attention.alone(one).tolist() == [True, False]
    assert attention.alone(one[None]).tolist() == [[True, False]]
    with pytest.raises(ValueError, match="attention sets"):
        attention.alone(np.ones((2, 3), bool))


def test_a_determinant_of_one_is_positive():
    """Bug: that of whole numbers has to be 2. Floats cannot tell: the other value is 1e-18."""
    a, b = 1, 1
    for _ in range(45):
        a, b = a + b, a  # Fibonacci's numbers: F(n + 1) F(n - 1) - F(n)^2 is 1 or -1
    for c, e in ((a, b), (a + b, a)):
        A = [[c, e], [e, c - e]]
        if c * (c - e) - e * e == 1:
            assert (inputs.matrix(A, np.zeros((1, 2))) == A).all()
        else:
            with pytest.raises(ValueError, match="A is not positive definite"):
                inputs.matrix(A, np.zeros((1, 2)))


def test_errors_show_sixty_letters():
    """Bug: another border; of what is longer one sees that it is cut."""
    assert inputs.shown("x" * 58) == repr("x" * 58)  # with its quotes
    assert inputs.shown("x" * 59) == repr("x" * 59)[:57] + "..."
    assert inputs.first_line(ValueError("x" * 61 + "\nmore")) == "x" * 60


def test_a_single_token_of_no_known_place_is_the_first():
    """Bug: of a cloud whose blur has no bound the second token, which may not be there."""
    X = np.array([[[1e300, 1e-300]]])
    assert arithmetic.balanced(X, X, None, 1e-9)[3] == np.inf
    assert attend(X, X, blur=1e-9).first.tolist() == [[0]]


def test_a_batch_of_large_exact_clouds(no_size_is_small):
    """Bug: all are asked about the first."""
    clouds = [np.array(EMERGING), np.array(EMERGING)[::-1] * Fraction(1, 3)]
    sets = attention_sets(np.array(clouds))
    for Z, C in zip(clouds, sets, strict=True):
        assert as_sets(C) == oracle.attention_sets(Z)


def test_scores_are_counted(monkeypatch):
    """By the tests of growth, which rely on it: a large cloud is asked all, tile by tile."""
    monkeypatch.setattr(tiles, "WIDTH", 4)
    fast.WORK.clear()
    cloud = np.random.default_rng(0).normal(size=(10, 3))
    assert len(list(tiles.in_tiles(cloud, cloud, np.zeros(10)))) == 1
    assert fast.WORK["scores"] == 10 * 12  # of three tiles


def test_what_takes_too_much_room_is_refused_in_words():
    """Bugs: not asked about a run; another border of "far too much"."""
    with pytest.raises(ValueError, match=r"simulate would take .* fewer layers"):
        simulate(EMERGING, 1, 10**15)
    for dials, what in (
        ([Layer(1)] * 10_000, "layers"),
        (Layer(1, temperature=1), "tokens"),
    ):
        with pytest.raises(ValueError, match=f"vary would take .* fewer {what}"):
            vary(np.zeros((20_000, 2)), dials)
    for power, said in ((79, "GB"), (80, "far too much")):
        with pytest.raises(ValueError, match=said):
            inputs.room((2**power,), 1, "it", "Take less.")


def test_a_run_says_how_many_layers_and_tokens_it_has():
    assert repr(simulate(EMERGING, 1, 2)) == (
        f"Trajectory(layers=2, tokens of shape {np.shape(EMERGING)})"
    )


def test_scores_that_underflow():
    """Bug: no place for what is lost below the smallest number: two scores of 0 that are none."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 4):
        Q, X = (rng.normal(size=(30, d)) * 2.0**-535 for _ in range(2))
        error = rounding.of_scores(Q, Q, X)
        true = [
            [
                sum(Fraction(a) * Fraction(b) for a, b in zip(q, x, strict=True))
                for x in X
            ]
            for q in Q
        ]
        off = max(
            abs(Fraction(float(s)) - t)
            for row, want in zip(Q @ X.T, true, strict=True)
            for s, t in zip(row, want, strict=True)
        )
        assert 0 < 2 * off <= Fraction(float(error.min()))


# Blur: a choice is taken for sure only if no exact cloud that near chooses otherwise


def close_call(rng, d, A, b, part, aside):
    """(X, i, j, l): at X token i follows j; the exact scores of j and l differ by that part of what b may change."""
    B = np.eye(d) if A is None else A
    X = rng.normal(size=(12, d))
    X[:, 0] -= 0.2 * (X[:, 0].max() - X[:, 0].min())  # not around 0
    i = int(rng.integers(0, 12))
    look = B @ X[i]
    scores = X @ look
    j = int(scores.argmax())
    others = [k for k in range(12) if k not in (i, j)]
    l = int(rng.choice(others))  # noqa: E741
    side = rng.normal(size=d) if d > 1 else np.zeros(1)
    side -= (side @ look) / (look @ look) * look
    X[l] = X[j] + aside * side
    gap = part * blur_needed(look, B, X[j], X[l], b)
    X[l] -= gap / (look @ look) * look
    return X, i, j, l


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_a_choice_under_blur(d, large):
    """Bugs, in each route: no margin, one that is too small, one that forgets A, the asking token, or a neighbour."""
    with every_cloud_is_large(4 if large else 512):
        check_choices_under_blur(d)


def check_choices_under_blur(d):
    rng, b, flipped, sure = np.random.default_rng(d), 1e-6, 0, 0
    for k in range(120):
        A = definite(rng, d) if k % 2 else None
        aside = (0, 0, 0.3, -0.3)[k % 4] if d > 1 else 0
        X, i, j, l = close_call(rng, d, A, b, 0.9, aside)  # noqa: E741
        B = np.eye(d) if A is None else A
        if j == i or int((X @ B @ X[i]).argmax()) != j:
            continue
        look, way = np.sign(B @ X[i]), np.sign(B @ (X[j] - X[l]))
        Y = X.copy()
        Y[i] -= b * way
        Y[j] -= b * look
        Y[l] += b * look
        C = oracle.attention_sets(Y, A)[i]
        first, ties = followed(X, A, blur=b)
        if j not in C:  # the exact run may choose another: so nothing is sure
            flipped += 1
            assert i in tied(ties), k
        X, i, j, l = close_call(rng, d, A, b, 30.0, aside)  # noqa: E741
        first, ties = followed(X, A, blur=1e-3 * b)
        if int((X @ B @ X[i]).argmax()) == j != i and i not in tied(ties):
            sure += first[i] == j
    assert flipped > 30 and sure > 20


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_merged_floats_are_a_tie_under_blur(d, no_size_is_small):
    """Bug: with blur, tokens with equal floats are taken for copies. Without it they are."""
    rng = np.random.default_rng(d)
    for _ in range(20):
        X = rng.normal(size=(9, d))
        far = (X * X).sum(-1).argmax()
        X = np.concatenate([X, X[[far]]])
        for road in (attend, by_all_scores):
            assert {far, 9} <= tied(followed(X, blur=1e-9, by=road)[1])
            assert not followed(X, by=road)[1]


def test_a_tie_under_blur_is_its_own():
    """Bug: the contenders of the first row, or three of them at least."""
    X = np.array([[1.0, 0], [1, 1e-9], [-1, 0.5], [-1, 0.5 + 1e-9], [0, -2]])
    first, ties = followed(X, blur=1e-6)
    found = {int(row): set(members.tolist()) for rows, members in ties for row in rows}
    assert found == {0: {0, 1}, 1: {0, 1}, 2: {2, 3}, 3: {2, 3}} and first.tolist() == [
        0,
        0,
        2,
        2,
        4,
    ]


def test_blur_goes_along_with_the_scale():
    """Bugs: blur keeps its size where tokens are balanced; where they become whole numbers it is forgotten."""
    X = np.array([[1.0, 0], [1 - 1e-7, 1], [-1, 0]])
    for scale in (1.0, 2.0**400, 2.0**-400):
        for blur, is_open in ((1e-6, True), (1e-9, False)):
            ties = followed(X * scale, blur=blur * scale)[1]
            assert bool(ties) == (0 in tied(ties)) == is_open, (scale, blur)
    wide = np.array([[1e290, 1.0], [1e-300, 1.0], [2e290, 1e-310]])
    rows, members = followed(wide, blur=1e-300)[1][0]
    assert rows.tolist() == members.tolist() == [0, 1, 2]
    assert followed(wide[:1], blur=1e-300)[1] == []


def test_near_copies_in_every_route(no_size_is_small):
    """Bugs of certificates in the routes of large clouds: what floats certify is what fractions find, in every field."""
    certified = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MOST_LAYERS", 200)
        for seed in range(260):
            Z, alpha, A = near(seed)
            end = limit(Z, alpha, A)
            if end.certified:
                truth = limit(
                    arithmetic.rationals(Z),
                    arithmetic.rationals(np.asarray(alpha)),
                    None if A is None else arithmetic.rationals(A),
                )
                for name in ("leaders", "born", "follows", "settled_at"):
                    assert np.array_equal(getattr(end, name), getattr(truth, name)), (
                        seed,
                        name,
                    )
                assert abs(
                    arithmetic.rationals(end.tokens) - truth.tokens
                ).max() <= Fraction(end.error_bound)
                certified += end.error_bound > 0
    assert certified > 40


# Forgetting


def test_who_is_forgotten():
    """Bugs: no margin, one 100 times too small, those who still ask, the octagon of all."""
    b = 1e-9
    square = [[1.0, 1], [1, -1], [-1, -1], [-1, 1]]
    inner = [[1 - 4 * b, 0.1], [0.2, -1 + 4 * b], [1 - 40 * b, 0.1]]
    others = [[0.1, 0.1], [0.3, 0.2], [1.5, 0.0]]
    leads, settled = np.arange(10) < 4, np.arange(10) != 8
    may = runs.worth_asking(np.array(square + inner + others), leads, settled, b)
    assert may.tolist() == [True] * 4 + [True, True, False, False, True, True]
    assert runs.worth_asking(np.ones((3, 3)), leads[:3], settled[:3], b).all()


# Ties and zeros that settle


def test_when_ties_and_zeros_settle():
    """Bugs: a condition of their settlement dropped, so that they do so too early, or never, or copies count once."""
    ties = zeros = 0
    for seed in range(0, 1000, 6):
        Z, alpha, A = awkward(seed)
        end = limit(Z, alpha, A)
        assert rejected(end, Z, alpha, A) is None, (seed, rejected(end, Z, alpha, A))
        ties += (end.follows == -1).any()
        zeros += not Z.any(-1).all()
    assert ties > 30 and zeros > 20


def mirrored(seed):
    """Pairs that are mirror images, some on their way to others, and tokens on the mirror, which are tied with both."""
    rng = np.random.default_rng([seed, 3])
    lead = np.array([rng.integers(1, 4), rng.integers(2, 4), -rng.integers(1, 4)])
    pairs = lead + np.array(
        [[0, 0, 0], *rng.integers(-1, 3, (int(rng.integers(1, 3)), 3)) * [-1, 0, 1]]
    )
    on = rng.integers(-1, 2, (int(rng.integers(1, 3)), 3))
    on[:, 2] = on[:, 0]
    on[:, 1] = rng.integers(1, 3, len(on))
    if (
        seed % 3 == 0
    ):  # in its own set: half of the way between two that are mirror images
        on[0] = [
            pairs[-1, 0] + pairs[-1, 2],
            2 * pairs[-1, 1],
            pairs[-1, 0] + pairs[-1, 2],
        ]
        pairs, on[1:] = 2 * pairs, 2 * on[1:]
    alpha = Fraction(*rng.choice([(1, 2), (1, 1), (3, 1), (1, 5)]).tolist())
    return exact(np.concatenate([pairs, pairs[:, ::-1], on])), alpha, None


def test_sets_that_stay_are_those_of_the_criterion():
    """Bugs of frozen: a condition dropped, copies counted once, a sign, a power or a degree off. By loops on fractions."""
    stay = change = 0
    for seed in range(300):
        Z, alpha, A = awkward(seed) if seed % 5 == 0 else mirrored(seed)
        Z = np.array(list(dict.fromkeys(map(tuple, Z))), object)[:9]
        copies = np.array(
            [1 + (sum(map(abs, z)) % 3 == 0) * (seed % 2) for z in Z]
        )  # as many of mirror images
        full = [list(z) for z, k in zip(Z, copies, strict=True) for _ in range(k)]
        names = np.repeat(np.arange(len(Z)), copies)
        for _ in range(4):
            sets = {
                i: np.unique(names[sorted(C)])
                for i, C in zip(
                    names.tolist(), oracle.attention_sets(full, A), strict=True
                )
            }
            lead = {i for i in sets if sets[i].tolist() == [i]}
            X = np.array([full[list(names).index(i)] for i in range(len(Z))], object)
            found = frozen.for_ever(
                X, X, {i: C for i, C in sets.items() if i not in lead}, copies, alpha, A
            )
            layer, forms = first_change(full, alpha, A)
            assert (found is not None) == (forms is not None and layer is None), seed
            if found:
                M, q = found
                for i in range(len(Z)):
                    m, parts = forms[list(names).index(i)]
                    assert list(M[i]) == list(m)
                    parts = [list(p) for p in parts] + [[0] * len(m)] * (
                        len(q) - len(parts)
                    )
                    assert [list(x[i]) for x in q] == parts[: len(q)]
                stay += any(len(C) > 1 for C in sets.values())
                break
            change += 1
            full = oracle.step(full, alpha, A)
    assert stay > 20 and change > 20


FARTHER = [[3, 1, -3], [0, 3, -2], [3, -1, -3], [0, -3, -2], [2, 0, -3], [-1, 0, -1]]
BENT = [
    [-1, 1, 0],
    [2, -3, -3],
    [-1, -1, 0],
    [2, 3, -3],
    [1, 0, -1],
    [-1, 0, -2],
    [-2, 0, 0],
]
CHAIN = [[7, 7], [-3, 7], [5, -1], [6, 0], [4, 0], [-7, 1], [-12, -14]]
RESTING = [  # somebody is farther along the mean; so by A; the mean stays one layer only
    (exact(FARTHER), Fraction(1), None),
    (exact(BENT), Fraction(1, 2), np.array([[6, 0, 5], [0, 2, 0], [5, 0, 6]], object)),
    (exact([*([x, y, 5] for x, y in CHAIN), [0, 0, 1]]), Fraction(1), None),
]  # fmt: skip


def test_a_tie_at_rest_settles_as_soon_as_it_is_proved(monkeypatch):
    """Bugs of the rule for ties at rest: a condition dropped (settles early, or wrongly), or one too many (late)."""
    monkeypatch.setattr(frozen, "for_ever", lambda *given: None)  # the rule alone
    monkeypatch.setattr(certificate, "first_change", lambda *given: (None, None))
    monkeypatch.setattr(runs, "MOST_LAYERS", 20)
    layers, late = set(), 0
    clouds = [awkward(seed) if seed % 2 else mirrored(seed) for seed in range(300)]
    for k, (Z, alpha, A) in enumerate(RESTING + clouds):
        end = limit(Z, alpha, A)
        if not end.certified:  # a tie whose mean moves, or more layers
            continue
        assert rejected(end, Z.tolist(), alpha, A) is None, k
        if end.settled_at:
            early = replace(end, settled_at=end.settled_at - 1)
            late += rejected(early, Z.tolist(), alpha, A) is None
        layers.add(end.settled_at)
    assert layers > {0, 1, 2, 3, 4, 5, 6}
    assert late == 1  # a chain of ties: each waits a layer for the next


def test_a_gap_that_is_0_once_is_not_positive():
    """Bug: a gap that is 0 at some layer is taken for positive. Sums of c binom(t, k) 2^(-p t), as {(p, k): c}."""
    half = Fraction(1, 2)
    assert frozen.positive(
        {(0, 0): Fraction(51, 100), (1, 1): Fraction(-1)}, half
    )  # t / 2^t is at most a half
    assert not frozen.positive({(0, 0): half, (1, 1): Fraction(-1)}, half)
    assert not frozen.positive({(1, 0): Fraction(100), (0, 0): Fraction(-1)}, half)


def test_signs_of_sums_by_floats():
    """Bugs: floats tell the sign of a sum that nearly vanishes, or of one whose binomials are no floats."""
    half, hair = Fraction(1, 2), Fraction(1, 10**20)
    for t in (1, 7, 50, 500, 5000):
        for sign in (-1, 0, 1):
            gap = {(1, 0): Fraction(2) ** t * (1 + sign * hair), (0, 0): Fraction(-1)}
            assert np.sign(frozen._Sum(gap, half).sign(t)) == sign
    assert (
        frozen._Sum(
            {(1, 0): Fraction(1), (1, 130): Fraction(-1)}, Fraction(999, 1000)
        ).sign(20_000)
        < 0
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        terms = {(int(p), int(p and k)) for p, k in rng.integers(0, (3, 5), (4, 2))}
        gap = {
            term: Fraction(int(rng.integers(1, 99)) * int(rng.choice([-1, 1])), 7)
            for term in terms
        }
        r, t = (
            Fraction(*rng.choice([(1, 2), (9, 10), (1, 10**6), (99, 100)]).tolist()),
            int(rng.integers(0, 400)),
        )
        true = sum(c * r ** (p * t) * comb(t, k) for (p, k), c in gap.items())
        assert np.sign(frozen._Sum(gap, r).sign(t)) == np.sign(true)


def test_a_budget_holds_for_ties_that_may_last():
    """Bug: whether sets stay for ever is asked without end. With alpha = 1/1000 fractions alone took minutes for five tokens."""
    Z = np.array([(3, 3, -3), (-3, 3, 3), (3, 3, -1), (-1, 3, 3), (0, 1, 0)])
    end = limit(Z, 1e-3)
    assert end.certified and end.tokens[4].tolist() == [0, 3, 0]
    began = perf_counter()
    assert not limit(Z, 1e-6, seconds=0.1).certified
    assert perf_counter() - began < 15  # after which it would have gone on for hours
    gap, half = {(0, 0): Fraction(51, 100), (1, 1): Fraction(-1)}, Fraction(1, 2)
    assert frozen.positive(gap, half) and not frozen.positive(gap, half, until=-np.inf)
    X = step(arithmetic.rationals(Z), Fraction(1))
    asked = (
        X,
        X,
        {i: np.flatnonzero(row) for i, row in enumerate(attention_sets(X)) if i > 1},
        np.ones(5, int),
        Fraction(1),
    )
    assert frozen.for_ever(*asked) and frozen.for_ever(*asked, until=-np.inf) is None


def test_a_guess_is_called_one():
    """Bugs: floats taken for exact are sure, what they find is told as known, their bound is that of floats."""
    Z = np.array([[1, 0.1], [2, -1], [2, -1.000001]])
    end, truth = limit(Z, 1e10, seconds=0), limit(Z, 1e10)
    assert truth.certified and truth.follows.tolist() == [2, 2, 2]
    assert (
        not end.certified
        and end.settled_at is None
        and end.error_bound == np.ptp(Z, axis=0).max() == 1.100001
    )
    assert (
        end.leaders.tolist() == [2]
        and end.follows.tolist() == [-1, 2, 2]
        and end.sure.tolist() == [False, True, True]
    )


def test_the_bound_of_a_float_run_adds_up():
    """Bugs: one rounding for all layers; a bound of 0."""
    deep = 0
    for seed in range(20):
        Z = np.random.default_rng(seed).normal(size=(60, 2))
        end = limit(Z, 0.1)
        assert end.error_bound / rounding.of_layer(Z) == pytest.approx(end.settled_at)
        deep += end.settled_at > 2
    assert deep > 5


def test_who_is_followed_has_its_own_name():
    """Bug: the number among distinct tokens, not among all."""
    Z = np.array([[0.5, 0], [0.5, 0], [0.5, 0], [2, 1], [2, 1], [2, -1], [1.9, 0.5]])
    end = limit(Z, 1)
    assert end.leaders.tolist() == [3, 5] and end.follows.tolist()[3:] == [3, 3, 5, 3]


# Masks, batches, and tokens that ask


def sets_of(who):
    """{(cloud, row): set}, of copies the first alone."""
    sets = {at: {int(j)} for at, j in np.ndenumerate(who.first)}
    for c, rows, members in who.ties:
        for row in rows.tolist():
            assert who.first[c, row] == min(members)
            sets[c, row] = set(members.tolist())
    return sets


def without_copies(C, Z):
    """A set of one value by its first token, as `attend` tells it."""
    return C if len({tuple(Z[j]) for j in C}) > 1 else {min(C)}


@pytest.mark.parametrize("large", [4, 512])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_batches_with_masks_where_some_ask(d, large, monkeypatch):
    """Bugs: padding heard, the first cloud's mask or names for all, others asked than those that ask, rows mixed up."""
    monkeypatch.setattr(fast, "BLOCK", 2**6 if d % 2 else 2**18)
    with every_cloud_is_large(large):
        for seed in range(16):
            check_a_batch(seed, d)


def check_a_batch(seed, d):
    rng = np.random.default_rng([seed, d])
    Z = np.stack(
        [np.resize(adversary(int(s), d)[0], (14, d)) for s in rng.integers(0, 10**6, 3)]
    )
    Z = (
        np.where(abs(Z) < 1e100, Z, np.sign(Z))
        if seed % 2
        else rng.integers(-2, 3, Z.shape).astype(float)
    )
    Z[0, 3] = 0
    mask = rng.random((3, 14)) < 0.7
    mask[:, 5] = True
    if seed % 4 == 0:
        mask[1] = True  # one cloud without padding among others with it
    M = rng.integers(-2, 3, (d, d))
    A = (M.T @ M + np.eye(d)) if seed % 3 else None
    ask = rng.permuted(np.tile(np.arange(14), (3, 1)), axis=1)
    ask = ask[:, : 14 if seed % 5 == 0 else 6]  # those that ask, in any order
    who = attend(np.take_along_axis(Z, ask[..., None], 1), Z, A, mask)
    sets, alone, means = sets_of(who), who.alone(), who.means(Z)
    for c in range(3):
        scores = oracle.attention_sets(Z[c], A, mask[c])
        for row, i in enumerate(ask[c]):
            if mask[c, i]:
                assert sets[c, row] == without_copies(scores[i], Z[c]), (seed, c)
                one = len({tuple(Z[c, j]) for j in scores[i]}) == 1
                assert alone[c, row] == one
                mean = Z[c, sorted(scores[i])].mean(0)
                np.testing.assert_allclose(means[c, row], mean, rtol=1e-12, atol=1e-300)
    C, c = attention_sets(Z, A, mask=mask), follow(Z, A, mask=mask)
    for b in range(3):
        expected = oracle.attention_sets(Z[b], A, mask[b])
        assert as_sets(C[b]) == expected
        assert c[b].tolist() == [min(some, default=-1) for some in expected]


def test_large_clouds_with_copies_and_zeros(no_size_is_small):
    """Bugs: copies of an edge's tokens left out, a token at 0 that does not follow all, the first of them out of order."""
    for d in (1, 2, 3, 4, 5):
        for seed in range(12):
            rng = np.random.default_rng([seed, d])
            Z = rng.integers(-2, 3, (24, d)).astype(float)
            Z = np.concatenate([Z, np.zeros((2, d))])[rng.permutation(26)]
            if seed % 10 == 0:
                Z[:] = Z[0]
            expected = oracle.attention_sets(Z)
            assert as_sets(attention_sets(Z)) == expected
            assert follow(Z).tolist() == [min(C) for C in expected]
            for _, members in followed(Z)[1]:
                assert (
                    len(set(map(tuple, Z[members]))) > 1
                    and (np.diff(members) > 0).all()
                )


def test_tiles_and_their_ends(monkeypatch):
    """Bugs: the last tile is left out, no margin between tiles, the error of other rows."""
    monkeypatch.setattr(attention, "LARGE", 16)
    monkeypatch.setattr(tiles, "WIDTH", 4)
    monkeypatch.setattr(fast, "BLOCK", 2**8)
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(17, 30))
        Z = rng.normal(size=(n, 5)) * 10.0 ** rng.integers(
            -6, 7, (n, 1) if seed % 2 else (1, 1)
        )
        Z = np.concatenate(
            [Z, np.nextafter(Z[-4:], rng.choice([-9, 9], (4, 5))), Z[:2]]
        )
        if seed % 3 == 0:
            Z = Z[np.argsort((Z * Z).sum(1))]  # the farthest in the last tile
        expected = oracle.attention_sets(Z)
        assert as_sets(attention_sets(Z)) == expected and follow(Z).tolist() == [
            min(C) for C in expected
        ]


def test_ties_across_tiles():
    """Bug: whoever stands in two tiles, the last of which begins again, is twice in a tie, and twice in its mean."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        Z = rng.integers(-1, 2, (18 + seed % 4, 5)).astype(float)
        expected = oracle.attention_sets(Z)
        with every_cloud_is_large(16):
            who = attend(Z[None], Z[None])
        for (_, i), C in sets_of(who).items():
            assert without_copies(expected[i], Z) == C
        for _, _, members in who.ties:
            assert (np.diff(members) > 0).all()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_nothing_but_zeros(d, no_size_is_small):
    """Bug: copies of 0 are a tie of different values, so that nobody leads."""
    assert followed(np.zeros((9, d)))[1] == []
    assert simulate(np.zeros((9, d)), 1, 2).leaders(1).tolist() == [0]


@pytest.mark.parametrize("seed", range(12))
def test_a_route_in_the_plane_where_normals_are_steep(seed, no_size_is_small):
    """Bugs of the seam, of the edge behind, of normals that A turns by cancellation: ill-conditioned A, edges straight down."""
    rng = np.random.default_rng(seed)
    for k in range(25):
        U = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        A = U * 10.0 ** rng.uniform(-7, 1, 2) @ U.T if k % 3 else None
        A = A if A is None else (A + A.T) / 2
        Z = rng.normal(size=(14, 2))
        Z[:4, 1] = (
            Z[:, 1].min() - 1
        )  # an edge at the bottom: its normal is straight down
        Z[4:7] = Z[:3] + np.spacing(Z[:3]) * rng.integers(-2, 3, (3, 2))
        extra = (
            -np.outer(rng.uniform(0.1, 2, 4), [0, 1])
            if A is None
            else np.linalg.solve(A, -np.outer([0, 1], rng.uniform(0.1, 2, 4))).T
        )
        Z = np.concatenate([Z, extra + np.spacing(1.0) * rng.integers(-2, 3, (4, 2))])
        expected = oracle.attention_sets(Z, A)
        assert as_sets(attention_sets(Z, A)) == expected, k


# What goes in stays, what comes out is its own


def test_nothing_is_changed_and_nothing_is_shared():
    """Bugs: an argument changed in place, a result that is a view of an argument, or of another result."""
    Z, A = (
        np.array([[1.0, 0], [2, 1], [2, -1], [2, 1]]),
        np.array([[2.0, 0.5], [0.5, 1]]),
    )
    hidden = np.array([True, True, True, False])
    for numbers in (lambda X: X.copy(), arithmetic.rationals):
        X, B, mask = numbers(Z), numbers(A), hidden.copy()
        alpha = numbers(np.array([1.0, 2]))
        before = [x.copy() for x in (X, B, mask, alpha)]
        end = limit(X, alpha, B)
        results = [
            step(X, alpha[0], B, mask=mask),
            step(X[:1], alpha[0]),
            simulate(X, alpha, 0, B, mask=mask).tokens,
            simulate(X, alpha, 3, B, mask=mask).tokens,
            attention_sets(X, B, mask=mask),
            follow(X, B, mask=mask),
            end.tokens,
            end.leaders,
            end.born,
            end.follows,
            end.at(0),
            simulate(X, alpha, 3, B, mask=mask).mask,
            end.at(1),
            end.at(5),
            limit(X[:1], 1).tokens,
            limit(X[:1], 1).at(0),
            half_space(X[0]).normal,
            half_space(X[0], B).normal,
            project(X[0], X[1:], B),
            project(X[1], X[1:2]),
            cluster_points(X, B).points,
            vary(X, [], mask=mask),
            vary(X, Layer(alpha[0], B), mask=mask),
        ]
        for k, result in enumerate(results):
            assert not any(np.shares_memory(result, x) for x in (X, B, mask, alpha)), k
            assert not any(np.shares_memory(result, other) for other in results[:k]), k
        for x, y in zip((X, B, mask, alpha), before, strict=True):
            assert (x == y).all()
    end = limit([[1, 0.1], [2, -1], [2, -1.000001]], 1e-3)
    assert end.settled_at > 0
    after = end.at(1)
    end.at(0)[:] = 99
    assert (end.at(1) == after).all()
    singular = exact([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    kept = singular.copy()
    with pytest.raises(ValueError, match="not positive definite"):
        step(exact([[1, 0, 0]]), 1, singular)
    assert (singular == kept).all()


# Copies


def test_copies_count_in_a_mean_and_lead_once():
    """Bugs: copies once in a mean; the last of them leads; names of distinct tokens for names of tokens."""
    Z = exact([[5, 5], [0, 0], [3, 1], [3, 1], [3, 1], [3, -1], [5, 5], [-1, 0]])
    path = simulate(Z, Fraction(1), 2)
    assert [list(z) for z in path.tokens[1].tolist()] == oracle.step(Z, 1)
    end = limit(Z, Fraction(1))
    assert end.leaders.tolist() == oracle.leaders(
        [np.array(X, object) for X in _long(Z)]
    )
    assert all((Z[i] != Z[:i]).any(-1).all() for i in end.leaders)


def _long(Z):
    path = [Z]
    for _ in range(8):
        path.append(np.array(oracle.step(path[-1], 1), object))
    return path


def test_merged_followers_do_not_lead():
    """Bugs: a follower that floats have merged with its leader, or with another follower, is a leader."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        Z = rng.normal(size=(12, 2))
        Z[3:6] = Z[2] * (1 - 1e-3 * np.arange(1, 4))[:, None]
        path = simulate(Z, 9.0, 60)
        assert path.leaders(60).tolist() == limit(Z, 9.0).leaders.tolist()
        assert len(np.unique(path.tokens[-1], axis=0)) < 12


# Definiteness


def pivots(A):
    """All pivots of exact elimination are positive: by determinants of leading minors, on fractions."""
    A = [[Fraction(x) for x in row] for row in A]
    for k in range(len(A)):
        if A[k][k] <= 0:
            return False
        for i in range(k + 1, len(A)):
            share = A[i][k] / A[k][k]
            A[i] = [x - share * y for x, y in zip(A[i], A[k], strict=True)]
    return True


def test_definiteness_near_0_is_decided_exactly():
    """Bugs: eigenvalues in floats decide, or decide 100 times nearer to 0; a pivot of 0 passes; float matrices, too."""
    both = set()
    for seed in range(250):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 7))
        R = rng.integers(-9, 10, (d - 1, d)).astype(float)
        A = R.T @ R * float(rng.choice([1, 2.0**-30, 2.0**700]))
        A[-1, -1] += np.spacing(A[-1, -1]) * rng.integers(-3, 4)
        Z = np.ones((1, d))
        true = pivots(A)
        try:
            assert (inputs.matrix(A, Z) == A).all() and true, seed
        except ValueError as error:
            assert "not positive definite" in str(error) and not true, seed
        both.add(true)
    assert both == {True, False}


def test_rows_that_share_a_sum():
    """Bugs: one coordinate decides whether rows are equal; order of appearance; the first or last of equal sums forgotten."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 4))
        X = rng.integers(-1, 2, (int(rng.integers(1, 12)), d)).astype(float)
        if seed % 2:
            X = X + rng.choice([0, 1e-17, 1e17], (1, d))
        first, of = arithmetic.distinct(X)
        seen = list(dict.fromkeys(map(tuple, X)))
        assert [tuple(X[i]) for i in first] == seen and of.tolist() == [
            seen.index(tuple(x)) for x in X
        ]
        assert [int(i) for i in first] == [
            next(i for i, x in enumerate(X) if tuple(x) == z) for z in seen
        ]


# Projections


def test_a_projection_returns_to_the_hull():
    """Bugs: a step that leaves the hull, or that goes as far as the last point allows; points without weight that stay."""
    for seed in range(120):
        rng = np.random.default_rng(seed)
        d, m = int(rng.integers(2, 4)), int(rng.integers(2, 9))
        V, x = exact(rng.integers(-4, 5, (m, d))), exact([rng.integers(-6, 7, d)])[0]
        M = rng.integers(-2, 3, (d, d))
        A = exact(M.T @ M + np.eye(d, dtype=int)) if seed % 2 else None
        y = project(x, V, A)
        B = exact(np.eye(d, dtype=int)) if A is None else A
        # the nearest point, and no other: <A (x - y), v - y> <= 0 for all v; and y is in the hull, by its own projection
        assert ((V - y) @ (B @ (x - y)) <= 0).all()
        assert (project(y, V, A) == y).all()
        if d == 2:
            assert oracle.in_hull(y, V)
        for u in product(range(-2, 3), repeat=d):
            assert (V @ np.array(u)).min() <= y @ np.array(u) <= (V @ np.array(u)).max()


def test_a_half_space_looks_through_its_matrix():
    """Bug: the normal is z, not A z."""
    H = half_space([1, -1], A=[[2, 1], [1, 1]])
    assert H.normal.tolist() == [1, 0] and H.offset == 1
    assert H.contains([[1, 5], [0.5, -9]]).tolist() == [True, False]


def test_what_is_not_separated_is_refused():
    """Bug: a point as far as s in its own direction gets a radius of 0."""
    with pytest.raises(ValueError, match="is not separated from"):
        separation_radius([1.0, 0.0], [[1.0, 2.0]])


# Scales, copies, masks: where one guard alone holds


def test_a_matrix_of_any_size_makes_the_same_sets():
    """Bug: in the plane, a large or a small A overflows or underflows beside tokens that do not."""
    rng = np.random.default_rng(5)
    X, M = rng.normal(size=(600, 2)), rng.integers(-3, 4, (2, 2)).astype(float)
    A = M.T @ M + np.eye(2)
    expected = followed(X, A)[0]
    for tokens, matrix in product((2.0**150, 1.0, 2.0**-150), (2.0**950, 2.0**-950)):
        assert (followed(X * tokens, A * matrix)[0] == expected).all()


def test_those_that_ask_may_be_of_another_size():
    """Bug: tokens that ask are taken for as large as those that are asked, and underflow."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 2)) * 2.0**-150
    expected = followed(X)[0]
    for power in (-800, 1100):
        who = attend(np.ldexp(X, power)[None], X[None])
        assert (who.first[0] == expected).all() and who.ties == []
    large = attend(np.ldexp(X, 1100)[None], np.ldexp(X[None, :9], 300))
    assert (large.first == attend(X[None], X[None, :9]).first).all()


def test_a_matrix_that_scaling_would_round_is_taken_in_whole_numbers():
    """Bug: an entry of A that has no room below is rounded, and a tie is none."""
    small = 3 * 2.0**-74
    A = np.array([[2.0**1000, small], [small, 2.0**1000]])
    X = np.array([[3 * 2.0**-1074, -0.5], [0, 0.5]])
    exactly = [Fraction(a) * Fraction(x) for a, x in zip(A[0], X[0], strict=True)]
    assert sum(exactly) == Fraction(small) / 2  # a tie
    who = attend(np.array([[[0.5, 0.0]]]), X[None], A)
    assert [members.tolist() for _, _, members in who.ties] == [[0, 1]]


def test_the_margin_knows_what_a_product_with_A_may_lose():
    """Bug: the margin goes by the coordinates that a token looks along, not by those that A brings in."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b, c = (int(x) | 1 for x in rng.integers(2**26, 2**27, 3))
        A = np.array([[2.0**40, 0, a], [0, 2.0**40, b], [a, b, c]])
        s, t = np.indices((3, 3)).reshape(2, -1)
        far = 2**52 - rng.integers(2**20, size=2)
        X = np.stack([far[0] - c * s, far[1] - c * t, a * s + b * t], 1)
        assert len(set((X.astype(object) @ [a, b, c]).tolist())) == 1  # all as far
        who = attend(np.array([[[0.0, 0, 1]]]), X[None].astype(float), A)
        assert [members.tolist() for _, _, members in who.ties] == [[*range(9)]]


def test_chains_of_any_length():
    """Bug: a chain is followed half of the way."""
    for n in (2, 3, 64, 65, 200):
        assert (roots([0, *range(n - 1)]) == 0).all()


def test_each_row_of_a_block_has_an_error_of_its_own(monkeypatch):
    """Bug: the rows of a later block are compared with the error of the first."""
    X = np.array(list(permutations((0.1, 0.2, 0.3))))  # equally far along (1, 1, 1)
    Q = np.array([[1e-200] * 3, [1.0] * 3])
    for block in (18, 2**18):
        monkeypatch.setattr(fast, "BLOCK", block)
        who = attend(Q[None], X[None])
        assert [members.tolist() for _, _, members in who.ties] == [[*range(6)]]
        assert who.ties[0][1].tolist() == [0, 1]


def test_whoever_stands_in_two_tiles_counts_once():
    """Bug: the last tile begins again, and its tokens are twice in a tie, and in its mean."""
    X = np.array([[Fraction(1, i + 10), Fraction(0)] for i in range(600)])
    X[5], X[300] = [Fraction(10), Fraction(1)], [Fraction(10), Fraction(-1)]
    who = attend(X[None], X[None])
    assert who.first[0, 0] == 5
    (members,) = (members for _, rows, members in who.ties if 0 in rows)
    assert members.tolist() == [5, 300]
    assert who.means(X[None])[0, 0].tolist() == [10, 0]


def test_padding_of_a_large_exact_cloud_is_not_asked():
    """Bug: tiles know of no padding."""
    X = np.array([[Fraction(i + 1)] for i in range(520)])
    mask = np.arange(520) < 515
    who = attend(X[None], X[None], real=mask[None])
    assert who.first[0, 0] == 514 and who.ties == []
    assert follow(X, mask=mask)[0] == 514


def test_a_token_at_0_is_tied_with_all_that_blur_may_part():
    """Bug: tokens that are equal as floats are one, also where they may be apart."""
    X = np.ones((600, 3))
    who = attend(np.zeros((1, 1, 3)), X[None], blur=1e-9)
    assert [len(members) for _, _, members in who.ties] == [600]
    assert attend(np.zeros((1, 1, 3)), X[None]).ties == []


def test_one_token_is_in_no_tie_whatever_the_blur():
    """Bug: a blur without bound makes a tie of a single token."""
    X = np.array([[[2.0**1000, 3 * 2.0**-1074]]])
    who = attend(X, X, blur=1e-9)
    assert who.ties == [] and who.alone().all()
    two = np.concatenate([X, X], axis=1)
    assert len(attend(two, two, blur=1e-9).ties) == 1


def test_a_trajectory_knows_its_padding():
    """Bug: the attention sets of a layer are those of a cloud without a mask."""
    Z, mask = [[1, 0], [2, 1], [9, 9]], [True, True, False]
    path = simulate(Z, 1, 3, mask=mask)
    for k in range(4):
        C = attention_sets(path.tokens[k], mask=mask)
        assert (path.attention_sets(k) == C).all() and not C[:, 2].any()


def test_weights_are_their_own():
    """Bug: weights are a view of what was given, and change with it."""
    E, v = np.arange(6.0).reshape(3, 2), np.array([1.0, -1])
    weights = Weights(embedding=E, alpha=1, depth=2, v=v, bias=0)
    E[:], v[:] = 9, 9
    assert weights.embedding.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert weights.v.tolist() == [1, -1]


def test_near_copies_that_merge_before_they_lead_do_not_lead():
    """Bug: where floats have merged two tokens, the first of them leads, though the other may be the longer."""
    text = (
        "1 1/3, -1/12 1/12, -1 -1, 0 1/4, -3/10 -7/10, -3/5 -9/10, 4/5 1/10, 3/5 3/20"
    )
    Z = np.array([[float(Fraction(x)) for x in z.split()] for z in text.split(",")])
    merged = 0
    for alpha, up in product((0.5, 0.9, 1.2, 1.4), (-9, 9)):
        assert 1 in simulate(Z, alpha, 30).leaders(30)
        near = np.nextafter(Z[1], [Z[1, 0], up])
        path = simulate(np.vstack([Z, near]), alpha, 30)
        found = set(path.leaders(30).tolist())
        if (path.tokens[1, 1] == path.tokens[1, 8]).all():
            merged += 1
            assert not {1, 8} & found
        assert {0, 2} <= found
    assert merged


# The gate


def test_the_gate_takes_one_matrix_and_no_tokens_beyond_its_range():
    """Bugs: an A of the shape of several heads is taken for one; coordinates, also negative ones, whose sums overflow."""
    Z = [[1.0, 0], [0, 2]]
    with pytest.raises(ValueError, match=r"A has shape \(1, 2, 2\)"):
        step(Z, 1, np.eye(2)[None])
    for sign, power in product((1, -1), (1001, 1000)):
        Z = np.array([[sign * 2.0**power, 0], [0, 1]])
        if power == 1000:
            assert limit(Z, 1).certified
            continue
        for function in (limit, step):
            with pytest.raises(ValueError, match=r"at most 2\^1000"):
                function(Z, 1)


def test_whole_numbers_are_taken_at_their_word():
    """Bugs: 2^53 + 1 becomes 2^53, as an array, in a list, beside a float."""
    for n in (2**53 + 1, -(2**53) - 1, 2**60 + 1):
        for given in (np.array([n]), [n], [n, 0.5], [[n, 1]]):
            taken = inputs.numbers(given, "Z")
            assert taken.dtype == object and taken.flat[0] == n
    for n in (2**53 - 1, 2**53, 2**60):  # a float says the same
        assert inputs.numbers([n], "Z").dtype == float


# Limits: what is only likely, and layers on the way


def test_a_guess_is_told_as_a_guess():
    """Bugs: a guess is certain, or overwrites what was known: who is sure, who leads."""
    for cloud in (EMERGING, exact(CHAIN)):
        end = limit(cloud, Fraction(1, 3), megabytes=0)
        full = limit(cloud, Fraction(1, 3))
        assert full.certified and not end.certified and "megabytes" in end.why
        assert 0 < end.sure.sum() < len(cloud) and end.settled_at is None
        assert set(end.leaders) <= set(full.leaders) and (end.follows == -1).any()
        assert np.allclose(end.tokens.astype(float), full.tokens.astype(float))


def test_any_layer_is_that_of_the_run():
    """Bugs: the first alpha in all layers, later layers counted from 0, fractions where floats were given."""
    seen = set()
    for rates in ([Fraction(1)], [Fraction(1, 2), Fraction(3), Fraction(1, 5)]):
        for cloud in (EMERGING, exact(CHAIN), exact(FARTHER)):
            end, Z = limit(cloud, rates), cloud
            seen.add(end.settled_at)
            for k in range(end.settled_at + 5):
                assert (end.at(k) == Z).all()
                Z = step(Z, rates[min(k, len(rates) - 1)])
    assert max(seen) >= 3
    Z = exact([*([x, y, 5] for x, y in CHAIN), [0, 0, 1]]).astype(float)  # with a tie
    for rates in (0.5, [0.5, 2.0]):
        end = limit(Z, rates)
        for k in range(end.settled_at + 3):
            assert end.at(k).dtype == float
            truly = simulate(exact(Z), arithmetic.rationals(np.array(rates)), k)
            assert np.allclose(end.at(k), truly.tokens[k].astype(float))


def test_a_search_that_is_out_of_time_is_open():
    """Bug: it goes on where nobody has to be compared: a token at 0 that follows all."""
    Z = exact([[1, 0], [-1, 0], [0, 0]])
    given = Z, Z, {2: np.arange(3)}, np.ones(3, int), Fraction(1)
    assert frozen.for_ever(*given) and frozen.for_ever(*given, None, -1) is None


def test_a_guess_at_rest_ends(monkeypatch):
    """Bug: floats that stand still, with tokens that never settle, go on to the last layer."""
    layers, advance = [], dynamics.advance
    monkeypatch.setattr(dynamics, "advance", lambda *a: layers.append(0) or advance(*a))
    Z, alpha, A = awkward(1353)
    assert not limit(Z, alpha, A, megabytes=0).certified
    assert len(layers) < 200 < runs.MOST_LAYERS


# Roads: what each of them must not take for granted


def test_a_mean_does_not_know_an_order():
    """Bug: floats are added up one by one."""
    for order in permutations(([1e16, 1.0], [1.0, 1e16], [-1e16, -1e16])):
        mean = arithmetic.mean(np.array(order))
        assert mean == [1 / 3, 1 / 3]


def test_tokens_that_a_singular_matrix_sends_to_0_follow_all():
    """Bugs: only tokens at 0 do; floats say who does."""
    X = np.random.default_rng(8).normal(size=(600, 2))
    Q = np.array([[1.0, -1], [1, -1 + 2.0**-50], [0, 0], [1, 1]])
    who = attend(Q[None], X[None], np.ones((2, 2)))
    ((_, rows, members),) = who.ties
    assert rows.tolist() == [0, 2] and len(members) == 600
    far = int(X.sum(1).argmax())
    assert who.first[0].tolist() == [0, far, 0, far]


def test_a_matrix_that_reverses_the_circle():
    """Bug: the road through the plane is taken though directions come in another order."""
    X = np.random.default_rng(9).normal(size=(600, 2))
    for A in ([[0, 1], [1, 0]], [[1, 2], [2, -1]], [[-1, 0], [0, 1]]):
        A = np.array(A, float)
        assert (attend(X[None], X[None], A).first[0] == (X @ A @ X.T).argmax(1)).all()


def test_who_is_inside_of_a_ball_is_so_by_a_margin():
    """Bugs: no margin; a margin larger than the ball leaves somebody inside."""
    square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]]), np.ones(4)
    points = np.array([[0.0, 0], [0.85, 0], [0, 0.95], [2, 0]])
    for margin, out in ((0, [3]), (0.1, [2, 3]), (0.2, [1, 2, 3]), (3, [0, 1, 2, 3])):
        given = points.T, np.zeros(2), np.ones(2), *square, margin
        assert fast.candidates.outside_ball(*given).tolist() == out


def test_turns_are_exact_where_differences_round():
    """Bug: a margin that is 100 times too small: points on one line turn."""
    rng = np.random.default_rng(10)
    v = rng.integers(2**48, 2**50, (200, 2)) | 1
    P, Q, R = (float(k) * v for k in (-7.0, 6.0, 7.0))  # below 2^53: exact
    assert not plane.turns(P, Q, R).any()
    R[:, 0] += 1
    assert (plane.turns(P, Q, R) < 0).all()


def exact_corner(X, q, A):
    """Of the tokens X the first that is farthest along A q, on fractions."""
    A, q, X = ([[Fraction(x) for x in row] for row in M] for M in (A, [q], X))
    look = oracle.times(A, q[0])
    return max(range(len(X)), key=lambda i: (oracle.dot(look, X[i]), -i))


def test_the_seam_of_the_circle_is_not_left_to_rounding():
    """Bug: an edge whose normal is to the right of straight down is taken for one to the left of it."""
    some = np.random.default_rng(11).integers(2**39, 2**40, 40) | 1
    for b, k in product(some.tolist(), (1, 2, 3)):
        e = b - 2 + k  # so that b e - (b - 2)(e + 2) is 2 k, which floats do not know
        A = np.array([[2.0 * b, b], [b, b - 2]])
        X = np.array([[0.0, 0], [e, -(e + 2)], [e, e]])
        Q = np.array([[1.0, -(2.0**j)] for j in range(70, 90)])
        first = plane.by_hull(Q, X, A)[0]
        assert first.tolist() == [exact_corner(X, q, A) for q in Q]


def test_directions_of_normals_are_known_up_to_their_bound():
    """Bugs: cancellation by A, or underflow, is forgotten."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scale = 2.0 ** -(1030 if seed % 3 == 0 else 0)
        b = float(rng.integers(2**26, 2**27))
        A = np.array([[b, b], [b, b + 2.0 ** -rng.integers(0, 20)]])
        A = np.array([[0.3, 0.1], [0.1, 0.7]]) if seed % 3 == 0 else A
        X = rng.normal(size=(6, 2)) @ [[1, -1], [1e-6, 1e-6]] * scale
        hull = plane.Hull(X, A)
        at = [[Fraction(x) for x in row] for row in hull.at]
        edges = [
            [y - x for x, y in zip(at[k], at[(k + 1) % len(at)], strict=True)]
            for k in range(len(at))
        ]
        turned = [oracle.times(exact_rows(A), e) for e in edges]
        for (x, y), normal in zip(turned, hull.normals, strict=True):
            turn = -x / (abs(x) + abs(y))
            true = 2 - turn if y < 0 else turn
            apart = (Fraction(normal) - true + 1) % 4 - 1
            assert min(abs(apart), abs(apart - 4)) <= hull.off


def exact_rows(A):
    return [[Fraction(x) for x in row] for row in A.tolist()]


def test_a_road_knows_its_matrix():
    """Bugs: a matrix that is not symmetric, or its margin under blur, is taken for another; det A <= 0 is taken."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(50, 2))
    for A in ([[1.0, 2], [-1, 1]], [[2.0, 0], [3, 1]]):
        A = np.array(A)
        first = plane.by_hull(X, X, A)[0]
        assert (first == (X @ A @ X.T).argmax(1)).all() and plane.keeps_order(A)
    for A in ([[0.0, 1], [1, 0]], [[1.0, 1], [1, 1]]):
        assert not plane.keeps_order(np.array(A))
    A, blur = np.array([[1.0, 0], [0, 1e6]]), 1e-9
    X = np.array([[1.0, 0], [1 - 1e-4, 1], [0, 0]])  # blur of q counts A times
    assert plane.by_hull(X[:1], X, None, blur)[1] == []
    ((_, open_),) = plane.by_hull(X[:1], X, A, blur)[1]
    assert open_.tolist() == [0, 1, 2]


def test_points_on_the_border_are_not_inside():
    """Bug: rounding puts a point of an edge to its left."""
    rng = np.random.default_rng(13)
    for v in (rng.integers(2**48, 2**50, (60, 2)) | 1).tolist():
        v = np.array(v, float)
        polygon = np.array([-7 * v, 7 * v, 9 * v * [-1, 1]])
        on = np.arange(-7.0, 8)[:, None] * v  # all exact
        assert plane.outside(*on.T, polygon).tolist() == [*range(15)]


def test_a_token_at_0_follows_all_on_any_hull():
    """Bug: it looks somewhere, and follows the corner there."""
    for X in ([[0.0, 2], [-1, -1], [2, -1.5]], [[1.0, 0], [0, 1], [0, 0]], [[0.0, 0]]):
        X = np.array(X)
        first, ties = plane.by_hull(np.zeros((2, 2)), X)
        assert first.tolist() == [0, 0]
        assert [m.tolist() for _, m in ties] == [[*range(len(X))]] * (len(X) > 1)


@pytest.mark.parametrize("power", [0, -1060])
def test_a_walk_may_begin_anywhere(power):
    """Bugs: it goes one way only; of a tie it sees the edge ahead, or takes that for the edge behind.

    Of numbers that are nearly 0 no direction is sure.
    """
    begun = set()
    for seed in range(60):
        Z = np.random.default_rng(seed).integers(-4, 5, (8, 2)).astype(float)
        Z = Z[arithmetic.distinct(Z)[0]]
        Q = np.concatenate([Z, np.stack([Z[:, 1], -Z[:, 0]], 1), Z[1:] - Z[:-1]])
        Q, X = Q[Q.any(1)], np.ldexp(Z, power)
        hull = plane.Hull(X)
        begun.add(hull.off > 4)
        scores = Q @ Z.T
        expected = scores == scores.max(1, keepdims=True)
        first, ties = plane.by_hull(Q, X)
        found = np.zeros_like(expected)
        found[np.arange(len(Q)), first] = True
        for rows, members in ties:
            found[rows[:, None], members] = True
        assert (found == expected).all() and (first == expected.argmax(1)).all()
        for corner in range(len(hull.at)):
            ends, _ = hull._walk(Q, np.full(len(Q), corner))
            assert expected[np.arange(len(Q)), hull.tokens[ends]].all()
    assert begun == {power < 0}


def test_a_tiny_edge_makes_no_long_walks(monkeypatch):
    """Beside an edge of 5e-324 no direction is sure; each walk begins where it ends, or next to it."""
    angle, steps = np.arange(700) * 2 * np.pi / 700 + 0.1, []
    Z = np.concatenate(
        [np.stack([np.cos(angle), np.sin(angle)], 1), [[1, 0], [1, 5e-324]]]
    )
    whole = arithmetic.integers
    monkeypatch.setattr(
        plane.arithmetic, "integers", lambda X: steps.append(1) or whole(X)
    )
    assert plane.Hull(Z).off > 4
    first, _ = plane.by_hull(Z, Z)
    assert (first[:-2] == np.arange(700)).all() and len(steps) < 20


def test_a_matrix_that_is_nearly_singular_makes_no_direction_sure():
    """Bug: the walk goes on only, from beyond half of the circle."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = np.array([[1, 1], [1, 1 + 2.0 ** -rng.integers(45, 53)]])
        X = rng.normal(size=(7, 2)).round(2) @ [[1, -1], [0, 0]]
        X += rng.normal(size=(7, 2)).round(2) * (seed % 2)
        Q = np.concatenate([rng.normal(size=(5, 2)), rng.normal(size=(5, 1)) * [1, -1]])
        first = plane.by_hull(Q, X, A)[0]
        assert first.tolist() == [exact_corner(X, q, A) for q in Q]
