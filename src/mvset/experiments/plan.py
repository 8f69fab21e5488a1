"""Plan and configuration of an experiment: which rows to compute, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Value = str | int | float
Task = dict[str, Value]  # the columns that identify a task: those of the case, and the repetition
Row = dict[str, Value]  # the columns of the task and of the result


@dataclass(frozen=True)
class Plan:
    """Cases and the number of repetitions of each.

    A plan determines which rows exist, never their values, so that a full run can use the rows of a quick one.
    """

    cases: Sequence[Mapping[str, Value]]
    repetitions: int

    def tasks(self) -> list[Task]:
        """All tasks, one repetition of all cases after the other, so that an interrupted run has some of every case.

        The repetition is the seed of everything random in a task.
        """
        return [{**case, "repetition": repetition} for repetition in range(self.repetitions) for case in self.cases]


def _ignore() -> None:
    pass


@dataclass(frozen=True)
class Config:
    """How to run an experiment.

    `out` is the folder for the rows; `on_done` is called whenever the rows of a task have been saved.
    """

    plan: Plan
    out: Path
    n_jobs: int | None = -1
    on_done: Callable[[], None] = _ignore
