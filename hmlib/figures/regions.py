"""The plane cut into the regions of a label, with their rims as they are.

A label is asked for on a grid, and on a finer one where it differs. Between two
neighbours that differ halving finds the point at which it changes; a rim joins these
points, cell by cell.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from hmlib.shapes import Tokens

FINER, HALVINGS = 2, 4  # how often the grid, and then its edges, are halved
CORNERS = [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)]  # once round a cell


def regions(label: Callable, grid: Tokens) -> dict[int, list[np.ndarray]]:
    """The closed rims of each region {x : label(x) = l}, as {l: polygons (m, 2)}.

    >>> def inside(X):                                 # of the unit disc
    ...     return ((X**2).sum(-1) < 1).astype(int)
    >>> x, y = np.meshgrid(*[np.linspace(-2, 2, 21)] * 2)
    >>> [rim] = regions(inside, np.stack([x, y], axis=-1))[1]
    >>> bool(abs(np.linalg.norm(rim, axis=1) - 1).max() < 0.002)
    True

    label  of points (m, 2) the numbers of their regions (m,), 0 or more
    grid   points (rows, columns, 2) of a window, which cuts regions off
    """
    labels = label(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    for _ in range(FINER):
        grid, labels = _halved(label, grid, labels)
    grid = np.pad(grid, [(1, 1), (1, 1), (0, 0)], mode="edge")
    labels = np.pad(labels, 1, constant_values=-1)
    changes, following = _changes(label, grid, labels), {}
    for cell in np.argwhere(_mixed(labels)):
        around = [tuple(cell + corner) for corner in CORNERS]
        following |= _cut(list(pairwise(around)), labels, changes)
    rims = _closed(following, changes)
    rims.pop(-1, None)
    return rims


def _mixed(labels):
    """Whether the corners of each cell differ."""
    first = labels[:-1, :-1]
    others = labels[1:, :-1], labels[:-1, 1:], labels[1:, 1:]
    return np.any([first != other for other in others], axis=0)


def _halved(label, grid, labels):
    """The grid with half its spacing; labels are asked for where they may differ."""
    fine = np.repeat(np.repeat(labels, 2, 0), 2, 1)[:-1, :-1]
    points = np.empty((*fine.shape, 2))
    points[::2, ::2] = grid
    points[1::2, ::2] = (grid[1:] + grid[:-1]) / 2
    points[:, 1::2] = (points[:, 2::2] + points[:, :-1:2]) / 2
    ask, mixed = np.zeros(fine.shape, bool), _mixed(labels)
    height, width = mixed.shape
    for down in range(3):
        for right in range(3):
            ask[down : down + 2 * height : 2, right : right + 2 * width : 2] |= mixed
    ask[::2, ::2] = False
    fine[ask] = label(points[ask])
    return points, fine


def _changes(label, grid, labels):
    """{edge between neighbours: the point of it at which the label changes}."""
    ends = []
    for step in (0, 1), (1, 0):
        low = labels[: len(labels) - step[0], : labels.shape[1] - step[1]]
        first = np.argwhere(low != labels[step[0] :, step[1] :])
        ends += [(tuple(at), tuple(at + step)) for at in first]
    start, end = (np.array([grid[edge[k]] for edge in ends]) for k in (0, 1))
    here = np.array([labels[edge[0]] for edge in ends])
    for _ in range(HALVINGS):
        middle = (start + end) / 2
        same = (label(middle) == here)[:, None]
        start, end = np.where(same, middle, start), np.where(same, end, middle)
    return dict(zip(map(frozenset, ends), (start + end) / 2, strict=True))


def _cut(edges, labels, changes):
    """What rims do within a cell: where they enter it, leave it, and what is between.

    Returns {(label, edge by which one leaves its region): (points, edge to come back)}.
    """
    cut = [edge for edge in edges if labels[edge[0]] != labels[edge[1]]]
    several = [np.mean([changes[frozenset(edge)] for edge in cut], axis=0)]
    between, following = several if len(cut) > 2 else [], {}
    for k, edge in enumerate(cut):
        own, later = labels[edge[0]], cut[k + 1 :] + cut[: k + 1]
        back = next(frozenset(other) for other in later if labels[other[1]] == own)
        following[own, frozenset(edge)] = between, back
    return following


def _closed(following, changes):
    """Each rim, followed until it is back: {label: polygons}."""
    rims = {}
    while following:
        own, edge = next(iter(following))
        points = []
        while (own, edge) in following:
            between, back = following.pop((own, edge))
            points += [changes[edge], *between]
            edge = back
        rims.setdefault(int(own), []).append(np.array(points))
    return rims
