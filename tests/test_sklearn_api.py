"""The estimators behave as scikit-learn users expect."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvset import MinimumVolumeSet, OneClassSVM
from mvset.paper.datasets import two_moons
from mvset.paper.plugin_kernel_density import PluginKernelDensity

ESTIMATORS = [
    MinimumVolumeSet(splits=3, n_volume_points=500, random_state=0),
    OneClassSVM(),
    PluginKernelDensity(n_volume_points=500, random_state=0),
]


# The checks fit tables of a few rows, on which the advice about nu, volumes and bandwidths rightly fires. Those of
# OneClassSVM are in tests/estimators/test_one_class_svm.py.
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([each for each in ESTIMATORS if not isinstance(each, OneClassSVM)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def X():
    return two_moons(200, random_state=0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_pickle_and_pipeline(estimator, X):
    model = clone(estimator).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).score_samples(X), model.score_samples(X))
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(X)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    np.testing.assert_array_equal(pipeline.score_samples(X), alone.score_samples(scaled))


def test_grid_search_over_parameters(X):
    search = GridSearchCV(
        MinimumVolumeSet(sigma=0.5, splits=2, random_state=0),
        {"mass": [0.95, 0.8, 0.9]},
        scoring=lambda model, rows, y=None: -model.volume_.value,
        cv=2,
    ).fit(X)
    assert search.best_params_ == {"mass": 0.8}  # the smallest


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_frames(estimator, frame, X):
    table = frame(X, columns=["speed", "load"])
    model = clone(estimator).fit(table)
    assert list(model.feature_names_in_) == ["speed", "load"]
    np.testing.assert_array_equal(model.score_samples(table), clone(estimator).fit(X).score_samples(X))
    np.testing.assert_array_equal(model.predict(frame(X[:, ::-1], columns=["load", "speed"])), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X, columns=["load", "height"]))


def test_decision_boundary_display(X):
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(X)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="decision_function", plot_method="contour", levels=[0.0]
    )
    assert display.response.shape == (100, 100)
