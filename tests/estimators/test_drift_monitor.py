import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from mvset.estimators.drift_monitor import Bets, DriftMonitor, _log_likelihood_ratios
from mvset.inference.drift import CountedScores


class Scores:
    """Rows that are their own scores."""

    def score_samples(self, X):
        return X


def monitor_of(calibration, rate=0.01, seed=0, reserved=True, decorrelation=1):
    calibrated = SimpleNamespace(counted_scores=CountedScores.of(calibration), decorrelation=decorrelation)
    sets = SimpleNamespace(calibration=calibrated, guarantee=SimpleNamespace(reserves_rows=reserved))
    return DriftMonitor(Scores(), sets, false_alarm_rate=rate, random_state=seed)


def test_online_p_values_are_ranks_among_all_before():
    rng = np.random.default_rng(3)
    calibration, scores = rng.integers(0, 5, size=30).astype(float), rng.integers(0, 5, size=2300).astype(float)
    monitor = monitor_of(calibration, 0.01, 0)
    found = []
    for part in (scores[:1100], scores[1100:]):
        p_values, monitor._counts = monitor._p_values(part)
        found.extend(p_values)
    seen = list(calibration)
    for i, score in enumerate(scores):
        below, up_to = np.sum(np.array(seen) < score), np.sum(np.array(seen) <= score)
        assert below / (len(seen) + 1) <= found[i] <= (up_to + 1) / (len(seen) + 1)
        seen.append(score)
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_a_new_monitor_has_no_evidence():
    monitor = monitor_of(np.arange(10.0), 0.01, 0)
    assert (monitor.log_martingale_, monitor.drifted_, monitor.n_rows_, monitor.n_batches_) == (0.0, False, 0, 0)


def test_the_bet_is_a_likelihood_ratio():
    """Its mean under the uniform is one, over all histograms of a few draws."""
    total = 0.0
    for bins in np.ndindex(*(10,) * 3):
        histogram = np.bincount(bins, minlength=10).astype(float)
        total += np.exp(_log_likelihood_ratios(histogram[np.newaxis])[0]) / 10**3
    assert total == pytest.approx(1.0)


@pytest.mark.slow
def test_false_alarms_over_time():
    rng = np.random.default_rng(4)
    alarms = 0
    for seed in range(400):
        monitor = monitor_of(rng.normal(size=100), 0.1, seed)
        for _ in range(20):
            monitor.update(rng.normal(size=25))
        alarms += monitor.drifted_
    assert alarms / 400 <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / 400)


def test_a_drift_after_a_long_calm_is_seen():
    rng = np.random.default_rng(5)
    monitor = monitor_of(rng.normal(size=300), 0.01, 0)
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
        monitor = monitor_of(calibration, 0.01, 7)
        monitor.update(batch)
        values.append(monitor.log_martingale_)
    assert values[0] == values[1]


@pytest.mark.slow
@pytest.mark.parametrize("reserved", [True, False])
def test_p_values_of_exchangeable_rows_are_uniform_and_independent(reserved):
    """The ranks drawn at random between two calibration scores do not show: neither in the p-values nor in a row."""
    firsts, seconds = [], []
    for seed in range(4000):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=7)
        p_values, _ = monitor_of(scores[:3], 0.01, seed, reserved)._p_values(scores[3:])
        firsts.append(p_values[-2])
        seconds.append(p_values[-1])
    for p_values in (
        firsts,
        seconds,
        np.abs(np.subtract(firsts, seconds)) * (2 - np.abs(np.subtract(firsts, seconds))),
    ):
        assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(firsts, seconds)[0, 1]) < 4 / np.sqrt(4000)


@pytest.mark.slow
def test_false_alarms_over_time_with_more_batches_than_bets(monkeypatch):
    monkeypatch.setattr("mvset.estimators.drift_monitor._MAX_BETS", 8)
    rng = np.random.default_rng(7)
    alarms = 0
    for seed in range(150):
        monitor = monitor_of(rng.normal(size=50), 0.1, seed)
        for _ in range(40):
            monitor.update(rng.normal(size=25))
        alarms += monitor.drifted_
    assert alarms / 150 <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / 150)


def test_memory_does_not_grow_and_a_late_drift_is_still_detected():
    rng = np.random.default_rng(8)
    monitor = monitor_of(rng.normal(size=300), 0.01, 0)
    for _ in range(100):
        monitor.update(rng.normal(size=20))
    size = len(pickle.dumps(monitor))
    assert not any(monitor.update(rng.normal(size=20)) for _ in range(400))
    assert len(pickle.dumps(monitor)) < size + 10  # the digits of the counts
    assert [monitor.update(rng.normal(size=20) - 1.0) for _ in range(12)][-1]


def test_merging_bets_keeps_their_capital():
    bets = Bets(np.arange(1.0, 65.0), np.linspace(-3.0, 2.0, 64), np.zeros((64, 10)))
    more = bets.started(65)
    assert len(more.starts) == len(more.log_capitals) == len(more.histograms) == 64
    assert np.exp(more.log_capitals).sum() == pytest.approx(np.exp(bets.log_capitals).sum() + 1 / (65 * 66))
    assert len(set(more.starts) - set(bets.starts)) == 1
    assert more.starts[-1] == 65.0


def test_bets_of_nearly_the_same_age_are_merged():
    starts = np.append(np.arange(1.0, 121.0, 2.0), [130.0, 200.0, 201.0, 202.0])  # the oldest two are the most alike
    bets = Bets(starts, np.zeros(64), np.repeat(np.arange(64.0)[:, np.newaxis], 10, axis=1))
    more = bets.started(203)
    np.testing.assert_array_equal(more.starts, [*starts[1:], 203.0])
    np.testing.assert_array_equal(more.histograms[:, 0], [*range(1, 64), 0.0])
    np.testing.assert_allclose(np.exp(more.log_capitals), [2.0, *[1.0] * 62, 1 / (203 * 204)])


def test_the_martingale_is_the_mean_over_bets_and_what_is_not_bet():
    """A share 1/(j (j+1)) is bet from batch j on: after two batches a third is left, and waits."""
    monitor = monitor_of(np.arange(200.0), 0.01, 0)
    capitals, histograms = np.zeros(0), np.zeros((0, 10))
    for batch, share in ((np.arange(0.5, 20.0), 1 / 2), (np.arange(100.5, 110.0), 1 / 6)):
        state = monitor._rng.get_state()
        p_values, _ = monitor._p_values(batch)
        monitor._rng.set_state(state)
        capitals, histograms = np.append(capitals, share), np.vstack([histograms, np.zeros(10)])
        grown = histograms + np.histogram(p_values, 10, (0.0, 1.0))[0]
        capitals *= np.exp(_log_likelihood_ratios(grown) - _log_likelihood_ratios(histograms))
        histograms = grown
        monitor.update(batch)
    assert monitor.log_martingale_ == pytest.approx(np.log(capitals.sum() + 1 / 3))


def test_an_interrupted_batch_is_not_counted():
    monitor = monitor_of(np.arange(10.0), 0.01, 0)
    monitor.update(np.arange(5.0))
    before = (monitor.n_rows_, monitor.log_martingale_, monitor._counts.sum(), monitor._bets)
    monitor.model = None
    with pytest.raises(AttributeError):
        monitor.update(np.arange(5.0))
    assert (monitor.n_rows_, monitor.log_martingale_, monitor._counts.sum(), monitor._bets) == before


def test_pickled_it_goes_on_with_the_same_evidence():
    rng = np.random.default_rng(9)
    calibration, batches = rng.normal(size=100), rng.normal(size=(6, 40)) - 0.3
    whole, stopped = (monitor_of(calibration, 0.01, 3) for _ in range(2))
    for batch in batches:
        whole.update(batch)
        stopped.update(batch)
        stopped = pickle.loads(pickle.dumps(stopped))
    assert stopped.log_martingale_ == whole.log_martingale_
    assert stopped.n_rows_ == 240


def test_of_dependent_rows_every_kth_is_watched_however_they_come():
    rng = np.random.default_rng(10)
    scores = np.repeat(rng.normal(size=100), 7)
    calibration = rng.normal(size=50)

    def watched(sizes):
        monitor = monitor_of(calibration, decorrelation=7)
        for part in np.split(scores, np.cumsum(sizes)):
            monitor.update(part)
        return monitor

    for sizes in ([700], [1, 2, 3, 100, 301], [7] * 99):
        monitor = watched(sizes)
        assert monitor.n_rows_ == 700
        assert monitor._counts.sum() == 100
    every_seventh = monitor_of(calibration, 0.01, 0, reserved=False)
    every_seventh.update(scores[::7])
    at_once = monitor_of(calibration, decorrelation=7)
    at_once.update(scores)
    assert at_once.log_martingale_ == every_seventh.log_martingale_


def test_a_batch_without_a_row_to_watch_changes_nothing_but_the_count():
    monitor = monitor_of(np.arange(10.0), reserved=False, decorrelation=10)
    monitor.update(np.arange(3.0))
    counts = monitor._counts.copy()
    monitor.update(np.arange(5.0))
    np.testing.assert_array_equal(monitor._counts, counts)
    assert monitor.n_rows_ == 8
    monitor.update(np.arange(5.0))
    assert monitor._counts.sum() == counts.sum() + 1


@pytest.mark.parametrize("reserved", [True, False])
def test_a_monitor_goes_on_from_stored_arrays(reserved):
    rng = np.random.default_rng(0)
    calibration, batches = rng.normal(size=200), [rng.normal(size=30) for _ in range(80)]  # more than there are bets
    whole, parts = (monitor_of(calibration, 0.01, 5, reserved) for _ in range(2))
    for batch in batches:
        whole.update(batch)
        stored = parts.to_arrays()
        parts = monitor_of(calibration, 0.01, 6, reserved)
        parts.restore_arrays(stored)
        parts.update(batch)
    found, expected = parts.to_arrays(), whole.to_arrays()
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])
    assert parts.log_martingale_ == whole.log_martingale_ != 0.0


def test_an_alarm_is_restored_before_the_next_batch():
    drifted = monitor_of(np.arange(100.0), 0.01, 0)
    drifted.update(np.full(200, -1.0))
    restored = monitor_of(np.arange(100.0), 0.01, 0)
    restored.restore_arrays(drifted.to_arrays())
    assert restored.drifted_ is True
    assert restored.log_martingale_ == drifted.log_martingale_ > np.log(100)
    assert (restored.n_rows_, restored.n_batches_) == (200, 1)
