"""Step 7: one curve per bandwidth → the bandwidth of least area."""

from __future__ import annotations

from collections.abc import Sequence

from mvset.curves import MassVolumeCurve


def describes_masses(curve: MassVolumeCurve) -> bool:
    """The paper's condition on ν: the unshifted set holds at most α-c of the training rows (Section II-B).

    Where it fails the solution function says nothing about masses this high.
    """
    return bool(curve.training_mass <= curve.masses[0])


def select_bandwidth(curves: Sequence[MassVolumeCurve]) -> int:
    """Index of the curve of least area (Paper: Fig. 2, σ_opt) among those fit to compete.

    A set that no sample point hits has an *estimate* of zero, not a volume of zero. And a bandwidth so narrow that the
    condition on ν fails can pass for small because the mean of its offsets, which then differ by orders of magnitude
    between splits, holds less than the mass. When no curve is measured (many columns), the one with the most hits is
    all that can be defended; the caller warns.
    """
    measured = [i for i, curve in enumerate(curves) if curve.hits.min() > 0]
    if not measured:
        return max(range(len(curves)), key=lambda i: (curves[i].hits.sum(), curves[i].sigma))
    valid = [i for i in measured if describes_masses(curves[i])]
    return min(valid or measured, key=lambda i: curves[i].area)
