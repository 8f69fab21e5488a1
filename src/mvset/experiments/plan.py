"""Which rows an experiment shall have, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Value = str | int | float
Task = dict[str, Value]  # the columns that say what is computed: those of a case, and the repetition
Row = dict[str, Value]  # a task's columns, and a result


@dataclass(frozen=True)
class Plan:
    """Cases and the number of repetitions of each.

    A plan says which rows are wanted and never what is in them, so that the rows of a quick run serve a full one.
    """

    cases: Sequence[Mapping[str, Value]]
    repetitions: int

    def tasks(self) -> list[Task]:
        """All tasks, repetition by repetition: a run cut short has some of every case, and its pace tells what is left.

        The repetition is the seed of everything random in a task.
        """
        return [{**case, "repetition": repetition} for repetition in range(self.repetitions) for case in self.cases]


def _ignore() -> None:
    pass


@dataclass(frozen=True)
class Config:
    """How to run an experiment.

    `out` is the folder of its rows; `on_done` is called whenever the rows of one more task lie there.
    """

    plan: Plan
    out: Path
    n_jobs: int | None = -1
    on_done: Callable[[], None] = _ignore
