"""The sentiment experiment on the 50,000 reviews: the published model, the circle,
depth, and what leaders are worth as explanations. The tasks and their settings, and
what goes to results/. (The paper's protocol, run again: `studies.starts`; the
controlled evaluation: `studies.budgets`.)"""

from hmlib import Vocabulary
from studies import models
from studies.classifiers import circle, fitted, interpreted, scores, without_a_network
from studies.data import SHA256
from studies.graph import Task
from studies.paired import difference
from studies.protocol import leaders_published, published, random_start
from studies.texts import encoded

SEEDS, MORE_SEEDS = range(3), range(5)
DATA = {name: SHA256[name] for name in ("kaggle", "official", "published")}
DEPTHS = range(1, 13)
ONE_ALPHA = {"alpha": 1.0}

# Free embeddings, of which leaders are to explain something.
FREE = {
    "hardmax": {},
    "pass-through": ONE_ALPHA | {"attention": "pass-through", "depth": 3},
}

# Two stages, or one.
CONTROL = "second stage alone"
STAGES = {
    CONTROL: {"delta": 0.001, "depth": 0},
    "circle .001": {"delta": 0.001},
    "circle .003": {"delta": 0.003},
}
BETTER = ("scores", *STAGES)
WAYS = ("128", "full", "pairs", "official")
INTERPRETED = {
    "hardmax 128": "128",
    "pass-through 128": "128",
    "circle .003 128": "128",
    "circle at once": "128",
    "circle .003 full": "full",
    "circle .003 pairs": "pairs",
}
LIVE = "circle .003 128"


# The graph


def tasks():
    return [
        Task("leaders published", leaders_published),
        Task("published", published),
        Task("random start", random_start),
        *(task for way in WAYS for task in _staged(way)),
        *(task for seed in SEEDS for task in _of_one_seed(seed)),
        *_worth(),
    ]


def _staged(way):
    yield Task(f"TF-IDF {way}", without_a_network, {"way": way})
    for seed in MORE_SEEDS:
        given, first = {"way": way, "seed": seed}, {"first": f"scores {way} {seed}"}
        yield Task(f"scores {way} {seed}", scores, given)
        for name, options in STAGES.items():
            yield Task(f"{name} {way} {seed}", circle, given | options, first)


def _of_one_seed(seed):
    free = {f"{kind} 128": options for kind, options in FREE.items()}
    free |= {f"depth {depth}": {"depth": depth, "epochs": 5} for depth in DEPTHS}
    for name, options in free.items():
        yield Task(f"{name} {seed}", fitted, options | {"seed": seed})

    given, first = {"way": "128", "seed": seed}, {"first": f"scores 128 {seed}"}
    for depth in DEPTHS:
        options = {"delta": 0.003, "depth": depth}
        yield Task(f"circle, depth {depth} {seed}", circle, given | options, first)


def _worth():
    given = {"way": "128", "seed": 0, "delta": 0.01}
    yield Task("circle at once 0", circle, given)
    yield Task("scores paper 0", scores, {"way": "paper", "seed": 0})
    given, needs = {"way": "paper", "padding": "token"}, {"control": "scores paper 0"}
    yield Task("leaders worth, published", interpreted, given, needs)
    for name, way in INTERPRETED.items():
        needs = {"model": f"{name} 0", "control": f"scores {way} 0"}
        yield Task(f"leaders worth, {name}", interpreted, {"way": way}, needs)


# What goes to results/


def better(facts, way):
    """All with their seeds; the stages with their difference from the control."""
    out = {kind: facts.over(f"{kind} {way}", MORE_SEEDS) for kind in BETTER}
    for kind in STAGES:
        pair = facts.pair(f"{kind} {way}", f"{CONTROL} {way}", MORE_SEEDS)
        out[kind]["against"] = difference(*pair)
    return out | {"TF-IDF": facts[f"TF-IDF {way}"]["TF-IDF"]}


TABLES = {
    "leaders_published": lambda facts: facts["leaders published"],
    "published": lambda facts: facts["published"],
    "random_start": lambda facts: facts["random start"],
    "free": lambda facts: {k: facts.over(f"{k} 128", SEEDS) for k in FREE},
    "better": lambda facts: {way: better(facts, way) for way in WAYS},
    "depth": lambda facts: {
        "free": [facts.over(f"depth {depth}", SEEDS) for depth in DEPTHS],
        "circle": [facts.over(f"circle, depth {depth}", SEEDS) for depth in DEPTHS],
    },
    "worth": lambda facts: {
        name: facts[f"leaders worth, {name}"] for name in ("published", *INTERPRETED)
    },
}


def write(done, folder, command):
    """The model of chapter 4's live figure."""
    if f"{LIVE} 0" not in done:
        return []
    files = [folder / f"sentiment_model.{kind}" for kind in ("safetensors", "json")]
    words = Vocabulary([encoded("128").words[1:]])
    model = models.packed(done[f"{LIVE} 0"].arrays, 3, vocabulary=words)
    said = {"task": f"{LIVE} 0", "style": "plain", "length": 128}
    made = {"command": command} | done[f"{LIVE} 0"].made
    model.save(files[0], **said, provenance=made)
    return files
