"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mvset.experiments import boston, dimension, moons, nested, nu, outliers, samples, sigma
from mvset.experiments.plan import Config, Plan, Row
from mvset.experiments.summary import Finding


class Experiment(Protocol):
    """The interface of an experiment module; some also have ``numbers(rows)``, a table that begins with its header."""

    TITLE: str
    FIGURES: str  # numbers of the figures in the paper
    OFFSETS: str  # rule that sets the offsets
    BANDWIDTH: str  # rule that chooses the bandwidth
    PAPER: str  # what the paper reports
    REMARK: str  # differences to the paper, and their reasons
    FULL: Plan
    QUICK: Plan
    SECONDS: float  # rough time of one task on one core, for the estimate of the time left

    def run(self, config: Config) -> list[Row]:
        """Compute the missing rows; return all rows."""

    def plot(self, rows: Sequence[Row]) -> Any:
        """Draw the figure."""

    def findings(self, rows: Sequence[Row]) -> list[Finding]:
        """Compare the rows with the statements of the paper."""


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
