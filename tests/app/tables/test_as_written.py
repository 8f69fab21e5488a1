"""Every row and every number as written, or refused: through the real command."""

import json
import lzma
import shutil
import sqlite3
import zoneinfo
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import mvset
from mvset.app.cli.app import app

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("quick_fits")]

MODEL = "model.mvset"
WORDS = ["<0.1", "ERR", "fault", "n.d.", "OFF", "bad", "?", "---", "high", "low", "over", "nd", "BDL", ">100", "x"]
FORMATS = ["csv", "parquet", "feather", "ndjson", "json", "xlsx", "db"]
N = 80


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def fit(table, *options):
    """Fit to a table; what is said on stderr."""
    done = run("fit", table, "--out", MODEL, *options)
    assert done.exit_code == 0, done.stderr
    return done.stderr


def score(table, *options, keep="x,y"):
    """The results, with columns of the table as they were read."""
    done = run("score", MODEL, table, "--out", "results.parquet", *(["--keep", keep] if keep else []), *options)
    assert done.exit_code == 0, done.stderr
    results = pa.parquet.read_table("results.parquet")
    assert results["row"].to_pylist() == list(range(results.num_rows))
    return results


def fit_and_score(table, *options, keep="x,y"):
    fit(table, *options)
    return score(table, keep=keep)


def summary(table, *options):
    done = run("score", MODEL, table, "--json", *options)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def rows_used(table, *options):
    done = run("fit", table, "--out", MODEL, "--json", *options)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["rows_used"]


def refusal(command, table, *options):
    """The sentence by which a table is refused; nothing is written."""
    before = sorted(Path().iterdir())
    named = ["fit", table, "--out", "new.mvset"] if command == "fit" else ["score", MODEL, table, "--out", "new.csv"]
    done = run(*named, *options)
    *notes, said = done.stderr.splitlines() or [""]
    assert (done.exit_code, done.stdout) == (1, ""), f"exit code {done.exit_code}: {done.output}"
    assert all(line.startswith("Note: ") for line in notes)
    assert "bug" not in said
    assert sorted(Path().iterdir()) == before
    return said


def numbers(n=N, seed=0):
    """Columns x, near 5, and y, near 2: numbers of two decimals that are no tenths."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(5.0, 0.3, n), rng.normal(2.0, 0.1, n)]).round(1)
    return dict(zip("xy", (rows + rng.integers(1, 10, rows.shape) / 100).round(2).T.tolist(), strict=True))


def text(columns, separator=",", decimal=".", header=True):
    lines = [
        [str(cell).replace(".", decimal) if isinstance(cell, float) else str(cell) for cell in row]
        for row in zip(*columns.values(), strict=True)
    ]
    return "".join(separator.join(line) + "\n" for line in [*([list(columns)] if header else []), *lines])


def write(name, columns, **style):
    """Write a table in the format of the ending; text formats of binary ones have the values, not their text."""
    path, rows = Path(name), [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pa.parquet.write_table(pa.table(columns), path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(pa.table(columns), path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [list(columns), *(list(row.values()) for row in rows)]:
            book.active.append(row)
        book.save(path)
    elif path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"CREATE TABLE rows ({', '.join(json.dumps(each) for each in columns)})")
            marks = ", ".join("?" * len(columns))
            database.executemany(f"INSERT INTO rows VALUES ({marks})", [list(row.values()) for row in rows])
    else:
        path.write_text(text(columns, **style))
    return name


def with_first(columns, **cells):
    """The columns with one more row on top."""
    return {name: [cells[name], *column] for name, column in columns.items()}


@pytest.fixture(scope="module")
def usual_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    done = run("fit", write(folder / "normal.csv", numbers()), "--out", folder / MODEL)
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def model(usual_model, tmp_path):
    """A model of x and y, as usual."""
    shutil.copytree(usual_model, tmp_path, dirs_exist_ok=True)


# Marks of comments


def test_a_row_that_begins_with_a_hash_is_scored(model):
    Path("t.csv").write_text("id,x,y\nA,5.2,2\nB,5.1,2.1\n#C,50,2.0\nD,4.9,1.9\n")
    found = score("t.csv", keep="id,x,y")
    assert found["id"].to_pylist() == ["A", "B", "#C", "D"]
    assert found["x"].to_pylist() == [5.2, 5.1, 50, 4.9]
    assert found["inside"].to_pylist()[2] is False


@pytest.mark.parametrize("mark", ["#", "%"])
@pytest.mark.parametrize("others", ["#1", "t"])
def test_a_row_of_another_width_that_begins_with_a_mark_is_no_comment(model, mark, others):
    columns = {"id": [f"{others.replace('#', mark)}{i}" for i in range(N)], **numbers()}
    lines = Path(write("t.csv", columns)).read_text().splitlines()
    lines[40] = f"{mark}41,5.1" if others == "t" else f"{mark}41,text"
    Path("t.csv").write_text("\n".join(lines))
    for command in ("fit", "score"):
        assert "row 40 has 2 values instead of 3" in refusal(command, "t.csv")


@pytest.mark.parametrize("mark", ["#", "%"])
def test_rows_that_begin_with_a_mark_are_fitted_to(mark):
    tags = [f"{mark}{i % 7}" if i % 3 else f"t{i % 7}" for i in range(N)]
    assert rows_used(write("t.csv", {"tag": tags, **numbers()})) == N
    assert mvset.load(MODEL).categories_["tag"] == sorted(set(tags))


@pytest.mark.parametrize(("header", "first"), [("x,y", "#N/A,2.0"), ("id,x,y", "#N/A,#N/A,2.0"), ("x,y", "#NA,2.0")])
def test_a_missing_value_at_the_beginning_of_a_row_is_a_row_with_a_note(model, header, first):
    before = "A," * header.startswith("id")
    Path("t.csv").write_text(f"{header}\n{before}5.2,2.0\n{first}\n{before}4.9,1.9\n")
    found = score("t.csv")
    assert found["x"].to_pylist() == [5.2, None, 4.9]
    assert found["note"].to_pylist() == [None, "missing: x", None]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("word", ["pump", "room"])
def test_a_mark_within_a_cell_begins_no_comment(word, header):
    units = [f'"{word} #{1 + i % 2}"' for i in range(400)]
    Path("t.csv").write_text("# plant 7\n" + text({**numbers(400), "unit": units}, header=header))
    assert rows_used("t.csv") == 400
    name = "unit" if header else "column3"
    assert mvset.load(MODEL).categories_[name] == [f"{word} #1", f"{word} #2"]
    assert score("t.csv", keep=name)[name].to_pylist() == [each.strip('"') for each in units]


@pytest.mark.parametrize("name", ["%load", "#no"])
def test_a_name_that_begins_with_a_mark_is_kept(name):
    x, y = numbers().values()
    found = fit_and_score(write("t.csv", {name: x, "y": y}), keep=f"{name},y")
    assert mvset.load(MODEL).feature_names_in_.tolist() == [name, "y"]
    assert found[name].to_pylist() == x


def test_text_with_a_percent_sign_stays_text():
    cells = [f"{50 + 10 * (i % 3)}% full" for i in range(N)]
    found = fit_and_score(write("t.csv", {**numbers(), "tank": cells}), keep="tank")
    assert mvset.load(MODEL).categories_["tank"] == ["50% full", "60% full", "70% full"]
    assert found["tank"].to_pylist() == cells


# Words among numbers


@pytest.mark.parametrize("ending", ["csv", "json", "db", "xlsx"])
@pytest.mark.parametrize("word", WORDS)
def test_a_first_row_of_words_is_refused(word, ending):
    said = refusal("fit", write(f"t.{ending}", with_first(numbers(), x=word, y=word)))
    assert repr(word) in said
    assert "row 1," in said


@pytest.mark.parametrize("word", WORDS[::3])
def test_a_first_row_of_words_is_refused_in_a_table_to_score(word, model):
    said = refusal("score", write("t.csv", with_first(numbers(seed=1), x=word, y=word)))
    assert repr(word) in said
    assert "row 1," in said


@pytest.mark.parametrize("ending", ["csv", "json", "db", "xlsx"])
@pytest.mark.parametrize("word", ["<0.1", "OFF", "high", "x"])
def test_words_are_refused_below_text_and_further_down(word, ending):
    columns = with_first({"tag": ["a", "b"] * (N // 2), **numbers()}, tag="a", x=word, y=word)
    assert "row 1," in refusal("fit", write(f"first.{ending}", columns))
    columns = {**numbers(), "tag": ["a", "b"] * (N // 2)}
    columns["x"][40] = columns["y"][40] = word
    assert "row 41," in refusal("fit", write(f"middle.{ending}", columns))


@pytest.mark.parametrize("word", WORDS)
def test_a_row_of_words_in_columns_of_text_is_a_row(word):
    columns = with_first({**numbers(), "state": ["ok", "on"] * (N // 2)}, x=5.11, y=2.11, state=word)
    assert rows_used(write("t.csv", columns)) == N + 1
    assert mvset.load(MODEL).categories_["state"] == sorted({word, "ok", "on"})


def three_units():
    return with_first({**numbers(), "v": numbers(seed=2)["x"]}, x="°C", y="bar", v="m/s")


def test_a_row_of_units_is_skipped_and_that_is_said():
    assert "1 row of units below the header skipped" in fit(write("t.csv", three_units()))
    assert mvset.load(MODEL).feature_names_in_.tolist() == ["x", "y", "v"]
    assert score("t.csv")["x"].to_pylist() == numbers()["x"]
    assert "1 row of units below the header skipped" in run("score", MODEL, "t.csv").stderr


@pytest.mark.parametrize("ending", ["xlsx", "json", "db"])
def test_a_row_of_units_is_refused_where_values_have_types(ending):
    said = refusal("fit", write(f"t.{ending}", three_units()))
    assert "'°C'" in said
    assert "row 1," in said


# Decimal marks


def triples(mark, seed=1, n=60):
    """Numbers of three decimals, none of which tells whether its mark is decimal."""
    rng = np.random.default_rng(seed)
    cells = {"x": rng.integers(4111, 5999, n), "y": rng.integers(1811, 2199, n)}
    values = {name: [float(f"{each / 1000:.3f}") for each in column] for name, column in cells.items()}
    return {name: [f"{each:.3f}".replace(".", mark) for each in column] for name, column in values.items()}, values


@pytest.mark.parametrize(("of_model", "mark"), [(".", ","), (",", ".")])
def test_numbers_with_the_other_mark_than_those_of_the_model_are_refused_or_read_as_said(of_model, mark):
    fit(write("normal.csv", numbers(), separator=";", decimal=of_model))
    cells, values = triples(mark)
    said = refusal("score", write("t.csv", cells, separator=";"))
    first = next(cell for cell in cells["x"] + cells["y"] if repr(cell) in said)
    assert first.replace(mark, ".") in said
    assert first.replace(mark, "") in said
    assert f"--read decimal={mark}" in said
    found = score("t.csv", "--read", f"decimal={mark}")
    assert {name: found[name].to_pylist() for name in "xy"} == values
    found = score("t.csv", "--read", f"decimal={of_model}")
    assert found["x"].to_pylist() == [round(1000 * each) for each in values["x"]]


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("mark", [".", ","])
def test_a_model_remembers_what_an_ambiguous_mark_is(mark, decimal):
    cells, _ = triples(mark)
    said = refusal("fit", write("t.csv", cells, separator=";"))
    assert "--read decimal=. for" in said
    assert "--read decimal=, for" in said
    fit("t.csv", "--read", f"decimal={decimal}")
    later, values = triples(mark, seed=2)
    found = score(write("later.csv", later, separator=";"))
    assert found["x"].to_pylist() == [each if mark == decimal else round(1000 * each) for each in values["x"]]


def test_three_decimals_after_a_point_are_usual_between_commas():
    cells, values = triples(".")
    assert fit_and_score(write("t.csv", cells))["y"].to_pylist() == values["y"]


def test_quoted_decimal_commas_are_read_between_commas():
    columns = numbers()
    quoted = {name: [f'"{each:.2f}"'.replace(".", ",") for each in column] for name, column in columns.items()}
    found = fit_and_score(write("t.csv", with_first(quoted, x='"5,61"', y='"3,92"')))
    assert [found[name].to_pylist() for name in "xy"] == [[5.61, *columns["x"]], [3.92, *columns["y"]]]


def test_quoted_cells_that_may_be_thousands_are_refused(model):
    cells = {name: [f'"{each}"' for each in column] for name, column in triples(",")[0].items()}
    cells = with_first(cells, x='"6,311"', y='"4,218"')
    for command in ("fit", "score"):
        said = refusal(command, write("t.csv", cells))
        assert "--read decimal=, for" in said
        assert "--read decimal=. for" in said


def test_points_in_one_column_and_commas_in_another_are_refused(model):
    columns = {"x": ["3.201", *triples(".")[0]["x"]], "y": ["4,184", *triples(",")[0]["y"]]}
    for command in ("fit", "score"):
        assert "--read decimal=" in refusal(command, write("t.csv", columns, separator=";"))


# Missing values, percent signs, integers


@pytest.mark.parametrize("written", [*(f"t.{each}" for each in FORMATS), "decimals.csv"])
def test_a_number_for_missing_values_is_missing_in_every_format(written):
    columns = {**numbers(), "n": [int(each) for each in np.random.default_rng(3).integers(10, 99, N)]}
    fit(write("normal.csv", columns))
    for row, name in ((3, "x"), (10, "x"), (20, "n"), (21, "y")):
        columns[name][row] = -999 if name == "n" else -999.0
    if not written.startswith("decimals"):
        columns["x"] = (
            columns["x"]
            if written.endswith(("parquet", "feather"))
            else [-999 if each == -999.0 else each for each in columns["x"]]
        )
    write(written, columns)
    found = score(written, "--read", "na=-999", keep="x,n")
    notes = {row: note for row, note in enumerate(found["note"].to_pylist()) if note}
    assert notes == {3: "missing: x", 10: "missing: x", 20: "missing: n", 21: "missing: y"}
    assert rows_used(written, "--read", "na=-999", "--missing", "drop") == N - 4


@pytest.mark.parametrize("ending", FORMATS)
def test_a_model_remembers_which_number_stands_for_missing_values(ending):
    columns = numbers()
    columns["x"][3] = columns["x"][30] = -999.0
    fit(write(f"t.{ending}", columns), "--read", "na=-999", "--missing", "drop")
    assert summary(f"t.{ending}")["rows_dropped"] == 2


def percents(columns):
    return {**columns, "load": [f"{1 + i % 9}%" for i in range(N)]}


def test_percent_signs_are_left_out_of_a_column_that_has_them_everywhere():
    found = fit_and_score(write("t.csv", with_first(percents(numbers()), x=5.11, y=2.11, load="5%")), keep="load")
    assert found["load"].to_pylist() == [5.0, *(1.0 + i % 9 for i in range(N))]


@pytest.mark.parametrize("place", [0, N - 1])
@pytest.mark.parametrize(("odd", "signed"), [("0.05", True), ("5%", False)])
def test_percentages_beside_shares_are_refused(odd, signed, place):
    columns = percents(numbers()) if signed else {**numbers(), "load": [f"0.0{1 + i % 9}" for i in range(N)]}
    fit(write("normal.csv", columns))
    columns["load"][place] = odd
    for command in ("fit", "score"):
        assert "percent sign" in refusal(command, write("t.csv", columns))


@pytest.mark.parametrize("of_model", [True, False])
def test_percent_signs_must_be_as_in_the_table_of_the_model(of_model):
    signed, unsigned = percents(numbers()), {**numbers(), "load": [0.01 * (1 + i % 9) for i in range(N)]}
    fit(write("normal.csv", signed if of_model else unsigned))
    said = refusal("score", write("t.csv", unsigned if of_model else signed))
    assert "'load'" in said
    assert "percent signs" in said


LARGE = 9007199254740993


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "ndjson", "json", "db"])
def test_integers_that_would_be_rounded_are_refused(ending):
    columns = {**numbers(), "n": [int(each) for each in np.random.default_rng(3).integers(10, 99, N)]}
    fit(write("normal.csv", columns))
    columns["n"][5] = LARGE
    write(f"t.{ending}", columns)
    for command in ("fit", "score"):
        said = refusal(command, f"t.{ending}")
        assert "'n'" in said
        assert str(LARGE) in said


@pytest.mark.parametrize("place", [5, N - 1])
def test_codes_that_would_become_one_number_are_refused(model, place):
    columns = {**numbers(), "code": [f"{i % 4:03d}" for i in range(N)]}
    write("normal.csv", columns)
    assert "left out" not in fit("normal.csv")  # padded numbers are numbers
    columns["code"][place] = "3"
    assert "'code'" in refusal("fit", write("t.csv", columns))
    assert "others are codes like 000" in refusal("fit", "t.csv")
    assert rows_used("t.csv", "--categories", "code") == N


def test_text_of_digits_and_letters_is_text():
    columns = {**numbers(), "serial": [f"{4096 + 37 * i:x}" for i in range(N)]}
    assert "left out of the fit: serial" in fit(write("t.csv", columns))
    columns["serial"][7:9] = ["abcd", "8349"]
    assert "left out of the fit: serial" in fit(write("t.csv", columns))


def test_long_numbers_are_text_as_written():
    columns = {**numbers(), "id": [str(LARGE * 1000 + i * i % 97) for i in range(N)]}
    fit(write("t.csv", columns))
    assert score("t.csv", keep="id")["id"].to_pylist() == columns["id"]


@pytest.mark.parametrize("sign", ["-", "−", "+"])
def test_integers_that_would_be_rounded_are_refused_with_any_sign(sign):
    columns = {**numbers(), "n": [str(10 + i % 7) for i in range(N)]}
    columns["n"][5] = f"{sign}{LARGE}"
    assert f"{sign}{LARGE}" in refusal("fit", write("t.csv", columns))


def test_whole_decimals_of_parquet_that_would_be_rounded_are_refused():
    n = pa.array([Decimal(LARGE + i % 7) for i in range(N)], pa.decimal128(20, 0))
    pa.parquet.write_table(pa.table({**numbers(), "n": n}), "t.parquet")
    assert "'n'" in refusal("fit", "t.parquet")


def test_decimals_of_parquet_are_read_as_they_are():
    columns = numbers()
    x = pa.array([Decimal(f"{each:.2f}") for each in columns["x"]], pa.decimal128(20, 2))
    pa.parquet.write_table(pa.table({**columns, "x": x}), "t.parquet")
    assert fit_and_score("t.parquet")["x"].to_pylist() == columns["x"]


@pytest.mark.parametrize("place", [0, N // 2])
def test_a_blob_among_numbers_is_refused(model, place):
    columns = numbers()
    columns["x"][place] = b"5.1"
    write("t.db", columns)
    for command in ("fit", "score"):
        assert f"row {place + 1}," in refusal(command, "t.db")


@pytest.mark.parametrize("blob", [b"51", b"\x05"])
def test_blobs_never_become_numbers(model, blob):
    write("t.db", {"x": [blob, b"7"] * (N // 2), "y": numbers()["y"]})
    assert "'x'" in refusal("score", "t.db")
    fit("t.db")
    assert mvset.load(MODEL).categories_["x"] == sorted([f"0x{blob.hex()}", "0x37"])


# Damage


def test_a_damaged_page_of_parquet_is_refused():
    columns = numbers(200)
    pa.parquet.write_table(
        pa.table(columns), "t.parquet", write_page_checksum=True, compression=None, use_dictionary=False
    )
    whole, expected = Path("t.parquet").read_bytes(), fit_and_score("t.parquet")
    group = pa.parquet.read_metadata("t.parquet").row_group(0)
    places = [
        place
        for chunk in map(group.column, range(group.num_columns))
        for place in range(chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size)
    ]
    rng, n_refused = np.random.default_rng(0), 0
    for place in rng.choice(places, 30, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        Path("t.parquet").write_bytes(damaged)
        done = run("score", MODEL, "t.parquet", "--out", "damaged.parquet", "--keep", "x,y")
        if done.exit_code:
            assert done.exit_code == 1
            assert done.stderr.startswith("t.parquet ")
            n_refused += 1
        else:
            assert pa.parquet.read_table("damaged.parquet").equals(expected), place
    assert n_refused > 20


@pytest.mark.parametrize("ending", ["json", "ndjson"])
@pytest.mark.parametrize("place", [0, N // 2])
def test_a_name_twice_in_an_object_is_refused(model, ending, place):
    x, y = numbers().values()
    rows = [f'{{"x": {a}, "y": {b}}}' for a, b in zip(x, y, strict=True)]
    rows[place] = '{"x": 5.1, "y": 2.0, "x": 5.9}'
    Path(f"t.{ending}").write_text("\n".join(rows) + "\n" if ending == "ndjson" else f"[{', '.join(rows)}]")
    for command in ("fit", "score"):
        assert f"t.{ending} cannot be read: " in refusal(command, f"t.{ending}")


@pytest.mark.parametrize(("opened", "closed"), [(0, 1), (0, 70), (30, 31), (30, 33), (30, 60), (30, None)])
@pytest.mark.parametrize("middle", [False, True])
def test_an_open_quotation_mark_that_swallows_rows_is_refused(model, middle, opened, closed):
    x, y = numbers().values()
    tags = [f"t{i % 5}" for i in range(N)]
    tags[opened] = f'"{tags[opened]}'
    if closed is not None:
        tags[closed] += '"'
    write("t.csv", {"x": x, "tag": tags, "y": y} if middle else {"tag": tags, "x": x, "y": y})
    for command in ("fit", "score"):
        assert "t.csv" in refusal(command, "t.csv")


@pytest.mark.parametrize("cell", [r'"5\" pipe"', r'"a \"new\" one"'])
def test_quotation_marks_after_a_backslash_are_refused(model, cell):
    tags = [cell if i == 30 else "t" for i in range(N)]
    for name, columns in {"first.csv": {"tag": tags, **numbers()}, "last.csv": {**numbers(), "tag": tags}}.items():
        write(name, columns)
        for command in ("fit", "score"):
            assert """a backslash stands before '"'""" in refusal(command, name)


@pytest.mark.parametrize("middle", [False, True])
@pytest.mark.parametrize("lines", ["old\n\nvalve\n", "old, small\nvalve", "valve,\nold\nand, or"])
def test_cells_of_several_lines_are_read(lines, middle):
    x, y = numbers().values()
    tags = [f"t{i % 5}" if i % 4 else f"{i % 5}: {lines}" for i in range(N)]
    quoted = [f'"{each}"' for each in tags]
    write("t.csv", {"x": x, "tag": quoted, "y": y} if middle else {"tag": quoted, "x": x, "y": y})
    found = fit_and_score("t.csv", keep="tag,x,y")
    assert [found[name].to_pylist() for name in ("tag", "x", "y")] == [tags, x, y]


# Where tables begin, encodings, dates


@pytest.mark.parametrize("wider", [False, True])
def test_a_table_above_another_is_refused(model, wider):
    first = "x,y,z\n1.5,2.5,3.5\n1.6,2.4,3.25\n" if wider else "x\n1.5\n1.25\n"
    Path("t.csv").write_text(first + Path(write("rest.csv", numbers())).read_text())
    for command in ("fit", "score"):
        assert "t.csv" in refusal(command, "t.csv")


def test_a_value_without_a_name_is_refused(model):
    lines = Path(write("t.csv", {"day": [f"2026-01-01 {i}" for i in range(N)], **numbers()})).read_text().splitlines()
    Path("t.csv").write_text("\n".join([lines[0], *(f"{line},7" for line in lines[1:])]))
    for command in ("fit", "score"):
        assert "stands above rows with 4 values" in refusal(command, "t.csv")


def test_a_word_for_missing_values_in_brackets_is_no_unit(model):
    columns = {"day": [f"2026-01-{i % 28 + 1:02d}" for i in range(N)], **numbers()}
    columns["x"][0] = "(null)"
    assert "'(null)'" in refusal("fit", write("t.csv", columns))
    assert rows_used("t.csv", "--read", "na=(null)", "--missing", "drop") == N - 1


def test_a_database_writes_missing_values_with_a_backslash():
    lines = Path(write("t.csv", numbers())).read_text().splitlines()
    Path("t.tsv").write_text("\n".join([*lines, "5.5,\\N"]).replace(",", "\t"))
    fit("t.tsv", "--missing", "drop")
    assert summary("t.tsv")["rows_dropped"] == 1


@pytest.mark.parametrize("cell", ["12.5-", "(12.5)"])
def test_a_negative_number_of_a_ledger_is_refused_with_the_fix(model, cell):
    columns = numbers()
    columns["x"][3] = cell
    for command in ("fit", "score"):
        said = refusal(command, write("t.csv", columns))
        assert "write the minus sign first" in said
        assert "na=" not in said


def test_lakhs_are_read():
    x, y = numbers().values()
    amounts = [f"{12 + i % 7},{34 + i % 9},567" for i in range(N)]
    found = fit_and_score(write("t.csv", {"x": x, "y": y, "rupees": amounts}, separator=";"), keep="rupees")
    assert found["rupees"].to_pylist() == [float(each.replace(",", "")) for each in amounts]


PREAMBLE = "Export vom 01.02.2026;;;\n;;;\n"


def test_a_preamble_filled_up_with_separators_is_skipped():
    columns = {"id": [f"r{i:03d}" for i in range(N)], **numbers(), "v": numbers(seed=2)["x"]}
    Path("t.csv").write_text(PREAMBLE + text(columns, separator=";", decimal=","))
    said = fit("t.csv", "--exclude", "id")
    assert "separated by semicolon" in said
    found = score("t.csv", keep="id,x,y")
    assert [found[name].to_pylist() for name in ("id", "x", "y")] == [columns[name] for name in ("id", "x", "y")]


def test_umlauts_of_latin_1_are_read_in_names_and_cells():
    x, y = numbers().values()
    columns = {"Größe": x, "y": y, "Prüfstand": ["Köln", "Düren"] * (N // 2)}
    Path("t.csv").write_bytes(text(columns, separator=";", decimal=",").encode("latin-1"))
    found = fit_and_score("t.csv", keep="Größe,Prüfstand")
    assert mvset.load(MODEL).categories_["Prüfstand"] == ["Düren", "Köln"]
    assert [found[name].to_pylist() for name in ("Größe", "Prüfstand")] == [x, columns["Prüfstand"]]


def test_a_text_compressed_by_xz_is_read():
    Path("t.csv.xz").write_bytes(lzma.compress(text(numbers()).encode()))
    assert fit_and_score("t.csv.xz")["x"].to_pylist() == numbers()["x"]


def drifting(n=60):
    """Columns of rows, of which the second half is far off."""
    columns = numbers(2 * n, seed=5)
    columns["x"][n:] = [50.0 + each for each in columns["x"][n:]]
    return columns


def onset(table, *options):
    """Since when rows are unlike the fit: the number of the row, and its time."""
    first = summary(table, *options)["onset"]["first"]
    return first["row"], first["time"]


MOMENTS = [datetime(2026, 1, 13, 18, 30) + timedelta(hours=i) for i in range(120)]


@pytest.mark.parametrize(
    "style", ["%d.%m.%Y", "%d/%m/%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %H:%M:%S", "%Y-%m-%d %H:%M"]
)
def test_dates_are_read_as_they_are_written(model, style):
    write("t.csv", {"t": [each.strftime(style) for each in MOMENTS], **drifting()})
    row, time = onset("t.csv", "--time", "t")
    moment = MOMENTS[row] if "M" in style else MOMENTS[row].replace(hour=0, minute=0)
    assert time == f"{moment:%Y-%m-%d %H:%M}"
    if "M" in style:
        assert row == 60


def ambiguous_days():
    return {"t": [f"03/04/2026 {i // 6:02d}:{i % 6}0" for i in range(120)], **drifting()}


def test_days_that_may_be_months_are_refused_or_read_as_said(model):
    write("t.csv", ambiguous_days())
    for command in ("fit", "score"):
        said = refusal(command, "t.csv", "--time", "t")
        assert "'03/04/2026 00:00'" in said
        assert "--read date-format=day-first or month-first" in said
    for order, day in {"day-first": "2026-04-03", "month-first": "2026-03-04"}.items():
        assert onset("t.csv", "--time", "t", "--read", f"date-format={order}") == (60, f"{day} 10:00")


def test_a_model_remembers_the_order_of_day_and_month():
    normal = {**ambiguous_days(), **numbers(120)}
    for order, day in {"day-first": "2026-04-03", "month-first": "2026-03-04"}.items():
        fit(write("normal.csv", normal), "--time", "t", "--read", f"date-format={order}")
        assert onset(write("t.csv", ambiguous_days())) == (60, f"{day} 10:00")


def test_a_model_remembers_its_column_of_times():
    times = {"t": [f"{each}" for each in MOMENTS]}
    fit(write("normal.csv", {**times, **numbers(120)}), "--time", "t")
    assert onset(write("t.csv", {**times, **drifting()})) == (60, f"{MOMENTS[60]:%Y-%m-%d %H:%M}")
    assert onset(write("without.csv", drifting())) == (60, None)
    notes = run("score", MODEL, "without.csv").stderr
    assert "Note: without.csv has no column 't'" in notes
    assert "--time" in notes
    assert run("score", MODEL, "t.csv").stderr == ""


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
# Ten minutes apart, over the end of summer time in Berlin on 2026-10-25 at 01:00 UTC.
AUTUMN = [(datetime(2026, 10, 24, 15, tzinfo=UTC) + timedelta(minutes=10 * i)).astimezone(BERLIN) for i in range(120)]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("style", ["%Y-%m-%d %H:%M:%S%z", "%d.%m.%Y %H:%M %z"])
def test_times_of_several_zones_are_ordered_by_instant(model, style, shuffled):
    columns = {"t": [each.strftime(style) for each in AUTUMN], **drifting()}
    order = np.random.default_rng(0).permutation(120) if shuffled else np.arange(120)
    write("t.csv", {name: [column[i] for i in order] for name, column in columns.items()})
    done = run("score", MODEL, "t.csv", "--time", "t", "--json")
    assert done.exit_code == 0, done.stderr
    assert "goes back" not in done.stderr
    first = json.loads(done.stdout)["onset"]["first"]
    assert order[first["row"]] == 60
    assert first["time"][-6:] in ("+01:00", "+02:00")
    assert datetime.strptime(first["time"], "%Y-%m-%d %H:%M %z") == AUTUMN[60].astimezone(UTC)


def test_local_times_that_go_back_by_an_hour_are_noted(model):
    write("t.csv", {"t": [f"{each:%Y-%m-%d %H:%M:%S}" for each in AUTUMN], **numbers(120)})
    assert "goes back by an hour after 2026-10-25 02:50" in run("score", MODEL, "t.csv", "--time", "t").stderr
    assert "goes back by an hour after 2026-10-25 02:50" in fit("t.csv", "--time", "t")


def test_times_that_come_twice_are_noted(model):
    times = [f"{MOMENTS[i - (i in (7, 30, 31))]}" for i in range(120)]
    write("t.csv", {"t": times, **numbers(120)})
    said = "2 rows of 120 have the same t as the row before"
    assert said in run("score", MODEL, "t.csv", "--time", "t").stderr
    assert said in fit("t.csv", "--time", "t")


@pytest.mark.parametrize("command", ["score", "report", "watch"])
def test_every_command_says_what_is_odd_about_times(model, command):
    Path("incoming").mkdir()
    write("incoming/t.csv", {"t": [f"{each:%d/%m/%Y %H:%M}" for each in AUTUMN], **numbers(120)})
    where = ["incoming", "--out-dir", "judged", "--once", "--settle", "0"] if command == "watch" else ["incoming/t.csv"]
    said = run(command, MODEL, *where, "--time", "t").stderr
    assert "dates in t are read day first." in said
    assert "t goes back by an hour after 2026-10-25 02:50" in said


# What is said


@pytest.mark.parametrize(
    ("style", "encoding", "said"),
    [
        ({"separator": ";"}, "utf-8", "separated by semicolon"),
        ({"separator": ";", "decimal": ","}, "utf-8", "separated by semicolon, decimal commas"),
        ({"header": False}, "utf-8", "no header, so that columns are called column1, column2, …"),
        ({}, "latin-1", "encoding cp1252"),
    ],
)
def test_every_command_says_what_it_guessed(style, encoding, said):
    Path("incoming").mkdir()
    table = {**numbers(), "ort": ["Köln", "Düren"] * (N // 2)}
    Path("incoming/t.csv").write_bytes(text(table, **style).encode(encoding))
    for command in (
        ["fit", "incoming/t.csv", "--out", MODEL],
        ["score", MODEL, "incoming/t.csv"],
        ["report", MODEL, "incoming/t.csv"],
        ["watch", MODEL, "incoming", "--out-dir", "judged", "--once", "--settle", "0"],
    ):
        done = run(*command)
        assert done.exit_code == 0, done.stderr
        notes = [line for line in done.stderr.splitlines() if "is read" in line]
        assert notes == [f"Note: incoming/t.csv is read as a table: {said}."], command[0]


def test_rows_that_were_read_selected_and_answered_add_up(model):
    columns = {**numbers(120, seed=4), "line": [f"{7 + i % 3}" for i in range(120)]}
    for i in (0, 3, 4, 33):
        columns["y"][i] = ""
    write("t.csv", columns)
    found = summary("t.csv", "--where", "line = 7")
    assert [found[each] for each in ("rows_in_files", "rows", "rows_dropped", "n_rows")] == [120, 40, 3, 37]
    found = summary("t.csv")
    assert [found[each] for each in ("rows_in_files", "rows", "rows_dropped", "n_rows")] == [120, 120, 4, 116]
    said = run("score", MODEL, "t.csv", "--where", "line = 7").stdout
    assert "120 in the file, 40 selected by --where, 3 without an answer for missing values (y)\n" in said
    said = run("score", MODEL, "t.csv", write("u.csv", numbers())).stdout
    assert f"{120 + N} in 2 files, 4 without an answer for missing values (y)\n" in said
    done = run("score", MODEL, "t.csv", "--where", "line = 7", "--out", "results.parquet")
    assert done.exit_code == 0, done.stderr
    results = pa.parquet.read_table("results.parquet")
    assert results["row"].to_pylist() == list(range(0, 120, 3))
    assert results["inside"].null_count == 3


@pytest.mark.parametrize(
    ("option", "ending"),
    [
        *(
            (option, ending)
            for option in ("skip-rows=1", "separator=;", "decimal=,")
            for ending in ("parquet", "feather", "ndjson", "db")
            if (option, ending) != ("decimal=,", "db")  # text in a database may have decimal commas
        ),
        ("sheet=A", "csv"),
        ("sheet=A", "parquet"),
        ("separator=;", "xlsx"),
        ("skip-rows=1", "json"),
    ],
)
def test_options_that_mean_nothing_in_a_format_are_refused(model, option, ending):
    write(f"t.{ending}", numbers())
    for command in ("fit", "score"):
        said = refusal(command, f"t.{ending}", "--read", option)
        assert f"--read {option.partition('=')[0]} means nothing for t.{ending}" in said


# Columns that are no measurements


def features():
    return mvset.load(MODEL).feature_names_in_.tolist()


@pytest.mark.parametrize(("ending", "start", "step"), [*((each, 1, 1) for each in FORMATS), ("csv", 1000, 5)])
def test_row_numbers_are_left_out_unless_they_are_named(ending, start, step):
    write(f"t.{ending}", {"no": [start + step * i for i in range(N)], **numbers()})
    said = fit(f"t.{ending}")
    assert "left out of the fit: no." in said
    assert features() == ["x", "y"]
    assert "left out" not in fit(f"t.{ending}", "--columns", "no,x")
    assert features() == ["no", "x"]


def test_the_index_of_pandas_is_left_out():
    pd.DataFrame(numbers()).to_csv("t.csv")
    assert "left out of the fit: the column without a name." in fit("t.csv")
    assert features() == ["x", "y"]
    assert score("t.csv")["x"].to_pylist() == numbers()["x"]


def test_a_number_that_may_stand_for_missing_values_is_noted():
    columns = numbers(200)
    for i in (5, 50, 51, 120):
        columns["x"][i] = -999
    said = fit(write("t.csv", columns))
    assert "--read na=-999" in said
    assert "4 times in 'x'" in said
    assert "na=-999" not in fit("t.csv", "--read", "na=-999", "--missing", "drop")


def test_more_columns_than_rows_are_noted():
    rng = np.random.default_rng(0)
    said = fit(write("t.csv", {f"s{i}": rng.normal(5.0, 1.0, 12).round(2).tolist() for i in range(15)}))
    assert "transposed" in said


def test_names_for_a_table_without_any_are_remembered():
    Path("names.txt").write_text("x\ny\n")
    write("t.csv", numbers(), header=False)
    fit("t.csv", "--read", "names=names.txt")
    assert features() == ["x", "y"]
    Path("names.txt").unlink()
    assert score("t.csv")["x"].to_pylist() == numbers()["x"]
    Path("two.csv").write_text("5.11,2.01\n4.87,1.98\n")
    assert score("two.csv")["y"].to_pylist() == [2.01, 1.98]


def test_a_table_that_begins_within_a_sheet_is_read():
    book, columns = openpyxl.Workbook(), numbers()
    for i, row in enumerate([["x", "y"], *zip(*columns.values(), strict=True)]):
        for j, cell in enumerate(row):
            book.active.cell(3 + i, 2 + j, cell)
    book.save("t.xlsx")
    found = fit_and_score("t.xlsx")
    assert [found[name].to_pylist() for name in "xy"] == list(columns.values())
