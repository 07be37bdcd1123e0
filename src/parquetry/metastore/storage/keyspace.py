"""The keys and values of all rows of the store.

Every key begins with one tag byte, so that rows of a kind are neighbours. Then comes a name, or the eight
random bytes of a table's id. Numbers are eight bytes, big-endian. The key of a partition's row ends with the
complement of the ticket that wrote it (`~ticket`), so the newest row of a partition comes first. Values end
with a checksum (`checksums`).

| tag | key                                | value                                                       |
|-----|------------------------------------|-------------------------------------------------------------|
| 00  |                                    | format and version of the metastore                         |
| 00  | `identity`                         | `ownership.mark.Identity`, which the warehouse's mark       |
|     |                                    | names                                                       |
| 00  | `restoring`                        | hash of the dump that is being restored                     |
| 00  | `locations`                        | `format`: which rewrite of locations was the last           |
| 01  | database                           | `databases.DatabaseRow`                                     |
| 02  | database 00 table                  | `names`: table id and token                                 |
| 03  | table                              | `head.Head`; changed by compare-and-set only                |
| 04  | table version                      | `model.CommitRecord`, written before its successor          |
| 05  | table ticket                       | `model.TableMetadata`; immutable                            |
| 06  | table ticket number                | journal: keys of the partitions that the ticket writes,     |
|     |                                    | and of removed files from `FIRST_PART_OF_REMOVED_FILES` on  |
| 07  | table partition key, ~ticket       | `entries`: a version of a partition, or its tombstone       |
| 08  | table ticket number                | `chunks`: part of a long list of files; immutable           |
| 09  | table path, ~ticket                | `removed_files`: record of a foreign file, or a tombstone   |
| 0a  | table ticket number                | `chunks`: summary of the files in row 08 of the same key    |
| 0b  | table random                       | `in_flight.WriteInFlight`: a long write that is under way   |
| 0c  | table list number                  | `range_manifests`: files of neighbouring partitions         |
| 0d  | table                              | `upkeep_record`: what the last vacuum and fsck found        |
| 0e  | transaction                        | `intents`: a commit of several tables; changed by           |
|     |                                    | compare-and-set only                                        |
| 0f  | time random                        | `query_rows`: a query of the history, in milliseconds       |
| 10  | table index entry's key, ~ticket   | one byte; the key leads to the partition (`indexes`)        |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquetry.keys import field_count, split_fields, successor
from parquetry.store import Range, Store, in_batches

FORMAT = b"\x00"
IDENTITY = b"\x00identity"
RESTORING = b"\x00restoring"
LOCATIONS_EPOCH = b"\x00locations"
DATABASES = b"\x01"
NAMES = b"\x02"
HEADS = b"\x03"
COMMITS = b"\x04"
METADATA = b"\x05"
JOURNAL = b"\x06"
PARTITIONS = b"\x07"
CHUNKS = b"\x08"
REMOVED_FILES = b"\x09"
SUMMARIES = b"\x0a"
IN_FLIGHT = b"\x0b"
RANGE_MANIFESTS = b"\x0c"
UPKEEP = b"\x0d"
TRANSACTIONS = b"\x0e"
QUERIES = b"\x0f"
INDEXES = b"\x10"

TABLE_ID_BYTES = 8
TICKET_BYTES = 8
INDEX_ID_BYTES = 8
FIRST_PART_OF_REMOVED_FILES = 1 << 32
"""Number of the first part of a journal that lists removed files. Smaller numbers list partitions."""
LAST_TICKET = (1 << 64) - 1
ROWS_PER_DELETE = 5000


_TAGS_OF_TABLES = (
    HEADS,
    COMMITS,
    METADATA,
    JOURNAL,
    PARTITIONS,
    CHUNKS,
    REMOVED_FILES,
    SUMMARIES,
    IN_FLIGHT,
    RANGE_MANIFESTS,
    UPKEEP,
    INDEXES,
)


def is_row_of_table(key: bytes) -> bool:
    """Return whether a row belongs to one table, whose id follows the tag."""
    return key[:1] in _TAGS_OF_TABLES


def table_in(key: bytes) -> bytes:
    """Return the id of the table that a row belongs to."""
    return key[1 : 1 + TABLE_ID_BYTES]


def number(value: int) -> bytes:
    """Return the bytes of a number in a key."""
    return value.to_bytes(8, "big")


def complement(ticket: int) -> bytes:
    """Return the bytes of a ticket at the end of a partition's key. Later tickets sort first."""
    return number(LAST_TICKET - ticket)


def ticket_of(row_key: bytes) -> int:
    """Return the ticket in the key of a partition's row."""
    return LAST_TICKET - int.from_bytes(row_key[-TICKET_BYTES:], "big")


def database_key(name: str) -> bytes:
    """Return the key of a database."""
    return DATABASES + name.encode()


def name_key(database: str, table: str) -> bytes:
    """Return the key of a table's name."""
    return names_prefix(database) + table.encode()


def names_prefix(database: str) -> bytes:
    """Return the prefix of the names of a database's tables. No name contains a NUL."""
    return NAMES + database.encode() + b"\x00"


def head_key(table: bytes) -> bytes:
    """Return the key of a table's head."""
    return HEADS + table


def transaction_key(transaction: bytes) -> bytes:
    """Return the key of the record of a transaction of several tables."""
    return TRANSACTIONS + transaction


def commit_key(table: bytes, version: int) -> bytes:
    """Return the key of an earlier version's commit."""
    return COMMITS + table + number(version)


def metadata_key(table: bytes, ticket: int) -> bytes:
    """Return the key of the metadata that a ticket wrote."""
    return METADATA + table + number(ticket)


def journal_key(table: bytes, ticket: int, part: int) -> bytes:
    """Return the key of a part of a ticket's journal."""
    return JOURNAL + table + number(ticket) + number(part)


def journal_table(row_key: bytes) -> bytes:
    """Return the table's id in the key of a journal row."""
    return row_key[len(JOURNAL) : len(JOURNAL) + TABLE_ID_BYTES]


def journal_ticket(row_key: bytes) -> int:
    """Return the ticket in the key of a journal row."""
    start = len(JOURNAL) + TABLE_ID_BYTES
    return int.from_bytes(row_key[start : start + TICKET_BYTES], "big")


def journal_part(row_key: bytes) -> int:
    """Return the number of the part in the key of a journal row."""
    return int.from_bytes(row_key[-8:], "big")


def removed_files_prefix(table: bytes) -> bytes:
    """Return the prefix of the records of a table's removed files. UTF-8 follows, which has no byte FF."""
    return REMOVED_FILES + table


def partition_prefix(table: bytes) -> bytes:
    """Return the prefix of the rows of a table's partitions."""
    return PARTITIONS + table


def index_prefix(table: bytes, index: str) -> bytes:
    """Return the prefix of the entries of an index.

    Args:
        table: id of the table.
        index: id of the index, hexadecimal.
    """
    return INDEXES + table + bytes.fromhex(index)


_BEFORE_FIELDS = {
    PARTITIONS: len(PARTITIONS) + TABLE_ID_BYTES,
    INDEXES: len(INDEXES) + TABLE_ID_BYTES + INDEX_ID_BYTES,
}


def fields_of(row_key: bytes) -> Sequence[bytes]:
    """Return the fields of a partition's row, or of an index's entry, for a store. Other rows have none.

    The number of fields comes from the key, since REPLACE TABLE may have changed the partition columns.
    """
    start = _BEFORE_FIELDS.get(row_key[:1])
    if start is None:
        return ()
    key = row_key[start:-TICKET_BYTES]
    return split_fields(key, field_count(key))


def chunk_key(table: bytes, ticket: int, part: int) -> bytes:
    """Return the key of a chunk's row."""
    return CHUNKS + table + number(ticket) + number(part)


def summary_key(table: bytes, ticket: int, part: int) -> bytes:
    """Return the key of a chunk's summary."""
    return SUMMARIES + table + number(ticket) + number(part)


def prefix_range(prefix: bytes) -> Range:
    """Return the range of the keys that begin with a prefix."""
    return prefix, successor(prefix)


def keys_of(store: Store, prefix: bytes) -> Iterator[bytes]:
    """Yield the keys that begin with a prefix."""
    return (key for key, _ in store.scan(*prefix_range(prefix)))


def delete_prefix(store: Store, prefix: bytes) -> None:
    """Remove the rows whose keys begin with a prefix."""
    delete_in_batches(store, keys_of(store, prefix))


def delete_in_batches(store: Store, keys: Iterable[bytes]) -> None:
    """Remove rows, `ROWS_PER_DELETE` at a time."""
    for batch in in_batches(keys, ROWS_PER_DELETE):
        store.delete_many(batch)
