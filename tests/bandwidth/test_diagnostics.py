from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture, two_moons
from mvset.exceptions import (
    BandwidthEdgeWarning,
    BandwidthWarning,
    CalibrationWarning,
    VolumeWarning,
)


@pytest.mark.parametrize(("mass", "nu"), [(0.95, 0.05), (0.6, 0.4), (0.95, 0.1)])
def test_the_condition_on_nu_is_checked_and_the_advice_works(mass, nu):
    X = paper_mixture().sample(500, random_state=0)
    with pytest.warns(BandwidthWarning, match=rf"nu={nu:g} is too small here.*Try nu=") as caught:
        MinimumVolumeSet(mass, nu=nu, sigma=1.0, splits=3, random_state=0).fit(X)
    assert caught[0].filename == __file__
    suggested = float(re.search(r"Try nu=([0-9.]+) or more", str(caught[0].message))[1])
    assert suggested > nu
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MinimumVolumeSet(mass, nu=suggested, sigma=1.0, splits=3, random_state=0).fit(X)


def test_no_warning_on_ordinary_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MinimumVolumeSet(random_state=0).fit(paper_mixture().sample(500, random_state=0))


def test_unconverged_solves_warn_once_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"solves? did not converge: KKT gap up to [0-9.e-]+") as caught:
        MinimumVolumeSet(sigma=[0.4, 0.5], splits=3, max_iter=3, random_state=0).fit(two_moons(300, random_state=0))
    assert len([w for w in caught if w.category is ConvergenceWarning]) == 1


def test_unmeasured_volumes_warn():
    X = paper_mixture(15).sample(400, random_state=0)
    with pytest.warns(
        VolumeWarning, match=r"of 10000 sample points \(box\), the effective sample size in .* at sigma=3 is 0; "
    ):
        MinimumVolumeSet(sigma=3.0, splits=2, volume_method="box", random_state=0).fit(X)


def test_too_few_effective_points_warn_with_their_number():
    X = paper_mixture(15).sample(400, random_state=0)
    with pytest.warns(VolumeWarning, match=r"of 6 sample points \(importance\), .* is \d+; 400 are needed\. Of 3"):
        model = MinimumVolumeSet(sigma=[2.0, 3.0, 4.0], splits=2, n_volume_points=6, random_state=0).fit(X)
    assert model.selection_.criterion == "feature subsets"
    assert "400 are needed to compare volumes" in model.selection_.reason


@pytest.mark.parametrize("sigma", [1e-3, 1e9])
def test_a_hopeless_bandwidth_is_blamed_itself(sigma):
    with pytest.warns(BandwidthWarning, match="cannot describe these rows: every point of the box") as caught:
        MinimumVolumeSet(sigma=sigma, splits=2, random_state=0).fit(two_moons(300, random_state=0))
    assert len(caught) == 1


def test_a_mass_that_the_held_out_rows_cannot_resolve_warns():
    X = two_moons(200, random_state=0)
    with pytest.warns(CalibrationWarning, match=r"80 held-out rows cannot resolve mass=0.99: .* 99 are needed"):
        MinimumVolumeSet(0.99, sigma=0.5, splits=2, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MinimumVolumeSet(0.9875, sigma=0.5, splits=2, random_state=0).fit(X)


def test_by_the_rule_of_the_paper_each_split_must_resolve_the_mass():
    X = two_moons(200, random_state=0)
    with pytest.warns(CalibrationWarning, match="40 held-out rows cannot resolve mass=0.98"):
        MinimumVolumeSet(0.98, sigma=0.5, splits=2, calibration="paper", random_state=0).fit(X)


def test_best_bandwidth_on_the_edge_warns():
    with pytest.warns(BandwidthEdgeWarning, match="is the smallest of the 3 tried"):
        MinimumVolumeSet(sigma=[1, 2, 3], splits=2, random_state=0).fit(two_moons(300, random_state=0))


def test_a_bandwidth_that_nu_stops_from_being_narrower_warns_and_the_advice_works():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (300, 2))
    X = np.hstack([np.cos(angles), np.sin(angles)]) + 0.02 * np.random.default_rng(1).normal(size=(300, 4))
    settings = {"metric": None, "splits": 5, "random_state": 0}
    with pytest.warns(
        BandwidthEdgeWarning, match=r"is the narrowest that nu=0\.4 allows: .* with a larger nu"
    ) as caught:
        model = MinimumVolumeSet(nu=0.4, **settings).fit(X)
    assert len(caught) == 1
    assert f"sigma={model.sigma_:.4g}," in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MinimumVolumeSet(nu=0.8, **settings).fit(X)
        MinimumVolumeSet(**settings).fit(X)


def test_a_bandwidth_that_is_a_guess_is_called_one():
    X = paper_mixture(15).sample(300, random_state=0)
    with pytest.warns(VolumeWarning, match=r"sigma=3, is a guess\. The middle of .* or try 'auto'"):
        MinimumVolumeSet(sigma=[2.0, 3.0, 4.0], splits=2, volume_method="box", random_state=0).fit(X)
