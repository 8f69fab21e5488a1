"""Numbers as people write them: decimal commas, thousands, percent signs, and words for missing values."""

import contextlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvset.app.tables.dates import DATE, TIME_OF_DAY
from mvset.values import Array, cached_property

MISSING = ("", "na", "n/a", "#n/a", "#na", "nan", "-nan", "null", "none", "<na>", "\\n")
_INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
_BOOLEAN = {"true": "1", "false": "0"}
NO_NUMBER = "which is not a number"
TOO_MANY_DIGITS = "an integer with more digits than float64 can represent"
EXPONENT = r"(?:[eE][+-]?\d+|[dD][+-]\d+)"  # 1.5D+03 is Fortran's
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IP_ADDRESS = rf"^{_OCTET}(?:\.{_OCTET}){{3}}$"  # 192.168.100.102 is not 192168100102
_EXACT = 2.0**53  # float64 represents every integer up to here
_FEW = 100  # values that show whether a column has whole numbers


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written in a table, and which values stand for missing ones besides the usual."""

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()
    certain: bool = True  # whether a cell, the user or a convention has shown the decimal mark
    given: bool = False  # whether the user has named it
    marked: bool = True  # whether any number has it

    def is_missing(self, cell: str) -> bool:
        """Whether a cell stands for a missing value; -999 also stands for -999.0."""
        if cell.lower() in MISSING or cell in self.missing:
            return True
        return bool(self.missing_numbers) and is_number(cell, self) and self.value(cell) in self.missing_numbers

    @cached_property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numbers that stand for missing values."""
        return tuple(float(each) for each in self.missing if is_number(each, PLAIN))

    @cached_property
    def pattern(self) -> str:
        """A regular expression for a number."""
        mark, point = re.escape(self.thousands or ""), re.escape(self.decimal)
        lakhs = r"|[1-9]\d?(?:,\d\d)+,\d{3}" if mark == "," else ""
        whole = rf"(?:[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{lakhs}|\d+)" if mark else r"\d+"
        return rf"^[+\-−]?(?:{whole}(?:{point}\d*)?|{point}\d+){EXPONENT}?\s?%?$"

    @cached_property
    def ambiguous(self) -> str:
        """A regular expression for a number whose mark may be one between thousands: 1.234."""
        return rf"^[+\-−]?[1-9]\d{{0,2}}{re.escape(self.decimal)}\d{{3}}\s?%?$"

    def value(self, cell: str) -> float:
        """The value of a cell that is a number."""
        plain = cell.lower().rstrip("%").strip().replace(self.thousands, "").replace(self.decimal, ".")
        return float(plain.replace("−", "-").replace("d", "e"))


PLAIN = NumberStyle()


def is_number(cell: str, style: NumberStyle) -> bool:
    """Whether a cell is a number."""
    return re.match(style.pattern, cell) is not None


class NotANumber(ValueError):
    """A value of a column of numbers that is none, or not for certain: its place, and what is wrong with it."""

    def __init__(self, index: int, value: str, problem: str = NO_NUMBER) -> None:
        super().__init__(index, value, problem)
        self.index, self.value, self.problem = index, value, problem


def as_numbers(column: pa.Array, style: NumberStyle, *, percent: bool = False) -> pa.Array:
    """Text as float64, and null where a value is missing; raises NotANumber for the first value that is neither.

    `percent` is whether the values have a percent sign, as all or none of a column must.
    """
    values = None
    if style.decimal == "." and not style.thousands and not percent:
        with contextlib.suppress(pa.ArrowInvalid):
            values = column.cast(pa.float64())  # nearly always
    if values is None or not style.certain:
        values = _styled_numbers(column, style, percent=percent)
    return without_missing(_exact(values, column, style), style)


def _styled_numbers(column: pa.Array, style: NumberStyle, *, percent: bool) -> pa.Array:
    """Text as float64 by the marks of a style."""
    text = pc.utf8_trim_whitespace(column)
    lower = pc.utf8_lower(text)
    missing = _are_missing(text, lower, style)
    special = pc.or_(missing, pc.is_in(lower, pa.array([*_INFINITE, *_BOOLEAN])))
    _refuse(column, pc.or_(special, pc.match_substring_regex(text, style.pattern)))
    as_usual = pc.or_(special, pc.equal(pc.ends_with(text, "%"), percent))
    _refuse(column, as_usual, f"{'without' if percent else 'with'} a percent sign, unlike other values of the column")
    if not style.certain:
        known = pc.invert(pc.match_substring_regex(text, style.ambiguous))
        _refuse(column, known, "which may have a decimal mark or a mark between thousands (--read decimal=. or ,)")
    if style.thousands:
        lower = pc.replace_substring(lower, style.thousands, "")
    if style.decimal != ".":
        lower = pc.replace_substring(lower, style.decimal, ".")
    for old, new in (("−", "-"), ("%", ""), ("+inf", "inf"), *_BOOLEAN.items()):
        lower = pc.replace_substring(lower, old, new)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(lower), r"^\+", "")
    plain = pc.replace_substring_regex(plain, r"(\d\.?)d", r"\1e")
    return pc.if_else(missing, pa.scalar(None, pa.string()), plain).cast(pa.float64())


def _refuse(column: pa.Array, right: pa.Array, problem: str = NO_NUMBER) -> None:
    """Raise for the first value that is not right."""
    wrong = np.flatnonzero(~pc.fill_null(right, True).to_numpy(zero_copy_only=False))
    if len(wrong):
        raise NotANumber(int(wrong[0]), column[int(wrong[0])].as_py(), problem)


def _exact(values: pa.Array, column: pa.Array, style: NumberStyle) -> pa.Array:
    """Refuse integers that float64 would round: they are names of something, and two may become one."""
    plain = values.to_numpy(zero_copy_only=False)
    _check_leading_zeros(plain, column)
    if plain.max(initial=0.0) < _EXACT and plain.min(initial=0.0) > -_EXACT:
        return values
    large = np.flatnonzero(np.abs(plain) >= _EXACT)
    for i in large.tolist():
        digits = column[i].as_py().strip().replace(style.thousands or " ", "").lstrip("+-−")
        if digits.isdecimal() and int(digits) != abs(int(values[i].as_py())):
            raise NotANumber(i, column[i].as_py(), TOO_MANY_DIGITS)
    return values


def _check_leading_zeros(values: Array, column: pa.Array) -> None:
    """Refuse 7 beside 007: they are codes, and two of them may become one number."""
    if not (values[:_FEW] == np.floor(values[:_FEW])).any():
        return
    if str(column[0]).startswith(" "):
        column = pc.utf8_trim_whitespace(column)
    with_zeros = values[pc.indices_nonzero(pc.starts_with(column, "0")).to_numpy()]
    if not ((with_zeros >= 1.0) & (with_zeros == np.floor(with_zeros))).any():
        return
    codes = column.filter(pc.match_substring_regex(column, r"^0\d+$"))
    shorter = pc.less(pc.utf8_length(column), pc.max(pc.utf8_length(codes)))
    others = np.flatnonzero(pc.fill_null(pc.and_(shorter, pc.match_substring_regex(column, r"^\d+$")), False))
    if len(others):
        raise NotANumber(int(others[0]), column[int(others[0])].as_py(), f"although others are codes like {codes[0]}")


def without_missing(values: pa.Array, style: NumberStyle) -> pa.Array:
    """Numbers with null where one stands for a missing value."""
    if not style.missing_numbers:
        return values
    return pc.if_else(pc.is_in(values, pa.array(style.missing_numbers)), pa.scalar(None, pa.float64()), values)


def _are_missing(text: pa.Array, lower: pa.Array, style: NumberStyle) -> pa.Array:
    return pc.or_(pc.is_in(lower, pa.array(MISSING)), pc.is_in(text, pa.array(list(style.missing), pa.string())))


_MARKED = rf"^(?:[+\-−]?\d+[.,]\d+{EXPONENT}?|\(\d[\d.,]*\)|\d[\d.,]*-)$"  # (1,234.50) and 1,234.50- are negative
_SOME = 0.1  # of the values are numbers: then the others are wrong
_LONG = r"^\d{17,}$"  # whole numbers that float64 would round: they are names of something
_CODE = r"^\w*(?:\d[A-Za-z]|[A-Za-z]\d)\w*$"  # 4f77, beside 8349


def kind_of(column: pa.Array, style: NumberStyle) -> Any:
    """The type of a column of text by its first values: a number, a truth value, a date or text; null if all miss."""
    text = pc.utf8_trim_whitespace(column)
    lower = pc.utf8_lower(text)
    known = pc.invert(_are_missing(text, lower, style))
    text, lower = text.filter(known), lower.filter(known)
    if not len(text):
        return pa.null()
    if _share(text, _LONG) > 0.5:
        return pa.string()
    with contextlib.suppress(pa.ArrowInvalid):
        return text.cast(pa.float64()).type  # nearly always
    if pc.all(pc.is_in(lower, pa.array(list(_BOOLEAN)))).as_py():
        return pa.bool_()
    n_codes = _share(text, _CODE)
    if _share(text, IP_ADDRESS) > 0.5 or (n_codes > 0.5 and _share(text, r"^\w+$") == 1.0):
        return pa.string()
    if _share(text, DATE) > 0.5 or _share(text, TIME_OF_DAY) > 0.5:
        return pa.timestamp("us")
    infinite = pc.mean(pc.is_in(lower, pa.array(_INFINITE)).cast(pa.int8())).as_py()
    if _share(text, style.pattern) + infinite > _SOME or _share(text, _MARKED) > 0.5:  # in another style: refused
        return pa.float64()
    return pa.string()


def _share(text: pa.Array, pattern: str) -> float:
    """Share of values that match."""
    return float(pc.mean(pc.match_substring_regex(text, pattern).cast(pa.int8())).as_py())
