import datetime
import json
import math

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from mvset.app.tables.errors import TableError
from mvset.app.tables.writing import table_writer

SUFFIXES = [".csv", ".parquet", ".feather", ".arrow", ".ndjson", ".jsonl"]
TABLE = pa.table({"id": ["007", 'ü"\n,'], "value": [0.1, 2.0], "ok": [True, False]})


def write(path, table, batches=lambda table: table.to_batches(max_chunksize=1)):
    with table_writer(path, table.schema) as out:
        for batch in batches(table):
            out(batch)


def read(path):
    if path.suffix == ".csv":
        options = pa.csv.ConvertOptions(column_types=TABLE.schema)
        return pa.csv.read_csv(
            path, convert_options=options, parse_options=pa.csv.ParseOptions(newlines_in_values=True)
        )
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix in (".feather", ".arrow"):
        return pa.feather.read_table(path)
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text("utf-8").splitlines()])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_read_back_as_written(tmp_path, suffix):
    write(tmp_path / f"t{suffix}", TABLE)
    assert read(tmp_path / f"t{suffix}").equals(TABLE)
    assert [path.name for path in tmp_path.iterdir()] == [f"t{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_write_keeps_the_old_file(tmp_path, suffix, error):
    path = tmp_path / f"t{suffix}"
    path.write_text("old")

    def batches(_):
        yield TABLE.to_batches()[0]
        raise error

    with pytest.raises(error):
        write(path, TABLE, batches)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(
        TableError, match=r"t\.xlsx: unknown file extension\. Results can be written as \.parquet, \.pq, \.csv, "
    ):
        write(tmp_path / "t.xlsx", TABLE)


@pytest.mark.parametrize(
    ("suffix", "values", "kind"),
    [(".csv", [{"x": 1}], "struct<x: int64>"), (".csv", [b"x"], "binary"), (".ndjson", [b"x"], "binary")],
)
def test_columns_that_a_format_cannot_store_are_named(tmp_path, suffix, values, kind):
    with pytest.raises(TableError) as error:
        write(tmp_path / f"t{suffix}", pa.table({"a": values}))
    said = f"--keep: {tmp_path / 't'}{suffix} cannot store 'a' ({kind}): write .parquet or .feather instead."
    assert str(error.value) == said
    assert list(tmp_path.iterdir()) == []


def test_json_lines_are_valid_for_all_values(tmp_path):
    day = datetime.datetime(2026, 1, 2, 3)
    table = pa.table({"a": [math.nan, math.inf], "t": [day, None], "s": [{"x": 1}, None]})
    write(tmp_path / "t.ndjson", table)
    lines = (tmp_path / "t.ndjson").read_text().splitlines()
    assert [json.loads(line, parse_constant=lambda _: 1 / 0) for line in lines] == [
        {"a": None, "t": "2026-01-02 03:00:00", "s": {"x": 1}},
        {"a": None, "t": None, "s": None},
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_folder_is_reported_with_the_file_name(tmp_path, suffix):
    path = tmp_path / "deep" / f"t{suffix}"
    with pytest.raises(FileNotFoundError) as error:
        write(path, TABLE)
    assert error.value.filename == str(path)
    assert error.value.strerror == "No such file or directory"


def test_nested_nan_is_null_in_json(tmp_path):
    table = pa.table({"x": [[1.0, float("nan")]], "y": [float("inf")]})
    write(tmp_path / "t.ndjson", table)
    assert (tmp_path / "t.ndjson").read_text() == '{"x": [1.0, null], "y": null}\n'


def test_text_that_spreadsheets_would_run_is_guarded_in_csv_only(tmp_path):
    text = ["=HYPERLINK(1)", "+1+2", "-2-3", "@SUM(A1)", "\tx", "plain", None, "-5", "+3.2e4", "a=b", ""]
    batch = pa.record_batch({"=id": text, "x": [float(i) - 5 for i in range(len(text))]})
    for name in ("t.csv", "t.parquet"):
        with table_writer(tmp_path / name, batch.schema) as write:
            write(batch)
    written = pa.csv.read_csv(
        tmp_path / "t.csv", convert_options=pa.csv.ConvertOptions(column_types={"'=id": pa.string()})
    )
    guarded = ["'=HYPERLINK(1)", "'+1+2", "'-2-3", "'@SUM(A1)", "'\tx", "plain", "", "-5", "+3.2e4", "a=b", ""]
    assert written["'=id"].to_pylist() == guarded
    assert written["x"].to_pylist() == batch["x"].to_pylist()
    assert pa.parquet.read_table(tmp_path / "t.parquet")["=id"].to_pylist() == text
