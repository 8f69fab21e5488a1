"""Results of queries to SQLite and PostgreSQL, in temporary files; queries can only read."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from mvset.tables.errors import TableError, quoted
from mvset.tables.spooling import spool_path, spool_rows


def spool_sqlite(source: Path, label: str, query: str | None) -> Path:
    """The result of a query to a SQLite file; without one, the only table."""
    if not source.exists():
        raise TableError(f"There is no file {label}.")
    try:
        connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        try:
            query = _only_table(connection, label) if query is None else query
            connection.set_authorizer(_only_reads)
            cursor = connection.execute(query)
            if cursor.description is None:
                raise TableError(f"--query: {query!r} returns no rows: begin it with SELECT.")
            return spool_rows([column[0] for column in cursor.description], cursor)
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise TableError(f"{label} cannot be read: it is not a SQLite database.") from None
        said = "only queries that read are allowed" if "not authorized" in str(error) else str(error)
        raise TableError(f"--query: {said}.") from None


def _only_reads(action: int, *_: Any) -> int:
    """What a query may do: select, read, call functions."""
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


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
    if query is None:
        raise TableError("PostgreSQL needs a query, for example --query 'SELECT * FROM readings'.")
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise TableError("Reading PostgreSQL needs one more package: pip install 'mvset[sql]'") from None
    path = spool_path(".parquet")
    try:
        with driver.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(f"SELECT * FROM (\n{query.rstrip().rstrip(';')}\n) AS rows")
            reader = cursor.fetch_record_batch()
            schema = pa.schema([(field.name, _plain_type(field.type)) for field in reader.schema])
            with pa.parquet.ParquetWriter(path, schema) as writer:
                for batch in reader:
                    columns = [_plain(*each) for each in zip(batch.columns, schema.types, strict=True)]
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    except driver.OperationalError as error:
        raise TableError(f"{_without_password(address)}: {_first_line(error)}.") from None
    except (driver.Error, OSError) as error:
        raise TableError(f"--query: {_first_line(error)}.") from None
    return path


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def _without_password(address: str) -> str:
    return re.sub(r"//([^:/@]*):[^@]*@", r"//\1:…@", address)


def _plain_type(kind: Any) -> Any:
    """The type in which a column is kept: PostgreSQL's `numeric` comes as text of a type of its own."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.float64() if "numeric" in str(kind) else kind.storage_type
    return kind


def _plain(column: Any, kind: Any) -> Any:
    storage = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    return storage if storage.type == kind else pc.cast(storage, kind)
