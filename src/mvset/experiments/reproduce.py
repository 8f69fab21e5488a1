"""Run experiments one after the other: rows, figures, and the page that holds them against the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvset.experiments.catalogue import EXPERIMENTS
from mvset.experiments.page import check_page, largest_plan, write_page
from mvset.experiments.plan import Config, Plan
from mvset.experiments.rows import RowFile
from mvset.experiments.style import save


@dataclass(frozen=True)
class Job:
    """One experiment to run, and how much of it is left."""

    name: str
    plan: Plan
    n_tasks: int
    n_left: int

    @property
    def task_seconds(self) -> float:
        """Rough time of one task on one core."""
        return EXPERIMENTS[self.name].SECONDS

    @property
    def seconds_left(self) -> float:
        """Rough time of all that is left, on one core."""
        return self.n_left * self.task_seconds


def plan_jobs(names: Sequence[str], out: Path, *, quick: bool) -> list[Job]:
    """What is to be done, in the order of the paper; makes the folder, and checks that all can be written there."""
    out.mkdir(parents=True, exist_ok=True)
    check_page(out)
    jobs = []
    for name, experiment in EXPERIMENTS.items():
        if name in names:
            plan = experiment.QUICK if quick else experiment.FULL
            jobs.append(Job(name, plan, len(plan.tasks()), len(RowFile(out / f"{name}.csv").missing(plan))))
    return jobs


def reproduce(job: Job, out: Path, *, n_jobs: int | None, on_done: Callable[[], None]) -> list[Path]:
    """Compute what is left of a job, draw it and bring the page up to date; give the files written.

    What is drawn are the rows of the full plan where all are there, even if a quick run was asked for.
    """
    experiment = EXPERIMENTS[job.name]
    experiment.run(Config(job.plan, out, n_jobs, on_done))
    file = RowFile(out / f"{job.name}.csv")
    rows = file.rows(largest_plan(experiment, file) or job.plan)
    written = [out / f"{job.name}.csv", *save(experiment.plot(rows), out / job.name)]
    write_page(out)
    return written
