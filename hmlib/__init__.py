"""Hardmax transformers, exactly.

The executable companion to two papers of Alcalde, Fantuzzi and Zuazua (arXiv 2407.01602
and 2502.02270). A module is a concept of the papers; the code reads like the formula
above it. Importing it needs numpy alone: what is heavier loads when it is first used.
"""

from importlib import import_module
from itertools import chain

from hmlib.attention import alone, attention_sets, follow, roots
from hmlib.dynamics import Trajectory, simulate, step
from hmlib.exact import ExactTransformer, classify_exactly
from hmlib.geometry import cluster_points, half_space, project
from hmlib.interpolation import interpolate_exactly
from hmlib.limits import Limit, leaders, limit, limit_polytope

LATER = {
    "variations": ("Layer", "settle", "vary"),
    "text": ("Vocabulary", "load_reviews", "preprocess"),
    "explanation": ("Weights", "explain"),
    "classifier": ("HardmaxClassifier",),
    "training": ("Plan", "evaluate", "train"),
    "live.playground": ("Playground",),
    "live.reviews": ("ReviewExplorer",),
}

# What numpy is enough for; the rest, `from hmlib import train` for instance, needs an
# extra, which its error names.
__all__ = [
    "ExactTransformer",
    "Layer",
    "Limit",
    "Trajectory",
    "Vocabulary",
    "Weights",
    "alone",
    "attention_sets",
    "classify_exactly",
    "cluster_points",
    "explain",
    "follow",
    "half_space",
    "interpolate_exactly",
    "leaders",
    "limit",
    "limit_polytope",
    "load_reviews",
    "preprocess",
    "project",
    "roots",
    "settle",
    "simulate",
    "step",
    "vary",
]


def __getattr__(name):
    for module, names in LATER.items():
        if name in names:
            return getattr(import_module(f"hmlib.{module}"), name)
    raise AttributeError(f"module 'hmlib' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *chain.from_iterable(LATER.values())})
