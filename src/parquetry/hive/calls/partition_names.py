"""The calls about names and values of partitions, without the partitions themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from parquetry.hive.calls.partitions import (
    QualifiedName,
    column_names,
    select_by_expression,
    select_by_values,
)
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import no_such_object
from parquetry.hive.names import values_from_name
from parquetry.hive.records.partitions import partition_names
from parquetry.hive.warehouse import HiveWarehouse, SelectedPartitions
from parquetry.hive.wire.encoding import Encoded, Stream
from parquetry.publishing import hive_values


def _names(warehouse: HiveWarehouse, selection: SelectedPartitions, *asked: Any) -> Stream | Encoded:
    """Return the names of partitions, which are remembered if it is said what was `asked` for."""
    snapshot = selection.snapshot
    names = partition_names(snapshot, column_names(snapshot), selection.partitions)
    if not asked:
        return Stream(names)
    key = (*snapshot.identity, *asked)
    return warehouse.known_names.get(key) or Stream(warehouse.known_names.remember(key, names))


@answers("get_partition_names_req")
def partition_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> Stream | Encoded:
    """Return the names of the partitions of an expression, or of all."""
    return _names(warehouse, select_by_expression(warehouse, arguments["req"] or {}).selection)


def _all_names(
    warehouse: HiveWarehouse, database: str | None, name: str | None, limit: int | None
) -> Stream | Encoded:
    return _names(warehouse, warehouse.select(database, name, limit=limit), limit)


@answers("get_partition_names")
def all_names(warehouse: HiveWarehouse, arguments: Arguments) -> Stream | Encoded:
    """Return the names of all partitions, or of the first ones."""
    return _all_names(warehouse, arguments["db_name"], arguments["tbl_name"], arguments["max_parts"])


@answers("fetch_partition_names_req")
def all_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> Stream | Encoded:
    """Return the names of all partitions, or of the first ones."""
    request = arguments["partitionReq"] or {}
    return _all_names(warehouse, request.get("dbName"), request.get("tblName"), request.get("maxParts"))


def _partial_names(
    warehouse: HiveWarehouse, names: QualifiedName, texts: Sequence[str], limit: int | None
) -> Stream | Encoded:
    return _names(warehouse, select_by_values(warehouse, names, texts, limit), limit, *texts)


@answers("get_partition_names_ps")
def partial_names(warehouse: HiveWarehouse, arguments: Arguments) -> Stream | Encoded:
    """Return the names of the partitions with some values."""
    names = arguments["db_name"], arguments["tbl_name"]
    return _partial_names(warehouse, names, arguments["part_vals"] or (), arguments["max_parts"])


@answers("get_partition_names_ps_req")
def partial_names_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the names of the partitions with some values."""
    request = arguments["req"] or {}
    names = request.get("dbName"), request.get("tblName")
    found = _partial_names(warehouse, names, request.get("partValues") or (), request.get("maxParts"))
    return {"names": found}


@answers("get_partition_values")
def partition_values(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the values of some partition columns, in the order of the partitions' keys."""
    request = arguments["request"] or {}
    limit = request.get("maxParts")
    selection = warehouse.select(
        request.get("dbName"), request.get("tblName"), request.get("filter") or "", limit
    )
    columns = column_names(selection.snapshot)
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
