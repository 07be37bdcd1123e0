"""The questions the bridge asks, typed once on this side; `bridge/` asks each of them in one place.

What the answer is, is said in `answers`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.prune.runtime import Candidate


class Question(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    """What every question carries.

    Attributes:
        protocol: version of this protocol.
    """

    protocol: int


class RewriteStatement(Question, tag="rewrite_statement", frozen=True):
    """Answer: `Rewritten`. A parser asks, before anybody has looked for the table that the statement names.

    Attributes:
        text: the statement.
        named: what its markers `:name` stand for, as SQL.
        positional: what its markers `?` stand for, as SQL.
        catalogs: names of the session's Parquetry catalogs.
        other_catalogs: names of the others that are configured.
        current_catalog: name of the session's current catalog.
        current_namespace: its current namespace.
    """

    text: str
    named: dict[str, str] = {}
    positional: list[str] = []
    catalogs: list[str] = []
    other_catalogs: list[str] = []
    current_catalog: str = ""
    current_namespace: list[str] = []


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
    """Answer: `Names`."""


class LoadNamespace(CatalogQuestion, tag="load_namespace", frozen=True):
    """Answer: `Properties`."""

    namespace: list[str]


class CreateNamespace(CatalogQuestion, tag="create_namespace", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    properties: dict[str, str]


class AlterNamespace(CatalogQuestion, tag="alter_namespace", frozen=True):
    """Answer: `Done`. A change's value of None removes the property."""

    namespace: list[str]
    changes: list[dict[str, str | None]]


class DropNamespace(CatalogQuestion, tag="drop_namespace", frozen=True):
    """Answer: `Held`, whether it was there."""

    namespace: list[str]
    cascade: bool


class ListTables(CatalogQuestion, tag="list_tables", frozen=True):
    """Answer: `Names`."""

    namespace: list[str]


class LoadTable(CatalogQuestion, tag="load_table", frozen=True):
    """Answer: `Table`. `as_of` is microseconds since the epoch."""

    namespace: list[str]
    name: str
    version: str | None = None
    as_of: int | None = None


class LoadMetadataTable(LoadTable, tag="load_metadata_table", frozen=True):
    """Answer: `MetadataTable`, what `catalog.db.t.<name>` stands for."""


class Cursor(msgspec.Struct, frozen=True):
    """How far a metadata table has been read: all rows before those of a partition, and some of these.

    Attributes:
        partition: key of the partition, hexadecimal; empty where rows are not of partitions.
        passed: how many of the rows that begin there have been read.
    """

    partition: str
    passed: int


class ReadMetadataTable(CatalogQuestion, tag="read_metadata_table", frozen=True, kw_only=True):
    """Answer: `Page`, the rows behind a place that an answer before has named; None: the first.

    All pages are of one version: if its rows are deleted meanwhile, an error says so.
    """

    table: TableRef
    kind: Literal["partitions", "files", "history"]
    after: Cursor | None = None


class Transform(msgspec.Struct, frozen=True):
    """One member of PARTITIONED BY, or CLUSTERED BY … INTO … BUCKETS.

    Attributes:
        name: `identity`, `bucket`, `sorted_bucket`, `years`, ….
        columns: all that it names.
        arguments: trees (see `predicate.spark_json`) in Spark's order: of `bucket` the count, then the columns; of
            `sorted_bucket` the columns, the count, then those to sort by.
        text: as Spark describes it.
    """

    name: str
    columns: list[list[str]]
    arguments: list[dict[str, Any]]
    text: str


class CreateTable(CatalogQuestion, tag="create_table", frozen=True):
    """Answer: `Table`. `schema` is Spark's JSON of a struct.

    Attributes:
        like: of CREATE TABLE LIKE, the properties of the other table, those that Spark reserves among them.
    """

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    like: dict[str, str] | None = None


class StageTable(CatalogQuestion, tag="stage_table", frozen=True):
    """Answer: `Table`, one that nobody sees before `PublishTable`."""

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    mode: Literal["create", "replace", "create_or_replace"]


class PublishTable(CatalogQuestion, tag="publish_table", frozen=True):
    """Answer: `Done`."""

    table: TableRef
    mode: Literal["create", "replace", "create_or_replace"]


class DiscardTable(CatalogQuestion, tag="discard_table", frozen=True):
    """Answer: `Done`."""

    table: TableRef


class AlterTable(CatalogQuestion, tag="alter_table", frozen=True):
    """Answer: `Table`, as it is then."""

    namespace: list[str]
    name: str
    changes: list[dict[str, Any]]


class DropTable(CatalogQuestion, tag="drop_table", frozen=True):
    """Answer: `Held`, whether it was there."""

    namespace: list[str]
    name: str
    purge: bool


class RenameTable(CatalogQuestion, tag="rename_table", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    name: str
    to: list[str]


class Predicates(CatalogQuestion, tag="predicates", frozen=True):
    """A question about a table and what a statement asks of its rows (trees, see `predicate.spark_json`)."""

    table: TableRef
    predicates: list[dict[str, Any]]


class CanDelete(Predicates, tag="can_delete", frozen=True):
    """Answer: `Held`, true; an error says why not."""


class Delete(Predicates, tag="delete", frozen=True):
    """Answer: `Done`."""


class Truncate(Predicates, tag="truncate", frozen=True):
    """Answer: `Held`."""


class Partitions(CatalogQuestion, tag="partitions", frozen=True):
    """A question about partitions: their values as text, in the order of the partition columns."""

    table: TableRef
    partitions: list[list[str | None]]


class AddPartitions(Partitions, tag="add_partitions", frozen=True):
    """Answer: `Done`. A property `location` names a folder whose files are taken in."""

    properties: list[dict[str, str]]


class DropPartitions(Partitions, tag="drop_partitions", frozen=True):
    """Answer: `Held`, whether they were there."""

    purge: bool


class TruncatePartitions(Partitions, tag="truncate_partitions", frozen=True):
    """Answer: `Held`."""


class RenamePartition(Partitions, tag="rename_partition", frozen=True):
    """Answer: `Held`. The partitions are the old and the new values."""


class AlterPartition(Partitions, tag="alter_partition", frozen=True):
    """Answer: an error that says what to do instead."""

    properties: dict[str, str]


class LoadPartition(Partitions, tag="load_partition", frozen=True):
    """Answer: `Properties`."""


class ListPartitions(CatalogQuestion, tag="list_partitions", frozen=True):
    """Answer: `Rows`, the values of the partitions that agree with those given."""

    table: TableRef
    names: list[str]
    values: list[str | None]


class ShowPartitions(ListPartitions, tag="show_partitions", frozen=True):
    """Answer: `Names`, the same partitions as text, `k=v/…`."""


class Refuse(CatalogQuestion, tag="refuse", frozen=True):
    """Answer: an error that says what to do instead of a statement such as UPDATE."""

    table: TableRef
    statement: str
    condition: str | None = None


class Reading(Predicates, tag="reading", frozen=True, kw_only=True):
    """A question of a statement that reads.

    Attributes:
        read_options: of the read, as given to `spark.read.option` or in `WITH (…)`.
        settings: those of the session whose names begin with `parquetry.`.
    """

    read_options: dict[str, str] = {}
    settings: dict[str, str] = {}


class PushPredicates(Reading, tag="push_predicates", frozen=True):
    """Answer: `Pushed`."""


class PartitionValues(Predicates, tag="partition_values", frozen=True):
    """Answer: `PartitionValues`, for each condition the rows of values that its columns have in the partitions in question.

    Those are the partitions that satisfy the predicates and what the conditions imply. A condition is SQL text, its
    columns, and a tree (see `planner.predicates.implied_by`).
    """

    conditions: list[dict[str, Any]]


class Aggregate(Predicates, tag="aggregate", frozen=True):
    """Answer: `MaybeAggregated`."""

    functions: list[dict[str, str | None]]
    group_by: list[str]


class PlanScan(Reading, tag="plan_scan", frozen=True, kw_only=True):
    """Answer: `Scan`.

    Attributes:
        runtime: what a join has found while the query runs (trees, see `found_values`).
        columns: that are read.
        buckets: how many are wanted, a multiple of those that the scan has; None: those that it has.
        before: the report of the scan without what was found; None: nothing was.
        joined: what is known of a join's values before the query runs (trees).
        late: whether the files may be told later, when they are asked for once more: values of a join may come before that.
    """

    runtime: list[dict[str, Any]]
    columns: list[str]
    buckets: int | None = None
    before: dict[str, Any] | None = None
    joined: list[dict[str, Any]] = []
    late: bool = False


class AskedTable(msgspec.Struct, frozen=True):
    """A table, and what a query asks of it.

    Attributes:
        table: the table.
        predicates: joined by AND (trees).
    """

    table: TableRef
    predicates: list[dict[str, Any]]


class RuntimeCandidate(msgspec.Struct, frozen=True):
    """What the values of a join could do for the scan of a table.

    Attributes:
        table: the table.
        read_options: of the scan; see `Reading`.
        facts: about the join and the scan.
        predicates: that the scan was planned for (trees).
        columns: that the values are of.
        values_of: the table of this catalog that the values come from; None: there is not one such table.
    """

    table: TableRef
    facts: Candidate
    read_options: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    columns: list[str] = []
    values_of: AskedTable | None = None


class JudgeRuntimeFilters(CatalogQuestion, tag="judge_runtime_filters", frozen=True):
    """Answer: `RuntimeVerdicts`. The candidates are those of one query for the tables of the catalog.

    Attributes:
        candidates: all of them.
        settings: those of the session whose names begin with `parquetry.`.
    """

    candidates: list[RuntimeCandidate]
    settings: dict[str, str] = {}


class Write(Predicates, tag="write", frozen=True):
    """Answer: `Written`. The rows come beside the question, as a DataFrame."""

    mode: Literal["append", "truncate", "overwrite", "dynamic"]
    write_options: dict[str, str] = {}
    settings: dict[str, str] = {}


class ListProcedures(CatalogQuestion, tag="list_procedures", frozen=True):
    """Answer: `Names`."""


class LoadProcedure(CatalogQuestion, tag="load_procedure", frozen=True):
    """Answer: `Procedure`."""

    namespace: list[str]
    name: str


class Call(CatalogQuestion, tag="call", frozen=True):
    """Answer: `Called`. The session's current catalog and namespace say what a bare table name means."""

    name: str
    arguments: dict[str, Any]
    current_catalog: str | None = None
    current_namespace: list[str] = []


class RepairSchema(CatalogQuestion, tag="repair_schema", frozen=True):
    """Answer: `Schema`, the columns that `Repair` gives."""


class Repair(CatalogQuestion, tag="repair", frozen=True):
    """Answer: `Called`."""

    table: TableRef
    add: bool
    drop: bool


QUESTIONS: tuple[type[Question], ...] = (
    RewriteStatement,
    ListNamespaces, LoadNamespace, CreateNamespace, AlterNamespace, DropNamespace,
    ListTables, LoadTable, CreateTable, StageTable, PublishTable, DiscardTable, AlterTable, DropTable, RenameTable,
    LoadMetadataTable, ReadMetadataTable,
    CanDelete, Delete, Truncate,
    AddPartitions, DropPartitions, TruncatePartitions, RenamePartition, AlterPartition, LoadPartition, ListPartitions,
    ShowPartitions, Refuse,
    PushPredicates, PartitionValues, Aggregate, PlanScan, JudgeRuntimeFilters, Write,
    ListProcedures, LoadProcedure, Call, RepairSchema, Repair,
)  # fmt: skip
"""All of them."""
