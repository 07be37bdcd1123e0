"""Finish transactions of several tables whose authors have died; see `storage.intents`."""

from __future__ import annotations

from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.intents import decide, records, remove_record, take_effect
from parquetry.metastore.storage.keyspace import head_key
from parquetry.store import Store


def finish_transactions(store: Store) -> int:
    """Abort the pending transactions of dead authors, let decided ones take effect, and remove the records.

    Return how many records were removed.
    """
    removed = 0
    for transaction, record in records(store):
        if not record.author.is_dead(store_now_ms(store)):
            continue
        decide(store, transaction, "aborted")
        for key in (*map(head_key, record.tables), *record.names):
            take_effect(store, key, transaction)
        remove_record(store, transaction)
        removed += 1
    return removed
