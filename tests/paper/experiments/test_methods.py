import numpy as np
import pytest

from mvset import OneClassSVM
from mvset.paper.datasets import two_moons
from mvset.paper.experiments.methods import (
    MASS,
    best_distances,
    differences,
    inside,
    one_class_svm,
    ours,
    true_mixture,
)


@pytest.mark.parametrize("d", [2, 10])
def test_differences_to_the_true_set_are_true(d):
    """The true sets are nested: that of mass 0.9 differs by what it lacks."""
    mixture = true_mixture(d)
    X = mixture.sample(500, random_state=0)
    sets = [lambda points: mixture.contains(points, MASS), lambda points: mixture.contains(points, 0.9)]
    (same, _), (smaller, error) = differences(mixture, X, sets, seed=0)
    expected = 1 - mixture.volume(0.9).value / mixture.volume(MASS).value
    assert same == 0
    assert abs(smaller - expected) < 4 * error
    assert error < 0.02


def test_differences_at_another_mass():
    mixture = true_mixture()
    found = differences(
        mixture, mixture.sample(500, random_state=0), [lambda points: mixture.contains(points, 0.9)], seed=0, mass=0.9
    )
    assert found[0][0] == 0


def test_one_bandwidth_is_fitted_as_among_several():
    X = two_moons(400, random_state=0)
    several = ours(X, np.linspace(0.05, 0.6, 6), 3, seed=1)
    alone = ours(X, several.sigma_, 3, seed=1)
    assert alone.offset_ == pytest.approx(several.offset_, rel=1e-4)  # warm and cold starts


def test_of_several_models_the_best_by_the_truth_is_reported():
    mixture = true_mixture()
    X = mixture.sample(300, random_state=0)
    svms = [one_class_svm(X, sigma) for sigma in (0.2, 1.5, 8.0)]
    rows = best_distances(mixture, X, {"ocsvm": svms, "ours": [ours(X, 1.0, 3, 0)]}, seed=0)
    found = differences(mixture, X, [inside(svm) for svm in svms], seed=0)
    assert [row["method"] for row in rows] == ["ocsvm", "ours"]
    assert rows[0]["difference"] == min(difference for difference, _ in found)
    assert rows[0]["sigma"] == 1.5


def test_the_baseline_is_at_nu_one_minus_mass():
    X = two_moons(200, random_state=0)
    same = OneClassSVM(nu=1 - 0.9, sigma=0.3).fit(X)
    assert one_class_svm(X, 0.3, 0.9).offset_ == same.offset_
