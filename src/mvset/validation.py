"""Validation of rows and parameters, the same for every estimator; errors name the column at fault."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import validate_data

from mvset.exceptions import ColumnScaleWarning, ConstantColumnWarning

_MAX_SCALE_RATIO = 100.0  # of standard deviations: beyond it the widest column alone decides every distance


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.float64]:
    """Rows as a float64 array in C order; errors name the columns at fault."""
    _reject_what_is_no_number(X)
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
    finite = np.isfinite(array)
    if not finite.all():
        columns = np.flatnonzero(~finite.all(axis=0))
        raise ValueError(
            f"Input X contains NaN or infinity in {_named(estimator, columns)} "
            f"({int((~finite.all(axis=1)).sum())} of {len(array)} rows). Drop these rows, or impute them, "
            "e.g. with sklearn.impute.SimpleImputer."
        )
    return array


def check_extent(X: NDArray[np.float64]) -> None:
    """Refuse rows that are all equal, or columns whose range squared leaves float64."""
    extent = np.ptp(X, axis=0)
    if not extent.any():
        raise ValueError(
            f"All {len(X)} rows of X are equal: a single point has no volume and no bandwidth. Check the data."
        )
    narrowest, widest = extent[extent > 0].min(), extent.max()
    if not (narrowest > 1e-140 and widest < 1e140):
        raise ValueError(
            f"The columns of X range over {narrowest:.3g} to {widest:.3g}: rescale them, e.g. with StandardScaler."
        )


def warn_if_constant(estimator: Any, X: NDArray[np.float64], stacklevel: int = 4) -> None:
    """Warn about constant columns."""
    constant = X.min(axis=0) == X.max(axis=0)
    if constant.any():
        warnings.warn(
            f"X is constant in {_named(estimator, np.flatnonzero(constant))}: volumes are measured across the other "
            "columns only. Drop constant columns.",
            ConstantColumnWarning,
            stacklevel=stacklevel,
        )


def check_spread(estimator: Any, X: NDArray[np.float64]) -> None:
    """Refuse rows that are all equal; warn about constant columns, and about columns of very different scales."""
    spread = X.std(axis=0)
    # Rounding in the mean leaves a tiny spread on constant columns: the range is exact.
    constant = X.min(axis=0) == X.max(axis=0)
    if constant.all():
        check_extent(X)
    warn_if_constant(estimator, X, stacklevel=5)
    widest, narrowest = spread.max(), spread[~constant].min()
    if widest > _MAX_SCALE_RATIO * narrowest:
        named = _named(estimator, [int(spread.argmax()), int(np.where(constant, np.inf, spread).argmin())])
        warnings.warn(
            f"The columns of X differ in scale by a factor of {widest / narrowest:.0f} ({named}): one bandwidth cannot "
            "fit both. Standardise first, e.g. make_pipeline(StandardScaler(), ...).",
            ColumnScaleWarning,
            stacklevel=4,
        )


def _reject_what_is_no_number(X: Any) -> None:
    """Refuse text, dates and masked values, which numpy would take for numbers or drop without a word."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        columns = np.flatnonzero(np.ma.getmaskarray(X).reshape(len(X), -1).any(axis=0))
        raise ValueError(
            f"X is a masked array with masked values in column(s) {', '.join(map(str, columns[:5]))}. Drop these rows, "
            "or fill them, e.g. X.filled(numpy.nan) and sklearn.impute.SimpleImputer."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "Mm":
        raise ValueError(
            f"X holds dates or durations (dtype {X.dtype}), not numbers. Turn them into numbers first, e.g. "
            "X.astype('datetime64[s]').astype(float)."
        )
    if hasattr(X, "dtypes") and hasattr(X, "columns") and not hasattr(X, "collect"):  # pandas and polars frames
        text = [repr(str(name)) for name, dtype in zip(X.columns, X.dtypes, strict=True) if _is_text(dtype, X, name)]
        if text:
            raise ValueError(
                f"Column(s) {', '.join(text)} of X are not numeric. Drop them, or turn them into numbers, "
                "e.g. categories with sklearn.preprocessing.OneHotEncoder."
            )
    elif isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError("X holds text, not numbers: dtype=numeric is needed. Drop or encode the text columns.")


def _is_text(dtype: Any, X: Any, name: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return not (dtype.is_numeric() or str(dtype) == "Boolean")
    if str(dtype) == "object":  # anything: numbers may pass
        return any(isinstance(value, str | bytes) for value in X[name])
    return getattr(dtype, "kind", "f") not in "biufc"


def _named(estimator: Any, columns: Any) -> str:
    names = getattr(estimator, "feature_names_in_", None)
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


def checked_share(mass: Any, name: str = "mass") -> float:
    """A mass, or another share, given to a method."""
    if not isinstance(mass, Real) or not 0.0 < float(mass) < 1.0:
        raise ValueError(f"{name} must be a number strictly between 0 and 1; got {mass!r}.")
    return float(mass)
