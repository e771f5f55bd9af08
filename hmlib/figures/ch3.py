"""Figures of chapter 3: who leads, from which start, and for which alpha."""

import numpy as np

from hmlib import attention, geometry, limits
from hmlib.figures import draw, style
from hmlib.figures.style import BLUE, INK, LIGHT, ORANGE, RED, canvas, plt
from hmlib.shapes import Cloud, Indices


def polytopes(panels: dict[str, Cloud]):
    """Polygons, {title: corners}: who is not exposed looks at whom it follows."""
    for ax, corners in style.panels(panels):
        V, C = np.asarray(corners, float), attention.attention_sets(corners)
        exposed = attention.alone(C)
        draw.plane(ax, V, margin=0.14)
        for v, followed in zip(V[~exposed], C[~exposed], strict=True):
            draw.half_plane(ax, geometry.half_space(v), RED)
            draw.arrows(ax, v, V[followed][0], RED, width=1.3)
        draw.hull(ax, V, "none", 1, ec=INK, ls="--")
        draw.hull(ax, V[exposed])
        draw.tokens(ax, V, exposed)
        outwards = 16 * V / np.linalg.norm(V, axis=1, keepdims=True)
        labels = [f"$v_{i + 1}$" for i in range(len(V))]
        draw.names(ax, V, labels, outwards, ha="center", va="center")


def snapshots(end: limits.Limit, layers: list[int]):
    """Some layers of the run to a limit, arrows to those followed, and the limit."""
    panels = {f"layer {k}": end.at(k) for k in layers} | {"limit": None}
    for ax, Z in style.panels(panels, size=(7.5, 2.9)):
        draw.plane(ax, end.at(0), margin=0.1)
        if Z is None:
            _end(ax, end)
            continue
        C = attention.attention_sets(Z)
        alone = attention.alone(C)
        i, j = np.nonzero(C)
        draw.arrows(ax, Z[i], Z[j])
        draw.tokens(ax, Z, alone)
        steps = (C @ Z / C.sum(1)[:, None] - Z)[end.leaders].astype(float)
        lead = np.asarray(Z[end.leaders], float)
        offsets = _beside(lead, steps)
        draw.names(ax, lead, end.leaders + 1, offsets, ha="center", va="center")


def _beside(points, steps, gap=12):
    """Where names go, in points of print: away from the nearest other point, and from
    those that go somewhere at a right angle to their step."""
    ways = points[:, None] - points
    lengths = np.linalg.norm(ways, axis=-1) + np.diag(np.full(len(points), np.inf))
    away = ways[np.arange(len(points)), lengths.argmin(1)]
    aside = steps[:, ::-1] * [1, -1]
    aside *= np.where((aside * away).sum(1) < 0, -1, 1)[:, None]
    sides = np.where(steps.any(1)[:, None], aside, away)
    return gap * sides / np.linalg.norm(sides, axis=1)[:, None]


def ends(panels: dict[str, limits.Limit]):
    """Limits, {title: limit}: the start (hollow), trails, leaders and their hull."""
    for ax, end in style.panels(panels):
        draw.plane(ax, end.at(0), margin=0.12)
        _end(ax, end)


def _end(ax, end):
    draw.hull(ax, end.K, ec=BLUE)
    draw.trails(ax, [*(end.at(k) for k in range(25)), end.tokens])
    draw.circles(ax, end.at(0), "none", size=5)
    draw.tokens(ax, end.tokens, np.isin(np.arange(len(end.tokens)), end.leaders))


def leaders_by_alpha(alphas, clouds: dict[str, Cloud]):
    """Which tokens lead for which alphas: a bar each, blue for those that always do."""
    for ax, Z in style.panels(clouds, size=(7.5, 2.4)):
        Z, tokens = np.asarray(Z, float), np.arange(len(Z))
        leads = np.array([np.isin(tokens, limits.leaders(Z, a)) for a in alphas])
        ever = np.flatnonzero(leads.any(0))
        for row, i in enumerate(ever):
            colour = BLUE if leads[:, i].all() else ORANGE
            bar = np.where(leads[:, i], row, np.nan)
            ax.plot(alphas, bar, color=colour, lw=9, solid_capstyle="butt")
        ax.set(xscale="log", xlabel="$\\alpha$", xlim=alphas[[0, -1]])
        ax.set_ylim(-0.7, len(ever) - 0.3)
        ax.set_yticks(range(len(ever)), [f"token {i + 1}" for i in ever])


def basins(x, y, ends, unseats, Z: Cloud, leaders: Indices):
    """Where one more token ends that starts at (x, y): the leader, by its colour.

    It is hatched where it unseats a leader. Z are the other tokens.
    """
    with canvas(size=(6.4, 5.2)) as ax:
        for leader, colour in zip(leaders, LIGHT, strict=False):
            ax.contourf(x, y, ends == leader, [0.5, 1], colors=[colour], alpha=0.6)
            ax.contour(x, y, ends == leader, [0.5], colors=[INK], linewidths=0.6)
        with plt.rc_context({"hatch.linewidth": 0.5}):
            ax.contourf(x, y, unseats, [0.5, 1], colors="none", hatches=["////"])
        for z in Z:
            rim = {"fc": "none", "ec": INK, "ls": ":", "lw": 0.7}
            ax.add_patch(plt.Circle(z / 2, np.linalg.norm(z) / 2, **rim))
        draw.circles(ax, np.delete(Z, leaders, 0), "white", size=7)
        draw.stars(ax, Z[leaders], "white", size=16)
        draw.names(ax, Z, range(1, len(Z) + 1), (8, 6))
        ax.set_aspect("equal")
        ax.axis("off")
