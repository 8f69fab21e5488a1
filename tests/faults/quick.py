"""A few cases of every kind that take little time, in one process: those of `make test`."""

import importlib
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from faults import disks, signals, stage, threads, writers

Case = Callable[[random.Random, Path], str]


def _signal(name: str, how: str, rng: random.Random, folder: Path) -> str:
    return signals.disturb(name, how, rng, folder)


def _seeded(kind: str, seed: int, _: random.Random, folder: Path) -> str:
    return str(importlib.import_module(f"faults.{kind}").run_case(seed, folder))


_WRITING = "at a call of writing"
CASES: list[tuple[str, Case]] = [
    *(("signals", partial(_signal, "fit", how)) for how in (_WRITING, _WRITING, "at a call")),
    ("watches", partial(_seeded, "watches", 7)),
    *(("disks", way) for way in (disks._limited, disks._failing, disks._failing)),
    ("permissions", partial(_seeded, "permissions", 8)),
    *(("changes", partial(_seeded, "changes", seed)) for seed in (1,)),
    ("writers", writers._watches),
    ("writers", writers._threads),
    *(("clocks", partial(_seeded, "clocks", seed)) for seed in (0, 3)),
    *(("threads", way) for way in (threads._interrupted, threads._forked, threads._together)),
]


def warm_up() -> None:
    """Import and compile what they need."""
    stage.warm_up(everything=False)


def run_case(seed: int, folder: Path) -> str:
    """The case of this number."""
    kind, case = CASES[seed]
    return f"{kind}: {case(random.Random(seed), folder)}"
