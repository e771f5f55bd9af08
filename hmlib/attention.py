"""Who follows whom: the attention sets of hardmax self-attention.

Numbers are taken at their word: a tie is a tie of the given numbers in exact arithmetic. So scores are computed in
float64 first, and those that rounding leaves within reach of the maximum, usually none, are compared as whole numbers.
"""

import numpy as np

from hmlib import inputs

BLOCK = 2**21  # scores held in memory at a time


def attention_sets(Z, A=None, *, mask=None):
    """C_i(Z) = { j : <A z_i, z_j> = max_l <A z_i, z_l> }, all ties kept.

    >>> Z = [[1, -1], [3, -1], [1, -3], [3.5, 1]]
    >>> attention_sets(Z)[0]                          # the second and third reach equally far in the direction z_1
    array([False,  True,  True, False])
    >>> attention_sets(Z, A=[[2, 1], [1, 1]])[0]      # the fourth reaches farthest in the direction A z_1
    array([False, False, False,  True])

    Z     tokens as rows, (n, d), or a batch of clouds, (..., n, d); floats, or Fractions for exact numbers
    A     symmetric positive definite, (d, d); the identity if None
    mask  bool, (..., n): False marks padding, which is followed by nobody and follows nobody
    Returns bool (..., n, n): row i marks C_i(Z).
    """
    Z, A, mask = model(Z, A, mask)
    C = np.empty(Z.shape[:-1] + Z.shape[-2:-1], bool)
    rows = C.reshape(-1, *C.shape[-2:])
    for at, sets in blocks(Z, A, mask):
        rows[at] = sets
    return C


def follow(Z, A=None, *, mask=None):
    """c(i) = min C_i(Z): the first token that token i follows, without an n x n array.

    >>> follow([[1, -1], [3, -1], [1, -3], [3.5, 1]])
    array([1, 1, 2, 3])

    Arguments as for `attention_sets`. Returns int (..., n); padding gets -1.
    """
    Z, A, mask = model(Z, A, mask)
    c = np.empty(Z.shape[:-1], int)
    rows = c.reshape(-1, c.shape[-1])
    for at, sets in blocks(Z, A, mask):
        rows[at] = np.where(sets.any(-1), sets.argmax(-1), -1)
    return c


def model(Z, A, mask):
    """The three arguments of a layer, checked."""
    Z = inputs.cloud(Z)
    return Z, inputs.matrix(A, Z), inputs.real_tokens(mask, Z)


def blocks(Z, A, mask=None, rows=None, blur=0):
    """Yield (at, sets): the attention sets of the clouds and rows `at` of the flattened batch, a block at a time.

    rows  which tokens ask; all of them if None
    blur  how far each coordinate of the tokens may be off: then every token that may be in a set is
    """
    n, d = Z.shape[-2:]
    Z = Z.reshape(-1, n, d)
    mask = None if mask is None else mask.reshape(-1, n)
    if Z.dtype == object:
        Z = inputs.integers(Z)  # the sets do not change when all tokens grow by one factor
    asking = Z if rows is None else Z[:, rows]
    # Neither do they when the token that asks, or A, is scaled by itself: all to [-1, 1], where nothing overflows.
    query, key = inputs.unit(asking, -1), inputs.unit(Z, (-2, -1))
    reach = abs(key).max(-2)[..., None]
    if A is None:
        size, error = d, abs(query) @ reach
    else:
        A = inputs.integers(A)
        unit_A = inputs.unit(A, None)
        size, error = abs(unit_A).sum(), abs(query) @ abs(unit_A) @ reach
        query = query @ unit_A
    # Two scores that part by more than this cannot be in the wrong order (two products of length d, three roundings).
    error = (2 * d + 8) * inputs.EPS * error + 8 * d * d * np.finfo(float).smallest_subnormal
    if blur:
        scales = inputs.exponent(asking, -1), inputs.exponent(Z, (-2, -1))
        of_query, of_key = (np.ldexp(blur, -np.maximum(e, -900)) for e in scales)
        error += 2 * size * (of_query + of_key + of_query * of_key)

    for at in _slices(len(Z), asking.shape[1], n):
        scores = query[at] @ key[at[0]].swapaxes(-1, -2)
        if mask is not None:
            scores = np.where(mask[at[0], None, :], scores, -np.inf)
        sets = scores >= scores.max(-1, keepdims=True) - error[at]
        if mask is not None:
            sets &= mask[at][..., None]
        if not blur:
            _compare_exactly(sets, asking[at], Z[at[0]], A)
        yield at, sets


def mixed_ties(sets, Z):
    """The rows (clouds, tokens) whose set holds different values: equal tokens are no tie that matters."""
    cloud, row = np.nonzero(sets.sum(-1) > 1)
    first = sets[cloud, row].argmax(-1)
    tie, j = np.nonzero(sets[cloud, row])
    differs = (Z[cloud[tie], j] != Z[cloud[tie], first[tie]]).any(-1)
    mixed = np.unique(tie[differs])
    return cloud[mixed], row[mixed]


def _compare_exactly(sets, asking, heard, A):
    """Keep in each set only the true maximisers."""
    cloud, row = mixed_ties(sets, heard)
    tie, j = np.nonzero(sets[cloud, row])
    if len(tie) == 0:
        return
    queries = inputs.integers(asking[cloud, row])
    if A is not None:
        queries = queries @ A
    scores = (queries[tie] * inputs.integers(heard[cloud[tie], j])).sum(-1)
    best = np.maximum.reduceat(scores, np.searchsorted(tie, np.arange(len(cloud))))
    sets[cloud[tie], row[tie], j] = scores == best[tie]


def _slices(clouds, asking, n):
    """Cut a batch of clouds, or one large cloud, into blocks of about BLOCK scores."""
    rows = max(1, BLOCK // n)
    some = max(1, rows // asking)
    for c in range(0, clouds, some):
        for i in range(0, asking, rows):
            yield slice(c, c + some), slice(i, i + rows)
