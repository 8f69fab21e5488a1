import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.ensemble import IsolationForest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.neighbors import KernelDensity

from mvset import MinimumVolumeSet, mass_volume_curve, mass_volume_scorer
from mvset.exceptions import VolumeWarning
from mvset.paper.datasets import paper_mixture, two_moons


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def density_score(rows):
    return -(rows**2).sum(axis=1)


def log_ball(d, mass):
    """Log volume of the ball that holds this mass of a standard Gaussian."""
    from shapes import Ball

    return Ball(np.zeros(d), np.sqrt(chi2.ppf(mass, d))).log_volume


@pytest.mark.parametrize("d", [2, 8, 20])
def test_curve_of_the_true_density(d):
    """The band, from rows and sample points alike, holds the true curve; the volumes fit the offsets exactly."""
    masses = np.array([0.5, 0.8, 0.9, 0.95])
    curve = mass_volume_curve(density_score, gaussian(2000, d), masses=masses, random_state=0)
    truth = np.exp([log_ball(d, mass) for mass in masses])
    assert (curve.lower < truth).all()
    assert (truth < curve.upper).all()
    at_offsets = np.array([log_ball(d, chi2.cdf(-offset, d)) for offset in curve.offsets])
    np.testing.assert_array_less(
        np.abs(curve.log_volumes - at_offsets), 5 * curve.standard_errors / curve.volumes + 0.01
    )


def test_bands_cover_the_whole_true_curve():
    """60 samples in two dimensions: simultaneous coverage of 0.95, within four standard deviations."""
    masses = np.linspace(0.6, 0.95, 8)
    truth = np.exp([log_ball(2, mass) for mass in masses])
    covered = []
    for seed in range(60):
        curve = mass_volume_curve(density_score, gaussian(300, 2, seed), masses=masses, random_state=seed)
        covered.append(((curve.lower <= truth) & (truth <= curve.upper)).all())
    assert np.mean(covered) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 60)


def test_a_better_score_has_the_lower_curve():
    X = gaussian(1000, 2)
    worse = lambda rows: -np.abs(rows).max(axis=1) - 0.5 * np.abs(rows[:, 0])  # noqa: E731
    good, bad = (mass_volume_curve(score, X, random_state=0) for score in (density_score, worse))
    assert good.area < bad.area
    assert good.mean_log_volume < bad.mean_log_volume


def test_frames_keep_their_names():
    table = pd.DataFrame(gaussian(300, 3), columns=["a", "b", "c"])
    forest = IsolationForest(random_state=0).fit(table)  # warns, an error here, when names go missing
    assert np.isfinite(mass_volume_curve(forest, table, random_state=0).mean_log_volume)


def test_same_seed_same_curve():
    X = gaussian(300, 5)
    first, second = (mass_volume_curve(density_score, X, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.volumes, second.volumes)
    np.testing.assert_array_equal(first.upper, second.upper)


@pytest.mark.parametrize(
    ("search", "n", "d"),
    [
        pytest.param(GridSearchCV, 300, 4, marks=pytest.mark.slow),
        (partial(HalvingGridSearchCV, random_state=0), 900, 2),
    ],
)
def test_model_selection_without_labels(search, n, d):
    X = paper_mixture(d).sample(n, random_state=0)
    grid = {"bandwidth": [0.05, 0.5, 5.0]}
    found = search(KernelDensity(), grid, scoring=partial(mass_volume_scorer, n_points=1000), cv=3).fit(X)
    assert found.best_params_ == {"bandwidth": 0.5}


def test_scorer_with_other_masses():
    X = two_moons(300, random_state=0)
    model = KernelDensity(bandwidth=0.2).fit(X)
    at_half = partial(mass_volume_scorer, masses=[0.45, 0.5, 0.55])
    assert at_half(model, X) > mass_volume_scorer(model, X)


@pytest.mark.parametrize("masses", [[0.9], [0.9, 0.8], [0.0, 0.5], [0.5, 1.0], [0.5, np.nan, 0.9], "half"])
def test_masses_are_checked(masses):
    with pytest.raises(ValueError, match=r"masses must be at least two ascending"):
        mass_volume_curve(density_score, gaussian(50, 2), masses=masses)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"volume": "Box"}, "one of .*'box'.*; got 'Box'"),
        ({"n_points": -5}, "positive integer; got -5"),
        ({"n_points": "many"}, "positive integer; got 'many'"),
        ({"confidence": 95}, "confidence must be a number strictly between 0 and 1; got 95"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        mass_volume_curve(density_score, gaussian(50, 4), **arguments)


@pytest.mark.parametrize("d", [2, 5])
def test_rows_without_extent_are_refused(d):
    with pytest.raises(ValueError, match="All 20 rows of X are equal"):
        mass_volume_curve(density_score, np.ones((20, d)))


def test_a_single_point_and_atoms_give_a_finite_band():
    atoms = np.zeros((300, 2))
    atoms[:20] = gaussian(20, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(mass_volume_curve(density_score, atoms, random_state=0).upper).all()
        for seed in range(10):
            mass_volume_curve(density_score, gaussian(50, 4), n_points=1, volume="importance", random_state=seed)


def test_volumes_past_float64_have_finite_logarithms():
    X = 1e10 * gaussian(200, 40)
    assert np.isfinite(mass_volume_curve(density_score, X, n_points=1000, random_state=0).log_volumes).all()


@pytest.mark.parametrize("unseen", [False, True])
def test_volumes_of_a_model_with_categories_are_sums_over_them(unseen):
    """Against a fine grid for each category, at the offsets of the curve."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], 400)
    numbers = rng.normal(size=(400, 2)) + 2.0 * (kinds == "b")[:, np.newaxis]
    X = pd.DataFrame({"u": numbers[:, 0], "kind": kinds, "v": numbers[:, 1]})
    model = MinimumVolumeSet(sigma=0.8, splits=3, random_state=0).fit(X)
    new = X.sample(200, random_state=0)
    if unseen:  # a value that was not seen has the lowest score, and no part in the volume
        new.iloc[0, 1] = "d"
    curve = mass_volume_curve(model, new, masses=[0.7, 0.9], random_state=0)
    axis = np.linspace(-6.0, 8.0, 140)
    u, v = (each.ravel() for each in np.meshgrid(axis, axis))
    cells = [model.score_samples(pd.DataFrame({"u": u, "kind": kind, "v": v})) for kind in "abc"]
    truth = [sum(np.sum(scores >= offset) for scores in cells) * (axis[1] - axis[0]) ** 2 for offset in curve.offsets]
    np.testing.assert_allclose(curve.volumes, truth, rtol=0.03, atol=5 * curve.standard_errors.max())
    shares = [np.mean(model.score_samples(new) >= offset) for offset in curve.offsets]
    np.testing.assert_allclose(shares, curve.masses, atol=0.01)


def test_volumes_that_the_points_miss_warn_here():
    mixture = paper_mixture(20)
    with pytest.warns(VolumeWarning, match=r"The volumes are unreliable: of 10000 sample points \(box\)") as caught:
        mass_volume_curve(mixture.log_density, mixture.sample(200, random_state=0), volume="box", random_state=0)
    assert caught[0].filename == __file__


def test_the_band_does_not_depend_on_the_unit():
    X, unit = gaussian(200, 40), 2.0**20
    near = mass_volume_curve(density_score, X, n_points=1000, random_state=0)
    far = mass_volume_curve(lambda rows: density_score(rows / unit), unit * X, n_points=1000, random_state=0)
    np.testing.assert_allclose(np.log(far.upper) - 40 * np.log(unit), np.log(near.upper), rtol=1e-9)
