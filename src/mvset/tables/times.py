"""The column that says when rows were recorded."""

from __future__ import annotations

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvset.summaries.timeline import Kind, Times
from mvset.tables.errors import TableError
from mvset.tables.reading import complete_column


def row_times(kept: pa.RecordBatch, name: str) -> Times:
    """Values of a time column as numbers: microseconds since 1970 for dates, in whatever unit they are stored."""
    column, kind = complete_column(kept, name), "number"
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = _parsed(column)
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            zone = getattr(column.type, "tz", None)
            column, kind = pc.cast(column, pa.timestamp("us", zone), safe=False), "date UTC" if zone else "date"
        if pa.types.is_temporal(column.type):
            column = pc.cast(column, pa.int64())
        times = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"--time: column {name!r} holds neither numbers nor dates like 2026-01-31 23:59:59 ({error})."
        ) from None
    if not np.isfinite(times).all():
        raise TableError(f"--time: column {name!r} has missing or infinite values: it must say something of every row.")
    checked_kind: Kind = kind  # type: ignore[assignment]
    return Times(times, checked_kind)


def _parsed(column: pa.Array) -> pa.Array:
    """Text as numbers, or else as dates, with or without a time zone."""
    for kind in (pa.float64(), pa.timestamp("us")):
        with contextlib.suppress(pa.ArrowInvalid):
            return pc.cast(column, kind)
    return pc.cast(column, pa.timestamp("us", tz="UTC"))
