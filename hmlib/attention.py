"""Who follows whom: the attention sets of hardmax self-attention.

Numbers are taken at their word: a tie is a tie of the given numbers in exact arithmetic. So scores are computed in
float64 first, and those that rounding leaves within reach of the maximum, usually none, are compared as whole numbers.

A set is written as its first token. That is all of it, but for copies of that token and for `ties`: sets that hold
different values, which those tokens that have the same one share.
"""

import numpy as np

from hmlib import arithmetic, inputs, rounding, routes
from hmlib.shapes import Firsts, Mask, Matrix, Sets, Tokens

BLOCK = 2**18  # scores held in memory at a time: few enough for the processor's own
TILE = 512  # tokens that are asked at a time; clouds that are larger get a route of their own


def attention_sets(
    Z: Tokens, A: Matrix | None = None, *, mask: Mask | None = None
) -> Sets:
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
    n, d = Z.shape[-2:]
    inputs.room(
        (*Z.shape[:-1], n),
        1,
        "attention_sets",
        "Take follow, which names the first of each set.",
    )
    clouds, asking = Z.reshape(-1, n, d), _asking(Z, mask)
    C = np.zeros((len(clouds), n, n), bool)
    first, ties = choose(clouds, A, mask, asking)
    for c, cloud in enumerate(clouds):
        firsts, of = arithmetic.distinct(cloud)
        rows = slice(*asking.searchsorted([c * n, (c + 1) * n]))
        i, c_i = asking[rows] - c * n, first[rows] - c * n
        if len(firsts) == n:
            C[c, i, c_i] = True
        else:
            C[c, i] = of[c_i, None] == of
    for rows, members in ties:
        i = asking[rows]
        C[(i // n)[:, None], (i % n)[:, None], members % n] = True
    if mask is not None:
        C &= mask.reshape(-1, 1, n)
    return C.reshape(Z.shape[:-1] + (n,))


def follow(Z: Tokens, A: Matrix | None = None, *, mask: Mask | None = None) -> Firsts:
    """c(i) = min C_i(Z): the first token that token i follows, without an n x n array.

    >>> follow([[1, -1], [3, -1], [1, -3], [3.5, 1]])
    array([1, 1, 2, 3])

    Arguments as for `attention_sets`. Returns int (..., n); padding gets -1.
    """
    Z, A, mask = model(Z, A, mask)
    c, asking = np.full(Z.shape[:-1], -1), _asking(Z, mask)
    c.reshape(-1)[asking] = (
        choose(Z.reshape(-1, *Z.shape[-2:]), A, mask, asking)[0] % Z.shape[-2]
    )
    return c


def roots(follows: Firsts) -> Firsts:
    """The end of everybody's chain i -> follows[i] -> ...: a token that follows itself.

    >>> roots([1, 1, 1, 0, 4])                       # two trees
    array([1, 1, 1, 1, 4])

    follows  int (..., n): a forest, that is, no chain comes back to where it was
    """
    follows = inputs.array(follows, "follows")
    n = follows.shape[-1] if follows.ndim else 0
    if not follows.size or follows.dtype.kind not in "iu":
        raise ValueError(
            f"follows has shape {follows.shape} and type {follows.dtype}: "
            "expected whole numbers, one for each token, (..., n)."
        )
    if follows.min() < 0 or follows.max() >= n:
        raise ValueError(
            f"follows has numbers from {follows.min()} to {follows.max()}: "
            f"expected the numbers of {n} tokens, from 0 to {n - 1}."
        )
    ends = follows
    for _ in range(n.bit_length()):  # each time twice as far
        ends = np.take_along_axis(ends, ends, -1)
    if (np.take_along_axis(follows, ends, -1) != ends).any():
        raise ValueError("follows goes round in circles: expected a forest.")
    return ends


def alone(C: Sets) -> Mask:
    """Who follows itself alone, C_i = {i}: bool (..., n).

    >>> alone(attention_sets([[1, 0], [2, 1], [2, -1]]))
    array([False,  True,  True])
    """
    C = inputs.array(C, "C")
    if C.dtype != bool or C.ndim < 2 or C.shape[-1] != C.shape[-2]:
        raise ValueError(
            f"C has shape {C.shape} and type {C.dtype}: expected attention sets, "
            "bool (..., n, n), as attention_sets gives them."
        )
    return np.diagonal(C, axis1=-2, axis2=-1) & (C.sum(-1) == 1)


def model(Z, A, mask):
    """The three arguments of a layer, checked."""
    Z = inputs.cloud(Z)
    return Z, inputs.matrix(A, Z), inputs.real_tokens(mask, Z)


def choose(Z, A, mask=None, asking=None, blur=0):
    """Whom tokens follow: (first, ties).

    Z       clouds (b, n, d); tokens are counted through all of them, from 0 to b n
    asking  which tokens ask, in ascending order; all real ones if None
    blur    how far each coordinate of the tokens may be off: then a set is a tie as soon as a second token may be in it
    first   int, one for each that asks: the first token of its set
    ties    [(rows, members), ...]: asking[rows] all have the same set, `members`, which holds different values
    """
    n = Z.shape[1]
    asking = _asking(Z, mask) if asking is None else asking
    Z, A, blur = _balanced(Z, A, blur)
    mask = None if mask is None else mask.reshape(-1, n)
    if blur == np.inf and n > 1:
        return np.zeros(len(asking), int), [(np.arange(len(asking)), np.arange(n))]
    if n <= TILE and len(Z) > 1:
        return _in_small_clouds(Z, A, mask, asking)
    first, ties = np.empty(len(asking), int), []
    for c in np.unique(asking // n) if len(Z) > 1 else [0]:
        rows = slice(*asking.searchsorted([c * n, (c + 1) * n]))
        heard = None if mask is None or mask[c].all() else np.flatnonzero(mask[c])
        Q = Z[c] if rows.stop - rows.start == n else Z[c].take(asking[rows] - c * n, 0)
        of, tied = in_one_cloud(Q, Z[c] if heard is None else Z[c, heard], A, blur)
        names = np.arange(c * n, (c + 1) * n) if heard is None else heard + c * n
        first[rows] = of if c == 0 and heard is None else names[of]
        ties += [
            (rows.start + tied_rows, names[members]) for tied_rows, members in tied
        ]
    return first, ties


def in_one_cloud(Q, X, A, blur=0):
    """The same for the tokens Q (m, d) that ask and those X (n, d) that are asked, each counted by itself."""
    n, d = X.shape
    if n <= TILE or X.dtype == object:
        return dense(Q[None], X[None], A, blur=blur)
    if d == 2:
        return routes.plane(Q, X, A, blur)
    distinct, of = (
        (np.arange(n), np.arange(n)) if blur else arithmetic.distinct(X)
    )  # where floats merge, tokens do not
    asked = distinct[routes.candidates(X[distinct], blur)]
    ask = np.flatnonzero(Q.any(-1))
    first = np.zeros(len(Q), int)
    first[ask], ties = dense(Q[None, ask], X[None, asked], A, blur=blur)
    first[ask] = asked[first[ask]]
    ties = [
        (ask[rows], np.flatnonzero(np.isin(of, of[asked[members]])))
        for rows, members in ties
    ]
    if len(ask) < len(Q) and len(distinct) > 1:  # a token at 0 follows all
        ties.append((np.flatnonzero(~Q.any(-1)), np.arange(n)))
    return first, ties


def _in_small_clouds(Z, A, mask, asking):
    """As many clouds at a time as a block holds, those together in which about as many ask."""
    b, n, d = Z.shape
    count = np.bincount(asking // n, minlength=b)
    start = np.cumsum(count) - count
    asked, heard = _asked(Z, mask, asking)
    first, ties = np.empty(len(asking), int), []
    clouds, at = np.argsort(-count, kind="stable")[: np.count_nonzero(count)], 0
    while at < len(clouds):
        most = count[clouds[at]]
        some = clouds[at : at + max(1, BLOCK // (most * asked.shape[1]))]
        at += len(some)
        slot = np.arange(most)
        rows = start[some, None] + np.minimum(
            slot, count[some, None] - 1
        )  # the last asks again where others have more
        names = (some[:, None] * n + asked[some]).reshape(-1)
        Q, X = (
            Z.reshape(-1, d).take(i, 0).reshape(len(some), -1, d)
            for i in (asking[rows].reshape(-1), names)
        )
        of, tied = dense(Q, X, A, None if heard is None else heard[some])
        first[rows] = names[of].reshape(rows.shape)
        for i, members in tied:
            i = i[slot[i % most] < count[some[i // most]]]
            ties.append((rows.flat[i], names[members]))
    return first, ties


def _asked(Z, mask, asking):
    """(tokens, real): for each cloud those who need to be asked, (b, k); with real = False to fill up, or None."""
    b, n, d = Z.shape
    if d != 2 or Z.dtype == object or n < routes.SMALL:
        return np.broadcast_to(np.arange(n), (b, n)), mask
    there = routes.on_rims(Z, mask)
    zero = asking[~Z.reshape(-1, d).take(asking, 0).any(-1)]  # a token at 0 follows all
    there[zero // n] = True if mask is None else mask[zero // n]
    cloud, token = np.nonzero(there)
    slot = np.arange(len(cloud)) - np.searchsorted(cloud, np.arange(b))[cloud]
    tokens, real = (
        np.zeros((b, slot.max() + 1), int),
        np.zeros((b, slot.max() + 1), bool),
    )
    tokens[cloud, slot], real[cloud, slot] = token, True
    return tokens, real


def dense(Q, X, A, heard=None, blur=0):
    """The same by all products, for as many clouds of tokens Q (b, m, d) that ask and X (b, n, d) that are asked."""
    b, m, d = Q.shape
    # The sets do not change when tokens that ask, those that are asked, or A, are scaled: floats that do not overflow.
    query, key = (
        (arithmetic.unit(Q, -1), arithmetic.unit(X, (-2, -1)))
        if X.dtype == object
        else (Q, X)
    )
    unit_A = None if A is None else arithmetic.unit(A, None)
    looks = query if A is None else query @ unit_A
    error = rounding.of_scores(query, looks, key, unit_A, blur)
    first, ties = np.empty(b * m, int), {}
    for row, token in _contenders(looks, key, error, heard):
        of, tied = _decide(row, token, Q.reshape(-1, d), X.reshape(-1, d), A, blur)
        first[of[0]] = of[1]
        for r, members in tied:
            ties.setdefault(members.tobytes(), (members, []))[1].append(r)
    return first, [(np.array(rows), members) for members, rows in ties.values()]


def _contenders(query, key, error, heard):
    """Yield (rows, tokens), both ascending: the scores that are within the error of the row's largest, a block at a time."""
    (b, m, d), n = query.shape, key.shape[1]
    some = max(
        1, BLOCK // min(n, TILE) // d
    )  # rows of a product that BLAS does on one core
    if n > TILE and b == 1:
        for at in range(0, m, some):
            row, token = _in_tiles(
                query[0, at : at + some], key[0], error[0, at : at + some]
            )
            yield at + row, token
        return
    clouds = max(1, BLOCK // (min(m + 1, some) * n))
    for c in range(0, b, clouds):
        for at in range(0, m, some):
            part = slice(c, c + clouds), slice(at, at + some)
            scores = key[c : c + clouds] @ np.ascontiguousarray(
                query[part].mT
            )  # [cloud, token, row]
            if heard is not None:
                np.copyto(scores, -np.inf, where=~heard[c : c + clouds, :, None])
            near = np.flatnonzero(scores >= (scores.max(-2) - error[part])[:, None])
            near, row = np.divmod(near, scores.shape[-1])
            row += (c + near // n) * m + at
            if len(row) == scores.shape[0] * scores.shape[-1]:  # one each
                yield row, near + c * n
            else:
                order = np.argsort(row, kind="stable")
                yield row[order], near[order] + c * n


def _in_tiles(query, key, error):
    """The same for one large cloud: keep the largest score of each tile, then look again into the tiles where it is."""
    width = TILE // 4
    tiles = np.resize(
        np.arange(len(key)), (-(-len(key) // width), width)
    )  # the last begins again
    across = np.ascontiguousarray(query.T)
    together = max(1, BLOCK // (width * len(query)))
    tops = [
        (key[tiles[t : t + together]] @ across).max(-2)
        for t in range(0, len(tiles), together)
    ]
    tops = np.concatenate(tops)
    floor = tops.max(0) - error
    row, tile = np.nonzero((tops >= floor).T)
    scores = key[tiles[tile]] @ query[row, :, None]
    pair, j = np.nonzero(scores[..., 0] >= floor[row, None])
    found = np.unique(np.stack([row[pair], tiles[tile[pair], j]]), axis=1)
    return found[0], found[1]


def _decide(row, token, Q, X, A, blur):
    """Of the contenders keep the true maximisers: ((rows, the first of each), [(row, its set) where values differ])."""
    start = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    rows, first = row[start], token[start]
    if len(row) == len(rows):
        return (rows, first), []
    count = np.diff(start, append=len(row))
    if blur:  # whoever may be as far is a tie: distinct tokens remain so, also where their floats have merged
        return (rows, first), [
            (rows[i], token[start[i] :][: count[i]]) for i in np.flatnonzero(count > 1)
        ]
    many = np.repeat(np.arange(len(rows)), count)
    mixed = np.zeros(len(rows), bool)
    mixed[many[(X[token] != X[first[many]]).any(-1)]] = True
    if not mixed.any():
        return (rows, first), []
    pairs = mixed[many]
    many, token = many[pairs], token[pairs]
    tie, of = np.unique(many, return_inverse=True)
    queries = arithmetic.integers(Q[rows[tie]])
    if A is not None:
        queries = queries @ arithmetic.integers(A)
    scores = (queries[of] * arithmetic.integers(X[token])).sum(-1)
    true = scores == np.maximum.reduceat(scores, np.searchsorted(many, tie))[of]
    many, token = many[true], token[true]
    sets = np.split(token, np.flatnonzero(np.diff(many)) + 1)
    for i, members in zip(np.unique(many), sets, strict=True):
        first[i] = members[0]
    differ = [
        len(members) > 1 and (X[members] != X[members[0]]).any() for members in sets
    ]
    return (rows, first), [
        (rows[i], members)
        for i, members, d in zip(np.unique(many), sets, differ, strict=True)
        if d
    ]


def _balanced(Z, A, blur):
    """Floats as large as 1, whatever they were, and the same sets; whole numbers where floats cannot be so."""
    if Z.dtype == object:
        return arithmetic.integers(Z), None if A is None else arithmetic.integers(A), 0
    e = np.frexp(np.maximum(Z.max((-2, -1)), -Z.min((-2, -1))))[1][:, None, None]
    f = np.zeros((1, 1), int) if A is None else arithmetic.exponent(A, None)
    if max(abs(e).max(), abs(f).max()) < 200:
        return Z, A, blur
    scaled = np.ldexp(Z, -e)
    scaled_A = None if A is None else np.ldexp(A, -f)
    if (np.ldexp(scaled, e) == Z).all() and (
        A is None or (np.ldexp(scaled_A, f) == A).all()
    ):
        return scaled, scaled_A, float(np.ldexp(blur, -e.min()))
    return (
        arithmetic.integers(Z),
        None if A is None else arithmetic.integers(A),
        blur and np.inf,
    )


def _asking(Z, mask):
    return np.arange(Z[..., 0].size) if mask is None else np.flatnonzero(mask)
