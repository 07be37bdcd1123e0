"""A view as Iceberg's readers get it: its text for Spark, with names of tables that other engines resolve.

Names of tables in the text have no catalog (`serving.view_text`). The answer has no default catalog: then
names are of the catalog that has the view. A view that reads another one is refused.
"""

from __future__ import annotations

import uuid
from typing import Any

from parquetry.errors import TableNotFoundError
from parquetry.iceberg.manifest_names import file_uri
from parquetry.iceberg.metadata import iceberg_schema
from parquetry.iceberg.requests import Query, database_name, table_name
from parquetry.metastore import TableSnapshot
from parquetry.serving import OpenedMetastore, portable_text

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
            {
                "type": "sql",
                "sql": portable_text(snapshot.label, view, catalog, "Iceberg's readers"),
                "dialect": "spark",
            }
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
