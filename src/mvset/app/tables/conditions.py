"""Rows selected by an SQL condition, which sees the columns of a row and nothing else."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mvset.app.tables.errors import TableError, quoted

_LOCKED: dict[str, Any] = {
    **dict.fromkeys(("enable_external_access", "allow_community_extensions", "allow_persistent_secrets"), "false"),
    **dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false"),
    **{"python_enable_replacements": "false", "lock_configuration": "true", "temp_directory": ""},
    **{"memory_limit": "1GB", "threads": "1"},  # a query on several threads does not hear Ctrl-C
}
# Expressions that see only the row: no sub-queries, windows or parameters.
_ROW_WISE = "COLUMN_REF CONSTANT COMPARISON CONJUNCTION OPERATOR FUNCTION CAST BETWEEN CASE COLLATE TYPE"
# Functions of the values of a row, and of the time; none that reads anything else, or makes much out of little.
_FUNCTIONS = """
    + - * / // % ^ ** & | ~ << >> @ || ^@ ! add subtract multiply divide mod fmod pow power xor abs sign round floor
    ceil ceiling trunc sqrt cbrt exp ln log log2 log10 sin cos tan asin acos atan atan2 degrees radians pi greatest
    least isnan isinf isfinite even ~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape
    regexp_matches regexp_full_match regexp_extract contains starts_with prefix ends_with suffix lower lcase upper
    ucase trim ltrim rtrim length len strlen substr substring left right replace concat position strpos instr
    split_part reverse strip_accents ascii unicode levenshtein jaccard hamming now today current_date
    current_timestamp get_current_timestamp current_localtimestamp date_part datepart date_trunc datetrunc date_diff
    datediff date_sub datesub date_add age epoch epoch_ms year quarter month week weekofyear day dayofmonth dayofweek
    dayofyear weekday isodow isoyear yearweek hour minute second millisecond dayname monthname last_day make_date
    make_time make_timestamp to_timestamp strptime try_strptime to_years to_months to_weeks to_days to_hours
    to_minutes to_seconds to_milliseconds to_microseconds timezone ifnull nullif coalesce if list_value list_contains
    array_extract list_extract struct_extract row struct_pack
"""
_TIME_WORDS = {"current_date", "current_timestamp", "localtimestamp"}  # functions without parentheses
_MAX_LENGTH = 100_000  # characters


class ConditionError(TableError):
    """A condition cannot be used; the argument is the problem, without the option of the condition."""

    def __str__(self) -> str:
        return f"--where: {self.args[0]}"


class Condition:
    """A condition such as ``grade = 'good' AND flow > 10``; `schema` has the columns that it may use."""

    def __init__(self, text: str, schema: pa.Schema) -> None:
        try:
            import duckdb
        except ImportError:
            raise ConditionError("conditions need one more package: pip install 'mvset[sql]'") from None
        self.text = text
        self._schema, self._error = schema, duckdb.Error
        self._references: list[list[str]] = []  # to columns; parts of a name with points
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
        if result.num_rows != batch.num_rows:
            raise ConditionError(f"{self.text!r} is not a condition on one row.")
        return result.column(0).combine_chunks()

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that the condition uses."""
        used = {name.lower() for names in self._references for name in names}
        return [each for each in self._schema if each.name.lower() in used]

    def _check(self) -> None:
        if not self.text.strip():
            raise ConditionError("the condition is empty.")
        if len(self.text) > _MAX_LENGTH:
            raise ConditionError(f"the condition is longer than {_MAX_LENGTH} characters.")
        try:
            self._check_parts(self._parsed())
            self._connection.sql(f"SELECT 1 FROM rows WHERE (\n{self.text}\n)").fetchall()  # refuses aggregates
            kind = str(self._connection.sql(f"SELECT (\n{self.text}\n) AS holds FROM rows").types[0])
        except RecursionError:
            raise ConditionError("the condition is nested too deeply.") from None
        except self._error as error:
            raise ConditionError(self._said(str(error))) from None
        if kind != "BOOLEAN":
            raise ConditionError(f"{self.text!r} is {kind.lower()}, and not true or false.")

    def _parsed(self) -> Any:
        """The tree of the condition; fails unless it is one condition and nothing else."""
        where, others = [], []
        for each in (self.text, "true"):
            query = f"SELECT 1 FROM rows WHERE (\n{each}\n)"
            answer = self._connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
            tree = json.loads(answer[0][0], object_hook=_without_place)
            if tree["error"] and tree["error_type"] != "not implemented":  # as it is for other statements
                raise ConditionError(self._said(tree["error_message"]))
            where.append(None if tree["error"] else tree["statements"][0]["node"].pop("where_clause", None))
            others.append(tree)
        if where[0] is None or others[0] != others[1]:
            raise ConditionError(f"{self.text!r} is not a single condition.")
        return where[0]

    def _check_parts(self, where: Any) -> None:
        """Fail unless the condition consists of columns of the table, values, operators and functions of these."""
        nodes = list(_nodes(where))
        functions = {each["function_name"].lower() for each in nodes if "function_name" in each}
        others = {each["class"].lower() for each in nodes if "class" in each and each["class"] not in _ROW_WISE.split()}
        if others := others | (functions - set(_FUNCTIONS.split())):
            raise ConditionError(f"{quoted(sorted(others))} cannot be used in a condition on one row.")
        self._references = [each["column_names"] for each in nodes if each.get("class") == "COLUMN_REF"]
        known = {name.lower() for name in self._schema.names}
        for names in self._references:
            first = names[1] if len(names) > 1 and names[0].lower() == "rows" else names[0]
            if first.lower() not in known and (len(names) > 1 or first.lower() not in _TIME_WORDS):
                raise ConditionError(self._no_column(first))

    def _no_column(self, name: str) -> str:
        text = f" If it is text, write it in single quotes: '{name}'." if f'"{name}"' in self.text else ""
        return f"there is no column {name!r}; there are {quoted(self._schema.names)}.{text}"

    def _said(self, message: str) -> str:
        """The message of an error of DuckDB, in one sentence."""
        missing = re.search(r'Referenced column "([^"]*)" not found', message)
        if missing:
            return self._no_column(missing[1])
        if "expression depth" in message:
            return "the condition is nested too deeply."
        said = re.sub(r"^(?:[A-Z]\w+ )+Error: ", "", message.strip().splitlines()[0])
        said = re.sub(r"\. Use TRY.*", "", said)  # settings cannot be changed here
        return said.rstrip(".!") + "."


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)


def _without_place(node: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != "query_location"}
