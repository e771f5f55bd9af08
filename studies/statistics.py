"""How many lead, how soon all is settled, and how much of it a few layers have: random clouds by the hundred thousand, and
real reviews. Every function of the first part is a task; clouds come from seeds that belong to the task."""

import numpy as np
import torch
from safetensors.numpy import load_file
from scipy import stats

from benchmarks.provenance import ROOT
from benchmarks.provenance import write as write_json
from hmlib import limit
from hmlib.counting import LAWS, by_layer, expected, vertices
from hmlib.reviews import SHA256, load_published
from studies.graph import Task, about, rounded
from studies.texts import encoded


def _rng(seed, law, n, d):
    return np.random.default_rng([seed, [*LAWS].index(law), n, d])


# Random clouds


def clouds(folder, law, n, d, many, alphas=(1.0,), seed=0):
    """`many` clouds of one law, the same for each alpha: how many lead, when all is settled, how large the basins are."""
    rng, hulls, rows, shares = (
        _rng(seed, law, n, d),
        [],
        {alpha: [] for alpha in alphas},
        [],
    )
    for _ in range(many):
        Z = LAWS[law](rng, n, d)
        hull = vertices(Z)
        hulls.append(-1 if hull is None else len(hull))
        for alpha in alphas:
            end = limit(Z, alpha)
            at_once = end.leaders[end.born == 0]
            basins = np.sort(
                np.bincount(end.follows[end.follows >= 0], minlength=n)[end.leaders]
            )[::-1]
            no_vertex = 0 if hull is None else len(np.setdiff1d(at_once, hull))
            settled = end.settled_at if end.certified else -1
            rows[alpha].append(
                [len(end.leaders), len(at_once), settled, basins[0], no_vertex]
            )
            if alpha == alphas[0]:
                shares.append(basins / n)
    hulls, rows = (
        np.array(hulls),
        {alpha: np.array(found) for alpha, found in rows.items()},
    )
    facts = {
        "clouds": many,
        "alpha": [_counted(alpha, found, hulls, n) for alpha, found in rows.items()],
    }
    facts["hull"] = spread(hulls) if hulls[0] >= 0 else None
    return facts, {"shares": torch.tensor(np.concatenate(shares), dtype=torch.float32)}


def _counted(alpha, found, hulls, n):
    lead, at_once, settled, biggest, no_vertex = found.T
    return {
        "alpha": alpha,
        "leaders": spread(lead),
        "at_once": spread(at_once),
        "settled": spread(settled[settled >= 0])
        | {"quantiles": np.quantile(settled, [0.05, 0.5, 0.95]).tolist()},
        "biggest": spread(biggest / n),
        "certified": int((settled >= 0).sum()),
        "with_emerging": int((lead > at_once).sum()),
        "emerging": int((lead - at_once).sum()),
        "all_lead": int((lead == n).sum()),
        "more_than_hull": int((lead > hulls).sum()) if hulls[0] >= 0 else None,
        "at_once_no_vertex": int(no_vertex.sum()),
    }


def spread(x):
    """Mean and standard deviation, least and most; 1.96 deviation / sqrt(number) is the half-width of a 95 % band."""
    x = np.asarray(x, float)
    return (
        {
            "mean": x.mean(),
            "deviation": x.std(ddof=1),
            "least": x.min(),
            "most": x.max(),
        }
        if len(x) > 1
        else {}
    )


# Fitted laws


def fit(n, mean, error):
    """A law for mean(n), from all but the largest n, and whether it predicts the largest within 95 %.

    Each law is a straight line: of log mean in log n ("power") or in log log n ("power of the log"), of the mean in log n
    ("log") or in nothing ("constant"). That with the least chi^2 for each degree of freedom is the answer.
    """
    n, mean, error = (np.asarray(x, float) for x in (n, mean, error))
    laws = {
        "constant": (np.ones((len(n), 1)), mean, error),
        "log": (np.stack([np.ones_like(n), np.log(n)], 1), mean, error),
        "power of the log": (
            np.stack([np.ones_like(n), np.log(np.log(n))], 1),
            np.log(mean),
            error / mean,
        ),
        "power": (
            np.stack([np.ones_like(n), np.log(n)], 1),
            np.log(mean),
            error / mean,
        ),
    }
    found = {}
    for name, (X, y, e) in laws.items():
        W = X[:-1] / e[:-1, None]
        covariance = np.linalg.inv(W.T @ W)
        b = covariance @ (W.T @ (y[:-1] / e[:-1]))
        free = len(n) - 1 - len(b)
        chi2 = float((((X[:-1] @ b - y[:-1]) / e[:-1]) ** 2).sum())
        said, off = (
            float(X[-1] @ b),
            float(np.sqrt(X[-1] @ covariance @ X[-1] + e[-1] ** 2)),
        )
        found[name] = {
            "parameters": b.tolist(),
            "errors": np.sqrt(np.diag(covariance)).tolist(),
            "chi2": chi2,
            "free": free,
            "fits": bool(chi2 < stats.chi2.isf(0.05, free)),
            "predicts": bool(abs(said - y[-1]) < 1.96 * off),
            "said": said if name in ("constant", "log") else float(np.exp(said)),
            "measured": float(mean[-1]),
        }
    return {
        "law": min(found, key=lambda name: found[name]["chi2"] / found[name]["free"]),
        "all": found,
    }


def basins(folder, seed=0, **found):
    """The sizes of basins, divided by their mean over all clouds: families fitted on one half, tried on the other.

    Kolmogorov and Smirnov's distance, with the largest that chance allows in 95 of 100 cases. Basins of one cloud depend on
    each other, which makes the true limit rather smaller.
    """
    facts = {}
    for name, (task, arrays) in found.items():
        x = arrays["shares"].double().numpy() * task["alpha"][0]["leaders"]["mean"]
        x = np.random.default_rng(seed).permutation(x)
        one, other = x[::2], x[1::2]
        rows = {}
        for family in ("expon", "gamma", "weibull_min", "lognorm"):
            given = getattr(stats, family).fit(one, floc=0)
            distance = stats.kstest(other, family, given).statistic
            rows[family] = {
                "parameters": [float(p) for p in given[:1] + given[2:]],
                "distance": float(distance),
            }
        quantiles = np.quantile(x, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]).tolist()
        histogram = np.histogram(x, np.arange(0, 5.2, 0.2))[0] / len(x) / 0.2
        facts[name] = {
            "basins": len(x),
            "families": rows,
            "chance": 1.358 / len(other) ** 0.5,
            "quantiles": quantiles,
            "density": histogram.tolist(),
        }
    return facts, {}


# Finite depth


def depth(folder, law, n, d, alpha, many, seed=1, layers=12):
    """`by_layer`, over random clouds."""
    rng = _rng(seed, law, n, d)
    return _over(
        np.array([by_layer(LAWS[law](rng, n, d), alpha, layers) for _ in range(many)])
    ), {}


def depth_of_reviews(folder, which, many=5000, seed=0, layers=12):
    """`by_layer`, over test reviews: with the published weights, or with those of chapter 4's live figure."""
    texts, weights = (
        encoded("paper" if which == "published" else "128"),
        load_published(),
    )
    if which != "published":
        weights = load_file(ROOT / "results" / "sentiment_model.safetensors")
    table, alpha = np.asarray(weights["embedding"], float), float(weights["alpha"])
    chosen = np.random.default_rng(seed).choice(texts.test.numpy(), many, replace=False)
    rows, words = [], []
    for ids in texts.ids[torch.tensor(chosen)].numpy():
        ids = np.unique(
            ids
        )  # padding is a token of the published model, and no token of ours
        Z = np.unique(table[ids if which == "published" else ids[ids > 0]], axis=0)
        words.append(len(Z))
        rows.append(by_layer(Z, alpha, layers))
    return _over(np.array(rows)) | {"alpha": alpha, "words": spread(words)}, {}


def _over(rows):
    """Mean and deviation over clouds, layer by layer."""
    names = ("settled", "all_settled", "found", "distance", "away")
    mean, deviation = rows.mean(0), rows.std(0, ddof=1)
    facts = {
        name: {"mean": mean[:, i].tolist(), "deviation": deviation[:, i].tolist()}
        for i, name in enumerate(names)
    }
    return facts | {"clouds": len(rows)}


# The graph

SIZES = {
    10: 10_000,
    30: 10_000,
    100: 10_000,
    300: 4000,
    1000: 2000,
    3000: 1000,
    10_000: 600,
    30_000: 300,
    100_000: 200,
}
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
ALPHAS = (1.0, 0.05, 0.1, 0.2, 0.5, 2.0, 5.0, 10.0, 30.0)
MANY = {10: 1000, 30: 1000, 100: 1000, 300: 300, 1000: 100}
BASINS = [
    ("Gaussian", 100),
    ("Gaussian", 1000),
    ("Gaussian", 10_000),
    ("ball", 1000),
    ("Cauchy", 1000),
]
DEPTHS = [
    (30, 2, 200),
    (100, 2, 200),
    (1000, 2, 100),
    (10_000, 2, 20),
    (30, 8, 200),
    (100, 8, 100),
]  # n, d, clouds


def tasks():
    out = {}

    def add(law, d, n, many, alphas=(1.0,)):
        out.setdefault((law, d, n), (many, alphas))

    for d in (2, 3, 8):  # alpha
        for n, many in {30: 1000, 100: 1000, 1000: 200}.items():
            add("Gaussian", d, n, SIZES[n] if d == 2 else many, ALPHAS)
    for law in LAWS:
        add(law, 2, 100, SIZES[100], ALPHAS)
        for n, many in SIZES.items():  # n
            add(law, 2, n, many)
        for d in (1, 3, 8, 64):  # laws in other dimensions
            for n in (10, 100, 1000):
                add(law, d, n, MANY[n])
    for d in DIMENSIONS:  # d
        for n, many in MANY.items():
            add("Gaussian", d, n, many)
    for d, n, many in (
        (3, 10_000, 100),
        (3, 100_000, 20),
        (4, 10_000, 50),
        (8, 10_000, 5),
    ):
        add("Gaussian", d, n, many)
    found = [
        Task(
            f"clouds {law} d={d} n={n}",
            clouds,
            {"law": law, "n": n, "d": d, "many": many, "alphas": list(alphas)},
        )
        for (law, d, n), (many, alphas) in out.items()
    ]
    found += [
        Task(
            "basins",
            basins,
            needs={f"{law}, n = {n}": f"clouds {law} d=2 n={n}" for law, n in BASINS},
        )
    ]
    for n, d, many in DEPTHS:
        for alpha in (0.2, 1.0, 4.0):
            given = {"law": "Gaussian", "n": n, "d": d, "alpha": alpha, "many": many}
            found += [Task(f"depth d={d} n={n} alpha={alpha}", depth, given)]
    return found + [
        Task(f"reviews {which}", depth_of_reviews, {"which": which})
        for which in ("published", "ours")
    ]


def write(done, folder, command):
    """results/statistics.json, of the tasks that are done."""
    facts = {
        task.name: (
            task.given,
            {
                key: value
                for key, value in done[task.name][0].items()
                if key != "commit"
            },
        )
        for task in tasks()
        if task.name in done
    }
    of = about(
        done, command, {name: SHA256[name] for name in ("kaggle", "published")}, [0, 1]
    )
    kinds = {
        kind: [name for name in facts if name.startswith(kind)]
        for kind in ("clouds", "depth", "reviews")
    }

    def row(name):
        given, found = facts[name]
        return {
            key: given[key] for key in ("law", "n", "d", "alpha") if key in given
        } | found

    rows = [row(name) for name in kinds["clouds"]]
    rows = [
        row | {"expected": expected(row["law"], row["n"], row["d"])} for row in rows
    ]
    for x in (x for row in rows for x in row["alpha"]):  # the file is to be small
        x |= {
            what: {key: x[what][key] for key in ("mean", "deviation")}
            for what in ("at_once", "biggest")
        }
    result = {
        "total": sum(row["clouds"] for row in rows),
        "runs": sum(row["clouds"] * len(row["alpha"]) for row in rows),
        "clouds": rows,
        "laws": fits(rows),
        "settlement": settling(rows),
        "basins": facts["basins"][1] if "basins" in facts else None,
        "depth": [row(name) for name in kinds["depth"]],
        "reviews": {name.split()[1]: facts[name][1] for name in kinds["reviews"]},
    }
    write_json(rounded(result) | {"provenance": of}, folder / "statistics.json")
    return [folder / "statistics.json"]


def fits(rows):
    """Laws in n of the leaders, of the layer where all is settled and of the hull's vertices, for each law of the cloud and
    dimension with at least six sizes; and how well the exact number of leaders at layer 0, which fits nothing, does."""
    out = {}
    for law, d in dict.fromkeys((row["law"], row["d"]) for row in rows):
        some = sorted(
            (row for row in rows if (row["law"], row["d"]) == (law, d)),
            key=lambda row: row["n"],
        )
        series = {
            what: [row["alpha"][0][what] for row in some]
            for what in ("leaders", "settled", "at_once")
        }
        for what, found in (series | {"hull": [row["hull"] for row in some]}).items():
            points = [
                (row, x)
                for row, x in zip(some, found, strict=True)
                if x and x["deviation"] > 0
            ]
            if len(points) < 6:
                continue
            table = [
                (row["n"], x["mean"], x["deviation"] / row["clouds"] ** 0.5)
                for row, x in points
            ]
            if what != "at_once":
                out.setdefault(f"{law}, d = {d}", {})[what] = fit(*np.array(table).T)
            elif points[0][0]["expected"]:
                off = [
                    (mean - row["expected"]) / error
                    for (row, _), (_, mean, error) in zip(points, table, strict=True)
                ]
                chi2 = float(np.sum(np.square(off)))
                fitted = {
                    "chi2": chi2,
                    "free": len(off),
                    "fits": bool(chi2 < stats.chi2.isf(0.05, len(off))),
                }
                out.setdefault(f"{law}, d = {d}", {})["exact"] = fitted | {"off": off}
    return out


def settling(rows):
    """The mean layer where all is settled as a + b / log(1 + alpha), by least squares from all but the smallest alpha, and
    what it says of that one."""
    out = {}
    for row in rows:
        table = sorted(
            (x["alpha"], x["settled"]["mean"], x["settled"]["deviation"])
            for x in row["alpha"]
        )
        if len(table) > 3:
            alpha, mean, deviation = np.array(table).T
            X = np.stack([np.ones_like(alpha), 1 / np.log1p(alpha)], 1)
            b = np.linalg.lstsq(X[1:], mean[1:])[0]
            out[f"{row['law']}, d = {row['d']}, n = {row['n']}"] = {
                "parameters": b.tolist(),
                "residual": float(abs(X[1:] @ b - mean[1:]).max()),
                "said": float(X[0] @ b),
                "measured": float(mean[0]),
                "error": float(deviation[0] / row["clouds"] ** 0.5),
            }
    return out
