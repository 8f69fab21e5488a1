from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from mvset.volume.shapes import Box, Cover, Ellipsoid

MATRIX = np.linalg.cholesky([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
BODIES = [Ellipsoid(np.array([1.0, -2.0, 3.0]), MATRIX), Box(np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 0.5]))]


COVER = Cover(np.array([[0.0, 0.0, 1.0], [1.0, -2.0, 3.0]]), np.array([2.0, 1.0, 0.5]))
SCALES = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("body", BODIES)
def test_draws_are_uniform_at_each_scale(body):
    """The gauge of a uniform point to the power d is uniform, and the body is symmetric about its centre."""
    points = body.draw(np.full(5000, 2.0), np.random.RandomState(0))
    gauges = body.gauge(np.ascontiguousarray(points.T))
    assert kstest((gauges / 2.0) ** 3, "uniform").pvalue > 0.01
    error = points.std(axis=0) / np.sqrt(5000)
    assert (np.abs(points.mean(axis=0) - body.centre) < 4 * error).all()


@pytest.mark.parametrize("body", [*BODIES, COVER])
def test_volume_and_density_against_points_spread_evenly(body):
    """The uniform law on the body at scale one, seen at even points: it integrates to one."""
    rng = np.random.default_rng(0)
    points = rng.uniform([-5, -7, -4], [6, 4, 8], size=(200_000, 3))
    place = body.place(np.ascontiguousarray(points.T), SCALES)
    density = np.exp(place.log_density(np.array([-np.inf, -body.log_volume, -np.inf])))
    volume = 11.0 * 11.0 * 12.0
    assert volume * density.mean() == pytest.approx(1.0, abs=4 * volume * density.std() / np.sqrt(200_000))
    held = place.held(np.full(len(points), 1.0 / len(points)))
    assert volume * held[1] == pytest.approx(np.exp(body.log_volume), rel=0.1)
    assert (np.diff(held) > 0).all()


def test_draws_from_a_cover_follow_its_density():
    """Two overlapping balls: twice the density where they overlap."""
    cover = Cover(np.array([[0.0, 0.0], [1.0, 0.0]]), np.ones(2))
    points = cover.draw(np.ones(20_000), np.random.RandomState(0))
    shares = np.array([np.linalg.norm(points - centre, axis=1) <= 1 for centre in cover.centres])
    assert shares.any(axis=0).all()
    lens = 2 * np.pi / 3 - np.sqrt(3) / 2
    expected = lens / np.pi  # of the draws from either ball
    assert shares.all(axis=0).mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))


def test_no_weight_no_density():
    for body in (*BODIES, Cover(np.zeros((2, 3)), np.ones(3))):
        place = body.place(np.zeros((3, 4)), SCALES)
        assert np.isneginf(place.log_density(np.full(3, -np.inf))).all()


def test_gauge_of_an_ellipsoid_for_any_number_of_points():
    body, rng = BODIES[0], np.random.default_rng(0)
    for n in (0, 1, 127, 128, 300):
        points = rng.normal(size=(n, 3))
        expected = np.linalg.norm(np.linalg.solve(MATRIX, (points - body.centre).T), axis=0)
        np.testing.assert_allclose(body.gauge(np.ascontiguousarray(points.T)), expected)


def test_box_around_points():
    points = np.array([[0.0, 1.0], [4.0, 3.0], [1.0, 1.5]])
    box = Box.around(points)
    np.testing.assert_array_equal(box.centre, [2.0, 2.0])
    assert box.gauge(points.T).max() == 1.0
