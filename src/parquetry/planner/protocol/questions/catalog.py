"""Questions about the content of a catalog: namespaces, tables, views."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.definition import ColumnChange, PropertyChange, TableChange
from parquetry.metastore import Constraint
from parquetry.planner.protocol.questions.base import CatalogQuestion, Question, TableRef


class RewriteStatement(Question, tag="rewrite_statement", frozen=True):
    """Answer: `Rewritten`. A parser asks before Spark looks for the table that the statement names.

    Attributes:
        text: the statement.
        named: the values of its markers `:name`, as SQL.
        positional: the values of its markers `?`, as SQL.
        catalogs: names of the session's Parquetry catalogs.
        other_catalogs: names of the other configured catalogs.
        current_catalog: name of the session's current catalog.
        current_namespace: the session's current namespace.
        spark: the version of Spark, if it lacks what a newer one has; else nothing.
        refused: whether every parser has refused the statement. Then the answer is an error that says what to
            type instead, or no text.
    """

    text: str
    named: dict[str, str] = {}
    positional: list[str] = []
    catalogs: list[str] = []
    other_catalogs: list[str] = []
    current_catalog: str = ""
    current_namespace: list[str] = []
    spark: str = ""
    refused: bool = False


class CountFailedAudit(Question, tag="count_failed_audit", frozen=True):
    """Answer: `Done`. An audit in the engine has found a claim that does not hold."""


class CheckSettings(Question, tag="check_settings", frozen=True):
    """Answer: `Done`. The bridge asks once for each set of settings and options.

    Attributes:
        use: ``set`` when the session gets the settings, else the kind of read.
        settings: of the session, with names that begin with `parquetry.`.
        options: of the read.
    """

    use: Literal["set", "read", "stream"]
    settings: dict[str, str] = {}
    options: dict[str, str] = {}


class ListNamespaces(CatalogQuestion, tag="list_namespaces", frozen=True):
    """Answer: `NameList`."""


class LoadNamespace(CatalogQuestion, tag="load_namespace", frozen=True):
    """Answer: `Properties`."""

    namespace: list[str]


class CreateNamespace(CatalogQuestion, tag="create_namespace", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    properties: dict[str, str]


class AlterNamespace(CatalogQuestion, tag="alter_namespace", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    changes: list[PropertyChange]


class DropNamespace(CatalogQuestion, tag="drop_namespace", frozen=True):
    """Answer: `Confirmation`, whether there was such a namespace."""

    namespace: list[str]
    cascade: bool


class ListTables(CatalogQuestion, tag="list_tables", frozen=True):
    """Answer: `NameList`."""

    namespace: list[str]


class LoadTable(CatalogQuestion, tag="load_table", frozen=True):
    """Answer: `LoadedTable`. `as_of` is microseconds since the epoch."""

    namespace: list[str]
    name: str
    version: str | None = None
    as_of: int | None = None


class LoadMetadataTable(LoadTable, tag="load_metadata_table", frozen=True):
    """Answer: `MetadataTable`, the metadata table `catalog.db.t.<name>`."""


class PageCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The position of a reader in a metadata table: before a partition, or after some of its rows.

    Attributes:
        partition: key of the partition, hexadecimal; empty if the rows do not belong to partitions.
        passed: how many of the partition's rows have been read.
    """

    partition: str
    passed: int


class ReadMetadataTable(CatalogQuestion, tag="read_metadata_table", frozen=True, kw_only=True):
    """Answer: `MetadataPage`, the rows behind a cursor.

    All pages are read from one version. If its rows are deleted meanwhile, an error says so.

    Attributes:
        table: the table that it describes.
        kind: of the metadata table.
        after: the cursor from the previous answer, or None for the first page.
        predicates: conditions that Spark evaluates on the rows. Those on keys restrict what is read.
    """

    table: TableRef
    kind: Literal["partitions", "files", "history", "refs", "queries"]
    after: PageCursor | None = None
    predicates: list[dict[str, Any]] = []


class Transform(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of PARTITIONED BY, or CLUSTERED BY … INTO … BUCKETS.

    Attributes:
        name: `identity`, `bucket`, `sorted_bucket`, `years`, ….
        columns: all columns that it names.
        arguments: trees (see `predicate.reading.spark_json`) in Spark's order. `bucket` has the count, then
            the columns. `sorted_bucket` has the columns, the count, then the sort columns.
        text: as Spark describes it.
    """

    name: str
    columns: list[list[str]]
    arguments: list[dict[str, Any]]
    text: str


class CreateTable(CatalogQuestion, tag="create_table", frozen=True):
    """Answer: `LoadedTable`. `schema` is Spark's JSON of a struct.

    Attributes:
        like: for CREATE TABLE LIKE, the other table's properties, including the reserved ones of Spark.
    """

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    like: dict[str, str] | None = None
    constraints: list[Constraint] = []


class StageTable(CatalogQuestion, tag="stage_table", frozen=True):
    """Answer: `LoadedTable`, a table that others see only after `PublishTable`."""

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    mode: Literal["create", "replace", "create_or_replace"]
    constraints: list[Constraint] = []


class PublishTable(CatalogQuestion, tag="publish_table", frozen=True):
    """Answer: `Done`."""

    table: TableRef
    mode: Literal["create", "replace", "create_or_replace"]


class DiscardTable(CatalogQuestion, tag="discard_table", frozen=True):
    """Answer: `Done`."""

    table: TableRef


class AlterTable(CatalogQuestion, tag="alter_table", frozen=True):
    """Answer: `LoadedTable`, the table after the changes."""

    namespace: list[str]
    name: str
    changes: list[TableChange]


class CanAlter(CatalogQuestion, tag="can_alter", frozen=True):
    """Answer: `Confirmation`, whether a column may change so, for a statement WITH SCHEMA EVOLUTION."""

    table: TableRef
    change: ColumnChange


class DropTable(CatalogQuestion, tag="drop_table", frozen=True):
    """Answer: `Confirmation`, whether there was such a table."""

    namespace: list[str]
    name: str
    purge: bool


class RenameTable(CatalogQuestion, tag="rename_table", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    name: str
    to: list[str]


class View(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A view, as Spark sends it and reads it back.

    Attributes:
        schema: Spark's JSON of a struct.
        text: the query.
        catalog: the current catalog when the view was made.
        namespace: the current namespace when the view was made.
        settings: of the session that made the view. The query is analyzed with them.
        schema_mode: how the view reacts when the columns of its query have changed.
        query_columns: names of the query's columns when the view was made.
        properties: of the view's user, and the properties that Spark reserves.
    """

    schema: dict[str, Any]
    text: str
    catalog: str | None = None
    namespace: list[str] = []
    settings: dict[str, str] = {}
    schema_mode: str | None = None
    query_columns: list[str] = []
    properties: dict[str, str] = {}


class LoadRelation(LoadTable, tag="load_relation", frozen=True):
    """Answer: `Relation`, the table or the view with this name.

    Attributes:
        known: the version whose description the session has, or None. If it is still the newest, it is not
            described again.
        beside: versions that the statement has loaded before: the answer is of their moment.
    """

    known: TableRef | None = None
    beside: list[TableRef] = msgspec.field(default_factory=list)


class NamedRelation(msgspec.Struct, frozen=True):
    """A table or a view that a statement names.

    Attributes:
        namespace: of the table or the view.
        name: of the table or the view.
        known: as `LoadRelation.known`.
    """

    namespace: list[str]
    name: str
    known: TableRef | None = None


class LoadRelations(CatalogQuestion, tag="load_relations", frozen=True):
    """Answer: `Relations`, what one statement names in a catalog.

    Attributes:
        relations: names of tables and views.
        beside: as `LoadRelation.beside`.
    """

    relations: list[NamedRelation]
    beside: list[TableRef] = msgspec.field(default_factory=list)


class ListViews(CatalogQuestion, tag="list_views", frozen=True):
    """Answer: `NameList`."""

    namespace: list[str]


class PutView(CatalogQuestion, tag="put_view", frozen=True):
    """Answer: `Done`.

    Attributes:
        namespace: of the view.
        name: of the view.
        view: the new view.
        mode: ``evolve`` changes only the columns, because the query's columns have changed.
    """

    namespace: list[str]
    name: str
    view: View
    mode: Literal["create", "replace", "create_or_replace", "evolve"]


class DropView(CatalogQuestion, tag="drop_view", frozen=True):
    """Answer: `Confirmation`, whether there was such a view."""

    namespace: list[str]
    name: str


class RenameView(RenameTable, tag="rename_view", frozen=True):
    """Answer: `Done`."""
