"""Changes of a metastore since a dump of it: a restore that gives its warehouse away would lose them.

A restore retires the dumped metastore, touches the head of each of its tables, and then compares. Others
begin commits, drops and the like by a compare-and-set of the head. Between reading it and that, they see that
the metastore is not retired. So either the restore finds the change, or it is tried again and refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from parquetry.metastore.storage.checksums import with_checksum, without_checksum
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.keyspace import HEADS, prefix_range
from parquetry.metastore.storage.wire import encode
from parquetry.store import Store


def find_changed_table(source: Store, restored: Store) -> str | None:
    """Return the first change of a table since a metastore was dumped, as a clause, or None.

    Args:
        source: store of the dumped metastore, which is retired.
        restored: store that has the dump's tables.
    """
    for key, value in list(source.scan(*prefix_range(HEADS))):
        _touch(source, key, value)
    dumped, now = dict(_tables(restored)), store_now_ms(source)
    for key, head in _tables(source):
        before, name = dumped.pop(key, None), f"{head.database}.{head.name}"
        if any(not owner.is_dead(now) for owner in head.pending.values()):
            return f"a commit of table {name} is under way"
        if before is None:
            return f"table {name} was made"
        if before.commit.id != head.commit.id:
            return f"table {name} has version {head.commit.version}, and the dump has {before.commit.version}"
        if before.oldest != head.oldest:
            return f"a vacuum has deleted versions of table {name}"
        if (before.database, before.name) != (head.database, head.name):
            return f"table {before.database}.{before.name} was renamed to {name}"
    gone = next(iter(dumped.values()), None)
    return None if gone is None else f"table {gone.database}.{gone.name} was dropped"


def _touch(store: Store, key: bytes, value: bytes | None) -> None:
    """Change a head, so that no compare-and-set of a value from before succeeds. A ticket stays unused."""
    while value is not None:
        plain = without_checksum(key, value)
        head = decode_head(plain)
        if head.is_deleted:
            return
        new = encode(msgspec.structs.replace(head, next_ticket=head.next_ticket + 1))
        if store.compare_and_set(key, value, new if plain == value else with_checksum(key, new)):
            return
        value = store.get(key)


def _tables(store: Store) -> Iterator[tuple[bytes, Head]]:
    for key, value in store.scan(*prefix_range(HEADS)):
        head = decode_head(without_checksum(key, value))
        if head.state == "live":
            yield key, head
