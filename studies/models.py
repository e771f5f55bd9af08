"""Variants of the classifier that only the studies need, and how each is trained."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize

from hmlib import HardmaxClassifier, Weights
from hmlib.classifier import heard
from studies.checkpoints import train


class Circle(nn.Module):
    """Words on a circle, but for their lengths: z_w = length_w (sqrt(1 - s_w^2), s_w),
    s_w = tanh(t_w).

    On the unit circle everybody follows himself; lengths in [1, 1 + delta] make the
    longer words leaders.
    """

    def __init__(self, lengths):
        super().__init__()
        self.register_buffer("lengths", lengths)

    def forward(self, t):
        s = t.tanh()
        return self.lengths * torch.cat([(1 - s * s).clamp_min(1e-6).sqrt(), s], 1)


class RandomAttention(HardmaxClassifier):
    """Every word follows a word of its review drawn at random, anew in each layer.

    How many draws there were is kept with the weights, so that a run that was stopped
    goes on with the same ones.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.register_buffer("draws", torch.zeros((), dtype=torch.int64))

    def scores(self, z, there, temperature=1.0):
        self.draws += 1
        generator = torch.Generator().manual_seed(int(self.draws))
        shape = len(z), z.shape[1], z.shape[1]
        return torch.rand(shape, generator=generator, dtype=z.dtype) + there


class Variant(HardmaxClassifier):
    """The classifier with what the theorem leaves out: heads that average whom they
    follow, each with its own matrix, tokens that are normalised after each layer, a
    feed-forward network between the layers, softmax.

    heads     one: A = I, as long as it is not learned; more: random positive definite
              matrices to start from
    learn     "positive": A = L L^T + EPS I, and L is learned; "any": A is learned,
              without conditions; None: A stays
    norm      after each layer: "rms" puts tokens on the sphere of radius sqrt(d);
              "layer" takes out their mean before
    width     of the network after attention, z + W' relu(W z + b) + b', starting at z;
              0: none
    attend    False: no attention in the layers
    attention "pass-through", here layer by layer: a layer hands its gradient on as if
    it
              had moved nobody. Argmax has no gradient for A: where A is learned, it
              gets the one that softmax would have given it in that layer.
    """

    EPS, temperature = 0.01, 1.0

    def __init__(
        self,
        rows,
        dim,
        depth=3,
        heads=1,
        learn=None,
        norm=None,
        width=0,
        attend=True,
        attention="pass-through",
        **options,
    ):
        super().__init__(rows, dim, depth, attention=attention, alpha=1.0, **options)
        self.norm, self.attend, self.learn = norm, attend, learn
        self.L, self.forth = None, None
        if heads > 1 or learn:
            start = torch.eye(dim)[None]
            if heads > 1:
                start = torch.randn(heads, dim, dim) / dim**0.5
            self.L = nn.Parameter(start, requires_grad=learn is not None)
        if width:
            into, out = nn.Linear(dim, width), nn.Linear(width, dim)
            self.forth = nn.Sequential(into, nn.ReLU(), out)
            for parameter in out.parameters():
                nn.init.zeros_(parameter)

    @property
    def A(self):
        """(heads, d, d), or None for the identity."""
        if self.L is None or self.learn == "any":
            return self.L
        return self.L @ self.L.transpose(1, 2) + self.EPS * torch.eye(self.L.shape[1])

    def layers(self, z, weights):
        for _ in range(self.depth if z.shape[1] else 0):
            _, z = self.layer(z, weights)
        return z

    def layer(self, z, weights):
        """Whom each token follows (with softmax: attends to most) in each head, (B,
        heads, n), and z after the layer."""
        to, z = self.attended(z, weights) if self.attend else (None, z)
        z = z if self.forth is None else z + self.forth(z)
        return to, z if self.norm is None else normalised(z, self.norm)

    def attended(self, z, weights):
        away = heard(weights)
        through = self.attention == "pass-through"
        y = z.detach() if through else z
        with torch.no_grad():
            # The first of the largest; argmax says the same, and is slower.
            to = self.scores(y, away).max(-1).indices
        guided = through and self.learn and torch.is_grad_enabled()
        if self.attention == "softmax" or guided:
            # The copies of a word count.
            often = weights.masked_fill(weights == 0, 1).log()[:, None] + away
            soft = self.scores(y, often, self.temperature).softmax(-1) @ y[:, None]
            soft = (y + self.alpha * soft.mean(1)) / (1 + self.alpha)
            if not through:
                return to, soft
        index = to[..., None].expand(-1, -1, -1, y.shape[2])
        goals = y[:, None].expand(-1, to.shape[1], -1, -1).gather(2, index)
        after = (y + self.alpha * goals.mean(1)) / (1 + self.alpha)
        if through:
            after = after.detach() + (z - y)
        return to, after + (soft - soft.detach()) if guided else after

    def scores(self, z, offset=None, temperature=1.0):
        """<A z_i, z_j> / temperature + offset_j in each head, (B, heads, n, n)."""
        offset = z.new_zeros(len(z), 1, z.shape[1]) if offset is None else offset
        A = torch.eye(z.shape[2], dtype=z.dtype)[None] if self.A is None else self.A
        rows = (z[:, None] @ A.transpose(1, 2)) / temperature
        scores = torch.baddbmm(offset, rows.flatten(1, 2), z.transpose(1, 2))
        return scores.unflatten(1, rows.shape[1:3])


def normalised(z, norm):
    """On the sphere of radius sqrt(d); with norm "layer", after the mean of the
    coordinates is taken out."""
    z = z - z.mean(-1, keepdim=True) if norm == "layer" else z
    return z.shape[-1] ** 0.5 * nn.functional.normalize(z, dim=-1)


def on_circle(t, lengths, decoder, depth, attention, alpha=4.0):
    """A classifier of d = 2 whose words stay on the circle while it is trained."""
    model = HardmaxClassifier(len(t), 2, depth, attention=attention, alpha=alpha)
    model.embedding.weight.data = t
    # From t to the tokens, in each step: that is what a parametrization is.
    circle = Circle(lengths)
    parametrize.register_parametrization(model.embedding, "weight", circle, unsafe=True)
    with torch.no_grad():
        model.decoder.weight.copy_(torch.tensor([[0.0, decoder[0]]]))
        model.decoder.bias.fill_(decoder[1])
    return model


def free(model):
    """The classifier, its table a plain one from here on."""
    if parametrize.is_parametrized(model.embedding):
        parametrize.remove_parametrizations(model.embedding, "weight")
        model.embedding.weight.requires_grad_(True)
    return model


def document_frequency(texts):
    """In how many of the fitted reviews each word stands."""
    ids, _ = texts.of("fit")
    ids = ids.sort(1).values
    first = torch.ones_like(ids, dtype=torch.bool)
    first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return torch.bincount(ids[first & (ids != 0)], minlength=len(texts.words)).float()


def lengths(texts, delta):
    """Longer is more frequent: 1 + delta log(1 + n_w) / max log(1 + n)."""
    logs = torch.log1p(document_frequency(texts))
    return (1 + delta * logs / logs.max())[:, None]


def scores_alone(texts, epochs=8, rate=0.01, dropout=0.3, **options):
    """A score for each word, their mean, a bias: no attention. The first of two stages,
    and a control."""
    model = HardmaxClassifier(len(texts.words), 1, depth=0, alpha=1.0)
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.decoder.weight.fill_(1.0)
        model.decoder.bias.zero_()
    history = train(
        model,
        texts.of("fit"),
        texts.of("held"),
        epochs=epochs,
        rate=rate,
        dropout=dropout,
        **options,
    )
    return model, history


def second_stage(
    texts, scores, bias, delta, scale=0.3, depth=3, attention="pass-through", **options
):
    """The scores of the first stage, squeezed into (-scale, scale), as heights on the
    circle; then both are trained on."""
    q = scores.abs().quantile(0.99)
    t = torch.atanh((scale * 0.99 * scores / q).clamp(-0.999, 0.999))
    model = on_circle(
        t, lengths(texts, delta), (float(q) / (scale * 0.99), bias), depth, attention
    )
    options = {
        "epochs": 2,
        "rate": 3e-4 if scale < 0.5 else 1e-3,
        "dropout": 0.3,
    } | options
    history = train(model, texts.of("fit"), texts.of("held"), **options)
    return free(model), history


def one_stage(
    texts, delta, steepness=40.0, depth=3, attention="pass-through", **options
):
    """The circle from the start: all scores 0."""
    model = on_circle(
        torch.zeros(len(texts.words), 1),
        lengths(texts, delta),
        (steepness, 0.0),
        depth,
        attention,
    )
    options = {"epochs": 8, "rate": 2e-3, "dropout": 0.3} | options
    history = train(model, texts.of("fit"), texts.of("held"), **options)
    return free(model), history


def free_embedding(
    texts,
    dim=2,
    depth=8,
    attention="hardmax",
    alpha=None,
    temperature=1e-3,
    seed=0,
    **options,
):
    """A table that starts from N(0, 1). Returns the start, too."""
    torch.manual_seed(seed)
    about = {"depth": depth, "alpha": alpha}
    if attention == "random":
        model = RandomAttention(len(texts.words), dim, **about)
    else:
        model = HardmaxClassifier(len(texts.words), dim, attention=attention, **about)
    model.temperature = temperature
    start = model.embedding.weight.detach().clone()
    history = train(model, texts.of("fit"), texts.of("held"), seed=seed, **options)
    return model, history, start


def stored(model):
    """The weights as the published ones are stored."""
    return {
        "embedding": model.embedding.weight.detach().clone(),
        "alpha": model.alpha.detach().clone(),
        "weight": model.decoder.weight.detach()[0].clone(),
        "bias": model.decoder.bias.detach().clone(),
    }


def packed(stored, depth, padding="mask", vocabulary=None):
    """The Weights of what `stored` returned, or of the published ones."""
    v, bias = np.asarray(stored["weight"]), np.asarray(stored["bias"]).item()
    alpha, table = float(stored["alpha"]), np.asarray(stored["embedding"])
    layers = {"padding": padding, "vocabulary": vocabulary}
    return Weights(table, alpha, depth, v, bias, **layers)


def rebuilt(stored, depth, padding="mask"):
    """The classifier of stored weights."""
    return HardmaxClassifier.from_weights(packed(stored, depth, padding))
