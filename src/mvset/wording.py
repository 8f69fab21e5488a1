"""Grammar of sentences that are put together."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: float, noun: str) -> str:
    """A number and what it counts: 1 row, 2 rows."""
    text = f"{number:.0f}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def are(number: int) -> str:
    """The verb to so many things."""
    return "is" if number == 1 else "are"


def columns_named(names: Iterable[object]) -> str:
    """Column a, or columns a, b."""
    listed = [str(name) for name in names]
    return f"Column{'' if len(listed) == 1 else 's'} {', '.join(listed)}"
