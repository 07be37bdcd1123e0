"""CALL, MSCK REPAIR TABLE and ANALYZE TABLE: the names, parameters and results of procedures.

ANALYZE TABLE shows the statistics of tables. Every commit keeps them; there is no computation.

For CALL, an operation has parameters, columns of its result, and rows as the bridge reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, get_origin

import msgspec

from parquetry.adoption import SyncOptions, synchronise
from parquetry.ddl import procedure_answer
from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name, part_text
from parquetry.metastore import TableSnapshot
from parquetry.operations import OPERATIONS, SPARK_TYPES, Argument, Operation
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.answers import Parameter, Values
from parquetry.planner.protocol.questions import CallArgument
from parquetry.progress import progress_bar
from parquetry.texts import quantity
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


def _operation(name: str, catalog: str) -> Operation:
    found = OPERATIONS.get(name.lower())
    if found is None:
        known = f"known are {', '.join(sorted(OPERATIONS))}."
        answer = procedure_answer(name, part_text(catalog))
        raise UnsupportedError(f"There is no procedure system.{name}: {answer or known}")
    return found


def listed(_lake: Lake, _q: questions.ListProcedures) -> answers.NameList:
    """Return the names of the procedures."""
    return answers.NameList(sorted(OPERATIONS))


def load(_lake: Lake, q: questions.LoadProcedure) -> answers.ProcedureSignature:
    """Return a procedure's name, description and parameters."""
    operation = _operation(q.name, q.catalog)
    if q.namespace != ["system"]:
        raise UnsupportedError(
            f"Procedures are in the namespace system: CALL {q.catalog}.system.{q.name}(…)."
        )
    return answers.ProcedureSignature(operation.name, operation.title, parameters(operation))


def call(lake: Lake, q: questions.Call) -> answers.Called:
    """Run a procedure."""
    operation = _operation(q.name, q.catalog)
    for parameter in parameters(operation):
        if parameter.default is None and q.arguments.get(parameter.name) is None:
            raise UnsupportedError(
                f"CALL {q.catalog}.system.{operation.name}: parameter {parameter.name} is NULL, and must be given "
                f"a value of type {parameter.type}. {parameter.comment}"
            )
    name = q.arguments.get("table")
    if not isinstance(name, str):
        return answers.Called(result_schema(operation), _rows(lake, operation, q.arguments), None)
    table = lake.qualified(name, q.current_catalog, q.current_namespace)
    before = lake.find(table)
    rows = _rows(lake, operation, {**q.arguments, "table": table})
    return answers.Called(result_schema(operation), rows, _changed(before))


def _rows(lake: Lake, operation: Operation, texts: dict[str, questions.CallArgument]) -> Rows:
    """Run an operation with arguments as the bridge sends them."""
    arguments = converted(operation, texts)
    if operation.changes and not arguments.get("dry_run", False) and arguments.get("repair", True):
        lake.metastore.require_owned()  # before any work
    return result_rows(operation, operation.run(lake, **arguments))


def repair_schema(_lake: Lake, _q: questions.RepairSchema) -> answers.Schema:
    """Return the columns that MSCK REPAIR TABLE gives."""
    return answers.Schema(result_schema(OPERATIONS["sync"]))


def repair(lake: Lake, q: questions.Repair) -> answers.Called:
    """Run MSCK REPAIR TABLE: add what is on disk, and drop what is missing there if the statement says so."""
    sync, before = OPERATIONS["sync"], lake.current(q.table)
    with progress_bar() as progress:
        differences = synchronise(before, lake.engine, SyncOptions(add=q.add, drop=q.drop), progress)
    return answers.Called(result_schema(sync), result_rows(sync, differences), _changed(before))


def _changed(before: TableSnapshot) -> list[str] | None:
    """Return the table's database and name if its version changed, so that Spark drops its cached data."""
    after = before.refresh()
    return [after.database, after.name] if after.version != before.version else None


_RESULT_SCHEMA = schema_of(
    (
        ("table", "string"),
        ("partitions", "long"),
        ("files", "long"),
        ("rows", "long"),
        ("bytes", "long"),
        ("detail", "string"),
    )
)
_NOTHING_TO_COMPUTE = "Every commit keeps the statistics: nothing was to be computed."


def _analyze(lake: Lake, q: questions.Analyze) -> answers.Called:
    """Return the statistics of tables, a row each.

    Raises:
        ColumnNotFoundError: a column is named that the table does not have.
        UnsupportedError: PARTITION names one that is no partition column.
    """
    rows = []
    for name in q.names:
        table = lake.metastore.table(lake.database(q.namespace), name)
        for column in (*q.columns, *q.partition_columns):
            table.metadata.column(column)
        for column in q.partition_columns:
            if table.metadata.column(column).name not in table.metadata.partition_by:
                raise UnsupportedError(
                    f"ANALYZE TABLE {lake.full_name(table)} PARTITION: {column} is no partition column; those are "
                    f"{', '.join(table.metadata.partition_by) or 'none'}."
                )
        totals = table.totals
        unknown = (
            f" The rows of {quantity(totals.uncounted, 'partition')} are not known."
            if totals.uncounted
            else ""
        )
        shown = join_name((lake.name, table.database, table.name))
        rows.append(
            (shown, totals.partitions, totals.files, totals.rows, totals.bytes, _NOTHING_TO_COMPUTE + unknown)
        )
    return answers.Called(_RESULT_SCHEMA, wire_rows(rows), None)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.Analyze: _analyze,
    questions.ListProcedures: listed,
    questions.LoadProcedure: load,
    questions.Call: call,
    questions.RepairSchema: repair_schema,
    questions.Repair: repair,
}
