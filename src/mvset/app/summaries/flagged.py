"""The rows outside, or a random sample of them: which columns explain them, and what is normal in these columns."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mvset.estimators.events import ExplainedRows
from mvset.estimators.fitted_model import FittedModel
from mvset.inference.timeline import FILE_STEP
from mvset.rows.sample import RowSample
from mvset.values import Array, Indices

MAX_FLAGGED = 5000  # an explanation costs more than a score; a share of so many rows is within 1.4 %
_MOST = 0.75  # of the rows, to speak of one direction
_MAX_CENTRES = 4000  # support vectors that show what is normal


@dataclass(frozen=True)
class Sample:
    """Random rows of a table."""

    rows: Array
    files: NDArray[np.int64]  # of the rows, counted from 0
    numbers: NDArray[np.int64]  # row numbers in the file
    scores: Array
    levels: Array
    times: Array  # or places in the table

    @property
    def places(self) -> NDArray[np.int64]:
        """Places of the rows, ascending in the order of files and of the rows of each file."""
        return self.files * FILE_STEP + self.numbers

    @classmethod
    def of(cls, table: Array) -> Self:
        """Rows with all else that is known of them in their last columns."""
        files, numbers = table[:, -5:-3].astype(np.int64).T
        return cls(table[:, :-5], files, numbers, *table[:, -3:].T)


class FlaggedSample(RowSample):
    """A uniform random sample of rows outside.

    The key of a row comes from its place in the table, so that the sample depends neither on batches nor on which
    worker has read a row.
    """

    def __init__(self, n_columns: int, size: int = MAX_FLAGGED) -> None:
        super().__init__(size)
        self.n_rows = 0  # all rows outside
        self.add(np.empty((0, n_columns)))

    def add_outside(self, rows: Array, places: NDArray[np.int64]) -> None:
        """Add rows outside, with their places in the table."""
        self.n_rows += len(rows)
        self.add(rows, _keys(places))

    def merge(self, other: "FlaggedSample") -> None:
        """Add what another has sampled."""
        self.n_rows += other.n_rows
        for rows, keys in zip(other._rows, other._keys, strict=True):
            self.add(rows, keys)

    def rows(self) -> Array:
        """The sample, by ascending keys: the first rows are also a sample."""
        rows = super().rows()
        return rows[np.argsort(self._keys[0])]


def _keys(places: NDArray[np.int64]) -> Array:
    """Random-looking keys of places: the mixing function of SplitMix64 (G. Steele and others, 2014), in [0, 1)."""
    mixed = places.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(np.ldexp((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11), -53))


def normal_ranges(model: FittedModel, mass: float) -> Array:
    """Return the lowest and the highest value of training rows inside the set of a mass, by column of the sets."""
    encoding, centres = model.estimator._encoding, model.estimator._neighbourhood.centres
    rows = encoding.decoded(centres[:: -(-len(centres) // _MAX_CENTRES)])
    scores = model.sets.function(rows)
    rows = rows[scores >= min(model.sets.offset(mass), scores.max())]
    rows[:, encoding.categories.indices] = np.nan  # categories have no range
    return np.stack([rows.min(axis=0), rows.max(axis=0)])


@dataclass(frozen=True)
class ColumnAlarms:
    """A column, and its part in the rows outside.

    `share` is the share of the rows outside in which the column contributes most; of these rows, `above` is the share
    in which it is above what is normal nearby. `median_above` is the median value of these, `median_below` the median
    of the others. None where there are no such rows, or where the column is not one of the table.
    """

    name: str
    share: float
    above: float | None
    median_above: Any  # of a category, its most frequent value
    median_below: float | None
    normal_range: tuple[float, float] | None  # lowest and highest value within the set

    @property
    def direction(self) -> str:
        """Where most of these rows are: above or below what is normal nearby, or both."""
        if self.above is None:
            return ""
        return "above" if self.above >= _MOST else "below" if self.above <= 1.0 - _MOST else "both"

    @property
    def medians(self) -> list[Any]:
        """Median values on the side or the sides where most of these rows are, ascending."""
        sides = {"above": [self.median_above], "below": [self.median_below]}
        found = sides.get(self.direction, [self.median_below, self.median_above])
        return sorted(median for median in found if median is not None)


@dataclass(frozen=True)
class FlaggedRows:
    """The rows outside, or a random sample of them, with their explanations."""

    n_rows: int  # all rows outside
    sample: Sample
    top: Indices  # index of the column that contributes most
    second: Indices  # index of the next; the same if there is one column
    contributions: Array


def explained(
    model: FittedModel, sample: FlaggedSample, ranges: Array, some_rows: Array
) -> tuple[FlaggedRows, list[ColumnAlarms]]:
    """The rows sampled with the columns that contribute most, and all columns, by the share of rows that they explain.

    `some_rows` of the table show whether the steps before the sets can be inverted: if not, columns have no ranges.
    """
    found, names, categories = Sample.of(sample.rows()), model.prepared_names, model.category_values
    contributions = np.empty((0, len(names)))
    if len(found.rows):
        contributions = np.asarray(model.estimator.explain(np.asarray(model.prepared(found.rows), dtype=np.float64)))
    by_size = np.argsort(-np.abs(contributions), axis=1, kind="stable")
    top, restored = by_size[:, 0], model.restored(ranges, some_rows)
    normal = [] if restored is None else zip(model.feature_names, *np.sort(restored, axis=0).tolist(), strict=True)
    in_table = {name: (low, high) for name, low, high in normal if np.isfinite(low)}
    columns = []
    for j, name in enumerate(names):
        explained_by = top == j
        own = contributions[explained_by, j]
        values = np.full(len(own), np.nan)
        if name in model.feature_names:
            values = found.rows[explained_by, model.feature_names.index(name)]
        columns.append(
            ColumnAlarms(
                name=name,
                share=float(explained_by.mean()) if len(top) else 0.0,
                above=float((own > 0).mean()) if len(own) and name not in categories else None,
                median_above=_typical(values[own > 0], categories.get(name)),
                median_below=_typical(values[own <= 0], categories.get(name)),
                normal_range=in_table.get(name),
            )
        )
    flagged = FlaggedRows(sample.n_rows, found, top, by_size[:, min(1, len(names) - 1)], contributions)
    return flagged, sorted(columns, key=lambda column: -column.share)


def outside_rows(model: FittedModel, flagged: FlaggedRows) -> ExplainedRows:
    """The rows sampled, as events are explained by them."""
    sample, of_table = flagged.sample, model.prepared_names == model.feature_names

    def normal(chosen: Indices) -> Array | None:
        rows = sample.rows[chosen]
        near = model.estimator._normal_near(np.asarray(model.prepared(rows), dtype=np.float64))
        return model.restored(near, rows) if of_table else None

    return ExplainedRows(
        times=sample.times,
        places=sample.places,
        scores=sample.scores,
        contributions=lambda chosen: flagged.contributions[chosen],
        values=lambda chosen: sample.rows[chosen] if of_table else np.empty((len(chosen), 0)),
        normal=normal,
        names=model.prepared_names,
        categories=model.category_values,
    )


def _typical(values: Array, categories: list[str] | None) -> Any:
    """The median, or the most frequent category; None if there is no value, or the most frequent was not seen."""
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    if categories is None:
        return float(np.median(values))
    codes, counts = np.unique(values, return_counts=True)
    code = int(codes[counts.argmax()])
    return categories[code] if code >= 0 else None
