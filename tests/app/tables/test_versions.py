"""Tables that change while they are read."""

import json
import os
import pickle
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from mvset.app.tables import sources
from mvset.app.tables.errors import TableError
from mvset.app.tables.reading import TableReader
from mvset.app.tables.sources import table_files

ROWS = {"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]}
CHANGED = r"changed while it was read: wait until it is complete, or use a copy of it\.$"


def write(path, rows=ROWS):
    table = pa.table(rows)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, path)
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        pa.csv.write_csv(table, path)
    os.utime(path, (1e9, 1e9))


def replace(path):
    write(path.with_name(f"new{path.suffix}"), {"x": [9.0] * 3, "y": [9.0] * 3})
    path.with_name(f"new{path.suffix}").rename(path)
    os.utime(path)


def append(path):
    with path.open("ab") as file:
        file.write(b"7,8\n")


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("change", [replace, append, truncate])
@pytest.mark.parametrize("ending", [".csv", ".ndjson", ".parquet", ".feather"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, ending, change, begun):
    path = tmp_path / f"t{ending}"
    write(path)
    reader = TableReader(table_files([str(path)]), ["x", "y"])
    batches = reader.batches()
    if begun:
        next(batches)
    change(path)
    with pytest.raises(TableError, match=f"{path.name} {CHANGED}"):
        list(batches)


def test_a_table_that_changes_between_two_readings_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    write(path)
    (file,) = table_files([str(path)])
    reader = TableReader([file], ["x"])
    assert sum(len(batch.rows) for batch in reader.batches()) == 3
    append(path)
    with pytest.raises(TableError, match=CHANGED):
        list(TableReader([file], ["x"]).batches())


@pytest.mark.parametrize("ending", [".xlsx", ".json", ".zip"])
def test_a_table_that_changes_while_it_is_spooled_is_refused(tmp_path, monkeypatch, ending):
    path = tmp_path / f"t{ending}"
    if ending == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(["x"])
        book.active.append([1.0])
        book.save(path)
    elif ending == ".json":
        path.write_text('[{"x": 1}]')
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.csv", "x\n1\n")
    name = {".xlsx": "spool_workbook", ".json": "spool_json", ".zip": "spool_members"}[ending]
    spool = getattr(sources, name)

    def spool_and_change(*arguments):
        found = spool(*arguments)
        os.utime(path, (1e9, 1e9))
        return found

    monkeypatch.setattr(sources, name, spool_and_change)
    with pytest.raises(TableError, match=CHANGED):
        table_files([str(path)])


def test_a_table_that_is_gone_is_said_to_be_so(tmp_path):
    path = tmp_path / "t.csv"
    write(path)
    reader = TableReader(table_files([str(path)]), ["x"])
    path.unlink()
    with pytest.raises(FileNotFoundError):
        list(reader.batches())


def test_a_worker_may_have_a_copy_of_the_table(tmp_path):
    path = tmp_path / "t.parquet"
    write(path)
    sent = pickle.dumps(TableReader(table_files([str(path)]), ["x"]).parts())
    os.utime(path, (2e9, 2e9))
    (part,) = pickle.loads(sent)
    assert sum(len(batch.rows) for batch in part.batches()) == 3
    append(path)
    with pytest.raises(TableError, match=CHANGED):
        list(part.batches())
