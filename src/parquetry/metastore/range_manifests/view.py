"""The partitions of a version, read by range manifests: a row for some thousand partitions.

`RangedPartitions` is a sequence of partitions in key order whose objects are made when they are needed. A
plan by a data column reads the files of all ranges in columns, and makes objects for the partitions of the
files that remain.

Opening a version decides which ranges are read in columns, and which by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from typing import overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import FileRecord, Flags, RecordedFiles
from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.manifest.columns import ChunkColumns
from parquetry.metastore.manifest.inline import decode_files
from parquetry.metastore.range_manifests.records import (
    SUMMARY,
    RangeManifest,
    decode_state,
    read_list,
    row_key,
)
from parquetry.metastore.storage.keyspace import TICKET_BYTES
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.file_blocks import Chooses, FileBlock, file_blocks
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.scan import ScanPlan
from parquetry.store import Range, in_batches

_ROWS_PER_READ = 32
_BYTES_PER_READ = 4 << 20


class FilesRow(msgspec.Struct, frozen=True, array_like=True):
    """The files of a range.

    Attributes:
        counts: number of files of each partition, or None if each has one.
        columns: the files in columns, as `manifest.columns` has them.
    """

    counts: list[int] | None
    columns: memoryview


class KeysRow(msgspec.Struct, frozen=True, array_like=True):
    """The partitions of a range: their keys, and their rows' ages one after the other."""

    keys: list[bytes]
    ages: bytes


@dataclass(slots=True)
class KeyRange:
    """A range of a version.

    Attributes:
        first: position of its first partition in the sequence.
        number: its position in the list.
        manifest: its entry in the list.
        stop: the key at which the next range begins, or None.
        rows: the ranges of keys to read by the partitions' own rows, or None if all of it is read in columns.
        partitions: its partitions, if they have been read.
    """

    first: int
    number: int
    manifest: RangeManifest
    stop: bytes | None
    rows: list[Range] | None = None
    partitions: list[PartitionSnapshot] | None = None

    @property
    def count(self) -> int:
        """Return the number of partitions."""
        return self.manifest.partitions if self.partitions is None else len(self.partitions)

    @property
    def is_in_columns(self) -> bool:
        """Return whether it is read by the rows of its manifest, in columns."""
        return self.partitions is None and self.manifest.has_rows


class RangedPartitions(Sequence[PartitionSnapshot]):
    """The partitions of a version that a plan selects, in key order; see `open_ranges`.

    Args:
        snapshot: the version.
        ranges: the ranges; stale ones with their partitions.
        list: id of the list.
        listed: number of its ranges.
        plan: selects the partitions; None selects all.

    Attributes:
        snapshot: the version.
        plan: the plan.
    """

    def __init__(
        self,
        snapshot: TableSnapshot,
        ranges: Sequence[KeyRange],
        list: bytes,
        listed: int,
        plan: ScanPlan | None,
    ) -> None:
        self.snapshot = snapshot
        self.plan = plan
        self._ranges = ranges
        self._list = list
        self._listed = listed
        self._firsts = np.array([each.first for each in ranges], np.int64)
        self._count = ranges[-1].first + ranges[-1].count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> PartitionSnapshot: ...
    @overload
    def __getitem__(self, position: slice) -> list[PartitionSnapshot]: ...
    def __getitem__(self, position: int | slice) -> PartitionSnapshot | list[PartitionSnapshot]:
        if isinstance(position, slice):
            return self.take(range(self._count)[position])
        return self.take([range(self._count)[position]])[0]

    def __iter__(self) -> Iterator[PartitionSnapshot]:
        """Yield the partitions by their own rows, a few in memory at a time."""
        return self.snapshot.partitions(self.plan)

    def take(self, positions: Sequence[int] | NDArray[np.integer]) -> list[PartitionSnapshot]:
        """Return some of the partitions. Their records are read when they are needed.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        wanted = np.asarray(positions, np.int64)
        if not len(wanted):
            return []
        used, back = np.unique(wanted, return_inverse=True)
        # empty ranges share their first position with the next one, which `side` prefers
        of_range, starts = np.unique(np.searchsorted(self._firsts, used, side="right") - 1, return_index=True)
        parts = dict(zip(of_range.tolist(), np.split(used, starts[1:]), strict=True))
        taken: dict[int, PartitionSnapshot] = {}
        for number, partitions in self._partitions_of(of_range.tolist()):
            first = self._ranges[number].first
            taken.update((each, partitions[each - first]) for each in parts[number].tolist())
        ordered = [taken[position] for position in used.tolist()]
        return [ordered[index] for index in back.tolist()]

    def _partitions_of(self, numbers: Sequence[int]) -> Iterator[tuple[int, Sequence[PartitionSnapshot]]]:
        """Yield the partitions of ranges, which are not kept: a view of a million may be cached."""
        for some in in_batches(numbers, _ROWS_PER_READ):
            unread = [number for number in some if self._ranges[number].partitions is None]
            values = self._rows(
                self._ranges[number].manifest.row_keys(self.snapshot.id)[1] for number in unread
            )
            for number, value in zip(unread, values, strict=True):
                yield number, self._decode_keys(self._ranges[number], value)
            for number in set(some).difference(unread):
                yield number, self._ranges[number].partitions or ()

    def _decode_keys_row(self, range: KeyRange, value: bytes | None) -> KeysRow | None:
        """Return the row of a range's keys, or None if it is missing, damaged or another range's."""
        try:
            row: KeysRow | None = None if value is None else decoder(KeysRow).decode(value)
        except MetastoreDamagedError:
            return None
        return row if row is not None and len(row.keys) == range.count else None

    def _decode_keys(self, range: KeyRange, value: bytes | None) -> list[PartitionSnapshot]:
        row = self._decode_keys_row(range, value)
        if row is None:
            return read_range(self.snapshot, range.manifest.start, range.stop)
        width = TICKET_BYTES
        return [
            PartitionSnapshot(self.snapshot, key, row.ages[start : start + width], b"")
            for key, start in zip(row.keys, count(0, width), strict=False)
        ]

    def _rows(self, keys: Iterable[bytes]) -> list[bytes | None]:
        return self.snapshot.store.get_many(list(keys))

    def file_blocks(
        self, names: Collection[str] | None = None, chooses: Chooses | None = None
    ) -> Iterator[FileBlock]:
        """Yield the files of the partitions, in blocks that `FileBlock.concatenate` puts in order.

        Args:
            names: columns whose statistics are needed first; None for all.
            chooses: returns which ranges, and which chunks of long lists, must be read, by a summary of the
                files of each. It must not go by the values of partition columns. None to read all.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        by_rows = [each for each in self._ranges if each.partitions is not None or not each.manifest.has_rows]
        in_columns = self.in_columns()
        if chooses is not None and in_columns:
            in_columns, skipped = self._choose(in_columns, chooses)
            if skipped:
                yield FileBlock(np.zeros(0, np.int32), RecordedFiles(()), skipped)
        for some in _read_batches(in_columns):
            block, unreadable = self._block(some)
            by_rows += unreadable
            if block is not None:
                yield block
        for each in by_rows:
            yield from self._blocks_by_rows(each, names, chooses)

    def in_columns(self) -> list[KeyRange]:
        """Return the ranges that are read by their manifests."""
        return [each for each in self._ranges if each.is_in_columns]

    def decode(self, range: KeyRange) -> tuple[list[tuple[bytes, int]], list[FileRecord]] | None:
        """Return the keys and tickets of a range's partitions, and the files; None if rows are missing."""
        of_files, of_keys = self._rows(range.manifest.row_keys(self.snapshot.id))
        files = _decode_files(of_files, range.manifest)
        if files is None or of_keys is None:
            return None
        keys = [(partition.key, partition.ticket) for partition in self._decode_keys(range, of_keys)]
        return keys, list(ChunkColumns(files.columns).records())

    def each_range(
        self,
    ) -> Iterator[tuple[tuple[FilesRow, KeysRow] | None, Sequence[PartitionSnapshot]]]:
        """Yield each range in key order: its rows, or its partitions if the rows do not hold.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        for some in in_batches(self._ranges, _ROWS_PER_READ):
            by_rows = {
                each.number: each.manifest.row_keys(self.snapshot.id) for each in some if each.is_in_columns
            }
            values = iter(self._rows(key for pair in by_rows.values() for key in pair))
            for each in some:
                read = None
                if each.number in by_rows:
                    files, keys = (
                        _decode_files(next(values), each.manifest),
                        self._decode_keys_row(each, next(values)),
                    )
                    read = None if files is None or keys is None else (files, keys)
                if read is not None:
                    yield read, ()
                else:
                    own = each.partitions
                    yield (
                        None,
                        read_range(self.snapshot, each.manifest.start, each.stop) if own is None else own,
                    )

    def _choose(self, ranges: Sequence[KeyRange], chooses: Chooses) -> tuple[list[KeyRange], int]:
        """Return the ranges whose files may have rows of the result, and the number of the others' files."""
        summaries = self._summaries
        if summaries is None:
            return list(ranges), 0
        numbers = np.array([each.number for each in ranges], np.int64)
        chosen = chooses(FileBlock(np.zeros(len(ranges), np.int32), summaries.take(numbers)))
        pairs = list(zip(ranges, chosen.tolist(), strict=True))
        return [each for each, read in pairs if read], sum(e.manifest.files for e, read in pairs if not read)

    @cached_property
    def _summaries(self) -> ChunkColumns | None:
        value = self.snapshot.store.get(row_key(self.snapshot.id, self._list, SUMMARY))
        try:
            summaries = None if value is None else ChunkColumns(value)
        except MetastoreDamagedError:
            return None
        return None if summaries is None or summaries.count != self._listed else summaries

    def _block(self, ranges: Sequence[KeyRange]) -> tuple[FileBlock | None, list[KeyRange]]:
        """Return the files of ranges in one block, and the ranges whose rows are missing or damaged."""
        values = self._rows(each.manifest.row_keys(self.snapshot.id)[0] for each in ranges)
        parts, columns, unreadable = [], [], []
        for each, value in zip(ranges, values, strict=True):
            row = _decode_files(value, each.manifest)
            if row is None:
                unreadable.append(each)
                continue
            own = np.arange(each.first, each.first + each.count, dtype=np.int32)
            parts.append(own if row.counts is None else np.repeat(own, row.counts))
            columns.append(row.columns)
        if not columns:
            return None, unreadable
        return FileBlock(np.concatenate(parts), ChunkColumns(*columns)), unreadable

    def _blocks_by_rows(
        self, range: KeyRange, names: Collection[str] | None, chooses: Chooses | None
    ) -> Iterator[FileBlock]:
        """Yield the files of a range by the partitions' own rows."""
        partitions = range.partitions
        if partitions is None:
            partitions = read_range(self.snapshot, range.manifest.start, range.stop)

        def shift(block: FileBlock) -> FileBlock:
            return FileBlock(block.parts + np.int32(range.first), block.files, block.skipped)

        choose: Callable[[FileBlock], Flags] | None = None
        if chooses is not None:
            wanted = chooses

            def choose(block: FileBlock) -> Flags:
                return wanted(shift(block))

        blocks = file_blocks(self.snapshot.store, self.snapshot.id, partitions, names, choose)
        return map(shift, blocks)


def _decode_files(value: bytes | None, manifest: RangeManifest) -> FilesRow | None:
    """Return the files of a range, or None if the row is missing, damaged or another range's."""
    try:
        row: FilesRow | None = None if value is None else decoder(FilesRow).decode(value)
        if row is None or ChunkColumns(row.columns).count != manifest.files:
            return None
    except MetastoreDamagedError:
        return None
    return row if (manifest.partitions if row.counts is None else sum(row.counts)) == manifest.files else None


def _read_batches(ranges: Sequence[KeyRange]) -> Iterator[Sequence[KeyRange]]:
    """Yield groups of ranges whose rows are read together."""
    some: list[KeyRange] = []
    size = 0
    for each in ranges:
        some.append(each)
        size += each.manifest.size
        if len(some) == _ROWS_PER_READ or size >= _BYTES_PER_READ:
            yield some
            some, size = [], 0
    if some:
        yield some


def read_range(snapshot: TableSnapshot, start: bytes, stop: bytes | None) -> list[PartitionSnapshot]:
    """Return the partitions of a range of keys by their own rows.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired this version.
    """
    rows = snapshot.visible.scan([(start, stop)])
    partitions = [PartitionSnapshot(snapshot, *row) for row in rows]
    snapshot.check_kept()
    return partitions


_MAX_KEY_RANGES = 64
"""Ranges of keys of a plan; one with more reads partitions from all over, mostly one by one."""
_MAX_STALE = 0.5
"""Part of the partitions in stale ranges beyond which all partitions are read by their own rows."""


def different_ranges(ranged: RangedPartitions) -> Iterator[bytes]:
    """Yield the first key of each range whose rows are not what its partitions' own rows say."""
    for each in ranged.in_columns():
        own = read_range(ranged.snapshot, each.manifest.start, each.stop)
        listed = ranged.decode(each)
        if own and listed is not None:
            keys, files = listed
            entries = PartitionSnapshot.entries(own)  # none has chunks, as its range is in columns
            records = list(decode_files([entry.inline for entry in entries]).records())
            if keys != [(partition.key, partition.ticket) for partition in own] or files != records:
                yield own[0].key


def open_ranges(snapshot: TableSnapshot, plan: ScanPlan | None = None) -> RangedPartitions | None:
    """Return the partitions of a version by its range manifests, or None if they do not help.

    Args:
        snapshot: the version.
        plan: selects the partitions; None selects all.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired this version.
    """
    wanted = _key_ranges(plan)
    state = decode_state(snapshot.ranges)
    if wanted is None or state is None or state.version > snapshot.version:
        return None
    manifests = read_list(snapshot.store, snapshot.id, state.id)
    if not manifests:
        return None
    stale = state.flags(len(manifests)) | np.array([not each.has_rows for each in manifests], np.bool_)
    stops = [*(each.start for each in manifests[1:]), None]
    ranges: list[KeyRange] = []
    of, in_columns = 0, 0
    for number, (each, stop, changed) in enumerate(zip(manifests, stops, stale.tolist(), strict=True)):
        parts = _intersect((each.start, stop), wanted)
        of += each.partitions if parts else 0
        if parts == [(each.start, stop)] and not changed:
            in_columns += each.partitions
            ranges.append(KeyRange(0, number, each, stop))
        elif parts:
            ranges.append(KeyRange(0, number, each, stop, rows=parts))
    added = max(0, snapshot.totals.partitions - sum(each.partitions for each in manifests))
    of += added if plan is None else 0
    if not in_columns or of - in_columns > _MAX_STALE * of:
        return None
    for range in ranges:
        if range.rows is not None:
            range.partitions = [p for part in range.rows for p in read_range(snapshot, *part)]
    counts = [range.count for range in ranges]
    for range, first in zip(ranges, accumulate(counts, initial=0), strict=False):
        range.first = first
    snapshot.check_kept()
    if plan is None and sum(counts) != snapshot.totals.partitions:
        return None  # a list that does not add up is not used: no answer may depend on it
    return RangedPartitions(snapshot, ranges, state.id, len(manifests), plan)


def _key_ranges(plan: ScanPlan | None) -> list[Range] | None:
    """Return the ranges of keys of a plan, in order, or None if ranges of its own keys do not decide it."""
    if plan is None:
        return [(b"", None)]
    if plan.index is not None or plan.by_indexes or not plan.exact:
        return None
    if len(plan.scans) > _MAX_KEY_RANGES or any(scan.residual is not None for scan in plan.scans):
        return None
    return [(scan.start, scan.stop) for scan in plan.scans]


def _intersect(range: Range, others: Sequence[Range]) -> list[Range]:
    """Return the parts of a range of keys that are in one of some others."""
    start, stop = range
    parts: list[Range] = []
    for first, end in others:
        low = max(start, first)
        high = end if stop is None else stop if end is None else min(stop, end)
        if high is None or low < high:
            parts.append((low, high))
    return parts
