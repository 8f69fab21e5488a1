"""Text tables: values separated by commas, semicolons, tabs, vertical bars or white space, in any dialect."""

import codecs
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.csv

from mvset.app.tables.dialect import ANY_SPACE, Dialect, guess, tabs_for_spaces, unpadded
from mvset.app.tables.errors import TableError
from mvset.app.tables.formats import TextFile, read_errors
from mvset.app.tables.header import COMMENT_MARKS, NO_COLUMN
from mvset.app.tables.marks import is_some_number
from mvset.app.tables.numbers import kind_of
from mvset.app.tables.opening import (
    EndlessError,
    below,
    decoded,
    encoding_of,
    end_of_lines,
    end_of_records,
    n_line_feeds,
    n_lines,
    native,
    opened,
    quoted_values,
    transcoded,
    whole,
    without_empty_end,
)
from mvset.values import cached_property
from mvset.wording import counted

_LINE_END = re.compile(rb"[\r\n]")
_SNIFFED = 256 << 10  # bytes that tell how a text is written


class CsvFile(TextFile):
    """Values separated by commas, semicolons, tabs, vertical bars or white space."""

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written; everything that the user does not say is guessed."""
        with read_errors(self):
            return self._guessed()

    def _guessed(self) -> Dialect:
        with opened(self.path) as (_, stream):
            start = stream.read(_SNIFFED)
        like = self.options.like or {}
        encoding = self._named_encoding() or encoding_of(start, like.get("encoding"))
        text = decoded(start, encoding or "latin-1")
        _check_text(self.label, text)
        if encoding is None:
            raise self._not_in_encoding("UTF-8")
        if len(start) == _SNIFFED:
            text = text[: 1 + max(text.rfind("\n"), text.rfind("\r"))]
            if not text:
                raise TableError(
                    f"{self.label}: the first line is longer than {_SNIFFED >> 10} KiB: too long for the names of "
                    "columns."
                )
        found = replace(guess(text, self.options, self.label), encoding=encoding)
        if any("\ufffd" in name for name in found.names):
            raise self._not_in_encoding(encoding)
        return found

    def _named_encoding(self) -> str | None:
        if self.options.encoding is None:
            return None
        try:
            return codecs.lookup(self.options.encoding).name
        except LookupError:
            raise TableError(
                f"--read encoding: {self.options.encoding!r} is unknown. Common ones are utf-8, latin-1 and utf-16."
            ) from None

    def _not_in_encoding(self, encoding: str) -> TableError:
        return TableError(
            f"{self.label} is not {encoding.upper()} text. Say which encoding it is in, for example --read "
            "encoding=latin-1."
        )

    @property
    def remembered(self) -> dict[str, Any]:
        """The dialect."""
        return super().remembered | {"dialect": self.dialect.as_json()}

    def _schema(self) -> pa.Schema:
        dialect, kinds = self.dialect, {}
        if not dialect.names or dialect.first < 0:
            raise self._without_rows()
        first = self._first()
        for name, column in zip(first.schema.names, first.columns, strict=True):
            try:
                kinds[name] = kind_of(column.cast(pa.string()), dialect.numbers)
            except pa.ArrowInvalid:  # text in another encoding, which may not be read
                kinds[name] = pa.string()
        return pa.schema([(name, kinds[name]) for name in dialect.names if not name.startswith(NO_COLUMN)])

    def _parsed(self, stream: Any, wanted: pa.Schema | None) -> Iterator[pa.Table]:
        """Everything is text: numbers have many styles, and errors are to name the row and the value."""
        dialect, n_rows = self.dialect, 0
        names = list(dict.fromkeys(dialect.names))
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary() if wanted is None else pa.string()),
            include_columns=names if wanted is None else wanted.names,
        )
        blocks, first = transcoded(stream, dialect.encoding), dialect.first
        if dialect.separator == ANY_SPACE:
            blocks = map(self._tabs_for_spaces, whole(blocks, partial(end_of_records, separator=" \t")))
        if dialect.padded:
            blocks = (unpadded(each, self._mark) for each in whole(blocks, end_of_lines))
        blocks = whole(blocks, partial(end_of_records, separator=self._mark))
        try:
            for text in without_empty_end(blocks) if len(names) == 1 else blocks:
                self._check_escapes(text, self._mark)
                table = self._parsed_block(below(text, first), convert)
                yield table
                n_rows, first = n_rows + table.num_rows, 0
        except EndlessError as error:
            raise TableError(f"{self.label}: row {n_rows + 1}: {error}: correct the file.") from None
        except _WrongRow as error:
            raise TableError(f"{self.label}: row {n_rows + error.row + 1} {error}") from None

    def _parsed_block(self, text: bytes, convert: Any) -> pa.Table:
        """The rows of a block of lines: as many as a count of the lines has, which does not parse them."""
        single = len(self.dialect.names) == 1  # where an empty line is a missing value
        parse = pa.csv.ParseOptions(delimiter=self._mark, newlines_in_values=True, ignore_empty_lines=not single)
        read = pa.csv.ReadOptions(column_names=list(self.dialect.names))
        if self.options.comment:
            text = _without_comments(text, self.options.comment, self._mark)
        if not text or (not single and not text.strip(b"\r\n")):
            return pa.table({name: pa.array([], convert.column_types[name]) for name in convert.include_columns})
        others: list[Any] = []
        try:
            table = pa.csv.read_csv(native(text), read, parse, convert)
        except pa.ArrowInvalid:
            read.use_threads, read.block_size = False, len(text) + 1  # errors name the row; long cells fit
            parse.invalid_row_handler = partial(self._handled, others, text)
            try:
                table = pa.csv.read_csv(native(text), read, parse, convert)
            except pa.ArrowInvalid as error:
                raise self._translated(error, others) from None
        n_rows = table.num_rows + len(others)
        if n_line_feeds(text) != n_rows:  # lines may be empty, end in another way, or be within quotation marks
            self._check_quoted(text, n_lines(text, empty=single) - n_rows)
        return table

    def _handled(self, others: list[Any], block: bytes, row: Any) -> str:
        """Skip a row of another width if it is blank, or a comment among rows that do not begin like it."""
        comment, line = self.dialect.comment, row.text.lstrip()
        others.append(row)
        if not comment or not line.startswith(comment) or any(map(is_some_number, self._cells(line)[1:])):
            return "error" if line else "skip"
        rows = re.findall(rb"(?<![^\r\n])[ \t]*" + re.escape(comment.encode()) + rb"([^\r\n]*)", block)
        widths = [each.decode(errors="replace").count(self._mark) for each in rows]
        return "error" if len(self.dialect.names) - 1 in widths else "skip"

    def _cells(self, line: str) -> list[str]:
        mark = None if self.dialect.separator == ANY_SPACE else self._mark
        return [cell.strip('" ') for cell in line.split(mark)]

    def _tabs_for_spaces(self, text: bytes) -> bytes:
        self._check_escapes(text, "\t")  # before a space ends a cell
        return tabs_for_spaces(text)

    def _check_escapes(self, text: bytes, separator: str) -> None:
        """Fail if a backslash takes its meaning from a quotation mark within a cell, or from a separator."""
        mark = re.escape(separator.encode())
        found = b"\\" in text and re.search(rb'\\"[^\r\n"' + mark + rb"]|\d\\" + mark + rb"\d", text)
        if found:
            place = text[max(0, found.start() - 10) : found.end() + 10].decode(errors="replace")
            raise TableError(
                f"{self.label}: a backslash stands before {chr(text[found.end() - 2])!r} in {place!r}. Put such cells "
                'in quotation marks, and write a quotation mark in them twice, "".'
            )

    def _check_quoted(self, text: bytes, n_others: int) -> None:
        """Fail if lines that are no rows are not in quoted cells either, or are many rows in an open quotation mark."""
        n_before = 0
        for value in quoted_values(text, self._mark):
            n_inner = n_lines(value[0]) - 1
            if n_inner > 0:
                n_others -= n_inner
                start, end = end_of_lines(text, 0, value.start()), _LINE_END.search(text, value.end())
                lines = text[start : end and end.start()].decode(errors="replace").splitlines()
                if 2 * sum(self._is_like_a_row(line) for line in lines) > len(lines):
                    raise _WrongRow(
                        n_lines(text[:start]) - n_before,
                        f"has {counted(len(lines), 'line')} in quotation marks that look like rows: close the mark.",
                    )
                n_before += n_inner
        if n_others:
            n_lines_off = counted(abs(n_others), "line")
            raise _WrongRow(0, f"and the rows below it do not match the lines of the file: {n_lines_off} differ.")

    def _is_like_a_row(self, line: str) -> bool:
        """Whether a line has as many cells as a row, and numbers where these have numbers."""
        cells, dialect = self._cells(line), self.dialect
        return len(cells) == len(dialect.names) > 1 and all(
            is_some_number(cells[j]) or dialect.numbers.is_missing(cells[j]) for j in dialect.numeric
        )

    def _translated(self, error: Exception, others: Sequence[Any]) -> Exception:
        """Say in the terms of the file what is wrong with a block."""
        if "invalid UTF8 data" in str(error):
            return self._not_in_encoding(self.dialect.encoding)
        if "Expected" not in str(error):
            return error
        row = others[-1]
        said = f"has {counted(row.actual_columns, 'value')} instead of {row.expected_columns}: correct the file."
        if row.text.lstrip().startswith(COMMENT_MARKS):
            mark = row.text.lstrip()[0]
            said += f" If lines that begin with {mark} are comments: --read comment={shlex.quote(mark)}."
        return _WrongRow(row.number - len(others), said)

    @property
    def _mark(self) -> str:
        """The separator after white space has become tabs."""
        return "\t" if self.dialect.separator == ANY_SPACE else self.dialect.separator

    def _copied_type(self, kind: Any) -> Any:
        """Text: 007 stays 007."""
        return pa.string()

    def _stands_for_missing(self, text: str) -> bool:
        return self.dialect.numbers.is_missing(text)


class _WrongRow(ValueError):
    """A row that cannot be read: its number in a block, counted from 0, and the problem."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row


def _without_comments(text: bytes, comment: str, separator: str) -> bytes:
    """A text without the lines that begin with a mark, unless they do so within quotation marks."""
    line = rb"(?<![^\r\n])[ \t]*" + re.escape(comment.encode()) + rb"[^\r\n]*(?:\r\n|\r|\n|\Z)"
    parts, done = [], 0
    for value in quoted_values(text, separator):
        parts += [re.sub(line, b"", text[done : value.start()]), value[0]]
        done = value.end()
    return b"".join([*parts, re.sub(line, b"", text[done:])])


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
