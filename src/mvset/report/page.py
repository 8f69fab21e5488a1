"""Third: figures → one page that needs nothing else."""

from __future__ import annotations

import json
import platform
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
import plotly.offline
import sklearn

from mvset.estimators.pipeline import FittedModel
from mvset.plotting import palette
from mvset.report.figures import bandwidth_figure, level_figure, level_set_figure, mass_volume_figure
from mvset.report.numbers import ReportNumbers, report_numbers
from mvset.report.pictures import still_pictures
from mvset.summaries.survey import SurveyResult, UnusualRow
from mvset.version import __version__

_EXPLAINED_BY = 3  # features named for each row at most
_TELLING = 0.05  # least share of those after the first


def page_about(model: FittedModel, survey: SurveyResult, *, title: str = "", n_dropped: int = 0) -> str:
    """The page, as text."""
    numbers = report_numbers(model, survey)
    figures = {
        **{f"sets-{k}": level_set_figure(numbers, shadow) for k, shadow in enumerate(numbers.shadows)},
        "levels": level_figure(numbers),
        "volumes": mass_volume_figure(numbers),
        "bandwidths": bandwidth_figure(numbers),
    }
    here = files("mvset.report")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["count"] = _count
    template = environment.from_string(here.joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        numbers=numbers,
        survey=survey,
        drift=survey.drift,
        n_dropped=n_dropped,
        stops=_stops(numbers),
        explained=[_explained(row) for row in survey.unusual],
        done=_what_was_done(numbers),
        pictures=still_pictures(numbers),
        figures={name: json.loads(figure.to_json()) for name, figure in figures.items()},
        moving=_moving(numbers),
        css=here.joinpath("page.css").read_text(encoding="utf-8"),
        javascript=here.joinpath("page.js").read_text(encoding="utf-8"),
        plotly=plotly.offline.get_plotlyjs(),
    )


def _count(number: int) -> str:
    """A number with thin spaces between thousands."""
    return f"{number:,}".replace(",", "\u2009")


def _stops(numbers: ReportNumbers) -> list[dict[str, Any]]:
    """What the page says at every stop of the slider."""
    total = numbers.survey.drift.n_rows
    return [
        {
            "mass": f"{mass:.4g}",
            "outside": _count(int(outside)),
            "share": f"{outside / total:.2%}",
            "asked": f"{1.0 - mass:.2%}",
            "volume": str(volume),
        }
        for mass, outside, volume in zip(numbers.masses, numbers.survey.n_outside, numbers.volumes, strict=True)
    ]


def _moving(numbers: ReportNumbers) -> dict[str, Any]:
    """What the slider moves, for the page's own script."""
    return {
        "start": numbers.start,
        "masses": numbers.masses.tolist(),
        "offsets": numbers.offsets.tolist(),
        "stops": _stops(numbers),
        "scores": numbers.survey.sample.scores.tolist(),
        "colours": {"inside": palette.INK, "outside": palette.HIGHLIGHT},
        "sets": [f"sets-{k}" for k in range(len(numbers.shadows))],
    }


def _explained(row: UnusualRow) -> list[str]:
    """The features that contribute most, each as a phrase."""
    shares = {name: (value / (row.distance or 1.0)) ** 2 for name, value in row.contributions.items()}
    first, *others = sorted(shares, key=lambda name: -shares[name])[:_EXPLAINED_BY]
    return [_phrase(row, name, shares[name]) for name in (first, *(n for n in others if shares[n] >= _TELLING))]


def _phrase(row: UnusualRow, name: str, share: float) -> str:
    side = "above" if row.contributions[name] > 0 else "below"
    if name not in row.normal:
        return f"{name}: {side} what is normal around it ({share:.0%})"
    return f"{name} {row.values[name]:.4g}, {side} the {row.normal[name]:.4g} normal around it ({share:.0%})"


def _what_was_done(numbers: ReportNumbers) -> dict[str, str]:
    """Parameters, versions and seed."""
    model = numbers.model
    steps = [] if model.before is None else [type(step).__name__ for _, step in model.before.steps]
    parameters = {
        name: repr(value) for name, value in model.sets.get_params().items() if name not in ("n_jobs", "verbose")
    }
    return {
        "model": " → ".join([*steps, type(model.sets).__name__]),
        "columns": ", ".join(model.feature_names),
        "support vectors": str(len(model.sets.support_vectors_)),
        "bandwidth": f"{model.sets.sigma_:.6g}, chosen by {model.sets.selection_.criterion}",
        "realised mass": str(model.sets.mass_interval_),
        **parameters,
        "versions": f"mvset {__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}, "
        f"Python {platform.python_version()}",
    }
