from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import oas

from mvset.volume.proposal import N_GUARDS, N_SCALES, Proposal, ladder, shrunk_covariance
from mvset.volume.shapes import Box, Cover, Ellipsoid


def proposal_of(*bodies):
    scales = np.stack([ladder(0.5, 1.5) for _ in bodies])
    return Proposal(bodies, scales, np.full(scales.shape, 1.0 / scales.size))


@pytest.fixture
def proposal():
    return proposal_of(
        Box(np.zeros(2), np.array([3.0, 3.0])),
        Cover(np.array([[0.0, 0.0], [2.0, 1.0]]), np.ones(2)),
        Ellipsoid(np.array([1.0, 0.0]), np.diag([1.0, 0.5])),
        Ellipsoid(np.array([-1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.7]])),
    )


def test_density_integrates_to_one_and_is_that_of_the_draws(proposal):
    rng = np.random.RandomState(0)
    grid = rng.uniform(-4.5, 4.5, size=(200_000, 2))
    density = np.exp(proposal.log_density(proposal.places(grid)))
    assert 81 * density.mean() == pytest.approx(1.0, abs=4 * 81 * density.std() / np.sqrt(200_000))
    points = proposal.draw(50_000, rng)
    in_patch = (np.abs(grid - [0.8, 0.1]) < 0.4).all(axis=1)
    expected = 81 * (density * in_patch).mean()
    found = np.mean((np.abs(points - [0.8, 0.1]) < 0.4).all(axis=1))
    assert found == pytest.approx(expected, abs=5 * np.sqrt(expected / 50_000))


def test_every_draw_has_a_density(proposal):
    points = proposal.draw(20_000, np.random.RandomState(1))
    assert np.isfinite(proposal.log_density(proposal.places(points))).all()


def look_at_disc(proposal, seed=0, radius=0.5):
    """Points drawn, those in a disc around (1, 0), and the weights that make them uniform there."""
    points = proposal.draw(4000, np.random.RandomState(seed))
    points = points[np.linalg.norm(points - [1.0, 0.0], axis=1) < radius]
    places = proposal.places(points)
    uniform = np.exp(-proposal.log_density(places))
    return points, places, uniform / uniform.sum()


def hit_share(proposal, seed=5):
    points = proposal.draw(4000, np.random.RandomState(seed))
    return np.mean(np.linalg.norm(points - [1.0, 0.0], axis=1) < 0.5)


def test_reweighting_and_reshaping_move_the_law_to_the_set(proposal):
    points, places, uniform = look_at_disc(proposal)
    reweighted = proposal.reweighted(places, uniform)
    assert reweighted.weights.sum() == pytest.approx(1.0)
    assert hit_share(reweighted) > 2 * hit_share(proposal)
    reshaped = reweighted.reshaped(points, places, uniform)
    _, places, uniform = look_at_disc(reshaped, seed=1)
    assert hit_share(reshaped.reweighted(places, uniform)) > 0.85


def test_em_steps_raise_the_likelihood(proposal):
    _, places, uniform = look_at_disc(proposal)
    likelihood = [uniform @ p.log_density(places) for p in (proposal, proposal.reweighted(places, uniform))]
    assert likelihood[1] > likelihood[0]


def test_the_guards_are_never_dropped(proposal):
    _, places, uniform = look_at_disc(proposal)
    kept = proposal.reweighted(places, uniform)
    kept = kept.kept(kept.main_bodies())
    assert list(kept.bodies[:N_GUARDS]) == list(proposal.bodies[:N_GUARDS])
    assert len(kept.bodies) <= len(proposal.bodies)
    corner = np.array([[4.4, 4.4]])
    assert np.isfinite(kept.log_density(kept.places(corner))).all()


def test_defence_keeps_every_scale_in_play(proposal):
    _, places, uniform = look_at_disc(proposal)
    defended = proposal.reweighted(places, uniform).defended(0.15)
    assert defended.weights.sum() == pytest.approx(1.0)
    assert (defended.weights[:N_GUARDS] > 0).all()


def test_ladder():
    scales = ladder(2.0, 8.0)
    assert len(scales) == N_SCALES
    np.testing.assert_allclose(scales[1:] / scales[:-1], 4.0 ** (1 / (N_SCALES - 1)))


def test_shrunk_covariance_is_oas_for_equal_weights():
    X = np.random.default_rng(0).normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(shrunk_covariance(centred, np.full(40, 1 / 40)), oas(X)[0])
