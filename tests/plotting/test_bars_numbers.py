import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mvset.plotting.numbers import bar_edges, bar_heights, chance_heights


def test_the_mass_is_an_edge():
    assert_allclose(bar_edges(20, 0.95), np.linspace(0, 1, 21))
    assert_allclose(bar_edges(4, 0.99), [0.0, 0.33, 0.66, 0.99, 1.0])
    assert_allclose(bar_edges(2, 0.1), [0.0, 0.1, 1.0])
    assert_allclose(bar_edges(2, None), [0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="bins must be at least 2; got 1"):
        bar_edges(1, 0.5)


def test_levels_equal_to_an_edge_count_below_it():
    heights = bar_heights(np.array([0.0, 0.5, 0.5, 0.75, 1.0]), np.array([0.0, 0.5, 1.0]))
    assert_array_equal(heights, np.array([3, 2]) / 5 / 0.5)
    edges = bar_edges(20, 0.95)
    assert_allclose(bar_heights(np.arange(1, 101) / 100, edges), 1.0)


def test_heights_are_a_density():
    levels, edges = np.random.default_rng(0).uniform(size=137), bar_edges(7, 0.93)
    assert_allclose(bar_heights(levels, edges) @ np.diff(edges), 1.0)


@pytest.mark.parametrize("n_calibration", [None, 150])
def test_as_many_bars_as_stated_are_within_chance(n_calibration):
    rng, edges, n_rows = np.random.default_rng(0), bar_edges(10, 0.95), 400
    low, high = chance_heights(n_rows, edges, n_calibration)
    within = []
    for _ in range(400):
        rows = rng.uniform(size=n_rows)
        if n_calibration is not None:  # levels are ranks among calibration rows
            rows = np.searchsorted(np.sort(rng.uniform(size=n_calibration)), rows) / n_calibration
        heights = bar_heights(rows, edges)
        within.append((low <= heights) & (heights <= high))
    # Discrete distributions cover more than 95 %, and the number of calibration rows between edges is rounded.
    assert 0.94 < np.mean(within) < 0.985
