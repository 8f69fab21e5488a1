"""Summaries of rows: means with confidence intervals, and comparisons with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from mvset.experiments.plan import Row, Value


@dataclass(frozen=True)
class Interval:
    """A mean over repetitions with its 95 % confidence interval, unbounded for a single repetition."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.mean - self.low:.3f}" if self.n > 1 else f"{self.mean:.3f}"

    def below(self, other: Interval) -> bool:
        """Whether this interval ends before the other begins."""
        return self.high < other.low


def interval(values: NDArray[np.float64]) -> Interval:
    """Mean with its 95 % confidence interval, by Student's t distribution."""
    mean, n = float(np.mean(values)), len(values)
    half = stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return Interval(mean, float(mean - half), float(mean + half), n)


def where(rows: Sequence[Row], **conditions: Value) -> list[Row]:
    """The rows that meet all conditions."""
    return [row for row in rows if all(row[name] == value for name, value in conditions.items())]


def column(rows: Sequence[Row], name: str, **conditions: Value) -> NDArray[np.float64]:
    """One column of the rows that meet all conditions."""
    return np.array([row[name] for row in where(rows, **conditions)], dtype=np.float64)


def distinct(rows: Sequence[Row], name: str) -> list[float]:
    """The values of a numeric column, ascending."""
    return sorted({float(row[name]) for row in rows})


@dataclass(frozen=True)
class Finding:
    """A statement of the paper and our result; `holds` is None if there is nothing to compare with."""

    what: str
    paper: str
    ours: str
    holds: bool | None = None


def everywhere(what: str, symbol: str, holds: Mapping[float, bool], paper: str = "yes") -> Finding:
    """Finding about a statement that should hold in every case: lists the cases in which it does."""
    held = [f"{case:g}" for case, each in holds.items() if each]
    if not holds:
        return Finding(what, paper, "not run")
    if len(held) == len(holds):
        return Finding(what, paper, f"at every {symbol}", True if paper else None)
    listed = f"at {symbol} = {', '.join(held)}" if held else f"at no {symbol}"
    return Finding(what, paper, listed, False if paper else None)
