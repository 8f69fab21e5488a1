from __future__ import annotations

import signal
import sys
import time

import pytest
import typer

from mvset.cli.failures import exit_on_error
from mvset.cli.interrupts import Interrupts


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
            if not interrupts.seen:
                signal.raise_signal(signal.SIGINT)

    def work():
        slow = Slow()
        del slow  # Python cannot raise what its destructor raises
        time.sleep(10.0)

    interrupts = Interrupts()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupts:
        work()
    assert interrupts.seen
    assert time.monotonic() < began + 5.0


def test_what_was_set_before_is_set_again():
    def handler(*_):
        pass

    hook, before = sys.unraisablehook, signal.signal(signal.SIGINT, handler)
    try:
        with Interrupts():
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.unraisablehook is hook


def test_a_background_job_keeps_ignoring_interrupts():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not interrupts.seen
