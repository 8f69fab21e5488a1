"""`mvset fit --time`, `--group` and `--strata`, and what the other commands make of such models."""

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import mvset as library


def plant(n=400, seed=0):
    """Readings of two sites, one of them four times as noisy, an hour each, from twenty machines."""
    rng = np.random.default_rng(seed)
    site = np.where(rng.uniform(size=n) < 0.7, "north", "south")
    spread = np.where(site == "north", 1.0, 4.0)
    return pa.table(
        {
            "day": np.datetime64("2026-01-01T00:00:00") + np.arange(n).astype("timedelta64[h]"),
            "machine": [f"m{i}" for i in rng.integers(20, size=n)],
            "site": site,
            "flow": 40.0 + spread * rng.normal(size=n),
            "pressure": 4.0 + 0.1 * spread * rng.normal(size=n),
        }
    )


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(table, name):
    (pa.csv.write_csv if name.endswith(".csv") else pa.parquet.write_table)(table, name)


def fit(mvset, *options, table="t.csv", out="m"):
    done = mvset("fit", table, "--columns", "flow,pressure", *options, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout), library.load(out)


# ---------------------------------------------------------------- time


@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", ["timestamp", "text", "number", "date"])
def test_rows_are_put_in_the_order_of_time(mvset, kind, suffix):
    table = plant(200)
    day = {
        "timestamp": table["day"],
        "text": pa.array([f"{day:%Y-%m-%d %H:%M:%S}" for day in table["day"].to_pylist()]),
        "number": pa.array(np.arange(200) * 0.5 - 20),
        "date": pa.array(np.datetime64("2026-01-01") + np.arange(200)),
    }[kind]
    table = table.set_column(0, "day", day)
    write(table, f"t{suffix}")
    write(table.take(np.random.default_rng(0).permutation(200)), f"shuffled{suffix}")
    first, model = fit(mvset, "--time", "day", table=f"t{suffix}")
    second, other = fit(mvset, "--time", "day", table=f"shuffled{suffix}", out="n")
    assert {**first, "model": ""} == {**second, "model": ""}
    assert model.time_order
    assert model.sets_ == other.sets_
    assert not fit(mvset, table=f"t{suffix}")[1].time_order


@pytest.mark.parametrize(
    ("columns", "used"),
    [
        ((), ["flow", "pressure"]),
        (("--columns", "day", "--columns", "flow"), ["day", "flow"]),
        (("--columns", "day,flow"), ["day", "flow"]),
    ],
)
def test_the_time_is_no_feature_unless_named(mvset, columns, used):
    table = plant(150).select(["day", "flow", "pressure"])
    write(table.set_column(0, "day", pa.array(np.random.default_rng(0).permutation(150).astype(float))), "t.parquet")
    with warnings.catch_warnings(action="ignore"):  # an increasing column
        done = mvset("fit", "t.parquet", "--time", "day", *columns, "--out", "m", "--json")
    assert json.loads(done.stdout)["columns"] == used


@pytest.mark.parametrize(
    ("option", "table", "said"),
    [
        (
            ("--time", "site"),
            plant(50),
            "--time: column 'site': 'north' is neither a number nor a date like 2026",
        ),
        (("--time", "when"), plant(50), "--time: t.csv has no column 'when'. It has 'day', 'machine', 'site', 'flow'"),
        (("--group", "batch"), plant(50), "--group: t.csv has no column 'batch'."),
        (("--strata", "batch"), plant(50), "--strata: t.csv has no column 'batch'."),
    ],
    ids=["text", "no time", "no group", "no by"],
)
def test_columns_that_say_nothing_are_refused(mvset, option, table, said):
    write(table, "t.csv")
    done = mvset("fit", "t.csv", "--columns", "flow,pressure", *option, "--out", "m")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert not Path("m").exists()


@pytest.mark.parametrize(("option", "column"), [("--time", "day"), ("--group", "machine"), ("--strata", "site")])
def test_rows_of_which_nothing_is_said_are_refused(mvset, option, column):
    table = plant(100)
    values = table[column].to_pylist()
    values[3] = values[70] = None
    position = table.column_names.index(column)
    write(table.set_column(position, column, pa.array(values, table[column].type)), "t.parquet")
    done = mvset("fit", "t.parquet", "--columns", "flow,pressure", option, column, "--out", "m")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"Column {column!r} has 2 missing values: it must say something of every row.\n"


def test_time_and_group_contradict_each_other(mvset):
    write(plant(100), "t.csv")
    done = mvset("fit", "t.csv", "--columns", "flow", "--time", "day", "--group", "machine", "--out", "m")
    assert done.exit_code == 1
    assert done.stderr == "--time COLUMN makes its own splits, so leave out --group.\n"


# ---------------------------------------------------------------- groups that are alike


def test_rows_of_a_group_are_held_out_together(mvset):
    rng = np.random.default_rng(0)
    batch = np.repeat(np.arange(40), 10)
    values = rng.normal(size=(40, 2))[batch] + 0.1 * rng.normal(size=(400, 2))
    order = rng.permutation(400)
    write(pa.table({"batch": batch[order], "flow": values[order, 0], "pressure": values[order, 1]}), "t.csv")
    alone, _ = fit(mvset)
    together, model = fit(mvset, "--group", "batch")
    assert together["columns"] == ["flow", "pressure"]
    assert together["strata"] is None
    assert together["effective_rows"] < 0.3 * alone["effective_rows"]
    assert "count for" in mvset("info", "m").stdout
    assert model.sets_.strata is None


# ---------------------------------------------------------------- an offset for each


@pytest.fixture
def by_site(mvset):
    write(plant(600), "t.csv")
    write(plant(300, seed=1), "today.csv")
    return fit(mvset, "--strata", "site", "--calibration", "conformal")


def test_the_model_knows_its_groups_and_the_column(mvset, by_site):
    summary, model = by_site
    assert summary["strata"] == model.sets_.strata.labels == ["north", "south"]
    assert model.strata_column_ == "site"
    assert summary["columns"] == ["flow", "pressure"]
    assert "one per site: north, south" in mvset("info", "m").stdout
    assert json.loads(mvset("info", "m", "--json").stdout)["strata"] == ["north", "south"]


def test_rows_are_judged_by_the_offset_of_their_site(mvset, by_site):
    done = mvset("score", "m", "today.csv", "--out", "s.csv")
    assert (done.exit_code, done.stderr) == (0, "")
    written, today = pa.csv.read_csv("s.csv"), pa.csv.read_csv("today.csv")
    assert written.column_names == ["site", "row", "inside", "score", "level", "p_value", "top_feature", "note"]
    assert written["site"].to_pylist() == today["site"].to_pylist()
    model, rows = by_site[1], today.select(["flow", "pressure"]).to_pandas()
    site = np.array(today["site"].to_pylist())
    np.testing.assert_allclose(written["level"], model.level(rows, strata=site), rtol=0, atol=1e-6)
    inside = np.array(written["inside"].to_pylist())
    np.testing.assert_array_equal(inside, model.predict(rows, strata=site) == 1)
    for name in ("north", "south"):
        assert np.mean(inside[site == name]) == pytest.approx(0.95, abs=0.06)
    result = json.loads(mvset("score", "m", "today.csv", "--json").stdout)
    report = model.check_drift(rows, strata=site)
    assert result["n_outside"] == report.n_outside == np.sum(~inside)
    assert result["share_p_value"] == report.share_p_value
    assert result["distribution_p_value"] == pytest.approx(report.distribution_p_value)
    assert [row["kept"]["site"] for row in result["most_unusual"]] == [site[r["row"]] for r in result["most_unusual"]]


@pytest.mark.filterwarnings("default")
def test_a_site_that_the_fit_has_not_seen_is_noted(mvset, by_site):
    table = plant(100, seed=2)
    site = ["west", *table["site"].to_pylist()[1:]]
    write(table.set_column(2, "site", pa.array(site)), "new.csv")
    done = mvset("score", "m", "new.csv", "--out", "s.csv")
    assert done.exit_code == 0
    assert done.stderr == (
        "Note: The fit has seen no rows of stratum 'west': they are compared with the offset of all rows.\n"
    )
    rows = table.select(["flow", "pressure"]).to_pandas()
    assert pa.csv.read_csv("s.csv")["level"][0].as_py() == pytest.approx(
        by_site[1].level(rows)[0], abs=1e-6
    )  # rounded up


def test_the_column_of_the_sites_is_needed(mvset, by_site):
    write(plant(50).drop_columns(["site"]), "new.csv")
    done = mvset("score", "m", "new.csv")
    assert done.exit_code == 1
    assert "new.csv has no column 'site'" in done.stderr
    assert "(fit --strata site)" in done.stderr


@pytest.mark.parametrize("missing", [None, " "])
def test_a_row_without_a_site_has_no_answer(mvset, by_site, missing):
    table = plant(100, seed=2)
    write(table.set_column(2, "site", pa.array([missing, *table["site"].to_pylist()[1:]])), "new.parquet")
    done = mvset("score", "m", "new.parquet", "--out", "s.parquet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "rows      100 in the file, 1 without an answer for missing values (site)" in done.stdout
    written = pa.parquet.read_table("s.parquet")
    assert written["note"].to_pylist() == ["missing: site", *[None] * 99]
    assert written["level"].is_null().to_pylist() == [True, *[False] * 99]


def test_labels_that_are_numbers_agree_whatever_their_type(mvset):
    table = plant(200).select(["flow", "pressure"])
    numbers = np.arange(200) % 2
    for name, kind in (("whole", np.int64), ("decimal", np.float64)):
        write(table.append_column("line", pa.array(numbers.astype(kind))), f"{name}.parquet")
    fit(mvset, "--strata", "line", table="whole.parquet")
    whole, decimal = (mvset("score", "m", f"{name}.parquet", "--json") for name in ("whole", "decimal"))
    assert (whole.exit_code, decimal.exit_code) == (0, 0)
    assert decimal.stderr == ""
    assert json.loads(decimal.stdout)["n_outside"] == json.loads(whole.stdout)["n_outside"]


def test_the_column_may_be_named_again(mvset, by_site):
    done = mvset("score", "m", "today.csv", "--keep", "machine,site", "--out", "s.csv")
    assert done.exit_code == 0
    assert pa.csv.read_csv("s.csv").column_names[:3] == ["site", "machine", "row"]


def test_the_report_reads_the_sites(mvset, by_site):
    done = mvset("report", "m", "today.csv")
    assert (done.exit_code, done.stderr) == (0, "")
    outside = json.loads(mvset("score", "m", "today.csv", "--json").stdout)["n_outside"]
    assert f"<b>{outside}</b> of 300 rows outside" in Path("report.html").read_text()


# ---------------------------------------------------------------- columns that never changed


@pytest.mark.filterwarnings("default")  # the note on the constant column
def test_a_constant_column_that_changes_is_named(mvset):
    table = plant(300).select(["flow", "pressure"]).append_column("valve", pa.array(np.full(300, 5.0)))
    write(table, "t.csv")
    done = mvset("fit", "t.csv", "--out", "m")
    assert "any row in which one differs is flagged" in done.stderr
    changed = table.slice(0, 20).to_pylist()
    changed[7]["valve"] = 5.3
    write(pa.Table.from_pylist(changed), "new.csv")
    done = mvset("score", "m", "new.csv", "--json", "--out", "s.csv")
    first = json.loads(done.stdout)["most_unusual"][0]
    assert (first["row"], first["level"], first["top_feature"]) == (7, 1.0, "valve")
    assert (first["values"]["valve"], first["normal"]["valve"]) == (5.3, 5.0)
    assert first["normal"]["flow"] == pytest.approx(changed[7]["flow"], abs=4.0)
    written = pa.csv.read_csv("s.csv")
    assert (written["inside"][7].as_py(), written["top_feature"][7].as_py()) == (False, "valve")
    assert mvset("score", "m", "new.csv").stdout.splitlines()[2].split()[-3:] == ["valve", "5.3", "5"]
