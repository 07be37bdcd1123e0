"""A store as one transaction of several tables sees it: of one moment, and with the transaction's writes.

All code that writes into the metastore can write into a draft. Commits take tickets, write rows and swap
heads there as they do in the store, and later statements read them. None of it reaches the store.
`drafts.draft` makes one commit of it.

**What is kept as it was.** Rows of versions never change. Heads do, so the draft keeps each head as it first
read it. All of them are of one moment: a table that is read later has the version of that moment, even if
others have committed since. Only what others have taken away shows: a table that they have dropped, and
versions that a vacuum has retired. So a read notices that rows are missing.

**Names.** A name that the transaction has read stays as it was. Names that it gives, takes away and moves are
in the draft alone, as heads are. Tables that it makes are staged tables of the store (`made_tables`).

**What goes through.** Rows of tables that the transaction makes go into the store. Records of writes under
way protect files from vacuum, so they belong there, too. So does the history of queries. So does the format
row: a draft's rows may need a later format, and then the commit needs it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import islice
from typing import NamedTuple

import msgspec

from parquetry.errors import CommitConflictError, TableNotFoundError, UnsupportedError
from parquetry.metastore.cleanup.in_flight import keep_in_flight
from parquetry.metastore.drafts.made_tables import MadeTables
from parquetry.metastore.namespace.databases import DatabaseRow, Databases
from parquetry.metastore.namespace.names import TableNames
from parquetry.metastore.partition_rows.visible_rows import PartitionRow
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import without_checksum
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.intents import TRANSACTION
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.store import Clock, Condition, Fields, Groups, MemoryStore, Range

_THROUGH = (keyspace.FORMAT, keyspace.IN_FLIGHT, keyspace.QUERIES)
"""The tags of rows that a draft reads and writes in the store."""
_LONGEST_COMMIT_MS = 60 * 60 * 1000
"""Milliseconds: no commit takes effect later than so long after the time that it records."""
Row = tuple[bytes, bytes]


class _Around(NamedTuple):
    """Facts about the moment of a transaction.

    Attributes:
        late: commits of several tables after it.
        early: such commits before it.
        moment: a time within it, in milliseconds since the epoch.
        first_change: the time of the first commit after it, but at most a millisecond after `moment`.
    """

    moment: int
    late: set[str | None]
    early: set[str | None]
    first_change: int

    def has(self, commit: CommitRecord) -> bool:
        """Return whether a commit of another table may be before the moment.

        A commit of several tables at the time of the first change may follow that one, so it is left out.
        """
        transaction = commit.summary.get(TRANSACTION)
        if transaction is None:
            return commit.committed_at <= min(self.moment, self.first_change)
        if transaction in self.early:
            return True
        return transaction not in self.late and commit.committed_at < self.first_change


class DraftStore:
    """A store with the writes of a transaction.

    Args:
        base: the store, seen with absolute locations and without checksums.
        id: of the transaction.
        moment: the time whose tables it shows, in milliseconds since the epoch, or None for now.

    Attributes:
        base: the store.
        made: the tables that the transaction has made.
        gathered: the commits to the draft, by the tables' ids.
        alive: keeps the files of the transaction from vacuum, until it is closed.
        is_over: whether the transaction has ended.
        heads: the heads that the transaction has read, as they were, by the tables' ids; None for no head.
    """

    def __init__(self, base: WarehouseStore, id: str, moment: int | None = None) -> None:
        self.base = base
        self.made = MadeTables(base, id)
        self._names: dict[bytes, bytes | None] = {}
        self.heads: dict[bytes, Head | None] = {}
        self._own = MemoryStore()
        self._deleted: set[bytes] = set()
        self._moment = store_now_ms(base) if moment is None else moment
        self.gathered: dict[bytes, list[CommitTask]] = {}
        self.is_over = False
        self.alive = ExitStack()
        if isinstance(base.rows, Clock):
            self.server_time = base.rows.server_time

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
            if key[:1] == keyspace.HEADS:
                values[key] = self._head(key, pin=len(keys) == 1)
            elif key in self._names and values[key] is None and key not in self._deleted:
                values[key] = self._names[key]
        missing = [
            key
            for key in keys
            if values.get(key) is None
            and key not in self._deleted
            and key not in self._names
            and key[:1] != keyspace.HEADS
        ]
        if missing:
            read = dict(zip(missing, self.base.get_many(missing), strict=True))
            values.update(read)
            self._names.update((key, row) for key, row in read.items() if key[:1] == keyspace.NAMES)
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
            (through if self._goes_through(row[0]) else own).append(row)
        self._own.put_many(own, fields)
        self._deleted.difference_update(key for key, _ in own)
        if not through:
            return False
        self.base.ownership.require()
        return self.base.rows.put_many(through, fields)  # they have their stored form already

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows."""
        through: list[bytes] = []
        for key in keys:
            if self._goes_through(key):
                through.append(key)
            else:
                self._deleted.add(key)
                self._own.delete_many([key])
        if through:
            self.base.delete_many(through)
        for key in through:
            if key[:1] == keyspace.HEADS:
                self.made.forget(keyspace.table_in(key))

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write a row if it now has the expected value."""
        if key[:1] == keyspace.DATABASES:
            return self._pin(key, expected, value)
        if key[:1] in _THROUGH:
            return self.base.compare_and_set(key, expected, value)
        if self.get(key) != expected:
            return False
        if key[:1] == keyspace.HEADS and value is not None:
            table, head = keyspace.table_in(key), decode_head(value)
            if expected is None:
                return self.made.make(table, head)
            if table in self.made:
                return self.made.change_head(table, head)
            if self._finishes_for_others(table, head):
                return False
        if value is None:
            self.delete_many([key])
        else:
            self.put_many([(key, value)])
        return True

    def _finishes_for_others(self, table: bytes, head: Head) -> bool:
        """Return whether a change is a renaming that another process has announced, and finish it for all.

        In the draft alone, it would be a renaming by the transaction.
        """
        kept = self.heads.get(table)
        if kept is None or kept.renaming is None or head.token != kept.renaming[2]:
            return False
        TableNames(self.base, Databases(self.base)).settle_name(*kept.renaming[:2])
        del self.heads[table]
        return True

    def _goes_through(self, key: bytes) -> bool:
        return key[:1] in _THROUGH or self.made.has_row(key)

    def _pin(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Let a process that drops a database see that it gets a table; see `Databases.pin`.

        Raises:
            UnsupportedError: a database is to be made, changed or dropped.
        """
        if expected is not None and value is not None:
            row = without_checksum(key, value)
            before, after = (decoder(DatabaseRow).decode(each) for each in (expected, row))
            if before.dropping and not after.dropping and before.properties == after.properties:
                return self.base.compare_and_set(key, expected, row)
        raise UnsupportedError(
            "A transaction of several tables changes tables and views: make, change and drop databases before it or after "
            "it."
        )

    def close(self) -> None:
        """The store stays open for others."""

    def require_possible(self, transaction: Transaction) -> None:
        """Make sure that changes of one table can be part of the transaction.

        Raises:
            UnsupportedError: they are a stream's, or the transaction has ended.
        """
        if self.is_over:
            raise UnsupportedError(
                f"Table {transaction.base.label} was read in a transaction that has ended: read it again."
            )
        if transaction.batch is not None:
            require_no_draft(transaction.base, f"{transaction.operation!r}")

    def keeps_rows_of(self, table: bytes) -> bool:
        """Return whether others still see a table, so that a DROP deletes nothing before the commit."""
        return table not in self.made

    def gather(self, task: CommitTask) -> None:
        """Note a commit to the draft, and keep the table's new files from vacuum."""
        if task.table in self.made:
            return
        if task.table not in self.gathered:
            self.alive.enter_context(keep_in_flight(self.base, task.table))
        self.gathered.setdefault(task.table, []).append(task)

    def changed_heads(self) -> dict[bytes, Head]:
        """Return the heads of the tables that the transaction has committed to, by the tables' ids."""
        heads = {}
        for key, value in self._own.scan(*keyspace.prefix_range(keyspace.HEADS)):
            table, head = key[len(keyspace.HEADS) :], decode_head(value)
            before = self.heads.get(table)
            if head.state == "live" and before is not None and before.commit.id != head.commit.id:
                heads[table] = head
        return heads

    def changed_names(self) -> dict[bytes, Head]:
        """Return the heads of the tables that the transaction has renamed or dropped, by the tables' ids."""
        heads = {}
        for key, value in self._own.scan(*keyspace.prefix_range(keyspace.HEADS)):
            table, head = keyspace.table_in(key), decode_head(value)
            before = self.heads.get(table)
            if before is not None and before.token != head.token:
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

    def _head(self, key: bytes, *, pin: bool) -> bytes | None:
        """Return the head of a table at the transaction's moment, with its changes.

        Args:
            key: key of the head.
            pin: whether the transaction reads the table, so that the head is kept. A list of tables shows
                tables that were not read in their present state.
        """
        table = keyspace.table_in(key)
        if table in self.made:
            return self.made.read_head(table)
        if table not in self.heads:
            if not pin:
                return self.base.get(key)
            self.heads[table] = self._read_head(key)
        own, kept = self._own.get(key), self.heads[table]
        head = kept if own is None else decode_head(own)
        value = self.base.get(key)
        now = None if value is None else decode_head(value)
        if head is not None and not head.is_deleted and (now is None or now.is_deleted):
            if own is not None:  # what was to follow the change is not possible any more
                label = f"{head.database}.{head.name}"
                raise TableNotFoundError(
                    f"Table {label} was dropped by others, after a transaction has changed it: roll the transaction back."
                )
            return None
        if head is None or now is None:
            return None
        if now.oldest > head.oldest:
            return encode(msgspec.structs.replace(head, oldest=now.oldest))
        return encode(head) if own is None else own

    def _read_head(self, key: bytes) -> Head | None:
        others = {keyspace.HEADS + table: head for table, head in self.heads.items()}
        while True:
            now = store_now_ms(self.base)
            value = self.base.get(key)
            *theirs, again = self.base.get_many([*others, key])
            if value != again:
                continue
            pairs = [
                (None if value is None else decode_head(value), head)
                for value, head in zip(theirs, others.values(), strict=True)
            ]
            if all(_is_same(there, head) for there, head in pairs):
                self._moment = now  # nothing that was read has changed until now
                return None if value is None else decode_head(value)
            for there, head in pairs:
                if head is not None and not _has_same_name(there, head):
                    raise CommitConflictError(
                        f"Table {head.database}.{head.name} was renamed or dropped since the transaction has read it, so what "
                        "other tables were then is not known: roll the transaction back and run it again."
                    )
            return None if value is None else self._earlier(key, decode_head(value))

    def _earlier(self, key: bytes, head: Head) -> Head | None:
        """Return a head as it was at the transaction's moment: before others changed what it has read.

        The time of a commit of several tables is some time before it takes effect. So times alone do not tell
        whether it belongs to the moment. If it is in a version that the transaction has read, it does. If it
        is in a later version of such a table, it does not, and neither does what follows it.

        Raises:
            CommitConflictError: a vacuum has removed that version, or there is no such moment.
        """
        around = self._around()
        label = f"Table {head.database}.{head.name}"
        last: CommitRecord | None = None
        for commit in self._commits(key[len(keyspace.HEADS) :], head):
            if not around.has(commit):
                if last is not None and last.summary.get(TRANSACTION) in around.early:
                    raise CommitConflictError(
                        f"{label} was changed together with tables that the transaction has read before and after that: "
                        "roll the transaction back and run it again."
                    )
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
                f"{label} has no version any more of the moment that the transaction reads: a vacuum took it; roll the "
                "transaction back and run it again."
            )
        return None  # the table was made later

    def _around(self) -> _Around:
        """Return what the versions that the transaction has read, and later ones, tell about its moment."""
        late: set[str | None] = set()
        early: set[str | None] = set()
        first_change = self._moment + 1
        for table, before in self.heads.items():
            value = self.base.get(keyspace.HEADS + table)
            if value is None or before is None:
                continue
            for commit in self._commits(table, decode_head(value)):
                transaction = commit.summary.get(TRANSACTION)
                if commit.version > before.commit.version:
                    late.add(transaction)
                    first_change = min(first_change, commit.committed_at)
                else:
                    early.add(transaction)
                    if commit.committed_at < self._moment - _LONGEST_COMMIT_MS:
                        break
        return _Around(self._moment, late - {None}, early - {None}, first_change)

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
                table = keyspace.table_in(key)
                kept: bytes | None = value
                if table in self.made or table in self.heads:
                    kept = self._head(key, pin=False)
                if kept is not None:
                    yield key, kept
            else:
                yield key, value


def _is_same(there: Head | None, head: Head | None) -> bool:
    """Return whether a head is as the transaction has read it, except for tickets."""
    if there is None or head is None:
        return there is None and head is None
    return there.commit.id == head.commit.id and _has_same_name(there, head)


def _has_same_name(there: Head | None, head: Head) -> bool:
    return there is not None and (there.state, there.token) == (head.state, head.token)
