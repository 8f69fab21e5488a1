"""``mvset reproduce``: runs the paper's experiments."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mvset.app.cli import options
from mvset.app.cli.failures import exit_on_error, require_package
from mvset.app.cli.output import progress_bar
from mvset.wording import counted


def reproduce_command(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Experiments to run.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few repetitions: two minutes instead of forty-five.")
    ] = False,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the rows, the figures and README.md.")] = Path(
        "results"
    ),
    jobs: options.Jobs = -1,
) -> None:
    """Run the paper's experiments; without a name, list them.

    Each experiment writes its rows as CSV and its figure as SVG and PNG. README.md in the same folder compares the
    results with the paper. Rows that exist already are not computed again: an interrupted run continues where it
    stopped.

    For example:

    - `mvset reproduce`

    - `mvset reproduce moons boston`

    - `mvset reproduce --all --quick --out quick-results`
    """
    with exit_on_error(on_interrupt="Nothing was computed."):
        # slow to import, and not needed for --help
        from mvset.paper.experiments.reproduce import EXPERIMENTS, plan_jobs, reproduce
        from mvset.paper.experiments.rows import UnusableRowsError

    unknown = [name for name in names or [] if name not in EXPERIMENTS]
    if unknown:
        missing = ", ".join(map(repr, unknown))
        raise typer.BadParameter(f"unknown experiment: {missing}. Available: {', '.join(EXPERIMENTS)}.")
    if not names and not everything:
        for name, experiment in EXPERIMENTS.items():
            typer.echo(f"{name:<10} {experiment.figures:<24} {experiment.paragraphs[0]}")
        typer.echo(
            "\nRun some with `mvset reproduce NAME…`, all with `mvset reproduce --all`; --quick uses few repetitions."
        )
        return
    require_package("matplotlib", "plot", "The experiments draw figures")
    with exit_on_error(
        UnusableRowsError, on_interrupt=f"Finished rows are in {out}; the same command continues from there."
    ):
        planned = plan_jobs(list(EXPERIMENTS) if everything else names or [], out, quick=quick)
        seconds = {name: experiment.seconds for name, experiment in EXPERIMENTS.items()}
        written: list[Path] = []
        with progress_bar(sum(job.n_left * seconds[job.name] for job in planned)) as bar:
            for job in planned:
                began, n_tasks = time.perf_counter(), len(job.plan.tasks())
                bar.describe(job.name)
                known = f"; {n_tasks - job.n_left} computed already" if job.n_left < n_tasks else ""
                bar.note(f"{job.name}: {job.n_left} of {counted(n_tasks, 'task')} to compute{known}")
                written += reproduce(job, out, n_jobs=jobs, on_done=partial(bar.advance, seconds[job.name]))
                bar.note(f"{job.name}: {time.perf_counter() - began:.0f} s")
        for path in [*written, out / "README.md"]:
            typer.echo(path)
