"""Second: numbers → figures, as plotly takes them."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mvset.plotting import palette
from mvset.plotting.axes import is_wide
from mvset.report.numbers import ReportNumbers, smooth_levels
from mvset.summaries.slices import Slice
from mvset.summaries.survey import LEVEL_EDGES

_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": palette.INK}
_SHADES = [[0.0, palette.OURS], [0.35, palette.OURS_LIGHT], [0.7, "#bdd7e7"], [0.85, "#dcebf7"], [1.0, "#ffffff"]]
_BAND = "rgba(107, 174, 214, 0.35)"


def level_set_figure(numbers: ReportNumbers, shadow: Slice) -> go.Figure:
    """Nested sets as shades, the border that the slider moves, and the rows; in this order the page knows them."""
    levels = smooth_levels(numbers, shadow.scores)
    grid: dict[str, Any] = {"x": shadow.x, "y": shadow.y, "z": levels.astype(np.float32), "hoverinfo": "skip"}
    mass = float(numbers.masses[numbers.start])
    sample = numbers.survey.sample
    figure = _figure(_plain(shadow.names[0]), _plain(shadow.names[1]))
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
        x=shadow.rows[:, 0],
        y=shadow.rows[:, 1],
        mode="markers",
        marker={"size": 5, "color": palette.INK, "opacity": 0.5},
        customdata=np.column_stack([sample.numbers, sample.levels]),
        hovertemplate="row %{customdata[0]:.0f}, level %{customdata[1]:.3f}<extra></extra>",
    )
    figure.update_layout(height=380)
    figure.update_xaxes(range=[shadow.x[0], shadow.x[-1]])
    figure.update_yaxes(range=[shadow.y[0], shadow.y[-1]])
    return figure


def level_figure(numbers: ReportNumbers) -> go.Figure:
    """How many rows of the table have which level, beside the uniform and where bars are by chance."""
    edges, counts = LEVEL_EDGES, numbers.survey.level_counts
    figure = _figure("level", "share of rows")
    figure.add_bar(
        x=0.5 * (edges[1:] + edges[:-1]),
        y=numbers.level_shares,
        width=0.9 * np.diff(edges),
        marker={"color": palette.OURS_LIGHT, "line": {"width": 0}},
        customdata=np.column_stack([edges[:-1], edges[1:], counts]),
        hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{customdata[2]} rows<extra></extra>",
    )
    low, high = (float(shares[0]) for shares in numbers.level_chance)  # all bars are of one width
    figure.add_hrect(y0=low, y1=high, fillcolor=palette.FAINT, opacity=0.25, line_width=0)
    figure.add_hline(y=float(edges[1]), line={"color": palette.INK, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(range=[0, 1])
    return _with_mass_line(figure, numbers)


def mass_volume_figure(numbers: ReportNumbers) -> go.Figure:
    """Volume of the nested sets, with its error, and with the band of their true masses."""
    curve = numbers.curve
    masses, volumes = curve["masses"], curve["volumes"]
    known = np.isfinite(curve["mass_lower"])
    figure = _figure("mass", "volume")
    _add_band(
        figure,
        x=[*curve["mass_lower"][known], *curve["mass_upper"][known][::-1]],
        y=[*volumes[known], *volumes[known][::-1]],
        colour="rgba(154, 154, 154, 0.25)",
    )
    _add_band(figure, x=[*masses, *masses[::-1]], y=[*curve["upper"], *curve["lower"][::-1]], colour=_BAND)
    figure.add_scatter(
        x=masses,
        y=volumes,
        mode="lines",
        line={"color": palette.OURS, "width": 2.5},
        hovertemplate="mass %{x:.3f}: volume %{y:.4g}<extra></extra>",
    )
    figure.update_xaxes(range=[masses[0], 1.0])
    if is_wide(volumes):
        figure.update_yaxes(type="log", exponentformat="power")
    return _with_mass_line(figure, numbers)


def bandwidth_figure(numbers: ReportNumbers) -> go.Figure:
    """Area under the mass-volume curve for every bandwidth tried, and the one chosen."""
    tried, chosen_sigma = numbers.bandwidths, numbers.model.sets.sigma_
    figure = _figure("bandwidth σ", "area (AMV)")
    figure.add_scatter(
        x=tried.sigmas,
        y=tried.areas,
        error_y={"array": 1.96 * tried.errors, "color": palette.OURS_LIGHT, "thickness": 1.2, "width": 3},
        mode="lines+markers",
        line={"color": palette.OURS, "width": 2},
        marker={"size": 7, "symbol": ["circle" if valid else "circle-open" for valid in tried.valid]},
        hovertemplate="σ %{x:.4g}: area %{y:.4g}<extra></extra>",
    )
    chosen = tried.sigmas == chosen_sigma
    figure.add_scatter(
        x=tried.sigmas[chosen],
        y=tried.areas[chosen],
        mode="markers+text",
        marker={"size": 13, "color": palette.HIGHLIGHT},
        text=[f"σ = {chosen_sigma:.3g}"] * int(chosen.sum()),
        textposition="bottom left" if chosen[len(chosen) // 2 :].any() else "bottom right",
        textfont={"color": palette.HIGHLIGHT},
        hoverinfo="skip",
    )
    figure.update_xaxes(type="log", dtick="D2")
    compete = tried.areas[tried.valid] if tried.valid.any() else tried.areas
    if len(compete):
        least, top = compete.min(), min(tried.areas.max(), 4.0 * compete.min())
        figure.update_yaxes(range=[least - 0.25 * (top - least), 1.05 * top])
    return figure


def _add_band(figure: go.Figure, x: list[float], y: list[float], colour: str) -> None:
    figure.add_scatter(x=x, y=y, fill="toself", fillcolor=colour, line={"width": 0}, mode="lines", hoverinfo="skip")


def _figure(x: str, y: str) -> go.Figure:
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
    """A line at the mass of the slider, last of the shapes."""
    mass = float(numbers.masses[numbers.start])
    return figure.add_vline(x=mass, line={"color": palette.HIGHLIGHT, "width": 2})


def _plain(name: str) -> str:
    """A name that plotly shows as it is: it takes tags for markup and dollars for mathematics."""
    return escape(name, quote=False).replace("$", "&#36;")
