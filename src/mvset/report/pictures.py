"""The figures once more as still pictures, for readers without JavaScript."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay
from mvset.plotting.masses import claimable
from mvset.report.numbers import ReportNumbers

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
        "levels": _picture(
            lambda ax: LevelHistogramDisplay.from_predictions(survey.sample.levels, mass=survey.mass, ax=ax)
        ),
        "volumes": _picture(lambda ax: MassVolumeDisplay.from_estimator(sets, ax=ax)),
        "bandwidths": _picture(lambda ax: BandwidthDisplay.from_estimator(sets, ax=ax)),
    }


def _picture(draw: Callable[[Any], Any]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    draw(figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
