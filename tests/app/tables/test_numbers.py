"""Numbers as people write them."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvset.app.tables.numbers import MISSING, PLAIN, NotANumber, NumberStyle, as_numbers, is_number, kind_of

STYLES = [NumberStyle(*marks) for marks in ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", "'"))]
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def written(value, style, digits=None):
    """A number in a style, with marks between thousands."""
    text = repr(value) if digits is None else f"{value:,.{digits}f}"
    return text.replace(",", "\0").replace(".", style.decimal).replace("\0", style.thousands)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(FINITE, min_size=1, max_size=8), style=st.sampled_from(STYLES))
def test_numbers_are_read_back_exactly(values, style):
    cells = [written(value, style) for value in values]
    assert all(is_number(cell, style) for cell in cells)
    assert as_numbers(pa.array(cells), style).to_pylist() == values


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-(10**14), 10**14), min_size=1, max_size=8),
    style=st.sampled_from(STYLES),
    digits=st.integers(0, 4),
)
def test_thousands_are_read_back_exactly(values, style, digits):
    values = [value / 10**digits for value in values]
    cells = [written(value, style, digits) for value in values]
    assert as_numbers(pa.array(cells), style).to_pylist() == values


@settings(max_examples=60, deadline=None)
@given(cell=st.text("0123456789.,'+-−eE% \tNnAaIiFf/x", max_size=6), style=st.sampled_from(STYLES))
def test_a_cell_has_a_value_if_it_is_a_number(cell, style):
    """The pattern by which the dialect is guessed, and the conversion, agree."""
    words, percent = (*MISSING, "inf", "+inf", "-inf"), cell.strip().endswith("%")
    if is_number(cell.strip(), style):
        assert isinstance(as_numbers(pa.array([cell]), style, percent=percent)[0].as_py(), float)
    elif cell.strip().lower() not in words:
        with pytest.raises(NotANumber):
            as_numbers(pa.array([cell]), style, percent=percent)


@pytest.mark.parametrize(
    ("cell", "style", "value"),
    [
        (" 1.5 ", PLAIN, 1.5),
        ("+1.5", PLAIN, 1.5),
        ("−1.5", PLAIN, -1.5),
        (".5", PLAIN, 0.5),
        ("5.", PLAIN, 5.0),
        ("1e3", PLAIN, 1000.0),
        ("1,5E-3", NumberStyle(","), 0.0015),
        ("1.234.567,5", NumberStyle(",", "."), 1234567.5),
        ("1234,5", NumberStyle(",", "."), 1234.5),
        ("-Infinity", PLAIN, -math.inf),
        ("TRUE", PLAIN, 1.0),
        ("-999", NumberStyle(missing=("-999",)), None),
        *((text, PLAIN, None) for text in MISSING),
        *((f" {text.upper()} ", PLAIN, None) for text in MISSING),
    ],
)
def test_cells_and_their_values(cell, style, value):
    found = as_numbers(pa.array([cell, None]), style).to_pylist()
    assert [None if each is None or math.isnan(each) else each for each in found] == [value, None]


@pytest.mark.parametrize(
    ("cell", "style"),
    [
        ("1,5", PLAIN),
        ("1.5", NumberStyle(",")),
        ("1.23,5", NumberStyle(",", ".")),
        ("0.123", NumberStyle(",", ".")),  # no number begins with a group of one zero
        ("1 000", PLAIN),
        ("0x10", PLAIN),
        ("1e", PLAIN),
        ("--1", PLAIN),
        ("1_000", PLAIN),
        ("%", PLAIN),
        ("ERR", PLAIN),
        ("1\n2", PLAIN),
    ],
)
def test_what_is_no_number_is_named(cell, style):
    with pytest.raises(NotANumber) as error:
        as_numbers(pa.array(["1", None, cell, "x"]), style)
    assert (error.value.index, error.value.value) == (2, cell)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "", "x"], pa.float64()),
        (["inf", "NA"], pa.float64()),
        (["true", "", "False"], pa.bool_()),
        (["2026-01-01", "2026-01-02 10:00:00"], pa.timestamp("us")),
        (["01.02.2026 10:00", ""], pa.timestamp("us")),
        (["10:15", "10:30:01.5"], pa.timestamp("us")),
        (["a", "1.5.2"], pa.string()),
        (["", "NA", "null"], pa.null()),
        ([], pa.null()),
    ],
)
def test_the_kind_of_a_column(cells, kind):
    assert kind_of(pa.array(cells, pa.string()), PLAIN) == kind


def test_fortran_writes_exponents_with_d():
    assert as_numbers(pa.array(["-4.1D+03", "2.d-1", "1.5", "NA"]), PLAIN).to_pylist() == [-4100.0, 0.2, 1.5, None]
    assert PLAIN.value("-4.1D+03") == -4100.0


def test_a_minus_at_the_end_is_refused():
    column = pa.array(["1.5-", "2.25-", "7-"])
    assert kind_of(column, PLAIN) == pa.float64()
    with pytest.raises(NotANumber):
        as_numbers(column, PLAIN)


def test_percent_signs_stand_at_all_values_or_at_none():
    assert as_numbers(pa.array(["50 %", "5%", None, "NA"]), PLAIN, percent=True).to_pylist() == [50.0, 5.0, None, None]
    for percent, wrong in ((True, 1), (False, 0)):
        with pytest.raises(NotANumber) as caught:
            as_numbers(pa.array(["5%", "0.05"]), PLAIN, percent=percent)
        assert caught.value.index == wrong


def test_integers_that_float64_would_round_are_refused():
    assert as_numbers(pa.array(["9007199254740992", "1e300", "100000000000000000000"]), PLAIN).to_pylist()[0] == 2.0**53
    with pytest.raises(NotANumber) as caught:
        as_numbers(pa.array(["1", "-9007199254740993"]), PLAIN)
    assert caught.value.index == 1


def test_a_number_that_stands_for_a_missing_value_may_be_written_in_any_way():
    style = NumberStyle(missing=("-999",))
    assert as_numbers(pa.array(["-999", "-999.0", "-9.99e2", "999"]), style).to_pylist() == [None, None, None, 999.0]
    assert [style.is_missing(cell) for cell in ("-999.00", "-99", "x")] == [True, False, False]


def test_where_no_cell_has_shown_the_decimal_mark_thousands_are_in_doubt():
    style = NumberStyle(certain=False)
    assert as_numbers(pa.array(["1", "0.5", "12.34", "1234.567"]), style).to_pylist() == [1.0, 0.5, 12.34, 1234.567]
    with pytest.raises(NotANumber, match="decimal"):
        as_numbers(pa.array(["1", "1.234"]), style)
