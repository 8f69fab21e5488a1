"""The schema of a model file, checked before skops reads it: references that would multiply what is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from mvset.files.archive import DamagedError

_LISTS = frozenset({"ListNode", "TupleNode"})


def check_schema(schema: bytes) -> None:
    """Refuse a schema that reads a member for several objects, or lists in an array that are the same list.

    Files of `save` have neither. Both would take memory many times the size of the file. An object of this library
    without content would be used unchecked: its constructor is what checks it.
    """
    try:
        root = json.loads(schema)
        nodes = list(_nodes(root))
    except (ValueError, RecursionError) as error:  # no JSON, or nested too deeply
        raise DamagedError("its schema is not readable") from error
    if not isinstance(root, dict):
        raise DamagedError("its schema is not readable")
    readers: dict[str, set[Any]] = {}
    for node in nodes:
        loader, member = node.get("__loader__"), node.get("file")
        if isinstance(member, str):
            readers.setdefault(member, set()).add(node.get("__id__", id(node)))
        if loader == "NdArrayNode" and node.get("type") == "json":
            _check_lists(node)
        if loader == "ObjectNode" and str(node.get("__module__")).startswith("mvset.") and not node.get("content"):
            raise DamagedError(f"a {node.get('__class__')} in it has no content")
    for member, ids in readers.items():
        if len(ids) > 1:
            raise DamagedError(f"{member} belongs to several objects")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All JSON objects in a value, itself included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _check_lists(array: dict[str, Any]) -> None:
    ids = Counter(str(node.get("__id__")) for node in _nodes(array.get("content")) if node.get("__loader__") in _LISTS)
    if ids and max(ids.values()) > 1:
        raise DamagedError("an array in it repeats a list")
