"""Named pipes and standard input as tables, in processes of their own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mvset.app.tables.errors import TableError
from mvset.app.tables.sources import table_files
from mvset.app.tables.spooling import spool_stream

COMMAND = str(Path(sys.executable).parent / "mvset")
SIGNALS = {signal.SIGINT: (130, "Stopped. Nothing was written.\n"), signal.SIGTERM: (143, "")}


class Waiting:
    """A command that waits for a table, in a folder of its own."""

    def __init__(self, folder, name, written):
        self.folder, self.temporary = folder, folder / "temporary"
        self.temporary.mkdir(parents=True)
        os.mkfifo(folder / "pipe")
        self._ends = os.pipe()
        self.process = subprocess.Popen(
            [COMMAND, "fit", name, "--out", "model.mvset"],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdin=self._ends[0],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._written = written
        self._writer = None

    def wait_until_it_waits(self):
        while not list(self.temporary.glob("mvset-*/*")):
            assert self.process.poll() is None
            time.sleep(0.02)
        if self._written is not None:  # blocks until the pipe is read
            self._writer = os.open(self.folder / "pipe", os.O_WRONLY)
            os.write(self._writer, self._written)
            time.sleep(0.1)

    def close(self):
        self.process.kill()
        self.process.communicate()
        for each in (*self._ends, self._writer):
            with contextlib.suppress(OSError, TypeError):
                os.close(each)


@pytest.mark.parametrize(
    ("sign", "cases"),
    [
        (signal.SIGINT, {"silent writer": ("pipe", b"x,y\n"), "standard input": ("-", None)}),
        pytest.param(
            signal.SIGTERM,
            {"no writer": ("pipe", None), "standard input": ("/dev/stdin", None)},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_command_that_waits_for_a_table_can_be_stopped(sign, cases, tmp_path):
    waiting = {case: Waiting(tmp_path / case, *arguments) for case, arguments in cases.items()}
    try:
        for each in waiting.values():
            each.wait_until_it_waits()
        found = {}
        for case, each in waiting.items():
            each.process.send_signal(sign)
            out, said = each.process.communicate(timeout=5)
            found[case] = (each.process.returncode, said), out, sorted(path.name for path in each.folder.rglob("*"))
    finally:
        for each in waiting.values():
            each.close()
    assert found == dict.fromkeys(cases, (SIGNALS[sign], "", ["pipe", "temporary"]))


def test_a_named_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"(printf 'x,y\\n1,2\\n'; sleep 0.2; printf '3,4\\n') >'{pipe}'"]):
        assert spool_stream(str(pipe)).read_text() == "x,y\n1,2\n3,4\n"


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/random", "/dev/null", "/dev/tty", "socket"])
def test_devices_and_sockets_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(TableError, match=rf"^{name} is not a file with a table\.$"):
            table_files([name])


def test_a_link_to_a_device_is_refused(tmp_path):
    link = tmp_path / "table.csv"
    link.symlink_to("/dev/zero")
    with pytest.raises(TableError, match=r"table\.csv is not a file with a table\.$"):
        table_files([str(link)])


def test_an_empty_standard_input_has_no_rows(monkeypatch):
    with open("/dev/null") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(TableError, match=r"^standard input has no rows\.$"):
            _ = table_files(["-"])[0].schema


def test_a_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match=r"^Standard input is closed: "):
        table_files(["-"])
