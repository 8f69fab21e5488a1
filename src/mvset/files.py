"""Files are written aside and renamed: at their place there is the old one or the whole new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path to write to, in the same folder; renamed to `path` at the end, removed when something goes wrong."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
