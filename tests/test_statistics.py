"""The study of chapter 9: what it counts against plain counts, the laws it fits against
known ones."""

import json
import math
from fractions import Fraction

import numpy as np
import oracle
import pytest
from clouds import TRIANGLE

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("distributed", reason="studies need dask.distributed")

import chores  # noqa: E402

from hmlib import leaders, limit, simulate  # noqa: E402
from hmlib.counting import LAWS, expected  # noqa: E402
from studies import graph, laws, ledger, statistics  # noqa: E402


def facts(done):
    return {name: found.facts for name, found in done.items()}


# What is counted


@pytest.mark.parametrize(
    ("law", "d"),
    [("Gaussian", 2), ("cube", 2), ("Cauchy", 2), ("ball", 1), ("Student 3", 1)],
)
def test_clouds_are_counted_rightly(law, d):
    """By the oracle, on fractions: leaders and births by the definition, the hull by its corners."""
    alphas, many, n = (1.0, 0.5), 6, 9
    found, arrays = statistics.clouds(law, n, d, many, alphas, seed=5)
    rng = np.random.default_rng([5, [*LAWS].index(law), n, d])
    all_clouds = [LAWS[law](rng, n, d) for _ in range(many)]
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
    monkeypatch.setitem(LAWS, "Gaussian", lambda rng, n, d: np.array(TRIANGLE, float))
    (row,) = statistics.clouds("Gaussian", 5, 2, 3, [1.0])[0]["alpha"]
    assert (
        row["with_emerging"],
        row["emerging"],
        row["more_than_hull"],
        row["at_once_no_vertex"],
    ) == (3, 6, 3, 0)


def test_clouds_whose_leaders_all_lead_at_once_have_none_that_emerge(monkeypatch):
    square = np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    monkeypatch.setitem(LAWS, "Gaussian", lambda rng, n, d: square)
    (row,) = statistics.clouds("Gaussian", 4, 2, 3, [1.0])[0]["alpha"]
    assert (row["with_emerging"], row["emerging"]) == (0, 0)


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
        found = laws.fit(
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
    row = laws.fit(SIZES, bent, error)
    assert (
        row["law"] == "power"
        and row["all"]["power"]["fits"]
        and not row["all"]["power"]["predicts"]
    )
    waves = mean * (1 + 0.1 * np.sin(np.arange(len(SIZES))))
    assert not any(
        found["fits"] for found in laws.fit(SIZES, waves, error)["all"].values()
    )


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

    (found,) = laws.settling([row(), row() | {"alpha": row()["alpha"][:1]}]).values()
    assert (
        found["parameters"] == pytest.approx([0.5, 0.4])
        and found["residual"] < 1e-9
        and found["error"] == 0.2
    )
    assert found["said"] == pytest.approx(found["measured"])
    (found,) = laws.settling([row(bend=1)]).values()
    assert found["measured"] - found["said"] == pytest.approx(1)


def test_the_exact_number_is_tried_on_what_led_at_once():
    """It fits clouds that are what they claim to be, and no others."""
    rows = []
    for n in (5, 6, 7, 8, 9, 10):
        found, _ = statistics.clouds("Gaussian", n, 2, 400)
        rows.append(
            {
                "law": "Gaussian",
                "d": 2,
                "n": n,
                "expected": expected("Gaussian", n, 2),
            }
            | found
        )
    assert laws.fits(rows)["Gaussian, d = 2"]["exact"]["fits"]
    wrong = [row | {"expected": row["expected"] * 1.1} for row in rows]
    found = laws.fits(wrong)["Gaussian, d = 2"]
    assert not found["exact"]["fits"] and set(found) == {
        "leaders",
        "settled",
        "hull",
        "exact",
    }
    assert laws.fits(rows[:5]) == {}


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
    found, _ = statistics.basins(gamma=given(gamma), mixed=given(mixed))
    rows, chance = found["gamma"]["families"], found["gamma"]["chance"]
    assert rows["gamma"]["distance"] < chance < rows["expon"]["distance"]
    assert rows["gamma"]["parameters"][0] == pytest.approx(2, rel=0.05)
    assert all(row["distance"] > chance for row in found["mixed"]["families"].values())
    assert found["gamma"]["basins"] == 20_000 and sum(
        found["gamma"]["density"]
    ) * 0.2 == pytest.approx(0.99, abs=0.02)


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
        found, _ = statistics.depth_of_reviews(which, many=20, seed=3)
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
            found, arrays = task.run(**task.given | few)
            run[key] = (json.loads(json.dumps(found)), arrays)
        done[task.name] = run[key]
    done = chores.as_done(statistics, done)
    _, file = ledger.write(statistics, done, tmp_path, "python -m studies statistics")
    assert file.stat().st_size < 400_000
    result = json.loads(file.read_text())
    assert set(result["provenance"]) >= {
        "command",
        "data",
        "seeds",
        "versions",
        "commit",
        "tables",
    }
    assert result["provenance"]["tables"] == sorted(statistics.TABLES)
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
    _, file = ledger.write(statistics, {}, tmp_path / "none", "x")
    assert set(json.loads(file.read_text())) == {"provenance"}
