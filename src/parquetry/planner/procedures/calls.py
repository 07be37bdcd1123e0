"""CALL and MSCK REPAIR TABLE: the names, parameters and results of procedures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.adoption import SyncOptions, synchronise
from parquetry.ddl import procedure_answer
from parquetry.errors import UnsupportedError
from parquetry.identifiers import part_text
from parquetry.metastore import TableSnapshot, require_table
from parquetry.operations import OPERATIONS, Operation
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.signature import Rows, converted, parameters, result_rows, result_schema
from parquetry.planner.procedures.transactions import NEW, session_transaction, transaction_operation
from parquetry.planner.protocol import answers, questions
from parquetry.progress import progress_bar


def _operation(lake: Lake, name: str, catalog: str) -> Operation:
    operation = transaction_operation(lake, name.lower()) or OPERATIONS.get(name.lower())
    if operation is None:
        known = f"known are {', '.join(sorted({*OPERATIONS, *NEW}))}."
        answer = procedure_answer(name, part_text(catalog))
        raise UnsupportedError(f"There is no procedure system.{name}: {answer or known}")
    return operation


def listed(_lake: Lake, _q: questions.ListProcedures) -> answers.NameList:
    """Return the names of the procedures."""
    return answers.NameList(sorted({*OPERATIONS, *NEW}))


def load(lake: Lake, q: questions.LoadProcedure) -> answers.ProcedureSignature:
    """Return a procedure's name, description and parameters."""
    operation = _operation(lake, q.name, q.catalog)
    if q.namespace != ["system"]:
        raise UnsupportedError(
            f"Procedures are in the namespace system: CALL {q.catalog}.system.{q.name}(…)."
        )
    return answers.ProcedureSignature(operation.name, operation.title, parameters(operation))


def call(lake: Lake, q: questions.Call) -> answers.Called:
    """Run a procedure."""
    operation = _operation(lake, q.name, q.catalog)
    for parameter in parameters(operation):
        if parameter.default is None and q.arguments.get(parameter.name) is None:
            raise UnsupportedError(
                f"CALL {q.catalog}.system.{operation.name}: parameter {parameter.name} is NULL, and must be given "
                f"a value of type {parameter.type}. {parameter.comment}"
            )
    name = q.arguments.get("table")
    if not isinstance(name, str) or q.folder is not None:
        folder = {} if q.folder is None else {"path": q.folder}
        rows = _rows(lake, operation, {**q.arguments, **folder})
        return answers.Called(result_schema(operation), rows, None, session_transaction(operation, rows))
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
    sync, before = OPERATIONS["sync"], require_table(lake.current(q.table))
    with progress_bar() as progress:
        differences = synchronise(before, lake.engine, SyncOptions(add=q.add, drop=q.drop), progress)
    return answers.Called(result_schema(sync), result_rows(sync, differences), _changed(before))


def _changed(before: TableSnapshot) -> list[str] | None:
    """Return the table's database and name if its version changed, so that Spark drops its cached data."""
    after = before.refresh()
    return [after.database, after.name] if after.version != before.version else None


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.ListProcedures: listed,
    questions.LoadProcedure: load,
    questions.Call: call,
    questions.RepairSchema: repair_schema,
    questions.Repair: repair,
}
