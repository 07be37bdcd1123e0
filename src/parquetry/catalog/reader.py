"""Read a warehouse: its databases, tables, partitions, files and versions.

Names are text. This module only reads. `parquetry.prune` decides which files may hold an answer.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from parquetry import hive, metastore as ms
from parquetry.catalog.key_plans import plan_partitions
from parquetry.catalog.listing import Listing, commit_row, file_row, partition_row
from parquetry.catalog.lookup import find_table
from parquetry.catalog.shapes import Commit, DataFile, Partition, Plan, Table
from parquetry.catalog.views import commit_view, file_views, full_name, partition_view, table_view
from parquetry.errors import FilterError, ParquetryError
from parquetry.locations import join_location
from parquetry.predicate import Filter, Predicate
from parquetry.scan import ScanPlan
from parquetry.texts import quantity
from parquetry.types import ColumnType, Value
from parquetry.warehouse import find_warehouse
from parquetry.workload import (
    HistorySettings,
    HistoryWriter,
    PromiseBesideTruth,
    QueryRecord,
    kept_promises,
    read_queries,
)

if TYPE_CHECKING:
    import duckdb

    from parquetry.catalog.recent_tables import RecentTables
    from parquetry.catalog.scans.changes import ChangeScan
    from parquetry.catalog.scans.scan import Scan
    from parquetry.locations import FileSystems

_MAX_NAMED_TABLES = 20
"""Tables that a prompt shows of a catalog."""


class CatalogReader:
    """The databases and tables of a warehouse, to read. It is a context manager.

    Tables are named ``database.table``, or ``table`` in the default database, in any case. A name with a dot
    needs backticks. A third part before these, a catalog as in SQL, is ignored.

    Args:
        metastore: of the warehouse.
        storage_options: of its files; see `parquetry.open`.
        history: the settings of the history of queries, by name, as far as something gives them.
    """

    def __init__(
        self,
        metastore: ms.Metastore,
        storage_options: Mapping[str, Any] | None = None,
        history: Mapping[str, str] | None = None,
    ) -> None:
        self._metastore = metastore
        self._storage_options = storage_options
        self._history = HistorySettings.read(history or {}, "The configuration of the warehouse")
        hive.register_followers()

    @classmethod
    def open(
        cls,
        warehouse: str | os.PathLike[str] | None = None,
        store: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        store_password: str | None = None,
    ) -> Self:
        """Open the catalog of a warehouse; see `parquetry.open`."""
        source = find_warehouse(warehouse, store)
        passwords = {"password": store_password} if store_password else {}
        metastore = ms.open_metastore(source.location, source.store, passwords=passwords)
        return cls(metastore, storage_options, source.history)

    def _file_access(self) -> AbstractContextManager[None]:
        """Return a block within which files are opened with the catalog's options."""
        from parquetry.locations import use_file_systems

        return use_file_systems(self._file_systems)

    @functools.cached_property
    def _file_systems(self) -> FileSystems:
        from parquetry.locations import ArrowFileSystems

        return ArrowFileSystems(self._storage_options)

    @functools.cached_property
    def _writer(self) -> HistoryWriter:
        """Return what writes the history of queries, once there is one to write."""
        return HistoryWriter(self._metastore, self._history)

    @functools.cached_property
    def _recent(self) -> RecentTables:
        from parquetry.catalog.recent_tables import RecentTables

        return RecentTables(self._metastore)

    @property
    def warehouse(self) -> str:
        """Return the absolute path, or the URI, of the warehouse."""
        return self._metastore.warehouse

    def close(self) -> None:
        """Write what waits for the history of queries, and close the metastore's store."""
        if "_writer" in self.__dict__:
            self._writer.flush()
        self._metastore.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = f"{type(self).__name__}({self.warehouse!r})"
        try:
            tables = self.tables()
        except ParquetryError:  # it is closed, or cannot be reached
            return name
        more = ", …" if len(tables) > _MAX_NAMED_TABLES else ""
        names = f": {', '.join(tables[:_MAX_NAMED_TABLES])}{more}" if tables else ""
        return f"{name} with {quantity(len(tables), 'table')}{names}"

    def databases(self) -> list[str]:
        """Return the names of the databases, sorted."""
        return self._metastore.databases()

    def tables(self) -> list[str]:
        """Return the names of all tables as ``database.table``, sorted."""
        return sorted(
            full_name(database, table)
            for database in self._metastore.databases()
            for table in self._metastore.tables(database)
        )

    def table(self, name: str) -> Table:
        """Return a table as it is now.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
        """
        return table_view(self._snapshot(name))

    def partitions(
        self, name: str, where: str | Predicate | None = None, limit: int | None = None
    ) -> Listing[Partition]:
        """Return the partitions of a table in the order of their keys, all of one version.

        Args:
            name: of the table.
            where: a filter on partition columns, such as ``day >= DATE '2024-01-01' AND hour IN (7, 8)``.
            limit: how many at most.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            FilterError: the filter's text cannot be read, or names other columns.
            ColumnNotFoundError: a `Predicate` names other columns.
            ValueError: the limit is negative.
        """
        _check(limit)
        snapshot = self._snapshot(name)
        plan = None if where is None else _plan(snapshot, where)
        views = map(functools.partial(partition_view, snapshot), snapshot.partitions(plan, limit))
        return Listing(f"partitions of {snapshot.database}.{snapshot.name}", views, partition_row)

    def files(
        self, name: str, where: str | Predicate | None = None, limit: int | None = None
    ) -> Listing[DataFile]:
        """Return the files of a table, or the files that may hold rows of a filter, partition by partition.

        All are of one version. They are read while the caller iterates: some thousand at a time, or with a
        filter the selected files of one partition.

        Args:
            name: of the table.
            where: a filter on any columns. Values of partitions and statistics of files decide which files
                may satisfy it. No file is opened.
            limit: how many at most.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            FilterError: the filter's text cannot be read, or the table does not have one of its columns.
            ColumnNotFoundError: the table does not have a column of a `Predicate`.
            ValueError: the limit is negative.
        """
        _check(limit)
        snapshot = self._snapshot(name)
        views = islice(file_views(snapshot, self._files(snapshot, where)), limit)
        return Listing(f"files of {snapshot.database}.{snapshot.name}", views, file_row)

    def scan(
        self,
        name: str,
        where: str | Predicate | None = None,
        columns: Sequence[str] | None = None,
        *,
        version: int | str | None = None,
        timestamp: datetime | None = None,
        limit: int | None = None,
        time_zone: str | None = None,
    ) -> Scan:
        """Return the rows of a table, for Arrow, pandas, Polars and DuckDB.

        A `Scan` reads files only when its rows are wanted.

        Args:
            name: of the table.
            where: a condition on any columns, such as ``day >= DATE '2026-03-01' AND id < 59500``.
            columns: their names, in the order wanted; None for all.
            version: its number, its tag, or a branch; None for the newest.
            timestamp: a time with a time zone: the newest version made until then.
            limit: how many rows at most.
            time_zone: the zone of timestamps without one in `where`; None is UTC. ORC stores timestamps as
                local times: to read them, name the zone of the Java processes that write and read the table.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table, or no such version.
            FilterError: the condition's text cannot be read, or the table does not have one of its columns.
            ColumnNotFoundError: the table does not have one of the columns.
            ValueError: the limit is negative, or the time has no time zone.
        """
        from parquetry.catalog.scans.recording import ScanRecorder
        from parquetry.catalog.scans.scan import TableToRead, new_scan

        if timestamp is not None and not isinstance(timestamp, datetime):
            raise TypeError(
                f"Time {timestamp!r} is a {type(timestamp).__name__}: give a datetime with a time zone, such as "
                "datetime.fromisoformat('2026-03-01T00:00:00+00:00')."
            )
        if timestamp is not None and timestamp.tzinfo is None:
            raise ValueError(
                f"The time {timestamp.isoformat()} has no time zone: give one, as {timestamp.isoformat()}+00:00."
            )
        as_of = None if timestamp is None else int(timestamp.timestamp() * 1000)
        if version is None and as_of is None:
            snapshot = self._recent.find(name)
        else:
            snapshot = find_table(self._metastore, name, version=version, as_of=as_of)
        table = TableToRead(snapshot, self._file_systems, self._recent.partitions)
        recorder = ScanRecorder.for_table(snapshot, self._history, lambda: self._writer)
        return new_scan(table, where, columns, limit, time_zone, recorder)

    def queries(
        self, name: str | None = None, *, since: datetime | None = None, limit: int | None = None
    ) -> list[QueryRecord]:
        """Return the queries in the history of the warehouse, the newest first.

        Args:
            name: of a table: only queries that read it; None for all.
            since: a time with a time zone: only queries that ended then or later.
            limit: how many at most.

        Raises:
            TableNotFoundError: there is no such table.
            ValueError: the time has no time zone, or the limit is negative.
        """
        _check(limit)
        if since is not None and since.tzinfo is None:
            raise ValueError(
                f"The time {since.isoformat()} has no time zone: give one, as {since.isoformat()}+00:00."
            )
        if "_writer" in self.__dict__:
            self._writer.flush()
        table = None if name is None else self._snapshot(name).id
        start = 0 if since is None else int(since.timestamp() * 1000)
        return list(read_queries(self._metastore, table, since=start, limit=limit))

    def promises(self, name: str) -> list[PromiseBesideTruth]:
        """Return what layouts of a table have promised, beside what queries have read since, newest first.

        Args:
            name: of the table.

        Raises:
            TableNotFoundError: there is no such table.
        """
        return kept_promises(self._metastore, self._snapshot(name))

    def changes(
        self,
        name: str,
        start: int | str | datetime,
        end: int | str | datetime | None = None,
        *,
        keys: str | Sequence[str] = (),
        net: bool = False,
        where: str | Predicate | None = None,
        time_zone: str | None = None,
    ) -> ChangeScan:
        """Return the difference of versions of a table as rows, for Arrow and pandas.

        Files are read only where adjacent versions differ. Rows that a statement has only carried over into a
        new file are in none of the changes.

        Args:
            name: of the table.
            start: the first version whose changes are wanted, by number or tag, or a time with a time zone:
                the first version made then or later.
            end: the last such version, or a time: the last version made until then. None is the newest.
            keys: columns that an update of a row does not change, such as ``"id"``. With them an update is
                a pair of rows, and else a delete and an insert.
            net: compare the version before `start` with the version `end`, as if they were adjacent.
            where: as for `scan`.
            time_zone: as for `scan`.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            VersionNotFoundError: there is no such version, or a vacuum retired the versions that are needed.
            UnsupportedError: rows of the earlier versions cannot be read with the columns of the last one.
            FilterError: the condition's text cannot be read, or the table does not have one of its columns.
            ColumnNotFoundError: the table does not have one of the columns.
            ValueError: a version is negative, or a time has no time zone.
        """
        from parquetry.catalog.scans.changes import new_change_scan

        return new_change_scan(
            self._snapshot(name),
            self._file_systems,
            (start, end),
            net=net,
            keys=keys,
            where=where,
            zone=time_zone,
        )

    def query(
        self,
        sql: str,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        time_zone: str | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Run a query by DuckDB over the tables of the warehouse.

        Conditions and columns of the query choose the files that are read.

        Args:
            sql: in DuckDB's words. Tables are named ``database.table``, or ``catalog.database.table`` as in
                Spark.
            connection: of DuckDB, or None for a new one. The tables become views in it.
            time_zone: of ORC's timestamps; see `scan`.

        Raises:
            ConfigurationError: DuckDB is not installed.
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            UnsupportedError: the text is no query.
        """
        from parquetry.catalog.scans.duckdb_views import run_query

        def list_tables() -> Iterator[tuple[str, str]]:
            for database in self._metastore.databases():
                yield from ((database, table) for table in self._metastore.tables(database))

        return run_query(sql, connection, lambda name: self.scan(name, time_zone=time_zone), list_tables)

    def history(self, name: str, limit: int | None = None) -> Listing[Commit]:
        """Return the versions of a table that can be read, newest first.

        Args:
            name: of the table.
            limit: how many at most.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            ValueError: the limit is negative.
        """
        from parquetry.metastore import history

        _check(limit)
        snapshot = self._snapshot(name)
        commits = islice(map(commit_view, history(snapshot)), limit)
        return Listing(f"versions of {snapshot.database}.{snapshot.name}", commits, commit_row)

    def tags(self, name: str) -> list[ms.TaggedVersion]:
        """Return the tags of a table's versions, by name.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
        """
        return ms.tags_of(self._snapshot(name))

    def branches(self, name: str) -> list[ms.TableBranch]:
        """Return the branches of a table, by name.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
        """
        return ms.branches_of(self._snapshot(name))

    def plan(self, name: str, filter: str | Predicate, *, run: bool = False) -> Plan:
        """Return how the partitions of a filter are found.

        Args:
            name: of the table.
            filter: on partition columns.
            run: read the partitions, too, and count them and their keys.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
            FilterError: the filter's text cannot be read, or names other columns.
            ColumnNotFoundError: a `Predicate` names other columns.
        """
        snapshot = self._snapshot(name)
        return plan_partitions(snapshot, _partition_filter(snapshot, filter), run=run)

    @staticmethod
    def _files(
        snapshot: ms.TableSnapshot, where: str | Predicate | None
    ) -> Iterator[tuple[tuple[Value, ...], ms.FileRecord, str]]:
        from parquetry.prune import each_file

        if where is not None:
            metadata = snapshot.metadata
            return each_file(snapshot, _filter(where, (*metadata.columns, *metadata.fields)))
        return (
            (partition.values, file, join_location(partition.location, file.path))
            for partition in snapshot.partitions()
            for file in partition.each_file()
        )

    def _snapshot(self, name: str) -> ms.TableSnapshot:
        return find_table(self._metastore, name)


def _check(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise ValueError(f"Limit {limit} is negative: give a number from 0 on, or None for all.")


def _filter(where: str | Predicate, columns: Sequence[ms.TableColumn]) -> Filter:
    from parquetry.predicate import parse_filter

    if not isinstance(where, str | Predicate):
        raise TypeError(f"Filter {where!r} is a {type(where).__name__}: give a text or a Predicate.")
    types: dict[str, ColumnType] = {column.name: column.column_type for column in columns}
    return parse_filter(where, types) if isinstance(where, str) else Filter.bind(where, types)


def _plan(snapshot: ms.TableSnapshot, where: str | Predicate) -> ScanPlan:
    return ms.cheapest_plan(snapshot, _partition_filter(snapshot, where))


def _partition_filter(snapshot: ms.TableSnapshot, where: str | Predicate) -> Filter:
    metadata = snapshot.metadata
    try:
        return _filter(where, metadata.partition_columns)
    except FilterError as error:
        if isinstance(where, str) and _reads(where, metadata.columns):
            known = ", ".join(metadata.partition_by) or "none"
            raise FilterError(
                f"This is not a partition column of {snapshot.label} (they are: {known}). files() and `parquetry files` take conditions on all "
                "columns.",
                error.text,
                error.position,
            ) from None
        raise


def _reads(where: str, columns: Sequence[ms.TableColumn]) -> bool:
    """Return whether a filter's text can be read with these columns."""
    try:
        _filter(where, columns)
    except FilterError:
        return False
    return True
