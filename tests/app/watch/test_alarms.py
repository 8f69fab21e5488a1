from typing import NamedTuple

import numpy as np
import pytest

from mvset.app.watch.alarms import CALM_FILES, CALM_ROWS, DriftAlarm
from mvset.paper.datasets import two_moons


class Change(NamedTuple):
    alarm: bool
    back_to_normal: bool


class Files:
    """Tables of two moons, or of rows that drift, one after the other."""

    def __init__(self, model, mass=0.95):
        self.model, self.sets, self.mass = model, model.sets_, mass
        self.rng, self.reports = np.random.default_rng(0), []
        self.rows, self.others = two_moons(1000, random_state=5), np.random.default_rng(1)  # columns show no drift

    def add(self, alarm, rows, drifted=False, shift=0.3):
        """Add a file of so many rows, drawn from the calibration rows or moved away."""
        normal = self.sets.calibration.counted_scores.values
        scores = self.rng.choice(normal, rows) - shift * np.ptp(normal) * drifted
        counter = self.sets.drift_counter(self.mass)
        counter.update(scores, self.rows[self.others.integers(len(self.rows), size=rows)])
        self.reports.append(counter.report())
        before = alarm.drifting
        alarm.add(scores, counter.counts, self.reports[-1])
        return Change(alarm=alarm.drifting and not before, back_to_normal=before and not alarm.drifting)


@pytest.fixture
def files(conformal_model):
    return Files(conformal_model)


@pytest.fixture
def alarm(conformal_model):
    """After an alarm."""
    alarm = DriftAlarm(conformal_model.sets_, 0.95)
    files = Files(conformal_model)
    while not files.add(alarm, 100, drifted=True).alarm:
        pass
    return alarm


def test_rows_are_back_to_normal_after_enough_files_with_enough_rows(files, alarm):
    for _ in range(CALM_FILES - 1):
        assert not files.add(alarm, 100).back_to_normal
    assert files.add(alarm, 100).back_to_normal
    assert not alarm.drifting
    assert alarm.evidence == 0.0  # a new monitor


def test_few_rows_do_not_suffice(files, alarm):
    needed = CALM_ROWS // 20
    changes = [files.add(alarm, 20).back_to_normal for _ in range(needed)]
    assert changes == [False] * (needed - 1) + [True]


def test_a_file_that_drifts_starts_the_count_anew(files, alarm):
    assert not files.add(alarm, 100).back_to_normal
    assert not files.add(alarm, 100).back_to_normal
    assert not files.add(alarm, 100, drifted=True).back_to_normal
    assert [files.add(alarm, 100).back_to_normal for _ in range(CALM_FILES)] == [False, False, True]


def test_drift_that_no_file_shows_on_its_own_is_seen_in_all_of_them(files, alarm):
    for _ in range(CALM_ROWS):
        files.add(alarm, 1, drifted=True)
    assert sum(report.drifted for report in files.reports) <= 4  # a single row says next to nothing
    assert alarm.drifting
    for _ in range(CALM_ROWS):
        files.add(alarm, 1)
    assert not alarm.drifting


def test_what_is_stored_goes_on_as_if_nothing_had_happened(conformal_model):
    alarms = []
    for stored in (False, True):
        files, alarm, changes = Files(conformal_model), DriftAlarm(conformal_model.sets_, 0.95), []
        for i in range(24):
            changes.append(files.add(alarm, 60, drifted=i % 12 in (4, 5)))
            if stored:
                content, alarm = alarm.to_json(), DriftAlarm(conformal_model.sets_, 0.95)
                alarm.restore(content)
        alarms.append((changes, alarm.to_json()))
    assert alarms[0] == alarms[1]
    assert sum(change.alarm for change in alarms[0][0]) == 2


def test_a_file_that_leaves_no_doubt_gives_the_alarm_itself(conformal_model):
    alarm, files = DriftAlarm(conformal_model.sets_, 0.95), Files(conformal_model)
    assert not files.add(alarm, 100).alarm
    assert files.add(alarm, 100, drifted=True, shift=2.0).alarm  # all rows are outside


def test_normal_files_hardly_ever_give_an_alarm(conformal_model):
    """The rate is one in a hundred for each watch, however many files it sees."""
    given = 0
    for seed in range(20):
        alarm, files = DriftAlarm(conformal_model.sets_, 0.95), Files(conformal_model)
        files.rng, files.others = np.random.default_rng(seed), np.random.default_rng(100 + seed)
        given += any(files.add(alarm, 50).alarm for _ in range(30))
    assert given <= 2
