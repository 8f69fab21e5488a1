"""Fit a model to a table: a Pipeline of a StandardScaler and an estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sklearn.preprocessing import StandardScaler

from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.estimators.pipeline import Pipeline
from mvset.progress import progress_listener
from mvset.summaries.row_sample import RowSample
from mvset.tables.columns import check_columns
from mvset.tables.errors import TableError
from mvset.tables.formats import TableFile
from mvset.tables.reading import TableReader, selected_columns

_MIN_ROWS = 3  # two to train on and one to hold out


@dataclass(frozen=True)
class FittedTable:
    """A fitted model, its columns, and how many rows of the table were used."""

    model: Pipeline
    columns: list[str]
    n_rows: int  # all rows of the table
    n_used: int  # rows that the model was fitted to
    n_dropped: int  # rows left out because of missing values


def fit_table(
    files: Sequence[TableFile],
    estimator: MinimumVolumeSet,
    *,
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    drop_missing: bool = False,
    max_rows: int,
    seed: int,
    on_read: Callable[[float], None] = lambda share: None,
    on_fit: Callable[[int, int], None] = lambda done, total: None,
) -> FittedTable:
    """Fit a Pipeline to the selected columns of all rows, or of a random sample of `max_rows` of them."""
    names = selected_columns(files[0], columns, exclude)
    reader = TableReader(files, names, drop_missing=drop_missing)
    sample = RowSample(max_rows, seed)
    for batch in reader.batches(on_read):
        sample.add(batch.rows)
    if reader.n_rows - reader.n_dropped < _MIN_ROWS:
        dropped = f", {reader.n_dropped} of them left out for missing values" if reader.n_dropped else ""
        raise TableError(
            f"{files[0].path}: too few rows to fit: {reader.n_rows}{dropped}. At least {_MIN_ROWS} are needed."
        )
    rows = sample.rows()
    check_columns(rows, names)
    table = pa.Table.from_arrays([pa.array(column) for column in rows.T], names=names)
    with progress_listener(on_fit):
        model = Pipeline([("standardise", StandardScaler()), ("sets", estimator)]).fit(table)
    return FittedTable(model, names, reader.n_rows, len(rows), reader.n_dropped)
