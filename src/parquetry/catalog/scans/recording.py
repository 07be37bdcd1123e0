"""Write scans into the history of queries, where the table or the warehouse keeps one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from parquetry import metastore as ms
from parquetry.catalog.scans.planning import FilesToRead, RowRequest
from parquetry.predicate import EVERY_ROW
from parquetry.workload import (
    HistorySettings,
    HistoryWriter,
    QueryRecord,
    ScannedTable,
    StoredQuery,
    filter_conditions,
    now,
    strip_values,
    table_read,
)

_DOOR = "scan"


class ScanRecorder:
    """Records the scans of a catalog.

    Args:
        settings: of the history.
        writer: returns what writes it.
    """

    def __init__(self, settings: HistorySettings, writer: Callable[[], HistoryWriter]) -> None:
        self._settings, self._writer = settings, writer

    @classmethod
    def for_table(
        cls, snapshot: ms.TableSnapshot, settings: HistorySettings, writer: Callable[[], HistoryWriter]
    ) -> ScanRecorder | None:
        """Return a recorder of a table's scans, or None if no history is kept of the table."""
        on = settings.mode_of(snapshot.metadata.properties, {}) != "off"
        return cls(settings, writer) if on else None

    def follow(
        self, request: RowRequest, planned: FilesToRead, batches: Iterator[pa.RecordBatch], began: float
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a scan, and record it at their end; see `planning.RecordsScans`."""
        rows, ended = 0, False
        try:
            for batch in batches:
                rows += batch.num_rows
                yield batch
            ended = request.limit is None
        finally:
            self.record(request, planned, time.monotonic() - began, rows if ended else None)

    def record(
        self, request: RowRequest, planned: FilesToRead, seconds: float, rows: int | None = None
    ) -> None:
        """Record a scan; see `planning.RecordsScans`."""
        ended, report, answered = now(), planned.selection.report, planned.selection.answer is not None
        mode = self._settings.mode_of(request.snapshot.metadata.properties, {})

        def make() -> StoredQuery:
            conditions = () if request.filter == EVERY_ROW else filter_conditions([request.filter])
            tested = [name for each in conditions for name in each.columns]
            columns = tuple(dict.fromkeys([*(() if answered else request.columns), *tested]))
            scanned = ScannedTable(request.snapshot, conditions, columns, rows=rows)
            record = QueryRecord(
                (table_read(report, scanned),),
                ended,
                _DOOR,
                ms.user_name(),
                seconds=round(seconds, 6),
                shuffles=0,
            )
            return StoredQuery(record if mode == "values" else strip_values(record), (request.snapshot.id,))

        self._writer().add(make)
