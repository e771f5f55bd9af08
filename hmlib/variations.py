"""Beyond the assumptions: the same layer, with each assumption of the theorem a dial.

Any square matrix, several heads, values, softmax, a tolerance, other ways to break
ties, causal masks, other normalisations, a feed-forward sublayer. Untouched, every dial
is at the theorem's case, and a layer is that of `step`, to the last bit on floats and
exactly on fractions.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from hmlib import arithmetic, attention, dynamics, inputs
from hmlib.shapes import Cloud, Mask, Matrix, Number, Tokens

TIES, NORMALISE = ("mean", "first", "self"), ("paper", "none", "rms", "layer")


@dataclass(frozen=True, eq=False)
class Layer:
    """z + alpha / (1 + alpha) (m - z), m the mean over heads of V m_h, each with its A.

    alpha         a number > 0
    A             any square matrix, (d, d), or one for each head, (heads, d, d); the
                  identity if None
    V             what the followed tokens are multiplied with, in the same form; the
                  identity if None
    temperature   T > 0: m_h is the softmax mean, of weights like exp(<A z_i, z_j> / T)
    tolerance     > 0: whoever comes so close to the maximum is followed, too (localmax)
    ties          the "mean" of all, the "first" of them, or "self": whoever is in its
                  own set follows itself alone
    causal        token i sees the tokens 1 to i alone
    normalise     "paper": as above; "none": z + alpha m; "rms" and "layer": that, then
                  each token is scaled to mean square 1, "layer" after its mean is taken
                  away
    feed_forward  a function f of the tokens: z + f(z) comes next, and is scaled again
                  ("rms" and "layer")
    """

    alpha: Number = 1
    A: Matrix | None = None
    V: Matrix | None = None
    temperature: float = 0
    tolerance: Number = 0
    ties: str = "mean"
    causal: bool = False
    normalise: str = "paper"
    feed_forward: Callable[[Tokens], Tokens] | None = None

    def __post_init__(self):
        inputs.number(self.alpha, "alpha", "> 0", exact=True)
        for name, exact in (("temperature", False), ("tolerance", True)):
            value = inputs.number(getattr(self, name), name, ">= 0", exact)
            object.__setattr__(self, name, value)
        inputs.choice(self.ties, "ties", TIES)
        inputs.choice(self.normalise, "normalise", NORMALISE)
        if (self.temperature > 0) + (self.tolerance > 0) + (self.ties != "mean") > 1:
            dials = "temperature, tolerance and ties exclude each other"
            inputs.refuse(dials, "at most one of them")
        inputs.flag(self.causal, "causal")
        right = self.feed_forward is None or callable(self.feed_forward)
        inputs.check(right, "feed_forward", self.feed_forward, "a function, or None")


def vary(
    Z: Tokens, layers: Layer | list[Layer], *, mask: Mask | None = None
) -> np.ndarray:
    """The tokens before and after each of the layers: (layers + 1, ..., n, d).

    >>> turn = Layer(alpha=1, A=[[1, -4], [4, 1]])   # each follows the next
    >>> vary([[8, 0], [-4, 7], [-4, -7]], [turn] * 20)[-1].round(4) + 0
    array([[0., 0.],
           [0., 0.],
           [0., 0.]])

    layers  a `Layer`, or a sequence of them; Z and mask are those of `step`
    """
    layers = [layers] if isinstance(layers, Layer) else layers
    layers = inputs.sequence(layers, "layers", "Layers")
    if not all(isinstance(layer, Layer) for layer in layers):
        given = "layers has something else in it"
        inputs.refuse(given, "a Layer, or a sequence of them")
    Z = inputs.cloud(Z)
    mask = inputs.real_tokens(mask, Z)
    instead = "Go through fewer layers at a time."
    inputs.room((len(layers) + 1, *Z.shape), 8, "vary", instead)
    if any(layer.temperature or layer.tolerance or layer.causal for layer in layers):
        *batch, n, d = Z.shape
        instead = "or take hardmax, without a tolerance and not causal."
        instead = f"Pass fewer tokens, {instead}"
        # scores, and what is made of them
        inputs.room((4 + d, *batch, n, n), 8, "vary", instead)
    path = [Z]
    for k, layer in enumerate(layers, 1):
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                new = _after(path[-1], layer, mask)
        except OverflowError:  # in the sum of a tie
            new = np.inf
        new = inputs.in_range(new, f"layer {k}")
        path.append(new if mask is None else np.where(mask[..., None], new, Z))
    return np.stack(path)


def settle(Z: Cloud, layer: Layer) -> tuple[Cloud, Mask]:
    """(goals, sure): where each token goes now, and whether it goes there for ever.

    >>> goals, sure = settle([[3, 0], [-3, 1], [1, 1]], Layer(A=[[1, 1], [0, 1]]))
    >>> goals.tolist(), sure.tolist()
    ([[3.0, 0.0], [-3.0, 1.0], [3.0, 0.0]], [True, True, True])

    A token is sure if all whom it follows, one in each head, lead in every head, and it
    would follow them from its goal, too. For one head that is the lemma of settlement,
    and it holds for every square A. Exact on fractions. Only A, alpha and the number of
    heads may differ from the theorem's case.
    """
    inputs.instance(layer, "layer", Layer)
    others = [x for x in fields(Layer) if x.name not in ("alpha", "A", "V")]
    touched = [x.name for x in others if getattr(layer, x.name) != x.default]
    if layer.V is not None or touched:
        known = "settle knows hardmax with any A and any number of heads"
        raise ValueError(f"{known}: leave the other dials as they are.")
    Z = inputs.cloud(Z)
    inputs.check(Z.ndim == 2, "Z", Z, "one cloud, (n, d)")
    value, heads = arithmetic.distinct(Z)[1], [A for A, _ in _heads(layer, Z)]
    now = [_single(Z, Z, A) for A in heads]
    leads = np.all([alone & (value[to] == value) for to, alone in now], axis=0)
    goals = _average([Z[to] for to, _ in now])
    sure = np.ones(len(Z), bool)
    for A, (to, alone) in zip(heads, now, strict=True):
        then, still = _single(goals, Z, A)
        sure &= alone & leads[to] & still & (value[then] == value[to])
    return goals, sure


def _after(Z, layer, mask):
    """The tokens after one layer."""
    if Z.dtype == object and (layer.temperature or layer.normalise in ("rms", "layer")):
        what = "softmax" if layer.temperature else f"normalise={layer.normalise!r}"
        leaves = f"{what} leaves the rationals, but the tokens are Fractions"
        raise ValueError(f"{leaves}: pass floats.")
    alpha = inputs.rate(layer.alpha, Z)
    mean = _near_mean if layer.temperature or layer.tolerance else _hard_mean
    means = [(mean(Z, A, layer, mask), V) for A, V in _heads(layer, Z)]
    goal = _average([m if V is None else m @ V for m, V in means])
    if layer.normalise == "paper":
        new = dynamics.advance(Z, goal, alpha)
    else:
        new = _scaled(Z + alpha * goal, layer.normalise)
    if layer.feed_forward is None:
        return new
    what = "what feed_forward returns"
    more = inputs.numbers(layer.feed_forward(new.copy()), what)
    if more.shape != new.shape:
        given = f"feed_forward returns shape {more.shape}"
        inputs.refuse(given, f"that of the tokens, {new.shape}")
    return _scaled(new + arithmetic.like(more, new, what), layer.normalise)


def _heads(layer, Z):
    """(A^T, V^T) of each head, because tokens are rows; None is the identity."""
    A, V = (
        [None] if M is None else inputs.square(M, Z, name, True).swapaxes(1, 2)
        for M, name in ((layer.A, "A"), (layer.V, "V"))
    )
    if len(A) != len(V) and min(len(A), len(V)) > 1:
        given = f"A has {len(A)} heads but V has {len(V)}"
        inputs.refuse(given, "as many, or one for all")
    return [(A[h % len(A)], V[h % len(V)]) for h in range(max(len(A), len(V)))]


def _average(means):
    """The mean over the heads; where they agree, that to the last bit."""
    one, *others = means
    return one + sum((m - one for m in others), 0) / len(means) if others else one


def _hard_mean(Z, A, layer, mask):
    """m_i: the mean of those whom token i follows."""
    X, real = inputs.as_batch(Z, mask)
    attend = _attend_causally if layer.causal else attention.attend
    who = attend(X, X, A, real)
    if layer.ties == "first":
        return np.take_along_axis(X, who.first[..., None], 1).reshape(Z.shape)
    means = who.means(X)
    for c, rows, members in who.ties if layer.ties == "self" else ():
        own = rows[np.isin(rows, members)]
        means[c, own] = X[c, own]
    return means.reshape(Z.shape)


def _near_mean(Z, A, layer, mask):
    """m_i, of all whose score is nearly the largest: by temperature, or tolerance."""
    n = Z.shape[-2]
    (X, size), (B, size_A) = _small(Z), (None, 0) if A is None else _small(A)
    scores = (X if B is None else X @ B) @ X.swapaxes(-1, -2)
    seen = np.tri(n, k=0 if layer.causal else n, dtype=bool)
    if mask is not None:
        seen = (seen & mask[..., None, :]) | np.eye(n, dtype=bool)
    top = np.where(seen, scores, scores.min() - 1).max(-1, keepdims=True)
    gap, size = top - scores, 2 * size + size_A
    gap = np.ldexp(gap, size) if size else gap
    if layer.temperature:
        weights = np.where(seen, np.exp(-np.maximum(gap, 0) / layer.temperature), 0)
    else:
        least = arithmetic.like(np.asarray(layer.tolerance), Z, "tolerance")[()]
        weights = (seen & (gap <= least)).astype(Z.dtype)
    return weights @ Z / weights.sum(-1, keepdims=True)


def _small(X):
    """(X / 2^e, e): floats whose products are floats, too."""
    e = 0 if X.dtype == object else int(arithmetic.exponent(X, None).item())
    return (np.ldexp(X, -e), e) if abs(e) > 200 else (X, 0)


def _attend_causally(Q, X, A, real):
    """Token i of cloud c asks a cloud of its own, c n + i: those after it hide."""
    b, n, d = X.shape
    past = np.tile(np.tri(n, dtype=bool), (b, 1))
    if real is not None:
        past &= np.repeat(real, n, axis=0)
        past[~past.any(1), 0] = True  # padding before the first word stays anyway
    who = attention.attend(Q.reshape(-1, 1, d), np.repeat(X, n, axis=0), A, past)
    ties = [(c // n, rows + c % n, members) for c, rows, members in who.ties]
    return attention.Followed(who.first.reshape(b, n), ties)


def _single(Q, Z, A):
    """Whom each of Q follows, and whether that is the only value."""
    who = attention.attend(Q[None], Z[None], A)
    return who.first[0], who.alone()[0]


def _scaled(Z, how):
    """Each token with mean square 1, for two of the norms; a token at 0 stays."""
    if how in ("paper", "none"):
        return Z
    Z = arithmetic.unit(Z, -1)  # changes nothing, and no square leaves the floats
    Z = Z - Z.mean(-1, keepdims=True) if how == "layer" else Z
    size = np.sqrt((Z**2).mean(-1, keepdims=True))
    return Z / np.where(size == 0, 1, size)
