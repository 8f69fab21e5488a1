from __future__ import annotations

import numpy as np
import pytest

from mvset.volume.gauges import count_balls, ellipsoid_gauges


@pytest.mark.parametrize("n", [0, 1, 128, 129, 1000])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_against_numpy(n, d):
    rng = np.random.default_rng(0)
    columns, centre = rng.normal(size=(d, n)), rng.normal(size=d)
    inverse = np.tril(rng.normal(size=(d, d)))
    out = np.empty(n)
    ellipsoid_gauges(columns, centre, inverse, out)
    np.testing.assert_allclose(out, np.linalg.norm(inverse @ (columns - centre[:, np.newaxis]), axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 128, 129, 500])
def test_count_of_balls(n):
    rng = np.random.default_rng(0)
    points, centres, radii = rng.normal(size=(n, 3)), rng.normal(size=(40, 3)), np.array([0.1, 0.5, 1.0, 3.0])
    out = np.empty((n, 4))
    count_balls(np.ascontiguousarray(points.T), centres, radii**2, out)
    distances = np.linalg.norm(points[:, np.newaxis] - centres, axis=2)
    np.testing.assert_array_equal(out, (distances[:, :, np.newaxis] <= radii).sum(axis=1))
