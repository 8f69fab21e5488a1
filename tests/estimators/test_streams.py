"""Tables that are read in batches give the model of an array of the same rows."""

import gc
import tempfile
import warnings
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from mvset import MinimumVolumeSet
from mvset.calibration import calibration as calibrations
from mvset.calibration.calibration import Calibration
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.score_summary import ScoreSummary
from mvset.calibration.splits import RandomSplitting
from mvset.calibration.streamed_scores import StreamedScores
from mvset.exceptions import ConstantColumnWarning, DependenceWarning, TooFewRowsError

# SpooledRows leaves it to the garbage collector to close its file; `test_the_temporary_file_is_closed` tells.

N_SPLITS, MAX_TRAIN = 5, 100
TRAINED = N_SPLITS * MAX_TRAIN
SMALL, LARGE = 2 * TRAINED - 1, 1500  # rows; from 1000 on most of them train nothing
SETTINGS = {
    "sigma": 1.0,
    "splits": N_SPLITS,
    "max_train_samples": MAX_TRAIN,
    "n_volume_points": 1000,
    "random_state": 0,
}
NAMES = ("flow", "pressure", "speed")


@pytest.fixture(scope="module", autouse=True)
def no_file_is_left_to_the_tests_that_follow():
    yield
    gc.collect()


def normal(n, seed=0, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def estimator(mass=0.9, **settings):
    return MinimumVolumeSet(mass, **{**SETTINGS, **settings})


def table(rows):
    return pa.table(dict(zip(NAMES, rows.T, strict=False)))


class Stream:
    """An object that gives an Arrow stream and nothing else."""

    def __init__(self, rows, size=None):
        self.table, self.size = table(rows) if isinstance(rows, np.ndarray) else rows, size

    def __arrow_c_stream__(self, requested_schema=None):
        return reader(self.table, self.size).__arrow_c_stream__(requested_schema)


def reader(rows, size=None):
    data = table(rows) if isinstance(rows, np.ndarray) else rows
    return pa.RecordBatchReader.from_batches(data.schema, data.to_batches(size))


class Table:
    """A table in batches that counts how often it is read, and may fail at some row of some pass."""

    def __init__(self, rows, size=100, fails_in=0):
        self.names = list(NAMES[: rows.shape[1]])
        self.rows, self.size, self.fails_in, self.passes = rows, size, fails_in, 0

    def batches(self):
        self.passes += 1
        for start in range(0, len(self.rows), self.size):
            if self.passes == self.fails_in and start >= len(self.rows) // 2:
                raise RuntimeError("the tap is closed")
            yield self.rows[start : start + self.size]


def in_files(rows, folder, cuts):
    for i, part in enumerate(np.split(rows, cuts)):
        pa.parquet.write_table(table(part), folder / f"{i:03d}.parquet")
    return pa.dataset.dataset(folder)


def memory_map(rows, folder, dtype=np.float64, order="C"):
    np.save(folder / "rows.npy", np.asarray(rows, dtype=dtype, order=order))
    return np.load(folder / "rows.npy", mmap_mode="r")


def assert_same(model, expected):
    fresh = normal(100, seed=9, d=expected.n_features_in_)
    np.testing.assert_array_equal(model.sets_.function(fresh), expected.sets_.function(fresh))
    np.testing.assert_array_equal(model.support_vectors_, expected.support_vectors_)
    assert model.offset_ == expected.offset_
    assert model.sigma_ == expected.sigma_
    assert model.sets_.calibration == expected.sets_.calibration
    assert model.sets_ == expected.sets_
    assert model.n_features_in_ == expected.n_features_in_


# ---------------------------------------------------------------- the same model


@pytest.mark.parametrize("n", [50, SMALL, 2 * TRAINED, LARGE])
@pytest.mark.parametrize("cuts", [(), (1, 2, 333), (0, 400, 400)], ids=["one file", "four files", "empty files"])
def test_a_dataset(n, cuts, tmp_path):
    rows = normal(n)
    model = estimator().fit(in_files(rows, tmp_path, [min(cut, n) for cut in cuts]))
    assert_same(model, estimator().fit(rows))
    assert list(model.feature_names_in_) == ["flow", "pressure"]


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("kind", [reader, Stream])
@pytest.mark.parametrize("size", [1, 97, None])
def test_an_arrow_stream_in_chunks_of_any_size(n, kind, size):
    rows = normal(n)
    model = estimator().fit(kind(rows, size))
    assert_same(model, estimator().fit(rows))
    assert list(model.feature_names_in_) == ["flow", "pressure"]


@pytest.mark.parametrize("kind", [{}, {"dtype": np.float32}, {"order": "F"}], ids=str)
def test_a_memory_map(kind, tmp_path):
    rows = normal(LARGE).astype(np.float32).astype(float)
    model = estimator().fit(memory_map(rows, tmp_path, **kind))
    assert_same(model, estimator().fit(rows))
    assert not hasattr(model, "feature_names_in_")


def test_a_query_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    rows = normal(LARGE)
    data = table(rows)
    query = duckdb.connect().register("readings", data).sql("SELECT * FROM readings")
    assert_same(estimator().fit(query), estimator().fit(rows))


def test_a_query_of_polars():
    polars = pytest.importorskip("polars")
    rows = normal(LARGE)
    lazy = polars.DataFrame(rows, schema=["flow", "pressure"]).lazy().filter(polars.col("flow") > -1)
    model = estimator().fit(Stream(lazy.collect().to_arrow(), 111))
    assert_same(model, estimator().fit(rows[rows[:, 0] > -1]))


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize(
    "settings",
    [
        {"calibration": "conformal"},
        {"calibration": "pac"},
        {"scaling": "standard"},
        {"scaling": "whiten", "random_state": 7},
        {"splits": np.int64(3)},
        {"splits": 1},
        {"max_train_samples": None, "splits": 2},
        {"time_order": True},
        {"splits": KFold(3)},
        {"splits": KFold(3, shuffle=True), "calibration": "conformal"},
        {"n_jobs": 2},
        {"sigma": [0.7, 1.0]},
    ],
    ids=str,
)
def test_every_setting(n, settings):
    rows = normal(n)
    assert_same(estimator(**settings).fit(Table(rows, 130)), estimator(**settings).fit(rows))


@pytest.mark.parametrize("calibration", ["cross", "conformal"])
def test_groups_and_sites(calibration):
    rows, labels = normal(LARGE), np.arange(LARGE) // 50
    for labelled in ({"groups": labels}, {"strata": labels % 3}):
        model = estimator(calibration=calibration).fit(Stream(rows, 130), **labelled)
        assert_same(model, estimator(calibration=calibration).fit(rows, **labelled))
    assert model.sets_.strata is not None


def test_labels_for_another_number_of_rows_are_refused():
    with pytest.raises(ValueError, match=r"groups has shape \(7,\), and X has 1500 rows"):
        estimator().fit(Stream(normal(LARGE)), groups=np.zeros(7))


@pytest.mark.parametrize("n", [600, 2500])
def test_everything_automatic(n, monkeypatch):
    """Tables of more than 300 rows are large, and each of ten splits trains on 100."""
    monkeypatch.setattr("mvset.calibration.splits._LARGE_TABLE", 300)
    monkeypatch.setattr("mvset.calibration.splits._TRAIN_ROWS", 100)
    rows = normal(n) * [1.0, 50.0]
    expected = MinimumVolumeSet(random_state=0).fit(rows)
    assert expected.sets_.guarantee.mode == ("cross" if n == 600 else "conformal")
    assert_same(MinimumVolumeSet(random_state=0).fit(Table(rows)), expected)


@pytest.mark.filterwarnings("ignore::mvset.exceptions.BandwidthWarning")
@pytest.mark.parametrize(("n", "limit"), [(300, 10), (1200, 50)])
def test_automatic_splits_with_few_training_rows(n, limit):
    settings, rows = {"splits": "auto", "max_train_samples": limit}, normal(n)
    assert_same(estimator(**settings).fit(Table(rows)), estimator(**settings).fit(rows))


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_the_random_numbers_that_follow_are_the_same(n):
    used, expected = np.random.RandomState(3), np.random.RandomState(3)
    assert_same(estimator(random_state=used).fit(Table(normal(n))), estimator(random_state=expected).fit(normal(n)))
    assert used.randint(10**9) == expected.randint(10**9)


def test_the_seed_decides():
    rows = normal(LARGE)
    first, other = (estimator(random_state=seed).fit(Table(rows)) for seed in (0, 1))
    assert first.sets_.calibration != other.sets_.calibration


@pytest.mark.parametrize(
    ("n", "settings", "passes"),
    [
        (SMALL, {}, 1),
        (2 * TRAINED, {}, 2),
        (LARGE, {"calibration": "pac"}, 2),
        (LARGE, {"time_order": True}, 1),
        (LARGE, {"max_train_samples": None, "splits": 2}, 1),
        (LARGE, {"splits": KFold(3)}, 1),
    ],
)
def test_how_often_a_table_is_read(n, settings, passes):
    data = Table(normal(n))
    estimator(**settings).fit(data)
    assert data.passes == passes


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_a_later_table_is_checked_by_its_names(n):
    model = estimator().fit(Stream(normal(n)))
    frame = pd.DataFrame(normal(50, 1), columns=["flow", "pressure"])
    np.testing.assert_array_equal(model.predict(frame), estimator().fit(normal(n)).predict(frame.to_numpy()))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match=r"feature names should match(.|\n)*speed"):
        model.predict(frame.rename(columns={"flow": "speed"}))


def test_the_names_of_an_earlier_stream_are_forgotten():
    model = estimator().fit(Stream(normal(SMALL)))
    assert not hasattr(model.fit(normal(SMALL)), "feature_names_in_")


# ---------------------------------------------------------------- what cannot be fitted


def test_columns_named_as_categories_are_refused_not_ignored():
    rows = normal(SMALL)
    for data in (pa.dataset.dataset(table(rows)), Table(rows), Stream(rows)):
        with pytest.raises(ValueError, match="categorical_features names columns, but rows of a stream"):
            estimator(categorical_features=[1]).fit(data)
        estimator(categorical_features=None).fit(data)


def streams(data, folder):
    pa.parquet.write_table(data, folder / "t.parquet")
    return pa.dataset.dataset(folder / "t.parquet"), reader(data, 100), Stream(data, 100)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array(["P-07"] * 600), r"Column 'odd' of X is not numeric, but text"),
        (pa.array([0] * 600, pa.date32()), r"Column 'odd' of X is not numeric, but dates"),
        (pa.array([0] * 600, pa.timestamp("s")), r"Column 'odd' of X is not numeric, but dates"),
        (pa.array([1, None] * 300), r"NaN or infinity in column 'odd'"),
        (pa.nulls(600), r"NaN or infinity in column 'odd'"),
        (pa.array([0.0] * 599 + [np.inf]), r"NaN or infinity in column 'odd' \(1 of rows \d+ to 599\)"),
        (pa.array([0.0] * 599 + [-np.inf]), r"NaN or infinity in column 'odd' \(1 of rows \d+ to 599\)"),
        (pa.array([0.0] * 599 + [np.nan]), r"NaN or infinity in column 'odd' \(1 of rows \d+ to 599\)"),
    ],
)
def test_the_column_at_fault_is_named(column, said, tmp_path):
    for data in streams(table(normal(600)).append_column("odd", column), tmp_path):
        model = estimator()
        with pytest.raises(ValueError, match=said):
            model.fit(data)
        with pytest.raises(NotFittedError):
            model.predict(normal(3, d=3))


@pytest.mark.parametrize("settings", [{"time_order": True}, {"max_train_samples": None}], ids=str)
def test_the_column_at_fault_is_named_if_all_rows_are_read_at_once(settings):
    rows = normal(600)
    rows[17, 1] = np.nan
    with pytest.raises(ValueError, match="in column 'pressure'"):
        estimator(**settings).fit(Table(rows))


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_rows(n, tmp_path):
    for data in (*streams(table(normal(n)), tmp_path), Table(normal(n))):
        with pytest.raises(ValueError, match=rf"Found array with {n} sample\(s\) while a minimum of 2 is required"):
            estimator().fit(data)


@pytest.mark.parametrize("settings", [{"time_order": True}, {"max_train_samples": None}], ids=str)
def test_no_rows_if_all_are_read_at_once(settings):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        estimator(**settings).fit(Table(normal(0)))


def test_equal_rows_are_refused():
    for n in (SMALL, LARGE):
        with pytest.raises(ValueError, match="rows of X are equal"):
            estimator().fit(Stream(np.ones((n, 2))))


@pytest.mark.parametrize(("n", "fails_in"), [(SMALL, 1), (LARGE, 1), (LARGE, 2)])
def test_a_table_that_fails_half_way_says_why(n, fails_in):
    model = estimator()
    with pytest.raises(RuntimeError, match="the tap is closed"):
        model.fit(Table(normal(n), fails_in=fails_in))
    with pytest.raises(NotFittedError):
        model.predict(normal(3))


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_an_arrow_stream_that_fails_half_way_says_why_and_leaves_no_file(n, monkeypatch, tmp_path):
    def batches():
        yield from table(normal(n)).to_batches(100)
        raise RuntimeError("the tap is closed")

    files, opened = [], tempfile.TemporaryFile

    def recorded(*arguments, **options):
        file = opened(*arguments, **options)
        files.append(weakref.ref(file))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", recorded)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model, schema = estimator(), table(normal(1)).schema
    # Arrow passes the sentence on, not the type.
    with pytest.raises((pa.ArrowException, RuntimeError), match="the tap is closed"):
        model.fit(pa.RecordBatchReader.from_batches(schema, batches()))
    with pytest.raises(NotFittedError):
        model.predict(normal(3))
    gc.collect()
    assert len(files) == 1
    assert files[0]() is None or files[0]().closed
    assert list(tmp_path.iterdir()) == []


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = estimator().fit(Stream(normal(LARGE)))
    before = model.sets_
    with pytest.raises(RuntimeError, match="the tap is closed"):
        model.fit(Table(normal(LARGE, 1), fails_in=1))
    assert model.sets_ is before
    assert list(model.feature_names_in_) == ["flow", "pressure"]


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_the_temporary_file_is_closed(n):
    gc.collect()  # of other tests
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator().fit(Stream(normal(n)))
        gc.collect()
    assert [str(each.message) for each in caught] == []


# ---------------------------------------------------------------- constant columns


def nearly_constant(n=LARGE):
    """A column that differs in one row, which is not among those sampled."""
    rows = normal(n, d=3)
    _, others = RandomSplitting(N_SPLITS, 0.2, MAX_TRAIN).reserve(n, 0.5, np.random.RandomState(0))
    rows[:, 2] = 7.0
    rows[others[len(others) // 2], 2] = 8.0
    return rows


@pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")
@pytest.mark.parametrize("scaling", ["auto", "standard"])
def test_a_column_constant_in_the_sample_only_is_not_constant(scaling):
    rows = nearly_constant()
    model = estimator(scaling=scaling).fit(Table(rows))
    assert len(model.sets_.constants.indices) == 0
    assert_same(model, estimator(scaling=scaling).fit(rows))
    rows[:, 2] = 7.0
    assert list(estimator(scaling=scaling).fit(Table(rows)).sets_.constants.indices) == [2]


def test_no_warning_of_a_column_constant_in_the_sample_only():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator().fit(Table(nearly_constant()))
    assert [str(each.message) for each in caught] == []


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_constant_columns_are_named_once(n):
    rows = normal(n, d=3)
    rows[:, 1] = 7.0
    with pytest.warns(ConstantColumnWarning, match="X is constant in column 'pressure':") as caught:
        model = estimator().fit(Table(rows))
    assert len(caught) == 1
    changed = normal(1, d=3)
    changed[0, 1] = 7.1
    assert model.sets_.constants.changed(changed).all()


# ---------------------------------------------------------------- masses that the rows left cannot guarantee


@pytest.mark.parametrize(("mass", "mode"), [(0.998, "conformal"), (0.9985, "cross")])
def test_a_high_mass_has_the_guarantee_that_it_has_of_an_array(mass, mode):
    rows = normal(1000)
    expected, model = (estimator(mass).fit(data) for data in (rows, Table(rows)))
    assert model.sets_.guarantee.mode == mode
    assert_same(model, expected)


def test_a_mass_that_cannot_be_guaranteed_is_refused_as_for_an_array():
    rows = normal(1000)
    for data in (rows, Table(rows), Stream(rows, 100)):
        with pytest.raises(TooFewRowsError, match=r"1000 rows are too few to guarantee mass=0\.999 .* 1997 in all"):
            estimator(0.999, calibration="conformal").fit(data)


def test_a_mass_that_pac_cannot_guarantee_is_refused_as_for_an_array():
    rows = normal(1000)
    for data in (rows, Table(rows)):
        with pytest.raises(TooFewRowsError, match=r"1000 rows are too few to guarantee mass=0\.998 .*'pac'"):
            estimator(0.998, calibration="pac").fit(data)


# ---------------------------------------------------------------- calibration in batches


def few_exact(monkeypatch, n_exact):
    """Of more than twice so many calibration rows, the lowest scores are kept and the others counted in bins."""
    monkeypatch.setattr(calibrations, "N_EXACT", n_exact)
    monkeypatch.setattr(calibrations, "N_ORDERED", 2 * n_exact)
    monkeypatch.setattr(ScoreSummary.__init__, "__defaults__", (n_exact,))
    monkeypatch.setattr(StreamedScores.__init__, "__defaults__", (2 * n_exact,))


def streamed(batches):
    scores = StreamedScores()
    for batch in batches:
        scores.add(batch)
    return scores


def merged(batches):
    """As the workers of a cluster count them: each keeps as many of the first scores as could be needed."""
    scores = StreamedScores()
    for batch in batches:
        part = StreamedScores(max(0, scores.n_ordered - len(scores)))
        part.add(batch)
        scores.merge(part)
    return scores


def calibrated(scores, guarantee):
    first = scores.first if isinstance(scores, StreamedScores) else scores
    return Calibration.from_scores(scores, guarantee).dependent(first)


def smooth(n, seed=0):
    """Scores whose neighbours are alike."""
    noise = np.random.default_rng(seed).normal(size=n + 9)
    return 2.0 + np.convolve(noise, np.full(10, 0.1), mode="valid")


@pytest.mark.parametrize("guarantee", [Guarantee("conformal"), Guarantee("pac", 0.9), Guarantee("cross")], ids=str)
@pytest.mark.parametrize("n", [30, 200, 201, 3000])
@pytest.mark.parametrize("scores_of", [smooth, lambda n: np.exp(normal(n)[:, 0])], ids=["dependent", "independent"])
def test_scores_in_batches_calibrate_as_all_at_once(scores_of, n, guarantee, monkeypatch):
    few_exact(monkeypatch, 100)
    scores = scores_of(n)
    expected = calibrated(scores, guarantee)
    assert expected.is_summary == (n > 200)
    assert expected.n_rows == n
    assert (expected.decorrelation > 1) == (scores_of is smooth)
    for cuts in ((), (1, 20), (0, 30, 30), tuple(range(0, n, 7))):
        assert calibrated(streamed(np.split(scores, cuts)), guarantee) == expected
        assert calibrated(merged(np.split(scores, cuts)), guarantee) == expected


def test_only_the_first_scores_tell_of_the_order(monkeypatch):
    few_exact(monkeypatch, 100)
    late = np.concatenate([2.0 + normal(200)[:, 0], smooth(1000)])
    for scores, time in ((late, 1), (late[::-1], 2)):
        parts = np.array_split(scores, 7)
        for each in (scores, streamed(parts), merged(parts)):
            assert min(calibrated(each, Guarantee("conformal")).decorrelation, 2) == time


@pytest.mark.parametrize("size", [64, 5000])
def test_a_model_of_many_calibration_rows_is_that_of_an_array(size, monkeypatch):
    few_exact(monkeypatch, 150)
    rows = normal(LARGE)
    expected = estimator().fit(rows)
    assert expected.sets_.calibration.is_summary
    assert_same(estimator().fit(Table(rows, size)), expected)


def test_neighbours_that_are_alike_are_noticed():
    rows = np.cumsum(normal(3000) * 0.1, axis=0) % 3.0
    with pytest.warns(DependenceWarning) as of_array:
        expected = estimator().fit(rows)
    with pytest.warns(DependenceWarning) as of_stream:
        model = estimator().fit(Table(rows, 130))
    assert [str(each.message) for each in of_stream] == [str(each.message) for each in of_array]
    assert model.effective_sample_size_ < 0.5 * 2500
    assert_same(model, expected)
