import numpy as np
import pytest
from scipy.stats import kstwo

from mvset.inference.bands import order_statistic_bounds, staying_probability


@pytest.mark.parametrize("m", [1, 2, 5, 40, 300])
def test_staying_probability_of_kolmogorov_bounds_is_known(m):
    """Parallel bounds: the exact distribution of Kolmogorov's statistic, from SciPy."""
    for distance in (0.6 / np.sqrt(m), 1.0 / np.sqrt(m), 1.4 / np.sqrt(m)):
        k = np.arange(1, m + 1)
        lower, upper = np.clip(k / m - distance, 0, 1), np.clip((k - 1) / m + distance, 0, 1)
        accuracy = 1e-10 if m <= 140 else 2e-6  # of SciPy, which approximates beyond
        assert staying_probability(lower, upper) == pytest.approx(kstwo.cdf(distance, m), abs=accuracy)


def test_staying_probability_of_one_draw_is_the_width():
    assert staying_probability(np.array([0.2]), np.array([0.9])) == pytest.approx(0.7)


def test_staying_probability_of_bounds_far_apart():
    """All draws fall between two bounds that follow each other."""
    assert staying_probability(np.zeros(300), np.ones(300)) == pytest.approx(1.0)
    assert staying_probability(np.full(300, 0.1), np.ones(300)) == pytest.approx(0.9**300, rel=1e-6)


def test_bounds_that_cross_have_probability_zero():
    assert staying_probability(np.array([0.1, 0.8]), np.array([0.2, 0.7])) == 0.0


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("m", [1, 3, 50, 400])
def test_bounds_hold_all_order_statistics_at_the_confidence(m, confidence):
    n_draws = 20_000
    lower, upper = order_statistic_bounds(m, confidence)
    draws = np.sort(np.random.default_rng(0).uniform(size=(n_draws, m)), axis=1)
    held = np.mean(((lower <= draws) & (draws <= upper)).all(axis=1))
    assert abs(held - confidence) < 4 * np.sqrt(confidence * (1 - confidence) / n_draws)


def test_bounds_are_narrow_in_the_tail():
    lower, upper = order_statistic_bounds(1000, 0.95)
    distance = kstwo.ppf(0.95, 1000)
    assert upper[989] - lower[989] < 0.5 * 2 * distance
    assert upper[499] - lower[499] < 1.4 * 2 * distance


def test_many_rows_fall_back_to_kolmogorov():
    lower, upper = order_statistic_bounds(20_000, 0.95)
    assert upper[10_000] - lower[10_000] == pytest.approx(2 * kstwo.ppf(0.95, 20_000), abs=1e-4)
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    distance = kstwo.ppf(0.95, 20_000)
    np.testing.assert_allclose(lower[[0, 9999, -1]], [0.0, 0.5 - distance, 1.0 - distance])
    np.testing.assert_allclose(upper[[0, 9999, -1]], [distance, 0.5 - 1 / 20_000 + distance, 1.0])
