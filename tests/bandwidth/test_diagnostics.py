import re
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mvset import MinimumVolumeSet
from mvset.bandwidth.choice import Selection
from mvset.bandwidth.curves import BandwidthCurve
from mvset.bandwidth.diagnostics import warn_about_bandwidth, warn_if_unmeasured
from mvset.exceptions import (
    BandwidthEdgeWarning,
    BandwidthWarning,
    CalibrationWarning,
    VolumeWarning,
)
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.svm.dual import Solver
from mvset.svm.expansion import NO_KERNEL
from mvset.volume.measure import VolumeSample


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


def test_unconverged_solves_warn_once_with_the_gap(monkeypatch):
    monkeypatch.setattr("mvset.bandwidth.shape.Solver", partial(Solver, max_iter=3))
    with pytest.warns(ConvergenceWarning, match=r"solves? did not converge: KKT gap up to [0-9.e-]+") as caught:
        MinimumVolumeSet(sigma=[0.4, 0.5], splits=3, random_state=0).fit(two_moons(300, random_state=0))
    assert len([w for w in caught if w.category is ConvergenceWarning]) == 1


def test_too_few_effective_points_warn_with_their_number():
    """Eight times as many as asked for are drawn at most."""
    X = paper_mixture(6).sample(400, random_state=0)
    expected = r"of 160 sample points \(importance\), .* is \d+; 400 are needed\. Raise n_volume_points\.$"
    with pytest.warns(VolumeWarning, match=expected):
        MinimumVolumeSet(sigma=2.0, splits=2, n_volume_points=20, random_state=0).fit(X)


def test_many_columns_warn_where_volumes_of_the_sets_cannot_be_measured():
    settings = {"splits": 3, "random_state": 0}
    X = paper_mixture(15).sample(400, random_state=0)
    with pytest.warns(VolumeWarning, match="With 15 columns volumes cannot be measured; .* by a bound") as caught:
        model = MinimumVolumeSet(n_volume_points=6, **settings).fit(X)
    assert len(caught) == 1
    assert model.selection_.criterion == "bound"
    assert not model.volume_.is_measured
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MinimumVolumeSet(**settings).fit(X)
    assert model.selection_.criterion == "bound"
    assert model.volume_.effective_sample_size >= 400


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


def test_best_bandwidth_on_the_edge_warns():
    with pytest.warns(BandwidthEdgeWarning, match="is the smallest of the 3 tried"):
        MinimumVolumeSet(sigma=[1, 2, 3], splits=2, random_state=0).fit(two_moons(300, random_state=0))


def test_a_bandwidth_that_nu_stops_from_being_narrower_warns_and_the_advice_works():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (300, 2))
    X = np.hstack([np.cos(angles), np.sin(angles)]) + 0.02 * np.random.default_rng(1).normal(size=(300, 4))
    settings = {"scaling": None, "splits": 5, "random_state": 0}
    with pytest.warns(
        BandwidthEdgeWarning, match=r"is the narrowest that nu=0\.4 allows\. .* with a larger nu"
    ) as caught:
        model = MinimumVolumeSet(nu=0.4, **settings).fit(X)
    assert len(caught) == 1
    assert f"bandwidth, {model.sigma_:.4g}," in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MinimumVolumeSet(nu=0.8, **settings).fit(X)
        MinimumVolumeSet(**settings).fit(X)


# ---------------------------------------------------------------- each warning alone


def curve(sigma=2.0, training_mass=0.5, offsets=(3.0, 2.0, 1.0), hits=500, sizes=(500.0, 500.0, 500.0)):
    zeros = np.zeros(3)
    return BandwidthCurve(
        masses=np.array([0.8, 0.85, 0.9]),
        offsets=np.array(offsets),
        volumes=zeros,
        log_volumes=zeros,
        standard_errors=zeros,
        hits=np.full(3, hits),
        effective_sample_sizes=np.array(sizes),
        area=0.0,
        area_error=0.0,
        mean_log_volume=0.0,
        sigma=sigma,
        training_mass=training_mass,
        split_log_volumes=zeros,
    )


def selection(
    values=(3.0, 1.0, 2.0), errors=0.1, nu=0.4, criterion="log volume", eligible=None, sigmas=None, method="box"
):
    n = len(values)
    return Selection(
        criterion,
        "So it is.",
        method,
        1000,
        800.0,
        sigmas=np.arange(1.0, n + 1) if sigmas is None else np.array(sigmas),
        values=np.array(values),
        errors=np.full(n, errors),
        eligible=np.ones(n, dtype=bool) if eligible is None else np.array(eligible),
        nus=np.full(n, nu),
    )


def said(curve, selection):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_bandwidth(curve, selection)
    assert len(caught) <= 1
    return str(caught[0].message) if caught else ""


def test_nothing_is_said_where_nothing_limits_the_choice():
    assert said(curve(), selection()) == ""
    assert said(curve(training_mass=0.8, sizes=(0.0, 0.0, 400.0)), selection()) == ""


def test_sets_that_hold_the_whole_box_are_blamed_on_the_bandwidth():
    assert "too narrow, or too wide" in said(curve(hits=1000), selection())
    assert "too narrow, or too wide" in said(curve(offsets=(NO_KERNEL, NO_KERNEL, NO_KERNEL)), selection())
    assert "too narrow, or too wide" in said(curve(offsets=(NO_KERNEL,) * 3), selection(method="importance"))
    assert said(curve(hits=999), selection()) == ""
    assert said(curve(hits=1000), selection(method="importance")) == ""
    assert said(curve(offsets=(-1.0, -2.0, -3.0)), selection()) == ""  # logarithms


@pytest.mark.parametrize(
    ("nu", "training_mass", "advice"),
    [
        (0.1, 0.9, "Try nu=0.25 or more"),  # 0.2 outliers are needed, 0.1 make nu: 1.1 * 0.2, rounded up
        (0.1, 0.99, "Try nu=1"),  # ten times as many as outliers, but five are the most: 1.1 * 0.2 * 5
        (0.1, 1.0, "Try nu=0.45 or more"),  # nothing is known: twice the outliers needed
        (0.7, 0.81, "Try nu=0.9 or more"),  # 1.1 * 0.2 * 0.7 / 0.19, and at least a quarter more
        (1.0, 0.9, "Use a larger mass"),
    ],
)
def test_the_nu_suggested_grows_with_the_outliers_needed(nu, training_mass, advice):
    found = said(curve(training_mass=training_mass), selection(nu=nu))
    assert f"{advice}. A wider sigma also helps." in found
    assert f"contains {training_mass:.3f} of its training rows, and must contain at most 0.800" in found


def test_the_nu_suggested_is_five_times_the_outliers_needed_at_most():
    barely = replace(curve(training_mass=0.99), masses=np.array([0.9, 0.92, 0.94]))
    assert "Try nu=0.55 or more" in said(barely, selection(nu=0.2))  # 1.1 * 0.1 * 5


def test_the_middle_bandwidth_is_a_guess():
    assert "bandwidth, 2, is a guess. So it is. Raise" in said(curve(), selection(criterion="middle"))


def unmeasured(sizes, n_columns=12, **chosen):
    """What is said of sets that so many points of equal weight hit."""
    points = np.zeros((2000, n_columns))
    inside = np.arange(2000)[:, np.newaxis] < np.array(sizes)
    sample = VolumeSample(points, np.zeros(2000), 2000, "importance")
    warned = chosen.pop("warned", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_unmeasured(sample, inside, np.array([0.8, 0.85, 0.9]), selection(**chosen), n_columns, warned=warned)
    return [str(each.message) for each in caught]


def test_of_the_larger_sets_the_best_measured_must_have_enough_points():
    """So many points of a small set are about as many effective ones."""
    (few,) = unmeasured((150, 100, 50))
    assert re.match(
        r"The volumes are unreliable: of 2000 .* \(importance\), the effective .* in the set of mass 0\.85", few
    )
    assert few.endswith("Raise n_volume_points.")
    assert unmeasured((10, 100, 300)) == unmeasured((10, 300, 100)) == []
    assert len(unmeasured((300, 100, 100))) == 1
    assert unmeasured((10, 10, 10), warned=True) == []


def test_a_bound_needs_no_points():
    """Nor does it tell sets that are all of space: its logarithms go as far as float64."""
    bounded = {"criterion": "bound", "method": "bound"}
    assert said(curve(hits=0, sizes=(0.0, 0.0, 0.0)), selection(**bounded)) == ""
    assert said(curve(hits=0, offsets=(-2000.0, -3000.0, -4000.0), sizes=(0.0, 0.0, 0.0)), selection(**bounded)) == ""
    assert "Try nu=" in said(curve(training_mass=0.9, sizes=(0.0, 0.0, 0.0)), selection(**bounded))
    assert "smallest of the 3" in said(curve(1.0), selection((1.0, 1.2, 2.0), **bounded))


def test_unmeasured_volumes_warn_where_a_bound_has_chosen():
    said = "With 12 columns volumes cannot be measured; the bandwidth was chosen by a bound. Alarms are unaffected."
    assert unmeasured((100, 100, 300), method="bound") == unmeasured((0, 0, 0), method="bound", warned=True) == [said]
    assert unmeasured((100, 100, 700), method="bound") == []


def test_a_bandwidth_that_was_given_was_not_chosen_by_a_bound():
    assert unmeasured((0, 0, 0), 52, criterion="given", method="bound") == [
        "With 52 columns volumes cannot be measured. Alarms are unaffected."
    ]


@pytest.mark.parametrize(
    ("sigma", "values", "expected"),
    [
        (1.0, (1.0, 1.2, 2.0), "bandwidth, 1, is the smallest of the 3 tried"),
        (1.0, (1.0, 1.1, 2.0), ""),
        (1.0, (1.0, np.inf, 2.0), "bandwidth, 1, is the smallest of the 3 tried"),
        (3.0, (2.0, 1.2, 1.0), "bandwidth, 3, is the largest of the 3 tried"),
        (3.0, (2.0, 1.1, 1.0), ""),
        (1.0, (1.0, 2.0), ""),
        (2.0, (1.0, 1.0, 9.0), ""),
    ],
)
def test_the_edge_of_the_grid_is_named_where_the_next_bandwidth_is_worse_by_more_than_the_error(
    sigma, values, expected
):
    found = said(curve(sigma), selection(values, errors=0.15))
    assert (expected in found) if expected else found == ""


def test_a_difference_too_small_for_a_wider_search_is_none():
    assert said(curve(1.0), selection((1.0, 1.004, 2.0), errors=0.0)) == ""
    assert "smallest" in said(curve(1.0), selection((1.0, 1.006, 2.0), errors=0.0))


def test_the_nu_that_stops_the_choice_is_named():
    stopped = selection((0.5, 1.0, 2.0, 3.0), eligible=[False, True, True, True])
    assert "bandwidth, 2, is the narrowest that nu=0.4 allows" in said(curve(2.0), stopped)
