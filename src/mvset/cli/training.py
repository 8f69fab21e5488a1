"""What `mvset fit` and `mvset report --train` have in common: a fit, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from mvset.cli.options import say_how_files_are_read
from mvset.cli.progress import progress_bar

Exclude = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Columns to leave out, e.g. id,time.")]
Missing = Annotated[
    Literal["error", "drop", "impute"],
    typer.Option(
        help="What to do about rows with missing or infinite values: stop, leave them out, or fill them from similar "
        "rows, here and when rows are scored."
    ),
]


def fit_files(files: Sequence[Any], estimator: Any, roles: Any, **options: Any) -> Any:
    """Fit a model to files, with a line of progress and notes on what was guessed and left out."""
    from mvset.exceptions import BandwidthEdgeWarning, ConstantColumnWarning
    from mvset.tables.fitting import fit_table

    warnings.simplefilter("ignore", ConstantColumnWarning)  # fit_table warns by column name
    warnings.simplefilter("ignore", BandwidthEdgeWarning)  # the command has no option for the bandwidths
    say_how_files_are_read(files)
    with progress_bar(1.0) as bar:
        fitted = fit_table(files, estimator, roles, on_progress=bar.reach, **options)
    if fitted.left_out:
        names = ", ".join(fitted.left_out)
        typer.echo(f"Note: dates are left out of the fit: {names}. Rows in time order: --time.", err=True)
    if fitted.too_many_values:
        names = ", ".join(fitted.too_many_values)
        typer.echo(f"Note: text with too many values for a category is left out of the fit: {names}.", err=True)
    return fitted
