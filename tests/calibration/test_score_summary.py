"""Scores counted in bins: what is kept, and that every answer of a calibration stays what it was."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from mvset.calibration.calibration import COMPARABLE_FROM, Calibration
from mvset.calibration.dependence import Dependence, group_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.score_summary import ScoreSummary, bins_of
from mvset.calibration.split_models import pooled_scores
from mvset.calibration.splits import random_splits
from mvset.calibration.strata import StratumCalibrations
from mvset.calibration.streamed_scores import StreamedScores
from mvset.calibration.views import HeldOut
from mvset.calibration.ways import Calibrated, HeldOutRows
from mvset.estimators.drift_monitor import DriftMonitor

WIDTH = 2.0**-14  # of a bin, relative to its scores
RNG = np.random.default_rng(0)
SCORES = {
    "positive": RNG.lognormal(sigma=3.0, size=3000),
    "negative": -RNG.lognormal(sigma=3.0, size=3000),
    "around zero": np.append(RNG.normal(size=2500), np.zeros(500)),
    "many in a bin": RNG.uniform(100.0, 100.1, size=3000),
    "many in a negative bin": RNG.uniform(-100.1, -100.0, size=3000),
    "logarithms": np.append(-0.5 * RNG.chisquare(100.0, size=2990), [-1e3, -1e5, -1e9, *[-1e290] * 5, -1e300, 0.0]),
    "ties": RNG.integers(20, size=3000).astype(np.float64),
}


@pytest.fixture(params=SCORES)
def scores(request):
    return SCORES[request.param]


def summary_of(*parts, n_exact=500):
    summary = ScoreSummary(n_exact)
    for part in parts:
        summary.add(part)
    return summary


def assert_same(a, b):
    np.testing.assert_array_equal(a.values, b.values)
    np.testing.assert_array_equal(a.counts, b.counts)
    assert (a.exact_up_to, len(a)) == (b.exact_up_to, len(b))


# ---------------------------------------------------------------- what a summary keeps


def test_neither_order_nor_parts_matter(scores):
    whole = summary_of(scores)
    assert_same(summary_of(np.sort(scores)), whole)
    assert_same(summary_of(np.sort(scores)[::-1]), whole)
    for cuts in ([1], [499, 500, 501], [0, 2999], np.arange(0, 3000, 37)):
        assert_same(summary_of(*np.split(np.random.default_rng(1).permutation(scores), cuts)), whole)


def test_merged_summaries_are_that_of_all_scores(scores):
    whole = summary_of(scores)
    for cuts in ([1500], [100], [100, 200, 2900], [0]):
        parts = [summary_of(part) for part in np.split(scores, cuts)]
        merged = summary_of()
        for part in parts:
            merged.merge(part)
        assert_same(merged, whole)
        for part in parts[:-1]:
            parts[-1].merge(part)
        assert_same(parts[-1], whole)


def test_a_merged_summary_leaves_the_other_as_it_was():
    first, second = summary_of(SCORES["positive"]), summary_of(SCORES["negative"])
    first.merge(second)
    assert_same(second, summary_of(SCORES["negative"]))


def test_the_lowest_scores_are_kept(scores):
    summary = summary_of(scores)
    np.testing.assert_array_equal(summary.values[:500], np.sort(scores)[:500])
    np.testing.assert_array_equal(summary.counts[:500], 1.0)
    assert summary.exact_up_to == np.sort(scores)[499]


def test_every_score_is_counted_once(scores):
    summary = summary_of(scores)
    assert summary.counts.sum() == len(summary) == 3000
    assert (np.diff(summary.values) >= 0).all()
    assert (summary.counts >= 1).all()


def test_from_each_value_on_there_are_as_many_scores_as_counted(scores):
    summary = summary_of(scores)
    for value in np.unique(summary.values):
        assert summary.counts[summary.values >= value].sum() == np.sum(scores >= value)


def test_many_scores_take_few_values():
    for name in ("many in a bin", "many in a negative bin"):
        assert len(summary_of(SCORES[name]).values) < 500 + 0.1 / (64 * WIDTH) + 3


@pytest.mark.parametrize("n", [0, 1, 499, 500])
def test_few_scores_are_all_kept(n):
    summary = summary_of(SCORES["around zero"][:n])
    np.testing.assert_array_equal(summary.values, np.sort(SCORES["around zero"][:n]))
    np.testing.assert_array_equal(summary.counts, np.ones(n))
    assert summary.exact_up_to == np.inf


def test_one_score_more_is_counted_in_a_bin():
    lowest = summary_of(np.append(np.arange(1.0, 501.0), 1000.001))
    assert lowest.exact_up_to == 500.0
    assert 1000.0 <= lowest.values[-1] < 1000.001


def test_bins_are_narrow_and_begin_below_their_scores():
    scores = np.sort(np.concatenate([[0.0], *(sign * SCORES["positive"] for sign in (1.0, -1.0))]))
    low = bins_of(scores)
    assert (low <= scores).all()
    assert (scores - low <= WIDTH * np.abs(scores)).all()
    assert (np.diff(low) >= 0).all()
    np.testing.assert_array_equal(bins_of(low), low)
    assert low[scores == 0] == 0.0


def test_scores_between_a_power_of_two_and_the_next_have_so_many_bins():
    assert len(np.unique(bins_of(np.linspace(1.0, 2.0, 100_000, endpoint=False)))) == 1 / WIDTH


# ---------------------------------------------------------------- calibrations of many rows


MODES = ("cross", "conformal", "pac")
MASSES = np.append(np.linspace(0.01, 0.99, 99), [0.003, 0.9033, 0.995])


def few_exact(monkeypatch, n_exact):
    monkeypatch.setattr("mvset.calibration.calibration.N_EXACT", n_exact)
    monkeypatch.setattr("mvset.calibration.calibration.N_ORDERED", 2 * n_exact)


def calibrated(make, n_exact):
    """What is made where more than twice so many scores are summarised."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        few_exact(monkeypatch, n_exact)
        return make()


def both(scores, mode, n_exact=500, comparable_from=0.0):
    """The calibration by all scores, and that by their summary."""

    def make():
        return Calibration.from_scores(scores, Guarantee(mode), comparable_from)

    return make(), calibrated(make, n_exact)


def rounded(scores, calibration):
    """Scores as a summary counts them."""
    limit = calibration.exact_up_to
    return np.where(scores > limit, np.maximum(bins_of(scores), limit), scores)


@pytest.fixture(params=MODES)
def pair(request, scores):
    return *both(scores, request.param), scores


def most_in_a_bin(scores):
    return np.unique(bins_of(scores), return_counts=True)[1].max()


@pytest.mark.parametrize(("n", "is_summary"), [(1000, False), (1001, True)])
@pytest.mark.parametrize("mode", MODES)
def test_only_many_scores_are_summarised(mode, n, is_summary):
    calibration = both(SCORES["many in a bin"][:n], mode)[1]
    assert calibration.is_summary == is_summary
    assert calibration.n_rows == n
    assert (len(calibration.scores) < n) == is_summary


@pytest.mark.parametrize("n", [0, 900, 1000, 1001, 3000])
def test_scores_that_come_in_parts_calibrate_as_all_at_once(n):
    def make(scores):
        return calibrated(lambda: Calibration.from_scores(scores, Guarantee("conformal")), 500)

    scores = SCORES["around zero"][:n]
    streamed = StreamedScores(1000)
    streamed.summary = ScoreSummary(500)
    for part in np.array_split(scores, 7):
        streamed.add(part)
    np.testing.assert_array_equal(streamed.first, scores[:1000])
    if n:
        assert make(streamed) == make(scores)
    else:
        with pytest.raises(ValueError, match="there must be at least one"):
            make(streamed)


def test_all_rows_are_counted(pair):
    exact, summary, _ = pair
    assert not exact.is_summary
    assert summary.is_summary
    assert summary.n_rows == exact.n_rows == 3000
    assert summary.rank_masses[-1] == pytest.approx(exact.rank_masses[-1], rel=1e-12)
    for mass in (0.9, 0.999, 0.9996, 0.9999):
        assert summary.can_guarantee(mass) == exact.can_guarantee(mass)


@pytest.mark.parametrize("mode", ["conformal", "pac"])
def test_offsets_are_the_lower_ends_of_the_bins_of_the_exact_ones(scores, mode):
    exact, summary = both(scores, mode)
    for mass in summary.guaranteed(MASSES):
        rank = np.searchsorted(exact.rank_masses, mass - 1e-12)
        expected = rounded(np.sort(scores)[::-1][rank], summary)
        assert summary.offset(mass) == pytest.approx(expected, rel=1e-11, abs=1e-300)
        assert summary.offset(mass) <= exact.offset(mass)
        assert np.mean(scores >= summary.offset(mass)) >= mass


def test_sets_hold_the_same_rows_up_to_a_bin(pair):
    exact, summary, scores = pair
    for mass in exact.guaranteed(MASSES):
        held = np.sum(scores >= summary.offset(mass))
        assert abs(held - np.sum(scores >= exact.offset(mass))) <= most_in_a_bin(scores)
        assert summary.share_inside(mass) == pytest.approx(held / 3000, abs=1e-12)


def test_levels_tell_membership(pair):
    _, summary, scores = pair
    near = np.concatenate([summary.offsets, np.nextafter(summary.offsets, -np.inf), scores, [-1e9, 1e9]])
    levels = summary.level(near)
    for mass in summary.guaranteed(np.append(MASSES, summary.rank_masses[::100])):
        np.testing.assert_array_equal(levels <= mass, near >= summary.offset(mass))


def test_levels_are_those_of_all_scores_up_to_a_bin(pair):
    exact, summary, scores = pair
    new = np.random.default_rng(1).permutation(scores)[:500] * (1 + 1e-6)
    difference = np.abs(summary.level(new) - exact.level(new))
    assert difference.max() <= (most_in_a_bin(scores) + 1) / 3000


def test_p_values_are_exact_in_the_tail_and_no_smaller_elsewhere(pair):
    exact, summary, scores = pair
    new = np.concatenate([scores * (1 + 1e-9), scores, [-1e307, 1e9]])
    found, expected = summary.p_value(new), exact.p_value(new)
    tail = new < summary.exact_up_to
    assert tail.any()
    np.testing.assert_array_equal(found[tail], expected[tail])
    assert (found >= expected).all()
    assert (found - expected).max() <= most_in_a_bin(scores) / 3000
    assert found[-2:].tolist() == [1 / 3001, 1.0]


@pytest.mark.parametrize("n_exact", [5, 20])
def test_p_values_and_masses_are_valid_with_few_wide_bins(n_exact):
    """A new row has a p-value of at most t with probability t at most, and is inside with the mass at least."""
    rng, p_values, inside = np.random.default_rng(2), [], []
    for _ in range(1500):
        *scores, new = rng.uniform(100.0, 100.02, size=60)  # in five bins
        calibration = both(np.array(scores), "conformal", n_exact)[1]
        p_values.append(calibration.p_value(new))
        inside.append([new >= calibration.offset(mass) for mass in (0.3, 0.5, 0.9)])
    for t in (0.05, 0.1, 0.3, 0.5, 0.9):
        assert np.mean(np.array(p_values) <= t) <= t + 4 * np.sqrt(t * (1 - t) / 1500)
    assert (np.mean(inside, axis=0) >= np.array([0.3, 0.5, 0.9]) - 0.05).all()
    assert np.mean(inside, axis=0)[2] < 0.95 + 0.04 * (n_exact == 5)


def test_quantiles_are_those_of_all_scores_up_to_a_bin(pair):
    _, summary, scores = pair
    shares = np.array([0.0, 0.001, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0])
    expected = np.quantile(scores, shares, method="inverted_cdf")
    np.testing.assert_allclose(summary.quantiles(shares), rounded(expected, summary), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_intervals_and_bands_are_those_of_all_scores(mode):
    exact, summary = both(SCORES["around zero"], mode, comparable_from=0.6)
    for mass in (0.05, 0.7, 0.95):
        found, expected = summary.mass_interval(mass), exact.mass_interval(mass)
        assert (found.n_rows, found.effective_rows) == (3000, 3000)
        for name in ("low", "high"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=2 / 3000)
    found, expected = summary.mass_band(), exact.mass_band()
    np.testing.assert_array_equal(found.masses, expected.masses)
    assert found.masses[0] == 0.6
    np.testing.assert_allclose(found.lower, expected.lower, atol=2 / 3000)
    np.testing.assert_allclose(found.upper, expected.upper, atol=2 / 3000)


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_calibrations_with_design_effects_are_those_of_all_scores(mode):
    """Rows in groups of ten, ordered by group."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(300), 10)
    scores = rng.normal(size=300)[groups] + 0.5 * rng.normal(size=3000)

    def make():
        if mode == "conformal":
            found = Calibration.from_scores(scores, Guarantee(mode))
            return found.dependent(scores, Dependence(ordered=True), group_effects(scores, groups, found.offsets))
        splits = random_splits(3000, 4, 0.5, np.random.RandomState(0))
        noise = [scores[split.held_out] + 0.1 * rng.normal(size=1500) for split in splits]
        rows = np.arange(3000.0)[:, np.newaxis]
        held_out = HeldOut(*pooled_scores(rows, splits, noise, None), noise)
        return (
            HeldOutRows(rows, np.arange(3000), splits, groups, Dependence(ordered=True))
            .cross_calibrated(held_out)
            .calibration
        )

    exact, summary = make(), calibrated(make, 1000)
    assert summary.is_summary
    assert len(summary.effects) == len(summary.order_effects) == len(summary.offsets)
    for mass in (0.6, 0.8, 0.95):
        assert exact.effective_size(mass) < 500
        assert summary.effective_size(mass) == pytest.approx(exact.effective_size(mass), rel=0.15)
    assert summary.decorrelation == pytest.approx(exact.decorrelation, rel=0.2)


def test_groups_of_a_summarised_calibration_have_its_typical_rows_added():
    scores, groups = SCORES["around zero"], np.where(np.arange(3000) < 40, "few", "many")
    exact, summary = both(scores, "cross", comparable_from=COMPARABLE_FROM)

    def strata_of(calibration):
        return StratumCalibrations.of(Calibrated(calibration, scores, np.arange(3000)), groups, 0.9)

    found, expected = calibrated(lambda: strata_of(summary), 500), strata_of(exact)
    few, many = found.calibrations
    assert (few.n_rows, few.is_summary, many.n_rows, many.is_summary) == (960, False, 3000 - 40 + 20, True)
    for a, b in zip(found.calibrations, expected.calibrations, strict=True):
        for mass in (0.5, 0.9):
            assert a.offset(mass) == pytest.approx(b.offset(mass), abs=0.01)


@pytest.mark.parametrize("mode", MODES)
def test_a_summarised_calibration_is_pickled(mode):
    summary = both(SCORES["many in a bin"], mode)[1]
    again = pickle.loads(pickle.dumps(summary))
    assert again == summary
    assert again.is_summary
    assert again.n_rows == 3000
    assert not again.counts.flags.writeable


@pytest.mark.parametrize(
    "damage",
    [lambda a: a[:-1].copy(), lambda a: a - 1.0, lambda a: a + 0.5, lambda a: a.astype(int), lambda a: a * np.nan],
    ids=["one less", "no rows", "half a row", "other type", "not a number"],
)
def test_damaged_counts_are_refused(damage):
    parts = both(SCORES["positive"], "conformal")[1].__getstate__()
    parts["counts"] = damage(parts["counts"])
    with pytest.raises(ValueError, match=r"Calibration\.counts"):
        Calibration(**parts)


# ---------------------------------------------------------------- drift


def drift_report(calibration, new):
    counter = calibration.drift_counter(0.9)
    for part in np.array_split(new, 3):
        counter.update(part)
    return counter.report()


@pytest.mark.parametrize("comparable_from", [0.0, 0.5])
@pytest.mark.parametrize("mode", MODES)
def test_drift_is_reported_as_from_all_scores(mode, comparable_from):
    rng = np.random.default_rng(4)
    exact, summary = both(SCORES["around zero"], mode, comparable_from=comparable_from)
    for new in (rng.normal(size=400) * (rng.uniform(size=400) > 1 / 6), rng.normal(size=400) - 0.3):
        found, expected = drift_report(summary, new), drift_report(exact, new)
        assert found.n_outside == pytest.approx(expected.n_outside, abs=1)
        assert found.expected_share == pytest.approx(expected.expected_share, abs=1 / 3000)
        assert found.share_p_value == pytest.approx(expected.share_p_value, rel=0.3)
        assert found.distribution_p_value == pytest.approx(expected.distribution_p_value, rel=0.1)
        assert found.drifted == expected.drifted == (new.mean() < -0.2)


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_wide_bins_make_no_false_alarm_and_find_a_shift(mode):
    """Five bins: a batch that is counted in another way than the calibration rows is found to differ."""
    rng = np.random.default_rng(5)
    exact, summary = both(rng.uniform(100.0, 100.02, size=1000), mode, n_exact=100)
    assert len(summary.scores) < 110
    reports = [drift_report(summary, rng.uniform(100.0, 100.02, size=200)) for _ in range(50)]
    assert sum(report.drifted for report in reports) <= 3
    for name in ("share_p_value", "distribution_p_value"):
        assert np.mean([getattr(report, name) <= 0.1 for report in reports]) <= 0.1 + 4 * np.sqrt(0.09 / 50)
    new = rng.uniform(100.0, 100.02, size=500) - 0.005
    assert drift_report(summary, new).drifted
    assert drift_report(summary, new).distribution_p_value >= drift_report(exact, new).distribution_p_value


class Scores:
    """A model of rows that are scores."""

    def score_samples(self, X):
        return X


def monitor(calibration, seed, rate=0.1):
    sets = SimpleNamespace(calibration=calibration, guarantee=SimpleNamespace(reserves_rows=True))
    return DriftMonitor(Scores(), sets, false_alarm_rate=rate, random_state=seed)


@pytest.mark.parametrize("spread", [0.02, 50.0], ids=["five bins", "narrow bins"])
def test_a_monitor_of_summarised_scores_gives_no_false_alarm_and_finds_a_shift(spread):
    rng, alarms = np.random.default_rng(6), 0
    for seed in range(40):
        watched = monitor(both(rng.uniform(100.0, 100.0 + spread, size=1500), "conformal", n_exact=100)[1], seed)
        calm = [watched.update(rng.uniform(100.0, 100.0 + spread, size=150)) for _ in range(6)]
        alarms += calm[-1]
        if seed < 5:
            assert calm[-1] or watched.update(rng.uniform(100.0, 100.0 + spread, size=300) - 0.25 * spread)
    assert alarms <= 40 * (0.1 + 4 * np.sqrt(0.09 / 40))


def test_a_monitor_ranks_rows_as_from_all_scores():
    """Up to ties at random: p-values of the same rows in narrow bins."""
    rng = np.random.default_rng(7)
    exact, summary = both(rng.normal(size=3000), "conformal")
    new = rng.normal(size=400)
    found, expected = (monitor(each, 0)._p_values(new)[0] for each in (summary, exact))
    np.testing.assert_allclose(found, expected, atol=4 / 3000)
    tail = new < summary.exact_up_to - 0.01
    assert tail.sum() > 30
    np.testing.assert_allclose(found[tail], expected[tail], rtol=1e-12)


def test_summaries_of_different_length_are_not_merged():
    with pytest.raises(ValueError, match="lowest 10 scores cannot take one of 3"):
        ScoreSummary(10).merge(ScoreSummary(3))
