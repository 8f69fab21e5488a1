"""Immutable values that hold arrays, and properties that are computed once."""

import sys
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# The property of Python 3.11 has a lock for all instances of a class: threads wait for each other, and a process that
# is forked meanwhile waits for ever. Later versions have no lock.
if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """A property that is computed when it is first asked for."""

        def __init__(self, function: Any) -> None:
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            # Found there from now on: there is no setter, so the instance's own dictionary comes first.
            return instance.__dict__.setdefault(self.attrname, self.func(instance))


def array_rule(ndim: int, *, length: Callable[[Any], int] | None = None, infinite: bool = False) -> dict[str, Any]:
    """Metadata of a field of an :class:`ArrayValue` for float64 numbers, which are checked and made read-only.

    `length` computes the length that the array must have, from the value whose fields before it are checked already.
    """
    return {"array": {"ndim": ndim, "infinite": infinite}, "length": length}


class ArrayValue:
    """Base class of frozen dataclasses with array fields; declare them with ``@dataclass(frozen=True, eq=False)``.

    Dataclasses without arrays that model files contain use it with ``@dataclass(frozen=True)``.

    Two values are equal if all their fields are, arrays element by element. Copies, pickles and model files are
    rebuilt through the constructor, so its checks hold for them: those of :func:`array_rule`, then `_check`.
    """

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            if rule := each.metadata.get("array"):
                length = each.metadata["length"] and each.metadata["length"](self)
                owner, value = type(self).__name__, getattr(self, each.name)
                object.__setattr__(self, each.name, checked_array(owner, each.name, value, length=length, **rule))
        self._check()

    def _check(self) -> None:
        """Refuse parts that do not fit together: a file may contain anything."""

    def _require(self, holds: Any, problem: str) -> None:
        """Raise an error about a part, unless a condition holds."""
        if not holds:
            raise ValueError(f"{type(self).__name__}{problem}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, name), getattr(other, name)) for name in self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _equal(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(a == b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def checked_array(
    owner: str, name: str, value: Any, ndim: int = 1, *, length: int | None = None, infinite: bool = False
) -> Array:
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
