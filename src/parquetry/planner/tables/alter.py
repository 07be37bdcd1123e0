"""ALTER TABLE: change a table's columns, properties and constraints, or an external table's location."""

from __future__ import annotations

import itertools
import logging

import msgspec
from msgspec.structs import replace

from parquetry.config import (
    BUCKETING_VERSION,
    CLUSTERED_BY,
    HIVE_COMPATIBLE,
    SKEWED_BY,
    SKEWED_LOCATIONS,
    SORT_BY,
    check_codec,
    check_properties,
    is_fixed,
    our_name,
    rename_column,
    settle,
)
from parquetry.definition import (
    AddConstraint,
    ClusterBy,
    DropColumn,
    DropConstraint,
    OrderColumns,
    RemoveProperty,
    RenameColumn,
    SetProperty,
    TableChange,
    UnsupportedChange,
    UpdateColumnType,
    bucket_begin,
    bucketing,
    change_columns,
    constraints,
    order_columns,
    physical_path,
    record_skew,
    relocate_directories,
    remove_skew_property,
    require_columns,
    require_droppable,
    require_rules,
    require_unskewed,
    rules_subject,
    split_into_elementary_changes,
    translate_cluster_by,
)
from parquetry.errors import BucketError, PropertyError, UnsupportedError, WarehouseError
from parquetry.locations import is_own, open_location, visible_files
from parquetry.metastore import TableMetadata, TableSnapshot, Transaction, commit, files_removed, live_files
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.tables.create import RESERVED_PROPERTIES
from parquetry.publishing import require_followable


def alter(lake: Lake, q: questions.AlterTable) -> answers.LoadedTable:
    """Change a table's columns and properties. Either all changes happen, or none."""
    lake.refuse_branch(
        q.namespace, q.name, "altered", "it has the table's definition; publish it, and alter the table"
    )
    snapshot = lake.metastore.table(lake.database(q.namespace), q.name)
    metadata = snapshot.metadata
    match q.changes:
        case [SetProperty(key="location", value=given)]:
            return lake.described(set_location(lake, snapshot, given))
    for change in split_into_elementary_changes(metadata, q.changes):
        if isinstance(change, DropColumn):
            require_droppable(snapshot, metadata, change.column)
        bucketing.require_unbucketed(snapshot, metadata, change)
        metadata = _alter_metadata(snapshot, metadata, change)
    metadata = metadata.with_former_types(snapshot.metadata)
    require_followable(snapshot, metadata)
    require_columns(metadata, settle(properties=metadata.properties))
    bucket_begin(metadata.properties, metadata.types_of_partitions)  # refuses what is no partition

    def zone() -> str:
        return lake.engine.time_zone

    metadata, of_partition = record_skew(bucketing.record_buckets(snapshot.label, metadata), zone)
    if rules_subject(snapshot.label, metadata) != rules_subject(snapshot.label, snapshot.metadata):
        require_rules(snapshot.label, metadata, "define")
    transaction = Transaction(snapshot, "alter")
    arrangement = (
        metadata.arrangement
        if of_partition is None
        else relocate_directories(transaction, of_partition, zone)
    )
    lake.locations.require_free_cells(snapshot.label, arrangement, snapshot.owner)
    if metadata != snapshot.metadata or of_partition is None:
        transaction.set_metadata(metadata)
    return lake.described(commit(transaction))


def can_alter(lake: Lake, q: questions.CanAlter) -> answers.Confirmation:
    """Return whether a column may change so. If not, Spark leaves the column unchanged and casts the rows."""
    snapshot = lake.snapshot(q.table)
    try:
        bucketing.require_unbucketed(snapshot, snapshot.metadata, q.change)
        metadata = _alter_metadata(snapshot, snapshot.metadata, q.change)
        require_followable(snapshot, metadata.with_former_types(snapshot.metadata))
    except (BucketError, UnsupportedError):
        return answers.Confirmation(False)
    return answers.Confirmation(True)


def _alter_metadata(
    snapshot: TableSnapshot, metadata: TableMetadata, change: TableChange | OrderColumns
) -> TableMetadata:
    """Return a table's metadata after one change; `metadata` has the changes before it."""
    label, replace = snapshot.label, msgspec.structs.replace
    match change:
        case SetProperty():
            return _set_property(metadata, our_name(change.key), change.value)
        case RemoveProperty():
            return _remove_property(metadata, our_name(change.key))
        case AddConstraint():
            return constraints.add_constraint(snapshot, metadata, change)
        case DropConstraint():
            return constraints.drop_constraint(metadata, label, change)
        case ClusterBy(columns=paths):
            kept = {name: value for name, value in metadata.properties.items() if name != SORT_BY}
            if paths:
                kept[SORT_BY] = translate_cluster_by(label, metadata, paths)
            return replace(metadata, properties=kept)
        case OrderColumns(names=names):
            return replace(metadata, columns=order_columns(metadata, names))
        case UnsupportedChange():
            raise UnsupportedError(f"ALTER TABLE … {change.text} is not supported.")
        case DropColumn(column=path):
            constraints.require_unconstrained(metadata, label, path, "dropped")
            columns = change_columns(metadata, change)
            if columns == metadata.columns:
                return metadata
            dropped = dict.fromkeys((*metadata.dropped, physical_path(metadata, path)))
            return replace(metadata, columns=columns, dropped=tuple(dropped))
        case RenameColumn(column=path):
            constraints.require_unconstrained(metadata, label, path, "renamed")
            require_unskewed(label, metadata, path[0], renamed=True)
            return _rename_column(metadata, change)
        case UpdateColumnType(column=path):
            require_unskewed(label, metadata, path[0], renamed=False)
    return replace(metadata, columns=change_columns(metadata, change))


def _set_property(metadata: TableMetadata, key: str, value: str) -> TableMetadata:
    if key == "comment":
        return msgspec.structs.replace(metadata, comment=value)
    if key == "owner":
        return msgspec.structs.replace(metadata, owner=value)
    _check_changeable(key)
    check_properties({key: value})
    check_codec({key: value}, metadata.format)
    return msgspec.structs.replace(metadata, properties={**metadata.properties, key: value})


def _remove_property(metadata: TableMetadata, key: str) -> TableMetadata:
    if key == "comment":
        return msgspec.structs.replace(metadata, comment=None)
    _check_changeable(key)
    if key in (SKEWED_BY, SKEWED_LOCATIONS):
        return remove_skew_property(metadata, key)
    if key in (CLUSTERED_BY, BUCKETING_VERSION, HIVE_COMPATIBLE):
        return bucketing.remove_bucket_property(metadata, key)
    kept = {name: value for name, value in metadata.properties.items() if name != key}
    return msgspec.structs.replace(metadata, properties=kept)


def _rename_column(metadata: TableMetadata, change: RenameColumn) -> TableMetadata:
    """Return metadata with another name for a column or field, also in properties and partition columns."""
    path, new = change.column, change.to
    renamed = msgspec.structs.replace(
        metadata,
        columns=change_columns(metadata, change),
        properties=rename_column(metadata.properties, path, new),
    )
    if len(path) > 1:
        return renamed
    by = tuple(new if name.lower() == path[0].lower() else name for name in metadata.partition_by)
    return msgspec.structs.replace(renamed, partition_by=by)


def _check_changeable(key: str) -> None:
    if key in RESERVED_PROPERTIES or is_fixed(key):
        instead = "say ALTER TABLE … SET LOCATION" if key == "location" else "make a new table"
        raise PropertyError(f"Table property {key!r} cannot be changed after the table was made: {instead}.")


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
