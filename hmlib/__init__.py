"""Hardmax transformers, exactly.

The executable companion to two papers of Alcalde, Fantuzzi and Zuazua (arXiv 2407.01602 and 2502.02270). A module is a
concept of the papers; the code reads like the formula above it.
"""

from hmlib.attention import attention_sets, follow
from hmlib.dynamics import Trajectory, simulate, step
from hmlib.geometry import cluster_points, half_space, limit_polytope, project
from hmlib.limits import Limit, leaders, limit

__all__ = [
    "Limit",
    "Trajectory",
    "attention_sets",
    "cluster_points",
    "follow",
    "half_space",
    "leaders",
    "limit",
    "limit_polytope",
    "project",
    "simulate",
    "step",
]
