import pickle
from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.parallel import thread_map
from mvset.svm.expansion import KernelExpansion, kernel_expansion


def test_expansion_against_float64_reference(table):
    rng = np.random.default_rng(0)
    coefficients = rng.uniform(size=len(table)) * (rng.uniform(size=len(table)) < 0.5)
    function = kernel_expansion(table, coefficients, 0.7)
    np.testing.assert_allclose(function(table), reference.expansion(table, table, coefficients, 0.7), rtol=1e-10)
    assert len(function.centres) == np.count_nonzero(coefficients)


def test_no_row_depends_on_the_others_or_on_threads():
    rng = np.random.default_rng(0)
    function = KernelExpansion(rng.normal(size=(300, 3)), rng.uniform(size=300), 0.6, np.zeros(3))
    X = rng.normal(size=(3000, 3))
    together = function(X)
    with thread_map(3) as run:
        np.testing.assert_array_equal(function(X, run), together)
    np.testing.assert_array_equal(function(X[::-1])[::-1], together)
    np.testing.assert_array_equal([function(row[np.newaxis])[0] for row in X[:50]], together[:50])


def test_far_points_keep_their_order():
    """Below the range of float32 scores still tell near from far."""
    function = KernelExpansion(np.zeros((1, 1)), np.ones(1), 1.0, np.zeros(1))
    scores = function(np.array([[14.0], [20.0], [30.0], [50.0]]))
    assert (np.diff(scores) < 0).all()
    assert scores[-1] == 0.0


def test_float32_is_accurate_with_thousands_of_centres():
    """A sum of so many in float32, one after the other, would be wrong by several 10⁻⁶; exponents of 10⁻³⁰ by 10⁻⁵."""
    rng = np.random.default_rng(0)
    function = KernelExpansion(rng.normal(size=(6000, 3)), rng.uniform(size=6000) / 3000, 0.7, np.zeros(3), "mixed")
    X = np.vstack([rng.normal(size=(1000, 3)), rng.uniform(-9.0, 9.0, size=(4000, 3))])
    exact, values = replace(function, precision="double")(X), function(X)
    error = np.abs(values / exact - 1.0)
    assert error.max() < 1e-5
    assert error[exact > 1e-3].max() < 2e-6


def parts(**changes):
    return {"centres": np.zeros((3, 2)), "weights": np.ones(3), "sigma": 1.0, "origin": np.zeros(2), **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"centres": np.full((3, 2), np.nan)},
        {"centres": np.zeros((3, 2), np.float32)},
        {"weights": np.ones(4)},
        {"weights": np.array([1.0, np.inf, 1.0])},
        {"weights": np.array([1.0, -1.0, 1.0])},
        {"sigma": 0.0},
        {"sigma": np.nan},
        {"origin": np.zeros(3)},
        {"precision": "half"},
    ],
)
def test_damaged_parts_are_refused_also_when_unpickled(changes):
    part = rf"^KernelExpansion\.{next(iter(changes))} must"
    with pytest.raises(ValueError, match=part):
        KernelExpansion(**parts(**changes))
    with pytest.raises(ValueError, match=part):
        object.__new__(KernelExpansion).__setstate__(parts(**changes))


def test_an_expansion_without_centres_is_refused():
    with pytest.raises(ValueError, match="KernelExpansion needs at least one centre"):
        KernelExpansion(**parts(centres=np.zeros((0, 2)), weights=np.ones(0)))


def test_equal_by_content_and_read_only():
    function = KernelExpansion(**parts())
    assert function == pickle.loads(pickle.dumps(function))
    assert function != KernelExpansion(**parts(sigma=2.0))
    with pytest.raises(ValueError, match="read-only"):
        function.weights[0] = 2.0
