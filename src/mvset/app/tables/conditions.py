"""Rows selected by an SQL condition, which sees the columns of a row and nothing else."""

import json
import re
from typing import Any

import pyarrow as pa

from mvset.app.tables.errors import TableError, optional_package, quoted

_LOCKED: dict[str, Any] = {
    **dict.fromkeys(("enable_external_access", "allow_community_extensions", "allow_persistent_secrets"), "false"),
    **dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false"),
    **{"python_enable_replacements": "false", "lock_configuration": "true", "temp_directory": ""},
    **{"memory_limit": "1GB", "threads": "1"},  # a query on several threads does not hear Ctrl-C
}
# Expressions that see only the row: no sub-queries, windows or parameters.
_ROW_WISE = "COLUMN_REF CONSTANT COMPARISON CONJUNCTION OPERATOR FUNCTION CAST BETWEEN CASE COLLATE TYPE"
_CHANGING = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
_MAX_LENGTH = 100_000  # characters


class ConditionError(TableError):
    """A condition cannot be used; the argument is the problem, without the option of the condition."""

    def __str__(self) -> str:
        return f"--where: {self.args[0]}"


class Condition:
    """A condition such as ``grade = 'good' AND flow > 10``; `schema` has the columns that it may use."""

    def __init__(self, text: str, schema: pa.Schema) -> None:
        duckdb = optional_package("duckdb", "sql", "Selecting rows by a condition")
        self.text, self._schema, self._error = text, schema, duckdb.Error
        ignoring_case = [name.lower() for name in schema.names]
        same = [name for name in schema.names if ignoring_case.count(name.lower()) > 1]
        if any(re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) for name in same):
            raise ConditionError(f"SQL cannot distinguish the columns {quoted(same)}: rename them.")
        self._connection = duckdb.connect(config=_LOCKED)
        self._connection.register("rows", schema.empty_table())
        self._check()

    def holds(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether the condition holds, for each row; no where a value is missing."""
        self._connection.register("rows", pa.Table.from_batches([batch]))
        query = f"SELECT coalesce((\n{self.text}\n), false) AS holds FROM rows"
        try:
            result = self._connection.sql(query).to_arrow_table()
        except self._error as error:
            raise ConditionError(self._said(str(error))) from None
        return result.column(0).combine_chunks()

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that the condition uses."""
        used = {name.lower() for name in self._references}
        return [each for each in self._schema if each.name.lower() in used]

    def _check(self) -> None:
        """Fail unless the text is one condition on the values of a row, the same whenever it is asked."""
        if not self.text.strip():
            raise ConditionError("the condition is empty.")
        if len(self.text) > _MAX_LENGTH:
            raise ConditionError(f"the condition is longer than {_MAX_LENGTH} characters.")
        try:
            around, nodes = self._parsed(self.text)
            if around != self._parsed("true")[0]:
                raise ConditionError(f"{self.text!r} is not a single condition.")
            functions = {each["function_name"] for each in nodes if "function_name" in each}
            others = {each["class"].lower() for each in nodes if "class" in each} - set(_ROW_WISE.lower().split())
            others |= functions & {name for (name,) in self._connection.execute(_CHANGING).fetchall()}
            if others:
                raise ConditionError(f"{quoted(sorted(others))} cannot be used in a condition on one row.")
            self._references = [name for each in nodes for name in each.get("column_names", ())]
            self._connection.sql(f"SELECT 1 FROM rows WHERE (\n{self.text}\n)").fetchall()  # refuses aggregates
            kind = str(self._connection.sql(f"SELECT (\n{self.text}\n) AS holds FROM rows").types[0])
        except RecursionError:
            raise ConditionError("the condition is nested too deeply.") from None
        except self._error as error:
            raise ConditionError(self._said(str(error))) from None
        if kind != "BOOLEAN":
            raise ConditionError(f"{self.text!r} is {kind.lower()}, and not true or false.")

    def _parsed(self, text: str) -> tuple[Any, list[dict[str, Any]]]:
        """The tree of a query without its condition, which is the same for all conditions; and all its nodes."""
        nodes: list[dict[str, Any]] = []

        def visited(node: dict[str, Any]) -> dict[str, Any]:
            nodes.append(node)
            return {key: value for key, value in node.items() if key not in ("where_clause", "query_location")}

        query = f"SELECT 1 FROM rows WHERE (\n{text}\n)"
        answer = self._connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
        tree = json.loads(answer[0][0], object_hook=visited)
        if tree["error"] and tree["error_type"] != "not implemented":  # as it is for other statements
            raise ConditionError(self._said(tree["error_message"]))
        return tree, nodes

    def _said(self, message: str) -> str:
        """The message of an error of DuckDB, in one sentence."""
        if missing := re.search(r'Referenced column "([^"]*)" not found', message):
            text = (
                f" If it is text, write it in single quotes: '{missing[1]}'." if f'"{missing[1]}"' in self.text else ""
            )
            return f"there is no column {missing[1]!r}; there are {quoted(self._schema.names)}.{text}"
        if "expression depth" in message:
            return "the condition is nested too deeply."
        # Without advice to change settings, which cannot be changed here.
        return re.sub(r"^(?:[A-Z]\w+ )+Error: |\. Use TRY.*", "", message.strip().splitlines()[0]).rstrip(".!") + "."
