import warnings

import numpy as np
import pytest

from mvset.exceptions import VolumeWarning
from mvset.volume.measure import VolumeEstimate, VolumeSample, measure
from mvset.volume.sampler import SUFFICIENT, VolumeSampler, effective_sample_size, warn_if_unreliable
from shapes import Ball, closed_form


def draw(method, name, d, n_points, seed=0):
    X, shape = closed_form(name, d, seed)
    sampler = VolumeSampler(method, X, n_points, np.random.RandomState(seed))
    return sampler.draw(shape.contains), shape


@pytest.mark.parametrize(
    ("method", "d", "expected"),
    [("box", 8, "box"), ("importance", 2, "importance"), ("auto", 2, "box"), ("auto", 8, "importance")],
)
def test_method(method, d, expected):
    sample, _ = draw(method, "ball", d, 2000)
    assert sample.method == expected


def test_auto_switches_to_importance_sampling_when_the_box_is_hardly_hit():
    X = np.vstack([np.random.default_rng(0).normal(size=(300, 2)), [[1e4, 1e4]]])
    disc = Ball(np.zeros(2), 2.0)
    sample = VolumeSampler("auto", X, 2000, np.random.RandomState(0)).draw(disc.contains)
    assert sample.method == "importance"
    volume = measure(sample, disc.contains(sample.points)[:, np.newaxis]).estimate(0)
    assert volume.log_value == pytest.approx(disc.log_volume, abs=5 * volume.standard_error / volume.value)


def test_auto_adds_points_until_the_effective_sample_size_suffices():
    sample, shape = draw("auto", "ball", 8, 200)
    assert 400 <= len(sample.points) <= 1600
    assert effective_sample_size(sample, shape.contains) >= SUFFICIENT
    assert len(draw("importance", "ball", 8, 200)[0].points) == 200


@pytest.mark.parametrize(("n_points", "give_up", "factor"), [(20, False, 8), (20, True, 1), (2000, False, 1)])
def test_auto_takes_at_most_eight_times_the_points_and_may_give_up_if_those_are_too_few(n_points, give_up, factor):
    X, shape = closed_form("ball", 8, 0)
    sample = VolumeSampler("auto", X, n_points, np.random.RandomState(0)).draw(shape.contains, give_up=give_up)
    assert len(sample.points) == factor * n_points


def test_auto_adds_no_points_for_a_set_that_none_hits():
    X, _ = closed_form("ball", 4, 0)
    nothing = lambda points: np.zeros(len(points), bool)  # noqa: E731
    sampler = VolumeSampler("auto", X, 50, np.random.RandomState(0))
    assert len(sampler.draw(nothing, give_up=True).points) == 50


def test_a_preliminary_sample_has_a_share_of_the_points():
    X, shape = closed_form("ball", 8, 0)
    sampler = VolumeSampler("auto", X, 10_000, np.random.RandomState(0))
    assert len(sampler.draw(shape.contains, 0.1).points) == 1000
    assert len(sampler.draw(shape.contains).points) == 10_000


def test_several_draws_are_one_sample():
    X, shape = closed_form("ball", 6, 0)
    sample = VolumeSampler("importance", X, 4001, np.random.RandomState(0), n_draws=4).draw(shape.contains)
    assert len(sample.points) == sample.n_replicates == 4004
    assert (sample.n_draws, sample.method) == (4, "importance")
    volume = measure(sample, shape.contains(sample.points)[:, np.newaxis]).estimate(0)
    assert volume.log_value == pytest.approx(shape.log_volume, abs=4 * volume.standard_error / volume.value)


def test_many_columns_have_fewer_points():
    X = np.random.default_rng(0).normal(size=(20, 500))
    assert VolumeSampler("auto", X, 10_000, np.random.RandomState(0)).n_points == 2000
    assert VolumeSampler("auto", X, 1000, np.random.RandomState(0)).n_points == 1000
    assert VolumeSampler("importance", X, 10_000, np.random.RandomState(0)).n_points == 10_000
    assert VolumeSampler("auto", np.zeros((2, 5000)), 10_000, np.random.RandomState(0)).n_points == 250


@pytest.mark.parametrize(("method", "n_points"), [("sobol", 10), ("box", 0), ("box", 10.0)])
def test_settings_that_mean_nothing_are_refused(method, n_points):
    with pytest.raises(ValueError, match="sample points must be"):
        VolumeSampler(method, np.zeros((2, 2)), n_points, np.random.RandomState(0))


def test_a_single_point_is_enough():
    assert len(VolumeSampler("box", np.eye(2), 1, np.random.RandomState(0)).draw(lambda X: X[:, 0] > 0).points) == 1


SAMPLE = VolumeSample(np.zeros((1000, 2)), np.zeros(1000), 1000, "importance", 4)


def volume(size, error):
    return VolumeEstimate(2.0, 2.0 * error, np.log(2.0), 900, size, "importance")


def test_few_effective_points_warn():
    expected = r"the effective sample size in the set is 399; 400 are needed\. Raise n\.$"
    with pytest.warns(VolumeWarning, match=expected):
        warn_if_unreliable(volume(SUFFICIENT - 0.6, 0.01), SAMPLE, "the set", "n")


def test_draws_that_disagree_warn():
    expected = (
        r"4 independent draws of sample points \(importance\) disagree about the set, by a standard error of 11%\. "
    )
    with pytest.warns(VolumeWarning, match=expected):
        warn_if_unreliable(volume(SUFFICIENT, 0.11), SAMPLE, "the set", "n")


def test_enough_points_that_agree_do_not_warn():
    with warnings.catch_warnings(action="error"):
        warn_if_unreliable(volume(SUFFICIENT, 0.1), SAMPLE, "the set", "n")
