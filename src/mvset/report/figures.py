"""Second step of the report: interactive plotly figures from the numbers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from mvset.plotting import palette
from mvset.plotting.axes import is_wide
from mvset.report.numbers import ReportNumbers, interpolated_levels
from mvset.summaries.slices import Slice
from mvset.summaries.survey import LEVEL_EDGES

Array = NDArray[np.float64]

_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": palette.INK}
_SHADES = [[0.0, palette.OURS], [0.35, palette.OURS_LIGHT], [0.7, "#bdd7e7"], [0.85, "#dcebf7"], [1.0, "#ffffff"]]
_BAND = "rgba(107, 174, 214, 0.35)"


def level_set_figure(numbers: ReportNumbers, projection: Slice) -> go.Figure:
    """Nested sets as filled contours, the border that the slider moves, and the rows.

    The script of the page relies on this order of the traces.
    """
    levels = interpolated_levels(numbers, projection.scores)
    grid: dict[str, Any] = {"x": projection.x, "y": projection.y, "z": levels.astype(np.float32), "hoverinfo": "skip"}
    mass = float(numbers.masses[numbers.start])
    sample = numbers.survey.sample
    figure = empty_figure(plain(projection.names[0]), plain(projection.names[1]))
    figure.add_contour(
        **grid,
        colorscale=_SHADES,
        zmin=0.55,
        zmax=0.95,
        contours={"start": 0.6, "end": 0.9, "size": 0.1, "coloring": "fill"},
        line={"width": 0},
        showscale=False,
    )
    figure.add_contour(
        **grid,
        contours={"start": mass, "end": mass, "size": 0.01, "coloring": "lines"},
        colorscale=[[0, palette.HIGHLIGHT], [1, palette.HIGHLIGHT]],
        line={"width": 2.5},
        showscale=False,
    )
    figure.add_scatter(
        x=projection.rows[:, 0],
        y=projection.rows[:, 1],
        mode="markers",
        marker={"size": 5, "color": palette.INK, "opacity": 0.5, "line": {"width": 0}},
        customdata=np.column_stack([sample.numbers, sample.levels]),
        hovertemplate="row %{customdata[0]:.0f}, level %{customdata[1]:.3f}<extra></extra>",
    )
    figure.update_layout(height=380)
    figure.update_xaxes(range=[projection.x[0], projection.x[-1]])
    figure.update_yaxes(range=[projection.y[0], projection.y[-1]])
    return figure


def level_figure(numbers: ReportNumbers) -> go.Figure:
    """Histogram of the levels of all rows, the uniform density, and the range of the bars expected by chance."""
    edges, counts = LEVEL_EDGES, numbers.survey.level_counts
    figure = empty_figure("level", "share of rows")
    figure.add_bar(
        x=0.5 * (edges[1:] + edges[:-1]),
        y=numbers.level_shares,
        width=0.9 * np.diff(edges),
        marker={"color": palette.OURS_LIGHT, "line": {"width": 0}},
        customdata=np.column_stack([edges[:-1], edges[1:], counts]),
        hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{customdata[2]} rows<extra></extra>",
    )
    low, high = (float(shares[0]) for shares in numbers.level_chance)  # all bars have the same width
    figure.add_hrect(y0=low, y1=high, fillcolor=palette.FAINT, opacity=0.25, line_width=0)
    figure.add_hline(y=float(edges[1]), line={"color": palette.INK, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(range=[0, 1])
    return _with_mass_line(figure, numbers)


def mass_volume_figure(numbers: ReportNumbers) -> go.Figure:
    """Sides of the fitted sets against their masses, with bands of the sides and of the true masses."""
    curve, (sides, lower, upper) = numbers.curve, numbers.sides
    masses, bounded = curve["masses"], np.isfinite(curve["mass_lower"])
    figure = empty_figure("mass", "side, of the normal ranges")
    _add_band(
        figure,
        x=[*curve["mass_lower"][bounded], *curve["mass_upper"][bounded][::-1]],
        y=[*sides[bounded], *sides[bounded][::-1]],
        colour="rgba(154, 154, 154, 0.25)",
    )
    _add_band(figure, x=[*masses, *masses[::-1]], y=[*upper, *lower[::-1]], colour=_BAND)
    figure.add_scatter(
        x=masses,
        y=sides,
        mode="lines",
        line={"color": palette.OURS, "width": 2.5},
        customdata=[
            [f"{volume}", f"{share:.3g}"] for volume, share in zip(numbers.volumes, numbers.box_shares, strict=True)
        ],
        hovertemplate="mass %{x:.3f}: side %{y:.1%}<br>volume %{customdata[0]}<br>%{customdata[1]} of the box of the "
        "normal ranges<extra></extra>",
    )
    figure.update_xaxes(range=[masses[0], 1.0])
    figure.update_yaxes(tickformat=".0%", nticks=6)
    return _with_mass_line(figure, numbers)


def bandwidth_figure(numbers: ReportNumbers) -> go.Figure:
    """Selection criterion of every bandwidth, with the selected one marked."""
    tried, chosen_sigma = numbers.bandwidths, numbers.model.estimator.sigma_
    figure = empty_figure("bandwidth σ", tried.label)
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
    figure.update_xaxes(type="log", **_round_ticks(tried.sigmas))
    compared = tried.values[tried.eligible] if tried.eligible.any() else tried.values
    if len(compared):
        figure.add_hline(y=float(compared.min()), line={"color": palette.FAINT, "width": 1, "dash": "dot"})
        _fit_values(figure, tried.values, tried.errors)
    return figure


def _fit_values(figure: go.Figure, values: Array, errors: Array) -> None:
    """Let the axis hold all points with their error bars, and the label below the lowest; logarithmic if wide."""
    wide = is_wide(values)
    low, high = np.maximum(values - errors, 0.5 * values), values + errors
    low, high = (np.log10(low), np.log10(high)) if wide else (low, high)
    height = float(high.max() - low.min()) or 0.1
    if wide:
        figure.update_yaxes(type="log", exponentformat="power", nticks=6)
    figure.update_yaxes(range=[float(low.min()) - 0.2 * height, float(high.max()) + 0.06 * height])


def _round_ticks(values: Array, at_most: int = 6) -> dict[str, Any]:
    """Round numbers on a logarithmic axis, so few that their labels do not touch."""
    if not len(values):
        return {}
    low, high = 0.9 * float(values.min()), 1.1 * float(values.max())
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
    for steps in (
        (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
        (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
        (1.0, 2.0, 5.0),
        (1.0, 3.0),
        (1.0,),
    ):
        ticks = np.outer(decades, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= at_most:
            break
    ticks = ticks[:: -(-len(ticks) // at_most) or 1]
    return {"tickvals": ticks.tolist(), "ticktext": [f"{tick:.3g}" for tick in ticks]}


def _add_band(figure: go.Figure, x: list[float], y: list[float], colour: str) -> None:
    figure.add_scatter(x=x, y=y, fill="toself", fillcolor=colour, line={"width": 0}, mode="lines", hoverinfo="skip")


def empty_figure(x: str, y: str) -> go.Figure:
    """Axes in the style of the page."""
    axis = {
        "gridcolor": "#eeeeee",
        "linecolor": palette.FAINT,
        "ticks": "outside",
        "zeroline": False,
        "automargin": True,
    }
    figure = go.Figure()
    figure.update_layout(
        template="none",
        font=_FONT,
        margin={"l": 55, "r": 15, "t": 15, "b": 45},
        height=340,
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="#ffffff",
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}},
        dragmode=False,
    )
    return figure


def _with_mass_line(figure: go.Figure, numbers: ReportNumbers) -> go.Figure:
    """Add a vertical line at the mass of the slider; the script of the page expects it to be the last shape."""
    mass = float(numbers.masses[numbers.start])
    return figure.add_vline(x=mass, line={"color": palette.HIGHLIGHT, "width": 2})


def plain(name: str) -> str:
    """Escape a name for plotly, which interprets HTML tags and dollar signs."""
    return escape(name, quote=False).replace("$", "&#36;")
