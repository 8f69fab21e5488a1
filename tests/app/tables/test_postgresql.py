"""Queries to a PostgreSQL server. Without one these tests skip; with MVSET_NEEDS_POSTGRES set they fail instead."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import mvset
import ugly_tables
from mvset.app.cli.app import app
from mvset.app.tables.databases import spool_postgresql
from mvset.app.tables.errors import TableError

COMMAND = str(Path(sys.executable).parent / "mvset")
N = 60
COLUMNS = "id, temperature, pressure, flow, grade, recorded, note, exact"


@pytest.fixture(scope="session")
def execute(postgresql):
    """Run a statement that may write; returns the rows of its result."""
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")

    def run(statement):
        with driver.connect(postgresql, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture(scope="session")
def plant(execute, postgresql):
    """The address of a database with a table `readings`."""
    execute(
        "CREATE TABLE readings (id bigint, temperature numeric(30,10), pressure double precision, flow integer, "
        "grade text, recorded timestamp, note text, exact numeric(30,10))"
    )
    rows = (
        f"({2**62 + i}, {row[0]}, {row[1]}, {row[2]:.0f}, '{'ab'[i % 2]}', timestamp '2026-01-01' + {i} * interval "
        f"'1 hour', NULL, 12345678901234567890.{i:010d})"
        for i, row in enumerate(ugly_tables.values(N))
    )
    execute(f"INSERT INTO readings VALUES {', '.join(rows)}")
    execute("UPDATE readings SET pressure = NULL WHERE flow = (SELECT max(flow) FROM readings)")
    execute("CREATE SEQUENCE counter")
    execute(
        "CREATE FUNCTION emptied() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM readings; RETURN 1; END $$"
    )
    return postgresql


def spooled(address, query):
    return pa.parquet.read_table(spool_postgresql(address, query))


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("quick_fits")
def test_fit_and_score_a_query(plant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    query = "SELECT temperature, pressure, flow, grade, recorded, id FROM readings WHERE pressure > 0 ORDER BY id;"
    fit = CliRunner().invoke(app, ["fit", plant, "--query", query, "--exclude", "id", "--out", "m.mvset", "--json"])
    assert fit.exit_code == 0, fit.stderr
    assert json.loads(fit.stdout)["rows_used"] == N - 1
    assert sorted(mvset.load("m.mvset").feature_names_in_) == ["flow", "grade", "pressure", "temperature"]
    assert "left out of the fit: recorded" in fit.stderr
    every = query.replace("WHERE pressure > 0", "")
    score = CliRunner().invoke(
        app, ["score", "m.mvset", plant, "--query", every, "--keep", "id,recorded", "--out", "scores.ndjson"]
    )
    assert score.exit_code == 0, score.stderr
    lines = [json.loads(line) for line in Path("scores.ndjson").read_text().splitlines()]
    assert [line["id"] for line in lines] == [2**62 + i for i in range(N)]
    assert sum(line["inside"] is None for line in lines) == 1  # the row without a pressure
    assert lines[25]["recorded"].replace("T", " ").startswith("2026-01-02 01:00:00")


def test_values_arrive_right(plant):
    found = spooled(plant, f"SELECT {COLUMNS} FROM readings ORDER BY id").to_pydict()
    values = ugly_tables.values(N)
    assert found["id"] == [2**62 + i for i in range(N)]
    assert found["temperature"] == values[:, 0].tolist()
    assert found["exact"] == [float(Decimal(f"12345678901234567890.{i:010d}")) for i in range(N)]
    assert found["flow"] == values[:, 2].round().tolist()
    assert found["grade"] == ["a", "b"] * (N // 2)
    assert found["note"] == [None] * N
    assert found["pressure"].count(None) == 1


def test_numbers_that_are_not_finite_are_kept(plant):
    query = "VALUES ('NaN'::numeric, 1::real), ('Infinity', 'NaN'), ('-0.5', '-Infinity'), (1e-30, NULL)"
    first, second = spooled(plant, query).to_pydict().values()
    assert repr(first) == "[nan, inf, -0.5, 1e-30]"
    assert repr(second) == "[1.0, nan, -inf, None]"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nowhere", '--query: relation "nowhere" does not exist.'),
        ("SELECT speed FROM readings", '--query: column "speed" does not exist.'),
        ("SELECT flow readings FROM", '--query: syntax error at or near ")".'),
        ("SELECT flow, FROM readings", '--query: syntax error at or near "FROM".'),
        ("SELECT", "--query: the result has no columns."),
        ("SELECT 1 / 0 AS x", "--query: division by zero."),
        ("SELECT flow / (flow - flow) AS x FROM readings", "--query: division by zero."),
        (
            "SELECT recorded - now() AS age FROM readings",
            "--query: column 'age' is an interval: write EXTRACT(EPOCH FROM …) for its number of seconds.",
        ),
    ],
)
def test_a_wrong_query_gives_a_sentence(plant, query, said):
    with pytest.raises(TableError) as error:
        spool_postgresql(plant, query)
    assert str(error.value) == said


@pytest.mark.parametrize("query", [None, "", " \n"])
def test_a_query_is_needed(query):
    with pytest.raises(TableError, match=r"^PostgreSQL needs a query, for example --query "):
        spool_postgresql("postgresql://localhost:1/plant", query)


STATE = (
    "SELECT (SELECT count(*) FROM readings), (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v')), "
    "(SELECT count(*) FROM pg_largeobject_metadata), (SELECT is_called FROM counter), current_setting('work_mem')"
)


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO readings (id) VALUES (1)",
        "INSERT INTO readings (id) VALUES (1) RETURNING id",
        "WITH new AS (INSERT INTO readings (id) VALUES (1) RETURNING id) SELECT * FROM new",
        "DELETE FROM readings",
        "TRUNCATE readings",
        "DROP TABLE readings",
        "SELECT 1; DROP TABLE readings",
        "SELECT 1 AS x) AS a; DROP TABLE readings; SELECT * FROM (SELECT 1",
        "SELECT 1 AS x) AS a; COMMIT; DROP TABLE readings; --",
        "SELECT 1 AS x) INTO stolen FROM (SELECT 1",
        "SELECT * INTO stolen FROM readings",
        "COPY readings TO PROGRAM 'touch {folder}/stolen'",
        "COPY readings TO '{folder}/stolen'",
        "SELECT 1 AS x) AS a; COPY readings TO PROGRAM 'touch {folder}/stolen'; SELECT * FROM (SELECT 1",
        "SELECT emptied()",
        "SELECT set_config('transaction_read_only', 'off', false) AS x, emptied()",
        "SELECT nextval('counter')",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "DO $$ BEGIN DELETE FROM readings; END $$",
        "CALL emptied()",
        "EXPLAIN ANALYZE DELETE FROM readings",
    ],
)
def test_a_query_that_writes_is_refused(plant, execute, query, tmp_path):
    before = execute(STATE)
    tmp_path.chmod(0o777)
    with pytest.raises(TableError, match=r"^--query: .*[^.]\.$"):
        spool_postgresql(plant, query.replace("{folder}", str(tmp_path)))
    assert execute(STATE) == before
    assert list(tmp_path.iterdir()) == []


def test_what_a_function_changes_is_rolled_back(plant, execute):
    before = execute(STATE)
    for query in ("SELECT lo_create(77)", "SELECT set_config('work_mem', '1MB', false)"):
        with contextlib.suppress(TableError):  # from PostgreSQL 16 on, large objects are read-only here
            spool_postgresql(plant, query)
    assert execute(STATE) == before


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3cret@/nowhere?host={host}",
        "postgresql://ann:s3cret@localhost:1/plant",
        "postgresql://ann@/plant?host=/nowhere&password=s3cret",
        "postgresql://ann:s3cret@[::1/plant",
        "postgresql://ann:%zzs3cret@localhost:1/plant",
        "postgresql://ann:s3cret x@localhost:1/plant",
        "postgresql://ann:x@s3cret@localhost:1/plant",
        "postgresql://ann:s3cret/x@localhost:1/plant",
        "postgresql://ann:%733cret x@localhost:1/plant",
    ],
)
def test_a_password_is_never_shown(postgresql, address):
    host = postgresql.partition("host=")[2]
    with pytest.raises(TableError) as error:
        spool_postgresql(address.replace("{host}", host), "SELECT 1")
    assert str(error.value).startswith("postgresql://")
    assert "3cret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_what_the_server_says_about_an_address_is_shown(postgresql):
    address = postgresql.replace("postgres@/postgres", "postgres@/nowhere")
    with pytest.raises(TableError, match=r': database "nowhere" does not exist\.$'):
        spool_postgresql(address, "SELECT 1")
    with pytest.raises(TableError, match=r"^postgresql://localhost:1/plant: connection to server at .* refused\.$"):
        spool_postgresql("postgresql://ann:s3cret@localhost:1/plant", "SELECT 1")


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("quick_fits")
def test_a_password_is_not_stored(plant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = plant.replace("postgres@", "postgres:s3cret@")
    query = ["--query", "SELECT temperature, flow FROM readings"]
    for arguments in (["fit", address, *query, "--json"], ["score", "model.mvset", address, *query, "--out", "s.csv"]):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.stderr
        assert "s3cret" not in done.output
    for path in tmp_path.iterdir():
        stored = subprocess.run(["unzip", "-p", str(path)], capture_output=True, check=False).stdout
        assert b"s3cret" not in path.read_bytes() + stored


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_long_query_can_be_stopped(plant, execute, sign, code, tmp_path):
    command = [COMMAND, "fit", plant, "--query", "SELECT 1.0 AS x FROM pg_sleep(30)", "--out", str(tmp_path / "m")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    active = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    while execute(active) == [(0,)]:
        assert process.poll() is None
        time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(sign)
    _, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert time.monotonic() - start < 10
    assert said == ("Stopped. Nothing was written.\n" if sign == signal.SIGINT else "")
    while execute(active) != [(0,)]:  # it ends on the server, too
        assert time.monotonic() - start < 10
    assert list(tmp_path.iterdir()) == []
