"""``mvset reproduce``: the paper's experiments."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mvset.cli.failures import explained, need
from mvset.cli.progress import progress_bar


def reproduce_command(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Experiments to run.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions: two minutes instead of forty-five.")] = False,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for rows, figures and the page about them.")
    ] = Path("results"),
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores. The rows do not depend on it.")] = -1,
) -> None:
    """Run the paper's experiments; without a name, list them.

    Writes to the folder, for each experiment, its rows as CSV and its figure as SVG and PNG, and README.md, which sets
    the paper's numbers beside ours. Rows already there are not computed again: a run that was stopped, by Ctrl-C or
    otherwise, goes on where it was.

    For example:

    - `mvset reproduce`

    - `mvset reproduce moons boston`

    - `mvset reproduce --all --quick --out quick-results`
    """
    from mvset.experiments.catalogue import EXPERIMENTS  # late: it takes a second, and --help does not need it
    from mvset.experiments.reproduce import plan_jobs, reproduce
    from mvset.experiments.rows import UnusableRowsError

    unknown = [name for name in names or [] if name not in EXPERIMENTS]
    if unknown:
        missing = ", ".join(map(repr, unknown))
        raise typer.BadParameter(f"no experiment is called {missing}. There are: {', '.join(EXPERIMENTS)}.")
    if jobs == 0:
        raise typer.BadParameter("--jobs must be a number of processes, or -1 for all cores; got 0.")
    if not names and not everything:
        for name, experiment in EXPERIMENTS.items():
            typer.echo(f"{name:<10} {experiment.FIGURES:<24} {experiment.TITLE}")
        typer.echo(
            "\nRun some with `mvset reproduce NAME…`, all with `mvset reproduce --all`; --quick for a first look."
        )
        return
    need("matplotlib", "plot", "The experiments draw figures")
    with explained(UnusableRowsError, when_stopped=f"What is done lies in {out}; the same command goes on from there."):
        planned = plan_jobs(list(EXPERIMENTS) if everything else names or [], out, quick=quick)
        written: list[Path] = []
        with progress_bar(sum(job.seconds_left for job in planned)) as bar:
            for job in planned:
                began = time.perf_counter()
                bar.describe(job.name)
                known = f"; {job.n_tasks - job.n_left} were there" if job.n_left < job.n_tasks else ""
                bar.note(f"{job.name}: {job.n_left} of {job.n_tasks} tasks to compute{known}")
                written += reproduce(job, out, n_jobs=jobs, on_done=partial(bar.advance, job.task_seconds))
                bar.note(f"{job.name}: {time.perf_counter() - began:.0f} s")
        for path in [*written, out / "README.md"]:
            typer.echo(path)
