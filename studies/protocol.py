"""The published weights, taken apart; and what the paper asks of a model. Every
function that returns facts and arrays is a task of `studies.sentiment`."""

import numpy as np
import torch
from scipy import stats

from hmlib import evaluate
from studies import measures, models
from studies.data import load_published, load_reviews
from studies.texts import encoded


def leader_statistics(model):
    """Table 1 and the leader words, of a model of the paper's protocol."""
    texts = encoded("paper")
    ids, labels = texts.of("test")
    sure, strong, many = 0.95, 2.0, 15
    words = measures.leader_words(model, ids, labels, texts.words, sure, strong, many)
    return {"table": measures.table_1(model, ids), "words": words}


def leaders_published():
    """`leader_statistics` of the published weights."""
    return leader_statistics(models.rebuilt(load_published(), 8, "token")), {}


def published():
    """The published weights on the test reviews: each thing that sets their accuracy
    apart, switched on and off."""
    texts, model = encoded("paper"), models.rebuilt(load_published(), 8, "token")
    ids, labels = texts.of("test")
    facts = {}
    for kind in ("hardmax", "softmax"):
        model.attention = kind
        facts[kind] = evaluate(model, ids, labels)[1]
    model.attention = "hardmax"
    batches = zip(ids.split(64), labels.split(64), strict=True)
    by_batch = [evaluate(model, x, y)[1] for x, y in batches]
    facts["mean of batches"] = float(np.mean(by_batch))
    raw = load_reviews("kaggle").texts
    seen = {raw[i] for i in torch.cat([texts.fit, texts.held])}
    new = torch.tensor([raw[i] not in seen for i in texts.test])
    facts["copies"] = int((~new).sum())
    facts["without copies"] = evaluate(model, ids[new], labels[new])[1]
    model.padding = "mask"
    facts["padding left out"] = evaluate(model, ids, labels)[1]
    model.depth = 0
    facts["no layers"] = evaluate(model, ids, labels)[1]
    return facts, {}


def random_start(draws=10):
    """The published embedding along and across the decoder's vector: is what lies
    across it still the random start?"""
    texts, model = encoded("paper"), models.rebuilt(load_published(), 8, "token")
    ids, labels = texts.of("test")
    E, v = (
        x.detach().clone() for x in (model.embedding.weight, model.decoder.weight[0])
    )
    turned = torch.stack([-v[1], v[0]])
    along, across = E @ v / v.norm(), E @ turned / v.norm()
    facts = _who_leads(model, ids, texts.words, along, across)

    def with_start(across):
        """What becomes of the same words, with another start across v."""
        start = across[:, None] * (turned / v.norm())
        with torch.no_grad():
            model.embedding.weight.copy_(along[:, None] * v / v.norm() + start)
        accuracy = {"accuracy": evaluate(model, ids, labels)[1]}
        return accuracy | measures.how_many_lead(model, ids)

    generator = torch.Generator().manual_seed(0)
    starts = [torch.randn(len(E), generator=generator) for _ in range(draws)]
    facts["another_start"] = [with_start(start) for start in starts]
    facts["none_across"] = with_start(torch.zeros(len(E)))
    return facts, {}


def _who_leads(model, ids, words, along, across):
    """How often words lead, for how far they lie along v and across it."""
    n = len(words)
    leads, there = torch.zeros(n), torch.zeros(n)
    for _, _, some, w, follows, _ in measures.runs(model, ids):
        leads += torch.bincount(some[measures.leading(follows, w)], minlength=n)
        there += torch.bincount(some[w != 0], minlength=n)
    often = there[:2001] > 50
    often[0] = False  # padding
    rate, facts = (leads / there.clamp_min(1))[:2001][often], {}
    sizes = {"along": along.abs(), "across": across.abs()}
    sizes["length"] = model.embedding.weight.detach().norm(dim=1)
    for name, x in sizes.items():
        correlation = stats.spearmanr(rate, x[:2001][often]).statistic
        facts[f"lead_rate_and_{name}"] = float(correlation)
    top = leads[1:].argsort(descending=True)[:20] + 1
    rank = across[1:2001].abs().argsort(descending=True).argsort() + 1
    facts["leaders"] = [
        {
            "word": words[i],
            "along": float(along[i]),
            "across": float(across[i]),
            "rank_across": int(rank[i - 1]) if i <= 2000 else None,
        }
        for i in top
    ]
    by_across = leads * (across.abs() > along.abs())
    facts["leading_by_across"] = float(by_across[1:].sum() / leads[1:].sum())
    return facts
