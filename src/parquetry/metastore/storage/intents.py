"""Commits of several tables: each head says what it will be, and one row decides for all of them.

A commit of several tables writes its rows in each, as any commit does. Then

1. it makes a *record* of the transaction, which is pending;
2. it puts an *intent* in the place of each head: the head as it is, and the commit that will follow. Tables
   come in the order of their ids, so that two transactions never wait for each other;
3. it changes the record from pending to committed, by one compare-and-set. From now on each intent counts as
   the head with the new commit;
4. it replaces the intents by these heads, and removes the record.

A reader of an intent looks at the record. While it is pending, or if it was aborted, the table is as it was.
`WarehouseStore` does so for the whole library, so no other code sees an intent.

A writer may change a head with a pending intent in what the intent does not depend on: it takes tickets. If
it wants to commit, drop or rename the table, or to retire versions, it waits for the transaction for some
time, and then aborts it. So a process that hangs stops no other one for long.

**No record.** A record is removed only when no head has its intent any more. So a reader that finds no record
reads the head again. If the intent is still there, a late message has brought it after its transaction was
aborted, and it counts as aborted.

**Heads never return to an earlier value.** An intent that is removed after an abort leaves its ticket
among the aborted ones. So a late compare-and-set never finds the head that it expects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, cast

import msgspec

from parquetry.errors import StoreError
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head, merge, pause, swap
from parquetry.metastore.storage.keyspace import TRANSACTIONS, head_key, prefix_range, transaction_key
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store, Swap

PATIENCE = 100
"""How often a writer looks whether another's transaction has ended, with a pause between, before it aborts
it: some seconds."""

TRANSACTION = "transaction"
"""The text in a commit's summary that has the id of its transaction of several tables."""
TRANSACTION_TABLES = "transaction_tables"
"""The text in it that has the number of the tables that the transaction changed."""
Fate = Literal["pending", "committed", "aborted"]


class TransactionRecord(msgspec.Struct, frozen=True):
    """A transaction of several tables that is being committed.

    Attributes:
        fate: what counts for all of its intents.
        author: the process that commits it.
        tables: ids of the tables, in order.
    """

    fate: Fate
    author: Owner
    tables: tuple[bytes, ...]


class Intent(msgspec.Struct, frozen=True):
    """A head with the commit that follows if a transaction is committed.

    Attributes:
        transaction: id of the transaction.
        head: the head without the commit, encoded.
        commit: the commit.
        newest: `Head.newest` after it.
    """

    transaction: bytes
    head: bytes
    commit: CommitRecord
    newest: bytes

    def head_after(self, fate: Fate) -> bytes:
        """Return the head that counts."""
        if fate == "pending":
            return self.head
        head, ticket = decode_head(self.head), self.commit.ticket
        if fate == "committed":
            after = {"commit": self.commit, "newest": self.newest}
        else:
            after = {"aborted": merge(head.aborted, [(ticket, ticket)])}
        return encode(msgspec.structs.replace(head, pending=head.pending_without(ticket), **after))

    def allows(self, changed: Head) -> bool:
        """Return whether the commit can still follow if the head is changed so."""
        head = decode_head(self.head)
        return self.commit.ticket in changed.pending and all(
            getattr(head, field) == getattr(changed, field)
            for field in ("state", "database", "name", "commit", "oldest", "newest", "token")
        )


_MARK = b"\xabtransaction"
"""The bytes of an intent behind the first one: the name of its first field. A head begins with `state`."""


def is_intent(value: bytes) -> bool:
    """Return whether the value of a head's row is an intent."""
    return value[1 : 1 + len(_MARK)] == _MARK


def decode_intent(value: bytes) -> Intent:
    """Return an intent from its row's value."""
    intent: Intent = decoder(Intent).decode(value)
    return intent


def read_intent(store: Store, table: bytes) -> Intent | None:
    """Return the intent in the place of a table's head, or None if there is none."""
    value = cast(HeadStore, store).head_row(head_key(table))
    return decode_intent(value) if value is not None and is_intent(value) else None


def take_effect(store: Store, table: bytes, transaction: bytes) -> None:
    """Replace the intent of a transaction that is decided by the head that counts, if it is still there."""
    key = head_key(table)
    while (intent := read_intent(store, table)) is not None and intent.transaction == transaction:
        if (value := store.get(key)) is not None:
            store.compare_and_set(key, value, value)


def read_record(store: Store, transaction: bytes) -> TransactionRecord | None:
    """Return the record of a transaction, or None if there is none."""
    value = store.get(transaction_key(transaction))
    return None if value is None else _decode(value)


def _decode(value: bytes) -> TransactionRecord:
    record: TransactionRecord = decoder(TransactionRecord).decode(value)
    return record


def records(store: Store) -> list[tuple[bytes, TransactionRecord]]:
    """Return the transactions that have records, with these."""
    rows = store.scan(*prefix_range(TRANSACTIONS))
    return [(key[len(TRANSACTIONS) :], _decode(value)) for key, value in rows]


def fate_of(store: Store, transaction: bytes) -> Fate:
    """Return whether a transaction is pending, committed or aborted."""
    record = read_record(store, transaction)
    return "aborted" if record is None else record.fate


def decide(
    store: Store, transaction: bytes, fate: Literal["committed", "aborted"], known: bytes | None = None
) -> Fate | None:
    """Commit or abort a transaction, unless it is decided already.

    Return what counts, or None if there is no record: then it was decided, has taken effect, and others have
    removed its record.

    Args:
        store: store of the metastore.
        transaction: id of the transaction.
        fate: the decision.
        known: the record as `begin` has written it, or None to read it.

    Raises:
        StoreError: the store failed. The transaction may be decided.
    """
    key = transaction_key(transaction)
    if known is not None and swap(store, key, known, _with_fate(known, fate)):
        return fate
    while (value := store.get(key)) is not None:
        record = _decode(value)
        if record.fate != "pending":
            return record.fate
        if swap(store, key, value, _with_fate(value, fate)):
            return fate
    return None


def _with_fate(record: bytes, fate: Fate) -> bytes:
    return encode(msgspec.structs.replace(_decode(record), fate=fate))


def remove_record(store: Store, transaction: bytes, known: bytes | None = None) -> None:
    """Remove the record of a transaction that is decided and has no intent in any head any more.

    Args:
        store: store of the metastore.
        transaction: id of the transaction.
        known: the pending record of a transaction that this process has committed, or None to read it.
    """
    key = transaction_key(transaction)
    if known is not None and swap(store, key, _with_fate(known, "committed"), None):
        return
    if (value := store.get(key)) is not None:
        swap(store, key, value, None)


def settle(store: Store, transaction: bytes) -> None:
    """Wait until a transaction is decided, and abort it if it takes too long or its author is dead."""
    for attempt in range(PATIENCE):
        record = read_record(store, transaction)
        if record is None or record.fate != "pending":
            return
        if record.author.is_dead(store_now_ms(store)):
            break
        pause(attempt)
    decide(store, transaction, "aborted")


class HeadStore(Store, Protocol):
    """A store that reads intents as the heads that count, and shows the intents, too."""

    def head_row(self, key: bytes) -> bytes | None:
        """Return the row of a head as it is stored, without a checksum; it may be an intent."""
        ...


class SwappingStore(Store, Protocol):
    """A store that changes several rows together, as far as it can."""

    def swap_together(self, swaps: Sequence[Swap]) -> bool:
        """Write rows if all have the expected values; see `warehouse_store`."""
        ...


def head_that_counts(store: HeadStore, key: bytes, value: bytes) -> bytes | None:
    """Return the head in the value of a head's row, or None if the row was removed since.

    Args:
        store: the store of the row.
        key: key of the row.
        value: its value, which may be a head, and may be out of date.
    """
    while is_intent(value):
        intent = decode_intent(value)
        record = read_record(store, intent.transaction)
        if record is not None:
            return intent.head_after(record.fate)
        now = store.head_row(key)
        if now == value or now is None:
            return None if now is None else intent.head_after("aborted")
        value = now
    return value


def over_intent(store: Store, value: bytes, expected: bytes, wanted: bytes) -> bytes | None:
    """Return the value to write over an intent to change its head, or None if the head is not as expected.

    Args:
        store: the store of the row.
        value: the value of the row, an intent.
        expected: the head that should count.
        wanted: the head to write, or another intent.
    """
    intent = decode_intent(value)
    fate = fate_of(store, intent.transaction)
    if intent.head_after(fate) != expected:
        return None
    if fate != "pending":
        return wanted
    if not is_intent(wanted) and intent.allows(decode_head(wanted)):
        return encode(msgspec.structs.replace(intent, head=wanted))
    settle(store, intent.transaction)
    return None  # the head is another one now


def begin(store: Store, transaction: bytes, author: Owner, tables: tuple[bytes, ...]) -> bytes:
    """Make the record of a transaction, and return it, encoded.

    Raises:
        StoreError: the store failed, or has the record of another one.
    """
    record = encode(TransactionRecord("pending", author, tables))
    if not swap(store, transaction_key(transaction), None, record):
        raise StoreError("The store has another transaction of the same id: run the transaction again.")
    return record


def take_effect_together(store: SwappingStore, intents: Mapping[bytes, Intent]) -> bool:
    """Replace the intents of a committed transaction by their heads, by one request if the store can.

    Args:
        store: store of the metastore.
        intents: the intents as they were written, by the tables' ids.

    Returns:
        Whether all were replaced. If not, others have changed some of them, and `take_effect` does the rest.
    """
    return store.swap_together(
        [
            (head_key(table), encode(each), each.head_after("committed"))
            for table, each in sorted(intents.items())
        ]
    )
