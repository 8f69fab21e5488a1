"""Score a table in one pass, here or on a cluster: one result per row, and a summary of all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mvset.calibration.array_answers import settled
from mvset.device import Device
from mvset.estimators.model_parts import ModelParts
from mvset.exceptions import UnseenGroupWarning
from mvset.parallel import Map, cluster_map
from mvset.stages import Stages
from mvset.summaries.levels import written_levels
from mvset.summaries.survey import PartOfSurvey, ScoredRows, Survey
from mvset.svm.device_score import DeviceScore, scored_on
from mvset.tables.errors import TableError, quoted
from mvset.tables.reading import Batch, OnShare, TableReader, ignore_share, row_labels
from mvset.tables.times import row_times
from mvset.tables.writing import Write, table_writer

RESULTS = pa.schema(
    [
        ("row", pa.int64()),
        ("inside", pa.bool_()),
        ("score", pa.float64()),
        ("level", pa.float64()),
        ("p_value", pa.float64()),
        ("top_feature", pa.string()),
        ("note", pa.string()),
    ]
)


def score_table(
    reader: TableReader,
    survey: Survey,
    *,
    out: Path | None = None,
    only_outside: bool = False,
    formulas: bool = False,
    device: Device | None = None,
    stages: Stages | None = None,
    on_progress: OnShare = ignore_share,
) -> None:
    """Score all rows, add them to the survey, and write one line per row to `out` if given.

    On a cluster, workers read the parts of the table and write their results to files beside `out`. On a `device`,
    batches are read, copied, judged and written in overlap. `stages` counts how long each takes.
    """
    stages = device.stages if device is not None else stages or Stages()
    schema, cluster = _result_schema(reader), cluster_map()
    with nullcontext() if out is None else table_writer(out, schema, formulas=formulas) as write:
        if cluster is None:
            _score(reader, survey, schema, write, only_outside, on_progress, device, stages)
        else:
            with nullcontext() if out is None else _folder_beside(out) as folder:
                _score_parts(cluster, reader, survey, schema, folder, write, only_outside, on_progress)
        if reader.n_rows == reader.n_dropped:
            raise TableError(f"{reader.files[0].label} has no rows to score.")


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
    device: Device | None,
    stages: Stages,
) -> None:
    """Score the rows of a reader, batch by batch."""
    for batch, complete, by, scored in _scored(reader, survey, on_progress, device, stages):
        with stages.measured("writing"):
            if scored is not None:
                survey.add(
                    complete.rows,
                    scored,
                    complete.numbers,
                    partial(_kept_rows, complete, "table" in schema.names),
                    table=batch.table,
                    times=None if reader.time is None else row_times(complete.kept, reader.time),
                    unseen=complete.unseen,
                )
            if write is not None:
                results = _results(batch, scored, by, survey.model, reader.features, schema)
                write(results.filter(pc.equal(results["inside"], False)) if only_outside else results)


def _scored(
    reader: TableReader, survey: Survey, on_progress: OnShare, device: Device | None, stages: Stages
) -> Iterator[tuple[Batch, Batch, Any, ScoredRows | None]]:
    """Batches, their complete rows and the groups of these, and what the survey says of them."""

    def judged(batch: Batch, scores: Any = None) -> tuple[Batch, Batch, Any, ScoredRows | None]:
        complete = batch.only_complete()
        if not len(complete.rows):
            return batch, complete, None, None
        by = None if reader.by is None else row_labels(complete.kept, reader.by)
        if scores is not None:
            prepared = np.asarray(model.prepared(complete.rows), dtype=np.float64)
            scores = settled(model.sets, prepared, scores, score.expansion.error, survey.mass, by)
        return batch, complete, by, survey.score(complete.rows, by, scores)

    model, batches = survey.model, reader.batches(on_progress)
    if device is None:
        for batch in stages.each("reading", batches):
            with stages.measured("judging"):
                found = judged(batch)
            yield found
        return
    score = DeviceScore(cast(Any, model.sets.score), device.place)

    def prepared(batch: Batch) -> Any:
        return model.prepared(batch.rows) if len(batch.rows) else batch.rows

    yield from scored_on(device, score, batches, prepared, judged)


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
        _score(reader, survey, schema, write, only_outside, ignore_share, None, Stages())
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


def _results(
    batch: Batch, scored: ScoredRows | None, by: Any, model: ModelParts, features: Sequence[str], schema: pa.Schema
) -> pa.RecordBatch:
    """One line per row; a row with missing values has a note in place of an answer."""
    answers: dict[str, Any] = {"row": pa.array(batch.numbers), "table": pa.repeat(batch.table, len(batch.numbers))}
    if scored is not None:
        # An explanation costs more than the score: only rows outside have one.
        top_features = np.full(len(scored.inside), None, dtype=object)
        outside = np.flatnonzero(~scored.inside)
        if len(outside):
            top_features[outside] = np.array(model.prepared_names, dtype=object)[scored.top_features(outside)]
        levels = written_levels(scored.levels, model.sets.calibration.n_rows)
        found = {"inside": scored.inside, "score": scored.scores, "level": levels, "top_feature": top_features}
        if model.sets.is_calibrated:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenGroupWarning)  # said with the levels
                found["p_value"] = model.sets.p_value(scored.scores, by)
        answers |= {name: _with_gaps(values, batch.complete) for name, values in found.items()}
    notes = batch.notes(features)
    if notes is not None:
        answers["note"] = notes
    answers |= dict(zip(batch.kept.schema.names, batch.kept.columns, strict=True))
    columns = [answers.get(field.name, pa.nulls(len(batch.numbers), field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _with_gaps(values: NDArray[Any], complete: NDArray[np.bool_]) -> pa.Array:
    """Values of the complete rows, and null for the others."""
    kind = pa.string() if values.dtype == object else None
    if complete.all():
        return pa.array(values, kind)
    spread = np.zeros(len(complete), dtype=values.dtype)
    spread[complete] = values
    return pa.array(spread, kind, mask=~complete)
