"""The rows of a table's partitions that belong to a version.

A row is tagged with the ticket of the commit that wrote it. It belongs to a version if that ticket had been
committed by then. Of such rows of a partition the newest counts, and a tombstone says that the partition was
dropped. The version's commit record decides all of this, in memory: a reader reads only the partitions' own
rows. The head may list the newest ones (`newest_rows`), so that the store finds them faster. `TableSnapshot`
has an example.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from parquetry.keys import successor
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.partition_rows.newest_rows import complete_ticket, decode_newest
from parquetry.metastore.storage.checksums import is_tombstone, refuse
from parquetry.metastore.storage.keyspace import (
    PARTITIONS,
    TABLE_ID_BYTES,
    TICKET_BYTES,
    complement,
    index_prefix,
    partition_prefix,
    removed_files_prefix,
    ticket_of,
)
from parquetry.metastore.storage.model import CommitRecord, PartitionEntry
from parquetry.store import Condition, Groups, KeyReader, Leading, Range, ReadCosts, Store

Row = tuple[bytes, bytes, bytes]
"""Key of a partition, age, value. The age is the complement of a ticket: newer rows have a lesser age."""

ROW_PREFIX, ROW_SUFFIX = len(PARTITIONS) + TABLE_ID_BYTES, TICKET_BYTES
"""Bytes before and after a partition's key in the key of a row."""

MIN_COUNTLESS_VERSIONS = 4
"""Rows of a partition, as estimated. With so many or more, a scan reads far fewer rows than its ranges
have."""
_BEHIND_FIELDS = b"\xff" * 256
"""Bytes behind the fields of a key: each further field begins with one such byte at most, and so may a
ticket's eight bytes."""
_AFTER_TICKETS = b"\xff" * TICKET_BYTES + b"\x00"


class PartitionRow(NamedTuple):
    """The newest row of a partition in a version."""

    ticket: int
    value: bytes

    @property
    def is_tombstone(self) -> bool:
        """Return whether the row says that the partition was dropped."""
        return is_tombstone(self.value)


class Examined:
    """Counts the keys that a store returns to a reader, whether or not they are part of the result.

    Counting does not change what is read.

    Attributes:
        keys: number of keys.
        seeks: number of these keys that a skip scan read to find the next value of a leading column.
        tested: whether the store got a condition. If so, a store that `leaves_out` rows examined more keys
            than it returned.
    """

    def __init__(self) -> None:
        self.keys = 0
        self.seeks = 0
        self.tested = False

    def counting(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows, and count them."""
        for row in rows:
            self.keys += 1
            yield row


def _is_there(value: bytes) -> bool:
    """Return whether a row that does not begin with 1, as nearly all do, is still not a tombstone.

    Raises:
        MetastoreDamagedError: the row is damaged.
    """
    refuse(value)
    return not is_tombstone(value)


def entry_of(row: PartitionRow | None) -> PartitionEntry | None:
    """Return the entry in a partition's row, or None if there is no row or it is a tombstone."""
    return None if row is None or row.is_tombstone else _entry(row.value)


# A commit decodes the entry that it builds on several times, and the entry may refer to hundreds of chunks.
_entry = functools.lru_cache(maxsize=32)(decode_entry)


@functools.lru_cache(maxsize=32)
def _listed_row_keys(prefix: bytes, newest: bytes, groups: Groups) -> tuple[bytes, ...]:
    """Return the keys of the listed newest rows that a version shows.

    Cached, as tables are planned more than written.
    """
    rows = (prefix + key + complement(row.ticket) for key, row in decode_newest(newest))
    return tuple(filter(groups.wants, rows))


_reads_keys: dict[type, bool] = {}
"""Whether the stores of a class can count rows and find keys. To ask a store each time would take 8 µs."""


class VisibleRows:
    """The partition rows of one version of a table.

    Args:
        store: store of the metastore.
        table: id of the table.
        commit: commit of the version.
        newest: the list of newest rows in the table's head, now or at any other time.
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
            # An estimate: nearly every commit wrote a partition's row, and a vacuum may have removed some.
            rows=commit.next_ticket // max(1, commit.totals.partitions),
        )

    def index_entries(self, index: str) -> VisibleRows:
        """Return the visible entries of an index in the same version.

        Args:
            index: id of the index, hexadecimal.
        """
        return self._with(index_prefix(self._table, index))

    def removed_file_records(self) -> VisibleRows:
        """Return the visible records of removed files in the same version. Their keys are paths."""
        return self._with(removed_files_prefix(self._table))

    def _with(self, prefix: bytes) -> VisibleRows:
        other = copy.copy(self)
        other._prefix = prefix
        other._informed, other._is_whole = self._groups, False  # the list has only rows of partitions
        return other

    @functools.cached_property
    def _informed(self) -> Groups:
        """The groups with the listed rows that this version shows."""
        if not self._newest:
            return self._groups
        listed = _listed_row_keys(self._prefix, self._newest, self._groups)
        if 2 * len(listed) <= self._partitions:
            return replace(self._groups, known_keys=listed)
        return replace(self._groups, known_keys=listed, rows=1)  # the list shortens most groups to one row

    def rows(self, keys: Sequence[bytes], examined: Examined | None = None) -> Iterator[Row]:
        """Yield rows by their keys and ages, such as the entries of an index contain.

        Missing rows are left out.

        Args:
            keys: keys of partitions, each followed by the age of its row.
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
            ranges: disjoint ranges of keys, in order, without the table's prefix.
            single: whether each range is for one partition only, with whose key it begins.
            examined: counts the rows read.
            where: condition on the fields of the keys, which the store may test to leave out rows.
            passes: tests the stored keys of rows, including `ROW_PREFIX` and `ROW_SUFFIX` bytes around the
                partition's key. Rows that fail cost no other work.
        """
        if self._is_whole and not single and (where is None or passes is not None):
            return self.rows(self._find_listed_keys(ranges, passes), examined)
        absolute = self.row_ranges(start for start, _ in ranges) if single else self._absolute(ranges)
        rows = self._rows(absolute, single, examined, where, passes)
        return (row for row in rows if row[2][0] == 1 or _is_there(row[2]))

    def _find_listed_keys(
        self, ranges: Sequence[Range], passes: Callable[[bytes], bool] | None
    ) -> list[bytes]:
        """Return the keys and ages of the live rows in ranges, from a list that names all partitions."""
        stored_keys, index = [], 0
        for key, row in decode_newest(self._newest):
            stored = key + complement(row.ticket)
            while index < len(ranges) and (stop := ranges[index][1]) is not None and stored >= stop:
                index += 1
            if index == len(ranges):
                break
            if stored >= ranges[index][0] and not row.is_tombstone:
                stored_keys.append(stored)
        return stored_keys if passes is None else [key for key in stored_keys if passes(self._prefix + key)]

    def keys(self, ranges: Sequence[Range], limit: int) -> tuple[list[bytes], list[Range]]:
        """Return the keys of the first rows that a scan of ranges would read, of this version or not.

        Args:
            ranges: disjoint ranges of keys, in order, without the table's prefix.
            limit: maximal number of rows.

        Returns:
            the keys of their partitions, and the remaining ranges, which are empty at the end.
        """
        rows = self._store.scan_ranges(self._absolute(ranges), limit=limit, groups=self._informed)
        keys = [row_key for row_key, _ in rows]
        partitions = [key[len(self._prefix) : -TICKET_BYTES] for key in keys]
        if len(keys) < limit or not keys:
            return partitions, []
        after = self._groups.end(keys[-1])[len(self._prefix) :]
        remaining = [(max(start, after), stop) for start, stop in ranges if stop is None or stop > after]
        return partitions, remaining

    @functools.cached_property
    def _key_reader(self) -> KeyReader | None:
        rows: Any = getattr(
            self._store, "rows", self._store
        )  # of a store that is seen with absolute locations
        if type(rows) not in _reads_keys:
            _reads_keys[type(rows)] = isinstance(rows, KeyReader)
        return rows if _reads_keys[type(rows)] else None

    @property
    def costs(self) -> ReadCosts | None:
        """Return the costs of reading, or None if keys cannot be counted.

        That is so if the store cannot, or if partitions have so many rows each that the number of rows says
        little: a scan skips the older ones.
        """
        reader = self._key_reader
        return None if reader is None or self._groups.rows >= MIN_COUNTLESS_VERSIONS else reader.costs

    @property
    def leaves_out(self) -> bool:
        """Return whether the store tests conditions and leaves out rows that do not satisfy them."""
        return self._store.leaves_out

    @property
    def is_listed(self) -> bool:
        """Return whether the table's head lists the keys of all partitions. No scan then looks for them."""
        return self._is_whole

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the version."""
        return self._partitions

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in ranges, of this version or not, or `limit` if there are more.

        The store must be able to count (`costs`).

        Args:
            ranges: disjoint ranges of keys, in order, without the table's prefix.
            limit: number of rows at which counting ends.
        """
        assert self._key_reader is not None
        return self._key_reader.count(self._absolute(ranges), limit)

    def leading_keys(
        self, range: Range, columns: int, width: Callable[[bytes], int], limit: int
    ) -> tuple[list[bytes], bytes | None]:
        """Return a key of each group of keys that begin with the same fields, of this version or not.

        The store must be able to find keys (`costs`).

        Args:
            range: range of keys, without the table's prefix.
            columns: number of fields that the keys of a group have in common.
            width: returns how many bytes of a partition's key these fields have.
            limit: number of groups; there may be fewer, even if more follow.

        Returns:
            a partition's key of each group, in order, and the key at which the next group begins at the
            earliest, or None if there is none.
        """
        assert self._key_reader is not None
        skip = len(self._prefix)
        groups = Leading(skip, columns, lambda key: skip + width(key[skip:-TICKET_BYTES]), _BEHIND_FIELDS)
        (bounds,) = self._absolute([range])
        page = self._key_reader.first_keys(*bounds, groups, limit)
        after = None if page.after is None else page.after[skip:]
        return [key[skip:-TICKET_BYTES] for key in page.keys], after

    def listed_keys(self) -> list[bytes] | None:
        """Return the keys of all partitions if the table's head lists them, or None. It reads no row."""
        if not self._is_whole:
            return None
        return [key for key, row in decode_newest(self._newest) if not row.is_tombstone]

    def first_keys(self, ranges: Sequence[Range], examined: Examined | None = None) -> Iterator[bytes]:
        """Yield the key of the first partition in each of some ranges. Dropped partitions count.

        Args:
            ranges: disjoint ranges of keys, in order, without the table's prefix.
            examined: counts the rows read.
        """
        # Without the listed rows, because they would split each range at every one of them.
        return (key for key, _, _ in self._rows(self._absolute(ranges), True, examined, groups=self._groups))

    def _absolute(self, ranges: Sequence[Range]) -> list[Range]:
        prefix = self._prefix
        end = successor(prefix)
        return [(prefix + start, end if stop is None else prefix + stop) for start, stop in ranges]

    def hides(self, age: bytes) -> bool:
        """Return whether this version does not show rows of an age, although earlier rows may count."""
        return age in self._groups.without

    def row_ranges(self, keys: Iterable[bytes]) -> list[Range]:
        """Return the ranges of the partitions' rows without the rows of later tickets."""
        starts = (self._prefix + key for key in keys)
        return [(start + self._groups.first, start + _AFTER_TICKETS) for start in starts]

    def newest(self, keys: Iterable[bytes], examined: Examined | None = None) -> dict[bytes, PartitionRow]:
        """Return the newest rows of partitions, in order, including tombstones.

        Partitions without a row are left out.

        Args:
            keys: keys of the partitions.
            examined: counts the rows read.
        """
        ranges = self.row_ranges(sorted(keys))
        return {
            key: PartitionRow(ticket_of(age), value) for key, age, value in self._rows(ranges, True, examined)
        }

    def newest_with_tickets(self, tickets: Iterable[int]) -> Iterator[tuple[bytes, int]]:
        """Yield the keys and tickets of the partitions whose newest row has one of these tickets.

        It reads all keys of the table, and no more of the other partitions.
        """
        ages = {complement(ticket) for ticket in tickets}
        rows = self._rows(
            self._absolute([(b"", None)]), False, None, passes=lambda row_key: row_key[-TICKET_BYTES:] in ages
        )
        return ((key, ticket_of(age)) for key, age, _ in rows)

    def rows_since(self, keys: Iterable[bytes], first: int) -> Iterator[tuple[bytes, PartitionRow]]:
        """Yield all rows of partitions that this version or an earlier one shows, for each the newest first.

        Args:
            keys: keys of the partitions.
            first: ticket of the oldest rows wanted.
        """
        prefix, skip = self._prefix, len(self._prefix)
        last = complement(first) + b"\x00"
        ranges = [(prefix + key + self._groups.first, prefix + key + last) for key in sorted(keys)]
        for row_key, value in self._store.scan_ranges(ranges):
            if row_key[-TICKET_BYTES:] not in self._groups.without:
                yield row_key[skip:-TICKET_BYTES], PartitionRow(ticket_of(row_key), value)

    def all_newest(self) -> Iterator[tuple[bytes, PartitionRow]]:
        """Yield the newest rows of all partitions with their keys, including tombstones."""
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
    """Yield the rows that pass, and the rows that cannot be tested.

    The keys of the latter are added to `unsure`.

    A key from before a change of the partition columns cannot be decoded, and the test fails with an error.
    No version with the present columns shows such a row. The caller then finds it too old, or hidden by a
    tombstone.
    """
    for row in rows:
        try:
            if not passes(row[0]):
                continue
        except Exception:  # noqa: BLE001 - a row that the version shows after all is tested again
            unsure.add(row[0])
        yield row
