"""Write the range manifests of stale ranges anew, after large commits and by upkeep.

A new list shares the rows of unchanged ranges, so only changed ranges cost work.
The head's compare-and-set makes the list the table's. A crash before leaves rows that no head names, which
`vacuum` removes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from parquetry.data_files import FileRecord, RecordedFiles
from parquetry.errors import ParquetryError
from parquetry.locations import is_absolute
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns
from parquetry.metastore.manifest.inline import decode_files
from parquetry.metastore.manifest.summary import Types, summarise, types_of
from parquetry.metastore.range_manifests.records import (
    FIRST_RANGE,
    LIST,
    SUMMARY,
    ListState,
    RangeManifest,
    decode_state,
    positions_of,
    read_list,
    row_key,
)
from parquetry.metastore.range_manifests.view import FilesRow, KeysRow
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, edit_head, live_head, read_head
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.store import Store

MIN_PARTITIONS = 4096
"""Partitions of a table with range manifests. To read fewer by their own rows takes milliseconds."""
MAX_FILES_PER_PARTITION = 8
"""Files a partition on average, beyond which lists of files are long enough by themselves."""
_PARTITIONS_PER_RANGE = 1024
_MIN_PARTITIONS_PER_RANGE = 256
_ROW_BYTES_PER_RANGE = 3 << 20
"""Bytes of the partitions' own rows in a range: more than its row in columns, which stays far below the 10 MB
beyond which a store may refuse it."""
_RANDOM_BYTES = 2
"""Random bytes at the end of a list's id, behind the time in ms when its writer began."""
_UNFINISHED_MS = 60 * 60 * 1000
"""Milliseconds after which rows of a list that no head names are left over."""
_COST_FACTOR = 4
"""A commit reads at most so many partitions for range manifests for each partition that it wrote."""


def has_ranges(table: TableSnapshot) -> bool:
    """Return whether range manifests help to plan a version of a table."""
    totals = table.totals
    return (
        bool(table.partition_types)
        and totals.partitions >= MIN_PARTITIONS
        and totals.files <= MAX_FILES_PER_PARTITION * totals.partitions
        and not totals.arrangements
    )


def refresh_ranges(table: TableSnapshot) -> int:
    """Write the range manifests of a table's newest version that are missing or stale.

    Args:
        table: any version of the table.

    Returns:
        The number of ranges written, 0 if all were up to date, or if another process changed them meanwhile.

    Raises:
        MetastoreDamagedError: a partition's row cannot be read.
        StoreError: the store fails; the list before stays.
        TableNotFoundError: the table was dropped meanwhile.
    """
    store, id = table.store, table.id
    head = live_head(store, id, f"Table {table.label} was dropped or replaced meanwhile.")
    now = load(store, id, head)
    if not has_ranges(now):
        return 0
    state = decode_state(head.commit.ranges)
    before = (None if state is None else read_list(store, id, state.id)) or ()
    if state is not None and before and not state.flags(len(before)).any():
        return 0
    writer = _ListWriter(now, before, state)
    writer.write()
    if not writer.swap(head):
        keyspace.delete_prefix(store, keyspace.RANGE_MANIFESTS + id + writer.list)
        return 0
    kept = {(each.owner, each.number) for each in writer.ranges}
    unneeded = [each for each in before if each.has_rows and (each.owner, each.number) not in kept]
    keys = [key for each in unneeded for key in each.row_keys(id)]
    if state is not None:
        keys += [row_key(id, state.id, LIST), row_key(id, state.id, SUMMARY)]
    keyspace.delete_in_batches(store, keys)
    return writer.written


def refresh_after(version: TableSnapshot, written: int) -> None:
    """Write range manifests after a commit if that costs little beside the commit itself.

    Args:
        version: the version that the commit made.
        written: number of partitions that it wrote.
    """
    if not has_ranges(version):
        return
    partitions = version.totals.partitions
    state = decode_state(version.ranges)
    ranges = None if state is None else read_list(version.store, version.id, state.id)
    if state is None or not ranges:
        crosses = partitions // MIN_PARTITIONS > (partitions - written) // MIN_PARTITIONS
        if partitions <= _COST_FACTOR * written or (crosses and partitions < 2 * MIN_PARTITIONS):
            refresh_ranges(version)
        return
    added = max(0, partitions - sum(each.partitions for each in ranges))
    new = max(written, added)
    stale = state.flags(len(ranges)).tolist()
    old = sum(each.partitions for each, changed in zip(ranges, stale, strict=True) if changed)
    if new >= MIN_PARTITIONS and old + added <= _COST_FACTOR * new:
        refresh_ranges(version)


def delete_unneeded_lists(store: Store, table: bytes) -> None:
    """Delete the rows that refreshes left when they were interrupted, once they are an hour old.

    Args:
        store: store of the metastore.
        table: id of the table.
    """
    head = read_head(store, table)
    if head is None:
        return
    state = decode_state(head.commit.ranges)
    ranges = None if state is None else read_list(store, table, state.id)
    needed = set() if state is None else {state.id, *(each.owner for each in ranges or ())}
    start, stop = keyspace.prefix_range(keyspace.RANGE_MANIFESTS + table)
    assert stop is not None
    while (row := next(iter(store.scan(start, stop, limit=1)), None)) is not None:
        prefix = row[0][: len(keyspace.RANGE_MANIFESTS) + keyspace.TABLE_ID_BYTES + 8]
        began = int.from_bytes(prefix[-8:-_RANDOM_BYTES], "big")
        if prefix[-8:] not in needed and store_now_ms(store) - began > _UNFINISHED_MS:
            keyspace.delete_prefix(store, prefix)
        start = keyspace.prefix_range(prefix)[1] or stop


class _ListWriter:
    """Writes one list.

    Args:
        table: the version.
        before: the ranges of the list before, or none.
        state: the state with that list, or None.
    """

    def __init__(
        self, table: TableSnapshot, before: Sequence[RangeManifest], state: ListState | None
    ) -> None:
        self._table = table
        self._before = before
        self._state = state
        self._types: Types = types_of(table.metadata.columns)
        self._summaries: list[FileRecord] = []
        now = store_now_ms(table.store).to_bytes(8 - _RANDOM_BYTES, "big")
        self.list = now + os.urandom(_RANDOM_BYTES)
        self.ranges: list[RangeManifest] = []
        self.written = 0

    def write(self) -> None:
        """Write the rows of the stale ranges, and then the list."""
        id, store = self._table.id, self._table.store
        if not self._before or self._state is None:
            self._write_range(b"", None)
        else:
            self._write_stale(self._state)
        rows = [
            (row_key(id, self.list, SUMMARY), encode_columns(RecordedFiles(self._summaries))),
            (row_key(id, self.list, LIST), encode(self.ranges)),
        ]
        store.put_many(rows)
        self._table.check_kept()

    def _write_stale(self, state: ListState) -> None:
        stale = state.flags(len(self._before)).tolist()
        summaries = self._old_summaries(state)
        position = 0
        for changed, run in groupby(range(len(stale)), key=lambda each: stale[each] or summaries is None):
            members = list(run)
            position = members[-1] + 1
            if changed:
                stop = self._before[position].start if position < len(stale) else None
                self._write_range(self._before[members[0]].start, stop)
                continue
            assert summaries is not None
            self.ranges += [self._before[each] for each in members]
            self._summaries += [summaries[each] for each in members]

    def _old_summaries(self, state: ListState) -> list[FileRecord] | None:
        value = self._table.store.get(row_key(self._table.id, state.id, SUMMARY))
        try:
            records = None if value is None else ChunkColumns(value).records()
        except ParquetryError:
            return None
        return records if records is not None and len(records) == len(self._before) else None

    def _write_range(self, start: bytes, stop: bytes | None) -> None:
        """Divide the partitions between two keys into ranges, and write these."""
        first = True
        for partitions in self._divide(start, stop):
            self._write(start if first else partitions[0].key, partitions)
            first = False

    def _divide(self, start: bytes, stop: bytes | None) -> Iterator[list[PartitionSnapshot]]:
        rows = self._table.visible.scan([(start, stop)])
        some: list[PartitionSnapshot] = []
        full: list[PartitionSnapshot] = []
        size = 0
        for row in rows:
            partition = PartitionSnapshot(self._table, *row)
            some.append(partition)
            size += partition.record_bytes
            if len(some) == _PARTITIONS_PER_RANGE or size >= _ROW_BYTES_PER_RANGE:
                if full:
                    yield full
                full, some, size = some, [], 0
        if full and some and len(some) < _MIN_PARTITIONS_PER_RANGE and size < _ROW_BYTES_PER_RANGE // 4:
            full, some = [*full, *some], []
        if full:
            yield full
        if some or not full:
            yield some  # perhaps none: the range stays, as ranges leave no gap

    def _write(self, start: bytes, partitions: list[PartitionSnapshot]) -> None:
        self.written += 1
        entries = PartitionSnapshot.entries(partitions)
        files = sum(entry.file_count for entry in entries)
        records: list[FileRecord] = []
        if not any(entry.chunks or entry.location for entry in entries):
            records = list(decode_files([entry.inline for entry in entries]).records())
        if not records or len(records) != files or any(is_absolute(file.path) for file in records):
            self.ranges.append(RangeManifest(start, self.list, 0, len(partitions), files, 0))
            self._summaries.append(FileRecord("", 0))
            return
        columns = RecordedFiles(records)
        counts = [entry.file_count for entry in entries]
        value = encode(
            FilesRow(None if counts == [1] * len(counts) else counts, memoryview(encode_columns(columns)))
        )
        ages = b"".join([keyspace.complement(partition.ticket) for partition in partitions])
        manifest = RangeManifest(
            start,
            self.list,
            FIRST_RANGE * (len(self.ranges) + 1),
            len(partitions),
            files,
            len(value),
        )
        of_files, of_keys = manifest.row_keys(self._table.id)
        keys = KeysRow([partition.key for partition in partitions], ages)
        self._table.store.put_many([(of_files, value), (of_keys, encode(keys))])
        self.ranges.append(manifest)
        self._summaries.append(summarise(columns, self._types))

    def swap(self, before: Head) -> bool:
        """Make the list the table's, and return whether it is."""
        id, store, now = self._table.id, self._table.store, self._table

        def change(head: Head) -> Head:
            if head.commit.ranges != before.commit.ranges and not self._follows(head, before):
                return head
            if head.is_deleted or head.commit.metadata != now.commit.metadata:
                return head
            state = ListState(self.list, now.version)
            if head.commit.version != now.version:
                flags = state.flags(len(self.ranges))
                flags[positions_of(self.ranges, self._keys_since(head))] = True
                state = state.with_stale(flags)
            return msgspec.structs.replace(
                head, commit=msgspec.structs.replace(head.commit, ranges=encode(state))
            )

        def is_written(head: Head) -> bool:
            state = decode_state(head.commit.ranges)
            return state is not None and state.id == self.list

        return is_written(edit_head(store, id, change, is_written))

    @staticmethod
    def _follows(head: Head, before: Head) -> bool:
        """Return whether the head still has the list from before, with more stale ranges perhaps."""
        one, other = decode_state(head.commit.ranges), decode_state(before.commit.ranges)
        return one is not None and other is not None and one.id == other.id

    def _keys_since(self, head: Head) -> Iterable[bytes]:
        """Return the keys of partitions that commits have written since the list's version."""
        store, id = self._table.store, self._table.id
        versions = range(self._table.version + 1, head.commit.version + 1)
        commits = [load_commit(store, id, head, version) for version in versions]
        if None in commits:  # retired meanwhile
            return [each.start for each in self.ranges]
        tickets = [commit.ticket for commit in commits if commit is not None]
        # a partition that was written twice has the later ticket now, which is one of these, too
        return [key for key, _ in load(store, id, head).visible.newest_with_tickets(tickets)]
