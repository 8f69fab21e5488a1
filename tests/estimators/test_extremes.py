"""Extreme tables and masses: the right answer by an oracle of higher precision, or an error that says what is wrong."""

import warnings

import numpy as np
import pytest

from mvset import MinimumVolumeSet, OneClassSVM
from mvset.exceptions import MvsetWarning

NORMAL = np.random.default_rng(0).normal(size=(300, 3))
ONE_OF_81 = np.vstack([np.random.default_rng(1).normal(size=(80, 2)), [[1e12, 1e12]]])

ANSWERED = {
    "1e100": NORMAL * 1e100,
    "1e-100": NORMAL * 1e-100,
    "offset 1e8": NORMAL + 1e8,
    "offset 1e12": NORMAL + 1e12,
    "columns from 1e-100 to 1e100": NORMAL * [1e-100, 1.0, 1e100],
    "99 % duplicates": np.vstack([np.full((297, 2), 0.5), NORMAL[:3, :2]]),
    "79 identical rows and one other": np.vstack([np.zeros((79, 2)), [[1.0, 1.0]]]),
    "one row at 1e12": ONE_OF_81,
    "three rows": NORMAL[:3],
    "two values": np.repeat([[0.0], [1.0]], 150, axis=0),
    "a column that repeats another": NORMAL[:, [0, 0, 1]],
    "2000 columns": np.random.default_rng(2).normal(size=(40, 2000)),
}
REFUSED = {
    "1e150": (NORMAL * 1e150, r"The columns range over 5\.44e\+150 to 6\.84e\+150: rescale them"),
    "1e-300": (NORMAL * 1e-300, "rescale them"),
    "subnormal": (NORMAL * 1e-310, "rescale them"),
    "largest float64": (np.sign(NORMAL) * np.finfo(float).max, "rescale them"),
    "identical rows": (np.ones((50, 3)), "All 50 rows of X are equal"),
    "two rows": (NORMAL[:2], "2 rows leave 1 to train on"),
}


def oracle(model, X):
    """Scores in extended precision, by the definition: the smallest of the views' log expansions on their scales."""
    function = model._neighbourhood
    return np.min([view.shift + view.slope * _log_expansion(function, view, X) for view in function.views], axis=0)


def _log_expansion(function, view, X):
    assert view.scalings
    parts = []
    for scaling, weights in zip(view.scalings, view.weights, strict=True):

        def mapped(rows, scaling=scaling):
            scaled = (rows.astype(np.longdouble) - function.origin) / scaling.scales
            return scaled @ scaling.mixing.astype(np.longdouble) if len(scaling.mixing) else scaled

        support = weights > 0
        differences = mapped(X)[:, np.newaxis] - mapped(function.centres[support])
        squares = (differences**2).sum(axis=2) / np.longdouble(view.sigma) ** 2
        parts.append(np.log(weights[support].astype(np.longdouble)) - 0.5 * squares)
    logs = np.hstack(parts)
    highest = logs.max(axis=1)
    return highest + np.log(np.exp(logs - highest[:, np.newaxis]).sum(axis=1))


def fitted(X, **parameters):
    """A fit that warns of nothing but what the library has words for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        return MinimumVolumeSet(**{"random_state": 0, "splits": 10, **parameters}).fit(X)


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_are_those_of_the_oracle(name):
    X = ANSWERED[name]
    model = fitted(X)
    rows = np.vstack([X[:60], 2 * X[:20] - X[20:40]]) if len(X) >= 40 else X
    scores, expected = model.score_samples(rows), oracle(model, rows)
    tolerance = 1e-9 if "offset" not in name else 1e-3  # at 1e12 float64 itself has four digits left
    np.testing.assert_allclose(scores, expected.astype(float), rtol=tolerance, atol=tolerance)
    assert np.isfinite(model.decision_function(rows)).all()
    clear = np.abs(expected - model.offset_) > 1e-6 * (1.0 + np.abs(model.offset_))
    np.testing.assert_array_equal((model.predict(rows) == 1)[clear], (expected >= model.offset_)[clear])
    assert np.mean(model.predict(X) == 1) >= 0.9


@pytest.mark.parametrize("name", REFUSED)
def test_errors_say_what_is_wrong(name):
    X, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        MinimumVolumeSet(random_state=0).fit(X)


@pytest.mark.parametrize("scale", [1e160, 1e150, 1e-160, 1e-300])
def test_one_class_svm_refuses_scales_that_have_no_bandwidth(scale):
    with pytest.raises(ValueError, match="rescale them"):
        OneClassSVM(nu=0.1).fit(scale * NORMAL)


@pytest.mark.parametrize("mass", [1e-6, 1 - 1e-6])
def test_extreme_masses(mass):
    model = fitted(NORMAL, mass=mass)
    assert np.mean(model.predict(NORMAL) == 1) == pytest.approx(mass, abs=0.01)
    assert (model.predict(NORMAL + 1e6) == -1).all()
