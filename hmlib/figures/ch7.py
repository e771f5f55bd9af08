"""Figures of chapters 7 and 8: tokens that are moved, and classes of sequences."""

import math

import numpy as np

from hmlib.figures import draw, style
from hmlib.figures.style import BLUE, INK, ORANGE, RED, SERIES, SKY, canvas
from hmlib.shapes import Cloud


def token_moves(panels: dict[str, tuple[Cloud, Cloud]]):
    """One layer, {title: (before, after)}: from circles to diamonds."""
    for ax, (before, after) in style.panels(panels, size=(7.5, 2.9)):
        draw.plane(ax, before, after, margin=0.1)
        draw.arrows(ax, before, after)
        draw.marks(ax, after, "D", mfc="none", mec=INK, mew=1.3, ms=11)
        draw.circles(ax, before, size=5)


def stages(panels: dict[str, list[Cloud]]):
    """Sequences at some stages, {title: [tokens of each]}: each has a colour."""
    size = 7.5, 2.5 * math.ceil(len(panels) / 3)
    for ax, sequences in style.panels(panels, 3, size):
        for k, X in enumerate(sequences):
            colour, marker = SERIES[k]
            look = {"color": colour, "mfc": "none", "mew": 1.8, "ms": 12 - 3 * k}
            draw.marks(ax, np.asarray(X)[:, :2], marker, **look)
        ax.margins(0.15)
        if np.ptp(ax.dataLim.intervaly) < 1e-9:
            ax.set_ylim(-0.5, 0.5)
        ax.tick_params(labelsize=7)


def territories(x, y, classes, given: dict[int, Cloud]):
    """The class, 0 or 1, of a sequence of one token at (x, y), and what was given."""
    with canvas(size=(5, 4.2)) as ax:
        ax.contourf(x, y, classes, [-1, 0.5, 2], colors=[SKY, ORANGE], alpha=0.35)
        ax.contour(x, y, classes, [0.5], colors=[INK], linewidths=0.8)
        for k, colour, marker in (0, BLUE, "o"), (1, RED, "s"):
            look = {"color": colour, "mec": INK, "ms": 8}
            draw.marks(ax, given[k], marker, label=f"given, class {k}", **look)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        ax.set_aspect("equal")
