"""The calls about partitions: all of them, by names, by values, by filters and by expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from parquetry.errors import ParquetryError
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import HiveFailure, no_such_object
from parquetry.hive.names import values_from_name
from parquetry.hive.partition_expressions import read_expression
from parquetry.hive.records.partitions import partition_names
from parquetry.hive.warehouse import LOG, HiveWarehouse, SelectedPartitions
from parquetry.hive.wire.encoding import Encoded, Stream
from parquetry.locations import DEFAULT_PARTITION, stored_value
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.predicate import FALSE, Filter, IsNull, Predicate, all_of, equal
from parquetry.publishing import hive_values
from parquetry.texts import shorten
from parquetry.types import value_from_text

_Names = tuple[str | None, str | None]


def _records(warehouse: HiveWarehouse, selection: SelectedPartitions) -> Stream:
    return Stream(warehouse.records(selection))


def _all(warehouse: HiveWarehouse, database: str | None, name: str | None, limit: int | None) -> Stream:
    return _records(warehouse, warehouse.select(database, name, limit=limit))


@answers("get_partitions", "get_partitions_with_auth")
def partitions(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return all partitions, or the first ones."""
    return _all(warehouse, arguments["db_name"], arguments["tbl_name"], arguments["max_parts"])


@answers("get_partitions_req")
def partitions_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return all partitions, or the first ones."""
    request = arguments["req"] or {}
    return {
        "partitions": _all(warehouse, request.get("dbName"), request.get("tblName"), request.get("maxParts"))
    }


@answers("get_partitions_by_filter")
def partitions_by_filter(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the partitions of a filter."""
    selection = warehouse.select(
        arguments["db_name"], arguments["tbl_name"], arguments["filter"] or "", arguments["max_parts"]
    )
    return _records(warehouse, selection)


@answers("get_partitions_by_filter_req")
def partitions_by_filter_req(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the partitions of a filter."""
    request = arguments["req"] or {}
    selection = warehouse.select(
        request.get("dbName"), request.get("tblName"), request.get("filter") or "", request.get("maxParts")
    )
    return _records(warehouse, selection)


@answers("get_num_partitions_by_filter")
def count_partitions(warehouse: HiveWarehouse, arguments: Arguments) -> int:
    """Return the number of partitions of a filter."""
    condition = arguments["filter"] or ""
    if not condition.strip():
        return warehouse.table(arguments["db_name"], arguments["tbl_name"]).totals.partitions
    selection = warehouse.select(arguments["db_name"], arguments["tbl_name"], condition)
    count = sum(1 for _ in selection.partitions)
    warehouse.record_selection(selection, count)
    return count


# --- specifications: partitions in groups that share a storage; here, each has its own


def _specification(warehouse: HiveWarehouse, selection: SelectedPartitions) -> list[dict[str, Any]]:
    return [
        {
            "dbName": selection.snapshot.database,
            "tableName": selection.name,
            "rootPath": warehouse.folders.nowhere(selection.snapshot),
            "partitionList": {"partitions": _records(warehouse, selection)},
        }
    ]


@answers("get_partitions_pspec")
def partitions_pspec(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return all partitions, or the first ones, as one specification."""
    selection = warehouse.select(arguments["db_name"], arguments["tbl_name"], limit=arguments["max_parts"])
    return _specification(warehouse, selection)


@answers("get_part_specs_by_filter")
def part_specs_by_filter(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the partitions of a filter as one specification."""
    selection = warehouse.select(
        arguments["db_name"], arguments["tbl_name"], arguments["filter"] or "", arguments["max_parts"]
    )
    return _specification(warehouse, selection)


@answers("get_partitions_with_specs")
def partitions_with_specs(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions of filters in a list, whole, as one specification."""
    request = arguments["request"] or {}
    wanted = request.get("filterSpec") or {}
    by_text = 2
    filters = wanted.get("filters") or []
    if filters and wanted.get("filterMode") != by_text:
        raise HiveFailure(
            "get_partitions_with_specs is served with texts of filters (BY_EXPR): use get_partitions_by_names."
        )
    condition = " and ".join(f"({each})" for each in filters)
    selection = warehouse.select(request.get("dbName"), request.get("tblName"), condition)
    return {"partitionSpec": _specification(warehouse, selection)}


# --- expressions


def _by_expression(warehouse: HiveWarehouse, request: Arguments) -> tuple[SelectedPartitions, bool]:
    """Return the partitions of an expression, and whether some of them may not match."""
    names = request.get("dbName"), request.get("tblName")
    snapshot = warehouse.table(*names)
    expression = request.get("expr") or b""
    read = read_expression(snapshot, expression, request.get("defaultPartitionName") or DEFAULT_PARTITION)
    if read is None:
        LOG.info("%s: an expression of %d bytes is not read: all partitions", snapshot.label, len(expression))
        return warehouse.select(*names, limit=request.get("maxParts")), True
    selection = warehouse.select(*names, read.filter, request.get("maxParts"))
    selection.condition = shorten(read.text)
    return selection, not read.exact


@answers("get_partitions_by_expr")
def partitions_by_expr(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions of an expression, or all, and say so."""
    selection, unknown = _by_expression(warehouse, arguments["req"] or {})
    return {"partitions": _records(warehouse, selection), "hasUnknownPartitions": unknown}


@answers("get_partitions_spec_by_expr")
def partitions_spec_by_expr(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions of an expression, or all, as one specification."""
    selection, unknown = _by_expression(warehouse, arguments["req"] or {})
    return {"partitionsSpec": _specification(warehouse, selection), "hasUnknownPartitions": unknown}


@answers("get_partition_names_req")
def partition_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the names of the partitions of an expression, or of all."""
    selection, _ = _by_expression(warehouse, arguments["req"] or {})
    return _names(selection)


# --- names


def _columns(snapshot: TableSnapshot) -> list[str]:
    return [column.physical.lower() for column in snapshot.metadata.partition_columns]


def _names(selection: SelectedPartitions) -> Stream:
    return Stream(partition_names(selection.snapshot, _columns(selection.snapshot), selection.partitions))


@answers("get_partition_names")
def all_names(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the names of all partitions, or of the first ones."""
    return _names(warehouse.select(arguments["db_name"], arguments["tbl_name"], limit=arguments["max_parts"]))


@answers("fetch_partition_names_req")
def all_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the names of all partitions, or of the first ones."""
    request = arguments["partitionReq"] or {}
    return _names(
        warehouse.select(request.get("dbName"), request.get("tblName"), limit=request.get("maxParts"))
    )


def _with_values(snapshot: TableSnapshot, texts: Sequence[str]) -> PartitionSnapshot | None:
    """Return the partition of values, which are written as texts, or None."""
    types = snapshot.partition_types
    if len(texts) != len(types):
        return None
    try:
        values = [
            None if text == DEFAULT_PARTITION else stored_value(value_from_text(type, text))
            for type, text in zip(types, texts, strict=True)
        ]
    except ParquetryError:
        return None
    return snapshot.partition(values)


def _with_name(snapshot: TableSnapshot, name: str) -> PartitionSnapshot | None:
    values = dict(values_from_name(name))
    columns = _columns(snapshot)
    return (
        _with_values(snapshot, [values[each] for each in columns]) if values.keys() == set(columns) else None
    )


def _by_names(
    warehouse: HiveWarehouse, database: str | None, name: str | None, names: Iterable[str]
) -> Stream:
    selection = warehouse.select(database, name, Filter(FALSE))
    snapshot = selection.snapshot
    selection.condition = "partitions by their names"
    selection.partitions = (
        partition for each in names if (partition := _with_name(snapshot, each)) is not None
    )
    return _records(warehouse, selection)


@answers("get_partitions_by_names")
def by_names(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return partitions by their names. Names that no partition has are left out."""
    return _by_names(warehouse, arguments["db_name"], arguments["tbl_name"], arguments["names"] or ())


@answers("get_partitions_by_names_req")
def by_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return partitions by their names. Names that no partition has are left out."""
    request = arguments["req"] or {}
    names = request.get("names") or ()
    return {"partitions": _by_names(warehouse, request.get("db_name"), request.get("tbl_name"), names)}


@answers("get_partition_by_name")
def by_name(warehouse: HiveWarehouse, arguments: Arguments) -> Encoded:
    """Return a partition by its name."""
    name = arguments["part_name"] or ""
    return warehouse.find(arguments["db_name"], arguments["tbl_name"], lambda table: _with_name(table, name))


@answers("get_partition", "get_partition_with_auth")
def by_values(warehouse: HiveWarehouse, arguments: Arguments) -> Encoded:
    """Return a partition by its values."""
    texts = arguments["part_vals"] or ()
    return warehouse.find(
        arguments["db_name"], arguments["tbl_name"], lambda table: _with_values(table, texts)
    )


@answers("get_partition_req")
def by_values_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a partition by its values."""
    request = arguments["req"] or {}
    texts = request.get("partVals") or ()
    found = warehouse.find(
        request.get("dbName"), request.get("tblName"), lambda table: _with_values(table, texts)
    )
    return {"partition": found}


# --- some of the values


def _partial(
    warehouse: HiveWarehouse, names: _Names, texts: Sequence[str], limit: int | None
) -> SelectedPartitions:
    """Return the partitions with some values; an empty or missing text is any value."""
    snapshot = warehouse.table(*names)
    columns = snapshot.metadata.partition_columns
    if len(texts) > len(columns):
        raise HiveFailure(
            f"Table {snapshot.label} has {len(columns)} partition columns, and got {len(texts)} values."
        )
    parts: list[Predicate] = []
    for column, text in zip(columns, texts, strict=False):
        if text == DEFAULT_PARTITION:
            parts.append(IsNull(column.name))
        elif text:
            try:
                parts.append(
                    equal(column.name, value_from_text(column.column_type, text), column.column_type)
                )
            except ParquetryError:
                parts.append(FALSE)
    types = {column.name: column.column_type for column in columns}
    return warehouse.select(*names, Filter.bind(all_of(parts), types), limit)


@answers("get_partitions_ps", "get_partitions_ps_with_auth")
def partial(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the partitions with some values."""
    names = arguments["db_name"], arguments["tbl_name"]
    return _records(
        warehouse, _partial(warehouse, names, arguments["part_vals"] or (), arguments["max_parts"])
    )


@answers("get_partitions_ps_with_auth_req")
def partial_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions with some values."""
    request = arguments["req"] or {}
    names = request.get("dbName"), request.get("tblName")
    selection = _partial(warehouse, names, request.get("partVals") or (), request.get("maxParts"))
    return {"partitions": _records(warehouse, selection)}


@answers("get_partition_names_ps")
def partial_names(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return the names of the partitions with some values."""
    names = arguments["db_name"], arguments["tbl_name"]
    return _names(_partial(warehouse, names, arguments["part_vals"] or (), arguments["max_parts"]))


@answers("get_partition_names_ps_req")
def partial_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the names of the partitions with some values."""
    request = arguments["req"] or {}
    names = request.get("dbName"), request.get("tblName")
    return {
        "names": _names(_partial(warehouse, names, request.get("partValues") or (), request.get("maxParts")))
    }


@answers("get_partition_values")
def partition_values(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the values of some partition columns, in the order of the partitions' keys."""
    request = arguments["request"] or {}
    limit = request.get("maxParts")
    selection = warehouse.select(
        request.get("dbName"), request.get("tblName"), request.get("filter") or "", limit
    )
    columns = _columns(selection.snapshot)
    keys = [each["name"].lower() for each in request.get("partitionKeys") or () if each["name"]]
    if not set(keys) <= set(columns):
        raise no_such_object(
            f"Table {selection.snapshot.label} has the partition columns {', '.join(columns)}."
        )
    positions = [columns.index(key) for key in keys]

    def rows() -> Iterator[tuple[str, ...]]:
        for partition in selection.partitions:
            texts = hive_values(selection.snapshot.partition_types, partition.values)
            yield tuple(texts[position] for position in positions)

    listed: Iterable[tuple[str, ...]] = dict.fromkeys(rows()) if request.get("applyDistinct") else rows()
    return {"partitionValues": Stream({"row": list(row)} for row in listed)}


# --- names, without a table


@answers("partition_name_to_vals")
def name_to_values(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the values in a partition's name."""
    name = arguments["part_name"] or ""
    return [value for _, value in values_from_name(name)] if name else []


@answers("partition_name_to_spec")
def name_to_spec(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, str]:
    """Return the values in a partition's name, by the columns."""
    name = arguments["part_name"] or ""
    return dict(values_from_name(name)) if name else {}


@answers("partition_name_has_valid_characters")
def has_valid_characters(warehouse: HiveWarehouse, arguments: Arguments) -> bool:
    """Return that values may have any characters: names escape them."""
    return True


@answers("isPartitionMarkedForEvent")
def is_marked(warehouse: HiveWarehouse, arguments: Arguments) -> bool:
    """Return that no partition is marked."""
    return False
