"""Arrays of other libraries, on whatever device they are: functions that work on them, their rows, host memory.

The functions are those of the array API standard (https://data-apis.org/array-api), by `array-api-compat`: the package
if it is installed, else the copy that comes with scikit-learn or SciPy.
"""

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from mvset.parallel import Map
from mvset.rows.stream import BATCH_ROWS, Part
from mvset.rows.validation import not_finite
from mvset.values import Array

# Those of others, JAX and MLX among them, become arrays of numpy as before.
_LIBRARIES = frozenset({"torch", "cupy", "array_api_strict"})
# Torch has others, of which it knows hardly more than how to store them.
_TORCH_TYPES = frozenset(
    {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"}
)
_COMPAT = ("array_api_compat", "sklearn.externals.array_api_compat", "scipy._lib.array_api_compat")


@dataclass(frozen=True)
class Place:
    """Where an array is: the functions that work on it, and its device."""

    library: str
    xp: Any
    device: Any

    @property
    def is_torch(self) -> bool:
        """Whether arrays are tensors of torch."""
        return self.library == "torch"

    @property
    def is_cuda(self) -> bool:
        """Whether arrays are tensors of torch on a GPU, for which torch compiles kernels."""
        return self.is_torch and self.device.type == "cuda"

    @property
    def in_host_memory(self) -> bool:
        """Whether arrays are judged in host memory: tensors that are there, and those on devices without float64."""
        return self.is_torch and (self.device.type == "cpu" or not self._has_double)

    @property
    def multiplies_exactly(self) -> bool:
        """Whether products of float32 matrices have its digits: libraries may be told to use fewer."""
        if os.environ.get("NVIDIA_TF32_OVERRIDE") == "1" or os.environ.get("CUPY_TF32", "0") != "0":
            return False
        if not self.is_torch:
            return True
        torch: Any = importlib.import_module("torch")
        try:
            exact: bool = torch.get_float32_matmul_precision() == "highest"
        except RuntimeError:  # torch refuses to tell once its newer switches were used
            return False
        return exact and not torch.is_autocast_enabled(self.device.type)

    @property
    def _has_double(self) -> bool:
        return not (self.is_torch and self.device.type == "mps")

    def array(self, values: Any) -> Any:
        """Numbers of numpy as an array here."""
        values = np.array(values)  # a copy: torch warns about arrays that cannot be written
        if not self._has_double and values.dtype == np.float64:
            values = values.astype(np.float32)
        return self.xp.asarray(values, device=self.device)

    def double(self, X: Any) -> Any:
        """An array of this place as float64."""
        return self.xp.astype(X, self.xp.float64)

    def is_single(self, X: Any) -> bool:
        """Whether an array has less than the digits of float64."""
        return bool(self.xp.isdtype(X.dtype, "real floating") and X.dtype != self.xp.float64)

    def has_numbers(self, X: Any) -> bool:
        """Whether an array holds real numbers with which its library computes."""
        if self.is_torch:
            dense = str(X.layout) == "torch.strided" and X.device.type != "meta"
            return dense and str(X.dtype).removeprefix("torch.") in _TORCH_TYPES
        return bool(self.xp.isdtype(X.dtype, ("real floating", "integral", "bool")))

    def host(self, X: Any) -> NDArray[Any]:
        """An array of this place as one of numpy."""
        if self.is_torch:
            return np.asarray(X.detach().cpu().numpy())
        return np.asarray(X.get() if self.library == "cupy" else X)

    def double_on_host(self, X: Any) -> Array:
        """The same as float64."""
        if self.is_torch:  # numpy has no bfloat16
            return np.ascontiguousarray(X.detach().cpu().double().numpy())
        return np.ascontiguousarray(self.host(X), dtype=np.float64)


def place_of(X: Any) -> Place | None:
    """Where an array of another library is; None for arrays of numpy, lists, frames and all else."""
    kind: Any = type(X)
    library = _library(kind)
    if library is None:
        return None
    compat = _compat()
    return Place(library, compat.array_namespace(X), compat.device(X))


def torch_place(device: str) -> Place:
    """A device of torch."""
    torch: Any = importlib.import_module("torch")
    return Place("torch", _compat().array_namespace(torch.empty(0)), torch.device(device))


@cache
def _library(kind: Any) -> str | None:
    names = (each.__module__.partition(".")[0] for each in kind.__mro__)
    return next((name for name in names if name in _LIBRARIES), None)


@cache
def _compat() -> Any:
    for name in _COMPAT:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("Arrays of torch and CuPy need one more package: pip install 'mvset[gpu]'")


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
