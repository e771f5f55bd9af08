"""The sentiment experiment in full, on the 50,000 reviews: the paper's protocol, an honest evaluation, better training,
the causes of the published shortfall, and what leaders are worth as explanations. Every function here is a task."""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import torch
from scipy import sparse, stats

from hmlib import HardmaxClassifier, Vocabulary, evaluate
from studies import measures, models
from studies.checkpoints import train
from studies.data import SHA256, load_published, load_reviews
from studies.graph import Task, about, rounded
from studies.provenance import write as write_json
from studies.texts import encoded

SEEDS, MORE_SEEDS = range(3), range(5)


def judged(model, texts):
    """Accuracy on validation and test."""
    return {
        rows: evaluate(model, *texts.of(rows))[1]
        for rows in ("held", "test")
        if len(getattr(texts, rows))
    }


# (a) The paper's protocol


def paper_protocol(folder, dim, way="paper", padding="token", epochs=101, seed=0):
    """Softmax at temperature 1e-3, eight layers, Adam at 1e-3 on all training reviews; test numbers after each epoch."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model = HardmaxClassifier(
        len(texts.words), dim, padding=padding, attention="softmax"
    )

    def measure(model, number):
        row = dict(
            zip(
                ("test_loss", "test_accuracy"),
                evaluate(model, *texts.of("test")),
                strict=True,
            )
        )
        if number % 10 == 0:  # the same weights, judged with softmax and with hardmax
            for kind in ("softmax", "hardmax"):
                model.attention = kind
                row[f"train_loss_{kind}"], _ = evaluate(model, *texts.of("train"))
            row["test_loss_hardmax"], row["test_accuracy_hardmax"] = evaluate(
                model, *texts.of("test")
            )
            model.attention = "softmax"
        return row

    history = train(
        model,
        *texts.of("train"),
        folder=folder,
        measure=measure,
        epochs=epochs,
        rate=1e-3,
        seed=seed,
    )
    return {"epochs": history.epochs}, models.stored(model)


# (b), (c) Table 1 and the leader words


def leader_statistics(folder, model=None):
    """Of weights after the paper's protocol; of the published ones, if there are none."""
    texts, weights = encoded("paper"), load_published() if model is None else model[1]
    model = models.rebuilt(weights, 8, "token")
    ids, labels = texts.of("test")
    facts = {"table": measures.table_1(model, ids)}
    facts["words"] = measures.leader_words(
        model, ids, labels, texts.words, 0.95, 2.0, 15
    )
    return facts, {}


def published(folder):
    """The published weights on the test reviews: each thing that sets their accuracy apart, switched on and off."""
    texts, weights = encoded("paper"), load_published()
    model = models.rebuilt(weights, 8, "token")
    ids, labels = texts.of("test")
    facts = {}
    for kind in ("hardmax", "softmax"):
        model.attention = kind
        facts[kind] = evaluate(model, ids, labels)[1]
    model.attention = "hardmax"
    by_batch = [
        evaluate(model, x, y)[1]
        for x, y in zip(ids.split(64), labels.split(64), strict=True)
    ]
    facts["mean of batches"] = float(np.mean(by_batch))
    raw = load_reviews("kaggle").texts
    seen = {raw[i] for i in torch.cat([texts.fit, texts.held])}
    new = torch.tensor([raw[i] not in seen for i in texts.test])
    facts |= {
        "copies": int((~new).sum()),
        "without copies": evaluate(model, ids[new], labels[new])[1],
    }
    model.padding = "mask"
    facts["padding left out"] = evaluate(model, ids, labels)[1]
    model.depth = 0
    facts["no layers"] = evaluate(model, ids, labels)[1]
    return facts, {}


# (d) An honest evaluation


KINDS = {
    "no attention": {"depth": 0},
    "hardmax": {},
    "hardmax, d = 16": {"dim": 16},
    "hardmax, alpha = 1": {"alpha": 1.0, "learn_alpha": False},
    "pass-through": {
        "attention": "pass-through",
        "alpha": 1.0,
        "learn_alpha": False,
        "depth": 3,
    },
    "softmax, T = 0.001": {"attention": "softmax", "epochs": 5},
    "softmax, T = 1": {"attention": "softmax", "temperature": 1.0, "epochs": 5},
    "random attention": {"attention": "random", "alpha": 1.0, "learn_alpha": False},
}
ALSO_OFFICIAL = ("no attention", "hardmax", "pass-through", "random attention")


def fitted(folder, way="128", seed=0, epochs=8, rate=0.01, dropout=0.3, **options):
    """A free embedding; the epoch chosen on validation. With the energy of its displacement along the decoder's vector."""
    texts = encoded(way)
    model, history, start = models.free_embedding(
        texts,
        seed=seed,
        epochs=epochs,
        rate=rate,
        dropout=dropout,
        folder=folder,
        **options,
    )
    facts = {"epochs": history.epochs, "best": history.best} | judged(model, texts)
    facts |= {"alpha": float(model.alpha.detach()), "depth": model.depth}
    if model.depth and options.get("attention") in (None, "hardmax", "pass-through"):
        facts |= measures.how_many_lead(model, texts.of("held")[0])
    moved = (model.embedding.weight.detach() - start)[
        models.document_frequency(texts) > 20
    ]
    v = model.decoder.weight.detach()[0]
    facts["energy_along_v"] = float(
        ((moved @ v) ** 2).sum() / (v @ v) / (moved**2).sum()
    )
    return facts, models.stored(model)


def without_a_network(folder, way="128"):
    """Logistic regression on TF-IDF, its strength chosen on validation; and a vote of words, each by the sign of its score."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    texts, facts = encoded(way), {}
    counts = {}
    for rows in ("fit", "held", "test"):
        ids, labels = texts.of(rows)
        row, column = torch.nonzero(ids, as_tuple=True)
        shape = (len(ids), len(texts.words))
        matrix = sparse.csr_matrix(
            (np.ones(len(row)), (row.numpy(), ids[row, column].numpy())), shape
        )
        counts[rows] = matrix, labels.numpy()
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts["fit"][0])
    data = {rows: (tfidf.transform(x), y) for rows, (x, y) in counts.items()}
    tried = [
        LogisticRegression(C=C, max_iter=500).fit(*data["fit"])
        for C in (0.5, 1, 2, 4, 8)
    ]
    best = max(tried, key=lambda model: model.score(*data["held"]))
    facts["TF-IDF"] = {rows: best.score(*data[rows]) for rows in ("held", "test")} | {
        "C": best.C
    }
    present = counts["fit"][0] > 0
    y = counts["fit"][1]
    positive, negative = (np.asarray(present[y == k].sum(0))[0] + 1 for k in (1, 0))
    sign = np.sign(
        np.log(positive / (y == 1).sum()) - np.log(negative / (y == 0).sum())
    )
    facts["vote"] = {
        rows: float(((x @ sign > 0) == (y > 0)).mean())
        for rows, (x, y) in counts.items()
        if rows != "fit"
    }
    return facts, {}


# (e) The better classifier


def scores(folder, way, seed, **options):
    """The first stage: no attention, one score for each word."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model, history = models.scores_alone(texts, seed=seed, folder=folder, **options)
    score = (model.embedding.weight * model.decoder.weight).detach()
    facts = {"epochs": history.epochs, "best": history.best} | judged(model, texts)
    return facts, {"scores": score, "bias": model.decoder.bias.detach()}


def circle(folder, way, seed, first=None, unfreeze=None, **options):
    """Two stages from the scores of the first, or one; depth 0 is the control that gets the same training."""
    texts = encoded(way)
    torch.manual_seed(seed)
    if first is None:
        model, history = models.one_stage(
            texts, seed=seed, folder=f"{folder}/1", **options
        )
    else:
        score, bias = first[1]["scores"], float(first[1]["bias"])
        model, history = models.second_stage(
            texts, score, bias, seed=seed, folder=f"{folder}/1", **options
        )
    facts = {"epochs": history.epochs}
    if unfreeze:  # then all coordinates are trained on
        model.attention = unfreeze
        more = train(
            model,
            *texts.of("fit"),
            texts.of("held"),
            folder=f"{folder}/2",
            epochs=2,
            rate=3e-4,
            seed=seed,
            dropout=0.3,
        )
        facts["epochs"] = facts["epochs"] + more.epochs
    facts |= judged(model, texts) | {"depth": model.depth}
    if model.depth:
        facts |= measures.how_many_lead(model, texts.of("held")[0])
    return facts, models.stored(model)


CURVE = (
    (0.3, 0.001),
    (0.3, 0.003),
    (0.3, 0.01),
    (0.6, 0.03),
    (1.0, 0.1),
    (0.6, 0.1),
    (1.0, 0.3),
    (1.0, 1.0),
)

# (f) Why the published training falls short: from its setting to the circle, one thing at a time


FACTORS = {  # the others stand among KINDS
    "as published, but hardmax": {"rate": 1e-3, "epochs": 20},
    "alpha learned faster": {"alpha_rate": 0.1},
    "alpha = 1, 3 layers": {"alpha": 1.0, "learn_alpha": False, "depth": 3},
}


def random_start(folder, draws=10):
    """The published embedding along and across the decoder's vector: is what lies across it still the random start?"""
    texts, weights = encoded("paper"), load_published()
    model = models.rebuilt(weights, 8, "token")
    ids, labels = texts.of("test")
    E, v = (
        model.embedding.weight.detach().clone(),
        model.decoder.weight.detach()[0].clone(),
    )
    along = E @ v / v.norm()
    across = E @ torch.tensor([-v[1], v[0]]) / v.norm()
    facts = {"frequency": []}
    for lo, hi in pairwise(
        sorted({1, *(k for k in (101, 1001, 10001) if k < len(E)), len(E)})
    ):
        some = {"ranks": [lo, hi - 1]}
        for name, x in (("along", along), ("across", across)):
            x = x[lo:hi].numpy()
            some[name] = {
                "mean": float(x.mean()),
                "deviation": float(x.std()),
                "kurtosis": float(stats.kurtosis(x, fisher=False)),
            }
        facts["frequency"].append(some)
    leads, there = torch.zeros(len(E)), torch.zeros(len(E))
    for _, _, some, w, follows, _ in measures.runs(model, ids):
        lead = measures.leading(follows, w)
        leads += torch.bincount(some[lead], minlength=len(E))
        there += torch.bincount(some[w != 0], minlength=len(E))
    often = there[:2001] > 50
    often[0] = False  # padding
    rate = (leads / there.clamp_min(1))[:2001][often]
    for name, x in (
        ("along", along.abs()),
        ("across", across.abs()),
        ("length", E.norm(dim=1)),
    ):
        facts[f"lead_rate_and_{name}"] = float(
            stats.spearmanr(rate, x[:2001][often]).statistic
        )
    top = leads[1:].argsort(descending=True)[:20] + 1
    order = across[1:2001].abs().argsort(descending=True).argsort() + 1
    facts["leaders"] = [
        {
            "word": texts.words[i],
            "along": float(along[i]),
            "across": float(across[i]),
            "rank_across": int(order[i - 1]) if i <= 2000 else None,
        }
        for i in top
    ]
    accidental = (across.abs() > along.abs()).float()
    facts["leading_by_across"] = float(
        (leads[1:] * accidental[1:]).sum() / leads[1:].sum()
    )
    # The same words with another start across v; and with none.
    generator, unit = (
        torch.Generator().manual_seed(0),
        torch.stack([-v[1], v[0]]) / v.norm(),
    )
    facts["another_start"] = []
    for _ in range(draws):
        other = torch.randn(len(E), generator=generator)
        with torch.no_grad():
            model.embedding.weight.copy_(
                along[:, None] * v / v.norm() + other[:, None] * unit
            )
        row = {"accuracy": evaluate(model, ids, labels)[1]}
        facts["another_start"].append(row | measures.how_many_lead(model, ids))
    with torch.no_grad():
        model.embedding.weight.copy_(along[:, None] * v / v.norm())
    facts["none_across"] = {
        "accuracy": evaluate(model, ids, labels)[1]
    } | measures.how_many_lead(model, ids)
    return facts, {}


# (g) Interpretability


def interpreted(folder, way, control, model=None, padding="mask", depth=8):
    """What leaders are worth, against the control's strongest words and random ones."""
    texts, weights = encoded(way), load_published() if model is None else model[1]
    depth = depth if model is None else model[0]["depth"]
    score, bias = control[1]["scores"][:, 0], float(control[1]["bias"])
    model, (ids, labels) = models.rebuilt(weights, depth, padding), texts.of("test")
    facts = measures.interpretability(model, ids, labels, score, bias) | {
        "lead": measures.how_many_lead(model, ids)
    }
    facts["words"] = measures.leader_words(model, ids, labels, texts.words)[:20]
    return facts, {}


# The graph


def tasks():
    out = [
        Task(f"paper d={dim}", paper_protocol, {"dim": dim}) for dim in (16, 2, 8, 4)
    ]
    for seed in SEEDS[1:]:  # how far does the random start carry?
        out += [
            Task(
                f"paper d=2, seed {seed}",
                paper_protocol,
                {"dim": 2, "seed": seed, "epochs": 31},
            )
        ]
    out += [
        Task(f"leaders d={dim}", leader_statistics, needs={"model": f"paper d={dim}"})
        for dim in (2, 4, 8, 16)
    ]
    out += [
        Task("leaders published", leader_statistics),
        Task("published", published),
        Task("random start", random_start),
    ]
    for way in ("128", "full", "pairs", "official"):
        out += [Task(f"TF-IDF {way}", without_a_network, {"way": way})]
        for seed in MORE_SEEDS if way != "official" else SEEDS:
            given = {"way": way, "seed": seed}
            out += [Task(f"scores {way} {seed}", scores, given)]
            needs = {"first": f"scores {way} {seed}"}
            out += [
                Task(
                    f"second stage alone {way} {seed}",
                    circle,
                    given | {"delta": 0.001, "depth": 0},
                    needs,
                )
            ]
            out += [
                Task(
                    f"circle .001 {way} {seed}", circle, given | {"delta": 0.001}, needs
                )
            ]
            if way != "official":
                out += [
                    Task(
                        f"circle .003 {way} {seed}",
                        circle,
                        given | {"delta": 0.003},
                        needs,
                    )
                ]
    for seed in SEEDS:
        for kind, options in KINDS.items():
            out += [Task(f"{kind} 128 {seed}", fitted, options | {"seed": seed})]
            if kind in ALSO_OFFICIAL:
                out += [
                    Task(
                        f"{kind} official {seed}",
                        fitted,
                        options | {"seed": seed, "way": "official"},
                    )
                ]
        needs = {"first": f"scores 128 {seed}"}
        for scale, delta in CURVE:
            given = {
                "way": "128",
                "seed": seed,
                "scale": scale,
                "delta": delta,
                "epochs": 3,
            }
            out += [Task(f"curve {scale} {delta} {seed}", circle, given, needs)]
        for factor, options in FACTORS.items():
            out += [Task(f"factor {factor} {seed}", fitted, options | {"seed": seed})]
        given = {"way": "128", "seed": seed, "delta": 0.01}
        out += [Task(f"circle at once {seed}", circle, given)]
        out += [
            Task(
                f"circle at once, hardmax {seed}",
                circle,
                given | {"attention": "hardmax"},
            )
        ]
        for depth in DEPTHS:
            out += [
                Task(
                    f"depth {depth} {seed}",
                    fitted,
                    {"seed": seed, "depth": depth, "epochs": 5},
                )
            ]
            given = {"way": "128", "seed": seed, "delta": 0.003, "depth": depth}
            out += [Task(f"circle, depth {depth} {seed}", circle, given, needs)]
    for seed in MORE_SEEDS:
        needs = {"first": f"scores 128 {seed}"}
        for kind in ("hardmax", "pass-through"):
            given = {"way": "128", "seed": seed, "delta": 0.001, "unfreeze": kind}
            out += [Task(f"beyond, {kind} {seed}", circle, given, needs)]
        out += [
            Task(f"beyond, no attention {seed}", circle, given | {"depth": 0}, needs)
        ]
    out += [Task("scores paper 0", scores, {"way": "paper", "seed": 0})]
    needs = {"control": "scores paper 0"}
    out += [
        Task(
            "leaders worth, published",
            interpreted,
            {"way": "paper", "padding": "token"},
            needs,
        )
    ]
    for name, way in INTERPRETED.items():
        needs = {"model": f"{name} 0", "control": f"scores {way} 0"}
        out += [Task(f"leaders worth, {name}", interpreted, {"way": way}, needs)]
    for what, options in SWITCHES.items():
        out += [
            Task(f"switch {what}", paper_protocol, {"dim": 16, "epochs": 21} | options)
        ]
    return out


DEPTHS = range(1, 13)
INTERPRETED = {
    "hardmax 128": "128",
    "pass-through 128": "128",
    "circle .003 128": "128",
    "circle at once": "128",
    "circle .003 full": "full",
    "circle .003 pairs": "pairs",
}
SWITCHES = {  # the paper's protocol at d = 16, where its best test epoch comes early, with one thing changed
    "padding left out": {"padding": "mask"},
    "training words only": {"way": "paper, training words"},
    "plain words": {"way": "paper, plain words"},
}


# What goes to results/


class Missing(Exception):
    """A task that is not done yet."""


class Facts(dict):
    def __missing__(self, name):
        raise Missing(name)


def write(done, folder, command):
    """What the tasks that are done allow: the model of chapter 4's live figure, and the parts of results/sentiment.json."""
    facts, files, result = (
        Facts({name: found for name, (found, _) in done.items()}),
        [],
        {},
    )
    of = about(
        done,
        command,
        {name: SHA256[name] for name in ("kaggle", "official", "published")},
        list(MORE_SEEDS),
    )
    if f"{LIVE} 0" in done:
        words = Vocabulary([encoded("128").words[1:]])
        model = models.weights_of(done[f"{LIVE} 0"][1], 3, vocabulary=words)
        said = {"task": f"{LIVE} 0", "style": "plain", "length": 128}
        files += [
            folder / "sentiment_model.safetensors",
            folder / "sentiment_model.json",
        ]
        model.save(files[0], **said, provenance=of | {"seeds": [0]})
    for name, part in PARTS.items():
        with suppress(Missing):
            result[name] = rounded(part(facts))
    files.append(folder / "sentiment.json")
    write_json(result | {"provenance": of}, files[-1])
    return files


def _over(facts, name, seeds):
    """One list for the seeds, for each number of a family of tasks."""
    rows = [facts[f"{name} {seed}"] for seed in seeds]
    return {
        key: [row[key] for row in rows]
        for key in rows[0]
        if key not in ("epochs", "commit", "best")
    }


PARTS = {
    "protocol": lambda facts: {
        str(d): _columns(facts[f"paper d={d}"]["epochs"]) for d in (2, 4, 8, 16)
    },
    "protocol_seeds": lambda facts: [
        _columns(facts[f"paper d=2, seed {seed}"]["epochs"]) for seed in SEEDS[1:]
    ],
    "leaders": lambda facts: {
        str(d): _plain(facts[f"leaders d={d}"]) for d in (2, 4, 8, 16)
    },
    "leaders_published": lambda facts: _plain(facts["leaders published"]),
    "published": lambda facts: _plain(facts["published"]),
    "random_start": lambda facts: _plain(facts["random start"]),
    "honest": lambda facts: {
        way: {
            kind: _over(facts, f"{kind} {way}", SEEDS)
            for kind in (KINDS if way == "128" else ALSO_OFFICIAL)
        }
        | {
            "circle": _over(facts, f"circle .001 {way}", SEEDS),
            "scores": _over(facts, f"scores {way}", SEEDS),
        }
        | {kind: facts[f"TF-IDF {way}"][kind] for kind in ("TF-IDF", "vote")}
        for way in ("128", "official")
    },
    "better": lambda facts: {
        way: {kind: _over(facts, f"{kind} {way}", MORE_SEEDS) for kind in BETTER}
        | {"TF-IDF": facts[f"TF-IDF {way}"]["TF-IDF"]}
        for way in ("128", "full", "pairs")
    },
    "curve": lambda facts: [
        {"scale": s, "delta": d} | _over(facts, f"curve {s} {d}", SEEDS)
        for s, d in CURVE
    ],
    "factors": lambda facts: (
        {factor: _over(facts, f"factor {factor}", SEEDS) for factor in FACTORS}
        | {
            kind: _over(facts, f"{kind} 128", SEEDS)
            for kind in ("hardmax", "hardmax, alpha = 1", "pass-through")
        }
        | {
            kind: _over(facts, kind, SEEDS)
            for kind in ("circle at once, hardmax", "circle at once")
        }
    ),
    "beyond": lambda facts: {
        kind: _over(facts, f"beyond, {kind}", MORE_SEEDS)
        for kind in ("no attention", "hardmax", "pass-through")
    },
    "depth": lambda facts: {
        "free": [_over(facts, f"depth {depth}", SEEDS) for depth in DEPTHS],
        "circle": [_over(facts, f"circle, depth {depth}", SEEDS) for depth in DEPTHS],
    },
    "worth": lambda facts: {
        name: _plain(facts[f"leaders worth, {name}"])
        for name in ("published", *INTERPRETED)
    },
    "switches": lambda facts: {
        what: _columns(facts[f"switch {what}"]["epochs"]) for what in SWITCHES
    },
}
BETTER = ("scores", "second stage alone", "circle .001", "circle .003")
LIVE = "circle .003 128"


def _plain(found):
    return {key: value for key, value in found.items() if key != "commit"}


def _columns(rows):
    """A list for each number; what was not measured in every epoch with the epochs."""
    names = dict.fromkeys(name for row in rows for name in row)
    out = {name: [row[name] for row in rows if name in row] for name in names}
    return out | {
        "measured": [i for i, row in enumerate(rows) if "train_loss_hardmax" in row]
    }
