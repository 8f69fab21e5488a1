"""A random sample of rows that come in batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class RowSample:
    """At most `size` rows, each with the same chance, in their order; all of them where they are no more.

    Every row draws a key, and those of the least keys stay: which ones does not depend on how the rows are cut into
    batches, and memory does not grow with their number.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._rng = np.random.default_rng(seed)
        self._keys: list[Array] = []
        self._rows: list[Array] = []
        self._held = 0

    def add(self, rows: Array) -> None:
        """Take more rows into account."""
        self._keys.append(self._rng.random(len(rows)))
        self._rows.append(rows)
        self._held += len(rows)
        if self._held > 4 * self._size:
            self._thin_out()

    def rows(self) -> Array:
        """The sample."""
        self._thin_out()
        return self._rows[0]

    def _thin_out(self) -> None:
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        if len(keys) > self._size:
            kept = np.sort(np.argpartition(keys, self._size)[: self._size])
            keys, rows = keys[kept], rows[kept]
        self._keys, self._rows, self._held = [keys], [rows], len(keys)
