"""A row with the findings of a table's last upkeep, so that the next one need not look at everything again.

The row says nothing about the table's content. Without it, a vacuum or an fsck looks at all rows.
"""

from __future__ import annotations

import hashlib

import msgspec

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import UPKEEP
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

MIN_PARTITIONS = 4096
"""Partitions of a table whose checks are remembered. Smaller tables are looked at as a whole each time."""


class UpkeepRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The findings of upkeep.

    Attributes:
        vacuumed: fingerprint of the head after a vacuum that left no unneeded row, or empty.
        locations: the locations of partitions outside of the table's folder that this vacuum found.
        checked: `next_ticket` of the head of an fsck that found nothing. Rows of earlier tickets, and their
            files, were as they should be; 0 if there was none.
        checked_version: the version that this fsck looked at.
        vacuumed_at: when the last vacuum ended, in milliseconds since the epoch; 0 if it is not known.
    """

    vacuumed: bytes = b""
    locations: tuple[str, ...] = ()
    checked: int = 0
    checked_version: int = -1
    vacuumed_at: int = 0


def read_record(store: Store, table: bytes) -> UpkeepRecord:
    """Return the record of a table; an empty one if there is none or it cannot be read."""
    value = store.get(UPKEEP + table)
    try:
        record: UpkeepRecord = UpkeepRecord() if value is None else decoder(UpkeepRecord).decode(value)
    except MetastoreDamagedError:
        return UpkeepRecord()
    return record


def write_record(store: Store, table: bytes, record: UpkeepRecord) -> None:
    """Write the record of a table, unless it is empty and there is none."""
    if record != read_record(store, table):
        store.put_many([(UPKEEP + table, encode(record))])


def fingerprint(head: Head) -> bytes:
    """Return a hash of what decides which rows a table needs, or nothing while a commit is under way.

    The state of range manifests is left out, since they are no rows of partitions.
    """
    if head.pending:
        return b""
    state = (head.commit.id, head.commit.version, head.oldest, head.next_ticket, head.aborted)
    return hashlib.sha256(encode(state)).digest()[:16]
