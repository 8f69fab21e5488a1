"""Static PNG versions of the figures, for browsers without JavaScript."""

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from mvset.app.report.numbers import CONFIDENCE, ReportNumbers
from mvset.app.report.over_time import LevelScale
from mvset.app.summaries.scan import LEVEL_EDGES
from mvset.plotting import BandwidthDisplay, LevelSetDisplay, MassVolumeDisplay, palette
from mvset.plotting.axes import plain, tidy
from mvset.plotting.numbers import CONTOUR_MASSES

_SIZE = (6.0, 4.0)


def static_pictures(numbers: ReportNumbers) -> dict[str, str]:
    """PNG images as data URLs, by the name of the figure."""
    sets, survey = numbers.model.sets, numbers.survey
    offset = sets.offset(survey.mass)
    masses = sets.calibration.guaranteed(CONTOUR_MASSES)
    level_sets = LevelSetDisplay(
        slices=numbers.projections[:1],
        masses=masses,
        offsets=np.array([sets.offset(mass) for mass in masses]),
        mass=survey.mass,
        offset=offset,
        inside=survey.sample.scores >= offset if numbers.shows_rows else None,
    )
    bandwidths = BandwidthDisplay(numbers.bandwidths, numbers.model.estimator.sigma_)
    heights = (3, 1) if numbers.shows_rows else (1,)
    return {
        "time": _png(lambda axes: _draw_over_time(np.ravel(axes), numbers), len(heights), height_ratios=heights),
        "sets": _png(level_sets.plot),
        "levels": _png(lambda ax: _draw_levels(ax, numbers)),
        "volumes": _png(MassVolumeDisplay(**numbers.curve, confidence=CONFIDENCE).plot),  # type: ignore[arg-type]
        "bandwidths": _png(bandwidths.plot),
    }


def _draw_over_time(axes: Any, numbers: ReportNumbers) -> None:
    """Draw levels, by column, above the running share outside; the onset in both. One axis has the share only."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    over_time, lower = numbers.over_time, axes[-1]
    if numbers.shows_rows:
        _draw_rows_over_time(axes[0], numbers)
    lower.plot(over_time.shown(over_time.share_times), over_time.shares, color=palette.OURS)
    lower.axhspan(*over_time.band, color=palette.FAINT, alpha=0.25, linewidth=0)
    lower.set_ylim(bottom=0.0)
    lower.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if len(over_time.onset_times):
        first, low, high = over_time.shown(over_time.onset_times[:3])
        for ax in axes:
            ax.axvspan(low, high, color=palette.HIGHLIGHT, alpha=0.16, linewidth=0)
            ax.axvline(first, color=palette.HIGHLIGHT)
    if over_time.axis is not None:
        lower.set_xlim(over_time.shown(np.array(over_time.axis)))
    tidy(lower, xlabel="row" if over_time.kind == "row" else "time", ylabel="share\noutside")
    if over_time.kind.startswith("date"):
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        lower.xaxis.set(major_locator=locator, major_formatter=formatter)


def _draw_rows_over_time(ax: Any, numbers: ReportNumbers) -> None:
    """Draw the levels of rows, those outside in the colour of a column."""
    over_time, scale = numbers.over_time, LevelScale(numbers.model.sets.calibration.n_rows)
    ax.scatter(over_time.shown(over_time.inside[:, 0]), scale(over_time.inside[:, 1]), s=4, color=palette.FAINT)
    for name, colour, rows, _ in over_time.coloured_columns(numbers.model.prepared_names):
        ax.scatter(over_time.shown(rows[:, 0]), scale(rows[:, 1]), s=14, color=colour, label=plain(name))
    ax.axhline(scale(np.array(numbers.survey.mass)), color=palette.INK, linewidth=0.8, linestyle="dotted")
    ax.set_yticks(scale.ticks["tickvals"], scale.ticks["ticktext"])
    if len(over_time.outside):
        ax.legend(frameon=False, fontsize="small", ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    tidy(ax, xlabel="", ylabel="level")


def _draw_levels(ax: Any, numbers: ReportNumbers) -> None:
    """Draw the histogram of levels from counts; LevelHistogramDisplay would need the level of every row."""
    widths = np.diff(LEVEL_EDGES)
    ax.bar(LEVEL_EDGES[:-1], numbers.level_shares, 0.9 * widths, align="edge", color=palette.OURS_LIGHT)
    ax.axhspan(*numbers.level_chance, color=palette.FAINT, alpha=0.25, linewidth=0)
    ax.axhline(widths[0], color=palette.INK, linestyle="dashed")
    ax.axvline(numbers.survey.mass, color=palette.HIGHLIGHT)
    tidy(ax, xlabel="level", ylabel="share of rows")


def _png(draw: Callable[[Any], Any], n_axes: int = 1, **layout: Any) -> str:
    """A PNG image as a data URL; `draw` draws on the axes that it is given, one below the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    draw(figure.subplots(n_axes, sharex=True, **layout))
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
