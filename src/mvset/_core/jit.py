"""How every kernel is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

# "reassoc" is left out on purpose: a sum then has one order, whatever the machine's vector width, and the
# argument reduction of exp keeps its two-step subtraction.
_FASTMATH = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call, keep on disk, run without the GIL.

    ``error_model="numpy"`` drops the zero check of every division, which would stop vectorisation.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder it may write to
        warnings.warn(
            "numba cannot keep compiled kernels on disk, so every process compiles them again: set NUMBA_CACHE_DIR to "
            "a folder that can be written.",
            stacklevel=2,
        )
        compiled = njit(**options)(function)
    return compiled
