"""Find where a text table begins: lines above it, the names of the columns, rows of units, the first row of data."""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mvset.app.tables.errors import TableError, quoted
from mvset.app.tables.marks import is_some_number
from mvset.app.tables.numbers import NumberStyle
from mvset.app.tables.options import ReadingOptions
from mvset.app.tables.units import are_units

if TYPE_CHECKING:
    from mvset.app.tables.dialect import Dialect

NO_COLUMN = "\0"  # begins the name of a column that is there only because a separator ends each row
COMMENT_MARKS = ("#", "%")
_TOP = 50  # rows in which a table begins
_TYPICAL = 50  # rows that show which columns are numeric
_MAX_UNITS = 2  # rows below the header: units, and types

Cells = list[str]


@dataclass(frozen=True)
class Beginning:
    """The rows at the top of a text that are no data."""

    names: tuple[str, ...]
    header: bool
    above: int  # rows above the header, or above the data if there is no header
    units: int  # rows between the header and the data

    @property
    def first(self) -> int:
        """The first row of data."""
        return self.above + self.header + self.units


@dataclass(frozen=True)
class TopRows:
    """The rows of a text, most of which have `width` cells."""

    rows: Sequence[Cells]
    width: int
    given: ReadingOptions
    before: "Dialect | None"  # of the table that a model was fitted to
    label: str
    separator: str

    def beginning(self) -> Beginning:
        """Where the table begins, by what the user says, the columns of a model, or the cells."""
        above = self._model_header()
        header: bool | None = True
        if above is None:
            above = self._first_full()
            header = self.given.header
            if header is None:
                self._check_units(above)
                header = self._is_header(above) and not (self._n_units(above) and self._commented_names(above))
            if not header or self._numbers_in(self.rows[above]):  # which may be names, but not below other names
                begin, named = self._without_header(above)
                above, header = (begin, named) if named or not header else (above, True)
        if not header:
            return Beginning(self._numbered_names(above), False, above, self._n_units(above))
        names = self._names(self._unmarked(above)) if above < len(self.rows) else ()
        found = Beginning(names, True, above, self._n_units(above + 1))
        if self.given.header is None and self.rows[found.first :] and self._commented_names(found.first + 1):
            raise self._names_or_data(self.rows[found.first])
        return found

    @cached_property
    def numeric(self) -> list[int]:
        """Columns that are numbers in most rows; the first rows may be something else."""
        same, found = self._same, []
        for j in range(self.width):
            cells = [row[j] for row in same[max(min(3, len(same) - 1), len(same) // 2 - _TYPICAL) :][:_TYPICAL]]
            known = [each for each in cells if not self._missing(each)] or [row[j] for row in same[1:]]
            if 2 * sum(map(is_some_number, known)) > sum(not self._missing(each) for each in known):
                found.append(j)
        return found

    @cached_property
    def _last(self) -> int:
        """The last column with values: a separator at the end of each row makes one without."""
        return max((j for j in range(self.width) if any(row[j] for row in self._same)), default=self.width - 1)

    @cached_property
    def _same(self) -> list[Cells]:
        """The rows of the usual width."""
        return [row for row in self.rows if len(row) == self.width]

    def _missing(self, cell: str) -> bool:
        return self._style.is_missing(cell)

    @cached_property
    def _style(self) -> NumberStyle:
        return NumberStyle(missing=self.given.missing)

    def _numbers_in(self, row: Cells) -> list[str]:
        """The numbers in the columns of numbers."""
        return [row[j] for j in self.numeric if j < len(row) and is_some_number(row[j])]

    @property
    def _header_before(self) -> bool | None:
        """Whether the table of the model has a header; None if there is none that is written in this way."""
        is_same = self.before is not None and self.before.separator == self.separator
        return self.before.header if self.before is not None and is_same else None

    def _as_before(self, row: Cells) -> bool:
        """Whether a row that may be names or data is names: as in the table of the model, or else refused."""
        if self._header_before is None:
            raise self._names_or_data(row)
        return self._header_before

    def _model_header(self) -> int | None:
        """The row with the names of the model's columns."""
        wanted = set(self.given.columns)
        if not wanted or self.given.header is False:
            return None
        named = (i for i in range(min(_TOP, len(self.rows))) if wanted <= set(self._names(self._unmarked(i))))
        found = next(named, None)
        above = [row for row in self.rows[: found or 0] if len(row) == self.width]
        data = [row for row in above if 2 * len(self._numbers_in(row)) > len(self.numeric)]
        self._check_above(data, bool)
        return found

    def _first_full(self) -> int:
        """The first row as wide as the table: no comment, and not filled up with empty cells."""
        for i, row in enumerate(self.rows[:_TOP]):
            is_full = self._last < len(row) <= self.width + (not row[-1]) and row[self._last]
            if is_full and not self._is_comment(row):
                return i
        return 0

    def _is_comment(self, row: Cells) -> bool:
        """Whether a row above the header is a comment: # before a space, or alone. In #no,load it is part of a name."""
        first = row[0]
        apart = first[1:2] in (" ", "\t", *COMMENT_MARKS) or (self.separator == " " and first in COMMENT_MARKS)
        apart = apart or (self.width == 1 and re.search(r"[\s:]", first) is not None)
        return first.startswith(COMMENT_MARKS) and (apart or len(row) != self.width) and not self._missing(first)

    def _unmarked(self, i: int) -> Cells:
        """A row without the mark before its first name, if lines above it are comments with this mark."""
        first, *others = self.rows[i] or [""]
        marked = first[:1] in COMMENT_MARKS and any(row[0][:1] == first[:1] for row in self.rows[:i])
        return [first[1:] if marked else first, *others]

    def _is_header(self, i: int) -> bool:
        """Whether a row has names: no numbers where numbers follow, or, in text, nothing that comes again."""
        row, rows = self.rows[i], self.rows[i + 1 :]
        if not self.numeric:
            distinct = len(set(row)) == len(row) and not any(set(row) & set(each) for each in rows)
            return distinct if self._header_before is None else self._header_before
        numbers = self._numbers_in(row)
        if numbers:
            return self._has_numbers_for_names(i, numbers)
        if self.separator == " " and any(re.search(r":$|\d[-/:]\d", cell) for cell in row):
            raise self._names_or_data(row)  # words of a title, such as "Export 2026-01-31 12:00"
        if not all(self._missing(row[j]) and row[j] != "Na" for j in self.numeric if j < len(row)):  # sodium
            return True
        texts = [j for j in range(len(row)) if j not in self.numeric and row[j]]
        if texts and not any(row[j] in [each[j] for each in rows if len(each) == len(row)] for j in texts):
            return self._as_before(row)
        return False

    def _has_numbers_for_names(self, i: int, numbers: list[str]) -> bool:
        """Whether numbers are names of columns: whole numbers above decimals, or years. Refuses what may be both."""
        row = self.rows[i]
        named = [row[j] for j in self.numeric if j < len(row) and row[j]]
        unlike = {j: self._is_unlike(i, j) for j in range(min(len(row), self.width)) if row[j]}
        if numbers == named and not row[0] and self._is_row_number(i, 0):
            return True
        if numbers != named or len(set(numbers)) < len(numbers) or not all(each.isdecimal() for each in numbers):
            return any(unlike[j] for j in unlike if j not in self.numeric) and self._as_before(row)
        steps = {int(b) - int(a) for a, b in itertools.pairwise(numbers)}
        counted = numbers == ["0"] if len(numbers) == 1 else steps == {1}  # as pandas and spreadsheets number columns
        apart = all(unlike[j] or self._is_apart(i, j) for j in self.numeric if row[j])
        if len(numbers) > 1 and (all(unlike[j] for j in self.numeric if row[j]) or (counted and apart)):
            return True
        if apart:
            raise self._names_or_data(row)
        return (any(unlike.values()) or counted) and self._as_before(row)

    def _names_or_data(self, row: Cells) -> TableError:
        return TableError(
            f"{self.label}: the first row, {quoted(row)}, may be names of columns or a row of data. Use --read "
            "header=yes or --read header=no."
        )

    def _is_unlike(self, i: int, j: int) -> bool:
        """Whether the top cell of a column is unlike the others: a whole number above decimals, or a new word."""
        column = [row[j] for row in self.rows[i + 1 :] if len(row) == self.width and not self._missing(row[j])]
        if j in self.numeric:
            return len(column) > 1 and not any(each.lstrip("+-−").isdecimal() for each in column)
        coded = all(re.search(r"\d", each) for each in column) and not re.search(r"\d", self.rows[i][j])
        return self.rows[i][j] not in column and bool(column) and (coded or 2 * len(set(column)) < len(column))

    def _is_apart(self, i: int, j: int) -> bool:
        """Whether the top number of a column is farther from the others than these are from each other."""
        cells = [row[j] for row in self.rows[i + 1 :] if len(row) == self.width]
        others = [int(cell) for cell in cells if re.fullmatch(r"[+-]?\d+", cell)]
        low, high, top = min(others, default=0), max(others, default=0), int(self.rows[i][j])
        return len(others) > 1 and max(low - top, top - high) > high - low

    def _is_row_number(self, i: int, j: int) -> bool:
        """Whether a column counts the rows below one."""
        cells = [row[j] for row in self.rows[i + 1 :] if len(row) == self.width]
        return cells in ([str(i + start) for i in range(len(cells))] for start in (0, 1))

    def _without_header(self, first: int) -> tuple[int, bool]:
        """Where the data begins, if the first full row is data; and whether a row above it has names after all."""
        skipped = self.rows[:first]
        begin = next((i for i, row in enumerate(skipped) if len(row) == self.width and self._is_data(i)), first)
        # In a column of numbers, text is no data. In others, a row that is filled up may be.
        doubtful = [i for i in range(begin) if len(self.rows[i]) == self.width > 1 and any(self.rows[i])]
        doubtful = [i for i in doubtful if 0 not in self.numeric and 2 * sum(map(bool, self.rows[i])) <= self.width]
        doubtful = [i for i in doubtful if not self._is_comment(self.rows[i])]
        if self.given.header is False:
            begin = min([begin, *doubtful])
        elif doubtful and self._as_before(self.rows[doubtful[0]]) is False:
            begin = doubtful[0]
        above = [i for i in range(begin) if not self._is_comment(self.rows[i])]
        self._check_above([self.rows[i] for i in above], is_some_number)
        if self.given.header is False:
            return begin, False
        row = self.rows[above[-1]] if above else []
        if above and self._commented_names(above[-1]) and self._n_units(above[-1]):
            return above[-1], False
        with_row_names = len(row) < self.width and len(_without_empty(row)) == self._last and self._has_row_names(begin)
        if above and above[-1] == begin - 1 and (with_row_names or 2 * sum(map(bool, row)) > len(row) > 1):
            if len(row) == 1 and re.search(r"[\s:]", row[0]):  # above one column with row names
                raise self._names_or_data(row)
            self._check_above([] if with_row_names or len(row) == self.width else [row], bool)
            return begin - 1, True
        return begin, False

    def _is_data(self, i: int) -> bool:
        """Whether a row that is not full is data: a number, a text that comes again, or nothing above all others."""
        row, rows = self.rows[i], [each for each in self.rows[i + 1 :] if len(each) == self.width]
        again = any(row[j] and row[j] in [each[j] for each in rows] for j in range(self.width))
        return bool(self._numbers_in(row)) or again or not any(cell for each in self.rows[: i + 1] for cell in each)

    def _check_units(self, first: int) -> None:
        """Refuse a row of units for names, below a row that may have them."""
        row = self.rows[first - 1] if first else []
        if len(row) > 1 and not self._is_comment(row) and self._n_units(first):
            raise self._names_or_data(row)

    def _check_above(self, rows: Sequence[Cells], like_data: Callable[[str], bool]) -> None:
        """Refuse to leave out rows above the table that may be data or names."""
        for row in rows:
            if any(like_data(cell) for cell in row):
                raise TableError(
                    f"{self.label}: {quoted(row)} stands above rows with {self.width} values. Correct the file, or "
                    "leave out lines above the table with --read skip-rows."
                )

    def _has_row_names(self, begin: int) -> bool:
        """Whether the first column has names of rows: row numbers, or text of which none comes twice."""
        cells = [row[0] for row in self.rows[begin:] if len(row) == self.width]
        return self._is_row_number(begin - 1, 0) or (0 not in self.numeric and len(set(cells)) == len(cells))

    def _names(self, row: Cells) -> tuple[str, ...]:
        """The names of all columns: the last may have none, or the first, which then has the names of rows."""
        if len(row) < self.width and len(filled := _without_empty(row)) == self._last:
            row = ["", *filled]
        return *row[: self._last + 1], *(f"{NO_COLUMN}{j}" for j in range(self._last + 1, self.width))

    def _numbered_names(self, first: int) -> tuple[str, ...]:
        """Names that the user gives, or of the last comment above the rows, or of the model's table, or numbers."""
        commented = () if self.given.names else self._commented_names(first)
        before = self.before.names if self.before and not self.before.header and not commented else ()
        named = self.given.names or before
        if named and len(named) != self._last + 1:
            who = "--read names: there are" if self.given.names else f"{self.label}: the model's table has"
            raise TableError(f"{who} {len(named)} names for {self._last + 1} columns.")
        if len(named) == self._last + 1:
            return self._names(list(named))
        return self._names(list(commented) or [f"column{j + 1}" for j in range(self.width)])

    def _commented_names(self, first: int) -> Cells:
        """Names in the comment above the rows, if it has as many, and looks like names and not like a remark."""
        if not first or not self._is_comment(self.rows[first - 1]):
            return []
        row = self.rows[first - 1]
        names = row[1:] if row[0] in COMMENT_MARKS else [re.sub(r"^[#%]+\s*", "", row[0]).strip('"'), *row[1:]]
        if len(names) != self.width or not all(names[: self._last + 1]):
            return []
        remark = any(re.search(r"[:;=]" if self.width > 1 else r"[:;=\s]", name) for name in names)
        if remark and self.width > 1 and self.given.header is None:
            raise self._names_or_data(row)
        return [] if remark else names

    def _n_units(self, start: int) -> int:
        """Rows from one on with units or types, if every row below has numbers or missing values there."""
        if not self.given.has_units or not self.numeric or self.width == 1:
            return 0
        n_units = 0
        for row in self.rows[start : start + _MAX_UNITS]:
            cells = [row[j] for j in self.numeric if j < len(row)]
            missing = any(cell and self._missing(cell) for cell in cells)  # N/A is no force per current
            if len(row) != self.width or self._numbers_in(row) or missing or not are_units(cells):
                break
            n_units += 1
        others = [row for row in self.rows[start + n_units :] if len(row) == self.width]
        numbers = all(is_some_number(row[j]) or self._missing(row[j]) for row in others for j in self.numeric)
        return n_units if numbers and others else 0


def _without_empty(row: Cells) -> Cells:
    """A row without the empty cells at its end."""
    return row[: max((j + 1 for j, cell in enumerate(row) if cell), default=0)]
