"""Options that say how tables are read, where guessing is not enough."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mvset.tables.options import FORMAT_NAMES


def _checked_format(name: str | None) -> str | None:
    if name is not None and name not in FORMAT_NAMES:
        raise typer.BadParameter(f"must be one of {', '.join(FORMAT_NAMES)}; got {name!r}.")
    return name


def _checked_separator(separator: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
    separator = named.get(separator or "", separator)
    if separator is not None and len(separator) != 1:
        raise typer.BadParameter(f"must be one character, or tab or space; got {separator!r}.")
    return separator


_PANEL = "Reading tables"

Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Format, if it is not guessed right: {', '.join(FORMAT_NAMES)}.",
        callback=_checked_format,
        rich_help_panel=_PANEL,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Separator of columns of text: a character, tab, or space for any white space.",
        callback=_checked_separator,
        rich_help_panel=_PANEL,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first row has the names of the columns.", rich_help_panel=_PANEL
    ),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Encoding of text, such as latin-1.", rich_help_panel=_PANEL)
]
Na = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="Value that stands for a missing one, such as ERR.", rich_help_panel=_PANEL),
]
SkipRows = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Lines above the table.", rich_help_panel=_PANEL)
]
Comment = Annotated[
    str | None, typer.Option(metavar="MARK", help="Mark before comments, such as #.", rich_help_panel=_PANEL)
]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Sheet of a workbook; the first by default.", rich_help_panel=_PANEL)
]
Query = Annotated[
    str | None,
    typer.Option(metavar="SQL", help="Query to a database that is named as the table.", rich_help_panel=_PANEL),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="Condition on the rows to read, such as \"label = 'normal'\".", rich_help_panel=_PANEL
    ),
]


def reading_options(
    format: str | None,
    separator: str | None,
    header: bool | None,
    encoding: str | None,
    na: list[str] | None,
    skip_rows: int | None,
    comment: str | None,
    sheet: str | None,
    query: str | None,
    remembered: dict[str, Any] | None = None,
) -> Any:
    """The options as one object; `remembered` is how the table of the fit was read."""
    from mvset.tables.options import ReadingOptions

    remembered = remembered or {}
    like = remembered.get("dialect")
    missing = tuple(na or (like or {"numbers": {"missing": ()}})["numbers"]["missing"])
    return ReadingOptions(
        format=format,  # type: ignore[arg-type]
        separator=separator,
        header=header,
        encoding=encoding or remembered.get("encoding"),
        missing=missing,
        skip_rows=skip_rows,
        comment=comment,
        sheet=sheet,
        query=query,
        like=like,
    )
