"""What figures of the plane are made of: the marks are those of the live figures.

Hulls are blue, K is orange, and what lies ahead of a token is green. Each function
draws on axes; points are rows, (m, 2), or one point, of any numbers.
"""

import re

import numpy as np

from hmlib.counting import vertices
from hmlib.figures.style import BLUE, GREEN, INK, ORANGE, SKY, plt
from hmlib.geometry import HalfSpace
from hmlib.limits import counter_clockwise
from hmlib.shapes import Cloud, Mask, Tokens

# Where a label may stand, best first.
SIDES = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1)])
# The look of each mark, by what it means.
SIGNS = {
    "leads": {"marker": "*", "mfc": ORANGE, "mec": INK, "ms": 15},
    "follows": {"marker": "o", "mfc": BLUE, "mec": INK, "ms": 6},
    "tied": {"marker": "o", "mfc": BLUE, "mec": INK, "ms": 6}
    | {"fillstyle": "left", "markerfacecoloralt": "white"},
    "where it started": {"marker": "o", "mfc": "none", "mec": INK, "ms": 4.5},
    "in $S(K)$": {"marker": "s", "mfc": "none", "mec": ORANGE, "mew": 1.8, "ms": 14},
    "its way": {"ls": "-", "color": BLUE, "lw": 1},
    "hull of a layer": {"ls": "-", "color": SKY, "lw": 6},
    "$K$": {"ls": "-", "color": ORANGE, "lw": 6, "alpha": 0.4},
}


def rows(points: Tokens) -> np.ndarray:
    """Points as floats, (m, 2): of one point, of a cloud, or of a path."""
    return np.reshape(points, (-1, 2)).astype(float)


def plane(ax, *points: Tokens, margin: float = 0.22):
    """A window around the points and the origin, with thin axes through the origin."""
    inside = np.vstack([*map(rows, points), [[0, 0]]])
    low, high = inside.min(0), inside.max(0)
    centre, half = (low + high) / 2, (0.5 + margin) * (high - low).max()
    x, y = np.stack([centre - half, centre + half], 1)
    ax.set(xlim=x, ylim=y, aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.axhline(0, color=INK, lw=0.5, alpha=0.5)
    ax.axvline(0, color=INK, lw=0.5, alpha=0.5)


def marks(ax, points: Cloud, marker: str, **style):
    """A mark at each point."""
    style = {"ls": "none"} | style
    ax.plot(*np.transpose(points).astype(float), marker=marker, **style)


def stars(ax, points: Cloud, colour=ORANGE, size: float = 15):
    """Leaders."""
    sign(ax, points, "leads", mfc=colour, ms=size)


def circles(ax, points: Cloud, colour=BLUE, size: float = 6):
    """Tokens that follow; of the colour "none", hollow."""
    sign(ax, points, "follows", mfc=colour, ms=size)


def sign(ax, points: Cloud, meaning: str, **other):
    """One of SIGNS at each point; what is other about it."""
    marks(ax, points, **SIGNS[meaning] | other)


def tokens(ax, Z: Cloud, leads: Mask):
    """A star for each token that leads, a circle for each other one."""
    circles(ax, Z[~leads])
    stars(ax, Z[leads])


def ring(ax, point: Cloud):
    """Round the token that a figure is about."""
    marks(ax, point, "o", mfc="none", mec=INK, mew=1.5, ms=15)


def legend(ax, *meanings: str, columns: int = 4):
    """What some of SIGNS mean, below the axes."""
    looks = {meaning: {"ls": "none"} | SIGNS[meaning] for meaning in meanings}
    lines = [plt.Line2D([], [], label=key, **look) for key, look in looks.items()]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "frameon": False}
    ax.legend(handles=lines, ncols=min(columns, len(lines)), fontsize=10, **place)


def names(ax, points: Cloud, labels, offset=(7, 6), **style):
    """A label beside each point, off by points of print: one offset, or one each."""
    offsets = np.broadcast_to(offset, np.shape(points))
    for point, label, off in zip(points, labels, offsets, strict=True):
        ax.annotate(label, point, off, textcoords="offset points", **style)


def names_aside(ax, points: Cloud, labels, marked: Cloud, gap=5, size=10):
    """A label beside each point, where it hides no other one and least of the marks.

    gap, size  between point and label, and of its letters, in points of print
    """
    ax.apply_aspect()
    width = ax.get_window_extent().width * 72 / ax.figure.dpi
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    unit, corner = width / (right - left), [left, low]
    window = unit * np.array([right - left, high - low])
    spots, marked = (unit * np.subtract(some, corner) for some in (points, marked))
    boxes = []  # (centre, half its size) of the labels so far

    def cost(spot, centre, half):
        outside = np.maximum(half - np.minimum(centre, window - centre), 0).sum()
        over = [np.maximum(half + h - abs(centre - c), 0).prod() for c, h in boxes]
        hidden = (abs(marked - centre) < half + 3).all(1).sum()
        own = np.linalg.norm(centre - spot)  # nearer to another, it would be its label
        others = (np.linalg.norm(marked - centre, axis=1) < own).sum()
        return 50 * outside + 5 * sum(over) + hidden + 3 * others

    for point, spot, label in zip(points, spots, labels, strict=True):
        letters = len(re.sub(r"[$\\_^{}]", "", str(label)))
        half = size * np.array([0.32 * letters, 0.55])
        room = np.where(SIDES.all(1), 0, 4)  # the more where it is not at a corner
        centres = spot + SIDES * (gap + room[:, None] + half)
        best = min(centres, key=lambda centre: cost(spot, centre, half))
        boxes.append((best, half))
        middle = {"ha": "center", "va": "center", "size": size}
        names(ax, [point], [label], best - spot, **middle)


def between(starts: Tokens, ends: Tokens, count: int = 30) -> np.ndarray:
    """Points on the way from each start to its end, as one cloud."""
    starts, share = rows(starts), np.linspace(0, 1, count)[:, None, None]
    return rows(starts + share * (rows(ends) - starts))


def trails(ax, path: Tokens, style: str = "-", **look):
    """The way of each token through the layers of a path, (layers, n, 2)."""
    look = {"color": BLUE, "lw": 1} | look
    ax.plot(*np.transpose(path, (2, 0, 1)).astype(float), style, **look)


def arrows(ax, starts: Cloud, ends: Cloud, colour=INK, width: float = 0.8, gap=(4, 5)):
    """An arrow from each start to its end, with gaps at both, in points of print."""
    shape = {"arrowstyle": "-|>", "shrinkA": gap[0], "shrinkB": gap[1]}
    shape |= {"color": colour, "lw": width}
    for start, end in zip(rows(starts), rows(ends), strict=True):
        if (start != end).any():
            ax.annotate("", end, start, arrowprops=shape)


def polytope(ax, K: Cloud):
    """K, the hull of the leaders, on a ground of its own."""
    hull(ax, K, "white", 1)
    hull(ax, K, ORANGE, 0.18)
    hull(ax, K, "none", 1, ec=ORANGE, lw=1.2)


def hull(ax, points: Cloud, colour=SKY, alpha: float = 0.25, **edges):
    """The convex hull, filled; edges: their ec, lw, ls; without, it has none."""
    points = np.unique(np.asarray(points, float), axis=0)
    corners = points[vertices(points)]
    rim = corners[counter_clockwise(corners)]
    look = {"fc": colour, "alpha": alpha, "ec": "none", "lw": 1, "zorder": 0.5}
    ax.fill(*rim.T, **look | edges)


def discs(ax, centres: Cloud, radius: float):
    """The discs of a radius around some points, with dashed rims."""
    angle = np.linspace(0, 2 * np.pi, 200)
    for x, y in rows(centres):
        rim = x + radius * np.cos(angle), y + radius * np.sin(angle)
        ax.fill(*rim, fc=BLUE, alpha=0.15)
        ax.plot(*rim, "--", color=BLUE, lw=1)


def half_plane(ax, H: HalfSpace):
    """Shade { x : <normal, x> >= offset } in the window, and draw its boundary."""
    x, y, side = over_window(ax, lambda X: X @ np.asarray(H.normal, float) - H.offset)
    if (side > 0).any():
        top = abs(side).max() + 1
        ax.contourf(x, y, side, [0, top], colors=[GREEN], alpha=0.16)
        ax.contour(x, y, side, [0], colors=[GREEN], linewidths=1.2, linestyles="--")


def levels(ax, function):
    """Level lines of a function of points (..., 2) in the window."""
    x, y, height = over_window(ax, function, 200)
    ax.contour(x, y, height, 12, colors=INK, linewidths=0.5, alpha=0.35)


def over_window(ax, function, size: int = 2):
    """A grid of size^2 points over the window, and a function on it: x, y, values."""
    spans = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(*(np.linspace(*span, size) for span in spans))
    return x, y, function(np.stack([x, y], -1))
