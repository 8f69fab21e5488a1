"""Queries to SQLite, which may only read one file."""

import csv
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

import ugly_tables
from mvset.app.tables.databases import spool_sqlite
from mvset.app.tables.errors import TableError

COMMAND = str(Path(sys.executable).parent / "mvset")
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def plant(tmp_path):
    ugly_tables.write_sqlite(tmp_path / "plant.db")
    ugly_tables.write_sqlite(tmp_path / "other.db")
    return tmp_path / "plant.db"


def rows(path, query):
    with spool_sqlite(path, "plant.db", query).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_values_arrive_right(plant):
    query = "SELECT 9223372036854775807 AS a, 0.1 AS b, NULL AS c, 'x, \"y\"' AS d, x'00ff' AS e, 1e300 AS f, 2.0 AS g"
    assert rows(plant, query) == [
        list("abcdefg"),
        ["9223372036854775807", "0.1", "", 'x, "y"', "0x00ff", "1e+300", "2"],
    ]


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO readings VALUES (1, 2, 3)",
        "DELETE FROM readings",
        "DROP TABLE readings",
        "CREATE TEMP TABLE t AS SELECT 1",
        "VACUUM INTO '{folder}/stolen.db'",
        "ATTACH '{folder}/other.db' AS other",
        "ATTACH '{folder}/stolen.db' AS stolen",
        "DETACH main",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA user_version = 7",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('{folder}/evil.so')",
        "SELECT 1; DROP TABLE readings",
        "SELECT * FROM other.readings",
        "SELECT * FROM '{folder}/other.db'.readings",
        "SELECT * FROM '{folder}/other.db'",
        "SELECT readfile('{folder}/other.db')",
        "SELECT writefile('{folder}/stolen.db', 'x')",
        "SELECT * FROM fsdir('{folder}')",
        "REINDEX",
        "BEGIN",
        "",
        "-- nothing",
    ],
)
def test_a_query_can_only_read_one_file(plant, query):
    before = {path: path.read_bytes() for path in plant.parent.iterdir()}
    with pytest.raises(TableError, match=r"^--query: .*[^.]\.$"):
        spool_sqlite(plant, "plant.db", query.replace("{folder}", str(plant.parent)))
    assert {path: path.read_bytes() for path in plant.parent.iterdir()} == before


def test_what_a_query_may_not_do_is_said(plant):
    for query in (
        "DROP TABLE readings",
        "ATTACH 'other.db' AS o",
        "PRAGMA user_version = 7",
        "SELECT load_extension('x')",
    ):
        with pytest.raises(TableError, match=r"^--query: only queries that read are allowed\.$"):
            spool_sqlite(plant, "plant.db", query)


def test_the_table_must_be_named_where_there_are_several(plant):
    with sqlite3.connect(plant) as database:
        database.execute('CREATE TABLE "odd ""name" (x)')
    database.close()
    with pytest.raises(TableError, match=r"plant\.db has 2 tables: 'readings', 'odd \"name'\. Say what to read, "):
        spool_sqlite(plant, "plant.db", None)


def test_a_folder_is_no_database(tmp_path):
    with pytest.raises(TableError, match=r"^There is no file plant\.db\.$"):
        spool_sqlite(tmp_path, "plant.db", "SELECT 1")


@pytest.mark.parametrize(
    ("sign", "code", "said"),
    [
        pytest.param(signal.SIGTERM, 143, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, "Stopped. Nothing was written.\n", marks=pytest.mark.slow),
    ],
)
def test_an_endless_query_can_be_stopped(plant, sign, code, said):
    command = [COMMAND, "fit", str(plant), "--query", ENDLESS, "--out", str(plant.parent / "m")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not _has_open(process, plant):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(sign)
    assert process.communicate(timeout=10) == ("", said)
    assert process.returncode == code
    assert not (plant.parent / "m").exists()


def _has_open(process, path):
    """Whether a process has opened a file."""
    for each in Path(f"/proc/{process.pid}/fd").glob("*"):
        with suppress(FileNotFoundError):  # it may have closed another one meanwhile
            if each.resolve() == path.resolve():
                return True
    return False


def test_a_damaged_database_is_named(tmp_path):
    path = tmp_path / "plant.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(float(i),) for i in range(5000)])
        connection.commit()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"^plant\.db cannot be read: database disk image is malformed\.$"):
        spool_sqlite(path, "plant.db", "SELECT x FROM t")
