"""The study of chapter 7: what it counts against plain counts, the laws it fits against known ones, expected numbers against
their limits; and the same results whoever runs it."""

import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import oracle
import pytest
from clouds import clouds
from hypothesis import given

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("distributed", reason="studies need dask.distributed")

import chores  # noqa: E402
from dask.distributed import LocalCluster  # noqa: E402
from scipy import special, stats  # noqa: E402

from hmlib import leaders, limit, project, simulate  # noqa: E402
from studies import graph, statistics  # noqa: E402
from studies.graph import Task  # noqa: E402

ISOTROPIC = [law for law in statistics.LAWS if law != "cube"]


def facts(done):
    return {
        name: {k: v for k, v in found.items() if k != "commit"}
        for name, (found, _) in done.items()
    }


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


TRIANGLE = [[29, -32], [11, 12], [19, 5], [13, 8], [10, 13]]


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


@pytest.mark.parametrize("law", statistics.LAWS)
def test_the_expected_number_of_leaders(law):
    """Against 4,000 clouds each; within four standard errors, and on their two sides."""
    rng, off = np.random.default_rng(1), []
    for n, d in ((1, 2), (2, 2), (7, 2), (60, 2), (7, 1), (7, 5), (60, 5)):
        if law == "cube" and d != 2:
            assert statistics.expected(law, n, d) is None
            continue
        count = np.empty(4000)
        for k in range(4000):
            Z = statistics.LAWS[law](rng, n, d)
            scores = Z @ Z.T
            count[k] = (scores.argmax(1) == np.arange(n)).sum()
        expected, error = statistics.expected(law, n, d), count.std() / 4000**0.5
        off.append(expected - count.mean())
        assert abs(off[-1]) <= 4 * error + 1e-6, (n, d)


@pytest.mark.parametrize("law", ISOTROPIC)
def test_expected_on_a_line(law):
    """2 - 2^(1-n): the largest, if it is positive, and the smallest, if it is negative."""
    for n in (1, 2, 3, 10, 50):
        assert statistics.expected(law, n, 1) == pytest.approx(
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
            assert statistics.expected("Gaussian", n, d) == pytest.approx(
                value, rel=1e-4
            )


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
            follow = n - statistics.expected("Gaussian", n, d)
            assert n**2 * hidden(d) * (1 + 1e-9) >= follow - 1e-6 and (
                n > 2 or follow > 1.99 * hidden(d)
            )
    d, clouds = 12, 300  # all lead, or hardly ever
    for n, low, high in ((6, 0.9, 1), (150, 0, 0.1)):
        led = [len(leaders(Z, alpha=1)) == n for Z in rng.normal(size=(clouds, n, d))]
        assert low <= np.mean(led) <= high and (n == 6) == (n**2 * hidden(d) < 0.1)
    for t in (-0.7, 0, 0.7):  # the limit is slow: like 1 / sqrt d
        off = [
            statistics.expected("Gaussian", n, d) / n - stats.norm.sf(2**0.5 * t)
            for d in (16, 64, 256, 1024)
            for n in [1 / stats.norm.sf(d**0.5 + t)]
        ]
        assert abs(off[-1]) < 0.06 and all(abs(b) < abs(a) for a, b in pairwise(off))


def test_the_limits_of_the_expected_number():
    """Heavy tails end at 1 / E[cos_+^nu], the square at 4; the ball grows like n^((d-1)/(d+1)), the Gaussian like a log."""
    for law, nu in statistics.TAILS.items():
        for d in (1, 2, 3, 8):
            kappa = (
                math.gamma(d / 2)
                * math.gamma((nu + 1) / 2)
                / (2 * math.pi**0.5 * math.gamma((d + nu) / 2))
            )
            assert statistics.expected(law, 10**9, d) == pytest.approx(
                1 / kappa, rel=0.01
            )
    assert statistics.expected("Cauchy", 10**9, 2) == pytest.approx(math.pi, rel=0.001)
    assert statistics.expected("cube", 10**6, 2) == pytest.approx(4, abs=0.01)
    assert statistics.expected("cube", 100, 2) > 4.2
    for n in (10**9, 10**12):
        disc = math.gamma(5 / 3) * (1.5 * math.pi) ** (2 / 3) * n ** (1 / 3)
        assert statistics.expected("ball", n, 2) == pytest.approx(disc, rel=0.001)
        for d in (3, 8):
            growth = statistics.expected("ball", 8 * n, d) / statistics.expected(
                "ball", n, d
            )
            assert growth == pytest.approx(8 ** ((d - 1) / (d + 1)), rel=0.01)
    off = []
    for n in (10**3, 10**6, 10**12, 10**18):
        law = 2 * math.pi**0.5 * math.log(n) ** 0.5
        off.append(statistics.expected("Gaussian", n, 2) / law - 1)
    assert all(abs(b) < abs(a) for a, b in pairwise(off)) and abs(off[-1]) < 0.04


def test_leaders_are_three_quarters_of_the_vertices_in_the_disc():
    """The constant of Renyi and Sulanke, 3.3832, is 4/3 of ours to all digits that are known of it."""
    assert 4 / 3 * math.gamma(5 / 3) * (1.5 * math.pi) ** (2 / 3) == pytest.approx(
        3.3832, abs=5e-5
    )


# What is counted


@pytest.mark.parametrize(
    ("law", "d"),
    [("Gaussian", 2), ("cube", 2), ("Cauchy", 2), ("ball", 1), ("Student 3", 1)],
)
def test_clouds_are_counted_rightly(law, d):
    """By the oracle, on fractions: leaders and births by the definition, the hull by its corners."""
    alphas, many, n = (1.0, 0.5), 6, 9
    found, arrays = statistics.clouds("", law, n, d, many, alphas, seed=5)
    rng = np.random.default_rng([5, [*statistics.LAWS].index(law), n, d])
    all_clouds = [statistics.LAWS[law](rng, n, d) for _ in range(many)]
    hulls = [len(oracle.hull(Z.tolist())) if d == 2 else 2 for Z in all_clouds]
    assert found["hull"]["mean"] == pytest.approx(np.mean(hulls)) and found["hull"][
        "most"
    ] == max(hulls)
    for row, alpha in zip(found["alpha"], alphas, strict=True):
        lead, at_once, biggest = [], [], []
        for Z in all_clouds:
            path = [oracle.exact(Z)]
            for _ in range(5):  # exact numbers grow; five layers settle these
                path.append(oracle.step(path[-1], Fraction(alpha)))
            lead.append(oracle.leaders(path))
            at_once.append(oracle.leaders(path[:1]))
            long = simulate(Z, alpha, 80).tokens[-1]
            near = np.linalg.norm(long[:, None] - long[None, lead[-1]], axis=-1).argmin(
                1
            )
            biggest.append(np.bincount(near).max() / n)
        assert row["leaders"]["mean"] == pytest.approx(np.mean([len(x) for x in lead]))
        assert row["at_once"]["mean"] == pytest.approx(
            np.mean([len(x) for x in at_once])
        )
        assert row["emerging"] == sum(
            len(x) - len(y) for x, y in zip(lead, at_once, strict=True)
        )
        assert row["biggest"]["mean"] == pytest.approx(np.mean(biggest))
        assert row["certified"] == many and row["at_once_no_vertex"] == 0
        assert row["more_than_hull"] == sum(
            len(x) > h for x, h in zip(lead, hulls, strict=True)
        )
        assert row["settled"]["mean"] == pytest.approx(
            np.mean([limit(Z, alpha).settled_at for Z in all_clouds])
        )
    shares = arrays["shares"].double().numpy()
    assert len(shares) == round(found["alpha"][0]["leaders"]["mean"] * many)
    assert shares.sum() == pytest.approx(many, abs=1e-5)


def test_emerging_leaders_are_counted(monkeypatch):
    """The triangle above, as if it were drawn: two emerge, and there are more leaders than vertices."""
    monkeypatch.setitem(
        statistics.LAWS, "Gaussian", lambda rng, n, d: np.array(TRIANGLE, float)
    )
    (row,) = statistics.clouds("", "Gaussian", 5, 2, 3, [1.0])[0]["alpha"]
    assert (
        row["with_emerging"],
        row["emerging"],
        row["more_than_hull"],
        row["at_once_no_vertex"],
    ) == (3, 6, 3, 0)


def test_laws_of_clouds():
    rng = np.random.default_rng(0)
    for d in (1, 2, 6):
        found = {law: draw(rng, 20_000, d) for law, draw in statistics.LAWS.items()}
        assert all(Z.shape == (20_000, d) for Z in found.values())
        r = {law: np.linalg.norm(Z, axis=1) for law, Z in found.items()}
        assert stats.kstest(r["Gaussian"], stats.chi(d).cdf).pvalue > 1e-3
        assert stats.kstest(r["ball"] ** d, "uniform").pvalue > 1e-3
        assert (
            stats.kstest(found["cube"].ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3
        )
        for law, nu in statistics.TAILS.items():
            assert stats.kstest(found[law][:, 0], stats.t(nu).cdf).pvalue > 1e-3


def test_vertices():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 2))
    corners = {tuple(z) for z in oracle.hull(Z.tolist())}
    assert {tuple(Z[i]) for i in statistics.vertices(Z)} == corners
    assert sorted(statistics.vertices(Z[:, :1])) == sorted(
        [Z[:, 0].argmin(), Z[:, 0].argmax()]
    )
    assert statistics.vertices(Z[:1, :1]).tolist() == [0]
    assert statistics.vertices(rng.normal(size=(4, 3))).tolist() == [0, 1, 2, 3]
    assert statistics.vertices(rng.normal(size=(40, 8))) is None
    for Z in (rng.normal(size=(20, 3)), rng.normal(size=(20, 4))):
        inside = {
            i
            for i in range(20)
            if (project(Z[i], np.delete(Z, i, axis=0)) == Z[i]).all()
        }
        assert set(statistics.vertices(Z)) == set(range(20)) - inside


# Fitted laws

SIZES = np.array([10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000])
KNOWN = {
    "constant": (lambda n: 4.7 + 0 * n, [4.7]),
    "log": (lambda n: 1.5 + 2.67 * np.log(n), [1.5, 2.67]),
    "power of the log": (lambda n: 3.5 * np.log(n) ** 0.7, [math.log(3.5), 0.7]),
    "power": (lambda n: 2.5 * n**0.33, [math.log(2.5), 0.33]),
}


@pytest.mark.parametrize("law", KNOWN)
def test_a_known_law_is_found(law):
    """Nearly always it fits, its parameters are within the errors, and it predicts the largest n; other laws do not fit."""
    rng, (mean, parameters) = np.random.default_rng(3), KNOWN[law]
    fits, predicts, near, others = [], [], [], []
    for _ in range(200):
        error = 0.001 * mean(SIZES)
        found = statistics.fit(
            SIZES, mean(SIZES) + error * rng.normal(size=len(SIZES)), error
        )
        row = found["all"][law]
        fits.append(row["fits"])
        predicts.append(row["predicts"])
        off = (np.array(row["parameters"]) - parameters) / row["errors"]
        near.append((abs(off) < 1.96).mean())
        assert (
            abs(off).max() < 5
            and row["measured"] > 0
            and row["free"] == 8 - len(parameters)
        )
        others += [
            found["all"][other]["fits"]
            for other in KNOWN
            if other != law and law != "constant"
        ]
    assert all(0.9 < np.mean(x) < 0.99 for x in (fits, predicts, near))
    assert not any(others)


def test_what_breaks_a_law_is_seen():
    """A largest size that departs from the law, and a law that was never there."""
    mean, error = KNOWN["power"][0](SIZES), 0.005 * KNOWN["power"][0](SIZES)
    bent = mean * np.append(np.ones(len(SIZES) - 1), 1.05)
    row = statistics.fit(SIZES, bent, error)
    assert (
        row["law"] == "power"
        and row["all"]["power"]["fits"]
        and not row["all"]["power"]["predicts"]
    )
    waves = mean * (1 + 0.1 * np.sin(np.arange(len(SIZES))))
    assert not any(
        found["fits"] for found in statistics.fit(SIZES, waves, error)["all"].values()
    )


def test_bands_hold_what_they_promise():
    """Of 2,000 samples each, between 93 and 97 of 100 bands hold the true mean; few and many successes alike."""
    rng = np.random.default_rng(0)
    bands = [
        statistics.band(statistics.spread(x), 50)
        for x in rng.normal(3, 2, size=(2000, 50))
    ]
    assert 0.92 < np.mean([low < 3 < high for low, _, high in bands]) < 0.97
    for p in (0.02, 0.3, 0.97):
        found = [statistics.wilson(k, 400) for k in rng.binomial(400, p, size=2000)]
        assert 0.93 < np.mean([low < p < high for low, _, high in found]) < 0.975
    assert (
        statistics.wilson(0, 100)[0] == pytest.approx(0, abs=1e-12)
        and 0 < statistics.wilson(0, 100)[2] < 0.04
    )
    assert statistics.spread([1]) == {}
    row = {"settled": {"mean": [0.5, 1], "deviation": [2, 0]}, "clouds": 100}
    layers, found = statistics.bands_of(row, "settled")
    assert [*layers] == [0, 1] and np.allclose(found, [[0.108, 0.5, 0.892], [1, 1, 1]])


def test_the_law_of_settlement():
    """a + b / log(1 + alpha), read off again; and a smallest alpha that departs from it."""

    def row(bend=0):
        alphas = [1.0, 0.05, 0.3, 4.0, 20.0]
        mean = {
            alpha: 0.5 + 0.4 / math.log1p(alpha) + bend * (alpha == 0.05)
            for alpha in alphas
        }
        settled = [
            {"alpha": alpha, "settled": {"mean": mean[alpha], "deviation": 2.0}}
            for alpha in alphas
        ]
        return {"law": "ball", "d": 2, "n": 30, "clouds": 100, "alpha": settled}

    (found,) = statistics.settling(
        [row(), row() | {"alpha": row()["alpha"][:1]}]
    ).values()
    assert (
        found["parameters"] == pytest.approx([0.5, 0.4])
        and found["residual"] < 1e-9
        and found["error"] == 0.2
    )
    assert found["said"] == pytest.approx(found["measured"])
    (found,) = statistics.settling([row(bend=1)]).values()
    assert found["measured"] - found["said"] == pytest.approx(1)


def test_the_exact_number_is_tried_on_what_led_at_once():
    """It fits clouds that are what they claim to be, and no others."""
    rows = []
    for n in (5, 6, 7, 8, 9, 10):
        found, _ = statistics.clouds("", "Gaussian", n, 2, 400)
        rows.append(
            {
                "law": "Gaussian",
                "d": 2,
                "n": n,
                "expected": statistics.expected("Gaussian", n, 2),
            }
            | found
        )
    assert statistics.fits(rows)["Gaussian, d = 2"]["exact"]["fits"]
    wrong = [row | {"expected": row["expected"] * 1.1} for row in rows]
    found = statistics.fits(wrong)["Gaussian, d = 2"]
    assert not found["exact"]["fits"] and set(found) == {
        "leaders",
        "settled",
        "hull",
        "exact",
    }
    assert statistics.fits(rows[:5]) == {}


def test_families_of_basins():
    """Gamma sizes are gamma, and no exponential; a mixture is neither."""
    rng = np.random.default_rng(0)

    def given(x):
        return {"alpha": [{"leaders": {"mean": 1 / x.mean()}}]}, {
            "shares": torch.tensor(x, dtype=torch.float32)
        }

    gamma, mixed = (
        rng.gamma(2, size=20_000),
        np.append(rng.gamma(30, size=10_000), rng.exponential(size=10_000)),
    )
    found, _ = statistics.basins("", gamma=given(gamma), mixed=given(mixed))
    rows, chance = found["gamma"]["families"], found["gamma"]["chance"]
    assert rows["gamma"]["distance"] < chance < rows["expon"]["distance"]
    assert rows["gamma"]["parameters"][0] == pytest.approx(2, rel=0.05)
    assert all(row["distance"] > chance for row in found["mixed"]["families"].values())
    assert found["gamma"]["basins"] == 20_000 and sum(
        found["gamma"]["density"]
    ) * 0.2 == pytest.approx(0.99, abs=0.02)


# Finite depth


def test_the_distance_to_a_hull():
    rng = np.random.default_rng(0)
    for m, d in ((1, 2), (2, 2), (5, 2), (3, 3), (12, 3), (30, 6)):
        K = rng.normal(size=(m, d))
        for x in (*(2 * rng.normal(size=(6, d))), K[0], K.mean(0)):
            assert statistics.distance(x, K) == pytest.approx(
                np.linalg.norm(project(x, K) - x), abs=1e-9
            )


@pytest.mark.parametrize(("n", "d"), [(12, 2), (70, 2), (12, 5)])
def test_by_layer(n, d):
    """Each column by its definition; the triangle's leaders of layer 1 are found at layer 1."""
    Z = np.random.default_rng(n).normal(size=(n, d))
    end, path = limit(Z, 0.5), simulate(Z, 0.5, 12)
    rows, unit = statistics.by_layer(Z, 0.5), np.linalg.norm(Z, axis=1).max()
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
        statistics.by_layer(np.array(TRIANGLE, float), 1.0)[:, 2].tolist()
        == [0.5] + [1] * 12
    )


def test_a_cloud_that_ends_in_one_point_or_does_not_move():
    line = statistics.by_layer(np.array([[1.0, 0], [2, 0], [3, 0]]), 1)
    assert line[0] == pytest.approx([1, 1, 1, 2 / 3, 1 / 3]) and line[
        -1, 3
    ] == pytest.approx(2 / 3 / 2**12)
    assert statistics.by_layer(np.array([[1.0, 0], [0, 1], [-1, 0]]), 1)[
        0
    ].tolist() == [1, 1, 1, 0, 0]
    far = np.random.default_rng(0).normal(size=(80, 2)) + [
        100,
        30,
    ]  # one leader: the hull becomes flat
    rows = statistics.by_layer(far, 30.0)
    assert rows[-1, 3] < 1e-9 < rows[0, 3]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Eighty random reviews of forty words, and a task or two of each kind."""
    from studies import texts

    ids = torch.randint(
        1, 40, (80, 14), generator=torch.Generator().manual_seed(0), dtype=torch.int32
    )
    ids[:, 9:] = 0
    rows = torch.arange(80)
    some = texts.Texts(
        ids,
        (rows % 2).float(),
        [f"w{i}" for i in range(40)],
        rows[:40],
        rows[40:50],
        rows[50:],
    )
    weights = {
        "embedding": np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32),
        "alpha": np.array(2.0),
    }
    monkeypatch.setattr(statistics, "encoded", lambda way: some)
    monkeypatch.setattr(statistics, "load_published", lambda: weights)
    monkeypatch.setattr(statistics, "load_file", lambda path: weights)
    return some, weights


def test_reviews(small):
    """Ours leave padding out, which the published model does not; both count distinct words."""
    some, table = small[0], small[1]["embedding"].astype(float)
    for which, least in (("published", 0), ("ours", 1)):
        found, _ = statistics.depth_of_reviews("", which, many=20, seed=3)
        rows = np.random.default_rng(3).choice(np.arange(50, 80), 20, replace=False)
        words = [{int(i) for i in some.ids[row] if i >= least} for row in rows]
        assert (
            found["words"]["mean"] == pytest.approx(np.mean([len(x) for x in words]))
            and found["alpha"] == 2
        )
        started = [len(leaders(table[sorted(x)], 2.0)) for x in words]
        path = [simulate(table[sorted(x)], 2.0, 0) for x in words]
        first = np.mean(
            [len(p.leaders(0)) / s for p, s in zip(path, started, strict=True)]
        )
        assert (
            found["found"]["mean"][0] == pytest.approx(first) and found["clouds"] == 20
        )


# The study as a graph


def tiny(deadly=None):
    given = {"law": "Gaussian", "n": 20, "d": 2, "many": 30, "alphas": [1.0, 0.2]}
    names = [f"clouds Gaussian d=2 n={n}" for n in (20, 30)]
    out = [
        Task(name, chores.deadly_clouds, given | {"n": n, "deadly": deadly})
        for n, name in zip((20, 30), names, strict=True)
    ]
    out += [
        Task("basins", statistics.basins, needs={"one": names[0], "other": names[1]})
    ]
    given = {"law": "cube", "n": 20, "d": 3, "alpha": 0.5, "many": 5}
    return [*out, Task("depth", statistics.depth, given)]


def test_a_cluster_of_two_with_a_worker_killed_counts_the_same(tmp_path):
    alone = graph.run(tiny(), tmp_path / "alone", workers=0, progress=False)
    mark = str(tmp_path / "killed")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        done = graph.run(
            tiny(mark),
            tmp_path / "two",
            scheduler=cluster.scheduler_address,
            progress=False,
        )
    assert Path(mark).exists() and facts(done) == facts(alone)
    for name, (_, arrays) in alone.items():
        assert all(
            torch.equal(value, done[name][1][key]) for key, value in arrays.items()
        )
    assert (
        alone["clouds Gaussian d=2 n=20"][0]["alpha"][0]
        != alone["clouds Gaussian d=2 n=20"][0]["alpha"][1]
    )


def test_the_study_in_miniature(small, monkeypatch, tmp_path):
    """Every task of the study once, on few and small clouds; and what goes to results/."""
    tasks, done, run = statistics.tasks(), {}, {}
    assert (
        sum(
            task.given.get("many", 0)
            for task in tasks
            if task.name.startswith("clouds")
        )
        > 100_000
    )
    assert max(task.given.get("n", 0) for task in tasks) == 10**5 and {
        task.given.get("d") for task in tasks
    } >= {1, 64}
    for task in graph.wanted(tasks, [task.name for task in tasks]):
        few = (
            {"many": 4, "n": 9 if task.given["n"] < 1000 else 12}
            if "n" in task.given
            else {"many": 20}
        )
        if task.run is statistics.basins:
            few = {"some": next(iter(run.values()))}
        key = json.dumps(
            [task.run.__name__, task.given | few if "n" in task.given else task.name]
        )
        if key not in run:
            found, arrays = task.run("", **task.given | few)
            run[key] = (json.loads(json.dumps(found)), arrays)
        done[task.name] = (run[key][0] | {"commit": "abc"}, run[key][1])
    (file,) = statistics.write(done, tmp_path, "python -m studies statistics")
    assert file.stat().st_size < 400_000
    result = json.loads(file.read_text())
    assert set(result["provenance"]) >= {
        "command",
        "data",
        "seeds",
        "versions",
        "commit",
        "commits_of_tasks",
    }
    assert result["provenance"]["commits_of_tasks"] == ["abc"]
    rows = [task for task in tasks if task.name.startswith("clouds")]
    assert (
        len(result["clouds"]) == len(rows)
        and result["total"] == 4 * len(rows) < result["runs"]
    )
    assert [row["n"] for row in result["clouds"]] == [task.given["n"] for task in rows]
    assert set(result["reviews"]) == {"published", "ours"} and len(
        result["depth"]
    ) == 3 * len(statistics.DEPTHS)
    fitted = result["laws"]["Gaussian, d = 2"]["leaders"]
    assert fitted["law"] in fitted["all"] and set(fitted["all"]) == set(KNOWN)
    (file,) = statistics.write({}, tmp_path / "none", "x")
    assert json.loads(file.read_text())["total"] == 0


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
