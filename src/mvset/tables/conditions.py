"""Rows selected by an SQL condition, which sees the columns of a row and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa

from mvset.tables.errors import TableError, quoted

_LOCKED: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": "1",  # a query on several threads does not hear Ctrl-C
    "memory_limit": "1GB",
    "lock_configuration": "true",
}
# Expressions that see only the row: no sub-queries, windows or parameters.
_ROW_WISE = {
    *("COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "FUNCTION"),
    *("CAST", "BETWEEN", "CASE", "COLLATE", "TYPE"),
}
# Functions of something else than the row.
_REFUSED = {
    *("current_setting", "getvariable", "write_log", "sleep_ms", "error", "random", "setseed", "nextval", "currval"),
    *("setval", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "current_query", "current_connection_id", "repeat"),
    *("lpad", "rpad", "range", "generate_series"),
}


class Condition:
    """A condition such as ``grade = 'good' AND flow > 10``; `schema` has the columns that it may use."""

    def __init__(self, text: str, schema: pa.Schema) -> None:
        self.text = text
        self._schema = schema
        ignoring_case = [name.lower() for name in schema.names]
        alike = [name for name in schema.names if ignoring_case.count(name.lower()) > 1]
        if any(re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) for name in alike):
            raise TableError(f"--where: SQL cannot tell the columns {quoted(alike)} apart: rename them.")
        self._check()

    def holds(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether the condition holds, for each row; no where a value is missing."""
        self._connection.register("rows", pa.Table.from_batches([batch]))
        result = self._connection.sql(f"SELECT coalesce((\n{self.text}\n), false) AS holds FROM rows").to_arrow_table()
        if result.num_rows != batch.num_rows:
            raise TableError(f"--where: {self.text!r} is not a condition on one row.")
        return result.column(0).combine_chunks()

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that the condition may use: those whose name is part of it; one at least, to count rows."""
        return [each for each in self._schema if each.name.lower() in self.text.lower()]

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "_schema": self._schema}

    @cached_property
    def _connection(self) -> Any:
        try:
            import duckdb
        except ImportError:
            raise TableError("--where needs one more package: pip install 'mvset[sql]'") from None
        connection = duckdb.connect(config=_LOCKED)
        connection.register("rows", self._schema.empty_table())
        return connection

    def _check(self) -> None:
        import_error = self._connection  # fails here if there is no duckdb
        del import_error
        import duckdb

        try:
            where = self._parsed(self.text)
            others = self._unknown(where)
            if others:
                raise TableError(f"--where: {quoted(sorted(others))} cannot be used in a condition on one row.")
            self._connection.sql(f"SELECT 1 FROM rows WHERE (\n{self.text}\n)").fetchall()  # refuses aggregates
            kind = str(self._connection.sql(f"SELECT (\n{self.text}\n) AS holds FROM rows").types[0])
        except duckdb.Error as error:
            raise TableError(f"--where: {self._said(error)}") from None
        if kind != "BOOLEAN":
            raise TableError(f"--where: {self.text!r} is {kind.lower()}, and not true or false.")

    def _parsed(self, text: str) -> Any:
        """The tree of the condition; fails unless it is one condition and nothing else."""
        trees = []
        for each in (text, "true"):
            query = f"SELECT 1 FROM rows WHERE (\n{each}\n)"
            answer = self._connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
            tree = json.loads(answer[0][0])
            if tree["error"]:
                raise TableError(f"--where: {tree['error_message']}.")
            trees.append(tree)
        where = trees[0]["statements"][0]["node"].get("where_clause")
        for tree in trees:
            tree["statements"][0]["node"].pop("where_clause", None)
        if where is None or _plain(trees[0]) != _plain(trees[1]):
            raise TableError(f"--where: {text!r} is not a single condition.")
        return where

    def _unknown(self, where: Any) -> set[str]:
        """What a condition on one row cannot use."""
        classes = {each["class"] for each in _nodes(where) if "class" in each}
        functions = {each["function_name"].lower() for each in _nodes(where) if "function_name" in each}
        return {each.lower() for each in classes - _ROW_WISE} | (functions & _REFUSED)

    def _said(self, error: Exception) -> str:
        """The message of an error of DuckDB, in one sentence."""
        missing = re.search(r'Referenced column "([^"]*)" not found', str(error))
        if missing:
            text = (
                f" If it is text, write it in single quotes: '{missing[1]}'." if f'"{missing[1]}"' in self.text else ""
            )
            return f"there is no column {missing[1]!r}; there are {quoted(self._schema.names)}.{text}"
        return str(error).splitlines()[0].rstrip(".") + "."


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)


def _plain(tree: Any) -> Any:
    """A tree without positions in the text."""
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items() if key != "query_location"}
    return [_plain(each) for each in tree] if isinstance(tree, list) else tree
