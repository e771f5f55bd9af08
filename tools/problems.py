"""The cheap part of a reproduction: small problems of each kind, by floats and exactly.

What is found is the same on every machine and with any number of threads: exact numbers
by their digest, floats by how many digits they have in common with the exact ones.
"""

import doctest
import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
from agreement import digits

import hmlib

ROOT = Path(__file__).resolve().parent.parent
SURE = 12  # digits; what lies beyond depends on the machine
CLOUDS = (5, 1), (8, 2), (12, 3), (30, 2)
LARGE = (3000, 2), (600, 20)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def numbers():
    """(what is found, whether all is well)."""
    example = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    found = {
        "README": {"examples": example.attempted, "failed": example.failed},
        "limits": {f"n={n} d={d}": limit_of(n, d) for n, d in CLOUDS},
        "large clouds": {f"n={n} d={d}": large(n, d) for n, d in LARGE},
        "exact classification": classified(),
        "training": trained(),
    }
    well = example.failed == 0 and found["exact classification"]["right"]
    clouds = found["limits"].values()
    return found, well and all(c["digits"] >= SURE and c["alike"] for c in clouds)


def limit_of(n, d):
    """The limit of a cloud of whole numbers over 64: by floats, and by fractions."""
    whole = np.random.default_rng([n, d]).integers(-640, 640, (n, d))
    exact = [[Fraction(int(x), 64) for x in z] for z in whole]
    floats, fractions = (
        hmlib.limit(whole / 64, 0.5),
        hmlib.limit(exact, Fraction(1, 2)),
    )
    pairs = zip(floats.tokens.flat, fractions.tokens.flat, strict=True)
    shown = " ".join(map(str, fractions.tokens.flat))
    return {
        "leaders": fractions.leaders.tolist(),
        "settled at": fractions.settled_at,
        "certified": bool(floats.certified and fractions.certified),
        "alike": floats.leaders.tolist() == fractions.leaders.tolist(),
        "digits": min(SURE, *(digits(float(a), float(b)) for a, b in pairs)),
        "exact tokens": sha256(shown),
    }


def large(n, d):
    """A cloud for which fractions would be slow: who leads is certain by floats."""
    end = hmlib.limit(np.random.default_rng([n, d]).normal(size=(n, d)), 1.0)
    return {
        "leaders": len(end.leaders),
        "which": sha256(str(end.leaders.tolist())),
        "settled at": end.settled_at,
        "certified": bool(end.certified),
    }


def classified():
    """Exact weights for twelve sequences: their margin, and a digest of all of them."""
    draw = np.random.default_rng(0)
    sequences = [
        [[Fraction(int(x), 8) for x in z] for z in draw.integers(-40, 40, (n, 2))]
        for n in draw.integers(2, 6, 12)
    ]
    labels = [k % 3 for k in range(12)]
    machine = hmlib.classify_exactly(sequences, labels)
    said = [machine.predict(sequence) for sequence in sequences]
    weights = [str(np.asarray(part).tolist()) for b in machine.blocks for part in b[1:]]
    return {
        "right": said == labels,
        "blocks": len(machine.blocks),
        "parameters": machine.n_parameters,
        "margin": str(machine.margin),
        "weights": sha256("\n".join(weights)),
    }


def trained():
    """A classifier that learns which half of the words is the more frequent one."""
    import torch

    torch.manual_seed(0)
    ids = torch.randint(2, 42, (400, 15))
    labels = ((ids < 22).sum(1) > 7).long()
    model = hmlib.HardmaxClassifier(42, 2, depth=3)
    plan = hmlib.Plan(epochs=12, rate=0.1)
    run = hmlib.train(model, (ids, labels), plan=plan)
    right = hmlib.evaluate(model, ids, labels)[1]
    return {"epochs": len(run.epochs), "right": f"{right:.1%}"}
