"""Figures of chapter 1: three architectures, the rule of attention, its forest."""

import numpy as np

from hmlib import attention, geometry
from hmlib.figures import draw, style
from hmlib.figures.style import COLOURS, INK, ORANGE, SKY, canvas
from hmlib.shapes import Cloud, Matrix


def architectures():
    """One block each: what is left when a transformer is stripped to its attention."""
    attend = ["self-attention", "+", "normalise"]
    forward = ["feed-forward", "+", "normalise"]
    blocks = {"Residual network": forward, "Transformer": attend + forward}
    blocks |= {"Pure attention": attend}
    for ax, parts in style.panels(blocks, size=(7.5, 4.4)):
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.1, 6.6))
        ax.axis("off")
        ax.text(0, -1, "$z_1^k, \\ldots, z_n^k$", ha="center")
        top = -0.6  # of what has been drawn
        for y, part in enumerate(parts):
            _flow(ax, (0, top), (0, y + 0.1 if part == "+" else y))
            top = _part(ax, y + 0.25, part)
        _flow(ax, (0, top), (0, top + 0.4))
        ax.text(0, top + 0.5, "$z_1^{k+1}, \\ldots, z_n^{k+1}$", ha="center")


def _part(ax, y, part):
    """A box of a block, or a sum with what goes past the box below; returns its top."""
    centred = {"ha": "center", "va": "center"}
    if part == "+":
        ring = {"boxstyle": "circle,pad=0.15", "fc": "none", "ec": INK}
        ax.text(0, y, "+", bbox=ring, **centred)
        ax.plot([0, -1, -1], [y - 1.45, y - 1.45, y], color=INK, lw=1)
        _flow(ax, (-1.02, y), (-0.15, y))
        return y + 0.15
    colour = {"self-attention": ORANGE, "feed-forward": SKY}.get(part, "#BBBBBB")
    ax.barh(y, 1.5, 0.5, left=-0.75, color=colour, edgecolor=INK)
    ax.text(0, y, part, color="black", **centred)
    return y + 0.25


def _flow(ax, start, end):
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK})


def attention_rule(
    ax, Z: Cloud, i: int, A: Matrix | None = None, name: str = "z", title: str = ""
):
    """The half-space H_i of token i, and the tokens that it follows (diamonds)."""
    Z = np.asarray(Z, float)
    C = attention.attention_sets(Z, A)[i]
    H = geometry.half_space(Z[i], A)
    draw.plane(ax, Z)
    draw.half_plane(ax, H)
    if H.normal.any():  # a token at 0 looks nowhere
        along = H.normal / np.linalg.norm(H.normal)
        across = np.array([-along[1], along[0]])
        tip = Z[i] + 0.22 * np.ptp(ax.get_xlim()) * along
        draw.arrows(ax, Z[i], tip, width=1.4, gap=(2, 2))
        if A is not None:
            label = f"$A{name}_{i + 1}$"
            draw.names(ax, [(Z[i] + tip) / 2], [label], 9 * across - [6, 4])
        farthest = Z[i] + (Z[C] - Z[i])[0] @ along * along
        ax.axline(farthest, farthest + across, color=ORANGE, ls=":", lw=1.4)
    draw.trails(ax, [0 * Z[C] + Z[i], Z[C]], color=ORANGE, zorder=1)
    draw.circles(ax, Z[~C], "none", size=7)
    draw.marks(ax, Z[C], "D", color=ORANGE, ms=8, mec=INK)
    draw.circles(ax, Z[i], size=9)
    draw.names(ax, Z, [f"${name}_{j + 1}$" for j in range(len(Z))], (-7, -15))
    followed = ", ".join(str(j + 1) for j in np.flatnonzero(C))
    ax.set_title(f"{title}  $C_{i + 1} = \\{{{followed}\\}}$")


def forest(Z: Cloud, A: Matrix | None = None):
    """The attention forest: arrows to whom tokens follow; each tree has a colour."""
    follows = attention.follow(Z, A)
    root = attention.roots(follows)
    with canvas(size=(5.6, 5.2)) as ax:
        draw.plane(ax, Z, margin=0.06)
        draw.arrows(ax, Z, Z[follows])
        looks = zip(np.unique(root), COLOURS, "osD^vPX", strict=False)
        for leader, colour, marker in looks:
            tree = (root == leader) & (follows != np.arange(len(Z)))
            draw.marks(ax, Z[tree], marker, color=colour, mec=INK, ms=7)
            draw.stars(ax, Z[leader], colour, size=19)
