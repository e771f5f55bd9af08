"""The transformer as a dynamical system: every token moves part of the way towards those it follows."""

from dataclasses import dataclass
from math import fsum

import numpy as np

from hmlib import attention, inputs


def step(Z, alpha, A=None, *, mask=None):
    """One layer: z_i + alpha / (1 + alpha) (m_i - z_i), where m_i is the mean of z_j over j in C_i(Z).

    >>> step([[1, 0], [2, 1], [2, -1]], alpha=1)            # token 1 follows both others, which lead
    array([[ 1.5,  0. ],
           [ 2. ,  1. ],
           [ 2. , -1. ]])

    alpha       a number > 0; the other arguments are those of `attention_sets`
    Returns the tokens of the next layer, in the shape of Z; padding stays where it is.
    """
    Z, A, mask = attention.model(Z, A, mask)
    return _layer(Z, inputs.rate(alpha, Z), A, mask)


def simulate(Z, alpha, layers, A=None, *, mask=None):
    """The trajectory Z^0, Z^1, ..., Z^layers of the model.

    >>> path = simulate([[1, 0], [2, 1], [2, -1]], alpha=1, layers=30)
    >>> path.tokens[:4, 0]                                  # on its way to (2, 0), half the distance in each layer
    array([[1.   , 0.   ],
           [1.5  , 0.   ],
           [1.75 , 0.   ],
           [1.875, 0.   ]])
    >>> path.leaders(0)
    array([1, 2])

    alpha       a number > 0, or one per layer: a sequence goes on with its last value
    layers      how many layers, >= 0; the other arguments are those of `attention_sets`
    """
    Z, A, mask = attention.model(Z, A, mask)
    rates, layers = inputs.rates(alpha, Z), inputs.count(layers, "layers")
    tokens = np.empty((layers + 1, *Z.shape), Z.dtype)
    tokens[0] = Z
    for k in range(layers):
        tokens[k + 1] = _layer(tokens[k], rates[min(k, len(rates) - 1)], A, mask)
    return Trajectory(tokens, A, mask)


@dataclass(frozen=True, repr=False)
class Trajectory:
    """The tokens of every layer: `.tokens` is (layers + 1, n, d), or (layers + 1, ..., n, d) for a batch."""

    tokens: np.ndarray
    A: np.ndarray | None = None
    mask: np.ndarray | None = None

    @property
    def layers(self):
        return len(self.tokens) - 1

    def attention_sets(self, k):
        """C_i(Z^k), bool (..., n, n)."""
        return attention.attention_sets(self.tokens[inputs.count(k, "layer", self.layers)], self.A, mask=self.mask)

    def leaders(self, k):
        """The leaders found in layers 0 to k: tokens with C_i(Z^l) = {i} at some layer l <= k.

        Equal tokens count once, by the first. A token that has settled on a leader follows it for ever, so what
        rounding makes of it later is no leader. Returns int (m,), for a batch a list with one array per cloud.
        """
        k = inputs.count(k, "layer", self.layers)
        n, d = self.tokens.shape[-2:]
        paths = self.tokens[: k + 1].reshape(k + 1, -1, n, d)
        masks = [None] * paths.shape[1] if self.mask is None else self.mask.reshape(-1, n)
        found = [_leaders(path, self.A, mask) for path, mask in zip(paths.swapaxes(0, 1), masks, strict=True)]
        return found if self.tokens.ndim > 3 else found[0]

    def __repr__(self):
        return f"Trajectory(layers={self.layers}, tokens of shape {self.tokens.shape[1:]})"


def _layer(Z, alpha, A, mask):
    means = np.empty_like(Z).reshape(-1, *Z.shape[-2:])
    clouds = Z.reshape(means.shape)
    for at, sets in attention.blocks(Z, A, mask):
        means[at] = _means(sets, clouds[at[0]], itself=clouds[at])
    return Z + alpha / (1 + alpha) * (means.reshape(Z.shape) - Z)


def _means(sets, Z, itself):
    """The mean of each set. One value alone is taken as it is, so that a leader stands still to the last bit."""
    cloud = np.arange(len(Z))[:, None]
    means = Z[cloud, sets.argmax(-1)]
    means[~sets.any(-1)] = itself[~sets.any(-1)]  # padding
    for c, i in zip(*attention.mixed_ties(sets, Z), strict=True):
        tied = Z[c, sets[c, i]]
        total = sum if Z.dtype == object else fsum  # fsum: the same in any order of the tokens
        means[c, i] = [total(coordinate) / len(tied) for coordinate in tied.T]
    return means


def _leaders(path, A, mask):
    """The leaders of one cloud: self-followers that have not settled on another token before."""
    equal = (path[0][:, None] == path[0]).all(-1)
    if mask is not None:
        equal &= mask & mask[:, None]
    leads = np.zeros(len(equal), bool)
    settled = np.zeros(len(equal), bool)
    for Z in path:
        sets = attention.attention_sets(Z, A, mask=mask)
        follows_one = sets.any(-1) & (sets <= equal[sets.argmax(-1)]).all(-1)  # a single value of layer 0
        alone = follows_one & equal[np.arange(len(equal)), sets.argmax(-1)]
        leads |= alone & ~settled
        settled |= follows_one & alone[sets.argmax(-1)]
    return np.nonzero(leads & (equal.argmax(-1) == np.arange(len(equal))))[0]
