import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from mvset.app.cli.app import app
from mvset.app.cli.options import reading_options
from mvset.app.tables.options import ReadingOptions


@pytest.mark.parametrize("written", ["0.8", "80", "80%", "80 %", "8e1", ".8"])
def test_a_mass_may_be_a_share_or_a_percentage(mvset, folder, written):
    result = json.loads(mvset("score", "model.mvset", "today.csv", "--mass", written, "--json").stdout)
    assert result["mass"] == 0.8


def test_a_percentage_is_converted_without_rounding(mvset, folder):
    assert 55.4 / 100 != 0.554
    assert json.loads(mvset("score", "model.mvset", "today.csv", "--mass", "55.4%", "--json").stdout)["mass"] == 0.554


def test_commands_have_few_options():
    command = typer.main.get_command(app)
    shown = {
        name: [each.name for each in sub.params if each.param_type_name == "option" and not each.hidden]
        for name, sub in command.commands.items()
    }
    assert len(shown["fit"]) <= 20
    assert max(map(len, shown.values())) <= 20


def test_how_tables_are_read():
    assert reading_options(None, None) == ReadingOptions()
    read = ["format=csv", "separator=tab", "header=no", "encoding=latin-1", "na=ERR", "na=", "skip-rows=3", "comment=="]
    assert reading_options([*read, "sheet=A = B"], "SELECT 1") == ReadingOptions(
        "csv",
        "\t",
        False,
        "latin-1",
        missing=("ERR", ""),
        skip_rows=3,
        comment="=",
        sheet="A = B",
        query="SELECT 1",
    )
    assert reading_options(["decimal=,", "date-format=%d.%m.%y"], None).decimal == ","
    assert reading_options(["header=yes", "separator=;"], None) == ReadingOptions(separator=";", header=True)


def test_what_is_left_open_is_as_in_the_fit():
    like = {"numbers": {"missing": ["ERR"]}}
    reading = {"date_format": "day-first", "dialect": like}
    model = SimpleNamespace(estimator=SimpleNamespace(reading_=reading), feature_names=["x"])
    expected = ReadingOptions(date_format="day-first", missing=("ERR",), like=like, columns=("x",))
    assert reading_options([], None, model) == expected
    found = reading_options(["na=-", "date-format=month-first"], None, model)
    assert found == replace(expected, date_format="month-first", missing=("-",))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("separator", "--read separator: write KEY=VALUE, where KEY is one of format, separator, "),
        ("seperator=;", "--read seperator=;: write KEY=VALUE, where KEY is one of format, separator, "),
        (
            "format=word",
            "--read format: must be one of csv, json, ndjson, parquet, feather, excel, sqlite; got 'word'.",
        ),
        ("separator=::", "--read separator: must be one character, or tab or space; got '::'."),
        ("header=maybe", "--read header: must be yes or no; got 'maybe'."),
        ("skip-rows=-1", "--read skip-rows: must be a number of lines; got '-1'."),
        ("encoding=", "--read encoding: must be a name; got ''."),
    ],
)
def test_wrong_ways_to_read_are_reported_as_typed(refused, given, said):
    assert said in refused("fit", "normal.csv", "--read", given, code=2)


def test_separators_that_are_named(mvset, folder):
    Path("tab.txt").write_text(Path("normal.csv").read_text().replace(",", "\t"))
    done = mvset("fit", "tab.txt", "--read", "separator=tab", "--exclude", "id", "--out", "m", "--json")
    assert json.loads(done.stdout)["columns"] == ["flow", "pressure"]
