"""The metadata of a table, as Iceberg's readers get them: made of the metastore's record, stored nowhere.

Every readable version of the table is a snapshot, whose id is the version's number. Versions from before a
REPLACE TABLE are left out: field ids begin anew with it. So is version 0 of a table without files, which is
what Iceberg calls a table without snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.exchange import history_uuid
from parquetry.iceberg.locations import file_uri, manifest_folder
from parquetry.iceberg.manifest_names import ManifestNames
from parquetry.iceberg.schema import iceberg_schema, name_mapping
from parquetry.locations import join_location
from parquetry.metastore import CommitRecord, Metastore, TableMetadata, TableSnapshot, history

FIRST_PARTITION_FIELD_ID = 1000
"""The id of the first field of a partition spec, as Iceberg's own tables have it."""
_OPERATIONS = {"append": "append", "compact": "replace", "rebucket": "replace", "delete": "delete"}


@dataclass(frozen=True, slots=True)
class ServedVersions:
    """The versions of a table that are served as snapshots, newest first, with their metadata."""

    commits: tuple[CommitRecord, ...]
    metadata: dict[int, TableMetadata]
    """By the tickets that the commits name."""

    @classmethod
    def read(cls, metastore: Metastore, snapshot: TableSnapshot) -> ServedVersions:
        """Return the versions up to a snapshot that have its ids of columns.

        Args:
            metastore: of the table.
            snapshot: the newest version.
        """
        return cls(*_split(_versions(metastore, snapshot)))


def _versions(metastore: Metastore, snapshot: TableSnapshot) -> Iterator[tuple[CommitRecord, TableMetadata]]:
    known = {snapshot.commit.metadata: snapshot.metadata}
    for commit in history(snapshot):
        if commit.metadata not in known:
            version = metastore.table(snapshot.database, snapshot.name, version=commit.version)
            if version.id != snapshot.id:
                return
            known[commit.metadata] = version.metadata
        metadata = known[commit.metadata]
        if metadata.replacement != snapshot.metadata.replacement:
            return
        if commit.version or commit.totals.files:
            yield commit, metadata


def _split(
    versions: Iterator[tuple[CommitRecord, TableMetadata]],
) -> tuple[tuple[CommitRecord, ...], dict[int, TableMetadata]]:
    pairs = list(versions)
    return tuple(commit for commit, _ in pairs), {commit.metadata: metadata for commit, metadata in pairs}


def table_metadata(snapshot: TableSnapshot, versions: ServedVersions, names: ManifestNames) -> dict[str, Any]:
    """Return a table's metadata in version 2 of Iceberg's format.

    Args:
        snapshot: the table's newest version.
        versions: that are served.
        names: of the manifests.

    Raises:
        UnsupportedError: Iceberg's readers would read other values than the table has.
    """
    metadata = snapshot.metadata
    tickets = list(
        dict.fromkeys([*reversed([c.metadata for c in versions.commits]), snapshot.commit.metadata])
    )
    known = {**versions.metadata, snapshot.commit.metadata: metadata}
    schemas = [iceberg_schema(snapshot.label, known[ticket], n) for n, ticket in enumerate(tickets)]
    ids = metadata.ids_by_path
    snapshots = [_snapshot(names, commit, tickets) for commit in reversed(versions.commits)]
    spec = partition_spec(metadata)
    newest = versions.commits[0].version if versions.commits else None
    refused = file_uri(join_location(manifest_folder(metadata.location), "refused"))
    described: dict[str, Any] = {
        "format-version": 2,
        "table-uuid": history_uuid(snapshot),
        "location": file_uri(metadata.location),
        "last-sequence-number": newest or 0,
        "last-updated-ms": snapshot.committed_at,
        "last-column-id": max(ids.values()),
        "schemas": schemas,
        "current-schema-id": tickets.index(snapshot.commit.metadata),
        "partition-specs": [{"spec-id": 0, "fields": spec}],
        "default-spec-id": 0,
        "last-partition-id": FIRST_PARTITION_FIELD_ID - 1 + len(spec),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {
            **({} if metadata.comment is None else {"comment": metadata.comment}),
            # A writer's commit is refused. Its files, if it leaves them, are where no sync takes them.
            **dict.fromkeys(("write.data.path", "write.metadata.path"), refused),
            "schema.name-mapping.default": msgspec.json.encode(name_mapping(ids)).decode(),
        },
        "current-snapshot-id": -1 if newest is None else newest,
        "snapshots": snapshots,
        "snapshot-log": [
            {"snapshot-id": each["snapshot-id"], "timestamp-ms": each["timestamp-ms"]} for each in snapshots
        ],
        "metadata-log": [],
        "refs": {} if newest is None else {"main": {"snapshot-id": newest, "type": "branch"}},
    }
    return described


def partition_spec(metadata: TableMetadata) -> list[dict[str, Any]]:
    """Return the fields of a table's partition spec. Each has the values of a partition column."""
    ids = metadata.ids_by_path
    return [
        {
            "source-id": ids[(column.physical,)],
            "field-id": FIRST_PARTITION_FIELD_ID + position,
            "name": column.name,
            "transform": "identity",
        }
        for position, column in enumerate(metadata.partition_columns)
    ]


def _snapshot(names: ManifestNames, commit: CommitRecord, tickets: list[int]) -> dict[str, Any]:
    totals = commit.totals
    summary = {
        "operation": _OPERATIONS.get(commit.operation, "overwrite"),
        "parquetry.operation": commit.operation,
        "total-data-files": str(totals.files),
        "total-files-size": str(totals.bytes),
        **({} if totals.rows is None else {"total-records": str(totals.rows)}),
    }
    return {
        "snapshot-id": commit.version,
        "sequence-number": commit.version,
        "timestamp-ms": commit.time,
        "manifest-list": names.list(commit.version, commit.id),
        "schema-id": tickets.index(commit.metadata),
        "summary": summary,
    }
