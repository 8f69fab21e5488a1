"""Dates however people write them."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from mvset.app.tables.dates import DAY_FIRST, MONTH_FIRST, DateError, TimeOrder, dates_begin_with, parsed_dates
from mvset.inference.timeline import Times

HOUR = 3600e6


def parsed(texts, order=DAY_FIRST):
    return parsed_dates(pa.array(texts, pa.string()), lambda: order)


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("2026-01-05", DAY_FIRST, datetime(2026, 1, 5)),
        ("2026/1/5 3:04:05,25", MONTH_FIRST, datetime(2026, 1, 5, 3, 4, 5, 250_000)),
        ("05.01.2026", DAY_FIRST, datetime(2026, 1, 5)),
        ("5.1.26 10:30", DAY_FIRST, datetime(2026, 1, 5, 10, 30)),
        ("05/01/2026 23:59:59.123456789", DAY_FIRST, datetime(2026, 1, 5, 23, 59, 59, 123_456)),
        ("01/15/2026 11:30 PM", MONTH_FIRST, datetime(2026, 1, 15, 23, 30)),
        ("01/15/2026 12:05 am", MONTH_FIRST, datetime(2026, 1, 15, 0, 5)),
        ("01/15/2026, 12:05 PM", MONTH_FIRST, datetime(2026, 1, 15, 12, 5)),
        ("5. Jan 2026", "%d. %b %Y", datetime(2026, 1, 5)),
    ],
)
def test_dates_and_times(text, order, expected):
    assert parsed([text, None], order).to_pylist() == [expected, None]


def test_zones_are_kept_by_the_first_and_instants_by_all():
    texts = ["2026-01-15T10:00:00+01:00", "2026-06-15T10:00:00+02:00", "2026-01-15 09:00:00Z"]
    found = parsed(texts)
    assert found.type == pa.timestamp("us", "+01:00")
    assert [each.astimezone(UTC).hour for each in found.to_pylist()] == [9, 8, 9]
    for zone in (" UTC", " Z", "Z"):
        assert parsed([f"15.01.2026 10:00{zone}"]).type == pa.timestamp("us", "UTC")
    assert parsed(["15.01.2026 10:00 +0530"]).to_pylist()[0].utcoffset() == timedelta(hours=5.5)
    assert parsed(["15.01.26 +0100"], "%d.%m.%y %z").type == pa.timestamp("us", "+01:00")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["soon"], "'soon' is neither a number nor a date"),
        (["01/15/26"], "'01/15/26' is neither a number nor a date"),  # 26 may be the day
        (["15.01.2026 13:00 PM"], "'15.01.2026 13:00 PM' is neither a number nor a date"),
        (["31/01/2026", "01/31/2026"], "not all dates exist if read day-first; use --read date-format=month-first"),
        (["15.01.2026 10:00", "15.01.2026 10:00+01:00"], "some dates have a time zone and others have none"),
    ],
)
def test_what_is_no_date_is_refused(texts, said):
    with pytest.raises(DateError, match=said):
        parsed(texts)


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        ([["03/04/2026"], ["13/04/2026"]], DAY_FIRST),
        ([["03/04/2026", None], ["03/14/2026"]], MONTH_FIRST),
        ([["03.04.2026"]], DAY_FIRST),
        ([["2026-01-01"]], DAY_FIRST),
    ],
)
def test_a_number_above_twelve_shows_what_comes_first(columns, first):
    assert dates_begin_with(pa.array(each, pa.string()) for each in columns) == first


def test_what_no_number_shows_is_refused_with_an_example():
    with pytest.raises(DateError, match="'03/04/2026' may begin with the day or"):
        dates_begin_with([pa.array(["2026-01-01", "03/04/2026"])])


def times(*hours):
    return Times(np.array(hours) * HOUR, "date")


def test_times_that_repeat_or_go_back_are_noted():
    order = TimeOrder()
    order.add(times(0, 1, 1.5), "a")
    order.add(times(1.5, 2.9, 2.0, 2.9, 3, 4), "a")
    order.add(times(0, 1, 2), "b")  # another table begins anew
    back, equal = order.notes("t")
    assert back.startswith("t goes back by an hour after 1970-01-01 02:54, as clocks do in autumn.")
    assert equal == "1 row of 12 have the same t as the row before."


@pytest.mark.parametrize("hours", [(0, 1, 2), (5, 4.5, 6), (2.9, 0, 2), (1, 1, 1)])
def test_other_times_are_not_noted(hours):
    order = TimeOrder()
    order.add(times(*hours), "a")
    assert order.notes("t") == []
