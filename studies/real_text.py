"""What breaks when the classifier of chapter 4 leaves the theorem's assumptions, on the
50,000 reviews: heads, matrices, softmax, norms, feed-forward networks, all trained
alike."""

import torch

from hmlib import evaluate
from studies import measures, models
from studies.checkpoints import train
from studies.data import SHA256
from studies.graph import Task
from studies.texts import encoded

SEEDS, WAYS = range(3), ("128", "official")
CONTROL = "no attention"
DATA = {name: SHA256[name] for name in ("kaggle", "official")}
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


class Met(models.Variant):
    """A variant in which whoever follows a word at its own place follows itself.

    Under an indefinite A two words may follow each other; with alpha = 1 they meet
    half-way, exactly, and rounding would say which of the two is found first.
    """

    @property
    def alpha(self):
        """1 also in float64; what is stored, in float32, gives 1 - 5e-10."""
        return torch.ones_like(self.raw_alpha)

    def layer(self, z, weights):
        to, after = super().layer(z, weights)
        if to is None:
            return to, after
        goals = z[torch.arange(len(z))[:, None, None], to]
        here = (goals == z[:, None]).all(-1)
        return torch.where(here, torch.arange(z.shape[1]), to), after


def fitted(folder, way="128", seed=0, control=None, asked=3000, epochs=5, **options):
    """One variant: its accuracy with the epoch chosen on validation; who leads; and, in
    as many test reviews as are asked, what the leaders are worth against random words
    and the strongest ones of the control. The control gives its scores."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model = Met(len(texts.words), **{"dim": 2} | options)
    how = {"epochs": epochs, "rate": 0.01, "dropout": 0.3, "seed": seed}
    data = texts.of("fit"), texts.of("held")
    history = train(model, *data, folder=folder, **how)
    accuracy = {rows: evaluate(model, *texts.of(rows))[1] for rows in ("held", "test")}
    facts = {"best": history.best} | accuracy
    if model.learn and model.A.shape[1] == 2:
        facts["A"] = model.A.tolist()
    if control is None:
        table, bias = model.embedding.weight.detach(), model.decoder.bias.detach()
        return facts, {"scores": table @ model.decoder.weight.detach()[0], "bias": bias}
    ids, labels = texts.of("test")
    # Layer norm leaves two points in the plane, where nobody leads.
    two_points = options.get("norm") == "layer" and model.decoder.in_features == 2
    if model.attend and not two_points:
        facts |= measures.how_many_lead(model, ids)
    if asked and "leaders" in facts:
        scores, bias = control[1]["scores"], float(control[1]["bias"])
        reviews = ids[:asked], labels[:asked]
        worth = measures.interpretability(model, *reviews, scores, bias)
        facts |= {"votes": worth["votes"], "kept": worth["all but leaders"]["same"]}
        before = worth["nothing"]["accuracy"]
        for what in REMOVED:
            facts[f"without {what}"] = worth[what]["accuracy"] - before
    return facts, {}


def tasks():
    return [_task(kind, way, seed) for way in WAYS for seed in SEEDS for kind in KINDS]


def _task(kind, way, seed):
    given = KINDS[kind] | {"way": way, "seed": seed}
    given |= {"asked": 0} if way == "official" else {}
    needs = {} if kind == CONTROL else {"control": f"{CONTROL} {way} {seed}"}
    return Task(f"{kind} {way} {seed}", fitted, given, needs)


def table(facts, way):
    """Of each kind a list over the seeds for each number."""
    return {kind: facts.over(f"{kind} {way}", SEEDS) for kind in KINDS}


TABLES = {  # of results/real_text.json
    "options": lambda facts: {
        kind: {"dim": 2, "depth": 3} | options for kind, options in KINDS.items()
    },
    "128": lambda facts: table(facts, "128"),
    "official": lambda facts: table(facts, "official"),
}
