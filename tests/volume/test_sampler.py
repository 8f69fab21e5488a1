import warnings

import numpy as np
import pytest

from mvset.exceptions import VolumeWarning
from mvset.rows.layout import ColumnLayout
from mvset.volume.measure import VolumeEstimate, VolumeSample, measure, no_sample
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


@pytest.mark.parametrize(("n_points", "factor"), [(20, 8), (2000, 1)])
def test_auto_takes_at_most_eight_times_the_points(n_points, factor):
    X, shape = closed_form("ball", 8, 0)
    sample = VolumeSampler("auto", X, n_points, np.random.RandomState(0)).draw(shape.contains)
    assert len(sample.points) == factor * n_points


def test_a_preliminary_sample_has_a_share_of_the_points():
    X, shape = closed_form("ball", 8, 0)
    sampler = VolumeSampler("auto", X, 10_000, np.random.RandomState(0))
    assert len(sampler.draw(shape.contains, 0.1).points) == 1000
    assert len(sampler.draw(shape.contains).points) == 10_000


def test_as_many_points_are_drawn_as_measure_the_set_and_not_all():
    """In eight columns about half of the points are effective: a tenth of ten thousand tells that this is plenty."""
    X, shape = closed_form("ball", 8, 0)
    sample = VolumeSampler("auto", X, 10_000, np.random.RandomState(0)).draw_if_sufficient(shape.contains)
    assert len(sample.points) < 5000
    assert effective_sample_size(sample, shape.contains) >= SUFFICIENT
    volume = measure(sample, shape.contains(sample.points)[:, np.newaxis]).estimate(0)
    assert volume.log_value == pytest.approx(shape.log_volume, abs=4 * volume.standard_error / volume.value)


@pytest.mark.parametrize(("d", "n_points", "shrunk"), [(2, 4000, 100.0), (8, 4000, 100.0), (8, 500, 1.0)])
def test_no_points_are_drawn_where_all_would_not_measure_the_set(d, n_points, shrunk):
    """Sets that hardly any point falls into, and one that about half of five hundred points measure."""
    X, shape = closed_form("ball", d, 0)
    drawn, sampler = [], VolumeSampler("auto", X, n_points, np.random.RandomState(0))
    sampler.draw, draw = lambda target, share=1.0: drawn.append(draw(target, share)) or drawn[-1], sampler.draw
    nothing = sampler.draw_if_sufficient(lambda points: shape.contains(shrunk * points))
    assert (nothing.method, nothing.points.shape) == ("none", (0, d))
    assert len(drawn) == 1
    assert len(drawn[0].points) < 0.3 * n_points


def test_points_that_seemed_enough_and_are_not_are_not_kept():
    """The pilot sample is lucky: of the other points none falls into the set."""
    X, shape = closed_form("ball", 8, 0)
    calls, sampler = [], VolumeSampler("auto", X, 10_000, np.random.RandomState(0))
    sampler.draw, draw = lambda target, share=1.0: calls.append(share) or draw(target, share), sampler.draw
    lucky = lambda points: shape.contains(points) & (len(calls) < 2)  # noqa: E731
    assert sampler.draw_if_sufficient(lucky).method == "none"
    assert len(calls) == 3


@pytest.mark.parametrize(("n_varying", "method"), [(50, "importance"), (51, "none")])
def test_in_more_than_fifty_columns_that_vary_there_are_no_points(n_varying, method):
    X = np.random.default_rng(0).normal(size=(60, n_varying + 2))
    X[:, [0, 7]] = 5.0
    everything = lambda points: np.ones(len(points), bool)  # noqa: E731
    sample = VolumeSampler("auto", X, 300, np.random.RandomState(0)).draw(everything)
    assert sample.method == method
    assert sample.points.shape[1] == n_varying + 2
    asked = VolumeSampler("importance", X, 300, np.random.RandomState(0)).draw(everything)
    assert (asked.method, len(asked.points)) == ("importance", 300)


def test_columns_of_categories_are_encoded_in_a_sample_without_points():
    layout = ColumnLayout(60, (3, 2))
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(80, 60)), np.eye(3)[np.arange(80) % 3], np.eye(2)[np.arange(80) % 2]])
    sampler = VolumeSampler("auto", X, 300, np.random.RandomState(0), layout=layout)
    for sample in (
        sampler.draw(lambda points: points[:, 0] > 0),
        sampler.draw_if_sufficient(lambda points: points[:, 0] > 0),
    ):
        assert (sample.method, sample.points.shape) == ("none", (0, 65))


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


def test_a_sample_without_points_warns_of_its_columns():
    nothing = VolumeEstimate(np.nan, np.nan, np.nan, 0, 0.0, "none")
    expected = r"^With 70 columns volumes cannot be measured\. Labels, levels and p-values do not need them\.$"
    with pytest.warns(VolumeWarning, match=expected):
        warn_if_unreliable(nothing, no_sample(70), "the set", "n")


def test_enough_points_that_agree_do_not_warn():
    with warnings.catch_warnings(action="error"):
        warn_if_unreliable(volume(SUFFICIENT, 0.1), SAMPLE, "the set", "n")
