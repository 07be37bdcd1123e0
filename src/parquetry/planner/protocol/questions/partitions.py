"""Questions about the partitions of a table, and statements on whole partitions."""

from __future__ import annotations

from typing import Any

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef


class Predicates(CatalogQuestion, tag="predicates", frozen=True):
    """A question about a table and conditions on its rows (trees, see `predicate.reading.spark_json`)."""

    table: TableRef
    predicates: list[dict[str, Any]]


class CanDelete(Predicates, tag="can_delete", frozen=True):
    """Answer: `Confirmation`, whether the predicates select whole partitions."""


class Delete(Predicates, tag="delete", frozen=True):
    """Answer: `Done`.

    Attributes:
        settings: of the session, with names that begin with `parquetry.`.
    """

    settings: dict[str, str] = {}


class Truncate(Predicates, tag="truncate", frozen=True):
    """Answer: `Confirmation`."""


class Partitions(CatalogQuestion, tag="partitions", frozen=True):
    """A question about partitions: their values as text, in the order of the partition columns."""

    table: TableRef
    partitions: list[list[str | None]]


class AddPartitions(Partitions, tag="add_partitions", frozen=True):
    """Answer: `Done`. A property `location` names a folder whose files are adopted."""

    properties: list[dict[str, str]]


class DropPartitions(Partitions, tag="drop_partitions", frozen=True):
    """Answer: `Confirmation`, whether there were such partitions."""

    purge: bool


class TruncatePartitions(Partitions, tag="truncate_partitions", frozen=True):
    """Answer: `Confirmation`."""


class RenamePartition(Partitions, tag="rename_partition", frozen=True):
    """Answer: `Confirmation`. The first partition has the old values, the second the new ones."""


class AlterPartition(Partitions, tag="alter_partition", frozen=True):
    """Answer: an error that says what to do instead."""

    properties: dict[str, str]


class LoadPartition(Partitions, tag="load_partition", frozen=True):
    """Answer: `Properties`."""


class ListPartitions(CatalogQuestion, tag="list_partitions", frozen=True):
    """Answer: `Rows`, the values of the partitions that match the values in the question."""

    table: TableRef
    names: list[str]
    values: list[str | None]


class ShowPartitions(ListPartitions, tag="show_partitions", frozen=True):
    """Answer: `NameList`, the same partitions as text, `k=v/…`."""


class RefuseLoad(CatalogQuestion, tag="refuse_load", frozen=True):
    """Answer: an error that says what to do instead of LOAD DATA."""

    table: TableRef
