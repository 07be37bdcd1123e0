"""Convert a table's heavy values between its properties and its record.

Statements, users and Python set the property `skewed-by`. It becomes the record
(`TableMetadata.arrangement`), which applies to partitions made later. The property is not stored: it is
derived from the record. Existing partitions keep their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from parquetry import errors
from parquetry.config import LIST_BUCKETING_RULES, SKEWED_BY, SKEWED_LOCATIONS, settle
from parquetry.ddl import (
    SkewedBy,
    SkewedLocations,
    filter_text,
    is_not_directories,
    parse_skewed_by,
    parse_skewed_locations,
)
from parquetry.definition.list_bucketing_rules import Occasion, Subject, require_allowed
from parquetry.definition.skew_clause import Zone, set_cell_locations, skew_map
from parquetry.layout import DEFAULT_DIRECTORY, ArrangementSpec, AutoSkew, SkewMap
from parquetry.metastore import (
    PartitionSnapshot,
    TableMetadata,
    TableSnapshot,
    Transaction,
    cheapest_plan,
    commit,
)
from parquetry.predicate import Filter, parse_filter
from parquetry.sqltext import constants
from parquetry.types import Value


def with_skew(metadata: TableMetadata, skew: SkewMap | None) -> TableMetadata:
    """Return metadata with other heavy values, for partitions made from now on."""
    arrangement = msgspec.structs.replace(metadata.arrangement, skew=skew)
    return msgspec.structs.replace(metadata, arrangement=arrangement)


def declare_skew(metadata: TableMetadata, clause: SkewedBy, zone: Zone) -> TableMetadata:
    """Return metadata with the heavy values that a clause defines.

    Raises:
        SkewError: the clause cannot be used; see `definition.skew_clause`.
    """
    return with_skew(metadata, skew_map(clause, metadata.data_columns, _auto(metadata), zone))


def _auto(metadata: TableMetadata) -> AutoSkew:
    settings = settle(properties=metadata.properties)
    return AutoSkew(settings["auto-skew-share"], settings["auto-skew-values"])


def record_skew(metadata: TableMetadata, zone: Zone) -> tuple[TableMetadata, SkewedLocations | None]:
    """Return metadata whose properties about heavy values became its record.

    Returns:
        The metadata, and the locations for a partition, if the property is about a partition and not the
        table.

    Raises:
        ClauseError: a property's text cannot be parsed.
        SkewError: the heavy values or locations in it cannot be used.
    """
    kept = dict(metadata.properties)
    clause, locations_text = kept.pop(SKEWED_BY, None), kept.pop(SKEWED_LOCATIONS, None)
    metadata = msgspec.structs.replace(metadata, properties=kept)
    if clause is not None and is_not_directories(clause):
        skew = _require_skew(metadata)
        metadata = with_skew(metadata, msgspec.structs.replace(skew, directories=False, locations=()))
    elif clause is not None:
        metadata = declare_skew(metadata, parse_skewed_by(clause), zone)
    elif (now := metadata.arrangement.skew) is not None and now.auto is not None:
        metadata = with_skew(metadata, msgspec.structs.replace(now, auto=_auto(metadata)))
    if locations_text is None:
        return metadata, None
    locations = parse_skewed_locations(locations_text)
    if locations.partition is not None:
        return metadata, locations
    return with_skew(
        metadata, set_cell_locations(_require_skew(metadata), locations.pairs, metadata.data_columns, zone)
    ), None


def remove_skew_property(metadata: TableMetadata, name: str) -> TableMetadata:
    """Return metadata without one of the two properties."""
    skew = metadata.arrangement.skew
    if name == SKEWED_BY or skew is None:
        return with_skew(metadata, None)
    return with_skew(metadata, msgspec.structs.replace(skew, locations=()))


def relocate_directories(transaction: Transaction, locations: SkewedLocations, zone: Zone) -> ArrangementSpec:
    """Make a transaction give directories of a partition other locations, for files written from now on.

    Existing files stay where they are, and are read as before.

    Returns:
        The partition's arrangement with the new locations.

    Raises:
        PartitionNotFoundError: there is no such partition.
        SkewedLocationError: PARTITION does not name exactly the partition columns.
        NotSkewedError: the partition has no heavy values.
        SkewError: a location cannot be used.
    """
    snapshot = transaction.base
    text = filter_text(locations.partition or {})
    named = {name.lower() for name in locations.partition or {}}
    if named != {name.lower() for name in snapshot.metadata.partition_by}:
        raise errors.SkewedLocationError(
            f"PARTITION has to name one partition of table {snapshot.label}: give a value for each of "
            f"{', '.join(snapshot.metadata.partition_by) or '(no partition columns)'}."
        )
    for part in snapshot.partitions(cheapest_plan(snapshot, _filter(snapshot, text, zone))):
        skew = part.arrangement.skew
        if skew is None:
            raise _not_skewed()
        placed = set_cell_locations(skew, locations.pairs, snapshot.metadata.data_columns, zone)
        arrangement = msgspec.structs.replace(part.arrangement, skew=placed)
        transaction.replace(part.values, part.files, part.location, arrangement)
        return arrangement
    raise errors.PartitionNotFoundError(
        f"Table {snapshot.label} has no partition where {text}: SHOW PARTITIONS lists them."
    )


def _filter(snapshot: TableSnapshot, text: str, zone: Zone) -> Filter:
    types = snapshot.key_schema.types
    needed = any(type.name == "timestamp" for type in types.values())
    return parse_filter(text, types, zone() if needed else "UTC")


def _require_skew(metadata: TableMetadata) -> SkewMap:
    skew = metadata.arrangement.skew
    if skew is None:
        raise _not_skewed()
    return skew


def _not_skewed() -> errors.NotSkewedError:
    return errors.NotSkewedError("This operation is only valid on skewed table. Say SKEWED BY … ON … first.")


def is_relaxed(properties: Mapping[str, str], *, measured: bool) -> bool:
    """Return whether the rules of list bucketing that can be lifted are lifted for a table.

    Args:
        properties: of the table. One of them can say either.
        measured: whether the heavy values are measured (`ON AUTO`). Hive has no such tables, so its rules are
            not their default.

    >>> [is_relaxed({}, measured=each) for each in (True, False)]
    [True, False]
    >>> is_relaxed({"list-bucketing-rules": "strict"}, measured=True)
    False
    """
    rules = settle(properties=properties).effective(LIST_BUCKETING_RULES)
    return measured if rules.level == "default" else rules.value == "relaxed"


def _has_relaxed_rules(metadata: TableMetadata) -> bool:
    skew = metadata.arrangement.skew
    return is_relaxed(metadata.properties, measured=skew is not None and skew.auto is not None)


def set_skew(
    snapshot: TableSnapshot, columns: Sequence[str], values: Sequence[Any] | None, directories: bool
) -> TableSnapshot:
    """Commit other heavy values of a table, for partitions made from now on.

    Args:
        snapshot: the table.
        columns: names; empty to remove the heavy values.
        values: as Python has them, tuples for several columns; or None to measure them.
        directories: whether each gets a directory.

    Raises:
        SkewError: the values cannot be used.
        ListBucketingError: the table's other properties do not allow directories.
        CommitConflictError: others changed the table's metadata meanwhile.
    """
    metadata = with_skew(snapshot.metadata, None)
    if columns:
        tuples = None if values is None else tuple(map(constants, values))
        metadata = declare_skew(metadata, SkewedBy(tuple(columns), tuples, directories), lambda: "UTC")
    require_rules(snapshot.label, metadata, "define")
    transaction = Transaction(snapshot, "alter")
    transaction.set_metadata(metadata)
    return commit(transaction)


def require_unskewed(label: str, metadata: TableMetadata, column: str, *, renamed: bool) -> None:
    """Make sure that the table is not skewed by a column that is dropped, renamed, or gets another type.

    Args:
        label: of the table, for messages.
        metadata: of the table.
        column: its name.
        renamed: whether the change is a rename. Values and the name in the files stay, so relaxed rules allow
            it.

    Raises:
        SkewedColumnChangeError: the table is skewed by it.
    """
    skew = metadata.arrangement.skew
    physical = next((each.physical for each in metadata.columns if each.name.lower() == column.lower()), None)
    if skew is None or physical not in skew.columns or (renamed and _has_relaxed_rules(metadata)):
        return
    lifted = f", or set the table property '{LIST_BUCKETING_RULES}' = 'relaxed'" if renamed else ""
    raise errors.SkewedColumnChangeError(
        f"{column} is a skewed column. It's not allowed to rename skewed column or change skewed column type, nor to drop "
        f"it: say ALTER TABLE {label} NOT SKEWED before{lifted}."
    )


def rules_subject(label: str, metadata: TableMetadata) -> Subject:
    """Return the properties of a table that the rules of list bucketing examine."""
    skew = metadata.arrangement.skew
    return Subject(
        label=label,
        directories=skew is not None and skew.directories,
        buckets=metadata.arrangement.buckets is not None,
        external=metadata.external,
        partitioned=bool(metadata.partition_by),
        file_format=metadata.format,
        relaxed=_has_relaxed_rules(metadata),
    )


def require_rules(label: str, metadata: TableMetadata, occasion: Occasion) -> None:
    """Make sure that a table breaks no rule of list bucketing.

    Raises:
        ListBucketingError: it breaks a rule.
    """
    require_allowed(rules_subject(label, metadata), occasion)


def require_concatenable(
    label: str, snapshot: TableSnapshot, partitions: Iterable[PartitionSnapshot]
) -> None:
    """Make sure that files of partitions may be merged.

    Partitions may have directories even if the table has none by now.

    Raises:
        ListBucketingError: partitions have directories, and a rule forbids the merge.
    """
    asked = rules_subject(label, snapshot.metadata)
    skews = (partition.arrangement.skew for partition in partitions)
    directories = asked.directories or any(skew is not None and skew.directories for skew in skews)
    require_allowed(replace(asked, directories=directories), "concatenate")


def refuse_values(snapshot: TableSnapshot, values: Iterable[Value]) -> None:
    """Make sure that no partition's value is the name of the directory of all other rows.

    Raises:
        ListBucketingError: a value is that name, and heavy values have directories.
    """
    if DEFAULT_DIRECTORY in values:
        require_rules(snapshot.label, snapshot.metadata, "name partition")
