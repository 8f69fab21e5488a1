"""The chart over time: the level of rows above, the running share outside below, and the onset in both."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from mvset.plotting import palette
from mvset.report.figures import empty_figure, plain
from mvset.report.numbers import ReportNumbers

Array = NDArray[np.float64]

_LOWER, _UPPER = (0.0, 0.27), (0.36, 1.0)  # parts of the height
_ONSET = "rgba(217, 72, 1, 0.16)"
_EXPECTED = "rgba(154, 154, 154, 0.25)"


def time_figure(numbers: ReportNumbers) -> go.Figure:
    """Levels on a scale that spreads those near one; rows outside in the colour of the column that contributes most."""
    over_time, scale = numbers.over_time, LevelScale(numbers.model.sets.calibration.n_rows)
    label = {"row": "row", "number": "time", "date": "", "date UTC": "UTC"}[over_time.kind]
    figure = empty_figure(label, "level")
    inside, outside = over_time.inside, over_time.outside
    figure.add_scatter(
        x=over_time.shown(inside[:, 0]),
        y=scale(inside[:, 1]),
        name="inside",
        mode="markers",
        marker={"size": 4, "color": palette.FAINT, "opacity": 0.45, "line": {"width": 0}},
        **_hover(over_time.row_numbers[0], inside[:, 1]),
    )
    names = np.array(numbers.model.prepared_names, dtype=object)[over_time.top]
    for name, colour, own in coloured_columns(numbers):
        figure.add_scatter(
            x=over_time.shown(outside[own, 0]),
            y=scale(outside[own, 1]),
            name=plain(name),
            mode="markers",
            marker={"size": 7, "color": colour, "opacity": 0.85, "line": {"width": 0}},
            **_hover(over_time.row_numbers[1][own], outside[own, 1], names[own]),
        )
    times = over_time.shown(over_time.share_times)
    figure.add_scatter(
        x=times,
        y=over_time.shares,
        yaxis="y2",
        mode="lines",
        showlegend=False,
        line={"color": palette.OURS, "width": 2},
        hovertemplate=f"%{{y:.1%}} of the {over_time.window} rows up to %{{x}}<extra></extra>",
    )
    low, high = over_time.band
    figure.add_hrect(y0=low, y1=high, yref="y2", fillcolor=_EXPECTED, line_width=0, layer="below")
    _mark_onset(figure, numbers)
    if numbers.shows_rows:
        outside_above = float(scale(np.array(numbers.survey.mass)))
        figure.add_hline(y=outside_above, line={"color": palette.INK, "width": 1, "dash": "dot"})
    figure.update_layout(
        height=520,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
        margin={"t": 40},
        xaxis={"anchor": "y2", "nticks": 7, "tickangle": 0},
        yaxis={"domain": _UPPER, "range": [-0.08, scale.top + 0.12], **scale.ticks},
        yaxis2={
            **figure.layout.yaxis.to_plotly_json(),
            "anchor": "x",
            "domain": _LOWER,
            "title": {"text": "share outside"},
            "tickformat": ".0%",
            "rangemode": "tozero",
            "nticks": 4,
        },
    )
    if not numbers.shows_rows:
        # The upper part is empty and thin; parts that overlap would hide shapes below the lines.
        hidden = {"visible": False, "domain": (0.99, 1.0)}
        figure.update_layout(height=340, showlegend=False, yaxis=hidden, yaxis2={"domain": (0.0, 0.98)})
    if over_time.axis is not None:
        figure.update_xaxes(range=over_time.shown(np.array(over_time.axis)))
    return figure


def coloured_columns(numbers: ReportNumbers) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """Names and colours of columns, and the rows outside to which each contributes most; all others together."""
    over_time = numbers.over_time
    names = np.array(numbers.model.prepared_names, dtype=object)[over_time.top]
    columns = [(name, names == name) for name in over_time.coloured]
    columns.append(("other columns", ~np.isin(names, over_time.coloured)))
    colours = [*palette.COLUMNS[: len(over_time.coloured)], palette.SOFT]
    return [(name, colour, own) for (name, own), colour in zip(columns, colours, strict=True) if own.any()]


class LevelScale:
    """Positions of levels: minus the logarithm of one minus the level, up to what the calibration rows can tell."""

    def __init__(self, n_calibration: int) -> None:
        self._least = 0.3 / (n_calibration + 1.0)
        self.top = float(-np.log10(self._least))

    def __call__(self, levels: Array) -> Array:
        """Positions on the axis."""
        return np.asarray(-np.log10(np.maximum(1.0 - levels, self._least)))

    @property
    def ticks(self) -> dict[str, Any]:
        """Round levels, and one on top: beyond all calibration rows."""
        levels = [0.0, 0.5, *(1.0 - 10.0**-k for k in range(1, 7) if 10.0**-k > 3.0 * self._least)]
        return {
            "tickvals": [*self(np.array(levels)).tolist(), self.top],
            "ticktext": [*(f"{level:.6g}" for level in levels), "1"],
        }


def _hover(numbers: NDArray[np.int64], levels: Array, names: NDArray[Any] | None = None) -> dict[str, Any]:
    data = [list(each) for each in zip(numbers.tolist(), levels.tolist(), strict=True)]
    why = ""
    if names is not None:
        data = [[*each, plain(name)] for each, name in zip(data, names.tolist(), strict=True)]
        why = ": %{customdata[2]}"
    template = "%{x}, row %{customdata[0]}, level %{customdata[1]:.4f}" + why + "<extra></extra>"
    return {"customdata": data, "hovertemplate": template}


def _mark_onset(figure: go.Figure, numbers: ReportNumbers) -> None:
    """A line at the onset, a shade over its interval, a line where the drift ended."""
    over_time = numbers.over_time
    if over_time.onset_times is None:
        return
    first, low, high = over_time.shown(np.array(over_time.onset_times[:3]))
    whole = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    figure.add_shape(type="rect", x0=low, x1=high, fillcolor=_ONSET, line={"width": 0}, **whole)
    figure.add_shape(type="line", x0=first, x1=first, line={"color": palette.HIGHLIGHT, "width": 2}, **whole)
    if np.isfinite(over_time.onset_times[3]):
        (until,) = over_time.shown(np.array(over_time.onset_times[3:]))
        dashed = {"color": palette.HIGHLIGHT, "width": 2, "dash": "dash"}
        figure.add_shape(type="line", x0=until, x1=until, line=dashed, **whole)
