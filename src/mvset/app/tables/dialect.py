"""Guess how a text table is written: separator, header or none, decimal mark, lines that are no rows."""

import csv
import itertools
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from mvset.app.tables.errors import TableError
from mvset.app.tables.header import COMMENT_MARKS, Cells, TopRows
from mvset.app.tables.marks import is_some_number, number_style
from mvset.app.tables.names import DATED
from mvset.app.tables.numbers import PLAIN, NumberStyle
from mvset.app.tables.options import ReadingOptions

ANY_SPACE = " "  # stands for any white space
_SEPARATORS = (",", ";", "\t", "|", "~", "^", ANY_SPACE)
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "|", ANY_SPACE: "white space"}
_REMEMBERED = ("separator", "header", "numbers", "percents", "encoding", "names")
_SAMPLED = 2000  # lines


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    separator: str = ","
    header: bool = True
    above: int = 0  # lines above the header, or above the first row if there is none
    units: int = 0  # rows below the header that are no data
    first: int = 0  # line of the first row
    comment: str = ""  # mark before lines that are no rows
    numbers: NumberStyle = PLAIN
    percents: tuple[str, ...] = ()  # columns whose values have percent signs
    encoding: str = "utf-8"
    names: tuple[str, ...] = ()
    numeric: tuple[int, ...] = ()  # columns that are numbers in most rows
    padded: bool = False  # whether spaces stand between separators and quotation marks

    @property
    def said(self) -> str:
        """What is unusual about it, for the note to the user; empty if nothing is."""
        unusual = {
            f"encoding {self.encoding}": self.encoding != "utf-8",
            f"separated by {_NAMES.get(self.separator, self.separator)}": self.separator != "," and len(self.names) > 1,
            f"no header, so that columns are called {', '.join(self.names[:2])}, …": not self.header,
            f"{self.above} line{'s' * (self.above > 1)} above the table skipped": self.above > 0,
            f"{self.units} row{'s' * (self.units > 1)} of units below the header skipped": self.units > 0,
            f"lines that begin with {self.comment} skipped": bool(self.comment),
            "decimal commas": self.numbers.decimal == ",",
            f"{self.numbers.thousands!r} between thousands": bool(self.numbers.thousands),
        }
        return ", ".join(text for text, is_so in unusual.items() if is_so)

    def as_json(self) -> dict[str, Any]:
        """What a model remembers, to read later tables in the same way; names only if the table has no header."""
        kept = {name: value for name, value in asdict(self).items() if name in _REMEMBERED}
        return kept | {"names": () if self.header else self.names}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """The dialect that a model remembers."""
        known = {name: stored[name] for name in _REMEMBERED if name in stored}
        return cls(**known | {"numbers": NumberStyle(**stored["numbers"])})


def guess(text: str, given: ReadingOptions, label: str = "the table") -> Dialect:
    """The dialect of a table from its beginning, as far as the user does not give it."""
    lines = re.split(r"\r\n|\r|\n", text)[:_SAMPLED]
    skip = given.skip_rows or 0
    excel = re.fullmatch(r"sep=(.)", "".join(lines[skip : skip + 1]).strip(" "))
    skip += excel is not None  # Excel's way to name the separator
    named = given.separator or (excel[1] if excel else None)
    lines = lines[skip:]
    bare = [re.sub(r'"[^"]*"', '""', line) for line in lines]  # without what is in quotation marks
    separators = [named] if named else [each for each in _SEPARATORS if each == "," or each in "".join(bare)]
    candidates = [_Candidate.of(lines, bare, each, given) for each in separators]
    if named is None and all(each is None or each.width == 1 for each in candidates):  # it may have decimal commas
        candidates = [_Candidate.of(lines, bare, ";", given)]
    best = max((each for each in candidates if each is not None), key=lambda each: each.points, default=None)
    if best is None:
        return Dialect(named or ",")
    found = best.dialect(given, label)
    return replace(found, above=found.above + skip, first=-1 if found.first < 0 else found.first + skip)


@dataclass(frozen=True)
class _Candidate:
    """The rows of a text, cut at one separator."""

    separator: str
    rows: list[Cells]
    raw: list[str]  # the rows as they are written
    lines: list[tuple[int, int]]  # in which each row begins, and the next line after it
    width: int  # columns of most rows
    points: float  # how much the rows are like a table
    padded: bool  # whether there are spaces before quotation marks

    @classmethod
    def of(
        cls, lines: Sequence[str], bare: Sequence[str], separator: str, given: ReadingOptions
    ) -> "_Candidate | None":
        padded = separator != ANY_SPACE and any(f'{separator} "' in line for line in lines)
        if padded:
            lines = unpadded("\n".join(lines).encode(), separator).decode().split("\n")
        rows, places = _cut(lines, separator, given.comment)
        if not rows:
            return None
        raw = ["\n".join(lines[start:end]) for start, end in places]
        widths = [len(row) for row in rows if not row[0].startswith(COMMENT_MARKS)] or [len(rows[-1])]
        last = widths[-200:]  # data, whatever stands above
        width = max(set(last), key=last.count)
        same = [row for row in rows if len(row) == width]
        if separator == "," and (width, len(rows[0])) == (2, 1) and _may_be_decimals(same):
            return None  # one column of decimal commas, below its name
        points = widths.count(width) / len(widths) * _likeness(same[1:] or same, given)
        points *= 1.0 if width > 1 else 0.35
        # Where a row of names is cut like the others, the cells may have any signs in them.
        named = any(len(row) == width and not any(map(is_some_number, row)) for row in rows[:10])
        trusted = named and separator != ANY_SPACE
        points += 0.2 * named - (0.3 if trusted else 1.0) * _uncut(bare, separator)
        if separator == ANY_SPACE:  # the least likely; and where there are tabs, these separate
            points -= 0.05 + sum("\t" in line for line in lines) / len(lines)
        return cls(separator, rows, raw, places, width, points, padded)

    def dialect(self, given: ReadingOptions, label: str) -> Dialect:
        """Where the header ends and the rows begin, and how numbers are written in these."""
        like = None if given.like is None else Dialect.from_json(given.like)
        apart = {i for i, ((_, end), (start, _)) in enumerate(itertools.pairwise(self.lines)) if start > end}
        top = TopRows(self.rows, self.raw, apart, self.width, given, like, label, self.separator)
        found = top.beginning()
        rows = [row for row in self.rows[found.first :] if len(row) == self.width]
        style = NumberStyle(missing=given.missing)
        columns = {found.names[j]: [row[j] for row in rows if not style.is_missing(row[j])] for j in top.numeric}
        _check_quotes(label, [list(found.names), *rows], self.separator)
        separator, marks = self.separator if self.width > 1 else "", None
        if like is not None and (like.separator == self.separator or like.numbers.given):
            marks = like.numbers  # a table with another separator comes from another program
        style = number_style(list(columns.values()), separator, given.decimal, marks, label)
        percents = tuple(name for name, cells in columns.items() if any(cell.endswith("%") for cell in cells))
        before = () if like is None else like.percents
        _check_percents(label, [name for name in given.columns if columns.get(name)], percents, before)
        if not given.separator:
            named = found.header and len(self.rows[found.above]) == self.width
            _check_separator(label, self.separator, rows, header=named)
        starts, ends = zip(*self.lines, strict=True)
        first = ends[found.first - 1] if found.first > found.above else starts[found.above]
        if self.width == 1 and not found.first and first:
            if given.header is None:
                raise TableError(
                    f"{label} begins with empty lines, which may be missing values. Use --read header=no to keep them, "
                    f"or --read skip-rows={first} to leave them out."
                )
            first = 0
        first = first if found.first < len(self.rows) else -1
        return Dialect(
            self.separator,
            found.header,
            starts[found.above],
            found.units,
            first,
            self._comment(given, found.first),
            replace(style, missing=given.missing),
            percents,
            names=found.names,
            numeric=tuple(top.numeric),
            padded=self.padded,
        )

    def _comment(self, given: ReadingOptions, first: int) -> str:
        """The mark of lines among the rows that have another number of cells than these."""
        if given.comment is not None:
            return given.comment
        others = [row[0] for row in self.rows[first:] if len(row) != self.width]
        return next((mark for mark in COMMENT_MARKS if any(cell.startswith(mark) for cell in others)), "")


def _likeness(rows: Sequence[Cells], given: ReadingOptions) -> float:
    """How much rows look like a table: the share of numbers, dates and missing values."""
    cells, style = [cell for row in rows for cell in row], NumberStyle(missing=given.missing)
    known = sum(is_some_number(cell) or style.is_missing(cell) or bool(DATED.fullmatch(cell)) for cell in cells)
    return 0.3 + known / len(cells)


def _uncut(lines: Sequence[str], separator: str) -> float:
    """Share of cells that other separators would cut: signs that are rare in a cell, above all tabs."""
    cells = [cell for line in lines for cell in line.split(None if separator == ANY_SPACE else separator)]
    others = ";|~^," if separator == ANY_SPACE else ";|~^"
    uncut = float(sum(any(each in cell for each in others) and not is_some_number(cell) for cell in cells))
    spaced = [cell.split() for cell in cells if " " in cell.strip() and not is_some_number(cell)]
    uncut += 0.5 * sum(any(map(is_some_number, words)) for words in spaced)  # 515E-7 on
    # Quotation marks begin and end cells: "a b",1.5 is not cut at spaces.
    quoted = [cell for cell in cells if '""' in cell]
    uncut += len(cells) * sum(cell.strip(' "') != "" for cell in quoted) / max(1, len(quoted))
    return (uncut + 3 * sum("\t" in cell for cell in cells)) / max(1, len(cells))


def _may_be_decimals(rows: Sequence[Cells]) -> bool:
    """Whether rows of two cells may be numbers with a decimal comma, and not the numbers of rows and their values."""
    numbers = all(is_some_number(",".join(row)) for row in rows)
    return numbers and [row[0] for row in rows] != [str(i + 1) for i in range(len(rows))]


def _check_separator(label: str, separator: str, rows: Sequence[Cells], *, header: bool) -> None:
    """Refuse whole numbers that may be one column, with a space between thousands or, without names, decimal commas."""
    joined = all(is_some_number(separator.join(row)) for row in rows)
    if header and separator == ",":
        joined = joined and any("." in row[0] or re.match(r"0\d", row[-1]) for row in rows)  # 1.234,5 and 0,05
    if rows and len(rows[0]) > 1 and separator in (",", ANY_SPACE) and joined:
        raise TableError(
            f"{label}: {separator.join(rows[0])!r} may be one number or {len(rows[0])}. Use --read separator="
            f"{'comma' if separator == ',' else 'space'} for {len(rows[0])}, or --read separator=semicolon for one."
        )


def _check_quotes(label: str, rows: Sequence[Cells], separator: str) -> None:
    """Refuse values in single quotation marks, which would stay in them or be cut: 'it''s', 'a, b'."""
    cells = [cell for row in rows for cell in row if cell and not is_some_number(cell)]
    quoted = [cell for cell in cells if re.fullmatch("'.+'", cell)]
    joined = re.compile(rf"(?:^|{re.escape(separator)})'[^']*{re.escape(separator)}[^']*'(?:{re.escape(separator)}|$)")
    cut = [separator.join(row) for row in rows if joined.search(separator.join(row))]
    wrong = quoted if 2 * len(quoted) > len(cells) else [cell for cell in quoted if "''" in cell[1:-1]] + cut
    if wrong:
        raise TableError(f"{label}: {wrong[0]} is in single quotation marks. Write double ones.")


def _check_percents(label: str, names: Sequence[str], here: Sequence[str], before: Sequence[str]) -> None:
    """Fail if a column has percent signs here and had none in the table of the model, or the reverse."""
    for name in names:
        if (name in here) != (name in before):
            raise TableError(
                f"Column {name!r} of {label} has {'' if name in here else 'no '}percent signs, unlike the table of the "
                "model, so 5 may mean 5 or 0.05. Write the column in the same way."
            )


def _cut(lines: Sequence[str], separator: str, comment: str | None) -> tuple[list[Cells], list[tuple[int, int]]]:
    """Rows of cells, and the lines in which they begin; empty lines and comments are no rows."""
    if separator == ANY_SPACE:
        lines, separator = tabs_for_spaces("\n".join(lines).encode()).decode().split("\n"), "\t"
    rows, places, start = [], [], 0
    reader = csv.reader([line + "\n" for line in lines], delimiter=separator)
    try:
        for row in reader:
            is_comment = comment and lines[start].lstrip().startswith(comment)
            if row and (len(row) > 1 or lines[start].strip()) and not is_comment:
                rows.append([cell.strip() for cell in row])
                places.append((start, reader.line_num))
            start = reader.line_num
    except csv.Error:  # a cell of more than 128 KiB: what came before is enough
        pass
    return rows, places


def tabs_for_spaces(text: bytes) -> bytes:
    """Lines of a text with one tab between cells instead of white space, except within quotation marks."""
    parts = re.split(rb'((?<!\S)"[^"]*(?:""[^"]*)*")', text)
    parts[::2] = [re.sub(rb"[ \t]+", b"\t", part) for part in parts[::2]]
    return re.sub(rb"(?m)^\t|\t(?=\r|$)", b"", b"".join(parts))


def unpadded(text: bytes, separator: str) -> bytes:
    """A text without spaces between separators and quotation marks."""
    value = rb"(?<![^\r\n" + re.escape(separator.encode()) + rb"]) *(" + rb'"[^"]*(?:""[^"]*)*(?:"|\Z))'
    return re.sub(value, rb"\1", text)
