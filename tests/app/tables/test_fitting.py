import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from mvset import MinimumVolumeSet
from mvset.app.tables import formats
from mvset.app.tables.columns import ColumnRoles
from mvset.app.tables.errors import TableError
from mvset.app.tables.fitting import fit_table
from mvset.app.tables.sources import table_files
from mvset.rows.sample import RowSample


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).normal([40.0, 4.0], [2.0, 0.1], size=(300, 2))
    pa.parquet.write_table(pa.table({"flow": rows[:, 0], "pressure": rows[:, 1]}), tmp_path / "t.parquet")
    return rows, table_files([str(tmp_path)])


def estimator():
    return MinimumVolumeSet(sigma=0.8, scaling="standard", random_state=0)


def test_the_model_is_that_of_the_same_rows_in_python(table):
    rows, files = table
    fitted = fit_table(files, estimator(), max_rows=1000, seed=0)
    expected = estimator().fit(rows)
    frame = pd.DataFrame(rows, columns=["flow", "pressure"])
    np.testing.assert_array_equal(fitted.model.score_samples(frame), expected.score_samples(rows))
    assert fitted.columns == list(fitted.model.feature_names_in_) == ["flow", "pressure"]
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (300, 300, 0)


def test_a_sample_does_not_depend_on_batches(table, monkeypatch):
    rows, files = table
    sample = RowSample(100, seed=3)
    sample.add(rows)
    expected = estimator().fit(sample.rows()).support_vectors_
    for size in (1000, 7):
        monkeypatch.setattr(formats, "_BATCH", size)
        fitted = fit_table(files, estimator(), max_rows=100, seed=3)
        assert (fitted.n_rows, fitted.n_used) == (300, 100)
        np.testing.assert_array_equal(fitted.model.support_vectors_, expected)


def test_reading_and_fitting_are_reported(table):
    _, files = table
    steps = []
    fit_table(
        files,
        MinimumVolumeSet(sigma=[0.6, 0.8], random_state=0),
        max_rows=1000,
        seed=0,
        on_progress=lambda *step: steps.append(step),
    )
    assert [step[1] for step in steps if step[0] == "reading"][-1] == 1.0
    assert steps[-2:] == [("fitting", 1, 2), ("fitting", 2, 2)]  # as each begins


# ---------------------------------------------------------------- all rows, in batches


def readings(n, seed=0):
    return np.random.default_rng(seed).normal([40.0, 4.0], [2.0, 0.1], size=(n, 2))


def in_files(rows, folder, cuts=(), names=("flow", "pressure")):
    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.split(rows, cuts)):
        data = pa.table(dict(zip(names, part.T, strict=True)))
        pa.parquet.write_table(data, folder / f"{i:03d}.parquet", row_group_size=400)
    return table_files([str(folder)])


def limited(mass=0.9, **settings):
    """Of 1000 rows and more most train nothing."""
    options = {"sigma": 1.0, "scaling": "standard", "splits": 5, "max_train_samples": 100, "random_state": 0}
    return MinimumVolumeSet(mass, n_volume_points=1000, **{**options, **settings})


def assert_same(fitted, expected, rows):
    frame = pd.DataFrame(rows[:100], columns=fitted.columns)
    np.testing.assert_array_equal(fitted.model.score_samples(frame), expected.score_samples(rows[:100]))
    assert fitted.model.sets_ == expected.sets_
    assert fitted.model.offset_ == expected.offset_


@pytest.fixture
def opened(monkeypatch):
    """Names of the files whose rows are read, in order."""
    found, batches = [], formats.TableFile.batches

    def recorded(file, wanted):
        found.append(file.path.name)
        return batches(file, wanted)

    monkeypatch.setattr(formats.TableFile, "batches", recorded)
    return found


@pytest.mark.parametrize("n", [999, 1000])
@pytest.mark.parametrize("cuts", [(), (1, 200), (0, 250, 250)], ids=["one file", "three files", "empty files"])
def test_all_rows_give_the_model_of_an_array(n, cuts, tmp_path, monkeypatch):
    rows = readings(n)
    expected = limited().fit(rows)
    files = in_files(rows, tmp_path / "t", cuts)
    for size in (10_000, 77):
        monkeypatch.setattr(formats, "_BATCH", size)
        fitted = fit_table(files, limited(), seed=0)
        assert_same(fitted, expected, rows)
        assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (n, n, 0)
        assert fitted.columns == list(fitted.model.feature_names_in_) == ["flow", "pressure"]
        assert fitted.model.strata_column_ is None


def test_all_formats_give_the_model_of_an_array(tmp_path):
    rows = readings(1200)
    frame = pd.DataFrame(rows, columns=["flow", "pressure"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.csv.gz", index=False, sep=";")
    frame.to_feather(tmp_path / "c.feather")
    frame.to_json(tmp_path / "d.ndjson", orient="records", lines=True, double_precision=15)
    expected = limited().fit(rows)
    for name in ("a.csv", "b.csv.gz", "c.feather", "d.ndjson"):
        fitted = fit_table(table_files([str(tmp_path / name)]), limited(), seed=0)
        assert fitted.n_used == 1200
        np.testing.assert_allclose(fitted.model.sets_.calibration.scores, expected.sets_.calibration.scores)


@pytest.mark.parametrize(("n", "passes"), [(300, 1), (999, 1), (1000, 2), (2500, 2)])
def test_only_large_tables_are_read_twice(n, passes, tmp_path, opened):
    fit_table(in_files(readings(n), tmp_path / "t", [120]), limited(), seed=0)
    assert opened == ["000.parquet"] + ["000.parquet", "001.parquet"] * passes  # the first rows show identifiers


@pytest.mark.parametrize("roles", [{"time": "time"}, {"group": "time"}, {"strata": "time"}], ids=str)
def test_a_table_whose_rows_have_roles_is_read_once(roles, tmp_path, opened):
    rows = np.column_stack([readings(1500), np.repeat(np.arange(50.0), 30)])
    files = in_files(rows, tmp_path / "t", names=("flow", "pressure", "time"))
    fitted = fit_table(files, limited(), ColumnRoles(**roles), seed=0)
    assert opened == ["000.parquet"] * 2  # the first rows show identifiers
    assert fitted.columns == ["flow", "pressure"]
    assert fitted.n_used == 1500


def test_a_sample_of_a_large_table_is_read_once(tmp_path, opened):
    fitted = fit_table(in_files(readings(2500), tmp_path / "t"), limited(), max_rows=1200, seed=3)
    assert opened == ["000.parquet"] * 2  # the first rows show identifiers
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (2500, 1200, 0)
    sample = RowSample(1200, seed=3)
    sample.add(readings(2500))
    assert_same(fitted, limited().fit(sample.rows()), readings(100))


@pytest.mark.parametrize("n", [600, 2500])
def test_rows_left_out_are_counted_once(n, tmp_path):
    rows = readings(n)
    rows[::10, 0], rows[5::100, 1] = np.nan, np.inf
    complete = rows[np.isfinite(rows).all(axis=1)]
    fitted = fit_table(in_files(rows, tmp_path / "t", [111]), limited(), missing="drop", seed=0)
    n_dropped = n // 10 + n // 100
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (n, n - n_dropped, n_dropped)
    assert_same(fitted, limited().fit(complete), complete)


def test_files_without_a_complete_row_are_passed_over(tmp_path):
    rows = readings(1500)
    rows[:200] = np.nan
    fitted = fit_table(in_files(rows, tmp_path / "t", [200]), limited(), missing="drop", seed=0)
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (1500, 1300, 200)
    assert_same(fitted, limited().fit(rows[200:]), rows[200:])


@pytest.mark.parametrize("n", [600, 2500])
def test_missing_values_are_refused_at_the_first_pass(n, tmp_path, opened):
    rows = readings(n)
    rows[n - 1, 1] = np.nan
    with pytest.raises(TableError, match=r"001\.parquet: missing or infinite values in 'pressure' \(1\)"):
        fit_table(in_files(rows, tmp_path / "t", [100]), limited(), seed=0)
    assert opened == ["000.parquet", "000.parquet", "001.parquet"]


@pytest.mark.parametrize("n", [0, 2])
def test_too_few_rows_are_counted(n, tmp_path):
    with pytest.raises(TableError, match=rf"000\.parquet: too few rows to fit: {n}\. At least 3 are needed\."):
        fit_table(in_files(readings(n), tmp_path / "t", [1]), limited(), seed=0)


@pytest.mark.parametrize("n", [600, 2500])
def test_misleading_columns_are_named_once(n, tmp_path):
    rows = np.column_stack([readings(n), np.full(n, 7.0), 0.5 * np.arange(n)])
    files = in_files(rows, tmp_path / "t", [130], names=("flow", "pressure", "unit", "row"))
    with warnings.catch_warnings(record=True) as caught:  # the estimator has warnings of its own
        warnings.simplefilter("always")
        fit_table(files, limited(), seed=0)
    about = [str(each.message).partition(". ")[0] for each in caught if "To exclude" in str(each.message)]
    assert about == [
        "Column 'unit' is constant in the training rows",
        "Column 'row' is increasing from row to row, like a row number or a time stamp",
    ]


@pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")  # of the rows that train
@pytest.mark.parametrize("value", [7.0, 8.0])
def test_whether_a_column_is_constant_all_rows_tell(value, tmp_path):
    rows = np.column_stack([readings(1500), np.full(1500, 7.0)])
    rows[1499, 2] = value
    files = in_files(rows, tmp_path / "t", names=("flow", "pressure", "unit"))
    if value == 7.0:
        with pytest.warns(UserWarning, match=r"^Column 'unit' is constant in the training rows\."):
            fitted = fit_table(files, limited(), seed=0)
    else:
        fitted = fit_table(files, limited(), seed=0)
    assert list(fitted.model.sets_.constants.indices) == ([2] if value == 7.0 else [])


def test_values_too_large_are_found_in_all_rows(tmp_path):
    rows = readings(1500)
    rows[1499, 1] = 1e200
    with pytest.raises(TableError, match=r"^'pressure': values too large or too small"):
        fit_table(in_files(rows, tmp_path / "t"), limited(), seed=0)


@pytest.mark.parametrize(("n", "is_read_again"), [(600, False), (2500, True)])
def test_both_passes_are_reported_to_the_end(n, is_read_again, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 100)
    steps = []
    fit_table(
        in_files(readings(n), tmp_path / "t", [100, 450]),
        limited(sigma=[0.8, 1.0]),
        seed=0,
        on_progress=lambda doing, done, total: steps.append((doing, done / total)),
    )
    assert list(dict.fromkeys(step for step, _ in steps)) == ["reading", "fitting", *["calibrating"] * is_read_again]
    for step in ("reading", "calibrating")[: 1 + is_read_again]:
        shares = [share for each, share in steps if each == step]
        assert len(shares) > 3
        assert (np.diff(shares) > 0).all()
        assert shares[-1] == pytest.approx(1.0)


def test_an_order_asked_for_before_is_forgotten(tmp_path):
    fitted = fit_table(in_files(readings(300), tmp_path / "t"), limited(time_order=True), seed=0)
    assert fitted.model.time_order is False


def test_rows_without_any_value_are_left_out_with_their_labels(tmp_path):
    rows = readings(300)
    rows[::10, 0] = np.nan
    rows[[4, 5]] = np.nan
    rows[6, 1] = np.inf
    line = np.repeat(["a", "b"], 150)
    columns = {"flow": pa.array(rows[:, 0], from_pandas=True), "pressure": pa.array(rows[:, 1], from_pandas=True)}
    pa.parquet.write_table(pa.table({**columns, "line": line}), tmp_path / "t.parquet")
    files = table_files([str(tmp_path)])
    fitted = fit_table(files, estimator(), ColumnRoles(strata="line"), missing="impute", seed=0)
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (300, 297, 3)
    kept = np.delete(np.arange(300), [4, 5, 6])
    expected = estimator().set_params(missing="impute").fit(rows[kept], strata=line[kept])
    assert fitted.model.sets_.strata == expected.sets_.strata
