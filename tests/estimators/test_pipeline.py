from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.datasets import two_moons
from mvset.estimators.pipeline import FittedModel

X = 3.0 + two_moons(200, random_state=0)
SETS = MinimumVolumeSet(sigma=0.3, random_state=0)


def test_a_pipeline_is_taken_apart():
    pipeline = make_pipeline(StandardScaler(), SETS).fit(pd.DataFrame(X, columns=["a", "b"]))
    model = FittedModel.of(pipeline)
    assert model.feature_names == ["a", "b"]
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(model.sets.score_samples(model.prepared(frame)), pipeline.score_samples(frame))


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
