import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from mvset.bandwidth.grid import COARSE, bandwidth_grid, extend_grid, narrower_bandwidths


def test_grid_spans_local_to_global_scale(table):
    grid = bandwidth_grid(table, np.random.RandomState(0))
    distances = pairwise_distances(table)
    np.fill_diagonal(distances, np.inf)
    local = np.median(distances.min(axis=1))
    assert grid[0] == pytest.approx(np.sqrt(table.var(axis=0).sum()))
    assert grid[-1] <= local <= grid[-1] * COARSE
    np.testing.assert_allclose(grid[:-1] / grid[1:], COARSE)


def test_duplicates_do_not_matter():
    X = np.random.RandomState(0).normal(size=(100, 2))
    once, often = (bandwidth_grid(rows, np.random.RandomState(0)) for rows in (X, np.repeat(X, 50, axis=0)))
    np.testing.assert_allclose(once, often)


def test_grid_scales_with_the_data():
    X = np.random.RandomState(0).normal(size=(2000, 3))
    small, large = (bandwidth_grid(scale * X, np.random.RandomState(0)) for scale in (1.0, 1e5))
    np.testing.assert_allclose(1e5 * small, large)


def test_two_distinct_rows():
    assert len(bandwidth_grid(np.array([[0.0], [1.0], [1.0]]), np.random.RandomState(0))) >= 2


def test_extension_has_two_more_of_the_same_ratio_in_four_rounds_at_most():
    np.testing.assert_allclose(extend_grid([1.0, 2.0, 3.0], 2, 3), 3.0 * COARSE ** np.arange(1, 3))
    np.testing.assert_allclose(extend_grid([1.0, 2.0, 3.0], 0, 3), COARSE ** -np.arange(1.0, 3.0))
    np.testing.assert_allclose(narrower_bandwidths(2.0), 2.0 * COARSE ** -np.arange(1.0, 3.0))
    assert len(extend_grid([1.0, 2.0, 3.0], 2, 4)) == len(extend_grid([1.0, 2.0, 3.0], 0, 4)) == 0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scales_beyond_float64_are_refused(scale):
    X = np.random.RandomState(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="too far apart or too close for float64"), np.errstate(all="ignore"):
        bandwidth_grid(scale * X, np.random.RandomState(0))


def test_extension_goes_beyond_the_edge_only():
    sigmas = [1.0, 2.0, 3.0]
    assert (extend_grid(sigmas, 2, 0) > 3.0).all()
    assert (extend_grid(sigmas, 0, 0) < 1.0).all()
    assert len(extend_grid(sigmas, 1, 0)) == 0
    assert len(extend_grid(sigmas, 2, 100)) == 0
