"""ALTER TABLE … SET LOCATION: give an external table another location."""

from __future__ import annotations

import itertools
import logging

from msgspec.structs import replace

from parquetry.errors import PropertyError, WarehouseError
from parquetry.locations import is_own, open_location, visible_files
from parquetry.metastore import TableSnapshot, Transaction, commit, files_removed, live_files
from parquetry.planner.lake import Lake

_LOG = logging.getLogger("parquetry")
_MAX_COUNTED_FILES = 1_000
"""Most files that a message counts in a new table's LOCATION; counting more would delay the statement."""


def set_location(lake: Lake, snapshot: TableSnapshot, text: str) -> TableSnapshot:
    """Give a table another location, as Hive does, and return its new version. No file is moved or deleted.

    Partitions stay where they are, and new ones are written to the new location. A table without partition
    columns is empty until MSCK REPAIR TABLE adopts the files in the new location.

    Args:
        lake: the catalog.
        snapshot: the newest version of the table.
        text: the location as the user wrote it.

    Raises:
        PropertyError: the table is managed, or has itself written files in the new location.
        LocationTakenError: the location belongs to a managed table or to a database.
        CommitConflictError: others changed the table meanwhile.
    """
    name, metadata = lake.full_name(snapshot), snapshot.metadata
    if not metadata.external:
        raise PropertyError(
            f"Table {name} is managed: its files are in {metadata.location}, which the catalog has chosen. If you moved them, run `parquetry "
            "relocate FROM TO`. For files elsewhere make another table with CREATE TABLE … LOCATION."
        )
    location = lake.locations.external(snapshot.database, snapshot.name, text)
    if location.rstrip("/") == metadata.location.rstrip("/"):
        return snapshot
    _require_others(name, snapshot, location)
    transaction = Transaction(snapshot, "set location")
    for partition in snapshot.partitions():
        if metadata.partition_by:
            transaction.keep_location(partition)
        else:
            transaction.drop(partition.values)
    # removed files are recorded by their paths below the location, so the records would be wrong now
    transaction.leave_records()
    transaction.record_removed_files({file.path: None for file in files_removed(snapshot)})
    transaction.set_metadata(replace(metadata, location=location))
    moved = commit(transaction)
    if (lying := describe_files(location)) is not None:
        _LOG.warning(
            "The location of table %s is %s now%s. It has %s, which MSCK REPAIR TABLE %s takes in.",
            name, location, "; partitions stay where they are" if metadata.partition_by else " and is empty as yet", lying, name,
        )  # fmt: skip
    return moved


def _require_others(name: str, snapshot: TableSnapshot, location: str) -> None:
    """Make sure that a location has no unlisted files of the table itself: vacuum would delete them."""
    try:
        filesystem, folder = open_location(location)
        own = [path for path in visible_files(filesystem, folder) if is_own(path, snapshot.id)]
    except (OSError, WarehouseError):  # there may be no folder yet
        return
    listed = {open_location(path)[1] for path, _ in live_files(snapshot)} if own else set()
    if strange := [path for path in own if path not in listed]:
        raise PropertyError(
            f"Table {name} has written files that are in {location} and that it does not list, such as {strange[0]}. If you moved its "
            f"files, run `parquetry relocate {snapshot.metadata.location} {location}`. For an earlier version, CALL system.rollback."
        )


def describe_files(location: str) -> str | None:
    """Return how many files a location has, in words, or None if it has none or cannot be read."""
    try:
        filesystem, path = open_location(location)
        count = sum(1 for _ in itertools.islice(visible_files(filesystem, path), _MAX_COUNTED_FILES + 1))
    except (OSError, WarehouseError):
        return None
    more = f"more than {_MAX_COUNTED_FILES:,} files" if count > _MAX_COUNTED_FILES else f"{count} files"
    return None if count == 0 else "a file" if count == 1 else more
