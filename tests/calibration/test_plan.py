"""Which rows train and which calibrate, and that no row does both for one model."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from mvset.calibration.dependence import Dependence
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.plan import CalibrationPlan, TableRows
from mvset.calibration.splits import MIN_SPLITS
from mvset.calibration.ways import HeldOutRows, ReservedRows, StreamedRows
from mvset.exceptions import TooFewRowsError
from mvset.rows.encoding import RowEncoding
from mvset.rows.survey import Survey

N = 400
GROUPS = np.random.default_rng(0).integers(23, size=N)


def plan(mode="cross", *, mass=0.9, splits=5, max_train_samples=None, time_order=False):
    return CalibrationPlan(mass, mode, 0.95, splits, max_train_samples, time_order)


def table(n=N, **parts):
    """Rows whose first column is their number."""
    X = np.column_stack([np.arange(float(n)), np.random.default_rng(0).normal(size=n)])
    return TableRows(RowEncoding(2), X, X, X.min(axis=0), X.max(axis=0), **parts)


def divided(plan, rows=None):
    return plan.divided(table() if rows is None else rows, np.random.RandomState(0))


def numbers(division):
    """Numbers of the rows that train some split."""
    return division.training[:, 0].astype(int)


def trained(division):
    """Numbers of the rows that each split trains on."""
    return [numbers(division)[split.train] for split in division.splits]


# ---------------------------------------------------------------- rows in random order


def test_with_cross_every_row_trains_and_is_held_out_by_other_splits():
    division = divided(plan())
    held_out = division.calibrating
    assert isinstance(held_out, HeldOutRows)
    np.testing.assert_array_equal(numbers(division), np.arange(N))
    np.testing.assert_array_equal(held_out.numbers, np.arange(N))
    np.testing.assert_array_equal(np.bincount(np.concatenate([split.held_out for split in held_out.splits])), 1)
    for train, split in zip(trained(division), held_out.splits, strict=True):
        assert len(split.held_out) == 0.2 * N
        np.testing.assert_array_equal(np.sort(np.append(train, split.held_out)), np.arange(N))
    assert held_out.dependence == Dependence(ordered=False)  # of their number
    assert division.is_random
    assert 0 < division.rows_per_parameter < np.inf


@pytest.mark.parametrize(("splits", "n_splits", "n_search"), [("auto", 50, 10), (5, 5, 5), (30, 30, 30)])
def test_of_the_automatic_splits_the_first_ten_choose_the_bandwidth(splits, n_splits, n_search):
    division = divided(plan(splits=splits))
    assert (len(division.splits), division.n_search_splits) == (n_splits, n_search)


@pytest.mark.parametrize("mode", ["conformal", "pac"])
def test_with_a_guarantee_half_of_the_rows_calibrate_and_nothing_else(mode):
    division = divided(plan(mode))
    reserved = division.calibrating
    assert isinstance(reserved, ReservedRows)
    assert reserved.guarantee == Guarantee(mode, 0.95)
    assert len(reserved.numbers) == N / 2
    np.testing.assert_array_equal(np.sort(np.append(numbers(division), reserved.numbers)), np.arange(N))
    np.testing.assert_array_equal(reserved.table, table().encoded)
    for split in division.splits:
        np.testing.assert_array_equal(np.sort(np.append(split.train, split.held_out)), np.arange(N / 2))
    assert division.rows_per_parameter == 0.0


def test_a_guarantee_that_the_rows_do_not_allow_is_refused():
    with pytest.raises(TooFewRowsError, match=r"400 rows are too few to guarantee mass=0\.999"):
        divided(plan("conformal", mass=0.999))


# ---------------------------------------------------------------- rows that belong together


def test_no_group_trains_a_model_that_scores_it():
    division = divided(plan(), table(groups=GROUPS))
    held_out = division.calibrating
    for train, split in zip(trained(division), held_out.splits, strict=True):
        assert not np.isin(GROUPS[train], GROUPS[split.held_out]).any()
        assert len(train) + len(split.held_out) == N
    np.testing.assert_array_equal(held_out.groups, GROUPS)
    assert not division.is_random
    assert division.rows_per_parameter == np.inf


def test_whole_groups_are_reserved():
    division = divided(plan("conformal"), table(groups=GROUPS))
    reserved = division.calibrating
    assert not np.isin(GROUPS[numbers(division)], GROUPS[reserved.numbers]).any()
    assert len(np.unique(GROUPS[reserved.numbers])) == 12
    np.testing.assert_array_equal(reserved.groups, GROUPS)
    for split in division.splits:
        kept = GROUPS[numbers(division)]
        assert not np.isin(kept[split.train], kept[split.held_out]).any()


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_rows_in_time_order_keep_their_distance_from_those_that_calibrate(mode):
    """The first column rises from row to row: the distance is the largest allowed, a twentieth of the rows."""
    division = divided(plan(mode, time_order=True))
    if mode == "cross":
        pairs = zip(trained(division), [split.held_out for split in division.calibrating.splits], strict=True)
    else:
        pairs = [(numbers(division), division.calibrating.numbers)]
    for train, calibrating in pairs:
        assert np.abs(train[:, np.newaxis] - calibrating).min() == N // 20 + 1
        assert len(np.split(calibrating, np.flatnonzero(np.diff(calibrating) > 1) + 1)) <= 5  # blocks of 40 rows
    assert division.calibrating.dependence.ordered is True
    assert not division.is_random


def test_a_splitter_of_scikit_learn_divides_by_its_own_rule():
    division = divided(plan(splits=KFold(4)))
    for train, split, start in zip(trained(division), division.calibrating.splits, range(0, N, 100), strict=True):
        np.testing.assert_array_equal(split.held_out, np.arange(start, start + 100))
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(N), split.held_out))
    assert not division.is_random


# ---------------------------------------------------------------- large tables


def test_if_most_rows_train_nothing_they_calibrate_with_a_guarantee():
    division = divided(plan(max_train_samples=40))  # 5 · 40 of 400 rows train
    reserved = division.calibrating
    assert isinstance(reserved, ReservedRows)
    assert reserved.guarantee == Guarantee("conformal")
    np.testing.assert_array_equal(np.sort(np.append(numbers(division), reserved.numbers)), np.arange(N))
    assert {len(split.train) for split in division.splits} == {40}
    np.testing.assert_array_equal(np.sort(np.concatenate(trained(division))), numbers(division))


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        ({"max_train_samples": 41}, {}),
        ({"max_train_samples": 40, "mass": 0.997}, {}),  # half of the rows reach 0.995
        ({"max_train_samples": 40}, {"groups": GROUPS}),
        ({"max_train_samples": 40, "time_order": True}, {}),
    ],
    ids=["most rows train", "too few rows for the mass", "groups", "time order"],
)
def test_else_all_other_rows_are_held_out(settings, labels):
    division = divided(plan(**settings), table(**labels))
    held_out = division.calibrating
    assert isinstance(held_out, HeldOutRows)
    np.testing.assert_array_equal(held_out.table, table().encoded)
    for train, split in zip(trained(division), held_out.splits, strict=True):
        assert len(train) == settings["max_train_samples"]
        assert not np.isin(train, split.held_out).any()
        if not labels and "time_order" not in settings:
            assert len(split.held_out) == N - len(train)
    assert len(numbers(division)) == len(np.unique(np.concatenate(trained(division)))) < N


def test_a_table_of_thousands_of_rows_trains_on_samples_of_a_thousand():
    division = divided(plan(splits="auto", max_train_samples="auto"), table(5000))
    assert {len(split.train) for split in division.splits} == {1000}
    assert len(division.splits) == 20
    assert isinstance(division.calibrating, HeldOutRows)
    large = divided(plan(splits="auto", max_train_samples="auto"), table(20_000))
    assert len(large.splits) == 10
    assert len(numbers(large)) == len(large.calibrating.numbers) == 10_000


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize("n", [300, 399, 400, 401, 5000])
@pytest.mark.parametrize("mode", ["cross", "conformal", "pac"])
@pytest.mark.parametrize("mass", [0.9, 0.999])
def test_of_a_stream_as_many_rows_train_as_of_an_array(mass, mode, n):
    """Or all rows are read, which divide as those of an array."""
    streamed = plan(mode, mass=mass, max_train_samples=40)
    try:
        division = divided(streamed, table(n))
    except TooFewRowsError:
        assert streamed.n_trained(n) is None
        return
    reserves = isinstance(division.calibrating, ReservedRows) and n >= 400
    assert streamed.n_trained(n) == (len(numbers(division)) if reserves else None)


def test_the_sample_of_a_stream_trains_and_the_rest_calibrates():
    sampled = np.sort(np.random.default_rng(0).permutation(N)[:200])
    X = table().encoded
    surveyed = Survey(None, N, X.min(axis=0), X.max(axis=0), X[sampled], sampled)
    rows = TableRows(RowEncoding(2), X[sampled], X[sampled], surveyed.lowest, surveyed.highest, surveyed=surveyed)
    assert rows.n_rows == N
    division = divided(plan(max_train_samples=40), rows)
    np.testing.assert_array_equal(numbers(division), sampled)
    assert division.calibrating == StreamedRows(surveyed, Guarantee("conformal"), Dependence(ordered=False))
    assert division.rows_per_parameter == 0.0


@pytest.mark.parametrize(
    ("settings", "samples"),
    [
        ({"max_train_samples": 40}, True),
        ({"max_train_samples": "auto", "splits": "auto"}, True),
        ({"max_train_samples": None}, False),
        ({"max_train_samples": 40, "time_order": True}, False),
        ({"max_train_samples": 40, "splits": KFold(3)}, False),
    ],
)
def test_a_stream_is_sampled_if_most_rows_may_train_nothing(settings, samples):
    assert plan(**settings).samples_streams is samples


def test_the_sample_of_a_stream_suffices_for_both_sides():
    assert plan(max_train_samples=500).sample_size == 2 * 5 * 500
    assert plan(max_train_samples=2).sample_size == 1000  # short streams are read whole
    assert plan(splits="auto", max_train_samples="auto").sample_size == 2 * MIN_SPLITS * 1000
