"""Each way to calibrate against a naive computation, on the models of three splits in one and in two views."""

from dataclasses import dataclass

import numpy as np
import pytest

import reference
from mvset.calibration.calibration import COMPARABLE_FROM, Calibration
from mvset.calibration.dependence import Dependence, group_effects, order_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.split_models import SplitModels
from mvset.calibration.splits import Split, random_splits
from mvset.calibration.views import Views
from mvset.calibration.ways import HeldOutRows, ReservedRows, StreamedRows
from mvset.paper.datasets import two_moons
from mvset.progress import ProgressLine
from mvset.rows.survey import Survey
from mvset.svm.dual import Solver, solve_duals
from mvset.svm.gram import gaussian_gram

SIGMAS, SCALES = (0.3, 0.8), ((0.0, 1.0), (-0.2, 2.0))
TABLE = two_moons(240, random_state=0)
GROUPS = np.repeat(np.arange(60), 4)  # neighbours of the table
SPLITS = random_splits(240, 3, 0.4, np.random.RandomState(0))
LINE = ProgressLine(active=False)
ROUNDING = {"rtol": 0.0, "atol": 4e-4}  # heights are medians in float32, relative to 1e-4; and there is a slope


def models(sigma):
    duals = solve_duals(gaussian_gram(TABLE, sigma), [split.train for split in SPLITS], Solver(0.4, 1e-3))
    return SplitModels(TABLE, duals, sigma)


@pytest.fixture(scope="module", params=[1, 2])
def views(request):
    """Of the two bandwidths; each decides about some rows."""
    return Views([models(sigma) for sigma in SIGMAS[: request.param]], SPLITS, SCALES[: request.param])


def split_values(views, rows):
    """For each view the weighted function of each split, which has its median over the table brought to one height."""
    found = []
    for each in views.models:
        values, at_rows = (
            np.array([reference.expansion(some, TABLE, dual.coefficients, each.sigma) for dual in each.duals])
            for some in (TABLE, rows)
        )
        weights = 1.0 / np.median(values, axis=1)
        found.append(at_rows * (weights / weights.mean())[:, np.newaxis])
    return found


def smallest(views, values):
    """Scores from the values of the function of each view."""
    return np.min(
        [shift + slope * np.log(each) for (shift, slope), each in zip(views.scales, values, strict=True)], axis=0
    )


def mean_scores(views, rows):
    return smallest(views, [np.mean(each, axis=0) for each in split_values(views, rows)])


def calibrate(way, views):
    return way.calibrated(views, views.score(), map, LINE)


def test_each_view_decides_about_some_rows():
    views = Views([models(sigma) for sigma in SIGMAS], SPLITS, SCALES)
    assert 30 < np.sum(views.score().deciding(TABLE)) < 210


def test_rows_held_out_are_scored_by_the_models_that_have_not_seen_them(views):
    found = calibrate(HeldOutRows(TABLE, np.arange(240), SPLITS), views)
    rows = np.unique(np.concatenate([split.held_out for split in SPLITS]))
    np.testing.assert_array_equal(found.rows, rows)
    held_out = np.array([np.isin(rows, split.held_out) for split in SPLITS])
    values = [np.average(each[:, rows], axis=0, weights=held_out) for each in split_values(views, TABLE)]
    expected = smallest(views, values)
    np.testing.assert_allclose(found.scores, expected, **ROUNDING)
    np.testing.assert_array_equal(found.calibration.scores, np.sort(found.scores))
    assert found.calibration.guarantee == Guarantee("cross")
    assert found.calibration.comparable_from == COMPARABLE_FROM
    # The set of rank k holds (k + 1) / (n + 2): the nearest half rank to 0.9.
    rank = np.round(2 * ((len(expected) + 2) * 0.9 - 1)) / 2
    around = [np.sort(expected)[-int(each)] for each in (np.floor(rank), np.ceil(rank))]
    assert found.calibration.offset(0.9) == pytest.approx(np.mean(around), abs=4e-4)
    # Rows that some splits have inside and others outside tell less.
    assert (found.calibration.effects >= 1.0).all()
    assert found.calibration.effects.max() > 1.0


def test_the_rows_may_be_some_of_a_larger_table(views):
    """Splits of a large table train on a sample: the numbers are those of the whole table."""
    found = calibrate(HeldOutRows(TABLE, 7 + 2 * np.arange(240), SPLITS), views)
    same = calibrate(HeldOutRows(TABLE, np.arange(240), SPLITS), views)
    np.testing.assert_array_equal(found.rows, 7 + 2 * same.rows)
    assert found.calibration == same.calibration


def test_reserved_rows_are_scored_by_the_mean_of_all_models(views):
    reserved = np.sort(np.random.default_rng(0).permutation(300)[:99])
    table = two_moons(300, random_state=1)
    found = calibrate(ReservedRows(table, reserved, Guarantee("conformal")), views)
    expected = mean_scores(views, table[reserved])
    np.testing.assert_array_equal(found.rows, reserved)
    np.testing.assert_allclose(found.scores, expected, **ROUNDING)
    assert found.calibration.offset(0.9) == pytest.approx(np.sort(expected)[-90], abs=4e-4)  # rank ⌈100 · 0.9⌉
    assert found.calibration.guarantee == Guarantee("conformal")
    assert found.calibration.comparable_from == 0.0
    np.testing.assert_array_equal(found.calibration.effects, 1.0)
    np.testing.assert_array_equal(found.calibration.order_effects, 1.0)


def test_groups_count_by_their_rows_that_calibrate(views):
    """Four copies of a row in each group, and two in the first and last that calibrate."""
    table = np.repeat(two_moons(60, random_state=1), 4, axis=0)
    reserved = np.arange(42, 202)
    found = calibrate(ReservedRows(table, reserved, Guarantee("conformal"), GROUPS, Dependence(False)), views)
    expected = group_effects(found.scores, GROUPS[reserved] - 10, found.calibration.offsets)
    np.testing.assert_array_equal(found.calibration.effects, expected)
    assert found.calibration.effective_size(0.8) == pytest.approx(41, rel=0.05)
    split = [Split(np.arange(42), reserved)] * 3  # which agree on the order of rows
    plain, grouped = (
        calibrate(HeldOutRows(table, np.arange(240), split, each, Dependence(False)), views) for each in (None, GROUPS)
    )
    expected = group_effects(grouped.scores, GROUPS[reserved] - 10, grouped.calibration.offsets)
    np.testing.assert_allclose(grouped.calibration.effects, plain.calibration.effects * expected)


@pytest.mark.parametrize("way", ["held out", "reserved"])
@pytest.mark.parametrize("ordered", [True, False, None])
def test_the_order_of_rows_counts_as_asked_or_if_it_shows(way, ordered, views):
    table = TABLE[np.argsort(mean_scores(views, TABLE))]  # neighbours have similar scores

    def way_of(rows):
        if way == "reserved":
            return ReservedRows(rows, np.arange(240), Guarantee("conformal"), None, Dependence(ordered))
        return HeldOutRows(rows, np.arange(240), SPLITS, None, Dependence(ordered))

    found = calibrate(way_of(table), views)
    effects = order_effects(found.scores, found.calibration.offsets)
    assert effects.max() > 10
    np.testing.assert_array_equal(found.calibration.order_effects, effects if ordered is not False else 1.0)
    if ordered is None:
        assert calibrate(way_of(TABLE), views).calibration.decorrelation == 1


@dataclass
class Batches:
    """A stream of rows."""

    X: np.ndarray
    size: int
    names = ("a", "b")

    def batches(self):
        return (self.X[start : start + self.size] for start in range(0, len(self.X), self.size))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_all_rows_of_a_stream_but_those_sampled_are_scored_by_the_mean_of_all_models(size, views):
    table, sampled = two_moons(300, random_state=1), np.sort(np.random.default_rng(0).permutation(300)[:101])
    surveyed = Survey(Batches(table, size), 300, table.min(axis=0), table.max(axis=0), table[sampled], sampled)
    guarantee = Guarantee("pac", 0.9)
    found = calibrate(StreamedRows(surveyed, guarantee), views)
    others = np.setdiff1d(np.arange(300), sampled)
    expected = mean_scores(views, table[others])
    np.testing.assert_allclose(found.scores, expected, **ROUNDING)
    assert found.calibration == Calibration.from_scores(found.scores, guarantee)
    assert found.calibration == calibrate(ReservedRows(table, others, guarantee), views).calibration


def test_neighbours_of_a_stream_that_are_similar_are_noticed(views):
    table = TABLE[np.argsort(mean_scores(views, TABLE))]
    surveyed = Survey(Batches(table, 50), 240, table.min(axis=0), table.max(axis=0), table[::4], np.arange(0, 240, 4))
    found = calibrate(StreamedRows(surveyed, Guarantee("conformal")), views)
    expected = order_effects(found.scores, found.calibration.offsets)
    assert expected.max() > 10
    np.testing.assert_array_equal(found.calibration.order_effects, expected)


def test_progress_is_told_row_by_row(views):
    told = []

    class Line:
        def reach(self, *step):
            told.append(step)

    reserved = np.arange(99)
    ReservedRows(TABLE, reserved, Guarantee("conformal")).calibrated(views, views.score(), map, Line())
    assert told[-1] == ("calibrating", "row", 99, 99)
    surveyed = Survey(Batches(TABLE, 50), 240, TABLE.min(axis=0), TABLE.max(axis=0), TABLE[:90], np.arange(90))
    StreamedRows(surveyed, Guarantee("conformal")).calibrated(views, views.score(), map, Line())
    assert told[-1] == ("calibrating", "row", 150, 150)
