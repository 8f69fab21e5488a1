from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from mvset.calibration.splits import RandomSplitting, drawn_seed
from mvset.rows import stream as module
from mvset.rows import survey as survey_module
from mvset.rows.stream import SpooledRows, row_stream
from mvset.rows.survey import Survey, chosen, remaining


class Parts:
    """A table in parts."""

    def __init__(self, rows, cuts=()):
        self.names = [f"c{j}" for j in range(rows.shape[1])]
        self.parts = np.split(rows, cuts)

    def batches(self):
        return iter(self.parts)


class Stream:
    """An object that gives an Arrow stream and nothing else."""

    def __init__(self, table, size=None):
        self.table, self.size = table, size

    def __arrow_c_stream__(self, requested_schema=None):
        batches = self.table.to_batches(self.size)
        return pa.RecordBatchReader.from_batches(self.table.schema, batches).__arrow_c_stream__(requested_schema)


def survey(table, size, seed):
    """A sample of `size` rows, or all if that would leave less than half of them."""
    return survey_module.survey(table, 2 * size - 1, seed, lambda n: size if n >= 2 * size else None)


def rows_of(n, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def read(stream):
    return np.concatenate(list(stream.batches()))


CUTS = [(), (1,), (0, 0, 500), (999, 1000), tuple(range(0, 1000, 7)), tuple(range(1000))]


# ---------------------------------------------------------------- what is a stream


def test_a_dataset_is_read_anew_each_time():
    rows = rows_of(50)
    stream = row_stream(pa.dataset.dataset(pa.table({"a": rows[:, 0], "b": rows[:, 1]})))
    assert stream.names == ["a", "b"]
    for _ in range(2):
        np.testing.assert_array_equal(read(stream), rows)


def test_a_stream_that_can_be_read_only_once_is_kept(monkeypatch):
    rows = rows_of(50, d=3)
    monkeypatch.setattr(module, "BATCH_ROWS", 20)
    stream = row_stream(pa.RecordBatchReader.from_stream(Stream(pa.table(dict(zip("abc", rows.T, strict=True))), 7)))
    assert stream.names == ["a", "b", "c"]
    for _ in range(2):
        assert [len(batch) for batch in stream.batches()] == [20, 20, 10]
        np.testing.assert_array_equal(read(stream), rows)


def test_reading_may_stop_half_way_and_begin_again(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 20)
    rows = rows_of(50)
    stream = SpooledRows(Stream(pa.table({"a": rows[:, 0], "b": rows[:, 1]})))
    np.testing.assert_array_equal(next(stream.batches()), rows[:20])
    np.testing.assert_array_equal(read(stream), rows)


def test_a_stream_is_taken_as_it_is():
    stream = Parts(rows_of(5))
    assert row_stream(stream) is stream


def test_what_is_held_in_memory_is_no_stream():
    rows = rows_of(5)
    polars = pytest.importorskip("polars")
    for X in (rows, rows.tolist(), pd.DataFrame(rows), polars.DataFrame(rows), pa.table({"a": rows[:, 0]}), None, "a"):
        assert row_stream(X) is None


def test_a_memory_map_is_no_stream(tmp_path):
    np.save(tmp_path / "rows.npy", rows_of(5))
    assert row_stream(np.load(tmp_path / "rows.npy", mmap_mode="r")) is None


def test_a_frame_is_no_stream_whatever_its_columns_are_called():
    assert row_stream(pd.DataFrame({"names": [1.0, 2.0], "batches": [3.0, 4.0]})) is None


@pytest.mark.parametrize("kind", [pa.dataset.dataset, Stream], ids=["dataset", "stream"])
def test_numbers_of_all_kinds_become_float64(kind):
    table = pa.table(
        {
            "whole": pa.array([1, 2, None], pa.int32()),
            "small": pa.array([1, 2, 3], pa.uint8()),
            "single": pa.array([0.5, 0.1, 2.0], pa.float32()),
            "yes": pa.array([True, None, False]),
            "price": pa.array([Decimal("1.25"), Decimal("-2"), None], pa.decimal128(7, 2)),
            "none": pa.nulls(3),
        }
    )
    found = read(row_stream(kind(table)))
    nan = np.nan
    expected = np.array(
        [[1, 1, 0.5, 1, 1.25, nan], [2, 2, np.float32(0.1), nan, -2, nan], [nan, 3, 2, 0, nan, nan]], dtype=float
    )
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [pa.dataset.dataset, Stream], ids=["dataset", "stream"])
@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array(["a", "b"]), "text"),
        (pa.array(["a", "b"], pa.large_string()), "text"),
        (pa.array(["a", "b"]).dictionary_encode(), "text"),
        (pa.array([b"a", b"b"]), "text"),
        (pa.array([0, 1], pa.date32()), "dates"),
        (pa.array([0, 1], pa.timestamp("us", tz="UTC")), "dates"),
        (pa.array([0, 1], pa.duration("s")), "dates"),
    ],
    ids=str,
)
def test_text_and_dates_are_refused_by_name(kind, column, said):
    table = pa.table({"flow": [1.0, 2.0], "odd": column})
    with pytest.raises(ValueError, match=rf"^Column 'odd' of X is not numeric, but {said}\."):
        row_stream(kind(table))


def test_text_is_refused_before_a_row_is_read():
    def batches():
        raise AssertionError("read")
        yield

    schema = pa.schema({"flow": pa.float64(), "pump": pa.string()})
    with pytest.raises(ValueError, match="'pump'"):
        row_stream(pa.RecordBatchReader.from_batches(schema, batches()))


# ---------------------------------------------------------------- one pass


@pytest.mark.parametrize("n", [2, 100, 199])
def test_all_rows_are_taken_if_a_sample_would_leave_less_than_half(n):
    rows = rows_of(n)
    found = survey(Parts(rows, [n // 2]), 100, seed=0)
    assert found.is_complete
    assert found.n_rows == n
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.numbers, np.arange(n))


@pytest.mark.parametrize("n", [200, 201, 5000])
def test_a_sample_is_taken_otherwise(n):
    found = survey(Parts(rows_of(n)), 100, seed=0)
    assert not found.is_complete
    assert found.n_rows == n
    assert found.rows.shape == (100, 2)


@pytest.mark.parametrize("n", [150, 1000, 20_000])
def test_the_numbers_are_those_of_the_rows(n):
    rows = rows_of(n)
    found = survey(Parts(rows, np.arange(0, n, 130)), 100, seed=3)
    assert (np.diff(found.numbers) > 0).all()
    np.testing.assert_array_equal(rows[found.numbers], found.rows)
    assert found.rows.flags.c_contiguous


def test_the_range_is_that_of_all_rows():
    rows = rows_of(3000, d=3)
    rows[:, 2] = 7.0
    rows[2999, 2] = 8.0
    found = survey(Parts(rows, [1, 1, 2998]), 100, seed=0)
    assert 2999 not in found.numbers
    np.testing.assert_array_equal(found.lowest, rows.min(axis=0))
    np.testing.assert_array_equal(found.highest, rows.max(axis=0))


@pytest.mark.parametrize("size", [60, 600], ids=["sample", "complete"])
@pytest.mark.parametrize("cuts", CUTS, ids=lambda cuts: f"{len(cuts)} cuts")
def test_batches_make_no_difference(cuts, size):
    rows = rows_of(1000)
    whole, parts = survey(Parts(rows), size, 5), survey(Parts(rows, cuts), size, 5)
    assert parts.n_rows == whole.n_rows
    for name in ("lowest", "highest", "rows", "numbers"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_every_row_has_the_same_probability():
    n_draws, size, n = 3000, 4, 20
    table = Parts(np.arange(float(n))[:, np.newaxis], [3, 4, 11])
    drawn = np.concatenate([survey(table, size, seed).numbers for seed in range(n_draws)])
    counts = np.bincount(drawn, minlength=n)
    assert counts.sum() == n_draws * size
    # Chi-square with 19 degrees of freedom: rows are drawn without replacement.
    expected = n_draws * size / n
    assert np.sum((counts - expected) ** 2 / (expected * (1 - size / n))) * (n - 1) / n < 49  # of 5000 seeds, one


def test_the_sample_is_the_one_that_an_array_would_be_split_into():
    rule, n = RandomSplitting(5, 0.2, 20), 700
    kept, reserved = rule.reserve(n, 0.5, np.random.RandomState(4))
    found = survey(Parts(rows_of(n), [333]), rule.n_trained, drawn_seed(np.random.RandomState(4)))
    np.testing.assert_array_equal(found.numbers, kept)
    np.testing.assert_array_equal(np.setdiff1d(np.arange(n), found.numbers), reserved)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_named_with_their_rows(bad):
    rows = rows_of(300, d=3)
    rows[[120, 130, 130], [1, 1, 2]] = bad
    with pytest.raises(
        ValueError,
        match=r"^Input X contains NaN or infinity in columns 'c1', 'c2' \(2 of rows 100 to 199\)\. Drop these rows",
    ):
        survey(Parts(rows, [100, 200]), 10, seed=0)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("cuts", [(), (0, 0)])
def test_fewer_than_two_rows_are_refused(n, cuts):
    with pytest.raises(ValueError, match=rf"Found array with {n} sample\(s\) while a minimum of 2 is required\."):
        survey(Parts(rows_of(n), cuts), 10, seed=0)


def test_no_batch_at_all_is_refused():
    table = Parts(rows_of(3))
    table.parts = []
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        survey(table, 10, seed=0)


# ---------------------------------------------------------------- the other rows


@pytest.mark.parametrize("cuts", CUTS, ids=lambda cuts: f"{len(cuts)} cuts")
@pytest.mark.parametrize("numbers", [[], [0], [999], [0, 1, 499, 500, 501, 999], list(range(1000))], ids=len)
def test_the_remaining_rows_are_all_others_in_their_order(cuts, numbers):
    rows = rows_of(1000)
    numbers = np.array(numbers, dtype=np.intp)
    surveyed = Survey(Parts(rows, cuts), 1000, rows.min(axis=0), rows.max(axis=0), rows[numbers], numbers)
    found = list(remaining(surveyed))
    np.testing.assert_array_equal(np.concatenate(found), np.delete(rows, numbers, axis=0))
    assert len(found) == len(cuts) + 1


def test_what_is_surveyed_and_what_remains_is_the_table():
    rows = np.arange(2000.0).reshape(1000, 2)
    table = Parts(rows, [10, 400])
    found = survey(table, 100, seed=0)
    others = np.concatenate(list(remaining(found)))
    assert len(others) == 900
    np.testing.assert_array_equal(np.sort(np.concatenate([found.rows, others]), axis=0), rows)


def test_chosen_rows_come_some_at_a_time(monkeypatch):
    rows = rows_of(100)
    numbers = np.arange(3, 97, 2)
    monkeypatch.setattr(survey_module, "BATCH_ROWS", 10)
    found = list(chosen(rows, numbers))
    assert [len(batch) for batch in found] == [10, 10, 10, 10, 7]
    np.testing.assert_array_equal(np.concatenate(found), rows[numbers])
    assert list(chosen(rows, np.arange(0))) == []


def test_a_table_that_changes_between_the_passes_is_noticed():
    rows = rows_of(1000)
    found = survey(Parts(rows), 100, seed=0)
    with pytest.raises(ValueError, match="it had 1000 rows, and now has 900"):
        list(remaining(replace(found, stream=Parts(rows[:900]))))


def test_nested_columns_are_refused_by_name():
    table = pa.table({"x": [1.0, 2.0], "y": [[1.0], [2.0]]})
    with pytest.raises(ValueError, match=r"'y' \(list<"):
        row_stream(table.to_reader())


def test_a_scanner_is_read_like_its_dataset():
    table = pa.table({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    stream = row_stream(pyarrow.dataset.dataset(table).scanner(columns=["y"]))
    assert stream.names == ["y"]
    np.testing.assert_array_equal(np.concatenate(list(stream.batches())), [[3.0], [4.0]])
