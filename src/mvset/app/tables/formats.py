"""File formats: one class per format reads the schema of a file and its rows as record batches."""

import codecs
import os
import re
import shlex
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from mvset.app.tables.dialect import ANY_SPACE, Dialect, comment_mark, guess
from mvset.app.tables.errors import TableError, exclude_option, quoted
from mvset.app.tables.numbers import NotANumber, NumberStyle, as_numbers, kind_of
from mvset.app.tables.opening import (
    EndlessError,
    Version,
    decoded,
    encoding_of,
    end_of_lines,
    is_deep,
    native,
    opened,
    plain_blocks,
    plain_lines,
    transcoded,
    unchanged,
    whole,
)
from mvset.app.tables.options import GUESS, ReadingOptions
from mvset.devices.stages import ahead
from mvset.rows.labels import label_text
from mvset.rows.stream import consecutive
from mvset.values import cached_property
from mvset.wording import counted

_BATCH = 65_536  # rows per batch of binary formats
_BLOCK = 4 << 20  # bytes per batch of text formats
_SNIFFED = 256 << 10  # bytes that tell how a text is written


@contextmanager
def _read_errors(file: "TableFile") -> Iterator[None]:
    """Turn the errors of pyarrow, and a change of the file, into a TableError or an OSError that names the file."""
    with unchanged(file.path, file.label, file.version):
        try:
            yield
        except (pa.ArrowException, ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
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
    version: Version | None = None
    blocks: range | None = None  # those to read in a format that has blocks of rows; None: all

    def __post_init__(self) -> None:
        if self.version is None:
            object.__setattr__(self, "version", Version.of(self.path))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Sent to a worker, which may have a copy of the file with another time.
        self.__dict__.update(state, version=Version.of(state["path"]))

    @property
    def label(self) -> str:
        """What messages call the file."""
        return self.name or str(self.path)

    @cached_property
    def dialect(self) -> Dialect:
        """How text is written, as far as the user does not say."""
        return Dialect(numbers=NumberStyle(missing=self.options.missing))

    @property
    def remembered(self) -> dict[str, Any]:
        """What a model remembers about how the file was read, to read later tables in the same way."""
        return {}

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; in text formats, types are inferred from the first block."""
        with _read_errors(self):
            schema = self._schema()
        names = schema.names
        duplicates = sorted({name for name in names if name and names.count(name) > 1})
        if duplicates:
            raise TableError(f"{self.label} has more than one column called {duplicates[0]!r}: rename them.")
        return schema

    def batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Batches of rows with the columns and types of `wanted`, each with the share of the file read so far."""
        with _read_errors(self):
            start = self.start
            for batch, share in self._batches(wanted):
                columns = [self._converted(batch.column(field.name), field, start) for field in wanted]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted), share
                start += batch.num_rows

    def parts(self) -> "list[TableFile]":
        """The file in parts of consecutive blocks, which can be read by themselves: text is not divided."""
        with _read_errors(self):
            return [replace(self, blocks=blocks) for blocks in consecutive(self._sizes())] or [self]

    @property
    def start(self) -> int:
        """Number of rows of the file before this part."""
        return 0 if self.blocks is None else sum(self._sizes()[: self.blocks.start])

    def known_rows(self) -> int | None:
        """Number of rows, if the file says so."""
        with _read_errors(self):
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

    def known(self, column: pa.Array) -> pa.Array:
        """Return a column with null where a value stands for a missing one."""
        values = column.dictionary_encode()
        texts = [each.strip() if isinstance(each, str) else label_text(each) for each in values.dictionary.to_pylist()]
        missing = pa.array([self._stands_for_missing(text or "") for text in texts], pa.bool_())
        return pc.if_else(pc.take(missing, values.indices), pa.scalar(None, column.type), column)

    def _stands_for_missing(self, text: str) -> bool:
        return text in self.options.missing

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, wanted: Any) -> Iterator[tuple[pa.RecordBatch, float]]:
        raise NotImplementedError

    def _converted(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column in the type wanted."""
        if pa.types.is_string(column.type) and field.type == pa.float64():
            try:
                return as_numbers(column, self.dialect.numbers)
            except NotANumber as error:
                raise self._not_a_number(field.name, repr(error.value), start + error.index + 1) from None
        return column.cast(field.type, safe=False)

    def as_seen(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column as a condition sees it: in the type of `field`, null where a text stands for a missing value."""
        return self._converted(self.known(column) if pa.types.is_string(column.type) else column, field, start)

    def _not_a_number(self, name: str, value: str, row: int | None = None) -> TableError:
        where = "" if row is None else f" in row {row}"
        na = shlex.quote(f"na={value.strip(chr(39))}")
        missing = "" if row is None else f" If it stands for a missing value: --read {na}."
        return TableError(
            f"Column {name!r} of {self.label} has {value}{where}, which is not a number: correct it, or exclude the "
            f"column from the fit with {exclude_option([name])}.{missing}"
        )


class _TextFile(TableFile):
    """A text format, possibly compressed, read sequentially in blocks."""

    def _batches(self, wanted: pa.Schema | None) -> Iterator[tuple[pa.RecordBatch, float]]:
        size = max(1, self.path.stat().st_size)
        with opened(self.path) as (source, stream):
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


class CsvFile(_TextFile):
    """Values separated by commas, semicolons, tabs, vertical bars or white space."""

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written; everything that the user does not say is guessed."""
        with _read_errors(self):
            return self._guessed()

    def _guessed(self) -> Dialect:
        given = self.options
        with opened(self.path) as (_, stream):
            start = stream.read(_SNIFFED)
        text = decoded(start, self._encoding)
        _check_text(self.label, text)
        if len(start) == _SNIFFED:
            text = text[: text.rfind("\n") + 1]
            if not text:
                raise TableError(
                    f"{self.label}: the first line is longer than {_SNIFFED >> 10} KiB: too long for the names of "
                    "columns."
                )
        lines = re.split(r"\r\n|\r|\n", text)
        comment = comment_mark(lines) if given.comment is None else given.comment
        above = [line.lstrip() for line in lines if line.strip()]
        comments = list(takewhile(lambda line: bool(comment) and line.startswith(comment), above))
        like = None if given.like is None else Dialect.from_json(given.like)
        found = guess(
            plain_lines(text.encode(errors="surrogatepass"), comment, any_space=False).decode(errors="replace"),
            given,
            comment,
            comments[-1].lstrip(comment) if comments else "",
            like,
        )
        if any("\ufffd" in name for name in found.names):
            raise self._not_in_encoding()
        return found

    @cached_property
    def _encoding(self) -> str:
        if self.options.encoding is None:
            with opened(self.path) as (_, stream):
                return encoding_of(stream.read(4))
        try:
            return codecs.lookup(self.options.encoding).name
        except LookupError:
            raise TableError(
                f"--read encoding: {self.options.encoding!r} is unknown. Common ones are utf-8, latin-1 and utf-16."
            ) from None

    def _not_in_encoding(self) -> TableError:
        return TableError(
            f"{self.label} is not {self._encoding.upper()} text. Say which encoding it is in, for example --read "
            "encoding=latin-1."
        )

    @property
    def remembered(self) -> dict[str, Any]:
        """The dialect, and the encoding if it was named."""
        return {"dialect": self.dialect.as_json(), "encoding": self.options.encoding}

    def _schema(self) -> pa.Schema:
        dialect, kinds = self.dialect, {}
        if not dialect.names:
            raise self._without_rows()
        first = self._first()
        for name, column in zip(first.schema.names, first.columns, strict=True):
            try:
                kinds[name] = kind_of(column.cast(pa.string()), dialect.numbers)
            except pa.ArrowInvalid:  # text in another encoding, which may not be read
                kinds[name] = pa.string()
        # A separator at the end of each row makes a column without a name or values.
        names = [name for name in dialect.names if name or not pa.types.is_null(kinds[name])]
        return pa.schema([(name, kinds[name]) for name in names])

    def _parsed(self, stream: Any, wanted: pa.Schema | None) -> Iterator[pa.Table]:
        """Everything is text: numbers have many styles, and errors are to name the row and the value."""
        dialect = self.dialect
        names = list(dict.fromkeys(dialect.names))
        parse = pa.csv.ParseOptions(
            delimiter="\t" if dialect.separator == ANY_SPACE else dialect.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(dialect.names) > 1,  # in a single column, an empty line is a missing value
        )
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary() if wanted is None else pa.string()),
            include_columns=names if wanted is None else wanted.names,
        )
        read = pa.csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows=dialect.skip,
            skip_rows_after_names=dialect.header + dialect.units,
        )
        before = -read.skip_rows - read.skip_rows_after_names  # rows above the block; pyarrow counts those skipped
        blocks = plain_blocks(stream, self._encoding, dialect.comment, dialect.separator, _BLOCK, limit=2 * _BLOCK)
        try:
            for text in blocks:
                if before >= 0 and parse.ignore_empty_lines and text.isspace():
                    continue
                try:
                    table = pa.csv.read_csv(native(text), read, parse, convert)
                except pa.ArrowInvalid:
                    read.use_threads, read.block_size = False, len(text) + 1  # errors name the row; long cells fit
                    table = pa.csv.read_csv(native(text), read, parse, convert)
                yield table
                before = max(0, before) + table.num_rows
                read.skip_rows = read.skip_rows_after_names = 0
        except EndlessError as error:
            raise TableError(f"{self.label}: row {max(0, before) + 1}: {error}: correct the file.") from None
        except pa.ArrowInvalid as error:
            raise self._translated(error, before) from None

    def _translated(self, error: Exception, before: int) -> Exception:
        """Say in the terms of the file what is wrong with a block below so many rows."""
        if "invalid UTF8 data" in str(error):
            return self._not_in_encoding()
        if "straddling" in str(error):  # a header without an end
            return self._without_rows()
        found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        if found is None:
            return error
        row, values = int(found[1]) + before, counted(int(found[3]), "value")
        return TableError(f"{self.label}: row {row} has {values} instead of {found[2]}: correct the file.")

    def _copied_type(self, kind: Any) -> Any:
        """Text: 007 stays 007."""
        return pa.string()

    def _stands_for_missing(self, text: str) -> bool:
        return self.dialect.numbers.is_missing(text)


class NdjsonFile(_TextFile):
    """Newline-delimited JSON: one object per line."""

    def _schema(self) -> pa.Schema:
        return self._first().schema

    def _parsed(self, stream: Any, wanted: pa.Schema | None) -> Iterator[pa.Table]:
        options = pa.json.ParseOptions(newlines_in_values=False)
        if wanted is not None:
            options = pa.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        for text in whole(transcoded(stream, "utf-8", _BLOCK), end_of_lines, limit=2 * _BLOCK):
            if is_deep(text):
                raise TableError(f"{self.label} cannot be read: it is nested too deeply.")
            if not text.isspace():
                read = pa.json.ReadOptions(block_size=2 * len(text))
                try:
                    yield pa.json.read_json(native(text), read_options=read, parse_options=options)
                except pa.ArrowInvalid as error:
                    raise self._translated(error, wanted) from None

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
        with pa.parquet.ParquetFile(self.path, pre_buffer=False) as file:  # buffers are never released otherwise
            blocks = range(file.metadata.num_row_groups) if self.blocks is None else self.blocks
            read, n_rows = 0, max(1, sum(file.metadata.row_group(i).num_rows for i in blocks))
            for batch in file.iter_batches(batch_size=_BATCH, row_groups=list(blocks), columns=wanted.names):
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


def _check_text(label: str, text: str) -> None:
    """Fail at what is no text, or no table."""
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        raise TableError(f"{label} is a web page, or other markup, and no table.")
    odd = len(re.findall(r"[\x00-\x08\x0e-\x1f]", text))
    if odd > 0.01 * len(text):
        raise TableError(
            f"{label} cannot be read: it is neither text nor in a format that mvset knows. If it is text in another "
            "encoding, name that: --read encoding=utf-16."
        )


FORMATS: dict[str, type[TableFile]] = {
    "csv": CsvFile,
    "ndjson": NdjsonFile,
    "parquet": ParquetFile,
    "feather": FeatherFile,
}
