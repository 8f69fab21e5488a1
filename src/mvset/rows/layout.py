"""Where the columns of a table are in encoded rows: numbers first, then a block of zeros and ones per category."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvset.values import Array, Indices


@dataclass(frozen=True)
class ColumnLayout:
    """Number of numeric columns, and number of values of each category column.

    In an encoded row the numbers come first. A category column follows as a block of zeros with a single one, at the
    place of its value. A column of the layout is a numeric column or a whole block.
    """

    n_numeric: int
    sizes: tuple[int, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns; a block counts as one."""
        return self.n_numeric + len(self.sizes)

    @property
    def n_codes(self) -> int:
        """Number of encoded columns in all blocks."""
        return sum(self.sizes)

    @property
    def n_encoded(self) -> int:
        """Number of encoded columns."""
        return self.n_numeric + self.n_codes

    @property
    def blocks(self) -> list[slice]:
        """The encoded columns of each category column."""
        ends = self.n_numeric + np.cumsum(self.sizes, dtype=int)
        return [slice(int(end) - size, int(end)) for end, size in zip(ends, self.sizes, strict=True)]

    def varying(self, X: Array) -> Indices:
        """The columns that vary in encoded rows."""
        varies = np.ptp(X, axis=0) > 0
        return np.flatnonzero([*varies[: self.n_numeric], *(varies[block].any() for block in self.blocks)])

    def selected(self, columns: Sequence[int] | Indices) -> "tuple[Indices, ColumnLayout]":
        """Encoded columns of some columns, and their layout; the numeric ones come first."""
        numeric = [int(column) for column in columns if column < self.n_numeric]
        blocks = [self.blocks[column - self.n_numeric] for column in columns if column >= self.n_numeric]
        encoded = [*numeric, *(each for block in blocks for each in range(block.start, block.stop))]
        return np.array(encoded, dtype=np.intp), ColumnLayout(len(numeric), tuple(b.stop - b.start for b in blocks))
