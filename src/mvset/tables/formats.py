"""File formats: one class per format reads the schema of a file and its rows as record batches."""

from __future__ import annotations

import codecs
import io
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

from mvset.cached import cached_property
from mvset.row_stream import consecutive
from mvset.tables.dialect import ANY_SPACE, Dialect, Given, comment_mark, guess
from mvset.tables.errors import TableError, exclude_option, quoted
from mvset.tables.numbers import NotANumber, NumberStyle, as_numbers, kind_of
from mvset.tables.opening import PlainLines, ShallowJson, as_utf8, decoded, encoding_of, opened, plain_lines
from mvset.tables.options import GUESS, ReadingOptions
from mvset.tables.versions import Version, changed, unchanged
from mvset.validation import is_missing, label_text
from mvset.wording import counted

_BATCH = 65_536  # rows per batch of binary formats
_BLOCK = 4 << 20  # bytes per batch of text formats
_SNIFFED = 256 << 10  # bytes that tell how a text is written


@contextmanager
def _read_errors(file: TableFile) -> Iterator[None]:
    """Turn the errors of pyarrow, and a change of the file, into a TableError or an OSError that names the file."""
    with unchanged(file.path, file.label, file.version):
        try:
            yield
        except (pa.ArrowException, ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            if isinstance(error, TableError | MemoryError):
                raise
            if isinstance(error, OSError) and error.errno:
                raise type(error)(error.errno, os.strerror(error.errno), file.label) from None
            if "Empty CSV file" in str(error):
                raise TableError(f"{file.label} has no rows.") from None
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

    @property
    def said(self) -> str:
        """What is unusual about how the file is read; empty if nothing is."""
        return ""

    @property
    def remembered(self) -> dict[str, Any]:
        """What a model remembers about how the file was read, to read later tables alike."""
        return {}

    @property
    def numbers(self) -> NumberStyle:
        """How numbers are written where they are text."""
        return NumberStyle(missing=self.options.missing)

    def schema(self) -> pa.Schema:
        """Names and types of the columns; in text formats, types are inferred from the first block."""
        return self._checked_schema

    @cached_property
    def _checked_schema(self) -> pa.Schema:
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

    def parts(self) -> list[TableFile]:
        """The file in parts that can be read by themselves: large text cannot be divided."""
        return [self]

    @property
    def start(self) -> int:
        """Number of rows of the file before this part."""
        return 0

    def known_rows(self) -> int | None:
        """Number of rows, if the file says so."""
        return None

    def unchanged_type(self, kind: Any) -> Any:
        """The type in which to read a column of type `kind` that is copied to the results unchanged."""
        # Feather cannot write dictionaries that differ between batches.
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def label_of(self, value: Any) -> str | None:
        """The text of a value of a category column; None if it is missing."""
        text = "" if is_missing(value) else label_text(value).strip()
        if is_missing(value) or self._stands_for_missing(text):
            return None
        return re.sub(r"^([+-]?\d+)\.0+$", r"\1", text)  # 1.0 is 1: so whole numbers are written beside missing ones

    def _stands_for_missing(self, text: str) -> bool:
        return text in self.options.missing

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        raise NotImplementedError

    def _converted(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column in the type wanted."""
        if pa.types.is_string(column.type) and field.type == pa.float64():
            try:
                return as_numbers(column, self.numbers)
            except NotANumber as error:
                raise self._not_a_number(field.name, repr(error.value), start + error.index + 1) from None
        return column.cast(field.type, safe=False)

    def as_seen(self, column: pa.Array, field: pa.Field, start: int) -> pa.Array:
        """A column as a condition sees it: in the type of `field`, null where a text stands for a missing value."""
        if pa.types.is_string(column.type):
            texts = column.dictionary_encode()
            missing = [self._stands_for_missing(each.strip()) for each in texts.dictionary.to_pylist()]
            gaps = pc.take(pa.array(missing, pa.bool_()), texts.indices)
            column = pc.if_else(gaps, pa.scalar(None, pa.string()), column)
        return self._converted(column, field, start)

    def _not_a_number(self, name: str, value: str, row: int | None = None) -> TableError:
        where = "" if row is None else f" in row {row}"
        missing = "" if row is None else f" If it stands for a missing value: --na {shlex.quote(value.strip(chr(39)))}."
        return TableError(
            f"Column {name!r} of {self.label} has {value}{where}, which is not a number: correct it, or exclude the "
            f"column from the fit with {exclude_option([name])}.{missing}"
        )


class _TextFile(TableFile):
    """A text format, possibly compressed, read sequentially in blocks."""

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        size = max(1, self.path.stat().st_size)
        try:
            with opened(self.path) as (source, stream), self._opened(stream, wanted) as reader:
                for i, batch in enumerate(reader, start=1):
                    # pyarrow reads ahead of the batches that it returns: count the returned blocks.
                    yield batch, min(size, source.tell(), i * _BLOCK) / size
        except pa.ArrowInvalid as error:
            raise self._translated(error, wanted) from None

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        raise NotImplementedError

    def _translated(self, error: Exception, wanted: pa.Schema | None) -> Exception:
        """An error of pyarrow, with the name of the column if it can be found."""
        return error

    def _schema(self) -> pa.Schema:
        try:
            with opened(self.path) as (_, stream), self._opened(stream, None) as reader:
                return reader.schema
        except pa.ArrowInvalid as error:
            raise self._translated(error, None) from None


class CsvFile(_TextFile):
    """Values separated by commas, semicolons, tabs, vertical bars or white space."""

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written, as far as the user does not say."""
        with _read_errors(self):
            return self._guessed()

    def _guessed(self) -> Dialect:
        given = self.options
        with opened(self.path) as (_, stream):
            start = stream.read(_SNIFFED)
        encoding = self._encoding(start)
        text = decoded(start, encoding)
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
            Given(given.separator, given.header, given.skip_rows, given.comment, given.missing),
            comment,
            comments[-1].lstrip(comment) if comments else "",
            like,
        )
        if any("\ufffd" in name for name in found.names):
            raise _not_in_encoding(self.label, encoding)
        return found

    def _encoding(self, start: bytes) -> str:
        if self.options.encoding is None:
            return encoding_of(start)
        try:
            return codecs.lookup(self.options.encoding).name
        except LookupError:
            raise TableError(
                f"--encoding: {self.options.encoding!r} is unknown. Common ones are utf-8, latin-1, cp1252 and utf-16."
            ) from None

    @property
    def said(self) -> str:
        """What is unusual about how the file is read."""
        return self.dialect.said

    @property
    def remembered(self) -> dict[str, Any]:
        """The dialect, and the encoding if it was named."""
        return {"dialect": self.dialect.as_json(), "encoding": self.options.encoding}

    def _schema(self) -> pa.Schema:
        dialect, kinds = self.dialect, {}
        if not dialect.names:
            raise TableError(f"{self.label} has no rows.")
        try:
            with opened(self.path) as (_, stream), self._opened(stream, None) as reader:
                first = next(iter(reader), None)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and self.path.stat().st_size < _BLOCK:  # a header without an end
                first = None
            else:
                raise self._translated(error, None) from None
        if first is None or not first.num_rows:
            raise TableError(f"{self.label} has no rows.")
        for name, column in zip(first.schema.names, first.columns, strict=True):
            try:
                kinds[name] = kind_of(column.cast(pa.string()), dialect.numbers)
            except pa.ArrowInvalid:  # text in another encoding, which may not be read
                kinds[name] = pa.string()
        # A separator at the end of each row makes a column without a name or values.
        names = [name for name in dialect.names if name or not pa.types.is_null(kinds[name])]
        return pa.schema([(name, kinds[name]) for name in names])

    @property
    def numbers(self) -> NumberStyle:
        """How numbers are written."""
        return self.dialect.numbers

    def _opened(self, stream: Any, wanted: pa.Schema | None, threads: bool = True) -> Any:
        dialect = self.dialect
        stream = as_utf8(stream, self._stream_encoding)
        any_space = dialect.separator == ANY_SPACE
        if dialect.comment or any_space:
            stream = pa.PythonFile(io.BufferedReader(PlainLines(stream, dialect.comment, any_space, _BLOCK)), mode="r")
        checked = [] if wanted is None else [each.name for each in wanted if each.type != pa.binary()]
        return pa.csv.open_csv(
            stream,
            read_options=pa.csv.ReadOptions(
                use_threads=threads,
                block_size=_BLOCK,
                column_names=list(dialect.names),
                skip_rows=dialect.skip,
                skip_rows_after_names=dialect.header + dialect.units,
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter="\t" if any_space else dialect.separator,
                newlines_in_values=True,
                # In a file with a single column, an empty line is a missing value.
                ignore_empty_lines=len(dialect.names) > 1,
            ),
            # Everything is text: numbers have many styles, and errors are to name the row and the value.
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, pa.binary()) | dict.fromkeys(checked, pa.string()),
                include_columns=list(dict.fromkeys(dialect.names)) if wanted is None else wanted.names,
            ),
        )

    @cached_property
    def _stream_encoding(self) -> str:
        with opened(self.path) as (_, stream):
            return self._encoding(stream.read(4))

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """As in the base class; an unclosed quotation mark, which would swallow all later rows, is an error."""
        last = self.dialect.names[-1]
        read = wanted if last in wanted.names else wanted.append(pa.field(last, pa.binary()))
        end = None
        for batch, share in super()._batches(read):
            end = batch.column(last)[-1].as_py() if batch.num_rows else end
            yield batch, share
        if (
            end is not None
            and b"\n" in (end if isinstance(end, bytes) else str(end).encode())
            and not self._tail().rstrip().endswith(b'"')
        ):
            raise TableError(f"{self.label}: unclosed quotation mark in column {last!r}: correct the file.")

    def _tail(self) -> bytes:
        """The last hundred bytes of the text."""
        tail = b""
        with opened(self.path) as (_, stream):
            while chunk := stream.read(_BLOCK):
                tail = (tail + chunk)[-100:]
        return tail

    def _translated(self, error: Exception, wanted: pa.Schema | None) -> Exception:
        """Say in the terms of the file what is wrong."""
        if "invalid UTF8 data" in str(error):
            return _not_in_encoding(self.label, self._stream_encoding)
        found = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if found is None:
            return error
        row = self._row_of_error()
        return TableError(
            f"{self.label}: row {row} has {counted(int(found[2]), 'value')} instead of {found[1]}: correct the file."
        )

    def _row_of_error(self) -> int:
        """The row that cannot be parsed, counted from 1: pyarrow only knows it when it reads on one thread."""
        try:
            with opened(self.path) as (_, stream), self._opened(stream, None, threads=False) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            if found := re.search(r"Row #(\d+)", str(error)):
                return int(found[1]) - self.dialect.skip - self.dialect.header - self.dialect.units
            raise
        raise changed(self.label)

    def unchanged_type(self, kind: Any) -> Any:
        """Text: 007 stays 007."""
        return pa.string()

    def _stands_for_missing(self, text: str) -> bool:
        return self.numbers.is_missing(text)


class NdjsonFile(_TextFile):
    """Newline-delimited JSON: one object per line."""

    @contextmanager
    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Iterator[Any]:
        shallow = ShallowJson(stream)
        source = pa.PythonFile(io.BufferedReader(shallow, _BLOCK), mode="r")
        options = pa.json.ParseOptions(newlines_in_values=False)
        if wanted is not None:
            options = pa.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        try:
            with pa.json.open_json(
                source, read_options=pa.json.ReadOptions(block_size=_BLOCK), parse_options=options
            ) as reader:
                yield reader
        finally:
            if shallow.is_deep:
                raise TableError(f"{self.label} cannot be read: it is nested too deeply.")

    def _translated(self, error: Exception, wanted: pa.Schema | None) -> Exception:
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

    def unchanged_type(self, kind: Any) -> Any:
        """Text where the type was inferred from dates or empty values, since later values may differ."""
        return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


@dataclass(frozen=True)
class _BlockFile(TableFile):
    """A binary format in blocks of rows; `blocks` are those to read, all if None."""

    blocks: range | None = None

    def parts(self) -> list[TableFile]:
        """Consecutive blocks."""
        with _read_errors(self):
            return [replace(self, blocks=blocks) for blocks in consecutive(self._sizes())] or [self]

    @property
    def start(self) -> int:
        """Number of rows of the file before these blocks."""
        return 0 if self.blocks is None else sum(self._sizes()[: self.blocks.start])

    def known_rows(self) -> int:
        """Number of rows of these blocks."""
        with _read_errors(self):
            sizes = self._sizes()
            return sum(sizes if self.blocks is None else sizes[self.blocks.start : self.blocks.stop])

    def _sizes(self) -> list[int]:
        """Number of rows of each block of the file."""
        raise NotImplementedError


class ParquetFile(_BlockFile):
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


class FeatherFile(_BlockFile):
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
        columns = sorted(self.schema().get_field_index(name) for name in wanted.names)
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
            "encoding, name that: --encoding utf-16."
        )


def _not_in_encoding(label: str, encoding: str) -> TableError:
    return TableError(
        f"{label} is not {encoding.upper()} text. Say which encoding it is in, for example --encoding latin-1."
    )


FORMATS: dict[str, type[TableFile]] = {
    "csv": CsvFile,
    "ndjson": NdjsonFile,
    "parquet": ParquetFile,
    "feather": FeatherFile,
}
