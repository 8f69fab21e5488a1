"""The command that is run at an alarm."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from mvset.watch.errors import WatchError

TIMEOUT = 60  # seconds


class AlarmCommand:
    """A program and its arguments, run without a shell; learns of the alarm by its environment and its input."""

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise WatchError(f"--on-alarm: {command!r} cannot be read: {error}.") from None
        if not self._words or shutil.which(self._words[0]) is None:
            raise WatchError(f"--on-alarm: there is no program {self._words[0] if self._words else command!r}.")

    def run(self, facts: Mapping[str, Any]) -> str:
        """Run it to its end; returns what went wrong, and nothing if all went well."""
        told = {f"MVSET_{name.upper()}": str(value) for name, value in facts.items()}
        try:
            done = subprocess.run(
                self._words,
                input=json.dumps(facts).encode(),
                stdout=2,  # ours may be read by a program
                env={**os.environ, **told},
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"took more than {TIMEOUT} seconds and was ended"
        except OSError as error:
            return f"could not be run: {error.strerror or error}"
        return f"ended with exit code {done.returncode}" if done.returncode else ""
