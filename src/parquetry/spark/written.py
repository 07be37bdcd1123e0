"""What a write has written: its files by partition, with statistics; and the deletion of what nobody will read."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import SparkSession

from parquetry.keys import successor
from parquetry.layout.paths import parse_partition_path, stored_value
from parquetry.layout.places import base_name, join_location, path_within
from parquetry.metastore.model import DataFile
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")


class Written(NamedTuple):
    """The files that one write made for one partition."""

    values: tuple[Value, ...]
    files: tuple[DataFile, ...]


def collect(lake: Lake, snapshot: TableSnapshot, files: list[dict[str, Any]]) -> list[Written]:
    """Return the files of a write by partition, with their footers' statistics; empty ones are deleted.

    Args:
        lake: the catalog.
        snapshot: the table as it was when the write began.
        files: as `writes.write_files` returns them.
    """
    root = snapshot.metadata.location
    by_key: dict[bytes, list[DataFile]] = defaultdict(list)
    values_of: dict[bytes, tuple[Value, ...]] = {}
    for directory, file in _with_rows(lake, snapshot, files):
        values = _values(snapshot, directory)
        key = snapshot.key_of(values)
        values_of.setdefault(key, values)
        by_key[key].append(file)
    located = _locations(snapshot, values_of)
    return [
        Written(values_of[key], tuple(_placed(file, root, located[key]) for file in by_key[key]))
        for key in sorted(by_key)
    ]


def _with_rows(
    lake: Lake, snapshot: TableSnapshot, files: list[dict[str, Any]]
) -> Iterator[tuple[str, DataFile]]:
    """Yield the files that hold rows, each after its directory below the table; delete the others."""
    root = snapshot.metadata.location
    relative = [f"{file['directory']}/{base_name(file['path'])}".lstrip("/") for file in files]
    read = lake.engine.data_files(snapshot.metadata.format, root, relative)
    delete_files([join_location(root, file.path) for file in read if not file.rows], root)
    for made, file in zip(files, read, strict=True):
        if file.rows:
            yield made["directory"], file


def _values(snapshot: TableSnapshot, directory: str) -> tuple[Value, ...]:
    """Return the values of the partition whose directory below the table is given."""
    metadata = snapshot.metadata
    if not metadata.partition_by:
        return ()
    names = [column.physical for column in metadata.partition_columns]
    return tuple(map(stored_value, parse_partition_path(directory, names, metadata.partition_types, "UTC")))


def _locations(snapshot: TableSnapshot, values_of: dict[bytes, tuple[Value, ...]]) -> dict[bytes, str]:
    """Return where partitions are, by their keys: those that are not there yet get the default place."""
    plan = ScanPlan(tuple(KeyScan("get", key, successor(key), None) for key in sorted(values_of)))
    located = {partition.key: partition.location for partition in snapshot.partitions(plan)}
    return {key: located.get(key) or snapshot.default_location(values) for key, values in values_of.items()}


def _placed(file: DataFile, root: str, base: str) -> DataFile:
    """Return a file with the path that its partition records: relative to its location, if below it."""
    return msgspec.structs.replace(file, path=path_within(base, join_location(root, file.path)))


def delete_files(paths: Sequence[str], location: str) -> None:
    """Delete files that no commit names; what cannot be deleted is left to `vacuum`.

    Args:
        paths: the files.
        location: of their table; directories below it that become empty go, too.
    """
    if not paths:
        return
    session = SparkSession.active()
    door = session._jvm.org.apache.spark.sql.parquetry.FileWriter
    for failure in door.delete(session._jsparkSession, location, list(paths)):
        _LOG.warning("an uncommitted file could not be deleted: %s", failure)
