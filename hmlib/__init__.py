"""Hardmax transformers, exactly.

The executable companion to two papers of Alcalde, Fantuzzi and Zuazua (arXiv 2407.01602 and 2502.02270). A module is a
concept of the papers; the code reads like the formula above it.
"""

from hmlib.attention import attention_sets, follow
from hmlib.dynamics import Trajectory, simulate, step
from hmlib.geometry import half_space

__all__ = ["Trajectory", "attention_sets", "follow", "half_space", "simulate", "step"]
