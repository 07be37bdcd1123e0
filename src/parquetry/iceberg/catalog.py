"""A warehouse as a read-only Iceberg catalog: each request is a function that returns the answer's body.

`application` receives the requests by HTTP. Iceberg's REST specification has the shapes of all answers
(`open-api/rest-catalog-open-api.yaml` in the repository apache/iceberg).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from parquetry.errors import UnsupportedError, VersionNotFoundError
from parquetry.exchange import ICEBERG
from parquetry.iceberg.clients import Client, require_filter_columns, require_whole_values
from parquetry.iceberg.manifest_names import ManifestNames
from parquetry.iceberg.manifests import has_manifests, list_earlier_versions, write_manifests
from parquetry.iceberg.metadata import ServedVersions, table_metadata, with_tags
from parquetry.iceberg.planning.expressions import FilterColumns, filter_from_iceberg
from parquetry.iceberg.planning.plan import FILES_PER_PAGE, PlanCache, PlanKey, ScanPosition, page
from parquetry.iceberg.requests import (
    PlanRequest,
    Query,
    ReportRequest,
    TasksRequest,
    database_name,
    decode_request,
    table_name,
)
from parquetry.iceberg.views import ServedViews
from parquetry.metastore import Metastore, TableSnapshot, tags_of
from parquetry.predicate import Filter
from parquetry.serving import OpenedMetastore
from parquetry.workload import HistorySettings, ServedReads

_CACHED_METADATA_BYTES = 64 << 20
"""Length of all cached metadata of tables."""
_MAX_CACHED_METADATA_BYTES = 16 << 20
"""Length of one table's cached metadata, at most: some forty thousand versions."""
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
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
)


_FILE, _MORE_PAGES = b'{"data-file":', b'"plan-tasks":['
"""In an encoded answer: the beginning of a file, and of the names of further pages."""


def _filters(table: TableSnapshot, request: PlanRequest) -> list[Filter]:
    """Return the condition of a request for a plan."""
    if request.filter in (None, True):
        return []
    metadata = table.metadata
    names = {metadata.ids_by_path[(column.physical,)]: column.name for column in metadata.columns}
    types = {column.name: column.column_type for column in metadata.columns}
    return [filter_from_iceberg(request.filter, FilterColumns(types, names, request.case_sensitive))]


class IcebergCatalog:
    """A read-only Iceberg catalog of a warehouse.

    Args:
        metastore: of the warehouse. Several threads may ask at once.
        planning: `server`: clients ask for plans, and manifests are made only for clients that cannot.
            `client`: all clients plan by themselves, and manifests are always made.
        files_per_page: number of files in one answer to a plan, at most.
        name: the warehouse's name in Spark, or None if no view is served. Views name tables by it.
        reopen: opens the metastore again, or None if it is never opened again. It is, if its file was
            replaced, as by a restore.
        history: the settings of the history of queries, as far as something gives them.

    Attributes:
        views: the views that are served.
    """

    def __init__(
        self,
        metastore: Metastore,
        planning: Literal["server", "client"] = "server",
        files_per_page: int = FILES_PER_PAGE,
        name: str | None = None,
        reopen: Callable[[], Metastore] | None = None,
        history: Mapping[str, str] | None = None,
    ) -> None:
        self._opened = OpenedMetastore(metastore, reopen)
        self._reads = ServedReads(
            "iceberg", HistorySettings.read(history or {}, "The configuration of the warehouse")
        )
        self._planning = planning
        self._files_per_page = files_per_page
        self.views = ServedViews(self._opened, name)
        self._loaded = PlanCache(_CACHED_METADATA_BYTES, _MAX_CACHED_METADATA_BYTES)
        self._served: set[str] = set()
        self._plans = PlanCache()
        self._lock = threading.Lock()

    def config(self) -> dict[str, Any]:
        """Return the configuration of clients."""
        endpoints = [*_ENDPOINTS, *self.views.endpoints]
        return {"defaults": {}, "overrides": {PLANNING: self._planning}, "endpoints": endpoints}

    def namespaces(self, query: Query) -> dict[str, Any]:
        """Return the databases. No database has databases within.

        Args:
            query: the database whose databases are wanted, if any, and the page.

        Raises:
            NamespaceNotFoundError: there is no such parent.
        """
        if (parent := query.get("parent")) is not None:
            self._opened.metastore.database(database_name(parent))
            return query.page("namespaces", [], [])
        names = self._opened.metastore.databases()
        return query.page("namespaces", names, [[name] for name in names])

    def namespace(self, name: str) -> dict[str, Any]:
        """Return a database.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        database = self._opened.metastore.database(database_name(name))
        return {"namespace": [name], "properties": dict(database.properties)}

    def tables(self, namespace: str, query: Query) -> dict[str, Any]:
        """Return the names of a database's tables.

        Raises:
            NamespaceNotFoundError: there is no such database.
        """
        names = self._opened.metastore.tables(database_name(namespace))
        parts = [{"namespace": [namespace], "name": name} for name in names]
        return query.page("identifiers", names, parts)

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
        table, names = self._table(namespace, name)
        needs_manifests = not client.asks_for_plans or self._planning == "client"
        cached_for = client if needs_manifests else None
        tags = tags_of(table)
        key = PlanKey(names.identity(table.commit.id), cached_for, "load", msgspec.json.encode(tags))
        if (cached := self._loaded.get(key)) is not None and not (
            needs_manifests and not has_manifests(table, names)
        ):
            return cached
        metadata = self._metadata(table, names)
        if needs_manifests:
            write_manifests(table, names, metadata, client)
            metadata = list_earlier_versions(table, names, metadata)
        encoded = msgspec.json.encode(self._table_result(with_tags(metadata, tags), client))
        self._loaded.put(key, encoded)
        return encoded

    def _table_result(self, metadata: dict[str, Any], client: Client) -> dict[str, Any]:
        config: dict[str, str] = {PLANNING: self._planning}
        if client is Client.OTHER and metadata["location"].startswith("file:"):
            config["client.region"] = "local"  # DuckDB 1.5 opens no table without one
        return {"metadata": metadata, "config": config}

    def _metadata(self, table: TableSnapshot, names: ManifestNames) -> dict[str, Any]:
        versions = ServedVersions.read(self._opened.metastore, table)
        earlier = [each for each in versions.metadata.values() if each is not table.metadata]
        ICEBERG.raise_if_refused(table.label, ICEBERG.widened_refusal(table.metadata, earlier))
        return table_metadata(table, versions, names)

    def require_table(self, namespace: str, name: str) -> None:
        """Make sure that a table exists.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table.
        """
        self._table(namespace, name)

    def take_report(self, namespace: str, name: str, body: bytes) -> None:
        """Take a client's report of a scan, which nothing here uses.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table.
            ValueError: the body is not a report.
        """
        self._table(namespace, name)
        decode_request(body, ReportRequest)

    def plan(self, namespace: str, name: str, body: bytes, client: Client) -> bytes:
        """Return the files of a scan, or the first of them and how to get more, encoded.

        The answer is cached, as a version's files never change.

        Args:
            namespace: the table's database.
            name: of the table.
            body: of the request, in JSON.
            client: that asks.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table, or version of it.
            UnsupportedError: the scan is not for one version, or a file would be read wrong.
            ValueError: the body is not a request.
        """
        request = decode_request(body, PlanRequest)
        if request.start_snapshot_id is not None or request.end_snapshot_id is not None:
            raise UnsupportedError(
                f"Table {namespace}.{name}: a scan of what was added between two snapshots cannot be planned: scan one snapshot."
            )
        table, identity = self._served_version(namespace, name, request.snapshot_id)
        require_filter_columns(table, client, request)
        require_whole_values(table, client, request.select)
        position = ScanPosition(table.version, request.filter, request.case_sensitive, identity=identity)
        about = {"status": "completed", "plan-id": f"{table.id.hex()}-{table.version}"}
        answer = self._page(PlanKey(identity, client, "plan", body), table, position, about)
        files = None if _MORE_PAGES in answer else answer.count(_FILE)
        self._reads.record(
            self._opened.metastore,
            table,
            lambda: _filters(table, request),
            columns=request.select,
            files=files,
        )
        return answer

    def tasks(self, namespace: str, name: str, body: bytes, client: Client) -> bytes:
        """Return a further page of a scan, encoded.

        Args:
            namespace: the table's database.
            name: of the table.
            body: of the request, with a plan task.
            client: that asks.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: there is no such table, or the version is gone.
            UnsupportedError: a file would be read wrong.
            ValueError: the plan task is none of ours.
        """
        position = ScanPosition.decode(decode_request(body, TasksRequest).plan_task)
        table, identity = self._served_version(namespace, name, position.version)
        if identity != position.identity:
            raise VersionNotFoundError(
                f"Table {table.label}: version {position.version} of the plan is gone: the warehouse was restored, or moved. Plan the "
                "scan again."
            )
        return self._page(PlanKey(identity, client, "tasks", body), table, position, {})

    def _page(
        self, key: PlanKey, table: TableSnapshot, position: ScanPosition, about: dict[str, Any]
    ) -> bytes:
        if (cached := self._plans.get(key)) is not None:
            return cached
        assert key.client is not None
        answer = page(table, position, key.client, self._files_per_page)
        encoded = msgspec.json.encode({**about, **answer})
        self._plans.put(key, encoded)
        return encoded

    def _served_version(self, namespace: str, name: str, version: int | None) -> tuple[TableSnapshot, str]:
        """Return a version that is served as a snapshot, and its identity.

        Raises:
            VersionNotFoundError: the version is from before a REPLACE TABLE, which gave columns other ids.
            UnsupportedError: the table cannot be loaded.
        """
        newest, names = table, _ = self._table(namespace, name)
        if version is not None and version != newest.version:
            table = self._opened.metastore.table(newest.database, newest.name, version=version)
        if newest.metadata.replacement != table.metadata.replacement:
            raise VersionNotFoundError(
                f"Table {table.label} has no snapshot {version}: it is from before the table was replaced."
            )
        identity = names.identity(table.commit.id)
        if identity not in self._served:
            self._metadata(table, names)
            with self._lock:
                if len(self._served) >= _CACHED_VERSIONS:
                    self._served.clear()
                self._served.add(identity)
        return table, identity

    def _table(self, namespace: str, name: str) -> tuple[TableSnapshot, ManifestNames]:
        """Return a table as it is now, and the names of its manifests."""
        metastore, epoch = self._opened.current()
        database = database_name(namespace)
        table = metastore.table(database, table_name(database, name))
        return table, ManifestNames.from_table(table, metastore.warehouse, epoch)
