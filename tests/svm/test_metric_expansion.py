from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.parallel import thread_map
from mvset.svm.expansion import kernel_expansion
from mvset.svm.metric import Metric
from mvset.svm.metric_expansion import MetricExpansion, metric_expansion

NAMES = ("standard", "robust", "whiten")


def three_metrics(X):
    """A metric of each kind, each fitted to other rows."""
    return [Metric.fitted(name, X[i::4], X.std(axis=0)) for i, name in enumerate(NAMES)]


def random_weights(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(3, n)) * (rng.uniform(size=(3, n)) < 0.4)


def test_expansion_against_float64_reference(table):
    weights = random_weights(len(table))
    function = metric_expansion(table, weights, 0.7, three_metrics(table))
    precisions = [reference.precision(name, table[i::4]) for i, name in enumerate(NAMES)]
    expected = reference.metric_expansion(table, table, weights, 0.7, precisions)
    np.testing.assert_allclose(function(table), expected, rtol=1e-9)
    np.testing.assert_allclose(replace(function, precision="single")(table), expected, rtol=2e-5)


def test_without_units_and_correlations_it_is_the_plain_expansion():
    X, weights = np.random.default_rng(0).normal(size=(200, 3)), random_weights(200)[:1]
    plain = kernel_expansion(X, weights[0], 0.8)
    for mixing in (np.empty((0, 0)), np.eye(3)):
        function = metric_expansion(X, weights, 0.8, [Metric(np.ones(3), mixing)])
        np.testing.assert_allclose(function(X), plain(X), rtol=1e-10)
        np.testing.assert_array_equal(function.units, plain.units)


def test_only_rows_with_a_weight_are_centres_and_each_metric_has_its_own():
    X, weights = np.random.default_rng(0).normal(size=(200, 3)), random_weights(200)
    function = metric_expansion(X, weights, 0.8, three_metrics(X))
    np.testing.assert_array_equal(function.centres, X[weights.any(axis=0)])
    assert len(function.centres) < 200
    assert [len(part.centres) for part in function.parts] == np.count_nonzero(weights, axis=1).tolist()


def test_units_are_the_mean_over_the_metrics():
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 10.0, 100.0]
    metrics = three_metrics(X)
    function = metric_expansion(X, random_weights(200), 0.8, metrics)
    np.testing.assert_allclose(function.units, sum(metric.conditional_scales for metric in metrics) / 3)


def test_rows_far_from_zero():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), random_weights(200)
    near, far = (metric_expansion(X + shift, weights, 0.8, three_metrics(X)) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far(X + 1e7), near(X), rtol=1e-6)


def test_no_row_depends_on_the_others_or_on_threads():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(300, 3)), rng.normal(size=(3000, 3))
    function = metric_expansion(X, random_weights(300), 0.6, three_metrics(X))
    together = function(new)
    with thread_map(3) as run:
        np.testing.assert_array_equal(function(new, run), together)
    np.testing.assert_allclose(function(new[::-1])[::-1], together, rtol=1e-14)
    np.testing.assert_allclose([function(row[np.newaxis])[0] for row in new[:50]], together[:50], rtol=1e-14)


def test_extreme_values_are_zero():
    X = np.random.default_rng(0).normal(size=(200, 3))
    function = metric_expansion(X, random_weights(200), 0.8, three_metrics(X))
    far = np.array([[1e300, 0.0, 0.0], [-1.7e308, 1.7e308, 1.7e308], [1e5, 0.0, 0.0]])
    for precision in ("single", "double", "mixed"):
        np.testing.assert_array_equal(replace(function, precision=precision)(far), 0.0)
    assert function(X[:0]).shape == (0,)


def parts(**changes):
    metrics = [Metric(np.ones(2), np.empty((0, 0))), Metric(np.ones(2), np.eye(2))]
    good = {"centres": np.zeros((3, 2)), "weights": np.ones((2, 3)), "sigma": 1.0, "origin": np.zeros(2)}
    return {**good, "metrics": metrics, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"centres": np.full((3, 2), np.nan)},
        {"centres": np.zeros((4, 2))},
        {"centres": np.zeros((3, 3)), "origin": np.zeros(3)},
        {"weights": np.ones((3, 3))},
        {"weights": np.ones(3)},
        {"weights": np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])},
        {"origin": np.zeros(3)},
        {"metrics": []},
        {"metrics": [np.ones(2), np.ones(2)]},
        {"metrics": [], "weights": np.ones((0, 3))},
    ],
)
def test_damaged_parts_are_refused_also_when_unpickled(changes):
    with pytest.raises(ValueError, match="MetricExpansion"):
        MetricExpansion(**parts(**changes))
    with pytest.raises(ValueError, match="MetricExpansion"):
        object.__new__(MetricExpansion).__setstate__(parts(**changes))


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan])
def test_a_bandwidth_that_is_none_is_refused(sigma):
    with pytest.raises(ValueError, match="Expansion"):
        MetricExpansion(**parts(sigma=sigma))(np.zeros((1, 2)))


def test_equal_by_content():
    function = MetricExpansion(**parts())
    function(np.zeros((1, 2)))
    assert function == pickle.loads(pickle.dumps(function))
    assert function != MetricExpansion(**parts(sigma=2.0))
    assert function != MetricExpansion(**parts(metrics=[Metric(np.ones(2), np.eye(2))] * 2))
