"""What the figures draw is what the package computes."""

import numpy as np

from hmlib import limit
from hmlib.figures import ch3
from hmlib.figures.regions import regions

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


def area(polygon):
    x, y = polygon.T
    return (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2


def grid_of(x, y):
    return np.stack(np.meshgrid(x, y), axis=-1)


def test_regions_fill_the_window_and_do_not_overlap():
    """Holes count negative: three labels, one of them an annulus that the window cuts."""

    def rings(X):
        return np.digitize(np.linalg.norm(X, axis=1), [0.7, 1.6])

    grid = grid_of(np.linspace(-1.5, 2, 30), np.linspace(-1.5, 2, 31))
    areas = {key: sum(map(area, rims)) for key, rims in regions(rings, grid).items()}
    assert abs(areas[0] - np.pi * 0.49) < 1e-3
    assert sorted(areas) == [0, 1, 2] and abs(sum(areas.values()) - 3.5**2) < 1e-3


def test_where_three_regions_meet_none_is_left_out():
    def sectors(X):
        return np.digitize(np.arctan2(X[:, 1], X[:, 0]), [-2, 0.3])

    grid = grid_of(np.linspace(-1, 1, 12), np.linspace(-1.1, 0.9, 13))
    found = regions(sectors, grid)
    assert abs(sum(area(rim) for rims in found.values() for rim in rims) - 4) < 1e-9


def test_a_window_of_one_region_is_its_rim():
    grid = grid_of([0.0, 1.0, 2.0], [0.0, 3.0])
    [rim] = regions(lambda X: np.zeros(len(X), int), grid)[0]
    assert abs(area(rim)) == 6
