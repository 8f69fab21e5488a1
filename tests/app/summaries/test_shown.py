import json

from mvset.app.summaries.shown import finite_json


def test_nested_nan_and_infinity_are_null():
    value = {"a": float("nan"), "b": [1.0, float("inf"), {"c": (float("-inf"), "x")}], "d": 3, "e": None}
    assert json.loads(finite_json(value, allow_nan=False)) == {
        "a": None, "b": [1.0, None, {"c": [None, "x"]}], "d": 3, "e": None,
    }  # fmt: skip
