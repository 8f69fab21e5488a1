"""Validation of rows and parameters, the same for every estimator; errors name the column at fault."""

from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import check_array, validate_data

from mvset.exceptions import ColumnScaleWarning, ConstantColumnWarning, ExtraColumnWarning, warn
from mvset.rows.labels import label_texts
from mvset.values import Array, Flags
from mvset.wording import are, columns_named, counted

_MAX_VALUE = 1e300  # sums of larger ones leave float64
_MAX_SCALE_RATIO = 100.0  # of standard deviations: beyond it the widest column alone decides every distance


# datetime and pandas' Timestamp are dates, pandas' Timedelta is a timedelta.
_DATES = (np.datetime64, np.timedelta64, date, time, timedelta)
_TEXT = (str, bytes)


def validated_rows(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> Array:
    """Rows as a float64 array in C order; errors name the columns at fault. `missing` allows NaN.

    Columns of a table are found by the names of the fit, unless `reset` is set.
    """
    X = X if reset else matched_columns(X, getattr(estimator, "feature_names_in_", None))
    reject_non_numeric(X)
    array: Array = validate_data(
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
        raise not_finite(finite, f"{len(array)} rows", getattr(estimator, "feature_names_in_", None), missing=missing)
    return array


def not_finite(finite: Flags, among: str, names: Any, *, missing: bool = False) -> ValueError:
    """The error about rows with values that are not finite, by row and column; `among` tells of which rows."""
    columns, n_rows = named_columns(names, np.flatnonzero(~finite.all(axis=0))), int((~finite.all(axis=1)).sum())
    what = "infinity" if missing else "NaN or infinity"
    return ValueError(f"Input X contains {what} in {columns} ({n_rows} of {among}). Drop these rows, or impute them.")


def table_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a pandas or polars DataFrame or a pyarrow Table; None for anything else."""
    if hasattr(X, "column_names"):
        return list(X.column_names)
    is_frame = not hasattr(X, "collect") and hasattr(X, "columns") and hasattr(X, "dtypes")
    return list(X.columns) if is_frame else None


def matched_columns(X: Any, names: Any) -> Any:
    """Return the columns of a table that have these names, in this order; warn about other columns.

    An array is returned as it is, and so is a table that lacks a column, because scikit-learn then says which.
    """
    found, wanted = table_names(X), None if names is None else list(names)
    if found is None or wanted in (None, found) or len(set(found)) < len(found) or not set(wanted) <= set(found):
        return X
    extra = [i for i, each in enumerate(found) if each not in set(wanted)]
    if extra:
        warn(f"The model was not fitted to {named_columns(found, extra)}: ignored.", ExtraColumnWarning)
    return X[wanted] if hasattr(X, "iloc") else X.select(wanted)


def checked_rows(X: Any, **options: Any) -> Array:
    """Rows that no estimator was fitted to, as a float64 array; refuses what is not numeric."""
    reject_non_numeric(X)
    rows: Array = check_array(X, dtype=np.float64, **options)
    return rows


def column_ranges(X: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest value of each column that are not missing."""
    return np.fmin.reduce(X), np.fmax.reduce(X)


def check_extent(lowest: Array, highest: Array, n_rows: int) -> None:
    """Refuse rows that are all equal, or columns whose range squared leaves float64."""
    with np.errstate(over="ignore"):
        largest, extent = np.fmax(-lowest, highest).max(), highest - lowest
    if largest > _MAX_VALUE:
        raise ValueError(f"X has values as large as {largest:.3g}: rescale them.")
    if not extent.any():
        raise ValueError(
            f"All {n_rows} rows of X are equal: a single point has no volume and no bandwidth. Check the data."
        )
    narrowest, widest = extent[extent > 0].min(), np.fmax.reduce(extent)
    if not (narrowest > 1e-140 and widest < 1e140):
        raise ValueError(f"The columns range over {narrowest:.3g} to {widest:.3g}: rescale them.")


def checked_ranges(estimator: Any, X: Array, *, one_scale: bool = True) -> tuple[Array, Array]:
    """Return the ranges of the columns of training rows; refuse rows that are all equal, and warn about odd columns."""
    lowest, highest = column_ranges(X)
    check_extent(lowest, highest, len(X))
    warn_if_constant(estimator, lowest, highest)
    if one_scale:
        warn_about_scales(estimator, X)
    return lowest, highest


def warn_if_constant(estimator: Any, lowest: Array, highest: Array) -> None:
    """Warn about constant columns."""
    constant = np.flatnonzero(lowest == highest)
    if len(constant):
        warn(
            f"X is constant in {_named(estimator, constant)}: volumes are measured across the other columns only, and "
            "any row in which one differs lies outside every set. Drop those that do not matter.",
            ConstantColumnWarning,
        )


def warn_about_scales(estimator: Any, X: Array) -> None:
    """Warn about columns whose scales are too different for one bandwidth."""
    # One column at a time: squares of all of them would take as much memory again as the rows.
    spread = np.array([column[~np.isnan(column)].std() if np.ptp(column) else np.nan for column in X.T])
    widest, narrowest = int(np.nanargmax(spread)), int(np.nanargmin(spread))
    if spread[widest] > _MAX_SCALE_RATIO * spread[narrowest]:
        warn(
            f"The columns of X differ in scale by a factor of {spread[widest] / spread[narrowest]:.0f} "
            f"({_named(estimator, [widest, narrowest])}): one bandwidth cannot fit both. Standardise first, e.g. "
            "make_pipeline(StandardScaler(), ...).",
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


def column_names(estimator: Any) -> list[str]:
    """Names of the columns of the fit; x0, x1, … if it had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def named_columns(names: Any, columns: Any) -> str:
    """Columns by name, if they have names, for a message."""
    listed = [repr(str(names[c])) if names is not None else str(c) for c in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(listed)}{more}"


def candidate_sigmas(sigma: Any, name: str = "sigma") -> Array:
    """The user's bandwidths, as an array."""
    try:
        sigmas = np.atleast_1d(np.asarray(sigma, dtype=np.float64))
    except (TypeError, ValueError):
        sigmas = np.empty(0)
    if sigmas.ndim != 1 or sigmas.size == 0 or not np.all(np.isfinite(sigmas) & (sigmas > 0)):
        raise ValueError(f"{name} must be 'auto', a positive number or a list of positive numbers; got {sigma!r}.")
    return np.unique(sigmas)


def checked_labels(labels: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Return labels of rows as text, one per row; refuse missing ones."""
    reject_masked(labels, name)
    values = np.asarray(labels, dtype=object)  # of a list of text and NaN numpy would make text
    if values.shape != (n_rows,):
        raise ValueError(f"{name} has shape {values.shape}, and X has {n_rows} rows: give one label per row.")
    texts = label_texts(values.tolist())
    missing = [i for i, text in enumerate(texts) if text is None]
    if missing:
        first = "the first of them " if len(missing) > 1 else ""
        raise ValueError(
            f"{name} has no label for {counted(len(missing), 'row')}, {first}row {missing[0]}. Drop rows without a "
            "label, or give them one of their own."
        )
    return texts


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
