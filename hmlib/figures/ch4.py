"""Figures of chapters 4 to 6: words that lead, and what a verdict is made of."""

import re
from html import escape
from io import BytesIO

import numpy as np

from hmlib import inputs
from hmlib.explanation import Explanation
from hmlib.figures import draw, style
from hmlib.figures.style import BLUE, INK, ORANGE, SKY, STYLE, canvas, plt
from hmlib.shapes import Cloud

with inputs.extra("book"):
    from IPython.display import HTML

WORD = re.compile(r"([A-Za-z']+)")  # as in the style "plain"


def review_text(text: str, why: Explanation, followers: bool = True) -> HTML:
    """A review as text: star and number at a leader, at a follower its leader's number.

    Words that are not marked are not known to the model, or come after its last.

    >>> from hmlib import Weights, explain
    >>> weights = Weights.load("results/sentiment_model.safetensors")
    >>> why = explain(weights, ["great", "end"])
    >>> told = review_text("Great, & the end", why).data
    >>> "<strong class='leader'>end<sup>★2</sup></strong>" in told
    True
    """
    number = {leader: k for k, leader in enumerate(why.leaders.tolist(), 1)}
    index = {word: i for i, word in enumerate(why.words)}

    def marked(part):
        i = index.get(part.lower().strip("'"))
        if i is None or (i not in number and not followers):
            return escape(part)
        if i in number:
            tag = f"<sup>★{number[i]}</sup>" if followers else ""
            return f"<strong class='leader'>{escape(part)}{tag}</strong>"
        root = number.get(int(why.root[i]), "")
        return f"<span class='follower'>{escape(part)}<sub>{root}</sub></span>"

    inside = "".join(map(marked, WORD.split(text)))
    verdict = "positive" if why.logit > 0 else "negative"
    said = f"<em>Verdict: {verdict}.</em>"
    return HTML(f"<blockquote class='review'><p>{inside} {said}</p></blockquote>")


def review(ax, why: Explanation, layer: int, Z: Cloud | None = None):
    """The words of a review at a layer, or at Z, between the decoder's half-planes."""
    Z = why.path.tokens[layer] if Z is None else Z
    leads = np.isin(np.arange(len(Z)), why.leaders)
    draw.plane(ax, why.path.tokens, margin=0.12)
    x, y, side = draw.over_window(ax, lambda X: X @ why.v + why.bias, 60)
    ax.contourf(x, y, side, [-1e9, 0, 1e9], colors=[SKY, ORANGE], alpha=0.14)
    ax.contour(x, y, side, [0], colors=[INK], linewidths=1, linestyles="--")
    draw.marks(ax, Z[~leads], "o", color=BLUE, ms=4, mec=INK, mew=0.4)
    draw.marks(ax, Z[leads], "*", color=ORANGE, ms=13, mec=INK, mew=0.6)
    mean = why.counts @ Z / why.counts.sum()
    draw.marks(ax, mean, "^", color=INK, ms=10, mec="white")
    words = [why.words[i] for i in np.flatnonzero(leads)]
    edge = np.stack([x, y], axis=-1)[abs(side) < 0.02 * np.ptp(side)]
    end = why.counts @ why.path.tokens[-1] / why.counts.sum()
    # Names do not jump in an animation; stars and the mean count more than the line.
    still = np.vstack([*12 * [Z[leads]], *12 * [[end]], edge])
    draw.names_aside(ax, Z[leads], words, still, size=9)


def reviews(panels: dict[str, tuple[Explanation, int]], columns: int, size):
    """Reviews at some layers, {title: (explanation, layer)}."""
    for ax, (why, layer) in style.panels(panels, columns, size):
        review(ax, why, layer)


def animation(why: Explanation) -> bytes:
    """A review on its way through the layers, shown once: a GIF of modest weight."""
    from PIL import Image

    path, pictures = why.path.tokens, []
    for t in np.arange(0, len(path) - 0.75, 0.25):  # in quarters of a layer
        k = min(int(t), len(path) - 2)
        with plt.rc_context(STYLE | {"figure.facecolor": "white"}):
            figure, ax = plt.subplots(figsize=(4.6, 4.2), dpi=80)
            review(ax, why, k, path[k] + (t - k) * (path[k + 1] - path[k]))
            ax.set_title(f"layer {int(t)}")
            figure.canvas.draw()
            picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba()))
            pictures.append(picture.convert("RGB").quantize(64))
            plt.close(figure)
    file, first, times = BytesIO(), pictures[0], [120] * (len(pictures) - 1) + [3000]
    first.save(file, "gif", save_all=True, append_images=pictures[1:], duration=times)
    return file.getvalue()


def leader_words(
    counts: dict[str, tuple[int, float]], others: dict[str, int] | None = None
):
    """How often words lead, {word: (times, its score)}; diamonds are positive.

    others  {word: times}: another count, as hollow squares
    """
    with canvas(size=(6, 0.26 * len(counts) + 0.8)) as ax:
        scores = [score for _, score in counts.values()]
        _bars(ax, {word: times for word, (times, _) in counts.items()}, scores)
        for word, (times, score) in counts.items():
            marker, colour = ("D", ORANGE) if score > 0 else ("o", BLUE)
            ax.plot(times, word, marker, color=colour, mec=INK, ms=6)
            if others:
                ax.plot(others[word], word, "s", mfc="none", mec=INK, ms=7)
        ax.set(xlabel="reviews in which the word leads")


def verdict(why: Explanation):
    """What a verdict is made of: shares in the logit, and the logit without a word."""
    votes = {why.words[i]: why.counts[why.root == i].sum() for i in np.unique(why.root)}
    first = list(why.shares.items())[:8]
    shares = {f"{word} ({votes[word]})": share for word, share in first}
    change = why.without - why.logit
    changes = {why.words[i]: change[i] for i in np.argsort(-abs(change))[:8]}
    panels = {"share in the logit (votes)": shares | {"bias": why.bias}}
    panels |= {"change if the word is left out": changes}
    for ax, lengths in style.panels(panels, size=(7.5, 3.4)):
        _bars(ax, lengths, lengths.values())
        ax.axvline(0, color=INK, lw=0.8)


def _bars(ax, lengths, signs):
    """A bar for each name, from the top, in the colour of its sign."""
    colours = [ORANGE if sign > 0 else SKY for sign in signs]
    ax.barh([*lengths], [*lengths.values()], color=colours, ec=INK, lw=0.5)
    ax.invert_yaxis()


def along_and_across(words: list[dict]):
    """Leader words by their coordinates along the decoder's vector and across it."""
    last = {1: -np.inf, -1: -np.inf}  # the height of the last name on each side
    with canvas(size=(6.4, 5.2)) as ax:
        for k, word in enumerate(sorted(words, key=lambda word: word["across"])):
            x, y = word["along"], word["across"]
            if abs(x) > abs(y):  # sentiment: the name beside it
                side, gap, height = (1 if x > 0 else -1), 0.2, y
                draw.stars(ax, (x, y), size=12)
            else:  # names left and right in turn, which step aside for each other
                side, gap = 1 - 2 * (k % 2), 0.75
                height = last[side] = max(y, last[side] + 0.44)
                draw.circles(ax, (x, y), SKY, size=7)
            line = {"arrowstyle": "-", "color": INK, "lw": 0.4, "shrinkB": 4}
            align = {"ha": "left" if side > 0 else "right", "va": "center"}
            where = x + side * gap, height
            ax.annotate(word["word"], (x, y), where, **align, size=9, arrowprops=line)
        ax.axhline(0, color=INK, lw=0.5)
        ax.axvline(0, color=INK, lw=0.5)
        ax.set(xlabel="along the decoder's vector (trained)", ylabel="across it")
        ax.set(xlim=(-5.2, 4.4), ylim=(-4.6, 5))
