"""Rows of results and their summaries: means with confidence intervals, and statements about every case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from mvset.values import Array

Value = str | int | float
Row = dict[str, Value]  # of a task, its case and repetition; of a result, also what was computed
Rows = Sequence[Row]


@dataclass(frozen=True)
class Finding:
    """A statement of the paper and our result; `holds` is None if there is nothing to compare with."""

    what: str
    paper: str
    ours: str
    holds: bool | None = None


@dataclass(frozen=True)
class Interval:
    """A mean over repetitions with its 95 % confidence interval, unbounded for a single repetition."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.mean - self.low:.3f}" if self.n > 1 else f"{self.mean:.3f}"

    def below(self, other: "Interval") -> bool:
        """Return whether this interval ends before the other begins."""
        return self.high < other.low


def interval(values: Array) -> Interval:
    """Return the mean with its 95 % confidence interval, by Student's t distribution."""
    mean, n = float(np.mean(values)), len(values)
    half = stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return Interval(mean, float(mean - half), float(mean + half), n)


def where(rows: Rows, **conditions: Value) -> list[Row]:
    """Return the rows that meet all conditions."""
    return [row for row in rows if all(row[name] == value for name, value in conditions.items())]


def column(rows: Rows, name: str, **conditions: Value) -> Array:
    """Return one column of the rows that meet all conditions."""
    return np.array([row[name] for row in where(rows, **conditions)], dtype=np.float64)


def distinct(rows: Rows, name: str) -> list[float]:
    """Return the values of a numeric column, ascending."""
    return sorted({float(row[name]) for row in rows})


def means(rows: Rows, by: str, name: str = "difference", **conditions: Value) -> list[Interval]:
    """Return the mean of a column for every value of the column `by`."""
    return [interval(column(rows, name, **{by: value}, **conditions)) for value in distinct(rows, by)]


def table_of(rows: Rows, by: str, names: Mapping[str, str]) -> list[list[str]]:
    """Return a table of the mean distances of some methods for every value of the column `by`, with its header."""
    columns = [[by, *(f"{value:g}" for value in distinct(rows, by))]]
    columns += [[name, *map(str, means(rows, by, method=method))] for method, name in names.items()]
    return [list(line) for line in zip(*columns, strict=True)]


def everywhere(what: str, symbol: str, holds: Mapping[float, bool], paper: str = "yes") -> Finding:
    """Return the finding about a statement that should hold in every case; it lists the cases in which it does."""
    held = [f"{case:g}" for case, each in holds.items() if each]
    if not holds:
        return Finding(what, paper, "not run")
    everyone = len(held) == len(holds)
    listed = f"at every {symbol}" if everyone else f"at {symbol} = {', '.join(held)}" if held else f"at no {symbol}"
    return Finding(what, paper, listed, everyone if paper else None)
