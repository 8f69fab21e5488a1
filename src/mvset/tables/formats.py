"""File formats: for each, what its columns are, and its rows as a stream of record batches."""

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

from mvset.tables.errors import TableError, excluding, listed

_BATCH = 65_536  # rows
_BLOCK = 4 << 20  # bytes of text


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a file that it cannot read into a sentence that names the file."""
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
    """A file with a table in it."""

    path: Path

    def schema(self) -> pa.Schema:
        """Names and types of the columns; of text formats as its beginning suggests."""
        with _readable(self.path):
            schema = self._schema()
            names = schema.names  # decoded only here
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise TableError(f"{self.path} has more than one column called {doubled[0]!r}: rename them.")
        return schema

    def batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Rows with the columns wanted, of the types wanted, and the share of the file that has been read."""
        with _readable(self.path):
            for batch, share in self._batches(wanted):
                columns = [batch.column(field.name).cast(field.type, safe=False) for field in wanted]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted), share

    def verbatim(self, kind: Any) -> Any:
        """The type in which a column of this type is passed on as it is."""
        # Feather cannot write dictionaries that change from batch to batch.
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        raise NotImplementedError


class _TextFile(TableFile):
    """A text format: read from its beginning, block by block."""

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        size = max(1, self.path.stat().st_size)
        try:
            with self._stream() as (source, stream), self._opened(stream, wanted) as reader:
                for i, batch in enumerate(reader, start=1):
                    # pyarrow reads ahead: of what is read, so many blocks have come out.
                    yield batch, min(size, source.tell(), i * _BLOCK) / size
        except pa.ArrowInvalid as error:
            raise self._explained(error, wanted) from None

    @contextmanager
    def _stream(self) -> Iterator[tuple[Any, Any]]:
        """The file as it is, and its text."""
        with pa.OSFile(str(self.path)) as source:
            yield source, pa.CompressedInputStream(source, "gzip") if self.path.suffix.lower() == ".gz" else source

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        raise NotImplementedError

    def _explained(self, error: Exception, wanted: pa.Schema) -> Exception:
        return error

    def _schema(self) -> pa.Schema:
        with self._stream() as (_, stream), self._opened(stream, None) as reader:
            return reader.schema

    def _not_a_number(self, name: str, value: str) -> TableError:
        return TableError(
            f"Column {name!r} of {self.path} has {value}, which is not a number: mend it, or leave the column out of "
            f"the fit with {excluding([name])}."
        )


class CsvFile(_TextFile):
    """Comma-separated values, or separated by semicolons or tabs; the first line has the names."""

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
        """Rows; a quotation mark that is never closed, and takes all rows after it into its cell, is an error."""
        schema = self._schema()
        last = schema.names[-1]
        read = wanted if last in wanted.names else wanted.append(pa.field(last, pa.binary()))
        for i, field in enumerate(wanted):  # true and false are numbers, but not in the eyes of pyarrow
            if field.type == pa.float64() and schema.field(field.name).type == pa.bool_():
                read = read.set(i, pa.field(field.name, pa.bool_()))
        end = None
        for batch, share in super()._batches(read):
            end = batch.column(last)[-1].as_py() if batch.num_rows else end
            yield batch, share
        text = end if isinstance(end, bytes) else str(end).encode()
        if b"\n" in text and not self._tail().rstrip().endswith(b'"'):
            raise TableError(f"{self.path}: a quotation mark in column {last!r} is never closed: mend it.")

    def _tail(self) -> bytes:
        tail = b""
        with self._stream() as (_, stream):
            while chunk := stream.read(_BLOCK):
                tail = (tail + chunk)[-100:]
        return tail

    def _dialect(self) -> tuple[Any, str]:
        """What separates cells, and what the fraction from the whole."""
        with self._stream() as (_, stream):
            line, *rest = re.split(rb"[\r\n]", stream.read(_BLOCK), maxsplit=1)
        header, body = line.decode(), b"".join(rest)
        delimiters = "\t" if ".tsv" in self.path.suffixes else ",;\t"
        fields = {delimiter: next(csv.reader([header], delimiter=delimiter), []) for delimiter in delimiters}
        delimiter = max(fields, key=lambda each: len(fields[each]))
        # In a single column an empty line is a missing value.
        several = len(fields[delimiter]) > 1 or not header.strip()
        parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=several)
        commas = delimiter != "," and re.search(rb"\d,\d", body) and not re.search(rb"\d\.\d", body)
        return parse, "," if commas else "."

    def _explained(self, error: Exception, wanted: pa.Schema) -> Exception:
        """Name the column: pyarrow says its number in the file."""
        found = re.match(r"In CSV column #(\d+): CSV conversion error to (\w+): (.*)", str(error))
        if found is None:
            return error
        name, kind, problem = self._schema().names[int(found[1])], found[2], found[3]
        if kind == "string":
            return TableError(f"Column {name!r} of {self.path} is not UTF-8 text: save the file with that encoding.")
        return self._not_a_number(name, problem.removeprefix("invalid value "))

    def verbatim(self, kind: Any) -> Any:
        """Text as it stands: 007 stays 007."""
        return pa.string()


class NdjsonFile(_TextFile):
    """One JSON object a line."""

    def _opened(self, stream: Any, wanted: pa.Schema | None) -> Any:
        options = pa.json.ParseOptions(newlines_in_values=False)
        if wanted is not None:
            options = pa.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        return pa.json.open_json(stream, read_options=pa.json.ReadOptions(block_size=_BLOCK), parse_options=options)

    def _explained(self, error: Exception, wanted: pa.Schema) -> Exception:
        """Name the column; rows are not told, since pyarrow counts them in its blocks."""
        said = str(error).splitlines()[0]
        found = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", said)
        if found and found[1] in wanted.names:
            if found[2] == "number" and wanted.field(found[1]).type == pa.float64():
                return self._not_a_number(found[1], f"a {found[3]}")
            return TableError(f"Column {found[1]!r} of {self.path} has a {found[2]} here, a {found[3]} there: mend it.")
        if "Failed to convert JSON" in said:
            kept = [field.name for field in wanted if field.type != pa.float64()]
            return TableError(f"--keep: values of {self.path} are not of one kind, in one of {listed(kept)}: {said}.")
        return TableError(f"{self.path} cannot be read: {re.sub(r'[.]? in row .*', '', said)}.")

    def verbatim(self, kind: Any) -> Any:
        """Text as it stands, though it begins with dates or with nothing."""
        return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


class ParquetFile(TableFile):
    """Parquet."""

    def _schema(self) -> pa.Schema:
        return pa.parquet.read_schema(self.path)

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        with pa.parquet.ParquetFile(self.path, pre_buffer=False) as file:  # with it all that was read is kept
            read, n_rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=_BATCH, columns=wanted.names):
                read += batch.num_rows
                yield batch, read / n_rows


class FeatherFile(TableFile):
    """Feather, Arrow's file format."""

    def _schema(self) -> pa.Schema:
        with pa.ipc.open_file(self.path) as file:
            return file.schema

    def _batches(self, wanted: pa.Schema) -> Iterator[tuple[pa.RecordBatch, float]]:
        with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
            for i in range(file.num_record_batches):
                whole = file.get_batch(i)
                for start in range(0, whole.num_rows, _BATCH):
                    batch = whole.slice(start, _BATCH)
                    yield batch, (i + (start + batch.num_rows) / whole.num_rows) / file.num_record_batches


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
    """The format that a file's name tells."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return FORMATS.get("".join(suffixes[-2:])) or FORMATS.get("".join(suffixes[-1:]))
