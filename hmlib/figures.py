"""One function per figure. Each draws, and returns nothing: what it shows is computed by the rest of the package.

Stars are leaders, circles follow. Colours are those of Okabe and Ito, and never the only mark of a difference.
"""

from functools import wraps

import numpy as np

from hmlib import attention, dynamics, geometry, inputs, limits

with inputs.extra("book"):
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch, Polygon

INK, ORANGE, SKY, GREEN, BLUE, RED = (
    "#333333",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
)
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
        "Transformer": [
            "self-attention",
            "+",
            "normalise",
            "feed-forward",
            "+",
            "normalise",
        ],
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
                    0,
                    y,
                    "+",
                    ha="center",
                    va="center",
                    bbox={"boxstyle": "circle,pad=0.15", "fc": "none", "ec": INK},
                )
                ax.plot([0, -1, -1], [y - 1.45, y - 1.45, y], color=INK, lw=1)
                ax.annotate(
                    "",
                    (-0.15, y),
                    (-1.02, y),
                    arrowprops={"arrowstyle": "->", "color": INK},
                )
                below = y + 0.15
            else:
                box = FancyBboxPatch(
                    (-0.75, y - 0.25),
                    1.5,
                    0.5,
                    "round,pad=0,rounding_size=0.08",
                    fc=colour[part],
                    ec=INK,
                )
                ax.add_patch(box)
                ax.text(0, y, part, ha="center", va="center", color="black")
                below = y + 0.25
        ax.annotate(
            "",
            (0, below + 0.4),
            (0, below),
            arrowprops={"arrowstyle": "->", "color": INK},
        )
        ax.text(0, below + 0.5, "$z_1^{k+1}, \\ldots, z_n^{k+1}$", ha="center")


@styled
def attention_rule(Z, i, matrices):
    """The half-space H_i and the tokens in it that token i follows, one panel for each matrix {title: A}."""
    _, axes = plt.subplots(
        1, len(matrices), figsize=(3.75 * len(matrices), 3.9), squeeze=False
    )
    for ax, (title, A) in zip(axes[0], matrices.items(), strict=True):
        followed = _attention_rule(ax, np.asarray(Z, float), i, A)
        ax.set_title(
            f"{title}:  $C_{i + 1} = \\{{{', '.join(str(j + 1) for j in followed)}\\}}$".lstrip(
                ": "
            )
        )


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
    x, y = np.meshgrid(
        np.linspace(*ax.get_xlim(), 200), np.linspace(*ax.get_ylim(), 200)
    )
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
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": BLUE,
                    "lw": 1.6,
                    "shrinkA": 4,
                    "shrinkB": 0,
                },
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
        k,
        float(length[0].max()) * (1 + alpha) ** k,
        "--",
        color=INK,
        lw=1,
        label="$(1+\\alpha)^k$ times the longest",
    )
    axes[1].legend(frameon=False)
    for ax, title in zip(
        axes, ("normalised", "without normalisation (log scale)"), strict=True
    ):
        ax.set(
            xlabel="layer $k$",
            ylabel="norm of a token",
            title=title,
            xticks=k[:: max(1, layers // 6)],
        )


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
    ax.plot(
        *(s[:, None] + delta * np.linalg.solve(R, [np.cos(t), np.sin(t)])),
        "--",
        color=GREEN,
        lw=1.2,
    )
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


@styled
def configurations(clouds, alpha, layers):
    """Rows of clouds {name: Z} through some layers: who follows whom, with the trails and, at the end, the hull."""
    _, axes = plt.subplots(
        len(clouds), len(layers), figsize=(7.5, 1.62 * len(clouds)), squeeze=False
    )
    for row, (name, Z) in zip(axes, clouds.items(), strict=True):
        path = dynamics.simulate(Z, alpha, layers[-1])
        for ax, k in zip(row, layers, strict=True):
            _snapshot(ax, path, k)
            ax.set_title(f"$k = {k}$" if row is axes[0] else "", fontsize=9)
        row[0].text(-1.45, 0, name, rotation=90, va="center", ha="center", fontsize=9)
        leads = path.leaders(layers[-1])
        row[-1].add_patch(
            Polygon(
                _hull(path.tokens[-1].astype(float)[leads]),
                fc=SKY,
                alpha=0.25,
                ec=INK,
                lw=0.6,
                zorder=0,
            )
        )


@styled
def neighbourhoods(end, path, delta):
    """The points of S(K) with discs of radius delta, and the trails that end in them."""
    K = end.tokens[end.leaders]
    S = geometry.cluster_points(K).points
    _, ax = plt.subplots(figsize=(5.2, 4.6))
    _plane(ax, path.tokens.reshape(-1, 2), margin=0.2)
    ax.add_patch(Polygon(_hull(K), fc=SKY, alpha=0.2, ec="none"))
    ax.plot(*path.tokens.transpose(2, 0, 1), "-", color=BLUE, lw=0.8)
    ax.plot(*path.tokens.reshape(-1, 2).T, ".", color=BLUE, ms=3)
    for s in S:
        ax.add_patch(plt.Circle(s, delta, fc=GREEN, alpha=0.15, ec=GREEN, ls="--"))
        vertex = (s == K).all(1).any()
        ax.plot(
            *s,
            "*" if vertex else "s",
            color=ORANGE if vertex else GREEN,
            mec=INK,
            ms=14 if vertex else 7,
        )


@styled
def convergence(path, end, alpha):
    """Distance to K, length and distance to the limit of every token against depth, with the layer of the certificate."""
    tokens, k = path.tokens, np.arange(path.layers + 1)
    K = end.tokens[end.leaders]
    to_K = [max(np.linalg.norm(z - geometry.project(z, K)) for z in Z) for Z in tokens]
    left = np.linalg.norm(tokens - end.tokens, axis=-1)
    _, axes = plt.subplots(1, 3, figsize=(7.5, 2.9))
    axes[0].semilogy(k, np.maximum(to_K, 1e-17), "o-", color=BLUE, ms=3, lw=1)
    axes[1].plot(k, np.linalg.norm(tokens, axis=-1), "-", color=BLUE, lw=0.8)
    axes[2].semilogy(k, np.where(left > 0, left, np.nan), "-", color=BLUE, lw=0.8)
    axes[2].semilogy(
        k,
        3 * left.max() * (1 + alpha) ** -k,
        "--",
        color=INK,
        lw=1,
        label="slope $1/(1+\\alpha)$",
    )
    axes[2].legend(frameon=False, fontsize=8)
    for ax, title in zip(
        axes,
        ("farthest token from $K$", "lengths", "distance to the limit"),
        strict=True,
    ):
        ax.axvline(end.settled_at, color=ORANGE, ls=":", lw=1.5)
        ax.set(xlabel="layer $k$", title=title)


@styled
def settlement(results, xlabel):
    """Layers until all tokens have settled: median, quartiles and extremes of each group {label: {x: layers}}."""
    _, ax = plt.subplots(figsize=(6, 3.4))
    for (label, groups), colour, marker in zip(
        results.items(), (BLUE, ORANGE, GREEN, RED), "osD^", strict=False
    ):
        x, layers = np.array(list(groups)), np.array(list(groups.values()))
        low, middle, high = np.quantile(layers, [0.25, 0.5, 0.75], axis=1)
        ax.plot(x, middle, marker + "-", color=colour, ms=5, lw=1.2, label=label)
        ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        ax.plot(x, layers.max(1), marker, color=colour, ms=4, mfc="none")
    ax.set(xscale="log", xlabel=xlabel, ylabel="layer of the certificate")
    ax.legend(frameon=False)


# Chapter 3: leaders


@styled
def polytopes(configurations):
    """Polygons, {title: corners}: stars are exposed to all other corners; from another one an arrow goes to whom it follows."""
    _, axes = plt.subplots(1, len(configurations), figsize=(7.5, 3.9))
    for ax, (title, V) in zip(axes, configurations.items(), strict=True):
        V, C = np.asarray(V, float), attention.attention_sets(V)
        _plane(ax, V, margin=0.14)
        for i in np.flatnonzero(~_alone(C)):
            _half_space(ax, geometry.half_space(V[i]), RED)
            _arrow(ax, V[i], V[C[i]][0], RED)
        ax.add_patch(Polygon(_hull(V), fc="none", ec=INK, ls="--", lw=1))
        ax.add_patch(Polygon(_hull(V[_alone(C)]), fc=SKY, alpha=0.3, ec="none"))
        _tokens(ax, V, _alone(C))
        for i, v in enumerate(V):
            ax.annotate(
                f"$v_{i + 1}$",
                v,
                16 * v / np.linalg.norm(v),
                textcoords="offset points",
                ha="center",
                va="center",
            )
        ax.set_title(title)


@styled
def snapshots(end, layers):
    """Some layers of the run to a limit, with arrows to those followed, and the limit with all trails."""
    start = end.at(0).astype(float)
    _, axes = plt.subplots(1, len(layers) + 1, figsize=(7.5, 2.9))
    for ax, k in zip(axes, layers, strict=False):
        Z, C = end.at(k).astype(float), attention.attention_sets(end.at(k))
        _plane(ax, start, margin=0.1)
        for i, j in np.argwhere(C & ~np.eye(len(C), dtype=bool)):
            _arrow(ax, Z[i], Z[j], INK, lw=0.8)
        _tokens(ax, Z, _alone(C))
        for i in end.leaders:
            offset = (0, 9) if _alone(C)[i] else (-11, -2)
            ax.annotate(
                f"{i + 1}", Z[i], offset, textcoords="offset points", ha="center"
            )
        ax.set_title(f"layer {k}")
    _plane(axes[-1], start, margin=0.1)
    _end(axes[-1], end)
    axes[-1].set_title("limit")


@styled
def ends(clouds):
    """Where the tokens of some clouds end, {title: limit}: trails from the start (hollow), leaders (stars) and their hull."""
    _, axes = plt.subplots(1, len(clouds), figsize=(7.5, 3.9))
    for ax, (title, end) in zip(axes, clouds.items(), strict=True):
        _plane(ax, end.at(0).astype(float), margin=0.12)
        _end(ax, end)
        ax.set_title(title)


@styled
def leaders_by_alpha(alphas, clouds):
    """Which tokens lead for which of the alphas: a bar each, blue for those that always do. One panel per {title: Z}."""
    _, axes = plt.subplots(1, len(clouds), figsize=(7.5, 2.4))
    for ax, (title, Z) in zip(axes, clouds.items(), strict=True):
        Z = np.asarray(Z, float)
        leads = np.array(
            [np.isin(range(len(Z)), limits.leaders(Z, alpha)) for alpha in alphas]
        )
        ever = np.flatnonzero(leads.any(0))
        for row, i in enumerate(ever):
            on = np.where(leads[:, i], row, np.nan)
            ax.plot(
                alphas,
                on,
                color=BLUE if leads[:, i].all() else ORANGE,
                lw=9,
                solid_capstyle="butt",
            )
        ax.set(
            xscale="log",
            xlabel="$\\alpha$",
            title=title,
            xlim=alphas[[0, -1]],
            ylim=(-0.7, len(ever) - 0.3),
        )
        ax.set_yticks(range(len(ever)), [f"token {i + 1}" for i in ever])


@styled
def how_many(sizes, counts):
    """The number of leaders against the number of tokens: mean, and range over the runs, {d: counts (sizes, runs)}."""
    _, ax = plt.subplots(figsize=(5.6, 3.9))
    ax.loglog(sizes, sizes, ":", color=INK, lw=1, label="every token leads")
    for (d, count), colour, marker in zip(
        counts.items(), (BLUE, ORANGE, GREEN, RED), "osD^", strict=False
    ):
        ax.fill_between(
            sizes, count.min(1), count.max(1), color=colour, alpha=0.2, lw=0
        )
        ax.loglog(
            sizes,
            count.mean(1),
            marker + "-",
            color=colour,
            mec=INK,
            ms=6,
            lw=1.2,
            label=f"$d = {d}$",
        )
    ax.set(xlabel="number of tokens $n$", ylabel="number of leaders")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.set_yticks(
        [2, 5, 10, 20, 50, 100, 200, 500],
        ["2", "5", "10", "20", "50", "100", "200", "500"],
    )
    ax.minorticks_off()
    ax.legend(frameon=False)


@styled
def forest(Z, A=None):
    """The attention forest: an arrow from each token to the one it follows; a colour and a marker for each tree."""
    Z, to = np.asarray(Z, float), attention.follow(Z, A)
    root = to
    while (to[root] != root).any():
        root = to[root]
    _, ax = plt.subplots(figsize=(5.6, 5.2))
    _plane(ax, Z, margin=0.06)
    marks = zip(
        np.unique(root),
        (SKY, ORANGE, GREEN, RED, BLUE, "#CC79A7", "#F0E442"),
        "osD^vPX",
        strict=False,
    )
    for leader, colour, marker in marks:
        tree = np.flatnonzero(root == leader)
        for i in tree[tree != leader]:
            _arrow(ax, Z[i], Z[to[i]], INK, lw=0.8)
        ax.plot(*Z[tree[tree != leader]].T, marker, color=colour, mec=INK, ms=7)
        ax.plot(*Z[leader], "*", color=colour, mec=INK, ms=19)


@styled
def basins(x, y, ends, unseats, Z, leaders):
    """Where a further token ends that starts at (x, y): a colour for each leader it joins, hatched where it unseats one."""
    _, ax = plt.subplots(figsize=(6.4, 5.2))
    colours = (SKY, ORANGE, GREEN, "#F0E442", "#CC79A7", BLUE)
    for leader, colour in zip(leaders, colours, strict=False):
        here = ends == leader
        ax.contourf(x, y, here, [0.5, 1], colors=[colour], alpha=0.6)
        ax.contour(x, y, here, [0.5], colors=[INK], linewidths=0.6)
    with plt.rc_context({"hatch.linewidth": 0.5}):
        ax.contourf(x, y, unseats, [0.5, 1], colors="none", hatches=["////"])
    t = np.linspace(0, 2 * np.pi, 100)
    for z in Z:
        ax.plot(
            *(z[:, None] + np.linalg.norm(z) * np.array([np.cos(t), np.sin(t)])) / 2,
            ":",
            color=INK,
            lw=0.7,
        )
    others = np.setdiff1d(np.arange(len(Z)), leaders)
    ax.plot(*Z[others].T, "o", color="white", mec=INK, ms=7)
    ax.plot(*Z[leaders].T, "*", color="white", mec=INK, ms=16)
    for i, z in enumerate(Z):
        ax.annotate(f"{i + 1}", z, (8, 6), textcoords="offset points")
    ax.set_aspect("equal")
    ax.axis("off")


def _end(ax, end):
    """Trails to a limit, the hull of the leaders, and where all end."""
    start = end.at(0).astype(float)
    path = np.array(
        [end.at(k).astype(float) for k in range(25)] + [end.tokens.astype(float)]
    )
    leads = np.isin(np.arange(len(start)), end.leaders)
    ax.add_patch(Polygon(_hull(path[-1][leads]), fc=SKY, alpha=0.3, ec=BLUE, lw=1))
    ax.plot(*path.transpose(2, 0, 1), "-", color=BLUE, lw=1)
    ax.plot(*start.T, "o", mfc="none", mec=INK, ms=5)
    _tokens(ax, path[-1], leads)


def _arrow(ax, start, end, colour, lw=1.3):
    shape = {"arrowstyle": "-|>", "color": colour, "lw": lw, "shrinkA": 4, "shrinkB": 5}
    ax.annotate("", end, start, arrowprops=shape)


# Chapter 4: sentiment


@styled
def training(histories):
    """Loss and accuracy against the epoch, {name: History}: training dashed, validation solid."""
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.3))
    for (name, history), colour, marker in zip(
        histories.items(), (INK, BLUE, ORANGE, GREEN), "xosD", strict=False
    ):
        epoch = np.arange(1, len(history.epochs) + 1)
        for ax, key in zip(axes, ("loss", "accuracy"), strict=True):
            ax.plot(epoch, [e[key] for e in history.epochs], "--", color=colour, lw=0.9)
            ax.plot(
                epoch,
                [e[f"validation_{key}"] for e in history.epochs],
                marker + "-",
                color=colour,
                ms=5,
                label=name,
            )
            ax.set(xlabel="epoch", title=key)
    axes[1].legend(frameon=False, fontsize=8)


@styled
def temperatures(T, softmax, hardmax):
    """The loss of one model with softmax in place of hardmax, against the temperature."""
    _, ax = plt.subplots(figsize=(5.6, 3.2))
    ax.axhline(hardmax, color=ORANGE, ls="--", label="hardmax")
    ax.semilogx(T, softmax, "o-", color=BLUE, label="softmax at temperature $T$")
    ax.set(xlabel="temperature $T$", ylabel="loss on 1,000 reviews")
    ax.legend(frameon=False)


@styled
def protocol(runs, paper):
    """Training loss and test accuracy against the epoch, {d: columns of the study}, beside what the paper's histories say.

    paper  {d: {"loss": its softmax loss at epochs 0, 10, ..., "best": (epoch, accuracy), "last": (epoch, accuracy)}}
    """
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.9))
    for (d, run), colour, marker in zip(
        runs.items(), (BLUE, ORANGE, GREEN, RED), "osD^", strict=True
    ):
        epoch = np.arange(len(run["loss"]))
        axes[0].semilogy(
            epoch, run["loss"], "-", color=colour, lw=1, label=f"$d = {d}$"
        )
        axes[0].semilogy(
            run["measured"], run["train_loss_hardmax"], "x", color=colour, ms=5
        )
        axes[1].plot(epoch, run["test_accuracy"], "-", color=colour, lw=1)
        axes[1].plot(
            run["measured"], run["test_accuracy_hardmax"], "x", color=colour, ms=5
        )
        theirs = paper[d]
        if "loss" in theirs:
            axes[0].semilogy(
                10 * np.arange(len(theirs["loss"])),
                theirs["loss"],
                marker,
                mfc="none",
                color=colour,
                ms=6,
            )
        for epoch, accuracy in (theirs["best"], theirs["last"]):
            axes[1].plot(
                epoch, accuracy, marker, mfc="none", color=colour, ms=7, mew=1.4
            )
    axes[0].set(xlabel="epoch", title="training loss")
    axes[1].set(xlabel="epoch", title="test accuracy")
    axes[0].legend(frameon=False, fontsize=8)


@styled
def dots(panels, xlabel, reference=None):
    """Numbers in rows, {title: {row: {series: values}}}: each value a mark, the mean of a series a line through its marks."""
    rows = list(dict.fromkeys(row for panel in panels.values() for row in panel))
    _, axes = plt.subplots(
        1,
        len(panels),
        figsize=(7.5, 0.33 * len(rows) + 1.1),
        sharey=True,
        squeeze=False,
    )
    for ax, (title, panel) in zip(axes[0], panels.items(), strict=True):
        series = list(dict.fromkeys(name for row in panel.values() for name in row))
        for name, colour, marker in zip(
            series, (BLUE, ORANGE, GREEN, RED, INK), "oDs^x", strict=False
        ):
            for row, values in panel.items():
                if name in values:
                    x, y = np.atleast_1d(values[name]), -rows.index(row)
                    ax.plot([x.mean()] * 2, [y - 0.3, y + 0.3], color=colour, lw=1.6)
                    ax.plot(
                        x,
                        np.full(len(x), y),
                        marker,
                        color=colour,
                        mfc="none",
                        ms=5,
                        ls="none",
                    )
            ax.plot([], [], marker, color=colour, mfc="none", label=name)
        if reference is not None:
            ax.axvline(reference[title], color=INK, ls=":", lw=1)
        ax.set(xlabel=xlabel, title=title)
        ax.grid(axis="x", lw=0.3)
        if len(series) > 1:
            ax.legend(frameon=False, fontsize=8)
    axes[0][0].set_yticks(-np.arange(len(rows)), rows)


@styled
def bands(panels, xlabel, xscale="linear"):
    """Means and ranges over seeds, {title: {label: (x, values (len(x), seeds))}}; an x of None draws a horizontal line."""
    _, axes = plt.subplots(1, len(panels), figsize=(7.5, 3.5), squeeze=False)
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        dashes = iter(("--", ":", "-."))
        for (label, (x, values)), colour, marker in zip(
            lines.items(), (BLUE, ORANGE, GREEN, RED), "osD^", strict=False
        ):
            values = np.asarray(values)
            if x is None:
                ax.axhspan(values.min(), values.max(), color=INK, alpha=0.15, lw=0)
                ax.axhline(values.mean(), color=INK, ls=next(dashes), lw=1, label=label)
                continue
            x = np.asarray(x, float)
            order = np.argsort(x)
            ax.fill_between(
                x[order],
                values.min(1)[order],
                values.max(1)[order],
                color=colour,
                alpha=0.2,
                lw=0,
            )
            ax.plot(
                x[order],
                values.mean(1)[order],
                marker + "-",
                color=colour,
                ms=5,
                lw=1.2,
                label=label,
            )
        ax.set(xlabel=xlabel, title=title, xscale=xscale)
        ax.legend(facecolor="white", framealpha=0.85, edgecolor="none", fontsize=8)


@styled
def along_and_across(words):
    """Leader words by their coordinates along the decoder's vector and across it; names step aside for each other."""
    _, ax = plt.subplots(figsize=(6.4, 5.2))
    height = {1: -np.inf, -1: -np.inf}  # of the last name on each side
    for k, w in enumerate(sorted(words, key=lambda w: w["across"])):
        x, y, sentiment = w["along"], w["across"], abs(w["along"]) > abs(w["across"])
        side = (1 if x > 0 else -1) if sentiment else 1 - 2 * (k % 2)
        at = y if sentiment else max(y, height[side] + 0.34)
        height[side] = height[side] if sentiment else at
        line = {"arrowstyle": "-", "color": INK, "lw": 0.4, "shrinkB": 4}
        end = (x + side * (0.2 if sentiment else 0.75), at)
        ax.annotate(
            w["word"],
            (x, y),
            end,
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=8,
            arrowprops=line,
        )
        mark = (
            {"marker": "*", "color": ORANGE, "ms": 12}
            if sentiment
            else {"marker": "o", "color": SKY, "ms": 7}
        )
        ax.plot(x, y, mec=INK, **mark)
    ax.axhline(0, color=INK, lw=0.5)
    ax.axvline(0, color=INK, lw=0.5)
    ax.set(
        xlabel="along the decoder's vector (trained)",
        ylabel="across it",
        xlim=(-5.2, 4.4),
        ylim=(-4.6, 5),
    )


@styled
def evolution(explanations, layers, model):
    """Reviews (rows) at some layers: words, leaders with their names, the mean (triangle), and the decoder's half-planes."""
    _, axes = plt.subplots(
        len(explanations),
        len(layers),
        figsize=(7.5, 3.6 * len(explanations)),
        squeeze=False,
    )
    v, b = model.decoder.weight[0].detach().numpy(), float(model.decoder.bias.detach())
    for row, (name, e) in zip(axes, explanations.items(), strict=True):
        for ax, k in zip(row, layers, strict=True):
            _review(ax, e, k, v, b)
            ax.set_title(f"{name}, layer {k}")


@styled
def leader_words(counts, others=None):
    """How often words lead, {word: (times, its score)}: bars to the right, orange diamonds positive, blue circles negative.

    others  {word: times}: another count, as hollow squares
    """
    _, ax = plt.subplots(figsize=(6, 0.26 * len(counts) + 0.8))
    words = list(counts)[::-1]
    times, scores = np.array([counts[w] for w in words]).T
    ax.barh(
        words, times, color=[ORANGE if s > 0 else SKY for s in scores], ec=INK, lw=0.5
    )
    for y, (t, s) in enumerate(zip(times, scores, strict=True)):
        ax.plot(
            t, y, "D" if s > 0 else "o", color=ORANGE if s > 0 else BLUE, mec=INK, ms=6
        )
    if others:
        ax.plot([others[w] for w in words], words, "s", mfc="none", mec=INK, ms=7)
    ax.set(xlabel="reviews in which the word leads")


@styled
def verdict(explanation, most=8):
    """What a verdict is made of: the share of each leader's cluster in the logit, and the logit without single words."""
    e = explanation
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.4))
    votes = {e.words[i]: int(e.counts[e.root == i].sum()) for i in np.unique(e.root)}
    shares = dict(list(e.shares.items())[:most] + [("bias", e.bias)])
    labels = [f"{word} ({votes[word]})" if word in votes else word for word in shares]
    change = e.without - e.logit
    strongest = np.argsort(-abs(change))[:most]
    panels = (
        (axes[0], labels, list(shares.values()), "share in the logit (votes)"),
        (
            axes[1],
            [e.words[i] for i in strongest],
            change[strongest],
            "change if the word is left out",
        ),
    )
    for ax, names, values, title in panels:
        y = np.arange(len(names))[::-1]
        ax.barh(
            y, values, color=[ORANGE if x > 0 else SKY for x in values], ec=INK, lw=0.5
        )
        ax.set_yticks(y, names)
        ax.axvline(0, color=INK, lw=0.8)
        ax.set_title(title, fontsize=10)


@styled
def gallery(explanations, model):
    """Reviews after the last layer, two rows of panels, {title: explanation}."""
    _, axes = plt.subplots(2, -(-len(explanations) // 2), figsize=(7.5, 5.2))
    v, b = model.decoder.weight[0].detach().numpy(), float(model.decoder.bias.detach())
    for ax, (title, e) in zip(axes.flat, explanations.items(), strict=False):
        _review(ax, e, e.path.layers, v, b)
        ax.set_title(title, fontsize=9)


def animation(explanation, model, frames=4):
    """A GIF of a review on its way through the layers, shown once: the bytes of an image of modest weight."""
    from io import BytesIO

    from PIL import Image

    path = explanation.path.tokens
    v, b = model.decoder.weight[0].detach().numpy(), float(model.decoder.bias.detach())
    pictures = []
    for t in np.linspace(0, len(path) - 1, frames * (len(path) - 1) + 1):
        k = min(int(t), len(path) - 2)
        between = path[k] + (t - k) * (path[k + 1] - path[k])
        with plt.rc_context(STYLE | {"figure.facecolor": "white"}):
            figure, ax = plt.subplots(figsize=(4.6, 4.2), dpi=80)
            _review(ax, explanation, k, v, b, between)
            ax.set_title(f"layer {k if t < len(path) - 1 else k + 1}")
            figure.canvas.draw()
            pictures.append(
                Image.fromarray(np.asarray(figure.canvas.buffer_rgba()))
                .convert("RGB")
                .quantize(64)
            )
            plt.close(figure)
    file = BytesIO()
    pictures[0].save(
        file,
        "gif",
        save_all=True,
        append_images=pictures[1:],
        duration=[120] * (len(pictures) - 1) + [3000],
    )
    return file.getvalue()


# Chapter 5: exact classification


@styled
def token_moves(panels):
    """One layer, {title: (before, after)}: an arrow from each token (circle) to where it goes (diamond)."""
    _, axes = plt.subplots(1, len(panels), figsize=(7.5, 2.9))
    for ax, (title, (before, after)) in zip(axes, panels.items(), strict=True):
        before, after = np.asarray(before, float), np.asarray(after, float)
        _plane(ax, np.vstack([before, after]), margin=0.1)
        for x, y in zip(before, after, strict=True):
            _arrow(ax, x, y, INK, lw=0.8)
        ax.plot(*after.T, "D", color=ORANGE, mec=INK, ms=9)
        ax.plot(*before.T, "o", color=BLUE, mec=INK, ms=5)
        ax.set_title(title, fontsize=10)


@styled
def stages(panels, columns=3):
    """The tokens of some sequences at some stages, {title: [tokens of each]}: a colour and a marker for each sequence."""
    rows = -(-len(panels) // columns)
    _, axes = plt.subplots(rows, columns, figsize=(7.5, 2.5 * rows), squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax, (title, sequences) in zip(axes.flat, panels.items(), strict=False):
        for k, (X, colour, marker) in enumerate(
            zip(sequences, (BLUE, ORANGE, GREEN, RED), "osD^", strict=False)
        ):
            X = np.asarray(X, float)
            ax.plot(
                X[:, 0],
                X[:, 1],
                marker,
                color=colour,
                mfc="none",
                mew=1.8,
                ms=12 - 3 * k,
            )
        ax.margins(0.15)
        if np.ptp(ax.dataLim.intervaly) < 1e-9:
            ax.set_ylim(-0.5, 0.5)
        ax.tick_params(labelsize=7)
        ax.set_title(title, fontsize=10)


@styled
def block_counts(counts, d):
    """Blocks and nonzero parameters against N, {family: {N: (blocks, nonzero)}}, with the bounds (dashed)."""
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.2))
    for (name, found), colour, marker in zip(
        counts.items(), (BLUE, ORANGE, GREEN, RED), "osD^", strict=False
    ):
        for ax, values in zip(axes, zip(*found.values(), strict=True), strict=True):
            ax.loglog(
                list(found), values, marker + "-", color=colour, ms=5, lw=1, label=name
            )
    N = np.array(sorted({n for found in counts.values() for n in found}))
    for ax, bound, title in (
        (axes[0], 2 * N - 1, "blocks"),
        (axes[1], 3 * d + 21 * N, "nonzero parameters"),
    ):
        ax.loglog(N, bound, "--", color=INK, label="bound")
        ax.set(xlabel="sequences $N$", title=title)
        ax.set_xticks(N, N)
        ax.minorticks_off()
    axes[0].legend(frameon=False, fontsize=8)


@styled
def territories(x, y, found, given):
    """The class, 0 or 1, of a sequence with one token at (x, y): coloured, with what was given, {class: tokens}."""
    _, ax = plt.subplots(figsize=(5, 4.2))
    ax.contourf(x, y, found, [-1, 0.5, 2], colors=[SKY, ORANGE], alpha=0.35)
    ax.contour(x, y, found, [0.5], colors=[INK], linewidths=0.8)
    for (k, X), colour, marker in zip(given.items(), (BLUE, RED), "os", strict=True):
        ax.plot(
            *np.asarray(X, float).T,
            marker,
            color=colour,
            mec=INK,
            ms=8,
            label=f"given, class {k}",
        )
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_aspect("equal")


@styled
def against_bound(x, found, xlabel, ylabel, bound=None, upto=None):
    """What was found against x (both on logarithmic axes), with a bound (dashed) or up to where it is safe (dotted)."""
    _, ax = plt.subplots(figsize=(5.6, 3.2))
    ax.loglog(x, found, "o-", color=BLUE, label="found")
    if bound is not None:
        ax.loglog(x, bound, "--", color=INK, label="bound")
    if upto is not None:
        ax.axvline(upto, color=ORANGE, ls=":", lw=2, label="safe up to here")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=False)


# Chapter 6: beyond the assumptions


@styled
def intervals(panels, xlabel, yscale="linear", ticks=None):
    """Numbers with intervals, {title: {label: (x, [[value, low, high], ...])}}; a label with a * is a dashed line.

    With ticks, x counts them from 0.
    """
    _, axes = plt.subplots(1, len(panels), figsize=(7.5, 3.4), squeeze=False)
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for (label, (x, rows)), colour, marker in zip(
            lines.items(), (BLUE, ORANGE, GREEN, RED, INK, SKY), "osD^xv", strict=False
        ):
            value, low, high = np.transpose(rows)
            if label.startswith("*"):
                ax.plot(x, value, "--", color=INK, lw=1, label=label[1:])
                continue
            ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
            ax.plot(x, value, marker + "-", color=colour, ms=5, lw=1.2, label=label)
        ax.set(xlabel=xlabel, yscale=yscale)
        ax.set_title(title, fontsize=10)
        if ticks is not None:
            ax.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    axes[0][-1].legend(frameon=False, fontsize=8)


# Chapter 7: depth and statistics


@styled
def growth(panels, xlabel="number of tokens $n$"):
    """Means with 95 % bands on log axes, {title: {label: (x, bands (len(x), 3), exact)}}; exact (x, y) is drawn as a line."""
    _, axes = plt.subplots(
        1, len(panels), figsize=(7.5, 4.2), sharey=True, squeeze=False
    )
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for (label, (x, band, exact)), colour, marker in zip(
            lines.items(), (BLUE, ORANGE, GREEN, RED, INK), "osD^v", strict=False
        ):
            band = np.asarray(band)
            off = abs(band[:, [0, 2]] - band[:, [1]]).T
            ax.errorbar(
                x,
                band[:, 1],
                off,
                fmt=marker,
                color=colour,
                mfc="none",
                ms=6,
                capsize=2,
                label=label,
            )
            if exact is not None:
                ax.plot(*exact, "-", color=colour, lw=1.1)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, title=title)
        ax.grid(axis="y", lw=0.3)
    axes[0][0].legend(frameon=False, fontsize=8)


# Speed


@styled
def speed(layers):
    """Seconds of one layer against n, log-log, a panel for each d: rows {"d", "n", "seconds": {way: s}}."""
    marks = {
        "loop": (INK, "x"),
        "dense": (SKY, "s"),
        "sdpa": (GREEN, "D"),
        "ours": (ORANGE, "*"),
        "memory": (BLUE, "."),
    }
    names = {
        "dense": "dense numpy",
        "sdpa": "torch, fused",
        "memory": "one pass over the memory",
    }
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.8), sharey=True)
    for ax, d in zip(axes, (2, 3), strict=True):
        for way, (colour, marker) in marks.items():
            at = [
                (row["n"], row["seconds"][way])
                for row in layers
                if row["d"] == d and way in row["seconds"]
            ]
            ax.loglog(
                *zip(*at, strict=True),
                marker + "-",
                color=colour,
                ms=6,
                label=names.get(way, way),
            )
        ax.axvline(attention.TILE, color=INK, ls=":", lw=0.9)
        ax.set(xlabel="tokens $n$", title=f"$d = {d}$")
    axes[0].set(
        ylabel="seconds for one layer", ylim=(None, 3000 * axes[0].get_ylim()[1])
    )
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")


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
        ax.annotate(
            "", tip, Z[i], arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4}
        )
        if A is not None:
            ax.annotate(
                f"$A{name}_{i + 1}$",
                (Z[i] + tip) / 2,
                9 * across - [6, 4],
                textcoords="offset points",
            )
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


def _snapshot(ax, path, k):
    """One panel of Fig. 2. A colour belongs to each token that is followed, and is worn by those who follow it."""
    tokens, C = path.tokens[: k + 1].astype(float), path.attention_sets(k)
    alone, others = _alone(C), C & ~np.eye(len(C), dtype=bool)
    followed = np.flatnonzero(others.any(0) | alone)
    colour = dict(
        zip(
            followed,
            [ORANGE, SKY, GREEN, RED, BLUE, "#CC79A7", "#F0E442", "#999999"] * 4,
            strict=False,
        )
    )
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.plot(*tokens.transpose(2, 0, 1), "-", color=INK, lw=0.4, alpha=0.6)
    for i, z in enumerate(tokens[-1]):
        if alone[i]:
            ax.plot(*z, "*", color=colour[i], ms=11, mec=INK, mew=0.6, zorder=4)
            continue
        whom = [colour[j] for j in np.flatnonzero(others[i])]
        style = {
            "mfc": whom[0],
            "mec": colour.get(i, INK),
            "mew": 1.6 if i in colour else 0.5,
        }
        if len(whom) > 1:
            style |= {"fillstyle": "left", "markerfacecoloralt": whom[1]}
        ax.plot(*z, "o", ms=5.5, zorder=3, **style)


def _review(ax, e, k, v, b, Z=None):
    """The words of an explained review at a layer (or where Z says), between the half-planes of the decoder."""
    Z = e.path.tokens[k] if Z is None else Z
    window = e.path.tokens.reshape(-1, 2)
    mean = (e.counts[:, None] * Z).sum(0) / e.counts.sum()
    _plane(ax, window, margin=0.12)
    x, y = np.meshgrid(ax.get_xlim(), ax.get_ylim())
    side = x * v[0] + y * v[1] + b
    ax.contourf(x, y, side, [-1e9, 0, 1e9], colors=[SKY, ORANGE], alpha=0.14)
    ax.contour(x, y, side, [0], colors=[INK], linewidths=1, linestyles="--")
    leads = np.isin(np.arange(len(Z)), e.leaders)
    ax.plot(*Z[~leads].T, "o", color=BLUE, ms=4, mec=INK, mew=0.4)
    ax.plot(*Z[leads].T, "*", color=ORANGE, ms=13, mec=INK, mew=0.6)
    ax.plot(*mean, "^", color="black", ms=10, mec="white")
    for i in np.flatnonzero(leads):
        ax.annotate(e.words[i], Z[i], (5, 5), textcoords="offset points", fontsize=8)


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
    ax.set(
        xlim=centre[0] + [-half, half],
        ylim=centre[1] + [-half, half],
        aspect="equal",
        xticks=[],
        yticks=[],
    )
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
