import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import two_moons
from mvset.plotting.numbers import fitted_curve, known_band, masses_around, tail_masses


def test_masses_stop_where_the_calibration_rows_do(moons, split_model):
    few = MinimumVolumeSet(mass=0.8, nu=0.5, sigma=1.0, calibration="conformal", random_state=0)
    few.fit(moons[:40])  # 20 rows guarantee 20/21 at most
    np.testing.assert_array_equal(few.sets_.calibration.guaranteed([0.5, 0.95, 0.96]), [0.5, 0.95])
    np.testing.assert_array_equal(split_model.sets_.calibration.guaranteed([0.5, 0.999]), [0.5, 0.999])
    assert tail_masses(few.sets_).max() == 0.95


@pytest.mark.parametrize(("mass", "first", "last"), [(0.95, 0.8, 0.99), (0.6, 0.56, 0.99), (0.9985, 0.8, 0.9985)])
def test_tail_masses_reach_the_fitted_one(mass, first, last, moons):
    model = PluginKernelDensity(mass=mass, sigma=0.2, random_state=0)
    if mass > 0.9975:
        with pytest.warns(UserWarning, match="400 rows cannot resolve"):
            model.fit(moons)
    else:
        model.fit(moons)
    masses = tail_masses(model.sets_)
    assert mass in masses
    assert (masses[0], masses[-1]) == (first, last)


def test_bounds_only_where_the_model_gives_them(split_model, conformal_model):
    masses = np.array([0.4, 0.5, 0.9])
    known = known_band(split_model.sets_, masses, 0.9)
    np.testing.assert_array_equal(known.lower, [np.nan, *split_model.mass_band([0.5, 0.9], 0.9).lower])
    np.testing.assert_array_equal(known.upper, [np.nan, *split_model.mass_band([0.5, 0.9], 0.9).upper])
    np.testing.assert_array_equal(
        known_band(conformal_model.sets_, masses, 0.9).lower, conformal_model.mass_band(masses, 0.9).lower
    )


def test_models_without_bounds(moons):
    plugin = PluginKernelDensity(sigma=0.2, random_state=0).fit(moons)
    assert known_band(plugin.sets_, np.array([0.9]), 0.95) is None
    assert masses_around(plugin.sets_, 0.95) == []
    assert set(fitted_curve(plugin.sets_, np.array([0.9]), 0.95)) == {"masses", "volumes", "lower", "upper"}


def test_masses_around_are_surely_less_and_surely_no_less(conformal_model):
    less, no_less = masses_around(conformal_model.sets_, 0.9)
    assert less < conformal_model.mass < no_less
    band = conformal_model.mass_band([less, no_less], 0.9)
    assert band.upper[0] < conformal_model.mass <= band.lower[1]
    nearer = conformal_model.mass_band([less + 0.01, no_less - 0.01], 0.9)
    assert nearer.upper[0] >= conformal_model.mass > nearer.lower[1]


def test_no_set_surely_holds_the_mass_when_rows_are_few(moons):
    model = MinimumVolumeSet(mass=0.9, sigma=1.0, calibration="conformal", random_state=0)
    around = masses_around(model.fit(moons[:80]).sets_, 0.95)
    assert len(around) == 1
    assert around[0] < 0.9


def test_there_is_no_band_around_a_set_that_has_no_bounds():
    model = MinimumVolumeSet(0.3, nu=0.9, sigma=0.4, random_state=0).fit(two_moons(300, random_state=0))
    assert masses_around(model.sets_, 0.95) == []
