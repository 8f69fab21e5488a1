"""Conditions on rows: what they select, and that they touch nothing but the row."""

from datetime import datetime

import pyarrow as pa
import pytest

from mvset.app.tables.conditions import Condition
from mvset.app.tables.errors import TableError
from mvset.app.tables.reading import TableReader
from mvset.app.tables.sources import table_files

ROWS = pa.record_batch(
    {
        "flow": pa.array([1.0, 2.0, None]),
        "grade": pa.array(["it's", None, "good"]),
        "select": pa.array([1.0, 2.0, 3.0]),
        "a b": pa.array([1.0, 2.0, 3.0]),
        'in"ch': pa.array([1.0, 2.0, 3.0]),
        "größe": pa.array([1.0, 2.0, 3.0]),
        "point.x": pa.array([1.0, 2.0, 3.0]),
        "time": pa.array([datetime(2026, 1, 1), None, datetime(2026, 2, 1)], pa.timestamp("us")),
        "open": pa.array([True, False, None]),
    }
)


def holds(text):
    condition = Condition(text, ROWS.schema)
    names = [field.name for field in condition.fields]
    return condition.holds(ROWS.select(names or ["flow"])).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flow > 1", [False, True, False]),
        ("NOT flow > 1", [True, False, False]),  # not true of a missing value either
        ("FLOW > 1 -- with a comment", [False, True, False]),
        ("flow /* here */ > 1", [False, True, False]),
        ("flow IS NULL OR grade IS NULL", [False, True, True]),
        ("grade = 'it''s'", [True, False, False]),
        ("grade = 'flow > 1; DROP TABLE rows'", [False, False, False]),
        ("grade LIKE 'g%' AND length(grade) = 4", [False, False, True]),
        ("grade IN ('good', 'fair')", [False, False, True]),
        ("coalesce(grade, 'none') = 'none'", [False, True, False]),
        ('"select" > 1', [False, True, True]),
        ('"a b" BETWEEN 2 AND 3', [False, True, True]),
        ('"in""ch" > 1', [False, True, True]),
        ('größe > 1 AND "point.x" < 3', [False, True, False]),
        ("rows.flow > 1", [False, True, False]),
        ("time > '2026-01-15'", [False, False, True]),
        ("time < current_date - INTERVAL 7 DAY OR time >= now()", [True, False, True]),
        ("date_part('month', time) = 2 AND year(time) = 2026", [False, False, True]),
        ("flow / 0 > 1000", [True, True, False]),  # infinite
        ("0 / 0 = 1 OR flow = 1", [True, False, False]),
        ("open", [True, False, False]),
        ("CASE WHEN open THEN flow > 0 ELSE flow > 1 END", [True, True, False]),
        ("TRY_CAST(grade AS DOUBLE) IS NULL", [True, True, True]),
        ("true", [True, True, True]),
        ("flow > 1 OR " * 500 + "flow = 1", [True, True, False]),
        (f"flow IN ({', '.join(str(i) for i in range(2, 5000))})", [False, True, False]),
    ],
)
def test_a_condition_selects_rows(text, expected):
    assert holds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "grade = (SELECT content FROM read_text('{secret}'))",
        "EXISTS (SELECT 1 FROM read_csv('{secret}'))",
        "EXISTS (FROM '{secret}')",
        "flow IN (SELECT x FROM '{secret}')",
        "read_text('{secret}') IS NOT NULL",
        "glob('{folder}/*') IS NOT NULL",
        "query('SELECT 1')",
        "COPY rows TO '{folder}/stolen.csv'",
        "flow > 1); COPY (SELECT 1) TO '{folder}/stolen.csv'; SELECT (1",
        "flow > 1; COPY (SELECT 1) TO '{folder}/stolen.csv'",
        "ATTACH '{folder}/stolen.db'",
        "flow > 1); ATTACH '{folder}/stolen.db' AS stolen; SELECT (1",
        "INSTALL httpfs",
        "flow > 1); LOAD httpfs; SELECT (1",
        "PRAGMA database_list",
        "SET threads = 2",
        "flow > 1); SET threads = 2; SELECT (1",
        "getenv('HOME') <> ''",
        "EXISTS (SELECT * FROM duckdb_settings())",
        "EXISTS (SELECT * FROM information_schema.tables)",
        "flow > random()",
        "1 = 1) UNION SELECT (1 = 1",
        "1 = 1) ORDER BY (1",
        "1 = 1) LIMIT (1",
        "1 = 1) --",
        "1 = 1) /*",
        "? > 1",
        "COLUMNS(*) > 1",
        "sum(flow) > 1",
        "row_number() OVER () > 1",
        "unnest([1, 2]) > 1",
        "list_transform([1, 2], x -> x + flow)[1] > 1",
        "flow > 1 AND " * 20_000 + "true",
        "(" * 5_000 + "flow > 1" + ")" * 5_000,
        "NOT " * 5_000 + "flow > 1",
        "flow > 1 \0",
    ],
)
def test_a_condition_sees_only_the_row(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret.csv"
    secret.write_text("x\n1\n")
    with pytest.raises(TableError, match=r"^--where: .*[^.!]\.$") as error:
        holds(text.replace("{secret}", str(secret)).replace("{folder}", str(tmp_path)))
    assert "Error" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the condition is empty."),
        (" \n", "the condition is empty."),
        ("flow >", 'syntax error at or near ")".'),
        ("flow > 1;", 'syntax error at or near ";".'),
        ("flow", "'flow' is double, and not true or false."),
        ("grade", "'grade' is varchar, and not true or false."),
        ("'true'", "\"'true'\" is varchar, and not true or false."),
        ("nothing(flow) > 1", "Scalar Function with name nothing does not exist."),
        ("flow > RANDOM()", "'random' cannot be used in a condition on one row."),
        ("flow > 'high'", "Could not convert string 'high' to DOUBLE."),
        (
            "CAST(grade AS DOUBLE) > 1",
            "Could not convert string 'it's' to DOUBLE when casting from source column grade.",
        ),
        ("NOT " * 5_000 + "flow > 1", "the condition is nested too deeply."),
        ("NOT " * 600 + "flow > 1", "the condition is nested too deeply."),
        ("CAST(flow AS INTEGER) % 0 = 1", "Division by zero in expression (CAST(flow AS INTEGER) % 0)."),
        ("true AND " * 20_000 + "true", "the condition is longer than 100000 characters."),
        ("1 = 1); COPY rows TO 'x'; SELECT (1", "\"1 = 1); COPY rows TO 'x'; SELECT (1\" is not a single condition."),
    ],
)
def test_errors_are_one_sentence(text, said):
    with pytest.raises(TableError) as error:
        holds(text)
    assert str(error.value) == f"--where: {said}"


def test_columns_that_do_not_exist_are_named():
    schema = pa.schema([("flow", pa.float64()), ("grade", pa.string())])
    with pytest.raises(TableError, match=r"^--where: there is no column 'speed'; there are 'flow', 'grade'\.$"):
        Condition("speed > 1 AND flow > 1", schema)
    with pytest.raises(TableError, match=r" If it is text, write it in single quotes: 'good'\.$"):
        Condition('grade = "good"', schema)


def test_columns_that_differ_in_case_cannot_be_used():
    schema = pa.schema([("t", pa.float64()), ("T", pa.float64()), ("flow", pa.float64())])
    with pytest.raises(TableError, match=r"^--where: SQL cannot distinguish the columns 't', 'T': rename them\.$"):
        Condition("t > 1", schema)
    assert [field.name for field in Condition("flow > 1", schema).fields] == ["flow"]


def test_a_condition_reads_the_columns_that_it_uses():
    assert [field.name for field in Condition('"in""ch" > 1 OR FLOW > 1', ROWS.schema).fields] == ["flow", 'in"ch']
    assert Condition("grade = 'flow'", ROWS.schema).fields == [ROWS.schema.field("grade")]


TABLE = """time,Zeit,open,x,grade
2026-01-01 10:00,01.02.2026,true,1,a
2026-01-02 10:00,02.02.2026,,2,
2026-01-03 10:00,03.02.2026,false,3,NA
,,TRUE,4,b
"""


@pytest.mark.parametrize("keep", [(), ("time", "open", "x", "grade")])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time >= '2026-01-02'", [1, 2]),
        ("CAST(time AS TIMESTAMP) >= '2026-01-03'", [2]),
        ("time IS NULL", [3]),
        ("Zeit LIKE '02.%'", [1]),  # as it is written
        ("open", [0, 3]),
        ("open = 'true'", [0, 3]),
        ("open IS NULL", [1]),
        ("grade IS NULL", [1, 2]),
        ("grade <> 'a'", [3]),
        ("x % 2 = 0", [1, 3]),
        ("1 = 1", [0, 1, 2, 3]),
    ],
)
def test_text_is_seen_as_dates_gaps_and_numbers(text, expected, keep, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    reader = TableReader(table_files([str(tmp_path / "t.csv")]), ["x"], keep, where=text)
    assert [number for batch in reader.batches() for number in batch.numbers.tolist()] == expected
