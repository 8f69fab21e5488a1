from dataclasses import replace

import numpy as np
import pytest

from mvset.app.report.figures import (
    bandwidth_figure,
    level_figure,
    level_set_figure,
    mass_volume_figure,
    time_figure,
    trend_figure,
)
from mvset.app.report.numbers import report_numbers, without_rows
from mvset.app.report.over_time import LevelScale
from mvset.plotting.numbers import BandwidthComparison


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
    shown = {figure.layout.xaxis.title.text, figure.layout.yaxis.title.text}
    assert "a &amp; b" in shown  # the column of most rows outside is in the first panel
    titles = [
        title.text
        for projection in numbers.projections
        for figure in [level_set_figure(numbers, projection)]
        for title in (figure.layout.xaxis.title, figure.layout.yaxis.title)
    ]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in titles
    assert not any("$" in title for title in titles)


def test_levels_count_all_rows(numbers):
    bars = level_figure(numbers).data[0]
    np.testing.assert_allclose(bars.y, numbers.survey.level_counts / 300)
    assert sum(bars.y) == pytest.approx(1.0)


def test_the_line_of_the_slider_is_the_last_shape(numbers):
    for figure in (level_figure(numbers), mass_volume_figure(numbers)):
        assert figure.layout.shapes[-1].x0 == figure.layout.shapes[-1].x1 == 0.95


def test_the_curve_and_the_band_of_true_masses(numbers):
    band, error, curve = mass_volume_figure(numbers).data
    np.testing.assert_array_equal(curve.x, numbers.survey.masses)
    extents = np.ptp(numbers.survey.ranges, axis=0)
    volumes = np.array([volume.value for volume in numbers.volumes])
    np.testing.assert_allclose(curve.y, (volumes / np.prod(extents)) ** (1 / 3))
    assert str(numbers.volumes[-1]) in curve.customdata[-1][0]  # in the tooltip
    assert len(error.x) == 2 * len(curve.x)
    expected = numbers.model.sets.calibration.mass_band(numbers.survey.masses[numbers.survey.masses > 0.495])
    np.testing.assert_array_equal(band.x[: len(expected.masses)], expected.lower)
    np.testing.assert_array_equal(band.x[len(expected.masses) :], expected.upper[::-1])


def test_the_bandwidth_chosen_is_marked(numbers):
    tried, chosen = bandwidth_figure(numbers.bandwidths, numbers.model.estimator.sigma_).data
    np.testing.assert_array_equal(tried.x, [0.7, 1.0])
    assert list(chosen.x) == [numbers.model.estimator.sigma_]


def with_bandwidths(numbers, sigmas, values, errors=None):
    sigmas, values = np.array(sigmas), np.array(values)
    errors = np.zeros(len(values)) if errors is None else np.array(errors)
    compared = BandwidthComparison(sigmas, values, errors, np.ones(len(values), dtype=bool), None)
    return replace(numbers, bandwidths=compared)


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ([1.0, 1.3, 5.0, 1.1], [0.0, 0.5, 1.0, 0.0]),
        ([1.0, 1e6, 1e30, 3.0], None),
        ([1e-30, 1.2, 1.0, 1.1], None),
        ([1.0, 1.0, 1.0, 1.0], None),
        ([2.0], [0.5]),
    ],
)
def test_all_bandwidths_are_within_the_axis(numbers, values, errors):
    drawn = with_bandwidths(numbers, np.geomspace(0.1, 3.0, len(values)), values, errors)
    axis = bandwidth_figure(drawn.bandwidths, 1.0).layout.yaxis
    low, high = 10.0 ** np.array(axis.range) if axis.type == "log" else axis.range
    assert low < min(values) <= max(np.add(values, errors or 0.0)) < high


@pytest.mark.parametrize("sigmas", [(0.1, 0.2), (1.01, 1.04), (1e-6, 1e6), (3.0, 3.0), (0.02, 90.0), (0.15, 1.1)])
def test_labels_of_bandwidths_do_not_collide(numbers, sigmas):
    axis = bandwidth_figure(with_bandwidths(numbers, sigmas, [1.0, 2.0]).bandwidths, 1.0).layout.xaxis
    ticks = np.log(axis.tickvals)
    assert len(ticks) <= 6
    assert len(ticks) == len(set(axis.ticktext))
    width = np.ptp(np.log(sigmas))
    assert (np.diff(ticks) > 0.05 * width).all()


def test_rows_over_time_are_coloured_by_column(numbers, fitted, rows):
    figure = time_figure(numbers)
    outside = fitted.estimator.predict(fitted.prepared(rows)) == -1
    by_name = {trace.name: trace for trace in figure.data if trace.showlegend is not False}
    assert len(by_name.pop("inside").x) == (~outside).sum()
    assert sum(len(trace.x) for trace in by_name.values()) == outside.sum()
    assert {299, 298, 290} <= set(by_name["a &amp; b"].x)  # the rows moved in this column
    assert len({trace.marker.color for trace in by_name.values()}) == len(by_name)


def test_the_running_share_is_that_of_the_last_rows(numbers, fitted, rows):
    outside = fitted.estimator.predict(fitted.prepared(rows)) == -1
    over_time = numbers.over_time
    assert over_time.window == 40
    ends = over_time.share_times.astype(int)
    assert (ends[0], ends[-1]) == (39, 299)
    expected = [outside[end - 39 : end + 1].mean() for end in ends]
    np.testing.assert_allclose(over_time.shares, expected)
    assert over_time.band[0] < 0.05 < over_time.band[1] < 0.2
    assert over_time.shares[-1] > over_time.band[1]


def test_the_onset_is_marked(numbers):
    onset = numbers.survey.timeline.onset
    assert 280 <= onset.first.row <= 292
    shade, line, event = [shape for shape in time_figure(numbers).layout.shapes if shape.yref == "paper"]
    (found,) = numbers.survey.findings.events
    assert (event.x0, event.x1) == (found.start.row, found.end.row) == found.times
    assert (shade.x0, shade.x1) == (onset.low.row, onset.high.row)
    assert line.x0 == line.x1 == onset.first.row


def test_trends_show_the_columns_concerned_with_their_normal_range(numbers, survey):
    trends = numbers.over_time.trends
    assert 1 <= len(trends) <= 3
    assert trends[0].name == survey.findings.events[0].columns[0].name
    figure = trend_figure(numbers)
    bands = [shape for shape in figure.layout.shapes if shape.xref == "paper"]
    assert [(shape.y0, shape.y1) for shape in bands] == [trend.normal_range for trend in trends]
    n_drawn = sum(len(trace.x) for trace in figure.data)
    assert n_drawn == len(trends) * (len(numbers.over_time.inside) + len(numbers.over_time.outside))
    assert without_rows(numbers).over_time.trends == []


def test_the_scale_of_levels_ascends_and_has_one_on_top():
    scale = LevelScale(500)
    levels = np.array([0.0, 0.5, 0.95, 0.99, 1.0 - 1 / 501, 1.0])
    assert (np.diff(scale(levels)) > 0).all()
    assert scale.ticks["ticktext"] == ["0", "0.5", "0.9", "0.99", "1"]
    assert scale(levels)[-1] == scale.top == scale.ticks["tickvals"][-1]
