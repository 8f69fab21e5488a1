"""The estimators behave as scikit-learn users expect."""

from __future__ import annotations

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

from mvset import MinimumVolumeSet, OneClassSVM, PluginKernelDensity
from mvset.datasets import two_moons

ESTIMATORS = [
    MinimumVolumeSet(splits=3, n_volume_points=500, random_state=0),
    OneClassSVM(),
    PluginKernelDensity(n_volume_points=500, random_state=0),
]


def expected_failures(estimator):
    """What scikit-learn expects of its own one-class SVM, too: gamma="scale" does not see the weights."""
    weights = {"check_sample_weight_equivalence_on_dense_data": "weights are not the same as repeated rows"}
    return weights if isinstance(estimator, OneClassSVM) else {}


# The checks fit tables of a few rows, on which the advice about nu, volumes and bandwidths rightly fires.
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
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
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X, columns=["load", "speed"]))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(kind, X):
    model = MinimumVolumeSet(mass=0.9, n_masses=3, splits=2, sigma=0.5, random_state=0).set_output(transform=kind)
    table = model.fit(X).transform(X)
    assert list(table.columns) == ["minimumvolumeset_0.86", "minimumvolumeset_0.9", "minimumvolumeset_0.94"]
    np.testing.assert_array_equal(np.asarray(table)[:, 1], model.decision_function(X, mass=model.masses_[1]))


def test_decision_boundary_display(X):
    import matplotlib

    matplotlib.use("Agg")
    model = MinimumVolumeSet(sigma=0.5, splits=2, random_state=0).fit(X)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="decision_function", plot_method="contour", levels=[0.0]
    )
    assert display.response.shape == (100, 100)
