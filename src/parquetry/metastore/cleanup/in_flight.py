"""Rows that keep the files of long writes alive: a heartbeat for each write under way.

A write's files are in no row before its commit, and vacuum deletes such files once they are old. A write
that lasts longer than a quarter of an hour says that it lives, in a row of its own, and says so again every
quarter of an hour. Vacuum leaves all files alone that are younger than the beginning of the oldest living
write. The row ends with the write. If its process dies, the row counts for an hour after the last
heartbeat, and the next vacuum deletes it. A short write has no row, and costs nothing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from parquetry.errors import ParquetryError
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.keyspace import IN_FLIGHT, prefix_range
from parquetry.metastore.storage.owner import uptime_s
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

HEARTBEAT_S = 15 * 60.0
"""Seconds after which a write says that it lives, at first and again."""
LEASE_MS = 60 * 60 * 1000
"""Milliseconds that a write counts as alive after its last heartbeat: three heartbeats may fail."""

_LOG = logging.getLogger("parquetry")


class WriteInFlight(msgspec.Struct, frozen=True, array_like=True):
    """A write that is under way.

    Attributes:
        began: when it began, in milliseconds since the epoch, by the store's clock if there is one.
        beat: when it last said that it lives, likewise.
    """

    began: int
    beat: int


@contextmanager
def keep_in_flight(store: Store, table: bytes, every: float = HEARTBEAT_S) -> Iterator[None]:
    """Keep the files of a write alive while the block runs.

    Args:
        store: store of the metastore.
        table: id of the table whose vacuum deletes the files (`TableSnapshot.owner`).
        every: seconds between heartbeats.
    """
    key = IN_FLIGHT + table + os.urandom(8)
    ended, began = threading.Event(), uptime_s()
    beats = threading.Thread(target=_beat, args=(store, key, ended, began, every), daemon=True)
    beats.start()
    try:
        yield
    finally:
        ended.set()
        if uptime_s() - began >= every:
            beats.join()
            try:
                store.delete_many([key])
            except ParquetryError as error:
                _LOG.warning("The row of a write that has ended stays until the next vacuum: %s", error)


def _beat(store: Store, key: bytes, ended: threading.Event, began: float, every: float) -> None:
    while not ended.wait(every):
        try:
            now = store_now_ms(store)
            elapsed = int((uptime_s() - began) * 1000)
            store.put_many([(key, encode(WriteInFlight(now - elapsed, now)))])
        except ParquetryError as error:
            _LOG.warning("A write could not say that it is under way; it tries again: %s", error)


def writes_in_flight(store: Store, table: bytes) -> dict[bytes, WriteInFlight]:
    """Return the writes of a table that have said that they live, by the keys of their rows."""
    decode = decoder(WriteInFlight).decode
    return {key: decode(value) for key, value in store.scan(*prefix_range(IN_FLIGHT + table))}


def is_alive(write: WriteInFlight, now: int) -> bool:
    """Return whether a write may still commit.

    Args:
        write: the write.
        now: milliseconds since the epoch.
    """
    return now - write.beat <= LEASE_MS
