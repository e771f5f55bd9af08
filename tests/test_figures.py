"""What the figures draw is what the package computes."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from hmlib import figures, limit
from hmlib.figures import ch3
from hmlib.figures.regions import refined

ROOT = Path(__file__).resolve().parent.parent
CLOUD = np.random.default_rng(165).normal(size=(9, 2)).round(1)  # of chapter 3


def test_basins_are_those_of_the_limit():
    leads, joins, unseats = ch3.fates(CLOUD, 0.3)
    starts = np.random.default_rng(0).uniform([-2.6, -1.6], [2.2, 2], (300, 2))
    ends = [limit(np.vstack([CLOUD, x]), 0.3) for x in starts]
    assert leads.tolist() == limit(CLOUD, 0.3).leaders.tolist()
    assert joins(starts).tolist() == [end.follows[-1] for end in ends]
    lost = [not set(leads) <= set(end.leaders) for end in ends]
    lost &= joins(starts) != 9
    assert unseats(starts).tolist() == lost.tolist() and 0 < lost.sum() < 30


def test_refined_labels_are_those_of_their_points():
    """Asked for few of them, with three that meet, and regions that the window cuts."""
    grid = np.stack(np.meshgrid(np.linspace(-1.5, 2, 30), np.linspace(-1, 1, 21)), -1)

    def rings(X):
        return np.digitize(np.linalg.norm(X, axis=-1), [0.7, 1.6])

    def sectors(X):
        return np.digitize(np.arctan2(X[..., 1], X[..., 0]), [-2, 0.3])

    def one(X):
        return np.zeros(X.shape[:-1], int)

    for label in rings, sectors, one:
        asked = []

        def counted(X, label=label, asked=asked):
            asked.append(len(X))
            return label(X)

        x, y, labels = refined(counted, grid)
        assert labels.shape == x.shape == (161, 233)
        assert [x[0, 0], x[0, -1], y[0, 0], y[-1, 0]] == [-1.5, 2, -1, 1]
        assert (labels == label(np.stack([x, y], -1))).all()
        assert sum(asked) < labels.size / 4


def test_labels_stand_apart_and_beside_what_is_marked(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    points = np.array([[0, 0], [0.1, 0.05], [0.05, -0.1]])
    with figures.canvas(size=(4, 4)) as ax:
        figures.plane(ax, [1, 1], [-1, -1])
        line = figures.between([[-1, -1]], [[1, 1]], 100)
        marked = np.vstack([points, line])
        figures.names_aside(ax, points, ["one", "two", "three"], marked)
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
        pixels = ax.transData.transform(marked)
    plt.close("all")
    assert len(boxes) == 3
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert not any(box.contains(*at) for at in pixels)


def test_pictures_of_pages_are_named_told_and_there():
    found = {}
    for page in sorted((ROOT / "book").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for picture, about in re.findall(r"```{figure} (\S+)\n(.*?)```", text, re.S):
            assert (page.parent / picture).is_file()
            [alt] = re.findall(r"^:alt: (.*)$", about, re.M)
            [name] = re.findall(r"^:name: (fig-[a-z-]+)$", about, re.M)
            found[name] = picture
            assert len(alt) > 40 and len(about.split("\n\n", 1)[1].strip()) > 40
    assert found == {"fig-cover": "assets/cover.svg", "fig-rule": "assets/primer.svg"}
