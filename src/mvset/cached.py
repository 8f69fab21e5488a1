"""Properties that are computed once.

That of Python 3.11 has a lock for all instances of a class: threads wait for each other, and a process that is forked
meanwhile waits for ever. Later versions have none; and here there is none either.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """A property that is computed when it is first asked for."""

        def __init__(self, function: Any) -> None:
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            # Found there from now on: there is no setter, so the instance's own dictionary comes first.
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
