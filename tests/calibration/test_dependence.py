import numpy as np
import pytest

from mvset.calibration.dependence import (
    autocorrelation_time,
    decorrelation_lag,
    group_effects,
    is_dependent,
    order_effects,
    split_effects,
)


def autoregressive(rho, n, seed):
    rng = np.random.default_rng(seed)
    series, now = np.empty(n), rng.normal()
    for i, noise in enumerate(np.sqrt(1 - rho**2) * rng.normal(size=n)):
        series[i] = now = rho * now + noise
    return series


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9, 0.95])
def test_autocorrelation_time_of_an_autoregressive_series(rho):
    assert autocorrelation_time(autoregressive(rho, 20_000, 0)) == pytest.approx((1 + rho) / (1 - rho), rel=0.25)


def test_autocorrelation_time_is_that_of_the_variance_of_the_mean():
    series = np.array([autoregressive(0.8, 500, seed) for seed in range(1000)])
    times = [autocorrelation_time(each) for each in series[:200]]
    assert np.mean(times) == pytest.approx(500 * series.mean(axis=1).var() / series.var(), rel=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_autocorrelation_time_of_independent_values_is_one(seed):
    assert autocorrelation_time(np.random.default_rng(seed).normal(size=20_000)) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "series", [np.zeros(100), np.arange(5.0), (-1.0) ** np.arange(100), autoregressive(-0.5, 500, 0)]
)
def test_autocorrelation_time_is_at_least_one(series):
    assert autocorrelation_time(series) == 1.0


def test_autocorrelation_time_is_at_most_the_number_of_values():
    assert 50 < autocorrelation_time(np.arange(200.0)) <= 200


def test_dependent_rows_are_noticed():
    assert all(is_dependent(autoregressive(0.3, 1000, seed)) for seed in range(20))
    assert is_dependent(np.sin(np.arange(300) / 20))


def test_either_test_of_dependence_suffices():
    noise = np.random.default_rng(0).normal(size=400)
    alternating = noise + 0.5 * (-1.0) ** np.arange(400)  # the first lag alone says the contrary
    assert is_dependent(alternating)
    weak = autoregressive(0.2, 400, 11)  # ten lags together hide the first
    assert is_dependent(weak)


def test_independent_rows_are_not_called_dependent():
    rng = np.random.default_rng(0)
    draws = [rng.standard_t(2, size=rng.integers(20, 1000)) for _ in range(300)]
    assert np.mean([is_dependent(draw) for draw in draws]) <= 0.01


@pytest.mark.parametrize("scores", [np.arange(19.0), np.ones(100)])
def test_too_few_or_equal_scores_tell_nothing(scores):
    assert not is_dependent(scores)


def test_dependence_has_no_scale_and_no_direction():
    series = autoregressive(0.2, 300, 1)
    assert is_dependent(series) == is_dependent(np.exp(10 * series)) == is_dependent(-series)


@pytest.mark.parametrize("n", [500, 5000])
def test_independent_columns_forget_at_once(n):
    assert decorrelation_lag(np.random.default_rng(0).normal(size=(n, 3))) <= 1


def test_decorrelation_lag_of_sums_of_neighbours():
    """A sum of k neighbours has k - 1 lags that are correlated."""
    noise = np.random.default_rng(0).normal(size=20_000)
    for k in (1, 2, 4):
        sums = np.convolve(noise, np.ones(k), "valid")
        assert decorrelation_lag(sums[:, np.newaxis]) == k - 1


@pytest.mark.parametrize(("rho", "lag"), [(0.5, 4), (0.9, 28)])
def test_decorrelation_lag_is_that_of_the_column_that_remembers_longest(rho, lag):
    """The least lag with rho**lag < 0.05 is 5 or 29, known to a few rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=20_000), autoregressive(rho, 20_000, 1), np.ones(20_000)])
    assert decorrelation_lag(X) == pytest.approx(lag, rel=0.3, abs=1)


def test_a_trend_is_never_forgotten():
    assert decorrelation_lag(np.arange(100.0)[:, np.newaxis]) > 20


def test_order_effects_are_autocorrelation_times_of_membership():
    scores = autoregressive(0.9, 3000, 0)
    thresholds = np.sort(scores)[::-1]
    effects = order_effects(scores, thresholds)
    assert len(effects) == 3000
    assert (effects >= 1.0).all()
    assert effects[0] == pytest.approx(1.0, abs=0.01)
    middle = autocorrelation_time((scores >= thresholds[1500]).astype(float))
    assert effects[1500] == pytest.approx(middle, rel=0.1)
    np.testing.assert_allclose(order_effects(np.random.default_rng(0).permutation(scores), thresholds), 1.0, atol=0.3)


def test_with_few_rows_outside_the_effect_is_no_less_than_with_a_hundred():
    scores = autoregressive(0.9, 3000, 0)
    effects = order_effects(scores, np.sort(scores)[::-1])
    assert autocorrelation_time((scores > scores.min()).astype(float)) == pytest.approx(1.0, abs=0.1)
    assert effects[-100:].min() >= effects[2874] > 2.0  # the last of 25 thresholds with a hundred rows outside


def test_order_effects_of_few_thresholds():
    scores = autoregressive(0.9, 2000, 0)
    thresholds = np.array([1.0, 0.0, -1.0])
    expected = [autocorrelation_time((scores >= threshold).astype(float)) for threshold in thresholds]
    np.testing.assert_array_equal(order_effects(scores, thresholds), expected)


def test_rows_that_repeat_in_their_group_count_once():
    scores = np.random.default_rng(0).normal(size=400)
    effects = group_effects(np.repeat(scores, 7), np.repeat(np.arange(400), 7), np.quantile(scores, [0.9, 0.5, 0.1]))
    np.testing.assert_allclose(effects, 7.0, rtol=0.01)


def test_independent_rows_in_groups_count_in_full():
    rng = np.random.default_rng(0)
    scores, groups = rng.normal(size=6000), rng.integers(600, size=6000)
    np.testing.assert_allclose(group_effects(scores, groups, np.array([1.0, 0.0, -1.0])), 1.0, atol=0.2)


def test_group_effects_are_those_of_the_variance_of_the_share():
    """Groups of ten with a common part: the share inside over 2000 draws of 50 groups."""
    rng = np.random.default_rng(0)
    draws = (rng.normal(size=(2000, 50, 1)) + rng.normal(size=(2000, 50, 10))).reshape(2000, 500)
    shares = np.mean(draws >= 0.5, axis=1)
    truth = 500 * shares.var() / (shares.mean() * (1 - shares.mean()))
    found = [group_effects(scores, np.repeat(np.arange(50), 10), np.array([0.5]))[0] for scores in draws[:200]]
    assert np.mean(found) == pytest.approx(truth, rel=0.1)


def test_group_effects_lie_between_one_and_the_number_of_rows():
    scores = np.repeat([0.0, 1.0], 50)
    np.testing.assert_array_equal(group_effects(scores, np.zeros(100, dtype=int), np.array([0.5, 0.0])), 100.0)
    assert group_effects(scores, np.repeat([3, 8], 50), np.array([0.5]))[0] == pytest.approx(100.0)
    np.testing.assert_array_equal(group_effects(scores, np.repeat([3, 8], 50), np.array([2.0, 0.0])), 1.0)


def naive_split_effect(rows, scores, threshold):
    by_row = {}
    for held_out, values in zip(rows, scores, strict=True):
        for row, value in zip(held_out, values, strict=True):
            by_row.setdefault(row, []).append(value >= threshold)
    n = len(by_row)
    share = np.clip(np.mean([np.mean(inside) for inside in by_row.values()]), 0.5 / n, 1 - 0.5 / n)
    variances = [np.var(inside, ddof=1) if len(inside) > 1 else 0.0 for inside in by_row.values()]
    return 1 + 2 * np.mean(variances) / (share * (1 - share))


@pytest.mark.parametrize("decimals", [0, 12])
@pytest.mark.parametrize("n_splits", [1, 2, 7])
def test_split_effects_against_counting_row_by_row(n_splits, decimals):
    rng = np.random.default_rng(n_splits)
    rows = [np.sort(rng.choice(40, rng.integers(5, 20), replace=False)) for _ in range(n_splits)]
    scores = [rng.normal(size=len(held_out)).round(decimals) for held_out in rows]
    thresholds = np.sort(np.unique(np.concatenate([*scores, [-9.0, 9.0]])))[::-1]
    expected = [naive_split_effect(rows, scores, threshold) for threshold in thresholds]
    np.testing.assert_allclose(split_effects(rows, scores, thresholds), expected)


def test_splits_that_agree_have_no_effect():
    value = np.random.default_rng(0).normal(size=30)
    rows = [np.arange(0, 20), np.arange(10, 30), np.arange(5, 25)]
    np.testing.assert_allclose(split_effects(rows, [value[r] for r in rows], np.sort(value)[::-1]), 1.0)


def test_splits_that_are_chance_leave_a_third_of_the_rows():
    """All of the variance is between splits: an effect of three at every threshold."""
    rng = np.random.default_rng(0)
    rows, scores = [np.arange(2000)] * 5, list(rng.uniform(size=(5, 2000)))
    np.testing.assert_allclose(split_effects(rows, scores, np.array([0.9, 0.5, 0.1])), 3.0, rtol=0.05)
