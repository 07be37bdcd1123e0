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

**Names.** A transaction may also give names to tables, take them away and move them. A name's row leads to
one table, and counts only if that table's head agrees (`namespace.names`). So the intents of heads decide
about names, too: they have the table's state, its name and its token after the transaction. The row of a name
that gets a table has an intent with the row before and the row after. It comes after all intents of heads.

**Heads never return to an earlier value.** An intent that is removed after an abort leaves its ticket
among the aborted ones. So a late compare-and-set never finds the head that it expects. An intent that only
changes a name has no ticket: if it comes back late, it counts as aborted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, cast

import msgspec

from parquetry.errors import StoreError
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, State, decode_head, merge, pause, swap
from parquetry.metastore.storage.keyspace import (
    HEADS,
    NAMES,
    TRANSACTIONS,
    head_key,
    prefix_range,
    transaction_key,
)
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
        names: keys of the names' rows that have intents.
    """

    fate: Fate
    author: Owner
    tables: tuple[bytes, ...]
    names: tuple[bytes, ...] = ()


class HeadName(msgspec.Struct, frozen=True):
    """The name that a table has after a transaction, or that it has lost.

    Attributes:
        state: live, or dropped.
        database: as in `Head`.
        name: as in `Head`.
        token: as in `Head`.
        author: as in `Head`.
    """

    state: State
    database: str
    name: str
    token: bytes
    author: Owner | None = None


class Intent(msgspec.Struct, frozen=True):
    """A head with the commit, and with the name, that follow if a transaction is committed.

    Attributes:
        transaction: id of the transaction.
        head: the head as it is, encoded.
        commit: the commit, or None if only the name changes.
        newest: `Head.newest` after it.
        name: the name, or None if it stays.
    """

    transaction: bytes
    head: bytes
    commit: CommitRecord | None
    newest: bytes
    name: HeadName | None = None

    def value_after(self, fate: Fate) -> bytes:
        """Return the head that counts."""
        if fate == "pending":
            return self.head
        head = decode_head(self.head)
        after: dict[str, object] = {}
        if self.commit is not None:
            ticket = self.commit.ticket
            after["pending"] = head.pending_without(ticket)
            if fate == "committed":
                after |= {"commit": self.commit, "newest": self.newest}
            else:
                after["aborted"] = merge(head.aborted, [(ticket, ticket)])
        if self.name is not None and fate == "committed":
            after |= {**msgspec.structs.asdict(self.name), "renaming": None}
        return encode(msgspec.structs.replace(head, **after))

    def committed_head(self) -> Head:
        """Return the head with the commit, and with its name as it is."""
        return decode_head(msgspec.structs.replace(self, name=None).value_after("committed"))

    def allows(self, changed: Head) -> bool:
        """Return whether the commit and the name can still follow if the head is changed so."""
        head = decode_head(self.head)
        return (self.commit is None or self.commit.ticket in changed.pending) and all(
            getattr(head, field) == getattr(changed, field)
            for field in ("state", "database", "name", "commit", "oldest", "newest", "token", "renaming")
        )


class NameIntent(msgspec.Struct, frozen=True):
    """The row of a name, and the row that follows if a transaction is committed.

    Attributes:
        transaction: id of the transaction.
        before: the row as it is, or None if there is none.
        after: the row with the table that gets the name.
    """

    transaction: bytes
    before: bytes | None
    after: bytes

    def value_after(self, fate: Fate) -> bytes | None:
        """Return the row that counts, or None if none does."""
        return self.after if fate == "committed" else self.before


_MARK = b"\xabtransaction"
"""The bytes of an intent behind the first one: the name of its first field. A head begins with `state`, and
the row of a name is shorter."""
TAGS_WITH_INTENTS = (HEADS, NAMES)
"""The tags of rows that may be intents."""


def is_intent(value: bytes) -> bool:
    """Return whether the value of a head's row, or of a name's, is an intent."""
    return value[1 : 1 + len(_MARK)] == _MARK


def decode_intent(key: bytes, value: bytes) -> Intent | NameIntent:
    """Return an intent from its row."""
    intent: Intent | NameIntent = decoder(Intent if key[:1] == HEADS else NameIntent).decode(value)
    return intent


def read_intent(store: Store, key: bytes) -> Intent | NameIntent | None:
    """Return the intent in the place of a head or of a name's row, or None if there is none."""
    value = cast(IntentStore, store).row_as_stored(key)
    return decode_intent(key, value) if value is not None and is_intent(value) else None


def take_effect(store: Store, key: bytes, transaction: bytes) -> None:
    """Replace the intent of a transaction that is decided by the value that counts, if it is still there."""
    while (intent := read_intent(store, key)) is not None and intent.transaction == transaction:
        value = store.get(key)
        store.compare_and_set(key, value, value)


def settle_intents(store: Store, prefix: bytes) -> None:
    """Wait until the transactions with intents in the rows of a prefix are decided, or abort them."""
    rows = cast(IntentStore, store).relative_rows(*prefix_range(prefix))
    for transaction in {decode_intent(key, value).transaction for key, value in rows if is_intent(value)}:
        settle(store, transaction)


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


class IntentStore(Store, Protocol):
    """A store that reads intents as the values that count, and shows the intents, too."""

    def row_as_stored(self, key: bytes) -> bytes | None:
        """Return a row as it is stored, without a checksum; it may be an intent."""
        ...

    def relative_rows(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Yield the stored rows of a range, without checksums."""
        ...


class SwappingStore(Store, Protocol):
    """A store that changes several rows together, as far as it can."""

    def swap_together(self, swaps: Sequence[Swap]) -> bool:
        """Write rows if all have the expected values; see `warehouse_store`."""
        ...


def value_that_counts(store: IntentStore, key: bytes, value: bytes) -> bytes | None:
    """Return what counts in the place of an intent, or None if the row does not count or was removed since.

    Args:
        store: the store of the row.
        key: key of the row.
        value: its value, which may be an intent, and may be out of date.
    """
    while is_intent(value):
        intent = decode_intent(key, value)
        record = read_record(store, intent.transaction)
        if record is not None:
            return intent.value_after(record.fate)
        now = store.row_as_stored(key)
        if now == value or now is None:
            return None if now is None else intent.value_after("aborted")
        value = now
    return value


class Overwrite(NamedTuple):
    """A write over an intent.

    Attributes:
        value: the new value, or None to remove the row.
    """

    value: bytes | None


def over_intent(
    store: Store, key: bytes, value: bytes, expected: bytes | None, wanted: bytes | None
) -> Overwrite | None:
    """Return what to write over an intent to change a row, or None if the row is not as expected.

    Args:
        store: the store of the row.
        key: key of the row.
        value: the value of the row, an intent.
        expected: the value that should count.
        wanted: the value to write, or another intent.
    """
    intent = decode_intent(key, value)
    fate = fate_of(store, intent.transaction)
    if intent.value_after(fate) != expected:
        return None
    if fate != "pending":
        return Overwrite(wanted)
    if (
        isinstance(intent, Intent)
        and wanted is not None
        and not is_intent(wanted)
        and intent.allows(decode_head(wanted))
    ):
        return Overwrite(encode(msgspec.structs.replace(intent, head=wanted)))
    settle(store, intent.transaction)
    return None  # another value may count now


def begin(
    store: Store,
    transaction: bytes,
    author: Owner,
    tables: tuple[bytes, ...],
    names: tuple[bytes, ...] = (),
) -> bytes:
    """Make the record of a transaction, and return it, encoded.

    Raises:
        StoreError: the store failed, or has the record of another one.
    """
    record = encode(TransactionRecord("pending", author, tables, names))
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
            (head_key(table), encode(each), each.value_after("committed"))
            for table, each in sorted(intents.items())
        ]
    )
