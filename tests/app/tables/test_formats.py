import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from mvset.app.tables import formats, opening
from mvset.app.tables.csv_file import CsvFile
from mvset.app.tables.errors import TableError
from mvset.app.tables.formats import FeatherFile, NdjsonFile, ParquetFile, TableFile
from mvset.app.tables.sources import table_files

WANTED = pa.schema([("a", pa.float64()), ("b", pa.float64())])
ROWS = [{"a": 1.0, "b": 2.5}, {"a": 3.0, "b": -4.0}]


def opened(path) -> TableFile:
    (file,) = table_files([str(path)])
    return file


def rows(file, wanted=WANTED):
    return [row for batch, _ in file.batches(wanted) for row in batch.to_pylist()]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return opened(path)


def refused(file, said, wanted=WANTED):
    with pytest.raises(TableError) as error:
        (file.schema, rows(file, wanted))
    assert str(error.value) == said.format(path=file.path)


CSV = {
    "comma": "a,b\n1,2.5\n3,-4\n",
    "semicolon": "a;b\n1;2.5\n3;-4\n",
    "tab": "a\tb\n1\t2.5\n3\t-4\n",
    "byte-order mark": "\ufeffa,b\n1,2.5\n3,-4\n",
    "CRLF": "a,b\r\n1,2.5\r\n3,-4\r\n",
    "CR": "a,b\r1,2.5\r3,-4\r",
    "no newline at the end": "a,b\n1,2.5\n3,-4",
    "blank lines": "a,b\n\n1,2.5\n\n3,-4\n\n",
    "quotes": '"a","b"\n"1","2.5"\n"3","-4"\n',
    "spaces": "a,b\n1, 2.5\n 3,-4 \n",
    "decimal commas": "a;b\n1,0;2,5\n3,0;-4,0\n",
    "other columns": 'b,x,a,y\n2.5,z,1,"two\nlines"\n-4,z,3,"one ""line"""\n',
    "a quote inside a cell": 'a,b,size\n1,2.5,5" pipe\n3,-4,6" pipe\n',
    "two lines at the end": 'a,b,note\n1,2.5,x\n3,-4,"y\nz"\n',
    "latin-1 in a column that is not read": "a,b,note\n1,2.5,ä\n3,-4,ö\n".encode("latin-1"),
}


@pytest.mark.parametrize("name", CSV)
def test_csv_in_all_its_dialects(tmp_path, name):
    assert rows(write(tmp_path / "t.csv", CSV[name])) == ROWS


def test_compressed_text(tmp_path):
    text = "a,b\n1,2.5\n3,-4\n"
    assert rows(write(tmp_path / "t.csv.gz", gzip.compress(text.encode()))) == ROWS
    assert rows(write(tmp_path / "T.CSV.GZ", gzip.compress(text.encode()))) == ROWS
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    assert rows(write(tmp_path / "t.jsonl.gz", gzip.compress(lines.encode()))) == ROWS


def test_ndjson_parquet_and_feather(tmp_path):
    assert rows(write(tmp_path / "t.ndjson", '{"a":1,"b":2.5,"c":{"d":1}}\n\n{"b":-4,"a":3}\n')) == ROWS
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    pa.feather.write_feather(pa.Table.from_pylist(ROWS), tmp_path / "t.feather")
    assert rows(ParquetFile(tmp_path / "t.parquet")) == rows(FeatherFile(tmp_path / "t.feather")) == ROWS


@pytest.mark.parametrize("suffix", [".csv", ".ndjson", ".parquet", ".feather"])
def test_batches_are_small_and_shares_grow_to_one(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(formats, "_BATCH", 50)
    monkeypatch.setattr(opening, "_BLOCK", 500)
    path = tmp_path / f"t{suffix}"
    table = pa.table({"a": np.arange(1000.0), "b": np.arange(1000.0)})
    if suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        (pa.parquet.write_table if suffix == ".parquet" else pa.feather.write_feather)(table, path)
    batches = list(opened(path).batches(WANTED))
    assert max(batch.num_rows for batch, _ in batches) < 130
    assert pa.Table.from_batches([batch for batch, _ in batches]).equals(table)
    shares = [share for _, share in batches]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] == 1.0


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
def test_types_do_not_depend_on_the_first_block(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(opening, "_BLOCK", 500)
    values = [None] * 300 + [1] * 300 + [0.5] * 10
    lines = ["a,b"] if suffix == ".csv" else []
    for value in values:
        both = json.dumps({"a": 1, "b": value}) if suffix == ".ndjson" else f"1,{'' if value is None else value}"
        lines.append(both)
    file = write(tmp_path / f"t{suffix}", "\n".join(lines) + "\n")
    assert [row["b"] for row in rows(file)] == values


def test_parquet_columns_of_all_numeric_types(tmp_path):
    kinds = [pa.int8(), pa.uint64(), pa.bool_(), pa.decimal128(25, 2), pa.float16(), pa.float32()]
    columns = {str(kind): pa.array([1, 0, None]).cast(kind) for kind in kinds}
    columns["category"] = pa.array([1.0, 0.0, None]).dictionary_encode()
    columns["null"] = pa.nulls(3)
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    wanted = pa.schema([(name, pa.float64()) for name in columns])
    read = rows(ParquetFile(tmp_path / "t.parquet"), wanted)
    assert set(list(read[0].values())[:-1]) == {1.0}
    assert set(list(read[1].values())[:-1]) == {0.0}
    assert set(read[2].values()) == {None}


def test_names_with_dots_are_not_paths(tmp_path):
    nested = pa.array([{"x": -1.0}] * 2)
    pa.parquet.write_table(pa.table({"s": nested, "s.x": [1.0, 2.0], "a": [3.0, 4.0]}), tmp_path / "t.parquet")
    wanted = pa.schema([("a", pa.float64()), ("s.x", pa.float64())])
    assert rows(ParquetFile(tmp_path / "t.parquet"), wanted) == [{"a": 3.0, "s.x": 1.0}, {"a": 4.0, "s.x": 2.0}]


NOT_UTF8 = "{path} is not UTF-8 text. Say which encoding it is in, for example --read encoding=latin-1."
BAD_CSV = {
    "empty": ("", "{path} has no rows."),
    "blank": ("\n\n", "{path} has no rows."),
    "names without an end": ("a,b", "{path} has no rows."),
    "doubled": ("a,b,a\n1,2,3\n", "{path} has more than one column called 'a': rename them."),
    "short row": ("a,b\n1,2\n3\n", "{path}: row 2 has 1 value instead of 2: correct the file."),
    "long row": ("a,b\n1,2\n3,4,5\n", "{path}: row 2 has 3 values instead of 2: correct the file."),
    "cyrillic names": ("a,b,насос\n1,2,3\n".encode("cp1251"), NOT_UTF8),
    "hexadecimal": (
        "a,b\n1,2\n0x10,2\n",
        "Column 'a' of {path} has '0x10' in row 2, which is not a number: correct it, or exclude the column from the "
        "fit with --exclude a. If it stands for a missing value: --read na=0x10.",
    ),
    "open quote": (
        'a,b,c d\n1,2,x\n3,4,"y\n5,6,z\n',
        "{path}: row 2: a quotation mark is not closed: correct the file.",
    ),
    "truncated gzip": (gzip.compress(b"a,b\n1,2\n")[:-12], "{path} cannot be read: Truncated compressed stream."),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_csv_that_cannot_be_read_is_named(tmp_path, name):
    content, said = BAD_CSV[name]
    refused(write(tmp_path / ("t.csv.gz" if "gzip" in name else "t.csv"), content), said)


def test_text_far_down_is_named_with_its_column(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK", 500)
    said = "which is not a number: correct it, or exclude the column from the fit with --exclude b."
    csv = write(tmp_path / "t.csv", "x,a,b\n" + "y,1,2\n" * 1000 + "y,1,oops\n")
    refused(
        csv,
        "Column 'b' of {path} has 'oops' in row 1001, " + said + " If it stands for a missing value: --read na=oops.",
    )
    ndjson = write(tmp_path / "t.ndjson", '{"a": 1, "b": 2}\n' * 1000 + '{"a": 1, "b": "oops"}\n')
    refused(ndjson, "Column 'b' of {path} has a string, " + said)


def test_text_that_is_kept_must_be_utf8(tmp_path):
    file = write(tmp_path / "t.csv", b"a,b\n" + b"1,2\n" * 100_000 + "1,ä\n".encode("latin-1"))
    wanted = pa.schema([("b", pa.string())])
    refused(file, NOT_UTF8, wanted)


BAD_NDJSON = {
    "empty": ("", "{path} has no rows."),
    "half": ('{"a":1,"b":2}\n{"a":1,"b":\n', "{path} cannot be read: JSON parse error: Invalid value."),
    "twice": ('{"a":1,"a":2}\n', "{path} cannot be read: JSON parse error: Column(/a) was specified twice."),
}


@pytest.mark.parametrize("name", BAD_NDJSON)
def test_ndjson_that_cannot_be_read_is_named(tmp_path, name):
    content, said = BAD_NDJSON[name]
    refused(write(tmp_path / "t.ndjson", content), said)


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ('"x"', "Column 'id' of {path} mixes number and string values: use one type."),
        (
            "0.5",
            "--keep: one of the columns 'id' of {path} has mixed types: Failed to convert JSON to int64, couldn't "
            "parse:0.5.",
        ),
    ],
)
def test_ndjson_values_that_are_kept_must_have_one_type(tmp_path, monkeypatch, later, said):
    monkeypatch.setattr(opening, "_BLOCK", 500)
    file = write(tmp_path / "t.ndjson", '{"id": 1}\n' * 500 + f'{{"id": {later}}}\n')
    refused(file, said, pa.schema([("id", pa.int64())]))


def test_damaged_parquet_and_feather_are_named(tmp_path):
    table = pa.table({"a": np.random.default_rng(0).normal(size=500), "b": np.arange(500.0)})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    damaged = whole[:4] + b"x" * 60 + whole[64:]
    said = r"bad\.parquet cannot be read: \w.*\w\.$"
    for content in (b"", whole[: len(whole) // 2], damaged):
        file = write(tmp_path / "bad.parquet", content)
        with pytest.raises(TableError, match=said):
            (file.schema, rows(file))
    pa.feather.write_feather(table, tmp_path / "t.feather")
    whole = (tmp_path / "t.feather").read_bytes()
    for content in (b"", b"FEA1" + bytes(100), whole[: len(whole) // 2]):
        file = write(tmp_path / "bad.feather", content)
        with pytest.raises(TableError, match=re.escape("bad.feather cannot be read: ")):
            (file.schema, rows(file))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    for name in ("t.csv", "t.ndjson", "t.parquet", "t.feather"):
        (tmp_path / name).write_bytes(b"")
        file = opened(tmp_path / name)
        file.path.unlink()
        with pytest.raises(FileNotFoundError) as error:
            _ = file.schema
        assert error.value.filename == str(tmp_path / name)
        assert error.value.strerror == "No such file or directory"


def test_types_of_columns_that_are_copied_unchanged(tmp_path):
    assert CsvFile(tmp_path)._copied_type(pa.int64()) == pa.string()
    assert NdjsonFile(tmp_path)._copied_type(pa.timestamp("s")) == pa.string()
    assert NdjsonFile(tmp_path)._copied_type(pa.null()) == pa.string()
    assert NdjsonFile(tmp_path)._copied_type(pa.int64()) == pa.int64()
    assert ParquetFile(tmp_path)._copied_type(pa.timestamp("us")) == pa.timestamp("us")
    assert ParquetFile(tmp_path)._copied_type(pa.dictionary(pa.int8(), pa.string())) == pa.string()


def test_an_empty_line_in_a_single_column_is_a_missing_value(tmp_path):
    file = write(tmp_path / "t.csv", "x\n1\n\n3\n")
    assert rows(file, pa.schema([("x", pa.float64())])) == [{"x": 1.0}, {"x": None}, {"x": 3.0}]


def test_tabs_separate_where_the_name_says_so(tmp_path):
    assert write(tmp_path / "t.tsv", "a,b,c\td\n1\t2\n").schema.names == ["a,b,c", "d"]


def test_true_and_false_are_numbers(tmp_path):
    file = write(tmp_path / "t.csv", "a,b\ntrue,2.5\nfalse,-4\n")
    assert rows(file) == [{"a": 1.0, "b": 2.5}, {"a": 0.0, "b": -4.0}]


def test_batches_are_released(tmp_path):
    table = pa.table({"a": np.random.default_rng(0).normal(size=600_000), "b": np.zeros(600_000)})
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=20_000, compression="none")
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in ParquetFile(tmp_path / "t.parquet").batches(WANTED)]
    assert len(held) >= 9
    assert max(held) < table.nbytes / 2


ENDING = """
import sys, time
from mvset.app.tables import csv_file, formats, opening, sources

def slowly(text):
    time.sleep(0.2)
    return text

ends, opening.end_of_lines = opening.end_of_lines, lambda text, *rest: ends(slowly(text), *rest)
csv_file.end_of_lines = formats.end_of_lines = opening.end_of_lines
opening._BLOCK = 20_000
file = sources.table_files([sys.argv[1]])[0]
reading = file.batches(file.schema)
print(next(reading)[0].num_rows)
"""


def test_a_process_may_end_while_a_file_is_read(tmp_path):
    """The threads of pyarrow outlive its readers: one that needed Python then would abort the process."""
    (tmp_path / "t.csv").write_text("# comment\na,b\n" + "1.5,2.5\n" * 40_000)
    (tmp_path / "t.ndjson").write_text('{"a":1.5,"b":2.5}\n' * 40_000)
    commands = [[sys.executable, "-c", ENDING, tmp_path / f"t.{kind}"] for kind in ("csv", "ndjson")]
    for process in [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for each in commands]:
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        assert int(out) > 0


def test_a_row_that_cannot_be_parsed_is_counted_over_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK", 1_000)
    file = write(tmp_path / "t.csv", "# note\na,b\n" + "1,2\n# note\n" * 2_000 + "1,2,3\n" + "1,2\n" * 2_000)
    refused(file, "{path}: row 2001 has 3 values instead of 2: correct the file.")


def test_a_value_in_quotation_marks_may_reach_into_the_next_block(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK", 1_000)
    file = write(tmp_path / "t.csv", "# note\na,b\n" + '1,"2\n\n3"\n' * 700)
    table = pa.Table.from_batches([batch for batch, _ in file.batches(pa.schema([("b", pa.string())]))])
    assert table.column("b").to_pylist() == ["2\n\n3"] * 700


@pytest.mark.parametrize("comment", ["", "# note\r"])
def test_carriage_returns_end_lines_in_every_block(tmp_path, monkeypatch, comment):
    monkeypatch.setattr(opening, "_BLOCK", 1_000)
    file = write(tmp_path / "t.csv", comment + "a,b\r" + "".join(f"{i},2\r" for i in range(2_000)))
    assert [row["a"] for row in rows(file)] == list(range(2_000))


def test_an_unclosed_quotation_mark_far_above_the_end_is_found_early(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK", 1_000)
    file = write(tmp_path / "t.csv", "a,b\n" + "1,2\n" * 1_000 + '1,"2\n' + "1,2\n" * 10_000)
    refused(file, "{path}: row 1001: a quotation mark is not closed: correct the file.")


def test_a_cell_may_be_longer_than_the_blocks_of_pyarrow(tmp_path):
    file = write(tmp_path / "t.csv", "a,b\n1,2\n3," + "4" * 3_000_000 + "\n5,6\n")
    assert [len(row["b"]) for row in rows(file, pa.schema([("b", pa.string())]))] == [1, 3_000_000, 1]
