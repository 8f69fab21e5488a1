from __future__ import annotations

import numpy as np
import pytest

from mvset.volumes import VolumeEstimate, count_hits, draw_box_probe, estimate_volumes, volume_estimate


def test_volume_of_a_ball_and_its_standard_error():
    """200 draws of a disc of area pi in a box of area 4: unbiased, and the error bar is the spread."""
    X = np.array([[-1.0, -1.0], [1.0, 1.0]])
    estimates = []
    for seed in range(200):
        probe = draw_box_probe(X, 1000, np.random.RandomState(seed))
        estimates.append(volume_estimate(-np.linalg.norm(probe.points, axis=1), -1.0, probe.log_volume))
    values = np.array([estimate.value for estimate in estimates])
    error = estimates[0].standard_error
    assert values.mean() == pytest.approx(np.pi, abs=4 * error / np.sqrt(200))
    assert values.std() == pytest.approx(error, rel=0.2)


def test_points_fill_the_box():
    X = np.random.default_rng(0).normal(size=(100, 3))
    probe = draw_box_probe(X, 5000, np.random.RandomState(0))
    assert (probe.points >= X.min(axis=0)).all()
    assert (probe.points <= X.max(axis=0)).all()
    assert probe.log_volume == pytest.approx(np.log(np.ptp(X, axis=0)).sum())


def test_constant_column_leaves_the_volume_of_the_slice():
    X = np.array([[0.0, 5.0], [2.0, 5.0]])
    probe = draw_box_probe(X, 10, np.random.RandomState(0))
    assert np.exp(probe.log_volume) == pytest.approx(2.0)
    np.testing.assert_array_equal(probe.points[:, 1], 5.0)


def test_hits_count_ties():
    np.testing.assert_array_equal(count_hits([0.1, 0.2, 0.2, 0.3], [0.2, 0.25, 0.0, 1.0]), [3, 1, 4, 0])


def test_no_hit_and_all_hits():
    values, errors = estimate_volumes(np.array([0, 10]), 10, np.log(3.0))
    np.testing.assert_allclose(values, [0.0, 3.0])
    np.testing.assert_allclose(errors, [0.3, 0.3])  # one point's worth: nothing is certain


def test_huge_boxes_do_not_turn_zero_into_nan():
    values, _ = estimate_volumes(np.array([0]), 10, 5000.0)
    assert values[0] == 0.0


def test_estimate_prints_with_its_error():
    assert str(VolumeEstimate(1234.5, 6.78)) == "1234 ± 6.8"
    assert f"{VolumeEstimate(1234.5, 6.78):.3f}" == "1234.500"
