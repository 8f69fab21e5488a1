"""Category columns of files: their values, and codes in place of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from mvset.categories import MAX_VALUES, MISSING, Categories, in_order, is_category
from mvset.tables.errors import TableError, exclude_option
from mvset.tables.formats import TableFile
from mvset.tables.numbers import is_number
from mvset.tables.reading import TableReader, is_text

_CURRENCIES = "$€£¥₹ \u00a0"


def category_columns(file: TableFile, columns: Sequence[str], named: Sequence[str]) -> list[str]:
    """The columns that hold categories: those of text, and those that are named."""
    schema = file.schema()
    return [name for name in columns if name in named or is_text(schema.field(name).type)]


@dataclass(frozen=True)
class FoundCategories:
    """The values of category columns, and how many values columns of text have that are no categories."""

    values: dict[str, list[str]]
    too_many: dict[str, int]


def find_categories(
    files: Sequence[TableFile], names: Sequence[str], where: str | None, *, missing: bool
) -> FoundCategories:
    """Read category columns; with `missing`, rows without a value have one of their own."""
    if not names:
        return FoundCategories({}, {})
    reader = TableReader(files, (), names, "note", where=where)
    found: dict[str, set[str]] = {name: set() for name in names}
    gaps = dict.fromkeys(names, False)
    for batch in reader.batches():
        for name in names:
            labels = [files[0].label_of(value) for value in pc.unique(batch.kept.column(name)).to_pylist()]
            gaps[name] = gaps[name] or None in labels
            if len(found[name]) <= MAX_VALUES:
                found[name].update(label for label in labels if label is not None)
    for name, values in found.items():
        _reject_amounts(files[0], name, values)
    too_many = {name: len(values) for name, values in found.items() if not is_category(len(values), reader.n_rows)}
    return FoundCategories(
        {
            name: in_order([*values, *([MISSING] if missing and gaps[name] else [])])
            for name, values in found.items()
            if name not in too_many
        },
        too_many,
    )


def _reject_amounts(file: TableFile, name: str, values: set[str]) -> None:
    """Refuse text that is mostly numbers with the sign of a currency: taken for names, it would be lost."""
    bare = {value: value.strip(_CURRENCIES) for value in values}
    amounts = [value for value, number in bare.items() if number != value and is_number(number, file.numbers)]
    if 2 * len(amounts) > len(values):
        raise TableError(
            f"Column {name!r} of {file.label} holds amounts such as {in_order(amounts)[0]!r}, which are not numbers: "
            f"remove the sign, or exclude the column with {exclude_option([name])}."
        )


def as_categories(features: Sequence[str], values: Mapping[str, Sequence[str]]) -> Categories:
    """The categories of a table with these columns."""
    columns = [j for j, name in enumerate(features) if name in values]
    return Categories(np.array(columns, dtype=np.float64), [list(values[features[j]]) for j in columns], len(features))
