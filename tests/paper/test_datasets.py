import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from mvset.paper.datasets import boston, paper_mixture, two_moons


@pytest.mark.parametrize("d", [2, 5, 20])
def test_volume_of_the_true_set(d):
    """Two balls of radius sqrt(chi2_d(mass)): the components barely overlap."""
    log_volume = np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2 + 1) + d / 2 * np.log(stats.chi2(d).ppf(0.95))
    volume = paper_mixture(d).volume(0.95)
    assert abs(np.log(volume.value) - log_volume) < 0.01 + 0.002 * d
    assert volume.standard_error < 0.01 * volume.value


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_density_integrates_to_one(share):
    axis = np.linspace(-4, 14, 400)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(paper_mixture(2, outlier_share=share).log_density(grid))
    assert density.sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.parametrize("mass", [0.5, 0.95])
def test_true_set_has_its_mass_and_is_a_level_set(share, mass):
    mixture = paper_mixture(2, outlier_share=share)
    X = mixture.sample(200_000, random_state=5)
    inside = mixture.contains(X, mass)
    assert inside.mean() == pytest.approx(mass, abs=0.003)
    np.testing.assert_array_equal(inside, mixture.log_density(X) >= mixture.log_threshold(mass))


def test_outliers_fill_the_cube():
    X = paper_mixture(2, outlier_share=0.9).sample(20_000, random_state=0)
    assert np.mean((X[:, 0] < 0) & (X[:, 1] > 10)) == pytest.approx(0.9 * 2 * 2 / 14**2, abs=0.005)


def test_density_is_finite_in_log_in_any_dimension():
    assert np.isfinite(paper_mixture(300).log_density(paper_mixture(300).sample(5, random_state=0))).all()


def test_volume_in_hundreds_of_dimensions(monkeypatch):
    monkeypatch.setattr("mvset.paper.datasets._REFERENCE_POINTS", 200_000)
    volume = paper_mixture(150).volume(0.95)
    assert 0 < volume.standard_error < 0.2 * volume.value < np.inf


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_features must be at least 1"):
        paper_mixture(0)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        paper_mixture().contains(np.zeros((1, 2)), 1.0)


def test_boston():
    raw = boston(standardize=False)
    assert raw.shape == (506, 2)
    np.testing.assert_allclose(raw.mean(axis=0), [6.284634, 12.653063], rtol=1e-6)
    np.testing.assert_allclose(boston().std(axis=0), 1.0)


def test_two_moons_is_seeded():
    np.testing.assert_array_equal(two_moons(50, random_state=1), two_moons(50, random_state=1))


def test_outliers_are_those_of_the_uniform_part():
    mixture = paper_mixture(outlier_share=0.2)
    X, outlier = mixture.sample(5000, random_state=0, return_outliers=True)
    np.testing.assert_array_equal(X, mixture.sample(5000, random_state=0))
    assert abs(outlier.mean() - 0.2) < 0.02
    assert np.abs(X[outlier].mean(axis=0) - 5).max() < 0.6
    assert np.abs(X[outlier].std(axis=0) - 14 / np.sqrt(12)).max() < 0.3
