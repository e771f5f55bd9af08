"""Encoder, hardmax layers, decoder: a classifier of texts.

Words become tokens by a table, tokens move through equal hardmax layers, and the mean
of the last ones is judged by an affine map. Repeated words move alike, so each distinct
word is one token with a weight in the mean: same result, less work.
"""

import math

import numpy as np

from hmlib import inputs
from hmlib.explanation import MOST_LAYERS, PADDING, Weights

with inputs.extra("torch"):
    import torch
    from torch import nn
    from torch.nn import functional as F

ATTENTION = ("hardmax", "pass-through", "softmax")
TOGETHER = 16  # reviews that go through the layers at once


class HardmaxClassifier(nn.Module):
    """logit = decoder( mean over the words of z_i^depth ), z_i^0 the rows of a table.

    rows       of the table: the words, and row 0, padding
    dim        of the tokens
    depth      how many equal layers; 0 leaves attention out, and is the control
    padding    "mask" leaves padding out; "token" has it take part, as in the paper
    attention  "hardmax": the layer itself, with its exact gradient away from ties (A
               has none: it only chooses)
               "pass-through": the same forward, while gradients pass as if the layers
               were the identity (so alpha has none)
               "softmax": of the scores over `temperature`, as the paper trains
    alpha      a number > 0, which stays; None: learned, from a random start in (0, 1)
    A          None for the identity, a positive definite matrix, or "learned"
    Integer ids (batch, length) go in, logits (batch,) come out.
    """

    temperature = 1e-3  # of the paper's softmax

    def __init__(
        self,
        rows: int,
        dim: int,
        depth: int = 8,
        padding: str = "mask",
        attention: str = "hardmax",
        alpha: float | None = None,
        A: np.ndarray | str | None = None,
    ):
        super().__init__()
        rows = inputs.count(rows, "rows", least=1)
        dim = inputs.count(dim, "dim", least=1)
        inputs.room((rows, dim), 4, "an embedding of rows x dim", "Pass fewer.")
        self.depth = inputs.count(depth, "depth", MOST_LAYERS)
        self.padding = inputs.choice(padding, "padding", PADDING)
        self.attention = inputs.choice(attention, "attention", ATTENTION)
        self.embedding = nn.Embedding(rows, dim)
        self.decoder = nn.Linear(dim, 1)
        self.raw_alpha = nn.Parameter(torch.zeros(()), requires_grad=alpha is None)
        start = float(torch.rand(()).clamp_min(1e-3)) if alpha is None else alpha
        self.set_alpha(start)
        self.R = _root(A, dim)
        self.vocabulary = None

    @classmethod
    def from_weights(cls, weights: Weights) -> "HardmaxClassifier":
        """The classifier of these weights, which carries their vocabulary."""
        inputs.instance(weights, "weights", Weights)
        layers = {"padding": weights.padding, "alpha": weights.alpha, "A": weights.A}
        model = cls(*weights.embedding.shape, weights.depth, **layers)
        with torch.no_grad():
            model.embedding.weight.copy_(torch.tensor(weights.embedding))
            model.decoder.weight.copy_(torch.tensor(weights.v)[None])
            model.decoder.bias.fill_(weights.bias)
        model.vocabulary = weights.vocabulary
        return model

    def weights(self) -> Weights:
        """What a verdict depends on, in float64: for `explain`, and to be saved."""
        with torch.no_grad():
            A = None if self.R is None else self.R.double().T @ self.R.double()
            return Weights(
                self.embedding.weight.double().numpy(),
                float(_positive(self.raw_alpha.double())),
                self.depth,
                self.decoder.weight[0].double().numpy(),
                float(self.decoder.bias),
                None if A is None else ((A + A.T) / 2).numpy(),
                self.padding,
                self.vocabulary,
            )

    @property
    def alpha(self) -> torch.Tensor:
        """> 0: the softplus of what is learned, and never rounded to 0."""
        return _positive(self.raw_alpha)

    def set_alpha(self, value: float) -> None:
        value = float(inputs.rate(value, np.zeros(1)))
        most = torch.finfo(self.raw_alpha.dtype).max
        inputs.check(value <= most, "alpha", value, f"at most {most:.3g}")
        with torch.no_grad():
            self.raw_alpha.fill_(value if value > 30 else math.log(math.expm1(value)))

    def layer(self, z, weights):
        """Whom each token follows, (B, n), and z (B, n, d) after one layer.

        Tokens of weight 0 are not there, unless nobody is. With softmax, each attends
        to all, to a word as often as it weighs, and most to the one that is returned.
        """
        there = heard(weights)
        if self.attention != "softmax":
            to = self.followed(z, there)
            return to, self.toward(z, to)
        there = there + weights.masked_fill(weights == 0, 1).log()[:, None]
        scores = self.scores(z, there, self.temperature)
        z = (z + self.alpha * scores.softmax(-1) @ z) / (1 + self.alpha)
        return scores.argmax(-1), z

    def layers(self, z, weights):
        """z^depth from z^0."""
        start, left, there = z, self.depth if z.shape[1] else 0, heard(weights)
        while left and self.attention == "softmax":
            z, left = self.layer(z, weights)[1], left - 1
        while left:
            to = self.followed(z, there)
            settled = (to.gather(1, to) == to) | (there[:, 0] < 0)
            many = left if settled.all() else 1  # the rest, in closed form
            z, left = self.toward(z, to, many), left - many
        passed = self.attention == "pass-through"
        return z.detach() + (start - start.detach()) if passed else z

    @torch.no_grad()
    def followed(self, z, there):
        """The first of the largest scores, among who is there."""
        return self.scores(z, there).argmax(-1)

    def toward(self, z, to, layers=1):
        """z after so many layers in which each token follows the same leader."""
        goal = z.gather(1, to[..., None].expand_as(z))
        return goal + (1 + self.alpha) ** -layers * (z - goal)

    def scores(self, z, there, temperature=1.0):
        """<A z_i, z_j> / temperature, and what is added to that for j, (B, n, n)."""
        y = z if self.R is None else z @ self.R.T
        return torch.baddbmm(there, y / temperature, y.transpose(1, 2))

    def forward(self, ids, keep=None):
        """keep: bool, like ids; False leaves a word out (dropout, counterfactuals)."""
        ids = self.checked(ids)
        weights = torch.ones_like(ids, dtype=self.decoder.weight.dtype)
        if self.padding == "mask":
            weights = weights * (ids != 0)
        if keep is not None:
            keep = tensor(keep, "keep")
            if keep.shape != ids.shape or keep.dtype != torch.bool:
                given = f"keep has shape {tuple(keep.shape)} and type {keep.dtype}"
                inputs.refuse(given, f"a bool for each of the ids, {tuple(ids.shape)}")
            weights = weights * keep
        ids, weights = merged(ids, weights)
        # Reviews of like size go together: none waits for, or is as wide as, the
        # largest.
        sizes, means = (weights != 0).sum(1), []
        order = sizes.argsort()
        for rows in order.split(TOGETHER):
            width = max(sizes[rows].tolist(), default=0)
            z, w = self.embedding(ids[rows, :width]), weights[rows, :width, None]
            means.append((self.layers(z, w[..., 0]) * w).sum(1) / w.sum(1).clamp_min(1))
        return self.decoder(torch.cat(means)[order.argsort()]).squeeze(-1)

    def checked(self, ids, name="ids"):
        """ids as a tensor of rows of this model."""
        ids = tensor(ids, name)
        if ids.ndim != 2 or ids.is_floating_point() or ids.dtype == torch.bool:
            given = f"{name} have shape {tuple(ids.shape)} and type {ids.dtype}"
            inputs.refuse(given, "integers, (batch, length)")
        rows, ids = self.embedding.num_embeddings, ids.long()
        if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= rows):
            given = f"{name} go from {int(ids.min())} to {int(ids.max())}"
            inputs.refuse(given, f"0 to {rows - 1}, the rows")
        return ids


def tensor(X, name):
    """X as a tensor of plain numbers."""
    if not isinstance(X, torch.Tensor):
        X = inputs.array(X, name)
        try:
            X = torch.as_tensor(X if X.flags.writeable else X.copy())
        except (TypeError, ValueError):  # text, objects, dates
            kind = X.dtype if X.ndim else type(X.item()).__name__
            inputs.refuse(f"{name} is of type {kind}", "numbers")
    if X.layout != torch.strided or X.is_quantized or X.is_complex() or X.is_meta:
        given = f"{name} is no plain tensor ({X.layout}, {X.dtype})"
        inputs.refuse(given, "a dense one of real numbers")
    return X.detach()


def merged(ids, weights):
    """Each distinct word of a row once, with the sum of its weights; the rest is 0."""
    ids, order = ids.masked_fill(weights == 0, torch.iinfo(ids.dtype).max).sort(1)
    new = torch.ones_like(ids)
    new[:, 1:] = (ids[:, 1:] != ids[:, :-1]).long()
    place = new.cumsum(1) - 1
    sums = torch.zeros_like(weights).scatter_add(1, place, weights.gather(1, order))
    return torch.zeros_like(ids).scatter(1, place, ids).masked_fill(sums == 0, 0), sums


def heard(weights):
    """To be added to scores, (B, 1, n): -inf for who weighs nothing, unless all do."""
    absent = (weights == 0) & (weights != 0).any(1, keepdim=True)
    return torch.zeros_like(weights).masked_fill(absent, -math.inf)[:, None]


def _positive(raw):
    return F.softplus(raw) + torch.finfo(raw.dtype).tiny


def _root(A, dim):
    """R with R^T R = A, learned or not, or None for the identity."""
    learned = isinstance(A, str)
    inputs.check(not learned or A == "learned", "A", A, 'a matrix, None or "learned"')
    A = np.eye(dim) if learned else inputs.matrix(A, np.zeros((1, dim)))
    if A is None:
        return None
    try:
        R = torch.tensor(np.linalg.cholesky(A)).float().T.contiguous()
    except np.linalg.LinAlgError:
        raise ValueError(
            "A is so near to a singular matrix that it has no root in floats."
        ) from None
    return nn.Parameter(R, requires_grad=learned)
