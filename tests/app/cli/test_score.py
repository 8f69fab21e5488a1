import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import mvset as library
from mvset.app.summaries.scan import written_levels

SCORE = ("score", "model.mvset", "today.csv")


def read(name):
    text_ids = pa.csv.ConvertOptions(column_types={"id": pa.string()})
    readers = {
        ".csv": lambda path: pa.csv.read_csv(path, convert_options=text_ids),
        ".parquet": pa.parquet.read_table,
        ".feather": pa.feather.read_table,
        ".ndjson": lambda path: pa.Table.from_pylist(
            [json.loads(line) for line in Path(path).read_text().splitlines()]
        ),
    }
    return readers[Path(name).suffix](name)


def frame(name):
    return read(name).select(["flow", "pressure"]).to_pandas()


def answers(rows, mass=None):
    """The results of the model in Python."""
    sets = library.load("model.mvset")
    top, inside = np.abs(sets.explain(rows)).argmax(axis=1), sets.predict(rows, mass) == 1
    return {
        "inside": inside.tolist(),
        "score": sets.score_samples(rows),
        "level": sets.level(rows),
        "top_feature": [None if i else ["flow", "pressure"][j] for j, i in zip(top, inside, strict=True)],
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".ndjson"])
@pytest.mark.parametrize("mass", [None, 0.8])
def test_results_are_those_of_the_model_in_python(mvset, folder, suffix, mass):
    done = mvset(*SCORE, "--out", f"scores{suffix}", "--keep", "id", *(() if mass is None else ("--mass", mass)))
    assert done.exit_code == 0, done.stderr
    written, expected = read(f"scores{suffix}"), answers(frame("today.csv"), mass)
    assert written.column_names == ["id", "row", "inside", "score", "level", "p_value", "top_feature", "note"]
    assert written["id"].to_pylist() == read("today.csv")["id"].to_pylist()
    assert written["row"].to_pylist() == list(range(200))
    assert written["inside"].to_pylist() == expected["inside"]
    assert [name or None for name in written["top_feature"].to_pylist()] == expected["top_feature"]
    np.testing.assert_allclose(written["score"], expected["score"], rtol=1e-14)
    np.testing.assert_array_equal(written["level"], written_levels(expected["level"], 400))
    assert [level <= (mass or 0.95) for level in written["level"].to_pylist()] == expected["inside"]


def test_all_formats_are_read_alike(mvset, folder):
    table = read("today.csv")
    pa.parquet.write_table(table, "t.parquet")
    pa.feather.write_feather(table, "t.feather")
    Path("t.ndjson").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    expected = mvset(*SCORE, "--keep", "id").stdout
    for name in ("t.parquet", "t.feather", "t.ndjson"):
        assert mvset("score", "model.mvset", name, "--keep", "id").stdout == expected


def test_batches_make_no_difference(mvset, folder, monkeypatch):
    pa.parquet.write_table(read("today.csv"), "t.parquet")
    mvset(*SCORE, "--out", "whole.csv", "--keep", "id")
    expected = mvset(*SCORE, "--json").stdout
    monkeypatch.setattr("mvset.app.tables.formats._BATCH", 7)
    monkeypatch.setattr("mvset.app.tables.opening._BLOCK", 300)
    for name in ("today.csv", "t.parquet"):
        assert mvset("score", "model.mvset", name, "--json").stdout == expected
        mvset("score", "model.mvset", name, "--out", "parts.csv", "--keep", "id")
        assert Path("parts.csv").read_text() == Path("whole.csv").read_text()


def test_the_summary_ends_with_the_verdict(mvset, folder):
    done = mvset(*SCORE, "--keep", "id")
    assert done.exit_code == 0
    assert done.stderr == ""
    report = library.load("model.mvset").check_drift(frame("today.csv"))
    lines = done.stdout.splitlines()
    assert lines[0] == "Most unusual"
    assert lines[1].split() == ["id", "row", "level", "top_feature", "value", "normal"]
    assert len(lines[2:7]) == 5
    (low, high), (least, most) = report.share_interval, report.expected_interval
    assert lines[8] == f"Columns that contribute most to the {report.n_outside} rows outside"
    assert lines[9].split() == ["top_feature", "rows", "direction", "median", "normal", "range"]
    assert {line.split()[0] for line in lines[10:12]} == {"flow", "pressure"}
    assert lines[13:] == [
        "rows      200 in the file, all with an answer",
        f"outside   {report.share_outside:.2%} ({low:.2%} to {high:.2%} with 99% confidence)",
        f"expected  {report.expected_share:.2%} ({least:.2%} to {most:.2%} with 99% confidence)",
        f"verdict   {library.load('model.mvset').events(frame('today.csv'))}",
    ]
    assert lines[-1].startswith("verdict   Nothing unusual found. ")


def test_json_has_the_verdict_and_the_most_unusual_rows(mvset, folder):
    result = json.loads(mvset("score", "model.mvset", "drifted.csv", "--json", "--keep", "id").stdout)
    report = library.load("model.mvset").check_drift(frame("drifted.csv"))
    assert result["drifted"] is True
    assert (result["rows"], result["rows_dropped"], result["mass"], result["out"]) == (200, 0, 0.95, None)
    for name in ("n_rows", "n_outside", "share_outside", "expected_share", "share_p_value", "distribution_p_value"):
        assert result[name] == getattr(report, name)
    expected = answers(frame("drifted.csv"))
    order = np.argsort(expected["score"])[:5].tolist()
    assert [row["row"] for row in result["most_unusual"]] == order
    assert [row["top_feature"] for row in result["most_unusual"]] == [expected["top_feature"][i] for i in order]
    assert [row["kept"] for row in result["most_unusual"]] == [{"id": f"{i:03d}"} for i in order]


def later_drift(name="later.csv", *, newest_first=False):
    """Two hundred normal rows, one a minute, then the two hundred drifted ones."""
    normal, drifted = read("today.csv"), read("drifted.csv")
    rows = pa.concat_tables([normal, drifted.cast(normal.schema)])
    minutes = np.datetime64("2026-03-01T12:00:00") + 60 * np.arange(400).astype("timedelta64[s]")
    rows = rows.append_column("time", pa.array(minutes))
    pa.csv.write_csv(rows.take(pa.array(np.arange(400)[::-1])) if newest_first else rows, name)


def test_since_when_rows_are_unlike_by_row(mvset, folder):
    later_drift()
    onset = json.loads(mvset("score", "model.mvset", "later.csv", "--json").stdout)["onset"]
    assert onset["low"]["row"] <= 200 <= onset["high"]["row"]
    assert abs(onset["first"]["row"] - 200) < 20
    assert (onset["first"]["time"], onset["first"]["table"], onset["until"]) == (None, None, None)
    lines = mvset("score", "model.mvset", "later.csv").stdout.splitlines()
    since = f"since row {onset['first']['row']} (between row {onset['low']['row']} and "
    assert lines[-1].startswith("verdict   Unusual")
    assert since in lines[-1]


@pytest.mark.parametrize("newest_first", [False, True])
def test_since_when_rows_are_unlike_by_time(mvset, folder, newest_first):
    later_drift(newest_first=newest_first)
    by_time = ("score", "model.mvset", "later.csv", "--time", "time")
    onset = json.loads(mvset(*by_time, "--json").stdout)["onset"]
    assert onset["low"]["time"] <= "2026-03-01 15:20" <= onset["high"]["time"]
    minute = np.datetime64(onset["first"]["time"].replace(" ", "T")) - np.datetime64("2026-03-01T12:00")
    row = int(minute / np.timedelta64(1, "m"))
    assert onset["first"]["row"] == (399 - row if newest_first else row)
    done = mvset(*by_time, "--out", "s.csv")
    assert f"since {onset['first']['time']}, row {onset['first']['row']} (between 2026-03-01 15:" in done.stdout
    assert pa.csv.read_csv("s.csv").column_names[0] == "time"  # kept in the results


def test_rows_continue_in_the_order_of_files(mvset, folder):
    done = mvset("score", "model.mvset", "today.csv", "drifted.csv", "--json")
    onset = json.loads(done.stdout)["onset"]
    assert (onset["first"]["table"], onset["high"]["table"]) == ("drifted.csv", "drifted.csv")
    assert onset["first"]["row"] < 20


def test_no_drift_has_no_onset(mvset, folder):
    assert json.loads(mvset(*SCORE, "--json").stdout)["onset"] is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("when", "today.csv has no column 'when'; it has 'id', 'flow', 'pressure'. Correct --time."),
        ("word", "--time: column 'word': 'soon' is neither a number nor a date like 2026-01-31 23:59:59"),
    ],
)
def test_a_column_that_is_no_time_is_refused(refused, folder, name, said):
    if name == "word":
        pa.csv.write_csv(read("today.csv").append_column("word", pa.array(["soon"] * 200)), "today.csv")
    assert refused(*SCORE, "--time", name).startswith(said)


def test_columns_that_explain_the_rows_outside(mvset, folder):
    columns = json.loads(mvset("score", "model.mvset", "drifted.csv", "--json").stdout)["columns"]
    expected = [name for name in answers(frame("drifted.csv"))["top_feature"] if name is not None]
    assert {column["name"]: column["share"] for column in columns} == {
        name: pytest.approx(expected.count(name) / len(expected)) for name in ("flow", "pressure")
    }
    for column in columns:
        low, high = column["normal_range"]
        values = frame("normal.csv")[column["name"]]
        assert values.min() <= low < values.median() < high <= values.max()


@pytest.mark.parametrize(("name", "code"), [("drifted.csv", 3), ("today.csv", 0)])
def test_drift_has_an_exit_code_of_its_own_where_asked_for(mvset, folder, name, code):
    assert mvset("score", "model.mvset", name).exit_code == 0
    done = mvset("score", "model.mvset", name, "--fail-on-drift", "--out", "scores.csv")
    assert done.exit_code == code
    assert len(read("scores.csv")) == 200


def test_rows_outside_only(mvset, folder):
    mvset(*SCORE, "--out", "all.parquet")
    done = mvset(*SCORE, "--out", "outside.parquet", "--only-outside")
    everything = read("all.parquet").to_pylist()
    assert read("outside.parquet").to_pylist() == [row for row in everything if not row["inside"]]
    assert done.stdout == mvset(*SCORE, "--out", "outside.parquet").stdout  # the verdict is about all


def test_only_outside_needs_a_file(refused):
    said = "--only-outside restricts the rows that are written: name the file with --out."
    assert said in refused(*SCORE, "--only-outside", code=2)


def test_columns_in_other_order_are_found_by_name(mvset, folder):
    pa.csv.write_csv(read("today.csv").select(["pressure", "id", "flow"]), "other.csv")
    done = mvset("score", "model.mvset", "other.csv")
    assert done.stdout == mvset(*SCORE).stdout
    assert done.stderr == "Note: the columns are in a different order than in the fit; they are matched by name.\n"


def test_rows_with_missing_values_keep_the_numbers_of_the_others(mvset, folder):
    table = read("today.csv").to_pylist()[:6]
    table[1]["flow"], table[4]["pressure"] = float("nan"), None
    pa.parquet.write_table(pa.Table.from_pylist(table), "holes.parquet")
    done = mvset("score", "model.mvset", "holes.parquet", "--out", "s.parquet", "--keep", "id")
    assert "rows      6 in the file, 2 without an answer for missing values (" in done.stdout
    written = pa.parquet.read_table("s.parquet")
    assert written["row"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert written["id"].to_pylist() == ["000", "001", "002", "003", "004", "005"]
    assert written["note"].to_pylist() == [None, "missing: flow", None, None, "missing: pressure", None]
    for name in ("inside", "score", "level", "p_value"):
        assert [value is None for value in written[name].to_pylist()] == [False, True, False, False, True, False]
    mvset("score", "model.mvset", "holes.parquet", "--out", "outside.parquet", "--only-outside", "--mass", "0.01")
    assert pa.parquet.read_table("outside.parquet")["row"].to_pylist() == [0, 2, 3, 5]
    result = json.loads(mvset("score", "model.mvset", "holes.parquet", "--json").stdout)
    assert (result["rows"], result["rows_dropped"], result["n_rows"]) == (6, 2, 4)


def test_a_table_without_a_complete_row_is_refused(refused, folder):
    pa.parquet.write_table(pa.table({"flow": [1.0, None], "pressure": [np.inf, 2.0]}), "holes.parquet")
    assert refused("score", "model.mvset", "holes.parquet", "--out", "s.csv") == "holes.parquet has no rows to score."


def test_several_tables_are_scored_as_one_with_a_table_column(mvset, folder):
    table = read("today.csv")
    Path("days").mkdir()
    pa.csv.write_csv(table.slice(0, 120), "days/1.csv")
    pa.parquet.write_table(table.slice(120).select(["pressure", "flow", "id"]), "days/2.parquet")
    done = mvset("score", "model.mvset", "days", "--out", "days.csv", "--keep", "id")
    assert done.stdout.splitlines()[1].split()[:3] == ["id", "table", "row"]
    written = read("days.csv")
    assert written["table"].to_pylist() == ["days/1.csv"] * 120 + ["days/2.parquet"] * 80
    mvset(*SCORE, "--out", "one.csv", "--keep", "id")
    assert written.drop_columns(["table", "row"]).equals(read("one.csv").drop_columns(["row"]))
    assert written["row"].to_pylist() == [*range(120), *range(80)]  # counted in each file


def test_kept_columns_are_unchanged(mvset, folder):
    Path("t.csv").write_text("flow,pressure,id,remark\n40,4,007,NA\n41,4,1e5,\n")
    mvset("score", "model.mvset", "t.csv", "--keep", "id,remark,flow", "--out", "s.csv")
    assert Path("s.csv").read_text().splitlines()[1:] == [
        f'"{id_}","{note}",{flow},{rest}'
        for (id_, note, flow), rest in zip(
            [("007", "NA", 40), ("1e5", "", 41)],
            [line.split(",", 3)[3] for line in Path("s.csv").read_text().splitlines()[1:]],
            strict=True,
        )
    ]


def test_a_model_of_python_takes_columns_by_number(mvset, folder):
    rows = frame("normal.csv").to_numpy()
    library.save(library.MinimumVolumeSet(sigma=1.0, random_state=0).fit(rows / rows.std(axis=0)), "plain.mvset")
    pa.csv.write_csv(pa.table({"x1": [1.0], "x0": [2.0]}), "x.csv")
    assert mvset("score", "plain.mvset", "x.csv").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--keep", "speed"),
            "today.csv has no column 'speed'; it has 'id', 'flow', 'pressure'. Correct --keep.",
        ),
        (
            ("--out", "scores.xls"),
            "scores.xls: unknown file extension. Results can be written as .parquet, .pq, .csv, .feather, .arrow, "
            ".ndjson, .jsonl.",
        ),
        (("--out", "deep/scores.csv"), "deep: No such file or directory."),
        (("--out", "folder.csv"), "folder.csv: Is a directory."),
    ],
)
def test_unusable_options_are_refused(refused, folder, arguments, said):
    (folder / "folder.csv").mkdir()
    assert refused(*SCORE, *arguments) == said


@pytest.mark.parametrize("name", ["score", "row", "inside", "level", "p_value", "top_feature", "note"])
def test_a_column_kept_cannot_have_the_name_of_a_result(refused, folder, name):
    Path("t.csv").write_text(f"flow,pressure,{name}\n40,4,1\n")
    assert refused("score", "model.mvset", "t.csv", "--keep", name, "--out", "s.csv") == (
        f"--keep: the results have a column {name!r} already: rename the column of the table."
    )


@pytest.mark.parametrize("out", ["today.csv", "./today.csv", "link.csv", "model.csv"])
def test_inputs_are_not_overwritten(refused, folder, out):
    (folder / "model.mvset").rename(folder / "model.csv")
    (folder / "link.csv").symlink_to(folder / "today.csv")
    said = refused("score", "model.csv", "today.csv", "--out", out, code=2)
    assert f"{Path(out)} is an input file and would be overwritten. Choose another name." in said


def test_a_missing_column_is_named_with_a_remedy(refused, folder):
    pa.csv.write_csv(read("today.csv").select(["flow"]), "t.csv")
    assert refused("score", "model.mvset", "t.csv", "--out", "s.csv") == (
        "t.csv has no column 'pressure'; it has 'flow'. Rename a column, or fit without it: --exclude pressure."
    )


def test_a_mass_that_cannot_be_guaranteed_is_refused(mvset, refused, folder):
    mvset("fit", "normal.csv", "--exclude", "id", "--calibration", "pac", "--out", "pac.mvset")
    assert refused("score", "pac.mvset", "today.csv", "--mass", "0.999") == (
        "200 calibration rows cannot guarantee --mass 0.999 in 'pac' mode, which takes 2995. Fit with more rows, or "
        "use at most --mass 0.9851."
    )
    assert "must be strictly between 0 and 1" in refused("score", "pac.mvset", "t", "--mass", "150", code=2)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".ndjson"])
def test_text_after_many_rows_leaves_no_results_and_the_old_ones(refused, folder, monkeypatch, suffix):
    monkeypatch.setattr("mvset.app.tables.opening._BLOCK", 300)
    Path("t.csv").write_text("flow,pressure\n" + "40,4\n" * 500 + "40,oops\n" + "40,4\n" * 500)
    Path(f"s{suffix}").write_text("old")
    assert refused("score", "model.mvset", "t.csv", "--out", f"s{suffix}") == (
        "Column 'pressure' of t.csv has 'oops' in row 501, which is not a number: correct it, or exclude the column "
        "from the fit with --exclude pressure. If it stands for a missing value: --read na=oops."
    )


def test_a_full_disk_is_reported_and_leaves_no_file(refused, monkeypatch):
    def full(*_):
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr("mvset.app.tables.scoring._results", full)
    assert refused(*SCORE, "--out", "s.parquet") == "s.parquet: No space left on device."


def test_extreme_values_are_outside_up_to_the_largest_float64(mvset, folder):
    Path("t.csv").write_text("flow,pressure\n1e299,4\n40,-1e299\n40,4\n")
    done = mvset("score", "model.mvset", "t.csv", "--json")
    assert done.stderr == ""
    assert sorted(row["row"] for row in json.loads(done.stdout)["most_unusual"] if row["level"] == 1.0) == [0, 1]
    Path("t.csv").write_text("flow,pressure\n1.7976931348623157e308,4\n40,-1.7976931348623157e308\n40,4\n")
    done = mvset("score", "model.mvset", "t.csv", "--json", "--out", "s.csv")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows_dropped"] == 0
    assert read("s.csv")["inside"].to_pylist() == [False, False, True]
