"""Columns that never changed in the rows of the fit: a row in which one differs lies outside every set."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from mvset import CalibratedSet, MinimumVolumeSet
from mvset.paper.datasets import two_moons
from mvset.paper.plugin_kernel_density import PluginKernelDensity

pytestmark = pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")

X = np.insert(two_moons(400, random_state=0), [1, 2], [5.0, 0.005], axis=1)  # columns 1 and 3
ESTIMATORS = {
    "sets": MinimumVolumeSet(sigma=0.3, splits=3, random_state=0),
    "whitened": MinimumVolumeSet(sigma=0.4, scaling="whiten", splits=3, random_state=0),
    "conformal": MinimumVolumeSet(sigma=0.3, splits=3, calibration="conformal", random_state=0),
    "calibrated": CalibratedSet(IsolationForest(n_estimators=10), splits=3, n_volume_points=500, random_state=0),
    "plugin": PluginKernelDensity(sigma=0.3, n_volume_points=500, random_state=0),
}


def changed(column, value):
    rows = X[:50].copy()
    rows[:, column] = value
    return rows


@pytest.fixture(scope="module", params=ESTIMATORS)
def model(request):
    return ESTIMATORS[request.param].fit(X)


@pytest.fixture(scope="module")
def sets():
    return MinimumVolumeSet(sigma=0.3, splits=3, random_state=0).fit(X)


@pytest.mark.parametrize(("column", "value"), [(1, 5.3), (1, 4.99), (3, 0.5), (3, 0.00501), (3, -0.005), (1, 1e6)])
def test_a_change_lies_outside_every_set(model, column, value):
    rows = changed(column, value)
    np.testing.assert_array_equal(model.predict(rows), -1)
    np.testing.assert_array_equal(model.predict(rows, mass=0.99), -1)
    np.testing.assert_array_equal(model.level(rows), 1.0)
    assert (model.decision_function(rows) < 0).all()


def test_p_values_of_changed_rows_are_the_least(model):
    if model.sets_.calibration.is_calibrated:
        n = len(model.sets_.calibration.scores)
        np.testing.assert_allclose(model.p_value(changed(1, 5.3)), 1 / (n + 1))


def test_rows_without_a_change_are_judged_as_before(model):
    assert np.mean(model.predict(X) == 1) > 0.9


@pytest.mark.parametrize(("column", "value"), [(1, 5.0000001), (1, 5.0 + 5e-7), (3, np.float32(0.005))])
def test_a_change_that_does_not_show_is_none(sets, column, value):
    np.testing.assert_array_equal(sets.predict(changed(column, value)), sets.predict(X[:50]))


@pytest.mark.parametrize(("column", "value"), [(1, 5.3), (1, 4.0), (3, 0.5)])
def test_the_changed_column_contributes_most(sets, column, value):
    contributions = sets.explain(changed(column, value))
    np.testing.assert_array_equal(np.abs(contributions).argmax(axis=1), column)
    assert np.isfinite(contributions).all()
    assert (np.sign(contributions[:, column]) == np.sign(value - X[0, column])).all()
    np.testing.assert_array_equal(contributions[:, 4 - column], 0.0)  # the other constant one
    np.testing.assert_array_equal(sets.explain(X)[:, [1, 3]], 0.0)


def test_changed_rows_are_a_drift():
    model = ESTIMATORS["conformal"].fit(X)
    rows = np.insert(two_moons(200, random_state=1), [1, 2], [5.0, 0.005], axis=1)
    assert not model.check_drift(rows).drifted
    rows[:40, 1] = 5.3
    assert model.check_drift(rows).drifted
