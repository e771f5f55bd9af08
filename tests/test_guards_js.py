"""Guards of the page's mathematics: what it certifies at the edge of what floats can tell is what fractions find."""

from fractions import Fraction

import numpy as np
import pytest
from clouds import near

from hmlib import arithmetic, attention_sets, cluster_points, limit, rounding, runs
from hmlib.live import source

IN_THE_PAGE = """
async ([source, given]) => {
  const H = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  return given.map(({ Z, alpha, A }) => {
    const { tokens, leaders, born, follows, certified, settledAt, errorBound } = H.limit(Z, alpha, A);
    return { tokens, leaders, born, follows, certified, settledAt, errorBound, sets: H.attentionSets(Z, A),
      mean: H.simulate([[0, 0], ...Z.slice(0, 5)], 1, 1).tokens[1][0] };
  });
}
"""


def rational(X):
    return None if X is None else arithmetic.rationals(np.asarray(X, float))


@pytest.fixture(scope="module")
def pairs(browser):
    given = []
    for seed in range(2500):
        Z, alpha, A = near(seed)
        if Z.shape[1] == 2 and isinstance(alpha, float) and 1e-2 < alpha < 1e20:
            given.append((Z, alpha, A))
    page = browser.new_page()
    sent = [
        {"Z": Z.tolist(), "alpha": a, "A": None if A is None else A.tolist()}
        for Z, a, A in given
    ]
    said = page.evaluate(IN_THE_PAGE, [source("limits.js"), sent])
    page.close()
    return list(zip(given, said, strict=True))


def test_sets_of_near_copies(pairs):
    """Bugs: a margin of rounding that is 100 times too small, or forgets A; a tie that floats decide."""
    for (Z, _, A), said in pairs:
        assert [np.flatnonzero(row).tolist() for row in attention_sets(Z, A)] == said[
            "sets"
        ]


def test_means_are_rounded_once(pairs):
    """Bug: a sum that is rounded at each step. A token at 0 goes half of the way to the mean of all."""
    for (Z, _, _), said in pairs[::5]:
        some = [[0.0, 0.0], *Z[:5].tolist()]
        for c in range(2):
            total = float(sum(Fraction(z[c]) for z in some))
            assert said["mean"][c] in (total / len(some) / 2, 0)


def test_what_the_page_certifies_is_so(pairs, monkeypatch):
    """Bugs: no blur, or too little of it; rounding that does not add up; a bound of 0; floats taken for sure."""
    monkeypatch.setattr(runs, "MOST_LAYERS", 300)
    floats, certified = 0, 0
    for (Z, alpha, A), said in pairs[::3]:
        truth = limit(rational(Z), Fraction(alpha), rational(A))
        if not (said["certified"] and truth.certified):
            continue
        certified += 1
        for name in ("leaders", "born", "follows"):
            assert getattr(truth, name).tolist() == said[name]
        assert truth.settled_at <= said["settledAt"]
        off = abs(rational(said["tokens"]) - truth.tokens).max()
        assert off <= Fraction(said["errorBound"])
        unit = rounding.EPS * abs(np.array(said["tokens"])).max()
        assert said["errorBound"] >= unit * (said["settledAt"] > 0)
        if (
            said["errorBound"] > 2 * unit
        ):  # a run on floats: each layer adds its rounding
            assert (
                said["errorBound"]
                >= 7 * rounding.EPS * abs(Z).max() * said["settledAt"]
            )
            floats += said["settledAt"] > 1
    assert certified > 100 and floats > 5


def test_the_page_leaves_floats_about_where_hmlib_does(pairs):
    """Bug: no blur, where what floats say is right by luck. The bounds are not equal."""
    trusting = 0
    for (Z, alpha, A), said in pairs:
        end = limit(Z, alpha, A)
        assert (end.certified, end.settled_at) == (said["certified"], said["settledAt"])
        trusting += end.certified and said["errorBound"] > 2 * end.error_bound
    assert trusting <= 1


def asked(browser, file, script, given):
    """What `(H, given) => ...` says, H being a module of the page."""
    page = browser.new_page()
    said = page.evaluate(
        """async ([source, script, given]) => {
          const blob = new Blob([source], { type: "text/javascript" });
          const H = await import(URL.createObjectURL(blob));
          return new Function("H", "given", `return (${script})(H, given)`)(H, given);
        }""",
        [source(file), script, given],
    )
    page.close()
    return said


def test_what_the_page_cannot_tell_it_does_not_certify(browser):
    """Bugs: rough floats are sure; their error, which is 0, is the bound."""
    # Mirror images are a tie to the token between them, until they have gone past it:
    # after more layers than the page follows on whole numbers.
    half = np.array([[0, 10], [2, 1], *([0.01 * k, 5] for k in range(40))], float)
    Z = np.vstack([half, half * [1, -1], [[1, 0]]])
    said = asked(browser, "limits.js", "(H, Z) => H.limit(Z, 2e-4)", Z.tolist())
    assert not said["certified"] and said["settledAt"] is None
    assert said["errorBound"] == 20 and said["leaders"] == [0, 42]


@pytest.mark.parametrize(
    "line", [(38, -20, -10, 0), (10, 10, -6, -4, 0), (2, -2, 1, -1.5, 0)]
)
def test_a_token_at_0_leaves_it_where_tokens_do_not_balance(browser, line):
    """Bugs: it stays, because the goals balance with its own, or without copies."""
    Z = [[x, 0] for x in line]
    said = asked(browser, "limits.js", "(H, Z) => H.limit(Z, '1/3')", Z)
    end = limit(rational(Z), Fraction(1, 3))  # on whole numbers, here and there
    assert said["certified"] and said["settledAt"] == end.settled_at > 0
    assert said["follows"] == end.follows.tolist() and said["follows"][-1] >= 0


def test_who_has_settled_leads_no_more(browser):
    """Bug: what rounding makes of a follower is a leader."""
    sets = [[[1], [1]], [[0], [1]]]
    script = "(H, sets) => H.leadersOf([[1, 0], [2, 0]], sets)"
    assert asked(browser, "hardmax.js", script, sets) == [1]
    assert asked(browser, "hardmax.js", script, sets[::-1]) == [0, 1]


def test_numbers_are_read_at_their_word(browser):
    """Bugs: a typographic minus is none, a fraction is not in lowest terms, or stays one
    although a float holds it."""
    typed = ["\u22121/2", "\u22120.1", "2/6", "3/6", "-7/21", "1/0", "x"]
    said = asked(browser, "exact.js", "(H, all) => all.map(H.numberOf)", typed)
    assert said == [-0.5, -0.1, "1/3", 0.5, "-1/3", None, None]


def test_which_matrices_are_definite(browser):
    """Bugs: two negative eigenvalues are good, or one of 0, or no symmetry."""
    matrices = [[[1, 0], [0, 1]], [[2, -1], [-1, 1]]]
    matrices += [[[-1, 0], [0, -1]], [[1, 1], [1, 1]], [[0, 0], [0, 1]]]
    matrices += [[[1, 0.5], [0.25, 1]], [[1, 2], [2, 1]]]
    said = asked(browser, "geometry.js", "(H, As) => As.map(H.isDefinite)", matrices)
    assert said == [True] * 2 + [False] * 5


def test_cluster_points_at_corners_are_told_once(browser):
    """Bug: a corner at a right angle to its edge counts as a point on that edge, too."""
    clouds = [[[1, 0], [1, 1], [-1, 1], [-1, 0]]]
    clouds += np.random.default_rng(0).integers(-3, 4, (60, 5, 2)).tolist()
    page = browser.new_page()
    script = """async ([source, clouds]) => {
      const blob = new Blob([source], { type: "text/javascript" });
      const H = await import(URL.createObjectURL(blob));
      return clouds.map((Z) => {
        const corners = H.hull(Z).map((i) => Z[i]);
        return [corners, H.clusterPoints(corners).map((s) => s.point)]; }); }"""
    said = page.evaluate(script, [source("geometry.js"), clouds])
    page.close()
    for corners, points in said:
        expected = cluster_points(np.array(corners, float)).points.tolist()
        assert np.allclose(sorted(points), sorted(expected), rtol=0, atol=1e-15)
