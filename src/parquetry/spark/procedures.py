"""`CALL catalog.system.name(…)`: what there is to call, its parameters, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parquetry.errors import UnsupportedError
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.spark import indexes, sync, versions
from parquetry.spark import protocol as p
from parquetry.spark.lake import Lake


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, type in DDL, comment, and default in SQL (None: it must be given)."""

    name: str
    type: str
    comment: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure.

    Attributes:
        name: in the namespace ``system``.
        description: one sentence.
        parameters: in order.
        columns: of the rows it gives, as name and Spark's JSON type.
        run: from the catalog and the arguments (as text; None where not given; `table` as 'database.table') to rows
            of text.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    columns: tuple[tuple[str, str], ...]
    run: Callable[[Lake, dict[str, Any]], list[list[str | None]]]

    @property
    def schema(self) -> dict[str, Any]:
        """Return Spark's JSON of the rows."""
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in self.columns]
        return {"type": "struct", "fields": fields}


def _sync(lake: Lake, arguments: dict[str, Any]) -> list[list[str | None]]:
    table = lake.find(arguments["table"])
    dry_run = arguments["dry_run"] == "true"
    readopt = arguments["readopt"] == "true"
    return sync.synchronise(table, where=arguments["where"], dry_run=dry_run, readopt=readopt)


_TABLE = Parameter("table", "string", "The table, as 'database.table', or 'table' of the current database.")

_WHICH_INDEX = (
    _TABLE,
    Parameter("columns", "array<string>", "Its columns, or", "CAST(NULL AS ARRAY<STRING>)"),
    Parameter("name", "string", "its name.", "NULL"),
)

PROCEDURES = {
    procedure.name: procedure
    for procedure in (
        Procedure(
            "sync",
            "Makes a table agree with the files below its location.",
            (
                _TABLE,
                Parameter(
                    "where", "string", "A condition on partition columns: only these partitions.", "NULL"
                ),
                Parameter("dry_run", "boolean", "Whether to report only.", "false"),
                Parameter(
                    "readopt", "boolean", "Whether to take in again what was taken out on purpose.", "false"
                ),
            ),
            sync.COLUMNS,
            _sync,
        ),
        Procedure(
            "history",
            "Lists the versions of a table that can be read, newest first.",
            (_TABLE,),
            versions.HISTORY,
            versions.call_history,
        ),
        Procedure(
            "rollback",
            "Makes a table what it was in an earlier version, as a new version.",
            (_TABLE, Parameter("version", "bigint", "The version to go back to.")),
            versions.ROLLBACK,
            versions.call_rollback,
        ),
        Procedure(
            "vacuum",
            "Deletes files and records that only old versions of a table need.",
            (
                _TABLE,
                Parameter(
                    "older_than",
                    "timestamp",
                    "Versions that another took the place of before this time go; by default seven days ago.",
                    "CAST(NULL AS TIMESTAMP)",
                ),
                Parameter("dry_run", "boolean", "Whether to report only.", "false"),
            ),
            versions.VACUUM,
            versions.call_vacuum,
        ),
        Procedure(
            "create_partition_index",
            "Makes an index over partition columns, for filters that skip the first.",
            (
                _TABLE,
                Parameter("columns", "array<string>", "Partition columns, the first to look by first."),
                Parameter("name", "string", "Its name; by default that of its columns.", "NULL"),
            ),
            indexes.INDEXES,
            indexes.call_create,
        ),
        Procedure(
            "drop_partition_index",
            "Drops an index over partition columns.",
            _WHICH_INDEX,
            indexes.INDEXES,
            indexes.call_drop,
        ),
        Procedure(
            "rebuild_partition_index",
            "Builds an index over partition columns anew, while the old one is used.",
            _WHICH_INDEX,
            indexes.INDEXES,
            indexes.call_rebuild,
        ),
        Procedure(
            "fsck",
            "Compares what is known of a table with itself and with the files.",
            (_TABLE, Parameter("repair", "boolean", "Whether to put right what can be.", "false")),
            versions.FSCK,
            versions.call_fsck,
        ),
    )
}


def _procedure(name: str) -> Procedure:
    found = PROCEDURES.get(name.lower())
    if found is None:
        raise UnsupportedError(
            f"There is no procedure system.{name}; known are {', '.join(sorted(PROCEDURES))}."
        )
    return found


def listed(_lake: Lake, _q: p.ListProcedures) -> list[str]:
    """Return the names of the procedures."""
    return sorted(PROCEDURES)


def load(_lake: Lake, q: p.LoadProcedure) -> dict[str, Any]:
    """Return a procedure's name, description and parameters."""
    if q.namespace != ["system"]:
        raise UnsupportedError(
            f"Procedures are in the namespace system: CALL {q.catalog}.system.{q.name}(…)."
        )
    procedure = _procedure(q.name)
    parameters = [
        {"name": x.name, "type": x.type, "comment": x.comment, "default": x.default}
        for x in procedure.parameters
    ]
    return {"name": procedure.name, "description": procedure.description, "parameters": parameters}


def call(lake: Lake, q: p.Call) -> dict[str, Any]:
    """Run a procedure."""
    procedure = _procedure(q.name)
    for parameter in procedure.parameters:
        if parameter.default is None and q.arguments.get(parameter.name) is None:
            raise UnsupportedError(
                f"CALL {q.catalog}.system.{procedure.name}: parameter {parameter.name} is NULL, and must be given "
                f"a value of type {parameter.type}. {parameter.comment}"
            )
    table = lake.qualified(q.arguments["table"], q.current_catalog, q.current_namespace)
    before = lake.find(table)
    rows = procedure.run(lake, {**q.arguments, "table": table})
    return {"schema": procedure.schema, "rows": rows, "changed": _changed(before)}


def repair_schema(_lake: Lake, _q: p.RepairSchema) -> dict[str, Any]:
    """Return the columns that MSCK REPAIR TABLE gives."""
    return PROCEDURES["sync"].schema


def repair(lake: Lake, q: p.Repair) -> dict[str, Any]:
    """Run MSCK REPAIR TABLE: what is on disk is added, what is gone is dropped if asked for."""
    before = lake.current(q.table)
    rows = sync.synchronise(before, add=q.add, drop=q.drop)
    return {"schema": PROCEDURES["sync"].schema, "rows": rows, "changed": _changed(before)}


def _changed(before: TableSnapshot) -> list[str] | None:
    """Return the table's database and name if it has another version now: what Spark has cached of it is old."""
    after = before.refresh()
    return [after.database, after.name] if after.version != before.version else None


ANSWERS: dict[type[p.Question], Callable[[Lake, Any], Any]] = {
    p.ListProcedures: listed,
    p.LoadProcedure: load,
    p.Call: call,
    p.RepairSchema: repair_schema,
    p.Repair: repair,
}
