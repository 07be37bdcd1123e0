"""Compare manifest chunks with the entries that refer to them, and with their summaries; repair summaries.

Range manifests are compared with the rows of their partitions, and written anew if they differ.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping

import msgspec

from parquetry.data_files import ColumnStatistics, FileColumns, FileRecord
from parquetry.errors import MetastoreDamagedError
from parquetry.locations import is_absolute
from parquetry.metastore.manifest.chunks import chunk_files, encode_summary, read_summaries
from parquetry.metastore.manifest.summary import Types, summarise, types_of
from parquetry.metastore.range_manifests.upkeep import refresh_ranges
from parquetry.metastore.range_manifests.view import different_ranges, open_ranges
from parquetry.metastore.results import Finding
from parquetry.metastore.storage.head import Head, edit_head, live_head
from parquetry.metastore.storage.keyspace import METADATA, TICKET_BYTES, chunk_key, prefix_range, summary_key
from parquetry.metastore.storage.model import FileChunk, TableMetadata
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.store import Store, in_batches
from parquetry.texts import quantity
from parquetry.types import ColumnType

_CHUNKS_PER_BATCH = 32


def check_chunks(
    store: Store, table: bytes, wanted: Mapping[FileChunk, str], known: ColumnTypesByTicket, repair: bool
) -> Iterator[Finding]:
    """Yield chunks that are missing or unreadable, and summaries that do not agree with their chunks.

    Args:
        store: the metastore's store.
        table: the table's id.
        wanted: chunks that partitions refer to, each with the name of one such partition.
        known: the types of the columns.
        repair: write missing and wrong summaries anew.
    """
    for some in in_batches(wanted, _CHUNKS_PER_BATCH):
        values = store.get_many([chunk_key(table, chunk.ticket, chunk.number) for chunk in some])
        for chunk, value in zip(some, values, strict=True):
            files = None if value is None else _readable(value)
            types = known.types_at(chunk.ticket)
            if (
                files is None
                or files.count != chunk.files
                or (chunk.bytes and chunk.bytes != len(value or b"") and not _has_absolute_paths(files))
            ):
                yield Finding(
                    "missing file list",
                    wanted[chunk],
                    None,
                    f"a list of {quantity(chunk.files, 'file')}, written by ticket {chunk.ticket}, cannot be read; "
                    "take the partition's files in again: drop it, then CALL system.sync",
                )
            elif (says := _wrong(store, table, chunk, summarise(files, types), types)) is not None:
                if repair:
                    row = summary_key(table, chunk.ticket, chunk.number)
                    store.put_many([(row, encode_summary(summarise(files, types)))])
                yield Finding("file list sums", wanted[chunk], None, says, repair)


def _has_absolute_paths(files: FileColumns) -> bool:
    """Return whether a chunk has absolute paths: if the warehouse is moved, the chunk's size changes."""
    return any(map(is_absolute, files.paths))


class ColumnTypesByTicket:
    """The types of a table's columns, for the files of any commit.

    A column's type is its type in the latest version that has the column. REPLACE TABLE begins anew: a later
    column with the same name may have another type. So the types depend on the commit's ticket.
    """

    def __init__(self) -> None:
        self._types: dict[str, dict[str, ColumnType]] = {}
        self._replacements: list[tuple[int, str]] = []

    @classmethod
    def read(cls, store: Store, table: bytes) -> ColumnTypesByTicket:
        """Return the types in the metadata of all versions of a table."""
        known = cls()
        for key, value in store.scan(*prefix_range(METADATA + table)):
            known.add(int.from_bytes(key[-TICKET_BYTES:], "big"), decoder(TableMetadata).decode(value))
        return known

    def add(self, ticket: int, metadata: TableMetadata) -> None:
        """Add the metadata that a ticket wrote. Tickets must come in ascending order."""
        self._types.setdefault(metadata.replacement, {}).update(types_of(metadata.columns))
        self._replacements.append((ticket, metadata.replacement))

    def types_at(self, ticket: int) -> Types:
        """Return the types of the columns in the files that a ticket's commit lists."""
        position = bisect.bisect_right(self._replacements, ticket, key=lambda each: each[0])
        return self._types[self._replacements[position - 1][1]] if position else {}


def _readable(value: bytes) -> FileColumns | None:
    """Return the files of a chunk, or None if the chunk or one of its columns cannot be read."""
    try:
        files = chunk_files(value)
        files.records()
    except MetastoreDamagedError:
        return None
    return files


def _wrong(store: Store, table: bytes, chunk: FileChunk, true: FileRecord, types: Types) -> str | None:
    """Return what is wrong with a chunk's summary row, or None if it is right."""
    what = f"of a list of {quantity(chunk.files, 'file')}, written by ticket {chunk.ticket},"
    try:
        (summary,) = read_summaries(store, table, [chunk])
    except MetastoreDamagedError:
        return f"{what} cannot be read"
    if summary is None:
        # Format 1 had no summaries.
        return f"{what} are gone" if chunk.bytes else None
    if (summary.bytes, summary.rows) != (true.bytes, true.rows) or _names(summary) != _names(true):
        return f"{what} are of other files"
    for name, column in (summary.columns or {}).items():
        # Columns that no version has any more do not count; a summary may know less of a widened column.
        if name.lower() in types and not _holds(column, (true.columns or {})[name]):
            return f"{what} say something else of column {name}"
    return None


def _names(summary: FileRecord) -> set[str] | None:
    return None if summary.columns is None else set(summary.columns)


def _holds(summary: ColumnStatistics, true: ColumnStatistics) -> bool:
    """Return whether all that a summary states is true; it may state less."""
    pairs = [(summary.nulls, true.nulls), (summary.min, true.min), (summary.max, true.max)]
    return all(one is None or (type(one) is type(other) and one == other) for one, other in pairs)


def check_ranges(table: TableSnapshot, repair: bool) -> Iterator[Finding]:
    """Yield the ranges of partitions whose manifest is not what the partitions' own rows say.

    Args:
        table: any version of the table; the newest is checked.
        repair: write the range manifests anew.

    Raises:
        TableNotFoundError: the table was dropped.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    now = load(table.store, table.id, head)
    ranged = open_ranges(now)
    wrong = [] if ranged is None else list(different_ranges(ranged))
    if wrong and repair:
        state = head.commit.ranges

        def change(head: Head) -> Head:
            if head.commit.ranges != state:
                return head
            return msgspec.structs.replace(head, commit=msgspec.structs.replace(head.commit, ranges=b""))

        edit_head(table.store, table.id, change, lambda head: head.commit.ranges != state)
        refresh_ranges(table)
    for first in wrong:
        text = (
            "the manifest of the partitions from this one on is not what their own rows say: plans by data columns "
            "are misled; with repair => true it is written anew"
        )
        yield Finding("range manifest", now.describe(first), None, text, repair)
