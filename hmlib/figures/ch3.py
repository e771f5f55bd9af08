"""Figures of chapter 3: who leads, from which start, and for which alpha."""

import numpy as np

from hmlib import attention, dynamics, geometry, limits
from hmlib.figures import draw, style
from hmlib.figures.regions import refined
from hmlib.figures.style import BLUE, INK, LIGHT, ORANGE, canvas, plt
from hmlib.shapes import Cloud, Number, Tokens

LAYERS = 60  # of the runs behind a picture; nearly all have settled long before
HATCHED = {"hatch.linewidth": 0.5, "hatch.color": INK}


def polytopes(panels: dict[str, Cloud]):
    """Polygons, {title: corners}: who is not exposed looks at whom it follows."""
    for ax, corners in style.panels(panels):
        V, C = np.asarray(corners, float), attention.attention_sets(corners)
        exposed = attention.alone(C)
        draw.plane(ax, V, margin=0.14)
        for v, followed in zip(V[~exposed], C[~exposed], strict=True):
            draw.half_plane(ax, geometry.half_space(v))
            draw.arrows(ax, v, V[followed][0])
        draw.hull(ax, V, "none", 1, ec=INK, ls="--")
        draw.polytope(ax, V[exposed])
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
        lead = np.asarray(Z[end.leaders], float)
        marked = np.vstack([Z, draw.between(Z[i], Z[j])]).astype(float)
        draw.names_aside(ax, lead, end.leaders + 1, marked)


def ends(panels: dict[str, limits.Limit]):
    """Limits, {title: limit}: the start (hollow), trails, leaders and their hull."""
    for ax, end in style.panels(panels):
        start = np.asarray(end.at(0), float)
        draw.plane(ax, start, margin=0.12)
        _end(ax, end)
        path = [end.at(k) for k in range(25)]
        marked = np.vstack([*path, end.tokens]).astype(float)
        draw.names_aside(ax, start, range(1, len(start) + 1), marked)


def _end(ax, end):
    draw.polytope(ax, end.K)
    draw.trails(ax, [*(end.at(k) for k in range(25)), end.tokens])
    draw.sign(ax, end.at(0), "where it started")
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
        ax.set(xscale="log", xlabel="$\\alpha$", xlim=(alphas[0], alphas[-1]))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(-0.7, len(ever) - 0.3)
        ax.set_yticks(range(len(ever)), [f"token {i + 1}" for i in ever])


def basins(Z: Cloud, alpha: Number, grid: Tokens):
    """Where one more token ends, by where it starts: a region for each leader.

    It is hatched where the token unseats a leader. Circles: with diameter from 0 to z.
    """
    Z = np.asarray(Z, float)
    leads, joins, unseats = fates(Z, alpha)
    with canvas(size=(6.4, 5.2)) as ax, plt.rc_context(HATCHED):
        x, y, joined = refined(joins, grid)
        for leader, colour in zip(leads, LIGHT, strict=False):
            basin = joined == leader
            ax.contourf(x, y, basin, [0.5, 1], colors=[colour], alpha=0.6)
            ax.contour(x, y, basin, [0.5], colors=[INK], linewidths=0.7)
            draw.stars(ax, Z[leader], colour, size=16)
        x, y, unseated = refined(unseats, grid)
        ax.contourf(x, y, unseated, [0.5, 1], colors="none", hatches=["////"])
        for z in Z:
            rim = {"fc": "none", "ec": INK, "ls": ":", "lw": 0.7}
            ax.add_patch(plt.Circle(z / 2, np.linalg.norm(z) / 2, **rim))
        draw.circles(ax, np.delete(Z, leads, 0), size=6)
        draw.names(ax, Z, range(1, len(Z) + 1), (8, 6))
        ax.set_aspect("equal")
        ax.axis("off")


def fates(Z, alpha):
    """Who leads, and of tokens that start at X, each by itself: who is joined, n if it
    leads; and whether a leader is unseated."""
    n, fixed = len(Z), limits.leaders(Z, alpha)

    def run(X):
        clouds = np.broadcast_to(Z, (len(X), n, 2))
        clouds = np.concatenate([clouds, X[:, None]], axis=1)
        follows = attention.follow(dynamics.simulate(clouds, alpha, LAYERS).tokens[-1])
        return attention.roots(follows)[:, n], follows == np.arange(n + 1)

    def unseats(X):
        joined, leads = run(X)
        return (joined < n) & ~leads[:, fixed].all(1)

    return fixed, lambda X: run(X)[0], unseats
