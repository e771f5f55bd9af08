"""Two models judged on the same reviews: how far apart they are, and how sure that is,
over seeds and over reviews.

>>> one = np.array([[1, 1, 1, 0], [1, 1, 0, 1]])  # two seeds, four reviews
>>> other = np.array([[1, 0, 0, 0], [0, 1, 1, 1]])
>>> found = difference(one, other)
>>> found["difference"], round(found["over_reviews"], 2)
(0.25, 0.46)
"""

import base64

import numpy as np
from scipy import optimize, stats

LEVEL = 0.95
LEAST = 1e-300  # p


def packed(right):
    """Which reviews were judged rightly, as [how many reviews, text]."""
    right = np.asarray(right, bool)
    return [len(right), base64.b64encode(np.packbits(right).tobytes()).decode()]


def unpacked(kept):
    """`packed`, undone."""
    n, text = kept
    bits = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(bits, count=n).astype(bool)


def difference(one, other, spread=None):
    """The mean of D = one - other, (seeds, reviews) of what is right, with the halves
    of its 95 % intervals, all Student's.

    spread        (variance among seeds, its degrees of freedom), as `pooled` knows it
                  of more comparisons; None: that of these seeds
    over_seeds    with other seeds, on these reviews (None if nothing is known of that)
    over_reviews  with other reviews, and these seeds
    over_both     for both: the root of the sum of the two halves' squares. Not that of
                  a Student with the freedom of Welch and Satterthwaite: where few seeds
                  happen to agree that is too narrow, and far too sure in its tails
    p             the level at which the interval for both ends at 0
    """
    D = np.asarray(one, float) - np.asarray(other, float)
    (seeds, n), mean = D.shape, D.mean()
    among_reviews = D.mean(0).std(ddof=1) / np.sqrt(n)
    variance, freedom = pooled([(one, other)]) if spread is None else spread
    among_seeds = np.sqrt(variance / seeds)

    def halves(p):
        """Over seeds, and over reviews, at the level 1 - p."""
        over_seeds = stats.t.isf(p / 2, freedom) * among_seeds if freedom else 0.0
        return over_seeds, stats.t.isf(p / 2, n - 1) * among_reviews

    over_seeds, over_reviews = halves(1 - LEVEL)
    return {
        "difference": float(mean),
        "seeds": seeds,
        "reviews": n,
        "over_seeds": float(over_seeds) if freedom else None,
        "over_reviews": float(over_reviews),
        "over_both": float(np.hypot(over_seeds, over_reviews)),
        "p": _level(lambda p: np.hypot(*halves(p)), abs(mean)),
    }


def _level(half, mean):
    """The p with half(p) = mean; half falls to 0 as p rises to 1."""
    if not mean:
        return 1.0
    if half(LEAST) <= mean:
        return LEAST
    found = optimize.brentq(lambda x: half(np.exp(x)) - mean, np.log(LEAST), 0)
    return float(np.exp(found))


def pooled(pairs):
    """(variance, degrees of freedom) among the seeds of the differences of pairs, if
    all have the same variance: with three seeds each, one pair alone knows little."""
    means = [np.subtract(*pair, dtype=float).mean(1) for pair in pairs]
    squares = sum(((x - x.mean()) ** 2).sum() for x in means)
    freedom = sum(len(x) - 1 for x in means)
    return squares / max(freedom, 1), freedom


def any_two(models):
    """(variance, degrees of freedom) among the seeds of the difference of any two of
    these models, each (seeds, reviews), if all spread alike. For many that are compared
    with one control: pairs would count its few seeds again and again, and be too sure
    whenever these happen to agree."""
    variance, freedom = pooled([(right, 0 * right) for right in models])
    return 2 * variance, freedom
