"""The rows of the history of queries: one for each query, in the order of their times.

A row says nothing about a table's content, and no other row depends on it. Libraries that do not know these
rows leave them alone. Dumps leave them out. What a value means is the matter of `parquetry.workload`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from parquetry.metastore.storage import keyspace
from parquetry.store import Store

_RANDOM_BYTES = 8
"""Random bytes behind the time: many queries may end in one millisecond."""
_TIME_END = len(keyspace.QUERIES) + 8


class QueryRow(NamedTuple):
    """A row of the history.

    Attributes:
        key: of the row.
        time: when the query ended, in milliseconds since 1970.
        value: the record.
    """

    key: bytes
    time: int
    value: bytes


def query_key(time: int) -> bytes:
    """Return a new key for a query that ended at a time, in milliseconds since 1970."""
    return keyspace.QUERIES + keyspace.number(max(time, 0)) + os.urandom(_RANDOM_BYTES)


def put_query_rows(store: Store, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Write records of queries.

    Args:
        store: of the metastore.
        rows: keys and values. An existing row of a key is replaced.
    """
    if rows:
        store.put_many(rows)


def query_rows(
    store: Store,
    start: int = 0,
    stop: int | None = None,
    *,
    newest_first: bool = False,
    before: bytes = b"",
) -> Iterator[QueryRow]:
    """Yield the queries that ended from a time on and before another one.

    Args:
        store: of the metastore.
        start: the first time, in milliseconds since 1970.
        stop: the time after the last one, or None for no limit.
        newest_first: whether the last one comes first.
        before: a key: only rows before it, instead of a last time; empty for none.
    """
    first = keyspace.QUERIES + keyspace.number(max(start, 0))
    _, end = keyspace.prefix_range(keyspace.QUERIES)
    last = end if stop is None else keyspace.QUERIES + keyspace.number(max(stop, 0))
    for key, value in store.scan(first, before or last, reverse=newest_first):
        yield QueryRow(key, int.from_bytes(key[len(keyspace.QUERIES) : _TIME_END], "big"), value)


def delete_query_rows(store: Store, keys: Iterable[bytes]) -> None:
    """Remove records of queries."""
    keyspace.delete_in_batches(store, keys)
