"""A followed table stays one that its followers can follow: what would end that is refused before it is done.

A Delta log or a Hive metastore cannot show a version whose files its readers would read otherwise. After such
a change it would stay at the version before, and its readers would notice nothing.
"""

from __future__ import annotations

from parquetry.data_files import has_default
from parquetry.errors import UnsupportedError
from parquetry.exchange import DELTA, HIVE, OtherFormat
from parquetry.locations import take_apart
from parquetry.metastore import HIVE as HIVE_FOLLOWER, TableMetadata, TableSnapshot, follower_name

_READERS = {"delta": ("Delta log", "Delta's readers"), HIVE_FOLLOWER: ("Hive metastore", "its clients")}
"""For messages: what follows a table, and who reads by it."""


def require_followable(snapshot: TableSnapshot, metadata: TableMetadata) -> None:
    """Make sure that what follows a table can follow a change of its definition, if it has until now.

    Args:
        snapshot: the table before the change.
        metadata: its definition after the change.

    Raises:
        UnsupportedError: it would stay behind.
    """
    follower = follower_name(metadata.properties)
    if follower not in _READERS:
        return
    before = snapshot.metadata
    if follower_name(before.properties) == follower and _refusal(snapshot, before, follower) is not None:
        return  # it has stayed behind already
    if (reason := _refusal(snapshot, metadata, follower)) is not None:
        raise UnsupportedError(
            f"Table {snapshot.label} is followed by a {_READERS[follower][0]}, which would stay at version {snapshot.version}: {reason}. To make "
            "the change nevertheless, say ALTER TABLE … UNSET TBLPROPERTIES ('publish') before. Files that lack a column with a "
            "DEFAULT are written anew by CALL system.compact(table, for_other_readers => true); then CALL system.publish follows "
            "again."
        )


def _refusal(snapshot: TableSnapshot, metadata: TableMetadata, follower: str) -> str | None:
    """Return why no log or metastore can show a table with a definition, or None."""
    if follower == HIVE_FOLLOWER:
        reason = hive_refusal(metadata, HIVE) or HIVE.widened_refusal(metadata, ())
        if reason is None and not take_apart(metadata.location).is_local:
            reason = f"its files are at {metadata.location}, where no hard links can be made that its clients may not write"
    else:
        reason = DELTA.definition_refusal(metadata) or DELTA.widened_refusal(metadata, ())
    if reason is None and snapshot.totals.files:
        known = {column.physical for column in snapshot.metadata.columns}
        for column in metadata.data_columns:
            if column.physical not in known and has_default(column):
                return (
                    f"files of before lack column {column.name}, and {_READERS[follower][1]} would read NULL there instead of its "
                    "default value"
                )
    return reason


def hive_refusal(metadata: TableMetadata, readers: OtherFormat, *, utc: bool = False) -> str | None:
    """Return what a definition says that readers of a Hive metastore would read otherwise, or None.

    Args:
        metadata: the definition.
        readers: whether all of them are Spark's.
        utc: whether all of them read times in UTC.
    """
    names = {column.name.lower(): column for column in metadata.columns}
    for column in metadata.columns:
        other = names.get(column.physical.lower())
        if other is not None and other is not column:
            return (
                f"column {column.name} is called {column.physical} in the files, as another column is now, and readers would take one "
                "for the other. Copy the rows into a new table"
            )
    if (reason := readers.definition_refusal(metadata)) is not None:
        return reason
    if not utc and any(column.column_type.name == "timestamp" for column in metadata.partition_columns):
        return (
            "a partition column is a TIMESTAMP, whose values are texts here, and each reader takes them for times in its own zone. "
            "Start serve-hive with --utc if all clients' sessions are in UTC"
        )
    return None
