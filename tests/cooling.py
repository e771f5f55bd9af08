"""How far softmax may lead from the hardmax run: an account of its own, block by block.

Near a token a feed-forward layer is affine, as long as no neuron changes its mind; and whom a token follows at a
distance weighs exp(-gap / T). So an error that begins at 0 can be followed through the blocks, for each coordinate.
"""

import numpy as np


def softmax_error(machine, X, T):
    """A bound of |softmax's tokens - hardmax's| in the end, (n, d); infinite where a neuron may change its mind.

    Rounding is left out: both runs have errors of their own in floats.
    """
    tokens = (np.asarray(Z, float) for _, _, Z in machine.states(X))
    Z = next(tokens)
    off = np.zeros(Z.shape)
    for B in (block.floats() for block in machine.blocks):
        before = Z @ B.U.T + B.b
        if (abs(before) < off @ abs(B.U).T).any():
            return np.full(off.shape, np.inf)
        J = B.eta * np.eye(len(B.W)) + (B.W * (before > 0)[:, None]) @ B.U
        J[abs(J) < 1e-9] = 0  # rounding of a slope of -1
        off = (abs(J) @ off[..., None])[..., 0]
        off = _after_attention(B, next(tokens), off, T)
        Z = next(tokens)
    return off


def _after_attention(B, Z, off, T):
    """(|rho| + |V|) off, and what is heard of those who are not followed."""
    if not B.V.any():
        return abs(B.rho) * off
    asks, says, value = Z @ B.Q.T @ B.K, Z @ B.K.T @ B.Q, Z @ B.V.T
    scores = asks @ Z.T
    most = off.max(0)
    unsure = (
        (abs(asks) @ most)[:, None] + abs(says) @ most + most @ abs(B.Q.T @ B.K) @ most
    )
    first = scores.argmax(1)
    apart = abs(value - value[first, None])  # what hearing another one would change
    gap = scores.max(1, keepdims=True) - scores
    sure = gap - unsure - np.take_along_axis(unsure, first[:, None], 1)
    heard = np.exp(-np.maximum(sure, 0) / T)
    heard += gap == 0  # hardmax hears all that tie
    heard = (heard[..., None] * apart).sum(1).max(0)
    if not B.Q.any():
        heard = 0  # uniform attention is the mean at every T
    return abs(B.rho) * off + abs(B.V) @ most + heard
