"""Encoder, hardmax layers, decoder: a classifier of texts, its training, and its verdicts explained.

Words become tokens by a table, tokens move through equal hardmax layers, and the mean of the last ones is judged by an
affine map. Repeated words move alike, so each distinct word is one token with a weight in the mean: same result, less work.
"""

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from hmlib import attention, dynamics, files, inputs, reviews

with inputs.extra("torch"):
    import torch
    from torch import nn
    from torch.nn import functional as F

MOST_LAYERS, MOST_ROWS = 10**9, 2**53
MOST_SEED = 2**43  # of train: times 1,000,003 it is still a seed of torch
ATTENTION = ("hardmax", "pass-through", "softmax")
PADDING = ("mask", "token")
INTEGERS = [
    getattr(torch, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
]
GROUP = 16  # reviews that go through the layers together


class HardmaxClassifier(nn.Module):
    """logit = decoder( mean over the words of z_i^depth ), with z_i^0 the rows of an embedding.

    rows       of the embedding: the words, and row 0, padding
    dim        of the tokens
    depth      how many equal layers; 0 leaves attention out, and is the control
    padding    "mask" leaves padding out; "token" has it take part in attention and in the mean, as in the paper
    attention  "hardmax": the layer itself, with its exact gradient away from ties (A has none: it only chooses)
               "pass-through": the same forward, while gradients pass as if the layers were the identity (so alpha has none)
               "softmax": softmax of the scores over `temperature`, as the paper trains
    alpha      a number > 0 to start from, or None for a random one in (0, 1); learned unless learn_alpha is False
    A          None for the identity, a symmetric positive definite matrix, or "learned"
    Integer ids (batch, length) go in, logits (batch,) come out.
    """

    def __init__(
        self,
        rows,
        dim,
        depth=8,
        padding="mask",
        attention="hardmax",
        alpha=None,
        learn_alpha=True,
        A=None,
        temperature=1e-3,
    ):
        super().__init__()
        rows, dim = (
            inputs.count(rows, "rows", least=1),
            inputs.count(dim, "dim", least=1),
        )
        inputs.room((rows, dim), 4, "an embedding of rows x dim", "Pass fewer.")
        self.depth = inputs.count(depth, "depth", MOST_LAYERS)
        self.padding = inputs.choice(padding, "padding", PADDING)
        self.attention = inputs.choice(attention, "attention", ATTENTION)
        self.temperature = inputs.number(temperature, "temperature", "> 0")
        self.embedding = nn.Embedding(rows, dim)
        self.decoder = nn.Linear(dim, 1)
        self.raw_alpha = nn.Parameter(
            torch.zeros(()), requires_grad=inputs.flag(learn_alpha, "learn_alpha")
        )
        self.set_alpha(
            float(torch.rand(()).clamp_min(1e-3)) if alpha is None else alpha
        )
        learned = isinstance(A, str)
        if learned and A != "learned":
            raise ValueError(f'A is {A!r}: expected a matrix, None or "learned".')
        A = np.eye(dim) if learned else inputs.matrix(A, np.zeros((1, dim)))
        self.R = None
        if A is not None:
            try:
                R = torch.tensor(np.linalg.cholesky(A)).float().T.contiguous()
            except np.linalg.LinAlgError:
                raise ValueError(
                    "A is so near to a singular matrix that it has no root in floats."
                ) from None
            self.R = nn.Parameter(R, requires_grad=learned)
        self.vocabulary = None

    @property
    def alpha(self):
        """> 0 by construction: the softplus of what is learned, and never rounded to 0."""
        return _positive(self.raw_alpha)

    def set_alpha(self, value):
        value = inputs.rate(value, np.zeros(1))
        if value > torch.finfo(self.raw_alpha.dtype).max:
            raise ValueError(
                f"alpha is {value}: expected at most {torch.finfo(self.raw_alpha.dtype).max:.3g}."
            )
        with torch.no_grad():
            self.raw_alpha.fill_(value if value > 30 else math.log(math.expm1(value)))

    @property
    def A(self):
        """The matrix of the scores as a tensor, R^T R, or None."""
        return None if self.R is None else self.R.T @ self.R

    def forward(self, ids, keep=None):
        """keep: bool, like ids; False leaves a word out (for word dropout and counterfactuals)."""
        ids = self._checked(ids)
        weights = torch.ones_like(ids, dtype=self.decoder.weight.dtype)
        if self.padding == "mask":
            weights = weights * (ids != 0)
        if keep is not None:
            keep = _tensor(keep, "keep")
            if keep.shape != ids.shape or keep.dtype != torch.bool:
                raise ValueError(
                    f"keep has shape {tuple(keep.shape)} and type {keep.dtype}: expected a bool for each of the ids, "
                    f"{tuple(ids.shape)}."
                )
            weights = weights * keep
        ids, weights = merged(ids, weights)
        # Reviews of like size go together: no group waits for, or is as wide as, the largest of the batch.
        sizes, order = (weights != 0).sum(1).sort()
        means = []
        for rows, size in zip(order.split(GROUP), sizes.split(GROUP), strict=True):
            width = int(size.max()) if len(size) else 0
            z, w = self.embedding(ids[rows, :width]), weights[rows, :width, None]
            means.append((self.layers(z, w[..., 0]) * w).sum(1) / w.sum(1).clamp_min(1))
        return self.decoder(torch.cat(means)[order.argsort()]).squeeze(-1)

    def layers(self, z, weights):
        """z^depth from z^0; tokens of weight 0 are not there, unless nobody is."""
        absent = (weights == 0) & (weights != 0).any(1, keepdim=True)
        if self.attention == "softmax":
            often = (
                weights.masked_fill(weights == 0, 1)
                .log()
                .masked_fill(absent, -math.inf)[:, None, :]
            )
            for _ in range(self.depth):
                y = z if self.R is None else z @ self.R.T
                scores = torch.baddbmm(often, y / self.temperature, y.transpose(1, 2))
                z = (z + self.alpha * scores.softmax(-1) @ z) / (1 + self.alpha)
            return z
        away = torch.zeros_like(weights).masked_fill(absent, -math.inf)[:, None, :]
        start, left = z, self.depth if z.shape[1] else 0
        while left:
            with torch.no_grad():
                to = self._scores(z).add_(away).argmax(-1)
                settled = bool(((to.gather(1, to) == to) | absent).all())
            targets = z.gather(1, to[..., None].expand_as(z))
            # Once every followed token follows itself, all have settled: the rest of the layers in closed form.
            layers = left if settled else 1
            z = targets + (1 + self.alpha) ** -layers * (z - targets)
            left -= layers
        return (
            z.detach() + (start - start.detach())
            if self.attention == "pass-through"
            else z
        )

    def _scores(self, z):
        y = z if self.R is None else z @ self.R.T
        return y @ y.transpose(1, 2)

    def _checked(self, ids, name="ids"):
        ids = _tensor(ids, name)
        if ids.ndim != 2 or ids.dtype not in INTEGERS:
            raise ValueError(
                f"{name} have shape {tuple(ids.shape)} and type {ids.dtype}: expected integers, (batch, length)."
            )
        rows, ids = self.embedding.num_embeddings, ids.long()
        if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= rows):
            raise ValueError(
                f"{name} go from {int(ids.min())} to {int(ids.max())}: expected 0 to {rows - 1}, the rows."
            )
        return ids


def _tensor(X, name):
    """X as a tensor of plain numbers."""
    if not isinstance(X, torch.Tensor):
        X = inputs.array(X, name)
        try:
            X = torch.as_tensor(X if X.flags.writeable else X.copy())
        except (TypeError, ValueError):  # text, objects, dates
            kind = X.dtype if X.ndim else type(X.item()).__name__
            raise ValueError(f"{name} is of type {kind}: expected numbers.") from None
    if X.layout != torch.strided or X.is_quantized or X.is_complex() or X.is_meta:
        raise ValueError(
            f"{name} is no plain tensor ({X.layout}, {X.dtype}): expected a dense one of real numbers."
        )
    return X.detach()


def _positive(raw):
    return F.softplus(raw) + torch.finfo(raw.dtype).tiny


def merged(ids, weights):
    """Each distinct word of a row once, with the sum of its weights; what is left of a row is 0, of weight 0."""
    ids, order = ids.masked_fill(weights == 0, torch.iinfo(ids.dtype).max).sort(1)
    new = torch.ones_like(ids)
    new[:, 1:] = (ids[:, 1:] != ids[:, :-1]).long()
    place = new.cumsum(1) - 1
    sums = torch.zeros_like(weights).scatter_add(1, place, weights.gather(1, order))
    return torch.zeros_like(ids).scatter(1, place, ids).masked_fill(sums == 0, 0), sums


# Training


@dataclass
class History:
    """What training did: a list of one dict for each epoch, and the epoch that validation chose."""

    epochs: list = field(default_factory=list)
    best: int = -1


def train(
    model,
    ids,
    labels,
    validation=None,
    epochs=10,
    rate=0.01,
    batch=64,
    seed=0,
    patience=None,
    clip=5.0,
    dropout=0.0,
    alpha_rate=None,
    measure=None,
    deterministic=False,
    folder=None,
    progress=True,
    threads=1,
):
    """Minimise binary cross entropy with Adam; keep the weights of the epoch that is best on validation.

    ids, labels  integer ids (N, length) and labels 0 or 1, (N,)
    validation   the same two for the choice of the epoch; None: there is no choice, the last weights stay
    patience     stop after so many epochs without a better one; None goes through all
    clip         largest norm of a gradient;  dropout  the share of words left out at random in each step
    alpha_rate   a rate for alpha of its own
    measure      a function of the model and the number of the epoch: the dict it returns joins the row of that epoch
    deterministic  have torch refuse what does not repeat bit for bit (on one thread of a CPU everything here does)
    threads      of torch while it trains, None for as many as it has: steps are small, and one is the fastest, and
                 much faster on a busy machine
    folder       where checkpoints go: a run that was stopped goes on from there, to the same result as an unbroken one
    Everything random comes from `seed` and the number of the epoch. Returns a History. If it is interrupted, the model
    is as it was before, so that the same call goes on.
    """
    epochs, batch, seed = (
        inputs.count(epochs, "epochs"),
        inputs.count(batch, "batch", MOST_ROWS, least=1),
        inputs.count(seed, "seed", MOST_SEED),
    )
    rate = inputs.number(rate, "rate", "> 0")
    alpha_rate = (
        None if alpha_rate is None else inputs.number(alpha_rate, "alpha_rate", "> 0")
    )
    clip, dropout = (
        inputs.number(clip, "clip", "> 0"),
        inputs.number(dropout, "dropout", ">= 0 and < 1"),
    )
    inputs.flag(deterministic, "deterministic")
    inputs.flag(progress, "progress")
    if measure is not None and not callable(measure):
        raise ValueError(
            f"measure is {inputs.shown(measure)}: expected a function, or None."
        )
    if patience is not None:
        inputs.count(patience, "patience")
        if validation is None:
            raise ValueError(
                f"patience is {patience}, and there is no validation to lose it over: pass validation."
            )
    data = {"ids": _pair(model, ids, labels)}
    if validation is not None:
        validation = inputs.sequence(validation, "validation", "ids and labels")
        if len(validation) != 2:
            raise ValueError(
                f"validation has {len(validation)} parts: expected two, ids and labels."
            )
        data["validation"] = _pair(model, *validation, "validation ")
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    rates = [
        {
            "params": [p],
            "lr": alpha_rate if alpha_rate and name == "raw_alpha" else rate,
        }
        for name, p in learned.items()
    ]
    optimiser, start = torch.optim.Adam(rates, fused=True), _copy(model)
    settings = {
        "rate": rate,
        "alpha_rate": alpha_rate,
        "batch": batch,
        "seed": seed,
        "clip": clip,
        "dropout": dropout,
    }
    settings |= {
        "data": _digest(*(x for pair in data.values() for x in pair)),
        "start": _digest(*start.values()),
    }
    settings |= {
        "learned": list(learned),
        "model": [model.depth, model.padding, model.attention, model.temperature],
    }
    best, history = start, History()
    store = (
        None
        if folder is None
        else _Checkpoints(inputs.path(folder, "folder"), settings)
    )
    as_before, threads_before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
    )
    try:
        torch.set_num_threads(
            threads_before
            if threads is None
            else inputs.count(threads, "threads", 256, least=1)
        )
        torch.use_deterministic_algorithms(deterministic or as_before)
        if store and (found := store.newest()):
            history, tensors = found
            best = _restore(model, optimiser, tensors)
        while len(history.epochs) < epochs:
            number = len(history.epochs)
            if patience is not None and number - 1 - history.best >= patience:
                break
            row = _epoch(
                model,
                optimiser,
                *data["ids"],
                number,
                epochs,
                batch,
                seed,
                clip,
                dropout,
                progress and history,
            )
            if validation is not None:
                row["validation_loss"], row["validation_accuracy"] = evaluate(
                    model, *data["validation"]
                )
            if measure is not None:
                row |= inputs.instance(
                    measure(model, number), "what measure returns", dict
                )
            score = row.get("validation_accuracy", number)
            if number == 0 or score > history.epochs[history.best].get(
                "validation_accuracy", history.best
            ):
                history.best, best = number, _copy(model)
            history.epochs.append(row)
            if store:
                store.save(history, _tensors(model, optimiser, best))
    except BaseException:
        model.load_state_dict(start)
        raise
    finally:
        torch.use_deterministic_algorithms(as_before)
        torch.set_num_threads(threads_before)
    model.load_state_dict(best)
    return history


def _epoch(
    model, optimiser, ids, labels, number, epochs, batch, seed, clip, dropout, history
):
    """Once through the training data; loss, accuracy and alpha."""
    generator = torch.Generator().manual_seed(1_000_003 * seed + number)
    order = torch.randperm(len(ids), generator=generator).split(batch)
    loss, right = 0.0, 0
    for rows in _bar(order, history, f"epoch {number + 1} of {epochs}"):
        keep = (
            torch.rand(len(rows), ids.shape[1], generator=generator) >= dropout
            if dropout
            else None
        )
        logits = model(ids[rows], keep)
        cost = F.binary_cross_entropy_with_logits(logits, labels[rows])
        optimiser.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        loss += float(cost.detach()) * len(rows)
        right += int(((logits > 0) == (labels[rows] > 0)).sum())
    if not (
        math.isfinite(loss)
        and all(bool(p.isfinite().all()) for p in model.parameters())
    ):
        raise ValueError(
            f"epoch {number + 1}: the loss is {loss}, or weights are not finite. Take a smaller rate."
        )
    return {
        "loss": loss / len(ids),
        "accuracy": right / len(ids),
        "alpha": float(model.alpha.detach()),
    }


@torch.no_grad()
def evaluate(model, ids, labels, batch=256):
    """(mean loss, accuracy) of a model."""
    ids, labels = _pair(model, ids, labels)
    logits = torch.cat(
        [
            model(some)
            for some in ids.split(inputs.count(batch, "batch", MOST_ROWS, least=1))
        ]
    )
    loss = F.binary_cross_entropy_with_logits(logits, labels)
    return float(loss), float(((logits > 0) == (labels > 0)).float().mean())


def _pair(model, ids, labels, of=""):
    """(ids, labels) as tensors that belong together, for the model."""
    x = inputs.instance(model, "model", HardmaxClassifier)._checked(ids, f"{of}ids")
    y = _tensor(labels, f"{of}labels")
    if y.shape != (len(x),) or len(x) == 0 or not ((y == 0) | (y == 1)).all():
        raise ValueError(
            f"{of}ids: {len(x)} rows and {of}labels of shape {tuple(y.shape)}; expected as many of both, labels 0 or 1."
        )
    return x, y.to(model.decoder.weight.dtype)


def _bar(order, history, what):
    """A progress bar with the last epoch's numbers, or none if history is False."""
    if history is False:
        return order
    from tqdm.auto import tqdm

    last = history.epochs[-1] if history.epochs else {}
    shown = {
        name: f"{last[name]:.3f}"
        for name in ("loss", "validation_accuracy")
        if name in last
    }
    return tqdm(order, desc=what, leave=False, postfix=shown)


def _copy(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def _digest(*tensors):
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(
            str(tuple(tensor.shape)).encode()
            + tensor.detach().contiguous().cpu().numpy().tobytes()
        )
    return sha.hexdigest()


def _tensors(model, optimiser, best):
    """Everything that a run needs to go on."""
    out = {f"model.{k}": v for k, v in _copy(model).items()} | {
        f"best.{k}": v for k, v in best.items()
    }
    for i, state in optimiser.state_dict()["state"].items():
        out |= {f"adam.{i}.{k}": v.clone() for k, v in state.items()}
    return out


def _restore(model, optimiser, tensors):
    """The way back; returns the best weights."""
    kinds = {"model": {}, "best": {}, "adam": {}}
    for name, value in tensors.items():
        kind, rest = name.split(".", 1)
        kinds[kind][rest] = value
    model.load_state_dict(kinds["model"])
    state = {}
    for name, value in kinds["adam"].items():
        i, entry = name.split(".")
        state.setdefault(int(i), {})[entry] = value
    optimiser.load_state_dict(optimiser.state_dict() | {"state": state})
    return kinds["best"]


class _Checkpoints:
    """The last two epochs in a folder, each sealed with its digest."""

    def __init__(self, folder, settings):
        self.folder, self.settings = folder, settings
        if folder.exists() and not folder.is_dir():
            raise ValueError(
                f"folder is {folder}, a file: expected a folder for checkpoints."
            )
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, history, tensors):
        record = {
            "settings": self.settings,
            "epochs": history.epochs,
            "best": history.best,
        }
        files.write_sealed(
            self.folder / f"epoch-{len(history.epochs):04d}", record, tensors
        )
        for old in sorted(self.folder.glob("epoch-*.json"))[
            :-2
        ]:  # missing, if another run goes on here as well
            old.unlink(missing_ok=True)
            old.with_suffix(".safetensors").unlink(missing_ok=True)

    def newest(self):
        """(history, tensors) of the newest sound checkpoint, or None. Damaged ones are passed over."""
        for file in sorted(self.folder.glob("epoch-*.json"), reverse=True):
            if found := files.read_sealed(file.with_suffix("")):
                (record, tensors), theirs = found, found[0].get("settings", {})
                if theirs != self.settings:
                    other = [
                        name
                        for name, value in self.settings.items()
                        if theirs.get(name) != value
                    ]
                    raise ValueError(
                        f"{self.folder} holds a run with other settings or data ({', '.join(other)}): choose another "
                        "folder, or empty it."
                    )
                return History(record["epochs"], record["best"]), tensors
        return None


# Explanation


@dataclass(frozen=True)
class Explanation:
    """Why a review is judged as it is. Words are the distinct known ones, in order; all arrays follow that order."""

    words: list
    counts: np.ndarray
    unknown: list
    logit: float
    path: dynamics.Trajectory  # of the words, layer by layer
    follows: (
        np.ndarray
    )  # (depth, n): whom each follows in each layer (the first, on a tie)
    leaders: np.ndarray  # indices of the leaders found in these layers
    root: (
        np.ndarray
    )  # (n,): the word at the end of the chain of those followed in the last layer
    shares: dict  # word: its share of the logit, over all that gather at it; they and the bias add up to the logit
    bias: float
    without: np.ndarray  # (n,): the logit without that word, exactly (run again); nan if it is the only one
    stable: float  # if each token moves by less, in the length that belongs to A, nobody follows another in any layer

    @property
    def probability(self):
        """That the review is positive, by the model."""
        return 0.5 + 0.5 * math.tanh(self.logit / 2)


def explain(model, words, vocabulary=None, length=128):
    """Leaders, votes, counterfactuals and stability of one verdict, computed by hmlib in float64, with hardmax.

    model       a HardmaxClassifier;  words  a list of words, as `preprocess` gives them
    vocabulary  the model's Vocabulary, if it does not carry it as model.vocabulary
    length      to which reviews are cut; and filled with padding, if the model takes that for a token
    """
    inputs.instance(model, "model", HardmaxClassifier)
    vocabulary = model.vocabulary if vocabulary is None else vocabulary
    if vocabulary is None:
        raise ValueError(
            "The model carries no vocabulary: pass vocabulary, or set model.vocabulary."
        )
    rows, words = model.embedding.num_embeddings, inputs.words(words, "words")
    if len(inputs.instance(vocabulary, "vocabulary", reviews.Vocabulary)) != rows:
        raise ValueError(
            f"vocabulary has {len(vocabulary)} rows, padding included: expected {rows}, those of the model."
        )
    ids = vocabulary.encode(
        words, length if length is None else inputs.count(length, "length", least=1)
    )
    ids = ids if model.padding == "token" else ids[ids != 0]
    if not ids.any():
        raise ValueError(
            f"None of the {len(words)} words is in the vocabulary: nothing to explain."
        )
    different = list(dict.fromkeys(ids.tolist()))
    names, counts = (
        [vocabulary.words[i] for i in different],
        np.array([(ids == i).sum() for i in different], float),
    )
    with torch.no_grad():
        Z = model.embedding.weight[different].double().numpy()
        v, bias = model.decoder.weight[0].double().numpy(), float(model.decoder.bias)
        R = None if model.R is None else model.R.double().numpy()
        A = None if R is None else (R.T @ R + (R.T @ R).T) / 2
        alpha, n = float(_positive(model.raw_alpha.double())), len(names)
    path = dynamics.simulate(Z, alpha, model.depth, A)
    follows = np.array([attention.follow(z, A) for z in path.tokens[:-1]]).reshape(
        model.depth, n
    )
    root = follows[-1] if model.depth else np.arange(n)
    while (root[root] != root).any():
        root = root[root]
    votes = counts * (path.tokens[-1] @ v) / counts.sum()
    shares = {names[i]: float(votes[root == i].sum()) for i in np.unique(root)}
    return Explanation(
        names,
        counts.astype(int),
        [word for word in words if word not in vocabulary.index],
        float(votes.sum() + bias),
        path,
        follows,
        path.leaders(max(model.depth - 1, 0)),
        root,
        dict(sorted(shares.items(), key=lambda item: -abs(item[1]))),
        bias,
        _without(Z, counts, alpha, A, model.depth, v, bias),
        _stable(path, follows, A),
    )


def _without(Z, counts, alpha, A, depth, v, bias):
    """The logit with each word left out in turn: n clouds at once, each with another word masked."""
    n = len(Z)
    if n == 1:
        return np.array([np.nan])
    mask = ~np.eye(n, dtype=bool)
    last = dynamics.simulate(
        np.broadcast_to(Z, (n, *Z.shape)), alpha, depth, A, mask=mask
    ).tokens[-1]
    weights = mask * counts
    return ((weights * (last @ v)).sum(1) / weights.sum(1)) + bias


def _stable(path, follows, A):
    """If each token moves by at most e, a score gap g between j and l shrinks by at most e (|z_j - z_l| + 2 |z_i|) + 2 e^2."""
    if len(follows) == 0 or path.tokens.shape[1] == 1:
        return math.inf
    R = np.eye(path.tokens.shape[-1]) if A is None else np.linalg.cholesky(A).T
    least = math.inf
    for Z, to in zip(path.tokens[:-1] @ R.T, follows, strict=True):
        gap = (Z * Z[to]).sum(-1)[:, None] - Z @ Z.T
        reach = (
            np.linalg.norm(Z[to][:, None] - Z, axis=-1)
            + 2 * np.linalg.norm(Z, axis=-1)[:, None]
        )
        radius = (np.sqrt(reach**2 + 8 * np.maximum(gap, 0)) - reach) / 4
        radius[np.arange(len(Z)), to] = math.inf
        least = min(least, radius.min())
    return float(least)
