"""Second: numbers → figures, as plotly takes them."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mvset import palette
from mvset.plotting.slices import Slice
from mvset.report.numbers import ReportNumbers, smooth_levels
from mvset.selection import describes_masses
from mvset.survey import LEVEL_EDGES

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
    """How many rows of the table have which level, beside the uniform."""
    counts = numbers.survey.level_counts
    total, n_bins = int(counts.sum()), len(counts)
    middles = 0.5 * (LEVEL_EDGES[1:] + LEVEL_EDGES[:-1])
    figure = _figure("level", "share of rows")
    figure.add_bar(
        x=middles,
        y=counts / total,
        width=0.9 / n_bins,
        marker={"color": palette.OURS_LIGHT, "line": {"width": 0}},
        customdata=np.column_stack([LEVEL_EDGES[:-1], LEVEL_EDGES[1:], counts]),
        hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{customdata[2]} rows<extra></extra>",
    )
    spread = 1.96 * np.sqrt((1.0 / n_bins) * (1.0 - 1.0 / n_bins) / total)
    low, high = max(0.0, 1.0 / n_bins - spread), 1.0 / n_bins + spread
    figure.add_hrect(y0=low, y1=high, fillcolor=palette.FAINT, opacity=0.25, line_width=0)
    figure.add_hline(y=1.0 / n_bins, line={"color": palette.INK, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(range=[0, 1])
    return _with_mass_line(figure, numbers)


def mass_volume_figure(numbers: ReportNumbers) -> go.Figure:
    """Volume of the nested sets, with its error, and with the band of their true masses."""
    masses, volumes = numbers.masses, np.array([volume.value for volume in numbers.volumes])
    errors = 1.96 * np.array([volume.standard_error for volume in numbers.volumes])
    figure = _figure("mass", "volume")
    band = numbers.band
    if len(band.masses) > 1:
        along = np.array([numbers.model.sets.volume(mass).value for mass in band.masses])
        figure.add_scatter(
            x=[*band.lower, *band.upper[::-1]],
            y=[*along, *along[::-1]],
            fill="toself",
            fillcolor="rgba(154, 154, 154, 0.25)",
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            name=f"true masses, {band.confidence:.0%} band",
        )
    figure.add_scatter(
        x=[*masses, *masses[::-1]],
        y=[*(volumes + errors), *(volumes - errors)[::-1]],
        fill="toself",
        fillcolor=_BAND,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name="error of the volume",
    )
    figure.add_scatter(
        x=masses,
        y=volumes,
        mode="lines",
        line={"color": palette.OURS, "width": 2.5},
        hovertemplate="mass %{x:.3f}: volume %{y:.4g}<extra></extra>",
        name="nested sets",
    )
    figure.update_xaxes(range=[masses[0], 1.0])
    return _with_mass_line(figure, numbers)


def bandwidth_figure(numbers: ReportNumbers) -> go.Figure:
    """Area under the mass-volume curve for every bandwidth tried, and the one chosen."""
    sets = numbers.model.sets
    curves = [curve for curve in sets.curves_ if np.isfinite(curve.area) and curve.area > 0]
    sigmas, areas = np.array([c.sigma for c in curves]), np.array([c.area for c in curves])
    errors = 1.96 * np.array([c.area_error for c in curves])
    valid = np.array([describes_masses(c.training_mass, c.masses) for c in curves], dtype=bool)
    figure = _figure("bandwidth σ", "area (AMV)")
    figure.add_scatter(
        x=sigmas,
        y=areas,
        error_y={"array": errors, "color": palette.OURS_LIGHT, "thickness": 1.2, "width": 3},
        mode="lines+markers",
        line={"color": palette.OURS, "width": 2},
        marker={"size": 7, "symbol": ["circle" if ok else "circle-open" for ok in valid]},
        hovertemplate="σ %{x:.4g}: area %{y:.4g}<extra></extra>",
    )
    chosen = sigmas == sets.sigma_
    figure.add_scatter(
        x=sigmas[chosen],
        y=areas[chosen],
        mode="markers+text",
        marker={"size": 13, "color": palette.HIGHLIGHT},
        text=[f"σ = {sets.sigma_:.3g}"] * int(chosen.sum()),
        textposition="bottom center",
        textfont={"color": palette.HIGHLIGHT},
        hoverinfo="skip",
    )
    figure.update_xaxes(type="log", dtick="D2")
    if len(areas):
        top = min(areas.max(), 4.0 * areas.min())
        figure.update_yaxes(range=[areas.min() - 0.25 * (top - areas.min()), top * 1.05])
    return figure


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
