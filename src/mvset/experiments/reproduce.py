"""Run experiments: compute rows, draw figures, and write the page that compares them with the paper."""

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
    """One experiment to run, with the number of tasks left."""

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
        """Rough time of the tasks left, on one core."""
        return self.n_left * self.task_seconds


def plan_jobs(names: Sequence[str], out: Path, *, quick: bool) -> list[Job]:
    """Create the folder, check that it can be used, and return the jobs in the order of the paper."""
    out.mkdir(parents=True, exist_ok=True)
    check_page(out)
    jobs = []
    for name, experiment in EXPERIMENTS.items():
        if name in names:
            plan = experiment.QUICK if quick else experiment.FULL
            jobs.append(Job(name, plan, len(plan.tasks()), len(RowFile(out / f"{name}.csv").missing(plan))))
    return jobs


def reproduce(job: Job, out: Path, *, n_jobs: int | None, on_done: Callable[[], None]) -> list[Path]:
    """Compute the missing rows of a job, draw its figure and update the page; return the files written.

    If all rows of the full plan exist, the figure shows these, even in a quick run.
    """
    experiment = EXPERIMENTS[job.name]
    experiment.run(Config(job.plan, out, n_jobs, on_done))
    file = RowFile(out / f"{job.name}.csv")
    rows = file.rows(largest_plan(experiment, file) or job.plan)
    written = [out / f"{job.name}.csv", *save(experiment.plot(rows), out / job.name)]
    write_page(out)
    return written
