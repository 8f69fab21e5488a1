"""JSON of values that it cannot represent."""

import json
from typing import Any


def finite_json(value: Any, **options: Any) -> str:
    """Return a value as JSON, with null for NaN and infinity, since JSON has neither, and text for unknown types."""
    return json.dumps(json.loads(json.dumps(value, default=str), parse_constant=lambda _: None), **options)
