"""How values of a table are written: for people, in the terminal and on the page, and as JSON."""

import json
from collections.abc import Sequence
from typing import Any


def shown(value: Any) -> str:
    """A value: numbers with four digits, nothing for None, all else as it is."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def shown_range(normal: tuple[Any, Any] | None) -> str:
    """The lowest and the highest value that are normal; nothing where they are not known."""
    return "" if normal is None else f"{shown(normal[0])} to {shown(normal[1])}"


def shown_values(values: Sequence[Any]) -> str:
    """One or two values."""
    return " and ".join(map(shown, values))


def finite_json(value: Any, **options: Any) -> str:
    """Return a value as JSON, with null for NaN and infinity, since JSON has neither, and text for unknown types."""
    return json.dumps(json.loads(json.dumps(value, default=str), parse_constant=lambda _: None), **options)
