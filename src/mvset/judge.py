"""Judge rows wherever they are: one picklable function of Arrow batches, for engines that distribute rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mvset.categories import codes_of
from mvset.estimators.model_parts import ModelParts
from mvset.validation import checked_share

if TYPE_CHECKING:
    import pyarrow as pa

_RESULTS = ("inside", "score", "level", "p_value")


class Judge:
    """Adds to rows whether they are inside, their score, their level and their p-value.

    One picklable function for every engine: it takes an Arrow RecordBatch, Table or RecordBatchReader, an iterator of
    RecordBatches, a frame of pandas or a frame of polars, and returns the same with four more columns. Each batch is
    judged by itself, on one thread: the engine has the others.

    Parameters
    ----------
    model : MinimumVolumeSet or Pipeline
        Fitted.
    mass : float, optional
        Mass of the set that decides which rows are inside; that of the model by default.
    by : str, optional
        Column that says by which offset a row is judged, if the model was fitted with groups; by default the one that
        ``mvset fit --by`` was given.

    Notes
    -----
    Columns are found by name; others are kept as they are. A row with a missing or infinite value has no answer: its
    four results are null. `p_value` is null for models without calibration rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mvset import Judge, MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> X = two_moons(500, random_state=0)
    >>> table = pa.table({"id": range(500), "x": X[:, 0], "y": X[:, 1]})
    >>> judge = Judge(MinimumVolumeSet(random_state=0).fit(table.select(["x", "y"])))
    >>> judge(table).column_names
    ['id', 'x', 'y', 'inside', 'score', 'level', 'p_value']

    With engines::

        data_frame.mapInArrow(judge, schema)                    # Spark
        dataset.map_batches(judge, batch_format="pyarrow")      # Ray Data
        frame.map_partitions(judge, meta=judge(frame.head()))   # Dask
        lazy_frame.map_batches(judge, schema=None)              # polars
        connection.from_arrow(judge(relation.to_arrow_reader()))  # DuckDB
    """

    def __init__(self, model: Any, mass: float | None = None, by: str | None = None) -> None:
        self.parts = ModelParts.of(model)
        self.parts.estimator.set_params(n_jobs=1)
        self.mass = self.parts.sets.mass if mass is None else checked_share(mass)
        self.by = by or getattr(self.parts.estimator, "by_column_", None)
        if self.parts.sets.groups is not None and self.by is None:
            raise ValueError("The model was fitted with groups: say with by= which column has them.")

    def __call__(self, rows: Any) -> Any:
        """Judge rows.

        Parameters
        ----------
        rows : RecordBatch, Table, RecordBatchReader, iterator of RecordBatches, or DataFrame of pandas or polars
            Rows to judge, with the columns of the fit and any others.

        Returns
        -------
        judged : of the same kind
            The rows with the columns "inside", "score", "level" and "p_value".
        """
        import pyarrow as pa

        if isinstance(rows, pa.RecordBatch):
            return self._judged(rows)
        if isinstance(rows, pa.Table):
            batches = [self._judged(batch) for batch in rows.to_batches()]
            return pa.Table.from_batches(batches, self._schema(rows.schema))
        if isinstance(rows, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(self._schema(rows.schema), map(self._judged, rows))
        if isinstance(rows, Iterator):
            return map(self._judged, rows)
        if type(rows).__module__.startswith("polars"):
            import polars

            return polars.from_arrow(self(rows.to_arrow()))
        if type(rows).__module__.startswith("pandas"):
            return self(pa.Table.from_pandas(rows)).to_pandas()
        raise TypeError(f"Judge takes Arrow batches, or frames of pandas or polars; got {type(rows).__name__}.")

    def _judged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        schema = self._schema(batch.schema)
        rows = np.empty((batch.num_rows, len(self.parts.feature_names)))
        values = self.parts.category_values
        for j, name in enumerate(self.parts.feature_names):
            column = batch.column(name)
            if name in values:
                rows[:, j] = codes_of(column.to_pylist(), values[name])
            else:
                rows[:, j] = column.to_numpy(zero_copy_only=False)  # null becomes NaN
        complete = np.isfinite(rows).all(axis=1)
        by = None
        if self.parts.sets.groups is not None:
            by = [str(value) for value in batch.column(self.by).filter(pa.array(complete)).to_pylist()]
        scores = self.parts.scores(rows[complete]) if complete.any() else np.empty(0)
        sets = self.parts.sets
        levels = sets.level(scores, by) if len(scores) else np.empty(0)
        p_values = sets.p_value(scores, by) if sets.is_calibrated and len(scores) else np.full(len(scores), np.nan)
        found = (levels <= self.mass, scores, levels, p_values)
        results = [_with_gaps(values, complete) for values in found]
        return pa.RecordBatch.from_arrays([*batch.columns, *results], schema=schema)

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        import pyarrow as pa

        needed = [*self.parts.feature_names, *([self.by] if self.parts.sets.groups is not None else [])]
        missing = [name for name in needed if name not in schema.names]
        taken = [name for name in _RESULTS if name in schema.names]
        if missing:
            raise ValueError(f"The rows have no column {missing[0]!r}; they have {schema.names}.")
        if taken:
            raise ValueError(f"The rows have a column {taken[0]!r} already: rename it.")
        for name, kind in zip(_RESULTS, (pa.bool_(), *[pa.float64()] * 3), strict=True):
            schema = schema.append(pa.field(name, kind))
        return schema


def _with_gaps(values: Any, complete: Any) -> pa.Array:
    """Values of the complete rows, and null for the others and for NaN."""
    import pyarrow as pa

    spread = np.zeros(len(complete), dtype=values.dtype)
    spread[complete] = values
    missing = ~complete
    if values.dtype.kind == "f":
        missing = missing | np.isnan(spread)
    return pa.array(spread, mask=missing)
