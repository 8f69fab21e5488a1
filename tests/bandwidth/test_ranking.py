from __future__ import annotations

import warnings

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture, two_moons


def fitted(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MinimumVolumeSet(random_state=0, n_splits=3, **parameters).fit(X)


def test_all_curves_are_measured_on_the_same_points():
    model = fitted(paper_mixture(6).sample(300, random_state=0), sigma=[1.0, 2.0, 3.0])
    assert model.selection_.n_points == 10_000
    assert model.selection_.criterion == "volume"
    best = next(curve for curve in model.curves_ if curve.sigma == model.sigma_)
    assert model.selection_.effective_sample_size == pytest.approx(best.effective_sample_sizes[-1], rel=0.01)


@pytest.mark.parametrize(
    ("parameters", "criterion"),
    [
        ({"sigma": 3.0}, "given"),
        ({"sigma": [2.0, 3.0]}, "volume"),
        ({"sigma": [2.0, 3.0, 4.0], "volume_method": "importance", "n_volume_points": 100}, "volume"),
        ({"sigma": [2.0, 3.0, 4.0], "n_volume_points": 5}, "feature subsets"),
        ({"sigma": [2.0, 3.0, 4.0], "volume_method": "box", "n_volume_points": 100}, "middle"),
    ],
)
def test_the_selection_says_what_it_did(parameters, criterion):
    model = fitted(paper_mixture(15).sample(300, random_state=0), **parameters)
    assert model.selection_.criterion == criterion
    assert model.selection_.reason.endswith(".")


def test_rejects_a_hopeless_bandwidth_in_twenty_dimensions():
    """The volumes of very wide bandwidths are e² to e⁵ times that of the true set, of which the cube sees nothing."""
    mixture = paper_mixture(20)
    model = fitted(mixture.sample(500, random_state=0))
    assert 2.0 < model.sigma_ < 9.0
    assert model.volume_.log_value == pytest.approx(mixture.volume(0.95).log_value, abs=0.5)


def test_in_few_dimensions_points_suffice_for_the_set_chosen_too():
    """Heavy tails in two columns: the box is hit by the set of a wide bandwidth and hardly by the one chosen."""
    X = np.random.default_rng(0).standard_t(1.5, size=(800, 2))
    model = fitted(X)
    assert model.selection_.effective_sample_size >= 400


def test_extending_the_grid_keeps_the_points(monkeypatch):
    draws = []
    from mvset.volume.sampler import VolumeSampler

    original = VolumeSampler.draw
    monkeypatch.setattr(VolumeSampler, "draw", lambda *a, **k: draws.append(1) or original(*a, **k))
    monkeypatch.setattr("mvset.estimators.minimum_volume_set.bandwidth_grid", lambda X, rng: np.array([0.06, 0.05]))
    model = fitted(two_moons(400, random_state=0))
    assert len(model.curves_) > 5
    assert len(draws) == 1
