"""A table → an answer for every row, and one for all of them; in one pass that holds a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.summaries.survey import Judgement, Survey
from mvset.tables.errors import TableError, listed
from mvset.tables.reading import Batch, TableReader
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
    """Judge all rows, show them to the survey, and write a line for each where `out` says."""
    schema = _result_schema(reader)
    with nullcontext() if out is None else table_writer(out, schema) as write:
        for batch in reader.batches(on_progress):
            judged = survey.judge(batch.rows)
            survey.add(batch.rows, judged, batch.numbers, partial(_kept_rows, batch, "table" in schema.names))
            if write is not None:
                results = _results(batch, judged, survey.model.prepared_names, schema)
                write(results.filter(pa.array(~judged.inside)) if only_outside else results)
        if reader.n_rows == reader.n_dropped:
            raise TableError(f"{reader.files[0].path} has no rows to score.")


def _kept_rows(batch: Batch, with_table: bool, chosen: NDArray[np.intp]) -> list[dict[str, Any]]:
    kept = batch.kept.take(pa.array(chosen)).to_pylist() if batch.kept.num_columns else [{} for _ in chosen]
    return [{**row, "table": batch.table} for row in kept] if with_table else kept


def _result_schema(reader: TableReader) -> pa.Schema:
    """Columns kept, the name of the table where there are several, and the results."""
    ours = [*([pa.field("table", pa.string())] if len(reader.files) > 1 else []), *RESULTS]
    taken = sorted({field.name for field in ours} & set(reader.keep))
    if taken:
        raise TableError(f"--keep: a column of the results is called {listed(taken)}, too: rename yours.")
    return pa.schema([*reader.kept_fields, *ours])


def _results(batch: Batch, judged: Judgement, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    columns = {
        **dict(zip(batch.kept.schema.names, batch.kept.columns, strict=True)),
        "table": pa.repeat(batch.table, len(batch.rows)),
        "row": pa.array(batch.numbers),
        "inside": pa.array(judged.inside),
        "score": pa.array(judged.scores),
        "level": pa.array(judged.levels),
        "top_feature": pa.array(names).take(pa.array(judged.top_features())),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
