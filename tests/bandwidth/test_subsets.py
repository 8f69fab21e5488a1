from __future__ import annotations

import warnings

import numpy as np
import pytest

import mvset.estimators.minimum_volume_set
from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture


@pytest.fixture
def forced(monkeypatch):
    """As if points never sufficed."""
    monkeypatch.setattr(mvset.estimators.minimum_volume_set, "points_are_too_few", lambda *_: True)


def test_chooses_as_the_volumes_do_where_they_can_be_measured(monkeypatch):
    """In twelve dimensions both work: within two steps of the grid of each other."""
    for seed in range(3):
        X = paper_mixture(12).sample(400, random_state=seed)
        by_volume = MinimumVolumeSet(random_state=seed).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr(mvset.estimators.minimum_volume_set, "points_are_too_few", lambda *_: True)
            by_subsets = MinimumVolumeSet(random_state=seed, n_volume_points=2000).fit(X)
        assert by_subsets.selection_.criterion == "feature subsets"
        assert "random subsets of 5 columns" in by_subsets.selection_.reason
        assert abs(np.log2(by_subsets.sigma_ / by_volume.sigma_)) < 2.1 / 3


def test_same_seed_same_choice(forced):
    X = paper_mixture(10).sample(200, random_state=0)
    fits = [MinimumVolumeSet(n_splits=3, n_volume_points=500, random_state=1, n_jobs=n).fit(X) for n in (1, 2)]
    assert fits[0].sigma_ == fits[1].sigma_
    assert fits[0].volume_ == fits[1].volume_


def test_a_hundred_columns_and_few_rows_warn_and_work():
    X = paper_mixture(100).sample(80, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MinimumVolumeSet(mass=0.9, n_splits=3, n_volume_points=50, random_state=0).fit(X)
    assert model.selection_.criterion == "feature subsets"
    assert any("400 are needed" in str(warning.message) for warning in caught)
    fresh = paper_mixture(100).sample(2000, random_state=1)
    assert 0.75 < np.mean(model.predict(fresh) == 1) <= 1.0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_with_five_columns_there_is_none_to_leave_out():
    X = paper_mixture(5).sample(100, random_state=0)
    model = MinimumVolumeSet(sigma=[1.0, 2.0], n_splits=2, n_volume_points=5, random_state=0).fit(X)
    assert model.selection_.effective_sample_size < 400
    assert model.selection_.criterion == "volume"
