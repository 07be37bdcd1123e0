"""A view as Iceberg's readers get it: its text for Spark, with names of tables that other engines resolve.

A view's text names tables as the session did that made it. Another engine has the warehouse under a name of
its own. So the first part of a name is left out if it is the catalog's name in Spark. The answer has no
default catalog: then names are of the catalog that has the view. A view that reads another one is refused.
"""

from __future__ import annotations

import uuid
from typing import Any

import sqlglot
from sqlglot import exp

from parquetry.errors import TableNotFoundError, UnsupportedError
from parquetry.iceberg.manifest_names import file_uri
from parquetry.iceberg.metadata import iceberg_schema
from parquetry.iceberg.opened import OpenedMetastore
from parquetry.iceberg.requests import Query, database_name, table_name
from parquetry.metastore import TableSnapshot, ViewDefinition

_UUID_NAMESPACE = uuid.UUID("6f0d3a5e-6f2c-5a4e-9d55-0c5b9f5e2a42")
_ENDPOINTS = (
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
)
QUERY_COLUMNS = "spark.query-column-names"
"""Iceberg's property of the names that a view's query gives its columns, before the view renames them."""


class ServedViews:
    """The views of a warehouse, as Iceberg's views.

    Args:
        opened: the metastore of the warehouse.
        name: the warehouse's name in Spark, or None: no view is served.
    """

    def __init__(self, opened: OpenedMetastore, name: str | None) -> None:
        self._opened, self._name = opened, name

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Return the requests about views that are answered."""
        return () if self._name is None else _ENDPOINTS

    def list(self, namespace: str, query: Query) -> dict[str, Any]:
        """Return the names of a database's views, if views are served.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        names = self._opened.metastore.views(database_name(namespace))
        served = [] if self._name is None else names
        parts = [{"namespace": [namespace], "name": name} for name in served]
        return query.page("identifiers", served, parts)

    def load(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a view.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such view, or none is served.
            UnsupportedError: the view reads other catalogs, or has columns that Iceberg has not.
        """
        metastore, database = self._opened.metastore, database_name(namespace)
        view = metastore.table(database, table_name(database, name), kind="view")
        if self._name is None:
            raise TableNotFoundError(
                f"View {view.label} is not served: start the server with --catalog and the catalog's name in Spark."
            )
        return view_result(view, metastore.table_location(view.database, view.name), self._name)


def view_result(snapshot: TableSnapshot, location: str, catalog: str) -> dict[str, Any]:
    """Return the answer to a request for a view.

    Args:
        snapshot: the view.
        location: where a table of its name would be.
        catalog: the warehouse's name in the Spark sessions that made the view.

    Raises:
        UnsupportedError: the view reads what the served catalog has not, or has columns that Iceberg has not.
    """
    metadata, view = snapshot.metadata, snapshot.metadata.view
    assert view is not None
    number = snapshot.version + 1
    version = {
        "version-id": number,
        "schema-id": 0,
        "timestamp-ms": snapshot.committed_at,
        "summary": {"engine-name": "spark"},
        "representations": [
            {"type": "sql", "sql": portable_text(snapshot.label, view, catalog), "dialect": "spark"}
        ],
        "default-namespace": list(view.namespace),
    }
    comment = {} if metadata.comment is None else {"comment": metadata.comment}
    renamed = {QUERY_COLUMNS: ",".join(view.query_columns)} if view.query_columns else {}
    described = {
        "view-uuid": str(uuid.uuid5(_UUID_NAMESPACE, snapshot.id.hex())),
        "format-version": 1,
        "location": file_uri(location),
        "current-version-id": number,
        "versions": [version],
        "version-log": [{"version-id": number, "timestamp-ms": snapshot.committed_at}],
        "schemas": [iceberg_schema(snapshot.label, metadata, 0)],
        "properties": {**comment, **renamed},
    }
    return {"metadata-location": f"{file_uri(location)}/{number}.json", "metadata": described, "config": {}}


def portable_text(label: str, view: ViewDefinition, catalog: str) -> str:
    """Return a view's text without the catalog's name before the names of tables.

    Args:
        label: the view's name for messages.
        view: its definition.
        catalog: the warehouse's name in the sessions that made the view.

    Raises:
        UnsupportedError: a name is of another catalog, or the text cannot be read.

    >>> portable_text("db.v", ViewDefinition("SELECT t.id FROM lake.db.t AS t", "spark_catalog"), "lake")
    'SELECT t.id FROM db.t AS t'
    """
    try:
        query = sqlglot.parse_one(view.text, read="spark")
    except sqlglot.errors.SqlglotError:
        raise _refusal(label, "its text cannot be read") from None
    names = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    text = view.text
    for table in sorted(query.find_all(exp.Table), key=_position, reverse=True):
        if isinstance(table.this, exp.Func):
            continue  # such as range(5)
        if not isinstance(table.this, exp.Identifier):
            raise _refusal(label, f"it reads {table.sql('spark')}, a name of more parts than tables have")
        parts = table.parts
        if len(parts) == 1 and parts[0].name.lower() in names:
            continue
        spelled = ".".join(part.name for part in parts)
        if len(parts) == 3:
            if parts[0].name.lower() != catalog.lower():
                raise _refusal(label, f"it reads {spelled}, which is not of the catalog {catalog}")
            text = text[: parts[0].meta["start"]] + text[parts[1].meta["start"] :]
        elif (view.catalog or "").lower() != catalog.lower():
            raise _refusal(label, f"it reads {spelled} of the catalog {view.catalog}, and not of {catalog}")
    return text


def _position(table: exp.Table) -> int:
    return int(table.parts[0].meta.get("start", 0))


def _refusal(label: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"View {label} cannot be read by Iceberg's readers: {reason}. Write its query in the engine, or make a view of the "
        "warehouse's own tables."
    )
