"""Dates as people write them: year, day or month first, with or without a time of day and a zone."""

import contextlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvset.inference.timeline import Times, shown_time
from mvset.wording import counted

_HOUR = 3600e6  # microseconds
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s?(?:[AaPp][Mm])?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?"
_DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|(?P<first>\d{1,2})[-/.](?P<second>\d{1,2})[-/.](?:\d{4}|\d{2}))"
DATE = rf"^{_DAY}(?:(?:[ T]|, ?)\s*{_CLOCK})?$"
# A year of two digits may as well be the day, except with points; and no hour after noon is above twelve.
_NO_DATE = r"^\d{1,2}[-/]\d{1,2}[-/]\d{2}(?:\D|$)|[ T,](?:1[3-9]|2\d):.*[Pp][Mm]"
_YEAR_LAST = r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d+)"
_TO_ISO = {
    r"^(\d{4})[-/.](\d+)[-/.](\d+)": r"\1-\2-\3",
    r"^(\d\d)-": r"20\1-",
    r"^([\d-]+)[ T,]\s*": r"\1 ",
    r"([- ])(\d)\b": r"\10\2",
    r"[.,](\d{1,6})\d*": r".\1",  # microseconds
    r"\s12(:.*[AaPp][Mm])": r" 00\1",
    r"\s?[AaPp][Mm]": "",
    r"\s?UTC": "Z",
    r"\s([+Z-])": r"\1",
}
TIME_OF_DAY = rf"^{_CLOCK}$"


class DateError(ValueError):
    """Text that cannot be read as dates; the argument says why."""


@dataclass
class TimeOrder:
    """Whether times repeat, or go back by an hour as clocks do in autumn, in the order of the rows."""

    n_rows: int = 0
    n_equal: int = 0
    n_back: int = 0
    hour_back: str = ""  # where times without a zone go back by an hour or less
    _last: dict[str, float] = field(default_factory=dict)  # by table

    def add(self, times: Times, table: str) -> None:
        """Add the times of rows that follow the last ones of the table."""
        values = np.append(self._last.get(table, np.nan), times.values)
        steps = np.diff(values)
        self.n_rows, self.n_equal = self.n_rows + len(steps), self.n_equal + int(np.sum(steps == 0))
        back = np.flatnonzero(steps < 0)
        self.n_back += len(back)
        if len(back) and times.kind == "date" and steps[back[0]] >= -_HOUR and 1 <= values[back[0]] // _HOUR % 24 <= 3:
            self.hour_back = self.hour_back or str(shown_time(float(values[back[0]]), times.kind))
        self._last[table] = float(values[-1])

    def notes(self, name: str) -> list[str]:
        """Notes for the user on the column of times."""
        found = []
        if self.hour_back and self.n_back <= 2:
            found.append(
                f"{name} goes back by an hour after {self.hour_back}, as clocks do in autumn. The order of the rows in "
                "this hour is unknown. Use times with a zone."
            )
        if 0 < 2 * self.n_equal < self.n_rows:
            found.append(f"{counted(self.n_equal, 'row')} of {self.n_rows} have the same {name} as the row before.")
        return found


def dates_begin_with(columns: Iterable[pa.Array]) -> str:
    """Whether the day or the month comes first in dates such as 03/04/2026: the first number above 12 shows it.

    With points, the day comes first. Reads as many columns as it takes, and raises DateError if none shows it.
    """
    example = None
    for column in columns:
        parts = pc.extract_regex(pc.utf8_trim_whitespace(column), pattern=DATE)
        distinct = (pc.unique(pc.struct_field(parts, name)).to_pylist() for name in ("first", "second"))
        first, second = (max([int(each) for each in texts if each], default=0) for texts in distinct)
        if first > 12 >= second:
            return DAY_FIRST
        if second > 12 >= first:
            return MONTH_FIRST
        if first and example is None:
            example = next(text for text in column.to_pylist() if text and re.match(r"\s*\d{1,2}\D", text))
    if example is None or re.match(r"\s*\d+\.", example):
        return DAY_FIRST
    raise DateError(
        f"{example!r} may begin with the day or with the month: --read date-format=day-first or month-first"
    )


def parsed_dates(text: pa.Array, date_format: Callable[[], str]) -> pa.Array:
    """Text as timestamps, with the zone of the first value if they have zones.

    `date_format` is called where dates are not as 2026-01-31: it returns day-first, month-first or a pattern such as
    %d.%m.%y.
    """
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        with contextlib.suppress(pa.ArrowInvalid):
            pc.cast(text[:1], kind)  # a cast that fails for all rows takes long
            return _in_zone(pc.cast(text, kind), text)
    order = date_format()
    return _by_pattern(text, order) if "%" in order else _by_order(pc.utf8_trim_whitespace(text), order)


def _by_order(text: pa.Array, order: str) -> pa.Array:
    """Text as timestamps; `order` says whether the day or the month comes first where the year comes last."""
    wrong = pc.or_(pc.invert(pc.match_substring_regex(text, DATE)), pc.match_substring_regex(text, _NO_DATE))
    if pc.any(wrong).as_py():
        raise DateError(f"{text.filter(wrong)[0].as_py()!r} is neither a number nor a date like 2026-01-31 23:59:59")
    iso = pc.replace_substring_regex(text, _YEAR_LAST, r"\3-\2-\1" if order == DAY_FIRST else r"\3-\1-\2")
    for written, in_iso in _TO_ISO.items():
        iso = pc.replace_substring_regex(iso, written, in_iso)
    zoned = pc.sum(pc.match_substring_regex(iso, r"Z$|:.*[+-]")).as_py() or 0
    if zoned and zoned < len(text) - text.null_count:
        raise DateError("some dates have a time zone and others have none")
    try:
        times = pc.cast(iso, pa.timestamp("us", "UTC" if zoned else None))
    except pa.ArrowInvalid:
        other = MONTH_FIRST if order == DAY_FIRST else DAY_FIRST
        raise DateError(f"not all dates exist if read {order}; use --read date-format={other}") from None
    afternoon = pc.match_substring(text, "pm", ignore_case=True)
    return _in_zone(pc.add(times, pc.if_else(afternoon, timedelta(hours=12), timedelta(0))), text)


def _by_pattern(text: pa.Array, pattern: str) -> pa.Array:
    """Text as timestamps by a pattern of `strptime`."""
    coded = text.dictionary_encode()
    try:
        found = [each and datetime.strptime(each.strip(), pattern) for each in coded.dictionary.to_pylist()]
    except ValueError as error:
        raise DateError(str(error)) from None
    zoned = any(each is not None and each.tzinfo for each in found)
    plain = [each.astimezone(UTC) if zoned and each else each for each in found]
    return _in_zone(pc.take(pa.array(plain, pa.timestamp("us", "UTC" if zoned else None)), coded.indices), text)


def _in_zone(times: pa.Array, text: pa.Array) -> pa.Array:
    """Times that know the zone of the first value as it is written; their instants stay as they are."""
    if times.type.tz is None:
        return times
    first = next((each for each in text.to_pylist() if each), "")
    found = re.search(r"[+-]\d{2}:?\d{2}$", first.strip())
    zone = "UTC" if found is None else f"{found[0][:3]}:{found[0][-2:]}"
    return times.cast(pa.timestamp("us", zone))
