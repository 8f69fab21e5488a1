"""Judge the files of a folder as they arrive, each exactly once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mvset.estimators.model_parts import ModelParts
from mvset.summaries.survey import ScoredRows, Survey
from mvset.tables.reading import TableReader
from mvset.tables.scoring import score_table
from mvset.tables.spooling import DISK_ERRORS, remove_spooled
from mvset.tables.versions import Version
from mvset.watch.alarm_command import AlarmCommand
from mvset.watch.arrivals import Arrivals
from mvset.watch.drift_alarm import DriftAlarm
from mvset.watch.state import JudgedFile, WatchState

_PAUSE = (0.05, 1.0)  # seconds between two looks at the folder, at least and at most


@dataclass(frozen=True)
class Said:
    """A sentence about a file, or about the command of an alarm."""

    text: str


@dataclass(frozen=True)
class OutputOptions:
    """Where the results go, and which."""

    folder: Path
    ending: str
    only_outside: bool


class _Survey(Survey):
    """A survey that also keeps the scores, in the order of the rows."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.scores = [np.empty(0)]

    def add(self, rows: Any, scored: ScoredRows, *others: Any, **named: Any) -> None:
        """Add a batch of rows."""
        super().add(rows, scored, *others, **named)
        self.scores.append(scored.scores)


class Watcher:
    """Judges one file after the other, and remembers each before it goes on.

    For each file: its results are written and renamed; then one transaction stores the file, the drift monitor and the
    alarm, if any; then the command of the alarm is run. A process that is killed before the transaction judges the file
    again, with the same results. One that is killed after it runs the command again, if that had not ended.
    """

    def __init__(
        self,
        model: ModelParts,
        mass: float,
        open_table: Callable[[list[str]], TableReader],
        state: WatchState,
        arrivals: Arrivals,
        output: OutputOptions,
        command: AlarmCommand | None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._model, self._mass, self._open_table = model, mass, open_table
        self._state, self._arrivals, self._output, self._command = state, arrivals, output, command
        self._stopping = stopping  # whether a signal has come, which a library may have made an error of the table
        self._grouped = getattr(model.estimator, "by_column_", None) is not None
        self._drift = DriftAlarm(model.sets, mass, grouped=self._grouped)
        if state.drift is not None:
            self._drift.restore(state.drift)

    def run(self, *, once: bool) -> Iterator[JudgedFile | Said]:
        """Judge files for ever, or `once` those that are there; returns what there is to say."""
        yield from self._run_commands()
        first = True
        while True:
            began = time.monotonic()
            complete, arriving = self._arrivals.look(self._state.known)
            for name in complete:
                yield from self._judge(name)
            if once and not (first and arriving):
                return
            first, settle, took = False, self._arrivals.settle, time.monotonic() - began
            time.sleep(settle if once else max(took, np.clip(settle / 2, *_PAUSE)))

    def _judge(self, name: str) -> Iterator[JudgedFile | Said]:
        path = self._arrivals.folder / name
        version = Version.of(path)
        if version is None:
            return
        if not _is_text(name):
            self._state.known[name] = version  # in memory only
            yield Said(f"{path} is not judged: its name is not valid text. Rename it.")
            return
        if self._state.is_judged(name):
            self._state.add_changed(name, version)
            yield Said(
                f"{path} has changed since it was judged. It is not judged again: its rows would count twice. Write "
                "new rows to a new file."
            )
            return
        results = self._output.folder / f"{name}{self._output.ending}"
        try:
            survey, reader = self._score(path, results)
        except _Unreadable as error:
            if self._stopping():
                raise
            if Version.of(path) == version:
                self._state.add_unreadable(name, version, str(error))
                yield Said(str(error))
            return
        finally:
            remove_spooled()
        if Version.of(path) != version:  # it was not complete: judged once it is
            return
        report = survey.result().drift
        drift = self._drift.copied()
        change = drift.add(np.concatenate(survey.scores), survey.part.drift, report)
        judged = JudgedFile(
            name=name,
            rows=reader.n_rows,
            rows_dropped=reader.n_dropped,
            n_outside=report.n_outside,
            share_outside=report.share_outside,
            expected_share=report.expected_share,
            drifted=report.drifted,
            verdict=str(report),
            evidence=drift.evidence,
            alarm=change.alarm,
            drifting=drift.drifting,
            back_to_normal=change.back_to_normal,
            results=str(results),
        )
        facts = {"alarm": self._state.next_alarm, "file": str(path), **_facts(judged)} if change.alarm else None
        self._state.add_judged(judged, version, drift.to_bytes(), facts)
        self._drift = drift
        yield judged
        yield from self._run_commands()

    def _score(self, path: Path, results: Path) -> tuple[_Survey, TableReader]:
        """Score a table and write its results."""
        try:
            with path.open("rb") as file:  # an error of the table, and not of the folder for the results
                file.read(1)
        except OSError as error:
            raise _Unreadable(f"{path}: {error.strerror or error}.") from None
        results.parent.mkdir(parents=True, exist_ok=True)
        for left in results.parent.glob(f".{_escaped(results.name)}.*.partial"):  # by a process that was killed
            left.unlink(missing_ok=True)
        survey = _Survey(self._model, self._mass, n_unusual=0, grouped=self._grouped)
        try:
            reader = self._open_table([str(path)])
            score_table(reader, survey, out=results, only_outside=self._output.only_outside)
        except OSError as error:
            named = Path(str(error.filename))
            if error.errno in DISK_ERRORS or named == results:  # not the fault of the table
                raise
            raise _Unreadable(f"{path} cannot be read: {error.strerror or error}.") from None
        except MemoryError:
            raise _Unreadable(f"{path} cannot be read: there is not enough memory.") from None
        except ValueError as error:
            raise _Unreadable(str(error)) from None
        except Exception as error:  # a table must not stop the watch, for ever if it is restarted
            raise _Unreadable(f"{path} cannot be read. This is a bug in mvset: {error!r}.") from error
        _flush(results)
        return survey, reader

    def _run_commands(self) -> Iterator[Said]:
        """Run the command for each alarm that it has not been run for; a failure is not fatal."""
        for facts in self._state.pending_alarms():
            wrong = "" if self._command is None else self._command.run(facts)
            self._state.set_command(facts["alarm"], wrong or ("none" if self._command is None else "done"))
            if wrong:
                yield Said(f"The command of --on-alarm for {facts['file']} {wrong}.")


class _Unreadable(ValueError):
    """A table cannot be judged."""


def _facts(judged: JudgedFile) -> dict[str, Any]:
    """What the command of an alarm is told."""
    names = ("rows", "n_outside", "share_outside", "expected_share", "verdict", "results")
    return {name.removeprefix("n_"): getattr(judged, name) for name in names}


def _is_text(name: str) -> bool:
    """Whether a name can be stored: one in another encoding than that of the system cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(name: str) -> str:
    """A name for a pattern that matches it."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _flush(path: Path) -> None:
    """Write a file to the disk, before the state says that it is there."""
    for each in (path, path.parent) if os.name == "posix" else (path,):
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
