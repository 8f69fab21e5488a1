from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.progress import progress_line, progress_listener

ROWS = np.random.default_rng(0).normal(size=(1500, 2))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("mvset.progress._PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def fit(**settings):
    settings = {"splits": 5, "max_train_samples": 100, "n_volume_points": 2000, "random_state": 0} | settings
    return MinimumVolumeSet(**settings).fit(ROWS)


def test_a_terminal_sees_how_far_a_long_fit_is_and_nothing_is_left_of_it(terminal):
    fit()
    shown = terminal.getvalue().split("\r")
    assert any(line.startswith("[mvset] bandwidth 1 of ") for line in shown)
    assert any(line.startswith("[mvset] calibrating with row 1,000 of 1,000, ") for line in shown)
    assert shown[-1] == ""
    assert shown[-2].strip() == ""
    assert len(shown[-2]) == max(len(line) for line in shown)


def test_short_fits_show_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("mvset.progress._PATIENCE", 1000.0)
    fit()
    assert sys.stderr.getvalue() == ""


def test_nothing_is_shown_where_nobody_watches(monkeypatch):
    monkeypatch.setattr("mvset.progress._PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    fit()
    assert sys.stderr.getvalue() == ""


def test_false_is_silent_and_true_prints_lines(terminal):
    fit(verbose=False)
    assert terminal.getvalue() == ""
    fit(verbose=True)
    assert "[mvset] sigma" in terminal.getvalue()
    assert "\r" not in terminal.getvalue()


def test_a_bar_of_the_caller_takes_its_place(terminal):
    steps = []
    with progress_listener(lambda done, total: steps.append((done, total))):
        fit()
    assert terminal.getvalue() == ""
    assert steps[0][0] == 0


def test_an_error_takes_the_line_away(terminal):
    with pytest.raises(KeyboardInterrupt), progress_line("auto") as line:
        line.reach("bandwidth", 1, 3)
        raise KeyboardInterrupt
    assert terminal.getvalue().split("\r")[-1] == ""
    assert not terminal.getvalue().split("\r")[-2].strip()
