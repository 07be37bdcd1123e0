"""The calls about catalogs, databases, and names of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from parquetry.hive.calls.registry import Arguments, answers
from parquetry.hive.failures import HiveFailure, no_such_object
from parquetry.hive.names import CATALOG, database_name, name_matcher, require_catalog
from parquetry.hive.warehouse import HiveWarehouse
from parquetry.metastore import PUBLISHED_FOLDER

_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_TABLE_FILTER = re.compile(
    r"""hive_filter_field_(?P<field>tableName|tableType)__\s*(?:=|like)\s*["'](?P<text>[^"']*)["']""",
    re.IGNORECASE,
)
"""A condition on tables: constants of Hive's `hive_metastoreConstants`."""
_TABLE, _VIEW = "EXTERNAL_TABLE", "VIRTUAL_VIEW"


@answers("get_catalogs")
def catalogs(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the names of catalogs."""
    return {"names": [CATALOG]}


@answers("get_catalog")
def catalog(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the catalog."""
    require_catalog((arguments["catName"] or {}).get("name"))
    location = f"{spelled(warehouse.metastore.warehouse)}/{PUBLISHED_FOLDER}"
    return {"catalog": {"name": CATALOG, "description": "A warehouse of Parquetry", "locationUri": location}}


@answers("get_all_databases")
def all_databases(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of databases."""
    return warehouse.databases()


@answers("get_databases")
def databases(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of databases that a pattern matches."""
    matches = name_matcher(database_name(arguments["pattern"]))
    return [name for name in warehouse.databases() if matches(name)]


@answers("get_databases_req")
def databases_req(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return the databases that a pattern matches."""
    request = arguments["request"] or {}
    require_catalog(request.get("catalogName"))
    matches = name_matcher(database_name(request.get("pattern")))
    names = [name for name in warehouse.databases() if matches(name)]
    return {"databases": [database(warehouse, {"name": name}) for name in names]}


@answers("get_database", "get_database_req")
def database(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return a database. Its location is none of the warehouse's, as clients make tables there."""
    request = arguments.get("request") or arguments
    require_catalog(request.get("catalogName"))
    metastore = warehouse.metastore
    found = metastore.database(database_name(request.get("name")))
    location = spelled(metastore.database_location(found.name))
    return {
        "name": found.name,
        "description": found.properties.get("comment", ""),
        "locationUri": f"{location}/{PUBLISHED_FOLDER}/read-only/{found.name}.db",
        "parameters": {
            name: text for name, text in found.properties.items() if name not in ("comment", "location")
        },
        "ownerName": found.properties.get("owner", ""),
        "ownerType": 1,
        "catalogName": CATALOG,
    }


def spelled(location: str) -> str:
    """Return a location with its scheme: clients may have another file system as their default."""
    return f"file:{location}" if location.startswith("/") else location


def _named(
    warehouse: HiveWarehouse, database: str | None, pattern: str | None, kind: str | None = None
) -> Iterator[str]:
    matches = name_matcher(pattern)
    for name, is_view in warehouse.names(database_name(database)).items():
        if matches(name) and kind in (None, "", _VIEW if is_view else _TABLE):
            yield name


@answers("get_all_tables")
def all_tables(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of a database's tables and views."""
    return list(_named(warehouse, arguments["db_name"], None))


@answers("get_tables")
def tables(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of tables and views that a pattern matches."""
    return list(_named(warehouse, arguments["db_name"], arguments["pattern"]))


@answers("get_tables_by_type")
def tables_by_type(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of tables, or of views, that a pattern matches."""
    return list(_named(warehouse, arguments["db_name"], arguments["pattern"], arguments["tableType"]))


@answers("get_table_meta")
def table_meta(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the names and kinds of tables in several databases."""
    matches = name_matcher(database_name(arguments["db_patterns"]))
    wanted = arguments["tbl_types"] or ()
    return [
        {"dbName": database, "tableName": name, "tableType": kind, "catName": CATALOG}
        for database in warehouse.databases()
        if matches(database)
        for kind in (_TABLE, _VIEW)
        if not wanted or kind in wanted
        for name in _named(warehouse, database, arguments["tbl_patterns"], kind)
    ]


@answers("get_tables_ext")
def tables_ext(warehouse: HiveWarehouse, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the names of tables. All may be read."""
    request = arguments["req"] or {}
    require_catalog(request.get("catalog"))
    names = list(_named(warehouse, request.get("database"), request.get("tableNamePattern")))
    limit = request.get("limit")
    return [{"tblName": name, "accessType": 2} for name in names[: limit if limit and limit > 0 else None]]


@answers("get_table_names_by_filter")
def table_names_by_filter(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return the names of a database's tables that a filter on names and kinds of tables selects.

    Hive 4.1 asks for a pattern of names so.
    """
    condition, kind, pattern = arguments["filter"] or "", None, None
    for term in _AND.split(condition) if condition else ():
        match = _TABLE_FILTER.fullmatch(term.strip().strip("()"))
        if match is None:
            raise HiveFailure(
                f"Filter {condition!r} on tables is not served: filter by names and kinds, or list all with get_tables."
            )
        if match["field"] == "tableType":
            kind = match["text"]
        else:
            pattern = match["text"].removeprefix("(?i)")
    limit = arguments["max_tables"]
    names = list(_named(warehouse, arguments["dbname"], pattern, kind))
    return names[: limit if limit is not None and limit >= 0 else None]


@answers("get_materialized_views_for_rewriting")
def materialized_views(warehouse: HiveWarehouse, arguments: Arguments) -> list[str]:
    """Return no names: there are no materialized views."""
    return []


@answers("get_type")
def type_of(warehouse: HiveWarehouse, arguments: Arguments) -> dict[str, Any]:
    """Return no type: a warehouse has none."""
    raise no_such_object(f"There is no type {arguments['name']}.")
