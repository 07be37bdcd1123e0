"""CALL and MSCK REPAIR TABLE: the names, parameters and results of procedures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.adoption import SyncOptions, synchronise
from parquetry.ddl import procedure_answer
from parquetry.errors import UnsupportedError
from parquetry.identifiers import part_text
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.procedures import PROCEDURES, sync as sync_procedure
from parquetry.planner.procedures.procedure import Procedure, wire_rows
from parquetry.planner.protocol import answers, questions
from parquetry.progress import progress_bar


def _procedure(name: str, catalog: str) -> Procedure[Any]:
    found = PROCEDURES.get(name.lower())
    if found is None:
        known = f"known are {', '.join(sorted(PROCEDURES))}."
        answer = procedure_answer(name, part_text(catalog))
        raise UnsupportedError(f"There is no procedure system.{name}: {answer or known}")
    return found


def listed(_lake: Lake, _q: questions.ListProcedures) -> answers.NameList:
    """Return the names of the procedures."""
    return answers.NameList(sorted(PROCEDURES))


def load(_lake: Lake, q: questions.LoadProcedure) -> answers.ProcedureSignature:
    """Return a procedure's name, description and parameters."""
    procedure = _procedure(q.name, q.catalog)
    if q.namespace != ["system"]:
        raise UnsupportedError(
            f"Procedures are in the namespace system: CALL {q.catalog}.system.{q.name}(…)."
        )
    return answers.ProcedureSignature(procedure.name, procedure.description, procedure.parameters)


def call(lake: Lake, q: questions.Call) -> answers.Called:
    """Run a procedure."""
    procedure = _procedure(q.name, q.catalog)
    for parameter in procedure.parameters:
        if parameter.default is None and q.arguments.get(parameter.name) is None:
            raise UnsupportedError(
                f"CALL {q.catalog}.system.{procedure.name}: parameter {parameter.name} is NULL, and must be given "
                f"a value of type {parameter.type}. {parameter.comment}"
            )
    if "table" not in q.arguments:
        return answers.Called(procedure.schema, procedure.call(lake, q.arguments), None)
    table = lake.qualified(q.arguments["table"], q.current_catalog, q.current_namespace)
    before = lake.find(table)
    rows = procedure.call(lake, {**q.arguments, "table": table})
    return answers.Called(procedure.schema, rows, _changed(before))


def repair_schema(_lake: Lake, _q: questions.RepairSchema) -> answers.Schema:
    """Return the columns that MSCK REPAIR TABLE gives."""
    return answers.Schema(sync_procedure.SYNC.schema)


def repair(lake: Lake, q: questions.Repair) -> answers.Called:
    """Run MSCK REPAIR TABLE: add what is on disk, and drop what is missing there if the statement says so."""
    before = lake.current(q.table)
    with progress_bar() as progress:
        told = synchronise(before, lake.engine, SyncOptions(add=q.add, drop=q.drop), progress)
    rows = wire_rows(sync_procedure.rows(told))
    return answers.Called(sync_procedure.SYNC.schema, rows, _changed(before))


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
