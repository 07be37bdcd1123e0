"""Publish a table and its partitions in a Hive metastore, so that Hive and others read its files in place.

Hive reads all files in a partition's directory, and knows no versions. So the directory must have exactly the
files that the table lists. A table with old files there, or with files elsewhere, is refused, and the error
says what to do first.

One version is published. After a later write, publish again: until then Hive sees new files before they are
complete, and no new partitions.

Clients of Hive's metastore write to the locations that it names, without a word to us. So a publication says
that others can overwrite the files. A read-only one names locations of links instead (`linked_folders`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import UnsupportedError
from parquetry.locations import StoragePath, is_hidden, join_location, storage_path
from parquetry.metastore import FileAccess, PartitionSnapshot, TableSnapshot
from parquetry.progress import Progress, silent, track
from parquetry.publishing.hive_record import (
    HivePartition,
    HiveTable,
    bucket_parameters,
    hive_columns,
    hive_storage,
    hive_values,
    missing_in_hive,
    statistics,
)
from parquetry.publishing.linked_folders import LinkedPartition, link_version, links_of, remove_other_versions
from parquetry.texts import quantity
from parquetry.types import ColumnType

OWNED_BY = "parquetry.table"
"""The parameter of a Hive table with the id of our table that it was published from."""
_MAX_SHOWN_PARTITIONS = 3
_WRITABLE = (
    "Hive's and Spark's clients can overwrite the files without Parquetry: give them the right to read alone, or publish with "
    "read_only => true"
)


@dataclass(frozen=True, slots=True)
class Published:
    """One kind of change in Hive's metastore.

    Attributes:
        action: ``table created``, ``table updated``, ``partitions added``, ``partitions updated`` or
            ``partitions dropped``; ``plain``: partitions whose heavy values are published without
            directories, since Hive would miss rows by these; ``not bucketed``: partitions published without
            buckets, for the same reason. The last one is ``writable``: others can overwrite the files.
        count: the number of tables or partitions.
        detail: the table, or some of the partitions.
    """

    action: str
    count: int
    detail: str


class HiveMetastore(Protocol):
    """A Hive metastore; `parquetry.spark.engine` connects to a session's."""

    def put_table(self, table: HiveTable) -> bool:
        """Create or change a table.

        Returns:
            Whether the table was created.

        Raises:
            TableExistsError: a table with this name exists that was not published from the same table.
        """
        ...

    def put_partitions(
        self, table: HiveTable, partitions: Iterable[HivePartition], progress: Progress
    ) -> tuple[int, int, int]:
        """Add, change and drop a table's partitions, so that it has exactly `partitions`.

        Returns:
            The numbers of added, changed and dropped partitions.
        """
        ...


def publish(
    snapshot: TableSnapshot,
    hive: HiveMetastore,
    database: str | None = None,
    name: str | None = None,
    progress: Progress = silent,
    *,
    read_only: bool = False,
) -> list[Published]:
    """Publish a version of a table in a Hive metastore.

    Args:
        snapshot: the table's version.
        hive: the metastore.
        database: the database in Hive, which is created if necessary, or None for the table's own database
            name.
        name: the table's name in Hive, or None for the same name.
        progress: called with the numbers of partitions checked and published, and of all.
        read_only: name locations of links to the files, which have no right to write.

    Returns:
        The changes.

    Raises:
        UnsupportedError: Hive would read other rows than the table has, or has no type for a column; or it is
            to be read-only, and there are no hard links.
        TableExistsError: Hive has a table of this name that was not published from this one.
        WarehouseError: a directory cannot be listed.
    """
    partitions = list(snapshot.partitions())
    types = {column.physical: column.column_type for column in snapshot.metadata.columns}
    linked = link_version(snapshot, partitions, progress) if read_only else None
    if linked is None:
        for partition in track(progress, "Looking at directories", partitions):
            require_folder(snapshot, partition, partition.files)
    told = [
        _hive_partition(snapshot, types, partition, links)
        for partition, links in zip(partitions, links_of(partitions, linked), strict=True)
    ]
    table = _hive_table(snapshot, types, (database, name), partitions, told)
    if linked is not None and snapshot.metadata.partition_by:
        table = msgspec.structs.replace(
            table, storage=msgspec.structs.replace(table.storage, location=linked.location)
        )
    made = hive.put_table(table)
    changes = [Published("table created" if made else "table updated", 1, f"{table.database}.{table.name}")]
    if snapshot.metadata.partition_by:
        counts = hive.put_partitions(table, told, progress)
        actions = zip(("partitions added", "partitions updated", "partitions dropped"), counts, strict=True)
        changes += [Published(action, count, "") for action, count in actions if count]
    changes += _less_told(snapshot, partitions, told)
    if linked is None:
        changes.append(Published("writable", 1, _WRITABLE))
    else:
        remove_other_versions(snapshot)
    return changes


def _hive_partition(
    snapshot: TableSnapshot,
    types: dict[str, ColumnType],
    partition: PartitionSnapshot,
    links: LinkedPartition,
) -> HivePartition:
    """Return a partition's record for Hive."""
    metadata, files, arrangement = snapshot.metadata, links.files, partition.arrangement
    table = metadata.arrangement if metadata.partition_by else arrangement
    storage = hive_storage(metadata.format, links.location, types, arrangement, files, table)
    return HivePartition(hive_values(metadata.partition_types, partition.values), statistics(files), storage)


def _less_told(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], told: Sequence[HivePartition]
) -> list[Published]:
    """Return the partitions that are published without directories for heavy values, or without buckets."""
    names: dict[str, list[str]] = {"plain": [], "not bucketed": []}
    for partition, record in zip(partitions, told, strict=True):
        name_of_it = snapshot.describe(partition.key) if snapshot.metadata.partition_by else snapshot.label
        for lacking in missing_in_hive(partition.arrangement, record.storage):
            names[lacking].append(name_of_it)
    return [Published(action, len(some), _some(some)) for action, some in names.items() if some]


def _hive_table(
    snapshot: TableSnapshot,
    types: dict[str, ColumnType],
    names: tuple[str | None, str | None],
    partitions: Sequence[PartitionSnapshot],
    told: Sequence[HivePartition],
) -> HiveTable:
    """Return a table's record for Hive. Without partitions, Hive reads files by the table's own storage."""
    metadata, arrangement = snapshot.metadata, snapshot.metadata.arrangement
    whole = told[0] if told and not metadata.partition_by else None
    if whole is None:
        storage = hive_storage(metadata.format, metadata.location, types, arrangement, None, arrangement)
    else:
        storage, arrangement = whole.storage, partitions[0].arrangement
    return HiveTable(
        names[0] or snapshot.database,
        names[1] or snapshot.name,
        metadata.owner or "",
        hive_columns(snapshot.label, metadata.data_columns),
        hive_columns(snapshot.label, metadata.partition_columns),
        {
            **({} if metadata.comment is None else {"comment": metadata.comment}),
            **bucket_parameters(arrangement, storage),
            **({} if whole is None else whole.parameters),
            OWNED_BY: snapshot.id.hex(),
        },
        storage,
    )


def require_folder(
    snapshot: TableSnapshot, partition: PartitionSnapshot, files: Iterable[FileRecord]
) -> None:
    """Make sure that a partition's directory has exactly the files that the table lists.

    Args:
        snapshot: the table's version.
        partition: the partition.
        files: the files that the table lists there.

    Raises:
        UnsupportedError: it has other files.
    """
    system = FileAccess()
    folder = storage_path(partition.location)
    live = {storage_path(join_location(partition.location, file.path)) for file in files}
    lying = set(_data_files(system, partition))
    left = sorted(system.name(path) for path in lying - live)
    away = sorted(system.name(path) for path in live - lying)
    name = f"Table {snapshot.label} cannot be published: "
    if left:
        raise UnsupportedError(
            f"{name}{system.name(folder)} holds {quantity(len(left), 'file')} not of this version, such as {_some(left)}, and "
            "Hive would read them. Delete what is old with vacuum, older_than now; take in what is new with sync."
        )
    if away:
        raise UnsupportedError(
            f"{name}{quantity(len(away), 'file')} outside {system.name(folder)}, such as {_some(away)}, would not be found by Hive. "
            "Write the partition anew with INSERT OVERWRITE, and vacuum."
        )


def _data_files(system: FileAccess, partition: PartitionSnapshot) -> Iterator[StoragePath]:
    """Yield the files below a partition's directory that Hive reads: neither hidden nor empty ones."""
    base = storage_path(partition.location).path.rstrip("/")
    for path, info in system.below(storage_path(partition.location)):
        below = path.path.removeprefix(f"{base}/")
        if info.bytes and not any(map(is_hidden, below.split("/"))):
            yield path


def _some(names: list[str]) -> str:
    more = len(names) - _MAX_SHOWN_PARTITIONS
    return ", ".join(names[:_MAX_SHOWN_PARTITIONS]) + (f" and {more} more" if more > 0 else "")
