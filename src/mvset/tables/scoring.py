"""Score a table in one pass, here or on a cluster: one result per row, and a summary of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.parallel import Map, cluster_map
from mvset.summaries.survey import PartOfSurvey, ScoredRows, Survey
from mvset.tables.errors import TableError, quoted
from mvset.tables.reading import Batch, OnShare, TableReader, ignore_share, row_labels
from mvset.tables.writing import Write, table_writer

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
    on_progress: OnShare = ignore_share,
) -> None:
    """Score all rows, add them to the survey, and write one line per row to `out` if given.

    On a cluster, workers read the parts of the table and write their results to files beside `out`.
    """
    schema, cluster = _result_schema(reader), cluster_map()
    with nullcontext() if out is None else table_writer(out, schema) as write:
        if cluster is None:
            _score(reader, survey, schema, write, only_outside, on_progress)
        else:
            with nullcontext() if out is None else _folder_beside(out) as folder:
                _score_parts(cluster, reader, survey, schema, folder, write, only_outside, on_progress)
        if reader.n_rows == reader.n_dropped:
            raise TableError(f"{reader.files[0].path} has no rows to score.")


def _folder_beside(out: Path) -> TemporaryDirectory[str]:
    """A folder that workers find, too."""
    return TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent.resolve())


def _score(
    reader: TableReader,
    survey: Survey,
    schema: pa.Schema,
    write: Write | None,
    only_outside: bool,
    on_progress: OnShare,
) -> None:
    """Score the rows of a reader, batch by batch."""
    for batch in reader.batches(on_progress):
        by = None if reader.by is None else row_labels(batch.kept, reader.by)
        scored = survey.score(batch.rows, by)
        survey.add(batch.rows, scored, batch.numbers, partial(_kept_rows, batch, "table" in schema.names))
        if write is not None:
            results = _results(batch, scored, survey.model.prepared_names, schema)
            write(results.filter(pa.array(~scored.inside)) if only_outside else results)


def _score_parts(
    cluster: Map,
    reader: TableReader,
    survey: Survey,
    schema: pa.Schema,
    folder: str | None,
    write: Write | None,
    only_outside: bool,
    on_progress: OnShare,
) -> None:
    """Score on a cluster, and write the results in the order of the rows."""
    parts = reader.parts()
    survey.model.estimator.set_params(n_jobs=1)  # a worker has one core for each of its tasks
    files = [None if folder is None else Path(folder, f"{i}.feather") for i in range(len(parts))]
    worker = partial(_score_part, survey=deepcopy(survey), schema=schema, only_outside=only_outside)
    for done, (part, n_rows, n_dropped) in enumerate(cluster(worker, parts, files), start=1):
        survey.merge(part)
        reader.n_rows, reader.n_dropped = reader.n_rows + n_rows, reader.n_dropped + n_dropped
        if write is not None and (file := files[done - 1]) is not None:
            with pa.memory_map(str(file)) as source, pa.ipc.open_file(source) as results:
                for i in range(results.num_record_batches):
                    write(results.get_batch(i))
            file.unlink()
        on_progress(done / len(parts))


def _score_part(
    reader: TableReader, out: Path | None, *, survey: Survey, schema: pa.Schema, only_outside: bool
) -> tuple[PartOfSurvey, int, int]:
    """What a worker does: score a part of a table, write the results, and return what it counted."""
    survey = deepcopy(survey)  # several parts may come together
    with nullcontext() if out is None else table_writer(out, schema) as write:
        _score(reader, survey, schema, write, only_outside, ignore_share)
    return survey.part, reader.n_rows, reader.n_dropped


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
