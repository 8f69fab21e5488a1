import datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mvset.app.tables import formats
from mvset.app.tables.columns import check_numeric, selected_columns
from mvset.app.tables.errors import TableError
from mvset.app.tables.options import ReadingOptions
from mvset.app.tables.reading import TableReader
from mvset.app.tables.sources import table_files


def parquet(path, **columns):
    pa.parquet.write_table(pa.table(columns), path)
    return table_files([str(path)])[0]


def test_files_are_one_table_whatever_the_order_of_their_columns(tmp_path):
    first = parquet(tmp_path / "1.parquet", a=[1, 2], b=[3.5, 4.5])
    pa.csv.write_csv(pa.table({"b": [5.5], "x": ["y"], "a": [6]}), tmp_path / "2.csv")
    reader = TableReader([first, *table_files([str(tmp_path / "2.csv")])], ["a", "b"])
    batches = list(reader.batches())
    assert reader.reordered
    assert np.concatenate([batch.rows for batch in batches]).tolist() == [[1, 3.5], [2, 4.5], [6, 5.5]]
    assert np.concatenate([batch.numbers for batch in batches]).tolist() == [0, 1, 0]
    assert [batch.table for batch in batches] == [str(tmp_path / "1.parquet"), str(tmp_path / "2.csv")]
    assert (reader.n_rows, reader.n_dropped) == (3, 0)


def test_a_batch_without_complete_rows_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 10)
    values = np.r_[np.full(30, np.nan), np.arange(5.0)]
    reader = TableReader([parquet(tmp_path / "t.parquet", a=values, id=np.arange(35))], ["a"], ["id"], "drop")
    (batch,) = reader.batches()
    assert batch.rows[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert batch.kept["id"].to_pylist() == batch.numbers.tolist() == [30, 31, 32, 33, 34]
    assert (reader.n_rows, reader.n_dropped) == (35, 30)


@pytest.mark.parametrize("keep", [[], ["id"]])
def test_rows_with_missing_and_infinite_values_are_dropped_on_demand(tmp_path, keep):
    values = pa.array([1.0, None, float("nan"), float("inf"), -float("inf"), np.finfo(float).max, 2.0])
    file = parquet(tmp_path / "t.parquet", a=values, id=list("abcdefg"))
    (batch,) = TableReader([file], ["a"], keep, missing="drop").batches()
    assert batch.rows.tolist() == [[1.0], [np.finfo(float).max], [2.0]]
    assert batch.numbers.tolist() == [0, 5, 6]
    assert batch.kept.to_pylist() == ([{"id": "a"}, {"id": "f"}, {"id": "g"}] if keep else [])


def test_missing_values_far_down_are_counted_so_far(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 10)
    file = parquet(tmp_path / "t.parquet", a=[1.0] * 15 + [None] + [1.0] * 9)
    with pytest.raises(
        TableError, match=r"in 'a' \(1\), in 1 of the first 20 rows\. Fill them with --missing impute, leave"
    ):
        list(TableReader([file], ["a"]).batches())


def test_progress_ends_at_one_over_all_files(tmp_path):
    files = [parquet(tmp_path / f"{i}.parquet", a=np.arange(100.0 * (i + 1))) for i in range(3)]
    shares: list[float] = []
    for _ in TableReader(files, ["a"]).batches(shares.append):
        pass
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_kept_columns_have_their_type_or_are_text_if_files_disagree(tmp_path):
    one = parquet(tmp_path / "1.parquet", a=[1.0], id=[7], day=[datetime.date(2026, 1, 2)])
    two = parquet(tmp_path / "2.parquet", a=[1.0], id=[1.5], day=[datetime.date(2026, 1, 3)])
    (tmp_path / "3.csv").write_text("a,id,day\n1,007,x\n")
    both = TableReader([one, two], ["a"], ["id", "day", "a"])
    assert [field.type for field in both.kept_fields] == [pa.string(), pa.date32(), pa.float64()]
    assert [row["id"] for batch in both.batches() for row in batch.kept.to_pylist()] == ["7", "1.5"]
    mixed = TableReader([one, *table_files([str(tmp_path / "3.csv")])], ["a"], ["id", "day"])
    kept = [row for batch in mixed.batches() for row in batch.kept.to_pylist()]
    assert kept == [{"id": "7", "day": "2026-01-02"}, {"id": "007", "day": "x"}]


def test_every_file_is_checked_before_the_first_is_read(tmp_path):
    one = parquet(tmp_path / "1.parquet", a=[1.0])
    with pytest.raises(
        TableError, match=r"2\.parquet has no column 'a'; it has 'b'\. Rename a column, or fit without it: --exc"
    ):
        TableReader([one, parquet(tmp_path / "2.parquet", b=[1.0])], ["a"])
    with pytest.raises(TableError, match=r"3\.parquet: not numeric: 'a' \(string\)\. Exclude them from the fit with"):
        TableReader([one, parquet(tmp_path / "3.parquet", a=["x"])], ["a"])
    with pytest.raises(TableError, match=r"has no column 'id'; it has 'a'\. Correct --keep\."):
        TableReader([one], ["a"], ["id"])


@pytest.mark.parametrize(
    "values",
    [
        ["x"],
        [b"x"],
        [datetime.datetime(2026, 1, 1)],
        [datetime.timedelta(1)],
        [{"x": 1.0}],
        [[1.0]],
        pa.array(["x"]).dictionary_encode(),
    ],
)
def test_columns_that_are_not_numeric_are_refused(tmp_path, values):
    file = parquet(tmp_path / "t.parquet", a=[1.0], b=values)
    with pytest.raises(TableError, match=r"t\.parquet: not numeric: 'b' \(.+\)\. Exclude them from the fit with --ex"):
        check_numeric(file, file.schema, ["a", "b"])


def test_columns_are_selected_or_excluded_by_name(tmp_path):
    file = parquet(tmp_path / "t.parquet", a=[1.0], b=[1.0], **{"c,d": [1.0]})
    assert selected_columns(file, [], []) == ["a", "b", "c,d"]
    assert selected_columns(file, ["c,d", "a"], []) == ["c,d", "a"]
    assert selected_columns(file, [], ["a,b"]) == ["c,d"]
    assert selected_columns(file, ["b,a"], ["a"]) == ["b"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_words_for_missing_values_are_no_categories(tmp_path, suffix):
    table = pa.table({"x": [1.0] * 5, "site": ["1", "1.0", " 2", "-999", "3"]})
    path = str(tmp_path / f"t{suffix}")
    pa.csv.write_csv(table, path) if suffix == ".csv" else pa.parquet.write_table(table, path)
    files = table_files([path], ReadingOptions(missing=("-999",)))
    reader = TableReader(files, ["site", "x"], missing="note", categories={"site": ["1", "2"]})
    (batch,) = reader.batches()
    np.testing.assert_array_equal(batch.values[:, 0], [0, 0, 1, np.nan, -1])
    assert batch.unseen == {4: {"site": "3"}}
    assert batch.notes(reader.columns).to_pylist() == [None, None, None, "missing: site", "unseen: site = 3"]
