"""Third step of the report: one self-contained HTML page from the figures."""

import base64
import hashlib
import json
import platform
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
import plotly.offline
import sklearn

from mvset.app.report.figures import (
    bandwidth_figure,
    level_figure,
    level_set_figure,
    mass_volume_figure,
    time_figure,
    trend_figure,
)
from mvset.app.report.numbers import ReportNumbers, report_numbers, without_rows
from mvset.app.summaries.flagged import ColumnAlarms
from mvset.app.summaries.models import text_summary
from mvset.app.summaries.scan import TableSummary, UnusualRow
from mvset.app.summaries.shown import shown, shown_range, shown_values
from mvset.estimators.fitted_model import FittedModel
from mvset.plotting import palette
from mvset.version import __version__

_MAX_EVENTS = 10  # on the first screen
_VERDICTS = {
    "unusual": "Unusual: chance does not explain these rows",
    "nothing unusual found": "Nothing unusual found",
    "cannot tell": "Cannot tell whether these rows are unusual",
}
_MAX_EXPLANATIONS = 3  # features named per row
_MIN_SHARE = 0.05  # of the squared distance, for features after the first


def render_page(
    model: FittedModel, survey: TableSummary, *, title: str = "", n_dropped: int = 0, rows: bool = True
) -> str:
    """The HTML of the report; with or without what it shows of single rows."""
    numbers = report_numbers(model, survey)
    if not rows:
        numbers = without_rows(numbers)
    figures = {
        **({"trends": trend_figure(numbers)} if numbers.over_time.trends else {}),
        "time": time_figure(numbers),
        **{f"sets-{k}": level_set_figure(numbers, projection) for k, projection in enumerate(numbers.projections)},
        "levels": level_figure(numbers),
    }
    if numbers.has_volumes:
        figures["volumes"] = mass_volume_figure(numbers)
    if numbers.bandwidths is not None:
        figures["bandwidths"] = bandwidth_figure(numbers.bandwidths, model.estimator.sigma_)
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    written = {"count": _thousands, "shown": shown_values, "shown_range": shown_range}
    environment.filters |= {**written, "strip": _strip, "explained": _explanations}
    javascript = [_one_newline(text) for text in (plotly.offline.get_plotlyjs(), _text("page.js"))]
    template = environment.from_string(_text("page.html"))
    return template.render(
        title=title,
        numbers=numbers,
        survey=numbers.survey,
        verdicts=_VERDICTS,
        shown_events=sorted(numbers.survey.findings.events, key=lambda event: event.by_chance)[:_MAX_EVENTS],
        first_look=_first_look(numbers.survey),
        p_values=numbers.survey.drift.p_values_in_words,
        n_dropped=n_dropped,
        settings=_settings(model),
        figures={name: json.loads(figure.to_json()) for name, figure in figures.items()},
        slider=_slider_data(numbers),
        css=_text("page.css"),
        javascript=javascript,
        script_hashes=[_script_hash(script) for script in javascript],
    )


def _first_look(survey: TableSummary) -> str:
    """Where to begin: the strongest event and its first column, or the column that changed most surely."""
    events, changed = survey.findings.events, survey.drift.changed_columns
    if events:
        event = min(events, key=lambda event: event.by_chance)
        column = f", and column {event.columns[0].name} there" if event.columns else ""
        return f"{event.peak}{'' if event.peak.time is None else f' ({event.peak.place})'}{column}."
    if changed:
        return f"column {changed[0].name}."
    explaining = [column.name for column in survey.columns if column.share > 0]
    return (
        f"column {explaining[0]}, which explains most rows outside." if explaining else "the most unusual rows below."
    )


def _text(name: str) -> str:
    """A file of this package."""
    return files("mvset.app.report").joinpath(name).read_text(encoding="utf-8")


def _one_newline(text: str) -> str:
    """Text with the line ends that browsers replace all others by, before they compare hashes."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _script_hash(script: str) -> str:
    """What the Content-Security-Policy calls a script: it allows these and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _thousands(number: int) -> str:
    """A number with thin spaces as thousands separators."""
    return f"{number:,}".replace(",", "\u2009")


def _slider_texts(numbers: ReportNumbers) -> list[dict[str, Any]]:
    """The texts that change with the slider, for each of its positions."""
    total = numbers.survey.drift.n_rows
    masses, n_outside = numbers.survey.masses, numbers.survey.n_outside
    stops = zip(masses, n_outside, numbers.sides[0], numbers.volumes, numbers.box_shares, strict=True)
    return [
        {
            "mass": f"{mass:.4g}",
            "outside": _thousands(int(outside)),
            "share": f"{outside / total:.2%}",
            "asked": f"{1.0 - mass:.2%}",
            "side": f"{side:.0%}" if side >= 0.1 else f"{side:.2g}",
            "volume": f"volume {volume}, {share:.3g} of the box of the normal ranges",
        }
        for mass, outside, side, volume, share in stops
    ]


def _slider_data(numbers: ReportNumbers) -> dict[str, Any]:
    """The data that the script of the page needs to move the slider."""
    return {
        "start": numbers.start,
        "masses": numbers.survey.masses.tolist(),
        "offsets": numbers.offsets.tolist(),
        "stops": _slider_texts(numbers),
        "scores": numbers.survey.sample.scores.tolist(),
        "colours": {"outside": palette.HIGHLIGHT, "ink": palette.INK, "line": palette.FAINT},
        "sets": [f"sets-{k}" for k in range(len(numbers.projections))],
    }


def _explanations(row: UnusualRow) -> list[str]:
    """One phrase for each of the features that contribute most to the anomaly of a row."""
    shares = {name: (value / (row.distance or 1.0)) ** 2 for name, value in row.contributions.items()}
    first, *others = sorted(shares, key=lambda name: -shares[name])[:_MAX_EXPLANATIONS]
    return [_phrase(row, name, shares[name]) for name in (first, *(n for n in others if shares[n] >= _MIN_SHARE))]


def _phrase(row: UnusualRow, name: str, share: float) -> str:
    side = "above" if row.contributions[name] > 0 else "below"
    if name not in row.normal:
        return f"{name}: {side} the normal range nearby ({share:.0%})"
    value, normal = shown(row.values[name]) or "missing", shown(row.normal[name])
    if not isinstance(row.normal[name], float):  # a category
        return f"{name} {value}, where {normal} is normal ({share:.0%})"
    return f"{name} {value}, {side} the normal value nearby, {normal} ({share:.0%})"


def _strip(column: ColumnAlarms) -> dict[str, Any]:
    """The normal range of a column and its medians as positions on a strip, in per cent."""
    assert column.normal_range is not None
    (low, high), medians = column.normal_range, column.medians
    least, most = min(low, *medians, high), max(low, *medians, high)
    margin = 0.06 * (most - least) or 1.0
    left, right, *dots = np.interp([low, high, *medians], [least - margin, most + margin], [0.0, 100.0])
    beyond = [not low <= median <= high for median in medians]
    return {"left": left, "width": right - left, "dots": list(zip(dots, beyond, strict=True))}


def _settings(model: FittedModel) -> dict[str, str]:
    """Steps, results, parameters and versions of a model, by name."""
    steps = [] if model.before is None else [type(step).__name__ for _, step in model.before.steps]
    versions = {"mvset": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    versions["Python"] = platform.python_version()
    return {
        "model": " → ".join([*steps, type(model.estimator).__name__]),
        **text_summary(model),
        "parameters": repr(model.estimator),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
