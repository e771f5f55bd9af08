"""Figures of chapters 5 and 6: tokens that are moved, and classes of sequences."""

import numpy as np

from hmlib.figures import draw, style
from hmlib.figures.style import BLUE, INK, ORANGE, RED, SERIES, SKY, canvas
from hmlib.shapes import Cloud


def token_moves(panels: dict[str, tuple[Cloud, Cloud]]):
    """One layer, {title: (before, after)}: from circles to diamonds."""
    for ax, (before, after) in style.panels(panels, size=(7.5, 2.9)):
        draw.plane(ax, before, after, margin=0.1)
        draw.arrows(ax, before, after)
        draw.marks(ax, after, "D", color=ORANGE, mec=INK, ms=9)
        draw.circles(ax, before, size=5)


def stages(panels: dict[str, list[Cloud]], columns: int = 3):
    """Sequences at some stages, {title: [tokens of each]}: each has a colour."""
    size = 7.5, -2.5 * (-len(panels) // columns)
    for ax, sequences in style.panels(panels, columns, size):
        for k, (X, look) in enumerate(zip(sequences, SERIES, strict=False)):
            colour, marker = look
            look = {"color": colour, "mfc": "none", "mew": 1.8, "ms": 12 - 3 * k}
            draw.marks(ax, np.asarray(X)[:, :2], marker, **look)
        ax.margins(0.15)
        if np.ptp(ax.dataLim.intervaly) < 1e-9:
            ax.set_ylim(-0.5, 0.5)
        ax.tick_params(labelsize=7)


def territories(x, y, classes, given: dict[int, Cloud]):
    """The class, 0 or 1, of a sequence of one token at (x, y), and what was given."""
    classes_of = (BLUE, "o"), (RED, "s")
    with canvas(size=(5, 4.2)) as ax:
        ax.contourf(x, y, classes, [-1, 0.5, 2], colors=[SKY, ORANGE], alpha=0.35)
        ax.contour(x, y, classes, [0.5], colors=[INK], linewidths=0.8)
        for (k, X), (colour, marker) in zip(given.items(), classes_of, strict=True):
            look = {"color": colour, "mec": INK, "ms": 8}
            draw.marks(ax, X, marker, label=f"given, class {k}", **look)
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        ax.set_aspect("equal")
