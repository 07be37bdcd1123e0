"""Questions about what is in a catalog: namespaces, tables, views."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.metastore.storage import Constraint
from parquetry.planner.protocol.questions.base import CatalogQuestion, Question, TableRef


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


class CheckSettings(Question, tag="check_settings", frozen=True):
    """Answer: `Done`. Asked once about each set of settings and options.

    Attributes:
        use: whether the session is given the settings, or reads with them and with options.
        settings: of the session, those whose names begin with `parquetry.`.
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
    """Answer: `Done`. A change's value of None removes the property."""

    namespace: list[str]
    changes: list[dict[str, str | None]]


class DropNamespace(CatalogQuestion, tag="drop_namespace", frozen=True):
    """Answer: `Confirmation`, whether it was there."""

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
    """Answer: `MetadataTable`, what `catalog.db.t.<name>` stands for."""


class PageCursor(msgspec.Struct, frozen=True):
    """How far a metadata table has been read: all rows before those of a partition, and some of these.

    Attributes:
        partition: key of the partition, hexadecimal; empty where rows are not of partitions.
        passed: how many of the rows that begin there have been read.
    """

    partition: str
    passed: int


class ReadMetadataTable(CatalogQuestion, tag="read_metadata_table", frozen=True, kw_only=True):
    """Answer: `MetadataPage`, the rows behind a place that an answer before has named; None: the first.

    All pages are of one version: if its rows are deleted meanwhile, an error says so.

    Attributes:
        table: that it is about.
        kind: of the metadata table.
        after: the place.
        predicates: that Spark evaluates on the rows; what they say of keys spares reading the others.
    """

    table: TableRef
    kind: Literal["partitions", "files", "history"]
    after: PageCursor | None = None
    predicates: list[dict[str, Any]] = []


class Transform(msgspec.Struct, frozen=True):
    """One member of PARTITIONED BY, or CLUSTERED BY … INTO … BUCKETS.

    Attributes:
        name: `identity`, `bucket`, `sorted_bucket`, `years`, ….
        columns: all that it names.
        arguments: trees (see `predicate.reading.spark_json`) in Spark's order: of `bucket` the count, then the columns; of
            `sorted_bucket` the columns, the count, then those to sort by.
        text: as Spark describes it.
    """

    name: str
    columns: list[list[str]]
    arguments: list[dict[str, Any]]
    text: str


class CreateTable(CatalogQuestion, tag="create_table", frozen=True):
    """Answer: `LoadedTable`. `schema` is Spark's JSON of a struct.

    Attributes:
        like: of CREATE TABLE LIKE, the properties of the other table, those that Spark reserves among them.
    """

    namespace: list[str]
    name: str
    schema: dict[str, Any]
    partitioning: list[Transform]
    properties: dict[str, str]
    like: dict[str, str] | None = None
    constraints: list[Constraint] = []


class StageTable(CatalogQuestion, tag="stage_table", frozen=True):
    """Answer: `LoadedTable`, one that nobody sees before `PublishTable`."""

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
    """Answer: `LoadedTable`, as it is then."""

    namespace: list[str]
    name: str
    changes: list[dict[str, Any]]


class CanAlter(CatalogQuestion, tag="can_alter", frozen=True):
    """Answer: `Confirmation`, whether a column can be changed so, for a statement WITH SCHEMA EVOLUTION."""

    table: TableRef
    change: dict[str, Any]


class DropTable(CatalogQuestion, tag="drop_table", frozen=True):
    """Answer: `Confirmation`, whether it was there."""

    namespace: list[str]
    name: str
    purge: bool


class RenameTable(CatalogQuestion, tag="rename_table", frozen=True):
    """Answer: `Done`."""

    namespace: list[str]
    name: str
    to: list[str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A view, as Spark gives it and wants it back.

    Attributes:
        schema: Spark's JSON of a struct.
        text: the query.
        catalog: that was current when the view was made.
        namespace: that was current then.
        settings: of the session that was current then, by which the query is read.
        schema_mode: what becomes of the view where the query has other columns by now.
        query_columns: names of the query's columns then.
        properties: those of its user, and those that Spark reserves.
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
    """Answer: `Relation`, the table or the view of a name."""


class ListViews(CatalogQuestion, tag="list_views", frozen=True):
    """Answer: `NameList`."""

    namespace: list[str]


class PutView(CatalogQuestion, tag="put_view", frozen=True):
    """Answer: `Done`.

    Attributes:
        namespace: of the view.
        name: of the view.
        view: to be there.
        mode: ``evolve``: the columns alone are others, as the query has others by now.
    """

    namespace: list[str]
    name: str
    view: View
    mode: Literal["create", "replace", "create_or_replace", "evolve"]


class DropView(CatalogQuestion, tag="drop_view", frozen=True):
    """Answer: `Confirmation`, whether it was there."""

    namespace: list[str]
    name: str


class RenameView(RenameTable, tag="rename_view", frozen=True):
    """Answer: `Done`."""
