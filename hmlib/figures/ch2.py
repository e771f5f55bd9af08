"""Figures of chapter 2: clouds on their way, and where they end."""

import numpy as np

from hmlib import attention, dynamics
from hmlib.figures import draw
from hmlib.figures.style import BLUE, COLOURS, INK, canvas
from hmlib.shapes import Cloud, Number


def flow(ax, path: dynamics.Trajectory):
    """The trails of all tokens to the leaders, the hulls of some layers, and K."""
    ax.axis("off")
    ax.set_aspect("equal")
    for k in (0, 1, 2, 4, 8):
        draw.hull(ax, path.tokens[k], alpha=0.14)
        draw.hull(ax, path.tokens[k], "none", 1, ec=BLUE, lw=0.6)
    leads = path.leaders(path.layers)
    draw.polytope(ax, path.tokens[-1][leads])
    draw.trails(ax, path.tokens, lw=0.9)
    draw.sign(ax, np.delete(path.tokens[0], leads, 0), "where it started")
    draw.stars(ax, path.tokens[-1][leads], size=16)


def configurations(clouds: dict[str, Cloud], alpha: Number, layers: list[int]):
    """Rows of clouds through some layers: who follows whom, trails, K at the end."""
    shape = len(clouds), len(layers)
    with canvas(*shape, size=(7.5, 1.62 * len(clouds)), squeeze=False) as axes:
        for ax, k in zip(axes[0], layers, strict=True):
            ax.set_title(f"$k = {k}$", fontsize=9)
        for row, (name, Z) in zip(axes, clouds.items(), strict=True):
            path, colours = dynamics.simulate(Z, alpha, layers[-1]), {}
            for ax, k in zip(row, layers, strict=True):
                draw.trails(ax, path.tokens[: k + 1], lw=0.6)
                _followed(ax, path.tokens[k], path.attention_sets(k), colours)
                ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
                ax.set(xticks=[], yticks=[])
                ax.spines[:].set_visible(False)
            draw.polytope(row[-1], path.tokens[-1][path.leaders(layers[-1])])
            row[0].text(-1.45, 0, name, rotation=90, va="center", ha="center", size=9)


def _followed(ax, Z, C, colours):
    """Tokens in the colour of whom they follow: who is followed has one, and keeps it.

    colours  {token: its colour}, so far; whoever is followed anew joins them
    """
    alone, others = attention.alone(C), C & ~np.eye(len(C), dtype=bool)
    followed = np.flatnonzero(others.any(0) | alone)
    for i in followed:
        colours.setdefault(i, COLOURS[len(colours) % len(COLOURS)])
    colour = {i: colours[i] for i in followed}
    for i, z in enumerate(Z):
        if alone[i]:
            draw.marks(ax, z, "*", color=colour[i], ms=11, mec=INK, mew=0.6, zorder=4)
            continue
        first, *more = (colour[j] for j in np.flatnonzero(others[i]))
        rim = {"mec": colour.get(i, INK), "mew": 1.6 if i in colour else 0.5}
        halves = {"fillstyle": "left", "markerfacecoloralt": more[0]} if more else {}
        draw.marks(ax, z, "o", ms=5.5, zorder=3, mfc=first, **rim, **halves)
