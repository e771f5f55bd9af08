"""What figures of the plane are made of. Stars are leaders, circles follow.

Each function draws on axes; points are rows, (m, 2), or one point, of any numbers.
"""

import numpy as np

from hmlib.counting import vertices
from hmlib.figures.style import BLUE, GREEN, INK, ORANGE, SKY
from hmlib.geometry import HalfSpace
from hmlib.limits import counter_clockwise
from hmlib.shapes import Cloud, Mask, Tokens


def plane(ax, *points: Tokens, margin: float = 0.22):
    """A window around the points and the origin, with thin axes through the origin."""
    rows = [np.reshape(some, (-1, 2)).astype(float) for some in points]
    inside = np.vstack([*rows, [[0, 0]]])
    low, high = inside.min(0), inside.max(0)
    centre, half = (low + high) / 2, (0.5 + margin) * (high - low).max()
    x, y = np.stack([centre - half, centre + half], 1)
    ax.set(xlim=x, ylim=y, aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.axhline(0, color=INK, lw=0.5, alpha=0.5)
    ax.axvline(0, color=INK, lw=0.5, alpha=0.5)


def marks(ax, points: Cloud, marker: str, **style):
    """A mark at each point."""
    ax.plot(*np.transpose(points).astype(float), marker, **style)


def stars(ax, points: Cloud, colour=ORANGE, size: float = 15):
    """Leaders."""
    marks(ax, points, "*", color=colour, mec=INK, ms=size)


def circles(ax, points: Cloud, colour=BLUE, size: float = 6):
    """Tokens that follow; of the colour "none", hollow."""
    marks(ax, points, "o", mfc=colour, mec=INK, ms=size)


def tokens(ax, Z: Cloud, leads: Mask):
    """A star for each token that leads, a circle for each other one."""
    circles(ax, Z[~leads])
    stars(ax, Z[leads])


def names(ax, points: Cloud, labels, offset=(7, 6), **style):
    """A label beside each point, off by points of print: one offset, or one each."""
    offsets = np.broadcast_to(offset, np.shape(points))
    for point, label, off in zip(points, labels, offsets, strict=True):
        ax.annotate(label, point, off, textcoords="offset points", **style)


def trails(ax, path: Tokens, style: str = "-", **look):
    """The way of each token through the layers of a path, (layers, n, 2)."""
    look = {"color": BLUE, "lw": 1} | look
    ax.plot(*np.transpose(path, (2, 0, 1)).astype(float), style, **look)


def arrows(ax, starts: Cloud, ends: Cloud, colour=INK, width: float = 0.8, gap=(4, 5)):
    """An arrow from each start to its end, with gaps at both, in points of print."""
    shape = {"arrowstyle": "-|>", "shrinkA": gap[0], "shrinkB": gap[1]}
    shape |= {"color": colour, "lw": width}
    starts, ends = (np.reshape(some, (-1, 2)).astype(float) for some in (starts, ends))
    for start, end in zip(starts, ends, strict=True):
        if (start != end).any():
            ax.annotate("", end, start, arrowprops=shape)


def hull(ax, points: Cloud, colour=SKY, alpha: float = 0.25, **edges):
    """The convex hull, filled; edges: their ec, lw, ls; without, it has none."""
    points = np.unique(np.asarray(points, float), axis=0)
    corners = points[vertices(points)]
    rim = corners[counter_clockwise(corners)]
    look = {"fc": colour, "alpha": alpha, "ec": "none", "lw": 1, "zorder": 0.5}
    ax.fill(*rim.T, **look | edges)


def discs(ax, centres: Cloud, radius: float, colour=GREEN):
    """The discs of a radius around some points, with dashed rims."""
    angle = np.linspace(0, 2 * np.pi, 200)
    for x, y in np.reshape(centres, (-1, 2)).astype(float):
        rim = x + radius * np.cos(angle), y + radius * np.sin(angle)
        ax.fill(*rim, fc=colour, alpha=0.15)
        ax.plot(*rim, "--", color=colour, lw=1)


def half_plane(ax, H: HalfSpace, colour=SKY):
    """Shade { x : <normal, x> >= offset } in the window, and draw its boundary."""
    x, y, side = over_window(ax, lambda X: X @ np.asarray(H.normal, float) - H.offset)
    if (side > 0).any():
        top = abs(side).max() + 1
        ax.contourf(x, y, side, [0, top], colors=[colour], alpha=0.22)
        ax.contour(x, y, side, [0], colors=[colour], linewidths=1.5)


def levels(ax, function, count: int = 12):
    """Level lines of a function of points (..., 2) in the window."""
    x, y, height = over_window(ax, function, 200)
    ax.contour(x, y, height, count, colors=INK, linewidths=0.5, alpha=0.35)


def over_window(ax, function, size: int = 2):
    """A grid of size^2 points over the window, and a function on it: x, y, values."""
    spans = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(*(np.linspace(*span, size) for span in spans))
    return x, y, function(np.stack([x, y], -1))
