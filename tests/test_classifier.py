"""The classifier is the layer of `hmlib.step`; its gradients, its training and its explanations, each against a loop."""

import copy
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_dynamics import EMERGING
from torch.nn import functional as F

from benchmarks import training_step
from hmlib import (
    HardmaxClassifier,
    Plan,
    Vocabulary,
    attention_sets,
    classifier,
    evaluate,
    explain,
    files,
    follow,
    load_reviews,
    preprocess,
    simulate,
    step,
    train,
    training,
)
from hmlib.classifier import merged
from hmlib.explanation import Explanation
from studies import checkpoints
from studies.provenance import PACKAGES, ROOT, write

DEPTH = 8


def matrix(dim, seed=0):
    R = np.random.default_rng(seed).normal(size=(dim, dim))
    A = R.T @ R + 0.3 * np.eye(dim)
    return (A + A.T) / 2


def a_model(seed, dim=3, rows=40, A=None, **options):
    """float64, with random reals for an embedding."""
    torch.manual_seed(seed)
    model = HardmaxClassifier(rows, dim, A=A, **options).double()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.randn(rows, dim, dtype=torch.float64))
        if isinstance(A, str):
            model.R.add_(0.4 * torch.randn(dim, dim))
    return model


def some_ids(seed, rows=40, batch=12, length=14):
    """Reviews of all lengths with repeated words, padded at the end or anywhere."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, rows, (batch, length))
    ids[:, 2] = ids[:, 0]
    ids[np.arange(length) >= rng.integers(1, length + 1, batch)[:, None]] = 0
    ids[::5] = rng.permuted(ids[::5], axis=1)
    return torch.tensor(ids)


def by_steps(model, ids):
    """The logits by hmlib.step, review by review."""
    A, logits = model.weights().A, []
    for row in ids:
        row = row[row != 0] if model.padding == "mask" else row
        Z = model.embedding.weight[row].detach().double().numpy()
        for _ in range(model.depth):
            Z = step(Z, float(model.alpha.detach()), A)
        logits.append(
            Z.mean(0) @ model.decoder.weight[0].detach().double().numpy()
            + float(model.decoder.bias.detach())
        )
    return np.array(logits)


def naive(model, ids, depth=None):
    """The logits by dense products, one review at a time, every layer computed: for autograd. No word is merged."""
    logits = []
    for row in ids:
        z = model.embedding(row[row != 0] if model.padding == "mask" else row)
        for _ in range(model.depth if depth is None else depth):
            scores = z @ z.T if model.R is None else (z @ model.R.T) @ (z @ model.R.T).T
            P = F.one_hot(scores.argmax(1), len(z)).to(z)
            z = (z + model.alpha * P @ z) / (1 + model.alpha)
        logits.append(model.decoder(z.mean(0)))
    return torch.cat(logits)


def gradients(model, logits):
    """Of a loss that weighs the reviews differently."""
    model.zero_grad()
    (logits * torch.linspace(-1, 2, len(logits), dtype=logits.dtype)).sum().backward()
    return {
        name: None if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters()
    }


# Forward


@pytest.mark.parametrize("padding", ["mask", "token"])
@pytest.mark.parametrize(
    "A", [None, matrix(3), "learned"], ids=["identity", "fixed", "learned"]
)
@pytest.mark.parametrize("alpha", [None, 0.3, 7])
def test_it_is_the_step_of_hmlib(padding, A, alpha):
    """To rounding, in float64 and in float32; with pass-through to the last bit the same."""
    for seed in range(4):
        model = a_model(seed, A=A, padding=padding, alpha=alpha, depth=2 * seed)
        ids = some_ids(seed)
        truth = by_steps(model, ids)
        logits = model(ids).detach()
        np.testing.assert_allclose(logits, truth, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            copy.deepcopy(model).float()(ids.int()).detach(), truth, rtol=0, atol=1e-4
        )
        model.attention = "pass-through"
        assert (model(ids) == logits).all()


def test_real_reviews():
    texts = load_reviews().texts[:200]
    vocabulary = Vocabulary([preprocess(text) for text in texts])
    ids = torch.tensor(vocabulary.table(map(preprocess, texts), 60))
    for padding in ("mask", "token"):
        model = a_model(0, dim=2, rows=len(vocabulary), padding=padding)
        np.testing.assert_allclose(
            model(ids).detach(), by_steps(model, ids), rtol=0, atol=1e-12
        )


def test_depth_0_is_the_mean():
    model, ids = a_model(0, depth=0), some_ids(0)
    real = (ids != 0)[..., None]
    mean = (model.embedding(ids) * real).sum(1) / real.sum(1)
    torch.testing.assert_close(
        model(ids), model.decoder(mean)[:, 0], rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("padding", ["mask", "token"])
@pytest.mark.parametrize("A", [None, "learned"])
def test_softmax_is_its_formula(padding, A):
    """sum_j exp(s_ij / T) z_j / sum_l exp(s_il / T), in plain loops."""
    model = a_model(
        1,
        A=A,
        padding=padding,
        attention="softmax",
        depth=3,
        alpha=1.3,
    )
    model.temperature = 0.7
    ids = some_ids(1, batch=6, length=7)
    R, E, alpha = (
        (np.eye(3) if A is None else model.R.detach().numpy()),
        model.embedding.weight.detach().numpy(),
        1.3,
    )
    for row, logit in zip(ids.numpy(), model(ids).detach(), strict=True):
        Z = [E[i] for i in row if i or padding == "token"]
        for _ in range(3):
            after = []
            for z in Z:
                scores = [math.exp((R @ z) @ (R @ y) / 0.7) for y in Z]
                mean = sum(s * y for s, y in zip(scores, Z, strict=True)) / sum(scores)
                after.append(
                    (z + float(model.alpha.detach()) * mean)
                    / (1 + float(model.alpha.detach()))
                )
            Z = after
        v, b = model.decoder.weight[0].detach().numpy(), model.decoder.bias.item()
        assert abs(float(logit) - (sum(Z) / len(Z) @ v + b)) < 1e-12
    assert abs(float(model.alpha.detach()) - alpha) < 1e-6


def gap(model, row):
    """The smallest distance between the best score of a token and the next, over all layers."""
    Z, least = model.embedding.weight[torch.unique(row)].detach().numpy(), math.inf
    for _ in range(model.depth):
        scores = np.sort(Z @ Z.T, 1)
        least = min(least, (scores[:, -1] - scores[:, -2]).min())
        Z = step(Z, float(model.alpha.detach()))
    return least


def test_softmax_at_a_small_temperature():
    """Where all gaps are large it is hardmax, value and gradients; elsewhere it need not be."""
    model = a_model(2, dim=16, alpha=0.5, padding="token")
    ids = torch.stack(
        [
            torch.randperm(39, generator=torch.Generator().manual_seed(k))[:12] + 1
            for k in range(60)
        ]
    )
    clear = torch.tensor([gap(model, row) > 0.04 for row in ids])
    assert clear.sum() > 10
    hard, hard_gradients = model(ids), gradients(model, model(ids[clear]))
    model.attention = "softmax"
    soft, soft_gradients = model(ids), gradients(model, model(ids[clear]))
    torch.testing.assert_close(soft[clear], hard[clear], rtol=0, atol=1e-9)
    for name, gradient in hard_gradients.items():
        torch.testing.assert_close(soft_gradients[name], gradient, rtol=0, atol=1e-7)
    model.temperature = 1
    assert (model(ids) - hard).abs().max() > 1e-3


def test_tokens_of_nearly_equal_length_hardly_move():
    """Lengths in [1, 1 + delta]: no token moves further than the root of K (2 delta + delta^2); the logit likewise."""
    rng, worst = np.random.default_rng(0), 0.0
    for k in range(400):
        d, n, depth, delta = 2 + k % 4, 3 + k % 30, 1 + k % 8, 10 ** rng.uniform(-4, 0)
        Z = rng.normal(size=(n, d))
        Z *= rng.uniform(1, 1 + delta, (n, 1)) / np.linalg.norm(
            Z, axis=1, keepdims=True
        )
        end, alpha = Z, 10 ** rng.uniform(-1, 1.5)
        for _ in range(depth):
            end = step(end, alpha)
        bound = math.sqrt(depth * (2 * delta + delta**2))
        moved = np.linalg.norm(end - Z, axis=1).max()
        assert moved <= bound * (1 + 1e-12)
        v = rng.normal(size=d)
        assert abs((end - Z).mean(0) @ v) <= np.linalg.norm(v) * bound * (1 + 1e-12)
        worst = max(worst, moved / bound)
    assert worst > 0.7  # so the bound is no empty one


# Merged words


@given(
    st.lists(
        st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=4
    ),
    st.randoms(),
)
def test_merged(rows, rng):
    """The words of a row that weigh something are distinct, their weights the sums; what is left weighs nothing."""
    ids = torch.tensor(rows)
    weights = torch.tensor(
        [[float(rng.choice([0, 1, 2])) for _ in row] for row in rows]
    )
    words, sums = merged(ids, weights)
    for row, weight, word, total in zip(
        rows, weights.tolist(), words.tolist(), sums.tolist(), strict=True
    ):
        there = sorted({x for x, w in zip(row, weight, strict=True) if w})
        n = len(there)
        assert word == there + [0] * (5 - n) and not any(total[n:])
        assert total[:n] == [
            sum(w for x, w in zip(row, weight, strict=True) if x == y) for y in there
        ]


@pytest.mark.parametrize("attention", classifier.ATTENTION)
def test_a_row_of_padding_gives_the_bias(attention):
    """Its gradients are zero, not NaN; and empty batches and rows are no trouble."""
    model = a_model(0, attention=attention)
    ids = torch.tensor([[0, 0, 0], [1, 2, 0]])
    logits = model(ids)
    assert logits[0] == model.decoder.bias and logits[1] != model.decoder.bias
    logits.sum().backward()
    assert (
        model.embedding.weight.grad.isfinite().all()
        and not model.embedding.weight.grad[0].any()
    )
    assert (
        model(ids, keep=torch.zeros(2, 3, dtype=torch.bool)).tolist()
        == [model.decoder.bias.item()] * 2
    )
    assert (
        model(ids[:0]).shape == (0,)
        and model(ids[:, :0]).tolist() == [model.decoder.bias.item()] * 2
    )


@pytest.mark.parametrize("attention", classifier.ATTENTION)
@pytest.mark.parametrize("padding", ["mask", "token"])
def test_words_left_out_are_not_there(padding, attention):
    model, ids = a_model(3, padding=padding, attention=attention), some_ids(3)
    keep = torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < 0.6
    keep[:, 0] = True
    for row, kept, logit in zip(ids, keep, model(ids, keep), strict=True):
        torch.testing.assert_close(model(row[kept][None])[0], logit, rtol=0, atol=1e-12)


# Settlement


@pytest.mark.parametrize("padding", ["mask", "token"])
def test_it_stops_computing_attention_and_nothing_changes(padding):
    """As many rounds of scores as it takes until all follow leaders, by a loop; the rest in closed form."""
    seen = set()
    for seed in range(30):
        model = a_model(seed, dim=2 + seed % 3, padding=padding, alpha=0.2 + seed % 4)
        ids = torch.stack([torch.randperm(39)[:25] + 1 for _ in range(1 + seed % 2)])
        ids[-1, 20:] = 0
        rounds, alpha = 0, float(model.alpha.detach())
        for row in ids:  # the slowest counts
            z = (
                model.embedding.weight[
                    torch.unique(row[row != 0] if padding == "mask" else row)
                ]
                .detach()
                .numpy()
            )
            for layer in range(1, DEPTH + 1):  # noqa: B007
                to = follow(z)
                if (to[to] == to).all():
                    break
                z = step(z, alpha)
            rounds = max(rounds, layer)
        calls, scores = [], model.scores
        model.scores = lambda *args, scores=scores, calls=calls: (
            calls.append(1),
            scores(*args),
        )[1]
        torch.testing.assert_close(model(ids), naive(model, ids), rtol=0, atol=1e-12)
        assert len(calls) == rounds
        seen.add(rounds)
    assert min(seen) == 1 and len(seen) >= 4


# Gradients


@pytest.mark.parametrize("padding", ["mask", "token"])
@pytest.mark.parametrize(
    "A", [None, matrix(3), "learned"], ids=["identity", "fixed", "learned"]
)
def test_gradients_are_those_of_the_layers(padding, A):
    """Embedding, alpha and decoder against autograd through dense products; A only chooses, and gets none."""
    for seed in range(5):
        model, ids = a_model(seed, A=A, padding=padding), some_ids(seed)
        ours, dense = gradients(model, model(ids)), gradients(model, naive(model, ids))
        assert ours.pop("R", None) is None
        for name, gradient in ours.items():
            torch.testing.assert_close(gradient, dense[name], rtol=0, atol=1e-9)
            assert gradient.any()
    model.attention = "softmax"
    if isinstance(A, str):
        assert gradients(model, model(ids))["R"].any()


def test_gradients_are_differences():
    """Central differences, coordinate by coordinate; those of a learned A vanish."""
    model, ids = (
        a_model(0, A="learned", rows=12, depth=4),
        some_ids(0, rows=12, batch=3, length=5),
    )
    ours, weigh = (
        gradients(model, model(ids)),
        torch.linspace(-1, 2, 3, dtype=torch.float64),
    )
    for name, p in model.named_parameters():
        for k in range(p.numel()):
            value, found = p.data.view(-1)[k].item(), []
            for e in (1e-6, -1e-6):
                p.data.view(-1)[k] = value + e
                found.append(float((model(ids) * weigh).sum().detach()))
            p.data.view(-1)[k] = value
            expected = 0 if ours[name] is None else ours[name].view(-1)[k].item()
            assert abs((found[0] - found[1]) / 2e-6 - expected) < 1e-8, name


def test_all_gradients_of_words_are_parallel_to_the_decoder():
    """With hardmax (the notes' P1); with softmax at a high temperature they are not."""
    model, ids = a_model(4), some_ids(4)
    v = model.decoder.weight[0].detach()

    def across():
        G = gradients(model, model(ids))["embedding.weight"]
        return (G - torch.outer(G @ v, v) / (v @ v)).abs().max()

    assert across() < 1e-14
    model.attention, model.temperature = "softmax", 1
    assert across() > 1e-3


@pytest.mark.parametrize("padding", ["mask", "token"])
def test_pass_through(padding):
    """Each word gets its share of the mean times v, as if there were no layers; alpha gets nothing."""
    model, ids = a_model(5, padding=padding, attention="pass-through"), some_ids(5)
    G, v = gradients(model, model(ids)), model.decoder.weight[0].detach()
    expected = torch.zeros(40, 3).double()
    for row, c in zip(
        ids, torch.linspace(-1, 2, len(ids), dtype=torch.float64), strict=True
    ):
        words = row[row != 0] if padding == "mask" else row
        for word in words:
            expected[word] += c * v / len(words)
    torch.testing.assert_close(G["embedding.weight"], expected, rtol=0, atol=1e-14)
    assert G["raw_alpha"] is None
    model.attention = "hardmax"
    of_hardmax = gradients(model, model(ids))
    torch.testing.assert_close(
        G["decoder.weight"], of_hardmax["decoder.weight"], rtol=0, atol=0
    )
    assert (of_hardmax["embedding.weight"] - expected).abs().max() > 0.01


# alpha


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.5, 1, 29.9, 30.1, 100, 1e6])
def test_alpha_is_what_it_was_set_to(alpha):
    model = HardmaxClassifier(3, 2)
    model.set_alpha(alpha)
    assert model.alpha.item() == pytest.approx(alpha, rel=2e-6)
    model.double().set_alpha(alpha)
    assert model.alpha.item() == pytest.approx(alpha, rel=1e-14)
    assert HardmaxClassifier(3, 2, alpha=alpha).alpha.item() == pytest.approx(
        alpha, rel=2e-6
    )


def test_alpha_stays_positive():
    """Whatever an optimiser does to it."""
    for direction in (1, -1):
        model = HardmaxClassifier(9, 2)
        optimiser = torch.optim.Adam(model.parameters(), lr=50)
        for _ in range(60):
            optimiser.zero_grad()
            (
                direction * model.raw_alpha + model(torch.tensor([[1, 2, 3]])).sum()
            ).backward()
            optimiser.step()
            assert 0 < model.alpha < math.inf
        assert model.raw_alpha.item() * -direction > 1000
        assert model(torch.tensor([[1, 2, 3]])).isfinite().all()
        assert math.isfinite(
            explain(model, ["a"], Vocabulary([list("abcdefgh")])).logit
        )


def test_alpha_is_learned_or_not():
    assert HardmaxClassifier(3, 2, alpha=1).raw_alpha.requires_grad is False
    assert HardmaxClassifier(3, 2).raw_alpha.requires_grad is True
    torch.manual_seed(0)
    drawn = [HardmaxClassifier(3, 2).alpha.item() for _ in range(20)]
    assert len(set(drawn)) == 20 and min(drawn) > 0 and max(drawn) < 1


# Errors


MODEL = HardmaxClassifier(5, 2)
BAD = [
    (lambda: HardmaxClassifier(0, 2), "rows is 0: expected a whole number >= 1."),
    (lambda: HardmaxClassifier(2.5, 2), "rows is 2.5: expected a whole number >= 1."),
    (lambda: HardmaxClassifier(5, 0), "dim is 0: expected a whole number >= 1."),
    (lambda: HardmaxClassifier(5, "2"), "dim is '2': expected a whole number >= 1."),
    (lambda: HardmaxClassifier(5, 2, -1), "depth is -1: expected a whole number from 0 to 1000000000."),
    (lambda: HardmaxClassifier(5, 2, padding="none"), "padding is 'none': expected one of 'mask', 'token'."),
    (lambda: HardmaxClassifier(5, 2, attention="hard"),
     "attention is 'hard': expected one of 'hardmax', 'pass-through', 'softmax'."),
    (lambda: HardmaxClassifier(5, 2, alpha=0), "alpha is 0.0: expected a number > 0."),
    (lambda: HardmaxClassifier(5, 2, alpha=[1, 2]), "alpha has shape (2,): expected one number"),
    (lambda: HardmaxClassifier(5, 2, A="learn"), "A is 'learn': expected a matrix, None or \"learned\"."),
    (lambda: HardmaxClassifier(5, 2, A=np.eye(3)), "A has shape (3, 3): expected (2, 2)"),
    (lambda: HardmaxClassifier(5, 2, A=[[1, 2], [2, 1]]), "A is not positive definite: its smallest eigenvalue is -1"),
    (lambda: HardmaxClassifier(5, 2, A=[[1, 1], [0, 1]]), "A is not symmetric"),
    (lambda: MODEL.set_alpha(-1), "alpha is -1.0: expected a number > 0."),
    (lambda: MODEL.set_alpha(math.inf), "alpha has NaN or infinite entries"),
    (lambda: MODEL.set_alpha("1"), "alpha is of type <U1: expected real numbers"),
    (lambda: MODEL(torch.tensor([1, 2])), "ids have shape (2,) and type torch.int64: expected integers, (batch, length)."),
    (lambda: MODEL(torch.ones(1, 2)), "ids have shape (1, 2) and type torch.float32: expected integers"),
    (lambda: MODEL(torch.tensor([[1, 5]])), "ids go from 1 to 5: expected 0 to 4, the rows."),
    (lambda: MODEL(np.array([[-1, 2]])), "ids go from -1 to 2: expected 0 to 4, the rows."),
    (lambda: train(MODEL, ([[1], [2]], [1]), ([[1]], [1])),
     "ids: 2 rows and labels of shape (1,); expected as many of both, labels 0 or 1."),
    (lambda: train(MODEL, ([[1]], [2]), ([[1]], [1])), "ids: 1 rows and labels of shape (1,); expected as many of both, labels"),
    (lambda: train(MODEL, ([[1]], [math.nan]), ([[1]], [1])), "ids: 1 rows and labels of shape (1,)"),
    (lambda: train(MODEL, ([[1]], [[1]]), ([[1]], [1])), "ids: 1 rows and labels of shape (1, 1)"),
    (lambda: train(MODEL, ([[1]], [1]), (torch.zeros(0, 1).long(), [])), "validation ids: 0 rows and validation labels of shape (0,)"),
    (lambda: train(MODEL, ([[1]], [1]), ([[1]], [0.5])), "validation ids: 1 rows and validation labels of shape (1,)"),
    (lambda: train(MODEL, ([[9]], [1]), ([[1]], [1])), "ids go from 9 to 9: expected 0 to 4, the rows."),
    (lambda: train(MODEL, [[1]]), "data has 1 parts: expected two, ids and labels."),
    (lambda: train(MODEL, ([[1]], [1]), ([[1]], [1], 3)), "validation has 3 parts: expected two, ids and labels."),
    (lambda: train(MODEL, ([[1]], [1]), None, 5), "plan is of type int: expected a Plan."),
    (lambda: explain(3, ["good"]), "model is of type int: expected a HardmaxClassifier, or its Weights."),
    (lambda: explain(MODEL.weights(), ["good"]), "The model carries no vocabulary: pass vocabulary"),
    (lambda: explain(MODEL, ["good"]), "The model carries no vocabulary: pass vocabulary, or set model.vocabulary."),
    (lambda: explain(MODEL, ["a", "b"], Vocabulary([["good", "e", "f", "g"]])), "None of the 2 words is in the vocabulary: nothing to explain."),
    (lambda: explain(MODEL, [], Vocabulary([["good", "e", "f", "g"]])), "None of the 0 words is in the vocabulary"),
    (lambda: explain(MODEL, "good", Vocabulary([["good", "e", "f", "g"]])), "words is a str: expected a list of words"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


# Training


def toy(seed, n=120):
    """Separable: words 1 to 20 are good, 21 to 40 bad, and a review has ten of one kind and two of the other."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    good, bad = rng.integers(1, 21, (n, 12)), rng.integers(21, 41, (n, 12))
    ids = np.where((np.arange(12) < 10) == labels[:, None], good, bad)
    ids[rng.random(ids.shape) < 0.05] = 0
    return torch.tensor(ids), torch.tensor(labels)


VARIANTS = {
    "hardmax": {"attention": "hardmax"},
    "pass-through": {"attention": "pass-through", "A": "learned"},
    "softmax": {"attention": "softmax", "A": "learned", "padding": "token"},
}


def run(folder=None, variant="hardmax", epochs=5, start=0, **options):
    """(weights, history) of a short training, by hmlib where it is enough."""
    torch.manual_seed(start)
    model = HardmaxClassifier(41, 2, depth=3, **VARIANTS[variant])
    settings = {"rate": 0.02, "batch": 16, "dropout": 0.2, "epochs": epochs} | options
    data = settings.pop("data", toy(0)), settings.pop("held", toy(1))
    if folder is None and not {"measure", "alpha_rate"} & set(options):
        return model.state_dict(), train(model, *data, Plan(**settings))
    history = checkpoints.train(model, *data, folder, **settings)
    return model.state_dict(), history


def same(one, other):
    """Bit by bit."""
    return told(one[1]) == told(other[1]) and all(
        torch.equal(x, other[0][name]) for name, x in one[0].items()
    )


def told(run):
    """What there is to say of a training; nothing of None."""
    return run and (run.epochs, run.best)


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_learns(variant):
    weights, history = run(variant=variant, epochs=15, rate=0.1)
    assert history.epochs[0]["loss"] > 2 * history.epochs[-1]["loss"]
    assert history.epochs[history.best]["validation_accuracy"] == 1
    model = HardmaxClassifier(41, 2, depth=3, **VARIANTS[variant])
    model.load_state_dict(weights)
    loss, accuracy = evaluate(model, *toy(1))
    assert accuracy == history.epochs[history.best]["validation_accuracy"]
    assert loss == pytest.approx(
        history.epochs[history.best]["validation_loss"], rel=1e-6
    )


def test_evaluate_is_what_it_says():
    model, (ids, labels) = a_model(0, rows=41), toy(3)
    ids, labels = ids.repeat(3, 1), labels.repeat(3)  # more than one batch
    p = 1 / (1 + np.exp(-model(ids).detach().numpy()))
    loss, accuracy = evaluate(model, ids, labels)
    assert loss == pytest.approx(
        -np.where(labels == 1, np.log(p), np.log(1 - p)).mean(), rel=1e-12
    )
    assert accuracy == pytest.approx(
        ((p > 0.5) == (labels.numpy() == 1)).mean(), rel=1e-6
    )
    data = ids.numpy(), labels.numpy().tolist()
    train(model, data, (ids, labels == 1), Plan(epochs=1))  # float64, any labels


def test_a_seed_decides():
    """Equal twice, bit by bit, and by torch's own account with nothing that is left to chance; another seed differs."""
    one = run()
    torch.rand(5)
    torch.use_deterministic_algorithms(True)
    try:
        assert same(one, run())
    finally:
        torch.use_deterministic_algorithms(False)
    assert not same(one, run(seed=1)) and not same(one, run(start=1))


def test_without_validation_the_last_weights_stay(tmp_path):
    """And what `measure` says of each epoch joins its row, also when the run was interrupted."""
    seen = []

    def measure(model, number):
        seen.append(copy.deepcopy(model.state_dict()))
        return {"number": number, "mean": model.embedding.weight.mean().item()}

    weights, history = run(held=None, measure=measure)
    assert history.best == 4 and [row["number"] for row in history.epochs] == list(
        range(5)
    )
    assert (
        "validation_loss" not in history.epochs[0]
        and weights["embedding.weight"].mean() == history.epochs[4]["mean"]
    )
    assert all(torch.equal(weights[name], value) for name, value in seen[4].items())
    run(tmp_path, held=None, measure=measure, epochs=2)
    assert (
        same((weights, history), run(tmp_path, held=None, measure=measure))
        and len(seen) == 10
    )


def test_alpha_has_a_rate_of_its_own():
    for rate in (None, 1e-12, 0.2):
        _, history = run(alpha_rate=rate)
        moved = abs(history.epochs[-1]["alpha"] - history.epochs[0]["alpha"])
        assert (moved < 1e-6) == (rate == 1e-12) and (moved > 0.5) == (rate == 0.2), (
            rate,
            moved,
        )
    assert not same(run(), run(alpha_rate=0.2))


def test_an_interrupted_model_is_as_it_was(tmp_path):
    """So the same call goes on, with the same model."""
    torch.manual_seed(0)
    model = HardmaxClassifier(41, 2, depth=3)
    before = copy.deepcopy(model.state_dict())
    settings = {
        "rate": 0.02,
        "batch": 16,
        "dropout": 0.2,
        "epochs": 5,
    }
    for run_it, how in (
        (training.train, {"plan": Plan(**settings)}),
        (checkpoints.train, {"folder": tmp_path} | settings),
    ):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
            interrupt(patch, training, "evaluate", 4)
            run_it(model, toy(0), toy(1), **how)
        assert all(
            torch.equal(before[name], value)
            for name, value in model.state_dict().items()
        )
    history = run_it(model, toy(0), toy(1), **how)
    assert same((model.state_dict(), history), run())


def test_every_epoch_has_its_own_order(monkeypatch):
    """All reviews once, in another order each time."""
    seen = []
    ids = torch.arange(1, 41)[
        :, None
    ]  # one word each, so that an order can be read off
    labels = (ids[:, 0] > 20).float()
    given = {
        "data": (ids, labels),
        "held": (ids, labels),
        "dropout": 0.0,
        "epochs": 3,
        "batch": 7,
    }
    forward = HardmaxClassifier.forward

    def watched(model, ids, keep=None):
        if torch.is_grad_enabled():
            seen.extend(ids[:, 0].tolist())
        return forward(model, ids, keep)

    monkeypatch.setattr(HardmaxClassifier, "forward", watched)
    run(**given)
    orders = [tuple(seen[k : k + 40]) for k in (0, 40, 80)]
    assert (
        len(seen) == 120
        and len(set(orders)) == 3
        and all(sorted(order) == list(range(1, 41)) for order in orders)
    )


def test_the_best_epoch_is_kept():
    """The earliest of equals; here validation has labels at random, so that no epoch in particular is the best."""
    held = toy(1)[0], toy(2)[1]
    weights, history = run(epochs=8, held=held)
    accuracies = [row["validation_accuracy"] for row in history.epochs]
    assert history.best == accuracies.index(max(accuracies)) < 7 and accuracies[
        -1
    ] < max(accuracies)
    shorter, until_best = run(epochs=history.best + 1, held=held)
    assert until_best.epochs == history.epochs[: history.best + 1]
    assert same((weights, history), (shorter, history)) and not same(
        (weights, None), (run(epochs=8)[0], None)
    )


def test_the_best_epoch_is_kept_over_a_stop(tmp_path):
    """Stopped after it, and before the end: the checkpoint holds its weights beside the last ones."""
    held = toy(1)[0], toy(2)[1]
    unbroken = run(epochs=8, held=held)
    run(tmp_path, epochs=unbroken[1].best + 2, held=held)
    assert unbroken[1].best < 6
    assert same(run(tmp_path, epochs=8, held=held), unbroken)


def test_gradients_are_clipped(monkeypatch):
    """The norm that reaches the optimiser is at most CLIP, and often is it."""
    norms, take = [], torch.optim.Adam.step

    def seen(optimiser, *args, **kwargs):
        gradients = [
            p.grad
            for group in optimiser.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        norms.append(float(torch.cat([g.flatten() for g in gradients]).norm()))
        return take(optimiser, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", seen)
    monkeypatch.setattr(training, "CLIP", 0.05)
    run()
    assert max(norms) <= 0.05 * (1 + 1e-5) and np.mean(np.array(norms) > 0.049) > 0.5
    norms.clear()
    monkeypatch.setattr(training, "CLIP", 1e9)
    run()
    assert max(norms) > 0.1


# Interrupted and damaged


class Interrupted(Exception):
    pass


def interrupt(monkeypatch, where, name, at, after=False):
    """Raise at the call number `at` of where.name, or just after it."""
    calls, real = [], getattr(where, name)

    def wrapped(*args, **kwargs):
        calls.append(1)
        if len(calls) == at and not after:
            raise Interrupted
        out = real(*args, **kwargs)
        if len(calls) == at:
            raise Interrupted
        return out

    monkeypatch.setattr(where, name, wrapped)


PLACES = [
    (checkpoints, "write_whole", at, after)
    for at in range(1, 11)
    for after in (False, True)
]  # tensors, JSON, tensors ...
PLACES += [(training, "evaluate", at, False) for at in range(1, 6)]
PLACES += [
    (files.os, "replace", at, False) for at in range(1, 11, 3)
]  # the draft is written, and stays
PLACES += [
    (F, "binary_cross_entropy_with_logits", at, False) for at in (1, 12, 27)
]  # in the midst of an epoch


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_interrupted_run_ends_like_an_unbroken_one(variant, tmp_path):
    unbroken = run(variant=variant)
    assert same(unbroken, run(tmp_path / "whole", variant))
    places = (
        PLACES if variant == "hardmax" else random.Random(variant).sample(PLACES, 8)
    )
    for k, (where, name, at, after) in enumerate(places):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
            interrupt(patch, where, name, at, after)
            run(tmp_path / str(k), variant)
        assert same(unbroken, run(tmp_path / str(k), variant)), (name, at, after)


def test_a_run_interrupted_again_and_again(tmp_path):
    """At every third write, until it gets through."""
    for _ in range(20):
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, checkpoints, "write_whole", 3)
            try:
                found = run(tmp_path)
            except Interrupted:
                continue
            break
    assert same(found, run())


def test_a_run_goes_on(tmp_path):
    """More epochs go on from the last; what is finished is read, not run."""
    run(tmp_path, epochs=3)
    assert same(run(tmp_path, epochs=6), run(epochs=6))
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, training, "evaluate", 1)
        assert same(run(tmp_path, epochs=6), run(tmp_path, epochs=6))


def test_a_killed_process(tmp_path):
    """SIGKILL at a random moment after a random number of epochs."""
    rng = random.Random()
    folder, after = tmp_path / "run", rng.randint(1, 12)
    code = f"import test_classifier as t; t.run({str(folder)!r}, epochs=400)"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=tmp_path,
    )
    try:
        patient = time.monotonic() + 60
        while not (folder / f"epoch-{after:04d}.json").exists():
            assert process.poll() is None and time.monotonic() < patient
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    reached = int(max(folder.glob("epoch-*.json")).stem.split("-")[1])
    assert after <= reached < 400
    assert same(run(folder, epochs=reached + 3), run(epochs=reached + 3)), (
        after,
        reached,
    )


def damages(folder):
    """(what, how) for the newest checkpoint."""
    rng = random.Random(0)
    newest = max(folder.glob("epoch-*.json"))
    for file in (newest, newest.with_suffix(".safetensors")):
        content = file.read_bytes()
        for at in [0, len(content) - 1] + [
            rng.randrange(len(content)) for _ in range(12)
        ]:
            flipped = bytearray(content)
            flipped[at] ^= 1 << rng.randrange(8)
            yield f"{file.suffix} flipped at {at}", file, bytes(flipped)
        for length in (0, len(content) // 2, len(content) - 1):
            yield f"{file.suffix} cut to {length}", file, content[:length]
    for text in (
        "[]",
        "{}",
        "null",
        "7",
        '"sha256"',
        '{"settings": 1, "sha256": 2}',
        "{",
        "[" * 10**5,
    ):
        yield text[:40], newest, text.encode()
    yield "no text", newest, b"\xff\xfe"
    record = json.loads(newest.read_text())
    for change in (
        {"best": 0},
        {"epochs": record["epochs"][:1]},
        {"settings": record["settings"] | {"seed": 5}},
    ):
        yield f"changed {change}", newest, json.dumps(record | change).encode()


def test_a_damaged_checkpoint_is_not_believed(tmp_path):
    """The one before is, and the end is the same; with both damaged the run starts anew, and the end is the same."""
    run(tmp_path, epochs=4)
    stored = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert sorted(file.name for file in stored) == [
        f"epoch-000{k}.{kind}" for k in (3, 4) for kind in ("json", "safetensors")
    ]
    unbroken = run(epochs=5)
    for what, file, content in damages(tmp_path):
        for every in stored:
            every.write_bytes(stored[every])
        for stale in set(tmp_path.iterdir()) - set(stored):
            stale.unlink()
        file.write_bytes(content)
        with pytest.MonkeyPatch.context() as patch:
            epochs = []
            real = training.evaluate
            patch.setattr(
                training,
                "evaluate",
                lambda *args, e=epochs, r=real: (e.append(1), r(*args))[1],
            )
            assert same(unbroken, run(tmp_path, epochs=5)), what
            assert len(epochs) <= 2, what
    for file in tmp_path.glob("*.safetensors"):
        file.unlink()
    assert same(unbroken, run(tmp_path, epochs=5))


def test_what_is_in_the_way_of_a_checkpoint_is_named(tmp_path):
    """A folder in a checkpoint's place, a file in the folder's: said before an epoch is lost to it."""
    for kind in ("json", "safetensors"):
        folder = tmp_path / kind / "epoch-0002"
        run(folder.parent, epochs=2)
        (stored := Path(f"{folder}.{kind}")).unlink()
        stored.mkdir()
        with pytest.raises(
            ValueError,
            match=re.escape(f"{stored} is a folder: expected a file. Remove it, or"),
        ):
            run(folder.parent, epochs=3)
        stored.rmdir()
        assert same(run(folder.parent, epochs=3), run(epochs=3))
    (tmp_path / "file").touch()
    with pytest.raises(
        ValueError, match=r"file, a file: expected a folder for checkpoints\."
    ):
        run(tmp_path / "file")
    checkpoints.write_sealed(
        tmp_path / "foreign" / "epoch-0001", {"key": "of a study"}, {"x": torch.ones(1)}
    )
    with pytest.raises(
        ValueError, match="foreign holds a run with other settings or data"
    ):
        run(tmp_path / "foreign")


def test_two_runs_share_a_folder(tmp_path, monkeypatch):
    """One call again, within an epoch of the first and further than it: both end like an unbroken one."""
    unbroken, longer, evaluate, at_once = (
        run(epochs=5),
        run(epochs=8),
        training.evaluate,
        [],
    )

    def wrapped(*args):
        if not at_once:
            at_once.append(1)
            at_once.append(run(tmp_path, epochs=8))
        return evaluate(*args)

    monkeypatch.setattr(training, "evaluate", wrapped)
    assert same(run(tmp_path, epochs=5), unbroken) and same(at_once[1], longer)
    assert same(run(tmp_path, epochs=8), longer)


def test_another_run_is_refused(tmp_path):
    ids, labels = toy(0)
    run(tmp_path, epochs=2)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for what, options in {
        "rate": {"rate": 0.03},
        "batch": {"batch": 8},
        "seed": {"seed": 1},
        "alpha_rate": {"alpha_rate": 0.1},
        "dropout": {"dropout": 0.0},
        "data": {"data": (ids, 1 - labels)},
        "data ": {"data": (ids.flip(0), labels)},
        "data  ": {"held": (toy(1)[0], 1 - toy(1)[1])},
        "start": {"start": 1},
        "learned, start, model": {"variant": "softmax"},
    }.items():
        message = f"{tmp_path} holds a run with other settings or data ({what.strip()}): choose another folder, or empty it."
        with pytest.raises(ValueError, match=re.escape(message)):
            run(tmp_path, **options)
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_nothing_is_pickled(tmp_path):
    """Tensors and JSON, of the last two epochs alone."""
    run(tmp_path, epochs=4)
    assert {file.suffix for file in tmp_path.iterdir()} == {
        ".json",
        ".safetensors",
    } and len(list(tmp_path.iterdir())) == 4
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert json.loads(
            content
            if file.suffix == ".json"
            else content[8 : 8 + int.from_bytes(content[:8], "little")]
        )
    for module in (classifier, training, checkpoints):
        text = Path(module.__file__).read_text()
        assert "pickle" not in text and "torch.save" not in text


# Explanation

WORDS = [f"word{i}" for i in range(1, 40)]
VOCABULARY = Vocabulary([WORDS])


def a_verdict(seed, padding="mask", A=None, depth=4, n=9, dim=2):
    """(float64 model, words, explanation): with repeated and unknown words, at a length that cuts nothing."""
    model = a_model(
        seed, dim=dim, A=A, padding=padding, depth=depth, alpha=0.4 + seed % 3
    )
    rng = np.random.default_rng(seed)
    words = [str(word) for word in rng.choice(WORDS, n)] + ["unheard-of"]
    words += [words[0]] * (seed % 3)
    rng.shuffle(words)
    return model, words, explain(model, words, VOCABULARY, length=16)


def encoded(words, length=16):
    return torch.tensor(VOCABULARY.encode(words, length))[None]


@pytest.mark.parametrize("padding", ["mask", "token"])
@pytest.mark.parametrize(
    "A", [None, matrix(2), "learned"], ids=["identity", "fixed", "learned"]
)
@pytest.mark.parametrize("depth", [0, 1, 8])
def test_the_explanation_is_of_this_verdict(padding, A, depth):
    """Logit, shares and counterfactuals are what the model says, run anew each time."""
    for seed in range(4):
        model, words, why = a_verdict(seed, padding, A, depth)
        ids = encoded(words)
        assert why.logit == pytest.approx(model(ids).item(), abs=1e-12)
        assert why.probability == pytest.approx(model(ids).sigmoid().item(), abs=1e-12)
        assert sum(why.shares.values()) + why.bias == pytest.approx(
            why.logit, abs=1e-12
        )
        assert set(why.shares) == {why.words[i] for i in set(why.root)}
        assert sorted(why.shares.values(), key=lambda share: -abs(share)) == list(
            why.shares.values()
        )
        known = [word for word in words if word != "unheard-of"]
        assert why.words == list(dict.fromkeys(known)) + ["<PAD>"] * (
            padding == "token"
        )
        assert why.counts.tolist() == [
            known.count(word) or 16 - len(known) for word in why.words
        ]
        assert why.unknown == ["unheard-of"]
        for word, logit in zip(why.words, why.without, strict=True):
            number = VOCABULARY.index.get(word, 0)
            assert logit == pytest.approx(model(ids, ids != number).item(), abs=1e-12)
            if padding == "mask":
                fewer = [other for other in words if other != word]
                assert logit == pytest.approx(model(encoded(fewer)).item(), abs=1e-12)


def test_a_float32_model_is_explained_in_float64():
    for seed in range(5):
        torch.manual_seed(seed)
        model = HardmaxClassifier(40, 2, A="learned", alpha=0.3 + seed, depth=3)
        model.vocabulary = VOCABULARY
        with torch.no_grad():
            model.R.add_(torch.rand(2, 2))
        why = explain(model, WORDS[:12])
        assert why.logit == pytest.approx(
            model.double()(encoded(WORDS[:12])).item(), abs=1e-12
        )


@pytest.mark.parametrize("A", [None, matrix(2)], ids=["identity", "fixed"])
def test_who_follows_whom(A):
    """Attention sets of the path; leaders by the definition on fractions; and a root is where the last chain ends."""
    for seed in range(12):
        model, _, why = a_verdict(seed, A=A)
        B = None if A is None else why.path.A
        if B is not None:
            np.testing.assert_allclose(B, A, atol=1e-6)
        for layer, to in enumerate(why.follows):
            sets = attention_sets(why.path.tokens[layer], B)
            assert (
                sets[np.arange(len(to)), to].all()
                and (to == follow(why.path.tokens[layer], B)).all()
            )
        path = [[[Fraction(x) for x in z] for z in Z] for Z in why.path.tokens[:-1]]
        assert why.leaders.tolist() == oracle.leaders(path, B)
        for i in range(len(why.words)):
            end = i
            while why.follows[-1][end] != end:
                end = why.follows[-1][end]
            assert why.root[i] == end
        Z = simulate(
            model.embedding.weight[VOCABULARY.encode(why.words, len(why.words))]
            .detach()
            .numpy(),
            1,
            0,
        ).tokens[0]
        assert (why.path.tokens[0] == Z).all()


def test_leaders_are_found_in_the_layers_there_are():
    """Fig. 2, row 2: token 1 leads from layer 1 on, so a model of one layer does not know of it."""
    model = HardmaxClassifier(9, 2, alpha=0.5)
    with torch.no_grad():
        model.embedding.weight[1:] = torch.tensor(EMERGING.astype(float))
    for model.depth, leaders in (
        (0, [0, 2]),
        (1, [0, 2]),
        (2, [0, 1, 2]),
        (8, [0, 1, 2]),
    ):
        assert (
            explain(model, WORDS[:8], Vocabulary([WORDS[:8]])).leaders.tolist()
            == leaders
        )


def test_a_single_word():
    model = a_model(0)
    why = explain(model, ["word3", "word3"], VOCABULARY)
    assert (
        why.words == ["word3"]
        and why.counts.tolist() == [2]
        and np.isnan(why.without).all()
    )
    assert (
        why.stable == math.inf
        and why.leaders.tolist() == [0]
        and list(why.shares) == ["word3"]
    )
    assert why.logit == pytest.approx(model(torch.tensor([[3]])).item(), abs=1e-12)


def test_a_long_review_is_cut():
    model = a_model(0)
    why = explain(model, WORDS, VOCABULARY, length=5)
    assert why.words == WORDS[:5] and why.logit == pytest.approx(
        model(torch.tensor([[1, 2, 3, 4, 5]])).item(), abs=1e-12
    )


def test_probability_of_any_logit():
    why = explain(a_model(0), ["word1"], VOCABULARY)
    for logit in (-1e4, -3, 0, 3, 1e4):
        p = explainer(why, logit).probability
        assert 0 <= p <= 1 and (
            abs(logit) > 100
            or p == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-12)
        )


def explainer(why, logit):
    return Explanation(**{**why.__dict__, "logit": logit})


def followed(Z, why, alpha, A):
    """Whom each follows in each layer, from other tokens."""
    path = simulate(Z, alpha, len(why.follows), A)
    return np.array([follow(z, A) for z in path.tokens[:-1]])


@pytest.mark.parametrize("A", [None, matrix(2)], ids=["identity", "fixed"])
def test_stable(A):
    """Moves by less than `stable`, at random and against the closest choice of the first layer, change nobody's choice;
    and where that choice is the closest of all, one fifth more does."""
    rng, broken = np.random.default_rng(0), 0
    for seed in range(12):
        model, _, why = a_verdict(seed, A=A, depth=3, n=6)
        assert 0 < why.stable < math.inf
        B = np.eye(2) if A is None else why.path.A
        R, alpha, Z = (
            np.linalg.cholesky(B).T,
            float(model.alpha.detach()),
            why.path.tokens[0],
        )
        for _ in range(60):
            move = rng.normal(size=Z.shape)
            move *= 0.999 * why.stable / np.linalg.norm(move, axis=1, keepdims=True)
            assert (
                followed(Z + move @ np.linalg.inv(R).T, why, alpha, why.path.A)
                == why.follows
            ).all(), seed
        Y, found = Z @ R.T, False
        for i, j in enumerate(why.follows[0]):
            for other in set(range(len(Z))) - {i, j}:
                move = np.zeros_like(Z)
                move[j] = -Y[i] / np.linalg.norm(Y[i])
                move[other] = Y[i] / np.linalg.norm(Y[i])
                if i != j:
                    move[i] = (Y[other] - Y[j]) / np.linalg.norm(Y[other] - Y[j])
                for factor in (0.999, 1.2):
                    moved = Z + factor * why.stable * move @ np.linalg.inv(R).T
                    differs = (
                        followed(moved, why, alpha, why.path.A) != why.follows
                    ).any()
                    assert factor > 1 or not differs, seed
                    found |= differs
        broken += found
    assert broken > 0


def test_a_tie_is_not_stable():
    model = a_model(0, dim=2, rows=4, alpha=1)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[0.0, 0], [1, 0], [2, 1], [2, -1]]))
    assert explain(model, ["a", "b", "c"], Vocabulary([["a", "b", "c"]])).stable == 0


# The benchmark


def test_the_benchmark(tmp_path):
    """Tiny: every way of every model is timed, the numbers fit together, and the file is whole."""
    tiny = {"reviews": 60, "epochs": 1, "batches": 2, "batch": 8, "length": 16}
    result = training_step.run(training_step.Setting((2,), repetitions=2, **tiny))
    assert result["agreement"]["reviews"] > 0
    for row in result["models"]:
        assert set(row["ms"]) == set(training_step.WAYS) and min(row["ms"].values()) > 0
        assert set(row["ratio"]) == {"i/ii", "i/iii", "i/iv", "i/v"}
    assert len(list(training_step.table(result))) == 4
    write(result, tmp_path / "new" / "benchmarks.json")
    assert json.loads((tmp_path / "new" / "benchmarks.json").read_text()) == result
    assert len(list((tmp_path / "new").iterdir())) == 1


def test_the_ways_compute_the_same():
    """ii, iii and iv always; i where no near-tie is, as the benchmark checks itself; v where no padding is."""
    model, ids = a_model(0, padding="token"), some_ids(0)
    truth = by_steps(model, ids)
    ways = training_step.ways(model)
    for way in ("ii", "iii", "iv"):
        np.testing.assert_allclose(ways[way](ids).detach(), truth, rtol=0, atol=1e-12)
    full = ids[(ids != 0).all(1)]
    torch.testing.assert_close(ways["v"](full), ways["iv"](full))
    assert (ways["v"](ids) - ways["iv"](ids)).abs().max() > 0.01
    assert training_step.agreement(reviews=60)["reviews"] > 10


def test_the_stored_result_says_where_it_comes_from():
    """And holds what was promised: 5 times (d = 2) and 6 times (d = 16) as fast as the paper's way, when trained."""
    stored = json.loads((ROOT / "results" / "benchmarks.json").read_text())
    keys = {"command", "data", "seeds", "versions", "machine", "commit", "date"}
    assert set(stored["provenance"]) == keys
    assert stored["provenance"]["versions"].keys() == {"python", *PACKAGES}
    assert re.fullmatch(r"[0-9a-f]{64}", stored["provenance"]["data"])
    assert re.fullmatch(r"[0-9a-f]{40}(\+changes)?", stored["provenance"]["commit"])
    ratios = {
        (row["dim"], row["embedding"]): row["ratio"]["i/iv"]["median"]
        for row in stored["training_step"]["models"]
    }
    assert set(ratios) == {
        (d, embedding) for d in (2, 16) for embedding in ("random start", "trained")
    }
    assert ratios[2, "trained"] >= 5 and ratios[16, "trained"] >= 6
