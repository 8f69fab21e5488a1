"""Rows of any kind → encoded rows: arrays, data frames, streams and arrays on a GPU become one object."""

from functools import partial
from typing import Any

import numpy as np

from mvset.calibration.plan import CalibrationPlan, TableRows
from mvset.calibration.splits import drawn_seed
from mvset.devices.places import ArrayRows, host_labels, place_of, validated_array
from mvset.parallel import cluster_map
from mvset.progress import ProgressLine
from mvset.rows.categories import NO_CATEGORIES, Categories
from mvset.rows.encoding import RowEncoding
from mvset.rows.imputation import Imputation
from mvset.rows.stream import RowStream, row_stream
from mvset.rows.survey import Survey, all_rows, survey
from mvset.rows.validation import (
    check_extent,
    checked_labels,
    column_ranges,
    validated_rows,
    warn_about_scales,
    warn_if_constant,
)
from mvset.values import Array


def training_rows(
    estimator: Any,
    X: Any,
    labels: dict[str, Any],
    plan: CalibrationPlan,
    rng: np.random.RandomState,
    line: ProgressLine,
) -> TableRows:
    """Read and check the rows of a fit; `labels` are the groups and strata of the rows, or None."""
    X = _placed(estimator, X)
    stream, surveyed = row_stream(X, missing=estimator.missing == "impute"), None
    if stream is None:
        categories = Categories.of(X, estimator.categorical_features, missing=estimator.missing == "impute")
        X = categories.coded(X)
    else:
        _refuse_named_categories(estimator.categorical_features)
        labelled = any(each is not None for each in labels.values())
        surveyed = _sampled(stream, plan, rng, line) if plan.samples_streams and not labelled else None
        X = all_rows(stream) if surveyed is None else surveyed.rows
        surveyed = None if surveyed is None or surveyed.is_complete else surveyed
        categories = getattr(stream, "categories", NO_CATEGORIES)  # the rows have their codes
    X = validated_rows(estimator, X, reset=True, missing=estimator.missing == "impute")
    if stream is not None and not isinstance(stream, ArrayRows):
        estimator.feature_names_in_ = np.array(stream.names, dtype=object)
    return _encoded(estimator, X, categories, labels, surveyed, rng)


def _placed(estimator: Any, X: Any) -> Any:
    """An array of another library: a stream of rows if it is on a device, else an array of numpy."""
    if (place := place_of(X)) is None:
        return X
    X = validated_array(estimator, X, place, finite=not place.in_host_memory)
    if place.in_host_memory:
        return place.double_on_host(X)
    return ArrayRows(X, place, missing=estimator.missing == "impute")


def _refuse_named_categories(named: Any) -> None:
    """Refuse columns that are named as categories where rows come as numbers: they would be taken for numbers."""
    if named is not None and len(named) and not (isinstance(named, str) and named == "from_dtype"):
        raise ValueError(
            "categorical_features names columns, but rows of a stream or of a GPU array are taken as numbers. Fit to a "
            "data frame or an array in memory, or leave categorical_features out."
        )


def _sampled(stream: RowStream, plan: CalibrationPlan, rng: np.random.RandomState, line: ProgressLine) -> Survey | None:
    """Sample the rows that train, if most rows of the stream train nothing; None if all rows are needed at once."""
    state = rng.get_state()
    on_rows = partial(line.reach, "reading", "row")
    found = survey(stream, plan.sample_size, drawn_seed(rng), plan.n_trained, on_rows, cluster_map())
    if found is None or found.is_complete:
        rng.set_state(state)  # as if the rows had come as an array
    return found


def _encoded(
    estimator: Any,
    X: Array,
    categories: Categories,
    labels: dict[str, Any],
    surveyed: Survey | None,
    rng: np.random.RandomState,
) -> TableRows:
    """Rows with codes as encoded rows, with the ranges of the whole table."""
    lowest, highest = column_ranges(X)
    if surveyed is not None:  # a column may vary in the table and not in the sample
        lowest, highest = surveyed.lowest, surveyed.highest
    check_extent(lowest, highest, len(X))
    warn_if_constant(estimator, lowest, highest)
    names, imputes = getattr(estimator, "feature_names_in_", None), estimator.missing == "impute"
    encoding = RowEncoding(X.shape[1], categories, Imputation.fitted(X, categories, rng, names) if imputes else None)
    encoding.answerable(X)
    if estimator.scaling is None or (estimator.scaling == "auto" and not isinstance(estimator.sigma, str)):
        warn_about_scales(estimator, encoding.completed(X))
    checked = {
        name: None if each is None else checked_labels(host_labels(each), len(X), name) for name, each in labels.items()
    }
    return TableRows(encoding, X, encoding.encoded(X), lowest, highest, **checked, surveyed=surveyed)
