"""Second step of the report: interactive plotly figures from the numbers."""

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mvset.app.report.numbers import ReportNumbers, interpolated_levels
from mvset.app.report.over_time import LevelScale
from mvset.app.summaries.scan import LEVEL_EDGES
from mvset.plotting import palette
from mvset.plotting.axes import is_wide, round_ticks
from mvset.plotting.numbers import VOLUME_LABEL, BandwidthComparison, Slice
from mvset.values import Array

_SHADES = [[0.0, palette.OURS], [0.35, palette.OURS_LIGHT], [0.7, "#bdd7e7"], [0.85, "#dcebf7"], [1.0, "#ffffff"]]
_BAND = "rgba(107, 174, 214, 0.35)"
_EXPECTED = "rgba(154, 154, 154, 0.25)"
_ONSET = "rgba(217, 72, 1, 0.16)"
_EVENT = "rgba(217, 72, 1, 0.10)"
_LOWER, _UPPER = (0.0, 0.27), (0.36, 1.0)  # parts of the height of the chart over time


def level_set_figure(numbers: ReportNumbers, projection: Slice) -> go.Figure:
    """Nested sets as filled contours, the border that the slider moves, and the rows.

    The script of the page relies on this order of the traces.
    """
    levels = interpolated_levels(numbers, projection.scores)
    grid: dict[str, Any] = {"x": projection.x, "y": projection.y, "z": levels.astype(np.float32), "hoverinfo": "skip"}
    mass, sample = float(numbers.survey.masses[numbers.start]), numbers.survey.sample
    figure = _empty_figure(plain(projection.names[0]), plain(projection.names[1]), height=380)
    filled = {"start": 0.6, "end": 0.9, "size": 0.1, "coloring": "fill"}
    figure.add_contour(
        **grid, colorscale=_SHADES, zmin=0.55, zmax=0.95, contours=filled, line={"width": 0}, showscale=False
    )
    border = {"start": mass, "end": mass, "size": 0.01, "coloring": "lines"}
    colour = [[0, palette.HIGHLIGHT], [1, palette.HIGHLIGHT]]
    figure.add_contour(**grid, contours=border, colorscale=colour, line={"width": 2.5}, showscale=False)
    figure.add_scatter(
        **_points(*projection.rows.T, size=5, colour=palette.INK, opacity=0.5),
        customdata=np.column_stack([sample.numbers, sample.levels]),
        hovertemplate="row %{customdata[0]:.0f}, level %{customdata[1]:.3f}<extra></extra>",
    )
    figure.update_xaxes(range=[projection.x[0], projection.x[-1]])
    figure.update_yaxes(range=[projection.y[0], projection.y[-1]])
    return figure


def level_figure(numbers: ReportNumbers) -> go.Figure:
    """Histogram of the levels of all rows, the uniform density, and the range of the bars expected by chance."""
    edges = LEVEL_EDGES
    figure = _empty_figure("level", "share of rows")
    figure.add_bar(
        x=0.5 * (edges[1:] + edges[:-1]),
        y=numbers.level_shares,
        width=0.9 * np.diff(edges),
        marker={"color": palette.OURS_LIGHT, "line": {"width": 0}},
        customdata=np.column_stack([edges[:-1], edges[1:], numbers.survey.level_counts]),
        hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{customdata[2]} rows<extra></extra>",
    )
    low, high = numbers.level_chance
    figure.add_hrect(y0=low, y1=high, fillcolor=palette.FAINT, opacity=0.25, line_width=0)
    figure.add_hline(y=float(edges[1]), line={"color": palette.INK, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(range=[0, 1])
    return _with_mass_line(figure, numbers)


def mass_volume_figure(numbers: ReportNumbers) -> go.Figure:
    """Sides of the fitted sets against their masses, with bands of the sides and of the true masses."""
    curve, (sides, lower, upper) = numbers.curve, numbers.sides
    masses, bounded = curve["masses"], np.isfinite(curve["mass_lower"])
    figure = _empty_figure("mass", "side, of the normal ranges")
    true_masses = [*curve["mass_lower"][bounded], *curve["mass_upper"][bounded][::-1]]
    band: dict[str, Any] = {"fill": "toself", "line": {"width": 0}, "mode": "lines", "hoverinfo": "skip"}
    figure.add_scatter(x=true_masses, y=[*sides[bounded], *sides[bounded][::-1]], fillcolor=_EXPECTED, **band)
    figure.add_scatter(x=[*masses, *masses[::-1]], y=[*upper, *lower[::-1]], fillcolor=_BAND, **band)
    figure.add_scatter(
        x=masses,
        y=sides,
        mode="lines",
        line={"color": palette.OURS, "width": 2.5},
        customdata=[
            [f"{each}", f"{share:.3g}"] for each, share in zip(numbers.volumes, numbers.box_shares, strict=True)
        ],
        hovertemplate="mass %{x:.3f}: side %{y:.1%}<br>volume %{customdata[0]}<br>%{customdata[1]} of the box of the "
        "normal ranges<extra></extra>",
    )
    figure.update_xaxes(range=[masses[0], 1.0])
    figure.update_yaxes(tickformat=".0%", nticks=6)
    return _with_mass_line(figure, numbers)


def bandwidth_figure(tried: BandwidthComparison, chosen_sigma: float) -> go.Figure:
    """Selection criterion of every bandwidth, with the selected one marked."""
    figure = _empty_figure("bandwidth σ", VOLUME_LABEL)
    figure.add_scatter(
        x=tried.sigmas,
        y=tried.values,
        error_y={"array": tried.errors, "color": palette.OURS_LIGHT, "thickness": 1.2, "width": 3},
        mode="lines+markers",
        line={"color": palette.OURS, "width": 2},
        marker={"size": 7, "symbol": ["circle" if eligible else "circle-open" for eligible in tried.eligible]},
        hovertemplate="σ %{x:.4g}: %{y:.4g}<extra></extra>",
    )
    chosen = tried.sigmas == chosen_sigma
    figure.add_scatter(
        x=tried.sigmas[chosen],
        y=tried.values[chosen],
        mode="markers+text",
        marker={"size": 13, "color": palette.HIGHLIGHT},
        text=[f"σ = {chosen_sigma:.3g}"] * int(chosen.sum()),
        textposition="bottom left" if chosen[len(chosen) // 2 :].any() else "bottom right",
        textfont={"color": palette.HIGHLIGHT},
        hoverinfo="skip",
    )
    ticks = round_ticks(tried.sigmas)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:.3g}" for tick in ticks])
    if len(tried.values):
        figure.add_hline(y=1.0, line={"color": palette.FAINT, "width": 1, "dash": "dot"})
        _fit_values(figure, tried.values, tried.errors)
    return figure


def _fit_values(figure: go.Figure, values: Array, errors: Array) -> None:
    """Set the range of the axis to all points with their error bars, and the label below the lowest."""
    wide = is_wide(values)
    low, high = np.maximum(values - errors, 0.5 * values), values + errors
    low, high = (np.log10(low), np.log10(high)) if wide else (low, high)
    height = float(high.max() - low.min()) or 0.1
    if wide:
        figure.update_yaxes(type="log", exponentformat="power", nticks=6)
    figure.update_yaxes(range=[float(low.min()) - 0.2 * height, float(high.max()) + 0.06 * height])


def time_figure(numbers: ReportNumbers) -> go.Figure:
    """Levels above, on a scale that spreads those near one; the running share outside below; the onset in both."""
    over_time, scale = numbers.over_time, LevelScale(numbers.model.sets.calibration.n_rows)
    figure = _empty_figure({"number": "time"}.get(over_time.kind, over_time.kind.removeprefix("date").strip()), "level")
    _add_levels(figure, numbers, scale)
    figure.add_scatter(
        x=over_time.shown(over_time.share_times),
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
    _mark_events(figure, numbers)
    if numbers.shows_rows:
        outside_above = float(scale(np.array(numbers.survey.mass)))
        figure.add_hline(y=outside_above, line={"color": palette.INK, "width": 1, "dash": "dot"})
    share = {"title": {"text": "share outside"}, "tickformat": ".0%", "rangemode": "tozero", "nticks": 4}
    figure.update_layout(
        height=520,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
        margin={"t": 40},
        xaxis={"anchor": "y2", "nticks": 7, "tickangle": 0},
        yaxis={"domain": _UPPER, "range": [-0.08, scale.top + 0.12], **scale.ticks},
        yaxis2={"anchor": "x", "domain": _LOWER, **share},
    )
    if not numbers.shows_rows:
        # The upper part is empty and thin; parts that overlap would hide shapes below the lines.
        hidden = {"visible": False, "domain": (0.99, 1.0)}
        figure.update_layout(height=340, showlegend=False, yaxis=hidden, yaxis2={"domain": (0.0, 0.98)})
    if over_time.axis is not None:
        figure.update_xaxes(range=over_time.shown(np.array(over_time.axis)))
    return figure


def _add_levels(figure: go.Figure, numbers: ReportNumbers, scale: LevelScale) -> None:
    """Add the levels of rows, those outside in the colour of the column that contributes most."""
    over_time, template = numbers.over_time, "%{x}, row %{customdata[0]}, level %{customdata[1]:.4f}"
    inside: tuple[str, str, Array, list[str]] = ("inside", palette.FAINT, over_time.inside, [])
    for name, colour, rows, why in [inside, *over_time.coloured_columns(numbers.model.prepared_names)]:
        style: dict[str, Any] = {"size": 7, "opacity": 0.85} if why else {"size": 4, "opacity": 0.45}
        figure.add_scatter(
            **_points(over_time.shown(rows[:, 0]), scale(rows[:, 1]), colour=colour, **style),
            name=plain(name),
            customdata=rows[:, [2, 1]],
            text=[plain(each) for each in why],
            hovertemplate=f"{template}{': %{text}' if why else ''}<extra></extra>",
        )


def _mark_onset(figure: go.Figure, numbers: ReportNumbers) -> None:
    """Draw a line at the onset, a shade over its interval, and a line where the drift ended."""
    over_time = numbers.over_time
    if not len(over_time.onset_times):
        return
    first, low, high, *until = over_time.shown(over_time.onset_times)
    whole: dict[str, Any] = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    figure.add_shape(type="rect", x0=low, x1=high, fillcolor=_ONSET, line={"width": 0}, **whole)
    for moment, dash in zip([first, *until], ["solid", "dash"], strict=False):
        line = {"color": palette.HIGHLIGHT, "width": 2, "dash": dash}
        figure.add_shape(type="line", x0=moment, x1=moment, line=line, **whole)


def _mark_events(figure: go.Figure, numbers: ReportNumbers) -> None:
    """Shade the time of each event."""
    over_time = numbers.over_time
    for start, end in over_time.event_times:
        low, high = over_time.shown(np.array([start, end]))
        style = {"fillcolor": _EVENT, "line": {"color": palette.HIGHLIGHT, "width": 1}, "layer": "below"}
        figure.add_shape(type="rect", x0=low, x1=high, yref="paper", y0=0, y1=1, **style)


def trend_figure(numbers: ReportNumbers) -> go.Figure:
    """The columns that explain what happened, over time, with the range of normal values."""
    over_time, n = numbers.over_time, len(numbers.over_time.trends)
    figure = _empty_figure({"number": "time"}.get(over_time.kind, over_time.kind.removeprefix("date").strip()), "")
    for k, trend in enumerate(over_time.trends):
        axis = "y" if k == 0 else f"y{k + 1}"
        styles = ((trend.inside, palette.FAINT, 4, 0.45), (trend.outside, palette.HIGHLIGHT, 6, 0.85))
        for rows, colour, size, opacity in styles:
            figure.add_scatter(
                **_points(over_time.shown(rows[:, 0]), rows[:, 1], size=size, colour=colour, opacity=opacity),
                yaxis=axis,
                hovertemplate=f"%{{x}}: {plain(trend.name)} %{{y:.5g}}<extra></extra>",
            )
        low, high = trend.normal_range
        band = {"fillcolor": _BAND, "line": {"width": 0}, "layer": "below"}
        figure.add_shape(type="rect", xref="paper", x0=0, x1=1, yref=axis, y0=low, y1=high, **band)
        top = 1.0 - k / n
        domain = (top - 1.0 / n + 0.06 if k < n - 1 else 0.0, top)
        title = {"title": {"text": plain(trend.name)}, "domain": domain, "anchor": "x", "nticks": 5}
        figure.update_layout({f"yaxis{'' if k == 0 else k + 1}": title})
    _mark_events(figure, numbers)
    figure.update_layout(height=60 + 190 * n, xaxis={"anchor": f"y{n}" if n > 1 else "y", "nticks": 7, "tickangle": 0})
    if over_time.axis is not None:
        figure.update_xaxes(range=over_time.shown(np.array(over_time.axis)))
    return figure


def _empty_figure(x: str, y: str, height: int = 340) -> go.Figure:
    """Axes with their titles; the script of the page has the style of all figures."""
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return go.Figure(layout={"template": "none", "height": height, **axes})


def _points(x: Any, y: Any, *, size: int, colour: str, opacity: float) -> dict[str, Any]:
    """A scatter of points without edges."""
    marker = {"size": size, "color": colour, "opacity": opacity, "line": {"width": 0}}
    return {"x": x, "y": y, "mode": "markers", "marker": marker}


def _with_mass_line(figure: go.Figure, numbers: ReportNumbers) -> go.Figure:
    """Add a vertical line at the mass of the slider; the script of the page expects it to be the last shape."""
    mass = float(numbers.survey.masses[numbers.start])
    return figure.add_vline(x=mass, line={"color": palette.HIGHLIGHT, "width": 2})


def plain(name: str) -> str:
    """Escape a name for plotly, which interprets HTML tags and dollar signs."""
    return escape(name, quote=False).replace("$", "&#36;")
