"""The time of a metastore: the clock of its store's server where it has one, else of this machine."""

from __future__ import annotations

import logging

from parquetry.metastore.storage.owner import now_ms
from parquetry.store import Clock, Store

_LOG = logging.getLogger("parquetry")
_FUTURE_MS = 60_000
"""Milliseconds: if a commit is from so far in the future, the log says so."""


def server_time(store: Store) -> int | None:
    """Return the time of the store's server in milliseconds since the epoch, or None if it has no clock."""
    rows = getattr(store, "rows", store)  # of a store that is seen with absolute locations
    return rows.server_time() if isinstance(rows, Clock) else None


def store_now_ms(store: Store) -> int:
    """Return the time in milliseconds since the epoch, of the store's server if it has a clock."""
    theirs = server_time(store)
    return now_ms() if theirs is None else theirs


def warn_of_future(label: str, version: int, committed_at: int, now: int) -> None:
    """Log a warning if a commit is from the future: its writer's clock was ahead, or this one is behind."""
    if committed_at > now + _FUTURE_MS:
        _LOG.warning(
            "Version %s of table %s was committed %.0f s in the future, by the clock of its writer. Compare the clocks of "
            "the machines (CALL system.doctor).", version, label, (committed_at - now) / 1000,
        )  # fmt: skip
