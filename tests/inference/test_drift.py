import numpy as np
import pytest
from scipy import stats

from mvset.inference.drift import CountedScores, DriftCounter, EffectiveSizes, distribution_p_value, share_p_value

INDEPENDENT = EffectiveSizes()


def report(scores, before, offset, rate, cap=np.inf, sizes=INDEPENDENT):
    counter = DriftCounter(CountedScores.of(before), offset, cap, rate, sizes, sizes)
    for part in np.array_split(scores, 3):  # in however many parts
        counter.update(part)
    return counter.report()


def test_the_number_outside_is_beta_binomial():
    """Exchangeable scores without ties: the p-value is valid, and not much too large."""
    rng = np.random.default_rng(0)
    m, n, k = 60, 40, 54
    p_values = []
    for _ in range(4000):
        before, now = -np.sort(-rng.normal(size=m)), rng.normal(size=n)
        p_values.append(share_p_value(int(np.sum(now < before[k - 1])), n, k, m))
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
    assert share_p_value(outside, n, k, m) == pytest.approx(min(1.0, 2 * min(too_many, too_few)), abs=1e-11)


@pytest.mark.parametrize("ties", [pytest.param(False, marks=pytest.mark.slow), True])
def test_false_alarms_of_one_batch(ties, monkeypatch):
    monkeypatch.setattr("mvset.inference.drift.binomial_interval", lambda *_: (0.0, 1.0))  # slow, and not asked for
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(600):
        scores = rng.normal(size=300).round(0 if ties else 12)
        before, now = scores[:200], scores[200:]
        alarms += report(now, before, np.quantile(before, 0.1), 0.05).drifted
    assert alarms / 600 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 600)


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
    assert str(bulk).startswith("Drift. ")
    capped = report(np.abs(rng.normal(size=500)), before, -3.5, 0.01, cap=-10.0)
    assert capped.distribution_p_value == 1.0


@pytest.mark.parametrize(("n", "m"), [(50, 300), (9000, 1000), (30_000, 1000), (200, 11_000)])
@pytest.mark.parametrize("cap", [np.inf, 0.5])
@pytest.mark.parametrize("ties", [True, False])
def test_the_counter_gives_the_test_of_scipy(n, m, cap, ties):
    rng = np.random.default_rng(n)
    now, before = 0.03 + rng.uniform(size=n), rng.uniform(size=m)
    if ties:
        now, before = now.round(1), before.round(1)
    expected = stats.ks_2samp(np.minimum(now, cap), np.minimum(before, cap)).pvalue
    np.testing.assert_allclose(report(now, before, 0.05, 0.01, cap).distribution_p_value, expected, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (12, 12), (200, 170)])
@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
def test_small_p_values_are_exact(n, m, shift):
    rng = np.random.default_rng(n)
    now, before = rng.normal(size=n) + shift, rng.normal(size=m)
    steps = np.sort(np.concatenate([now, before]))
    counts = [np.histogram(sample, np.append(steps, np.inf))[0] for sample in (now, before)]
    assert distribution_p_value(*counts) == pytest.approx(stats.ks_2samp(now, before, method="exact").pvalue, rel=1e-9)


def test_many_dependent_rows_have_the_test_of_their_effective_sizes():
    """The distance times the root of the effective size, by the distribution of one sample of that size."""
    now, before = np.array([60, 0, 40]), np.array([100, 50, 150])
    sizes = EffectiveSizes(3.0, 2.0)  # 100 rows before, 50 now: together as 33
    distance = 60 / 100 - 100 / 300
    assert distribution_p_value(now, before, sizes) == pytest.approx(stats.kstwo.sf(distance, 33))
    assert distribution_p_value(now, before, EffectiveSizes(1e9, 1e9)) == 1.0  # of one row


def test_scores_of_a_summary_count_as_its_bins():
    summary = CountedScores(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 5.0, 3.0]), exact_up_to=2.0)
    np.testing.assert_array_equal(summary.rounded(np.array([-1.0, 0.5, 2.0, 2.5, 3.0, 9.0])), [-1, 0.5, 2, 2, 3, 3])
    counter = DriftCounter(summary, 1.0, np.inf, 0.01, INDEPENDENT, INDEPENDENT)
    counter.update(np.repeat([0.0, 1.0, 2.7, 3.1], [1, 1, 5, 3]))
    report = counter.report()
    assert report.distribution_p_value == 1.0
    assert (report.n_outside, report.share_outside, report.expected_share) == (1, 0.1, 0.1)


def test_counts_of_other_counters_are_added():
    rng = np.random.default_rng(0)
    before, now = CountedScores.of(rng.normal(size=100)), rng.normal(size=60)
    whole, first, second = (DriftCounter(before, -1.0, 1.5, 0.01, INDEPENDENT, INDEPENDENT) for _ in range(3))
    whole.update(now)
    first.update(now[:25])
    second.update(now[25:])
    first.add_counts(second.counts)
    assert first.report() == whole.report()


def test_effective_sizes_are_at_least_one():
    assert EffectiveSizes(4.0, 2.0).of(100, 10) == (25.0, 5.0)
    assert EffectiveSizes(400.0, 200.0).of(100, 10) == (1.0, 1.0)
    assert EffectiveSizes().are_exact
    assert not EffectiveSizes(1.0, 2.0).are_exact


def test_rows_that_come_many_times_count_once():
    """Every row four times in a row: the p-values are about those of the rows themselves, and so are the intervals."""
    rng = np.random.default_rng(3)
    now, before = rng.normal(size=200) - 0.2, rng.normal(size=400)
    once = report(now, before, -1.5, 0.01)
    repeated = report(np.repeat(now, 4), np.repeat(before, 4), -1.5, 0.01, sizes=EffectiveSizes(4.0, 4.0))
    assert repeated.n_rows == 800
    assert repeated.effective_rows == once.effective_rows == 200
    assert repeated.share_p_value == once.share_p_value
    assert repeated.distribution_p_value == pytest.approx(once.distribution_p_value, rel=0.2)
    assert repeated.share_interval == once.share_interval
    assert repeated.expected_interval == once.expected_interval
    naive = report(np.repeat(now, 4), np.repeat(before, 4), -1.5, 0.01)
    assert naive.distribution_p_value < once.distribution_p_value / 10


def test_false_alarms_of_dependent_rows():
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(400):
        now, before = np.repeat(rng.normal(size=60), 5), np.repeat(rng.normal(size=100), 5)
        alarms += report(now, before, np.quantile(before, 0.1), 0.05, sizes=EffectiveSizes(5.0, 5.0)).drifted
    assert alarms / 400 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)


def test_the_expected_share_has_no_rounding_error():
    scores = np.arange(100.0)
    counter = DriftCounter(CountedScores.of(scores), 5.0, np.inf, 0.01, EffectiveSizes(), EffectiveSizes())
    counter.update(scores)
    assert counter.report().expected_share == 0.05  # 1 - 0.95 is 0.050000000000000044
