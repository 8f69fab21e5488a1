"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mvset.experiments import boston, dimension, moons, nested, nu, outliers, samples, sigma
from mvset.experiments.plan import Config, Plan, Row
from mvset.experiments.summary import Finding


class Experiment(Protocol):
    """What each file of an experiment offers; some have ``numbers(rows)``, a table with its header first, too."""

    TITLE: str
    FIGURES: str  # of the paper
    PAPER: str  # what it reports
    REMARK: str  # what differs, and why
    FULL: Plan
    QUICK: Plan
    SECONDS: float  # a task takes on average on one core, roughly: for the time left

    def run(self, config: Config) -> list[Row]:
        """Compute the rows that are missing; give all."""

    def plot(self, rows: Sequence[Row]) -> Any:
        """Draw them."""

    def findings(self, rows: Sequence[Row]) -> list[Finding]:
        """What they say beside what the paper says."""


EXPERIMENTS: dict[str, Experiment] = {
    "nu": nu,
    "sigma": sigma,
    "samples": samples,
    "outliers": outliers,
    "dimension": dimension,
    "moons": moons,
    "boston": boston,
    "nested": nested,
}
