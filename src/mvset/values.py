"""Immutable values that hold arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class ArrayValue:
    """Base class of frozen dataclasses with array fields; declare them with ``@dataclass(frozen=True, eq=False)``.

    Those without arrays that model files hold use it as well, with ``@dataclass(frozen=True)``.

    Two values are equal if all their fields are, arrays element by element. Copies, pickles and model files are
    rebuilt through the constructor, so that its checks hold for them as well.
    """

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, name), getattr(other, name)) for name in self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _equal(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(a == b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def checked_array(
    owner: str, name: str, value: Any, ndim: int, *, length: int | None = None, infinite: bool = False
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A read-only copy of a float64 array of a given number of dimensions without NaN; an error says what is wrong."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != ndim:
        found = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{owner}.{name} must be a float64 array of {ndim} dimension(s); got {found}.")
    if length is not None and len(value) != length:
        raise ValueError(f"{owner}.{name} must have length {length}; got {len(value)}.")
    if np.isnan(value).any() or not (infinite or np.isfinite(value).all()):
        raise ValueError(f"{owner}.{name} must be {'free of NaN' if infinite else 'finite'}.")
    copy = np.array(value)
    copy.setflags(write=False)
    return copy
