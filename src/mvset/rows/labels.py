"""Labels of categories and strata as text: one rule, however a label is stored.

- A whole number has no decimals: 1, 1.0 and "1.0" are "1". Text such as "007" stays as it is.
- Any other number is the shortest text that reads back as the number. A number that fits float32 exactly is written
  with the digits of float32, so 0.1 in float32 and 0.1 in float64 are both "0.1".
- A truth value is "True" or "False", and so are the words true and false in text.
- Text loses the white space around it.
- A label is missing if it is None, NaN, NaT, NA, null, masked or blank text.
"""

import re
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.values import Indices

_WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))\.0+")
_TRUTH = {"true": "True", "false": "False"}


def label_text(value: Any) -> str | None:
    """Return the text of a label; None if it is missing."""
    if hasattr(value, "as_py"):  # a scalar of Arrow
        value = value.as_py()
    if _is_missing(value):
        return None
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float | np.floating | Decimal):
        return _number_text(value)
    text = str(value).strip()
    if whole := _WHOLE.fullmatch(text):
        return str(int(whole[1]))
    return _TRUTH.get(text.lower(), text) or None


def distinct_labels(column: Any) -> tuple[list[str | None], Indices]:
    """Return the texts of the distinct values of a list or an Arrow array, and the place of each row among them."""
    if hasattr(column, "dictionary_encode"):
        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        encoded = whole if hasattr(whole, "dictionary") else whole.dictionary_encode()
        texts = [*map(label_text, encoded.dictionary.to_pylist()), *([None] if encoded.null_count else [])]
        return texts, np.asarray(encoded.indices.fill_null(len(texts) - 1)).astype(np.intp)
    places: dict[Any, int] = {}  # 1 and True are equal as keys, so the type is part of the key
    rows = [places.setdefault((type(value), value), len(places)) for value in column]
    return [label_text(value) for _, value in places], np.array(rows, dtype=np.intp)


def label_texts(column: Any) -> NDArray[np.object_]:
    """Return the texts of the labels of a list or an Arrow array; None where a label is missing."""
    texts, rows = distinct_labels(column)
    return np.asarray(np.array(texts, dtype=object)[rows])


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | Decimal | np.generic) and bool(value != value)


def _number_text(value: Any) -> str:
    if np.isfinite(float(value)) and value == int(value):
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    single = np.float32(value)
    return str(single if single == value else float(value))
