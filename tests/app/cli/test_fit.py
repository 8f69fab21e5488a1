import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import mvset as library

FIT = ("fit", "normal.csv", "--exclude", "id")
UNUSABLE = "'a': values too large or too small to compute with. Rescale, or exclude with --exclude a."


def table():
    return pa.csv.read_csv("normal.csv", convert_options=pa.csv.ConvertOptions(column_types={"id": pa.string()}))


def write_csv(name, header, rows):
    Path(name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def test_the_summary_describes_the_model(mvset, folder):
    done = mvset(*FIT, "--out", "new.mvset")
    assert done.exit_code == 0
    assert done.stderr == ""
    facts = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    assert facts["rows"].strip() == "400 of 400"
    assert facts["columns"].strip() == "flow, pressure"
    assert facts["mass"].strip() == "0.95, calibration 'cross'"
    assert facts["model"].strip() == "new.mvset"
    assert (folder / "new.mvset").read_bytes()[:2] == b"PK"


def test_the_model_is_an_estimator_that_scales_columns_by_name(folder):
    model = library.load("model.mvset")
    rows = table().select(["flow", "pressure"]).to_pandas()
    assert type(model) is library.MinimumVolumeSet
    assert list(model.feature_names_in_) == ["flow", "pressure"]
    unexplained = np.sqrt(1.0 - rows.corr().loc["flow", "pressure"] ** 2)
    expected = rows.std() * {"standard": 1.0, "whiten": unexplained}[model.scaling_]
    np.testing.assert_allclose(model.column_scales_, expected, rtol=0.03)
    today = pa.csv.read_csv("today.csv").select(["flow", "pressure"]).to_pandas()  # 200 rows
    assert np.mean(model.predict(today) == 1) == pytest.approx(0.95, abs=0.05)


def test_all_formats_give_the_same_model(mvset, folder):
    pa.parquet.write_table(table(), "t.parquet")
    pa.feather.write_feather(table(), "t.feather")
    Path("t.ndjson").write_text("".join(json.dumps(row) + "\n" for row in table().to_pylist()))
    expected = json.loads(mvset(*FIT, "--out", "m", "--json").stdout)
    for name in ("t.parquet", "t.feather", "t.ndjson"):
        assert json.loads(mvset("fit", name, "--columns", "flow,pressure", "--out", "m", "--json").stdout) == expected


def test_json_is_one_document_with_the_same_facts(mvset, folder):
    done = mvset(*FIT, "--mass", "0.9", "--calibration", "conformal", "--seed", "7", "--out", "m", "--json")
    result = json.loads(done.stdout)
    sets = library.load("m")
    assert result["rows"] == result["rows_used"] == 400
    assert result["rows_dropped"] == 0
    assert result["columns"] == ["flow", "pressure"]
    assert (result["mass"], result["calibration"], result["seed"]) == (0.9, "conformal", 7)
    assert [view["sigma"] for view in result["views"]] == [view.sigma for view in sets.views_]
    assert result["offset"] == sets.offset_
    assert result["volume"] == sets.volume_.value
    assert result["support_vectors"] == len(sets.support_vectors_)


def test_max_rows_takes_a_random_sample_and_says_so(mvset, folder):
    done = mvset(*FIT, "--max-rows", "150", "--out", "a")
    assert done.stdout.splitlines()[0] == "rows      150 of 400, drawn at random"
    mvset(*FIT, "--max-rows", "150", "--out", "b")
    mvset(*FIT, "--max-rows", "150", "--seed", "1", "--out", "c")
    a, b, c = (library.load(name).column_scales_ for name in "abc")
    assert (a == b).all()
    assert (a != c).all()


@pytest.mark.parametrize("columns", [("--columns", "pressure,flow"), ("--columns", "pressure", "--columns", "flow")])
def test_columns_are_taken_in_the_order_named(mvset, folder, columns):
    result = json.loads(mvset("fit", "normal.csv", *columns, "--out", "m", "--json").stdout)
    assert result["columns"] == ["pressure", "flow"]


@pytest.mark.filterwarnings("default")  # on the bandwidth
def test_names_of_all_kinds_survive(mvset, folder):
    names = ["a,b", "[red]x[/red]", 'größe "µ"', "line\nbreak", "a.b", "  "]
    values = np.random.default_rng(0).normal(size=(300, len(names)))
    data = pa.table(dict(zip(names, values.T, strict=True)))
    pa.csv.write_csv(data, "names.csv")
    pa.parquet.write_table(data, "names.parquet")
    options = ("--exclude", "a,b", "--exclude", "a.b,  ", "--max-rows", "100", "--json", "--out", "m")
    for name in ("names.csv", "names.parquet"):
        assert json.loads(mvset("fit", name, *options).stdout)["columns"] == names[1:4]
    assert mvset("score", "m", "names.csv", "--keep", "a,b").stdout.splitlines()[1].startswith("a,b ")


@pytest.mark.filterwarnings("default")  # on the bandwidth
def test_rows_with_missing_values_are_left_out_on_demand(mvset, folder):
    values = np.random.default_rng(0).normal(size=(200, 2))
    values[[3, 5, 7], [0, 1, 1]] = np.nan, np.inf, -np.inf
    pa.parquet.write_table(pa.table({"flow": values[:, 0], "pressure": values[:, 1]}), "holes.parquet")
    done = mvset("fit", "holes.parquet", "--missing", "drop", "--out", "m")
    assert done.stdout.splitlines()[0] == "rows      197 of 200, 3 left out for missing values"


def test_missing_values_are_counted_by_column(refused, folder):
    write_csv("holes.csv", "flow,pressure", [(1, 2), ("", "inf"), (3, "NA"), (4, 5)])
    assert refused("fit", "holes.csv", "--out", "m") == (
        "holes.csv: missing or infinite values in 'flow' (1) and 'pressure' (2), in 2 of the first 4 rows. Fill them "
        "with --missing impute, leave such rows out with --missing drop, or fit without the columns: "
        "--exclude flow,pressure."
    )


@pytest.mark.filterwarnings("default")
def test_constant_columns_are_named(mvset, folder):
    write_csv("t.csv", "a,b,c d", [(x, 3, 0.1) for x in np.random.default_rng(0).normal(size=150)])
    done = mvset("fit", "t.csv", "--out", "m")
    assert done.exit_code == 0
    assert done.stderr == (
        "Note: Columns 'b', 'c d' are constant in the training rows. Volumes ignore constant columns, and any row in "
        "which one differs is flagged. To exclude: --exclude 'b,c d'.\n"
    )


@pytest.fixture
def plant(folder):
    """Pumps with flows of their own, and gaps."""
    rng = np.random.default_rng(0)
    pumps = rng.integers(3, size=300)
    rows = [
        (f"r{i}", f"P-0{pump}", 10 * pump + rng.normal(), "" if i % 20 == 3 else 5 + rng.normal())
        for i, pump in enumerate(pumps)
    ]
    write_csv("plant.csv", "id,pump,flow,pressure", rows)
    return rows


def test_text_is_a_category_unless_it_has_too_many_values(mvset, plant):
    done = mvset("fit", "plant.csv", "--missing", "drop", "--out", "m", "--json")
    assert done.exit_code == 0
    assert done.stderr == "Note: text with too many values for a category is left out of the fit: id.\n"
    assert json.loads(done.stdout)["columns"] == ["pump", "flow", "pressure"]
    assert json.loads(done.stdout)["categories"] == {"pump": ["P-00", "P-01", "P-02"]}


def test_text_with_too_many_values_cannot_be_named(refused, plant):
    assert refused("fit", "plant.csv", "--columns", "id,flow", "--out", "m").startswith("Column 'id' of plant.csv has ")
    assert "has no column 'pum'" in refused("fit", "plant.csv", "--categories", "pum", "--out", "m")


def test_missing_values_are_imputed_and_unseen_categories_named(mvset, plant, folder):
    assert mvset("fit", "plant.csv", "--missing", "impute", "--exclude", "id", "--out", "m").exit_code == 0
    rows = [("P-01", 10, 5), ("P-01", 10, ""), ("P-02", 10, 5), ("P-09", 10, 5), ("", "", "")]
    write_csv("today.csv", "pump,flow,pressure", rows)
    done = mvset("score", "m", "today.csv", "--out", "s.ndjson")
    assert done.exit_code == 0, done.stderr
    found = [json.loads(line) for line in (folder / "s.ndjson").read_text().splitlines()]
    assert [each["inside"] for each in found] == [True, True, False, False, None]
    notes = [None, "imputed: pressure", None, "unseen: pump = P-09", "missing: pump, flow, pressure"]
    assert [each["note"] for each in found] == notes
    assert "P-09" in done.stdout


def test_numbers_that_stand_for_categories(mvset, folder):
    """Written with decimals beside missing values, they are the same."""
    rng = np.random.default_rng(0)
    sites = rng.integers(1, 3, size=200)
    write_csv("t.csv", "site,x", [(site, 10 * site + rng.normal()) for site in sites])
    assert mvset("fit", "t.csv", "--categories", "site", "--out", "m").exit_code == 0
    write_csv("today.csv", "site,x", [("1.0", 10), ("2.0", 10), ("1.5", 10)])
    mvset("score", "m", "today.csv", "--out", "s.ndjson")
    found = [json.loads(line) for line in (folder / "s.ndjson").read_text().splitlines()]
    assert [each["inside"] for each in found] == [True, False, False]
    assert found[2]["note"] == "unseen: site = 1.5"


def test_amounts_of_money_are_no_categories(refused, folder):
    write_csv("t.csv", "price,x", [(f"${i % 5}.50", i % 7) for i in range(60)])
    assert refused("fit", "t.csv", "--out", "m") == (
        "Column 'price' of t.csv holds amounts such as '$0.50', which are not numbers: remove the sign, or exclude the "
        "column with --exclude price."
    )


def test_a_column_without_values_is_named(refused, folder):
    write_csv("t.csv", "x,y,spare", [(i % 7, i % 5, "") for i in range(60)])
    said = refused("fit", "t.csv", "--missing", "impute", "--out", "m")
    assert said == "There are no values in 'spare'. Exclude with --exclude spare."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "t.csv has no rows."),
        ([(1, 2), (3, 4)], "t.csv: too few rows to fit: 2. At least 3 are needed."),
        (
            [("", 2)] * 9,
            "t.csv: too few rows to fit: 9, 9 of them left out for missing values. At least 3 are needed.",
        ),
        ([(1, 2)] * 50, "All rows are identical: there is nothing to fit in 'a', 'b'."),
        ([(i * 1e200, i) for i in range(50)], UNUSABLE),
        ([(i * 1e-300, i) for i in range(9)], UNUSABLE),
    ],
)
def test_tables_that_cannot_be_fitted_are_refused(refused, folder, rows, said):
    write_csv("t.csv", "a,b", rows)
    assert refused("fit", "t.csv", "--missing", "drop", "--out", "m") == said


def test_a_column_without_a_name_is_refused(refused, mvset, folder):
    write_csv("frame.csv", ",flow", np.random.default_rng(0).normal(size=(150, 2)))
    assert refused("fit", "frame.csv", "--out", "m") == (
        "frame.csv has a column without a name. Name it, or exclude it: --exclude ''."
    )
    assert mvset("fit", "frame.csv", "--exclude", "", "--out", "m").exit_code == 0


def test_the_index_of_a_data_frame_is_left_out(mvset, folder):
    write_csv("frame.csv", ",flow", enumerate(np.random.default_rng(0).normal(size=150)))
    assert "left out of the fit: the column without a name." in mvset("fit", "frame.csv", "--out", "m").stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--columns", "flow,speed"), "--columns: normal.csv has no column 'speed'. It has 'id', 'flow', 'pressure'."),
        (("--exclude", "speed"), "--exclude: normal.csv has no column 'speed'. It has 'id', 'flow', 'pressure'."),
        (("--exclude", "id,flow,pressure"), "All columns of normal.csv are excluded. It has 'id', 'flow', 'pressure'."),
    ],
)
def test_unknown_column_names_are_refused(refused, options, said):
    assert refused("fit", "normal.csv", *options, "--out", "m") == said


def test_a_guarantee_that_needs_more_rows_is_refused(refused):
    assert refused(*FIT, "--mass", "0.999", "--calibration", "pac", "--out", "m").startswith(
        "400 rows are too few to guarantee --mass 0.999 with --calibration pac at 0.95 confidence: "
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(
            (
                ("--mass", wrong),
                f"strictly between 0 and 1, such as 0.95, or a percentage, such as 95 or 95%; got {wrong}.",
            )
            for wrong in ("0", "1", "100", "100%", "-5", "nan", "inf", "0,95", "most")
        ),
        (("--jobs", "0"), "must be a number of cores, or -1 for all; got 0."),
        (("--calibration", "magic"), "'magic' is not one of 'cross', 'conformal', 'pac'."),
        (("--max-rows", "1"), "Invalid value for '--max-rows'"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
    ],
)
def test_wrong_usage_is_reported_before_reading(refused, options, said):
    assert said in refused("fit", "not-there.csv", *options, code=2)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("deep/model.mvset", "deep: No such file or directory."),
        ("normal.csv/model.mvset", "normal.csv: Not a directory."),
        (".", ".: Is a directory."),
    ],
)
def test_an_output_that_cannot_be_written_is_named_before_fitting(refused, monkeypatch, out, said):
    monkeypatch.setattr("mvset.app.tables.fitting.fit_table", None)
    assert refused(*FIT, "--out", out) == said


def test_a_folder_without_permission_is_named(refused, monkeypatch, folder):
    monkeypatch.setattr("os.access", lambda *_: False)  # as root, all is allowed
    assert refused(*FIT, "--out", folder / "m") == f"{folder}: Permission denied."


def test_the_table_is_not_overwritten(refused):
    assert "normal.csv is an input file and would be overwritten. Choose another name." in refused(
        *FIT, "--out", "./normal.csv", code=2
    )


def test_ctrl_c_leaves_the_old_model(refused, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mvset.app.tables.fitting.fit_table", stop)
    assert refused(*FIT, "--out", "model.mvset", code=130) == "Stopped. Nothing was written."


def test_running_out_of_memory_is_reported(refused, monkeypatch):
    def starve(*_, **__):
        raise MemoryError

    monkeypatch.setattr("mvset.app.tables.fitting.fit_table", starve)
    assert refused(*FIT) == "There is not enough memory for this."


def test_help_describes_the_guarantees_truthfully(mvset):
    """Conformal coverage is marginal: it averages over the table as well as over the new row."""
    text = " ".join(mvset("fit", "--help").stdout.replace("│", " ").split())
    assert "for every new row" not in text
    assert "on average over random draws of the table and of the new row" in text
    assert "with 95 % confidence, the fitted set contains at least --mass" in text


# ---------------------------------------------------------------- large tables


@pytest.fixture
def large(folder, monkeypatch):
    """A table of which most rows train nothing: splits train on 100 rows each, of more than 300."""
    monkeypatch.setattr("mvset.calibration.splits._LARGE_TABLE", 300)
    monkeypatch.setattr("mvset.calibration.splits._TRAIN_ROWS", 100)
    values = np.random.default_rng(0).normal([40.0, 4.0], [2.0, 0.1], size=(5000, 2))
    data = pa.table({"flow": values[:, 0], "pressure": values[:, 1]})
    pa.parquet.write_table(data, "large.parquet", row_group_size=1000, compression="none", use_dictionary=False)
    return data


def test_all_rows_of_a_large_table_are_used(mvset, large):
    done = mvset("fit", "large.parquet", "--out", "m")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].split(None, 1) == ["rows", "5000 of 5000"]
    calibration = library.load("m").sets_.calibration
    assert calibration.guarantee.mode == "conformal"
    assert calibration.n_rows == 5000 - 1000


def test_some_thousand_rows_are_used_without_any_setting(mvset, folder):
    values = np.random.default_rng(0).normal(size=(4500, 2))
    pa.parquet.write_table(pa.table({"a": values[:, 0], "b": values[:, 1]}), "t.parquet")
    result = json.loads(mvset("fit", "t.parquet", "--out", "m", "--json").stdout)
    assert (result["rows"], result["rows_used"], result["rows_dropped"]) == (4500, 4500, 0)
    assert library.load("m").sets_.calibration.n_rows == 4500


def test_max_rows_samples_a_large_table(mvset, large):
    done = mvset("fit", "large.parquet", "--max-rows", "250", "--out", "m")
    assert done.stdout.splitlines()[0].split(None, 1) == ["rows", "250 of 5000, drawn at random"]
    assert library.load("m").sets_.calibration.n_rows == 250


def test_rows_left_out_of_a_large_table_are_counted_once(mvset, large):
    flow = large["flow"].to_numpy().copy()
    flow[::50] = np.nan
    pa.parquet.write_table(large.set_column(0, "flow", pa.array(flow)), "large.parquet")
    done = mvset("fit", "large.parquet", "--missing", "drop", "--out", "m")
    assert done.stdout.splitlines()[0].split(None, 1) == ["rows", "4900 of 5000, 100 left out for missing values"]


@pytest.mark.filterwarnings("default")
def test_a_constant_column_of_a_large_table_is_noted_once(mvset, large):
    pa.parquet.write_table(large.append_column("unit", pa.array(np.full(5000, 3.0))), "large.parquet")
    done = mvset("fit", "large.parquet", "--out", "m")
    assert done.exit_code == 0
    assert done.stderr.count("Note:") == 1
    assert done.stderr.startswith("Note: Column 'unit' is constant in the training rows.")


def test_how_a_large_table_is_cut_makes_no_difference(mvset, large):
    Path("parts").mkdir()
    for i, (start, stop) in enumerate(((0, 1), (1, 1), (1, 2222), (2222, 5000))):
        pa.parquet.write_table(large.slice(start, stop - start), f"parts/{i}.parquet")
    whole, parts = (
        json.loads(mvset("fit", name, "--out", "m", "--json").stdout) for name in ("large.parquet", "parts")
    )
    assert whole == parts


def test_a_table_that_is_damaged_half_way_is_refused(refused, large):
    content = bytearray(Path("large.parquet").read_bytes())
    place = pa.parquet.ParquetFile("large.parquet").metadata.row_group(3).column(0).data_page_offset
    content[place : place + 40] = b"\xff" * 40
    Path("large.parquet").write_bytes(content)
    said = refused("fit", "large.parquet", "--out", "m")
    assert said.startswith("large.parquet cannot be read: ")
    assert "Traceback" not in said
    assert "\n" not in said
    assert not Path("m").exists()


def test_text_that_ends_in_the_middle_is_refused(refused, large):
    pa.csv.write_csv(large, "large.csv")
    lines = Path("large.csv").read_text().splitlines()
    Path("large.csv").write_text("\n".join([*lines[:4000], "40.1"]) + "\n")
    said = refused("fit", "large.csv", "--out", "m")
    assert said.startswith("large.csv: row 4000 has 1 value instead of 2")
    assert not Path("m").exists()


def between_the_passes(monkeypatch, happens):
    """Let something happen when all rows have been read once."""
    from mvset.app.tables import fitting

    check = fitting.check_columns

    def checked(*arguments):
        check(*arguments)
        happens()

    monkeypatch.setattr(fitting, "check_columns", checked)


def test_a_table_that_vanishes_between_the_passes_is_named(mvset, large, monkeypatch):
    between_the_passes(monkeypatch, Path("large.parquet").unlink)
    done = mvset("fit", "large.parquet", "--out", "m")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == "large.parquet: No such file or directory.\n"
    assert not Path("m").exists()


def test_a_table_that_is_damaged_between_the_passes_is_named(mvset, large, monkeypatch):
    between_the_passes(monkeypatch, lambda: Path("large.parquet").write_bytes(b"PAR1 and no more"))
    before = Path("model.mvset").read_bytes()
    done = mvset("fit", "large.parquet", "--out", "model.mvset")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("large.parquet changed while it was read: ")
    assert done.stderr.count("\n") == 1
    assert Path("model.mvset").read_bytes() == before


def test_ctrl_c_between_the_passes_writes_nothing(mvset, large, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    between_the_passes(monkeypatch, stop)
    done = mvset("fit", "large.parquet", "--out", "m")
    assert done.exit_code == 130
    assert done.stderr == "Stopped. Nothing was written.\n"
    assert not Path("m").exists()


@pytest.mark.parametrize("scaling", ["standard", "whiten", "both"])
def test_the_scaling_can_be_given(mvset, folder, scaling):
    done = mvset(*FIT, "--scaling", scaling, "--out", "m")
    assert done.exit_code == 0
    shown = {"both": "standard and whiten"}.get(scaling, scaling)
    assert f"scaling   {shown}, nu " in done.stdout
    assert library.load("m").scaling_ == scaling
