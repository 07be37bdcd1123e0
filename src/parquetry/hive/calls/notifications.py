"""The calls about notifications: caches of clients learn from them that tables have changed."""

from __future__ import annotations

from typing import Any

from parquetry.errors import ParquetryError
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.changes import TableChange
from parquetry.hive.failures import HiveFailure
from parquetry.hive.names import CATALOG, database_name
from parquetry.hive.records.tables import table_record
from parquetry.hive.warehouse import LOG, HiveWarehouse
from parquetry.hive.wire.decoding import read_record
from parquetry.hive.wire.idl import definitions
from parquetry.hive.wire.json_text import json_text

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
                "message": change.message(_record(warehouse, change)),
                "messageFormat": "json-0.2",
                "catName": CATALOG,
            }
            for change in chosen[: most if most is not None and 0 < most < _MAX_EVENTS else _MAX_EVENTS]
        ]
    }


def _record(warehouse: HiveWarehouse, change: TableChange) -> str:
    """Return a table's record as it is now, without its folder; of a dropped table, its names."""
    definition = definitions().records["Table"]
    try:
        snapshot, name = warehouse.snapshot(change.database, change.name)
        if snapshot.metadata.view is None:
            location = warehouse.folders.nowhere(snapshot)
            encoded = table_record(snapshot, name, location, None).encoded
            return json_text(definition, read_record(definition, encoded))
    except (HiveFailure, ParquetryError) as error:
        LOG.debug("A notification has the names of %s.%s alone: %s", change.database, change.name, error)
    named = {
        "tableName": change.name,
        "dbName": change.database,
        "catName": CATALOG,
        "tableType": "EXTERNAL_TABLE",
    }
    return json_text(definition, {**named, "parameters": {}, "partitionKeys": []})


@answers("get_notification_events_count")
def count(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the number of changes of a database after one."""
    request = arguments["rqst"] or {}
    warehouse.changes.newest(warehouse.metastore)
    database, last = database_name(request.get("dbName")), request.get("toEventId")
    changes = warehouse.changes.after(request.get("fromEventId") or 0)
    counted = [each for each in changes if each.database == database and (not last or each.number <= last)]
    return {"eventsCount": len(counted)}
