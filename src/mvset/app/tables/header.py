"""Find where a text table begins: lines above it, the names of the columns, rows of units, the first row of data."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mvset.app.tables.errors import TableError, quoted
from mvset.app.tables.marks import is_some_number
from mvset.app.tables.names import DATED, Column, odds_of_names
from mvset.app.tables.numbers import NumberStyle
from mvset.app.tables.options import ReadingOptions
from mvset.app.tables.units import are_units

if TYPE_CHECKING:
    from mvset.app.tables.dialect import Dialect

NO_COLUMN = "\0"  # begins the name of a column that is there only because a separator ends each row
COMMENT_MARKS = ("#", "%")
_TOP = 50  # rows in which a table begins
_TYPICAL = 200  # rows below that show what is in the columns
_MAX_UNITS = 2  # rows below the header: units, and types
_LOGGER = "TOA5"  # begins the line about the station, above the names, in files of Campbell's loggers
_OF_TITLE = re.compile(r":$|(?:^|\s)\d+[-/:.]\d")  # "Export 2026-01-31 12:00"
_NAMES, _DATA = 20.0, 0.004  # odds of names: with more, a row has names; with less, it is data; between, it may be both

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
    raw: Sequence[str]  # the rows as they are written
    apart: Collection[int]  # rows above empty lines
    width: int
    given: ReadingOptions
    before: "Dialect | None"  # of the table that a model was fitted to
    label: str
    separator: str

    def beginning(self) -> Beginning:
        """Where the table begins, by what the user says, the columns of a model, or the cells."""
        i, named = self._model_header(), True
        if i is None:
            i, named = self._first_of_table()
        if not named:
            i, named = self._below_titles(i)
        if not named:
            return Beginning(self._numbered_names(i), False, i, self._n_units(i))
        self._check_above([k for k in range(i) if not self._is_comment(k) and self._is_like_data(self.rows[k])])
        names = self._names(self._unmarked(i)) if i < len(self.rows) else ()
        found = Beginning(names, True, i, self._n_units(i + 1))
        is_guess, row = self.given.header is None, self.rows[i] if i < len(self.rows) else []
        if is_guess and self.rows[found.first :] and self._commented_names(found.first + 1):
            raise self._names_or_data(self.rows[found.first])
        again = any(map(is_some_number, row)) and row in self.rows[i + 1 :]
        if is_guess and (again or (len(row) == self.width and self._is_aligned(i))):  # or none for an index
            raise self._names_or_data(row)
        return found

    def _model_header(self) -> int | None:
        """The row with the names of the model's columns."""
        wanted = set(self.given.columns)
        if not wanted or self.given.header is False:
            return None
        named = (i for i in range(min(_TOP, len(self.rows))) if wanted <= set(self._names(self._unmarked(i))))
        found = next(named, None)
        if found is not None and not self._fits(found) and len(self.rows[found]) < self.width:
            self._check_above([] if self._has_row_names(found) else [found])
        return found

    def _first_of_table(self) -> tuple[int, bool]:
        """The first row of the table, and whether it has the names of the columns."""
        doubtful = None
        for i in [i for i in range(min(_TOP, len(self.rows))) if self._fits(i) and any(self.rows[i])]:
            row = self.rows[i]
            if self._may_be_title(i):
                if any(row[j] for j in self.numeric if j < len(row)):
                    continue
                if self.given.header is None:
                    doubtful = row if doubtful is None else doubtful
                    continue
            if self.given.header is not None:
                return i, self.given.header and not (self._commented_names(i) and self._odds_of_names(i) < _DATA)
            odds = self._odds_of_names(i)
            if odds >= _DATA:
                return i, self._has_names(i, odds)
            if doubtful is None:
                return i, False
            break
        if doubtful is not None:
            raise self._names_or_data(doubtful)
        return 0, bool(self.given.header)

    def _may_be_title(self, i: int) -> bool:
        """Whether a row is filled up with empty cells, and has neither a number nor a word that comes again."""
        row = self.rows[i]
        is_sparse = bool(row[0]) and 2 * sum(map(bool, row)) <= self._last + 1 and not self._n_units(i)
        return is_sparse and not self._numbers_in(row) and not self._repeats(i)

    def _repeats(self, i: int) -> bool:
        """Whether a row has a date, or a value that comes again below in its column."""
        below = self._whole(i + 1)[:_TYPICAL]
        cells = [(j, cell) for j, cell in enumerate(self.rows[i][: self.width]) if cell and j not in self.numeric]
        return any(DATED.fullmatch(cell) or cell in [self.rows[k][j] for k in below] for j, cell in cells)

    def _has_names(self, i: int, odds: float) -> bool:
        """Whether a row that is no data for certain has names."""
        row = self.rows[i]
        if any(map(is_some_number, row)) and self._commented_names(i):
            raise self._names_or_data(row)
        if i in self.apart and i and not self._is_comment(i - 1):  # the last line of a title
            raise self._names_or_data(row)
        if i and self._n_units(i):
            if self._commented_names(i):
                return False
            if len(self.rows[i - 1]) > 1 and not self._is_comment(i - 1):  # names that are not as wide
                raise self._names_or_data(row)
        if (self.separator == " " or self.width == 1) and any(map(_OF_TITLE.search, row)):
            raise self._names_or_data(row)
        if odds > _NAMES and (self._header_before is None or self.rows[i + 1 :]):
            return True
        return self._as_before(row)

    def _below_titles(self, first: int) -> tuple[int, bool]:
        """Where the data begins, or the names above it that are one less. Refuses lines that may be data or names."""
        above = [i for i in range(first) if not self._is_comment(i)]
        if all(self._fits(i) and not any(self.rows[i]) for i in above):
            return min([first, *above]), False  # rows without any value
        last, guess = above[-1], self.given.header is None
        if guess and self._fits(last) and self.width == 2:  # a title, or one name of two
            raise self._names_or_data(self.rows[last])
        is_short = guess and not self._fits(last)
        is_one_less = is_short and last == first - 1 and len(_without_empty(self.rows[last])) == self._last
        if is_one_less and self._has_row_names(last):
            return last, True
        self._check_above([i for i in above if any(map(is_some_number, self.rows[i]))])
        may_be_one = all(is_some_number(self.separator.join(row)) for row in self.rows[first:])  # 1,5 and 1 000
        if is_short and (len(self.rows[last]) > 1 or (self.width == 2 and not may_be_one)):
            self._check_above([last])
        return first, False

    def _fits(self, i: int) -> bool:
        """Whether a row has all columns of the table: the last one may have no name."""
        return len(self.rows[i]) in (self.width, self._last + 1) and not self._is_comment(i)

    def _whole(self, start: int = 0) -> list[int]:
        """Rows from one on that have all columns."""
        return [k for k in range(start, len(self.rows)) if len(self.rows[k]) == self.width]

    @cached_property
    def numeric(self) -> list[int]:
        """Columns that are numbers in most rows; the first rows may be something else."""
        same, found = [self.rows[k] for k in self._whole()], []
        for j in range(self.width):
            cells = [row[j] for row in same[max(min(3, len(same) - 1), len(same) // 2 - _TYPICAL) :][:_TYPICAL]]
            known = [each for each in cells if not self._missing(each)] or [row[j] for row in same[1:]]
            if 2 * sum(map(is_some_number, known)) > sum(not self._missing(each) for each in known):
                found.append(j)
        return found

    @property
    def _numbered_before(self) -> Sequence[str]:
        """The names in the model's table, if it has no header."""
        names = self.before.names if self.before and not self.before.header else ()
        return [name for name in names if not name.startswith(NO_COLUMN)]

    @cached_property
    def _last(self) -> int:
        """The last column with values: a separator at the end of each row makes one without."""
        if len(self._numbered_before) == self.width:
            return self.width - 1
        whole = [k for k in self._whole() if not self._stands_apart(k)]
        return max((j for j in range(self.width) if any(self.rows[k][j] for k in whole)), default=self.width - 1)

    def _missing(self, cell: str) -> bool:
        return self._style.is_missing(cell)

    @cached_property
    def _style(self) -> NumberStyle:
        return NumberStyle(missing=self.given.missing)

    def _numbers_in(self, row: Cells) -> list[str]:
        """The numbers in the columns of numbers."""
        return [row[j] for j in self.numeric if j < len(row) and is_some_number(row[j])]

    def _is_like_data(self, row: Cells) -> bool:
        """Whether a row above the names is part of another table."""
        n_numbers = sum(map(is_some_number, row))
        return (
            n_numbers > 1
            or n_numbers == sum(map(bool, row)) > 0
            or (len(row) == self.width and 2 * len(self._numbers_in(row)) > len(self.numeric))
        )

    def _odds_of_names(self, i: int, names: Cells | None = None) -> float:
        """How much more probable a row, or names from it, is as names than as data."""
        below = self._whole(i + 1)[:_TYPICAL]
        row = (names or self._unmarked(i))[: self.width]
        columns = [Column([self.rows[k][j] for k in below], j in self.numeric, self._style) for j in range(len(row))]
        bare = [self.separator not in cell and not self._are_quoted(below, j) for j, cell in enumerate(row)]
        quoted = [is_bare and f'"{cell}"' in self.raw[i] for is_bare, cell in zip(bare, row, strict=True)]
        return odds_of_names(row, quoted, columns)

    def _are_quoted(self, rows: Sequence[int], j: int) -> bool:
        """Whether values of a column are in quotation marks."""
        return any(f'"{self.rows[k][j]}"' in self.raw[k] for k in rows)

    @property
    def _header_before(self) -> bool | None:
        """Whether the table of the model has a header, if it is written in the same way."""
        return self.before.header if self.before and self.before.separator == self.separator else None

    def _as_before(self, row: Cells) -> bool:
        """Whether a row that may be names or data is names: as in the table of the model, or else refused."""
        if self._header_before is None:
            raise self._names_or_data(row)
        return self._header_before

    def _names_or_data(self, row: Cells) -> TableError:
        return TableError(
            f"{self.label}: the first row, {quoted(row)}, may be names of columns or a row of data. Use --read "
            "header=yes or --read header=no."
        )

    def _check_above(self, rows: Sequence[int]) -> None:
        """Refuse to leave out rows above the table that may be data or names."""
        if rows:
            raise TableError(
                f"{self.label}: {quoted(self.rows[rows[0]])} stands above rows with {self.width} values. Correct the "
                "file, or leave out lines above the table with --read skip-rows."
            )

    def _is_comment(self, i: int) -> bool:
        """Whether a row above the header is a comment: # before a space, or alone. In #no,load it is part of a name."""
        is_wide = len(self.rows[i]) in (self.width, self._last + 1)
        return self._stands_apart(i) or (self._has_mark(i) and not is_wide)

    def _has_mark(self, i: int) -> bool:
        """Whether a row begins with the mark of a comment, and not with #N/A."""
        return self.raw[i].lstrip().startswith(COMMENT_MARKS) and not self._missing(self.rows[i][0])

    def _stands_apart(self, i: int) -> bool:
        """Whether a row of any width is a comment, by its mark or as the first line of a logger's file.

        A single line that begins with % and a space has names: % yield,load.
        """
        first = self.rows[i][0]
        if not self._has_mark(i):
            return i == 0 and first == _LOGGER
        if first[:1] == "%" and self.separator != " ":
            beside = [self.rows[k][0] for k in (i - 1, i + 1) if 0 <= k < len(self.rows)]
            if not any(each.startswith("%") for each in beside):
                return False
        if self.width == 1 and re.search(r"[\s:]", first):
            return True
        return first[1:2] in (" ", "\t", *COMMENT_MARKS) or (self.separator == " " and first in COMMENT_MARKS)

    def _unmarked(self, i: int) -> Cells:
        """A row without the mark before its first name, if comments above it are marked in the same way."""
        first, *others = self.rows[i] or [""]
        above = [row[0] for row in self.rows[:i] if first[:1] in COMMENT_MARKS and row[0][:1] == first[:1]]
        if first[1:2] != " " and self.separator != " ":  # below "# plant 7", #no is a name
            above = [comment for comment in above if comment[1:2] != " "]
        return [first[1:] if above else first, *others]

    def _has_row_names(self, i: int) -> bool:
        """Whether the rows below one have names: in quotation marks, as R writes them, or as pandas writes them."""
        below = self._whole(i + 1)
        if all(self.raw[k].lstrip().startswith('"') for k in [i, *below]):
            return not any(self._are_quoted(below, j) for j in self.numeric if j)
        return self._is_aligned(i)

    def _is_aligned(self, i: int) -> bool:
        """Whether names begin with a space, as in white space above an index."""
        below = [self.rows[k][0] for k in self._whole(i + 1)]
        is_index = any(below == [str(k + start) for k in range(len(below))] for start in (0, 1))
        return self.separator == " " and self.raw[i].startswith(" ") and is_index

    def _names(self, row: Cells) -> tuple[str, ...]:
        """The names of all columns: the last may have none, or the first, which then has the names of rows."""
        if len(row) < self.width and len(filled := _without_empty(row)) == self._last:
            row = ["", *filled]
        return *row[: self._last + 1], *(f"{NO_COLUMN}{j}" for j in range(self._last + 1, self.width))

    def _numbered_names(self, first: int) -> tuple[str, ...]:
        """Names that the user gives, or of the last comment above the rows, or of the model's table, or numbers."""
        commented = () if self.given.names else self._commented_names(first)
        before = () if commented else self._numbered_before
        named = self.given.names or before
        if named and len(named) != self._last + 1:
            who = "--read names: there are" if self.given.names else f"{self.label}: the model's table has"
            raise TableError(f"{who} {len(named)} names for {self._last + 1} columns.")
        return self._names(list(named or commented) or [f"column{j + 1}" for j in range(self.width)])

    def _commented_names(self, first: int) -> Cells:
        """Names in the comment above the rows, if it has as many, and looks like names and not like a remark."""
        comments = [i for i in range(first) if self._is_comment(i)]
        fields = [i for i in comments if re.match(r"[#%]\s*fields\b", self.rows[i][0], re.IGNORECASE)]
        if not comments or (comments[-1] != first - 1 and not fields):
            return []
        i = (fields or comments)[-1]
        row = self.rows[i]
        alone = row[0] in COMMENT_MARKS or re.fullmatch(r"[#%]\s*fields:?", row[0], re.IGNORECASE)
        word = re.sub(r"^[#%]+\s*(?:fields:)?\s*", "", row[0], flags=re.IGNORECASE).strip('"')
        names = row[1:] if alone else [word, *row[1:]]
        if len(_without_empty(names)) != self._last + 1 or not all(names[: self._last + 1]):
            is_near = len(names) == self._last and (len(names) > 1 or re.fullmatch(r"\w+", "".join(names)) is not None)
            is_near = is_near or (len(row) > 1 + (self.separator == ",") and self.separator != " ")
            is_guess = self.given.header is None and bool(self.rows[first:])
            if is_near and is_guess and self._odds_of_names(first) < _DATA:
                raise self._names_or_data(row)
            return []
        remark = any(re.search(r"[:;=]" if self.width > 1 else r"[:;=\s]", name) for name in names)
        remark = remark or (any(map(is_some_number, names)) and self._odds_of_names(i, names) < _NAMES)
        is_word = re.fullmatch(r"\w+", names[0]) is not None
        if remark and (self.width > 1 or is_word) and self.given.header is None and not fields:
            raise self._names_or_data(row)
        return [] if remark else names

    def _n_units(self, start: int) -> int:
        """Rows from one on with units or types, if every row below has numbers or missing values there."""
        if not self.given.has_units or not self.numeric or self.width == 1:
            return 0
        n_units = 0
        for i, row in enumerate(self.rows[start : start + _MAX_UNITS], start):
            cells = [row[j] for j in self.numeric if j < len(row)]
            missing = any(cell and self._missing(cell.strip("[]()")) for cell in cells)  # N/A is no force per current
            if len(row) != self.width or self._numbers_in(row) or missing or not are_units(cells) or self._repeats(i):
                break
            n_units += 1
        others = [self.rows[k][j] for k in self._whole(start + n_units) for j in self.numeric]
        return n_units if others and all(is_some_number(cell) or self._missing(cell) for cell in others) else 0


def _without_empty(row: Cells) -> Cells:
    """A row without the empty cells at its end."""
    return row[: max((j + 1 for j, cell in enumerate(row) if cell), default=0)]
