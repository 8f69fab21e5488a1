"""Write record batches to a file, in the format given by its extension."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from mvset.app.summaries.shown import finite_json
from mvset.app.tables.errors import TableError
from mvset.files.atomic import atomic_write

Write = Callable[[pa.RecordBatch], None]

_FORMULA = r"^([=+\-@\t\r])"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$"


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """A function that writes batches; the file appears under its name when all are written.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    open_writer = _WRITERS.get(path.suffix.lower())
    if open_writer is None:
        raise TableError(f"{path}: unknown file extension. Results can be written as {', '.join(_WRITERS)}.")
    if open_writer in (pa.csv.CSVWriter, _ndjson):
        _check_textual(path, schema)
    guarded = open_writer is pa.csv.CSVWriter
    if guarded:
        schema = pa.schema([field.with_name(re.sub(_FORMULA, r"'\1", field.name)) for field in schema])
    try:
        with atomic_write(path) as aside, open_writer(aside, schema) as writer:

            def write(batch: pa.RecordBatch) -> None:
                columns = [_without_formulas(column) if guarded else column for column in batch.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

            yield write
    except pa.ArrowException as error:
        raise TableError(f"{path} cannot be written: {str(error).splitlines()[0].rstrip('.')}.") from None


def _check_textual(path: Path, schema: pa.Schema) -> None:
    """Fail if a column cannot be written as text: binary columns, and nested columns in CSV."""
    is_csv = path.suffix.lower() == ".csv"
    others = [
        f"{field.name!r} ({field.type})"
        for field in schema
        if "binary" in str(field.type) or (is_csv and pa.types.is_nested(field.type))
    ]
    if others:
        raise TableError(f"--keep: {path} cannot store {', '.join(others)}: write .parquet or .feather instead.")


def _without_formulas(column: pa.Array) -> pa.Array:
    """Text with an apostrophe before what a spreadsheet would run; numbers that are text are left alone."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    number = pc.match_substring_regex(column, _NUMBER)
    return pc.if_else(number, column, pc.replace_substring_regex(column, _FORMULA, r"'\1"))


@contextmanager
def _ndjson(path: Path, schema: pa.Schema) -> Iterator[Any]:
    with path.open("w", encoding="utf-8") as out:

        def write(batch: pa.RecordBatch) -> None:
            out.writelines(finite_json(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())

        yield SimpleNamespace(write_batch=write)


_WRITERS: dict[str, Any] = {
    **dict.fromkeys((".parquet", ".pq"), pa.parquet.ParquetWriter),
    ".csv": pa.csv.CSVWriter,
    **dict.fromkeys((".feather", ".arrow"), pa.ipc.new_file),
    **dict.fromkeys((".ndjson", ".jsonl"), _ndjson),
}
