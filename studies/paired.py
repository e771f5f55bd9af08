"""Two models judged on the same reviews: how far apart they are, and how sure that is,
over seeds and over reviews.

>>> one = np.array([[1, 1, 1, 0], [1, 1, 0, 1]])  # two seeds, four reviews
>>> other = np.array([[1, 0, 0, 0], [0, 1, 1, 1]])
>>> found = difference(one, other)
>>> found["difference"], round(found["over_reviews"], 2)
(0.25, 0.28)
"""

import base64

import numpy as np
from scipy import stats

LEVEL = 0.95


def packed(right):
    """Which reviews were judged rightly, as [how many reviews, text]."""
    right = np.asarray(right, bool)
    return [len(right), base64.b64encode(np.packbits(right).tobytes()).decode()]


def unpacked(kept):
    """`packed`, undone."""
    n, text = kept
    bits = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(bits, count=n).astype(bool)


def difference(one, other):
    """The mean of D = one - other, (seeds, reviews) of what is right, with the halves
    of its 95 % intervals.

    over_seeds    Student's t: with other seeds, on these reviews (None for one seed)
    over_reviews  with other reviews, and these seeds
    over_both     for both: the variances of the two add up, which counts the part that
                  they share twice, and so is rather too wide
    p             that the mean is as far from 0 by chance, by the same account
    """
    D = np.asarray(one, float) - np.asarray(other, float)
    (seeds, n), mean = D.shape, D.mean()
    among_reviews = D.mean(0).std(ddof=1) / np.sqrt(n)
    among_seeds = D.mean(1).std(ddof=1) / np.sqrt(seeds) if seeds > 1 else 0.0
    both, wide = np.hypot(among_seeds, among_reviews), (1 + LEVEL) / 2
    # Welch and Satterthwaite: as many degrees of freedom as the sum of the two has.
    shares = among_seeds**4 / max(seeds - 1, 1) + among_reviews**4 / (n - 1)
    freedom = both**4 / shares if shares else n - 1
    t_seeds = stats.t.ppf(wide, seeds - 1) if seeds > 1 else None
    return {
        "difference": float(mean),
        "seeds": seeds,
        "reviews": n,
        "over_seeds": None if t_seeds is None else float(t_seeds * among_seeds),
        "over_reviews": float(stats.norm.ppf(wide) * among_reviews),
        "over_both": float(stats.t.ppf(wide, freedom) * both),
        "p": float(2 * stats.t.sf(abs(mean) / both, freedom)) if both else 1.0,
    }
