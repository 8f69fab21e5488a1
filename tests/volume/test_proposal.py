from dataclasses import replace

import numpy as np
import pytest
from sklearn.covariance import oas

from mvset.volume.proposal import N_DEFENSIVE, N_SCALES, Proposal, geometric_scales, shrunk_covariance
from mvset.volume.shapes import Balls, Box, Ellipsoid


@pytest.fixture
def proposal():
    shapes = (
        Box(np.zeros(2), np.array([3.0, 3.0])),
        Balls(np.array([[0.0, 0.0], [2.0, 1.0]]), np.ones(2)),
        Ellipsoid(np.array([1.0, 0.0]), np.diag([1.0, 0.5])),
        Ellipsoid(np.array([-1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.7]])),
    )
    scales = np.stack([geometric_scales(0.5, 1.5) for _ in shapes])
    return Proposal(shapes, scales, np.full(scales.shape, 1.0 / scales.size))


def test_density_integrates_to_one_and_is_that_of_the_draws(proposal):
    rng = np.random.RandomState(0)
    uniform = rng.uniform(-4.5, 4.5, size=(100_000, 2))
    density = np.exp(proposal.log_density(proposal.coverages(uniform)))
    assert 81 * density.mean() == pytest.approx(1.0, abs=4 * 81 * density.std() / np.sqrt(100_000))
    points = proposal.draw(50_000, rng)
    in_patch = (np.abs(uniform - [0.8, 0.1]) < 0.4).all(axis=1)
    expected = 81 * (density * in_patch).mean()
    found = np.mean((np.abs(points - [0.8, 0.1]) < 0.4).all(axis=1))
    assert found == pytest.approx(expected, abs=5 * np.sqrt(expected / 50_000))


def test_every_draw_has_a_density(proposal):
    points = proposal.draw(20_000, np.random.RandomState(1))
    assert np.isfinite(proposal.log_density(proposal.coverages(points))).all()


def points_in_disc(proposal, seed=0, radius=0.5):
    """Draws in a disc around (1, 0), their coverages, and the weights that make them uniform in the disc."""
    points = proposal.draw(4000, np.random.RandomState(seed))
    points = points[np.linalg.norm(points - [1.0, 0.0], axis=1) < radius]
    coverages = proposal.coverages(points)
    target_weights = np.exp(-proposal.log_density(coverages))
    return points, coverages, target_weights / target_weights.sum()


def hit_rate(proposal, seed=5):
    points = proposal.draw(4000, np.random.RandomState(seed))
    return np.mean(np.linalg.norm(points - [1.0, 0.0], axis=1) < 0.5)


def test_reweighting_and_refitting_move_the_distribution_to_the_set(proposal):
    points, coverages, target_weights = points_in_disc(proposal)
    reweighted = proposal.reweighted(coverages, target_weights)
    assert reweighted.weights.sum() == pytest.approx(1.0)
    assert hit_rate(reweighted) > 2 * hit_rate(proposal)
    refitted = reweighted.refitted(points, coverages, target_weights)
    assert refitted.weights.sum() == pytest.approx(1.0)
    _, coverages, target_weights = points_in_disc(refitted, seed=1)
    assert hit_rate(refitted.reweighted(coverages, target_weights)) > 0.85


def test_a_refit_adds_the_box_around_the_points_and_ellipsoids_with_their_moments(proposal):
    points, coverages, target_weights = points_in_disc(proposal)
    refitted = proposal.refitted(points, coverages, target_weights)
    box, ellipsoid = refitted.shapes[4:]  # the other ellipsoid has hardly any of the points
    np.testing.assert_allclose(box.centre, Box.around(points).centre)
    np.testing.assert_allclose(refitted.scales[4, [0, -1]], [0.8, 1.2])
    np.testing.assert_allclose(ellipsoid.centre, [1.0, 0.0], atol=0.05)
    np.testing.assert_allclose(ellipsoid.factor @ ellipsoid.factor.T, 0.25**2 * np.eye(2), atol=0.01)
    # The disc ends at two standard deviations; a tenth of it lies within the root of a tenth of its radius.
    np.testing.assert_allclose(refitted.scales[5, [0, -1]], [2.0 * np.sqrt(0.1), 2.2], rtol=0.1)
    np.testing.assert_allclose(refitted.weights[:4], 0.5 * proposal.weights)
    assert refitted.weights[4:].sum() == pytest.approx(0.5)
    density = np.exp(proposal._log_shape_densities(coverages))
    shares = (density / density.sum(axis=0)) @ target_weights
    added = np.array([shares[0] + 0.05, shares[2]])
    np.testing.assert_allclose(refitted.weights[4:].sum(axis=1), 0.5 * added / added.sum())


def test_few_points_do_not_determine_an_ellipsoid(proposal):
    points, _, _ = points_in_disc(proposal)
    for n_points, n_ellipsoids in ((3, 0), (40, 1)):
        some = points[:: len(points) // n_points]
        coverages = proposal.coverages(some)
        refitted = proposal.refitted(some, coverages, np.full(len(some), 1.0 / len(some)))
        assert len(refitted.shapes) == 4 + 1 + n_ellipsoids


def test_the_largest_shapes_are_kept(proposal):
    weights = np.repeat([[0.0], [0.1], [0.0], [0.9]], N_SCALES, axis=1) / N_SCALES
    lopsided = replace(proposal, weights=weights)
    np.testing.assert_array_equal(lopsided.largest_shapes(), [0, 1, 2, 3])  # a dozen at most
    restricted = lopsided.restricted_to(np.array([0, 1, 3]))
    assert list(restricted.shapes) == [proposal.shapes[k] for k in (0, 1, 3)]
    np.testing.assert_allclose(restricted.weights.sum(axis=1), np.array([0.002, 0.102, 0.9]) / 1.004)
    np.testing.assert_array_equal(lopsided.weights, weights)


def test_em_steps_raise_the_likelihood(proposal):
    _, coverages, target_weights = points_in_disc(proposal)
    reweighted = proposal.reweighted(coverages, target_weights)
    before, after = (target_weights @ p.log_density(coverages) for p in (proposal, reweighted))
    assert after > before


def test_defensive_shapes_are_never_dropped(proposal, monkeypatch):
    monkeypatch.setattr("mvset.volume.proposal._MAX_SHAPES", 1)
    _, coverages, target_weights = points_in_disc(proposal)
    reweighted = proposal.reweighted(coverages, target_weights)
    kept = reweighted.restricted_to(reweighted.largest_shapes())
    assert list(kept.shapes) == list(proposal.shapes[: N_DEFENSIVE + 1])  # the ellipsoid around the disc is the largest
    corner = np.array([[4.4, 4.4]])
    assert reweighted.log_density(reweighted.coverages(corner)) < -20
    assert (
        kept.log_density(kept.coverages(corner)) > np.log(2e-3 / N_SCALES / 81) - 0.01
    )  # the box at its largest scale


def test_defence_spreads_weight_over_all_scales_and_to_the_next_larger_one(proposal):
    weights = np.zeros((4, N_SCALES))
    weights[2, 5], weights[3, -1] = 0.5, 0.5
    defended = replace(proposal, weights=weights).with_defence(0.15).weights
    expected = np.zeros((4, N_SCALES))
    expected[2:] = 0.15 * 0.5 / N_SCALES
    expected[2, 5:7] += [0.85 * 0.8 * 0.5, 0.85 * 0.2 * 0.5]
    expected[3, -1] += 0.85 * 0.5
    np.testing.assert_allclose(defended, expected)


def test_geometric_scales():
    scales = geometric_scales(2.0, 8.0)
    assert len(scales) == N_SCALES
    np.testing.assert_allclose(scales[1:] / scales[:-1], 4.0 ** (1 / (N_SCALES - 1)))
    np.testing.assert_allclose(scales[[0, -1]], [2.0, 8.0])


def test_shrunk_covariance_of_weighted_rows():
    """Weights whose squares have the sum 1/n count as n rows: with equal ones that is sklearn's oas."""
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 2, 3]
    weights = np.repeat([1.0, 3.0], 30) / 120
    covariance = (X * weights[:, np.newaxis]).T @ X
    square, variance = np.mean(covariance**2), np.trace(covariance) / 3
    shrinkage = (square + variance**2) / ((48 + 1) * (square - variance**2 / 3))
    assert 0.02 < shrinkage < 0.2
    found = shrunk_covariance(X, weights)
    np.testing.assert_allclose(found, (1 - shrinkage) * covariance + shrinkage * variance * np.eye(3))


def test_the_covariance_of_a_ball_is_not_shrunk():
    ball = np.sqrt(3.0) * np.eye(3)
    np.testing.assert_allclose(shrunk_covariance(ball, np.full(3, 1 / 3)), np.eye(3), atol=1e-12)


def test_shrunk_covariance_is_oas_for_equal_weights():
    X = np.random.default_rng(0).normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(shrunk_covariance(centred, np.full(40, 1 / 40)), oas(X)[0])
