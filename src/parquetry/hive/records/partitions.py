"""Partitions as Hive's records, made a few hundred at a time, and remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from parquetry.hive.names import CATALOG
from parquetry.hive.records.tables import TableRecord, require_files, seconds, storage_record
from parquetry.hive.wire.encoding import Encoded, encode, encode_value
from parquetry.hive.wire.idl import Container, definitions
from parquetry.locations import partition_paths
from parquetry.metastore import Metastore, PartitionSnapshot, TableSnapshot
from parquetry.publishing import flat_files, hive_storage, hive_values, statistics

PARTITIONS_PER_BATCH = 500
"""Partitions that are decoded together."""
_CACHED_BYTES = 64 << 20
"""Length of all remembered records."""
_LIST_BYTES, _CACHED_LISTS_BYTES = 1 << 20, 16 << 20
"""Lengths of a list of names that is remembered, and of all such lists."""


class Folders(Protocol):
    """Where readers find the files of partitions; see `mirror`."""

    def folders(self, snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]) -> list[str]:
        """Return the locations of partitions."""
        ...

    def nowhere(self, snapshot: TableSnapshot) -> str:
        """Return the location of a partitioned table."""
        ...

    def empty(self, snapshot: TableSnapshot) -> str:
        """Return the location of a table without files."""
        ...

    def sweep(self, metastore: Metastore) -> None:
        """Remove what no version needs any more."""
        ...

    def forget(self) -> None:
        """Forget what was found out about tables, because the metastore is another one."""
        ...


class PartitionRecords:
    """Makes the records of partitions, and remembers them. Several threads may ask at once.

    Args:
        folders: where readers find the files.
        spark_alone: whether all readers are Spark's.
    """

    def __init__(self, folders: Folders, spark_alone: bool) -> None:
        self._folders, self._spark_alone = folders, spark_alone
        self._cached: OrderedDict[tuple[Any, ...], tuple[str, Encoded]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def records(
        self, snapshot: TableSnapshot, name: str, table: TableRecord, partitions: Iterable[PartitionSnapshot]
    ) -> Iterator[Encoded]:
        """Yield the records of partitions.

        Args:
            snapshot: the table's version.
            name: the table's name in the call.
            table: its record.
            partitions: the partitions.

        Raises:
            UnsupportedError: readers would read one wrong.
        """
        waiting = iter(partitions)
        while batch := list(islice(waiting, PARTITIONS_PER_BATCH)):
            locations = self._folders.folders(snapshot, batch)
            for partition, location in zip(batch, locations, strict=True):
                yield self._record(snapshot, name, table, partition, location)

    def _record(
        self,
        snapshot: TableSnapshot,
        name: str,
        table: TableRecord,
        partition: PartitionSnapshot,
        location: str,
    ) -> Encoded:
        key = snapshot.id, partition.key, partition.ticket, snapshot.commit.metadata, name
        known = self._cached.get(key)
        if known is not None and known[0] == location:
            return known[1]
        if not self._spark_alone:
            require_files(snapshot, partition)
        made = encode(
            definitions().records["Partition"],
            partition_record(snapshot, name, table, partition, location),
        )
        with self._lock:
            self._bytes += len(made) - len(self._cached.pop(key, ("", b""))[1])
            self._cached[key] = location, made
            while self._bytes > _CACHED_BYTES:
                self._bytes -= len(self._cached.popitem(last=False)[1][1])
        return made

    def forget(self) -> None:
        """Forget all records."""
        with self._lock:
            self._cached.clear()
            self._bytes = 0


def partition_record(
    snapshot: TableSnapshot, name: str, table: TableRecord, partition: PartitionSnapshot, location: str
) -> dict[str, Any]:
    """Return the record of a partition.

    Args:
        snapshot: the table's version.
        name: the table's name in the metastore.
        table: its record.
        partition: the partition.
        location: of the folder with its files.
    """
    metadata, arrangement = snapshot.metadata, partition.arrangement
    files = flat_files(partition)
    types = {column.physical: column.column_type for column in metadata.columns}
    storage = hive_storage(metadata.format, location, types, arrangement, files, metadata.arrangement)
    return {
        "values": hive_values(metadata.partition_types, partition.values),
        "dbName": snapshot.database,
        "tableName": name,
        "createTime": seconds(metadata.created_at),
        "lastAccessTime": 0,
        "sd": storage_record(table.columns, storage),
        "parameters": {**statistics(files), "transient_lastDdlTime": str(seconds(snapshot.committed_at))},
        "catName": CATALOG,
    }


def partition_names(
    snapshot: TableSnapshot, table: TableRecord | Sequence[str], partitions: Iterable[PartitionSnapshot]
) -> Iterator[str]:
    """Yield the names of partitions, as Hive writes them: `day=2026-11-27/hour=7`."""
    names = table.partition_names if isinstance(table, TableRecord) else table
    waiting = iter(partitions)
    while batch := list(islice(waiting, PARTITIONS_PER_BATCH)):
        yield from partition_paths(names, snapshot.partition_types, PartitionSnapshot.all_values(batch))


class RememberedNames:
    """Written lists of names, by what a client wanted: a version's names never change.

    Clients ask for the same names again and again. Several threads may ask at once.
    """

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[Any, ...], Encoded] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, asked: tuple[Any, ...]) -> Encoded | None:
        """Return a list by what a client wanted, or None if it is not remembered."""
        return self._cached.get(asked)

    def remember(self, asked: tuple[Any, ...], names: Iterable[str]) -> Iterator[str]:
        """Yield names, and remember their list once it is whole, unless it is long."""
        kept, length = [], 0
        for name in names:
            length += len(name)
            if length <= _LIST_BYTES:
                kept.append(name)
            yield name
        if length <= _LIST_BYTES:
            written = encode_value(Container("list", "string"), kept)
            with self._lock:
                self._bytes += len(written) - len(self._cached.pop(asked, b""))
                self._cached[asked] = written
                while self._bytes > _CACHED_LISTS_BYTES:
                    self._bytes -= len(self._cached.popitem(last=False)[1])

    def forget(self) -> None:
        """Forget all lists."""
        with self._lock:
            self._cached.clear()
            self._bytes = 0
