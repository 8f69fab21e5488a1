"""Errors that users of a watch can fix."""

from __future__ import annotations


class WatchError(ValueError):
    """The watch cannot go on; the message says why and what to do."""
