"""Numbers as people write them: decimal commas, thousands, percent signs, and words for missing values."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING = ("", "na", "n/a", "#n/a", "#na", "nan", "-nan", "null", "none", "<na>")
_INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
_BOOLEAN = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written in a table, and which values stand for missing ones besides the usual."""

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()

    def is_missing(self, cell: str) -> bool:
        """Whether a cell stands for a missing value."""
        return cell.lower() in MISSING or cell in self.missing

    @property
    def pattern(self) -> str:
        """A regular expression for a number."""
        mark, point = re.escape(self.thousands or ""), re.escape(self.decimal)
        whole = rf"(?:[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|\d+)" if mark else r"\d+"
        return rf"^[+\-−]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\s?%?$"


PLAIN = NumberStyle()


def is_number(cell: str, style: NumberStyle) -> bool:
    """Whether a cell is a number."""
    return re.match(style.pattern, cell) is not None


class NotANumber(ValueError):
    """A value of a column of numbers that is none."""

    def __init__(self, index: int, value: str) -> None:
        super().__init__(index, value)
        self.index, self.value = index, value


def as_numbers(column: pa.Array, style: NumberStyle) -> pa.Array:
    """Text as float64, and null where a value is missing; raises NotANumber for the first value that is neither."""
    if style.decimal == "." and not style.thousands and not style.missing:
        try:
            return column.cast(pa.float64())  # nearly always
        except pa.ArrowInvalid:
            pass
    text = pc.utf8_trim_whitespace(column)
    lower = pc.utf8_lower(text)
    missing = _are_missing(text, lower, style)
    other = pc.is_in(lower, pa.array([*_INFINITE, *_BOOLEAN]))
    number = pc.match_substring_regex(text, style.pattern)
    wrong = pc.invert(pc.fill_null(pc.or_(pc.or_(missing, other), number), True))
    if pc.any(wrong).as_py():
        index = int(np.flatnonzero(wrong.to_numpy(zero_copy_only=False))[0])
        raise NotANumber(index, column[index].as_py())
    if style.thousands:
        lower = pc.replace_substring(lower, style.thousands, "")
    if style.decimal != ".":
        lower = pc.replace_substring(lower, style.decimal, ".")
    for old, new in (("−", "-"), ("%", ""), ("+inf", "inf"), *_BOOLEAN.items()):
        lower = pc.replace_substring(lower, old, new)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(lower), r"^\+", "")
    return pc.if_else(missing, pa.scalar(None, pa.string()), plain).cast(pa.float64())


def _are_missing(text: pa.Array, lower: pa.Array, style: NumberStyle) -> pa.Array:
    return pc.or_(pc.is_in(lower, pa.array(MISSING)), pc.is_in(text, pa.array(list(style.missing), pa.string())))


_DATE = (
    r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})"
    r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?$"
)
_TIME = r"^\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?$"
_SOME = 0.1  # of the values are numbers: then the others are wrong


def kind_of(column: pa.Array, style: NumberStyle) -> Any:
    """The type of a column of text by its first values: a number, a truth value, a date or text; null if all miss."""
    text = pc.utf8_trim_whitespace(column)
    lower = pc.utf8_lower(text)
    known = pc.invert(_are_missing(text, lower, style))
    text, lower = text.filter(known), lower.filter(known)
    if not len(text):
        return pa.null()
    if pc.all(pc.is_in(lower, pa.array(list(_BOOLEAN)))).as_py():
        return pa.bool_()
    if _share(text, _DATE) > 0.5 or _share(text, _TIME) > 0.5:
        return pa.timestamp("us")
    infinite = pc.mean(pc.is_in(lower, pa.array(_INFINITE)).cast(pa.int8())).as_py()
    return pa.float64() if _share(text, style.pattern) + infinite > _SOME else pa.string()


def _share(text: pa.Array, pattern: str) -> float:
    """Share of values that match."""
    return float(pc.mean(pc.match_substring_regex(text, pattern).cast(pa.int8())).as_py())
