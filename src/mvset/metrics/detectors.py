"""Adapters to other libraries' detectors: their scores, high where the rows are, and the input they take."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mvset.rows.layout import ColumnLayout
from mvset.rows.validation import check_extent, checked_rows, column_ranges
from mvset.values import Array, ArrayValue

Score = Callable[[Any], Array]

_LIBRARIES = ("pandas", "polars", "pyarrow")
_LARGEST = 1e300  # stands for infinity: KernelDensity gives -inf beyond a kernel of bounded support


def score_function(scorer: Any) -> Score:
    """Function from rows to scores, higher for more normal rows.

    In this order: ``score_samples``; the negative of ``decision_function`` for PyOD models, whose scores grow with
    abnormality; ``decision_function``; the object itself, if it can be called.
    """
    signs = {"score_samples": 1.0, "decision_function": -1.0 if is_pyod(scorer) else 1.0, "__call__": 1.0}
    name = next((name for name in signs if hasattr(scorer, name)), None)
    if name is None:
        raise TypeError(
            f"{scorer!r} gives no scores: pass a fitted detector with score_samples or decision_function (for "
            "LocalOutlierFactor, novelty=True), or a function of rows."
        )
    score, source = getattr(scorer, name), f"{'the function' if name == '__call__' else name} of {scorer!r}"
    return lambda rows: signs[name] * _checked(score(rows), len(rows), source)


class NeighbourDistance(NearestNeighbors):
    """Minus the distance to the fifth nearest training row, which scikit-learn has no detector for."""

    def score_samples(self, X: Any) -> Array:
        """Higher is more normal."""
        return -np.asarray(self.kneighbors(X)[0][:, -1])


def detector_by_name(name: str) -> Any:
    """A detector that people know by its name: "gaussian", "iforest", "lof" or "knn"."""
    from sklearn.ensemble import IsolationForest
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import LocalOutlierFactor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    detectors = {
        "gaussian": GaussianMixture(),
        "iforest": IsolationForest(),
        # Not by trees, which a model file cannot hold.
        "lof": LocalOutlierFactor(novelty=True, algorithm="brute"),
        "knn": NeighbourDistance(algorithm="brute"),
    }
    return make_pipeline(StandardScaler(), detectors[name])


def is_pyod(detector: Any) -> bool:
    """Whether a fitted detector, or what a search or pipeline ends in, is a PyOD model: 1 and high mean abnormal."""
    while not hasattr(detector, "decision_scores_"):
        if hasattr(detector, "best_estimator_"):
            detector = detector.best_estimator_
        elif hasattr(detector, "steps"):
            detector = detector.steps[-1][1]
        else:
            return False
    return True


def _checked(scores: Any, n_rows: int, source: str) -> Array:
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(f"{source} gave an array of shape {array.shape} for {n_rows} rows; one score each is needed.")
    if np.isnan(array).any():
        raise ValueError(f"{source} gave NaN for {int(np.isnan(array).sum())} of {n_rows} rows.")
    return np.clip(array, -_LARGEST, _LARGEST)


def check_row_by_row(scorer: Any, score: Score, rows: Any, scores: Array) -> None:
    """Refuse scores that depend on the rows scored beside: such a score has no level sets."""
    if not np.allclose(score(rows[:2]), scores[:2], rtol=1e-5, atol=1e-8 * np.abs(scores).max()):
        raise ValueError(
            f"The scores of {scorer!r} change with the rows that are scored together, as in PyOD's ECOD and COPOD: it "
            "has no set to measure. Use a detector that scores each row by itself."
        )


@dataclass(frozen=True)
class InputFormat(ArrayValue):
    """Turns arrays into tables of the library and columns that a detector was fitted to; leaves them as arrays if none.

    `library` is "pandas", "polars", "pyarrow", or "" for arrays.
    """

    library: str = ""
    columns: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Check the library: it is imported, and a file may name any."""
        if self.library not in ("", *_LIBRARIES):
            raise ValueError(f"{type(self).__name__}.library must be one of {_LIBRARIES}; got {self.library!r}.")

    def __call__(self, points: Array) -> Any:
        """The points in this format."""
        if not self.library:
            return points
        library, names = import_module(self.library), list(self.columns)
        if self.library == "pyarrow":
            return library.Table.from_arrays(list(points.T), names=names)
        return library.DataFrame(points, **{"columns" if self.library == "pandas" else "schema": names})


def input_format(X: Any) -> InputFormat:
    """The format of X."""
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow":  # whose `columns` are data
        return InputFormat(library, tuple(X.column_names))
    return InputFormat(library, tuple(X.columns)) if library in _LIBRARIES else InputFormat()


@dataclass(frozen=True)
class ScoredTable:
    """Rows in which volumes are measured, encoded as `layout` says, and their scores under a detector."""

    rows: Array
    layout: ColumnLayout
    scores: Array  # of all rows of the table
    score: Score  # of points like `rows`


def scored_table(scorer: Any, X: Any) -> ScoredTable:
    """Score rows, and prepare to score points around them; detectors of other libraries take numbers only."""
    encoding = getattr(scorer, "_encoding", None)
    if encoding:  # ours, with categories or missing values
        coded = scorer._rows(X)
        seen = ~encoding.categories.unseen(coded).any(axis=1)
        sets = scorer.sets_
        return ScoredTable(encoding.encoded(coded[seen]), encoding.layout, sets.scores(coded), sets.function.of_encoded)
    rows = checked_rows(X, ensure_min_samples=2)
    check_extent(*column_ranges(rows), len(rows))
    as_input, score_rows = input_format(X), score_function(scorer)
    scores = score_rows(as_input(rows))
    check_row_by_row(scorer, score_rows, as_input(rows), scores)
    return ScoredTable(rows, ColumnLayout(rows.shape[1]), scores, lambda points: score_rows(as_input(points)))
