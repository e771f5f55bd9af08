"""One verdict explained: leaders, votes, words left out, stability. NumPy is enough.

All is computed in float64, with hardmax, from the weights of a classifier.
"""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hmlib import arithmetic, attention, dynamics, files, inputs, rounding
from hmlib.shapes import Cloud, Firsts, Indices, Matrix, Token
from hmlib.text import Vocabulary

PADDING, MOST_LAYERS = ("mask", "token"), 10**9


@dataclass
class Weights:
    """What a verdict depends on: logit = <v, mean over the words of z_i^depth> + bias.

    embedding   z_i^0 by rows; row 0 is padding, the others are the words of vocabulary
    padding     "mask" leaves it out; "token" has it take part
    """

    embedding: Cloud
    alpha: float
    depth: int
    v: Token
    bias: float
    A: Matrix | None = None
    padding: str = "mask"
    vocabulary: Vocabulary | None = None

    def __post_init__(self):
        floats = np.zeros(0)
        self.v = arithmetic.like(inputs.token(self.v, "v"), floats, "v")
        E = inputs.points(self.embedding, len(self.v), "embedding")
        self.embedding = arithmetic.like(E, floats, "embedding")
        self.alpha = float(inputs.rate(self.alpha, floats))
        self.depth = inputs.count(self.depth, "depth", MOST_LAYERS)
        self.bias = inputs.number(self.bias, "bias")
        self.A = inputs.matrix(self.A, self.embedding)
        inputs.choice(self.padding, "padding", PADDING)
        if self.vocabulary is None:
            return
        rows = len(inputs.instance(self.vocabulary, "vocabulary", Vocabulary))
        if rows != len(E):
            given = f"vocabulary has {rows} rows, padding included"
            inputs.refuse(given, f"{len(E)}, those of the model")

    @property
    def words(self) -> list[str]:
        """Of the rows; the first is padding."""
        return self.vocabulary.words

    def save(self, path: str | Path, **about) -> None:
        """The numbers as safetensors; words, layers and what else there is to say as
        JSON beside it, as `results/` has them."""
        with inputs.extra("torch"):
            from safetensors.numpy import save

        path, words = inputs.path(path), self.words
        arrays = {"embedding": self.embedding, "weight": self.v, "alpha": self.alpha}
        arrays |= {"bias": [self.bias]} | ({} if self.A is None else {"A": self.A})
        about |= {"depth": self.depth, "padding": self.padding, "words": words}
        files.write_whole(path, save({k: _short(X) for k, X in arrays.items()}))
        files.write_whole(path.with_suffix(".json"), json.dumps(about, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Weights":
        """What `save` wrote, checked.

        >>> weights = Weights.load("results/sentiment_model.safetensors")
        >>> len(weights.words), weights.embedding.shape, weights.alpha, weights.depth
        (30001, (30001, 2), 4.0, 3)
        """
        with inputs.extra("torch"):
            from safetensors.numpy import load

        path = inputs.path(path)
        content, beside = path.read_bytes(), path.with_suffix(".json").read_bytes()
        try:
            arrays, about = load(content), json.loads(beside)
            table, v, A = arrays["embedding"], arrays["weight"], arrays.get("A")
            alpha, bias = arrays["alpha"].item(), arrays["bias"].item()
            padding, words = about.get("padding", "mask"), about["words"][1:]
            depth, vocabulary = about["depth"], Vocabulary([words])
            return cls(table, alpha, depth, v, bias, A, padding, vocabulary)
        except Exception as error:  # of many kinds, all for one reason
            raise ValueError(
                f"{path}, or the .json beside it, is damaged, or no model: "
                f"{inputs.first_line(error)}"
            ) from None


def _short(X):
    """As float32, if that changes nothing."""
    X = np.array(X, float)
    with np.errstate(over="ignore"):
        short = X.astype("<f4")
    return short if (short == X).all() else X


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a review is judged as it is. All arrays follow the order of its words."""

    words: list  # the distinct known ones
    counts: Indices
    unknown: list
    logit: float
    path: dynamics.Trajectory  # of the words, layer by layer
    follows: Firsts  # (depth, n): whom each follows in each layer (the first, on a tie)
    leaders: Indices  # those found in these layers
    root: Indices  # (n,): where the chain of those followed in the last layer ends
    shares: dict  # word: its share of the logit, over all that gather at it
    v: Token  # of the decoder
    bias: float  # the shares and this add up to the logit
    without: np.ndarray  # (n,): the logit without that word, run again; nan if alone
    stable: float  # if all tokens move by less (in A's length), nobody changes his mind

    @property
    def probability(self) -> float:
        """That the review is positive, by the model."""
        return 0.5 + 0.5 * math.tanh(self.logit / 2)


@dataclass(frozen=True)
class Calibration:
    """How sure a verdict should be that rests on n known words, copies counted:

        1 / (1 + exp(-c |logit|)),  c = scale n / (n + few).

    >>> weights = Weights.load("results/sentiment_model.safetensors")
    >>> calibration = Calibration.load("results/calibration.json")
    >>> why = explain(weights, ["great", "film", "with", "boring", "ending"])
    >>> round(1 - why.probability, 2), round(calibration.sure(why), 2)
    (0.99, 0.63)
    """

    scale: float
    few: float  # so many words are worth half of what endless ones are

    def __post_init__(self):
        for name in ("scale", "few"):
            inputs.number(getattr(self, name), name, ">= 0")

    def sure(self, why: Explanation) -> float:
        """From 1/2 to 1: how often verdicts of this kind are right."""
        n = int(why.counts.sum())
        c = self.scale * n / (n + self.few)
        return 0.5 + 0.5 * math.tanh(c * abs(why.logit) / 2)

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """As `python -m studies calibration` fits it, on validation."""
        path = inputs.path(path)
        try:
            fit = json.loads(path.read_bytes())["fit"]
            return cls(fit["scale"], fit["few"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} is damaged, or no calibration: {inputs.first_line(error)}"
            ) from None


def explain(
    model, words: list[str], vocabulary: Vocabulary | None = None, length: int = 128
) -> Explanation:
    """Leaders, votes, counterfactuals and stability of one verdict.

    >>> weights = Weights.load("results/sentiment_model.safetensors")
    >>> why = explain(weights, ["great", "film", "with", "boring", "ending"])
    >>> [why.words[i] for i in why.leaders], round(why.probability, 2)
    (['great', 'film', 'boring'], 0.01)

    model       a HardmaxClassifier, or its Weights
    words       as `preprocess` gives them
    vocabulary  the model's, if it does not carry it as model.vocabulary
    length      to which reviews are cut; and filled with padding, if that is a token
    """
    model = weights_of(model, vocabulary)
    ids = _ids(model, words, length)
    rows = list(dict.fromkeys(ids.tolist()))
    names, counts = [model.words[i] for i in rows], np.bincount(ids)[rows]
    Z, v, A, depth = model.embedding[rows], model.v, model.A, model.depth
    path = dynamics.simulate(Z, model.alpha, depth, A)
    follows = [attention.follow(tokens, A) for tokens in path.tokens[:-1]]
    follows = np.array(follows, int).reshape(depth, len(Z))
    root = attention.roots(follows[-1]) if depth else np.arange(len(Z))
    with np.errstate(over="ignore", invalid="ignore"):
        votes = counts * (path.tokens[-1] @ v) / counts.sum()
    inputs.in_range(votes, "the logit")
    shares = {names[i]: float(votes[root == i].sum()) for i in np.unique(root)}
    return Explanation(
        words=names,
        counts=counts,
        unknown=[word for word in words if word not in model.vocabulary.index],
        logit=float(votes.sum() + model.bias),
        path=path,
        follows=follows,
        leaders=path.leaders(max(depth - 1, 0)),
        root=root,
        shares=dict(sorted(shares.items(), key=lambda item: -abs(item[1]))),
        v=v,
        bias=model.bias,
        without=_without(model, Z, counts),
        stable=_stable(path.tokens, follows, A),
    )


def weights_of(model, vocabulary: Vocabulary | None = None) -> Weights:
    """Those of a HardmaxClassifier, or these, with their vocabulary or another one."""
    if not isinstance(model, Weights):
        right = callable(getattr(model, "weights", None))
        inputs.typed(right, "model", model, "a HardmaxClassifier, or its Weights")
        model = model.weights()
    model = model if vocabulary is None else replace(model, vocabulary=vocabulary)
    if model.vocabulary is None:
        raise ValueError(
            "The model carries no vocabulary: pass vocabulary, or set model.vocabulary."
        )
    return model


def _ids(model, words, length):
    """Of the words that take part."""
    words = inputs.words(words, "words")
    length = length if length is None else inputs.count(length, "length", least=1)
    ids = model.vocabulary.encode(words, length)
    ids = ids if model.padding == "token" else ids[ids != 0]
    if not ids.any():
        raise ValueError(
            f"None of the {len(words)} words is in the vocabulary: nothing to explain."
        )
    return ids


def _without(model, Z, counts):
    """The logit without each word in turn: n clouds at once, each with another
    hidden."""
    n = len(Z)
    if n == 1:
        return np.array([np.nan])
    mask, clouds = ~np.eye(n, dtype=bool), np.broadcast_to(Z, (n, *Z.shape))
    path = dynamics.simulate(clouds, model.alpha, model.depth, model.A, mask=mask)
    weights = mask * counts
    means = (weights * (path.tokens[-1] @ model.v)).sum(1) / weights.sum(1)
    return means + model.bias


def _stable(tokens, follows, A):
    """If all move by at most e, a gap g of scores between j and l shrinks by at most
    e (|z_j - z_l| + 2 |z_i|) + 2 e^2, for i that follows j."""
    if A is not None:
        tokens = tokens @ np.linalg.cholesky(A)
    e, least = arithmetic.exponent(tokens, None).item(), math.inf
    for Z, to in zip(np.ldexp(tokens[:-1], -e), follows, strict=True):
        gap = (Z * Z[to]).sum(-1)[:, None] - Z @ Z.T
        gap -= rounding.of_scores(Z, Z, Z)[:, None]
        apart = np.linalg.norm(Z[to][:, None] - Z, axis=-1)
        reach = apart + 2 * np.linalg.norm(Z, axis=-1)[:, None]
        radius = (np.sqrt(reach**2 + 8 * np.maximum(gap, 0)) - reach) / 4
        radius[np.arange(len(Z)), to] = math.inf
        least = min(least, radius.min())
    return float(np.ldexp(least, e))
