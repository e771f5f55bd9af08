"""Beyond the assumptions: the same layer, with each assumption of the theorem a dial.

Any square matrix, several heads, values, softmax, a tolerance, other ways to break ties, causal masks, other
normalisations, a feed-forward sublayer. Untouched, every dial is at the theorem's case, and a layer is that of `step`,
to the last bit on floats and exactly on fractions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hmlib import arithmetic, attention, dynamics, inputs

TIES, NORMALISE = ("mean", "first", "self"), ("paper", "none", "rms", "layer")


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: z + alpha / (1 + alpha) (m - z), where m is the mean over the heads of V m_h, and head h has its own A.

    alpha         a number > 0
    A             any square matrix, (d, d), or one for each head, (heads, d, d); the identity if None
    V             what the followed tokens are multiplied with, in the same form; the identity if None
    temperature   T > 0: m_h is the softmax mean, with weights that go like exp(<A z_i, z_j> / T)
    tolerance     > 0: whoever comes so close to the maximum is followed, too (localmax)
    ties          the "mean" of all, the "first" of them, or "self": whoever is in its own set follows itself alone
    causal        token i sees the tokens 1 to i alone
    normalise     "paper": as above; "none": z + alpha m; "rms" and "layer": that, then each token on its own is scaled to
                  mean square 1, "layer" after its mean is taken away
    feed_forward  a function f of the tokens: z + f(z) comes next, and is scaled again ("rms" and "layer")
    """

    alpha: float = 1
    A: object = None
    V: object = None
    temperature: float = 0
    tolerance: float = 0
    ties: str = "mean"
    causal: bool = False
    normalise: str = "paper"
    feed_forward: Callable | None = None

    def __post_init__(self):
        inputs.number(self.alpha, "alpha", "> 0", exact=True)
        for name in ("temperature", "tolerance"):
            object.__setattr__(
                self,
                name,
                inputs.number(
                    getattr(self, name), name, ">= 0", exact=name == "tolerance"
                ),
            )
        inputs.choice(self.ties, "ties", TIES)
        inputs.choice(self.normalise, "normalise", NORMALISE)
        if (self.temperature > 0) + (self.tolerance > 0) + (self.ties != "mean") > 1:
            raise ValueError(
                "temperature, tolerance and ties exclude each other: expected at most one of them."
            )
        inputs.flag(self.causal, "causal")
        if self.feed_forward is not None and not callable(self.feed_forward):
            raise ValueError(
                f"feed_forward is {inputs.shown(self.feed_forward)}: expected a function, or None."
            )


def vary(Z, layers, *, mask=None):
    """The tokens before and after each of the layers: (layers + 1, n, d), or (layers + 1, ..., n, d) for a batch.

    >>> turn = Layer(alpha=1, A=[[1, -4], [4, 1]])           # positive definite, but it turns: each follows the next
    >>> vary([[8, 0], [-4, 7], [-4, -7]], [turn] * 20)[-1].round(4) + 0
    array([[0., 0.],
           [0., 0.],
           [0., 0.]])

    layers  a `Layer`, or a sequence of them; Z and mask are those of `step`
    """
    layers = (
        [layers]
        if isinstance(layers, Layer)
        else inputs.sequence(layers, "layers", "Layers")
    )
    if not all(isinstance(layer, Layer) for layer in layers):
        raise ValueError(
            "layers has something else in it: expected a Layer, or a sequence of them."
        )
    Z = inputs.cloud(Z)
    mask = inputs.real_tokens(mask, Z)
    inputs.room(
        (len(layers) + 1, *Z.shape), 8, "vary", "Go through fewer layers at a time."
    )
    if any(layer.temperature or layer.tolerance or layer.causal for layer in layers):
        arrays = (
            4 + Z.shape[-1],
            *Z.shape[:-1],
            Z.shape[-2],
        )  # scores, and what is made of them
        inputs.room(
            arrays,
            8,
            "vary",
            "Pass fewer tokens, or take hardmax, without a tolerance and not causal.",
        )
    path = [Z]
    for k, layer in enumerate(layers, 1):
        with np.errstate(over="ignore", invalid="ignore"):
            new = inputs.in_range(_after(path[-1], layer, mask), f"layer {k}")
        path.append(new if mask is None else np.where(mask[..., None], new, Z))
    return np.stack(path)


def settled(Z, layer):
    """(goals, sure): where each token goes now, and whether it goes there for ever, exact on fractions.

    >>> goals, sure = settled([[3, 0], [-3, 1], [1, 1]], Layer(A=[[1, 1], [0, 1]]))
    >>> goals.tolist(), sure.tolist()
    ([[3.0, 0.0], [-3.0, 1.0], [3.0, 0.0]], [True, True, True])

    A token is sure if all whom it follows, one in each head, lead in every head, and it would follow them from its goal,
    too. For one head that is the lemma of settlement, and it holds for every square A. Only A, alpha and the number of
    heads may differ from the theorem's case.
    """
    others = [
        name for name in Layer.__dataclass_fields__ if name not in ("alpha", "A", "V")
    ]
    if inputs.instance(layer, "layer", Layer).V is not None or any(
        getattr(layer, name) != getattr(Layer(), name) for name in others
    ):
        raise ValueError(
            "settled knows hardmax with any A and any number of heads: leave the other dials as they are."
        )
    Z = inputs.cloud(Z)
    if Z.ndim != 2:
        raise ValueError(f"Z has shape {Z.shape}: expected one cloud, (n, d).")
    heads, of = _heads(layer, Z), arithmetic.distinct(Z)[1]
    chosen = [_single(Z, Z, A) for A, _ in heads]
    leads = np.all([alone & (of[first] == of) for first, alone in chosen], axis=0)
    goals = _average([Z[first] for first, _ in chosen])
    sure = np.ones(len(Z), bool)
    for (first, alone), (A, _) in zip(chosen, heads, strict=True):
        again, still = _single(goals, Z, A)
        sure &= alone & leads[first] & still & (of[again] == of[first])
    return goals, sure


def _after(Z, layer, mask):
    """The tokens after one layer."""
    if Z.dtype == object and (layer.temperature or layer.normalise in ("rms", "layer")):
        what = "softmax" if layer.temperature else f"normalise={layer.normalise!r}"
        raise ValueError(
            f"{what} leaves the rationals, but the tokens are Fractions: pass floats."
        )
    alpha = inputs.rate(layer.alpha, Z)
    found = [(_mean(Z, A, layer, mask), V) for A, V in _heads(layer, Z)]
    found = [m if V is None else m @ V.T for m, V in found]
    goal = _average(found)
    paper = layer.normalise == "paper"
    new = (
        dynamics.advance(Z, goal, alpha)
        if paper
        else _scaled(Z + alpha * goal, layer.normalise)
    )
    if layer.feed_forward is None:
        return new
    more = inputs.numbers(layer.feed_forward(new.copy()), "what feed_forward returns")
    if more.shape != new.shape:
        raise ValueError(
            f"feed_forward returns shape {more.shape}: expected that of the tokens, {new.shape}."
        )
    return _scaled(
        new + arithmetic.like(more, new, "what feed_forward returns"), layer.normalise
    )


def _heads(layer, Z):
    """(A, V) of each head; None is the identity."""
    A, V = (
        [None] if M is None else inputs.square(M, Z, name, True)
        for M, name in ((layer.A, "A"), (layer.V, "V"))
    )
    if len(A) != len(V) and min(len(A), len(V)) > 1:
        raise ValueError(
            f"A has {len(A)} heads but V has {len(V)}: expected as many, or one for all."
        )
    return [(A[h % len(A)], V[h % len(V)]) for h in range(max(len(A), len(V)))]


def _average(found):
    """The mean over the heads; where they agree, that to the last bit."""
    return (
        found[0] + sum((m - found[0] for m in found[1:]), 0) / len(found)
        if len(found) > 1
        else found[0]
    )


def _mean(Z, A, layer, mask):
    """m_i: what token i follows, as one point."""
    n, d = Z.shape[-2:]
    if layer.temperature or layer.tolerance:
        (X, size), (B, weight) = _small(Z), (None, 0) if A is None else _small(A)
        scores = (X if B is None else X @ B.T) @ X.swapaxes(-1, -2)
        seen = np.tri(n, k=0 if layer.causal else n, dtype=bool)
        seen = np.broadcast_to(
            seen
            if mask is None
            else (seen & mask[..., None, :]) | np.eye(n, dtype=bool),
            scores.shape,
        )
        gap = np.where(seen, scores, scores.min() - 1).max(-1, keepdims=True) - scores
        gap = np.ldexp(gap, 2 * size + weight) if size or weight else gap
        if layer.temperature:
            weights = np.where(seen, np.exp(-np.maximum(gap, 0) / layer.temperature), 0)
        else:
            weights = (
                seen
                & (
                    gap
                    <= arithmetic.like(np.asarray(layer.tolerance), Z, "tolerance")[()]
                )
            ).astype(Z.dtype)
        return weights @ Z / weights.sum(-1, keepdims=True)
    tokens = Z.reshape(-1, d)
    first, ties = _choose(
        Z.reshape(-1, n, d), Z.reshape(-1, n, d), A, layer.causal, mask
    )
    goals = tokens.take(first, 0)
    for rows, members in ties if layer.ties != "first" else ():
        own = np.isin(rows, members) & (layer.ties == "self")
        goals[rows[~own]], goals[rows[own]] = (
            dynamics.mean(tokens[members]),
            tokens[rows[own]],
        )
    return goals.reshape(Z.shape)


def _small(X):
    """(X / 2^e, e): floats whose products are floats, too."""
    e = 0 if X.dtype == object else int(arithmetic.exponent(X, None).item())
    return (np.ldexp(X, -e), e) if abs(e) > 200 else (X, 0)


def _choose(Q, X, A, causal=False, mask=None):
    """`attention.choose` for any A: <A z_i, z_j>, exactly; for the tokens Q that ask and those X that are asked."""
    (b, m, d), n = Q.shape, X.shape[1]
    both, A, _ = attention._balanced(
        np.concatenate([Q, X], axis=1), None if A is None else A.T, 0
    )
    Q, X = both[:, :m], both[:, m:]
    heard = None if mask is None else mask.reshape(b, n)
    if causal:  # whoever asks is a cloud by himself
        Q, X = Q.reshape(b * m, 1, d), np.repeat(X, m, axis=0)
        heard = np.tile(np.tri(n, dtype=bool), (b, 1)) & (
            True if heard is None else np.repeat(heard, m, axis=0)
        )
        heard[~heard.any(-1), 0] = (
            True  # padding before the first word: it stays where it is anyway
        )
    first, ties = attention.dense(Q, X, A, heard)
    if causal:
        first = first // (n * n) * n + first % n
        ties = [(rows, members // (n * n) * n + members % n) for rows, members in ties]
    return first, ties


def _single(Q, Z, A):
    """Whom each of Q follows, and whether it is the only value."""
    first, ties = _choose(Q[None], Z[None], A)
    alone = np.ones(len(Q), bool)
    for rows, _ in ties:
        alone[rows] = False
    return first, alone


def _scaled(Z, how):
    """Each token with mean square 1, if the norm is one of the two that do this; a token at 0 stays."""
    if how in ("paper", "none"):
        return Z
    Z = arithmetic.unit(
        Z, -1
    )  # the same after scaling, and no square leaves the range of floats
    Z = Z - Z.mean(-1, keepdims=True) if how == "layer" else Z
    size = np.sqrt((Z**2).mean(-1, keepdims=True))
    return Z / np.where(size == 0, 1, size)
