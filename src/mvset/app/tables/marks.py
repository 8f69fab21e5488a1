"""Decide from the cells of a table which mark is the decimal one, or refuse to where that could change a number."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mvset.app.tables.errors import TableError
from mvset.app.tables.numbers import EXPONENT, IP_ADDRESS, NumberStyle

_OTHER = {".": ",", ",": "."}
_SPACES = " '’\u00a0\u202f"  # marks between thousands that are never decimal marks


def _pattern(body: str, mark: str = "", other: str = "") -> re.Pattern[str]:
    marked = body.replace("M", re.escape(mark)).replace("O", re.escape(other))
    return re.compile(rf"[+\-−]?(?:{marked})\s?%?")


_WHOLE = _pattern(rf"\d+{EXPONENT}?")
_DECIMAL = {mark: _pattern(rf"(?:\d+M\d*|M\d+){EXPONENT}?", mark) for mark in _OTHER}
_EITHER = {mark: _pattern(r"[1-9]\d{0,2}M\d{3}", mark) for mark in _OTHER}
_GROUPED = {mark: _pattern(r"[1-9]\d{0,2}(?:M\d{3})+(?:O\d*)?", mark, other) for mark, other in _OTHER.items()}
_GROUPED |= {mark: _pattern(r"[1-9]\d{0,2}(?:M\d{3})+(?:[.,]\d*)?", mark) for mark in _SPACES}
_GROUPED[","] = _pattern(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|[1-9]\d?(?:,\d\d)+,\d{3}(?:\.\d*)?")  # 12,34,567
_NUMBER = re.compile("|".join(each.pattern for each in (_WHOLE, *_DECIMAL.values(), *_GROUPED.values())))


@lru_cache(1 << 16)  # cells are asked about several times
def is_some_number(cell: str) -> bool:
    """Whether a cell is a number in some style."""
    is_marked = cell[:1] in "+-−0123456789.," and _NUMBER.fullmatch(cell) is not None
    return is_marked and re.match(IP_ADDRESS, cell) is None


@dataclass
class _Evidence:
    """Cells of a table that show what a mark stands for: one example of each, by mark."""

    decimal: dict[str, str] = field(default_factory=dict)  # the mark can only be the decimal one
    between: dict[str, str] = field(default_factory=dict)  # it can only stand between thousands
    either: dict[str, str] = field(default_factory=dict)  # it may be both: 1.234
    alone: set[str] = field(default_factory=set)  # marks that may be both in every cell of a column

    def add(self, column: Iterable[str]) -> None:
        """Add the cells of a column of numbers."""
        cells = set(column)
        whole = [cell for cell in cells if cell.isdecimal()]
        ungrouped = any(len(cell) > 3 for cell in whole)
        found_marks = set("".join(cells))
        for mark in [each for each in (*_OTHER, *_SPACES) if each in found_marks]:
            marked = sorted(cell for cell in cells if mark in cell)
            either = [cell for cell in marked if mark in _OTHER and _EITHER[mark].fullmatch(cell)]
            marked = sorted(set(marked) - set(either))
            shown = {"between": [cell for cell in marked if _GROUPED[mark].fullmatch(cell)]}
            if mark in _OTHER:
                certain = [cell for cell in marked if _DECIMAL[mark].fullmatch(cell)]
                spaced = [cell for cell in marked if any(_GROUPED[space].fullmatch(cell) for space in _SPACES)]
                # Where thousands have no mark, 1.234 is not a thousand.
                shown["decimal"] = certain or spaced or (either if ungrouped else [])
            for where, found in {**shown, "either": either}.items():
                if found:
                    getattr(self, where).setdefault(mark, found[0])
            if either and not (shown["between"] or shown["decimal"] or whole):
                self.alone.add(mark)

    def shows(self, mark: str) -> str | None:
        """Return a cell that shows a mark to be the decimal one."""
        return self.decimal.get(mark) or self.between.get(_OTHER[mark])


def number_style(
    columns: Sequence[Sequence[str]], separator: str, decimal: str | None, like: NumberStyle | None, label: str
) -> NumberStyle:
    """The marks of the numbers in these columns; `decimal` is given by the user, and `like` by an earlier table."""
    found, known = _Evidence(), like if like is not None and like.certain and like.marked else None
    for cells in columns:
        found.add(cells)
    if decimal is None and known is not None and known.given:
        decimal = known.decimal
    space = next((mark for mark in _SPACES if mark in found.between), "")
    mark = decimal or _decimal_mark(found, separator, known, space, label)
    if mark is None:  # whole numbers only: a mark further down is read if it can be only one thing
        mark = known.decimal if known and separator != "," else "."
        certain = known.decimal == mark if known else separator == ","
        return NumberStyle(mark, space, certain=certain, marked=known is not None)
    other = _OTHER[mark]
    usual = decimal is not None or other in found.between or (known is not None and known.thousands == other)
    if other in found.alone and not usual:
        raise _ambiguous(label, found.either[other], other)
    between = space or (other if other in {**found.between, **found.either} else "")
    return NumberStyle(mark, between, given=decimal is not None)


def _decimal_mark(found: _Evidence, separator: str, known: NumberStyle | None, space: str, label: str) -> str | None:
    """The decimal mark, as the cells show it, or an earlier table, or what is usual; None if no number has a mark."""
    shown = {mark: cell for mark in _OTHER if (cell := found.shows(mark)) is not None}
    if len(shown) > 1:
        raise TableError(
            f"{label} mixes decimal points and decimal commas: {shown['.']!r} and {shown[',']!r}. Say which mark is "
            "decimal with --read decimal=. or --read decimal=, and exclude the other columns."
        )
    if shown or not found.either:
        return next(iter(shown), None)
    mark, cell = next(iter(found.either.items()))
    expected = known.decimal if known else "." if separator == "," else mark if space else None
    if len(found.either) > 1 or expected != mark:
        raise _ambiguous(label, cell, mark, of_model=known is not None)
    return mark


def _ambiguous(label: str, cell: str, mark: str, *, of_model: bool = False) -> TableError:
    """A cell that may be read in two ways."""
    thousands, decimal = cell.replace(mark, ""), cell.replace(mark, ".")
    readings = f"may be {decimal} or {thousands}"
    if of_model:
        readings = f"is {thousands} by the tables of the model and {decimal} by the style of this file"
    return TableError(
        f"{label}: {cell!r} {readings}. Say which mark is the decimal one: --read decimal={mark} for {decimal}, or "
        f"--read decimal={_OTHER[mark]} for {thousands}."
    )
