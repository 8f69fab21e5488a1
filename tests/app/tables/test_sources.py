import re
from pathlib import Path

import pytest

from mvset.app.tables.csv_file import CsvFile
from mvset.app.tables.errors import TableError
from mvset.app.tables.formats import FeatherFile, NdjsonFile, ParquetFile
from mvset.app.tables.sources import table_files


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "b.csv",
        "a.CSV",
        "readme.md",
        "_success.csv",
        ".hidden.csv",
        ".c/x.csv",
        "deep/z.parquet",
        "p[1].csv",
    ):
        path = Path("data", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return Path("data")


def names(*given):
    return [str(file.path) for file in table_files(given)]


def test_a_folder_gives_its_tables_except_hidden_ones(tree):
    assert names("data") == ["data/a.CSV", "data/b.csv", "data/deep/z.parquet", "data/p[1].csv"]


def test_a_pattern_gives_files_and_folders_by_name(tree):
    assert names("data/?.csv") == ["data/b.csv"]
    assert names("data/**/*.parquet") == ["data/deep/z.parquet"]
    assert names("d*") == names("data")


def test_an_existing_file_with_brackets_is_not_a_pattern(tree):
    assert names("data/p[1].csv") == ["data/p[1].csv"]


def test_files_come_in_the_order_named(tree):
    assert names("data/b.csv", "data/a.CSV") == ["data/b.csv", "data/a.CSV"]


@pytest.mark.parametrize("twice", [("data/b.csv", "data/b.csv"), ("data", "data/../data/b.csv")])
def test_a_file_named_twice_is_refused(tree, twice):
    with pytest.raises(TableError, match=r"b\.csv is given twice: its rows would be counted twice\."):
        table_files(twice)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data/none.csv", "There is no file data/none.csv."),
        ("data/*.feather", "There is no file data/*.feather."),
        ("empty", "The folder empty contains no table. Tables end in .csv, "),
    ],
)
def test_missing_and_unknown_files_are_refused(tree, name, said):
    Path("empty").mkdir()
    with pytest.raises(TableError, match=f"^{re.escape(said)}"):
        table_files([name])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t.csv", CsvFile),
        ("2026.01.01.csv", CsvFile),
        ("t.csv.gz", CsvFile),
        ("T.CSV.GZ", CsvFile),
        ("t.tsv", CsvFile),
        ("t.txt", CsvFile),
        ("t", CsvFile),
        ("t.pq", ParquetFile),
        ("t.snappy.parquet", ParquetFile),
        ("t.arrow", FeatherFile),
        ("t.jsonl.gz", NdjsonFile),
    ],
)
def test_an_empty_file_is_what_its_ending_says(name, kind, tmp_path):
    (tmp_path / name).write_bytes(b"")
    (file,) = table_files([str(tmp_path / name)])
    assert type(file) is kind
