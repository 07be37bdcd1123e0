"""The questions the bridge asks, typed once on this side; `bridge/Bridge.scala` is the other.

A question is JSON with the protocol's version, an `op`, and, but for a parser's, the catalog it is for. An answer is `{"ok": …}` or
`{"error": {"code", "message", "name"}}`. Nothing here knows Py4J: questions can be recorded and replayed.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.errors import BridgeError

PROTOCOL = 1


class Question(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    """What every question carries.

    Attributes:
        protocol: version of this protocol.
    """

    protocol: int


class RewriteStatement(Question, tag="rewrite_statement", frozen=True):
    """Answer: the text to parse in place of this one, or null. A parser asks, and knows no catalog yet."""

    text: str


class CatalogQuestion(Question, tag="catalog_question", frozen=True):
    """What every question about a catalog carries.

    Attributes:
        catalog: name of the catalog in the session.
        options: the catalog's options, as configured.
    """

    catalog: str
    options: dict[str, str]


class TableRef(msgspec.Struct, frozen=True):
    """One version of one table: what a question about a loaded table names."""

    id: str
    version: int
    database: str
    table: str


class ListNamespaces(CatalogQuestion, tag="list_namespaces", frozen=True):
    """Answer: names."""


class LoadNamespace(CatalogQuestion, tag="load_namespace", frozen=True):
    """Answer: properties."""

    namespace: list[str]


class CreateNamespace(CatalogQuestion, tag="create_namespace", frozen=True):
    """Answer: nothing."""

    namespace: list[str]
    properties: dict[str, str]


class AlterNamespace(CatalogQuestion, tag="alter_namespace", frozen=True):
    """Answer: nothing. A change's value of None removes the property."""

    namespace: list[str]
    changes: list[dict[str, str | None]]


class DropNamespace(CatalogQuestion, tag="drop_namespace", frozen=True):
    """Answer: whether it was there."""

    namespace: list[str]
    cascade: bool


class ListTables(CatalogQuestion, tag="list_tables", frozen=True):
    """Answer: names."""

    namespace: list[str]


class LoadTable(CatalogQuestion, tag="load_table", frozen=True):
    """Answer: a table. `as_of` is microseconds since the epoch."""

    namespace: list[str]
    name: str
    version: str | None = None
    as_of: int | None = None


class LoadMetadataTable(LoadTable, tag="load_metadata_table", frozen=True):
    """Answer: name, kind, table and schema of what `catalog.db.t.<name>` stands for."""


class ReadMetadataTable(CatalogQuestion, tag="read_metadata_table", frozen=True):
    """Answer: rows."""

    table: TableRef
    kind: Literal["partitions", "files", "history"]


class Transform(msgspec.Struct, frozen=True):
    """One member of PARTITIONED BY."""

    name: str
    columns: list[list[str]]
    text: str


class CreateTable(CatalogQuestion, tag="create_table", frozen=True):
    """Answer: the table. `schema` is Spark's JSON of a struct."""

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]


class StageTable(CatalogQuestion, tag="stage_table", frozen=True):
    """Answer: a table that nobody sees before `PublishTable`."""

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    mode: Literal["create", "replace", "create_or_replace"]


class PublishTable(CatalogQuestion, tag="publish_table", frozen=True):
    """Answer: nothing."""

    table: TableRef
    mode: Literal["create", "replace", "create_or_replace"]


class DiscardTable(CatalogQuestion, tag="discard_table", frozen=True):
    """Answer: nothing."""

    table: TableRef
    mode: str


class AlterTable(CatalogQuestion, tag="alter_table", frozen=True):
    """Answer: the table as it is then."""

    namespace: list[str]
    name: str
    changes: list[dict[str, Any]]


class DropTable(CatalogQuestion, tag="drop_table", frozen=True):
    """Answer: whether it was there."""

    namespace: list[str]
    name: str
    purge: bool


class RenameTable(CatalogQuestion, tag="rename_table", frozen=True):
    """Answer: nothing."""

    namespace: list[str]
    name: str
    to: list[str]


class Predicates(CatalogQuestion, tag="predicates", frozen=True):
    """A question about a table and what a statement asks of its rows (trees, see `predicate.spark_json`)."""

    table: TableRef
    predicates: list[dict[str, Any]]


class CanDelete(Predicates, tag="can_delete", frozen=True):
    """Answer: true; an error says why not."""


class Delete(Predicates, tag="delete", frozen=True):
    """Answer: nothing."""


class Truncate(Predicates, tag="truncate", frozen=True):
    """Answer: true."""


class Partitions(CatalogQuestion, tag="partitions", frozen=True):
    """A question about partitions: their values as text, in the order of the partition columns."""

    table: TableRef
    partitions: list[list[str | None]]


class AddPartitions(Partitions, tag="add_partitions", frozen=True):
    """Answer: nothing. A property `location` names a folder whose files are taken in."""

    properties: list[dict[str, str]]


class DropPartitions(Partitions, tag="drop_partitions", frozen=True):
    """Answer: whether they were there."""

    purge: bool


class TruncatePartitions(Partitions, tag="truncate_partitions", frozen=True):
    """Answer: true."""


class RenamePartition(Partitions, tag="rename_partition", frozen=True):
    """Answer: true. The partitions are the old and the new values."""


class AlterPartition(Partitions, tag="alter_partition", frozen=True):
    """Answer: nothing."""

    properties: dict[str, str]


class LoadPartition(Partitions, tag="load_partition", frozen=True):
    """Answer: properties."""


class ListPartitions(CatalogQuestion, tag="list_partitions", frozen=True):
    """Answer: values of the partitions that agree with those given."""

    table: TableRef
    names: list[str]
    values: list[str | None]


class ShowPartitions(ListPartitions, tag="show_partitions", frozen=True):
    """Answer: the same partitions as text, `k=v/…`."""


class Refuse(CatalogQuestion, tag="refuse", frozen=True):
    """Answer: an error that says what to do instead of a statement such as UPDATE."""

    table: TableRef
    statement: str
    condition: str | None = None


class PushPredicates(Predicates, tag="push_predicates", frozen=True):
    """Answer, for each predicate: `exact`, whether Spark need not evaluate it on rows; `again`, whether it is about
    partition columns alone and not understood, so that Spark can evaluate it over their values; `row_groups`, what
    of it Spark's readers may use on row groups (see `prune.row_groups`).
    """


class PartitionValues(Predicates, tag="partition_values", frozen=True):
    """Answer: for each condition the rows of values that its columns have in the partitions in question.

    Those are the partitions that satisfy the predicates and what the conditions imply. A condition is SQL text, its
    columns, and a tree (see `spark.predicates.implied_by`).
    """

    conditions: list[dict[str, Any]]


class Aggregate(Predicates, tag="aggregate", frozen=True):
    """Answer: schema, rows, description and report; null where the metastore cannot answer alone."""

    functions: list[dict[str, str | None]]
    group_by: list[str]


class PlanScan(Predicates, tag="plan_scan", frozen=True):
    """Answer: files, partitions, statistics, metrics (a name, its text and perhaps a value), description and report."""

    runtime: list[dict[str, Any]]
    columns: list[str]


class Write(Predicates, tag="write", frozen=True):
    """Answer: nothing. The rows come beside the question, as a DataFrame."""

    mode: Literal["append", "truncate", "overwrite", "dynamic"]
    write_options: dict[str, str] = {}


class ListProcedures(CatalogQuestion, tag="list_procedures", frozen=True):
    """Answer: names."""


class LoadProcedure(CatalogQuestion, tag="load_procedure", frozen=True):
    """Answer: name, description and parameters."""

    namespace: list[str]
    name: str


class Call(CatalogQuestion, tag="call", frozen=True):
    """Answer: schema, rows, and database and name of the table if it changed. The session's current catalog and namespace say what a bare table name means."""

    name: str
    arguments: dict[str, Any]
    current_catalog: str | None = None
    current_namespace: list[str] = []


class RepairSchema(CatalogQuestion, tag="repair_schema", frozen=True):
    """Answer: the columns that `Repair` gives."""


class Repair(CatalogQuestion, tag="repair", frozen=True):
    """Answer: schema, rows, and database and name of the table if it changed."""

    table: TableRef
    add: bool
    drop: bool


_CLASSES = (
    RewriteStatement,
    ListNamespaces, LoadNamespace, CreateNamespace, AlterNamespace, DropNamespace,
    ListTables, LoadTable, CreateTable, StageTable, PublishTable, DiscardTable, AlterTable, DropTable, RenameTable,
    LoadMetadataTable, ReadMetadataTable,
    CanDelete, Delete, Truncate,
    AddPartitions, DropPartitions, TruncatePartitions, RenamePartition, AlterPartition, LoadPartition, ListPartitions,
    ShowPartitions, Refuse,
    PushPredicates, PartitionValues, Aggregate, PlanScan, Write,
    ListProcedures, LoadProcedure, Call, RepairSchema, Repair,
)  # fmt: skip
_UNION: Any = _CLASSES[0]
for _class in _CLASSES[1:]:
    _UNION = _UNION | _class
_DECODER = msgspec.json.Decoder(_UNION)


def decode(text: str) -> Question:
    """Return the typed form of a question.

    Raises:
        BridgeError: it is of another protocol, or not a question.
    """
    try:
        question: Question = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise BridgeError(
            f"The bridge asked what this Parquetry does not understand ({error}): their versions differ, "
            "start the session again with parquetry.configure."
        ) from None
    if question.protocol != PROTOCOL:
        raise BridgeError(
            f"The bridge speaks protocol {question.protocol} and this Parquetry {PROTOCOL}: "
            "start the session again with parquetry.configure."
        )
    return question
