import numpy as np
import pytest
from scipy import stats

from mvset.inference.p_values import binomial_interval, conformal_p_values, detect_outliers


def test_conformal_p_values():
    np.testing.assert_allclose(conformal_p_values([0, 4, 9], 9), [0.1, 0.5, 1.0])


def test_rows_are_flagged_by_the_procedure_of_benjamini_and_hochberg():
    found = detect_outliers(np.array([0.02, 0.9, 0.05, 0.5]), 0.1)  # at most 0.1 k / 4 for some k: 0.025, 0.05
    np.testing.assert_array_equal(found.flagged, [True, False, True, False])
    assert (found.threshold, found.fdr) == (0.05, 0.1)
    nothing = detect_outliers(np.array([0.03, 0.9, 0.06, 0.5]), 0.1)
    assert not nothing.flagged.any()
    assert nothing.threshold == 0.0


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (37, 500)])
def test_ends_are_quantiles_of_the_beta_distribution(hits, n):
    low, high = binomial_interval(hits, n, 0.9)
    assert low == pytest.approx(stats.beta.ppf(0.05, hits, n - hits + 1) if hits else 0.0)
    assert high == pytest.approx(stats.beta.ppf(0.95, hits + 1, n - hits) if hits < n else 1.0)


def test_counts_need_not_be_whole():
    low, high = binomial_interval(37.5, 500.5, 0.9)
    assert binomial_interval(37, 500, 0.9)[0] < low < binomial_interval(38, 500, 0.9)[0]
    assert binomial_interval(37, 500, 0.9)[1] < high < binomial_interval(38, 500, 0.9)[1]
    assert binomial_interval(0.0, 0.7, 0.9)[0] == 0.0
    assert binomial_interval(0.7, 0.7, 0.9)[1] == 1.0
