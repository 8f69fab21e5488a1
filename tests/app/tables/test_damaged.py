"""Files that would crash a parser, or the process."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from mvset import MinimumVolumeSet
from mvset.app.tables.errors import TableError
from mvset.app.tables.fitting import fit_table
from mvset.app.tables.reading import TableReader
from mvset.app.tables.sources import table_files

TABLE = pa.table({"id": [f"name{i}" for i in range(50)], "x": np.arange(50.0)})


def read(path, keep=("id",)):
    return list(TableReader(table_files([str(path)]), ["x"], keep).batches())


@pytest.mark.parametrize("offset", [2**31 - 1, -7, 10_000])
def test_wrong_offsets_of_text_in_a_feather_file(tmp_path, offset):
    """They point to memory that is not the file's."""
    path = tmp_path / "t.feather"
    pa.feather.write_feather(TABLE, path, compression="uncompressed")
    content = path.read_bytes()
    offsets = np.cumsum([0, *(len(each) for each in TABLE["id"].to_pylist())]).astype(np.int32).tobytes()
    place = content.index(offsets) + 4 * 20
    path.write_bytes(content[:place] + np.int32(offset).tobytes() + content[place + 4 :])
    with pytest.raises(TableError, match=r"t\.feather cannot be read: .*[Oo]ffset"):
        read(path)


def test_text_of_a_feather_file_that_is_no_text(tmp_path):
    path = tmp_path / "t.feather"
    pa.feather.write_feather(TABLE, path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"name20name21", b"name20\xff\xfee21"))
    with pytest.raises(TableError, match=r"t\.feather cannot be read: .*UTF8"):
        read(path)


def test_a_feather_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "t.feather"
    pa.feather.write_feather(TABLE, path, compression="uncompressed", chunksize=10)
    batches = TableReader(table_files([str(path)]), ["x"], ["id"]).batches()
    next(batches)
    with path.open("r+b") as file:
        file.truncate(600)
    with pytest.raises((TableError, OSError), match=r"t\.feather|cut"):
        list(batches)


@pytest.mark.parametrize("brackets", [b"[", b'{"a":'])
@pytest.mark.parametrize("rows_before", [0, 100_000])
def test_deeply_nested_json(tmp_path, brackets, rows_before):
    closing = {b"[": b"]", b'{"a":': b"}"}[brackets]
    nested = brackets * 20_000 + b"1" + closing * 20_000
    path = tmp_path / "t.ndjson"
    path.write_bytes(b'{"id": "a", "x": 1.5}\n' * rows_before + b'{"id": "a", "x": 1.5, "y": ' + nested + b"}\n")
    with pytest.raises(TableError, match=r"t\.ndjson cannot be read: it is nested too deeply"):
        read(path)


def test_brackets_in_text_are_no_nesting(tmp_path):
    path = tmp_path / "t.ndjson"
    path.write_text('{"id": "[[[{{ \\" [", "x": 1.5}\n' * 2000)
    assert sum(len(batch.rows) for batch in read(path)) == 2000


def test_a_header_that_does_not_end(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"column{j}" for j in range(100_000)) + "\n" + "1," * 99_999 + "1\n")
    with pytest.raises(TableError, match=r"t\.csv: the first line is longer than 256 KiB"):
        read(path)


def test_too_many_columns(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({f"x{j}": [1.0, 2.0, 4.0] for j in range(10_001)}), path)
    with pytest.raises(
        TableError, match=r"has 10001 columns: at most 10000 can be fitted to\. Select some with --columns"
    ):
        fit_table(table_files([str(path)]), MinimumVolumeSet(), seed=0)
