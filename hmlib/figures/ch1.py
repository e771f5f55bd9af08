"""Figures of chapter 1: three architectures, the rule of attention, its forest."""

import numpy as np

from hmlib import attention, dynamics, geometry
from hmlib.counting import vertices
from hmlib.figures import draw, style
from hmlib.figures.style import COLOURS, GREEN, INK, ORANGE, SKY, canvas
from hmlib.limits import counter_clockwise
from hmlib.shapes import Cloud, Matrix, Number


def architectures():
    """One block each: what is left when a transformer is stripped to its attention."""
    attend = ["self-attention", "+", "normalise"]
    forward = ["feed-forward", "+", "normalise"]
    blocks = {"Residual network": forward, "Transformer": attend + forward}
    blocks |= {"Pure attention": attend}
    for ax, parts in style.panels(blocks, size=(7.5, 4.4)):
        ax.set(xlim=(-1.3, 1.3), ylim=(-0.4, 7.4))
        ax.axis("off")
        stack = ["$z_1^k, \\ldots, z_n^k$", *parts, "$z_1^{k+1}, \\ldots, z_n^{k+1}$"]
        for y, part in enumerate(stack):
            if y:
                draw.arrows(ax, [0, y - 0.75], [0, y - 0.25], gap=(0, 0))
            _part(ax, y, part)


def _part(ax, y, part):
    """A box of a block, or a sum with what goes past the box below, or tokens."""
    colours = {"self-attention": ORANGE, "feed-forward": SKY, "normalise": "#999999"}
    if part in colours:
        ax.barh(y, 1.5, 0.5, left=-0.75, color=colours[part], edgecolor=INK)
    if part == "+":
        draw.ring(ax, [0, y])
        ax.plot([0, -1, -1], [y - 1.5, y - 1.5, y], color=INK, lw=1)
        draw.arrows(ax, [-1, y], [0, y], gap=(0, 8))
    ink = "#111111" if part in colours else INK  # on boxes also in the dark
    ax.text(0, y, part, color=ink, ha="center", va="center")


def attention_rule(
    ax, Z: Cloud, i: int, A: Matrix | None = None, name: str = "z", title: str = ""
):
    """The half-space H_i of token i (ringed), and whom it follows."""
    Z = np.asarray(Z, float)
    sets = attention.attention_sets(Z, A)
    C, H = sets[i], geometry.half_space(Z[i], A)
    draw.plane(ax, Z)
    tip, lines = _looks(ax, Z[i], H, Z[C][:1])
    if A is not None:
        draw.names(ax, [(Z[i] + tip) / 2], [f"$A{name}_{i + 1}$"], (0, -15))
    draw.arrows(ax, Z[[i] * C.sum()], Z[C], gap=(6, 5))
    draw.tokens(ax, Z, attention.alone(sets))
    if C.sum() > 1:
        draw.sign(ax, Z[i], "tied")
    draw.ring(ax, Z[i])
    labels = [f"${name}_{j + 1}$" for j in range(len(Z))]
    marked = np.vstack([Z, draw.between(Z[i], Z[C]), lines])
    draw.names_aside(ax, Z, labels, marked, gap=7)
    followed = ", ".join(str(j + 1) for j in np.flatnonzero(C))
    ax.set_title(f"{title}  $C_{i + 1} = \\{{{followed}\\}}$")


def _looks(ax, z, H, others):
    """The half-space of z, an arrow where it looks, and lines across it through others:
    all on one are equally far. Returns the arrow's tip, and points on what is drawn."""
    draw.half_plane(ax, H)
    if not H.normal.any():  # at 0
        return z, [z]
    size, along = np.ptp(ax.get_xlim()), H.normal / np.linalg.norm(H.normal)
    tip, across = z + 0.22 * size * along, size * np.array([-along[1], along[0]])
    draw.arrows(ax, z, tip, GREEN, width=2.2, gap=(6, 0))
    draw.trails(ax, [others - across, others + across], ":", color=GREEN, lw=1.4)
    lines = np.vstack([[z], others])
    lines = draw.between(lines - across, lines + across, 200)
    return tip, np.vstack([draw.between(z, tip), lines])


def rule(Z: Cloud, alpha: Number):
    """The model in three pictures: what token 1 sees, whom all follow, a step."""
    Z = np.asarray(Z, float)
    goals, after = Z[attention.follow(Z)], dynamics.step(Z, alpha)
    leads = attention.alone(attention.attention_sets(Z))
    names = [f"$z_{i + 1}$" for i in range(len(Z))]
    with canvas(1, 3, size=(7.5, 2.9)) as axes:
        for ax in axes:
            draw.plane(ax, Z, margin=0.12)
        _, seen = _looks(axes[0], Z[0], geometry.half_space(Z[0]), Z[1:])
        draw.ring(axes[0], Z[0])
        draw.arrows(axes[1], Z, goals)
        draw.sign(axes[2], Z[~leads], "where it started")
        draw.trails(axes[2], [Z, after])
        ways = draw.between(Z, goals)
        panels = {"(a) what $z_1$ sees": (Z, seen), "(b) whom they follow": (Z, ways)}
        panels["(c) a layer"] = after, ways
        for ax, (title, (now, drawn)) in zip(axes, panels.items(), strict=True):
            ax.set_title(title, fontsize=10)
            draw.tokens(ax, now, leads)
            draw.names_aside(ax, Z, names, np.vstack([Z, drawn]))


def sectors(Z: Cloud):
    """Whom tokens follow, decided by their direction: a sector for each one followed.

    The rays between the sectors stand at right angles to the edges of the hull.
    """
    Z, follows = np.asarray(Z, float), attention.follow(Z)
    corners = vertices(Z)
    corners = corners[counter_clockwise(Z[corners])]
    edges = np.roll(Z[corners], -1, axis=0) - Z[corners]
    rays = np.stack([edges[:, 1], -edges[:, 0]], axis=1)  # after each corner, outwards
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    with canvas(size=(5.6, 5.2)) as ax:
        draw.plane(ax, Z, margin=0.06)
        rays *= 2 * np.ptp(ax.get_xlim())
        for k, corner in enumerate(corners):
            first, last, colour = rays[k - 1], rays[k], COLOURS[k % len(COLOURS)]
            sector = [0 * first, first, first + last, last]
            draw.hull(ax, sector, colour)
            draw.trails(ax, [[0 * last], [last]], "--", color=INK, lw=0.8)
            own = np.flatnonzero((follows == corner) & (np.arange(len(Z)) != corner))
            draw.arrows(ax, Z[own], Z[[corner] * len(own)], width=0.6)
            draw.circles(ax, Z[own], colour)
            if follows[corner] == corner:
                draw.stars(ax, Z[corner], colour, size=17)
        draw.legend(ax, "leads", "follows")


def forest(Z: Cloud):
    """The attention forest: arrows to whom tokens follow; each tree has a colour."""
    follows = attention.follow(Z)
    root = attention.roots(follows)
    with canvas(size=(5.6, 5.2)) as ax:
        draw.plane(ax, Z, margin=0.06)
        draw.arrows(ax, Z, Z[follows])
        looks = zip(np.unique(root), COLOURS, "osD^vPX", strict=False)
        for leader, colour, marker in looks:
            tree = (root == leader) & (follows != np.arange(len(Z)))
            draw.marks(ax, Z[tree], marker, color=colour, mec=INK, ms=7)
            draw.stars(ax, Z[leader], colour, size=19)
