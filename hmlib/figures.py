"""One function per figure. Each draws, and returns nothing: what it shows is computed by the rest of the package.

Stars are leaders, circles follow. Colours are those of Okabe and Ito, and never the only mark of a difference.
"""

from functools import wraps

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch, Polygon

from hmlib import attention, dynamics, geometry

INK, ORANGE, SKY, GREEN, BLUE, RED = "#333333", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.hashsalt": "hmlib",
}


def styled(draw):
    """Draw in the book's style, then show."""

    @wraps(draw)
    def figure(*args, **kwargs):
        with plt.rc_context(STYLE):
            draw(*args, **kwargs)
            plt.tight_layout()
            plt.show()

    return figure


# Chapter 1: geometry


@styled
def architectures():
    """Three architectures, one block of each: what is left when a transformer is stripped to its attention."""
    blocks = {
        "Residual network": ["feed-forward", "+", "normalise"],
        "Transformer": ["self-attention", "+", "normalise", "feed-forward", "+", "normalise"],
        "Pure attention": ["self-attention", "+", "normalise"],
    }
    colour = {"self-attention": ORANGE, "feed-forward": SKY, "normalise": "#BBBBBB"}
    _, axes = plt.subplots(1, 3, figsize=(7.5, 4.4))
    for ax, (title, parts) in zip(axes, blocks.items(), strict=True):
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.1, 6.6), title=title)
        ax.axis("off")
        ax.text(0, -1, "$z_1^k, \\ldots, z_n^k$", ha="center")
        below = -0.6
        for height, part in enumerate(parts):
            y = height + 0.25
            ax.annotate(
                "",
                (0, y - 0.25 if part != "+" else y - 0.15),
                (0, below),
                arrowprops={"arrowstyle": "->", "color": INK},
            )
            if part == "+":
                ax.text(
                    0, y, "+", ha="center", va="center", bbox={"boxstyle": "circle,pad=0.15", "fc": "none", "ec": INK}
                )
                ax.plot([0, -1, -1], [y - 1.45, y - 1.45, y], color=INK, lw=1)
                ax.annotate("", (-0.15, y), (-1.02, y), arrowprops={"arrowstyle": "->", "color": INK})
                below = y + 0.15
            else:
                box = FancyBboxPatch(
                    (-0.75, y - 0.25), 1.5, 0.5, "round,pad=0,rounding_size=0.08", fc=colour[part], ec=INK
                )
                ax.add_patch(box)
                ax.text(0, y, part, ha="center", va="center", color="black")
                below = y + 0.25
        ax.annotate("", (0, below + 0.4), (0, below), arrowprops={"arrowstyle": "->", "color": INK})
        ax.text(0, below + 0.5, "$z_1^{k+1}, \\ldots, z_n^{k+1}$", ha="center")


@styled
def attention_rule(Z, i, matrices):
    """The half-space H_i and the tokens in it that token i follows, one panel for each matrix {title: A}."""
    _, axes = plt.subplots(1, len(matrices), figsize=(3.75 * len(matrices), 3.9), squeeze=False)
    for ax, (title, A) in zip(axes[0], matrices.items(), strict=True):
        followed = _attention_rule(ax, np.asarray(Z, float), i, A)
        ax.set_title(f"{title}:  $C_{i + 1} = \\{{{', '.join(str(j + 1) for j in followed)}\\}}$".lstrip(": "))


@styled
def reduction(Z, i, R):
    """The rule for A = R^T R, and the plain rule for the tokens R z: the same tokens are followed."""
    Z, R = np.asarray(Z, float), np.asarray(R, float)
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.9))
    _attention_rule(axes[0], Z, i, R.T @ R)
    _attention_rule(axes[1], Z @ R.T, i, None, name="y")
    axes[0].set_title("tokens $z_j$, rule with $A$")
    axes[1].set_title("tokens $y_j = R z_j$, rule with $I$")


@styled
def one_layer(Z, alpha, A=None):
    """One layer as a Frank-Wolfe step: each token goes part of the way to the hull's farthest point in its direction."""
    Z = np.asarray(Z, float)
    after, C = dynamics.step(Z, alpha, A), attention.attention_sets(Z, A)
    _, ax = plt.subplots(figsize=(5.6, 4.6))
    _plane(ax, Z, margin=0.12)
    x, y = np.meshgrid(np.linspace(*ax.get_xlim(), 200), np.linspace(*ax.get_ylim(), 200))
    X = np.stack([x, y], -1)
    J = 0.5 * (X @ (np.eye(2) if A is None else A) * X).sum(-1)
    ax.contour(x, y, J, 12, colors=INK, linewidths=0.5, alpha=0.35)
    ax.add_patch(Polygon(_hull(Z), fc=SKY, alpha=0.2, ec="none"))
    for i in range(len(Z)):
        target = Z[C[i]].mean(0)
        ax.plot(*np.transpose([Z[i], target]), ":", color=INK, lw=0.9)
        if (after[i] != Z[i]).any():
            ax.annotate(
                "",
                after[i],
                Z[i],
                arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 1.6, "shrinkA": 4, "shrinkB": 0},
            )
    _tokens(ax, Z, _alone(C))


@styled
def norms(Z, alpha, layers, A=None):
    """The norm of each token with normalisation and without it."""
    path = dynamics.simulate(Z, alpha, layers, A).tokens
    length = np.linalg.norm(path, axis=-1)
    k = np.arange(layers + 1)
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.2), sharex=True)
    axes[0].plot(k, length, "o-", color=BLUE, ms=3, lw=1)
    axes[1].semilogy(k, length * (1 + alpha) ** k[:, None], "s-", color=RED, ms=3, lw=1)
    axes[1].semilogy(
        k, float(length[0].max()) * (1 + alpha) ** k, "--", color=INK, lw=1, label="$(1+\\alpha)^k$ times the longest"
    )
    axes[1].legend(frameon=False)
    for ax, title in zip(axes, ("normalised", "without normalisation (log scale)"), strict=True):
        ax.set(xlabel="layer $k$", ylabel="norm of a token", title=title, xticks=k[:: max(1, layers // 6)])


@styled
def separation(s, others, x, A=None):
    """The line through x with normal A x parts the vertex s from all other points; the disc shows how near x has to be."""
    s, others, x = (np.asarray(p, float) for p in (s, others, x))
    _, ax = plt.subplots(figsize=(4.8, 4.4))
    delta = geometry.separation_radius(s, others, A)
    _plane(ax, np.vstack([s, others, s + delta, s - delta]), margin=0.12)
    ax.add_patch(Polygon(_hull(np.vstack([s, others])), fc=SKY, alpha=0.2, ec="none"))
    t = np.linspace(0, 2 * np.pi, 200)
    R = np.eye(2) if A is None else np.linalg.cholesky(A).T
    ax.plot(*(s[:, None] + delta * np.linalg.solve(R, [np.cos(t), np.sin(t)])), "--", color=GREEN, lw=1.2)
    _half_space(ax, geometry.half_space(x, A), GREEN)
    ax.annotate("", x, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1})
    ax.plot(*others.T, "*", color=INK, ms=13)
    ax.plot(*s, "*", color=ORANGE, ms=17, mec=INK)
    ax.plot(*x, "o", color=BLUE, ms=7, mec=INK)
    for point, label in ((s, "$s$"), (x, "$x$"), *((w, "$w$") for w in others)):
        ax.annotate(label, point, (7, 6), textcoords="offset points")


@styled
def flow(path, ax=None):
    """Trails of all tokens of a trajectory, its leaders as stars and their hull."""
    tokens, leaders = path.tokens.astype(float), path.leaders(path.layers)
    if ax is None:
        _, ax = plt.subplots(figsize=(7.5, 4.2))
    ax.axis("off")
    ax.set_aspect("equal")
    ax.add_patch(Polygon(_hull(tokens[-1][leaders]), fc=SKY, alpha=0.25, ec=BLUE, lw=1))
    ax.plot(*tokens.transpose(2, 0, 1), "-", color=BLUE, lw=0.9, alpha=0.75)
    followers = np.setdiff1d(np.arange(tokens.shape[1]), leaders)
    ax.plot(*tokens[0, followers].T, "o", color=BLUE, ms=5)
    ax.plot(*tokens[0, leaders].T, "o", mfc="none", mec=ORANGE, ms=6)
    ax.plot(*tokens[-1, leaders].T, "*", color=ORANGE, mec=INK, ms=18)


# Chapter 2: convergence


# Chapter 3: leaders


# Shared


def _attention_rule(ax, Z, i, A, name="z"):
    """Draw the rule of token i, and return whom it follows."""
    C = attention.attention_sets(Z, A)[i]
    H = geometry.half_space(Z[i], A)
    _plane(ax, Z)
    _half_space(ax, H, SKY)
    if H.normal.any():  # a token at 0 looks nowhere
        along = H.normal / np.linalg.norm(H.normal)
        across = np.array([-along[1], along[0]])
        tip = Z[i] + 0.22 * np.ptp(ax.get_xlim()) * along
        ax.annotate("", tip, Z[i], arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4})
        if A is not None:
            ax.annotate(f"$A{name}_{i + 1}$", (Z[i] + tip) / 2, 9 * across - [6, 4], textcoords="offset points")
        farthest = Z[i] + (Z[C] - Z[i])[0] @ along * along
        ax.axline(farthest, farthest + across, color=ORANGE, ls=":", lw=1.4)
    for j in np.nonzero(C)[0]:
        ax.plot(*np.transpose([Z[i], Z[j]]), color=ORANGE, lw=1, zorder=1)
    ax.plot(*Z[~C].T, "o", color=INK, ms=7, mfc="none")
    ax.plot(*Z[C].T, "D", color=ORANGE, ms=8, mec=INK)
    ax.plot(*Z[i], "o", color=BLUE, ms=9, mec=INK)
    for j, z in enumerate(Z):
        ax.annotate(f"${name}_{j + 1}$", z, (-7, -15), textcoords="offset points")
    return np.nonzero(C)[0]


def _half_space(ax, H, colour):
    """Shade { x : <normal, x> >= offset } in the window, and draw its boundary."""
    x, y = np.meshgrid(ax.get_xlim(), ax.get_ylim())
    side = x * H.normal[0] + y * H.normal[1] - H.offset
    if (side > 0).any():
        ax.contourf(x, y, side, [0, abs(side).max() + 1], colors=[colour], alpha=0.22)
        ax.contour(x, y, side, [0], colors=[colour], linewidths=1.5)


def _plane(ax, points, margin=0.22):
    """A window around the points and the origin, with thin axes through the origin."""
    low, high = np.minimum(points.min(0), 0), np.maximum(points.max(0), 0)
    centre, half = (low + high) / 2, (0.5 + margin) * (high - low).max()
    ax.set(xlim=centre[0] + [-half, half], ylim=centre[1] + [-half, half], aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.axhline(0, color=INK, lw=0.5, alpha=0.5)
    ax.axvline(0, color=INK, lw=0.5, alpha=0.5)


def _tokens(ax, Z, leads):
    ax.plot(*Z[~leads].T, "o", color=BLUE, ms=6, mec=INK)
    ax.plot(*Z[leads].T, "*", color=ORANGE, ms=15, mec=INK)


def _alone(C):
    return C.diagonal() & (C.sum(-1) == 1)


def _hull(points):
    """The corners of the planar hull in order; of one or two points, the points."""
    points = np.unique(points, axis=0)
    if len(points) < 3 or np.linalg.matrix_rank(points - points[0]) < 2:
        return points[[0, -1]]
    from scipy.spatial import ConvexHull

    return points[ConvexHull(points).vertices]
