from __future__ import annotations

import pytest
from scipy import stats

from mvset.inference.intervals import binomial_interval


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
