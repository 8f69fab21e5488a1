"""Score rows wherever they are: one picklable function of Arrow batches, for engines that distribute rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mvset.estimators.fitted_model import FittedModel, with_nulls
from mvset.rows.validation import checked_share, reject_non_numeric

if TYPE_CHECKING:
    import pyarrow as pa

_RESULTS = ("inside", "score", "level", "p_value")


class BatchScorer:
    """Adds to rows whether they are inside, their score, their level and their p-value.

    One picklable function for every engine. It takes an Arrow RecordBatch, Table or RecordBatchReader, an iterator of
    RecordBatches, or a pandas or polars DataFrame. It returns the same kind with four more columns. Each batch is
    scored by itself on one thread, because the engine has the others.

    Parameters
    ----------
    model : MinimumVolumeSet or Pipeline
        Fitted.
    mass : float, optional
        Mass of the set that decides which rows are inside. The default is the mass of the model.
    strata : str, optional
        Column that contains the stratum of each row, if `strata` was passed to `fit`. The default is the column of
        ``mvset fit --strata``.

    Notes
    -----
    Columns are found by name; other columns are kept as they are. A row has no answer, and its four results are null,
    if a value is infinite, if a value is missing and the model does not impute, or if its stratum is missing.
    `p_value` is null for models without calibration rows.

    Labels of categories and strata are compared as text. Whole numbers have no decimals, whatever their type, and
    white space around text is ignored.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mvset import BatchScorer, MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> X = two_moons(500, random_state=0)
    >>> table = pa.table({"id": range(500), "x": X[:, 0], "y": X[:, 1]})
    >>> scorer = BatchScorer(MinimumVolumeSet(random_state=0).fit(table.select(["x", "y"])))
    >>> scorer(table).column_names
    ['id', 'x', 'y', 'inside', 'score', 'level', 'p_value']

    With engines::

        data_frame.mapInArrow(scorer, schema)                    # Spark
        dataset.map_batches(scorer, batch_format="pyarrow")      # Ray Data
        frame.map_partitions(scorer, meta=scorer(frame.head()))   # Dask
        lazy_frame.map_batches(scorer, schema=None)              # polars
        connection.from_arrow(scorer(relation.to_arrow_reader()))  # DuckDB
    """

    def __init__(self, model: Any, mass: float | None = None, strata: str | None = None) -> None:
        self.model = FittedModel.of(model)
        self.model.estimator.set_params(n_jobs=1)
        self.mass = self.model.sets.mass if mass is None else checked_share(mass)
        self.strata = self.model.strata_column(strata)
        self.columns = self.model.columns(self.strata)

    def __call__(self, rows: Any) -> Any:
        """Score rows.

        Parameters
        ----------
        rows : RecordBatch, Table, RecordBatchReader, iterator of RecordBatches, or pandas or polars DataFrame
            Rows to score, with the columns of the fit and any others.

        Returns
        -------
        scored : of the same kind
            The rows with the columns "inside", "score", "level" and "p_value".
        """
        import pyarrow as pa

        if isinstance(rows, pa.RecordBatch):
            return self._scored(rows)
        if isinstance(rows, pa.Table):
            batches = [self._scored(batch) for batch in rows.to_batches()]
            return pa.Table.from_batches(batches, self._schema(rows.schema))
        if isinstance(rows, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(self._schema(rows.schema), map(self._scored, rows))
        if isinstance(rows, Iterator):
            return map(self._scored, rows)
        if type(rows).__module__.startswith("polars"):
            import polars

            return polars.from_arrow(self(rows.to_arrow()))
        if type(rows).__module__.startswith("pandas"):
            return self(pa.Table.from_pandas(rows)).to_pandas()
        raise TypeError(f"BatchScorer takes Arrow batches, or pandas or polars DataFrames; got {type(rows).__name__}.")

    def _scored(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        import pyarrow as pa

        schema = self._schema(batch.schema)
        rows = self.columns.read(dict(zip(batch.schema.names, batch.columns, strict=True)))
        strata = None if rows.strata is None else rows.strata[rows.answered]
        answers = self.model.answers(self.model.scores(rows.values[rows.answered]), strata, self.mass)
        results = [with_nulls(getattr(answers, name), rows.answered) for name in _RESULTS]
        return pa.RecordBatch.from_arrays([*batch.columns, *results], schema=schema)

    def _schema(self, schema: "pa.Schema") -> "pa.Schema":
        import pyarrow as pa

        columns = self.columns
        needed = [*columns.names, *([] if self.strata is None else [self.strata])]
        missing = [name for name in needed if name not in schema.names]
        taken = [name for name in _RESULTS if name in schema.names]
        if missing:
            raise ValueError(f"The rows have no column {missing[0]!r}; they have {schema.names}.")
        if taken:
            raise ValueError(f"The rows have a column {taken[0]!r} already: rename it.")
        numeric = [name for name in columns.names if name not in columns.categories]
        reject_non_numeric(schema.empty_table().select(numeric), "the rows")
        for name, kind in zip(_RESULTS, (pa.bool_(), *[pa.float64()] * 3), strict=True):
            schema = schema.append(pa.field(name, kind))
        return schema
