"""Reads by the clients of a server: a server plans them, and does not see their rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from parquetry import metastore as ms
from parquetry.predicate import Filter
from parquetry.workload.history import HistorySettings, StoredQuery, now, strip_values
from parquetry.workload.model import QueryRecord, ReadCount, TableRead
from parquetry.workload.reads import filter_conditions
from parquetry.workload.writer import HistoryWriter


class ServedReads:
    """Writes the reads of a server's clients into the history. Several threads may use it.

    Args:
        door: the server, such as `iceberg`.
        settings: of the history.
    """

    def __init__(self, door: str, settings: HistorySettings) -> None:
        self._door, self._settings = door, settings
        self._lock = threading.Lock()
        self._writer: HistoryWriter | None = None
        self._metastore: ms.Metastore | None = None

    def record(
        self,
        metastore: ms.Metastore,
        snapshot: ms.TableSnapshot,
        filters: Callable[[], Iterable[Filter]],
        *,
        columns: Sequence[str] | None = None,
        partitions: int | None = None,
        files: int | None = None,
    ) -> None:
        """Record a read, if a history is kept of the table.

        Args:
            metastore: that has answered; it changes if the server opens the warehouse anew.
            snapshot: the version that is read.
            filters: returns the conditions; called in the background.
            columns: that the client reads, or None if it did not say.
            partitions: that it reads, if they were counted.
            files: that it reads, if they were counted.
        """
        mode = self._settings.mode_of(snapshot.metadata.properties, {})
        if mode == "off":
            return
        ended, totals = now(), snapshot.totals

        def make() -> StoredQuery:
            read = TableRead(
                f"{snapshot.database}.{snapshot.name}",
                snapshot.version,
                filter_conditions(filters()),
                columns=None if columns is None else tuple(columns),
                partitions=None if partitions is None else ReadCount(partitions, totals.partitions),
                files=None if files is None else ReadCount(files, totals.files),
            )
            record = QueryRecord((read,), ended, self._door)
            return StoredQuery(record if mode == "values" else strip_values(record), (snapshot.id,))

        self._writer_of(metastore).add(make)

    def _writer_of(self, metastore: ms.Metastore) -> HistoryWriter:
        with self._lock:
            if self._writer is None or self._metastore is not metastore:
                self._metastore, self._writer = metastore, HistoryWriter(metastore, self._settings)
            return self._writer
