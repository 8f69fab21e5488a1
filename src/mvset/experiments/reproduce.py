"""Run experiments one after the other: rows, figures, and the page that holds them against the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvset.experiments.catalogue import EXPERIMENTS
from mvset.experiments.page import write_page
from mvset.experiments.plan import Config, Plan
from mvset.experiments.rows import outstanding
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
    """What is to be done, in the order of the paper."""
    jobs = []
    for name, experiment in EXPERIMENTS.items():
        if name in names:
            plan = experiment.QUICK if quick else experiment.FULL
            jobs.append(Job(name, plan, len(plan.tasks()), len(outstanding(name, plan, out))))
    return jobs


def reproduce(job: Job, out: Path, *, n_jobs: int | None, on_done: Callable[[], None]) -> list[Path]:
    """Compute what is left of a job, draw it and bring the page up to date; give the files written."""
    experiment = EXPERIMENTS[job.name]
    rows = experiment.run(Config(job.plan, out, n_jobs, on_done))
    written = [out / f"{job.name}.csv", *save(experiment.plot(rows), out / job.name)]
    write_page(out)
    return written
