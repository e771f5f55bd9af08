"""The plane cut into the regions of a label, which is asked for where it may change."""

from collections.abc import Callable

import numpy as np

from hmlib.shapes import Tokens


def refined(label: Callable, grid: Tokens):
    """A grid of an eighth of the spacing, and the labels on it: x, y, labels.

    >>> def inside(X):                                 # of the unit disc
    ...     return (X**2).sum(-1) < 1
    >>> x, y = np.meshgrid(*[np.linspace(-2, 2, 21)] * 2)
    >>> x, y, disc = refined(inside, np.stack([x, y], axis=-1))
    >>> disc.shape, int(disc[80].sum())                # 0.025 apart, along the middle
    ((161, 161), 79)

    label  of points (m, 2), (m,); asked for in the cells of the coarser grid whose
           corners differ
    grid   points (rows, columns, 2) of a window
    """
    labels = label(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    for _ in range(3):
        grid, labels = _halved(label, grid, labels)
    return grid[..., 0], grid[..., 1], labels


def _halved(label, grid, labels):
    """The grid with half its spacing; labels are asked for where they may differ."""
    fine = np.repeat(np.repeat(labels, 2, 0), 2, 1)[:-1, :-1]
    points = np.empty((*fine.shape, 2))
    points[::2, ::2] = grid
    points[1::2, ::2] = (grid[1:] + grid[:-1]) / 2
    points[:, 1::2] = (points[:, 2::2] + points[:, :-1:2]) / 2
    first, others = labels[:-1, :-1], (labels[1:, :-1], labels[:-1, 1:], labels[1:, 1:])
    mixed = np.any([first != other for other in others], axis=0)
    ask, (height, width) = np.zeros(fine.shape, bool), mixed.shape
    for down in range(3):
        for right in range(3):
            ask[down : down + 2 * height : 2, right : right + 2 * width : 2] |= mixed
    ask[::2, ::2] = False
    fine[ask] = label(points[ask])
    return points, fine
