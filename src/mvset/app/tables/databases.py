"""Results of queries to SQLite and PostgreSQL, in temporary files; queries can only read.

A query can still call whatever functions the role has a right to call on the server, such as `pg_terminate_backend`:
what it may do there is limited by the rights of the role, not here.
"""

import re
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet

from mvset.app.tables.errors import TableError, optional_package, quoted
from mvset.app.tables.spooling import spool_path, spool_rows

_FAULTS_OF_THE_QUERY = (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH)
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_PATIENCE = 1.0  # seconds for a query to end that is cancelled

Cancel = Callable[[], None]


def spool_sqlite(source: Path, label: str, query: str | None) -> Path:
    """The result of a query to a SQLite file; without one, the only table."""
    if not source.is_file():
        raise TableError(f"There is no file {label}.")

    def run(cancels: list[Cancel]) -> Path:
        connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        cancels.append(connection.interrupt)
        try:
            wanted = _only_table(connection, label) if query is None else query
            connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
            cursor = connection.execute(wanted)
            if cursor.description is None:
                raise TableError(f"--query: {wanted!r} returns no rows: begin it with SELECT.")
            return spool_rows([column[0] for column in cursor.description], cursor)
        finally:
            connection.close()

    try:
        return _stoppable(run)
    except (sqlite3.DatabaseError, sqlite3.Warning) as error:
        refused = "not authorized" in str(error) or "prohibited" in str(error)
        if not refused and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _FAULTS_OF_THE_QUERY:
            raise TableError(f"{label} cannot be read: {_first_line(error)}.") from None
        said = "only queries that read are allowed" if refused else _first_line(error)
        raise TableError(f"--query: {said}.") from None


def _stoppable(run: Callable[[list[Cancel]], Path]) -> Path:
    """Run a query in a thread, since no signal is handled before a driver returns; after a signal, cancel the query."""
    outcome: Future[Path] = Future()
    cancels: list[Cancel] = []

    def work() -> None:
        try:
            outcome.set_result(run(cancels))
        except BaseException as error:
            outcome.set_exception(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while not wait([outcome], timeout=0.1).done:
            pass
        return outcome.result()
    finally:
        if not outcome.done():
            for cancel in cancels:
                cancel()
            thread.join(_PATIENCE)


def _only_table(connection: sqlite3.Connection, label: str) -> str:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    tables = [name for (name,) in found]
    if len(tables) != 1:
        raise TableError(
            f"{label} has {len(tables)} tables{': ' + quoted(tables) if tables else ''}. Say what to read, for example "
            f"--query 'SELECT * FROM {tables[0] if tables else 'readings'}'."
        )
    name = tables[0].replace('"', '""')
    return f'SELECT * FROM "{name}"'


def spool_postgresql(address: str, query: str | None) -> Path:
    """The result of a query to PostgreSQL, in a transaction that only reads."""
    if query is None or not query.strip():
        raise TableError("PostgreSQL needs a query, for example --query 'SELECT * FROM readings'.")
    driver = optional_package("adbc_driver_postgresql.dbapi", "sql", "Reading PostgreSQL")

    def run(cancels: list[Cancel]) -> Path:
        with driver.connect(address) as connection, connection.cursor() as cursor:
            cancels.append(cursor.adbc_cancel)
            return _spool_result(cursor, query)

    try:
        return _stoppable(run)
    except driver.OperationalError as error:
        raise TableError(_connection_failed(address, _said(error))) from None
    except (driver.Error, pa.ArrowException, OSError) as error:
        raise TableError(f"--query: {_said(error)}.") from None


def _spool_result(cursor: Any, query: str) -> Path:
    cursor.execute("SET TRANSACTION READ ONLY")
    # As a part of another query it can only select; and the driver sends one statement, not several.
    cursor.execute(f"SELECT * FROM (\n{query.rstrip().rstrip(';')}\n) AS rows")
    reader = cursor.fetch_record_batch()
    schema = pa.schema([(field.name, _plain_type(field)) for field in reader.schema])
    if not schema.names:
        raise TableError("--query: the result has no columns.")
    path = spool_path(".parquet")
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in reader:
            columns = zip(batch.columns, schema.types, strict=True)
            plain = [getattr(column, "storage", column).cast(kind) for column, kind in columns]
            writer.write_batch(pa.RecordBatch.from_arrays(plain, schema=schema))
    return path


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def _said(error: Exception) -> str:
    """What the server says, without what it and the driver put before that."""
    before = r"^.*?(?:ERROR|FATAL): +|^(?:[A-Z_]+: )?(?:\[libpq\] )?(?:Failed to \w+(?: query)?: )?"
    return re.sub(before, "", _first_line(error), count=1)


def _connection_failed(address: str, said: str) -> str:
    """A sentence without the password, parts of which libpq may quote."""
    scheme, _, rest = address.partition("//")
    shown = f"{scheme}//{re.sub(r'password=[^&]*', 'password=…', rest.rpartition('@')[2])}"
    given = re.findall(r"//[^:/@?]*:(.*)@|[?&]\w*password=([^&]*)", address)
    secrets = {part for each in given for text in each for part in re.split(r"[@/?#:\[]", text) if part}
    if any(part in said or unquote(part) in said for part in secrets):
        said = (
            "the address is not understood. In a password, characters such as @ / : # % and spaces are written %40 %2F "
            "%3A %23 %25 and %20"
        )
    return f"{shown}: {said}."


def _plain_type(field: pa.Field) -> Any:
    """The type in which a column is kept: PostgreSQL's `numeric` comes as text of a type of its own."""
    kind = field.type
    if pa.types.is_interval(kind):
        raise TableError(
            f"--query: column {field.name!r} is an interval: write EXTRACT(EPOCH FROM …) for its number of seconds."
        )
    if isinstance(kind, pa.BaseExtensionType):
        return pa.float64() if "numeric" in str(kind) else kind.storage_type
    return kind
