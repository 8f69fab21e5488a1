"""How tables are read, where the user says so; everything else is guessed."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

FormatName = Literal["csv", "json", "ndjson", "parquet", "feather", "excel", "sqlite"]
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)


@dataclass(frozen=True)
class ReadingOptions:
    """Options of reading; None is to be guessed.

    `like` is what an earlier table was read by, as `Dialect.as_json` stores it: a model remembers it, so that later
    tables are read in the same way.
    """

    format: FormatName | None = None
    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    skip_rows: int | None = None
    comment: str | None = None
    sheet: str | None = None
    query: str | None = None
    names: tuple[str, ...] = ()  # of the columns of a table without a header
    date_format: str | None = None
    like: dict[str, Any] | None = None
    columns: tuple[str, ...] = ()  # of a model, which the table must have
    has_units: bool = True  # whether a row of units may stand below the header: not where values have types


GUESS = ReadingOptions()
