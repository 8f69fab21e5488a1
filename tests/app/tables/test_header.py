"""Where a text table begins: lines above it, names, units, and rows that must not be lost."""

import pytest

from mvset.app.tables.dialect import Dialect, guess
from mvset.app.tables.errors import TableError
from mvset.app.tables.options import ReadingOptions

ROWS = "1.5,2.5,3.5\n1.6,2.4,3.25\n1.7,2.25,3.1\n1.8,2.1,3.7\n"

TOA5 = """"TOA5","Site","CR1000","123","CR1000.Std.32","CPU:a.CR1","4321","T"
"TIMESTAMP","RECORD","flow"
"TS","RN","l/s"
"","","Avg"
"2026-03-06 18:10:00",4825,268.7
"2026-03-06 18:20:00",4826,273.4
"""


def found(text, **given):
    dialect = guess(text, ReadingOptions(**given))
    return dialect.names, dialect.header, dialect.first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,c\n" + ROWS, (("a", "b", "c"), True, 1)),
        (ROWS, (("column1", "column2", "column3"), False, 0)),
        ("# plant 7\n# b\na,b,c\n" + ROWS, (("a", "b", "c"), True, 3)),
        ("# a,b,c\n" + ROWS, (("a", "b", "c"), False, 1)),
        ("#no,%load,c\n" + ROWS, (("#no", "%load", "c"), True, 1)),
        ("% yield,b,c\n" + ROWS, (("% yield", "b", "c"), True, 1)),
        ("% plant 7\n% a,b,c\n" + ROWS, (("a", "b", "c"), False, 2)),
        ("# plant 7\n#no,b,c\n" + ROWS, (("#no", "b", "c"), True, 2)),
        ("#plant 7\n#no,b,c\n" + ROWS, (("no", "b", "c"), True, 2)),
        ("pm2.5 x\n1.5 1.25\n2.5 2.25\n3.5 3.25\n", (("pm2.5", "x"), True, 1)),
        (TOA5, (("TIMESTAMP", "RECORD", "flow"), True, 4)),
        ("Report of May\n\na,b,c\n" + ROWS, (("a", "b", "c"), True, 3)),
        ("Export of May,,\n,,\na,b,c\n" + ROWS, (("a", "b", "c"), True, 3)),
        ("Export of May,,\n" + ROWS, (("column1", "column2", "column3"), False, 1)),
        ("a,b,c\n°C,bar,-\n" + ROWS, (("a", "b", "c"), True, 2)),
        ("a,b,c\nA,<0.1,<0.1\n" + ROWS, (("a", "b", "c"), True, 1)),
        ("# a,b,c\n°C,bar,-\n" + ROWS, (("a", "b", "c"), False, 2)),
        (",0,1\n0,2.5,3.5\n1,2.4,3.6\n2,2.3,3.3\n", (("", "0", "1"), True, 1)),
        ("2019,2020,2021\n" + ROWS, (("2019", "2020", "2021"), True, 1)),
        ('"b","c"\n"r1",2.5,3.5\n"r2",2.4,3.6\n"r3",2.3,3.3\n', (("", "b", "c"), True, 1)),  # R
        ("   b   c\n0 2.5 3.5\n1 2.4 3.6\n2 2.3 3.3\n", (("", "b", "c"), True, 1)),  # pandas, as text
        ("a,b,c,\n1.5,2.5,3.5,\n1.6,2.4,3.6,\n", (("a", "b", "c", "\x003"), True, 1)),
        ("# a,b,c\nx,y,\n1.5,2.5,\n1.6,2.4,\n", (("x", "y", "\x002"), True, 2)),
        ("%x,y\n1.5,2.5,\n1.6,2.4,\n", (("%x", "y", "\x002"), True, 1)),
        ("x\n\n3\n5\n", (("x",), True, 1)),  # an empty line is a missing value
        ("NA,x\n1.5,x\n2.5,y\nNA,y\n3.5,x\n", (("column1", "column2"), False, 0)),
        ("K,Na\n1.5,2.5\n2.5,3.5\n", (("K", "Na"), True, 1)),
        ('"x"\n"1" 1.5\n"2" 2.5\n"3" 2.25\n', (("", "x"), True, 1)),  # R, with one column
        ('"a", "b"\n"1.5", "x, y"\n"2.5", "z"\n', (("a", "b"), True, 1)),  # spaces before quotation marks
        ("a state y\n0,370 off -0,25\n0,382 on -0,75\n", (("a", "state", "y"), True, 1)),
        ('"v","t"\n' + '"0.5","a\tb"\n' * 5, (("v", "t"), True, 1)),
    ],
)
def test_where_a_table_begins(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n5,7\n6,8\n9,4\n", "may be names of columns or a row of data"),
        ("C,ID-9,\n" + "".join(f"{'AB'[i % 2]},ID-{i},{i}.5\n" for i in range(9)), "may be names"),
        ("Export of 01.02.2026\n\n0\n2.354\n0.2962\n", "may be names of columns or a row of data"),
        ("#\tb\n" + ROWS.replace(",", "\t"), "may be names of columns or a row of data"),
        ("ID-1,null\nID-2,0.5\nID-3,0.7\n", "may be names of columns or a row of data"),
        ("a,b\n" + ROWS, "stands above rows with 3 values"),
        ("a,b,c,d\n" + ROWS, "stands above rows with 3 values"),
        ("5\n" + ROWS, "stands above rows with 3 values"),
        ("b,c\nr1,2.5,3.5\nr2,2.4,3.6\nr3,2.3,3.3\n", "stands above rows with 3 values"),  # a value without a name
        ("a,b\n1.5,2.5\n1.25,2.25\n" + "a,b,c\n" + ROWS, "'1.5', '2.5' stands above rows with 3 values"),
        ("# unit: bar, offset 0.5, c\n" + ROWS, "may be names of columns or a row of data"),
        ("\n\n3.5\n5\n", "begins with empty lines"),
        ("Logger 2\nPlant A, line, left\n\n" + ROWS, "may be names of columns or a row of data"),
        ("5,61\n3,92\n4,18\n1,07\n", "may be one number or 2"),
        ("Export 2024-03-01 12:00\n1.5 a b\n2.5 c b\n2.75 a b\n", "may be names of columns or a row of data"),
        ("#Operator: Meier\n1.5 2\n2.5 3\n2.75 3\n", "may be names of columns or a row of data"),
        ("rate\n-2,869,050\n3,904,023\n", "may be one number or 3"),
        ("flow\n1,10\n2,47\n3,84\n4,15\n5,11\n", "may be one number or 2"),
        ("sample,400.5,401.5\ns0,0.05,0.025\ns1,0.15,0.125\n", "may be names of columns or a row of data"),
        ("28.11.2025 19:39,\n28.11.2025 19:40,20\n28.11.2025 19:41,31\n", "may be names of columns or a row of data"),
        ("units sold\n459 866\n488 055\n", "may be one number or 2"),
        ("  oil temp  y\n1 2.5 3.5\n2 2.4 3.6\n3 2.3 3.3\n", "may be names of columns or a row of data"),
        ("'a','b'\n1,'x'\n2,'y'\n3,'x'\n", "'a' is in single quotation marks"),
        ("'a';'b'\n1;2.5\n2;3.5\n3;3.25\n", "'a' is in single quotation marks"),
        ("a,b\n1,'it''s'\n2,y\n3,x\n", "'it''s' is in single quotation marks"),
        ("a,b,c\n1,'x,y'\n2,'x,z'\n", "'x,y' is in single quotation marks"),
    ],
)
def test_what_may_be_data_is_not_skipped(text, said):
    with pytest.raises(TableError, match=said):
        found(text)


def test_the_user_decides_about_the_header():
    assert found("0,1\n5,7\n6,8\n", header=True, separator=",") == (("0", "1"), True, 1)
    assert found("# a,b,c\n" + ROWS, header=True) == (("a", "b", "c"), False, 1)
    assert found("a,b\n1,'t Hooft\n2,O'Brien\n3,Hooft\n") == (("a", "b"), True, 1)
    assert found("0,1\n5,7\n6,8\n", header=False, separator=",") == (("column1", "column2"), False, 0)
    assert found("\n\n3.5\n5\n", header=False) == (("column1",), False, 0)
    assert found(ROWS, names=("a", "b", "c")) == (("a", "b", "c"), False, 0)
    with pytest.raises(TableError, match="2 names for 3 columns"):
        found(ROWS, names=("a", "b"))


def test_the_names_of_a_model_show_the_header():
    text = "0,1,x\n" + ROWS
    assert found(text, columns=("0", "1")) == (("0", "1", "x"), True, 1)
    assert found("Site A, line 2, May\na,b,c\n" + ROWS, columns=("a", "c")) == (("a", "b", "c"), True, 2)
    with pytest.raises(TableError, match="stands above"):
        found(ROWS + "a,b,c\n" + ROWS, columns=("a", "c"))


def test_names_of_a_table_without_a_header_are_remembered():
    before = Dialect(header=False, names=("a", "b", "c")).as_json()
    assert found(ROWS, like=before) == (("a", "b", "c"), False, 0)


@pytest.mark.parametrize("end", ["", ","])
def test_a_table_without_a_header_keeps_its_width_where_the_last_column_is_empty(end):
    before = guess("".join(f"{line}{end}\n" for line in ROWS.split()), ReadingOptions())
    again, *_ = found("1.5,2.5,\n1.6,2.4,\n", like=before.as_json())
    assert again == ("column1", "column2", "column3")


@pytest.mark.parametrize(("between", "mark"), [("# pump changed\n", "#"), ("% x\n", "%"), ("", ""), ("#C,5,6\n", "")])
def test_lines_among_the_rows_are_comments_if_they_have_another_width(between, mark):
    assert guess("a,b,c\n" + ROWS + between + ROWS, ReadingOptions()).comment == mark


def test_a_table_without_a_header_must_be_as_wide_as_that_of_the_model():
    before = Dialect(header=False, names=("column1", "column2")).as_json()
    with pytest.raises(TableError, match="the model's table has 2 names for 3 columns"):
        found(ROWS, like=before)
