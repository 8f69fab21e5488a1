"""The figures once more as still pictures, for readers without JavaScript."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from mvset.plotting import BandwidthDisplay, LevelSetDisplay, MassVolumeDisplay, palette
from mvset.plotting.axes import tidy
from mvset.report.numbers import ReportNumbers
from mvset.summaries.masses import claimable
from mvset.summaries.survey import LEVEL_EDGES

_SIZE = (6.0, 4.0)


def still_pictures(numbers: ReportNumbers) -> dict[str, str]:
    """PNG pictures as addresses that hold their data, by the name of the figure."""
    sets, survey = numbers.model.sets, numbers.survey
    offset = sets.offset(survey.mass)
    masses = claimable(sets, [0.7, 0.8, 0.9, 0.95, 0.99])
    level_sets = LevelSetDisplay(
        slices=numbers.shadows[:1],
        masses=masses,
        offsets=np.array([sets.offset(mass) for mass in masses]),
        mass=survey.mass,
        offset=offset,
        inside=survey.sample.scores >= offset,
    )
    return {
        "sets": _picture(level_sets.plot),
        "levels": _picture(lambda ax: _draw_levels(ax, numbers)),
        "volumes": _picture(lambda ax: MassVolumeDisplay.from_estimator(sets, ax=ax)),
        "bandwidths": _picture(lambda ax: BandwidthDisplay.from_estimator(sets, ax=ax)),
    }


def _draw_levels(ax: Any, numbers: ReportNumbers) -> None:
    """The bars of all rows; a display would want the level of each."""
    low, high = (float(shares[0]) for shares in numbers.level_chance)
    widths = np.diff(LEVEL_EDGES)
    ax.bar(LEVEL_EDGES[:-1], numbers.level_shares, 0.9 * widths, align="edge", color=palette.OURS_LIGHT)
    ax.axhspan(low, high, color=palette.FAINT, alpha=0.25, linewidth=0)
    ax.axhline(widths[0], color=palette.INK, linestyle="dashed")
    ax.axvline(numbers.survey.mass, color=palette.HIGHLIGHT)
    tidy(ax, xlabel="level", ylabel="share of rows")


def _picture(draw: Callable[[Any], Any]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    draw(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
