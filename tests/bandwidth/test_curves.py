import numpy as np
import pytest
from sklearn.metrics import auc

from mvset.bandwidth.curves import bandwidth_curve, bound_curve, mass_grid, mean_over
from mvset.svm.expansion import KernelExpansion
from mvset.volume.box import draw_box_sample

MASSES = mass_grid(0.95)


def curve_of(seed, n_points=4000):
    """Discs around the origin whose area is the mass times ten."""
    function = KernelExpansion(np.zeros((1, 2)), np.ones(1), 1.0, np.zeros(2))
    offsets = np.exp(-0.5 * MASSES * 10 / np.pi)
    sample = draw_box_sample(np.array([[-2.0, -2.0], [2.0, 2.0]]), n_points, np.random.RandomState(seed))
    return bandwidth_curve(1.0, 0.6, MASSES, offsets, np.stack([offsets, offsets]), sample, function(sample.points))


def test_masses_of_the_paper():
    np.testing.assert_allclose(mass_grid(0.95), np.linspace(0.91, 0.99, 10))


@pytest.mark.parametrize("mass", [0.001, 0.02, 0.5, 0.98, 0.999])
def test_masses_stay_inside_the_unit_interval(mass):
    masses = mass_grid(mass)
    assert masses[0] > 0
    assert masses[-1] < 1
    assert masses.mean() == pytest.approx(mass)


def test_masses_go_four_fifths_of_the_way_to_the_nearer_end():
    np.testing.assert_allclose(mass_grid(0.99, 0.04, 3), [0.982, 0.99, 0.998])
    np.testing.assert_allclose(mass_grid(0.01, 0.04, 3), [0.002, 0.01, 0.018])


def test_mean_over_masses_that_are_not_equally_spaced():
    masses = np.array([0.1, 0.2, 0.5])
    assert mean_over(masses, np.array([1.0, 3.0, 7.0])) == pytest.approx((0.1 * 2.0 + 0.3 * 5.0) / 0.4)


def test_area_is_the_trapezoid_of_the_volumes():
    curve = curve_of(0)
    assert curve.area == pytest.approx(auc(MASSES, curve.volumes))
    assert curve.mean_log_volume == pytest.approx(auc(MASSES, np.log(curve.volumes)) / np.ptp(MASSES))
    assert (np.diff(curve.volumes) >= 0).all()
    np.testing.assert_allclose(curve.log_volumes, np.log(curve.volumes))
    np.testing.assert_allclose(curve.split_log_volumes, curve.mean_log_volume)  # both splits have the same offsets


@pytest.mark.slow
def test_area_and_its_standard_error_against_the_truth():
    """The sets are discs of ten times the mass; 300 draws of the sample."""
    curves = [curve_of(seed) for seed in range(300)]
    areas = np.array([curve.area for curve in curves])
    errors = np.array([curve.area_error for curve in curves])
    truth = auc(MASSES, 10 * MASSES)
    assert areas.mean() == pytest.approx(truth, abs=4 * areas.std() / np.sqrt(300))
    assert np.mean(np.abs(areas - truth) < 1.96 * errors) == pytest.approx(0.95, abs=4 * np.sqrt(0.05 / 300))


def test_mean_of_a_constant_is_that_constant():
    assert mean_over(MASSES, np.full((3, 10), 7.0)) == pytest.approx(np.full(3, 7.0))


def test_bounds_on_the_volumes_of_discs():
    """One Gaussian kernel in the plane: the integral of its square is pi, and {F >= rho} is a disc of known area."""
    areas = 10 * MASSES
    offsets = -0.5 * areas / np.pi
    curve = bound_curve(1.0, 0.6, MASSES, offsets, np.stack([offsets, offsets - 0.5]), np.log(np.pi))
    np.testing.assert_allclose(curve.volumes, np.pi * np.exp(areas / np.pi))
    assert (curve.volumes > areas).all()
    np.testing.assert_allclose(curve.log_volumes, np.log(curve.volumes))
    assert curve.area == pytest.approx(auc(MASSES, curve.volumes))
    assert curve.mean_log_volume == pytest.approx(auc(MASSES, curve.log_volumes) / np.ptp(MASSES))
    np.testing.assert_allclose(curve.split_log_volumes, curve.mean_log_volume + np.array([0.0, 1.0]))
    assert (curve.sigma, curve.training_mass, curve.area_error) == (1.0, 0.6, 0.0)
    for nothing in (curve.standard_errors, curve.hits, curve.effective_sample_sizes):
        np.testing.assert_array_equal(nothing, np.zeros(10))


def test_bounds_beyond_the_range_of_float64_have_a_logarithm():
    curve = bound_curve(1.0, 0.6, MASSES, np.full(10, -1000.0), np.full((2, 10), -1000.0), 0.0)
    assert (curve.volumes == np.inf).all()
    np.testing.assert_array_equal(curve.log_volumes, 2000.0)
    assert curve.mean_log_volume == pytest.approx(2000.0)
