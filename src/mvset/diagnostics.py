"""What a fit tells its user: progress while it runs, warnings when something limits the result."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mvset.bandwidth.choice import describes_masses
from mvset.bandwidth.curves import BandwidthCurve
from mvset.bandwidth.ranking import Selection
from mvset.svm.dual import Dual, DualStatus
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import SUFFICIENT

_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def watched(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Let `listener` hear how many bandwidths of how many are done, of every fit inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """Iterate over bandwidths, tell who listens, and print a line for each to stderr when `verbose`."""

    def __init__(self, sigmas: Sequence[float], verbose: bool | int) -> None:
        self.sigmas = sigmas
        self.verbose = verbose

    def __iter__(self) -> Iterator[float]:
        began = time.perf_counter()
        listener = _listener.get()
        for done, sigma in enumerate(self.sigmas):
            if listener is not None:
                listener(done, len(self.sigmas))
            if self.verbose:
                spent = time.perf_counter() - began
                left = f", about {spent / done * (len(self.sigmas) - done):.1f} s left" if done else ""
                count = f"{done + 1} of {len(self.sigmas)}"
                print(f"[mvset] sigma {sigma:.4g}, {count}, {spent:.1f} s so far{left}", file=sys.stderr)
            yield sigma


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
            iterations=max(1, sum(dual.iterations for dual in duals)),  # scikit-learn demands one at least
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


def warn_if_unresolved(mass: float, n_held_out: int, test_size: float) -> None:
    """Too few held-out rows to tell the mass asked for from the next one: the offset is then their least score."""
    if mass <= 1.0 - 1.0 / n_held_out:
        return
    needed = int(np.ceil(1.0 / (1.0 - mass) - 1e-9))
    warnings.warn(
        f"{n_held_out} held-out rows cannot resolve mass={mass:g}: the set will hold less of new rows. At least "
        f"{needed} are needed, i.e. {int(np.ceil(needed / test_size - 1e-9))} rows with test_size={test_size:g}. Give "
        "more rows, or raise test_size.",
        stacklevel=4,
    )


def warn_if_uncertain(effective_sample_size: float, probe: VolumeSample, largest: str, option: str, stacklevel: int) -> None:
    """Say when too few effective points reached the largest set for its volume to mean much."""
    if effective_sample_size < SUFFICIENT:
        message = _uncertain(effective_sample_size, len(probe.points), probe.method, largest)
        warnings.warn(message + _more_points(option, probe.method), stacklevel=stacklevel)


def _uncertain(effective_sample_size: float, n_points: int, method: str, largest: str) -> str:
    return (
        f"The volumes are uncertain: of {n_points} sample points ({method}) those in {largest} are worth "
        f"{effective_sample_size:.0f} equally weighted ones; {SUFFICIENT} are needed. "
    )


def _more_points(option: str, method: str) -> str:
    return f"Raise {option}" + (" or try 'auto'." if method == "box" else ".")


def warn_about_bandwidth(nu: float, curves: Sequence[BandwidthCurve], best: int, selection: Selection) -> None:
    """Say the one thing that most limits the choice of the bandwidth."""
    curve = curves[best]
    advice = (
        _all_inside(curve, selection)
        or _nu_too_small(nu, curve)
        or _too_few_points(curve, selection)
        or _on_the_edge(curve.sigma, [other.sigma for other in curves])
    )
    if advice:
        warnings.warn(advice, stacklevel=4)


def _all_inside(curve: BandwidthCurve, selection: Selection) -> str:
    if curve.offsets[0] > 0 and curve.hits[0] < selection.n_points:
        return ""
    return (
        f"sigma={curve.sigma:.4g} cannot describe these rows: every point of the box around them lies in the set of "
        f"mass {curve.masses[0]:.3g}. It is too narrow, or too wide."
    )


def _nu_too_small(nu: float, curve: BandwidthCurve) -> str:
    """The paper's condition on ν fails. The share of outliers grows with ν about in proportion."""
    if describes_masses(curve.training_mass, curve.masses):
        return ""
    outliers, needed = 1.0 - curve.training_mass, 1.0 - float(curve.masses[0])
    proportion = min(5.0, nu / outliers) if outliers > 0 else 2.0
    # A tenth more than the proportion says, rounded up to the next 0.05.
    suggested = min(1.0, max(np.ceil(20 * 1.1 * needed * proportion) / 20, np.ceil(20 * 1.25 * nu) / 20))
    return (
        f"nu={nu:g} is too small here: the unshifted one-class SVM holds {curve.training_mass:.3f} of its training "
        f"rows, and must hold at most {curve.masses[0]:.3f} for its level sets to describe the masses asked for. "
        f"Try nu={suggested:g} or more, or a wider sigma."
    )


def _too_few_points(curve: BandwidthCurve, selection: Selection) -> str:
    size = float(curve.effective_sample_sizes[-1])
    advice = _more_points("n_volume_points", selection.volume_method)
    if selection.criterion == "middle":
        return f"The bandwidth, sigma={curve.sigma:.4g}, is a guess. {selection.reason} {advice}"
    if size >= SUFFICIENT:
        return ""
    largest = f"the set of mass {curve.masses[-1]:.3g} at sigma={curve.sigma:.4g}"
    reason = selection.reason + " " if selection.criterion == "feature subsets" else ""
    return _uncertain(size, selection.n_points, selection.volume_method, largest) + reason + advice


def warn_if_on_edge(sigma: float, sigmas: Sequence[float], stacklevel: int) -> None:
    """Say when the bandwidth chosen is the first or the last of those tried."""
    advice = _on_the_edge(sigma, sigmas)
    if advice:
        warnings.warn(advice, stacklevel=stacklevel)


def _on_the_edge(sigma: float, sigmas: Sequence[float]) -> str:
    if len(sigmas) < 3 or sigma not in (sigmas[0], sigmas[-1]):
        return ""
    side = "smallest" if sigma == sigmas[0] else "largest"
    return (
        f"The best bandwidth, sigma={sigma:.4g}, is the {side} of the {len(sigmas)} tried: a better one may lie "
        "beyond. Give sigma as a list that reaches further."
    )
