"""Write the history of queries in the background: some seconds of queries at a time, and the rest at the end.

A query never waits for it, and never fails by it. If the store cannot be written, the log says so once.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Final

from parquetry import metastore as ms
from parquetry.workload.history import HistorySettings, StoredQuery, write_queries

_LOG = logging.getLogger("parquetry")
SECONDS_BETWEEN_WRITES = 2.0
"""How long a query is kept in memory, at most: what a process loses that is killed."""
QUERIES_PER_WRITE = 500
"""Queries that are written at once, at the latest."""
MAX_WAITING_QUERIES = 10_000
"""Queries in memory, at most: while a store hangs, further ones are not kept."""
MakeQuery = Callable[[], StoredQuery | None]
"""Makes the record of a query, or None if it is not kept."""


class HistoryWriter:
    """Writes the queries of one process into the history of a warehouse. Several threads may use it.

    Args:
        metastore: of the warehouse.
        settings: of the history.

    Attributes:
        settings: of the history.
    """

    def __init__(self, metastore: ms.Metastore, settings: HistorySettings) -> None:
        self._metastore = metastore
        self.settings: Final = settings
        self._waiting: list[MakeQuery] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False
        _writers.add(self)

    def add(self, make: MakeQuery) -> None:
        """Have a query written soon.

        Args:
            make: makes its record, in the background.
        """
        with self._lock:
            if len(self._waiting) >= MAX_WAITING_QUERIES:
                full = True
            else:
                full = False
                self._waiting.append(make)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="parquetry-history", daemon=True)
                self._thread.start()
            if len(self._waiting) >= QUERIES_PER_WRITE:
                self._wake.set()
        if full:
            self._warn("the store does not keep up")

    def flush(self) -> None:
        """Write what waits. It never raises an error."""
        with self._writing:
            while True:
                with self._lock:
                    some = self._waiting[:QUERIES_PER_WRITE]
                    del self._waiting[:QUERIES_PER_WRITE]
                if not some:
                    return
                self.write(some)

    def write(self, some: Sequence[MakeQuery]) -> None:
        """Make the records of queries, and write them now. It never raises an error."""
        queries = []
        for make in some:
            try:
                query = make()
            except Exception as error:  # noqa: BLE001 - whatever it is, no query fails by its history
                self._warn(str(error))
            else:
                queries += [] if query is None else [query]
        try:
            if queries:
                write_queries(self._metastore, queries, self.settings)
        except Exception as error:  # noqa: BLE001 - as above: the store may be full, or down
            self._warn(str(error))

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "Queries are missing in the history of the warehouse %s: %s",
                self._metastore.warehouse,
                reason,
            )

    def _run(self) -> None:
        while True:
            self._wake.wait(SECONDS_BETWEEN_WRITES)
            self._wake.clear()
            self.flush()
            with self._lock:
                if not self._waiting:
                    self._thread = None  # the next query starts another one
                    return


_writers: weakref.WeakSet[HistoryWriter] = weakref.WeakSet()


@atexit.register
def flush_all() -> None:
    """Write what waits in all writers of this process."""
    for writer in list(_writers):
        writer.flush()
