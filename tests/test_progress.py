import io
from contextlib import redirect_stderr

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.progress import progress_line, progress_listener, report_progress

ROWS = np.random.default_rng(0).normal(size=(1500, 2))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("mvset.progress._PATIENCE", 0.0)


def fit(**settings):
    settings = {"splits": 5, "max_train_samples": 100, "n_volume_points": 2000, "random_state": 0} | settings
    return MinimumVolumeSet(**settings).fit(ROWS)


def shown(screen, **settings):
    """What a fit prints."""
    with redirect_stderr(screen):
        fit(**settings)
    return screen.getvalue()


@pytest.mark.usefixtures("impatient")
def test_a_terminal_sees_how_far_a_long_fit_is_and_nothing_is_left_of_it():
    lines = shown(Terminal()).split("\r")
    assert any(line.startswith("[mvset] fitting: bandwidth 1 of ") for line in lines)
    assert any(line.startswith("[mvset] calibrating: row 1,000 of 1,000, ") for line in lines)
    assert lines[-1] == ""
    assert lines[-2].strip() == ""
    assert len(lines[-2]) == max(len(line) for line in lines)


def test_short_fits_show_nothing(monkeypatch):
    monkeypatch.setattr("mvset.progress._PATIENCE", 1000.0)
    assert shown(Terminal()) == ""


@pytest.mark.usefixtures("impatient")
def test_nothing_is_shown_where_nobody_watches():
    assert shown(io.StringIO()) == ""


@pytest.mark.usefixtures("impatient")
def test_false_is_silent_and_true_prints_lines():
    assert shown(Terminal(), verbose=False) == ""
    printed = shown(Terminal(), verbose=True)
    assert "[mvset] sigma" in printed
    assert "\r" not in printed


@pytest.mark.usefixtures("impatient")
def test_a_bar_of_the_caller_takes_its_place():
    steps = []
    with progress_listener(lambda *step: steps.append(step)):
        assert shown(Terminal()) == ""
    assert steps[0][:2] == ("fitting", 1)
    assert steps[-1] == ("calibrating", 1000, 1000)


def interrupted():
    with progress_line("auto") as line:
        line.reach("fitting", "bandwidth", 1, 3)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("impatient")
def test_an_interrupted_fit_takes_the_line_away():
    screen = Terminal()
    with redirect_stderr(screen), pytest.raises(KeyboardInterrupt):
        interrupted()
    before, after = screen.getvalue().split("\r")[-2:]
    assert (before.strip(), after) == ("", "")


@pytest.mark.parametrize(("verbose", "n_printed"), [(True, 3), (2, 3), (False, 0), ("auto", 0)])
def test_each_bandwidth_is_reported_to_the_line_of_the_context(verbose, n_printed):
    steps, screen = [], io.StringIO()
    with redirect_stderr(screen), progress_listener(lambda *step: steps.append(step)), progress_line(verbose):
        assert list(report_progress([3.0, 2.0, 1.0])) == [3.0, 2.0, 1.0]
    assert steps == [("fitting", done, 3) for done in (1, 2, 3)]
    printed = screen.getvalue().splitlines()
    assert len(printed) == n_printed
    assert all(line.startswith(f"[mvset] sigma {3 - i}, {i + 1} of 3, ") for i, line in enumerate(printed))


def test_bandwidths_outside_a_context_are_not_reported():
    steps, screen = [], io.StringIO()
    with redirect_stderr(screen), progress_listener(lambda *step: steps.append(step)):
        assert list(report_progress([2.0, 1.0])) == [2.0, 1.0]
    assert (steps, screen.getvalue()) == ([], "")
