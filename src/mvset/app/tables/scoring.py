"""Score a table in one pass, here or on a cluster: one result per row, and a summary of all rows."""

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvset.app.summaries.scan import ScanPart, ScoredRows, TableScan, written_levels
from mvset.app.tables.errors import TableError, quoted
from mvset.app.tables.reading import Batch, OnShare, TableReader, ignore_share
from mvset.app.tables.writing import Write, table_writer
from mvset.devices.answers import settled
from mvset.devices.device import CopiedRowsScore, Device, scored_on
from mvset.devices.stages import Stages
from mvset.estimators.fitted_model import FittedModel, with_nulls
from mvset.parallel import Map, cluster_map
from mvset.rows.columns import TableColumns
from mvset.svm.score import Score
from mvset.values import Indices

_NUMBERS = dict.fromkeys(("score", "level", "p_value"), pa.float64())
_TEXTS = dict.fromkeys(("top_feature", "note"), pa.string())
RESULTS = pa.schema({"row": pa.int64(), "inside": pa.bool_(), **_NUMBERS, **_TEXTS})


def score_table(
    reader: TableReader,
    survey: TableScan,
    *,
    out: Path | None = None,
    only_outside: bool = False,
    device: Device | None = None,
    stages: Stages | None = None,
    on_progress: OnShare = ignore_share,
) -> None:
    """Score all rows, add them to the survey, and write one line per row to `out` if given.

    On a cluster, workers read the parts of the table and write their results to files beside `out`. On a `device`,
    batches are read, copied, judged and written in overlap. `stages` counts how long each takes.
    """
    stages, schema, cluster = stages or Stages(), _result_schema(reader), cluster_map()
    scoring = _Scoring(survey, schema, only_outside)
    with nullcontext() if out is None else table_writer(out, schema) as write:
        if cluster is None:
            scoring.score(reader, write, on_progress, device, stages)
        else:
            # Workers find a folder beside the results.
            beside = None if out is None else TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent.resolve())
            with beside or nullcontext() as folder:
                scoring.score_parts(cluster, reader, folder, write, on_progress)
        if reader.n_rows == reader.n_dropped:
            raise TableError(f"{reader.files[0].label} has no rows to score.")
        if survey.n_rows + reader.n_dropped != reader.n_rows:
            raise TableError(
                f"{reader.n_rows} rows were read, but {survey.n_rows} have an answer and {reader.n_dropped} have none: "
                "nothing is written."
            )


@dataclass
class _Scoring:
    """Where scored rows are counted, and how they are written."""

    survey: TableScan
    schema: pa.Schema
    only_outside: bool

    def score(
        self, reader: TableReader, write: Write | None, on_progress: OnShare, device: Device | None, stages: Stages
    ) -> None:
        """Score the rows of a reader, batch by batch."""
        for batch, complete, scored in self._scored(reader, on_progress, device, stages):
            with stages.measured("writing"):
                if scored is not None:
                    kept = partial(_kept_rows, complete, "table" in self.schema.names)
                    add = partial(self.survey.add, table=batch.table, unseen=complete.unseen)
                    add(complete.rows, scored, complete.numbers, kept, times=reader.times(complete))
                if write is not None:
                    results = _results(batch, scored, self.survey.model, reader.columns, self.schema)
                    write(results.filter(pc.equal(results["inside"], False)) if self.only_outside else results)

    def _scored(
        self, reader: TableReader, on_progress: OnShare, device: Device | None, stages: Stages
    ) -> Iterator[tuple[Batch, Batch, ScoredRows | None]]:
        """Batches, their complete rows, and what the survey says of these."""
        survey, model, batches = self.survey, self.survey.model, reader.batches(on_progress)

        def judged(batch: Batch, scores: Any = None) -> tuple[Batch, Batch, ScoredRows | None]:
            complete = batch.only_complete()
            if not len(complete.rows):
                return batch, complete, None
            if scores is not None:
                prepared = np.asarray(model.prepared(complete.rows), dtype=np.float64)
                scores = settled(model.sets, prepared, scores, score.expansion.error, survey.mass, complete.strata)
            return batch, complete, survey.score(complete.rows, complete.strata, scores)

        def prepared(batch: Batch) -> Any:
            return model.prepared(batch.rows) if len(batch.rows) else batch.rows

        if device is not None:
            if not isinstance(model.sets.function, Score):
                raise TableError("A GPU scores Minimum Volume sets only: use --engine cpu for other detectors.")
            score = CopiedRowsScore(model.sets.function, device.place)
            yield from scored_on(device, score, batches, prepared, judged)
            return
        for batch in stages.each("reading", batches):
            with stages.measured("judging"):
                found = judged(batch)
            yield found

    def score_parts(
        self, cluster: Map, reader: TableReader, folder: str | None, write: Write | None, on_progress: OnShare
    ) -> None:
        """Score on a cluster, and write the results in the order of the rows."""
        parts = reader.parts()
        self.survey.model.estimator.set_params(n_jobs=1)  # a worker has one core for each of its tasks
        files = [None if folder is None else Path(folder, f"{i}.feather") for i in range(len(parts))]
        found = cluster(deepcopy(self).score_part, parts, files)
        for done, (part, counts) in enumerate(found, start=1):
            self.survey.merge(part)
            reader.counts.update(counts)
            if write is not None and (file := files[done - 1]) is not None:
                with pa.memory_map(str(file)) as source, pa.ipc.open_file(source) as results:
                    for i in range(results.num_record_batches):
                        write(results.get_batch(i))
                file.unlink()
            on_progress(done / len(parts))

    def score_part(self, reader: TableReader, out: Path | None) -> tuple[ScanPart, Counter[str]]:
        """What a worker does: score a part of a table, write the results, and return what it counted."""
        mine = deepcopy(self)  # several parts may come together
        with nullcontext() if out is None else table_writer(out, self.schema) as write:
            mine.score(reader, write, ignore_share, None, Stages())
        return mine.survey.part, reader.counts


def _kept_rows(batch: Batch, with_table: bool, selected: Indices) -> list[dict[str, Any]]:
    """The columns kept of selected rows, and the name of their table if there are several."""
    kept = batch.kept.take(pa.array(selected)).to_pylist() if batch.kept.num_columns else [{} for _ in selected]
    return [{**row, "table": batch.table} for row in kept] if with_table else kept


def _result_schema(reader: TableReader) -> pa.Schema:
    """Schema of the output: columns kept, the table if there are several, and the results."""
    results = [*([pa.field("table", pa.string())] if len(reader.files) > 1 else []), *RESULTS]
    taken = sorted({field.name for field in results} & set(reader.keep))
    if taken:
        raise TableError(f"--keep: the results have a column {quoted(taken)} already: rename the column of the table.")
    return pa.schema([*reader.kept_fields, *results])


def _results(
    batch: Batch, scored: ScoredRows | None, model: FittedModel, columns: TableColumns, schema: pa.Schema
) -> pa.RecordBatch:
    """One line per row; a row without an answer has a note in its place."""
    answers: dict[str, Any] = {"row": pa.array(batch.numbers), "table": pa.repeat(batch.table, len(batch.numbers))}
    if scored is not None:
        # An explanation costs more than the score: only rows outside have one.
        top_features, outside = np.full(len(scored.inside), None, dtype=object), np.flatnonzero(~scored.inside)
        if len(outside):
            top_features[outside] = np.array(model.prepared_names, dtype=object)[scored.top_features(outside)]
        levels = written_levels(scored.level, model.sets.calibration.n_rows)
        found = {**vars(scored), "level": levels, "top_feature": top_features}
        answers |= {name: with_nulls(found[name], batch.complete) for name in ("inside", *_NUMBERS, "top_feature")}
    notes = batch.notes(columns)
    if notes is not None:
        answers["note"] = notes
    answers |= dict(zip(batch.kept.schema.names, batch.kept.columns, strict=True))
    results = [answers.get(field.name, pa.nulls(len(batch.numbers), field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(results, schema=schema)
