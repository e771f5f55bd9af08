"""The paper's protocol, run again from known starts: what training makes of alpha,
epoch by epoch, there and in a short set-up; and which words lead because of where they
happened to start. `python -m studies starts`"""

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch

from hmlib import HardmaxClassifier, evaluate
from studies.checkpoints import read_sealed, train, write_sealed
from studies.classifiers import judged
from studies.data import SHA256, load_published
from studies.graph import Task
from studies.leading import by_frequency, moved
from studies.ledger import present
from studies.protocol import leader_statistics
from studies.texts import encoded

DATA = {name: SHA256[name] for name in ("kaggle", "published")}
MILESTONES = (11, 31, 101)  # epochs
PROTOCOL = {2: range(5), 4: range(3), 8: range(3), 16: range(3)}  # dimension: seeds
SWITCHES = {  # at d = 16, where the best test epoch of the paper comes early
    "padding left out": {"padding": "mask"},
    "training words only": {"way": "paper, training words"},
    "plain words": {"way": "paper, plain words"},
}
BY_HEART = {  # at d = 4: less is learned by heart, or nothing else can be learned
    "dropout 0.3": {"dropout": 0.3},
    "labels of other reviews": {"shuffled": True},
}
SHORT = range(3)
SHORTS = {  # alpha in a short set-up: which attention, rate, alpha to start from, d
    f"{attention}, rate {rate:g}, alpha {alpha:g}, d = {dim}": {
        "attention": attention,
        "rate": rate,
        "alpha": alpha,
        "dim": dim,
    }
    for attention, dim, rate, alpha in product(
        ("hardmax", "softmax"), (2, 16), (1e-3, 1e-2), (0.25, 1.0, 4.0)
    )
}


def protocol(
    folder,
    dim,
    seed,
    epochs,
    before=None,
    way="paper",
    padding="token",
    dropout=0.0,
    shuffled=False,
):
    """The paper's protocol up to an epoch, from where an earlier milestone stopped:
    softmax at temperature 1e-3, eight layers, Adam at 1e-3 on all training reviews,
    with their own labels, or those of others. Its arrays are the checkpoint, and the
    embedding at the start."""
    texts, folder = encoded(way), Path(folder)
    torch.manual_seed(seed)
    options = {"padding": padding, "attention": "softmax"}
    model = HardmaxClassifier(len(texts.words), dim, **options)
    alpha, start = float(model.alpha.detach()), model.embedding.weight.detach().clone()
    if before is not None and not any(folder.glob("epoch-*.json")):
        record = {key: before[0][key] for key in ("settings", "epochs", "best")}
        tensors = {k: x for k, x in before[1].items() if k != "start"}
        write_sealed(folder / f"epoch-{len(record['epochs']):04d}", record, tensors)

    def measure(model, number):
        loss, accuracy = evaluate(model, *texts.of("test"))
        return {"test_loss": loss, "test_accuracy": accuracy}

    ids, labels = texts.of("train")
    if shuffled:
        generator = torch.Generator().manual_seed(seed)
        labels = labels[torch.randperm(len(labels), generator=generator)]
    how = {"folder": folder, "measure": measure, "seed": seed, "dropout": dropout}
    train(model, (ids, labels), epochs=epochs, rate=1e-3, **how)
    record, tensors = read_sealed(folder / f"epoch-{epochs:04d}")
    return record | {"alpha_before": alpha}, tensors | {"start": start}


def _trained(before):
    """The classifier at the end of a run of the protocol, with hardmax."""
    state = {k: x for k, x in before[1].items() if k.startswith("model.")}
    state = {k.removeprefix("model."): x for k, x in state.items()}
    model = HardmaxClassifier(*state["embedding.weight"].shape, padding="token")
    model.load_state_dict(state)
    return model


def judged_twice(before):
    """The same weights, judged with the softmax that they were trained with, and with
    hardmax."""
    model, texts, facts = _trained(before), encoded("paper"), {}
    for kind in ("softmax", "hardmax"):
        model.attention = kind
        loss, accuracy = evaluate(model, *texts.of("test"))
        row = {"test_loss": loss, "test_accuracy": accuracy}
        row["train_loss"], _ = evaluate(model, *texts.of("train"))
        facts[kind] = row
    return facts, {}


def who_leads(before):
    """The paper's Table 1, and the leader words."""
    return leader_statistics(_trained(before)), {}


def short_run(folder, seed, attention, rate, alpha, dim, epochs=10):
    """A short training as in chapter 4, from this alpha."""
    texts = encoded("128")
    torch.manual_seed(seed)
    model = HardmaxClassifier(len(texts.words), dim, attention=attention)
    model.set_alpha(alpha)
    how = {"epochs": epochs, "rate": rate, "seed": seed, "dropout": 0.3}
    run = train(model, texts.of("fit"), texts.of("held"), folder=folder, **how)
    facts = {"epochs": run.epochs, "best": run.best} | judged(model, texts)
    return facts | {"alpha_before": alpha}, {}


def by_accident(before):
    """Who leads at the end of a run of the protocol, whose start is known: how far
    words have gone across v and along it, and what selection alone would show."""
    ids, _ = encoded("paper").of("test")
    return moved(_trained(before), before[1]["start"], ids), {}


def published_start():
    """The published words across v and along it, beside N(0, 1), which they started
    from."""
    weights = load_published()
    E, v = (np.asarray(weights[name], float) for name in ("embedding", "weight"))
    along, across = E @ v, E @ np.array([-v[1], v[0]])
    size = np.linalg.norm(v)
    return {"frequency": by_frequency(along / size, across / size)}, {}


def tasks():
    """What is cheap first; one seed of all before the others."""
    out = [Task("published start", published_start)]
    for seed in SHORT:
        for name, options in SHORTS.items():
            given = options | {"seed": seed}
            out.append(Task(f"short, {name} {seed}", short_run, given))
    out += [task for epochs in MILESTONES for task in _until(epochs)]
    for dim in PROTOCOL:
        needs = {"before": _name(dim, 0, MILESTONES[-1])}
        out.append(Task(f"leaders d={dim}", who_leads, needs=needs))
    for what, options in SWITCHES.items():
        given = {"dim": 16, "seed": 0, "epochs": 21} | options
        out.append(Task(f"switch {what}", protocol, given))
    for seed in PROTOCOL[4]:
        for what, options in BY_HEART.items():
            given = {"dim": 4, "seed": seed, "epochs": MILESTONES[1]} | options
            out.append(Task(f"{what} {seed}", protocol, given))
    return out


def _until(epochs):
    runs = [(seed, dim) for dim, seeds in PROTOCOL.items() for seed in seeds]
    for seed, dim in sorted(runs):
        run = {"dim": dim, "seed": seed, "epochs": epochs}
        at = MILESTONES.index(epochs)
        earlier = _name(dim, seed, MILESTONES[at - 1])
        needs = {"before": earlier} if at else {}
        yield Task(_name(dim, seed, epochs), protocol, run, needs)
        done = {"before": _name(dim, seed, epochs)}
        yield Task(f"twice d={dim}, epoch {epochs}, {seed}", judged_twice, needs=done)
        if dim == 2:
            name = f"accident d={dim}, epoch {epochs}, {seed}"
            yield Task(name, by_accident, needs=done)


def _name(dim, seed, epochs):
    return f"protocol d={dim}, seed {seed}, epoch {epochs}"


# What goes to results/starts.json


def run_of(facts, dim, seed):
    """alpha before training and after each epoch, up to the last milestone that is
    done; and the test accuracies."""
    run = f"protocol d={dim}, seed {seed}, epoch"
    return columns(facts[f"{run} {facts.seeds(run, MILESTONES)[-1]}"])


def columns(run):
    """A list for each number of its epochs; alpha also before the first."""
    rows, kept = run["epochs"], ("loss", "accuracy", "test_loss", "test_accuracy")
    alphas = [run["alpha_before"], *(row["alpha"] for row in rows)]
    return {"alpha": alphas} | {k: [row[k] for row in rows] for k in kept}


def twice(facts, dim, seed):
    """{epoch: how it is judged with softmax and hardmax}"""
    return present(
        {
            str(epochs): partial(
                facts.__getitem__, f"twice d={dim}, epoch {epochs}, {seed}"
            )
            for epochs in MILESTONES
        }
    )


def _of_runs(part, facts):
    return present(
        {
            f"d = {dim}, seed {seed}": partial(part, facts, dim, seed)
            for dim, seeds in PROTOCOL.items()
            for seed in seeds
        }
    )


def by_heart(facts, what):
    seeds = facts.seeds(what, PROTOCOL[4])
    return [columns(facts[f"{what} {seed}"]) for seed in seeds]


def short(facts, name):
    seeds = facts.seeds(f"short, {name}", SHORT)
    rows = [facts[f"short, {name} {seed}"] for seed in seeds]
    start = SHORTS[name]["alpha"]
    alphas = [[start, *(epoch["alpha"] for epoch in row["epochs"])] for row in rows]
    found = {key: [row[key] for row in rows] for key in ("held", "test")}
    return SHORTS[name] | {"alphas": alphas} | found


TABLES = {
    "published": lambda facts: facts["published start"]["frequency"],
    "protocol": partial(_of_runs, run_of),
    "twice": partial(_of_runs, twice),
    "leaders": lambda facts: {str(d): facts[f"leaders d={d}"] for d in PROTOCOL},
    "switches": lambda facts: {
        what: columns(facts[f"switch {what}"]) for what in SWITCHES
    },
    "by_heart": lambda facts: present(
        {what: partial(by_heart, facts, what) for what in BY_HEART}
    ),
    "short": lambda facts: present(
        {name: partial(short, facts, name) for name in SHORTS}
    ),
    "accidents": lambda facts: present(
        {
            f"seed {seed}, epoch {epochs}": partial(
                facts.__getitem__, f"accident d=2, epoch {epochs}, {seed}"
            )
            for seed in PROTOCOL[2]
            for epochs in MILESTONES
        }
    ),
}
