"""Static PNG versions of the figures, for browsers without JavaScript."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from mvset.plotting import BandwidthDisplay, LevelSetDisplay, MassVolumeDisplay, palette
from mvset.plotting.axes import tidy
from mvset.report.numbers import CONFIDENCE, ReportNumbers
from mvset.summaries.masses import CONTOUR_MASSES
from mvset.summaries.survey import LEVEL_EDGES

_SIZE = (6.0, 4.0)


def static_pictures(numbers: ReportNumbers) -> dict[str, str]:
    """PNG images as data URLs, by the name of the figure."""
    sets, survey = numbers.model.sets, numbers.survey
    offset = sets.offset(survey.mass)
    masses = sets.guaranteed(CONTOUR_MASSES)
    level_sets = LevelSetDisplay(
        slices=numbers.projections[:1],
        masses=masses,
        offsets=np.array([sets.offset(mass) for mass in masses]),
        mass=survey.mass,
        offset=offset,
        inside=survey.sample.scores >= offset,
    )
    tried = numbers.bandwidths
    bandwidths = BandwidthDisplay(
        sigmas=tried.sigmas,
        values=tried.values,
        errors=tried.errors,
        eligible=tried.eligible,
        chosen=numbers.model.estimator.sigma_,
        title=tried.title,
        value_label=tried.label,
    )
    return {
        "sets": _png(level_sets.plot),
        "levels": _png(lambda ax: _draw_levels(ax, numbers)),
        "volumes": _png(MassVolumeDisplay(**numbers.curve, confidence=CONFIDENCE).plot),  # type: ignore[arg-type]
        "bandwidths": _png(bandwidths.plot),
    }


def _draw_levels(ax: Any, numbers: ReportNumbers) -> None:
    """Draw the histogram of levels from counts; LevelHistogramDisplay would need the level of every row."""
    low, high = (float(shares[0]) for shares in numbers.level_chance)
    widths = np.diff(LEVEL_EDGES)
    ax.bar(LEVEL_EDGES[:-1], numbers.level_shares, 0.9 * widths, align="edge", color=palette.OURS_LIGHT)
    ax.axhspan(low, high, color=palette.FAINT, alpha=0.25, linewidth=0)
    ax.axhline(widths[0], color=palette.INK, linestyle="dashed")
    ax.axvline(numbers.survey.mass, color=palette.HIGHLIGHT)
    tidy(ax, xlabel="level", ylabel="share of rows")


def _png(draw: Callable[[Any], Any]) -> str:
    """A PNG image as a data URL; `draw` draws on the axes that it is given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    draw(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
