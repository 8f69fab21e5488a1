"""A uniform random sample of rows that arrive in batches (reservoir sampling)."""

import numpy as np

from mvset.values import Array


class RowSample:
    """A uniform random sample of at most `size` rows, in their original order.

    Every row gets a random key, and the rows with the smallest keys are kept. The sample does not depend on how the
    rows are divided into batches, and memory does not grow with the number of rows.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._rng = np.random.default_rng(seed)
        self._keys: list[Array] = []
        self._rows: list[Array] = []
        self._held = 0
        self._largest_key = 1.0  # of the rows that may still be kept

    def add(self, rows: Array, keys: Array | None = None) -> None:
        """Add a batch of rows; their keys, in [0, 1), are random unless they are given."""
        keys = self._rng.random(len(rows)) if keys is None else keys
        kept = np.flatnonzero(keys < self._largest_key)
        self._keys.append(keys[kept])
        self._rows.append(rows[kept])
        self._held += len(kept)
        if self._held > 4 * self._size:
            self._discard()

    def shrink(self, size: int) -> None:
        """Keep fewer rows: those that a sample of this size would have kept."""
        self._size = min(self._size, size)

    def replace(self, rows: Array) -> None:
        """Replace the sampled rows by others, as many: those that the sample was drawn of only stood for them."""
        self._discard()
        self._rows = [rows]

    def rows(self) -> Array:
        """The sampled rows."""
        self._discard()
        return self._rows[0]

    def _discard(self) -> None:
        """Keep only the rows with the smallest keys."""
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        if len(keys) > self._size:
            kept = np.sort(np.argpartition(keys, self._size)[: self._size])
            keys, rows = keys[kept], rows[kept]
            self._largest_key = keys.max(initial=0.0)
        self._keys, self._rows, self._held = [keys], [rows], len(keys)
