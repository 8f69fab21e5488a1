"""Files are written aside and renamed: at their place there is the old one or the whole new one, never a part."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path to write to, in the same folder; renamed to `path` at the end, removed when something goes wrong.

    A link stays, and the file that it points to is replaced; what is no file, such as a device, is left alone.
    """
    place = path.resolve()
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "This is not a file that can be replaced", str(path))
    aside = place.with_name(f".{place.name}.{os.getpid()}.partial")
    try:
        yield aside
        os.replace(aside, place)
    except OSError as error:  # about the file that the caller knows
        if error.errno is None or error.filename not in (None, str(aside)):
            raise
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        aside.unlink(missing_ok=True)
