from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet, OneClassSVM, Pipeline, make_pipeline
from mvset.datasets import two_moons
from mvset.estimators.model_parts import ModelParts

X = 3.0 + two_moons(200, random_state=0)
SETS = MinimumVolumeSet(sigma=0.3, random_state=0)


def test_a_pipeline_is_taken_apart():
    pipeline = sklearn_make_pipeline(StandardScaler(), SETS).fit(pd.DataFrame(X, columns=["a", "b"]))
    model = ModelParts.of(pipeline)
    assert model.feature_names == ["a", "b"]
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(model.scores(frame), pipeline.score_samples(frame))
    np.testing.assert_array_equal(model.scores(X), pipeline.score_samples(frame))  # and no warning about names
    assert pipeline[0].feature_names_in_.tolist() == ["a", "b"]  # the parts are copies


def test_an_estimator_alone_and_a_pipeline_of_one():
    for model in (
        MinimumVolumeSet(sigma=0.3).fit(X),
        make_pipeline(SETS).fit(X),
        sklearn_make_pipeline(None, SETS).fit(X),
    ):
        fitted = ModelParts.of(model)
        assert fitted.before is None
        assert fitted.prepared(X) is X
        assert fitted.feature_names == ["x0", "x1"]


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="got IsolationForest"):
        ModelParts.of(make_pipeline(StandardScaler(), IsolationForest()))
    with pytest.raises(NotFittedError):
        ModelParts.of(make_pipeline(StandardScaler(), MinimumVolumeSet()))


def test_a_pipeline_of_ours_answers_everything_on_the_columns_of_the_table():
    rows = X * [1.0, 100.0]
    plain = sklearn_make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(rows)
    ours = make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(rows)
    prepared, last = plain[:-1].transform(rows), plain[-1]
    for name in ("level", "p_value", "explain", "predict", "decision_function", "score_samples"):
        np.testing.assert_array_equal(getattr(ours, name)(rows), getattr(last, name)(prepared))
    np.testing.assert_array_equal(ours.decision_function(rows, mass=0.8), last.decision_function(prepared, mass=0.8))
    np.testing.assert_array_equal(ours.predict(rows, mass=0.8), last.predict(prepared, mass=0.8))
    assert ours.detect(rows, fdr=0.2) == last.detect(prepared, fdr=0.2)
    assert ours.check_drift(rows, mass=0.9) == last.check_drift(prepared, mass=0.9)
    assert ours.offset(0.9) == last.offset(0.9)
    assert ours.volume_ == last.volume_
    assert ours.mass_interval(0.9) == last.mass_interval(0.9)
    monitors = ours.drift_monitor(random_state=0), last.drift_monitor(random_state=0)
    assert monitors[0].update(rows) == monitors[1].update(prepared)
    assert monitors[0].log_martingale_ == monitors[1].log_martingale_


def test_a_pipeline_of_ours_is_one_of_scikit_learn():
    ours = clone(make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.3, random_state=0)))
    assert isinstance(ours, SklearnPipeline)
    assert isinstance(pickle.loads(pickle.dumps(ours.fit(X))), Pipeline)
    assert list(ours.get_params(deep=False)["steps"]) == ours.steps
    with pytest.raises(NotFittedError):
        make_pipeline(StandardScaler(), MinimumVolumeSet()).level(X)
    with pytest.raises(AttributeError):
        _ = ours.no_such_thing


def test_only_what_the_last_step_has_is_there():
    plain = make_pipeline(StandardScaler(), PCA(1)).fit(X)
    for name in ("level", "explain", "p_value", "decision_function", "drift_monitor", "offset_"):
        assert not hasattr(plain, name)
    assert not hasattr(make_pipeline(StandardScaler(), OneClassSVM()), "level")
    assert not hasattr(make_pipeline(StandardScaler(), "passthrough"), "upper")
    ours = make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(X)
    assert not hasattr(ours[:-1], "level")
    assert not hasattr(ours, "predict_proba")
    assert "mass_interval" in dir(ours)


def test_what_a_pipeline_says_of_its_input_is_not_asked_of_the_last_step():
    ours = make_pipeline("passthrough", PCA(1), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(X)
    with pytest.raises(AttributeError):
        _ = ours.n_features_in_
    with pytest.raises(AttributeError):
        _ = ours.feature_names_in_
