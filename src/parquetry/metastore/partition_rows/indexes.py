"""Secondary indexes over a table's partitions, for conditions that skip the first partition column.

An entry's key has the same fields as the partition's own key, in the index's order. So the code that plans
and tests partitions' keys works on entries, too, and an entry's key contains the partition's key.

Every row of a partition has an entry with the same ticket, written by the same commit, and a tombstone has a
tombstone as its entry. So the entries of a version are found like its partitions (`visible_rows`). Each leads
to exactly one row. An index may have too many entries, which lead to no row, but never too few.

Example: a table is partitioned by `day, region`, and has an index on `region`. The row `(5, 'eu') ~12` of a
partition has the entry `('eu', 5) ~12`, where `~12` is the complement of ticket 12.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from parquetry.errors import ColumnNotFoundError, IndexExistsError, IndexNotFoundError, UnsupportedError
from parquetry.keys import field_count, join_fields, split_fields, successor
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.partition_rows.visible_rows import Row
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.model import PartitionIndex, TableMetadata
from parquetry.metastore.storage.valid_names import normalise_name
from parquetry.store import Store

ENTRY = b"\x01"
"""The value of the entry of a live partition. The entry of a dropped one has the value `TOMBSTONE`."""


def new_index(
    metadata: TableMetadata, columns: Sequence[str], name: str | None = None, *, ready: bool = False
) -> PartitionIndex:
    """Return the record of a new index over partition columns. It writes nothing.

    Args:
        metadata: metadata of the table.
        columns: partition columns, in any letter case. A filter on the first one can use the index.
        name: name of the index, or None for the names of the columns, joined by ``_``.
        ready: whether the index is complete, because the table has no partitions that need entries.

    Raises:
        ColumnNotFoundError: a column is not a partition column.
        UnsupportedError: a column is named twice, or none is named, or the order is the partitions' own.
        IndexExistsError: the table has another index of this name, or in this order.
    """
    names = [column.lower() for column in metadata.partition_by]
    listed = ", ".join(metadata.partition_by) or "none"
    for column in columns:
        if column.lower() not in names:
            raise ColumnNotFoundError(
                f"An index cannot be on column {column!r}: it is not a partition column (they are: {listed})."
            )
    positions = [names.index(column.lower()) for column in columns]
    if not positions or len(set(positions)) < len(positions):
        raise UnsupportedError(
            f"An index on ({', '.join(columns)}) cannot be made: name one or more partition columns, each once."
        )
    order = (*positions, *(position for position in range(len(names)) if position not in positions))
    if order == tuple(range(len(names))):
        raise UnsupportedError(
            f"An index on ({', '.join(columns)}) would be of no use: the partitions are kept in the order of "
            f"their columns ({listed}) anyway."
        )
    default = re.sub(r"\W", "_", "_".join(columns))
    name = normalise_name("index", default if name is None else name)
    for other in metadata.indexes:
        if other.ready and (other.name == name or other.order == order):
            raise IndexExistsError(
                f"There is an index {other.name!r} on ({', '.join(index_columns(metadata, other))}) already; "
                "drop it first, or rebuild it with rebuild_partition_index."
            )
    return PartitionIndex(name, _new_id(), order, len(positions), ready)


def index_columns(metadata: TableMetadata, index: PartitionIndex) -> tuple[str, ...]:
    """Return the columns that an index was created on."""
    return tuple(metadata.partition_by[position] for position in index.order[: index.width])


def find_index(metadata: TableMetadata, name: str) -> PartitionIndex:
    """Return the index of a name, in any case.

    Raises:
        IndexNotFoundError: the table has no such index.
    """
    for index in metadata.indexes:
        if index.name == name.lower():
            return index
    names = ", ".join(index.name for index in metadata.indexes) or "none"
    raise IndexNotFoundError(f"There is no index {name!r} on the table; its indexes are: {names}.")


def renew_indexes(indexes: Iterable[PartitionIndex]) -> tuple[PartitionIndex, ...]:
    """Return the indexes with new ids, and so without entries, for a table with new partition columns."""
    return tuple(
        PartitionIndex(index.name, _new_id(), index.order, index.width, index.ready) for index in indexes
    )


def _new_id() -> str:
    return os.urandom(keyspace.INDEX_ID_BYTES).hex()


def entry_key(order: Sequence[int], partition: bytes) -> bytes:
    """Return the key of a partition's entry, without the index's prefix and the ticket.

    >>> from parquetry.keys import split_fields
    >>> split_fields(entry_key((1, 0), join_fields([b"first", b"second"])), 2)
    [b'second', b'first']
    """
    fields = split_fields(partition, len(order))
    return join_fields([fields[position] for position in order])


def partition_key(order: Sequence[int], entry: bytes) -> bytes:
    """Return the key of the partition that an entry leads to.

    >>> partition_key((2, 0, 1), entry_key((2, 0, 1), join_fields([b"a", b"b", b"c"])))[:3]
    b'abc'
    """
    fields = [b""] * len(order)
    for position, field in zip(order, split_fields(entry, len(order)), strict=True):
        fields[position] = field
    return join_fields(fields)


def entry_rows(
    table: bytes, indexes: Iterable[PartitionIndex], rows: Iterable[Row]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of partitions' rows in some indexes.

    Rows with more or fewer fields than an index, from before a change of the partition columns, have no entry
    in it.

    Args:
        table: id of the table.
        indexes: indexes to write to.
        rows: keys, ages and values of the partitions' rows.
    """
    prefixes = [(keyspace.index_prefix(table, index.id), index.order) for index in indexes]
    for key, age, value in rows:
        for prefix, order in prefixes:
            if field_count(key) == len(order):
                yield (
                    prefix + entry_key(order, key) + age,
                    TOMBSTONE if value and is_tombstone(value) else ENTRY,
                )


def stored_ids(store: Store, table: bytes) -> Iterator[str]:
    """Yield the ids of all indexes that have entries, even if no metadata name them."""
    start: bytes | None
    start, stop = keyspace.prefix_range(keyspace.INDEXES + table)
    while start is not None:
        row = next(iter(store.scan(start, stop, limit=1)), None)
        if row is None:
            return
        prefix = row[0][: len(keyspace.INDEXES) + keyspace.TABLE_ID_BYTES + keyspace.INDEX_ID_BYTES]
        yield prefix[-keyspace.INDEX_ID_BYTES :].hex()
        start = successor(prefix)
