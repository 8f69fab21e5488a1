"""Score a table in one pass, batch by batch: one result per row, and a summary of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.summaries.survey import ScoredRows, Survey
from mvset.tables.errors import TableError, quoted
from mvset.tables.reading import Batch, TableReader, row_labels
from mvset.tables.writing import table_writer

RESULTS = pa.schema(
    [
        ("row", pa.int64()),
        ("inside", pa.bool_()),
        ("score", pa.float64()),
        ("level", pa.float64()),
        ("top_feature", pa.string()),
    ]
)


def score_table(
    reader: TableReader,
    survey: Survey,
    *,
    out: Path | None = None,
    only_outside: bool = False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> None:
    """Score all rows, add them to the survey, and write one line per row to `out` if given."""
    schema = _result_schema(reader)
    with nullcontext() if out is None else table_writer(out, schema) as write:
        for batch in reader.batches(on_progress):
            by = None if reader.by is None else row_labels(batch.kept, reader.by)
            scored = survey.score(batch.rows, by)
            survey.add(batch.rows, scored, batch.numbers, partial(_kept_rows, batch, "table" in schema.names))
            if write is not None:
                results = _results(batch, scored, survey.model.prepared_names, schema)
                write(results.filter(pa.array(~scored.inside)) if only_outside else results)
        if reader.n_rows == reader.n_dropped:
            raise TableError(f"{reader.files[0].path} has no rows to score.")


def _kept_rows(batch: Batch, with_table: bool, selected: NDArray[np.intp]) -> list[dict[str, Any]]:
    """The columns kept of selected rows, and the name of their table if there are several."""
    kept = batch.kept.take(pa.array(selected)).to_pylist() if batch.kept.num_columns else [{} for _ in selected]
    return [{**row, "table": batch.table} for row in kept] if with_table else kept


def _result_schema(reader: TableReader) -> pa.Schema:
    """Schema of the output: columns kept, the table if there are several, and the results."""
    results = [*([pa.field("table", pa.string())] if len(reader.files) > 1 else []), *RESULTS]
    taken = sorted({field.name for field in results} & set(reader.keep))
    if taken:
        raise TableError(f"--keep: the results have a column {quoted(taken)} already: rename that of the table.")
    return pa.schema([*reader.kept_fields, *results])


def _results(batch: Batch, scored: ScoredRows, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    # An explanation costs more than the score: only rows outside have one.
    outside = np.flatnonzero(~scored.inside)
    top_features = np.full(len(batch.rows), None, dtype=object)
    if len(outside):
        top_features[outside] = np.array(names, dtype=object)[scored.top_features(outside)]
    columns = {
        **dict(zip(batch.kept.schema.names, batch.kept.columns, strict=True)),
        "table": pa.repeat(batch.table, len(batch.rows)),
        "row": pa.array(batch.numbers),
        "inside": pa.array(scored.inside),
        "score": pa.array(scored.scores),
        "level": pa.array(scored.levels),
        "top_feature": pa.array(top_features, pa.string()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
