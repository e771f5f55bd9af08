"""The cover, for the front page and the README, and the card that a shared link shows.

Usage: python tools/cover.py

One idea, drawn twice from one cloud: a few tokens lead, the others gather round them, and
the leaders are the corners of what is left. On the page the colours follow the theme; the
card is dark, with the title beside the picture.
"""

import io
from pathlib import Path

import matplotlib
import numpy as np

from hmlib import figures, limit, simulate
from hmlib.figures import draw, style
from hmlib.files import write_whole

ASSETS = Path(__file__).resolve().parent.parent / "book" / "assets"
CLOUD = np.random.default_rng(404).normal(size=(90, 2)) * [1.25, 1]
ALPHA, LAYERS = 0.25, 40
TITLE = "Hardmax\ntransformers,\nexactly"
IDEA = "A few tokens lead,\nall others gather round them."
NIGHT, LIGHT = "#12161d", "#e8eaed"
GLOWING = ["#7cc7f2", "#f2b632", "#2fbf94", "#f07b3f", "#4aa3df", "#d993bb"]


def draw_cloud(ax, colours, hull, rim, width):
    """Each follower's way to its leader, in the leader's colour, over the leaders' hull."""
    end, path = limit(CLOUD, ALPHA), simulate(CLOUD, ALPHA, LAYERS)
    ax.set_aspect("equal")
    ax.axis("off")
    draw.hull(ax, end.tokens[end.leaders], colour=hull, alpha=0.2)
    for leader, colour in zip(end.leaders, colours, strict=False):
        led = np.setdiff1d(np.flatnonzero(end.follows == leader), leader)
        draw.trails(ax, path.tokens[:, led], color=colour, lw=width)
        draw.marks(ax, CLOUD[led], "o", color=colour, ms=4 * width, mec="none")
        star = {"color": colour, "mec": rim, "mew": 0.8, "ms": 18 * width, "zorder": 5}
        draw.marks(ax, end.tokens[[leader]], "*", **star)


def cover():
    """A vector graphic in the book's colours, which tools/pictures.py knows by name."""
    plt, file = style.plt, io.StringIO()
    with plt.rc_context(figures.STYLE):
        figure, ax = plt.subplots(figsize=(6, 5.6))
        draw_cloud(ax, style.COLOURS, "#b0b0b0", style.INK, width=1.1)
        paper = {"bbox_inches": "tight", "facecolor": "white"}
        figure.savefig(file, format="svg", metadata={"Date": None}, **paper)
        plt.close(figure)
    write_whole(ASSETS / "cover.svg", file.getvalue())


def card():
    """1200 by 630 pixels, as those who show links ask for."""
    plt, file = style.plt, io.BytesIO()
    with plt.rc_context(figures.STYLE):
        figure = plt.figure(figsize=(12, 6.3), dpi=100)
        ax = figure.add_axes((0.47, 0.02, 0.52, 0.96))
        draw_cloud(ax, GLOWING, "#8fa3c0", NIGHT, width=1.6)
        say = {"color": LIGHT, "linespacing": 1.3, "va": "center"}
        figure.text(0.05, 0.62, TITLE, size=43, weight="bold", **say)
        figure.text(0.052, 0.27, IDEA, size=22, **say)
        about = {"facecolor": NIGHT, "metadata": {"Software": None}}
        figure.savefig(file, format="png", **about)
        plt.close(figure)
    write_whole(ASSETS / "card.png", file.getvalue())


if __name__ == "__main__":
    matplotlib.use("agg")
    cover()
    card()
