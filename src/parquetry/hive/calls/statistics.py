"""The calls about statistics of columns: of tables, of partitions, and of partitions together.

None of them is `compliant`: then Hive plans by them, and answers no query out of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from parquetry.data_files import FileRecord
from parquetry.hive.calls.partitions import partition_with_name
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import no_such_object
from parquetry.hive.names import CATALOG
from parquetry.hive.records.column_statistics import column_statistics
from parquetry.hive.records.tables import seconds
from parquetry.hive.warehouse import HiveWarehouse
from parquetry.metastore import TableSnapshot

_MAX_PARTITIONS = 2_000
"""Partitions whose statistics one call gets. Hive estimates by the rows of others."""


def _of_table(snapshot: TableSnapshot, names: Iterable[str]) -> list[dict[str, Any]]:
    files: list[FileRecord] | None = None
    if not snapshot.metadata.partition_by:
        files = [file for partition in snapshot.partitions() for file in partition.each_file()]
    found = {each["colName"]: each for each in column_statistics(snapshot, names, None)}
    if files:
        found |= {each["colName"]: each for each in column_statistics(snapshot, names, files)}
    return list(found.values())


def _files_by_name(snapshot: TableSnapshot, names: Iterable[str]) -> Iterator[tuple[str, list[FileRecord]]]:
    """Yield the names of partitions, and their files. Names that no partition has are left out."""
    for name in islice(dict.fromkeys(names), _MAX_PARTITIONS):
        partition = partition_with_name(snapshot, name)
        if partition is not None:
            yield name, list(partition.each_file())


@answers("get_table_statistics_req")
def table_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of columns."""
    request = arguments["request"] or {}
    snapshot = warehouse.table(request.get("dbName"), request.get("tblName"))
    return {"tableStats": _of_table(snapshot, request.get("colNames") or ()), "isStatsCompliant": False}


@answers("get_table_column_statistics")
def table_column_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of a column."""
    snapshot = warehouse.table(arguments["db_name"], arguments["tbl_name"])
    found = _of_table(snapshot, [arguments["col_name"] or ""])
    return _described(snapshot, arguments["col_name"], found, None)


@answers("get_partition_column_statistics")
def partition_column_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of a column in a partition."""
    snapshot = warehouse.table(arguments["db_name"], arguments["tbl_name"])
    name, column = arguments["part_name"] or "", arguments["col_name"] or ""
    files = dict(_files_by_name(snapshot, [name])).get(name)
    if files is None:
        raise no_such_object(f"Table {snapshot.label} has no partition {name}.")
    return _described(snapshot, column, column_statistics(snapshot, [column], files), name)


def _described(
    snapshot: TableSnapshot, column: str | None, found: list[dict[str, Any]], partition: str | None
) -> dict[str, Any]:
    if not found:
        raise no_such_object(
            f"Column {column} of table {snapshot.label} has no statistics: ANALYZE TABLE … COMPUTE STATISTICS FOR "
            "COLUMNS in Spark counts them."
        )
    described = {
        "isTblLevel": partition is None,
        "dbName": snapshot.database,
        "tableName": snapshot.name,
        **({} if partition is None else {"partName": partition}),
        "lastAnalyzed": seconds(snapshot.committed_at),
        "catName": CATALOG,
    }
    return {"statsDesc": described, "statsObj": found, "isStatsCompliant": False, "engine": "hive"}


@answers("get_partitions_statistics_req")
def partitions_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of columns in partitions."""
    request = arguments["request"] or {}
    snapshot = warehouse.table(request.get("dbName"), request.get("tblName"))
    columns = request.get("colNames") or ()
    partitions = _files_by_name(snapshot, request.get("partNames") or ())
    found = {name: column_statistics(snapshot, columns, files) for name, files in partitions}
    return {"partStats": {name: some for name, some in found.items() if some}, "isStatsCompliant": False}


@answers("get_aggr_stats_for")
def aggregated_statistics(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the statistics of columns in several partitions together."""
    request = arguments["request"] or {}
    snapshot = warehouse.table(request.get("dbName"), request.get("tblName"))
    columns = request.get("colNames") or ()
    partitions = dict(_files_by_name(snapshot, request.get("partNames") or ()))
    files = [file for some in partitions.values() for file in some]
    found = column_statistics(snapshot, columns, files) if files else []
    return {"colStats": found, "partsFound": len(partitions) if found else 0, "isStatsCompliant": False}
