"""Laws fitted to what the study of chapter 9 counts, each tried on what it was not
fitted to."""

import numpy as np
from scipy import stats


def spread(x):
    """Mean and standard deviation, least and most; {} of a single number."""
    x = np.asarray(x, float)
    if len(x) == 1:
        return {}
    names = "mean", "deviation", "least", "most"
    return dict(zip(names, (x.mean(), x.std(ddof=1), x.min(), x.max()), strict=True))


def fit(n, mean, error):
    """A law for mean(n), from all but the largest n, and whether it predicts the
    largest within 95 %.

    Each law is a straight line: of log mean in log n ("power") or in log log n ("power
    of the log"), of the mean in log n ("log") or in nothing ("constant"). That with the
    least chi^2 for each degree of freedom is the answer.
    """
    n, mean, error = (np.asarray(x, float) for x in (n, mean, error))
    one, log = np.ones_like(n), np.log(n)
    logs = np.log(mean), error / mean
    lines = {
        "constant": line([one], mean, error),
        "log": line([one, log], mean, error),
        "power of the log": line([one, np.log(log)], *logs),
        "power": line([one, log], *logs),
    }
    for name, fitted in lines.items():
        if name in ("power of the log", "power"):
            fitted["said"] = float(np.exp(fitted["said"]))
        fitted["measured"] = float(mean[-1])
    best = min(lines, key=lambda name: lines[name]["chi2"] / lines[name]["free"])
    return {"law": best, "all": lines}


def line(columns, y, error):
    """y = X b by least squares from all rows but the last, and what that says of it."""
    X = np.stack(columns, 1)
    W = X[:-1] / error[:-1, None]
    covariance = np.linalg.inv(W.T @ W)
    b = covariance @ (W.T @ (y[:-1] / error[:-1]))
    chi2 = float((((X[:-1] @ b - y[:-1]) / error[:-1]) ** 2).sum())
    free = len(X) - 1 - len(b)
    said, off = float(X[-1] @ b), np.sqrt(X[-1] @ covariance @ X[-1] + error[-1] ** 2)
    return {
        "parameters": b.tolist(),
        "errors": np.sqrt(np.diag(covariance)).tolist(),
        "chi2": chi2,
        "free": free,
        "fits": bool(chi2 < stats.chi2.isf(0.05, free)),
        "predicts": bool(abs(said - y[-1]) < 1.96 * off),
        "said": said,
    }


def fits(rows):
    """Laws in n of the leaders, of the layer where all is settled and of the hull's
    vertices, for each law of the cloud and dimension with at least six sizes; and how
    well the exact number of leaders at layer 0, which fits nothing, does."""
    out = {}
    for law, d in dict.fromkeys((row["law"], row["d"]) for row in rows):
        mine = [row for row in rows if (row["law"], row["d"]) == (law, d)]
        mine.sort(key=lambda row: row["n"])
        first = [row["alpha"][0] for row in mine]
        series = {
            what: [x[what] for x in first] for what in ("leaders", "settled", "at_once")
        }
        series["hull"] = [row["hull"] for row in mine]
        for what, spreads in series.items():
            points = [
                (row, x["mean"], x["deviation"] / row["clouds"] ** 0.5)
                for row, x in zip(mine, spreads, strict=True)
                if x and x["deviation"] > 0
            ]
            if len(points) < 6:
                continue
            fitted = out.setdefault(f"{law}, d = {d}", {})
            if what != "at_once":
                sizes, means, errors = zip(*points, strict=True)
                fitted[what] = fit([row["n"] for row in sizes], means, errors)
            elif points[0][0]["expected"]:
                fitted["exact"] = exact(points)
    return {name: fitted for name, fitted in out.items() if fitted}


def exact(points):
    """How far means are from what is expected, in standard errors: no law is fitted."""
    off = [(mean - row["expected"]) / error for row, mean, error in points]
    chi2 = float(np.sum(np.square(off)))
    fits = bool(chi2 < stats.chi2.isf(0.05, len(off)))
    return {"chi2": chi2, "free": len(off), "fits": fits, "off": off}


def settling(rows):
    """The mean layer where all is settled as a + b / log(1 + alpha), by least squares
    from all but the smallest alpha, and what it says of that one."""
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


def families(sizes, seed=0):
    """Sizes against families of laws, each fitted on one half and tried on the other.

    Kolmogorov and Smirnov's distance, with the largest that chance allows in 95 of 100
    cases. Basins of one cloud depend on each other, which makes the true limit rather
    smaller.
    """
    x = np.random.default_rng(seed).permutation(sizes)
    one, other = x[::2], x[1::2]
    rows = {}
    for family in ("expon", "gamma", "weibull_min", "lognorm"):
        given = getattr(stats, family).fit(one, floc=0)
        rows[family] = {
            "parameters": [float(p) for p in given[:1] + given[2:]],
            "distance": float(stats.kstest(other, family, given).statistic),
        }
    quantiles = np.quantile(x, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]).tolist()
    histogram = np.histogram(x, np.arange(0, 5.2, 0.2))[0] / len(x) / 0.2
    return {
        "basins": len(x),
        "families": rows,
        "chance": 1.358 / len(other) ** 0.5,
        "quantiles": quantiles,
        "density": histogram.tolist(),
    }
