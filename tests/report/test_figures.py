from __future__ import annotations

import numpy as np
import pytest

from mvset.report.figures import bandwidth_figure, level_figure, level_set_figure, mass_volume_figure
from mvset.report.numbers import report_numbers


@pytest.fixture(scope="module")
def numbers(fitted, survey):
    return report_numbers(fitted, survey)


def test_sets_border_and_rows(numbers):
    figure = level_set_figure(numbers, numbers.projections[0])
    shades, border, points = figure.data
    assert (shades.type, border.type, points.type) == ("contour", "contour", "scatter")
    assert border.contours.start == border.contours.end == 0.95
    np.testing.assert_array_equal(np.column_stack([points.x, points.y]), numbers.projections[0].rows)


def test_names_are_escaped(numbers):
    figure = level_set_figure(numbers, numbers.projections[0])
    assert figure.layout.xaxis.title.text == "&lt;script&gt;alert(1)&lt;/script&gt;"
    assert figure.layout.yaxis.title.text == "a &amp; b"
    assert "$" not in level_set_figure(numbers, numbers.projections[1]).layout.yaxis.title.text


def test_levels_count_all_rows(numbers):
    bars = level_figure(numbers).data[0]
    np.testing.assert_allclose(bars.y, numbers.survey.level_counts / 300)
    assert sum(bars.y) == pytest.approx(1.0)


def test_the_line_of_the_slider_is_the_last_shape(numbers):
    for figure in (level_figure(numbers), mass_volume_figure(numbers)):
        assert figure.layout.shapes[-1].x0 == figure.layout.shapes[-1].x1 == 0.95


def test_the_curve_and_the_band_of_true_masses(numbers):
    band, error, curve = mass_volume_figure(numbers).data
    np.testing.assert_array_equal(curve.x, numbers.masses)
    np.testing.assert_array_equal(curve.y, [volume.value for volume in numbers.volumes])
    assert len(error.x) == 2 * len(curve.x)
    expected = numbers.model.sets.mass_band(numbers.masses[numbers.masses > 0.495])
    np.testing.assert_array_equal(band.x[: len(expected.masses)], expected.lower)
    np.testing.assert_array_equal(band.x[len(expected.masses) :], expected.upper[::-1])


def test_the_bandwidth_chosen_is_marked(numbers):
    tried, chosen = bandwidth_figure(numbers).data
    np.testing.assert_array_equal(tried.x, [0.7, 1.0])
    assert list(chosen.x) == [numbers.model.estimator.sigma_]
