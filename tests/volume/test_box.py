import numpy as np
import pytest

from mvset.volume.box import draw_box_sample
from mvset.volume.measure import measure
from shapes import Ball


def test_points_fill_the_box():
    X = np.random.default_rng(0).normal(size=(100, 3))
    sample = draw_box_sample(X, 5000, np.random.RandomState(0))
    assert len(sample.points) >= 5000
    assert (sample.points >= X.min(axis=0)).all()
    assert (sample.points <= X.max(axis=0)).all()
    assert np.exp(sample.log_weights).sum() == pytest.approx(np.ptp(X, axis=0).prod())


def test_constant_column_leaves_the_volume_of_the_slice():
    X = np.array([[0.0, 5.0], [2.0, 5.0]])
    sample = draw_box_sample(X, 10, np.random.RandomState(0))
    assert np.exp(sample.log_weights).sum() == pytest.approx(2.0)
    np.testing.assert_array_equal(sample.points[:, 1], 5.0)


@pytest.mark.parametrize("n_points", [1, 7, 20, 1000])
def test_any_number_of_points(n_points):
    sample = draw_box_sample(np.array([[0.0], [1.0]]), n_points, np.random.RandomState(0))
    assert n_points <= len(sample.points) <= 1.5 * n_points
    assert len(sample.points) % sample.n_replicates == 0


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n_points"), [(2, 2000), (3, 20_000), (12, 4000)])
def test_unbiased_with_calibrated_standard_errors(d, n_points):
    """200 draws of the volume of a ball in the cube around it."""
    ball = Ball(np.zeros(d), 1.0)
    corners = np.vstack([-np.ones(d), np.ones(d)])
    estimates = []
    for seed in range(200):
        sample = draw_box_sample(corners, n_points, np.random.RandomState(seed))
        estimates.append(measure(sample, ball.contains(sample.points)[:, np.newaxis]).estimate(0))
    values = np.array([estimate.value for estimate in estimates])
    errors = np.array([estimate.standard_error for estimate in estimates])
    truth = np.exp(ball.log_volume)
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(200))
    # Four standard deviations of a binomial proportion, and a little more: rare hits make the error itself uncertain.
    assert np.mean(np.abs(values - truth) <= 1.96 * errors) == pytest.approx(0.95, abs=0.07)


@pytest.mark.parametrize("d", [2, 3])
def test_sobol_points_have_a_third_of_the_error_of_random_points(d):
    ball, corners, n = Ball(np.zeros(d), 1.0), np.vstack([-np.ones(d), np.ones(d)]), 20_000
    truth = np.exp(ball.log_volume)
    squares = []
    for seed in range(100):
        sample = draw_box_sample(corners, n, np.random.RandomState(seed))
        squares.append((measure(sample, ball.contains(sample.points)[:, np.newaxis]).estimate(0).value - truth) ** 2)
    fraction = truth / 2**d
    random_error = 2**d * np.sqrt(fraction * (1 - fraction) / n)
    assert np.sqrt(np.mean(squares)) < random_error / 3
