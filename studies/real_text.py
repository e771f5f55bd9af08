"""What breaks when the classifier of chapter 4 leaves the theorem's assumptions, on the 50,000 reviews: heads, matrices,
softmax, norms, feed-forward networks. All are trained alike; every function here is a task."""

import torch

from hmlib import evaluate
from studies import measures, models
from studies.checkpoints import train
from studies.data import SHA256
from studies.graph import Task, about, rounded
from studies.provenance import write as write_json
from studies.texts import encoded

SEEDS, WAYS = range(3), ("128", "official")
CONTROL = "no attention"
KINDS = {
    CONTROL: {"depth": 0},
    "one head": {},
    "one head, exact gradient": {"attention": "hardmax"},
    "softmax, T = 1": {"attention": "softmax"},
    "two heads": {"heads": 2},
    "four heads": {"heads": 4},
    "two heads, learned": {"heads": 2, "learn": "positive"},
    "positive definite A learned": {"learn": "positive"},
    "any A learned": {"learn": "any"},
    "put on the circle": {"norm": "rms"},
    "layer norm": {"norm": "layer"},
    "feed-forward alone": {"width": 16, "attend": False},
    "attention and feed-forward": {"width": 16},
    "one head, d = 8": {"dim": 8},
    "four heads, d = 8": {"dim": 8, "heads": 4},
    "layer norm, d = 8": {"dim": 8, "norm": "layer"},
}
REMOVED = ("leaders", "random", "top")


def fitted(
    folder,
    way="128",
    seed=0,
    control=None,
    epochs=5,
    rate=0.01,
    dropout=0.3,
    asked=3000,
    **options,
):
    """One variant: its accuracy with the epoch chosen on validation; who leads; and, in as many test reviews as are asked,
    what the leaders are worth against random words and the strongest ones of the control. The control gives its scores."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model = models.Variant(len(texts.words), **{"dim": 2} | options)
    history = train(
        model,
        *texts.of("fit"),
        texts.of("held"),
        folder=folder,
        epochs=epochs,
        rate=rate,
        seed=seed,
        dropout=dropout,
    )
    facts = {"best": history.best} | {
        rows: evaluate(model, *texts.of(rows))[1] for rows in ("held", "test")
    }
    if model.learn and model.A.shape[1] == 2:
        facts["A"] = model.A.tolist()
    if control is None:
        v = model.decoder.weight.detach()[0]
        return facts, {
            "scores": model.embedding.weight.detach() @ v,
            "bias": model.decoder.bias.detach(),
        }
    ids, labels = texts.of("test")
    two_points = (
        options.get("norm") == "layer" and model.decoder.in_features == 2
    )  # nobody leads there
    if model.attend and not two_points:
        facts |= measures.how_many_lead(model, ids)
    if asked and "leaders" in facts:
        score, bias = control[1]["scores"], float(control[1]["bias"])
        worth = measures.interpretability(
            model, ids[:asked], labels[:asked], score, bias
        )
        facts |= {"votes": worth["votes"], "kept": worth["all but leaders"]["same"]}
        facts |= {
            f"without {what}": worth[what]["accuracy"] - worth["nothing"]["accuracy"]
            for what in REMOVED
        }
    return facts, {}


def tasks():
    out = []
    for way in WAYS:
        for seed in SEEDS:
            for kind, options in KINDS.items():
                needs = (
                    {} if kind == CONTROL else {"control": f"{CONTROL} {way} {seed}"}
                )
                given = (
                    options
                    | {"way": way, "seed": seed}
                    | ({"asked": 0} if way == "official" else {})
                )
                out.append(Task(f"{kind} {way} {seed}", fitted, given, needs))
    return out


def write(done, folder, command):
    """Of each kind whose seeds are all done: its options, and a list over the seeds for each number."""
    result = {
        "options": {
            kind: {"dim": 2, "depth": 3} | options for kind, options in KINDS.items()
        }
    }
    for way in WAYS:
        result[way] = {}
        for kind in KINDS:
            rows = [
                done[f"{kind} {way} {seed}"][0]
                for seed in SEEDS
                if f"{kind} {way} {seed}" in done
            ]
            if len(rows) == len(SEEDS):
                result[way][kind] = {
                    key: [row[key] for row in rows]
                    for key in rows[0]
                    if key != "commit"
                }
    of = about(
        done,
        command,
        {name: SHA256[name] for name in ("kaggle", "official")},
        list(SEEDS),
    )
    write_json(rounded(result) | {"provenance": of}, folder / "real_text.json")
    return [folder / "real_text.json"]
