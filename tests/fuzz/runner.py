"""Runs seeded cases of a target in child processes, with limits of memory and time, and counts what happens.

A target is a module beside this one with two functions:

    warm_up() -> None                    imports and compiles all that a case needs, before memory is limited
    run_case(seed, folder) -> str        runs one case, in an empty folder, and returns its outcome in a word or two;
                                         any exception is a failure

A case depends on its seed only, so that a failure can be repeated. If a child crashes or takes too long, the case that
it was at has failed, and another child goes on with the next one. To add a target, write its module and name it in
TARGETS. A target of another package, such as those of tests/faults, is named with it.
"""

import faulthandler
import importlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

TARGETS = ("model_files", "tables", "arrays", "dialects", "dialect_pairs")
_START_SECONDS = 300.0  # for imports, on a busy machine


@dataclass
class Report:
    """Outcomes by number of cases, and the failures: seed and what happened."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    @property
    def n_cases(self) -> int:
        return sum(self.outcomes.values()) + len(self.failures)


def run(target: str, seeds: range, *, seconds: float = 20.0, megabytes: int = 1024, max_failures: int = 20) -> Report:
    """Run the cases of these seeds; each may take so many seconds, and megabytes more than a child at its start."""
    report, seed = Report(), seeds.start
    while seed < seeds.stop and len(report.failures) < max_failures:
        seed = _run_child(report, target, range(seed, seeds.stop), seconds, megabytes, max_failures)
    return report


def _run_child(report: Report, target: str, seeds: range, seconds: float, megabytes: int, max_failures: int) -> int:
    """Run cases in one child, until all are done or it has to be replaced; the next seed."""
    command = [sys.executable, "-W", "ignore", __file__, target, str(seeds.start), str(seeds.stop), str(megabytes)]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        lines: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(target=_read, args=(child.stdout, lines))
        reader.start()
        seed, started = seeds.start, False
        try:
            while seed < seeds.stop and len(report.failures) < max_failures:
                said = _next_line(child, lines, seconds if started else _START_SECONDS)
                if "ended" in said:
                    errors.seek(0)
                    said["failure"] = f"{said['ended']}\n{errors.read()[-3000:]}"
                    if not started:
                        raise RuntimeError(f"The child of {target} did not start: {said['failure']}")
                started = True
                if "outcome" in said:
                    report.outcomes[said["outcome"]] += 1
                elif "failure" in said:
                    report.failures.append((seed, said["failure"]))
                seed += "ready" not in said
                if "ended" in said:
                    break
        finally:
            child.kill()
            reader.join()
    return seed


def _next_line(child: subprocess.Popen[str], lines: queue.Queue[str], seconds: float) -> dict[str, Any]:
    """What the child says next; or how it has ended."""
    try:
        line = lines.get(timeout=seconds)
    except queue.Empty:
        return {"ended": f"took more than {seconds:g} s"}
    return dict(json.loads(line)) if line else {"ended": f"ended with exit status {child.wait()}"}


def _read(stream: IO[str] | None, lines: queue.Queue[str]) -> None:
    assert stream is not None
    for line in stream:
        lines.put(line)
    lines.put("")


def _limit_memory(megabytes: int) -> None:
    """Limit the address space to what is used now and so much more; on Linux only."""
    if sys.platform == "linux":
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _say(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def _child(target: str, start: int, stop: int, megabytes: int) -> None:
    faulthandler.enable()
    sys.path.insert(0, str(Path(__file__).parents[1]))  # for `import fuzz`, and modules beside the tests
    module = importlib.import_module(target if "." in target else f"fuzz.{target}")
    module.warm_up()
    _limit_memory(megabytes)
    _say(ready=True)
    for seed in range(start, stop):
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = module.run_case(seed, Path(folder))
            except Exception:
                _say(failure=traceback.format_exc(limit=-8)[-3000:])
            else:
                _say(outcome=outcome)


if __name__ == "__main__":
    _child(sys.argv[1], *map(int, sys.argv[2:]))
