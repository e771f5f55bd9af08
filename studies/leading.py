"""Which words lead, and how much of it is the start's doing: displacement from a known
start, against what selection alone would show; and published words, against the normal
law that they started from."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import torch
from scipy import stats

from studies import measures

FAR = 2.5  # standard deviations


def split(X, v):
    """X in the parts along v and across it: (coordinates, vectors)."""
    u = v / v.norm()
    along = X @ u
    return along, X - along[:, None] * u


def leading(model, ids):
    """The leaders of each review, as numbers review * rows + word, sorted; without
    padding."""
    rows, out = model.embedding.num_embeddings, []
    for reviews, _, some, weights, follows, _ in measures.runs(model, ids):
        lead = measures.leading(follows, weights) & (some != 0)
        out.append((reviews[:, None] * rows + some)[lead])
    return torch.cat(out).sort().values


def with_words(model, table):
    """A copy of the model with another table of words; padding stays."""
    other = deepcopy(model)
    with torch.no_grad():
        other.embedding.weight[1:] = table[1:]
    return other


def most_often(lead, rows, many):
    """The words that lead most."""
    return torch.bincount(lead % rows, minlength=rows).argsort(descending=True)[:many]


def in_bands(frequency):
    """The band of each word: those of like frequency, within a factor of two."""
    return frequency.clamp_min(1).double().log2().floor().long()


def shuffled(displacement, bands, generator):
    """Each word gets the displacement of another one of its band."""
    out = displacement.clone()
    for band in bands.unique():
        (some,) = torch.nonzero(bands == band, as_tuple=True)
        out[some] = displacement[some[torch.randperm(len(some), generator=generator)]]
    return out


def displaced(words, start, end, v):
    """Root mean squares of how far words went across v and along it, and how far
    outward, on average: across, and in length."""
    (a, x), (b, y) = split(start[words], v), split(end[words], v)
    return {
        "across": float((y - x).square().sum(1).mean().sqrt()),
        "along": float((b - a).square().mean().sqrt()),
        "outward": float((y.norm(dim=1) - x.norm(dim=1)).mean()),
        "longer": float((end[words].norm(dim=1) - start[words].norm(dim=1)).mean()),
    }


@torch.no_grad()
def moved(model, start, ids, many=40, draws=10, asked=3000, seed=0):
    """Who leads after training from a known start, and why.

    all, leaders   `displaced`, of the words in more than 50 reviews, and of the `many`
                   that lead most
    by_selection   the same of leaders where each word keeps its start, and its place
                   along v, but goes across v as another word of like frequency did: who
                   leads then is long by selection alone. Mean and deviation of draws
    led            how many of these led most before training, too
    lead_also      of all leaders of reviews, the share that leads also: at the start;
                   if nobody had gone across v; with the part across v drawn anew
    """
    generator, rows = torch.Generator().manual_seed(seed), len(start)
    end, v = model.embedding.weight.clone(), model.decoder.weight[0].clone()
    frequency = _frequency(ids, rows)
    ids = ids[:asked]
    lead = leading(model, ids)
    top, common = most_often(lead, rows, many), frequency > 50
    (_, x), (b, y) = split(start, v), split(end, v)
    along, bands = b[:, None] * v / v.norm(), in_bands(frequency)

    def after(across):
        """Who leads with another part across v, and the table."""
        table = along + across
        return leading(with_words(model, table), ids), table

    null = []
    for _ in range(draws):
        found, table = after(x + shuffled(y - x, bands, generator))
        null.append(displaced(most_often(found, rows, many), start, table, v))
    anew = split(torch.randn(start.shape, generator=generator), v)[1]
    others = {
        "at the start": leading(with_words(model, start), ids),
        "nobody across": after(x)[0],
        "across drawn anew": after(anew)[0],
    }
    words = torch.nonzero(common)[:, 0]
    before = most_often(others["at the start"], rows, many)
    return {
        "all": displaced(words, start, end, v),
        "leaders": displaced(top, start, end, v),
        "by_selection": {
            name: [f([row[name] for row in null]) for f in (np.mean, _deviation)]
            for name in null[0]
        },
        "led": int(torch.isin(top, before).sum()),
        "lead_also": {
            name: float(torch.isin(lead, other).double().mean())
            for name, other in others.items()
        },
        "words": len(words),
        "leaders_of_reviews": len(lead) / len(ids),
    }


def _deviation(values):
    return float(np.std(values, ddof=1))


def _frequency(ids, rows):
    """In how many reviews each word stands."""
    ids = ids.sort(1).values
    first = torch.ones_like(ids, dtype=torch.bool)
    first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    count = torch.bincount(ids[first], minlength=rows)
    count[0] = 0
    return count


def against_normal(x):
    """Moments and tails of numbers, beside N(0, 1): each with the p of a two-sided
    test."""
    n, z = len(x), (x - x.mean()) / x.std()
    far, share = int((abs(x) > FAR).sum()), float(2 * stats.norm.sf(FAR))
    squares = float((x**2).sum())
    below = stats.chi2.cdf(squares, n)
    return {
        "words": n,
        "mean": [float(x.mean()), float(2 * stats.norm.sf(abs(x.mean()) * n**0.5))],
        "deviation": [float(x.std(ddof=1)), float(2 * min(below, 1 - below))],
        "kurtosis": [float((z**4).mean()), float(stats.kurtosistest(x).pvalue)],
        "far": [far, share * n, float(stats.binomtest(far, n, share).pvalue)],
        "whole": float(stats.kstest(x, "norm").pvalue),
    }


def by_frequency(along, across, ranks=(1, 101, 1001, 10001)):
    """`against_normal` of both coordinates, for words from frequent to rare."""
    ends, rows = [*(k for k in ranks if k < len(along) - 8), len(along)], []
    for low, high in pairwise(ends):
        found = {"along": along, "across": across}
        found = {name: against_normal(x[low:high]) for name, x in found.items()}
        rows.append({"ranks": [low, high - 1]} | found)
    return rows
