"""What the studies ask of a trained classifier: who leads, what its words and its
leaders are worth."""

from copy import deepcopy

import torch
from torch.nn.functional import one_hot

from hmlib.classifier import merged


@torch.no_grad()
def runs(model, ids, layers=None, batch=250, dtype=torch.float64):
    """Reviews of like size together: (rows, ids, words, weights, follows (layers, B,
    heads, n), z (B, n, d)).

    words are the distinct ones, 0 beyond the last; weights their numbers, 0 for what is
    not there. layers None: those of the model; "all": on until everybody follows a
    leader, so that the last of follows names the leaders of the definition. In float32,
    in which models are trained, followers come so near to their leaders that one is
    taken for the other.
    """
    model = deepcopy(model).to(dtype)
    weights = torch.ones(ids.shape) if model.padding == "token" else (ids != 0).float()
    words, weights = merged(ids, weights)
    sizes, order = (weights != 0).sum(1).sort()
    for rows, size in zip(order.split(batch), sizes.split(batch), strict=True):
        some, w = words[rows, : size.max()], weights[rows, : size.max()]
        z, follows = model.embedding(some), []
        for _ in range(
            model.depth if layers is None else 1000 if layers == "all" else layers
        ):
            to, after = model.layer(z, w.to(dtype))
            to = to.reshape(len(z), -1, z.shape[1])  # one head has no axis of its own
            follows.append(to)
            if layers == "all" and bool(settled(to, w).all()):
                break
            z = after
        yield rows, ids[rows], some, w, torch.stack(follows), z.float()


def settled(to, weights):
    """bool (B,): whoever is followed by to (B, heads, n) follows himself, in all
    heads."""
    alone = (to == torch.arange(to.shape[-1])).all(1)
    return (alone[:, None].expand_as(to).gather(2, to).all(1) | (weights == 0)).all(1)


def leading(follows, weights, layer=-1):
    """bool (B, n): who follows himself, in all heads."""
    return (follows[layer] == torch.arange(weights.shape[1])).all(1) & (weights != 0)


@torch.no_grad()
def verdicts(model, ids, labels, batch=256):
    """bool (N,): which reviews are judged rightly."""
    logits = torch.cat([model(some) for some in ids.split(batch)])
    return (logits > 0) == (labels > 0)


def how_many_lead(model, ids):
    """Mean number of leaders in the model's last layer, of distinct words, and the
    share of reviews that have settled."""
    lead = words = still = 0
    for _, _, _, w, follows, _ in runs(model, ids):
        lead += int(leading(follows, w).sum())
        words += int((w != 0).sum())
        still += int(settled(follows[-1], w).sum())
    return {
        "leaders": lead / len(ids),
        "words": words / len(ids),
        "settled": still / len(ids),
    }


def table_1(model, ids):
    """Leaders of each review, counted in two ways: average, standard deviation, least,
    most, and how many led from the start.

    The paper's code looks once more after one layer more than the model has, in
    float32; the definition at all layers.
    """
    out = {}
    for counting, layers, dtype in (
        ("paper", model.depth + 2, torch.float32),
        ("definition", "all", torch.float64),
    ):
        first, last, most = [], [], 0
        for _, _, _, w, follows, _ in runs(model, ids, layers, dtype=dtype):
            first.append(leading(follows, w, 0).sum(1))
            last.append(leading(follows, w).sum(1))
            most = max(most, len(follows))
        first, last = torch.cat(first).double(), torch.cat(last).double()
        out[counting] = {
            "average": float(last.mean()),
            "deviation": float(last.std(correction=0)),
            "least": int(last.min()),
            "most": int(last.max()),
            "initial": float((first / last).mean()),
            "layers": most,
        }
    return out


def leader_words(model, ids, labels, words, sure=0.0, strong=0.0, many=40):
    """The most frequent leaders among reviews judged rightly with a probability > sure,
    with |v z + b| > strong at the end.

    With the number of all reviews in which the word leads, and the score that it has of
    its own.
    """
    v, b = model.decoder.weight[0].detach(), float(model.decoder.bias.detach())
    counts, anyhow, score = (
        torch.zeros(len(words)),
        torch.zeros(len(words)),
        model.embedding.weight.detach() @ v,
    )
    for rows, _, some, w, follows, z in runs(model, ids):
        logits = ((z @ v) * w).sum(1) / w.sum(1) + b
        probability = torch.where(labels[rows] > 0, logits, -logits).sigmoid()
        lead = leading(follows, w)
        there = (
            lead
            & ((z @ v + b).abs() > strong)
            & (probability > max(sure, 0.5))[:, None]
        )
        counts += torch.bincount(some[there], minlength=len(words))
        anyhow += torch.bincount(some[lead], minlength=len(words))
    top = counts.argsort(descending=True, stable=True)[:many].tolist()
    return [
        {
            "word": words[i],
            "reviews": int(counts[i]),
            "anyhow": int(anyhow[i]),
            "score": float(score[i]),
            "id": i,
        }
        for i in top
    ]


@torch.no_grad()
def interpretability(model, ids, labels, scores, bias, seed=0, batch=250):
    """What is left of the verdicts when only leaders are kept, and when leaders or as
    many other words go.

    scores, bias  the control: a score for each word, averaged. "top": its strongest
                  words. Deleted is deleted: the model runs anew on what is left. All
                  against the control, which loses the same words.
    """
    generator, n = torch.Generator().manual_seed(seed), len(ids)
    kinds = ("nothing", "leaders", "random", "random others", "top", "all but leaders")
    total = {
        kind: torch.zeros(4) for kind in kinds
    }  # right, as before, control right, control as before
    votes = popular = 0.0
    v, b = model.decoder.weight[0], model.decoder.bias
    for rows, some, words, w, follows, z in runs(model, ids, batch=batch):
        y, real = labels[rows] > 0, words != 0
        lead = leading(follows, w) & real
        many = lead.sum(1, keepdim=True)
        sets = {
            "nothing": torch.zeros_like(lead),
            "leaders": lead,
            "all but leaders": ~lead,
        }
        for kind, worth, among in (
            ("random", torch.rand(w.shape, generator=generator), real),
            ("random others", torch.rand(w.shape, generator=generator), real & ~lead),
            ("top", scores[words].abs(), real),
        ):
            rank = worth.masked_fill(~among, -1).argsort(1, descending=True).argsort(1)
            sets[kind] = (rank < many) & among
        where = (some[:, :, None] == words[:, None, :]) & real[:, None, :]
        for kind, chosen in sets.items():
            keep = ~(where & chosen[:, None, :]).any(-1)
            said = (
                torch.cat(
                    [model(some[k], keep[k]) for k in torch.arange(len(some)).split(64)]
                )
                > 0
            )
            weights = (keep & (some != 0)).float()
            control = (scores[some] * weights).sum(1) / weights.sum(1).clamp_min(
                1
            ) + bias > 0
            if kind == "nothing":
                before, control_before = said, control
            marks = (said == y, said == before, control == y, control == control_before)
            total[kind] += torch.tensor([float(mark.sum()) for mark in marks])
        chain = (
            one_hot(follows[-1], w.shape[1]).float().mean(1)
        )  # a vote is shared by the heads
        for _ in follows:
            chain = chain @ chain
        gathered = (w[:, None] @ chain)[:, 0]
        table = (gathered * (z @ v)).sum(1) / w.sum(1) + b
        votes += float(((table > 0) == before).sum())
        popular += float((gathered.amax(1) / w.sum(1)).sum())
    out = {"votes": votes / n, "most_popular": popular / n}
    for kind, (right, same, control, control_same) in (
        (k, (t / n).tolist()) for k, t in total.items()
    ):
        out[kind] = {
            "accuracy": right,
            "same": same,
            "control_accuracy": control,
            "control_same": control_same,
        }
    return out
