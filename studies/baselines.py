"""Classifiers that readers ask for beside the hardmax ones: ordinary attention and
attention pooling. And any of all the kinds, by a dict that JSON can hold."""

import torch
from torch import nn

from hmlib import HardmaxClassifier
from hmlib.classifier import heard, merged
from studies.models import RandomAttention, Variant

LONGEST = 512  # positions


class Ordinary(HardmaxClassifier):
    """Ordinary attention: z_i + sum_j softmax_j(<Q z_i, K z_j> / sqrt(d)) V z_j in each
    layer, from words with their positions; then the mean and the decoder, as ever.

    Q, K and V are learned, of each layer its own; V starts at 0, so that training
    starts without attention. `alpha` plays no part.
    """

    def __init__(self, rows, dim, depth=1):
        super().__init__(rows, dim, depth, alpha=1.0)
        self.positions = nn.Embedding(LONGEST, dim)
        nn.init.normal_(self.positions.weight, std=0.1)
        Q, K = (nn.init.normal_(torch.empty(depth, dim, dim)) for _ in range(2))
        self.Q, self.K = nn.Parameter(Q / dim**0.5), nn.Parameter(K / dim**0.5)
        self.V = nn.Parameter(torch.zeros(depth, dim, dim))

    def forward(self, ids, keep=None):
        ids = self.checked(ids)
        there = ids != 0
        weights = (there if keep is None else there & keep).to(self.V.dtype)
        z = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        for Q, K, V in zip(self.Q, self.K, self.V, strict=True):
            scores = (z @ Q) @ (z @ K).transpose(1, 2) / z.shape[2] ** 0.5
            z = z + (scores + heard(weights)).softmax(-1) @ (z @ V)
        mean = (z * weights[..., None]).sum(1) / weights.sum(1).clamp_min(1)[:, None]
        return self.decoder(mean).squeeze(-1)


class Pooling(HardmaxClassifier):
    """Attention pooling: the decoder judges sum_i softmax_i(<q, z_i>) z_i. q is
    learned, and starts at 0, where this is the mean."""

    def __init__(self, rows, dim):
        super().__init__(rows, dim, depth=0, alpha=1.0)
        self.q = nn.Parameter(torch.zeros(dim))

    def forward(self, ids, keep=None):
        ids = self.checked(ids)
        weights = (ids != 0).to(self.q.dtype)
        words, weights = merged(ids, weights if keep is None else weights * keep)
        z = self.embedding(words)
        often = weights.masked_fill(weights == 0, 1).log() + heard(weights)[:, 0]
        share = (z @ self.q + often).softmax(1)
        return self.decoder((z * share[..., None]).sum(1)).squeeze(-1)


KINDS = {
    "classifier": HardmaxClassifier,
    "random": RandomAttention,
    "variant": Variant,
    "ordinary": Ordinary,
    "pooling": Pooling,
}


def built(
    rows,
    kind="classifier",
    random_matrix=False,
    zero=False,
    temperature=None,
    **options,
):
    """The classifier of this kind, with its options.

    temperature    of softmax; None: the kind's own
    random_matrix  a fixed matrix A = L L^T + EPS I with L Gaussian, of a Variant
    zero           all words start at 0, under a decoder of ones: nothing is left to
                   chance
    """
    model = KINDS[kind](rows, **options)
    dim = model.embedding.embedding_dim
    if temperature is not None:
        model.temperature = temperature
    if random_matrix:
        L = torch.randn(1, dim, dim) / dim**0.5
        model.L = nn.Parameter(L, requires_grad=False)
    if zero:
        with torch.no_grad():
            model.embedding.weight.zero_()
            model.decoder.weight.fill_(1.0)
            model.decoder.bias.zero_()
    return model


def parameters(model):
    """How many numbers are learned."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
