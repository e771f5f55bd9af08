"""How long one training step takes, forward and backward: the paper's way, and ours in three stages.

i    softmax at temperature 1e-3, through dense products of all tokens, padding included (the paper)
ii   hardmax: argmax and gather, all layers
iii  ii, which stops computing attention once all tokens follow leaders
iv   iii on distinct words: HardmaxClassifier with padding="token", which computes what ii does
v    iv without padding: HardmaxClassifier as it comes

`make bench` runs it, prints the table and writes results/benchmarks.json. No step of the optimiser is timed.
"""

import argparse
import copy
import shlex
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from hmlib import (
    HardmaxClassifier,
    Plan,
    Vocabulary,
    evaluate,
    load_reviews,
    preprocess,
    train,
)
from hmlib.text import SHA256
from studies.provenance import ROOT, merge, provenance

WAYS = ("i", "ii", "iii", "iv", "v")
TEMPERATURE = 1e-3


def judged(model, z):
    return model.decoder(z.mean(1)).squeeze(-1)


def paper(model, ids):
    """i"""
    z = model.embedding(ids)
    for _ in range(model.depth):
        z = (z + model.alpha * ((z @ z.mT) / TEMPERATURE).softmax(-1) @ z) / (
            1 + model.alpha
        )
    return judged(model, z)


def gathered(model, ids, settle=False):
    """ii, and with settle iii"""
    z, left = model.embedding(ids), model.depth
    while left:
        with torch.no_grad():
            to = (z @ z.mT).argmax(-1)
            layers = left if settle and bool((to.gather(1, to) == to).all()) else 1
        targets = z.gather(1, to[..., None].expand_as(z))
        z = targets + (1 + model.alpha) ** -layers * (z - targets)
        left -= layers
    return judged(model, z)


def ways(model):
    """The five forward passes of one model."""
    mask = copy.copy(model)  # the same parameters
    mask.padding = "mask"
    return dict(
        zip(
            WAYS,
            (
                lambda ids: paper(model, ids),
                lambda ids: gathered(model, ids),
                lambda ids: gathered(model, ids, settle=True),
                model,
                mask,
            ),
            strict=True,
        )
    )


def gradients(model, forward, ids, labels):
    """One training step without the optimiser's."""
    model.zero_grad()
    F.binary_cross_entropy_with_logits(forward(ids), labels).backward()
    return [p.grad for p in model.parameters()]


def times(model, ids, labels, repetitions, batch):
    """Milliseconds per step: (repetitions, ways). The ways take turns, batch by batch, so that a slow moment hits all."""
    all_ways = ways(model)
    batches = list(zip(ids.split(batch), labels.split(batch), strict=True))
    for forward in all_ways.values():
        gradients(model, forward, *batches[0])
    taken = np.zeros((repetitions, len(WAYS)))
    for repetition in taken:
        for some in batches:
            for i, forward in enumerate(all_ways.values()):
                start = time.perf_counter()
                gradients(model, forward, *some)
                repetition[i] += time.perf_counter() - start
    return 1000 * taken / len(batches)


def settled(model, ids, batch):
    """Layers until a whole batch has settled (depth, if it has not): mean and largest."""
    found = []
    for some in ids.split(batch):
        with torch.no_grad():
            z = model.embedding(some)
            for layer in range(model.depth + 1):
                to = (z @ z.mT).argmax(-1)
                if (to.gather(1, to) == to).all() or layer == model.depth:
                    break
                z = (z + model.alpha * z.gather(1, to[..., None].expand_as(z))) / (
                    1 + model.alpha
                )
        found.append(layer)
    return float(np.mean(found)), max(found)


def summary(taken):
    """Medians, and the ratios i to the others with the middle 80 % of the repetitions."""
    ratios = taken[:, :1] / taken
    return {
        "ms": dict(zip(WAYS, np.median(taken, 0).round(2).tolist(), strict=True)),
        "ratio": {
            f"i/{way}": {
                "median": round(float(np.median(ratios[:, k])), 2),
                "10%": round(float(np.quantile(ratios[:, k], 0.1)), 2),
                "90%": round(float(np.quantile(ratios[:, k], 0.9)), 2),
            }
            for k, way in enumerate(WAYS)
            if k
        },
    }


def agreement(seed=0, reviews=200, words=32, dim=16):
    """Gradients of i to iv on synthetic reviews without a near-tie, float64: the largest relative differences."""
    torch.manual_seed(seed)
    model = HardmaxClassifier(1000, dim, padding="token").double()
    model.set_alpha(0.5)
    ids = torch.stack([torch.randperm(999)[:words] + 1 for _ in range(reviews)])
    ids[:, 1::4] = ids[:, ::4]  # words that are repeated
    with torch.no_grad():
        z, gap = model.embedding(ids), torch.full((reviews,), torch.inf)
        for _ in range(model.depth):
            scores = z @ z.mT
            to = scores.argmax(-1, keepdim=True)
            equal = (z[:, None] == z.gather(1, to.expand_as(z))[:, :, None]).all(-1)
            second = scores.masked_fill(equal, -torch.inf).amax(-1)
            gap = torch.minimum(gap, (scores.gather(2, to)[..., 0] - second).amin(-1))
            z = (z + model.alpha * z.gather(1, to.expand_as(z))) / (1 + model.alpha)
    ids = ids[gap > 40 * TEMPERATURE]
    if len(ids) == 0:
        raise AssertionError("No synthetic review without a near-tie.")
    labels = torch.randint(0, 2, (len(ids),)).double()
    all_ways = ways(model)
    found = {
        way: [g.clone() for g in gradients(model, all_ways[way], ids, labels)]
        for way in WAYS[:4]
    }
    off = {
        way: max(
            float((g - h).abs().max() / h.abs().max())
            for g, h in zip(found[way], found["iv"], strict=True)
        )
        for way in WAYS[:3]
    }
    if off["i"] > 1e-6 or off["ii"] > 1e-12 or off["iii"] > 1e-12:
        raise AssertionError(f"Gradients differ from those of iv: {off}.")
    return {"reviews": len(ids), "relative_difference_from_iv": off}


@dataclass(frozen=True)
class Setting:
    """Of the benchmark. Models of some dims learn from five sixths of the reviews; so many batches more are timed."""

    dims: tuple = (2, 16)
    reviews: int = 3000
    epochs: int = 8
    batches: int = 6
    repetitions: int = 25
    batch: int = 64
    length: int = 128
    seed: int = 0


def run(setting):
    """The whole benchmark on one thread, as what goes into the file."""
    threads, batch, seed = torch.get_num_threads(), setting.batch, setting.seed
    torch.set_num_threads(1)
    try:
        texts, labels, _ = load_reviews()
        reviews, cut = setting.reviews, setting.reviews * 5 // 6
        texts = texts[: reviews + setting.batches * batch]
        documents = [preprocess(text) for text in texts]
        vocabulary = Vocabulary(documents)
        ids = torch.tensor(vocabulary.table(documents, setting.length))
        labels = torch.tensor(labels[: len(ids)]).float()
        parts = slice(cut), slice(cut, reviews), slice(reviews, None)
        learn, held, timed = ((ids[part], labels[part]) for part in parts)
        out = {"agreement": agreement(seed), "models": []}
        for dim in setting.dims:
            torch.manual_seed(seed)
            model = HardmaxClassifier(len(vocabulary), dim, padding="token")
            for state in ("random start", "trained"):
                if state == "trained":
                    train(model, learn, held, Plan(epochs=setting.epochs, seed=seed))
                mean, most = settled(model, timed[0], batch)
                taken = times(model, *timed, setting.repetitions, batch)
                row = {
                    "dim": dim,
                    "embedding": state,
                    "alpha": round(float(model.alpha.detach()), 3),
                    "validation_accuracy": round(evaluate(model, *held)[1], 3),
                    "settled_after": {"mean": round(mean, 1), "most": most},
                }
                out["models"].append(row | summary(taken))
    finally:
        torch.set_num_threads(threads)
    words = float(np.mean([len(set(row.tolist())) for row in timed[0]]))
    out["setting"] = {
        "batch": batch,
        "length": setting.length,
        "depth": model.depth,
        "threads": 1,
        "temperature": TEMPERATURE,
        "words": len(vocabulary),
        "distinct_per_review": round(words, 1),
        "repetitions": setting.repetitions,
        "batches": setting.batches,
        "trained_on": cut,
        "epochs": setting.epochs,
    }
    return out


def table(result):
    """What `run` found, as lines of text."""
    yield "ms per step; i/... = how many times faster than the paper's way (middle 80 % of the repetitions)"
    yield (
        f"{'d':>3} {'embedding':13}"
        + "".join(f"{way:>7}" for way in WAYS)
        + "    i/iv               i/v     settled"
    )
    for row in result["models"]:
        cells = "".join(f"{row['ms'][way]:7.1f}" for way in WAYS)
        iv, v = row["ratio"]["i/iv"], row["ratio"]["i/v"]
        yield (
            f"{row['dim']:>3} {row['embedding']:13}{cells}   {iv['median']:5.1f} ({iv['10%']:.1f}-{iv['90%']:.1f})"
            f"   {v['median']:5.1f}    {row['settled_after']['mean']} of {result['setting']['depth']}"
        )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training_step", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--repetitions", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=ROOT / "results" / "benchmarks.json")
    given = parser.parse_args(arguments)
    result = run(Setting(repetitions=given.repetitions, seed=given.seed))
    print(*table(result), sep="\n")
    command = shlex.join(
        [*parser.prog.split(), *(sys.argv[1:] if arguments is None else arguments)]
    )
    merge(
        {
            "training_step": result,
            "provenance": provenance(command, SHA256, [given.seed]),
        },
        given.out,
    )


if __name__ == "__main__":
    main()
