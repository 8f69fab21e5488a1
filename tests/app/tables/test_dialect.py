"""Text tables, however they are written, are read back."""

import csv
import io
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mvset.app.tables.dialect import Dialect, guess
from mvset.app.tables.errors import TableError
from mvset.app.tables.numbers import NumberStyle
from mvset.app.tables.options import ReadingOptions
from mvset.app.tables.reading import TableReader
from mvset.app.tables.sources import table_files

NAMES = ["temperature", "größe in m", 'the "third", x']


@st.composite
def tables(draw):
    """A table of numbers and how it is written."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from([".", ","] if separator != "," else ["."]))
    thousands = draw(st.sampled_from(["", "." if decimal == "," else ","]))
    width = draw(st.integers(2, 3))
    cents = st.integers(-(10**9), 10**9)
    rows = draw(st.lists(st.lists(cents, min_size=width, max_size=width), min_size=4, max_size=12))
    return {
        "rows": [[cent / 100 for cent in row] for row in rows],
        "numbers": NumberStyle(decimal, thousands),
        "separator": separator,
        "header": draw(st.booleans()),
        "end": draw(st.sampled_from(["\n", "\r\n", "\r"])),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])),
        "last_end": draw(st.booleans()),
    }


def as_text(table):
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=table["separator"], lineterminator=table["end"], quoting=table["quoting"], doublequote=True
    )
    if table["header"]:
        writer.writerow(NAMES[: len(table["rows"][0])])
    style = table["numbers"]
    for row in table["rows"]:
        cells = (f"{value:,.2f}".replace(",", "\0").replace(".", style.decimal) for value in row)
        writer.writerow([cell.replace("\0", style.thousands) for cell in cells])
    text = out.getvalue()
    return text if table["last_end"] else text[: -len(table["end"])]


@settings(max_examples=100, deadline=None)
@given(table=tables())
def test_a_table_is_read_back_however_it_is_written(table):
    names = NAMES if table["header"] else ["column1", "column2", "column3"]
    names = names[: len(table["rows"][0])]
    options = ReadingOptions(encoding="latin-1" if table["encoding"] == "latin-1" else None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(as_text(table).encode(table["encoding"]))
        files = table_files([str(path)], options)
        assert files[0].schema == pa.schema([(name, pa.float64()) for name in names])
        rows = [row for batch in TableReader(files, names).batches() for row in batch.values.tolist()]
    assert rows == table["rows"]


@pytest.mark.parametrize("header", ["", "x,y\n"])
def test_a_first_row_with_thousands_is_a_row(header):
    found = guess(header + '"1,000.00","2,000.00"\n0.5,1.5\n2.5,3.5\n', ReadingOptions())
    assert (found.header, found.units, found.numbers) == (bool(header), 0, NumberStyle(".", ","))


def test_marks_between_thousands_do_not_hide_the_separator():
    found = guess("0,00;0,00\n0,00;1.000,00\n0,00;1.000,00\n1.000,00;1.000,00\n", ReadingOptions())
    assert (found.separator, found.header, found.numbers) == (";", False, NumberStyle(",", "."))


@settings(max_examples=60, deadline=None)
@example(text=";;a\r%;", header=None)  # a comment below the names, and no row
@example(text="%1;\r1", header=None)
@given(text=st.text("ab1.,;|\t \n\r\"'#%-", max_size=60), header=st.sampled_from([None, True, False]))
def test_any_text_has_a_dialect(text, header):
    try:
        found = guess(text, ReadingOptions(header=header))
    except TableError:
        return
    assert Dialect.from_json(found.as_json()).as_json() == found.as_json()
    may_be_commented = found.above > 0 and ("#" in text or "%" in text)
    assert header is None or not found.names or found.header == header or (header and may_be_commented)
    assert -1 <= found.first <= len(text)


def test_a_later_table_is_read_like_the_first():
    first = guess("a;b\n1,5;2,5\n2,5;3,5\n" * 3, ReadingOptions())
    assert (first.separator, first.numbers.decimal, first.header) == (";", ",", True)
    without = Dialect(";", header=False, numbers=NumberStyle(","))
    like = ReadingOptions(like=without.as_json())
    assert guess("7;8\n", like).numbers == NumberStyle(",")
    assert not guess("x;y\n", like).header
    assert guess("x;y\n7;8\n", replace(like, header=True)).names == ("x", "y")
    assert guess("x|y\n7|8\n", like).header  # another separator: another kind of table
    assert guess("5,123;2,012\n3,201;4,184\n", like).numbers == NumberStyle(",")
    with pytest.raises(TableError, match="may be"):
        guess("5,123|2,012\n3,201|4,184\n", like)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n1,2\n", ""),
        ("x;y\n1;2\n", "separated by semicolon"),
        ("4\t2\n3\t4\n", "separated by tab, no header, so that columns are called column1, column2, …"),
        ("Report\n\nx,y\n1,2\n3,4\n", "2 lines above the table skipped"),
        ("x,y\nm,s\n1,2\n3,4\n5,6\n7,8\n", "1 row of units below the header skipped"),
        ("x;y\n1,5;1.000,5\n2,5;2.000,5\n", "separated by semicolon, decimal commas, '.' between thousands"),
    ],
)
def test_what_is_unusual_is_said(text, said):
    assert guess(text, ReadingOptions()).said == said
