"""File formats: one class per format reads the schema of a file and its rows as record batches."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from mvset.row_stream import consecutive
from mvset.tables.errors import TableError, exclude_option, quoted

_BATCH = 65_536  # rows per batch of binary formats
_BLOCK = 4 << 20  # bytes per batch of text formats


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Turn the errors of pyarrow into a TableError, or an OSError, that names the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise TableError(f"{path} is not UTF-8 text: save it with that encoding.") from None
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, TableError | MemoryError):
            raise
        if isinstance(error, OSError) and error.errno:
            raise type(error)(error.errno, os.strerror(error.errno), str(path)) from None
        if "Empty CSV file" in str(error):
            raise TableError(f"{path} has no rows.") from None
        raise TableError(f"{path} cannot be read: {str(error).splitlines()[0].rstrip('.')}.") from None


@dataclass(frozen=True)
class TableFile:
    """A file that contains a table."""

    path: Path

    def schema(self) -> pa.Schema:
        """Names and types of the columns; in text formats, types are inferred from the first block."""
        with _read_errors(self.path):
            schema = self._schema()
            names = schema.names  # decodes the names: may raise UnicodeDecodeError
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise TableError(f"{self.path} has more than one column called {duplicates[0]!r}: rename them.")
        return schema

    def batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Batches of rows with the columns and types of `wanted`, each with the share of the file read so far."""
        with _read_errors(self.path):
            for batch, share in self._batches(wanted):
                columns = [batch.column(field.name).cast(field.type, safe=False) for field in wanted]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted), share

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

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        raise NotImplementedError


class _TextFile(TableFile):
    """A text format, possibly compressed, read sequentially in blocks."""

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        size = max(1, self.path.stat().st_size)
        try:
            with self._stream() as (source, stream), self._opened(stream, wanted) as reader:
                for i, batch in enumerate(reader, start=1):
                    # pyarrow reads ahead of the batches that it returns: count the returned blocks.
                    yield batch, min(size, source.tell(), i * _BLOCK) / size
        except pa.ArrowInvalid as error:
            raise self._translated(error, wanted) from None

    @contextmanager
    def _stream(self) -> Iterator[tuple[Any, Any]]:
        """The raw file and its decompressed text."""
        with pa.OSFile(str(self.path)) as source:
            yield source, pa.CompressedInputStream(source, "gzip") if self.path.suffix.lower() == ".gz" else source

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        raise NotImplementedError

    def _translated(self, error: Exception, wanted: pa.Schema) -> Exception:
        """An error of pyarrow, with the name of the column if it can be found."""
        return error

    def _schema(self) -> pa.Schema:
        with self._stream() as (_, stream), self._opened(stream, None) as reader:
            return reader.schema

    def _not_a_number(self, name: str, value: str) -> TableError:
        return TableError(
            f"Column {name!r} of {self.path} has {value}, which is not a number: correct it, or exclude the column "
            f"from the fit with {exclude_option([name])}."
        )


class CsvFile(_TextFile):
    """Values separated by commas, semicolons or tabs; the first line contains the column names."""

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        parse, decimal_point = self._dialect()
        options = pa.csv.ConvertOptions(decimal_point=decimal_point)
        if wanted is not None:
            options.column_types = {field.name: field.type for field in wanted}
            options.include_columns = wanted.names
        return pa.csv.open_csv(
            stream,
            read_options=pa.csv.ReadOptions(block_size=_BLOCK),
            parse_options=parse,
            convert_options=options,
        )

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """As in the base class; an unclosed quotation mark, which would swallow all later rows, is an error."""
        schema = self._schema()
        last = schema.names[-1]
        read = wanted if last in wanted.names else wanted.append(pa.field(last, pa.binary()))
        for i, field in enumerate(wanted):  # pyarrow does not read true and false as float64: cast them later
            if field.type == pa.float64() and schema.field(field.name).type == pa.bool_():
                read = read.set(i, pa.field(field.name, pa.bool_()))
        end = None
        for batch, share in super()._batches(read):
            end = batch.column(last)[-1].as_py() if batch.num_rows else end
            yield batch, share
        text = end if isinstance(end, bytes) else str(end).encode()
        if b"\n" in text and not self._tail().rstrip().endswith(b'"'):
            raise TableError(f"{self.path}: unclosed quotation mark in column {last!r}: correct the file.")

    def _tail(self) -> bytes:
        """The last hundred bytes of the text."""
        tail = b""
        with self._stream() as (_, stream):
            while chunk := stream.read(_BLOCK):
                tail = (tail + chunk)[-100:]
        return tail

    def _dialect(self) -> tuple[Any, str]:
        """The parse options, with the delimiter found in the header, and the decimal separator found in the rows."""
        with self._stream() as (_, stream):
            line, *rest = re.split(rb"[\r\n]", stream.read(_BLOCK), maxsplit=1)
        header, body = line.decode(), b"".join(rest)
        delimiters = "\t" if ".tsv" in self.path.suffixes else ",;\t"
        fields = {delimiter: next(csv.reader([header], delimiter=delimiter), []) for delimiter in delimiters}
        delimiter = max(fields, key=lambda each: len(fields[each]))
        # In a file with a single column, an empty line is a missing value.
        several = len(fields[delimiter]) > 1 or not header.strip()
        parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=several)
        commas = delimiter != "," and re.search(rb"\d,\d", body) and not re.search(rb"\d\.\d", body)
        return parse, "," if commas else "."

    def _translated(self, error: Exception, wanted: pa.Schema) -> Exception:
        """Replace the column number in the message of pyarrow by the column name."""
        found = re.match(r"In CSV column #(\d+): CSV conversion error to (\w+): (.*)", str(error))
        if found is None:
            return error
        name, kind, problem = self._schema().names[int(found[1])], found[2], found[3]
        if kind == "string":
            return TableError(f"Column {name!r} of {self.path} is not UTF-8 text: save the file with that encoding.")
        return self._not_a_number(name, problem.removeprefix("invalid value "))

    def unchanged_type(self, kind: Any) -> Any:
        """Text: 007 stays 007."""
        return pa.string()


class NdjsonFile(_TextFile):
    """Newline-delimited JSON: one object per line."""

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        options = pa.json.ParseOptions(newlines_in_values=False)
        if wanted is not None:
            options = pa.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        return pa.json.open_json(stream, read_options=pa.json.ReadOptions(block_size=_BLOCK), parse_options=options)

    def _translated(self, error: Exception, wanted: pa.Schema) -> Exception:
        """Name the column; drop the row number, which pyarrow counts within a block."""
        message = str(error).splitlines()[0]
        found = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", message)
        if found and found[1] in wanted.names:
            if found[2] == "number" and wanted.field(found[1]).type == pa.float64():
                return self._not_a_number(found[1], f"a {found[3]}")
            return TableError(
                f"Column {found[1]!r} of {self.path} mixes {found[2]} and {found[3]} values: use one type."
            )
        if "Failed to convert JSON" in message:
            kept = [field.name for field in wanted if field.type != pa.float64()]
            return TableError(f"--keep: one of the columns {quoted(kept)} of {self.path} has mixed types: {message}.")
        return TableError(f"{self.path} cannot be read: {re.sub(r'[.]? in row .*', '', message)}.")

    def unchanged_type(self, kind: Any) -> Any:
        """Text where the type was inferred from dates or empty values, since later values may differ."""
        return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


@dataclass(frozen=True)
class _BlockFile(TableFile):
    """A binary format in blocks of rows; `blocks` are those to read, all if None."""

    blocks: range | None = None

    def parts(self) -> list[TableFile]:
        """Consecutive blocks."""
        with _read_errors(self.path):
            return [type(self)(self.path, blocks) for blocks in consecutive(self._sizes())] or [self]

    @property
    def start(self) -> int:
        """Number of rows of the file before these blocks."""
        return 0 if self.blocks is None else sum(self._sizes()[: self.blocks.start])

    def known_rows(self) -> int:
        """Number of rows of these blocks."""
        with _read_errors(self.path):
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
        with pa.ipc.open_file(self.path) as file:
            return file.schema

    def _sizes(self) -> list[int]:
        with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
            return [file.get_batch(i).num_rows for i in range(file.num_record_batches)]

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
            blocks = range(file.num_record_batches) if self.blocks is None else self.blocks
            for done, i in enumerate(blocks):
                whole = file.get_batch(i)
                for start in range(0, whole.num_rows, _BATCH):
                    batch = whole.slice(start, _BATCH)
                    yield batch, (done + (start + batch.num_rows) / whole.num_rows) / len(blocks)


FORMATS: dict[str, type[TableFile]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".tsv": CsvFile,
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".feather": FeatherFile,
    ".arrow": FeatherFile,
    ".ndjson": NdjsonFile,
    ".jsonl": NdjsonFile,
    ".ndjson.gz": NdjsonFile,
    ".jsonl.gz": NdjsonFile,
}


def format_of(path: Path) -> type[TableFile] | None:
    """The format of a file by its extension; None if unknown."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return FORMATS.get("".join(suffixes[-2:])) or FORMATS.get("".join(suffixes[-1:]))
