"""A warehouse as a read-only Iceberg catalog: each request is a function that returns the answer's body.

`application` receives the requests by HTTP. Iceberg's REST specification has the shapes of all answers
(`open-api/rest-catalog-open-api.yaml` in the repository apache/iceberg).
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from typing import Any, Literal

import msgspec

from parquetry.errors import (
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from parquetry.iceberg.clients import Client, require_filter_columns
from parquetry.iceberg.manifests import has_manifests, write_manifests
from parquetry.iceberg.metadata import ServedVersions, table_metadata
from parquetry.iceberg.plan import FILES_PER_PAGE, ScanPosition, page
from parquetry.iceberg.plan_cache import PlanCache, PlanKey
from parquetry.iceberg.views import view_result
from parquetry.metastore import Metastore, TableSnapshot
from parquetry.publishing import widened_refusal

_CACHED_TABLES = 256
"""Tables whose metadata are cached, each as of one version."""
_CACHED_VERSIONS = 4096
"""Versions of tables that are known to be served."""
PLANNING = "scan-planning-mode"
"""The property of clients that says who plans scans."""
_ENDPOINTS = (
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks",
)


_VIEW_ENDPOINTS = (
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
)


class IcebergCatalog:
    """A read-only Iceberg catalog of a warehouse.

    Args:
        metastore: of the warehouse. Several threads may ask at once.
        planning: `server`: clients ask for plans, and manifests are made only for clients that cannot.
            `client`: all clients plan by themselves, and manifests are always made.
        files_per_page: number of files in one answer to a plan, at most.
        name: the warehouse's name in Spark, by which the texts of views name its tables; None: no view is
            served.
    """

    def __init__(
        self,
        metastore: Metastore,
        planning: Literal["server", "client"] = "server",
        files_per_page: int = FILES_PER_PAGE,
        name: str | None = None,
    ) -> None:
        self._metastore = metastore
        self._planning = planning
        self._files_per_page, self._name = files_per_page, name
        self._loaded: OrderedDict[tuple[bytes, int, Client | None], bytes] = OrderedDict()
        self._served: set[tuple[bytes, int]] = set()
        self._plans = PlanCache()
        self._lock = threading.Lock()

    def config(self) -> dict[str, Any]:
        """Return the configuration of clients."""
        endpoints = [*_ENDPOINTS, *(() if self._name is None else _VIEW_ENDPOINTS)]
        return {"defaults": {}, "overrides": {PLANNING: self._planning}, "endpoints": endpoints}

    def namespaces(self, parent: str | None = None) -> dict[str, Any]:
        """Return the databases. No database has databases within.

        Args:
            parent: the database whose databases are wanted, or None.

        Raises:
            NamespaceNotFoundError: there is no such parent.
        """
        if parent is not None:
            self._metastore.database(parent)
            return {"namespaces": []}
        return {"namespaces": [[name] for name in self._metastore.databases()]}

    def namespace(self, name: str) -> dict[str, Any]:
        """Return a database.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        database = self._metastore.database(_exact(name))
        return {"namespace": [name], "properties": dict(database.properties)}

    def tables(self, namespace: str) -> dict[str, Any]:
        """Return the names of a database's tables.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        names = self._metastore.tables(_exact(namespace))
        return {"identifiers": [{"namespace": [namespace], "name": name} for name in names]}

    def views(self, namespace: str) -> dict[str, Any]:
        """Return the names of a database's views, if views are served.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        names = self._metastore.views(_exact(namespace))
        served = [] if self._name is None else names
        return {"identifiers": [{"namespace": [namespace], "name": name} for name in served]}

    def load_view(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a view.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such view, or none is served.
            UnsupportedError: the view reads other catalogs, or has columns that Iceberg has not.
        """
        view = self._metastore.table(_exact(namespace), _exact(name), kind="view")
        if self._name is None:
            raise TableNotFoundError(
                f"View {view.label} is not served: start the server with --catalog and the catalog's name in Spark."
            )
        return view_result(view, self._metastore.table_location(view.database, view.name), self._name)

    def load_table(self, namespace: str, name: str, client: Client) -> bytes:
        """Return a table's metadata, encoded.

        Args:
            namespace: its database.
            name: of the table.
            client: that asks. It gets manifests if it plans by itself.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table.
            UnsupportedError: Iceberg's readers would read other rows than the table has.
        """
        table = self._table(namespace, name)
        needs_manifests = not client.asks_for_plans or self._planning == "client"
        key = table.id, table.version, client if needs_manifests else None
        with self._lock:
            cached = self._loaded.get(key)
        if needs_manifests and (cached is None or not has_manifests(table)):
            write_manifests(table, self._metadata(table), client)
        if cached is None:
            cached = msgspec.json.encode(self._table_result(table, client))
            with self._lock:
                self._loaded[key] = cached
                while len(self._loaded) > _CACHED_TABLES:
                    self._loaded.popitem(last=False)
        return cached

    def _table_result(self, table: TableSnapshot, client: Client) -> dict[str, Any]:
        metadata = self._metadata(table)
        config: dict[str, str] = {PLANNING: self._planning}
        if client is Client.OTHER and metadata["location"].startswith("file:"):
            config["client.region"] = "local"  # DuckDB 1.5 opens no table without one
        return {"metadata": metadata, "config": config}

    def _metadata(self, table: TableSnapshot) -> dict[str, Any]:
        versions = ServedVersions.read(self._metastore, table)
        earlier = [each for each in versions.metadata.values() if each is not table.metadata]
        if (reason := widened_refusal(table.metadata, earlier)) is not None:
            raise UnsupportedError(f"Table {table.label} cannot be read by Iceberg's readers: {reason}.")
        return table_metadata(table, versions)

    def require_table(self, namespace: str, name: str) -> None:
        """Make sure that a table exists.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table.
        """
        self._table(namespace, name)

    def encoded_plan(
        self, kind: Literal["plan", "tasks"], table: tuple[str, str], body: bytes, client: Client
    ) -> bytes:
        """Return the answer to a request for files, encoded. It is cached, as a version's files never change.

        Args:
            kind: `plan` for the first files of a scan, `tasks` for others.
            table: database and name.
            body: of the request, in JSON.
            client: that asks.

        Raises:
            NamespaceNotFoundError, TableNotFoundError, UnsupportedError: as `plan` and `tasks`.
            ValueError: the body is not a request.
        """
        request = _decode(body)
        position = self._position(kind, request)
        snapshot = self._served_version(*table, position)
        key = PlanKey(snapshot.id, snapshot.version, client, kind, body)
        if (cached := self._plans.get(key)) is not None:
            return cached
        answer = self.plan if kind == "plan" else self.tasks
        encoded = msgspec.json.encode(answer(*table, {**request, "snapshot-id": snapshot.version}, client))
        self._plans.put(key, encoded)
        return encoded

    def _position(self, kind: Literal["plan", "tasks"], request: dict[str, Any]) -> int | None:
        """Return the version that a request is about, or None for the newest."""
        if kind == "plan":
            return request.get("snapshot-id")
        return ScanPosition.decode(str(request.get("plan-task", ""))).version

    def plan(self, namespace: str, name: str, request: dict[str, Any], client: Client) -> dict[str, Any]:
        """Return the files of a scan, or the first of them and how to get more.

        Args:
            namespace: the table's database.
            name: of the table.
            request: the body of the request.
            client: that asks.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table, or version of it.
            UnsupportedError: the scan is not for one version, or a file would be read wrong.
        """
        if request.get("start-snapshot-id") is not None or request.get("end-snapshot-id") is not None:
            raise UnsupportedError(
                f"Table {namespace}.{name}: a scan of what was added between two snapshots cannot be planned: scan one snapshot."
            )
        table = self._served_version(namespace, name, request.get("snapshot-id"))
        require_filter_columns(table, client, request)
        position = ScanPosition(
            table.version, request.get("filter"), bool(request.get("case-sensitive", True))
        )
        answer = page(table, position, client, self._files_per_page)
        return {"status": "completed", "plan-id": f"{table.id.hex()}-{table.version}", **answer}

    def tasks(self, namespace: str, name: str, request: dict[str, Any], client: Client) -> dict[str, Any]:
        """Return a further page of a scan.

        Args:
            namespace: the table's database.
            name: of the table.
            request: the body of the request, with a plan task.
            client: that asks.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table, or the version is gone.
            ValueError: the plan task is none of ours.
        """
        position = ScanPosition.decode(str(request.get("plan-task", "")))
        table = self._served_version(namespace, name, position.version)
        return page(table, position, client, self._files_per_page)

    def _served_version(self, namespace: str, name: str, version: int | None) -> TableSnapshot:
        """Return a version that is served as a snapshot.

        Raises:
            VersionNotFoundError: the version is from before a REPLACE TABLE, which gave columns other ids.
            UnsupportedError: the table cannot be loaded.
        """
        table = self._table(namespace, name, version)
        key = table.id, table.version
        if key in self._served:
            return table
        newest = table if version is None else self._table(namespace, name)
        if newest.metadata.replacement != table.metadata.replacement:
            raise VersionNotFoundError(
                f"Table {table.label} has no snapshot {version}: it is from before the table was replaced."
            )
        self._metadata(table)
        if len(self._served) >= _CACHED_VERSIONS:
            self._served.clear()
        self._served.add(key)
        return table

    def _table(self, namespace: str, name: str, version: int | None = None) -> TableSnapshot:
        return self._metastore.table(_exact(namespace), _exact(name), version=version)


def _decode(body: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise ValueError(f"The body of the request is not JSON: {error}.") from None
    if not isinstance(decoded, dict):
        raise ValueError("The body of the request is not an object of JSON.")
    return decoded


@functools.lru_cache(maxsize=1024)
def _exact(name: str) -> str:
    """Return a name of one part.

    Raises:
        NamespaceNotFoundError: it has several parts, which no database of ours has.
    """
    if "\x1f" in name:
        raise NamespaceNotFoundError(
            f"Namespace {name.replace(chr(31), '.')!r} does not exist: names have one part."
        )
    return name
