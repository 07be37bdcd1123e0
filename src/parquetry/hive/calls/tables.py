"""The calls that return whole tables, their columns, or their constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.names import CATALOG, database_name, name_matcher, require_catalog
from parquetry.hive.records.tables import data_columns
from parquetry.hive.warehouse import HiveWarehouse
from parquetry.hive.wire.encoding import Encoded, Stream
from parquetry.metastore import Constraint
from parquetry.publishing import HiveColumn, hive_columns


@answers("get_table")
def table(warehouse: HiveWarehouse, arguments: Arguments) -> Encoded:
    """Return a table or a view."""
    return warehouse.record(arguments["dbname"], arguments["tbl_name"])


@answers("get_table_req")
def table_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a table or a view."""
    request = arguments["req"] or {}
    require_catalog(request.get("catName"))
    return {
        "table": warehouse.record(request.get("dbName"), request.get("tblName")),
        "isStatsCompliant": False,
    }


@answers("get_table_objects_by_name")
def tables(warehouse: HiveWarehouse, arguments: Arguments) -> Stream:
    """Return tables by their names. Tables that are not there, or not served, are left out."""
    return _tables(warehouse, arguments["dbname"], arguments["tbl_names"] or ())


@answers("get_table_objects_by_name_req")
def tables_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return tables by their names, or by a pattern. Tables that are not served are left out."""
    request = arguments["req"] or {}
    require_catalog(request.get("catName"))
    database, names = request.get("dbName"), request.get("tblNames")
    if names is None:
        matches = name_matcher(request.get("tablesPattern"))
        names = [name for name in warehouse.names(database_name(database)) if matches(name)]
    return {"tables": _tables(warehouse, database, names)}


def _tables(warehouse: HiveWarehouse, database: str | None, names: Iterable[str]) -> Stream:
    served = (name for name in dict.fromkeys(names) if warehouse.is_served(database or "", name))
    return Stream(warehouse.record(database, name) for name in served)


def _columns(
    warehouse: HiveWarehouse, database: str | None, name: str | None, keys: bool
) -> list[dict[str, Any]]:
    snapshot, label = warehouse.snapshot(database, name)
    if snapshot.metadata.view is None:
        warehouse.table_record(snapshot, label)  # refused where the table is
    metadata = snapshot.metadata
    columns: tuple[HiveColumn, ...] = data_columns(snapshot)
    if keys:
        columns += hive_columns(snapshot.label, metadata.partition_columns)
    return [{"name": each.name.lower(), "type": each.type, "comment": each.comment} for each in columns]


@answers("get_fields", "get_fields_with_environment_context")
def fields(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return a table's columns without its partition columns."""
    return _columns(warehouse, arguments["db_name"], arguments["table_name"], keys=False)


@answers("get_schema", "get_schema_with_environment_context")
def schema(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return a table's columns."""
    return _columns(warehouse, arguments["db_name"], arguments["table_name"], keys=True)


@answers("get_fields_req")
def fields_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a table's columns without its partition columns."""
    request = arguments["req"] or {}
    return {"fields": _columns(warehouse, request.get("dbName"), request.get("tblName"), keys=False)}


@answers("get_schema_req")
def schema_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a table's columns."""
    request = arguments["req"] or {}
    return {"fields": _columns(warehouse, request.get("dbName"), request.get("tblName"), keys=True)}


# --- constraints


def _constraints(
    warehouse: HiveWarehouse, database: str | None, name: str | None, kind: str
) -> list[tuple[str, Constraint]]:
    if not database or not name:
        return []
    snapshot, _ = warehouse.snapshot(database, name)
    return [(snapshot.database, each) for each in snapshot.metadata.constraints if each.kind == kind]


def _rights(constraint: Constraint) -> dict[str, bool]:
    """Return whether Hive may rely on a constraint. It enforces none."""
    return {"enable_cstr": False, "validate_cstr": False, "rely_cstr": bool(constraint.rely)}


@answers("get_primary_keys")
def primary_keys(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the columns of a table's primary key."""
    request = arguments["request"] or {}
    return {"primaryKeys": _primary_keys(warehouse, request.get("db_name"), request.get("tbl_name"))}


def _primary_keys(warehouse: HiveWarehouse, database: str | None, name: str | None) -> list[dict[str, Any]]:
    return [
        {
            "table_db": label,
            "table_name": name,
            "column_name": ".".join(column),
            "key_seq": position,
            "pk_name": constraint.name,
            "catName": CATALOG,
            **_rights(constraint),
        }
        for label, constraint in _constraints(warehouse, database, name, "primary_key")
        for position, column in enumerate(constraint.columns, 1)
    ]


@answers("get_unique_constraints")
def unique_constraints(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the columns of a table's unique keys."""
    request = arguments["request"] or {}
    return {"uniqueConstraints": _unique_keys(warehouse, request.get("db_name"), request.get("tbl_name"))}


def _unique_keys(warehouse: HiveWarehouse, database: str | None, name: str | None) -> list[dict[str, Any]]:
    return [
        {
            "catName": CATALOG,
            "table_db": label,
            "table_name": name,
            "column_name": ".".join(column),
            "key_seq": position,
            "uk_name": constraint.name,
            **_rights(constraint),
        }
        for label, constraint in _constraints(warehouse, database, name, "unique")
        for position, column in enumerate(constraint.columns, 1)
    ]


@answers("get_not_null_constraints")
def not_null_constraints(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no constraints: Hive would rely on them for files of others, too."""
    return {"notNullConstraints": []}


@answers("get_default_constraints")
def default_constraints(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no defaults: they are for writing, and clients may not write."""
    return {"defaultConstraints": []}


@answers("get_check_constraints")
def check_constraints(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no checks: they are for writing, and clients may not write."""
    return {"checkConstraints": []}


@answers("get_foreign_keys")
def foreign_keys(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no foreign keys: what they refer to may be in another catalog."""
    return {"foreignKeys": []}


@answers("get_all_table_constraints")
def all_constraints(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a table's constraints."""
    request = arguments["request"] or {}
    database, name = request.get("dbName"), request.get("tblName")
    found = {
        "primaryKeys": _primary_keys(warehouse, database, name),
        "foreignKeys": [],
        "uniqueConstraints": _unique_keys(warehouse, database, name),
        "notNullConstraints": [],
        "defaultConstraints": [],
        "checkConstraints": [],
    }
    return {"allTableConstraints": found}
