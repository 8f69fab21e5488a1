"""Alarms: at most one for each time that the rows depart from normal, and the command that each runs."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from mvset.app.summaries.scan import FALSE_ALARM_RATE
from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.drift_monitor import DriftMonitor
from mvset.inference.drift import DriftCounts
from mvset.inference.results import DriftResult
from mvset.values import Array

CALM_FILES = 3
CALM_ROWS = 200
TIMEOUT = 60  # seconds for a command


class _Scores:
    """The model of a monitor whose rows are scores already."""

    def score_samples(self, X: Any) -> Any:
        return X


class DriftAlarm:
    """Gives an alarm when the monitor does, or when one file alone leaves no doubt, and no other until all is normal.

    Each of the two has half of the false-alarm rate. The k-th file since the rows were normal has a share 1 / (k (k+1))
    of the half for files, and these shares sum up to one. Small files have little to show by themselves.

    Rows are back to normal when the last files, at least three of them with at least 200 rows in all, show no sign of
    drift together, and none of them leaves no doubt by itself. A new monitor then begins.
    """

    def __init__(self, sets: FittedSets, mass: float, *, grouped: bool = False) -> None:
        self._sets, self._mass, self._grouped = sets, mass, grouped
        self.drifting = False
        self._n_alarms = self._n_files = 0
        self._monitor = self._new_monitor()
        self._forget_calm()

    @property
    def evidence(self) -> float:
        """Logarithm of the martingale of the monitor."""
        return self._monitor.log_martingale_

    def add(self, scores: Array, counts: DriftCounts, report: DriftResult) -> None:
        """Add a file: its scores, what its drift counter has counted, and the verdict on this file alone."""
        if not self.drifting:
            self._n_files += 1
            self.drifting = bool(self._monitor.update(scores)) or _leaves_no_doubt(report, self._n_files)
            self._n_alarms += self.drifting
        elif _leaves_no_doubt(report, self._calm_files + 1):
            self._forget_calm()
        else:
            self._add_calm(counts)

    def _add_calm(self, counts: DriftCounts) -> None:
        self._calm_files += 1
        self._calm.add_counts(counts)
        if self._calm_files < CALM_FILES or self._calm.counts[0].sum() < CALM_ROWS:
            return
        if not self._calm.report().drifted:
            self.drifting, self._n_files, self._monitor = False, 0, self._new_monitor()
        self._forget_calm()

    def _forget_calm(self) -> None:
        self._calm_files = 0
        self._calm = self._sets.drift_counter(self._mass, FALSE_ALARM_RATE, grouped=self._grouped)

    def _new_monitor(self) -> DriftMonitor:
        seed = self._n_alarms  # the same after a restart
        return DriftMonitor(_Scores(), self._sets, false_alarm_rate=0.5 * FALSE_ALARM_RATE, random_state=seed)

    def to_json(self) -> str:
        """Return all that files have changed, to be stored."""
        counts, outside, (columns, sums) = self._calm.counts
        watch = np.array([self.drifting, self._n_alarms, self._n_files, self._calm_files, outside], dtype=np.int64)
        calm = {"calm_counts": counts, "calm_columns": columns, "calm_sums": sums}
        arrays = {"watch": watch, **calm, **self._monitor.to_arrays()}
        return json.dumps({name: (each.dtype.str, each.shape, each.ravel().tolist()) for name, each in arrays.items()})

    def restore(self, content: str) -> None:
        """Go on from what was stored."""
        found = json.loads(content).items()
        stored = {name: np.array(values, dtype).reshape(shape) for name, (dtype, shape, values) in found}
        drifting, self._n_alarms, self._n_files, self._calm_files, outside = stored["watch"].tolist()
        self.drifting = bool(drifting)
        self._calm.add_counts((stored["calm_counts"], outside, (stored["calm_columns"], stored["calm_sums"])))
        self._monitor = self._new_monitor()
        self._monitor.restore_arrays(stored)


def _leaves_no_doubt(report: DriftResult, k: int) -> bool:
    """Whether the k-th file alone shows drift, at half of the false-alarm rate for all files together."""
    return report.p_value <= 0.5 * FALSE_ALARM_RATE / (k * (k + 1.0))


class AlarmCommand:
    """A program and its arguments, run without a shell; it finds the facts in its environment and its input."""

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"--on-alarm: {command!r} cannot be read: {error}.") from None
        if not self._words or shutil.which(self._words[0]) is None:
            raise ValueError(f"--on-alarm: there is no program {self._words[0] if self._words else command!r}.")

    def run(self, facts: Mapping[str, Any]) -> str:
        """Run it to its end; return what went wrong, or nothing."""
        facts_by_name = {
            f"MVSET_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
            for name, value in facts.items()
        }
        try:
            done = subprocess.run(
                self._words,
                input=json.dumps(facts).encode(),
                stdout=2,  # ours may be read by a program
                env={**os.environ, **facts_by_name},
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"took more than {TIMEOUT} seconds and was ended"
        except OSError as error:
            return f"could not be run: {error.strerror or error}"
        return f"ended with exit code {done.returncode}" if done.returncode else ""
