"""The time of a metastore: the clock of its store's server where it has one, else of this machine."""

from __future__ import annotations

import logging
from weakref import WeakKeyDictionary

from parquetry.metastore.storage.owner import now_ms, uptime_s
from parquetry.store import Clock, Store

_LOG = logging.getLogger("parquetry")
_FUTURE_MS = 60_000
"""Milliseconds: if a commit is from so far in the future, the log says so."""
_REMEMBERED_S = 60.0
"""Seconds: for so long a server's time is counted on from its last answer, and a commit does not ask."""

_answers: WeakKeyDictionary[object, tuple[float, int]] = WeakKeyDictionary()
"""By store: when its server was asked last, by `uptime_s`, and what it answered."""


def server_time(store: Store) -> int | None:
    """Return the time of the store's server in milliseconds since the epoch, or None if it has no clock."""
    clock = _clock_of(store)
    return None if clock is None else clock.server_time()


def store_now_ms(store: Store) -> int:
    """Return the time in milliseconds since the epoch, of the store's server if it has a clock.

    The server is asked once a minute.
    """
    clock = _clock_of(store)
    if clock is None:
        return now_ms()
    asked, answer = _answers.get(clock, (0.0, None))
    elapsed = uptime_s() - asked
    if answer is None or elapsed > _REMEMBERED_S:
        answer, elapsed = clock.server_time(), 0.0
        _answers[clock] = uptime_s(), answer
    return answer + int(elapsed * 1000)


def _clock_of(store: Store) -> Clock | None:
    rows = getattr(store, "rows", store)  # of a store that is seen with absolute locations
    return rows if isinstance(rows, Clock) else None


def warn_of_future(label: str, version: int, committed_at: int, now: int) -> None:
    """Log a warning if a commit is from the future: its writer's clock was ahead, or this one is behind."""
    if committed_at > now + _FUTURE_MS:
        _LOG.warning(
            "Version %s of table %s was committed %.0f s in the future, by the clock of its writer. Compare the clocks of "
            "the machines (CALL system.doctor).", version, label, (committed_at - now) / 1000,
        )  # fmt: skip
