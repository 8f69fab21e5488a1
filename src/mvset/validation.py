"""Validation of rows and parameters, the same for every estimator; errors name the column at fault."""

from __future__ import annotations

from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import check_array, validate_data

from mvset.array_namespace import Place, place_of
from mvset.exceptions import ColumnScaleWarning, ConstantColumnWarning, warn
from mvset.wording import are, columns_named, counted

_MAX_VALUE = 1e300  # sums of larger ones leave float64
_MAX_SCALE_RATIO = 100.0  # of standard deviations: beyond it the widest column alone decides every distance


# datetime and pandas' Timestamp are dates, pandas' Timedelta is a timedelta.
_DATES = (np.datetime64, np.timedelta64, date, time, timedelta)
_TEXT = (str, bytes)


def validated_rows(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> NDArray[np.float64]:
    """Rows as a float64 array in C order; errors name the columns at fault. `missing` allows NaN."""
    reject_non_numeric(X)
    array: NDArray[np.float64] = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    if get_config()["assume_finite"]:
        return array
    finite = ~np.isinf(array) if missing else np.isfinite(array)
    if not finite.all():
        columns = np.flatnonzero(~finite.all(axis=0))
        raise ValueError(
            f"Input X contains {'' if missing else 'NaN or '}infinity in {_named(estimator, columns)} "
            f"({int((~finite.all(axis=1)).sum())} of {len(array)} rows). Drop these rows, or impute them, "
            "e.g. with sklearn.impute.SimpleImputer."
        )
    return array


def validated_array(estimator: Any, X: Any, place: Place, n_features: int | None = None, *, finite: bool = True) -> Any:
    """Rows of an array that is not one of numpy, where they are; of so many columns, if that is known."""
    xp, name = place.xp, type(estimator).__name__
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got an array of shape {tuple(X.shape)} instead.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {n_features} features as input.")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"Found array with shape {tuple(X.shape)} while a minimum of 1 row and 1 column is required.")
    if not place.has_numbers(X):
        raise ValueError(f"X must hold real numbers; got {X.dtype}.")
    X = X.detach() if place.is_torch else X
    if not finite or not xp.isdtype(X.dtype, "real floating") or get_config()["assume_finite"]:
        return X
    # The extremes tell without an array of marks, which may not fit beside the rows.
    if not bool(xp.isfinite(xp.min(X))) or not bool(xp.isfinite(xp.max(X))):
        sound = place.host(xp.all(xp.isfinite(X), axis=0))
        n_rows = int(xp.sum(xp.astype(~xp.all(xp.isfinite(X), axis=1), xp.int64)))
        raise ValueError(
            f"Input X contains NaN or infinity in {_named(estimator, np.flatnonzero(~sound))} ({n_rows} of "
            f"{X.shape[0]} rows). Drop these rows."
        )
    return X


def checked_rows(X: Any, **options: Any) -> NDArray[np.float64]:
    """Rows that no estimator was fitted to, as a float64 array; refuses what is not numeric."""
    reject_non_numeric(X)
    rows: NDArray[np.float64] = check_array(X, dtype=np.float64, **options)
    return rows


def check_extent(X: NDArray[np.float64]) -> None:
    """Refuse rows that are all equal, or columns whose range squared leaves float64."""
    lowest, highest = np.fmin.reduce(X), np.fmax.reduce(X)  # of the values that are not missing
    largest = np.fmax(-lowest, highest).max()
    if largest > _MAX_VALUE:
        raise ValueError(f"X has values as large as {largest:.3g}: rescale them, e.g. with StandardScaler.")
    extent = highest - lowest
    if not extent.any():
        raise ValueError(
            f"All {len(X)} rows of X are equal: a single point has no volume and no bandwidth. Check the data."
        )
    narrowest, widest = extent[extent > 0].min(), np.fmax.reduce(extent)
    if not (narrowest > 1e-140 and widest < 1e140):
        raise ValueError(
            f"The columns of X range over {narrowest:.3g} to {widest:.3g}: rescale them, e.g. with StandardScaler."
        )


def warn_if_constant(estimator: Any, X: NDArray[np.float64]) -> None:
    """Warn about constant columns."""
    constant = X.min(axis=0) == X.max(axis=0)
    if constant.any():
        warn(
            f"X is constant in {_named(estimator, np.flatnonzero(constant))}: volumes are measured across the other "
            "columns only, and any row in which one differs lies outside every set. Drop those that do not matter.",
            ConstantColumnWarning,
        )


def check_spread(estimator: Any, X: NDArray[np.float64], *, one_scale: bool = True) -> None:
    """Refuse rows that are all equal; warn about constant columns, and about scales too different for one bandwidth."""
    # One column at a time: squares of all of them would take as much memory again as the rows.
    with np.errstate(over="ignore", invalid="ignore"):  # values too large are refused by their extent
        spread = np.array([column.std() for column in X.T])
    # Rounding in the mean leaves a tiny spread on constant columns: the range is exact.
    constant = X.min(axis=0) == X.max(axis=0)
    if constant.all():
        check_extent(X)
    warn_if_constant(estimator, X)
    widest, narrowest = spread.max(), spread[~constant].min()
    if one_scale and widest > _MAX_SCALE_RATIO * narrowest:
        named = _named(estimator, [int(spread.argmax()), int(np.where(constant, np.inf, spread).argmin())])
        warn(
            f"The columns of X differ in scale by a factor of {widest / narrowest:.0f} ({named}): one bandwidth cannot "
            "fit both. Standardise first, e.g. make_pipeline(StandardScaler(), ...).",
            ColumnScaleWarning,
        )


def reject_masked(X: Any, name: str = "X") -> None:
    """Refuse masked values: numpy drops the mask without a word."""
    parts = X if isinstance(X, list | tuple) else [X]
    for part in parts:
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            mask = np.ma.getmaskarray(part)
            columns = np.flatnonzero(mask.reshape(-1, mask.shape[-1]).any(axis=0))
            where = "" if mask.ndim < 2 and part is X else f" in {columns_named(columns[:5]).lower()}"
            raise ValueError(
                f"{name} is a masked array with masked values{where}. Drop these rows, or fill them, e.g. "
                f"{name}.filled(numpy.nan) and sklearn.impute.SimpleImputer."
            )


def column_kinds(X: Any) -> dict[str, str]:
    """Whether the columns of a frame or a table hold "numbers", "dates" or "text", by name; empty for arrays."""
    if hasattr(X, "toarray") or hasattr(X, "collect"):  # sparse matrices and lazy frames: scikit-learn refuses them
        return {}
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # pandas and polars frames
        return {str(column): _kind(dtype, X, column) for column, dtype in zip(X.columns, X.dtypes, strict=True)}
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # pyarrow tables
        return {field.name: _arrow_kind(str(field.type)) for field in X.schema}
    return {}


def reject_non_numeric(X: Any, name: str = "X") -> None:
    """Refuse masked values, text and dates, which numpy would take for numbers or drop without a word."""
    reject_masked(X, name)
    if hasattr(X, "toarray") or hasattr(X, "collect"):
        return
    kinds = column_kinds(X)
    if not kinds:
        _reject_non_numeric_array(np.asarray(X), name)
        return
    for kind, advice in (
        ("dates", "Drop dates, or turn them into numbers, e.g. seconds since a fixed date."),
        ("text", "Drop text, or turn it into numbers, e.g. with sklearn.preprocessing.OneHotEncoder."),
    ):
        found = [repr(column) for column, found_kind in kinds.items() if found_kind == kind]
        if found:
            raise ValueError(f"{columns_named(found)} of {name} {are(len(found))} not numeric, but {kind}. {advice}")


def _reject_non_numeric_array(array: Any, name: str) -> None:
    if array.dtype.kind in "Mm" or (array.dtype.kind == "O" and any(isinstance(v, _DATES) for v in array.ravel())):
        raise ValueError(
            f"{name} holds dates or durations (dtype {array.dtype}), not numbers. Turn them into numbers first, e.g. "
            "seconds since a fixed date: X.astype('datetime64[s]').astype(float)."
        )
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and any(isinstance(v, _TEXT) for v in array.ravel())):
        raise ValueError(f"{name} holds text, not numbers: dtype=numeric is needed. Drop or encode the text columns.")


def _kind(dtype: Any, X: Any, column: Any) -> str:
    """Whether a column of a pandas or polars frame holds numbers, dates or text."""
    if hasattr(dtype, "is_numeric"):  # polars
        if dtype.is_numeric() or str(dtype) == "Boolean":
            return "numbers"
        return "dates" if dtype.is_temporal() else "text"
    if str(dtype) == "object":  # anything: numbers may pass
        if any(isinstance(value, _DATES) for value in X[column]):
            return "dates"
        return "text" if any(isinstance(value, _TEXT) for value in X[column]) else "numbers"
    kind = getattr(dtype, "kind", "f")
    if kind in "biufc":
        return "numbers"
    return "dates" if kind in "Mm" or "period" in str(dtype).lower() else "text"


def _arrow_kind(name: str) -> str:
    if name.startswith(("timestamp", "date", "time", "duration")):
        return "dates"
    return "text" if "string" in name or "binary" in name or name.startswith("dictionary") else "numbers"


def _named(estimator: Any, columns: Any) -> str:
    return named_columns(getattr(estimator, "feature_names_in_", None), columns)


def named_columns(names: Any, columns: Any) -> str:
    """Columns by name, if they have names, for a message."""
    listed = [repr(str(names[c])) if names is not None else str(c) for c in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(listed)}{more}"


def candidate_sigmas(sigma: Any) -> NDArray[np.float64]:
    """The user's bandwidths, as an array."""
    try:
        sigmas = np.atleast_1d(np.asarray(sigma, dtype=np.float64))
    except (TypeError, ValueError):
        sigmas = np.empty(0)
    if sigmas.ndim != 1 or sigmas.size == 0 or not np.all(np.isfinite(sigmas) & (sigmas > 0)):
        raise ValueError(f"sigma must be 'auto', a positive number or a list of positive numbers; got {sigma!r}.")
    return np.unique(sigmas)


def checked_labels(labels: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Labels of rows as text, one per row and none missing; whole numbers have no decimals, whatever their type."""
    place = place_of(labels)
    # Of a list of text and NaN numpy would make text.
    values = np.asarray(labels if place is None else place.host(labels), dtype=object)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} has shape {values.shape}, and X has {n_rows} rows: give one label per row.")
    missing = [i for i, value in enumerate(values.tolist()) if is_missing(value)]
    if missing:
        first = "the first of them " if len(missing) > 1 else ""
        raise ValueError(
            f"{name} has no label for {counted(len(missing), 'row')}, {first}row {missing[0]}. Drop rows without a "
            "label, or give them one of their own."
        )
    return np.array([label_text(value) for value in values.tolist()], dtype=object)


def label_text(value: Any) -> str:
    """A label as text; whole numbers have no decimals, whatever their type."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_missing(value: Any) -> bool:
    """Whether a label is missing."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def check_columns(estimator: Any, n_columns: int | None) -> None:
    """Refuse a fitted estimator, from a file or a pickle, that takes other columns than its parts."""
    name, n_features = type(estimator).__name__, getattr(estimator, "n_features_in_", None)
    if not isinstance(n_features, Integral) or n_features != (n_features if n_columns is None else n_columns):
        raise ValueError(f"{name}.n_features_in_ must be the number of columns, {n_columns}; got {n_features!r}.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and np.shape(names) != (n_features,):
        raise ValueError(f"{name}.feature_names_in_ must have {n_features} names.")


def checked_share(mass: Any, name: str = "mass") -> float:
    """A mass, or another share, given to a method."""
    if not isinstance(mass, Real) or not 0.0 < float(mass) < 1.0:
        raise ValueError(f"{name} must be a number strictly between 0 and 1; got {mass!r}.")
    return float(mass)
