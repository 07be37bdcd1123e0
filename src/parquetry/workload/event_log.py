"""Queries from Spark's event logs: what a team has run already, on tables of any format. It needs no Spark.

An event log has the plan of each query as it began and as adaptive execution changed it. It has the values of
the plan's metrics. `plan_info` reads the plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from parquetry.workload.log_files import event_logs, lines_of
from parquetry.workload.model import QueryRecord
from parquetry.workload.plan_info import PlanInfo, count_shuffles, reads_of

_DOOR = "event-log"
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_START, _END = f"{_SQL}SQLExecutionStart", f"{_SQL}SQLExecutionEnd"
_UPDATE, _DRIVER = f"{_SQL}SQLAdaptiveExecutionUpdate", f"{_SQL}DriverAccumUpdates"
_METRICS = f"{_SQL}SQLAdaptiveSQLMetricUpdates"
_STAGE, _APPLICATION = "SparkListenerStageCompleted", "SparkListenerApplicationStart"
_WANTED = tuple(
    f'{{"Event":"{name}"'.encode() for name in (_START, _END, _UPDATE, _DRIVER, _STAGE, _APPLICATION)
)


def read_event_log(location: str) -> Iterator[QueryRecord]:
    """Yield the queries of event logs that read tables, in the order of their ends within each log.

    Queries that failed or had not ended are left out.

    Args:
        location: a log, a rolled log's folder, or a folder of logs; compressed or not.

    Raises:
        WarehouseError: there is no event log.
    """
    for files in event_logs(location):
        log = _Log()
        for filesystem, path in files:
            for line in lines_of(filesystem, path):
                if line.startswith(_WANTED):
                    yield from log.take(line)


@dataclass(slots=True)
class _Execution:
    """A query that runs.

    Attributes:
        start: when it began, in milliseconds since 1970.
        root: the number of the query that it is part of.
        plan: its newest plan.
        statement: its SQL, if the log has it.
        values: of its metrics, by accumulator.
    """

    start: int
    root: int
    plan: PlanInfo
    statement: str | None
    values: dict[int, int] = field(default_factory=dict)


class _Log:
    """The state of one application while its log is read."""

    def __init__(self) -> None:
        self._running: dict[int, _Execution] = {}
        self._totals: dict[int, int] = {}
        self._user: str | None = None

    def take(self, line: bytes) -> Iterator[QueryRecord]:
        """Take an event, and yield the query that it ends."""
        try:
            event: dict[str, Any] = msgspec.json.decode(line)
        except msgspec.DecodeError:  # the last line of an application that was killed
            return
        name = event["Event"]
        if name == _APPLICATION:
            self._user = event.get("User")
        elif name == _STAGE:
            self._add_stage(event)
        elif name == _START:
            self._begin(event)
        elif (running := self._running.get(event["executionId"])) is not None:
            if name == _UPDATE:
                running.plan = msgspec.convert(event["sparkPlanInfo"], PlanInfo)
            elif name == _DRIVER:
                running.values.update((int(id), int(value)) for id, value in event["accumUpdates"])
            else:
                del self._running[event["executionId"]]
                yield from self._ended(event["executionId"], running, event)

    def _begin(self, event: dict[str, Any]) -> None:
        id, plan = event["executionId"], msgspec.convert(event["sparkPlanInfo"], PlanInfo)
        root = event.get("rootExecutionId")
        text = (event.get("description") or "").strip()
        is_sql = text.split(" ", 1)[0].lower() in (
            "select",
            "with",
            "insert",
            "merge",
            "update",
            "delete",
            "create",
            "from",
        )
        self._running[id] = _Execution(
            event["time"], id if root is None else root, plan, text if is_sql else None
        )

    def _add_stage(self, event: dict[str, Any]) -> None:
        for each in event["Stage Info"].get("Accumulables", ()):
            value = str(each.get("Value", ""))
            if each.get("Metadata") == "sql" and value.lstrip("-").isdigit():
                self._totals[each["ID"]] = int(value)

    def _ended(self, id: int, running: _Execution, event: dict[str, Any]) -> Iterator[QueryRecord]:
        outer = self._running.get(running.root) if running.root != id else None
        if event.get("errorMessage") or (outer is not None and reads_of(outer.plan)):
            return  # a part of another query, which has the same scans

        def value(id: int) -> int | None:
            return running.values.get(id, self._totals.get(id))

        reads = reads_of(running.plan, value)
        for node in running.plan.nodes():
            for metric in node.metrics:
                self._totals.pop(metric.id, None)
        if reads:
            seconds = (event["time"] - running.start) / 1000
            yield QueryRecord(
                reads,
                event["time"],
                _DOOR,
                self._user,
                running.statement,
                seconds,
                count_shuffles(running.plan),
            )
