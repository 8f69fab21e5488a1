"""Working memory that each thread keeps between solves.

The first write to a new page of 4 KiB costs a page fault. For small problems that is more than the arithmetic.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

KEPT_BYTES = 2**24  # at most this much per thread and purpose; larger requests are not kept
_thread = threading.local()


def scratch(purpose: str, n: int) -> NDArray[np.float32]:
    """An uninitialised (n, n) matrix, valid until this thread asks again for the same purpose."""
    if 4 * n * n > KEPT_BYTES:
        return np.empty((n, n), np.float32)
    kept: NDArray[np.float32] | None = getattr(_thread, purpose, None)
    if kept is None or kept.size < n * n:
        kept = np.empty(n * n, np.float32)
        setattr(_thread, purpose, kept)
    return kept[: n * n].reshape(n, n)
