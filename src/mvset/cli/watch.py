"""``mvset score --watch``: judges files as they arrive in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mvset.cli.failures import DRIFTED, require_package
from mvset.cli.interrupts import Interrupts
from mvset.cli.options import load_fitted
from mvset.cli.output import print_json_line

if TYPE_CHECKING:
    from mvset.watch.state import JudgedFile

_PANEL = "Watching a folder"
_SETTLE = 2.0
STATE = "watch.sqlite"

Watch = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Judge the tables of this folder as they arrive, each once, and give an alarm when they drift.",
        rich_help_panel=_PANEL,
    ),
]
OutDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help=f"Folder for the results, a file for each table, and for {STATE}, which remembers what was judged.",
        rich_help_panel=_PANEL,
    ),
]
OutFormat = Annotated[
    Literal["csv", "parquet", "feather", "ndjson"] | None,
    typer.Option(help="Format of the results; csv by default.", rich_help_panel=_PANEL),
]
Once = Annotated[
    bool,
    typer.Option("--once", help="Judge the tables that are there and exit, e.g. for cron.", rich_help_panel=_PANEL),
]
Settle = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        help=f"A table is complete when it has not changed for so long; {_SETTLE:g} by default.",
        rich_help_panel=_PANEL,
    ),
]
OnAlarm = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command to run at an alarm, without a shell. It has the facts in its environment (MVSET_FILE, "
        "MVSET_SHARE_OUTSIDE, …) and as JSON on its standard input.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class WatchOptions:
    """The options of a watch, checked."""

    folder: Path
    out_dir: Path
    ending: str
    once: bool
    settle: float
    on_alarm: str | None

    @property
    def state(self) -> Path:
        """The file that remembers what was judged."""
        return self.out_dir / STATE

    @property
    def on_interrupt(self) -> str:
        """What is said after Ctrl-C."""
        return f"{self.state} remembers the tables that were judged; the same command goes on from there."


def check_watch(
    watch: Path | None,
    tables: Sequence[str] | None,
    out: Path | None,
    out_dir: Path | None,
    out_format: str | None,
    once: bool,
    settle: float | None,
    on_alarm: str | None,
    engine: str | None,
) -> WatchOptions | None:
    """The options of a watch; None without one, or an error if options do not go together."""
    if watch is None:
        given = {"--out-dir": out_dir, "--out-format": out_format, "--once": once, "--settle": settle}
        for name, value in {**given, "--on-alarm": on_alarm}.items():
            if value not in (None, False):
                raise typer.BadParameter(f"{name} is for a folder that is watched: name it with --watch.")
        if not tables:
            raise typer.BadParameter("Name a table to score, or a folder to watch with --watch.")
        return None
    if tables:
        raise typer.BadParameter("--watch scores the tables of its folder: leave out the other tables.")
    if out is not None or out_dir is None:
        raise typer.BadParameter("--watch writes a file for each table: name a folder for them with --out-dir.")
    if engine is not None:
        raise typer.BadParameter("--watch judges files on this machine: leave out --engine.")
    if not watch.is_dir():
        raise typer.BadParameter(f"--watch: there is no folder {watch}.")
    watched, written = watch.resolve(), out_dir.resolve()
    if watched.is_relative_to(written) or written.is_relative_to(watched):
        raise typer.BadParameter("--out-dir and --watch must be apart: results would be judged as tables.")
    settle = _SETTLE if settle is None else settle
    return WatchOptions(watch, out_dir, f".{out_format or 'csv'}", once, settle, on_alarm)


def fingerprinted(model: Path, jobs: int) -> tuple[Any, str]:
    """A model, and the fingerprint of its file, which must be the same before and after: it may be replaced."""
    before = hashlib.sha256(model.read_bytes()).hexdigest()
    fitted = load_fitted(model, jobs)
    if hashlib.sha256(model.read_bytes()).hexdigest() != before:
        raise ValueError(f"{model} changed while it was read: start again.")
    return fitted, before


def watch_folder(
    options: WatchOptions,
    fingerprint: str,
    fitted: Any,
    mass: float | None,
    open_table: Callable[[list[str]], Any],
    only_outside: bool,
    fail_on_drift: bool,
    as_json: bool,
    interrupts: Interrupts,
) -> None:
    """Judge the tables of a folder, and print a line for each; `fingerprint` is that of the model file."""
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    from mvset.watch.alarm_command import AlarmCommand
    from mvset.watch.arrivals import Arrivals
    from mvset.watch.state import JudgedFile, WatchState
    from mvset.watch.watcher import OutputOptions, Watcher

    command = None if options.on_alarm is None else AlarmCommand(options.on_alarm)
    mass = mass or fitted.sets.mass
    options.out_dir.mkdir(parents=True, exist_ok=True)
    n_alarms = 0
    with WatchState(options.state, f"{fingerprint} {mass!r}") as state:
        if state.model_changed:
            _note("the model or --mass has changed: the drift monitor starts anew. No file is judged again.")
        elif state.drift is None and not fitted.sets.guarantee.reserves_rows:
            _note(
                "the model has no rows reserved for calibration, so the drift monitor compares with the first files it "
                "sees. To compare with the rows of the fit: mvset fit --calibration conformal."
            )
        output = OutputOptions(options.out_dir, options.ending, only_outside)
        arrivals = Arrivals(options.folder, options.settle)
        watcher = Watcher(fitted, mass, open_table, state, arrivals, output, command, lambda: interrupts.seen)
        for event in watcher.run(once=options.once):
            if not isinstance(event, JudgedFile):
                typer.echo(event.text, err=True)
                continue
            n_alarms += event.alarm
            if as_json:
                print_json_line(asdict(event))
            else:
                typer.echo(f"{event.name}: {event.verdict}")
            _say_change(event)
    if fail_on_drift and n_alarms:
        raise typer.Exit(DRIFTED)


def _say_change(event: JudgedFile) -> None:
    """Say when the rows begin to drift, and when they are back to normal."""
    if event.alarm:
        typer.echo(f"Alarm: the rows drift, as seen in {event.name}. No other alarm until they are normal.", err=True)
    if event.back_to_normal:
        typer.echo(f"The rows are back to normal, as seen in {event.name}.", err=True)


def _note(text: str) -> None:
    typer.echo(f"Note: {text}", err=True)
