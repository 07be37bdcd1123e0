"""The calls about statistics of columns: what ANALYZE TABLE counted.

Hive has the number of distinct values in all of its statistics. So only columns that ANALYZE counted have
some, and partitions have none of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import no_such_object
from parquetry.hive.names import CATALOG
from parquetry.hive.records.tables import seconds
from parquetry.hive.warehouse import HiveWarehouse
from parquetry.metastore import CountedColumn, TableSnapshot
from parquetry.types import ColumnType, type_text

_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "longStats"),
    **dict.fromkeys(("float", "double"), "doubleStats"),
    **dict.fromkeys(("string", "char", "varchar"), "stringStats"),
    "decimal": "decimalStats",
    "date": "dateStats",
    "timestamp": "timestampStats",
    "binary": "binaryStats",
}
"""The field of Hive's statistics for each type. Booleans have none: how many are true was not counted."""


def _statistics(snapshot: TableSnapshot, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the statistics of columns, named in any case, that were counted."""
    wanted = {name.lower() for name in names}
    columns = {column.physical: column for column in snapshot.metadata.data_columns}
    found = []
    for counted in snapshot.metadata.counted:
        column = columns.get(counted.column)
        if column is None or counted.column.lower() not in wanted:
            continue
        kind = _KINDS.get(_name_of(column.column_type))
        if kind is not None:
            data = _data(kind, counted, snapshot.totals.rows)
            found.append(
                {
                    "colName": counted.column.lower(),
                    "colType": type_text(column.type),
                    "statsData": {kind: data},
                }
            )
    return found


def _name_of(kind: ColumnType) -> str:
    return {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}.get(
        kind.name, kind.name
    )


def _data(kind: str, counted: CountedColumn, rows: int | None) -> dict[str, Any]:
    nulls = max(0, (rows or counted.rows) - counted.rows)
    data: dict[str, Any] = {"numNulls": nulls}
    if kind in ("stringStats", "binaryStats"):
        data |= {"maxColLen": counted.length or 0, "avgColLen": float(counted.length or 0)}
    return data if kind == "binaryStats" else {**data, "numDVs": counted.distinct}


@answers("get_table_statistics_req")
def table_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of columns."""
    request = arguments["request"] or {}
    snapshot = warehouse.table(request.get("dbName"), request.get("tblName"))
    return {"tableStats": _statistics(snapshot, request.get("colNames") or ()), "isStatsCompliant": False}


@answers("get_table_column_statistics")
def column_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of a column."""
    snapshot = warehouse.table(arguments["db_name"], arguments["tbl_name"])
    found = _statistics(snapshot, [arguments["col_name"] or ""])
    if not found:
        raise no_such_object(
            f"Column {arguments['col_name']} of table {snapshot.label} has no statistics: ANALYZE TABLE … COMPUTE STATISTICS FOR "
            "COLUMNS in Spark counts them."
        )
    described = {
        "isTblLevel": True,
        "dbName": snapshot.database,
        "tableName": snapshot.name,
        "lastAnalyzed": seconds(snapshot.committed_at),
        "catName": CATALOG,
    }
    return {"statsDesc": described, "statsObj": found, "isStatsCompliant": False, "engine": "hive"}


@answers("get_partition_column_statistics")
def partition_column_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no statistics of a partition's column."""
    snapshot = warehouse.table(arguments["db_name"], arguments["tbl_name"])
    raise no_such_object(
        f"Partitions of table {snapshot.label} have no statistics of their own: ask for the table's."
    )


@answers("get_partitions_statistics_req")
def partitions_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no statistics of partitions."""
    request = arguments["request"] or {}
    warehouse.table(request.get("dbName"), request.get("tblName"))
    return {"partStats": {}, "isStatsCompliant": False}


@answers("get_aggr_stats_for")
def aggregated_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no statistics of partitions together."""
    request = arguments["request"] or {}
    warehouse.table(request.get("dbName"), request.get("tblName"))
    return {"colStats": [], "partsFound": 0, "isStatsCompliant": False}
