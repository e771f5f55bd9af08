"""Who follows whom: the attention sets of hardmax self-attention.

Numbers are taken at their word: a tie is a tie of the given numbers in exact
arithmetic. So scores are computed in float64 first, and those that rounding leaves
within reach of the largest, usually none, are compared as whole numbers.
"""

from typing import NamedTuple

import numpy as np

from hmlib import arithmetic, inputs, rounding
from hmlib.fast import WORK, candidates, plane, tiles
from hmlib.shapes import Clouds, Firsts, Mask, Matrix, Sets, Tokens

LARGE = 512  # tokens; a cloud that has more gets a road of its own


def attention_sets(
    Z: Tokens, A: Matrix | None = None, *, mask: Mask | None = None
) -> Sets:
    """C_i(Z) = { j : <A z_i, z_j> = max_l <A z_i, z_l> }, all ties kept.

    >>> Z = [[1, -1], [3, -1], [1, -3], [3.5, 1]]
    >>> attention_sets(Z)[0]     # the second and third are equally far in direction z_1
    array([False,  True,  True, False])
    >>> attention_sets(Z, A=[[2, 1], [1, 1]])[0]      # the fourth is farthest in A z_1
    array([False, False, False,  True])

    Z     tokens as rows, (n, d), or a batch of clouds, (..., n, d); floats, or
          Fractions for exact numbers
    A     symmetric positive definite, (d, d); the identity if None
    mask  bool, (..., n): False marks padding, which is followed by nobody and follows
          nobody
    Returns bool (..., n, n): row i marks C_i(Z).
    """
    Z, A, mask = inputs.layer(Z, A, mask)
    n = Z.shape[-2]
    instead = "Take follow, which names the first of each set."
    inputs.room((*Z.shape[:-1], n), 1, "attention_sets", instead)
    clouds, real = inputs.as_batch(Z, mask)
    followed = attend(clouds, clouds, A, real)
    C = np.zeros((len(clouds), n, n), bool)
    for c, cloud in enumerate(clouds):
        value = arithmetic.distinct(cloud)[1]
        C[c] = value[followed.first[c], None] == value  # a token and its copies
    for c, rows, members in followed.ties:
        C[c, rows] = False
        C[c, rows[:, None], members] = True
    if mask is not None:
        C &= real[:, :, None] & real[:, None]
    return C.reshape(*Z.shape[:-1], n)


def follow(Z: Tokens, A: Matrix | None = None, *, mask: Mask | None = None) -> Firsts:
    """c(i) = min C_i(Z): the first token that token i follows, without an n x n array.

    >>> follow([[1, -1], [3, -1], [1, -3], [3.5, 1]])
    array([1, 1, 2, 3])

    Arguments as for `attention_sets`. Returns int (..., n); padding gets -1.
    """
    Z, A, mask = inputs.layer(Z, A, mask)
    clouds, real = inputs.as_batch(Z, mask)
    first = attend(clouds, clouds, A, real).first.reshape(Z.shape[:-1])
    return first if mask is None else np.where(mask, first, -1)


def roots(follows: Firsts) -> Firsts:
    """The end of everybody's chain i -> follows[i] -> ...: a token that follows itself.

    >>> roots([1, 1, 1, 0, 4])                       # two trees
    array([1, 1, 1, 1, 4])

    follows  int (..., n): a forest, that is, no chain comes back to where it was
    """
    follows = inputs.array(follows, "follows")
    n = follows.shape[-1] if follows.ndim else 0
    expected = "the number of a token for each, (..., n)"
    if not (follows.size and follows.dtype.kind in "iu"):
        given = f"follows has shape {follows.shape} and type {follows.dtype}"
        inputs.refuse(given, f"int, {expected}")
    if follows.min() < 0 or follows.max() >= n:
        given = f"follows goes from {follows.min()} to {follows.max()}"
        inputs.refuse(given, f"0 to {n - 1}, {expected}")
    ends = follows
    for _ in range(n.bit_length()):  # each time twice as far
        ends = np.take_along_axis(ends, ends, -1)
    if (np.take_along_axis(follows, ends, -1) != ends).any():
        inputs.refuse("follows goes round in circles", "a forest, where chains end")
    return ends


def alone(C: Sets) -> Mask:
    """Who follows itself alone, C_i = {i}: bool (..., n).

    >>> alone(attention_sets([[1, 0], [2, 1], [2, -1]]))
    array([False,  True,  True])
    """
    C = inputs.array(C, "C")
    right = C.dtype == bool and C.ndim > 1 and C.shape[-1] == C.shape[-2]
    inputs.check(right, "C", C, "attention sets, bool (..., n, n)")
    return np.diagonal(C, axis1=-2, axis2=-1) & (C.sum(-1) == 1)


# The door: a token asks, a cloud is asked


class Followed(NamedTuple):
    """Whom tokens follow. A set of one value is told by the first token that has it."""

    first: Firsts  # of each set, (b, m)
    ties: list  # [(cloud, rows, members)]: these rows have a set of different values

    def alone(self) -> Mask:
        """The set holds a single value: bool (b, m)."""
        single = np.ones(self.first.shape, bool)
        for c, rows, _ in self.ties:
            single[c, rows] = False
        return single

    def means(self, X: Clouds) -> Clouds:
        """The mean over each set of the tokens X (b, n, d): (b, m, d)."""
        b, n, d = X.shape
        names = self.first + n * np.arange(b)[:, None]
        out = X.reshape(-1, d).take(names.reshape(-1), 0).reshape(b, -1, d)
        for c, rows, members in self.ties:
            out[c, rows] = arithmetic.mean(X[c, members])
        return out


def attend(
    Q: Clouds, X: Clouds, A: Matrix | None = None, real: Mask | None = None, blur=0.0
) -> Followed:
    """Whom tokens Q (b, m, d) follow among X (b, n, d), those that are real, (b, n).

    blur  how far each coordinate of all may be off: then whoever may be as far as the
          first is in a tie with it, also where floats are equal, and the first is a
          guess
    """
    (b, m, _), n = Q.shape, X.shape[1]
    WORK["asking"] += b * m
    WORK["asked"] += b * n if real is None else int(real.sum())
    Q, X, A, blur = arithmetic.balanced(Q, X, A, blur)
    if blur == np.inf:
        everybody = [(c, np.arange(m), np.arange(n)) for c in range(b)] if n > 1 else []
        return Followed(np.zeros((b, m), int), everybody)
    if n <= LARGE or X.dtype == object:
        return by_all_scores(Q, X, A, real, blur)
    planar = X.shape[2] == 2 and (A is None or plane.keeps_order(A))
    road = plane.by_hull if planar else by_few_scores
    first, ties = np.empty((b, m), int), []
    for c, (asking, cloud) in enumerate(zip(Q, X, strict=True)):
        names = np.arange(n) if real is None else np.flatnonzero(real[c])
        some = cloud if len(names) == n else cloud[names]
        followed, tied = road(asking, some, A, blur)
        first[c] = names.take(followed)
        ties += [(c, rows, names[members]) for rows, members in tied]
    return Followed(first, ties)


def by_few_scores(Q, X, A, blur):
    """Whom Q (m, d) follow in a large cloud X (n, d), by those that may be on its hull.

    Returns (first, [(rows, members)]).
    """
    asked, zero = candidates.on_hull(X, blur), _looks_nowhere(Q, A)
    keys, copy = asked, np.arange(len(asked))
    if not blur:  # where floats merge, tokens do not
        values, copy = arithmetic.distinct(X[asked])
        keys = asked[values]
    asking, first = np.flatnonzero(~zero), np.zeros(len(Q), int)
    who = by_all_scores(Q[None, asking], X[None, keys], A, blur=blur)
    first[asking] = keys[who.first[0]]
    ties = [
        (asking[rows], asked[np.isin(copy, members)]) for _, rows, members in who.ties
    ]
    if zero.any() and (blur or (X[0] != X).any()):  # they follow all
        ties.append((np.flatnonzero(zero), np.arange(len(X))))
    return first, ties


def _looks_nowhere(Q, A):
    """Is A q = 0, exactly? Of a definite A that is q = 0; others may be singular."""
    if A is None:
        return ~Q.any(-1)
    zero = (abs(Q @ A) <= 1e-9 * (abs(Q) @ abs(A))).all(-1)  # perhaps
    zero[zero] = ~arithmetic.looks(Q[zero], A).any(-1)
    return zero


def by_all_scores(Q, X, A=None, real=None, blur=0.0) -> Followed:
    """Whom tokens follow, by b m n products: `attend` for clouds of any size."""
    (b, m, d), n = Q.shape, X.shape[1]
    queries, keys, unit_A = Q, X, None if A is None else arithmetic.unit(A, None)
    if X.dtype == object:  # scaling changes no set, and these floats do not overflow
        queries, keys = arithmetic.unit(Q, -1), arithmetic.unit(X, (-2, -1))
    looks = queries if A is None else queries @ unit_A
    error = rounding.of_scores(queries, looks, keys, unit_A, blur)
    first, ties, values = np.empty(b * m, int), {}, X.reshape(-1, d)
    if b == 1 and n > LARGE and real is None:
        near_largest = tiles.in_tiles(looks[0], keys[0], error[0])
    else:
        near_largest = tiles.in_blocks(looks, keys, error, real)
    for rows, row, token in near_largest:
        first[row[::-1]] = token[::-1]  # tokens ascend, and what is written last stays
        if len(row) == rows:
            continue
        several = token != first[row]
        if not blur:  # copies are one
            several = (values[token] != values[first[row]]).any(-1)
        still = np.flatnonzero(np.isin(row, row[several]))
        still = still[row[still].argsort(kind="stable")]
        row, token = row[still], token[still]
        if not blur:
            row, token = _maximal(row, token, Q.reshape(-1, d), values, A)
        start = _starts(row)
        for i, members in zip(row[start], np.split(token, start[1:]), strict=False):
            first[i] = members[0]
            if blur or (values[members] != values[members[0]]).any():
                same = ties.setdefault((i // m, members.tobytes()), (members % n, []))
                same[1].append(i % m)
    tied = [(c, np.array(rows), members) for (c, _), (members, rows) in ties.items()]
    return Followed(first.reshape(b, m) % n, tied)


def _maximal(row, token, Q, X, A):
    """Of the pairs those with their row's largest score, in whole numbers."""
    start = _starts(row)
    if len(start) == 0:
        return row, token
    count = np.diff(start, append=len(row))
    looks = arithmetic.looks(Q[row[start]], A)
    scores = (np.repeat(looks, count, 0) * arithmetic.integers(X[token])).sum(-1)
    true = scores == np.repeat(np.maximum.reduceat(scores, start), count)
    return row[true], token[true]


def _starts(row):
    """Where the pairs of another row begin."""
    return np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
