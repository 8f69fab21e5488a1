"""Step 9: one curve per bandwidth → the bandwidth of least area."""

from __future__ import annotations

from collections.abc import Sequence

from mvset.curves import MassVolumeCurve


def describes_masses(curve: MassVolumeCurve) -> bool:
    """The paper's condition on ν: the unshifted set holds at most α-c of the training rows (Section II-B).

    Where it fails the solution function says nothing about masses this high.
    """
    return bool(curve.training_mass <= curve.masses[0])


def select_bandwidth(curves: Sequence[MassVolumeCurve]) -> int:
    """Index of the curve of least area (Paper: Fig. 2, σ_opt) among those that meet the condition on ν.

    A bandwidth so narrow that the condition fails can pass for small because the mean of its offsets, which then
    differ by orders of magnitude between splits, holds less than the mass. Curves whose sets no sample point hit (many
    columns, a far outlier) are smaller than those that were hit, but cannot be told apart: the middle one is as good as
    any, and the caller warns. Of equal areas the wider bandwidth wins, in whatever order they come.
    """
    valid = [i for i, curve in enumerate(curves) if describes_masses(curve)] or list(range(len(curves)))
    unmeasured = sorted((i for i in valid if curves[i].area == 0), key=lambda i: curves[i].sigma)
    if unmeasured:
        return unmeasured[len(unmeasured) // 2]
    return min(valid, key=lambda i: (curves[i].area, -curves[i].sigma))
