"""How a transaction becomes a version: on compare-and-set of one row, atomic over any number of partitions.

1. Raise the format of the store, if the rows need it (`storage.format`). Take a ticket: compare-and-set of the head, which
   then names this process as the author of a commit under way.
2. Write the journal: the keys of the partitions that are going to be written, and of the files of others that
   are taken out, for whoever has to clean up.
3. Read the partitions as they are, write their new rows, tagged with the ticket, their entries in the table's
   indexes, and the rows of files taken out. No version shows them. Before the first long list of files in columns, raise the
   format for it.
4. Compare-and-set the head: the ticket leaves the pending ones, the version goes up by one, and where the head lists
   the newest rows of partitions (`versions.newest_rows`), these are listed. Now all rows are visible. If others committed since, first
   look whether they touched the same partitions: appends are merged again, anything else is a conflict.
5. Remove the journal, and what dead writers left.

Two writers, A and B, append to partition d=1 of version 7, whose head gives out ticket 12 next:

    A   1  head: next 13, pending {12}           B   1  head: next 14, pending {12, 13}
    A   3  row (d=1, ticket 12): files 1, 2, a   B   3  row (d=1, ticket 13): files 1, 2, b
    A   4  head: version 8, pending {13}         B   4  the head has moved since version 7, and A's row is on d=1:
                                                        B gives up ticket 13 (aborted {13}), takes ticket 14,
                                                        writes row (d=1, ticket 14): files 1, 2, a, b
                                                 B   4  head: version 9, pending {}

A reader of version 7 sees the row of the newest ticket below 12, one of version 8 that of ticket 12, one of version 9
that of ticket 14. None ever sees ticket 13. Had A overwritten the partition instead, B's append would be a conflict.

Along the rows of a partition, or of a file taken out, tickets must grow in the order of the commits, since the
newest ticket wins. A commit that finds a later ticket than its own on one of them gives up its ticket and takes
another. So does one that would have to build a row anew that it has written: no row is ever given a second value, of
which a late message, or a clock that was set back, could make the first one the last.

A crash before 4 leaves invisible rows and a pending ticket, which the next writer turns into an aborted one
before it deletes the rows; an author who wakes up too late finds its ticket aborted. Aborted tickets are
remembered for ever, unless their own author has seen all its rows deleted: then none can turn up late.

A store that tries again inside says so (`Store.put_many`): what it tried first may be carried out after the
rows were deleted. Such a ticket is not forgotten either.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

import msgspec

from parquetry.errors import (
    BatchCommittedError,
    CommitAbortedError,
    CommitConflictError,
    CommitUnknownError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
)
from parquetry.metastore.cleanup import recovery
from parquetry.metastore.commits.apply import Merge
from parquetry.metastore.commits.changes import Drop
from parquetry.metastore.commits.conflicts import Conflicts
from parquetry.metastore.commits.prepared import PreparedCommit, prepare
from parquetry.metastore.commits.removed_files import records_of
from parquetry.metastore.commits.successor import Successor
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.commits.validate import require_possible
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.storage.format import ARRANGED, FIRST, IN_COLUMNS, STREAMS, format_of, require_format
from parquetry.metastore.storage.head import Head, edit_head, merge, pause, read_head, remove
from parquetry.metastore.storage.keyspace import (
    TAKEN_OUT_PARTS,
    commit_key,
    complement,
    fields_of,
    journal_key,
    metadata_key,
    partition_prefix,
    taken_out_prefix,
)
from parquetry.metastore.storage.model import Commit, PartitionIndex, Totals
from parquetry.metastore.storage.owner import Owner, active_owner, now_ms
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions.indexes import entry_rows
from parquetry.metastore.versions.newest_rows import Newest, decode_newest, encode_newest, is_listed, whole_of
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_metadata
from parquetry.metastore.versions.visible_rows import Found, VisibleRows

JOURNAL_KEYS = 1000
"""Keys in one row of the journal."""
WRITE_BATCH = 5000


def commit(transaction: Transaction, summary: Mapping[str, str] | None = None) -> TableSnapshot:
    """Make all changes of a transaction visible at once.

    Args:
        transaction: what to change.
        summary: free text by key, for the history.

    Returns:
        The version made; the transaction's base if there is nothing to change.

    Raises:
        PartitionNotFoundError: a partition to drop or rename is not there.
        PartitionExistsError: a partition to add is there.
        CommitConflictError: others changed meanwhile what this transaction changes.
        CommitAbortedError: another writer took this one for dead.
        CommitUnknownError: the store does not say whether the commit took place.
        TableNotFoundError: the table was dropped or replaced meanwhile.
        BatchCommittedError: the batch of a streaming query was committed before.
        UnsupportedError: it was tried to commit the transaction before.
    """
    if isinstance(transaction.base, Successor):
        transaction.base.gather(transaction, summary or {})
        return transaction.base
    transaction.end()
    try:
        prepared = prepare(transaction)
        arranged = require_possible(prepared)
        taken_out = records_of(prepared)
        if not prepared.changes and not taken_out and prepared.metadata is None:
            transaction.base.check_kept()
            return transaction.base
    except ParquetryError:
        _require_base(transaction)
        raise
    return Committer(prepared, taken_out, arranged, dict(summary or {})).run()


def _require_base(transaction: Transaction) -> None:
    """Make sure that what is missing in a transaction's base has not been vacuumed away.

    Raises:
        CommitConflictError: it may have been.
        TableNotFoundError: the table was dropped or replaced.
    """
    base = transaction.base
    head = read_head(base.store, base.id)
    if head is None:
        raise TableNotFoundError(f"Table {base.label} was dropped meanwhile; nothing was written.") from None
    require_open(base, head)
    _require_kept(transaction, head, base.version)


def _require_kept(transaction: Transaction, head: Head, version: int) -> None:
    if head.oldest > version:
        raise CommitConflictError(
            f"Version {version}, on which {_what(transaction)} is based, was vacuumed away meanwhile; "
            "nothing was written: run it again."
        )


def _what(transaction: Transaction) -> str:
    return f"{transaction.operation!r} on table {transaction.base.label}"


class _MovedError(Exception):
    """The head shows another version than the one that was validated."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head


class _Attempt:
    """What has been written under one ticket.

    Args:
        prepared: what to write.
        ticket: 0 before the first one is taken.

    Attributes:
        merge: makes the rows of partitions.
        built: for each partition, on which ticket's row its new row was built, and what it adds to the totals.
        wrote_journal: whether the keys of what is written have been noted.
        in_doubt: whether rows of the ticket may turn up once more after they were deleted.
    """

    def __init__(self, prepared: PreparedCommit, ticket: int) -> None:
        self.ticket = ticket
        self.merge = Merge(prepared, ticket)
        self.built: dict[bytes, tuple[int, Totals]] = {}
        self.wrote_journal = False
        self.in_doubt = False


class Committer:
    """One run of the protocol above.

    Args:
        prepared: what to change.
        taken_out: rows of files that are taken out, without their tickets: keys and values.
        arranged: whether a partition is arranged.
        summary: for the history.
    """

    def __init__(
        self, prepared: PreparedCommit, taken_out: dict[bytes, bytes], arranged: bool, summary: dict[str, str]
    ) -> None:
        self._prepared = prepared
        self._transaction = prepared.transaction
        self._summary = summary
        self._base = prepared.base
        self._store = self._base.store
        self._table = self._base.id
        self._changes = prepared.changes
        self._metadata = prepared.metadata
        self._taken_out = taken_out
        self._conflicts = Conflicts(prepared)
        self._id = os.urandom(8).hex()
        self._attempt = _Attempt(prepared, 0)
        self._forgettable: list[int] = []
        self._publishing = False
        self._written_metadata = self._base.metadata  # that the version has which was last tried
        self._indexes: tuple[PartitionIndex, ...] = ()
        if self._transaction.batch is not None:
            needed = STREAMS
        else:
            needed = FIRST if self._metadata is None else format_of(self._metadata)
        self._format = max(needed, ARRANGED) if arranged else needed

    def run(self) -> TableSnapshot:
        """Commit; see `committer`."""
        with active_owner() as owner:
            head = self._allocate(owner)
            try:
                for check in self._transaction.checks:
                    check()
                done = self._work(head, owner)
            except BaseException as error:
                committed = self._give_up(error)
                if committed is None or not isinstance(error, Exception):  # an interrupt is not swallowed
                    raise
                done = committed
        try:
            return self._result(done)
        except CommitUnknownError:
            raise
        except BaseException as error:
            if isinstance(error, Exception):  # nobody must take it for a commit that failed
                raise self._unknown(error) from error
            raise

    def _result(self, head: Head) -> TableSnapshot:
        commit = self._own_commit(head)
        with contextlib.suppress(ParquetryError):  # what is left is found by the next writer
            recovery.sweep(self._store, self._table, head)
        try:
            return load(self._store, self._table, head, commit)
        except TableNotFoundError:  # dropped right after this commit
            about = head.database, head.name, commit, self._written_metadata
            return TableSnapshot(self._store, self._table, *about)

    # -- tickets

    def _require_open(self, head: Head) -> None:
        require_open(self._base, head)
        if self._transaction.keeps_name:
            require_name(self._base, head)

    def _allocate(self, owner: Owner, instead_of: int | None = None) -> Head:
        """Take a ticket, and give up those of dead authors in the same step."""

        def mine(head: Head) -> list[int]:
            return [
                ticket
                for ticket, other in head.pending.items()
                if other.nonce == owner.nonce and ticket != instead_of
            ]

        def change(head: Head) -> Head:
            self._require_open(head)
            require_format(self._store, self._format)
            if instead_of is None:
                # The rows of the base were read before; if they were kept until now, none was missing.
                _require_kept(self._transaction, head, self._base.version)
            now = now_ms()
            if self._transaction.checks and head.cleaner is not None and not head.cleaner.is_dead(now):
                raise CommitConflictError(
                    f"{_what(self._transaction)} takes files in while a vacuum of the table is deleting some; nothing was "
                    "written: run it again when that is done."
                )
            dead = [t for t, other in head.pending.items() if t == instead_of or other.is_dead(now)]
            alive = {t: other for t, other in head.pending.items() if t not in dead}
            return msgspec.structs.replace(
                head,
                next_ticket=head.next_ticket + 1,
                pending={**alive, head.next_ticket: msgspec.structs.replace(owner, started_at=now)},
                aborted=merge(head.aborted, ((t, t) for t in dead)),
            )

        head = edit_head(self._store, self._table, change, lambda head: bool(mine(head)))
        self._attempt = _Attempt(self._prepared, mine(head)[0])
        return head

    def _take_another(self, owner: Owner) -> Head:
        """Give up the ticket for a later one; there is no trace of the old one once its rows are gone."""
        old = self._attempt
        head = self._allocate(owner, instead_of=old.ticket)
        self._delete_rows(old.ticket)
        if not old.in_doubt:
            self._forgettable.append(old.ticket)
        return head

    def _give_up(self, error: BaseException) -> Head | None:
        """Make sure that this commit will never be seen, and clean up.

        Returns:
            the head if, on the contrary, the commit turns out to have taken place, and the error came after that; None otherwise.

        Raises:
            CommitUnknownError: it may have taken place, and the store does not tell.
        """

        def change(head: Head) -> Head:
            if self._attempt.ticket not in head.pending:
                return head
            aborted = merge(head.aborted, [(self._attempt.ticket, self._attempt.ticket)])
            return msgspec.structs.replace(head, pending=head.without(self._attempt.ticket), aborted=aborted)

        # What this protocol raises itself it raises where the commit did not take place.
        told = isinstance(error, ParquetryError) and not isinstance(error, StoreError)
        try:
            head = edit_head(
                self._store, self._table, change, lambda head: self._attempt.ticket not in head.pending
            )
        except TableNotFoundError:
            self._transaction.may_be_visible = False
            return None
        except BaseException as failure:
            if told:
                self._transaction.may_be_visible = False
            elif self._publishing and isinstance(error, Exception) and isinstance(failure, Exception):
                raise self._unknown(error) from error
            if not isinstance(failure, StoreError):
                raise
            return None
        if head.is_committed(self._attempt.ticket):
            return head
        self._transaction.may_be_visible = False
        with contextlib.suppress(ParquetryError):
            self._delete_rows(self._attempt.ticket)
            # A write that failed may yet arrive; only after none did may the ticket be forgotten.
            if told and not isinstance(error, CommitAbortedError):
                self._forget(
                    self._forgettable
                    if self._attempt.in_doubt
                    else [*self._forgettable, self._attempt.ticket]
                )
        return None

    def _unknown(self, error: Exception) -> CommitUnknownError:
        reason = (
            f"the store fails ({error.message.removesuffix('.')})"
            if isinstance(error, StoreError)
            else f"of {error!r}"
        )
        return CommitUnknownError(
            f"Whether {_what(self._transaction)} took place is not known, because {reason}; look for commit {self._id} in the table's history "
            "before running it again."
        )

    def _forget(self, tickets: list[int]) -> None:
        def change(head: Head) -> Head:
            aborted = remove(head.aborted, tickets)
            return head if aborted == head.aborted else msgspec.structs.replace(head, aborted=aborted)

        edit_head(self._store, self._table, change, lambda head: not any(map(head.is_aborted, tickets)))

    def _delete_rows(self, ticket: int) -> None:
        recovery.delete_rows(self._store, self._table, ticket, self._changes, self._indexes, self._taken_out)

    # -- rows

    def _work(self, head: Head, owner: Owner) -> Head:
        latest, version, attempt = self._prepared.before, self._base.version, 0
        taken_out: dict[bytes, Found] = {}
        if any(read.version.version < version for read in self._transaction.reads):
            self._conflicts.check_reads(self._base)
        while True:
            if head.commit.version != version:
                visible = VisibleRows(self._store, self._table, head.commit, head.newest)
                latest = visible.newest(self._changes)
                taken_out = visible.of_taken_out().newest(self._taken_out)
                self._conflicts.check(head, latest, taken_out)
                version = head.commit.version
            if any(
                found.ticket > self._attempt.ticket for found in (*latest.values(), *taken_out.values())
            ) or any(on != _ticket_of(latest.get(key)) for key, (on, _) in self._attempt.built.items()):
                pause(attempt)
                head = self._take_another(owner)
                continue
            self._write(head, latest)
            try:
                return self._publish(version, *self._newest_rows(head))
            except _MovedError as moved:
                # A later library may have written the rows that are about to be read.
                require_format(self._store, self._format)
                head = moved.head
                attempt += 1

    def _newest_rows(self, head: Head) -> tuple[dict[bytes, Newest], bool]:
        """Return the newest rows of the partitions on which this commit builds, if the next head is to list them, and whether of all."""
        if (
            self._transaction.successor
            or not self._base.partition_types
            or not is_listed(head.commit, head.newest)
        ):
            return {}, False
        if rows := dict(decode_newest(head.newest)):
            return rows, whole_of(head.newest) == head.commit.ticket
        visible = VisibleRows(self._store, self._table, head.commit)
        # Tombstones may have keys from before a REPLACE TABLE, which have no place in the order of the others.
        listed = (each for each in visible.all_newest() if self._base.key_schema.fits(each[0]))
        return {key: Newest(found.ticket, found.is_tombstone) for key, found in listed}, True

    def _write(self, head: Head, latest: Mapping[bytes, Found]) -> None:
        prefix, age = partition_prefix(self._table), complement(self._attempt.ticket)
        metadata = self._metadata or load_metadata(self._store, self._table, head.commit.metadata)
        self._written_metadata = metadata
        indexed: list[bytes] = []
        if metadata.indexes != self._indexes:  # somebody has begun to build one: all rows need their entries
            self._indexes = metadata.indexes
            indexed += self._attempt.built
        # The newest commit is in the head only; once this one takes its place there, it must be in the log.
        rows = [(commit_key(self._table, head.commit.version), encode(head.commit))]
        for key in sorted(self._changes):
            if key in self._attempt.built:  # then on what is the latest still
                continue
            found = latest.get(key)
            value, difference = self._attempt.merge.row(key, found)
            self._attempt.built[key] = (_ticket_of(found), difference)
            rows.append((prefix + key + age, value))
            indexed.append(key)
        leads = ((key, age, TOMBSTONE if isinstance(self._changes[key], Drop) else b"") for key in indexed)
        rows += entry_rows(self._table, self._indexes, leads)
        if not self._attempt.wrote_journal:
            self._write_journal()
            if self._metadata is not None:
                rows.append((metadata_key(self._table, self._attempt.ticket), encode(self._metadata)))
            files = taken_out_prefix(self._table)
            rows += ((files + path + age, value) for path, value in sorted(self._taken_out.items()))
        chunk_rows = self._attempt.merge.take_chunk_rows()
        if chunk_rows:
            require_format(self._store, IN_COLUMNS)
        rows = [*chunk_rows, *rows]  # what is referred to comes first
        for start in range(0, len(rows), WRITE_BATCH):
            self._attempt.in_doubt |= self._store.put_many(rows[start : start + WRITE_BATCH], fields_of)

    def _write_journal(self) -> None:
        parts = [*enumerate(_parts(self._changes) or [[]])]
        parts += enumerate(_parts(self._taken_out), TAKEN_OUT_PARTS)
        self._store.put_many(
            (journal_key(self._table, self._attempt.ticket, part), encode(some)) for part, some in parts
        )
        self._attempt.wrote_journal = True

    # -- the one step that counts

    def _publish(self, version: int, listed: dict[bytes, Newest], all_listed: bool) -> Head:
        self._publishing = self._transaction.may_be_visible = True
        difference = sum((added for _, added in self._attempt.built.values()), Totals())

        def change(head: Head) -> Head:
            self._require_open(head)
            if self._transaction.restored_from is not None:
                _require_kept(self._transaction, head, self._transaction.restored_from)
            if self._attempt.ticket not in head.pending:
                raise CommitAbortedError(
                    f"{_what(self._transaction)} took so long that another writer took its author for dead; "
                    "nothing was written: run it again."
                )
            if head.commit.version != version:
                raise _MovedError(head)
            last, batch = head.commit, self._transaction.batch
            if batch is not None and batch.is_in(last):
                raise BatchCommittedError(
                    f"Batch {batch.number} of the streaming query {batch.query} was committed to table {self._base.label} "
                    "before; nothing was written."
                )
            after = msgspec.structs.replace(
                head,
                pending=head.without(self._attempt.ticket),
                aborted=remove(head.aborted, self._forgettable),
            )
            commit = Commit(
                version=last.version + 1,
                ticket=self._attempt.ticket,
                id=self._id,
                committed_at=max(now_ms(), last.committed_at),
                operation=self._transaction.operation,
                summary=self._summary,
                metadata=last.metadata if self._metadata is None else self._attempt.ticket,
                totals=difference if self._transaction.successor else last.totals + difference,
                next_ticket=head.next_ticket,
                invisible=after.invisible(),
                streams=last.streams if batch is None else batch.added_to(last.streams),
            )
            written = {
                key: Newest(self._attempt.ticket, isinstance(self._changes[key], Drop))
                for key in self._attempt.built
            }
            whole = self._attempt.ticket if all_listed else None
            newest = encode_newest({**listed, **written}, whole) if listed else b""
            return msgspec.structs.replace(after, commit=commit, newest=newest)

        return edit_head(
            self._store, self._table, change, lambda head: head.is_committed(self._attempt.ticket)
        )

    def _own_commit(self, head: Head) -> Commit:
        if head.commit.id == self._id:
            return head.commit
        for commit in load(self._store, self._table, head).history():
            if commit.id == self._id:
                return commit
            if commit.version <= self._base.version:
                break
        raise CommitUnknownError(
            f"{_what(self._transaction)} cannot be found in the table's history; "
            "compare the table with what was to be written."
        )


def _parts(keys: Iterable[bytes]) -> list[list[bytes]]:
    """Return keys as the rows of a journal list them."""
    every = sorted(keys)
    return [every[start : start + JOURNAL_KEYS] for start in range(0, len(every), JOURNAL_KEYS)]


def _ticket_of(found: Found | None) -> int:
    return 0 if found is None else found.ticket


def require_open(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table can be committed to.

    Raises:
        TableNotFoundError: it was dropped or replaced.
    """
    if head.is_gone:
        raise TableNotFoundError(f"Table {base.label} was {head.state} meanwhile; nothing was written.")


def require_name(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table still has its name.

    Raises:
        CommitConflictError: it was renamed.
    """
    if (head.database, head.name) != (base.database, base.name):
        raise CommitConflictError(
            f"Table {base.label} became {head.database}.{head.name} meanwhile; nothing was written: run the statement again "
            "with the name that is meant."
        )
