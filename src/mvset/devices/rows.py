"""Rows of arrays of other libraries: validated where they are, and read from there in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config

from mvset.devices.places import Place, place_of
from mvset.parallel import Map
from mvset.rows.stream import BATCH_ROWS, Part
from mvset.rows.validation import not_finite
from mvset.values import Array


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array on a device, where they stay."""

    X: Any  # validated
    place: Place
    missing: bool = False

    @property
    def names(self) -> list[str]:
        """The columns have numbers in place of names."""
        return [str(j) for j in range(self.X.shape[1])]

    def batches(self) -> Iterator[Array]:
        """Rows in host memory."""
        for start in range(0, self.X.shape[0], BATCH_ROWS):
            yield self.place.double_on_host(self.X[start : min(start + BATCH_ROWS, self.X.shape[0]), :])

    def parts(self, run: Map) -> list[Part]:
        """All rows are one part."""
        return [Part(self, 0, int(self.X.shape[0]))]

    def check(self, rows: Array, lowest: Array, highest: Array) -> None:
        """Nothing is known beyond the values."""

    def surveyed(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Lowest and highest values, and the rows with given numbers."""
        xp, host = self.place.xp, self.place.double_on_host
        drawn = xp.take(self.X, self.place.array(numbers.astype(np.int64)), axis=0)
        return host(xp.min(self.X, axis=0)), host(xp.max(self.X, axis=0)), host(drawn)


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
        names = getattr(estimator, "feature_names_in_", None)
        raise not_finite(place.host(xp.isfinite(X)), f"{X.shape[0]} rows", names)
    return X


def host_labels(labels: Any) -> Any:
    """Labels of rows in host memory, wherever they are."""
    place = place_of(labels)
    return labels if place is None else place.host(labels)
