import numpy as np
import pytest

from mvset.volume.measure import VolumeEstimate, VolumeSample, inside_sets, log_volumes_at, measure, no_sample


def uniform_sample(n_points, seed=0, n_replicates=None, log_volume=0.0):
    points = np.random.default_rng(seed).uniform(size=(n_points, 1))
    return VolumeSample(points, np.full(n_points, log_volume - np.log(n_points)), n_replicates or n_points, "test")


def test_weighted_points_are_unbiased_with_calibrated_standard_errors():
    """1000 draws from the density 2x on [0, 1], weighted by one over it: the length of [1/2, 1] is 1/2."""
    estimates = []
    for seed in range(300):
        x = np.sqrt(np.random.default_rng(seed).uniform(size=1000))
        sample = VolumeSample(x[:, np.newaxis], -np.log(2 * x) - np.log(1000), 1000, "test")
        estimates.append(measure(sample, (x >= 0.5)[:, np.newaxis]).estimate(0))
    values = np.array([estimate.value for estimate in estimates])
    error = np.mean([estimate.standard_error for estimate in estimates])
    assert values.mean() == pytest.approx(0.5, abs=4 * error / np.sqrt(300))
    assert values.std() == pytest.approx(error, rel=0.15)


def test_volumes_and_their_combination():
    sample = uniform_sample(100, log_volume=np.log(8.0))
    inside = inside_sets(sample.points[:, 0], [0.5, 0.2])
    volumes = measure(sample, inside, [2.0, 3.0])
    fractions = inside.mean(axis=0)
    np.testing.assert_allclose(volumes.scaled(volumes.values), 8 * fractions)
    assert float(volumes.scaled(volumes.combination)) == pytest.approx(8 * (2 * fractions[0] + 3 * fractions[1]))
    np.testing.assert_array_equal(volumes.hits, inside.sum(axis=0))
    np.testing.assert_allclose(volumes.effective_sample_sizes, inside.sum(axis=0))
    np.testing.assert_allclose(
        volumes.scaled(volumes.standard_errors), 8 * np.sqrt(fractions * (1 - fractions) / 99) * 1.984 / 1.96, rtol=1e-3
    )


def test_the_error_of_a_combination_is_that_of_dependent_volumes():
    sample = uniform_sample(100)
    inside = inside_sets(sample.points[:, 0], [0.5, 0.5, 0.2])
    volumes = measure(sample, inside, [2.0, 3.0, 0.0])
    assert volumes.combination_error == pytest.approx(5 * volumes.standard_errors[0])
    assert len(volumes.values) == len(volumes.standard_errors) == 3
    nothing = measure(sample, inside_sets(sample.points[:, 0], [9.0, 9.0]), [2.0, -3.0])
    assert nothing.combination_error == pytest.approx(5 * nothing.standard_errors[0])


def test_blocks_of_points_give_the_spread_of_their_sums():
    """Every block has half its points inside, so the sums have no spread: the error is the weight of one point."""
    points = np.tile([[0.25], [0.75]], (20, 1))
    even = VolumeSample(points, np.full(40, -np.log(40)), 20, "test")
    assert measure(even, points > 0.5).estimate(0).standard_error == pytest.approx(1 / 40)
    single = VolumeSample(points, np.full(40, -np.log(40)), 40, "test")
    assert measure(single, points > 0.5).estimate(0).standard_error > 0.05


def test_effective_sample_size_of_unequal_weights():
    sample = VolumeSample(np.zeros((3, 1)), np.log([1.0, 1.0, 2.0]), 3, "test")
    estimate = measure(sample, np.array([[True], [True], [True]])).estimate(0)
    assert estimate.effective_sample_size == pytest.approx(16 / 6)


def test_without_spread_the_error_is_the_weight_of_one_point():
    sample = uniform_sample(10, log_volume=np.log(3.0))
    volumes = measure(sample, np.column_stack([np.zeros(10, bool), np.ones(10, bool)]))
    none, everything = volumes.estimate(0), volumes.estimate(1)
    assert (none.value, everything.value) == pytest.approx((0.0, 3.0))
    assert (none.standard_error, everything.standard_error) == pytest.approx((0.3, 0.3))
    assert none.log_value == -np.inf
    assert none.effective_sample_size == 0.0


def test_points_of_weight_zero_are_no_hits():
    sample = VolumeSample(np.zeros((4, 1)), np.array([0.0, 0.0, -np.inf, -np.inf]), 4, "test")
    estimate = measure(sample, np.ones((4, 1), bool)).estimate(0)
    assert estimate.hits == 2
    assert estimate.value == pytest.approx(2.0)


def test_volumes_past_the_range_of_float64_keep_their_logarithm():
    estimate = measure(uniform_sample(10, log_volume=5000.0), np.ones((10, 1), bool)).estimate(0)
    assert estimate.value == np.inf
    assert estimate.log_value == pytest.approx(5000.0)
    assert measure(uniform_sample(10, log_volume=-5000.0), np.ones((10, 1), bool)).estimate(0).value == 0.0


def test_log_volumes_at_many_offsets_agree_with_measure():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    sample = VolumeSample(np.zeros((200, 1)), rng.normal(size=200), 200, "test")
    offsets = np.array([[-1.0, 0.0], [scores.min(), scores.max()]])
    expected = [measure(sample, inside_sets(scores, o)).log_values for o in offsets]
    np.testing.assert_allclose(log_volumes_at(sample, scores, offsets), expected)


def test_log_volume_of_an_empty_set_is_that_of_one_point():
    sample = uniform_sample(10)
    assert log_volumes_at(sample, np.arange(10.0), np.array([99.0]))[0] == pytest.approx(-np.log(10))


def test_the_error_is_at_least_the_spread_over_draws():
    """The second draw has missed half of the set."""
    inside = np.repeat([True, False], [75, 25])[:, np.newaxis]
    sample = VolumeSample(np.zeros((100, 1)), np.full(100, -np.log(100)), 100, "test")
    drawn = VolumeSample(np.zeros((100, 1)), np.full(100, -np.log(100)), 100, "test", n_draws=2)
    assert measure(sample, inside).estimate(0).standard_error == pytest.approx(0.0439, abs=1e-3)
    # Standard deviation of 0.5 and 0.25 over root two, and Student's t of one degree of freedom over 1.96.
    assert measure(drawn, inside).estimate(0).standard_error == pytest.approx(0.25 * 12.706 / 1.96, rel=1e-3)


def test_estimate_prints_with_its_error():
    estimate = VolumeEstimate(1234.5, 6.78, np.log(1234.5), 11, 10.0, "box")
    assert str(estimate) == f"{estimate}" == "1234 ± 6.8"
    assert f"{estimate:.3f}" == "1234.500"
    assert float(estimate) == 1234.5
    assert estimate.is_measured


def test_an_estimate_from_fewer_than_ten_points_is_none():
    estimate = VolumeEstimate(1234.5, 678.9, np.log(1234.5), 10, 9.9, "box")
    assert str(estimate) == f"{estimate}" == "not measured"
    assert float(estimate) == 1234.5
    assert not estimate.is_measured


def test_without_points_nothing_is_measured():
    sample = no_sample(70)
    assert (sample.points.shape, sample.log_weights.shape, sample.method) == ((0, 70), (0,), "none")
    volumes = measure(sample, np.empty((0, 2), bool), [2.0, 3.0])
    for j in (0, 1):
        estimate = volumes.estimate(j)
        assert np.isnan([estimate.value, estimate.standard_error, estimate.log_value]).all()
        assert (estimate.hits, estimate.effective_sample_size, estimate.method) == (0, 0.0, "none")
        assert str(estimate) == "not measured"


@pytest.mark.parametrize(
    ("log_weights", "n_replicates", "method"),
    [
        (np.array([np.nan, 0.0]), 2, "box"),
        (np.zeros((2, 2)), 2, "box"),
        (np.zeros(4), 0, "box"),
        (np.zeros(4), 3, "box"),
        (np.zeros(4), "2", "box"),
        (np.zeros(4), 2, 3),
    ],
)
def test_damaged_samples_are_refused(log_weights, n_replicates, method):
    with pytest.raises(ValueError, match="VolumeSample"):
        VolumeSample(np.zeros((4, 1)), log_weights, n_replicates, method)


@pytest.mark.parametrize(
    ("points", "log_weights", "n_draws"),
    [
        (np.zeros(4), np.zeros(4), 1),
        (np.zeros((4, 1, 1)), np.zeros(4), 1),
        ([[0.0]] * 4, np.zeros(4), 1),
        (np.zeros((3, 1)), np.zeros(4), 1),
        (np.zeros((4, 1)), np.array([0.0, 0.0, 0.0, np.inf]), 1),
        (np.zeros((4, 1)), np.zeros(4), 0),
        (np.zeros((4, 1)), np.zeros(4), 3),
        (np.zeros((4, 1)), np.zeros(4), 1.0),
    ],
)
def test_damaged_points_and_draws_are_refused(points, log_weights, n_draws):
    with pytest.raises(ValueError, match="VolumeSample"):
        VolumeSample(points, log_weights, 4, "box", n_draws)


def test_a_sample_may_do_without_its_points():
    assert len(VolumeSample(np.zeros((0, 3)), np.zeros(4), 1, "box", 2).log_weights) == 4
