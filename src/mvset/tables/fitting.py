"""A table → a model: the columns standardised, and the nested sets of what is then normal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from mvset.diagnostics import watched
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.summaries.row_sample import RowSample
from mvset.tables.columns import check_columns
from mvset.tables.errors import TableError
from mvset.tables.formats import TableFile
from mvset.tables.reading import TableReader, chosen_columns

_LEAST_ROWS = 3  # some to train on, one to hold out


@dataclass(frozen=True)
class FittedTable:
    """A model, and what of the table it was fitted to."""

    model: Pipeline
    columns: list[str]
    n_rows: int  # of the table
    n_used: int
    n_dropped: int  # for their missing values


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
    """Fit a Pipeline to the columns chosen, of all rows or of a random sample of `max_rows`."""
    names = chosen_columns(files[0], columns, exclude)
    reader = TableReader(files, names, drop_missing=drop_missing)
    sample = RowSample(max_rows, seed)
    for batch in reader.batches(on_read):
        sample.add(batch.rows)
    if reader.n_rows - reader.n_dropped < _LEAST_ROWS:
        dropped = f", {reader.n_dropped} of them left out for missing values" if reader.n_dropped else ""
        raise TableError(f"{files[0].path}: too few rows to fit anything to: {reader.n_rows}{dropped}.")
    rows = sample.rows()
    check_columns(rows, names)
    table = pa.Table.from_arrays([pa.array(column) for column in rows.T], names=names)
    with watched(on_fit), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X is constant in column")  # said by name above
        # Of plain tables any wide bandwidth gives the same sets, and the command has no option for it.
        warnings.filterwarnings("ignore", "The best bandwidth, .* is the largest")
        model = Pipeline([("standardise", StandardScaler()), ("sets", estimator)]).fit(table)
    return FittedTable(model, names, reader.n_rows, len(rows), reader.n_dropped)
