"""File formats: one class per format reads the schema of a file and its rows as record batches."""

import json
import lzma
import os
import re
import shlex
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from mvset.app.tables import numbers, opening
from mvset.app.tables.dialect import Dialect
from mvset.app.tables.errors import TableError, exclude_option, quoted
from mvset.app.tables.marks import is_some_number
from mvset.app.tables.options import GUESS, ReadingOptions
from mvset.devices.stages import ahead
from mvset.rows.labels import label_text
from mvset.rows.stream import consecutive
from mvset.values import cached_property

_BATCH = 65_536  # rows per batch of binary formats


@contextmanager
def read_errors(file: "TableFile") -> Iterator[None]:
    """Turn the errors of pyarrow, and a change of the file, into a TableError or an OSError that names the file."""
    with opening.unchanged(file.path, file.label, file.version):
        try:
            yield
        except (pa.ArrowException, ValueError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, TableError | MemoryError):
                raise
            if isinstance(error, OSError) and error.errno:
                raise type(error)(error.errno, os.strerror(error.errno), file.label) from None
            raise TableError(f"{file.label} cannot be read: {str(error).splitlines()[0].rstrip('.')}.") from None


@dataclass(frozen=True)
class TableFile:
    """A file that contains a table; `name` is what the user called it, if that is not its path.

    The file must be what it was when its `version` was taken, by default when this object was made.
    """

    path: Path
    options: ReadingOptions = GUESS
    name: str = ""
    version: opening.Version | None = None
    blocks: range | None = None  # those to read in a format that has blocks of rows; None: all

    def __post_init__(self) -> None:
        if self.version is None:
            object.__setattr__(self, "version", opening.Version.of(self.path))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Sent to a worker, which may have a copy of the file with another time.
        self.__dict__.update(state, version=opening.Version.of(state["path"]))

    @property
    def label(self) -> str:
        """What messages call the file."""
        return self.name or str(self.path)

    @cached_property
    def dialect(self) -> Dialect:
        """How text is written, as far as the user does not say."""
        return Dialect(numbers=numbers.NumberStyle(missing=self.options.missing))

    @property
    def remembered(self) -> dict[str, Any]:
        """What a model remembers about how the file was read, to read later tables in the same way."""
        return {"missing": self.options.missing}

    def like(self, other: "TableFile") -> Self:
        """The file, to be read in the same way as another where its cells do not show how."""
        return replace(self, options=replace(self.options, like=other.remembered.get("dialect")))

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; in text formats, types are inferred from the first block."""
        with read_errors(self):
            schema = self._schema()
        names = schema.names
        if duplicates := sorted({name for name in names if name and names.count(name) > 1}):
            raise TableError(f"{self.label} has more than one column called {duplicates[0]!r}: rename them.")
        return schema

    def batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Batches of rows with the columns and types of `wanted`, each with the share of the file read so far."""
        with read_errors(self):
            start = self.start
            for batch, share in self._batches(wanted):
                columns = [self._converted(batch.column(field.name), field, start) for field in wanted]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted), share
                start += batch.num_rows
            expected = self.known_rows()
            if expected is not None and start != self.start + expected:
                raise TableError(
                    f"{self.label} has {expected} rows, but {start - self.start} were read: it is damaged."
                )

    def parts(self) -> "list[TableFile]":
        """The file in parts of consecutive blocks, which can be read by themselves: text is not divided."""
        with read_errors(self):
            return [replace(self, blocks=blocks) for blocks in consecutive(self._sizes())] or [self]

    @property
    def start(self) -> int:
        """Number of rows of the file before this part."""
        return 0 if self.blocks is None else sum(self._sizes()[: self.blocks.start])

    def known_rows(self) -> int | None:
        """Number of rows, if the file says so."""
        with read_errors(self):
            sizes = self._sizes()
        return sum(sizes if self.blocks is None else [sizes[i] for i in self.blocks]) if sizes else None

    def _sizes(self) -> list[int]:
        """Number of rows of each block of the file, if it has blocks."""
        return []

    def copied_type(self, name: str) -> Any:
        """The type in which to read a column that is copied to the results unchanged."""
        return self._copied_type(self.schema.field(name).type)

    def _copied_type(self, kind: Any) -> Any:
        # Feather cannot write dictionaries that differ between batches.
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def known(self, column: pa.Array, labels: Collection[str] = ()) -> pa.Array:
        """Return a column with null where a value stands for a missing one and is not a label of the model."""
        values = column.dictionary_encode()
        texts = [each.strip() if isinstance(each, str) else label_text(each) for each in values.dictionary.to_pylist()]
        missing = [text not in labels and self._stands_for_missing(text or "") for text in texts]
        return pc.if_else(pc.take(pa.array(missing, pa.bool_()), values.indices), pa.scalar(None, column.type), column)

    def _stands_for_missing(self, text: str) -> bool:
        style = self.dialect.numbers
        return text in style.missing or (numbers.is_number(text, numbers.PLAIN) and style.is_missing(text))

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, wanted: Any) -> Iterator[tuple[pa.RecordBatch, float]]:
        raise NotImplementedError

    def _converted(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column in the type wanted."""
        if field.type != pa.float64():
            return column.cast(field.type, safe=False)
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string())  # to the nearest float64
        if not pa.types.is_string(column.type):
            try:
                values = column.cast(field.type, safe=pa.types.is_integer(column.type))
            except pa.ArrowInvalid:
                largest = max(column.drop_null().to_pylist(), key=abs)
                raise self._not_a_number(field.name, str(largest), numbers.TOO_MANY_DIGITS) from None
            return numbers.without_missing(values, self.dialect.numbers)
        try:
            return numbers.as_numbers(column, self.dialect.numbers, percent=field.name in self.dialect.percents)
        except numbers.NotANumber as error:
            row = start + error.index + 1
            raise self._not_a_number(field.name, repr(error.value), error.problem, row) from None

    def as_seen(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column as a condition sees it: in the type of `field`, null where a text stands for a missing value."""
        return self._converted(self.known(column) if pa.types.is_string(column.type) else column, field, start)

    def _not_a_number(
        self, name: str, value: str, problem: str = numbers.NO_NUMBER, row: int | None = None
    ) -> TableError:
        where = "" if row is None else f" in row {row}"
        bare, advice = value.strip("'"), ""
        if row is not None and problem == numbers.NO_NUMBER:
            advice = f" If it stands for a missing value: --read {shlex.quote(f'na={bare}')}."
            if is_some_number(bare):
                advice = " If its mark is the decimal one: --read decimal=, or --read decimal=. as it is."
            elif is_some_number(bare.strip("()-")):
                advice = " If it is negative, write the minus sign first."
        return TableError(
            f"Column {name!r} of {self.label} has {value}{where}, {problem}: correct it, or exclude the column from "
            f"the fit with {exclude_option([name])}.{advice}"
        )


class TextFile(TableFile):
    """A text format, possibly compressed, read sequentially in blocks."""

    def _batches(self, wanted: pa.Schema | None) -> Iterator[tuple[pa.RecordBatch, float]]:
        size = max(1, self.path.stat().st_size)
        with opening.opened(self.path) as (source, stream):
            for table in ahead(self._parsed(stream, wanted)):  # the next block is parsed while this one is used
                for batch in table.combine_chunks().to_batches():
                    yield batch, min(1.0, source.tell() / size)

    def _first(self) -> pa.RecordBatch:
        """The first batch, with the types that pyarrow infers."""
        for batch, _ in self._batches(None):
            return batch
        raise self._without_rows()

    def _without_rows(self) -> TableError:
        return TableError(f"{self.label} has no rows.")

    def _parsed(self, stream: Any, wanted: pa.Schema | None) -> Iterator[pa.Table]:
        raise NotImplementedError


class NdjsonFile(TextFile):
    """Newline-delimited JSON: one object per line."""

    def _schema(self) -> pa.Schema:
        return self._first().schema

    def _parsed(self, stream: Any, wanted: pa.Schema | None) -> Iterator[pa.Table]:
        options = pa.json.ParseOptions(newlines_in_values=False)
        if wanted is not None:
            options = pa.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        for text in opening.whole(opening.transcoded(stream, "utf-8"), opening.end_of_lines):
            if opening.is_deep(text):
                raise TableError(f"{self.label} cannot be read: it is nested too deeply.")
            if not text.isspace():
                read = pa.json.ReadOptions(block_size=2 * len(text))
                try:
                    table = pa.json.read_json(opening.native(text), read_options=read, parse_options=options)
                except pa.ArrowInvalid as error:
                    raise self._translated(error, wanted) from None
                self._check(text, table)
                yield table

    def _check(self, text: bytes, table: pa.Table) -> None:
        """Fail if lines are missing among the rows, or if an integer was rounded."""
        if table.num_rows != opening.n_lines(text) - len(re.findall(rb"(?m)^[ \t\r]+$", text)):
            raise TableError(f"{self.label} must have one object on each line.")
        for name, column in zip(table.schema.names, table.columns, strict=True):
            large = pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0.0) >= 2.0**53
            key = re.escape(json.dumps(name, ensure_ascii=False).encode())
            for found in re.finditer(key + rb"\s*:\s*(-?\d{16,})\s*[,}]", text) if large else ():
                if int(found[1]) != int(float(found[1])):
                    raise self._not_a_number(name, found[1].decode(), numbers.TOO_MANY_DIGITS)

    def _translated(self, error: Exception, wanted: pa.Schema | None) -> TableError:
        """Name the column; drop the row number, which pyarrow counts within a block."""
        message = str(error).splitlines()[0]
        found = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", message)
        if found and (wanted is None or found[1] in wanted.names):
            if found[2] == "number" and (wanted is None or wanted.field(found[1]).type == pa.float64()):
                return self._not_a_number(found[1], f"a {found[3]}")
            return TableError(
                f"Column {found[1]!r} of {self.label} mixes {found[2]} and {found[3]} values: use one type."
            )
        if "Failed to convert JSON" in message and wanted is not None:
            kept = [field.name for field in wanted if field.type != pa.float64()]
            return TableError(f"--keep: one of the columns {quoted(kept)} of {self.label} has mixed types: {message}.")
        return TableError(f"{self.label} cannot be read: {re.sub(r'[.]? in row .*', '', message)}.")

    def _copied_type(self, kind: Any) -> Any:
        """Text where the type was inferred from dates or empty values, since later values may differ."""
        return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


class ParquetFile(TableFile):
    """Apache Parquet."""

    def _schema(self) -> pa.Schema:
        return pa.parquet.read_schema(self.path)

    def _sizes(self) -> list[int]:
        metadata = pa.parquet.read_metadata(self.path)
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        blocks = None if self.blocks is None else list(self.blocks)
        read, n_rows = 0, self.known_rows() or 1
        # Buffers are never released with `pre_buffer`.
        with pa.parquet.ParquetFile(self.path, pre_buffer=False, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=_BATCH, row_groups=blocks, columns=wanted.names):
                read += batch.num_rows
                yield batch, read / n_rows


class FeatherFile(TableFile):
    """Feather, the file format of Apache Arrow."""

    def _schema(self) -> pa.Schema:
        with self._opened() as file:
            return file.schema

    def _sizes(self) -> list[int]:
        with self._opened([0]) as file:
            return [file.get_batch(i).num_rows for i in range(file.num_record_batches)]

    @contextmanager
    def _opened(self, columns: list[int] | None = None) -> Iterator[Any]:
        """The file, read and not mapped: one that shrinks meanwhile must not end the process."""
        options = pa.ipc.IpcReadOptions(included_fields=columns or [])
        with pa.OSFile(str(self.path)) as source, pa.ipc.open_file(source, options=options) as file:
            yield file

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        columns = sorted(self.schema.get_field_index(name) for name in wanted.names)
        with self._opened(columns) as file:
            blocks = range(file.num_record_batches) if self.blocks is None else self.blocks
            for done, i in enumerate(blocks):
                whole = file.get_batch(i)
                whole.validate(full=True)  # wrong offsets in a damaged file would read memory that is not its own
                for start in range(0, whole.num_rows, _BATCH):
                    batch = whole.slice(start, _BATCH)
                    yield batch, (done + (start + batch.num_rows) / whole.num_rows) / len(blocks)
