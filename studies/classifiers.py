"""Classifiers of reviews, each trained and judged alike: free embeddings, two stages on
the circle, and controls without a network. Every function that returns facts is a task
of some study; of the epochs, the best on validation counts."""

import numpy as np
import torch
from scipy import sparse

from hmlib import evaluate
from studies import measures, models
from studies.checkpoints import train
from studies.data import load_published
from studies.paired import packed
from studies.texts import encoded

STRENGTHS = tuple(2.0**k for k in range(-2, 7))  # of a regression: its C


def judged(model, texts):
    """Accuracy on validation and test, and which test reviews are judged rightly."""
    said = {
        rows: measures.verdicts(model, *texts.of(rows))
        for rows in ("held", "test")
        if len(getattr(texts, rows))
    }
    facts = {rows: float(right.float().mean()) for rows, right in said.items()}
    return facts | {"right": packed(said["test"])}


def fitted(folder, way="128", seed=0, epochs=8, rate=0.01, dropout=0.3, **options):
    """A free embedding, with the energy of its displacement along the decoder's
    vector."""
    texts = encoded(way)
    options |= {"epochs": epochs, "rate": rate, "dropout": dropout, "folder": folder}
    model, history, start = models.free_embedding(texts, seed=seed, **options)
    facts = {"epochs": history.epochs, "best": history.best} | judged(model, texts)
    facts |= {"alpha": float(model.alpha.detach()), "depth": model.depth}
    if model.depth and options.get("attention") in (None, "hardmax", "pass-through"):
        facts |= measures.how_many_lead(model, texts.of("held")[0])
    common = models.document_frequency(texts) > 20
    moved = (model.embedding.weight.detach() - start)[common]
    v = model.decoder.weight.detach()[0]
    energy = ((moved @ v) ** 2).sum() / (v @ v) / (moved**2).sum()
    return facts | {"energy_along_v": float(energy)}, models.stored(model)


def without_a_network(way="128"):
    """Logistic regression on TF-IDF, its strength chosen on validation; and a vote of
    words, each by the sign of its score."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    texts = encoded(way)
    counts = {rows: _counts(texts, rows) for rows in ("fit", "held", "test")}
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts["fit"][0])
    data = {rows: (tfidf.transform(x), y) for rows, (x, y) in counts.items()}
    tried = [
        LogisticRegression(C=C, max_iter=1000).fit(*data["fit"]) for C in STRENGTHS
    ]
    grid = {model.C: model.score(*data["held"]) for model in tried}
    best = max(tried, key=lambda model: grid[model.C])
    present, y = counts["fit"][0] > 0, counts["fit"][1]
    positive, negative = (
        np.log((np.asarray(present[y == k].sum(0))[0] + 1) / (y == k).sum())
        for k in (1, 0)
    )
    sign, regression, vote = np.sign(positive - negative), {}, {}
    for rows in ("held", "test"):
        x, y = counts[rows]
        regression[rows] = best.score(*data[rows])
        vote[rows] = float(((x @ sign > 0) == (y > 0)).mean())
    right = best.predict(data["test"][0]) == data["test"][1]
    about = {"C": best.C, "grid": [*grid.items()], "parameters": best.coef_.size + 1}
    facts = {"TF-IDF": regression | about, "vote": vote, "right": packed(right)}
    return facts, {}


def _counts(texts, rows):
    """How often each word stands in each review, and the labels."""
    ids, labels = texts.of(rows)
    row, column = torch.nonzero(ids, as_tuple=True)
    places = row.numpy(), ids[row, column].numpy()
    shape = len(ids), len(texts.words)
    return sparse.csr_matrix((np.ones(len(row)), places), shape), labels.numpy()


def scores(folder, way, seed, **options):
    """The first stage: no attention, one score for each word."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model, history = models.scores_alone(texts, seed=seed, folder=folder, **options)
    score = (model.embedding.weight * model.decoder.weight).detach()
    facts = {"epochs": history.epochs, "best": history.best} | judged(model, texts)
    return facts, {"scores": score, "bias": model.decoder.bias.detach()}


def circle(folder, way, seed, first=None, unfreeze=None, **options):
    """Two stages from the scores of the first, or one; depth 0 is the control that gets
    the same training.

    unfreeze  attention with which all coordinates are trained on at last; None: they
              are not
    """
    texts = encoded(way)
    torch.manual_seed(seed)
    options |= {"seed": seed, "folder": f"{folder}/1"}
    if first is None:
        model, history = models.one_stage(texts, **options)
    else:
        score, bias = first[1]["scores"], float(first[1]["bias"])
        model, history = models.second_stage(texts, score, bias, **options)
    epochs = history.epochs
    if unfreeze:
        model.attention = unfreeze
        how = {"epochs": 2, "rate": 3e-4, "seed": seed, "dropout": 0.3}
        data = texts.of("fit"), texts.of("held")
        epochs = epochs + train(model, *data, folder=f"{folder}/2", **how).epochs
    facts = {"epochs": epochs} | judged(model, texts) | {"depth": model.depth}
    if model.depth:
        facts |= measures.how_many_lead(model, texts.of("held")[0])
    return facts, models.stored(model)


def leave(folder, way, seed, first, attention, rate, epochs=4):
    """What `circle` ended with, all coordinates set free and trained on; after each
    epoch, how it is judged, who leads, and how far words have gone, in all, and in
    length: root mean squares over the words that are trained."""
    texts, (facts, weights) = encoded(way), first[:2]
    model = models.rebuilt(weights, facts["depth"])
    model.attention = attention
    start, used = weights["embedding"], models.document_frequency(texts) > 0

    def measure(model, number):
        now = model.embedding.weight.detach()
        longer = now.norm(dim=1) - start.norm(dim=1)
        gone = {"gone": (now - start).norm(dim=1), "longer": longer}
        row = {k: float(x[used].square().mean().sqrt()) for k, x in gone.items()}
        row["test_accuracy"] = evaluate(model, *texts.of("test"))[1]
        if model.depth:
            row |= measures.how_many_lead(model, texts.of("held")[0])
        return row

    how = {"epochs": epochs, "rate": rate, "seed": seed, "dropout": 0.3}
    data = texts.of("fit"), texts.of("held")
    history = train(model, *data, folder=folder, measure=measure, **how)
    facts = {"epochs": history.epochs, "best": history.best} | judged(model, texts)
    if model.depth:
        facts |= measures.how_many_lead(model, texts.of("held")[0])
    return facts, models.stored(model)


def put_back(way, first, left):
    """What `leave` has done, in parts: its words at the lengths, or in the directions,
    that they had before; and without its layers."""
    (facts, before), (_, after) = first[:2], left[:2]
    old, new = before["embedding"], after["embedding"]
    towards = torch.nn.functional.normalize
    words = {
        "as it is": new,
        "lengths put back": towards(new) * old.norm(dim=1, keepdim=True),
        "directions put back": towards(old) * new.norm(dim=1, keepdim=True),
    }
    tables = {name: after | {"embedding": table} for name, table in words.items()}
    tried = {name: (tables[name], facts["depth"]) for name in words}
    tried["without layers"] = after, 0
    test = encoded(way).of("test")
    return {
        name: evaluate(models.rebuilt(*model), *test)[1]
        for name, model in tried.items()
    }, {}


def in_order(way, first, left):
    """What `leave` has done, but for its words' lengths: which lengths there are, and
    which word has which, are those of before or of after. Words of one old length are
    in the new order."""
    (facts, before), (_, after) = first[:2], left[:2]
    texts = encoded(way)
    used = np.flatnonzero(models.document_frequency(texts) > 0)
    old, new = (weights["embedding"].norm(dim=1).numpy() for weights in (before, after))
    lengths = {"old lengths, old order": old, "new lengths, new order": new}
    crossed = ("old lengths, new order", old, new), ("new lengths, old order", new, old)
    for name, some, other in crossed:
        lengths[name] = some.copy()
        ranked = used[np.lexsort((new[used], other[used]))]
        lengths[name][ranked] = np.sort(some[used])
    words, right = torch.nn.functional.normalize(after["embedding"]), {}
    for name, some in lengths.items():
        table = after | {"embedding": words * torch.tensor(some)[:, None]}
        model = models.rebuilt(table, facts["depth"])
        right[name] = evaluate(model, *texts.of("test"))[1]
    return right, {}


def interpreted(way, control, model=None, padding="mask", depth=8):
    """What leaders are worth, against the control's strongest words and random ones; of
    the published weights, if there is no model."""
    texts, weights = encoded(way), load_published() if model is None else model[1]
    depth = depth if model is None else model[0]["depth"]
    score, bias = control[1]["scores"][:, 0], float(control[1]["bias"])
    model, (ids, labels) = models.rebuilt(weights, depth, padding), texts.of("test")
    facts = measures.interpretability(model, ids, labels, score, bias)
    facts["lead"] = measures.how_many_lead(model, ids)
    facts["words"] = measures.leader_words(model, ids, labels, texts.words)[:20]
    return facts, {}
