"""scikit-learn's Pipeline in front of nested sets, and a model taken apart."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mvset
from mvset import MinimumVolumeSet
from mvset.estimators.fitted_model import FittedModel
from mvset.paper.datasets import two_moons

X = 3.0 + two_moons(200, random_state=0)
SETS = MinimumVolumeSet(sigma=0.3, random_state=0)


def test_a_pipeline_is_taken_apart():
    pipeline = make_pipeline(StandardScaler(), SETS).fit(pd.DataFrame(X, columns=["a", "b"]))
    model = FittedModel.of(pipeline)
    assert model.feature_names == ["a", "b"]
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(model.scores(frame), pipeline.score_samples(frame))
    np.testing.assert_array_equal(model.scores(X), pipeline.score_samples(frame))  # and no warning about names
    assert pipeline[0].feature_names_in_.tolist() == ["a", "b"]  # the parts are copies


def test_an_estimator_alone_and_a_pipeline_of_one():
    for model in (MinimumVolumeSet(sigma=0.3).fit(X), make_pipeline(SETS).fit(X), make_pipeline(None, SETS).fit(X)):
        fitted = FittedModel.of(model)
        assert fitted.before is None
        assert fitted.prepared(X) is X
        assert fitted.feature_names == ["x0", "x1"]


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="got IsolationForest"):
        FittedModel.of(make_pipeline(StandardScaler(), IsolationForest()))
    with pytest.raises(NotFittedError):
        FittedModel.of(make_pipeline(StandardScaler(), MinimumVolumeSet()))


def test_a_pipeline_is_loaded_as_it_was_saved(tmp_path):
    pipeline = make_pipeline(PCA(1), SETS).fit(X)
    mvset.save(pipeline, tmp_path / "m")
    again = mvset.load(tmp_path / "m")
    assert type(again) is Pipeline
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    np.testing.assert_array_equal(again[-1].level(again[:-1].transform(X)) <= 0.95, pipeline.predict(X) == 1)


@pytest.mark.parametrize(
    ("steps", "imputes"),
    [
        ([SimpleImputer()], True),
        ([SimpleImputer(), PCA(1)], True),
        ([StandardScaler()], False),
        ([PCA(1)], False),
        ([StandardScaler(), MinimumVolumeSet(sigma=0.3, missing="impute", random_state=0)], True),
        ([PCA(1), MinimumVolumeSet(sigma=0.3, missing="impute", random_state=0)], False),
    ],
    ids=str,
)
def test_whether_missing_values_are_filled(steps, imputes):
    steps = steps if isinstance(steps[-1], MinimumVolumeSet) else [*steps, SETS]
    pipeline = make_pipeline(*steps).fit(X)
    assert FittedModel.of(pipeline).imputes is imputes
    rows = pd.DataFrame(X[:4], columns=["x0", "x1"])
    rows.loc[1, "x1"] = np.nan
    scored = mvset.BatchScorer(pipeline)(rows)
    assert scored["score"].isna().tolist() == [False, not imputes, False, False]
    if imputes:
        # A linear algebra library may sum rows of other memory layouts in another order.
        np.testing.assert_allclose(scored["score"], pipeline.score_samples(rows.to_numpy()), rtol=1e-13)
    else:
        with pytest.raises(ValueError, match="NaN"):
            pipeline.score_samples(rows.to_numpy())


def test_a_finite_row_that_overflows_in_a_step_is_outside():
    pipeline = make_pipeline(StandardScaler(), SETS).fit(1e-3 * X)
    scored = mvset.BatchScorer(pipeline)(pd.DataFrame({"x0": [1.7e308, 3e-3], "x1": [3e-3, np.inf]}))
    assert scored["inside"].tolist() == [False, None]
