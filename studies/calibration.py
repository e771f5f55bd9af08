"""How sure the classifier of chapter 4's live figure should be: what it says against
how often it is right, on whole reviews, on parts of them, and on sentences from
elsewhere. `python -m studies calibration`"""

import hashlib

import numpy as np
import torch
from scipy.optimize import isotonic_regression, minimize

from hmlib import HardmaxClassifier, Weights, preprocess
from studies.data import SHA256, load_reviews
from studies.graph import Task
from studies.provenance import ROOT
from studies.texts import encoded

DATA = {name: SHA256[name] for name in ("kaggle", "sentences")}
MODEL = ROOT / "results" / "sentiment_model.safetensors"
PARTS = (1, 2, 3, 5, 8, 12, 20, 40, 80)  # known words in a row
FOLDS, BINS, CLIP = 10, 10, 1e-3
SHORT = 20  # words, and fewer

# What was judged: logits, how many known words, labels, and of which review


def judged(model, ids, labels):
    """(logit, known words, label) by rows."""
    with torch.no_grad():
        logits = torch.cat([model(some) for some in ids.split(256)])
    known = (ids != 0).sum(1)
    return np.stack([x.double().numpy() for x in (logits, known, labels)], 1)


def part(ids, n, rng):
    """Of each review with so many known words, n in a row, from anywhere; and which
    reviews these are."""
    rows, out = [], []
    for row, words in enumerate(ids.numpy()):
        words = words[words != 0]
        if len(words) >= n:
            at = rng.integers(0, len(words) - n + 1)
            rows.append(row)
            out.append(words[at : at + n])
    return torch.tensor(np.array(out)), torch.tensor(rows)


def all_of(model, ids, labels, seed):
    """{"whole" or n: (what was judged, of which reviews)}."""
    rng, everyone = np.random.default_rng(seed), torch.arange(len(ids))
    out = {"whole": (judged(model, ids, labels), everyone.numpy())}
    for n in PARTS:
        some, rows = part(ids, n, rng)
        out[str(n)] = judged(model, some, labels[rows]), rows.numpy()
    return out


# Ways to say how sure: each is fitted to what was judged, and gives logits


def loss(logits, labels):
    return np.logaddexp(0, -logits * (2 * labels - 1))


def least(formula, start, known):
    """The formula(p, logit, known words) whose p has the least mean loss."""

    def mean(p):
        return loss(formula(p, known[:, 0], known[:, 1]), known[:, 2]).mean()

    p = minimize(mean, start, method="Nelder-Mead", options={"xatol": 1e-6}).x
    return p, lambda logit, n: formula(p, logit, n)


def by_length(p, logit, n):
    scale, few = np.exp(p)
    return scale * n / (n + few) * logit


def isotonic(known):
    order = np.argsort(known[:, 0], kind="stable")
    rising = isotonic_regression(known[order, 2]).x.clip(CLIP, 1 - CLIP)
    places = known[order, 0]

    def logits(logit, _):
        p = np.interp(logit, places, rising)
        return np.log(p / (1 - p))

    return None, logits


WAYS = {
    "as it says": lambda known: (None, lambda logit, n: logit),
    "temperature": lambda known: least(lambda p, s, n: p[0] * s, [1], known),
    "Platt": lambda known: least(lambda p, s, n: p[0] * s + p[1], [1, 0], known),
    "isotonic": isotonic,
    "by length": lambda known: least(by_length, [0, 3], known),
}


def over_folds(fit, groups):
    """The mean loss of each group, by what was fitted to nine tenths of the reviews; a
    review and its parts are in one fold."""
    losses = {name: [] for name in groups}
    for fold in range(FOLDS):
        others = [X[rows % FOLDS != fold] for X, rows in groups.values()]
        _, logits = fit(np.concatenate(others))
        for name, (X, rows) in groups.items():
            X = X[rows % FOLDS == fold]
            losses[name].append(loss(logits(X[:, 0], X[:, 1]), X[:, 2]))
    return {name: float(np.concatenate(x).mean()) for name, x in losses.items()}


def reliability(logits, labels):
    """[said, right, how many] for tenths of the verdicts, the least sure first."""
    sure, right = 1 / (1 + np.exp(-abs(logits))), (logits > 0) == labels
    parts = np.array_split(np.argsort(sure, kind="stable"), BINS)
    return [[float(sure[i].mean()), float(right[i].mean()), len(i)] for i in parts]


# The tasks


def stored():
    """The model of the figure, in float64, and the digest of its file."""
    weights = Weights.load(MODEL)
    digest = hashlib.sha256(MODEL.read_bytes()).hexdigest()
    return HardmaxClassifier.from_weights(weights).double(), weights, digest


def fitted(seed=0):
    """Each way, fitted and compared on validation; the best one."""
    model, _, digest = stored()
    held = all_of(model, *encoded("128").of("held"), seed)
    compared = {name: over_folds(fit, held) for name, fit in WAYS.items()}
    for losses in compared.values():
        losses["mean"] = float(np.mean([*losses.values()]))
    chosen = min(compared, key=lambda name: compared[name]["mean"])
    if chosen != "by length":
        raise ValueError(f"{chosen} is best: pages know nothing but scale and few.")
    p, _ = WAYS[chosen](np.concatenate([X for X, _ in held.values()]))
    scale, few = np.exp(p)
    fit = {"scale": round(float(scale), 3), "few": round(float(few), 2)}
    return {"model": digest, "chosen": chosen, "validation": short(compared)} | fit, {}


def sentences():
    """What is judged of single sentences of reviews, of another site."""
    model, weights, _ = stored()
    texts, labels, _ = load_reviews("sentences")
    documents = [preprocess(text, "plain") for text in texts]
    ids = torch.tensor(weights.vocabulary.table(documents, 128))
    some = (ids != 0).any(1)
    X = judged(model, ids[some], torch.tensor(labels)[some].float())
    return {"texts": len(X)}, {"judged": torch.tensor(X)}


def tried(fit, others, seed=0):
    """Loss and reliability on test, as the model says and as it should."""
    test = all_of(stored()[0], *encoded("128").of("test"), seed)
    parts = [X for n, (X, _) in test.items() if n != "whole" and int(n) <= SHORT]
    shown = {"whole reviews": test["whole"][0]}
    shown[f"parts of up to {SHORT} words"] = np.concatenate(parts)
    shown["sentences of another site"] = others[1]["judged"].numpy()
    p = np.log([fit[0]["scale"], fit[0]["few"]])
    return {name: short(compared(X, p)) for name, X in shown.items()}, {}


def compared(X, p):
    logit, known, labels = X.T
    said = {"as it says": logit, "calibrated": by_length(p, logit, known)}
    return {"right": float(((logit > 0) == labels).mean()), "texts": len(X)} | {
        name: {"loss": float(loss(s, labels).mean()), "curve": reliability(s, labels)}
        for name, s in said.items()
    }


def short(value):
    """Four digits behind the point: more are the machine's."""
    if isinstance(value, dict):
        return {name: short(x) for name, x in value.items()}
    if isinstance(value, list):
        return [short(x) for x in value]
    return round(value, 4) if isinstance(value, float) else value


def tasks():
    needs = {"fit": "fit", "others": "sentences"}
    return [
        Task("sentences", sentences),
        Task("fit", fitted),
        Task("test", tried, needs=needs),
    ]


TABLES = {  # of results/calibration.json
    "fit": lambda facts: {
        key: facts["fit"][key] for key in ("model", "chosen", "scale", "few")
    },
    "validation": lambda facts: facts["fit"]["validation"],
    "test": lambda facts: facts["test"],
}
