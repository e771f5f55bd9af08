"""What has not moved yet."""

from functools import wraps

import numpy as np

from hmlib.figures.style import BLUE, GREEN, INK, ORANGE, RED, SKY, STYLE, plt


def styled(draw):
    """Draw in the book's style, then show."""

    @wraps(draw)
    def figure(*args, **kwargs):
        with plt.rc_context(STYLE):
            draw(*args, **kwargs)
            plt.tight_layout()
            plt.show()

    return figure


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


def _hull(points):
    """The corners of the planar hull in order; of one or two points, the points."""
    points = np.unique(points, axis=0)
    if len(points) < 3 or np.linalg.matrix_rank(points - points[0]) < 2:
        return points[[0, -1]]
    from scipy.spatial import ConvexHull

    return points[ConvexHull(points).vertices]
