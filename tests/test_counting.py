"""Chapter 9's mathematics: leaders and the vertices of the first hull, expected numbers
against their limits, and what a few layers have of the limit."""

import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import oracle
import pytest
from clouds import TRIANGLE, clouds
from hypothesis import given
from scipy import special, stats

from hmlib import counting, leaders, limit, project, simulate

ISOTROPIC = [law for law in counting.LAWS if law != "cube"]


# Leaders and the vertices of the first hull


@given(clouds(distinct=True, nonzero=True))
def test_leaders_of_layer_0_are_vertices(Z):
    """And no leader of layer 0 lies in the hull of the others, exactly."""
    end = limit(Z, alpha=1)
    for i in end.leaders[end.born == 0]:
        others = np.delete(Z, i, axis=0)
        assert len(others) == 0 or (project(Z[i], others) != Z[i]).any()


@given(clouds(d=1, nonzero=True))
def test_on_a_line_the_ends_lead(Z):
    """The largest token, if it is positive, and the smallest, if it is negative: from layer 0 on, and nobody else."""
    end, line = limit(Z, alpha=1), Z[:, 0].tolist()
    ends = {line.index(max(line))} if max(line) > 0 else set()
    ends |= {line.index(min(line))} if min(line) < 0 else set()
    assert set(end.leaders.tolist()) == ends and not end.born.any()


def test_more_leaders_than_vertices():
    """Five tokens whose hull is a triangle, four of which lead; by the definition, on fractions."""
    Z, alpha = oracle.exact(TRIANGLE), Fraction(1)
    assert len(oracle.hull(Z)) == 3
    path = [Z]
    for _ in range(6):
        path.append(oracle.step(path[-1], alpha))
    assert oracle.leaders(path) == [0, 1, 3, 4] and oracle.leaders(path[:1]) == [0, 4]
    end = limit(np.array(Z, object), alpha)
    assert (
        end.certified
        and end.leaders.tolist() == [0, 1, 3, 4]
        and end.born.tolist() == [0, 1, 1, 0]
    )
    assert len(oracle.hull(end.tokens.tolist())) == 4


def test_even_more_leaders_than_vertices():
    """Six tokens, a triangle, five leaders."""
    Z = oracle.exact([[180, 0], [-56, 36], [21, 56], [1, 46], [-10, 47], [-11, 47]])
    path = [Z]
    for _ in range(5):
        path.append(oracle.step(path[-1], Fraction(1, 2)))
    assert (
        len(oracle.hull(Z)) == 3
        and oracle.leaders(path) == [0, 1, 3, 4, 5]
        and oracle.leaders(path[:1]) == [0, 1]
    )
    assert leaders(np.array(Z, object), Fraction(1, 2)).tolist() == [0, 1, 3, 4, 5]


def test_four_tokens_have_no_more_leaders_than_vertices():
    """Nor has any cloud without ties and with but one token beside the vertices. With ties we have found none either."""
    rng, ties = np.random.default_rng(0), 0
    for _ in range(3000):
        Z = rng.integers(-5, 6, size=(4, 2)).astype(float)
        scores = np.sort(Z @ Z.T, axis=1)
        ties += bool((scores[:, -1] == scores[:, -2]).any())
        assert len(leaders(Z, float(rng.choice([0.2, 1, 2, 5])))) <= max(
            1, len(oracle.hull(Z.tolist()))
        )
    assert 300 < ties < 2700


@given(clouds(distinct=True, nonzero=True, most=6))
def test_all_lead_only_if_all_lead_at_once(Z):
    """Without ties: the longest that does not lead at layer 0 follows a leader, for ever."""
    if all(len(C) == 1 for C in oracle.attention_sets(Z)):
        end = limit(Z, alpha=1)
        assert len(end.leaders) < len(Z) or not end.born.any()


# Expected numbers


@pytest.mark.parametrize("law", counting.LAWS)
def test_the_expected_number_of_leaders(law):
    """Against 4,000 clouds each; within four standard errors, and on their two sides."""
    rng, off = np.random.default_rng(1), []
    for n, d in ((1, 2), (2, 2), (7, 2), (60, 2), (7, 1), (7, 5), (60, 5)):
        if law == "cube" and d != 2:
            assert counting.expected(law, n, d) is None
            continue
        count = np.empty(4000)
        for k in range(4000):
            Z = counting.LAWS[law](rng, n, d)
            scores = Z @ Z.T
            count[k] = (scores.argmax(1) == np.arange(n)).sum()
        expected, error = counting.expected(law, n, d), count.std() / 4000**0.5
        off.append(expected - count.mean())
        assert abs(off[-1]) <= 4 * error + 1e-6, (n, d)


@pytest.mark.parametrize("law", ISOTROPIC)
def test_expected_on_a_line(law):
    """2 - 2^(1-n): the largest, if it is positive, and the smallest, if it is negative."""
    assert counting.expected(law, 1, 1) == pytest.approx(1, abs=1e-8)  # the steps
    for n in (2, 3, 10, 50):
        assert counting.expected(law, n, 1) == pytest.approx(
            2 - 2.0 ** (1 - n), abs=1e-4
        )


def test_expected_by_the_largest_of_n():
    """Gaussian: sqrt(2 pi) c_d E[max(M_n, 0)^(d-1)], where M_n is the largest of n normal numbers."""
    x = np.linspace(0, 12, 200_001)
    for n in (1, 5, 100, 10**5):
        largest = n * stats.norm.pdf(x) * np.exp((n - 1) * stats.norm.logcdf(x))
        for d in (1, 2, 3, 8):
            c = 2 ** (1 - d / 2) / math.gamma(d / 2)
            value = (2 * math.pi) ** 0.5 * c * np.trapezoid(x ** (d - 1) * largest, x)
            assert counting.expected("Gaussian", n, d) == pytest.approx(value, rel=1e-4)


def test_when_all_lead_and_when_half_do():
    """prop-dimension: p_d, at most n^2 p_d followers, all up to p_d^(-1/2) tokens, and half where tokens of length sqrt d do."""

    def hidden(d):
        return stats.t.sf(d**0.5, d)

    rng = np.random.default_rng(0)
    for d in (2, 8):
        z, other = rng.normal(size=(2, 200_000, d))
        assert abs(((z * other).sum(1) >= (z**2).sum(1)).mean() - hidden(d)) < 0.002
    for d in (50, 500):
        assert hidden(d) == pytest.approx(
            2 ** (-d / 2) / math.sqrt(math.pi * d), rel=3 / d
        )
    for d in (2, 8, 16):
        for n in (2, 10, 100):
            follow = n - counting.expected("Gaussian", n, d)
            assert n**2 * hidden(d) * (1 + 1e-9) >= follow - 1e-6 and (
                n > 2 or follow > 1.99 * hidden(d)
            )
    d, clouds = 12, 300  # all lead, or hardly ever
    for n, low, high in ((6, 0.9, 1), (150, 0, 0.1)):
        led = [len(leaders(Z, alpha=1)) == n for Z in rng.normal(size=(clouds, n, d))]
        assert low <= np.mean(led) <= high and (n == 6) == (n**2 * hidden(d) < 0.1)
    for t in (-0.7, 0, 0.7):  # the limit is slow: like 1 / sqrt d
        off = [
            counting.expected("Gaussian", n, d) / n - stats.norm.sf(2**0.5 * t)
            for d in (16, 64, 256, 1024)
            for n in [1 / stats.norm.sf(d**0.5 + t)]
        ]
        assert abs(off[-1]) < 0.06 and all(abs(b) < abs(a) for a, b in pairwise(off))


def test_the_limits_of_the_expected_number():
    """Heavy tails end at 1 / E[cos_+^nu], the square at 4; the ball grows like n^((d-1)/(d+1)), the Gaussian like a log."""
    for law, nu in counting.TAILS.items():
        for d in (1, 2, 3, 8):
            kappa = (
                math.gamma(d / 2)
                * math.gamma((nu + 1) / 2)
                / (2 * math.pi**0.5 * math.gamma((d + nu) / 2))
            )
            assert counting.expected(law, 10**9, d) == pytest.approx(
                1 / kappa, rel=0.01
            )
    assert counting.expected("Cauchy", 10**9, 2) == pytest.approx(math.pi, rel=0.001)
    assert counting.expected("cube", 10**6, 2) == pytest.approx(4, abs=0.01)
    assert counting.expected("cube", 100, 2) > 4.2
    for n in (10**9, 10**12):
        disc = math.gamma(5 / 3) * (1.5 * math.pi) ** (2 / 3) * n ** (1 / 3)
        assert counting.expected("ball", n, 2) == pytest.approx(disc, rel=0.001)
        for d in (3, 8):
            growth = counting.expected("ball", 8 * n, d) / counting.expected(
                "ball", n, d
            )
            assert growth == pytest.approx(8 ** ((d - 1) / (d + 1)), rel=0.01)
    off = []
    for n in (10**3, 10**6, 10**12, 10**18):
        law = 2 * math.pi**0.5 * math.log(n) ** 0.5
        off.append(counting.expected("Gaussian", n, 2) / law - 1)
    assert all(abs(b) < abs(a) for a, b in pairwise(off)) and abs(off[-1]) < 0.04


def test_leaders_are_three_quarters_of_the_vertices_in_the_disc():
    """The constant of Renyi and Sulanke, 3.3832, is 4/3 of ours to all digits that are known of it."""
    assert 4 / 3 * math.gamma(5 / 3) * (1.5 * math.pi) ** (2 / 3) == pytest.approx(
        3.3832, abs=5e-5
    )


# Clouds, hulls, and their bands


def test_laws_of_clouds():
    rng = np.random.default_rng(0)
    for d in (1, 2, 6):
        found = {law: draw(rng, 20_000, d) for law, draw in counting.LAWS.items()}
        assert all(Z.shape == (20_000, d) for Z in found.values())
        r = {law: np.linalg.norm(Z, axis=1) for law, Z in found.items()}
        assert stats.kstest(r["Gaussian"], stats.chi(d).cdf).pvalue > 1e-3
        assert stats.kstest(r["ball"] ** d, "uniform").pvalue > 1e-3
        assert (
            stats.kstest(found["cube"].ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3
        )
        for law, nu in counting.TAILS.items():
            assert stats.kstest(found[law][:, 0], stats.t(nu).cdf).pvalue > 1e-3


def test_vertices():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 2))
    corners = {tuple(z) for z in oracle.hull(Z.tolist())}
    assert {tuple(Z[i]) for i in counting.vertices(Z)} == corners
    assert sorted(counting.vertices(Z[:, :1])) == sorted(
        [Z[:, 0].argmin(), Z[:, 0].argmax()]
    )
    assert counting.vertices(Z[:1, :1]).tolist() == [0]
    assert counting.vertices(rng.normal(size=(4, 3))).tolist() == [0, 1, 2, 3]
    assert counting.vertices(rng.normal(size=(40, 8))) is None
    for Z in (rng.normal(size=(20, 3)), rng.normal(size=(20, 4))):
        inside = {
            i
            for i in range(20)
            if (project(Z[i], np.delete(Z, i, axis=0)) == Z[i]).all()
        }
        assert set(counting.vertices(Z)) == set(range(20)) - inside


def test_bands_hold_what_they_promise():
    """Of 2,000 samples each, between 93 and 97 of 100 bands hold the true mean; few and many successes alike."""
    rng = np.random.default_rng(0)
    samples = rng.normal(3, 2, size=(2000, 50))
    spread = {"mean": samples.mean(1), "deviation": samples.std(1, ddof=1)}
    low, middle, high = counting.band(spread, 50).T
    assert 0.92 < np.mean((low < 3) & (high > 3)) < 0.97
    assert np.allclose(middle, spread["mean"])
    for p in (0.02, 0.3, 0.97):
        ends = [counting.wilson(k, 400) for k in rng.binomial(400, p, size=2000)]
        assert 0.93 < np.mean([low < p < high for low, _, high in ends]) < 0.975
    low, middle, high = counting.wilson(0, 100)
    assert low == pytest.approx(0, abs=1e-12) and middle == high / 2 < 0.02
    assert counting.wilson(8, 20)[[0, 2]] == pytest.approx([0.2188, 0.6134], abs=1e-4)
    spread = {"mean": [0.5, 1], "deviation": [2, 0]}
    assert np.allclose(counting.band(spread, 100), [[0.108, 0.5, 0.892], [1, 1, 1]])


def test_a_law_that_is_not_there():
    with pytest.raises(
        ValueError,
        match=re.escape("law is 'normal': expected one of Gaussian, ball, cube,"),
    ):
        counting.expected("normal", 10, 2)


# Finite depth


def test_the_distance_to_a_hull():
    rng = np.random.default_rng(0)
    for m, d in ((1, 2), (2, 2), (5, 2), (3, 3), (12, 3), (30, 6)):
        K = rng.normal(size=(m, d))
        for x in (*(2 * rng.normal(size=(6, d))), K[0], K.mean(0)):
            assert counting.distance(x, K) == pytest.approx(
                np.linalg.norm(project(x, K) - x), abs=1e-9
            )


@pytest.mark.parametrize(("n", "d"), [(12, 2), (70, 2), (12, 5)])
def test_by_layer(n, d):
    """Each column by its definition; the triangle's leaders of layer 1 are found at layer 1."""
    Z = np.random.default_rng(n).normal(size=(n, d))
    end, path = limit(Z, 0.5), simulate(Z, 0.5, 12)
    rows, unit = counting.by_layer(Z, 0.5), np.linalg.norm(Z, axis=1).max()
    assert rows.shape == (13, 5)
    for k, (settled, everyone, found, far, away) in enumerate(rows):
        C = path.attention_sets(k)
        lone = [
            C[i].sum() == 1
            and C[C[i].argmax()].sum() == 1
            and C[C[i].argmax(), C[i].argmax()]
            for i in range(n)
        ]
        assert settled == (
            1 if k >= end.settled_at else np.mean(lone)
        ) and everyone == (k >= end.settled_at)
        assert found == len(
            set(path.leaders(min(k, end.settled_at))) & set(end.leaders)
        ) / len(end.leaders)
        K = end.tokens[end.leaders]
        assert far * unit == pytest.approx(
            max(np.linalg.norm(project(x, K) - x) for x in path.tokens[k]), abs=1e-7
        )
        assert away * unit == pytest.approx(
            np.linalg.norm(path.tokens[k] - end.tokens, axis=1).mean()
        )
    assert (np.diff(rows[:, :3], axis=0) >= 0).all() and (
        np.diff(rows[:, 3:], axis=0) <= 1e-9
    ).all()
    assert (
        counting.by_layer(np.array(TRIANGLE, float), 1.0)[:, 2].tolist()
        == [0.5] + [1] * 12
    )


def test_a_cloud_that_ends_in_one_point_or_does_not_move():
    line = counting.by_layer(np.array([[1.0, 0], [2, 0], [3, 0]]), 1)
    assert line[0] == pytest.approx([1, 1, 1, 2 / 3, 1 / 3]) and line[
        -1, 3
    ] == pytest.approx(2 / 3 / 2**12)
    assert counting.by_layer(np.array([[1.0, 0], [0, 1], [-1, 0]]), 1)[0].tolist() == [
        1,
        1,
        1,
        0,
        0,
    ]
    far = np.random.default_rng(0).normal(size=(80, 2)) + [
        100,
        30,
    ]  # one leader: the hull becomes flat
    rows = counting.by_layer(far, 30.0)
    assert rows[-1, 3] < 1e-9 < rows[0, 3]


def test_kappa_is_the_mean_of_a_cosine():
    """The constant in the limit for heavy tails, against quadrature: in d dimensions one coordinate^2 is a beta variable."""
    for d in (2, 3, 8):
        for nu in (1, 3):
            kappa = (
                math.gamma(d / 2)
                * math.gamma((nu + 1) / 2)
                / (2 * math.pi**0.5 * math.gamma((d + nu) / 2))
            )
            beta = special.beta(0.5 + nu / 2, (d - 1) / 2) / special.beta(
                0.5, (d - 1) / 2
            )
            assert kappa == pytest.approx(beta / 2)


def test_layers_are_compared_with_a_certain_limit():
    Z = np.random.default_rng(4).normal(size=(12, 2))
    with pytest.raises(ValueError, match="could not be certified"):
        counting.by_layer(Z, 1e-5, 3)
