import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import mvset
from mvset.exceptions import ModelFileError
from mvset.files.trees import check_trees

X = np.random.default_rng(0).normal(size=(100, 3))


def fitted():
    return mvset.CalibratedSet(IsolationForest(n_estimators=3), splits=2, random_state=0).fit(X)


def forests(model):
    return [each.estimators_[0].tree_ for each in model.detectors_]


def test_a_forest_is_read_again_without_further_trust(tmp_path):
    model = fitted()
    mvset.save(model, tmp_path / "m")
    np.testing.assert_array_equal(mvset.load(tmp_path / "m").score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("name", ["left_child", "right_child"])
@pytest.mark.parametrize("target", [0, -2, 10_000])
def test_nodes_that_lead_back_or_outside_are_refused(tmp_path, name, target):
    """scikit-learn would follow them for ever, or read beyond the tree."""
    model = fitted()
    state = forests(model)[1].__getstate__()
    nodes = state["nodes"].copy()
    nodes[name][0] = target
    forests(model)[1].__setstate__({**state, "nodes": nodes})
    mvset.save(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match="a tree in it points to nodes that it does not have"):
        mvset.load(tmp_path / "m")


@pytest.mark.parametrize("column", [-1, 3, 1000])
def test_columns_that_the_rows_do_not_have_are_refused(column):
    model = fitted()
    state = forests(model)[0].__getstate__()
    nodes = state["nodes"].copy()
    nodes["feature"][0] = column
    forests(model)[0].__setstate__({**state, "nodes": nodes})
    with pytest.raises(ValueError, match="columns that its forest does not have"):
        check_trees(model)


def test_a_forest_that_says_it_takes_fewer_columns_is_refused():
    model = fitted()
    model.detectors_[0].n_features_in_ = 1
    with pytest.raises(ValueError, match="columns that its forest does not have"):
        check_trees(model)


def test_forests_that_are_not_fitted_have_no_trees():
    check_trees({"a": [IsolationForest()], "b": np.array([IsolationForest()], dtype=object)})
