import pickle
from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.parallel import thread_map
from mvset.svm.expansion import (
    LEAST,
    LOWEST_LOG,
    NO_KERNEL,
    SMALL,
    KernelExpansion,
    kernel_expansion,
    log_sum,
    rough_logs,
    sum_of,
)


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


# ---------------------------------------------------------------- logarithms

# An exponent t has a relative error of some 2⁻⁵³, and so has its logarithm.
ROUNDING = {"rtol": 1e-13, "atol": 1e-13}


def random_expansion(seed=0, precision="double", origin=0.0):
    rng = np.random.default_rng(seed)
    centres, weights = rng.normal(size=(80, 3)), rng.uniform(0.01, 1.0, size=80)
    return KernelExpansion(centres + origin, weights / weights.sum(), 0.7, np.full(3, origin), precision)


def rows_at(*distances, n=50):
    """Rows in all directions, at these distances from zero."""
    directions = np.random.default_rng(1).normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.vstack([distance * directions for distance in distances])


@pytest.mark.parametrize("precision", ["double", "single", "mixed"])
def test_logs_against_float64_reference_near_and_far(precision):
    """Whatever the precision of values: what they are for is far out."""
    function, X = random_expansion(precision=precision), rows_at(0.0, 1.0, 10.0, 26.0, 1e3, 1e5, 1e100)
    expected = reference.log_expansion(X, function.centres, function.weights, function.sigma)
    assert expected.min() < -1e199
    np.testing.assert_allclose(function.logs(X), expected, **ROUNDING)


def test_logs_of_any_table(table):
    weights = np.random.default_rng(0).uniform(size=len(table))
    function = kernel_expansion(table, weights, 0.7)
    np.testing.assert_allclose(function.logs(table), np.log(function(table)), rtol=1e-12, atol=1e-12)


def test_logs_do_not_depend_on_other_rows_or_on_threads():
    function, X = random_expansion(), np.random.default_rng(0).normal(size=(3000, 3)) * 30.0
    together = function.logs(X)
    with thread_map(3) as run:
        np.testing.assert_array_equal(function.logs(X, run), together)
    np.testing.assert_array_equal(function.logs(X[::-1])[::-1], together)
    np.testing.assert_array_equal([function.logs(row[np.newaxis])[0] for row in X[:50]], together[:50])
    assert function.logs(X[:0]).shape == (0,)


def test_logs_fall_up_to_a_limit_and_are_finite_everywhere():
    function = KernelExpansion(np.zeros((1, 2)), np.ones(1), 1.0, np.zeros(2))
    distances = np.array([1e5, 1e10, 1e100, 1.4e145, 1e146, 1e160, 1e300, 1.7e308])
    logs = function.logs(np.column_stack([distances, np.zeros(8)]))
    np.testing.assert_allclose(logs[:4], -0.5 * distances[:4] ** 2, rtol=1e-13)
    np.testing.assert_array_equal(logs[4:], LOWEST_LOG)


def test_a_weight_of_almost_nothing_counts_where_its_centre_is_the_nearest():
    function = KernelExpansion(np.array([[0.0], [100.0]]), np.array([1.0, 1e-200]), 1.0, np.zeros(1))
    X = np.array([[0.0], [60.0], [150.0]])
    expected = reference.log_expansion(X, function.centres, function.weights, 1.0)
    np.testing.assert_allclose(function.logs(X), expected, **ROUNDING)


def mapped_parts(precision="double"):
    """Functions of rows that are mapped in ways of their own, and the same as expansions of the rows."""
    factors, functions = (1.0, 0.5, 3.0), [random_expansion(seed, precision) for seed in range(3)]
    both = list(zip(factors, functions, strict=True))
    parts = [(lambda X, factor=factor: factor * X, each) for factor, each in both]
    return parts, [(each.centres / factor, each.weights, each.sigma / factor) for factor, each in both]


def naive_log_sum(X, expansions):
    return np.logaddexp.reduce([reference.log_expansion(X, *each) for each in expansions])


@pytest.mark.parametrize("n_parts", [1, 3])
def test_the_log_of_a_sum_against_float64_reference_near_and_far(n_parts):
    parts, expansions = mapped_parts()
    X = rows_at(0.0, 1.0, 10.0, 26.0, 60.0, 1e3, 1e5, 1e100)
    expected = naive_log_sum(X, expansions[:n_parts])
    np.testing.assert_allclose(log_sum(X, parts[:n_parts]), expected, **ROUNDING)
    with thread_map(2) as run:
        np.testing.assert_array_equal(log_sum(X, parts, run), log_sum(X, parts))
    near = X[:100]
    np.testing.assert_allclose(np.log(sum_of(near, parts)), naive_log_sum(near, expansions), **ROUNDING)
    assert log_sum(X[:0], parts).shape == (0,)


def test_where_values_end_and_logs_begin_nothing_shows():
    parts, expansions = mapped_parts()
    X = np.linspace(49.0, 62.0, 2000)[:, np.newaxis] * [[1.0, 0.0, 0.0]]
    values, logs = sum_of(X, parts), log_sum(X, parts)
    assert values.min() < LEAST < values.max()
    np.testing.assert_allclose(logs, naive_log_sum(X, expansions), **ROUNDING)
    assert (np.diff(logs) < 0).all()


@pytest.mark.parametrize("precision", ["single", "mixed"])
def test_in_float32_logs_have_the_error_of_values_and_none_where_these_are_small(precision):
    parts, expansions = mapped_parts(precision)
    X = rows_at(*np.linspace(0.0, 60.0, 61))
    expected, logs = naive_log_sum(X, expansions), log_sum(X, parts)
    np.testing.assert_allclose(logs, expected, rtol=0.0, atol=1e-5)
    small = expected < np.log(SMALL) - 1e-3
    assert 0 < small.sum() < len(X)
    np.testing.assert_allclose(logs[small], expected[small], **ROUNDING)
    assert np.abs(logs - expected)[~small].max() > 1e-9


def test_rough_logs_end_where_values_underflow():
    values = np.array([1.0, np.exp(-5.0), 1e-300, 0.0])
    np.testing.assert_allclose(rough_logs(values), [0.0, -5.0, np.log(1e-300), NO_KERNEL], rtol=1e-15)
    assert rough_logs(values[:0]).shape == (0,)


# ---------------------------------------------------------------- a value


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
