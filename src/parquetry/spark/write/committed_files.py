"""Collect the files of a write by partition, with statistics, and delete files that no commit will name.

Buckets without rows get an empty file after a write: Hive 1 needs a file for each bucket.

A bucket that already has a file in its partition gets none. If a partition has directories for heavy values,
each directory with files gets a file for each bucket.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parquetry.data_files import FileRecord, FooterReader, IdsInFile, from_writer
from parquetry.keys import successor
from parquetry.layout import ArrangementSpec
from parquetry.locations import (
    base_name,
    is_absolute,
    join_location,
    join_relative,
    parse_partition_path,
    path_within,
    stored_value,
)
from parquetry.metastore import (
    TableMetadata,
    TableSnapshot,
    Transaction,
    check_of_new_files,
    check_of_old_files,
)
from parquetry.scan import KeyScan, ScanPlan
from parquetry.spark.active import active_session, bridge_class
from parquetry.spark.write.slots import RowSlots
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")


class WrittenPartition(NamedTuple):
    """The files that one write made for one partition.

    Attributes:
        values: of the partition columns.
        location: of the partition.
        files: with their slots. Paths are relative to the location if they are below it.
        arrangement: the arrangement that they were written for, or None if it is unknown.
        remade: whether this arrangement replaces the one that the partition has; see `Destinations.remade`.
        grows: whether the partition's map is extended by this arrangement's map; see `Destinations.growing`.
    """

    values: tuple[Value, ...]
    location: str
    files: tuple[FileRecord, ...]
    arrangement: ArrangementSpec | None
    remade: bool
    grows: bool


def collect(
    footers: FooterReader, snapshot: TableSnapshot, files: list[dict[str, Any]], slots: RowSlots
) -> list[WrittenPartition]:
    """Return the files of a write by partition, with the statistics of their footers.

    A file without rows is deleted, unless it is of a bucket.

    Args:
        footers: reads the footers of the files.
        snapshot: the version of the table when the write began.
        files: the result of `insert.write_files`.
        slots: the slots that the files' numbers stand for.
    """
    by_key: dict[bytes, list[FileRecord]] = defaultdict(list)
    values_of: dict[bytes, tuple[Value, ...]] = {}
    for made, file in _with_rows(footers, snapshot, files, slots):
        values = values_in(snapshot, made["directory"])
        key = snapshot.key_of(values)
        values_of.setdefault(key, values)
        by_key[key].append(slots.record(file, key, made["slot"]))
    located = _locations(snapshot, values_of)
    destinations = slots.destinations
    return [
        WrittenPartition(
            values_of[key],
            located[key],
            tuple(_relative_path(file, located[key]) for file in by_key[key]),
            destinations.arrangement(key),
            key in destinations.remade,
            key in destinations.growing,
        )
        for key in sorted(by_key)
    ]


def _with_rows(
    footers: FooterReader, snapshot: TableSnapshot, files: list[dict[str, Any]], slots: RowSlots
) -> Iterator[tuple[dict[str, Any], FileRecord]]:
    """Yield the files with rows or of a bucket, each after its writer's answer, and delete the others."""
    root = snapshot.metadata.location
    paths: dict[str, list[str]] = defaultdict(list)
    below: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for made in files:
        directory, name = slots.numbers.directory(made["slot"]).directory, base_name(made["path"])
        if is_absolute(directory):  # the cell has a location of its own
            base, path = directory, name
        elif made["location"] is not None:
            base, path = made["location"], join_relative(directory, name).strip("/")
        else:
            base, path = root, join_relative(join_relative(made["directory"], directory).strip("/"), name)
        paths[base].append(path)
        below[base].append(made)
    for base, relative in paths.items():
        useless = []
        for made, file in zip(
            below[base], _records(footers, snapshot, base, relative, below[base]), strict=True
        ):
            if file.rows == 0 and not slots.numbers.directory(made["slot"]).one_file_per_slot:
                useless.append(join_location(base, file.path))
                made["deleted"] = True
            else:
                yield made, msgspec.structs.replace(file, path=join_location(base, file.path))
        delete_files(useless, root)


def _records(
    footers: FooterReader,
    snapshot: TableSnapshot,
    base: str,
    paths: Sequence[str],
    written: Sequence[dict[str, Any]],
) -> list[FileRecord]:
    """Return the records of files below a folder. The footers that did not come from the writers are read."""
    file_format = snapshot.metadata.format
    unknown = [path for path, made in zip(paths, written, strict=True) if "footer" not in made]
    read = iter(footers.data_files(file_format, base, unknown))
    records = [
        from_writer(file_format, path, made) if "footer" in made else next(read)
        for path, made in zip(paths, written, strict=True)
    ]
    return [_record(record, snapshot.metadata) for record in records]


def _record(file: FileRecord, metadata: TableMetadata) -> FileRecord:
    """Return the record of a file that was written for a table, from its footer.

    Statistics of partition columns are left out, since these columns have one value in all files.
    """
    partition_columns = {column.physical for column in metadata.partition_columns}
    columns = file.columns and {
        name: statistics for name, statistics in file.columns.items() if name not in partition_columns
    }
    ids = IdsInFile.OURS if columns == file.columns else IdsInFile.WITH_PARTITION_COLUMNS
    if file.field_ids is not None and IdsInFile(file.field_ids).for_spark_alone:
        ids = IdsInFile(file.field_ids)
    known = msgspec.structs.replace(file, columns=columns, field_ids=int(ids))
    return metadata.keep_record(known)


def values_in(snapshot: TableSnapshot, directory: str) -> tuple[Value, ...]:
    """Return the values of a partition, given its directory below the table."""
    metadata = snapshot.metadata
    if not metadata.partition_by:
        return ()
    names = [column.physical for column in metadata.partition_columns]
    return tuple(map(stored_value, parse_partition_path(directory, names, metadata.partition_types, "UTC")))


def _locations(snapshot: TableSnapshot, values_of: dict[bytes, tuple[Value, ...]]) -> dict[bytes, str]:
    """Return the locations of partitions by their keys. A new partition gets the default location."""
    plan = ScanPlan(tuple(KeyScan("get", key, successor(key), None) for key in sorted(values_of)))
    located = {partition.key: partition.location for partition in snapshot.partitions(plan)}
    return {
        key: located.get(key) or snapshot.placement.default_location(values)
        for key, values in values_of.items()
    }


def _relative_path(file: FileRecord, base: str) -> FileRecord:
    """Return a file with the path for its record: relative to the partition's location if it is below it."""
    return msgspec.structs.replace(file, path=path_within(base, file.path))


class Uncommitted:
    """The files of a write before its commit.

    They are deleted only if the commit surely failed. An error or an interrupt may also come after the step
    that makes the commit visible.

    Args:
        files: the result of `insert.write_files`.
        snapshot: of the table.
    """

    def __init__(self, files: Sequence[dict[str, Any]], snapshot: TableSnapshot) -> None:
        self._files = files
        self._snapshot = snapshot
        self._transaction: Transaction | None = None

    def begin(self, operation: str) -> Transaction:
        """Begin the transaction that will add the files."""
        self._transaction = Transaction(self._snapshot, operation)
        files = {file["path"]: file["modified"] for file in self._files if "deleted" not in file}
        if (check := check_of_old_files(self._snapshot, files)) is not None:
            self._transaction.requirements.adopt(check)
        self._transaction.requirements.keep(check_of_new_files(self._snapshot, list(files)))
        return self._transaction

    def clean_up(self) -> None:
        """Delete the files of a failed write, unless a version may already contain them."""
        if self._transaction is None or not self._transaction.may_be_visible:
            delete_files([file["path"] for file in self._files], self._snapshot.metadata.location)


def delete_files(paths: Sequence[str], location: str) -> None:
    """Delete files that no commit names. If a file cannot be deleted, `vacuum` will delete it.

    Args:
        paths: the files.
        location: of their table. Directories below it that become empty are deleted, too.
    """
    if not paths:
        return
    session = active_session()
    door = bridge_class(session._jvm, "datafiles.FileWriter")
    for failure in door.delete(session._jsparkSession, location, list(paths)):
        _LOG.warning("an uncommitted file could not be deleted: %s", failure)


FilesKept = Callable[[Collection[bytes]], Mapping[bytes, Sequence[FileRecord]]]
"""Returns, for some partitions by their keys, the files that they keep."""


def nothing_kept(_keys: Collection[bytes]) -> Mapping[bytes, Sequence[FileRecord]]:
    """Return no files: the write replaces all files of the partitions."""
    return {}


def empty_slots(
    snapshot: TableSnapshot,
    slots: RowSlots,
    files: Sequence[dict[str, Any]],
    wanted: bool | None,
    kept: FilesKept,
) -> list[tuple[str, int]]:
    """Return a pair for each empty file to write: its partition's directory below the table, and its slot.

    Args:
        snapshot: of the table.
        slots: of the rows.
        files: the files with the rows.
        wanted: whether empty buckets get files; None means yes, but only with version 1.
        kept: the other files of partitions.
    """
    filled: dict[tuple[str, int], set[int]] = defaultdict(set)
    for file in files:
        slot_directory = slots.numbers.directory(file["slot"])
        layout = slot_directory.layout
        if layout is None or not layout.one_file_per_slot:
            continue
        if layout.files_for_empty_slots if wanted is None else wanted:
            filled[file["directory"], slot_directory.first].add(file["slot"])
    if not filled:
        return []
    keys = {directory: snapshot.key_of(values_in(snapshot, directory)) for directory, _ in filled}
    there = kept(set(keys.values()))
    missing = []
    for (directory, first), with_rows in filled.items():
        slot_directory = slots.numbers.directory(first)
        with_files = slots.numbers.numbers_of(there.get(keys[directory], ()), slot_directory)
        missing += [(directory, slot) for slot in slot_directory.slots if slot not in with_rows | with_files]
    return missing
