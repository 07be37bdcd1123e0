"""A store as one transaction of several tables sees it: of one moment, and with the transaction's writes.

All code that writes into the metastore can write into a draft. Commits take tickets, write rows and swap
heads there as they do in the store, and later statements read them. None of it reaches the store.
`drafts.draft` makes one commit of it.

**What is kept as it was.** Rows of versions never change. Heads do, so the draft keeps each head as it first
read it. All of them are of one moment: a table that is read later has the version of that moment, even if
others have committed since.

**What goes through.** Records of writes under way protect files from vacuum, so they belong into the store.
So does the history of queries. So does the format row: a draft's rows may need a later format, and then the
commit needs it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import islice

import msgspec

from parquetry.errors import CommitConflictError, UnsupportedError
from parquetry.metastore.cleanup.in_flight import keep_in_flight
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.intents import TRANSACTION
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.visible_rows import PartitionRow
from parquetry.store import Clock, Condition, Fields, Groups, MemoryStore, Range, Store

_THROUGH = (keyspace.FORMAT, keyspace.IN_FLIGHT, keyspace.QUERIES)
"""The tags of rows that a draft reads and writes in the store."""
_FIXED = (keyspace.DATABASES, keyspace.NAMES)
"""The tags of rows that a transaction cannot change."""
_LONGEST_COMMIT_MS = 60 * 60 * 1000
"""Milliseconds: no commit takes effect later than so long after the time that it records."""
Row = tuple[bytes, bytes]


class DraftStore:
    """A store with the writes of a transaction.

    Args:
        base: the store, seen with absolute locations and without checksums.

    Attributes:
        base: the store.
        gathered: the commits to the draft, by the tables' ids.
        alive: keeps the files of the transaction from vacuum, until it is closed.
        is_over: whether the transaction has ended.
        heads: the heads that the transaction has read, as they were, by the tables' ids; None for no head.
    """

    def __init__(self, base: Store) -> None:
        self.base = base
        self.heads: dict[bytes, Head | None] = {}
        self._own = MemoryStore()
        self._deleted: set[bytes] = set()
        self._moment = store_now_ms(base)
        self.gathered: dict[bytes, list[CommitTask]] = {}
        self.is_over = False
        self.alive = ExitStack()
        rows = getattr(base, "rows", base)
        if isinstance(rows, Clock):
            self.server_time = rows.server_time

    @property
    def leaves_out(self) -> bool:
        """Whether `scan_ranges` tests conditions and leaves out rows that do not satisfy them."""
        return self.base.leaves_out

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values = {key: self._own.get(key) for key in keys if key[:1] not in _THROUGH}
        for key in keys:
            if key[:1] == keyspace.HEADS and values[key] is None and key not in self._deleted:
                values[key] = self._head(key)
        missing = [
            key
            for key in keys
            if values.get(key) is None and key not in self._deleted and key[:1] != keyspace.HEADS
        ]
        if missing:
            values.update(zip(missing, self.base.get_many(missing), strict=True))
        return [values[key] for key in keys]

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the rows with start <= key < stop in key order, or in reverse order."""
        theirs = self.base.scan(start, stop, reverse=reverse)
        ours = self._own.scan(start, stop, reverse=reverse)
        rows = self._together(theirs, ours, reverse=reverse)
        yield from islice(rows, limit)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of disjoint ranges. It may yield more than `each` and `groups` ask for."""
        # A row that the draft has deleted may be the one row of its group that the store would give.
        if self._deleted:
            each = groups = None
        theirs = self.base.scan_ranges(ranges, each=each, where=where, groups=groups)
        ours = self._own.scan_ranges(ranges)
        yield from islice(self._together(theirs, ours), limit)

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        """Write rows."""
        through: list[Row] = []
        own: list[Row] = []
        for row in rows:
            self._require_allowed(row[0])
            (through if row[0][:1] in _THROUGH else own).append(row)
        self._own.put_many(own, fields)
        self._deleted.difference_update(key for key, _ in own)
        return self.base.put_many(through, fields) if through else False

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows."""
        through: list[bytes] = []
        for key in keys:
            self._require_allowed(key)
            if key[:1] in _THROUGH:
                through.append(key)
            else:
                self._deleted.add(key)
                self._own.delete_many([key])
        if through:
            self.base.delete_many(through)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write a row if it now has the expected value."""
        if key[:1] in _THROUGH:
            return self.base.compare_and_set(key, expected, value)
        if self.get(key) != expected:
            return False
        if key[:1] == keyspace.HEADS:
            _require_same_table(expected, value)
        if value is None:
            self.delete_many([key])
        else:
            self.put_many([(key, value)])
        return True

    def close(self) -> None:
        """The store stays open for others."""

    def require_possible(self, transaction: Transaction) -> None:
        """Make sure that changes of one table can be part of the transaction.

        Raises:
            UnsupportedError: they replace the table or are a stream's, or the transaction has ended.
        """
        if self.is_over:
            raise UnsupportedError(
                f"Table {transaction.base.label} was read in a transaction that has ended: read it again."
            )
        if transaction.successor is not None or transaction.batch is not None:
            require_no_draft(transaction.base, f"{transaction.operation!r}")

    def gather(self, task: CommitTask) -> None:
        """Note a commit to the draft, and keep the table's new files from vacuum."""
        if task.table not in self.gathered:
            self.alive.enter_context(keep_in_flight(self.base, task.table))
        self.gathered.setdefault(task.table, []).append(task)

    def changed_heads(self) -> dict[bytes, Head]:
        """Return the heads of the tables that the transaction has committed to, by the tables' ids."""
        heads = {}
        for key, value in self._own.scan(*keyspace.prefix_range(keyspace.HEADS)):
            table, head = key[len(keyspace.HEADS) :], decode_head(value)
            before = self.heads.get(table)
            if before is None or before.commit.id != head.commit.id:
                heads[table] = head
        return heads

    def newest_rows(self, table: bytes) -> dict[bytes, PartitionRow]:
        """Return the newest rows of the partitions that the transaction has written, in key order."""
        prefix = keyspace.partition_prefix(table)
        newest: dict[bytes, PartitionRow] = {}
        for row_key, value in self._own.scan(*keyspace.prefix_range(prefix)):
            row = PartitionRow(keyspace.ticket_of(row_key), value)
            newest.setdefault(row_key[len(prefix) : -keyspace.TICKET_BYTES], row)
        return newest

    def _head(self, key: bytes) -> bytes | None:
        """Return the head of a table at the transaction's moment, and keep it."""
        table = key[len(keyspace.HEADS) :]
        if table not in self.heads:
            self.heads[table] = self._read_head(key)
        kept = self.heads[table]
        return None if kept is None else encode(kept)

    def _read_head(self, key: bytes) -> Head | None:
        others = {keyspace.HEADS + table: head for table, head in self.heads.items()}
        while True:
            now = store_now_ms(self.base)
            value = self.base.get(key)
            *theirs, again = self.base.get_many([*others, key])
            if value != again:
                continue
            if all(
                _is_same(value_now, head) for value_now, head in zip(theirs, others.values(), strict=True)
            ):
                self._moment = now  # nothing that was read has changed until now
                return None if value is None else decode_head(value)
            return None if value is None else self._earlier(key, decode_head(value))

    def _earlier(self, key: bytes, head: Head) -> Head | None:
        """Return a head as it was at the transaction's moment.

        A commit of several tables takes effect some time after the time that it records. So if it changed a
        table after the transaction read that, all of its versions are too late.

        Raises:
            CommitConflictError: a vacuum has removed that version.
        """
        late = self._late_transactions()
        last: CommitRecord | None = None
        for commit in self._commits(key[len(keyspace.HEADS) :], head):
            if commit.summary.get(TRANSACTION) in late or commit.committed_at > self._moment:
                last = None
            elif last is None:
                last = commit
            elif commit.committed_at < self._moment - _LONGEST_COMMIT_MS:
                break
        if last is not None:
            is_newest = last.id == head.commit.id
            return head if is_newest else msgspec.structs.replace(head, commit=last, newest=b"")
        if head.oldest > 0:
            raise CommitConflictError(
                f"Table {head.database}.{head.name} has no version any more of the moment that the transaction reads: "
                "a vacuum took it; roll the transaction back and run it again."
            )
        return None  # the table was made later

    def _late_transactions(self) -> set[str]:
        """Return the commits of several tables that changed a table after the transaction has read it."""
        late = set()
        for table, before in self.heads.items():
            value = self.base.get(keyspace.HEADS + table)
            if value is None or before is None:
                continue
            for commit in self._commits(table, decode_head(value), before.commit.version + 1):
                late.add(commit.summary.get(TRANSACTION, ""))
        return late - {""}

    def _commits(self, table: bytes, head: Head, oldest: int = 0) -> Iterator[CommitRecord]:
        """Yield the commits of a table, newest first, down to a version or the oldest that is kept."""
        first = max(oldest, head.oldest)
        if head.commit.version >= first:
            yield head.commit
        start = keyspace.commit_key(table, first)
        stop = keyspace.commit_key(table, head.commit.version)
        for _, row in self.base.scan(start, stop, reverse=True) if start < stop else ():
            commit: CommitRecord = decoder(CommitRecord).decode(row)
            yield commit

    def _together(
        self, theirs: Iterator[Row], ours: Iterator[Row], *, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the rows of the store and of the draft in the order of their keys; the draft's count."""
        last = None
        ordered = merge(
            ((key, 1, value) for key, value in theirs),
            ((key, 0, value) for key, value in ours),
            key=lambda row: (row[0], -row[1] if reverse else row[1]),
            reverse=reverse,
        )
        for key, whose, value in ordered:
            if key == last or (whose and key in self._deleted):
                continue
            last = key
            if whose and key[:1] == keyspace.HEADS:
                kept = self._head(key)
                if kept is not None:
                    yield key, kept
            else:
                yield key, value

    def _require_allowed(self, key: bytes) -> None:
        if key[:1] in _FIXED:
            raise _refusal()


def _is_same(value: bytes | None, head: Head | None) -> bool:
    if value is None or head is None:
        return value is None and head is None
    return decode_head(value).commit.id == head.commit.id


def _require_same_table(before: bytes | None, after: bytes | None) -> None:
    """Make sure that a head stays the head of a table of the same name."""
    if before is None or after is None:
        raise _refusal()
    was, now = decode_head(before), decode_head(after)
    if (was.state, was.token, was.renaming) != (now.state, now.token, now.renaming):
        raise _refusal()


def _refusal() -> UnsupportedError:
    return UnsupportedError(
        "A transaction of several tables changes rows and properties of tables that are there: make, drop and rename "
        "tables, views and databases before it or after it."
    )
