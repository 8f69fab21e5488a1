"""What a watch remembers: a SQLite database, changed by one transaction per file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mvset.tables.versions import Version
from mvset.watch.errors import WatchError

_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, number INTEGER, unreadable TEXT, rows INTEGER,
    rows_dropped INTEGER, n_outside INTEGER, share_outside REAL, expected_share REAL, drifted INTEGER, verdict TEXT,
    evidence REAL, alarm INTEGER, drifting INTEGER, back_to_normal INTEGER, results TEXT
);
CREATE TABLE IF NOT EXISTS alarms (number INTEGER PRIMARY KEY, facts TEXT, command TEXT);
CREATE TABLE IF NOT EXISTS watch (name TEXT PRIMARY KEY, value);
"""


@dataclass(frozen=True)
class JudgedFile:
    """What was found in a file, and what follows."""

    name: str  # relative to the folder that is watched
    rows: int
    rows_dropped: int  # without an answer, for missing values
    n_outside: int
    share_outside: float
    expected_share: float
    drifted: bool  # by this file alone
    verdict: str
    evidence: float  # logarithm of the martingale of the drift monitor
    alarm: bool
    drifting: bool  # from an alarm until the rows are back to normal
    back_to_normal: bool
    results: str


class WatchState:
    """The files judged, the drift monitor and the alarms; used by one watch at a time.

    What is in the database has happened: a file whose transaction is not complete is judged again.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path = path
        self._lock = _connected(Path(f"{path}.lock"))
        try:
            # The operating system releases the lock when the process ends, however it ends.
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._lock.close()
            if "locked" not in str(error):
                raise WatchError(f"{path}.lock: {error}.") from None
            raise WatchError(
                f"Another watch uses {path}. Stop it, or give this one another folder for its results with --out-dir."
            ) from None
        try:
            self._database = _connected(path)
        except WatchError:
            self._lock.close()
            raise
        try:
            self._set_up(fingerprint)
        except sqlite3.DatabaseError as error:
            self.close()
            raise WatchError(f"{path} is not the state of a watch, or is damaged: {error}. Move it away.") from None
        except WatchError:
            self.close()
            raise

    def _set_up(self, fingerprint: str) -> None:
        self._database.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            for statement in _TABLES.split(";"):
                self._database.execute(statement)
            found = self._get("format")
            if found not in (None, _FORMAT):
                raise WatchError(f"{self._path} was written by another version of mvset. Move it away.")
            self._set("format", _FORMAT)
            # The counts of a monitor are those between the calibration scores of one model.
            self.model_changed = self._get("fingerprint") not in (None, fingerprint)
            if self.model_changed:
                self._set("drift", None)
            self._set("fingerprint", fingerprint)
        self.known = {
            name: Version(size, mtime_ns)
            for name, size, mtime_ns in self._database.execute("SELECT name, size, mtime_ns FROM files")
        }

    def close(self) -> None:
        """Let others use the state."""
        self._database.close()
        self._lock.close()

    def __enter__(self) -> WatchState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def drift(self) -> bytes | None:
        """The stored state of the drift alarm; None at first."""
        return self._get("drift")  # type: ignore[no-any-return]

    def is_judged(self, name: str) -> bool:
        """Whether a file of this name has been judged, as it is now or as it was."""
        found = self._database.execute("SELECT 1 FROM files WHERE name = ? AND unreadable IS NULL", (name,))
        return found.fetchone() is not None

    def add_judged(self, file: JudgedFile, version: Version, drift: bytes, facts: dict[str, Any] | None) -> None:
        """Remember a file that was judged, all that follows from it, and the facts of an alarm: all or nothing."""
        columns = [each.name for each in fields(file)]
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        with self._transaction():
            self._database.execute(
                f"INSERT OR REPLACE INTO files ({names}, size, mtime_ns, number) "
                f"VALUES ({marks}, ?, ?, (SELECT 1 + COUNT(number) FROM files))",
                (*asdict(file).values(), version.size, version.mtime_ns),
            )
            self._set("drift", drift)
            if facts is not None:
                self._database.execute(
                    "INSERT INTO alarms VALUES (?, ?, 'pending')", (facts["alarm"], json.dumps(facts))
                )
        self.known[file.name] = version

    def add_unreadable(self, name: str, version: Version, reason: str) -> None:
        """Remember a file that cannot be read; it is tried again when it changes."""
        with self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO files (name, size, mtime_ns, unreadable) VALUES (?, ?, ?, ?)",
                (name, version.size, version.mtime_ns, reason),
            )
        self.known[name] = version

    def add_changed(self, name: str, version: Version) -> None:
        """Remember that a file has changed after it was judged."""
        with self._transaction():
            self._database.execute(
                "UPDATE files SET size = ?, mtime_ns = ? WHERE name = ?", (version.size, version.mtime_ns, name)
            )
        self.known[name] = version

    @property
    def next_alarm(self) -> int:
        """Number of the next alarm, counted from 1."""
        return int(self._database.execute("SELECT 1 + COUNT(*) FROM alarms").fetchone()[0])

    def pending_alarms(self) -> list[dict[str, Any]]:
        """Facts of the alarms whose command has not ended yet."""
        found = self._database.execute("SELECT facts FROM alarms WHERE command = 'pending' ORDER BY number")
        return [json.loads(facts) for (facts,) in found]

    def set_command(self, alarm: int, outcome: str) -> None:
        """Remember how the command of an alarm has ended."""
        with self._transaction():
            self._database.execute("UPDATE alarms SET command = ? WHERE number = ?", (outcome, alarm))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):  # the disk is full, or another program holds a lock
                raise WatchError(f"{self._path} cannot be written: {error}.") from None
            raise

    def _get(self, name: str) -> Any:
        found = self._database.execute("SELECT value FROM watch WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def _set(self, name: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO watch VALUES (?, ?)", (name, value))


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=0, isolation_level=None)
    except sqlite3.Error as error:  # of the folder
        raise WatchError(f"{path}: {error}.") from None
