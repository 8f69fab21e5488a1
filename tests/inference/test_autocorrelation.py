import numpy as np
import pytest

from mvset.inference.autocorrelation import autocorrelation_time, autocorrelations


def test_autocorrelations_are_those_of_the_sums_of_products():
    series = np.random.default_rng(0).normal(size=31) + 5.0
    centred = series - series.mean()
    expected = [centred[: 31 - lag] @ centred[lag:] / (centred @ centred) for lag in range(31)]
    np.testing.assert_allclose(autocorrelations(series), expected, atol=1e-12)


def test_lags_are_summed_up_to_five_times_the_time():
    series = np.random.default_rng(1).normal(size=400).cumsum()[::8]
    correlations = autocorrelations(series)
    times = [1 + 2 * correlations[1 : lag + 1].sum() for lag in range(50)]
    window = next(lag for lag in range(50) if lag >= 5 * times[lag])
    assert window > 5
    assert autocorrelation_time(series) == pytest.approx(times[window] * (1 + (2 * window + 1) / 50))


def test_twenty_values_are_the_least():
    series = np.repeat([0.0, 1.0], 10)
    assert autocorrelation_time(series) > 1.0
    assert autocorrelation_time(series[:-1]) == 1.0
