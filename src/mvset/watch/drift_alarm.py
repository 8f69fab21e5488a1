"""The drift monitor over files: at most one alarm for each time that the rows depart from normal."""

from __future__ import annotations

import copy
import io
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.fitted_sets import FittedSets
from mvset.inference.monitor import DriftMonitor
from mvset.inference.results import DriftReport
from mvset.summaries.survey import FALSE_ALARM_RATE

Array = NDArray[np.float64]

CALM_FILES = 3
CALM_ROWS = 200


class _Scores:
    """Stands for the model of a monitor that is given scores."""

    def score_samples(self, X: Any) -> Any:
        return X


@dataclass(frozen=True)
class Change:
    """What a file has changed."""

    alarm: bool = False
    back_to_normal: bool = False


class DriftAlarm:
    """Gives an alarm when the monitor does, and no other until the rows are back to normal.

    Rows are back to normal when the last files, at least three of them with at least 200 rows in all, show no sign of
    drift, neither each on its own nor all together. A new monitor then begins.
    """

    def __init__(self, sets: FittedSets, mass: float, *, grouped: bool = False) -> None:
        self._sets, self._mass, self._grouped = sets, mass, grouped
        self.drifting = False
        self._n_alarms = 0
        self._monitor = self._new_monitor()
        self._calm_files, self._calm_outside = 0, 0
        self._calm_counts: NDArray[np.intp]
        self._forget_calm()

    @property
    def evidence(self) -> float:
        """Logarithm of the martingale of the monitor."""
        return self._monitor.log_martingale_

    def add(self, scores: Array, counts: tuple[NDArray[np.intp], int], report: DriftReport) -> Change:
        """Add a file: its scores, what its drift counter has counted, and the verdict on this file alone."""
        if self.drifting:
            return Change(back_to_normal=self._is_calm(counts, report))
        self.drifting = self._monitor.update(scores)
        self._n_alarms += self.drifting
        return Change(alarm=self.drifting)

    def _is_calm(self, counts: tuple[NDArray[np.intp], int], report: DriftReport) -> bool:
        if report.drifted:
            self._forget_calm()
            return False
        self._calm_files += 1
        self._calm_counts, self._calm_outside = self._calm_counts + counts[0], self._calm_outside + counts[1]
        if self._calm_files < CALM_FILES or self._calm_counts.sum() < CALM_ROWS:
            return False
        together = self._sets.drift_counter(self._mass, FALSE_ALARM_RATE, grouped=self._grouped)
        together.add_counts((self._calm_counts, self._calm_outside))
        self._forget_calm()
        if together.report().drifted:
            return False
        self.drifting, self._monitor = False, self._new_monitor()
        return True

    def _forget_calm(self) -> None:
        counts, outside = self._sets.drift_counter(self._mass, FALSE_ALARM_RATE, grouped=self._grouped).counts
        self._calm_files, self._calm_counts, self._calm_outside = 0, counts, outside

    def _new_monitor(self) -> DriftMonitor:
        calibration = self._sets.calibration
        return DriftMonitor(
            _Scores(),
            calibration.counted_scores,
            reserved=self._sets.guarantee.reserves_rows,
            decorrelation=calibration.decorrelation,
            false_alarm_rate=FALSE_ALARM_RATE,
            random_state=self._n_alarms,  # the same after a restart
        )

    def copied(self) -> DriftAlarm:
        """A copy that files can be added to, for the same model."""
        found = copy.copy(self)
        found._monitor = self._new_monitor()
        found._monitor.restore_arrays(self._monitor.to_arrays())
        return found

    def to_bytes(self) -> bytes:
        """All that files have changed, to be stored."""
        watch = np.array([self.drifting, self._n_alarms, self._calm_files, self._calm_outside], dtype=np.int64)
        arrays = {"watch": watch, "calm_counts": self._calm_counts, **self._monitor.to_arrays()}
        content = io.BytesIO()
        # What numpy.savez does, but for the time in it, which cannot be before 1980: clocks may be wrong.
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in arrays.items():
                member = io.BytesIO()
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
        return content.getvalue()

    def restore(self, content: bytes) -> None:
        """Go on from what was stored."""
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            drifting, self._n_alarms, self._calm_files, self._calm_outside = stored["watch"].tolist()
            self.drifting = bool(drifting)
            self._calm_counts = stored["calm_counts"]
            self._monitor = self._new_monitor()
            self._monitor.restore_arrays(stored)
