"""The warehouse as clients of Hive's metastore see it: databases, tables with versions, selected partitions.

`calls` answers the calls with it. Each call reads the newest version: a commit is visible to the next one.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parquetry.errors import FilterError, NamespaceNotFoundError, ParquetryError
from parquetry.hive.changes import TableChanges
from parquetry.hive.failures import HiveFailure, no_such_object
from parquetry.hive.filters import read_filter
from parquetry.hive.mirror import InPlace, Mirror
from parquetry.hive.names import database_name, table_and_version
from parquetry.hive.records.partitions import Folders, PartitionRecords
from parquetry.hive.records.tables import (
    TableRecord,
    require_files,
    require_served,
    table_record,
    view_record,
)
from parquetry.hive.wire.encoding import Encoded
from parquetry.metastore import Examined, Metastore, PartitionSnapshot, TableSnapshot, cheapest_plan
from parquetry.predicate import Filter
from parquetry.serving import OpenedMetastore
from parquetry.texts import shorten
from parquetry.workload import HistorySettings, ServedReads

LOG = logging.getLogger("parquetry.hive")
_MAX_CACHED_TABLES = 1024
_WAREHOUSE_CHARACTERS = 16
"""Characters of a warehouse's folder in a mirror. Several warehouses may have one mirror."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a warehouse is served.

    Attributes:
        mirror: the folder of the mirror, or None: beside each table's folder.
        in_place: whether clients get the tables' own folders, which they may only read.
        spark_alone: whether all clients are Spark's, which also read what others would read wrong.
        catalog: the warehouse's name in Spark, which views name tables by, or None: no view is served.
        utc: whether all clients read times in UTC.
        history: the settings of the history of queries, by name.
    """

    mirror: str | None = None
    in_place: bool = False
    spark_alone: bool = False
    catalog: str | None = None
    utc: bool = False
    history: Mapping[str, str] = field(default_factory=dict)

    def folders(self, warehouse: str) -> Folders:
        """Return where readers find the files of a warehouse, given its location."""
        if self.in_place:
            return InPlace()
        if self.mirror is None:
            return Mirror()
        name = hashlib.sha256(warehouse.encode()).hexdigest()[:_WAREHOUSE_CHARACTERS]
        return Mirror(Path(self.mirror).absolute() / name)


@dataclass(slots=True)
class SelectedPartitions:
    """The partitions of one version that a client asks for.

    Attributes:
        snapshot: the version.
        name: the table's name in the call.
        partitions: the partitions, read once.
        condition: the filter, for the log.
        examined: the keys that were read.
        filter: the filter as it was read, or None for all partitions.
    """

    snapshot: TableSnapshot
    name: str
    partitions: Iterator[PartitionSnapshot]
    condition: str = ""
    examined: Examined = field(default_factory=Examined)
    filter: Filter | None = None


class HiveWarehouse:
    """A warehouse that is served. Several threads may ask at once.

    Args:
        opened: its metastore.
        choices: how it is served.
    """

    def __init__(self, opened: OpenedMetastore, choices: Choices) -> None:
        self._opened, self.choices = opened, choices
        self.folders = choices.folders(opened.metastore.warehouse)
        self._records = PartitionRecords(self.folders, choices.spark_alone)
        self._tables: dict[tuple[object, ...], TableRecord] = {}
        self._seen: tuple[Metastore, bytes] | None = None
        self.changes = TableChanges()
        self.started = int(time.time())
        settings = HistorySettings.read(choices.history, "The configuration of the warehouse")
        self._reads = ServedReads("hive", settings)

    @property
    def metastore(self) -> Metastore:
        """Return the metastore. All that is remembered of another one is forgotten."""
        current = self._opened.current()
        if self._seen is None or current[0] is not self._seen[0] or current[1] != self._seen[1]:
            self.folders.forget()
            self._records.forget()
            self._tables.clear()
            self._seen = current
        return current[0]

    # --- names

    def databases(self) -> list[str]:
        """Return the names of databases."""
        return self.metastore.databases()

    def names(self, database: str) -> dict[str, bool]:
        """Return the names of a database's tables and views, and whether each is a view.

        There are none if there is no such database: then Hive's lists are empty, too.
        """
        metastore = self.metastore
        try:
            tables = dict.fromkeys(metastore.tables(database), False)
            views = dict.fromkeys(metastore.views(database), True) if self.choices.catalog else {}
        except NamespaceNotFoundError:
            return {}
        return dict(sorted((tables | views).items()))

    # --- tables

    def snapshot(self, database: str | None, name: str | None) -> tuple[TableSnapshot, str]:
        """Return the newest or the named version of a table or a view, and its name in the call.

        Raises:
            NamespaceNotFoundError, TableNotFoundError, VersionNotFoundError: there is none.
        """
        table, version = table_and_version(name)
        snapshot = self.metastore.table(database_name(database), table, version=version, kind=None)
        return snapshot, table if version is None else f"{table}@v{version}"

    def table(self, database: str | None, name: str | None) -> TableSnapshot:
        """Return a version of a table that is served.

        Raises:
            NamespaceNotFoundError, TableNotFoundError, VersionNotFoundError: there is none.
            UnsupportedError: it is not served.
        """
        return self._served(database, name)[0]

    def _served(self, database: str | None, name: str | None) -> tuple[TableSnapshot, str]:
        snapshot, label = self.snapshot(database, name)
        if snapshot.metadata.view is not None:
            raise HiveFailure(f"{snapshot.label} is a view, which has no partitions.")
        return snapshot, label

    def record(self, database: str | None, name: str | None) -> Encoded:
        """Return the record of a table or a view.

        Raises:
            NamespaceNotFoundError, TableNotFoundError, VersionNotFoundError: there is none.
            UnsupportedError: readers would read other rows than it has.
        """
        snapshot, label = self.snapshot(database, name)
        if snapshot.metadata.view is not None:
            return view_record(snapshot, label, self.choices.catalog)
        return self.table_record(snapshot, label).encoded

    def table_record(self, snapshot: TableSnapshot, name: str) -> TableRecord:
        """Return the record of a table.

        Raises:
            UnsupportedError: readers would read other rows than it has.
        """
        location, whole = self._location(snapshot)
        key = (*snapshot.identity, snapshot.database, name, location)
        known = self._tables.get(key)
        if known is None:
            require_served(snapshot, self.choices.spark_alone, self.choices.utc)
            if whole is not None and not self.choices.spark_alone:
                require_files(snapshot, whole)
            known = table_record(snapshot, name, location, whole)
            if len(self._tables) >= _MAX_CACHED_TABLES:
                self._tables.clear()
            self._tables[key] = known
        return known

    def _location(self, snapshot: TableSnapshot) -> tuple[str, PartitionSnapshot | None]:
        """Return a table's location for clients, and its only partition if it has no partition columns."""
        if snapshot.metadata.partition_by:
            return self.folders.nowhere(snapshot), None
        whole = next(snapshot.partitions(), None)
        if whole is None:
            return self.folders.empty(snapshot), None
        return self.folders.folders(snapshot, [whole])[0], whole

    # --- partitions

    def select(
        self, database: str | None, name: str | None, condition: str | Filter = "", limit: int | None = None
    ) -> SelectedPartitions:
        """Select partitions.

        Args:
            database: the database's name, as the client sends it.
            name: the table's name, likewise.
            condition: the filter, as a client writes it, or one that was read.
            limit: how many partitions at most; None or a negative number for all.

        Raises:
            NamespaceNotFoundError, TableNotFoundError, VersionNotFoundError: there is no such table.
            HiveFailure: the filter cannot be read.
        """
        snapshot, label = self._served(database, name)
        most = None if limit is None or limit < 0 else limit
        selection = SelectedPartitions(snapshot, label, iter(()), shorten(str(condition)))
        if isinstance(condition, str) and not condition.strip():
            plan = None
        else:
            try:
                where = condition if isinstance(condition, Filter) else read_filter(snapshot, condition)
            except FilterError as error:
                raise HiveFailure(
                    f"Filter {shorten(str(condition))!r} on {snapshot.label} cannot be read: {error}"
                ) from None
            plan, selection.filter = cheapest_plan(snapshot, where, selection.examined), where
        selection.partitions = snapshot.partitions(plan, most, selection.examined)
        if LOG.isEnabledFor(logging.DEBUG) and plan is not None:
            from parquetry.scan.plan_text import plan_text

            LOG.debug("%s: %s\n%s", snapshot.label, condition, plan_text(plan, snapshot.key_schema))
        return selection

    def records(self, selection: SelectedPartitions) -> Iterator[Encoded]:
        """Yield the records of selected partitions.

        Raises:
            UnsupportedError: readers would read other rows than they have.
        """
        table = self.table_record(selection.snapshot, selection.name)
        count = 0
        for record in self._records.records(selection.snapshot, selection.name, table, selection.partitions):
            count += 1
            yield record
        self.record_selection(selection, count)

    def record_selection(self, selection: SelectedPartitions, partitions: int) -> None:
        """Log selected partitions, and record them in the history of queries."""
        log_selection(selection, partitions)
        self._reads.record(
            self._opened.metastore,
            selection.snapshot,
            lambda: [] if selection.filter is None else [selection.filter],
            partitions=partitions,
        )

    def find(
        self,
        database: str | None,
        name: str | None,
        find: Callable[[TableSnapshot], PartitionSnapshot | None],
    ) -> Encoded:
        """Return the record of one partition.

        Raises:
            HiveFailure: there is no such partition.
        """
        snapshot, label = self._served(database, name)
        partition = find(snapshot)
        if partition is None:
            raise no_such_object(f"Table {snapshot.label} has no such partition.")
        return next(self.records(SelectedPartitions(snapshot, label, iter((partition,)))))

    def is_served(self, database: str, name: str) -> bool:
        """Return whether a table has a record. If not, the log says why: a list leaves it out."""
        try:
            self.record(database, name)
        except ParquetryError as error:
            LOG.warning("%s.%s is left out of a list: %s", database, name, error)
            return False
        return True


def log_selection(selection: SelectedPartitions, partitions: int) -> None:
    """Write a line about selected partitions, and how many keys of the metastore were read for them."""
    if LOG.isEnabledFor(logging.INFO):
        LOG.info(
            "%s: %s: %d partitions, %d keys examined",
            selection.snapshot.label,
            selection.condition or "all partitions",
            partitions,
            selection.examined.keys,
        )
