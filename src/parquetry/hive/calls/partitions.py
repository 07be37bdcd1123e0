"""The calls about partitions: all of them, by names, by values, by filters and by expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parquetry.errors import ParquetryError
from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.expressions.conditions import PartitionExpression
from parquetry.hive.failures import HiveFailure
from parquetry.hive.names import values_from_name
from parquetry.hive.partition_expressions import read_expression
from parquetry.hive.warehouse import LOG, HiveWarehouse, SelectedPartitions
from parquetry.hive.wire.encoding import Encoded, Later, Stream
from parquetry.locations import DEFAULT_PARTITION, stored_value
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.predicate import FALSE, Filter, IsNull, Predicate, all_of, equal
from parquetry.texts import shorten
from parquetry.types import value_from_text

QualifiedName = tuple[str | None, str | None]


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


@dataclass(slots=True)
class ChosenPartitions:
    """The partitions of an expression.

    Attributes:
        selection: the partitions.
        unknown: whether some of them may not match; it is known once they are read.
    """

    selection: SelectedPartitions
    unknown: bool

    def test(self, read: PartitionExpression, limit: int | None) -> None:
        """Leave out the partitions that an expression does not select, as each one's values say."""
        self.unknown = False
        self.selection.partitions = self._tested(self.selection.partitions, read, limit)

    def _tested(
        self, partitions: Iterator[PartitionSnapshot], read: PartitionExpression, limit: int | None
    ) -> Iterator[PartitionSnapshot]:
        names = [column.name for column in self.selection.snapshot.metadata.partition_columns]
        count = 0
        for partition in partitions:
            truths = read.truths(dict(zip(names, partition.values, strict=True)))
            if True in truths:
                if limit is not None and 0 <= limit <= count:
                    return
                count += 1
                self.unknown = self.unknown or len(truths) > 1
                yield partition


def select_by_expression(warehouse: HiveWarehouse, request: Arguments) -> ChosenPartitions:
    """Return the partitions of an expression."""
    names = request.get("dbName"), request.get("tblName")
    snapshot = warehouse.table(*names)
    expression, limit = request.get("expr") or b"", request.get("maxParts")
    read = read_expression(snapshot, expression, request.get("defaultPartitionName") or DEFAULT_PARTITION)
    if read is None:
        LOG.info("%s: an expression of %d bytes is not read: all partitions", snapshot.label, len(expression))
        return ChosenPartitions(warehouse.select(*names, limit=limit), True)
    chosen = ChosenPartitions(
        warehouse.select(*names, read.filter, None if read.is_tested else limit), not read.exact
    )
    chosen.selection.condition = shorten("; ".join((read.text, *read.reasons)))
    if read.is_tested:
        chosen.test(read, limit)
    return chosen


@answers("get_partitions_by_expr")
def partitions_by_expr(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions of an expression, or all, and say so."""
    chosen = select_by_expression(warehouse, arguments["req"] or {})
    return {
        "partitions": _records(warehouse, chosen.selection),
        "hasUnknownPartitions": Later(lambda: chosen.unknown),
    }


@answers("get_partitions_spec_by_expr")
def partitions_spec_by_expr(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions of an expression, or all, as one specification."""
    chosen = select_by_expression(warehouse, arguments["req"] or {})
    return {
        "partitionsSpec": _specification(warehouse, chosen.selection),
        "hasUnknownPartitions": Later(lambda: chosen.unknown),
    }


# --- names


def column_names(snapshot: TableSnapshot) -> list[str]:
    """Return the names of partition columns, as Hive has them."""
    return [column.physical.lower() for column in snapshot.metadata.partition_columns]


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


def partition_with_name(snapshot: TableSnapshot, name: str) -> PartitionSnapshot | None:
    """Return the partition of a name such as `day=2026-11-27/hour=7`, or None."""
    values = dict(values_from_name(name))
    columns = column_names(snapshot)
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
        partition for each in names if (partition := partition_with_name(snapshot, each)) is not None
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
    return warehouse.find(
        arguments["db_name"], arguments["tbl_name"], lambda table: partition_with_name(table, name)
    )


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


def select_by_values(
    warehouse: HiveWarehouse, names: QualifiedName, texts: Sequence[str], limit: int | None
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
        warehouse, select_by_values(warehouse, names, arguments["part_vals"] or (), arguments["max_parts"])
    )


@answers("get_partitions_ps_with_auth_req")
def partial_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the partitions with some values."""
    request = arguments["req"] or {}
    names = request.get("dbName"), request.get("tblName")
    selection = select_by_values(warehouse, names, request.get("partVals") or (), request.get("maxParts"))
    return {"partitions": _records(warehouse, selection)}
