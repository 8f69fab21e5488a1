"""Step 7: one curve per bandwidth → the bandwidth of least area."""

from __future__ import annotations

from collections.abc import Sequence

from mvset.curves import MassVolumeCurve

MIN_HITS = 10  # fewer sample points in the smallest set leave its volume uncertain by a third or more


def is_measured(curve: MassVolumeCurve) -> bool:
    """Whether enough sample points fell into every set of the curve."""
    return bool(curve.hits.min() >= MIN_HITS)


def select_bandwidth(curves: Sequence[MassVolumeCurve]) -> int:
    """Index of the curve of least area (Paper: Fig. 2, σ_opt), among those whose volumes are measured.

    A set that hardly any sample point hits has a small *estimate*, not a small volume: it must not win. When no curve
    is measured (many columns), the one with the most hits is all that can be defended; the caller warns.
    """
    measured = [i for i, curve in enumerate(curves) if is_measured(curve)]
    if measured:
        return min(measured, key=lambda i: curves[i].area)
    return max(range(len(curves)), key=lambda i: (curves[i].hits.sum(), curves[i].sigma))
