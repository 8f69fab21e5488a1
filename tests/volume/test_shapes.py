import numpy as np
import pytest
from scipy.stats import kstest

from mvset.volume.shapes import Balls, Box, Ellipsoid

FACTOR = np.linalg.cholesky([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
ELLIPSOID = Ellipsoid(np.array([1.0, -2.0, 3.0]), FACTOR)
BOX = Box(np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 0.5]))
BALLS = Balls(np.array([[0.0, 0.0, 1.0], [1.0, -2.0, 3.0]]), np.array([2.0, 1.0, 0.5]))
SCALES = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("shape", [ELLIPSOID, BOX])
def test_draws_are_uniform_at_each_scale(shape):
    """The d-th power of the gauge of a uniform point is uniform, and the shape is symmetric about its centre."""
    points = shape.draw(np.full(5000, 2.0), np.random.RandomState(0))
    assert kstest((shape.gauge(points.T) / 2.0) ** 3, "uniform").pvalue > 0.01
    error = points.std(axis=0) / np.sqrt(5000)
    assert (np.abs(points.mean(axis=0) - shape.centre) < 4 * error).all()


@pytest.mark.parametrize("shape", [ELLIPSOID, BOX, BALLS])
def test_volume_and_density_against_uniform_points(shape):
    """The density of the uniform distribution on the shape at scale one integrates to one."""
    points = np.random.default_rng(0).uniform([-5, -7, -4], [6, 4, 8], size=(50_000, 3))
    coverage = shape.coverage(points.T, SCALES)
    density = np.exp(coverage.log_density(np.array([-np.inf, -shape.log_volume, -np.inf])))
    volume = 11.0 * 11.0 * 12.0
    error = volume * density.std() / np.sqrt(len(points))
    assert volume * density.mean() == pytest.approx(1.0, abs=4 * error)
    covered = volume * coverage.covered_weight(np.full(len(points), 1.0 / len(points)))
    assert covered[1] == pytest.approx(np.exp(shape.log_volume), rel=4 * error)
    assert (np.diff(covered) > 0).all()


def test_draws_from_overlapping_balls_follow_their_density():
    """Two overlapping balls: twice the density where they overlap."""
    balls = Balls(np.array([[0.0, 0.0], [1.0, 0.0]]), np.ones(2))
    points = balls.draw(np.ones(20_000), np.random.RandomState(0))
    inside = np.array([np.linalg.norm(points - centre, axis=1) <= 1 for centre in balls.centres])
    assert inside.any(axis=0).all()
    lens = 2 * np.pi / 3 - np.sqrt(3) / 2
    expected = lens / np.pi  # of the draws from either ball
    assert inside.all(axis=0).mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 600])
def test_coverage_by_balls(n):
    """Any number of points: they are taken in chunks of 256."""
    rng = np.random.default_rng(0)
    points, radii = rng.normal(size=(n, 3)), np.array([0.1, 0.5, 1.0, 3.0])
    balls = Balls(rng.normal(size=(40, 3)), np.array([2.0, 1.0, 0.5]))
    distances = np.linalg.norm((points[:, np.newaxis] - balls.centres) * balls.units, axis=2)
    expected = (distances[:, :, np.newaxis] <= radii).mean(axis=1)
    np.testing.assert_allclose(balls.coverage(points.T, radii).fractions, expected.reshape(n, 4))


@pytest.mark.parametrize("shape", [ELLIPSOID, BOX, BALLS])
def test_density_is_zero_where_all_weights_are(shape):
    coverage = shape.coverage(np.zeros((3, 4)), SCALES)
    assert np.isneginf(coverage.log_density(np.full(3, -np.inf))).all()


def test_gauge_of_an_ellipsoid():
    points = np.random.default_rng(0).normal(size=(300, 3))
    expected = np.linalg.norm(np.linalg.solve(FACTOR, (points - ELLIPSOID.centre).T), axis=0)
    np.testing.assert_allclose(ELLIPSOID.gauge(points.T), expected)


def test_box_around_points():
    points = np.array([[0.0, 1.0], [4.0, 3.0], [1.0, 1.5]])
    box = Box.around(points)
    np.testing.assert_array_equal(box.centre, [2.0, 2.0])
    assert box.gauge(points.T).max() == 1.0
