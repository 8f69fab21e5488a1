import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.app.summaries.scan import FALSE_ALARM_RATE, LEVEL_EDGES, TableScan
from mvset.estimators.fitted_model import FittedModel

MASSES = (0.5, 0.8, 0.9, 0.95, 0.99)


def rows(n, seed, spread=1.0):
    return np.random.default_rng(seed).normal(scale=[spread, 10.0 * spread], size=(n, 2))


NEW = np.vstack([rows(300, 1, spread=1.3), [[900.0, 0.0], [0.0, 5000.0]]])


@pytest.fixture(scope="module", params=["cross", "conformal"])
def pipeline(request):
    sets = MinimumVolumeSet(sigma=0.8, calibration=request.param, random_state=0)
    return make_pipeline(StandardScaler(), sets).fit(rows(500, 0))


def surveyed(pipeline, X, cuts=(), mass=0.95, **options):
    model = FittedModel.of(pipeline)
    survey = TableScan(model, mass, **options)
    for numbers in np.split(np.arange(len(X)), cuts):
        scored = survey.score(X[numbers])
        survey.add(
            X[numbers], scored, numbers, lambda selected, numbers=numbers: [{"id": int(numbers[i])} for i in selected]
        )
    return survey.result()


def test_rows_are_scored_as_by_the_model(pipeline):
    scored = TableScan(FittedModel.of(pipeline), 0.9).score(NEW)
    prepared, sets = pipeline[:-1].transform(NEW), pipeline[-1]
    np.testing.assert_array_equal(scored.score, sets.score_samples(prepared))
    np.testing.assert_array_equal(scored.level, sets.level(prepared))
    np.testing.assert_array_equal(scored.inside, sets.predict(prepared, 0.9) == 1)
    np.testing.assert_array_equal(scored.contributions(), sets.explain(prepared))
    np.testing.assert_array_equal(scored.top_features(), np.abs(sets.explain(prepared)).argmax(axis=1))
    np.testing.assert_array_equal(scored.contributions([3, 5]), sets.explain(prepared)[[3, 5]])


def test_counts_are_those_of_predict(pipeline):
    prepared, sets = pipeline[:-1].transform(NEW), pipeline[-1]
    result = surveyed(pipeline, NEW, masses=MASSES)
    assert result.masses.tolist() == list(MASSES)
    assert result.n_outside.tolist() == [int(np.sum(sets.predict(prepared, mass) == -1)) for mass in MASSES]
    assert result.level_counts.sum() == len(NEW)
    np.testing.assert_array_equal(result.level_counts, np.histogram(sets.level(prepared), LEVEL_EDGES)[0])


@pytest.mark.parametrize("mass", [0.8, 0.95])
def test_the_verdict_is_that_of_check_drift(pipeline, mass):
    prepared, sets = pipeline[:-1].transform(NEW), pipeline[-1]
    result = surveyed(pipeline, NEW, cuts=[10, 200], mass=mass)
    assert result.mass == mass
    assert result.drift == sets.check_drift(prepared, mass=mass, false_alarm_rate=FALSE_ALARM_RATE)


@pytest.mark.parametrize("cuts", [(1, 2), (150,), tuple(range(11, 302, 11))])
def test_batches_make_no_difference(pipeline, cuts):
    options = {"masses": MASSES, "n_unusual": 7, "n_sampled": 50}
    whole, parts = surveyed(pipeline, NEW, **options), surveyed(pipeline, NEW, cuts, **options)
    assert parts.drift == whole.drift
    assert [row.row for row in parts.unusual] == [row.row for row in whole.unusual]
    np.testing.assert_array_equal(parts.n_outside, whole.n_outside)
    np.testing.assert_array_equal(parts.level_counts, whole.level_counts)
    np.testing.assert_array_equal(parts.sample.numbers, whole.sample.numbers)


def test_the_most_unusual_rows_have_the_least_scores(pipeline):
    result = surveyed(pipeline, NEW, cuts=[100], n_unusual=6)
    scores = pipeline[-1].score_samples(pipeline[:-1].transform(NEW))
    assert [row.score for row in result.unusual] == np.sort(scores)[:6].tolist()
    assert [row.row for row in result.unusual[:2]] == [300, 301]  # 900 and 500 standard deviations out


def test_an_unusual_row_is_explained(pipeline):
    row = surveyed(pipeline, NEW, n_unusual=2).unusual[1]
    assert row.row == 301
    assert row.level == 1.0
    assert row.kept == {"id": 301}
    assert row.values == {"x0": 0.0, "x1": 5000.0}
    assert row.top_feature == "x1"
    value, normal = row.top_values
    assert value == 5000.0
    assert abs(normal) < 40.0
    # A step of the mean shift, in units of the bandwidth.
    scaler, sets = pipeline[0], pipeline[-1]
    assert row.contributions["x1"] == pytest.approx((value - normal) / scaler.scale_[1] / sets.sigma_)


def test_fewer_rows_than_asked_for_are_all_unusual(pipeline):
    result = surveyed(pipeline, NEW[:3], n_unusual=10, n_sampled=10)
    assert sorted(row.row for row in result.unusual) == [0, 1, 2]
    np.testing.assert_array_equal(result.sample.rows, NEW[:3])


def test_the_sample_knows_scores_levels_and_numbers(pipeline):
    sample = surveyed(pipeline, NEW, cuts=[50, 60], n_sampled=40).sample
    prepared = pipeline[:-1].transform(NEW)[sample.numbers]
    np.testing.assert_array_equal(sample.rows, NEW[sample.numbers])
    np.testing.assert_array_equal(sample.scores, pipeline[-1].score_samples(prepared))
    np.testing.assert_array_equal(sample.levels, pipeline[-1].level(prepared))


def test_features_that_are_no_columns_have_no_values():
    turned = make_pipeline(PCA(1), MinimumVolumeSet(sigma=2.0, random_state=0)).fit(rows(200, 0))
    row = surveyed(turned, NEW, n_unusual=1).unusual[0]
    assert row.normal == {}
    assert row.top_feature == "pca0"
    assert row.top_values == ("", "")


def test_rows_in_groups_are_surveyed_by_their_groups():
    X, strata = rows(500, 0), np.arange(500) % 2
    sets = MinimumVolumeSet(sigma=0.8, splits=5, calibration="conformal", random_state=0)
    pipeline = make_pipeline(StandardScaler(), sets).fit(X, minimumvolumeset__strata=strata)
    survey, groups = TableScan(FittedModel.of(pipeline), 0.9, grouped=True), np.arange(len(NEW)) % 2
    for numbers in np.split(np.arange(len(NEW)), [100, 130]):
        scored = survey.score(NEW[numbers], groups[numbers])
        survey.add(NEW[numbers], scored, numbers, lambda selected: [{} for _ in selected])
    prepared = pipeline[:-1].transform(NEW)
    np.testing.assert_array_equal(scored.level, sets.level(prepared, strata=groups)[130:])
    np.testing.assert_array_equal(scored.inside, (sets.predict(prepared, 0.9, strata=groups) == 1)[130:])
    expected = sets.check_drift(prepared, mass=0.9, false_alarm_rate=FALSE_ALARM_RATE, strata=groups)
    assert survey.result().drift == expected
