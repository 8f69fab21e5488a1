"""How every kernel is compiled."""

from __future__ import annotations

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
    compiled: Callable[..., Any] = njit(nogil=True, cache=True, fastmath=_FASTMATH, error_model="numpy")(function)
    return compiled
