"""Mutation testing: small changes to the code, one at a time, each of which some test should notice.

A seeded sample of mutants of each package is drawn. Every mutant is written into a copy of the project, and the tests
that run its line are run on it, the quickest first, until one fails. A mutant that runs into the time limit, or that
does not even load, is killed as well. Equivalent mutants, which no test can kill, count as survivors.

Own code, because the tools at hand start a new process for each mutant, which here costs more than most tests: a child
is forked from a parent that has loaded numpy, scipy, scikit-learn, numba and pytest, but not mvset.
"""

import argparse
import csv
import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mutations import Mutation, mutations

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = ("calibration", "volume", "bandwidth", "inference")
TESTED_BY = (
    "tests/estimators/*.py",
    "tests/files/test_checked_parts.py",
    "tests/metrics/*.py",
    "tests/app/summaries/*.py",
)
OTHER_TESTS = 10.0  # seconds: of tests outside the package, the quickest
LOADED = ("hypothesis", "matplotlib.pyplot", "numba", "scipy.stats", "sklearn.svm", "sklearn.utils.estimator_checks")
FORK = multiprocessing.get_context("fork")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0", "--no-header")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of plugins that the parent has loaded


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    package: str
    file: str
    mutation: Mutation


def mutants(package: str) -> list[Mutant]:
    """All mutants of a package, in the order of its files."""
    paths = sorted((PROJECT / "src/mvset" / package).glob("*.py"))
    return [
        Mutant(package, str(path.relative_to(PROJECT)), each) for path in paths for each in mutations(path.read_text())
    ]


class Recorder:
    """A plugin of pytest: which lines of the packages each test runs, also in its fixtures, and for how long."""

    def __init__(self, root: Path) -> None:
        self.folder = str(root / "src/mvset") + os.sep
        self.lines: dict[str, set[str]] = {}
        self.fixtures: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.into: set[str] = set()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        """Tracer of functions, for `sys.settrace`."""
        name = frame.f_code.co_filename
        if not name.startswith(self.folder) or name[len(self.folder) :].partition(os.sep)[0] not in PACKAGES:
            return None
        short = name[len(self.folder) :]

        def each(frame: Any, event: str, argument: Any) -> Any:
            self.into.add(f"{short}:{frame.f_lineno}")
            return each

        return each(frame, event, argument)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Lines of a fixture count for all tests that use it."""
        before, self.into = self.into, self.fixtures.setdefault(fixturedef.argname, set())
        try:
            return (yield)
        finally:
            self.into = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Trace one test."""
        self.into, start = self.lines.setdefault(item.nodeid, set()), time.perf_counter()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.seconds[item.nodeid] = time.perf_counter() - start
            for name in getattr(item, "fixturenames", ()):
                self.lines[item.nodeid] |= self.fixtures.get(name, set())


class Chosen:
    """A plugin of pytest: run the tests given, in their order; remember the first that fails."""

    def __init__(self, order: list[str]) -> None:
        self.rank = {name: i for i, name in enumerate(order)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Choose and sort."""
        items[:] = sorted((item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    pytest_collectreport = pytest_runtest_logreport


def in_child(work: Any, limit: float) -> Any:
    """The result of a function in a forked child; "timeout" if it takes more CPU time, "died" if it crashes."""
    ours, theirs = FORK.Pipe(duplex=False)

    def run() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))  # other work does not make a test slow
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        theirs.send(work())
        theirs.close()
        os._exit(0)

    child = FORK.Process(target=run)
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(10.0 * limit) else "timeout"
    except EOFError:
        child.join()
        return "timeout" if child.exitcode == -signal.SIGXCPU else "died"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.kill()
        child.join()


def start_in(root: Path) -> None:
    """Let the child use the copy, and nothing else."""
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root / "src")
    sys.path[:] = [str(root / "src"), *(each for each in sys.path if not each.endswith(f"{os.sep}src"))]
    sys.argv = ["pytest"]


def measured(root: Path, kept: Path) -> dict[str, dict[str, Any]]:
    """For each test its seconds and the lines it runs; measured once for each file of tests, and kept."""
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((root / "src").rglob("*.py"))))
    known = json.loads(kept.read_text()) if kept.exists() else {}
    patterns = [*(f"{top}/{package}/*.py" for top in ("tests", "src/mvset") for package in PACKAGES), *TESTED_BY]
    found: dict[str, dict[str, Any]] = {}
    for path in (path for pattern in patterns for path in sorted(root.glob(pattern))):
        key = hashlib.sha256(sources.digest() + str(path.relative_to(root)).encode() + path.read_bytes()).hexdigest()
        if key not in known:

            def record(path: Path = path) -> Any:
                start_in(root)
                recorder = Recorder(root)
                code = pytest.main([*OPTIONS, str(path)], plugins=[recorder])
                return int(code), {n: [recorder.seconds[n], sorted(recorder.lines[n])] for n in recorder.seconds}

            answer = in_child(record, 600.0)
            if isinstance(answer, str) or answer[0] not in (0, 5):  # passed, or without tests
                raise SystemExit(f"{path} fails without any mutant.")
            known[key] = answer[1]
            kept.write_text(json.dumps(known))
        found |= {name: {"seconds": s, "lines": set(lines)} for name, (s, lines) in known[key].items()}
    return found


def tests_of(mutant: Mutant, tests: dict[str, dict[str, Any]]) -> list[str]:
    """The tests that run the mutant: those of its package first, of each file the quickest first."""
    name = mutant.file.removeprefix("src/mvset/")
    wanted = {f"{name}:{line}" for line in mutant.mutation.lines}

    def runs(test: str) -> bool:
        lines = tests[test]["lines"]
        return not lines.isdisjoint(wanted) if wanted else any(line.startswith(f"{name}:") for line in lines)

    def by_file(test: str) -> tuple[str, float]:  # a fixture of a file is made once
        return test.partition("::")[0], tests[test]["seconds"]

    own = f"tests/{mutant.package}/test_{Path(name).stem}.py"
    near = [test for test in tests if test.startswith(own) or (mutant.package in test.split("/") and runs(test))]
    near.sort(key=lambda test: (tests[test]["seconds"] > 1.0, not test.startswith(own), *by_file(test)))
    far, left = [], OTHER_TESTS
    for test in sorted(set(tests).difference(near), key=lambda test: tests[test]["seconds"]):
        left -= tests[test]["seconds"] if runs(test) else 0.0
        far += [test] if runs(test) and left > 0.0 else []
    return near + sorted(far, key=by_file)


def outcome(mutant: Mutant, root: Path, tests: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Killed, timeout or survived; and by which test."""
    order = tests_of(mutant, tests)
    path, seconds = root / mutant.file, sum(tests[test]["seconds"] for test in order)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()

    def run() -> tuple[int, str]:
        sys.dont_write_bytecode = True  # or the next mutant of the same second and length would be this one
        start_in(root)
        chosen = Chosen(order)
        code = pytest.main([*OPTIONS, *dict.fromkeys(test.partition("::")[0] for test in order)], plugins=[chosen])
        return int(code), chosen.failed

    if not order:
        return "survived", "no test runs it"
    try:
        path.write_text(mutant.mutation.source)
        answer = in_child(run, 20.0 + 2.0 * seconds)
    finally:
        shutil.copy2(PROJECT / mutant.file, path)
    if answer in ("timeout", "died"):
        return ("timeout", "") if answer == "timeout" else ("killed", "crash")
    code, failed = answer
    return ("survived", "") if code == 0 else ("killed", failed or "does not load")


def main() -> None:
    """Draw, run, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=50, help="mutants of each package (default: 50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", choices=PACKAGES, action="append", help="only this one; may be repeated")
    parser.add_argument("--out", type=Path, default=PROJECT / "docs/mutants.csv")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir(), "mvset-tests-by-line.json"))
    options = parser.parse_args()
    for module in LOADED:
        import_module(module)
    with tempfile.TemporaryDirectory(prefix="mvset-mutants-") as folder, options.out.open("w", newline="") as file:
        root = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(PROJECT / name, root / name)
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy2(PROJECT / name, root / name)
        tests = measured(root, options.kept)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["package", "file", "line", "description", "outcome", "killed by"])
        for package in options.package or PACKAGES:
            possible = mutants(package)
            drawn = random.Random(f"{options.seed} {package}").sample(possible, min(options.sample, len(possible)))
            counts = {"killed": 0, "timeout": 0, "survived": 0}
            for mutant in sorted(drawn, key=lambda each: (each.file, each.mutation.line, each.mutation.change)):
                result, by = outcome(mutant, root, tests)
                counts[result] += 1
                table.writerow([package, mutant.file, mutant.mutation.line, mutant.mutation.change, result, by])
                file.flush()
            killed = (counts["killed"] + counts["timeout"]) / max(len(drawn), 1)
            numbers = ", ".join(f"{number} {name}" for name, number in counts.items())
            print(f"{package}: {numbers} of {len(drawn)} drawn from {len(possible)}: {killed:.0%} killed", flush=True)


if __name__ == "__main__":
    main()
