"""Questions about procedures, and about statements that run as procedures."""

from __future__ import annotations

from typing import TypeAlias

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef

CallArgument: TypeAlias = str | list[str | None] | None
"""A value as text, an array of them, or NULL."""


class ListProcedures(CatalogQuestion, tag="list_procedures", frozen=True):
    """Answer: `NameList`."""


class LoadProcedure(CatalogQuestion, tag="load_procedure", frozen=True):
    """Answer: `ProcedureSignature`."""

    namespace: list[str]
    name: str


class Call(CatalogQuestion, tag="call", frozen=True):
    """Answer: `Called`. The session's current catalog and namespace complete a bare table name.

    Attributes:
        name: of the procedure.
        arguments: by the names of its parameters, in the order of its signature, all of them.
        folder: of the table that the arguments name, if it is one of Spark's own catalog.
    """

    name: str
    arguments: dict[str, CallArgument]
    current_catalog: str | None = None
    current_namespace: list[str] = []
    folder: str | None = None


class RepairSchema(CatalogQuestion, tag="repair_schema", frozen=True):
    """Answer: `Schema`, the columns of `Repair`'s result."""


class Repair(CatalogQuestion, tag="repair", frozen=True):
    """Answer: `Called`."""

    table: TableRef
    add: bool
    drop: bool


class Analyze(CatalogQuestion, tag="analyze", frozen=True):
    """Answer: `Called`, a row for each table.

    Attributes:
        columns: in the statement.
        all_columns: whether it says FOR ALL COLUMNS.
        partition_columns: in its PARTITION clause.
    """

    namespace: list[str]
    names: list[str]
    columns: list[str] = []
    all_columns: bool = False
    partition_columns: list[str] = []
