"""Write a report on rows in memory; `report_scan` also serves tables that are read in batches."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvset.app.report.numbers import slider_masses
from mvset.app.summaries.scan import TableScan
from mvset.estimators.explained import ExplainedSetEstimator
from mvset.estimators.fitted_model import FittedModel
from mvset.files.atomic import atomic_write
from mvset.inference.timeline import Times
from mvset.rows.validation import checked_share

_N_SAMPLED = 1500  # rows drawn in the figures
_N_UNUSUAL = 12  # rows listed


def report_scan(model: FittedModel, mass: float, *, grouped: bool = False, tables: Sequence[str] = ()) -> TableScan:
    """A survey that collects what the report needs; add all rows to it."""
    return TableScan(
        model,
        mass,
        masses=slider_masses(model, mass),
        n_unusual=_N_UNUSUAL,
        n_sampled=_N_SAMPLED,
        grouped=grouped,
        tables=tables,
    )


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    mass: float | None = None,
    strata: Any = None,
    times: Any = None,
    show_rows: bool = True,
) -> None:
    """Write an HTML report on rows: which are normal, which are not, since when, and why.

    The report is a single file that works offline. A slider changes the mass: nested sets, flagged rows and volume
    follow.

    Parameters
    ----------
    model : MinimumVolumeSet, CalibratedSet or Pipeline
        The fitted model, or a Pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Rows to score, preferably not the training rows.
    path : str or path-like
        The file to write. Its name without the ending is the title of the report.
    mass : float, optional
        Mass of the set that decides which rows are outside; by default the mass of the estimator.
    strata : array-like of shape (n_samples,), optional
        The group of each row, if `strata` was passed to `fit`.
    times : array-like of shape (n_samples,), optional
        When each row was recorded, as dates (``datetime64``) or numbers, in any order; else rows are in order.
    show_rows : bool, default=True
        Whether the report contains values of single rows: a sample of 1500 in its charts, the most unusual ones in a
        table. Without them it has shares, curves, the ranking of columns and rounded ranges.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mvset import MinimumVolumeSet, write_report
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     write_report(model, two_moons(200, random_state=1), path)
    ...     path.read_text().startswith("<!DOCTYPE html>")
    True
    """
    try:
        from mvset.app.report.page import render_page
    except ModuleNotFoundError as missing:
        raise ImportError("The report needs more packages: pip install 'mvset[report]'") from missing
    fitted = FittedModel.of(model, ExplainedSetEstimator)
    mass = fitted.sets.mass if mass is None else checked_share(mass)
    survey = report_scan(fitted, mass, grouped=strata is not None)
    rows = fitted.rows(X)
    scored = survey.score(rows if fitted.before is None else X, strata)
    when = None if times is None else _checked_times(times, len(rows))
    survey.add(rows, scored, np.arange(len(rows)), lambda selected: [{} for _ in selected], times=when)
    with atomic_write(Path(path)) as aside:
        aside.write_text(render_page(fitted, survey.result(), title=Path(path).stem, rows=show_rows), encoding="utf-8")


def _checked_times(times: Any, n_rows: int) -> Times:
    """Times of rows as numbers; dates are microseconds since 1970."""
    values = np.asarray(times)
    dates = values.dtype.kind == "M"
    if values.shape != (n_rows,) or not (dates or values.dtype.kind in "iuf"):
        raise ValueError(
            f"times must be dates (datetime64) or numbers, one for each of {n_rows} rows; got {values.dtype} of shape "
            f"{values.shape}."
        )
    if dates:
        values = np.where(np.isnat(values), np.nan, values.astype("datetime64[us]").astype(np.int64))
    if not np.isfinite(values).all():
        raise ValueError("times has missing or infinite values: every row needs a time.")
    return Times(values.astype(np.float64), "date" if dates else "number")
