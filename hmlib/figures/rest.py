"""What has not moved yet."""

from functools import wraps

import numpy as np

from hmlib.figures.style import BLUE, INK, ORANGE, SKY, STYLE, plt


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
