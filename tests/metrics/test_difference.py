import numpy as np
import pandas as pd
import pytest
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture

from mvset import MinimumVolumeSet, symmetric_difference
from mvset.paper.datasets import paper_mixture
from shapes import Ball


@pytest.mark.parametrize("d", [2, 5, 20])
def test_two_balls_one_in_the_other(d):
    rows = np.random.default_rng(0).normal(size=(500, d))
    radius = np.sqrt(1.5 * d)
    small, large = Ball(np.zeros(d), radius), Ball(np.zeros(d), 1.05 * radius)
    truth = np.exp(large.log_volume) - np.exp(small.log_volume)
    found = symmetric_difference(small.contains, large.contains, rows, random_state=0)
    assert found.value == pytest.approx(truth, abs=4 * found.standard_error)
    assert found.standard_error < 0.1 * truth
    swapped = symmetric_difference(large.contains, small.contains, rows, random_state=0)
    assert swapped.value == found.value


def test_a_set_does_not_differ_from_itself():
    X = paper_mixture(3).sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=1.0, splits=2, random_state=0).fit(X)
    assert symmetric_difference(model, model, X, random_state=0).value == 0.0


def test_a_detector_and_a_function():
    X = paper_mixture().sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=1.0, splits=2, random_state=0).fit(X)
    everything = symmetric_difference(model, lambda rows: np.zeros(len(rows), bool), X, volume="box", random_state=0)
    assert everything.value == pytest.approx(model.volume_.value, rel=0.05)


def test_what_is_not_a_set_is_refused():
    X = paper_mixture().sample(50, random_state=0)
    with pytest.raises(TypeError, match="fitted detector with `predict`"):
        symmetric_difference("a set", lambda rows: rows[:, 0] > 0, X)
    with pytest.raises(ValueError, match=r"one bool per row; got an array of dtype float64 .* compare with an offset"):
        symmetric_difference(lambda rows: rows[:, 0], lambda rows: rows[:, 0] > 0, X)


def test_sets_that_the_points_miss_warn_here():
    X = paper_mixture(20).sample(200, random_state=0)
    model = MinimumVolumeSet(sigma=4.0, splits=2, random_state=0).fit(X)
    with pytest.warns(
        UserWarning, match=r"of 10000 sample points \(box\), the effective sample size in either set is 0"
    ) as caught:
        symmetric_difference(model, model, X, volume="box", random_state=0)
    assert caught[0].filename == __file__


def test_pyod_models_say_zero_inside():
    X = paper_mixture().sample(300, random_state=0)
    model = KNN(contamination=0.1).fit(X)
    inside = symmetric_difference(model, lambda rows: np.zeros(len(rows), bool), X, volume="box", random_state=0)
    assert inside.value < 0.6 * np.ptp(X, axis=0).prod()


def test_labels_that_are_not_inside_and_outside_are_refused():
    X = paper_mixture().sample(100, random_state=0)
    with pytest.raises(ValueError, match=r"must give 1 inside and -1 outside; got \[0 1\]"):
        symmetric_difference(GaussianMixture(2, random_state=0).fit(X), lambda rows: rows[:, 0] > 1, X)


def test_frames_reach_the_sets():
    frame = pd.DataFrame(paper_mixture().sample(200, random_state=0), columns=["a", "b"])
    forest = IsolationForest(random_state=0).fit(frame)  # warns, an error here, when names go missing
    assert symmetric_difference(forest, lambda rows: rows["a"].to_numpy() > 5, frame, random_state=0).value > 0
