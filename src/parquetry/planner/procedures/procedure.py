"""Define a procedure: its name, its typed and described arguments, and the rows in its result.

A procedure's arguments are a struct. Each field is a parameter of CALL: the annotation has its type and its
comment, and the default is the parameter's default. `CALL lake.system.vacuum('db.t', dry_run => true)`
arrives as `Vacuum(table='db.t', dry_run=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NewType, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from parquetry.planner.lake import Lake
from parquetry.planner.protocol.answers import Parameter, Values

Row: TypeAlias = Sequence[str | int | float | bool | None]
Rows: TypeAlias = list[Values]
"""Rows as the bridge reads them. Numbers and timestamps (microseconds) are written in digits."""
Timestamp = NewType("Timestamp", int)
"""Microseconds since the epoch."""

_SQL_TYPES: dict[Any, tuple[str, str]] = {
    str: ("string", "NULL"),
    int: ("bigint", "CAST(NULL AS BIGINT)"),
    bool: ("boolean", "CAST(NULL AS BOOLEAN)"),
    float: ("double", "CAST(NULL AS DOUBLE)"),
    Timestamp: ("timestamp", "CAST(NULL AS TIMESTAMP)"),
    list: ("array<string>", "CAST(NULL AS ARRAY<STRING>)"),
}


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a procedure about a table.

    Attributes:
        table: as ``database.table``. The session completes a shorter name.
    """

    table: Annotated[str, "The table, as 'database.table', or 'table' of the current database."]


A = TypeVar("A", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Procedure(Generic[A]):
    """A procedure.

    Attributes:
        name: in the namespace ``system``.
        description: one sentence.
        arguments: the struct of its arguments.
        columns: of the rows in its result, as name and Spark's JSON type.
        run: from the catalog and the arguments to rows.
        by_engine: whether it needs an engine, so that `Catalog` has no method for it.
        changes: whether it changes the warehouse, unless its arguments say otherwise.
    """

    name: str
    description: str
    arguments: type[A]
    columns: tuple[tuple[str, str], ...]
    run: Callable[[Lake, A], Iterable[Row]]
    by_engine: bool = False
    changes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Return Spark's JSON of the rows."""
        return schema_of(self.columns)

    @property
    def parameters(self) -> list[Parameter]:
        """Return the parameters, in order."""
        hints = get_type_hints(self.arguments, include_extras=True)
        return [
            _parameter(field, *get_args(hints[field.name])[:2])
            for field in msgspec.structs.fields(self.arguments)
        ]

    def call(self, lake: Lake, texts: dict[str, Any]) -> Rows:
        """Run the procedure.

        Args:
            lake: the catalog.
            texts: the arguments as the bridge sends them: text, lists of text, None.
        """
        arguments = msgspec.convert(texts, self.arguments, strict=False)
        if self.changes and not getattr(arguments, "dry_run", False) and getattr(arguments, "repair", True):
            lake.metastore.require_owned()  # before any work
        return wire_rows(self.run(lake, arguments))


def schema_of(columns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return Spark's JSON of rows of these columns."""
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns]
    return {"type": "struct", "fields": fields}


def wire_rows(rows: Iterable[Row]) -> Rows:
    """Return rows as the bridge reads them."""
    return [[_text(value) for value in row] for row in rows]


def _text(value: str | int | float | bool | None) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None else str(value)


def _parameter(field: msgspec.structs.FieldInfo, type: Any, comment: str) -> Parameter:
    """Return the parameter of a field, whose type may be `X | None`."""
    kind = (
        next((part for part in get_args(type) if part is not None.__class__), type)
        if _optional(type)
        else type
    )
    ddl, null = _SQL_TYPES[get_origin(kind) or kind]
    if field.required:
        return Parameter(field.name, ddl, comment, None)
    default = _text(field.default)
    return Parameter(field.name, ddl, comment, null if default is None else default)


def _optional(type: Any) -> bool:
    return None.__class__ in get_args(type)
