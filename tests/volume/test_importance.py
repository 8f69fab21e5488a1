import warnings

import numpy as np
import pytest
from scipy.stats import chi2

from mvset import MinimumVolumeSet
from mvset.paper.datasets import two_moons
from mvset.volume.importance import ImportanceSampler, _far_apart, _halves, _patch_ellipsoids, _spacing
from mvset.volume.measure import measure
from shapes import Ball, Union, closed_form

SHAPES = ["ball", "box", "box of a Gaussian", "ellipsoid", "needle", "two components"]


def volume_of(sample, contains):
    return measure(sample, contains(sample.points)[:, np.newaxis]).estimate(0)


def estimate(name, d, seed, n_points):
    X, shape = closed_form(name, d, seed)
    sample = ImportanceSampler(X, np.random.RandomState(seed)).draw(n_points, shape.contains)
    return volume_of(sample, shape.contains), shape.log_volume


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("d", "largest_error"),
    [
        (2, 0.012),
        pytest.param(8, 0.015, marks=pytest.mark.slow),
        (20, 0.025),
        pytest.param(30, 0.06, marks=pytest.mark.slow),
    ],
)
def test_closed_forms(name, d, largest_error):
    for seed in range(3):
        volume, truth = estimate(name, d, seed, n_points=10_000)
        error = volume.standard_error / volume.value
        assert error <= largest_error
        assert abs(volume.log_value - truth) <= 4 * error


@pytest.mark.slow
def test_standard_errors_are_calibrated():
    """120 estimates in 4 to 12 dimensions: their errors in units of the standard error are standard normal."""
    z = []
    for name in SHAPES:
        for seed in range(20):
            volume, truth = estimate(name, 4 + 4 * (seed % 3), seed, n_points=3000)
            z.append((volume.value / np.exp(truth) - 1.0) * volume.value / volume.standard_error)
    z = np.array(z)
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / len(z)))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_fifty_dimensions_neither_overflow_nor_underflow(scale):
    X, shape = closed_form("ball", 50, 0)
    contains = lambda points: shape.contains(points / scale)  # noqa: E731
    volume = volume_of(ImportanceSampler(scale * X, np.random.RandomState(0)).draw(5000, contains), contains)
    assert volume.log_value == pytest.approx(shape.log_volume + 50 * np.log(scale), abs=0.1)


def test_a_constant_column_gives_the_volume_of_the_slice():
    X, shape = closed_form("ball", 4, 0)
    X = np.insert(X, 2, 7.0, axis=1)
    contains = lambda points: shape.contains(np.delete(points, 2, axis=1))  # noqa: E731
    sample = ImportanceSampler(X, np.random.RandomState(0)).draw(5000, contains)
    assert (sample.points[:, 2] == 7.0).all()
    assert volume_of(sample, contains).log_value == pytest.approx(shape.log_volume, abs=0.05)


def test_unbounded_sets_are_measured_in_the_box_enlarged_by_half():
    X = np.random.default_rng(0).uniform(size=(500, 4))
    everything = lambda points: np.ones(len(points), bool)  # noqa: E731
    sample = ImportanceSampler(X, np.random.RandomState(0)).draw(5000, everything)
    domain = (1.5 * np.ptp(X, axis=0)).prod()
    assert volume_of(sample, everything).value == pytest.approx(domain, rel=4 / np.sqrt(5000))


def test_after_a_target_that_no_point_hits_other_sets_are_still_measured():
    X, shape = closed_form("ball", 3, 0)
    nothing = lambda points: np.zeros(len(points), bool)  # noqa: E731
    sample = ImportanceSampler(X, np.random.RandomState(0)).draw(5000, nothing)
    volume = volume_of(sample, shape.contains)
    error = volume.standard_error / volume.value
    assert error < 0.05
    assert volume.log_value == pytest.approx(shape.log_volume, abs=4 * error)


@pytest.mark.parametrize("kind", ["correlated", pytest.param("curved", marks=pytest.mark.slow)])
def test_standard_errors_of_hard_kernel_sets(kind):
    """Rows of condition number 10 000, and moons folded into six columns: the spread over draws is as reported."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    if kind == "correlated":
        X, sigma = rng.normal(size=(500, 6)) * np.geomspace(0.01, 1.0, 6) @ rotation, 0.25
    else:
        X = np.hstack([two_moons(500, 0.05, random_state=0), 0.02 * rng.normal(size=(500, 4))]) @ rotation
        sigma = 0.15
    model = MinimumVolumeSet(sigma=sigma, splits=3, random_state=0).fit(X)
    contains = lambda points: model.predict(points) == 1  # noqa: E731
    samplers = [ImportanceSampler(X, np.random.RandomState(seed)) for seed in range(20)]
    volumes = [volume_of(sampler.draw(5000, contains), contains) for sampler in samplers]
    values = np.array([volume.value for volume in volumes])
    reported = np.sqrt(np.mean([volume.standard_error**2 for volume in volumes]))
    assert values.std(ddof=1) < 1.6 * reported  # four standard deviations of a spread over 20
    assert reported < 0.05 * values.mean()


def test_a_small_far_cluster_is_not_missed():
    """380 rows around the origin and 20 far away, ten columns: the far cluster has nearly all the volume."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(380, 10)) / 3, 30 + rng.normal(size=(20, 10))])
    radius = np.sqrt(chi2.ppf(0.95, 10))
    both = Union([Ball(np.zeros(10), radius / 3), Ball(np.full(10, 30.0), radius)])
    z = []
    for seed in range(12):
        sample = ImportanceSampler(X, np.random.RandomState(seed)).draw(10_000, both.contains)
        volume = volume_of(sample, both.contains)
        z.append((volume.value - np.exp(both.log_volume)) / volume.standard_error)
    assert np.sqrt(np.mean(np.square(z))) < 2.0


@pytest.mark.parametrize(("seed", "n", "d"), [(0, 120, 60), (4, 60, 40), (5, 60, 40)])
def test_shapes_that_account_for_nothing_are_not_refitted(seed, n, d):
    """Hardly more rows than columns: the moments of such shapes are rounding errors, and have no Cholesky factor."""
    rng = np.random.default_rng(seed)
    for rows, columns in ((120, 60), (33, 19), (60, 40)):
        X = np.hstack([rng.uniform(size=(rows, columns // 2)) < 0.2, rng.lognormal(size=(rows, columns // 2))])
        if (rows, columns) == (n, d):
            break
    X = X[:, np.ptp(X, axis=0) > 0].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with warnings.catch_warnings(action="ignore"):
        model = MinimumVolumeSet(sigma=[2.0, 4.0, 6.0], splits=3, random_state=seed).fit(X)
    contains = lambda points: model.predict(points) == 1  # noqa: E731
    sampler = ImportanceSampler(X, np.random.RandomState(seed))
    for _ in range(2):
        assert np.isfinite(volume_of(sampler.draw(1000, contains), contains).log_value)


def test_rows_far_apart_reach_every_corner():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 2)), [[50.0, 0.0], [0.0, 2.0], [0.0, -60.0]]])
    chosen = _far_apart(X, np.array([1.0, 100.0]))
    assert len(chosen) == len(np.unique(chosen, axis=0)) == 100
    np.testing.assert_array_equal(chosen[:2], [X[0], X[302]])
    assert (chosen == X[300]).all(axis=1).any()
    np.testing.assert_array_equal(_far_apart(X[:3], np.ones(2))[0], X[0])
    assert len(_far_apart(X[:3], np.ones(2))) == 3


def test_spacing_is_the_median_distance_to_the_nearest_other_point():
    assert _spacing(np.array([[0.0], [0.0], [1.0], [3.0], [7.0]])) == 1.0


def test_halves_are_cut_across_the_longest_axis():
    X = np.array([[0.0, 0.0], [0.1, 1.0], [9.0, 0.0], [9.1, 1.0], [9.2, 0.5]])
    assert sorted(len(half) for half in _halves(X)) == [2, 3]
    assert all(np.ptp(half[:, 0]) < 1.0 for half in _halves(X))
    assert len(_halves(np.array([[0.0, 0.0], [5.0, 5.0], [5.1, 5.0]]))) == 1  # a single row has no extent


def test_few_rows_have_the_shrunk_ellipsoid_only():
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 2.0, 3.0] + 5.0
    sample, shrunk = _patch_ellipsoids(X)
    np.testing.assert_allclose(sample.factor @ sample.factor.T, np.cov(X.T, bias=True), atol=1e-6)
    np.testing.assert_allclose(sample.centre, X.mean(axis=0))
    assert np.trace(shrunk.factor @ shrunk.factor.T) == pytest.approx(np.cov(X.T, bias=True).trace(), rel=1e-6)
    assert len(_patch_ellipsoids(X[:11])) == 1
