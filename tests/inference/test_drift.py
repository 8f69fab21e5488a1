from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mvset.inference.drift import DriftMonitor, DriftTally, _log_likelihood_ratios, _share_p_value, binomial_interval


def report(scores, before, offset, rate, cap=np.inf):
    tally = DriftTally(before, offset, float(np.mean(before >= offset)), cap, rate)
    for part in np.array_split(scores, 3):  # in however many parts
        tally.update(part)
    return tally.report()


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (37, 500)])
def test_binomial_interval_is_scipys(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.9, method="exact")
    np.testing.assert_allclose(binomial_interval(hits, n, 0.9), [expected.low, expected.high], rtol=1e-9)


def test_the_number_outside_is_beta_binomial():
    """Exchangeable scores without ties: the p-value is valid, and not much too large."""
    rng = np.random.default_rng(0)
    m, n, k = 60, 40, 54
    p_values = []
    for _ in range(4000):
        before, now = -np.sort(-rng.normal(size=m)), rng.normal(size=n)
        p_values.append(_share_p_value(int(np.sum(now < before[k - 1])), n, k, m))
    for level in (0.02, 0.1, 0.3):
        share = np.mean(np.array(p_values) <= level)
        assert share <= level + 4 * np.sqrt(level * (1 - level) / 4000)
    assert np.mean(np.array(p_values) <= 0.1) > 0.03


@pytest.mark.parametrize(
    ("outside", "n", "k", "m"), [(0, 10, 20, 20), (3, 40, 54, 60), (9, 40, 54, 60), (300, 1000, 950, 1000)]
)
def test_share_p_value_is_beta_binomial(outside, n, k, m):
    too_many = stats.betabinom.sf(outside - 1, n, m - k + 1, k)
    too_few = stats.betabinom.cdf(outside, n, m - k, k + 1) if k < m else 1.0
    assert _share_p_value(outside, n, k, m) == pytest.approx(min(1.0, 2 * min(too_many, too_few)), abs=1e-11)


@pytest.mark.parametrize("ties", [False, True])
def test_false_alarms_of_one_batch(ties):
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(2000):
        scores = rng.normal(size=300).round(0 if ties else 12)
        before, now = scores[:200], scores[200:]
        alarms += report(now, before, np.quantile(before, 0.1), 0.05).drifted
    assert alarms / 2000 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_drift_is_seen_by_either_test():
    rng = np.random.default_rng(2)
    before = rng.normal(size=1000)
    tail = np.where(rng.uniform(size=500) < 0.1, -5.0, rng.normal(size=500))
    far = report(tail, before, np.quantile(before, 0.02), 0.01)
    assert far.drifted
    assert far.share_p_value < 1e-6
    bulk = report(np.abs(rng.normal(size=500)) - 1.5, before, -3.5, 0.01)
    assert bulk.drifted
    assert bulk.share_p_value > 0.01 > bulk.distribution_p_value
    assert "drift." in str(bulk)
    capped = report(np.abs(rng.normal(size=500)), before, -3.5, 0.01, cap=-10.0)
    assert capped.distribution_p_value == 1.0


def test_online_p_values_are_ranks_among_all_before():
    rng = np.random.default_rng(3)
    calibration, scores = rng.integers(0, 5, size=30).astype(float), rng.integers(0, 5, size=2300).astype(float)
    monitor = DriftMonitor(lambda X: X, calibration, 0.01, random_state=0)
    found = np.concatenate([monitor._p_values(scores[:1100]), monitor._p_values(scores[1100:])])
    seen = list(calibration)
    for i, score in enumerate(scores):
        below, up_to = np.sum(np.array(seen) < score), np.sum(np.array(seen) <= score)
        assert below / (len(seen) + 1) <= found[i] <= (up_to + 1) / (len(seen) + 1)
        seen.append(score)
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_the_bet_is_a_likelihood_ratio():
    """Its mean under the uniform is one, over all histograms of a few draws."""
    total = 0.0
    for bins in np.ndindex(*(10,) * 3):
        histogram = np.bincount(bins, minlength=10).astype(float)
        total += np.exp(_log_likelihood_ratios(histogram[np.newaxis])[0]) / 10**3
    assert total == pytest.approx(1.0)


def test_false_alarms_over_time():
    rng = np.random.default_rng(4)
    alarms = 0
    for seed in range(400):
        monitor = DriftMonitor(lambda X: X, rng.normal(size=100), 0.1, random_state=seed)
        for _ in range(20):
            monitor.update(rng.normal(size=25))
        alarms += monitor.drifted_
    assert alarms / 400 <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / 400)


def test_a_drift_after_a_long_calm_is_seen():
    rng = np.random.default_rng(5)
    monitor = DriftMonitor(lambda X: X, rng.normal(size=300), 0.01, random_state=0)
    calm = [monitor.update(rng.normal(size=50)) for _ in range(60)]
    assert not any(calm)
    drifted = [monitor.update(rng.normal(size=50) - 0.8) for _ in range(6)]
    assert drifted[-1]
    assert monitor.n_rows_ == 66 * 50


def test_same_seed_same_watch():
    rng = np.random.default_rng(6)
    calibration, batch = rng.integers(3, size=50).astype(float), rng.integers(3, size=80).astype(float)
    values = []
    for _ in range(2):
        monitor = DriftMonitor(lambda X: X, calibration, 0.01, random_state=7)
        monitor.update(batch)
        values.append(monitor.log_martingale_)
    assert values[0] == values[1]


@pytest.mark.parametrize(("n", "m"), [(50, 300), (9000, 1000), (30_000, 1000), (200, 11_000)])
@pytest.mark.parametrize("cap", [np.inf, 0.5])
@pytest.mark.parametrize("ties", [True, False])
def test_the_tally_gives_the_test_of_scipy(n, m, cap, ties):
    rng = np.random.default_rng(n)
    now, before = 0.03 + rng.uniform(size=n), rng.uniform(size=m)
    if ties:
        now, before = now.round(1), before.round(1)
    expected = stats.ks_2samp(np.minimum(now, cap), np.minimum(before, cap)).pvalue
    np.testing.assert_allclose(report(now, before, 0.05, 0.01, cap).distribution_p_value, expected, rtol=1e-9)
