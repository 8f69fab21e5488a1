import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.app.summaries.flagged import FlaggedSample, normal_ranges
from mvset.app.summaries.scan import TableScan
from mvset.estimators.fitted_model import FittedModel
from mvset.inference.timeline import row_places


def surveyed(model, rows):
    survey = TableScan(FittedModel.of(model), 0.95)
    survey.add(rows, survey.score(rows), np.arange(len(rows)), lambda selected: [{} for _ in selected])
    return survey.result()


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(0).normal([0, 10, 100], [1, 2, 5], size=(500, 3))


@pytest.fixture(scope="module")
def model(normal):
    return MinimumVolumeSet(sigma=2.0, scaling="standard", random_state=0).fit(normal)


@pytest.fixture
def today():
    """Sixty rows above in the second column, thirty below in the third, and two hundred normal ones."""
    rows = np.random.default_rng(1).normal([0, 10, 100], [1, 2, 5], size=(290, 3))
    rows[:60, 1] += 20
    rows[60:90, 2] -= 40
    return rows


def test_columns_are_ranked_by_the_rows_that_they_explain(model, today):
    result = surveyed(model, today)
    top = np.abs(model.explain(today)).argmax(axis=1)[model.predict(today) == -1]
    second, third = result.columns[:2]
    assert (second.name, third.name) == ("x1", "x2")
    assert second.share == pytest.approx(np.mean(top == 1))
    assert 60 / len(top) <= second.share < 70 / len(top)
    assert (second.direction, third.direction) == ("above", "below")
    assert second.medians == [second.median_above] == [pytest.approx(30, abs=1.5)]
    assert third.medians == [third.median_below] == [pytest.approx(60, abs=3)]
    assert sum(column.share for column in result.columns) == pytest.approx(1)
    assert result.flagged.n_rows == len(top) == len(result.flagged.top)


def test_both_directions_have_a_median_each(model, today):
    today[:30, 1] -= 40
    column = surveyed(model, today).columns[0]
    assert (column.name, column.direction) == ("x1", "both")
    assert column.medians == [pytest.approx(-10, abs=2), pytest.approx(30, abs=2)]


def test_normal_ranges_are_those_of_the_set(model, normal, today):
    inside = normal[model.predict(normal) == 1]
    for column, values in zip(sorted(surveyed(model, today).columns, key=lambda c: c.name), inside.T, strict=True):
        low, high = column.normal_range
        width = np.ptp(values)
        assert low == pytest.approx(values.min(), abs=0.1 * width)
        assert high == pytest.approx(values.max(), abs=0.1 * width)


def test_ranges_are_in_the_units_of_the_table(normal, today):
    scaled = make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=1.0, scaling=None, random_state=0)).fit(normal)
    low, high = next(c for c in surveyed(scaled, today).columns if c.name == "x2").normal_range
    assert 80 < low < 92
    assert 108 < high < 120
    lowest, _ = normal_ranges(FittedModel.of(scaled), 0.95)
    assert -4 < lowest[2] < -1.5


def test_columns_that_are_not_of_the_table_have_no_values(normal, today):
    model = make_pipeline(PCA(2), MinimumVolumeSet(sigma=1.0, random_state=0)).fit(normal)
    column = surveyed(model, today).columns[0]
    assert column.name.startswith("pca")
    assert column.share > 0.5
    assert (column.medians, column.normal_range) == ([], None)


def test_no_rows_outside(model, normal):
    result = surveyed(model, normal[model.predict(normal) == 1])
    assert result.flagged.n_rows == 0
    assert [(c.share, c.above, c.direction, c.medians) for c in result.columns] == [(0.0, None, "", [])] * 3


def test_the_sample_depends_neither_on_batches_nor_on_workers():
    places, rows = row_places(np.arange(10_000)), np.arange(10_000.0)[:, np.newaxis]
    whole = FlaggedSample(1, 300)
    whole.add_outside(rows, places)
    parts = FlaggedSample(1, 300)
    for chosen in np.array_split(np.random.default_rng(0).permutation(10_000), 9):
        part = FlaggedSample(1, 300)
        part.add_outside(rows[chosen], places[chosen])
        parts.merge(part)
    np.testing.assert_array_equal(whole.rows(), parts.rows())
    assert whole.n_rows == parts.n_rows == 10_000
    # Uniform over the rows, whose places follow each other.
    assert abs(whole.rows().mean() - 5000) < 4 * 10_000 / np.sqrt(12 * 300)
    assert len(np.unique(whole.rows())) == 300


def test_what_workers_count_gives_the_same_onset_and_columns(model):
    rows = np.random.default_rng(1).normal([0, 10, 100], [1, 2, 5], size=(6000, 3))
    rows[3500:, 1] += 8
    kept = lambda selected: [{} for _ in selected]  # noqa: E731
    whole = TableScan(FittedModel.of(model), 0.95, tables=["a", "b"])
    merged = TableScan(FittedModel.of(model), 0.95, tables=["a", "b"])
    for table, numbers in (("a", np.arange(2500)), ("b", np.arange(500)), ("b", np.arange(500, 3500))):
        part = TableScan(FittedModel.of(model), 0.95, tables=["a", "b"])
        chosen = rows[numbers + (2500 if table == "b" else 0)]
        for survey in (whole, part):
            survey.add(chosen, survey.score(chosen), numbers, kept, table=table)
        merged.merge(part.part)
    one, many = whole.result(), merged.result()
    assert one.timeline.onset == many.timeline.onset
    assert one.timeline.onset.first.table == "b"
    assert abs(one.timeline.onset.first.row - 1000) < 20
    assert one.columns == many.columns
    np.testing.assert_array_equal(one.timeline.n_outside, many.timeline.n_outside)
