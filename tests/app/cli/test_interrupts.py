import signal
import sys
import time

import pytest
import typer

from mvset.app.cli import failures
from mvset.app.cli.failures import exit_on_error
from mvset.app.cli.interrupts import listening
from mvset.app.tables.spooling import spool_path
from mvset.files.atomic import atomic_write


def test_an_interrupt_that_a_library_converts_is_an_interrupt(capsys):
    def import_numpy():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy could not be imported") from None

    with pytest.raises(typer.Exit) as stopped, exit_on_error(on_interrupt="Nothing was written."):
        import_numpy()
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == "Stopped. Nothing was written.\n"


def test_an_interrupt_in_a_destructor_is_raised_again():
    class Slow:
        def __del__(self):
            if interrupts.code is None:
                signal.raise_signal(signal.SIGINT)

    def work():
        slow = Slow()
        del slow  # Python cannot raise what its destructor raises
        time.sleep(10.0)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), listening() as interrupts:
        work()
    assert interrupts.code == 130
    assert time.monotonic() < began + 5.0


def test_what_was_set_before_is_set_again():
    def handler(*_):
        pass

    hook, before = sys.unraisablehook, signal.signal(signal.SIGINT, handler)
    try:
        with listening():
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.unraisablehook is hook


def test_a_background_job_keeps_ignoring_interrupts():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with listening() as interrupts:
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupts.code is None


@pytest.fixture
def default_handlers():
    """Handlers as in a new process: that of SIGTERM and SIGHUP would end this one."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("default_handlers")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_signals_end_the_command_with_their_codes(number, code, capsys):
    def convert():
        try:
            signal.raise_signal(number)
        except SystemExit:
            raise ImportError("numpy could not be imported") from None

    with pytest.raises(SystemExit) as stopped, exit_on_error(on_interrupt="Nothing was written."):
        signal.raise_signal(number)
    assert stopped.value.code == code
    with pytest.raises(typer.Exit) as converted, exit_on_error(on_interrupt="Nothing was written."):
        convert()
    assert converted.value.exit_code == code
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("default_handlers")
def test_a_second_signal_does_not_stop_the_removal_of_files(tmp_path):
    removed = []

    def work():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            removed.append(True)

    with pytest.raises(typer.Exit), exit_on_error(on_interrupt="Nothing was written."):
        work()
    assert removed == [True]


def test_a_signal_between_the_lines_of_atomic_writing_leaves_no_file(tmp_path):
    writing = atomic_write(tmp_path / "out.csv")  # kept, so that nothing is cleaned up with it

    def work():
        writing.__enter__().write_text("half")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(typer.Exit), exit_on_error(on_interrupt="Nothing was written."):
        work()
    assert list(tmp_path.iterdir()) == []


def test_spooled_tables_are_gone_when_a_command_ends():
    with exit_on_error(on_interrupt="Nothing was written."):
        path = spool_path(".csv")
    assert not path.exists()


def test_a_command_within_a_command_is_stopped_once(capsys):
    def inner():
        with exit_on_error(on_interrupt="Nothing was written."):
            signal.raise_signal(signal.SIGINT)

    def outer():
        try:
            inner()
        finally:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(typer.Exit), exit_on_error(on_interrupt="Some was written."):
        outer()
    assert capsys.readouterr().err == "Stopped. Nothing was written.\n"


@pytest.mark.parametrize("number", [1, 2])
def test_signals_while_files_are_removed_stop_the_command_and_leave_none(number, monkeypatch):
    remove, paths = failures.remove_unfinished, []

    def interrupted():
        for _ in range(number):
            signal.raise_signal(signal.SIGINT)
        remove()

    monkeypatch.setattr(failures, "remove_unfinished", interrupted)
    with pytest.raises(typer.Exit) as stopped, exit_on_error(on_interrupt="Nothing was written."):
        paths.append(spool_path(".csv"))
    assert stopped.value.exit_code == 130
    assert not paths[0].exists()
