"""The calls about notifications: caches of clients learn from them that tables have changed."""

from __future__ import annotations

from typing import Any

from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.names import CATALOG, database_name
from parquetry.hive.warehouse import HiveWarehouse

_MAX_EVENTS = 10_000
"""Events in one answer."""


@answers("get_current_notificationEventId")
def current_id(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the number of the newest change."""
    return {"eventId": warehouse.changes.newest(warehouse.metastore)}


@answers("get_next_notification")
def next_ones(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the changes after one."""
    request = arguments["rqst"] or {}
    most = request.get("maxEvents")
    skipped = set(request.get("eventTypeSkipList") or ())
    warehouse.changes.newest(warehouse.metastore)
    changes = warehouse.changes.after(request.get("lastEvent") or 0)
    chosen = [change for change in changes if change.kind not in skipped]
    return {
        "events": [
            {
                "eventId": change.number,
                "eventTime": change.time,
                "eventType": change.kind,
                "dbName": change.database,
                "tableName": change.name,
                "message": change.message(),
                "messageFormat": "json-0.2",
                "catName": CATALOG,
            }
            for change in chosen[: most if most is not None and 0 < most < _MAX_EVENTS else _MAX_EVENTS]
        ]
    }


@answers("get_notification_events_count")
def count(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the number of changes of a database after one."""
    request = arguments["rqst"] or {}
    warehouse.changes.newest(warehouse.metastore)
    database, last = database_name(request.get("dbName")), request.get("toEventId")
    changes = warehouse.changes.after(request.get("fromEventId") or 0)
    counted = [each for each in changes if each.database == database and (not last or each.number <= last)]
    return {"eventsCount": len(counted)}
