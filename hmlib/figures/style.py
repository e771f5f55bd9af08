"""The book's style, and the sheet that figures are drawn on.

Colours are those of Okabe and Ito, and never the only mark of a difference.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hmlib import inputs

with inputs.extra("book"):
    import matplotlib.pyplot as plt

INK, ORANGE, SKY, GREEN = "#333333", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE, YELLOW = "#0072B2", "#D55E00", "#CC79A7", "#F0E442"
COLOURS = [SKY, ORANGE, GREEN, RED, BLUE, PURPLE, YELLOW, "#999999"]
LIGHT = [SKY, ORANGE, GREEN, YELLOW, PURPLE, BLUE]  # with text on them
# The colours and markers of series, in order.
SERIES = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "D"), (RED, "^"), (INK, "x"), (SKY, "v")]
WIDE = 5  # inches: as wide as a single panel may be
STYLE = {
    "font.size": 10,
    "legend.fontsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # text is text
    "svg.hashsalt": "hmlib",
}


@contextmanager
def canvas(
    rows: int = 1, columns: int = 1, size=(7.5, 3.9), **options
) -> Iterator[plt.Axes]:
    """Axes in the book's style to draw on: one, or an array of them; shown at the end.

    with canvas(size=(4, 4)) as ax:
        plane(ax, Z)
        stars(ax, Z)

    options  what plt.subplots takes, sharey=True for instance
    """
    if columns == 1:  # on a phone, too, its text can be read
        size = WIDE * np.array(size) / max(size[0], WIDE)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(rows, columns, figsize=size, **options)
        yield axes
        plt.tight_layout()
        _mark_columns(figure, shared=options.get("sharey", False))
        plt.show()


def _mark_columns(figure, shared):
    """Say in the drawing where its columns are, for a page too narrow to show them
    side by side; and where the marks of a y-axis that they share."""
    spans = {}
    for ax in figure.axes:
        if box := ax.get_tightbbox():
            column = ax.get_subplotspec().get_topmost_subplotspec().colspan.start
            x0, x1 = spans.get(column, (np.inf, -np.inf))
            spans[column] = min(x0, box.x0), max(x1, box.x1)
    names = {f"column-{k}": span for k, span in sorted(spans.items())}
    if shared:
        names["shared"] = spans[0][0], figure.axes[0].bbox.x0
    for name, span in names.items():
        left, right = np.array(span) / figure.bbox.width
        at = {"xy": (left, 0.5), "transform": figure.transFigure}
        box = plt.Rectangle(width=right - left, height=0, **at)
        box.set(gid=name, fill=False, linewidth=0, in_layout=False)
        figure.add_artist(box)


def panels(
    whats: dict, columns: int | None = None, size=(7.5, 3.9), **options
) -> Iterator:
    """A canvas with a panel for each title, {title: what is drawn}: (its axes, what).

    for ax, Z in panels({"start": Z, "end": K}):
        stars(ax, Z)
    """
    columns = columns or len(whats)
    rows = math.ceil(len(whats) / columns)
    with canvas(rows, columns, size, squeeze=False, **options) as axes:
        for ax in axes.flat[len(whats) :]:
            ax.axis("off")
        for ax, (title, what) in zip(axes.flat, whats.items(), strict=False):
            ax.set_title(title, fontsize=10)
            yield ax, what
