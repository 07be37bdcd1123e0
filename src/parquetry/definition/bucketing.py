"""Convert a table's buckets between its properties and its record.

Statements, users and Python set the property `clustered-by`; `bucketing-version` selects the hash. Together
they become the record (`TableMetadata.arrangement`), which applies to partitions made later. Existing
partitions keep their own. The property `clustered-by` is not stored: it is derived from the record, and so is
the read-only `hive-compatible`.

The property `bucket-begin-partition` names the first partition whose files are in buckets.

Hive's users may bucket a table later on and leave older partitions unchanged. The property tells where the
buckets begin, by a value of the first partition column or by a condition on partition columns. NULL is before
every value. Timestamps are read in UTC.

>>> from parquetry.types import parse_type
>>> types = {"ds": parse_type("string"), "hour": parse_type("int")}
>>> print(bucket_begin({"bucket-begin-partition": "2026-03-01"}, types))
ds >= '2026-03-01'
>>> print(bucket_begin({"bucket-begin-partition": "ds > '2026-03-01' or ds = '2026-03-01' and hour >= 12"}, types))
ds > '2026-03-01' OR (ds = '2026-03-01' AND hour >= 12)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from parquetry.config import BUCKET_BEGIN_PARTITION, BUCKETING_VERSION, CLUSTERED_BY, HIVE_COMPATIBLE, settle
from parquetry.ddl import ClusteredBy, filter_text, parse_clustered_by
from parquetry.definition import changes
from parquetry.definition.bucket_clause import bucket_spec, require_hashable
from parquetry.definition.skew import require_rules
from parquetry.errors import BucketColumnChangeError, BucketError, FilterError, PropertyError, ValueTypeError
from parquetry.identifiers import parse_ordered_columns
from parquetry.layout import ArrangementSpec, BucketSpec, Version, is_hive_compatible
from parquetry.metastore import TableMetadata, TableSnapshot, Transaction, commit, decode_arrangement
from parquetry.predicate import Compare, Filter, columns_of, parse_filter
from parquetry.types import STRING, ColumnType, sql_literal, value_from_text


def with_buckets(metadata: TableMetadata, buckets: BucketSpec | None) -> TableMetadata:
    """Return metadata with other buckets, for partitions made from now on."""
    arrangement = msgspec.structs.replace(metadata.arrangement, buckets=buckets)
    return msgspec.structs.replace(metadata, arrangement=arrangement)


def declare_buckets(metadata: TableMetadata, clause: ClusteredBy) -> TableMetadata:
    """Return metadata with the buckets that a clause defines.

    Raises:
        BucketError: the clause cannot be used; see `definition.bucket_clause`.
    """
    now, version = metadata.arrangement.buckets, _version(metadata)
    return with_buckets(metadata, bucket_spec(clause, metadata.data_columns, version, now))


def record_buckets(label: str, metadata: TableMetadata) -> TableMetadata:
    """Return metadata with its record made from the properties about buckets.

    Args:
        label: of the table, for messages.
        metadata: of the table.

    Raises:
        ClauseError: the text of `clustered-by` cannot be parsed.
        BucketError: the buckets in it cannot be used.
        PropertyError: `hive-compatible` contradicts the version of the hash.
    """
    kept = dict(metadata.properties)
    clause, compatible = kept.pop(CLUSTERED_BY, None), kept.pop(HIVE_COMPATIBLE, None)
    metadata = msgspec.structs.replace(metadata, properties=kept)
    if clause is not None:
        parsed = parse_clustered_by(clause)
        _refuse_partition(label, parsed)
        metadata = declare_buckets(metadata, parsed)
    elif (now := metadata.arrangement.buckets) is not None and now.version != _version(metadata):
        changed = msgspec.structs.replace(now, version=_version(metadata))
        require_hashable(changed, metadata.data_columns)
        metadata = with_buckets(metadata, changed)
    if compatible is not None and compatible.strip().lower() != is_hive_compatible(_version(metadata)):
        raise PropertyError(
            f"Table property {HIVE_COMPATIBLE!r} is {compatible!r}, and follows from {BUCKETING_VERSION!r}, which is "
            f"{_version(metadata)}: leave it out, or set {BUCKETING_VERSION!r} to 1 or 2 for buckets of Hive's, to spark for "
            "Spark's."
        )
    return metadata


def _refuse_partition(label: str, clause: ClusteredBy) -> None:
    if clause.partition is None:
        return
    where, table = sql_literal(STRING, filter_text(clause.partition)), sql_literal(STRING, label)
    count = "" if clause.count is None else f", buckets => {clause.count}"
    raise BucketError(
        f"The buckets of a partition of table {label} are those that its rows were written into, and are not changed by a "
        f"statement alone: write it anew with CALL system.rebucket(table => {table}, where => {where}{count})."
    )


def _version(metadata: TableMetadata) -> Version:
    """Return the version in the property, or else the version of the existing buckets."""
    now = metadata.arrangement.buckets
    if now is not None and BUCKETING_VERSION not in metadata.properties:
        return now.version
    version: Version = settle(properties=metadata.properties)[BUCKETING_VERSION]
    return version


def remove_bucket_property(metadata: TableMetadata, name: str) -> TableMetadata:
    """Return metadata without one of the properties.

    Raises:
        PropertyError: the property is read-only.
    """
    kept = {key: value for key, value in metadata.properties.items() if key != name}
    metadata, now = msgspec.structs.replace(metadata, properties=kept), metadata.arrangement.buckets
    if name == CLUSTERED_BY or now is None:
        return with_buckets(metadata, None)
    if name == HIVE_COMPATIBLE:
        raise PropertyError(
            f"Table property {HIVE_COMPATIBLE!r} cannot be removed: it says what {BUCKETING_VERSION!r} means to Hive."
        )
    default: Version = settle(properties=kept)[BUCKETING_VERSION]
    return with_buckets(metadata, msgspec.structs.replace(now, version=default))


def set_buckets(
    snapshot: TableSnapshot,
    columns: Sequence[str],
    count: int | None,
    sorted_by: Sequence[str],
    version: Version | None,
) -> TableSnapshot:
    """Commit other buckets of a table, for partitions made from now on.

    Args:
        snapshot: the table.
        columns: names; empty to remove the buckets.
        count: of the buckets.
        sorted_by: the columns that each bucket is sorted by: names as SQL writes them, each with or without
            DESC.
        version: of the hash, or None to keep it.

    Raises:
        BucketError: the buckets cannot be used.
        ListBucketingError: the table's other properties do not allow buckets.
        CommitConflictError: others changed the table's metadata meanwhile.
    """
    metadata = snapshot.metadata
    if version is not None:
        properties = {**metadata.properties, BUCKETING_VERSION: str(version)}
        settle(properties=properties)  # refuses an unknown version
        metadata = msgspec.structs.replace(metadata, properties=properties)
    if columns:
        if count is None:
            raise BucketError("The number of buckets is not given: give a number from 1 on.")
        metadata = declare_buckets(metadata, ClusteredBy(tuple(columns), _order(sorted_by), count))
    else:
        metadata = with_buckets(metadata, None)
    require_rules(snapshot.label, metadata, "define")
    transaction = Transaction(snapshot, "alter")
    transaction.set_metadata(metadata)
    return commit(transaction)


def _order(sorted_by: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    try:
        return tuple(column for text in sorted_by for column in parse_ordered_columns(text))
    except ValueError:
        raise BucketError(
            f"Buckets cannot be sorted by {list(sorted_by)!r}: give names of columns, in backticks if they are no plain words, "
            "such as 'day' or 'day DESC'."
        ) from None


def require_unbucketed(
    snapshot: TableSnapshot, metadata: TableMetadata, change: changes.TableChange | changes.OrderColumns
) -> None:
    """Make sure that no bucket depends on the type of a column that gets another type.

    A value's bucket comes from its hash, which depends on the type. So does the order of structs. Names do
    not matter: files and partitions know columns by the names that they were written with.

    Args:
        snapshot: the table, with its partitions.
        metadata: of the table with the other changes of the statement.
        change: of its columns.

    Raises:
        BucketColumnChangeError: the table or a partition has such buckets.
    """
    match change:
        case changes.UpdateColumnType(column=path):
            pass
        case changes.AddColumn(column=path) | changes.UpdateColumnPosition(column=path) if len(path) > 1:
            pass
        case _:
            return
    column = next((each for each in metadata.columns if each.name.lower() == path[0].lower()), None)
    if column is None:
        return
    for arrangement, holder in all_arrangements(snapshot, metadata):
        buckets = arrangement.buckets
        if buckets is None:
            continue
        if column.physical in buckets.columns:
            role = "a bucket column", "another type has other hashes"
        elif column.physical in (each.column for each in buckets.sort):
            role = "a column that buckets are sorted by", "another type may have another order"
        else:
            continue
        remedy = (
            f"say ALTER TABLE {snapshot.label} NOT CLUSTERED before, and write partitions anew that have such buckets"
            if holder is None
            else f"write the partitions that have such buckets anew, with INSERT OVERWRITE; {holder} is one"
        )
        raise BucketColumnChangeError(
            f"Column {column.name} is {role[0]} of table {snapshot.label}, and {role[1]}: its type cannot be changed. If it has "
            f"to be, {remedy}."
        )


def all_arrangements(
    snapshot: TableSnapshot, metadata: TableMetadata
) -> Iterator[tuple[ArrangementSpec, str | None]]:
    """Yield the table's arrangement, then each other one of its partitions once, with a partition's name."""
    yield metadata.arrangement, None
    totals = snapshot.totals
    if not totals.arrangements or totals.all_arranged(metadata.arrangement):
        return
    seen: set[bytes] = set()
    for partition in snapshot.partitions():
        coded = bytes(partition.entry.arrangement)
        if coded not in seen:
            seen.add(coded)
            yield decode_arrangement(partition.entry.arrangement), snapshot.describe(partition.key)


_OPERATOR = re.compile(r"[=<>]|\b(?:is|in|like|between)\b", re.IGNORECASE)
"""A text with one of these is a condition. A value that contains one has to be in quotes."""


def bucket_begin(properties: Mapping[str, str], types: Mapping[str, ColumnType]) -> Filter | None:
    """Return the condition that the bucketed partitions satisfy, or None if the table has no such property.

    Args:
        properties: of the table.
        types: of the partition columns, by name, in the order of the directories.

    Raises:
        PropertyError: the text is neither a value of the first partition column nor a condition on partition
            columns.
    """
    text = properties.get(BUCKET_BEGIN_PARTITION)
    if text is None:
        return None
    named = f"Table property {BUCKET_BEGIN_PARTITION!r} is {text!r}"
    if not types:
        raise PropertyError(f"{named}, and the table has no partition columns: leave it out.")
    try:
        condition = parse_filter(text, types)
        if columns_of(condition.node):
            return condition
    except FilterError as error:
        not_read = error.message.partition("\n")[0]  # without the quoted text and the mark below it
    else:
        not_read = "it names no column"
    first, type = next(iter(types.items()))
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    if _OPERATOR.search(text) and not quoted:  # a typing error, or a column that was renamed
        raise PropertyError(f"{named}, which is no condition on partition columns: {not_read}")
    try:
        value = value_from_text(type, text[1:-1] if quoted else text)
    except ValueTypeError as error:
        raise PropertyError(
            f"{named}, which is neither a value of {first} nor a condition on partition columns. As a value: "
            f"{error.message} As a condition: {not_read}"
        ) from None
    return Filter.bind(Compare(">=", first, value, type), types)
