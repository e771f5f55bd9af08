"""The model as a dynamical system: tokens move part of the way to those they follow."""

from dataclasses import dataclass

import numpy as np

from hmlib import arithmetic, attention, inputs
from hmlib.shapes import Cloud, Indices, Mask, Matrix, Number, Rates, Sets, Tokens

TOGETHER = 64  # clouds that ask together: those in which about as many still ask


def step(
    Z: Tokens, alpha: Number, A: Matrix | None = None, *, mask: Mask | None = None
) -> Tokens:
    """One layer: z_i + alpha / (1 + alpha) (m_i - z_i), m_i = mean of z_j, j in C_i(Z).

    >>> step([[1, 0], [2, 1], [2, -1]], alpha=1)   # token 1 follows two, which lead
    array([[ 1.5,  0. ],
           [ 2. ,  1. ],
           [ 2. , -1. ]])

    alpha  a number > 0; the other arguments are those of `attention_sets`
    Returns the tokens of the next layer, in the shape of Z; padding stays where it is.
    """
    Z, A, mask = inputs.layer(Z, A, mask)
    inputs.summable(Z)
    clouds, real = inputs.as_batch(Z, mask)
    goals = attention.attend(clouds, clouds, A, real).means(clouds).reshape(Z.shape)
    goals = goals if mask is None else np.where(mask[..., None], goals, Z)
    return advance(Z, goals, inputs.rate(alpha, Z))


def simulate(
    Z: Tokens,
    alpha: Rates,
    layers: int,
    A: Matrix | None = None,
    *,
    mask: Mask | None = None,
) -> "Trajectory":
    """The trajectory Z^0, Z^1, ..., Z^layers of the model.

    >>> path = simulate([[1, 0], [2, 1], [2, -1]], alpha=1, layers=30)
    >>> path.tokens[:4, 0]            # on its way to (2, 0), by half in each layer
    array([[1.   , 0.   ],
           [1.5  , 0.   ],
           [1.75 , 0.   ],
           [1.875, 0.   ]])
    >>> path.leaders(0)
    array([1, 2])

    alpha   a number > 0, or one per layer: a sequence goes on with its last value
    layers  how many layers, >= 0; the other arguments are those of `attention_sets`
    """
    Z, A, mask = inputs.layer(Z, A, mask)
    rates = inputs.rates(alpha, inputs.summable(Z))
    layers = inputs.count(layers, "layers")
    instead = "Go through fewer layers at a time, or take limit."
    inputs.room((layers + 1, *Z.shape), 8, "simulate", instead)
    tokens = np.empty((layers + 1, *Z.shape), Z.dtype)
    tokens[0] = Z
    clouds, real = inputs.as_batch(Z, mask)
    settled = np.zeros(clouds.shape[:2], bool) if real is None else ~real
    leads, goals = np.zeros_like(settled), Z.copy()  # padding stays where it is
    done = False
    for k in range(layers):
        if not done:
            X, goal = (tokens.reshape(clouds.shape) for tokens in (tokens[k], goals))
            _look(X, A, real, goal, leads, settled)
            done = settled.all()
        advance(tokens[k], goals, rates[min(k, len(rates) - 1)], out=tokens[k + 1])
    return Trajectory(tokens, A, None if mask is None else mask.copy())


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """The `tokens` of every layer: (layers + 1, n, d), or (layers + 1, ..., n, d)."""

    tokens: Tokens
    A: Matrix | None = None
    mask: Mask | None = None

    @property
    def layers(self) -> int:
        return len(self.tokens) - 1

    def attention_sets(self, k: int) -> Sets:
        """C_i(Z^k), bool (..., n, n)."""
        Z = self.tokens[inputs.count(k, "layer", self.layers)]
        return attention.attention_sets(Z, self.A, mask=self.mask)

    def leaders(self, k: int) -> Indices | list[Indices]:
        """The leaders found in layers 0 to k: C_i(Z^l) = {i} at some layer l <= k.

        Equal tokens count once, by the first. A token that has settled on a leader
        follows it for ever, so what rounding makes of it later is no leader.
        Returns int (m,), for a batch a list with one array per cloud.
        """
        k = inputs.count(k, "layer", self.layers)
        n, d = self.tokens.shape[-2:]
        paths = self.tokens[: k + 1].reshape(k + 1, -1, n, d).swapaxes(0, 1)
        real = np.ones(paths.shape[::2], bool)
        real = real if self.mask is None else self.mask.reshape(-1, n)
        leaders = [_leaders(*cloud, self.A) for cloud in zip(paths, real, strict=True)]
        return leaders if self.tokens.ndim > 3 else leaders[0]

    def __repr__(self):
        shape = self.tokens.shape[1:]
        return f"Trajectory(layers={self.layers}, tokens of shape {shape})"


def advance(
    Z: Tokens, goals: Tokens, alpha: Number, out: Tokens | None = None
) -> Tokens:
    """z + alpha / (1 + alpha) (m - z). A leader stands still to the last bit."""
    out = np.subtract(goals, Z, out=out)
    out *= alpha / (1 + alpha)
    out += Z
    return out


def _look(X, A, real, goals, leads, settled):
    """Where those go that have not settled, who of them leads, and who settles."""
    n, d = X.shape[1:]
    tokens, goals = X.reshape(-1, d), goals.reshape(-1, d)
    waiting = n - settled.sum(1)
    clouds = np.argsort(-waiting, kind="stable")[: np.count_nonzero(waiting)]
    for at in range(0, len(clouds), TOGETHER):
        some = clouds[at : at + TOGETHER]
        # In these about as many ask; where some have settled, they fill up the array.
        ask = np.argsort(settled[some], 1, kind="stable")[:, : waiting[some[0]]]
        start = some[:, None] * n
        ask, padding = start + ask, None if real is None else real[some]
        who = attention.attend(tokens.take(ask, 0), X[some], A, padding)
        first, alone, fresh = start + who.first, who.alone(), ~settled.take(ask)
        goals[ask[fresh]] = who.means(X[some])[fresh]
        leads.reshape(-1)[ask[fresh & alone & (first == ask)]] = True
        # C_i = {v} and C_v = {v}: that is so for ever, and nobody asks again.
        settled.reshape(-1)[ask[alone & leads.take(first)]] = True


def _leaders(path: Cloud, real: Mask, A: Matrix | None) -> Indices:
    """The leaders of one cloud: self-followers that had not settled on another."""
    names = np.flatnonzero(real)
    path = path[:, names]
    first, value = arithmetic.distinct(path[0])
    copies = np.bincount(value)[value]
    leads, settled = np.zeros(len(names), bool), np.zeros(len(names), bool)
    for Z in path[:, None]:
        who = attention.attend(Z, Z, A)
        to, now = who.first[0], arithmetic.distinct(Z[0])[1]
        # a single value of layer 0: as many copies as then
        one = who.alone()[0] & (np.bincount(now)[now[to]] == copies[to])
        alone = one & (value[to] == value)
        leads |= alone & ~settled
        settled |= one & alone[to]
    return names[first[leads[first]]]
