"""Which rows of a table's partitions belong to a version.

A row is tagged with the ticket of the commit that wrote it. It belongs to a version if that ticket had been
published by then; of a partition's rows that do, the newest counts, and a tombstone says that the partition
is gone. All of this is decided from the version's commit, in memory: a reader reads no row but the
partitions' own. Where they are, the head may tell the store (`newest_rows`).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from parquetry.keys import successor
from parquetry.metastore.manifest import decode_entry
from parquetry.metastore.storage import (
    PARTITIONS,
    TABLE_ID_BYTES,
    TICKET_BYTES,
    CommitRecord,
    PartitionEntry,
    complement,
    index_prefix,
    is_tombstone,
    partition_prefix,
    refuse,
    removed_files_prefix,
    ticket_of,
)
from parquetry.metastore.versions.newest_rows import complete_ticket, decode_newest
from parquetry.store import Condition, Groups, Range, Store

Row = tuple[bytes, bytes, bytes]
"""Key of a partition, age (the complement of a ticket: the younger a row, the less its age), value."""

ROW_PREFIX, ROW_SUFFIX = len(PARTITIONS) + TABLE_ID_BYTES, TICKET_BYTES
"""Bytes before and after a partition's key in the key of a row."""

_AFTER_TICKETS = b"\xff" * TICKET_BYTES + b"\x00"


class PartitionRow(NamedTuple):
    """The newest row of a partition in a version."""

    ticket: int
    value: bytes

    @property
    def is_tombstone(self) -> bool:
        """Return whether the row says that the partition is gone."""
        return is_tombstone(self.value)


class Examined:
    """Counts the keys that a store returns to a reader, whether or not they are part of the answer.

    Counting changes nothing about what is read.

    Attributes:
        keys: their number.
        tested: whether the store was given a condition. A store that `leaves_out` rows then examined more keys than it returned.
    """

    def __init__(self) -> None:
        self.keys = 0
        self.tested = False

    def counting(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows, and count them."""
        for row in rows:
            self.keys += 1
            yield row


def _is_there(value: bytes) -> bool:
    """Return whether a row is no tombstone, though it does not begin with 1, as nearly all do.

    Raises:
        MetastoreDamagedError: it is not as it was written.
    """
    refuse(value)
    return not is_tombstone(value)


def entry_of(row: PartitionRow | None) -> PartitionEntry | None:
    """Return the entry in a partition's row; None if there is none, or it says that the partition is gone."""
    return None if row is None or row.is_tombstone else _entry(row.value)


# A commit asks several times for the entry that it builds on, which may refer to hundreds of chunks.
_entry = functools.lru_cache(maxsize=32)(decode_entry)


@functools.lru_cache(maxsize=32)
def _listed_row_keys(prefix: bytes, newest: bytes, groups: Groups) -> tuple[bytes, ...]:
    """Return the keys of those newest rows that a version shows. A table is planned for more often than it is written."""
    rows = (prefix + key + complement(row.ticket) for key, row in decode_newest(newest))
    return tuple(filter(groups.wants, rows))


class VisibleRows:
    """The partition rows of one version of a table.

    Args:
        store: of the metastore.
        table: id.
        commit: of the version.
        newest: what the table's head says of newest rows, now or at any time.
    """

    def __init__(self, store: Store, table: bytes, commit: CommitRecord, newest: bytes = b"") -> None:
        self._store = store
        self._newest = newest
        self._is_whole = bool(newest) and complete_ticket(newest) == commit.ticket
        self._partitions = commit.totals.partitions
        self._table = table
        self._prefix = partition_prefix(table)
        self._groups = Groups(
            width=TICKET_BYTES,
            first=complement(commit.next_ticket - 1),
            without=frozenset(
                complement(ticket) for first, last in commit.invisible for ticket in range(first, last + 1)
            ),
            # Nearly every commit wrote a partition's row; a vacuum may have removed some.
            rows=commit.next_ticket // max(1, commit.totals.partitions),
        )

    def index_entries(self, index: str) -> VisibleRows:
        """Return what is visible of an index's entries in the same version.

        Args:
            index: id, hexadecimal.
        """
        return self._with(index_prefix(self._table, index))

    def removed_file_records(self) -> VisibleRows:
        """Return what is visible of the records of files taken out, in the same version; their paths are the keys."""
        return self._with(removed_files_prefix(self._table))

    def _with(self, prefix: bytes) -> VisibleRows:
        other = copy.copy(self)
        other._prefix = prefix
        other._informed, other._is_whole = self._groups, False  # the newest rows are told of partitions alone
        return other

    @functools.cached_property
    def _informed(self) -> Groups:
        """The groups with the rows that are known, if this version shows them."""
        if not self._newest:
            return self._groups
        listed = _listed_row_keys(self._prefix, self._newest, self._groups)
        if 2 * len(listed) <= self._partitions:
            return replace(self._groups, known_keys=listed)
        return replace(self._groups, known_keys=listed, rows=1)  # as far as most are concerned

    def rows(self, keys: Sequence[bytes], examined: Examined | None = None) -> Iterator[Row]:
        """Yield rows by their keys and ages, as entries of an index tell them; those that are gone are left out.

        Args:
            keys: of partitions, each with its age behind it.
            examined: counts the rows read.
        """
        if examined is not None:
            examined.keys += len(keys)
        values = self._store.get_many([self._prefix + key for key in keys])
        for key, value in zip(keys, values, strict=True):
            if value is not None and (value[0] == 1 or _is_there(value)):
                yield key[:-TICKET_BYTES], key[-TICKET_BYTES:], value

    def scan(
        self,
        ranges: Sequence[Range],
        *,
        single: bool = False,
        examined: Examined | None = None,
        where: Condition | None = None,
        passes: Callable[[bytes], bool] | None = None,
    ) -> Iterator[Row]:
        """Yield the newest rows of the partitions in ranges of keys, without tombstones.

        Args:
            ranges: disjoint and in order, without the table's prefix.
            single: whether each range is that of one partition, whose key it begins with.
            examined: counts the rows read.
            where: what the store may test on the fields of the keys, for rows that it need not bring.
            passes: tests the keys of rows as they are stored, between `ROW_PREFIX` and `ROW_SUFFIX` bytes:
                where few rows pass, nothing else is done about the others.
        """
        if self._is_whole and not single and (where is None or passes is not None):
            return self.rows(self._listed_keys_in(ranges, passes), examined)
        absolute = self._ranges_for(start for start, _ in ranges) if single else self._absolute(ranges)
        rows = self._rows(absolute, single, examined, where, passes)
        return (row for row in rows if row[2][0] == 1 or _is_there(row[2]))

    def _listed_keys_in(self, ranges: Sequence[Range], passes: Callable[[bytes], bool] | None) -> list[bytes]:
        """Return the keys and ages of those rows in ranges that the list of all of them names."""
        stored_keys, place = [], 0
        for key, row in decode_newest(self._newest):
            stored = key + complement(row.ticket)
            while place < len(ranges) and (stop := ranges[place][1]) is not None and stored >= stop:
                place += 1
            if place == len(ranges):
                break
            if stored >= ranges[place][0] and not row.is_tombstone:
                stored_keys.append(stored)
        return stored_keys if passes is None else [key for key in stored_keys if passes(self._prefix + key)]

    def keys(self, ranges: Sequence[Range], limit: int) -> tuple[list[bytes], list[Range]]:
        """Return the keys of the rows that a scan of ranges of keys would read first, of this version or not.

        Args:
            ranges: disjoint and in order, without the table's prefix.
            limit: how many at most.

        Returns:
            the keys of their partitions, and what is left of the ranges: nothing if there are no more.
        """
        rows = self._store.scan_ranges(self._absolute(ranges), limit=limit, groups=self._informed)
        keys = [row_key for row_key, _ in rows]
        partitions = [key[len(self._prefix) : -TICKET_BYTES] for key in keys]
        if len(keys) < limit or not keys:
            return partitions, []
        after = self._groups.end(keys[-1])[len(self._prefix) :]
        remaining = [(max(start, after), stop) for start, stop in ranges if stop is None or stop > after]
        return partitions, remaining

    def listed_keys(self) -> list[bytes] | None:
        """Return the keys of all partitions if the table's head lists them, so that nothing has to be read; else None."""
        if not self._is_whole:
            return None
        return [key for key, row in decode_newest(self._newest) if not row.is_tombstone]

    def first_keys(self, ranges: Sequence[Range], examined: Examined | None = None) -> Iterator[bytes]:
        """Yield the key of the first partition in each of some ranges; one that is gone counts.

        Args:
            ranges: disjoint and in order, without the table's prefix.
            examined: counts the rows read.
        """
        # With the rows that are known a range would be one for each of them.
        return (key for key, _, _ in self._rows(self._absolute(ranges), True, examined, groups=self._groups))

    def _absolute(self, ranges: Sequence[Range]) -> list[Range]:
        prefix = self._prefix
        end = successor(prefix)
        return [(prefix + start, end if stop is None else prefix + stop) for start, stop in ranges]

    def _ranges_for(self, keys: Iterable[bytes]) -> list[Range]:
        """Return the ranges of those rows of partitions that were written by the time of this version."""
        starts = (self._prefix + key for key in keys)
        return [(start + self._groups.first, start + _AFTER_TICKETS) for start in starts]

    def newest(self, keys: Iterable[bytes], examined: Examined | None = None) -> dict[bytes, PartitionRow]:
        """Return the newest rows of partitions, in order, tombstones included; none for those never written.

        Args:
            keys: of the partitions.
            examined: counts the rows read.
        """
        ranges = self._ranges_for(sorted(keys))
        return {
            key: PartitionRow(ticket_of(age), value) for key, age, value in self._rows(ranges, True, examined)
        }

    def newest_with_tickets(self, tickets: Iterable[int]) -> Iterator[tuple[bytes, int]]:
        """Yield the keys of the partitions of which the newest row, tombstones included, was written by one of these tickets, with it.

        All keys of the table are looked at, and nothing else of the other partitions.
        """
        ages = {complement(ticket) for ticket in tickets}
        rows = self._rows(
            self._absolute([(b"", None)]), False, None, passes=lambda row_key: row_key[-TICKET_BYTES:] in ages
        )
        return ((key, ticket_of(age)) for key, age, _ in rows)

    def written_since(self, keys: Iterable[bytes], first: int) -> Iterator[tuple[bytes, PartitionRow]]:
        """Yield all rows of partitions, older ones too, that this version shows or an earlier one did, the newest of each first.

        Args:
            keys: of the partitions.
            first: ticket of the oldest rows that are wanted.
        """
        prefix, skip = self._prefix, len(self._prefix)
        last = complement(first) + b"\x00"
        ranges = [(prefix + key + self._groups.first, prefix + key + last) for key in sorted(keys)]
        for row_key, value in self._store.scan_ranges(ranges):
            if row_key[-TICKET_BYTES:] not in self._groups.without:
                yield row_key[skip:-TICKET_BYTES], PartitionRow(ticket_of(row_key), value)

    def all_newest(self) -> Iterator[tuple[bytes, PartitionRow]]:
        """Yield the newest rows of all partitions, by their keys, tombstones included."""
        rows = self._rows(self._absolute([(b"", None)]), False, None)
        return ((key, PartitionRow(ticket_of(age), value)) for key, age, value in rows)

    def _rows(
        self,
        ranges: Sequence[Range],
        single: bool,
        examined: Examined | None,
        where: Condition | None = None,
        passes: Callable[[bytes], bool] | None = None,
        groups: Groups | None = None,
    ) -> Iterator[Row]:
        newest, hidden = self._groups.first, self._groups.without
        skip = len(self._prefix)
        last: bytes | None = None
        each = 1 if single else None
        if groups is None:
            groups = self._groups if len(ranges) == 1 and single else self._informed
        rows: Iterable[tuple[bytes, bytes]] = self._store.scan_ranges(
            ranges, each=each, where=where, groups=groups
        )
        if examined is not None:
            examined.tested |= where is not None
            rows = examined.counting(rows)
        unsure: set[bytes] = set()
        if passes is not None:
            rows = _passing(rows, passes, unsure)
        for row_key, value in rows:
            age = row_key[-TICKET_BYTES:]
            if age < newest or age in hidden:
                continue
            key = row_key[skip:-TICKET_BYTES]
            if key != last:
                last = key
                if (
                    row_key in unsure
                    and not is_tombstone(value)
                    and passes is not None
                    and not passes(row_key)
                ):
                    continue
                yield key, age, value


def _passing(
    rows: Iterable[tuple[bytes, bytes]], passes: Callable[[bytes], bool], unsure: set[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows that pass, and those that cannot be tested, of which the keys are added to `unsure`.

    The test is not applied to keys that were written when the table had other partition columns: it cannot read them. No version
    with these columns holds such rows, so they are left to be found old, or to be hidden by their tombstones.
    """
    for row in rows:
        try:
            if not passes(row[0]):
                continue
        except Exception:  # noqa: BLE001 - a row that the version holds after all is tested again
            unsure.add(row[0])
        yield row
