"""A report from a table in memory, and its parts for those who read it batch by batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mvset.estimators.pipeline import FittedModel
from mvset.files.atomic import written_aside
from mvset.report.numbers import slider_masses
from mvset.summaries.survey import Survey
from mvset.validation import checked_mass

_SAMPLED = 1500  # rows drawn
_UNUSUAL = 12


def report_survey(model: FittedModel, mass: float) -> Survey:
    """The pass over a table that a report needs."""
    return Survey(model, mass, masses=slider_masses(model, mass), n_unusual=_UNUSUAL, n_sampled=_SAMPLED)


def write_report(
    model: Any, X: Any, path: str | os.PathLike[str], *, mass: float | None = None, title: str = ""
) -> None:
    """Write a page about rows: what is normal, which of them are not, and why.

    One HTML file that needs no network. A slider moves the nested sets, the rows flagged and the volume together.

    Parameters
    ----------
    model : MinimumVolumeSet or Pipeline
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows to judge; best not those of the fit.
    path : str or path-like
        The file.
    mass : float, optional
        Mass of the set to judge by; that of the estimator by default.
    title : str, optional
        What the rows are.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mvset import MinimumVolumeSet, write_report
    >>> from mvset.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     write_report(model, two_moons(200, random_state=1), path, title="two moons")
    ...     path.read_text().startswith("<!DOCTYPE html>")
    True
    """
    try:
        from mvset.report.page import page_about
    except ModuleNotFoundError as missing:
        raise ImportError("The report needs more packages: pip install 'mvset[report]'") from missing
    fitted = FittedModel.of_minimum_volume_set(model)
    judged_by = fitted.sets.mass if mass is None else checked_mass(mass)
    survey = report_survey(fitted, judged_by)
    judged, rows = survey.judge(X), check_array(X, dtype=np.float64)
    survey.add(rows, judged, np.arange(len(rows)), lambda chosen: [{} for _ in chosen])
    with written_aside(Path(path)) as aside:
        aside.write_text(page_about(fitted, survey.result(), title=title), encoding="utf-8")
