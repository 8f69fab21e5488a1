"""What a watch remembers: a SQLite database, changed by one transaction per file."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mvset.app.tables.opening import Version

_FORMAT = 3


@dataclass(frozen=True)
class ScoredFile:
    """What was found in a file, and what follows."""

    name: str  # relative to the folder that is watched
    rows: int
    rows_dropped: int  # without an answer, for missing values
    n_outside: int
    share_outside: float
    expected_share: float
    drifted: bool  # by this file alone
    status: str
    verdict: str
    events: str  # as JSON
    evidence: float  # logarithm of the martingale of the drift monitor
    alarm: bool
    drifting: bool  # from an alarm until the rows are back to normal
    back_to_normal: bool
    results: str


@dataclass(frozen=True)
class Totals:
    """Of all files scored."""

    files: int
    rows: int
    n_outside: int
    alarms: int


_COLUMNS = [each.name for each in fields(ScoredFile)]
_TABLES = (
    f"CREATE TABLE IF NOT EXISTS files ({', '.join(_COLUMNS)}, size, mtime_ns, number, problem, command, "
    "PRIMARY KEY (name))",
    "CREATE TABLE IF NOT EXISTS watch (name PRIMARY KEY, value)",
)


class WatchState:
    """The files with their alarms, and the drift monitor; used by one watch at a time.

    What is in the database has happened: a file whose transaction is not complete is scored again.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path = path
        with ExitStack() as opened:
            lock = opened.enter_context(closing(_connected(Path(f"{path}.lock"))))
            try:
                # The operating system releases the lock when the process ends, however it ends.
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise ValueError(f"{path}.lock: {error}.") from None
                raise ValueError(
                    f"Another watch uses {path}. Stop it, or choose another folder for the results with --out-dir."
                ) from None
            self._database = opened.enter_context(closing(_connected(path)))
            try:
                self._set_up(fingerprint)
            except sqlite3.DatabaseError as error:
                raise ValueError(f"{path} is not the state of a watch, or is damaged: {error}. Move it away.") from None
            self._opened = opened.pop_all()

    def _set_up(self, fingerprint: str) -> None:
        self._database.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            for statement in _TABLES:
                self._database.execute(statement)
            if self._get("format") not in (None, _FORMAT):
                raise ValueError(f"{self._path} was written by another version of mvset. Move it away.")
            self._set("format", _FORMAT)
            self.model_changed = self._get("fingerprint") not in (None, fingerprint)
            if self.model_changed:
                self._set("drift", None)
            self._set("fingerprint", fingerprint)
        found = self._database.execute("SELECT name, size, mtime_ns, number FROM files").fetchall()
        self.known = {name: Version(size, mtime_ns) for name, size, mtime_ns, _ in found}
        self.scored = {name for name, _, _, number in found if number is not None}

    def close(self) -> None:
        """Let others use the state."""
        self._opened.close()

    @property
    def drift(self) -> str | None:
        """The stored state of the drift alarm; None at first."""
        return self._get("drift")  # type: ignore[no-any-return]

    @property
    def totals(self) -> Totals:
        """What was found in all files."""
        counts = "COUNT(*), COALESCE(SUM(rows), 0), COALESCE(SUM(n_outside), 0), COALESCE(SUM(alarm), 0)"
        return Totals(*self._database.execute(f"SELECT {counts} FROM files WHERE number IS NOT NULL").fetchone())

    def add_scored(self, file: ScoredFile, version: Version, drift: str) -> None:
        """Store a file that was scored and all that follows from it: all or nothing."""
        command = "pending" if file.alarm else None
        with self._transaction():
            self._put(version, **asdict(file), number=len(self.scored) + 1, problem=None, command=command)
            self._set("drift", drift)
        self.scored.add(file.name)

    def add_problem(self, name: str, version: Version, problem: str) -> None:
        """Store why a file is not scored as it is now; it is tried again when it changes, unless it has been scored."""
        with self._transaction():
            self._put(version, name=name, problem=problem)

    def pending_alarms(self) -> list[tuple[int, ScoredFile]]:
        """Alarms whose command has not ended yet: their numbers, counted from 1, and their files."""
        columns = ", ".join(_COLUMNS)
        alarms = self._database.execute(f"SELECT command, {columns} FROM files WHERE alarm ORDER BY number").fetchall()
        return [(i, ScoredFile(*file)) for i, (command, *file) in enumerate(alarms, 1) if command == "pending"]

    def set_command(self, file: ScoredFile, outcome: str) -> None:
        """Store how the command of the alarm of a file has ended."""
        with self._transaction():
            self._database.execute("UPDATE files SET command = ? WHERE name = ?", (outcome, file.name))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:  # commits, or rolls back after an error
                self._database.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:  # the disk is full, or another program holds a lock
            raise ValueError(f"{self._path} cannot be written: {error}.") from None

    def _put(self, version: Version, **columns: Any) -> None:
        """Insert a file, or replace some columns of one that is there."""
        columns |= asdict(version)
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
        self._database.execute(
            f"INSERT INTO files ({names}) VALUES ({marks}) ON CONFLICT (name) DO UPDATE SET {changes}",
            tuple(columns.values()),
        )
        self.known[columns["name"]] = version

    def _get(self, name: str) -> Any:
        found = self._database.execute("SELECT value FROM watch WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def _set(self, name: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO watch VALUES (?, ?)", (name, value))


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=0, isolation_level=None)
    except sqlite3.Error as error:  # of the folder
        raise ValueError(f"{path}: {error}.") from None
