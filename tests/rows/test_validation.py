from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.exceptions import NotFittedError

from mvset import MinimumVolumeSet, OneClassSVM, mass_volume_curve, symmetric_difference
from mvset.paper.datasets import two_moons
from mvset.rows.validation import checked_labels

NAMES = [f"n{i}" for i in range(120)]
X = two_moons(120, random_state=0)


def fit(X, **parameters):
    return MinimumVolumeSet(**{"sigma": 0.5, "splits": 2, "random_state": 0, **parameters}).fit(X)


def spoiled(value):
    Z = X.copy()
    Z[[3, 7], 1] = value
    return Z


# ---------------------------------------------------------------- refused, with advice


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_name_the_column(value):
    with pytest.raises(ValueError, match=r"NaN or infinity in column 1 \(2 of 120 rows\). Drop these rows, or impute"):
        fit(spoiled(value))
    with pytest.raises(ValueError, match=r"NaN or infinity in column 'load'"):
        fit(pd.DataFrame(spoiled(value), columns=["speed", "load"]))
    with pytest.raises(ValueError, match="NaN or infinity in column 1"):
        fit(X).predict(spoiled(value))


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (np.empty((0, 2)), "0 sample"),
        (X[:1], "1 sample"),
        (X[:2], r"2 rows leave 1 to train on"),
        (X[:, 0], "Reshape your data"),
        (np.ones((50, 3)), "All 50 rows of X are equal"),
        (np.array([["a", "b"]] * 20), "X holds text"),
        (
            pd.DataFrame({"speed": X[:, 0], "id": NAMES}),
            "'id' has 120 different values in 120 rows, such as 'n0': too many for a category",
        ),
        (pd.DataFrame({"speed": X[:, 0], "id": np.array(NAMES, dtype=object)}), "'id' has 120 different values"),
        (pl.DataFrame({"speed": X[:, 0], "id": NAMES}), "'id' has 120 different values"),
        (pd.DataFrame({"city": ["x", "y"] * 60}), "All columns of X are categories"),
        (pd.DataFrame({"speed": X[:, 0], "at": pd.date_range("2026-01-01", periods=120)}), "'at' of X is not numeric"),
    ],
    ids=[
        "empty",
        "one row",
        "two rows",
        "one dimension",
        "equal rows",
        "text",
        "pandas",
        "objects",
        "polars",
        "no numbers",
        "dates",
    ],
)
def test_tables_that_cannot_work(table, match):
    with pytest.raises(ValueError, match=match):
        fit(table)


def test_sparse_matrices():
    with pytest.raises(TypeError, match="dense"):
        fit(scipy.sparse.csr_matrix(X))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("mass", 0.0), ("mass", 1.0), ("mass", -1), ("mass", 95), ("mass", "0.9"),
        ("nu", 0.0), ("nu", 1.1), ("sigma", 0.0), ("sigma", -1.0), ("sigma", "wide"),
        ("splits", 0), ("splits", 2.5), ("time_order", "yes"), ("calibration", "magic"), ("calibration", "paper"),
        ("n_volume_points", 0), ("n_jobs", 1.5), ("scaling", "robust"),
    ],
)  # fmt: skip
def test_parameters_out_of_range(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of MinimumVolumeSet must be"):
        fit(X, **{parameter: value})


@pytest.mark.parametrize("sigma", [[], [0.1, -1.0], [0.1, np.nan], [[0.1, 0.2]], ["wide"]])
def test_bad_lists_of_bandwidths(sigma):
    with pytest.raises(ValueError, match="sigma must be 'auto', a positive number or a list"):
        fit(X, sigma=sigma)


@pytest.mark.parametrize("mass", [0, 1, 1.5, -0.1, np.nan, "half", [0.5]])
def test_bad_masses_in_methods(mass):
    model = fit(X)
    for method in (model.offset, model.volume, lambda m: model.predict(X, mass=m)):
        with pytest.raises(ValueError, match="mass must be a number strictly between 0 and 1"):
            method(mass)


def test_unfitted():
    for method in ("predict", "decision_function", "score_samples", "level"):
        with pytest.raises(NotFittedError):
            getattr(MinimumVolumeSet(), method)(X)
    for method in ("offset", "volume"):
        with pytest.raises(NotFittedError):
            getattr(MinimumVolumeSet(), method)(0.5)
    with pytest.raises(NotFittedError):
        OneClassSVM().predict(X)


def test_other_features_at_predict():
    with pytest.raises(ValueError, match="X has 3 features, but MinimumVolumeSet is expecting 2"):
        fit(X).predict(np.ones((4, 3)))
    model = fit(pd.DataFrame(X, columns=["speed", "load"]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["speed", "weight"]))


# ---------------------------------------------------------------- accepted


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, lambda Z: Z.tolist(), lambda Z: np.ascontiguousarray(Z[::-1])[::-1]],
    ids=["fortran", "list", "strided"],
)
def test_layouts_do_not_matter(convert):
    np.testing.assert_array_equal(fit(convert(X)).score_samples(convert(X)), fit(X).score_samples(X))


def test_float32_and_integers():
    single = X.astype(np.float32)
    np.testing.assert_array_equal(fit(single).score_samples(single), fit(single.astype(float)).score_samples(single))
    whole = np.round(10 * X).astype(int)
    np.testing.assert_array_equal(
        fit(whole, sigma=5.0).predict(whole), fit(whole.astype(float), sigma=5.0).predict(whole)
    )


def test_read_only_memory_map(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(fit(mapped).score_samples(mapped), fit(X).score_samples(X))


def test_input_is_not_changed():
    before = X.copy()
    fit(X).predict(X)
    np.testing.assert_array_equal(X, before)


def test_one_column():
    model = MinimumVolumeSet(random_state=0).fit(np.random.default_rng(0).normal(size=(500, 1)))
    assert model.volume_.value == pytest.approx(2 * 1.96, rel=0.1)


def test_many_duplicates():
    repeated = np.random.default_rng(0).permutation(np.tile(X[:60], (20, 1)))
    model = fit(repeated)
    assert np.isfinite(model.score_samples(repeated)).all()
    assert 0.9 < np.mean(model.predict(repeated) == 1) <= 1.0


def test_fewer_distinct_rows_than_a_block_of_ties():
    """Thousands of rows on a handful of values: the solver sees nothing but ties."""
    rows = np.random.RandomState(0).randint(3, size=(3000, 2)).astype(float)
    svm = OneClassSVM(nu=0.4, sigma=0.3).fit(rows)
    assert svm.dual_coef_.sum() == pytest.approx(0.4 * 3000, rel=1e-5)


def test_constant_column_warns_and_works():
    rows = np.column_stack([X[:, 0], np.ones(120), X[:, 1]])
    with pytest.warns(UserWarning, match="constant in column 1: volumes are measured across the other columns"):
        model = fit(rows)
    assert model.volume_.value == pytest.approx(fit(X).volume_.value, rel=0.1)
    np.testing.assert_array_equal(model.level(rows), fit(X).level(X))
    rows[:60, 1] += 0.001
    np.testing.assert_array_equal(model.predict(rows)[:60], -1)
    np.testing.assert_array_equal(model.level(rows)[:60], 1.0)
    np.testing.assert_array_equal(model.level(rows)[60:], fit(X).level(X)[60:])


def test_wild_scales_warn():
    with pytest.warns(UserWarning, match=r"factor of .* \(columns 'mm', 'km'\).*StandardScaler"):
        fit(pd.DataFrame({"km": X[:, 0], "mm": 1e6 * X[:, 1]}), sigma=5e5, scaling=None)


@pytest.mark.parametrize("scaling", ["standard", "whiten"])
def test_in_a_metric_wild_scales_are_none(scaling):
    plain, wild = (fit(X * [1.0, unit], scaling=scaling, sigma=0.5) for unit in (1.0, 1e6))
    np.testing.assert_allclose(wild.score_samples(X * [1.0, 1e6]), plain.score_samples(X), rtol=1e-3)


@pytest.mark.filterwarnings("ignore::mvset.exceptions.BandwidthEdgeWarning")
def test_far_from_the_origin_with_many_columns():
    rows = np.random.default_rng(0).normal(size=(300, 20))
    near, far = (
        MinimumVolumeSet(sigma=[4.0, 6.0, 8.0, 10.0], splits=2, random_state=0).fit(rows + shift)
        for shift in (0.0, 1e8)
    )
    for curve, other in zip(near.curves_, far.curves_, strict=True):
        assert other.mean_log_volume == pytest.approx(curve.mean_log_volume, abs=0.1)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_scales_beyond_float64(scale):
    with pytest.raises(ValueError, match="escale them"), np.errstate(all="ignore"):
        MinimumVolumeSet(random_state=0).fit(scale * X)


def test_numbers_as_objects_and_nullable_columns():
    table = pd.DataFrame({"a": X[:, 0].astype(object), "b": pd.array(X[:, 1], dtype="Float64")})
    np.testing.assert_array_equal(fit(table).score_samples(table), fit(X).score_samples(X))


@pytest.mark.parametrize("calibration", ["cross", "conformal", "pac"])
def test_atoms_on_the_border_are_inside(calibration):
    """Of values with masses 0.5, 0.3, 0.12, 0.08 the set of mass 0.95 must hold all: rounding must not decide."""
    rows = np.random.default_rng(0).choice([0.0, 1, 2, 5], p=[0.5, 0.3, 0.12, 0.08], size=(3000, 1))
    for sigma in (0.3, 0.5, 0.7):
        assert (fit(rows, sigma=sigma, calibration=calibration).predict(rows) == 1).all()


@pytest.mark.parametrize("scaling", [None, "auto", "standard", "whiten"])
def test_one_far_outlier_does_not_make_the_bandwidth_global(scaling):
    """The box around all rows is hardly hit: importance sampling takes over, and measures the volume all the same."""
    model = MinimumVolumeSet(scaling=scaling, random_state=0).fit(np.vstack([X, [[1000.0, 1000.0]]]))
    assert model.selection_.volume_method == "importance"
    assert model.selection_.effective_sample_size > 400
    assert model.volume_.log_value == pytest.approx(fit(X, sigma=0.5).volume_.log_value, abs=0.35)
    assert np.mean(model.predict(two_moons(5000, random_state=1)) == 1) == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("where", [1e4, 1e5, 1e6])
def test_a_very_far_outlier_leaves_the_bandwidth_alone(where):
    """Very wide bandwidths, for which all rows but one are the same point, do not compete."""
    rows = two_moons(500, random_state=0)
    rows[0] = where
    assert MinimumVolumeSet(random_state=0).fit(rows).sigma_ < 1.0


def test_far_from_the_origin():
    np.testing.assert_allclose(fit(X + 1e7).score_samples(X + 1e7), fit(X).score_samples(X), rtol=1e-4)


def test_empty_batch_at_predict():
    with pytest.raises(ValueError, match="0 sample"):
        fit(X).predict(np.empty((0, 2)))


def test_masked_values_are_refused_by_column_and_a_mask_without_any_is_fine():
    X = np.ma.masked_array(two_moons(100, random_state=0), mask=False)
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(X)
    X[3, 1] = np.ma.masked
    for call in (MinimumVolumeSet(sigma=0.5).fit, model.predict):
        with pytest.raises(ValueError, match=r"masked array with masked values in column 1\. Drop"):
            call(X)


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_dates_are_no_numbers(kind):
    with pytest.raises(ValueError, match=r"dates or durations \(dtype .*64\[s\]\), not numbers"):
        MinimumVolumeSet(sigma=0.5).fit(np.arange(20).astype(kind).reshape(10, 2))


def test_assume_finite_skips_the_check():
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(two_moons(100, random_state=0))
    with config_context(assume_finite=True):
        assert model.predict([[np.inf, 0.0]]) == [-1]
    with pytest.raises(ValueError, match="NaN or infinity in column 0"):
        model.predict([[np.inf, 0.0]])


MOMENT = np.datetime64("2026-01-01")
DATES = {
    "array": np.full((10, 2), MOMENT),
    "list of lists": [[MOMENT, MOMENT]] * 10,
    "objects": np.array([[MOMENT, 1.0]] * 10, dtype=object),
    "datetimes": np.array([[datetime(2026, 1, 1), 1.0]] * 10, dtype=object),
    "pandas": pd.DataFrame({"at": pd.date_range("2026-01-01", periods=10), "x": 1.0}),
    "pandas objects": pd.DataFrame({"at": pd.Series([datetime(2026, 1, 1)] * 10, dtype=object), "x": 1.0}),
    "polars": pl.DataFrame({"at": [datetime(2026, 1, 1)] * 10, "x": [1.0] * 10}),
    "pyarrow": pa.table({"at": pa.array([datetime(2026, 1, 1)] * 10), "x": [1.0] * 10}),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_refused_wherever_rows_enter(name):
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(two_moons(100, random_state=0))
    for call in (
        MinimumVolumeSet(sigma=0.5).fit,
        model.predict,
        lambda rows: mass_volume_curve(model, rows),
        lambda rows: symmetric_difference(model, model, rows),
    ):
        with pytest.raises(ValueError, match=r"dates"):
            call(DATES[name])


def test_masks_are_refused_wherever_rows_enter():
    X = np.ma.masked_array(two_moons(100, random_state=0), mask=False)
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(X)
    X[3, 1] = np.ma.masked
    calls = {
        "curve": lambda: mass_volume_curve(model, X),
        "difference": lambda: symmetric_difference(model, model, X),
        "list": lambda: model.predict(list(X)),
        "strata": lambda: checked_labels(X[:, 1], 100, "strata"),
        "weights": lambda: OneClassSVM().fit(X.data, sample_weight=np.ma.masked_less(np.arange(100.0), 3)),
    }
    for call in calls.values():
        with pytest.raises(ValueError, match="masked"):
            call()


# ---------------------------------------------------------------- labels of rows


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([1, 2, 1], ["1", "2", "1"]),
        (np.array([1.0, 2.0, 1.5]), ["1", "2", "1.5"]),
        (np.array([1, 2, 1], dtype=object), ["1", "2", "1"]),
        (np.array([1.0, 2.0, 1.0], dtype=np.float32), ["1", "2", "1"]),
        (["a", " b", "c d\t"], ["a", "b", "c d"]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"]),
        (pd.Series([1, 2, 1], dtype="Int64"), ["1", "2", "1"]),
        (pl.Series(["a", "b", "a"]), ["a", "b", "a"]),
        ([True, False, True], ["True", "False", "True"]),
        ([2**60 + 1, 0, 1], ["1152921504606846977", "0", "1"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_are_text(labels, text):
    found = checked_labels(labels, 3, "strata")
    assert found.dtype == object
    assert found.tolist() == text


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b"],
        [1.0, np.nan, 2.0],
        ["a", np.nan, "b"],
        ["a", "", "b"],
        ["a", " \t", "b"],
        np.array(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([datetime(2026, 1, 1), None, datetime(2026, 1, 2)]),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'dtype', '')}",
)
def test_missing_labels_are_refused(labels):
    with pytest.raises(ValueError, match=r"strata has no label for 1 row, row 1\. Drop rows without"):
        checked_labels(labels, 3, "strata")


@pytest.mark.parametrize("labels", [[1, 2], [[1], [2], [3]], 5, []])
def test_there_is_one_label_per_row(labels):
    with pytest.raises(ValueError, match=r"groups has shape \(.*\), and X has 3 rows: give one label per row"):
        checked_labels(labels, 3, "groups")
