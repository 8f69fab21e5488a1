"""Which mark is the decimal one is shown by the cells, or the table is refused."""

import pytest

from mvset.app.tables.errors import TableError
from mvset.app.tables.marks import is_some_number, number_style
from mvset.app.tables.numbers import NumberStyle
from mvset.app.tables.units import are_units

COMMAS = NumberStyle(",")


def style(*columns, separator=";", decimal=None, like=None):
    return number_style([column.split() for column in columns], separator, decimal, like, "t.csv")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["0,5 1,234"], COMMAS),
        (["0.5 1.234"], NumberStyle()),
        (["1,5E-3 1,234"], COMMAS),
        (["1234,567"], COMMAS),
        (["1.234.567 1.234"], NumberStyle(",", ".")),
        (["1,234.5"], NumberStyle(".", ",")),
        (["0.5", "1,234 950"], NumberStyle(".", ",")),
        (["1538 1.234"], NumberStyle()),  # thousands have no mark here
        (["1'234,5 7,125"], NumberStyle(",", "'")),
        (["1 2 1500"], NumberStyle(certain=False, marked=False)),
        (["+1,25% −3,5%"], COMMAS),
    ],
)
def test_cells_show_the_marks(columns, expected):
    assert style(*columns) == expected


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["5,123 2,012"], r"'2,012' may be 2\.012 or 2012\. .* --read decimal=, for 2\.012"),
        (["5.123"], r"'5\.123' may be 5\.123 or 5123"),
        (["3.201", "4,184"], "may be"),
        (["0.5", "0,7"], r"mixes decimal points and decimal commas: '0\.5' and '0,7'"),
        (["0.5", "1,234 2,345"], r"'1,234' may be 1\.234 or 1234"),
    ],
)
def test_what_they_do_not_show_is_refused(columns, said):
    with pytest.raises(TableError, match=said):
        style(*columns)


def test_a_comma_between_columns_leaves_points_for_decimals():
    assert style("5.123", separator=",") == NumberStyle()
    with pytest.raises(TableError):
        style("5,123", separator=",")  # in quotation marks


def test_the_user_decides():
    assert style("5,123", decimal=",") == NumberStyle(",", given=True)
    assert style("5,123", decimal=".") == NumberStyle(".", ",", given=True)
    assert style("5,123", like=NumberStyle(".", ",", given=True)) == NumberStyle(".", ",", given=True)


def test_an_earlier_table_decides_unless_it_contradicts():
    assert style("5,123", like=COMMAS) == COMMAS
    with pytest.raises(TableError):  # whole numbers have shown no mark
        style("84.388", like=style("95904", separator=","))
    assert style("0.5", like=COMMAS) == NumberStyle()
    assert style("1 2", like=COMMAS) == COMMAS
    assert style("0,5", "1.234", like=NumberStyle(",", ".")) == NumberStyle(",", ".")
    with pytest.raises(
        TableError, match=r"'1\.538' is 1538 by the tables of the model and 1\.538 by the style of this"
    ):
        style("1.538", like=COMMAS)


@pytest.mark.parametrize("cell", ["1", "-1.5", "1e5", ",5", "5.", "1.234.567,8", "1 234", "12\u00a0345,6", "5 %", "−3"])
def test_numbers_in_some_style(cell):
    assert is_some_number(cell)


@pytest.mark.parametrize("cell", ["", "x", "1.2.3", "1,2,3", "1-2", "12:30", "e5", "0x1f", "1 23", "192.168.1.1"])
def test_no_numbers(cell):
    assert not is_some_number(cell)


@pytest.mark.parametrize(
    "cells", ["°C bar m/s", "[V] (A) -", "rpm % kWh", "m3/h 1/min l/min", "float int", "A V", "m s"]
)
def test_units(cells):
    assert are_units(cells.split())


@pytest.mark.parametrize("cells", ["", "- -", "<0.1 <0.1", "ERR ERR", "high low", "H L", "T F", "ok °C", "A A", "x y"])
def test_no_units(cells):
    assert not are_units(cells.split())
