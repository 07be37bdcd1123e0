"""How an operation looks to CALL: its parameters, the columns of its result, and the rows as the bridge reads
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, get_origin

import msgspec

from parquetry.operations import SPARK_TYPES, Argument, Operation
from parquetry.planner.protocol.answers import Parameter, Values
from parquetry.planner.protocol.questions import CallArgument
from parquetry.types import STRING, parse_type, sql_literal

Row: TypeAlias = Sequence[Any]
"""Texts, numbers, truth values, None, and tuples of texts, which become one text."""
Rows: TypeAlias = list[Values]
"""Rows as the bridge reads them. Numbers and timestamps (microseconds) are written in digits."""


def parameters(operation: Operation) -> list[Parameter]:
    """Return the parameters, in order."""
    return [_parameter(argument) for argument in operation.arguments if argument.option.of_call]


def _parameter(argument: Argument) -> Parameter:
    is_list = get_origin(argument.kind) is list
    ddl = "array<string>" if is_list else str(parse_type(SPARK_TYPES.get(argument.kind, "string")))
    null = "NULL" if ddl == "string" else f"CAST(NULL AS {ddl.upper()})"
    default = None if argument.is_required else null if argument.default is None else _sql(argument.default)
    return Parameter(argument.name, ddl, argument.comment, default)


def _sql(default: Any) -> str | None:
    """Return the default of an argument as SQL.

    >>> _sql("it's"), _sql(False)
    ("'it''s'", 'false')
    """
    return sql_literal(STRING, default) if isinstance(default, str) else _text(default)


def converted(operation: Operation, texts: dict[str, CallArgument]) -> dict[str, Any]:
    """Return the arguments of an operation that the bridge has sent."""
    fields = [
        (each.name, each.hint) if each.is_required else (each.name, each.hint, each.default)
        for each in operation.arguments
        if each.option.of_call
    ]
    struct = msgspec.defstruct(operation.name, fields, kw_only=True)
    return msgspec.structs.asdict(msgspec.convert(texts, struct, strict=False))


def result_schema(operation: Operation) -> dict[str, Any]:
    """Return Spark's JSON of the rows."""
    types = operation.result
    return schema_of((shown, types[name]) for name, shown in operation.columns.items())


def result_rows(operation: Operation, records: Iterable[Any]) -> Rows:
    """Return the records of an operation as the bridge reads them."""
    names = tuple(operation.columns)
    return wire_rows([getattr(record, name) for name in names] for record in records)


def schema_of(columns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return Spark's JSON of rows of these columns."""
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns]
    return {"type": "struct", "fields": fields}


def wire_rows(rows: Iterable[Row]) -> Rows:
    """Return rows as the bridge reads them."""
    return [[_text(value) for value in row] for row in rows]


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return value if value is None else str(value)
