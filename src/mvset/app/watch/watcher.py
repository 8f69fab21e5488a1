"""Score the files of a folder as they arrive, each exactly once."""

import glob
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from mvset.app.summaries.scan import TableScan
from mvset.app.tables.opening import Version
from mvset.app.tables.reading import TableReader
from mvset.app.tables.scoring import score_table
from mvset.app.tables.sources import is_table
from mvset.app.tables.spooling import DISK_ERRORS, remove_spooled
from mvset.app.watch.alarms import AlarmCommand, DriftAlarm
from mvset.app.watch.state import ScoredFile, WatchState
from mvset.estimators.fitted_model import FittedModel
from mvset.wording import message_of

_PAUSE = (0.05, 1.0)  # seconds between two looks at the folder, at least and at most
# For the command of an alarm.
_FACTS = ("rows", "n_outside", "share_outside", "expected_share", "status", "verdict", "results")


@dataclass
class Arrivals:
    """Looks for tables in a folder and its subfolders.

    A file counts as complete once size and time of modification have not changed for `settle` seconds, by our own
    clock, because the clocks of the writer and of the file system may differ.
    """

    folder: Path
    settle: float
    _seen: dict[str, tuple[Version, float]] = field(default_factory=dict)  # since when a file has been as it is

    def look(self, known: Mapping[str, Version]) -> tuple[list[str], bool]:
        """Complete files that are not known as they are, oldest first; and whether others are still arriving."""
        now, found, seen = time.monotonic(), [], {}
        for name, version in self._tables():
            if known.get(name) == version:
                continue
            before, since = self._seen.get(name, (None, now))
            if before != version:
                since = now
            seen[name] = version, since
            if now - since >= self.settle:
                found.append((version.mtime_ns, name))
        self._seen = seen
        return [name for _, name in sorted(found)], len(found) < len(seen)

    def _tables(self) -> list[tuple[str, Version]]:
        found = []
        for parent, folders, names in os.walk(self.folder):
            folders[:] = [each for each in folders if not each.startswith((".", "_"))]
            for name in names:
                path = Path(parent, name)
                if is_table(name) and not name.startswith("~") and path.is_file() and (version := Version.of(path)):
                    found.append((path.relative_to(self.folder).as_posix(), version))
        return found


@dataclass
class Watcher:
    """Scores one file after the other, and stores each before it goes on.

    For each file: its results are written and renamed; then one transaction stores the file, the drift monitor and the
    alarm, if any; then the command of the alarm is run. A process that is killed before the transaction scores the file
    again, with the same results. One that is killed after it runs the command again, if that had not ended.
    """

    model: FittedModel
    mass: float
    open_table: Callable[[list[str]], TableReader]
    state: WatchState
    arrivals: Arrivals
    out_dir: Path
    ending: str  # of the files of results
    only_outside: bool
    command: AlarmCommand | None
    stopping: Callable[[], bool]  # whether a signal has come, which a library may have made an error of the table

    def __post_init__(self) -> None:
        self._grouped = self.model.sets.strata is not None
        self._drift = DriftAlarm(self.model.sets, self.mass, grouped=self._grouped)
        if self.state.drift is not None:
            self._drift.restore(self.state.drift)

    def run(self, *, once: bool) -> Iterator[ScoredFile | str]:
        """Score files for ever, or `once` those that are there; yield files, and sentences about others."""
        yield from self._run_commands()
        first = True
        while True:
            began = time.monotonic()
            complete, arriving = self.arrivals.look(self.state.known)
            for name in complete:
                yield from self._visit(name)
            if once and not (first and arriving):
                return
            first, settle, took = False, self.arrivals.settle, time.monotonic() - began
            time.sleep(settle if once else max(took, np.clip(settle / 2, *_PAUSE)))

    def _visit(self, name: str) -> Iterator[ScoredFile | str]:
        path = self.arrivals.folder / name
        version = Version.of(path)
        if version is None:
            return
        if name.encode(errors="ignore").decode() != name:  # it is in another encoding, and cannot be stored
            self.state.known[name] = version  # in memory only
            yield f"{path} is not scored: its name is not valid text. Rename it."
            return
        if name in self.state.scored:
            problem = (
                f"{path} has changed since it was scored. It is not scored again, because its rows would count twice. "
                "Write new rows to a new file."
            )
            self.state.add_problem(name, version, problem)
            yield problem
            return
        results = self.out_dir / f"{name}.{self.ending}"
        try:
            survey, reader = self._score(path, results)
        except _Unreadable as error:
            if self.stopping():
                raise
            if Version.of(path) == version:
                self.state.add_problem(name, version, str(error))
                yield error.args[0]
            return
        finally:
            remove_spooled()
        if Version.of(path) == version:  # otherwise it was not complete, and is scored once it is
            yield from (f"Note: {name}: {note}" for note in reader.time_notes())
            yield self._stored(name, version, survey, reader, results)
            yield from self._run_commands()

    def _stored(self, name: str, version: Version, survey: TableScan, reader: TableReader, results: Path) -> ScoredFile:
        """Store a file that was scored, and what follows from it."""
        found, was_drifting = survey.result().findings, self._drift.drifting
        report = found.drift
        self._drift.add(np.concatenate(survey.scores or []), survey.part.drift, report)
        drifting = self._drift.drifting
        scored = ScoredFile(
            name=name,
            rows=reader.n_rows,
            rows_dropped=reader.n_dropped,
            **{name: getattr(report, name) for name in ("n_outside", "share_outside", "expected_share", "drifted")},
            status=found.status,
            verdict=str(found),
            events=json.dumps([asdict(event) for event in found.events]),
            evidence=self._drift.evidence,
            alarm=drifting and not was_drifting,
            drifting=drifting,
            back_to_normal=was_drifting and not drifting,
            results=str(results),
        )
        self.state.add_scored(scored, version, self._drift.to_json())
        return scored

    def _score(self, path: Path, results: Path) -> tuple[TableScan, TableReader]:
        """Score a table and write its results."""
        try:
            with path.open("rb") as file:  # an error of the table, and not of the folder for the results
                file.read(1)
        except OSError as error:
            raise _Unreadable(f"{path}: {error.strerror or error}.") from None
        results.parent.mkdir(parents=True, exist_ok=True)
        for left in results.parent.glob(f".{glob.escape(results.name)}.*.partial"):  # by a process that was killed
            left.unlink(missing_ok=True)
        survey = TableScan(self.model, self.mass, n_unusual=0, grouped=self._grouped, keep_scores=True)
        try:
            reader = self.open_table([str(path)])
            score_table(reader, survey, out=results, only_outside=self.only_outside)
        except OSError as error:
            named = Path(str(error.filename))
            if error.errno in DISK_ERRORS or named == results:  # not the fault of the table
                raise
            raise _Unreadable(f"{path} cannot be read: {error.strerror or error}.") from None
        except MemoryError:
            raise _Unreadable(f"{path} cannot be read: there is not enough memory.") from None
        except ValueError as error:
            raise _Unreadable(message_of(error)) from None
        except Exception as error:  # a table must not stop the watch, for ever if it is restarted
            raise _Unreadable(f"{path} cannot be read. This is a bug in mvset: {error!r}.") from error
        _flush(results)
        return survey, reader

    def _run_commands(self) -> Iterator[str]:
        """Run the command for each alarm that it has not been run for; a failure is not fatal."""
        for number, scored in self.state.pending_alarms():
            path = self.arrivals.folder / scored.name
            facts = {"alarm": number, "file": str(path)}
            facts |= {name.removeprefix("n_"): getattr(scored, name) for name in _FACTS}
            facts["events"] = json.loads(scored.events)
            wrong = "" if self.command is None else self.command.run(facts)
            self.state.set_command(scored, wrong or ("none" if self.command is None else "done"))
            if wrong:
                yield f"The command of --on-alarm for {path} {wrong}."


class _Unreadable(ValueError):
    """A table cannot be scored."""


def _flush(path: Path) -> None:
    """Write a file to the disk, before the state says that it is there."""
    for each in (path, path.parent) if os.name == "posix" else (path,):
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
