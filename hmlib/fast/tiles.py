"""All scores, with few in memory: which are close to the largest of their row?

Both ways yield, a block at a time, (how many rows, row, token): pairs with a score
within the error of the row's largest, tokens ascending in each row. Rows and tokens are
counted through all clouds.
"""

import numpy as np

from hmlib import fast

WIDTH = 128  # tokens of a tile
ACROSS = 512  # tokens; blocks of more are as narrow, so that BLAS takes one core


def in_blocks(looks, keys, error, real=None):
    """For clouds of any size: looks (b, m, d), keys (b, n, d), real or not (b, n)."""
    (b, m, d), n = looks.shape, keys.shape[1]
    rows = max(1, fast.BLOCK // min(n, ACROSS) // d)
    clouds = max(1, fast.BLOCK // (min(m + 1, rows) * n))
    for c in range(0, b, clouds):
        for r in range(0, m, rows):
            part = slice(c, c + clouds), slice(r, r + rows)
            scores = keys[part[0]] @ np.ascontiguousarray(looks[part].swapaxes(-1, -2))
            fast.WORK["scores"] += scores.size
            if real is not None:
                np.copyto(scores, -np.inf, where=~real[part[0], :, None])
            least = scores.max(-2) - error[part]  # scores are [cloud, token, row]
            near = np.flatnonzero(scores >= least[:, None])
            token, row = np.divmod(near, scores.shape[-1])
            yield least.size, row + (c + token // n) * m + r, token + c * n


def in_tiles(looks, keys, error):
    """For one large cloud: looks (m, d), keys (n, d), error (m,).

    Its products are small, so each is the work of one core. Blocks of 5,000 tokens
    BLAS shares among two, at 8 times the processor time.
    """
    m, n, d = len(looks), *keys.shape
    tiles = np.resize(np.arange(n), (-(-n // WIDTH), WIDTH))  # the last begins again
    rows = max(1, fast.BLOCK // ACROSS // d)
    for at in range(0, m, rows):
        look = looks[at : at + rows]
        row, token = _look_twice(look, keys, tiles, error[at : at + rows])
        fast.WORK["scores"] += len(look) * tiles.size
        yield len(look), at + row, token


def _look_twice(looks, keys, tiles, error):
    """First at the largest score of each tile, then into the tiles that may have it."""
    across = np.ascontiguousarray(looks.T)
    together = max(1, fast.BLOCK // (WIDTH * len(looks)))
    parts = range(0, len(tiles), together)
    tops = [(keys[tiles[at : at + together]] @ across).max(-2) for at in parts]
    tops = np.concatenate(tops)
    least = tops.max(0) - error
    row, tile = np.nonzero((tops >= least).T)
    scores = (keys[tiles[tile]] @ looks[row, :, None])[..., 0]
    pair, slot = np.nonzero(scores >= least[row, None])
    return np.unique([row[pair], tiles[tile[pair], slot]], axis=1)  # in two tiles: once
