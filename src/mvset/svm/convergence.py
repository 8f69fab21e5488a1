"""Summary of the solves of one bandwidth, and the warning when some did not converge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mvset.exceptions import warn
from mvset.svm.dual import Dual, DualStatus
from mvset.wording import counted


@dataclass(frozen=True)
class SolveReport:
    """Summary of the duals of one bandwidth."""

    iterations: int
    training_mass: float
    worst_gap: float
    failures: tuple[DualStatus, ...]

    @classmethod
    def of(cls, duals: Sequence[Dual]) -> Self:
        """Summarise the solves of all splits."""
        return cls(
            iterations=max(1, sum(dual.iterations for dual in duals)),  # scikit-learn demands one at least
            training_mass=float(np.mean([dual.training_mass for dual in duals])),
            worst_gap=max(dual.gap for dual in duals),
            failures=tuple(dual.status for dual in duals if dual.status is not DualStatus.CONVERGED),
        )


def warn_if_unconverged(reports: Sequence[SolveReport], tol: float, *, settable: bool = False) -> None:
    """Give one warning for all solves that stopped short; if its parameters are `settable`, with advice on them."""
    failures = [status for report in reports for status in report.failures]
    if failures:
        worst = max(report.worst_gap for report in reports)
        advice = failures[0].value if settable else "Sets may be larger than necessary, but their masses are right."
        solves = counted(len(failures), "solve")
        warn(f"{solves} did not converge: KKT gap up to {worst:.2g}, above {tol:.2g}. {advice}", ConvergenceWarning)
