"""Guess how a text table is written: separator, header or none, decimal mark, comments, lines that are no rows."""

import csv
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from mvset.app.tables.numbers import PLAIN, NumberStyle, is_number
from mvset.app.tables.options import ReadingOptions

ANY_SPACE = " "  # stands for any white space
_SEPARATORS = (";", "\t", "|", ",", ANY_SPACE)
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "|", ANY_SPACE: "white space"}
_SAMPLED = 2000  # lines
_TYPICAL = 50  # rows that show which columns are numeric
_MAX_UNITS = 2  # rows below the header: units, and types

Cells = list[str]


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    separator: str = ","
    header: bool = True
    skip: int = 0  # lines above the header, or above the first row
    units: int = 0  # rows below the header that are no data
    comment: str = ""
    numbers: NumberStyle = PLAIN
    names: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What is unusual about it, for the note to the user; empty if nothing is."""
        unusual = {
            f"separated by {_NAMES.get(self.separator, self.separator)}": self.separator != ",",
            f"no header, so that columns are called {', '.join(self.names[:2])}, …": not self.header,
            f"{self.skip} line{'s' * (self.skip > 1)} above the table skipped": self.skip > 0,
            f"{self.units} row{'s' * (self.units > 1)} below the header skipped": self.units > 0,
            f"comments after {self.comment}": bool(self.comment),
            "decimal commas": self.numbers.decimal == ",",
            f"{self.numbers.thousands!r} between thousands": bool(self.numbers.thousands),
        }
        return ", ".join(text for text, is_so in unusual.items() if is_so)

    def as_json(self) -> dict[str, Any]:
        """What a model remembers of it, to read later tables in the same way: all but the names."""
        return {name: value for name, value in asdict(self).items() if name != "names"}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """The dialect that a model remembers."""
        return cls(**{**stored, "numbers": NumberStyle(**stored["numbers"])})


def comment_mark(lines: Sequence[str]) -> str:
    """The mark of comment lines: # before any of the first lines, or % before the first."""
    starts = [line.lstrip()[:1] for line in lines[:_TYPICAL]]
    return "#" if "#" in starts else "%" if starts[:1] == ["%"] else ""


def guess(text: str, given: ReadingOptions, comment: str, last_comment: str, like: Dialect | None = None) -> Dialect:
    """The dialect of a table from its beginning, without its comments.

    `last_comment` is the last line above the table that was one: it may hold the names of the columns. `like` is the
    dialect of an earlier table, which is taken over where the separator is the same.
    """
    lines = re.split(r"\r\n|\r|\n", text)[:_SAMPLED]
    skip = given.skip_rows or 0
    lines = lines[skip:]
    excel = re.fullmatch(r"sep=(.)", lines[0].strip() if lines else "")
    if excel:  # Excel's way to name the separator
        lines, skip = lines[1:], skip + 1
    named = given.separator or (excel[1] if excel else None)
    candidates = [_Candidate.of(lines, each, given) for each in ([named] if named else _SEPARATORS)]
    best = max((each for each in candidates if each is not None), key=lambda each: each.points, default=None)
    if best is None:
        return Dialect(named or ",", comment=comment)
    if like is not None and like.separator == best.separator and not (given.separator or given.skip_rows):
        best = replace(best, numbers=replace(like.numbers, missing=best.numbers.missing))
        given = replace(given, header=like.header if given.header is None else given.header)
    return best.dialect(given, skip, comment, last_comment)


@dataclass(frozen=True)
class _Candidate:
    """The rows of a text, cut at one separator."""

    separator: str
    numbers: NumberStyle
    rows: list[Cells]
    lines: list[int]  # in which each row begins
    width: int  # columns of most rows
    points: float  # how much the rows are like a table

    @classmethod
    def of(cls, lines: Sequence[str], separator: str, given: ReadingOptions) -> "_Candidate | None":
        rows, starts = _cut(lines, separator)
        if not rows:
            return None
        widths = [len(row) for row in rows]
        last = widths[-200:]  # data, whatever stands above
        width = max(set(last), key=last.count)
        same = [row for row in rows if len(row) == width]
        whole = [cell for row in same for cell in row]
        if separator == "," and width == 2 and len(rows[0]) == 1 and all(cell.isdigit() for cell in whole):
            return None  # one column of decimal commas, below its name
        best = None
        for decimal in (".", ",") if separator != "," else (".",):
            style = NumberStyle(decimal, missing=given.missing)
            cells = [cell for row in same[1:] or same for cell in row]
            known = (is_number(cell, style) or style.is_missing(cell) or _is_grouped(cell, style) for cell in cells)
            numeric = sum(known) / max(1, len(cells))
            uncut = sum(bool(re.search(r"[;|\t]", cell)) for cell in cells) / max(1, len(cells))
            points = len(same) / len(rows) * (0.3 + numeric) * (1.0 if width > 1 else 0.35) - uncut
            points -= 0.05 * (separator == ANY_SPACE) + 0.02 * (decimal == ",")
            if best is None or points > best.points:
                best = cls(separator, style, rows, starts, width, points)
        return best

    def dialect(self, given: ReadingOptions, skip: int, comment: str, last_comment: str) -> Dialect:
        """Where the header ends and the rows begin."""
        cut_off = all(not row[-1] for row in self.rows if len(row) == self.width)  # a separator ends each row
        widths = {self.width, self.width - 1} if cut_off else {self.width}
        first = next(i for i, row in enumerate(self.rows) if len(row) in widths)
        body = self.rows[first:]
        known = replace(self, numbers=self._with_thousands(body))
        header, units, names = known._header(body, given.header, last_comment)
        return Dialect(self.separator, header, skip + self.lines[first], units, comment, known.numbers, names)

    def _header(self, body: Sequence[Cells], header: bool | None, comment: str) -> tuple[bool, int, tuple[str, ...]]:
        """Whether there is a header, the number of rows below it that are no data, and the names of the columns."""
        numeric = self._numeric_columns(body)
        if self._has_header(body, numeric) if header is None else header:
            return True, self._n_units(body, numeric), (*body[0], *[""] * (self.width - len(body[0])))
        names = self._commented_names(comment) or [f"column{j + 1}" for j in range(self.width)]
        return False, 0, tuple(names)

    def _with_thousands(self, body: Sequence[Cells]) -> NumberStyle:
        """The marks of numbers, with one between thousands if any cell has it; in quotation marks if it separates."""
        mark = "." if self.numbers.decimal == "," else ","
        style = replace(self.numbers, thousands=mark)
        grouped = any(mark in cell and is_number(cell, style) for row in body for cell in row)
        return style if grouped and not self.numbers.thousands else self.numbers

    def _numeric_columns(self, body: Sequence[Cells]) -> list[int]:
        """Columns that are numbers in most rows; the first rows may be something else."""
        sample = [row for row in body[min(3, len(body) // 2) :][:_TYPICAL] if len(row) == self.width]
        counts = [sum(self._number(row[j]) for row in sample) for j in range(self.width)]
        return [j for j, count in enumerate(counts) if count > 0.5 * max(1, len(sample))]

    def _has_header(self, body: Sequence[Cells], numeric: Sequence[int]) -> bool:
        """Whether the first row has names: no numbers where numbers follow, or, in text, nothing that comes again."""
        top = body[0]
        if not numeric:
            return len(set(top)) == len(top) and not any(set(top) & set(row) for row in body[1:])
        has_number = any(j < len(top) and self._number(top[j]) for j in numeric)
        only_gaps = any(top) and all(self.numbers.is_missing(cell) for cell in top)
        return not has_number and not only_gaps

    def _n_units(self, body: Sequence[Cells], numeric: Sequence[int]) -> int:
        """Rows below the header without any number where numbers follow: units, types."""
        n_units = 0
        for row in body[1 : _MAX_UNITS + 2]:
            texts = [row[j] for j in numeric if j < len(row)]
            if not texts or any(self._number(cell) or self.numbers.is_missing(cell) for cell in texts):
                break
            n_units += 1
        return n_units if n_units <= _MAX_UNITS else 0

    def _commented_names(self, comment: str) -> Cells:
        """Names in the last comment above the rows, if it has as many."""
        names = _cut([comment], self.separator)[0]
        fits = bool(names) and len(names[0]) == self.width and not any(self._number(cell) for cell in names[0])
        return names[0] if fits else []

    def _number(self, cell: str) -> bool:
        return is_number(cell, self.numbers)


def _is_grouped(cell: str, style: NumberStyle) -> bool:
    """Whether a cell is a number with a mark between thousands that cannot be a decimal mark."""
    mark = "." if style.decimal == "," else ","
    certain = mark in cell and (style.decimal in cell or cell.count(mark) > 1)
    return certain and is_number(cell, replace(style, thousands=mark))


def _cut(lines: Sequence[str], separator: str) -> tuple[list[Cells], list[int]]:
    """Rows of cells, and the lines in which they begin; empty lines are no rows."""
    if separator == ANY_SPACE:
        filled = [i for i, line in enumerate(lines) if line.strip()]
        return [lines[i].split() for i in filled], filled
    rows, starts, start = [], [], 0
    reader = csv.reader([line + "\n" for line in lines], delimiter=separator)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                rows.append([cell.strip() for cell in row])
                starts.append(start)
            start = reader.line_num
    except csv.Error:  # a cell of more than 128 KiB: what came before is enough
        pass
    return rows, starts
