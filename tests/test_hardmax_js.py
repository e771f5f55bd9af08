"""The mathematics of the live figures, in a browser, against hmlib: 1,000 clouds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hmlib import (
    arithmetic,
    attention_sets,
    cluster_points,
    limit,
    limit_polytope,
    roots,
    simulate,
)
from hmlib.limits import counter_clockwise
from hmlib.live import source, wired
from hmlib.live.links import kept

LAYERS = 6
IN_THE_PAGE = """
async ([source, clouds, layers]) => {
  const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  return clouds.map(({ Z, alpha, A }) => {
    const end = H.limit(Z, alpha, A), K = H.hull(end.leaders.map((i) => end.tokens[i]));
    const corners = K.map((k) => end.tokens[end.leaders[k]]);
    const { tokens, leaders, born, follows, certified, settledAt, errorBound, inverse } = end;
    const at = [...Array(layers + 1).keys()].map((k) => inverse.map((i) => end.at(k).tokens[i]));
    const path = H.simulate(Z, alpha, layers, A);
    return { tokens, leaders, born, follows, certified, settledAt, errorBound, at, corners,
      sets: H.attentionSets(Z, A), path: path.tokens, found: H.leadersOf(Z, path.sets), hull: H.hull(Z),
      roots: H.roots(path.sets[0].map((set) => set.at(-1))),
      S: H.clusterPoints(corners, A).map((s) => s.point) };
  });
}
"""


def cloud(seed):
    """(Z, alpha, A) in floats: lattices, mirror images, copies, tenths and Gaussian clouds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    Z = rng.integers(-4, 5, (n, 2)).astype(float)
    match seed % 8:
        case 0:
            Z = np.concatenate([Z, -Z])
        case 1:
            Z = np.concatenate([Z, Z * [-1, 1]])
        case 2:
            Z = Z[rng.integers(0, n, n + 3)]
        case 3:
            Z = Z / 10
        case 4:
            Z = np.concatenate([Z, Z[:, ::-1], -Z]) / 4
        case 5:
            Z = rng.normal(size=(4 * n, 2)) * np.exp(rng.uniform(-30, 30))
        case 6:
            Z = rng.normal(size=(4 * n, 2)).round(1) + rng.choice([0, 3]) * np.array(
                [1, 0.5]
            )
        case 7:
            Z = rng.normal(size=(n, 2))[rng.integers(0, n, 3 * n)]
    R = rng.integers(-2, 3, (2, 2)) if seed % 3 else rng.normal(size=(2, 2)).round(2)
    A = R.T @ R + np.eye(2) * rng.choice([1, 0.1])
    alpha = float(rng.choice([0.5, 1, 3, 0.1, 20, np.exp(rng.uniform(-3, 3)), 1 / 3]))
    return Z, alpha, (A + A.T) / 2 if seed % 2 else None


def balanced(seed):
    """A token at 0 among others whose sum is 0; it stays if their limits balance, too."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 2, (4, 2)).astype(float)
    return np.concatenate([[[0, 0]], Z, -Z.sum(0, keepdims=True)]), 0.5, None


@pytest.fixture(scope="module")
def pairs(browser):
    """For each of 1,000 clouds: the cloud, and what the page says of it."""
    clouds = [cloud(seed) for seed in range(950)] + [balanced(s) for s in range(50)]
    given = [
        {"Z": Z.tolist(), "alpha": a, "A": None if A is None else A.tolist()}
        for Z, a, A in clouds
    ]
    page = browser.new_page()
    said = page.evaluate(
        IN_THE_PAGE, [source("limits.js", "geometry.js"), given, LAYERS]
    )
    page.close()
    return list(zip(clouds, said, strict=True))


def as_kept(value):
    if isinstance(value, list):
        return [as_kept(x) for x in value]
    return value if value is None else wired(kept(value))


def test_fractions_are_taken_at_their_word(browser):
    """Thirds and ninths, which no float holds: a tie of them is a tie in the page, too."""
    given, clouds = [], []
    for seed in range(160):
        Z, alpha, A = cloud(seed)
        exact = [[Fraction(round(x * 4), 9) for x in z] for z in Z[:9]]
        alpha = Fraction(round(alpha * 9) + 1, 7)
        A = None if A is None else [[Fraction(x) / 3 for x in row] for row in A]
        clouds.append((np.array(exact, object), alpha, A))
        sent = {"Z": exact, "alpha": alpha, "A": A}
        given.append({name: as_kept(value) for name, value in sent.items()})
    page = browser.new_page()
    code = IN_THE_PAGE.split("const end")[0] + "return H.limit(Z, alpha, A); }); }"
    code = code.replace("H.limit(Z, alpha, A)", "{ ...H.limit(Z, alpha, A), at: null }")
    said = page.evaluate(code, [source("limits.js"), given, LAYERS])
    page.close()
    ties = 0
    for (Z, alpha, A), js in zip(clouds, said, strict=True):
        end = limit(Z, alpha, A)
        assert end.certified or not js["certified"]
        if not js["certified"]:
            continue
        for name in ("leaders", "born", "follows"):
            assert getattr(end, name).tolist() == js[name]
        assert end.settled_at == js["settledAt"]
        off = abs(end.tokens - arithmetic.rationals(np.array(js["tokens"]))).max()
        assert off <= Fraction(js["errorBound"])
        ties += (attention_sets(Z, A).sum(1) > 1).any()
    assert ties > 50


def test_attention_sets_are_equal(pairs):
    ties = 0
    for (Z, _, A), js in pairs:
        C = attention_sets(Z, A)
        assert [np.flatnonzero(row).tolist() for row in C] == js["sets"]
        ties += (C.sum(1) > 1).any()
    assert ties > 300


def test_chains_end_where_they_end(pairs):
    for (Z, _, A), js in pairs:
        C = attention_sets(Z, A)
        last = C.shape[1] - 1 - C[:, ::-1].argmax(1)  # of those that each follows
        assert roots(last).tolist() == js["roots"]


def test_layers_are_equal_to_the_last_bit(pairs):
    for (Z, alpha, A), js in pairs:
        path = simulate(Z, alpha, LAYERS, A)
        assert (path.tokens == np.array(js["path"])).all()
        assert path.leaders(LAYERS - 1).tolist() == js["found"]


def test_limits_and_certificates_are_equal(pairs):
    whole, open_ = 0, 0
    for (Z, alpha, A), js in pairs:
        end = limit(Z, alpha, A)
        size = np.ptp(Z, axis=0).max() + abs(Z).max()
        assert (end.certified, end.settled_at) == (js["certified"], js["settledAt"])
        assert (end.leaders.tolist(), end.born.tolist()) == (js["leaders"], js["born"])
        assert end.follows.tolist() == js["follows"]
        assert abs(end.tokens - js["tokens"]).max() <= 1e-12 * size
        assert js["errorBound"] == pytest.approx(end.error_bound, rel=1e-6)
        whole += (
            end.certified
            and end.settled_at > 0
            and (attention_sets(Z, A).sum(1) > 1).any()
        )
        open_ += not end.certified
    assert whole > 20
    assert open_ < 50


def test_the_layers_that_are_shown_are_those_of_the_exact_run(pairs):
    """Not those of a run on floats, which may break a tie on the way."""
    for (Z, alpha, A), js in itertools.islice(pairs, 0, None, 5):
        if js["certified"]:
            exact = np.frompyfunc(Fraction, 1, 1)
            end = limit(exact(Z), Fraction(alpha), None if A is None else exact(A))
            for k, shown in enumerate(js["at"]):
                assert abs(end.at(k).astype(float) - shown).max() <= 1e-12 * (
                    np.ptp(Z) + abs(Z).max()
                )


def test_polytopes_and_their_points_are_equal(pairs):
    for (Z, alpha, A), js in pairs:
        if js["certified"]:
            assert limit_polytope(Z, alpha, A).tolist() == js["corners"]
            if len(js["corners"]) and len(js["corners"]) < 20:
                S = cluster_points(js["corners"], A).points
                assert sorted(S.tolist()) == sorted(js["S"])
        corners = Z[js["hull"]]
        assert corners[counter_clockwise(corners)].tolist() == corners.tolist()
