"""A target that fails in every way, to test the runner."""

import os
import time
from pathlib import Path

WAYS = ("passes", "raises", "crashes", "hangs", "takes memory", "exits")


def warm_up() -> None:
    """There is nothing to do."""


def run_case(seed: int, folder: Path) -> str:
    """Fail in the way of this seed."""
    assert list(folder.iterdir()) == []
    way = WAYS[seed % len(WAYS)]
    if way == "raises":
        raise KeyError("toy")
    if way == "crashes":
        os.abort()
    if way == "hangs":
        time.sleep(600)
    if way == "takes memory":
        bytearray(1 << 31)
    if way == "exits":
        os._exit(0)
    return way
