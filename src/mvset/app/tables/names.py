"""Whether a row has the names of columns: how much more probable it is as names than as one of the rows below it.

As one of the rows, each of its cells is like the others of its column: a cell of a kind that n others are not has
probability 1 / (n + 2), and a word that is new is as probable as words that come once (Good and Turing). As names,
words are usual; numbers are rare, unless they count: 0, 1, 2 or 2019, 2020, 2021.
"""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mvset.app.tables.marks import is_some_number
from mvset.app.tables.numbers import NumberStyle

DATED = re.compile(r"\d+[-/:.]\d[\d :/.,+TZ-]*(?:[AaPp][Mm])?")  # a date or a time
_DIGITS = re.compile(r"\d+")
_HEADERS = 8.0  # tables with names for each without
# Shares of tables whose names are numbers: that count, only zero, ascending, others. Some beside words are more usual.
_COUNTING, _ZERO, _ASCENDING, _NUMBERS, _UNLIKELY = 0.015, 0.003, 3e-4, 1.5e-4, 1e-7
_SOME_NUMBERS = 0.02
_NO_NAME = 0.01  # of names are a word for a missing value, a date, or like a value of their own column
_NO_INDEX, _EMPTY = 0.3, 0.03  # of first names, and of others, are left out
_GAP = 0.05  # of columns that count the rows have missing values
_DIRT = 0.02  # of the values in columns of numbers are words, at most


@dataclass(frozen=True)
class Column:
    """The cells of a column below a row that may have names."""

    cells: Sequence[str]
    is_numeric: bool
    style: NumberStyle

    def kind(self, cell: str, *, quoted: bool = False) -> str:
        """What a cell is: a word, a date, a whole number or one with a mark, a percentage, or missing."""
        if self.style.is_missing(cell) and cell != "Na":  # sodium
            return "missing"
        if is_some_number(cell):
            number = "percent" if cell.endswith("%") else "whole" if cell.lstrip("+-−").isdecimal() else "marked"
            return "word" if quoted else number
        return "date" if DATED.fullmatch(cell) else "word"

    @cached_property
    def has_no_words(self) -> bool:
        """Whether the column has numbers or dates."""
        return self.is_numeric or 2 * sum(self.kind(each) == "date" for each in self.cells) > len(self.cells)

    def probability(self, cell: str, kind: str) -> float:
        """How probable a cell is as another value of the column."""
        n = len(self.cells) + 2
        known = [each for each in self.cells if not self.style.is_missing(each)]
        share = (sum(self.kind(each) == kind for each in self.cells) + 1) / n
        if kind == "word" and self.has_no_words:
            return min(share, _DIRT)
        if kind == "word" and cell not in known:
            n_single = sum(count == 1 for count in Counter(known).values())
            share *= (n_single + 1) / (len(known) + 2)
            if not re.search(r"\d", cell) and all(re.search(r"\d", each) for each in known):
                share /= len(known) + 1
        if kind == "missing" and self._counts_rows:
            share *= _GAP
        if kind == "whole" and self._is_apart(int(cell.replace("−", "-"))):
            share *= 2 / n
        return share

    def has_alike(self, cell: str) -> bool:
        """Whether the column has this word, up to its digits: ID-7 is like ID-1."""
        return _DIGITS.sub("0", cell) in {_DIGITS.sub("0", each) for each in self.cells}

    @property
    def _counts_rows(self) -> bool:
        return any(list(self.cells) == [str(i + start) for i in range(len(self.cells))] for start in (0, 1))

    def _is_apart(self, value: int) -> bool:
        """Whether a number is farther from the others than these are from each other."""
        others = [int(each.replace("−", "-")) for each in self.cells if self.kind(each) == "whole"]
        return len(others) > 1 and max(min(others) - value, value - max(others)) > max(others) - min(others)


def odds_of_names(row: Sequence[str], quoted: Sequence[bool], columns: Sequence[Column]) -> float:
    """How much more probable a row is as names of these columns than as one of the rows below it."""
    odds, numbers, empty, has_words = _HEADERS, [], _NO_INDEX, False
    for cell, is_quoted, column in zip(row, quoted, columns, strict=True):
        kind = column.kind(cell, quoted=is_quoted)
        if kind in ("whole", "marked"):
            numbers.append(cell)
        elif kind == "word" and column.has_no_words:
            has_words = True
        elif kind != "word" or column.has_alike(cell):
            odds *= _NO_NAME if cell else empty
        odds /= column.probability(cell, kind)
        empty = _EMPTY
    words = [cell for cell in row if cell]
    if len(set(words)) < len(words):
        odds *= _NO_NAME
    if not numbers:
        return odds
    if len(numbers) > 2 and _are_names_that_count(numbers):
        below = zip(*(column.cells for column in columns if column.is_numeric), strict=True)
        n_counting = sum(_counts([cell for cell in cells if is_some_number(cell)]) for cells in below)
        odds *= (len(columns[0].cells) + 2) / (n_counting + 1) * 10.0 ** (len(numbers) - 3)
    beside_words = _SOME_NUMBERS if has_words and all(each.isdecimal() for each in numbers) else 0.0
    return odds * max(_as_names(numbers), beside_words)


def _as_names(numbers: Sequence[str]) -> float:
    """Share of all tables with names whose names are numbers like these."""
    if not all(re.fullmatch(r"\d+(?:[.,]\d+)?", each) for each in numbers) or len(set(numbers)) < len(numbers):
        return _UNLIKELY
    whole = all(each.isdecimal() for each in numbers)
    if len(numbers) == 1:
        return _ZERO if numbers[0] == "0" else _NUMBERS / 2
    if _are_names_that_count(numbers):
        return _COUNTING if whole else _ASCENDING
    ascending = all(_value(a) < _value(b) for a, b in itertools.pairwise(numbers))
    return (_ASCENDING if ascending else _NUMBERS) * (1.0 if whole else 0.3)


def _are_names_that_count(numbers: Sequence[str]) -> bool:
    """Whether numbers grow by equal steps: two of them by one, and four at least if they have marks."""
    return _counts(numbers) and (len(numbers) > 3 or all(each.isdecimal() for each in numbers))


def _counts(numbers: Sequence[str]) -> bool:
    if not all(re.fullmatch(r"\d+(?:[.,]\d+)?", each) for each in numbers):
        return False
    steps = {_value(b) - _value(a) for a, b in itertools.pairwise(numbers)}
    return len(steps) == 1 and steps != {0} and (len(numbers) > 2 or steps == {1})


def _value(number: str) -> Fraction:
    return Fraction(number.replace(",", "."))
