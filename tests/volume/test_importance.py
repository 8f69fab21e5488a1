from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from mvset import MinimumVolumeSet
from mvset.datasets import two_moons
from mvset.volume.importance import ImportanceSampler
from mvset.volume.measure import measure
from shapes import Ball, Union, closed_form

SHAPES = ["ball", "box", "box of a Gaussian", "ellipsoid", "needle", "two components"]


def estimate(name, d, seed, n_points=20_000):
    X, body = closed_form(name, d, seed)
    probe = ImportanceSampler(X, np.random.RandomState(seed)).draw(n_points, body.contains)
    return measure(probe, body.contains(probe.points)[:, np.newaxis]).estimate(0), body.log_volume


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("d", "tolerance"), [(2, 0.02), (8, 0.02), (20, 0.05), (30, 0.15)])
def test_closed_forms(name, d, tolerance):
    for seed in range(3):
        volume, truth = estimate(name, d, seed)
        assert abs(volume.log_value - truth) <= tolerance
        assert volume.standard_error / volume.value <= tolerance
        assert volume.effective_sample_size > 200


def test_errors_are_honest():
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
    X, body = closed_form("ball", 50, 0)
    probe = ImportanceSampler(scale * X, np.random.RandomState(0)).draw(5000, lambda p: body.contains(p / scale))
    volume = measure(probe, body.contains(probe.points / scale)[:, np.newaxis]).estimate(0)
    assert volume.log_value == pytest.approx(body.log_volume + 50 * np.log(scale), abs=0.1)


def test_a_constant_column_leaves_the_volume_of_the_slice():
    X, body = closed_form("ball", 4, 0)
    X = np.insert(X, 2, 7.0, axis=1)
    inside = lambda points: body.contains(np.delete(points, 2, axis=1))  # noqa: E731
    probe = ImportanceSampler(X, np.random.RandomState(0)).draw(5000, inside)
    assert (probe.points[:, 2] == 7.0).all()
    volume = measure(probe, inside(probe.points)[:, np.newaxis]).estimate(0)
    assert volume.log_value == pytest.approx(body.log_volume, abs=0.05)


def test_sets_without_bounds_are_measured_in_the_box_half_as_large_again():
    X = np.random.default_rng(0).uniform(size=(500, 4))
    everything = lambda points: np.ones(len(points), bool)  # noqa: E731
    probe = ImportanceSampler(X, np.random.RandomState(0)).draw(5000, everything)
    volume = measure(probe, everything(probe.points)[:, np.newaxis]).estimate(0)
    assert volume.value == pytest.approx((1.5 * np.ptp(X, axis=0)).prod(), rel=4 / np.sqrt(5000))


def test_a_target_that_no_point_reaches_leaves_the_law_as_it_is():
    X = np.random.default_rng(0).normal(size=(100, 3))
    probe = ImportanceSampler(X, np.random.RandomState(0)).draw(1000, lambda points: np.zeros(len(points), bool))
    assert np.isfinite(probe.log_weights).any()


@pytest.mark.parametrize("kind", ["correlated", "curved"])
def test_hard_kernel_sets_have_honest_errors(kind):
    """Rows of condition number 10 000, and moons folded into six columns: the spread over draws is as reported."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    if kind == "correlated":
        X = rng.normal(size=(500, 6)) * np.geomspace(0.01, 1.0, 6) @ rotation
    else:
        X = np.hstack([two_moons(500, 0.05, random_state=0), 0.02 * rng.normal(size=(500, 4))]) @ rotation
    model = MinimumVolumeSet(random_state=0).fit(X)
    inside = lambda points: model.predict(points) == 1  # noqa: E731
    volumes = []
    for seed in range(20):
        probe = ImportanceSampler(X, np.random.RandomState(seed)).draw(10_000, inside)
        volumes.append(measure(probe, inside(probe.points)[:, np.newaxis]).estimate(0))
    values = np.array([volume.value for volume in volumes])
    reported = np.sqrt(np.mean([volume.standard_error**2 for volume in volumes]))
    assert values.std(ddof=1) < 1.6 * reported  # four standard deviations of a spread over 20
    assert reported < 0.2 * values.mean()


def test_a_small_far_cluster_is_not_missed():
    """380 rows around the origin, 20 wide ones far away, ten columns: nearly all the volume is theirs."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(380, 10)) / 3, 30 + rng.normal(size=(20, 10))])
    radius = np.sqrt(chi2.ppf(0.95, 10))
    both = Union([Ball(np.zeros(10), radius / 3), Ball(np.full(10, 30.0), radius)])
    z = []
    for seed in range(12):
        probe = ImportanceSampler(X, np.random.RandomState(seed)).draw(10_000, both.contains)
        volume = measure(probe, both.contains(probe.points)[:, np.newaxis]).estimate(0)
        z.append((volume.value - np.exp(both.log_volume)) / volume.standard_error)
    assert np.sqrt(np.mean(np.square(z))) < 2.0
