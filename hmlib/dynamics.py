"""The transformer as a dynamical system: every token moves part of the way towards those it follows."""

from dataclasses import dataclass
from math import fsum

import numpy as np

from hmlib import arithmetic, attention, inputs
from hmlib.shapes import Indices, Mask, Matrix, Number, Rates, Sets, Tokens

PIECE = (
    2**15
)  # numbers that are moved at a time: few enough for the processor's own memory


def step(
    Z: Tokens, alpha: Number, A: Matrix | None = None, *, mask: Mask | None = None
) -> Tokens:
    """One layer: z_i + alpha / (1 + alpha) (m_i - z_i), where m_i is the mean of z_j over j in C_i(Z).

    >>> step([[1, 0], [2, 1], [2, -1]], alpha=1)            # token 1 follows both others, which lead
    array([[ 1.5,  0. ],
           [ 2. ,  1. ],
           [ 2. , -1. ]])

    alpha       a number > 0; the other arguments are those of `attention_sets`
    Returns the tokens of the next layer, in the shape of Z; padding stays where it is.
    """
    Z, A, mask = attention.model(Z, A, mask)
    inputs.summable(Z)
    return advance(Z, _Targets(Z, A, mask).of(Z, once=True), inputs.rate(alpha, Z))


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
    rates, layers = (
        inputs.rates(alpha, inputs.summable(Z)),
        inputs.count(layers, "layers"),
    )
    inputs.room(
        (layers + 1, *Z.shape),
        8,
        "simulate",
        "Go through fewer layers at a time, or take limit.",
    )
    tokens = np.empty((layers + 1, *Z.shape), Z.dtype)
    tokens[0] = Z
    targets = _Targets(Z, A, mask)
    for k in range(layers):
        advance(
            tokens[k],
            targets.of(tokens[k]),
            rates[min(k, len(rates) - 1)],
            out=tokens[k + 1],
        )
    return Trajectory(tokens, A, mask)


@dataclass(frozen=True, repr=False)
class Trajectory:
    """The tokens of every layer: `.tokens` is (layers + 1, n, d), or (layers + 1, ..., n, d) for a batch."""

    tokens: np.ndarray
    A: np.ndarray | None = None
    mask: np.ndarray | None = None

    @property
    def layers(self) -> int:
        return len(self.tokens) - 1

    def attention_sets(self, k: int) -> Sets:
        """C_i(Z^k), bool (..., n, n)."""
        return attention.attention_sets(
            self.tokens[inputs.count(k, "layer", self.layers)], self.A, mask=self.mask
        )

    def leaders(self, k: int) -> Indices | list[Indices]:
        """The leaders found in layers 0 to k: tokens with C_i(Z^l) = {i} at some layer l <= k.

        Equal tokens count once, by the first. A token that has settled on a leader follows it for ever, so what
        rounding makes of it later is no leader. Returns int (m,), for a batch a list with one array per cloud.
        """
        k = inputs.count(k, "layer", self.layers)
        n, d = self.tokens.shape[-2:]
        paths = self.tokens[: k + 1].reshape(k + 1, -1, n, d)
        masks = (
            [None] * paths.shape[1] if self.mask is None else self.mask.reshape(-1, n)
        )
        found = [
            _leaders(path, self.A, mask)
            for path, mask in zip(paths.swapaxes(0, 1), masks, strict=True)
        ]
        return found if self.tokens.ndim > 3 else found[0]

    def __repr__(self):
        return (
            f"Trajectory(layers={self.layers}, tokens of shape {self.tokens.shape[1:]})"
        )


class _Targets:
    """Where each token goes, layer by layer. Who settles is not asked again: C_i = {v} and C_v = {v} is so for ever."""

    def __init__(self, Z, A, mask):
        self.A, self.mask = A, mask
        self.asking = (
            np.arange(Z[..., 0].size) if mask is None else np.flatnonzero(mask)
        )
        self.leads = np.zeros(Z[..., 0].size, bool)
        self.targets = None  # at first the tokens themselves: padding stays where it is

    def of(self, Z, once=False):
        """The means over C_i(Z), for the tokens of the next layer; once: for no other layer after that."""
        if len(self.asking) == 0:
            return self.targets
        tokens = Z.reshape(-1, Z.shape[-1])
        first, ties = attention.choose(
            Z.reshape(-1, *Z.shape[-2:]), self.A, self.mask, self.asking
        )
        goals = tokens.take(first, 0)
        for rows, members in ties:
            goals[rows] = mean(tokens[members])
        if len(self.asking) < len(tokens):
            self.targets = tokens.copy() if self.targets is None else self.targets
            self.targets[self.asking] = goals
        else:
            self.targets = goals
        if not once:
            single = np.ones(len(first), bool)
            for rows, _ in ties:
                single[rows] = False
            self.leads[self.asking[single & (first == self.asking)]] = True
            self.asking = self.asking[~(single & self.leads.take(first))]
        return self.targets


def advance(Z, targets, alpha, out=None):
    """z + alpha / (1 + alpha) (m - z), a piece at a time. A leader stands still to the last bit."""
    out = np.empty_like(Z) if out is None else out
    new, old, goal = (X.reshape(-1) for X in (out, Z, targets))
    for at in range(0, len(new), PIECE):
        piece = slice(at, at + PIECE)
        part = np.subtract(goal[piece], old[piece], out=new[piece])
        part *= alpha / (1 + alpha)
        part += old[piece]
    return out


def mean(members):
    """The mean of tokens with different values, the same in any order of them."""
    total = sum if members.dtype == object else fsum
    return [total(coordinate) / len(members) for coordinate in members.T]


def _leaders(path, A, mask):
    """The leaders of one cloud: self-followers that have not settled on another token before."""
    real = np.arange(path.shape[1]) if mask is None else np.flatnonzero(mask)
    path = path[:, real]
    first, of = arithmetic.distinct(path[0])
    copies = np.bincount(of)[of]
    leads, settled = np.zeros(len(real), bool), np.zeros(len(real), bool)
    for Z in path:
        to, ties = attention.choose(Z[None], A)
        now = arithmetic.distinct(Z)[1]
        one = np.bincount(now)[now[to]] == copies[to]  # a single value of layer 0
        for rows, _ in ties:
            one[rows] = False
        alone = one & (of[to] == of)
        leads |= alone & ~settled
        settled |= one & alone[to]
    return real[np.flatnonzero(leads & (first[of] == np.arange(len(real))))]
