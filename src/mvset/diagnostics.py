"""What a fit tells its user: progress while it runs, warnings when something limits the result."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mvset.curves import MassVolumeCurve
from mvset.dual import Dual, DualStatus
from mvset.selection import describes_masses

_FEW_HITS = 10  # a volume measured by fewer sample points is uncertain by a third or more


class Progress:
    """Iterate over bandwidths and print a line for each to stderr when `verbose`."""

    def __init__(self, sigmas: Sequence[float], verbose: bool | int) -> None:
        self.sigmas = sigmas
        self.verbose = verbose

    def __iter__(self) -> Iterator[float]:
        began = time.perf_counter()
        for done, sigma in enumerate(self.sigmas, start=1):
            yield sigma
            if self.verbose:
                spent = time.perf_counter() - began
                left = spent / done * (len(self.sigmas) - done)
                print(
                    f"[mvset] sigma {sigma:.4g} done, {done} of {len(self.sigmas)}, {spent:.1f} s, {left:.1f} s left",
                    file=sys.stderr,
                )


@dataclass(frozen=True)
class SolveReport:
    """Summary of the duals of one bandwidth."""

    iterations: int
    training_mass: float
    worst_gap: float
    failures: tuple[DualStatus, ...]

    @classmethod
    def of(cls, duals: Sequence[Dual]) -> SolveReport:
        """Summarise the solves of all splits."""
        return cls(
            iterations=max(1, sum(dual.iterations for dual in duals)),
            training_mass=float(np.mean([dual.training_mass for dual in duals])),
            worst_gap=max(dual.gap for dual in duals),
            failures=tuple(dual.status for dual in duals if dual.status is not DualStatus.CONVERGED),
        )


def warn_if_unconverged(reports: Sequence[SolveReport], tol: float) -> None:
    """One warning for all solves that stopped short."""
    failures = [status for report in reports for status in report.failures]
    if failures:
        worst = max(report.worst_gap for report in reports)
        warnings.warn(
            f"{len(failures)} solve(s) did not converge: KKT gap up to {worst:.2g} with tol={tol:.2g}. "
            f"{failures[0].value}",
            ConvergenceWarning,
            stacklevel=4,
        )


def warn_if_nu_too_small(nu: float, curve: MassVolumeCurve) -> None:
    """The paper's condition on ν fails at the bandwidth chosen.

    The share of outliers grows with ν about in proportion, which gives the value to try.
    """
    if describes_masses(curve) or nu == 1.0:
        return
    training_mass, least_mass = curve.training_mass, float(curve.masses[0])
    outliers, needed = max(1.0 - training_mass, 1e-3), 1.0 - least_mass
    # A tenth more than the proportion says, rounded up to the next 0.05.
    suggested = min(1.0, np.ceil(20 * 1.1 * nu * needed / outliers) / 20)
    warnings.warn(
        f"nu={nu:g} is too small here: the unshifted one-class SVM holds {training_mass:.3f} of its training rows, "
        f"and must hold at most {least_mass:.3f} for its level sets to describe the masses asked for. "
        f"Try nu={suggested:g}.",
        stacklevel=4,
    )


def warn_if_unmeasured(curve: MassVolumeCurve, n_points: int, n_features: int) -> None:
    """Volumes that hardly any point hit."""
    if curve.hits[0] < _FEW_HITS:
        warnings.warn(
            f"Only {curve.hits[0]} of n_volume_points={n_points} points in the box around the {n_features} columns "
            f"fell into the set of mass {curve.masses[0]:.3g} at sigma={curve.sigma:.4g} ({_FEW_HITS} are needed): its "
            "volume, and a bandwidth chosen by volumes, mean little. Raise n_volume_points, use fewer columns, or give "
            "sigma.",
            stacklevel=4,
        )


def warn_if_edge(sigma: float, sigmas: Sequence[float]) -> None:
    """The best of several bandwidths is the first or the last: the true best may lie beyond."""
    if len(sigmas) > 2 and sigma in (sigmas[0], sigmas[-1]):
        side = "smallest" if sigma == sigmas[0] else "largest"
        warnings.warn(
            f"The best bandwidth, sigma={sigma:.4g}, is the {side} of the {len(sigmas)} tried: a better one may lie "
            "beyond. Give sigma as a list that reaches further.",
            stacklevel=4,
        )
