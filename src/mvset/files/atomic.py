"""Atomic writing: a file is written under a temporary name and renamed when complete, so it is never partial."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_unfinished: dict[Path, int] = {}  # temporary files, and the process that writes them


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, renamed to `path` on success and deleted on failure.

    A symbolic link is kept, and its target replaced. Anything but a regular file, such as a device, is an error.
    """
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "Not a regular file, so it cannot be replaced", str(path))
    # Several threads may write the same file, and so may containers, whose processes have the same numbers.
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    _unfinished[temporary] = os.getpid()
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:  # name the file of the caller, not the temporary one
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        with suppress(OSError):  # a folder that can no longer be written; the error above says so
            temporary.unlink(missing_ok=True)
        _unfinished.pop(temporary, None)


def remove_unfinished() -> None:
    """Delete the temporary files of this process: for one that is stopped in the midst of the code above."""
    for temporary, process in list(_unfinished.items()):
        if process == os.getpid():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        _unfinished.pop(temporary, None)
