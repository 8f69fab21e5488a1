import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from mvset.metrics.detectors import (
    NeighbourDistance,
    check_row_by_row,
    detector_by_name,
    input_format,
    score_function,
)

X = np.random.default_rng(0).normal(size=(300, 3))
FAR = np.full((1, 3), 8.0)

DETECTORS = {
    "forest": IsolationForest(random_state=0),
    "lof": LocalOutlierFactor(novelty=True),
    "kde": KernelDensity(),
    "gmm": GaussianMixture(random_state=0),
    "svm": OneClassSVM(nu=0.1),
    "pipeline": make_pipeline(StandardScaler(), IsolationForest(random_state=0)),
    "pyod": KNN(),
    "pipeline of pyod": make_pipeline(StandardScaler(), KNN()),
    "ours": MinimumVolumeSet(sigma=1.0, splits=2, random_state=0),
}


@pytest.mark.parametrize("name", DETECTORS)
def test_scores_are_high_where_the_rows_are(name):
    score = score_function(DETECTORS[name].fit(X))
    assert score(X).shape == (300,)
    assert score(FAR)[0] < np.median(score(X))


def test_a_function_is_a_score():
    assert score_function(lambda rows: rows[:, 0])(FAR) == [8.0]


def test_what_gives_no_score_is_refused():
    with pytest.raises(TypeError, match=r"LocalOutlierFactor\(\) gives no scores.*novelty=True"):
        score_function(LocalOutlierFactor().fit(X))
    with pytest.raises(ValueError, match=r"shape \(300, 3\) for 300 rows"):
        score_function(lambda rows: rows)(X)
    with pytest.raises(ValueError, match="gave NaN for 300 of 300 rows"):
        score_function(lambda rows: np.full(len(rows), np.nan))(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_points_take_the_format_of_the_rows(frame):
    table = frame({"a": X[:, 0], "b": X[:, 1]})
    points = input_format(table)(X[:5, :2])
    assert isinstance(points, frame)
    assert list(points.columns) == ["a", "b"]
    assert input_format(X)(X) is X


def test_a_search_that_ends_in_a_pyod_model_keeps_its_sign():
    search = GridSearchCV(KNN(), {"n_neighbors": [3, 5]}, scoring=lambda model, rows: 0.0).fit(X)
    score = score_function(search)
    assert score(FAR)[0] < np.median(score(X))


def test_minus_infinity_is_a_low_score():
    kde = KernelDensity(kernel="tophat", bandwidth=0.5).fit(X)
    scores = score_function(kde)(FAR)
    assert np.isfinite(scores).all()
    assert scores[0] < score_function(kde)(X).min()


def test_scores_that_depend_on_the_batch_are_refused():
    model = ECOD().fit(X)
    score = score_function(model)
    with pytest.raises(ValueError, match=r"ECOD.* change with the rows that are scored together"):
        check_row_by_row(model, score, X, score(X))


def test_the_distance_to_the_fifth_neighbour():
    rows, new = np.random.default_rng(0).normal(size=(50, 3)), np.random.default_rng(1).normal(size=(20, 3))
    distances = np.sort(np.linalg.norm(new[:, np.newaxis] - rows, axis=2), axis=1)
    np.testing.assert_allclose(NeighbourDistance().fit(rows).score_samples(new), -distances[:, 4])


@pytest.mark.parametrize("name", ["gaussian", "iforest", "lof", "knn"])
def test_detectors_by_name_do_not_depend_on_units(name):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    detector = detector_by_name(name)
    if name == "iforest":
        detector.set_params(isolationforest__random_state=0)
    scores, scaled = (detector.fit(each).score_samples(each[:50]) for each in (rows, rows * [2.0**-14, 1.0, 2.0**17]))
    np.testing.assert_allclose(scores, scaled, rtol=1e-6)
