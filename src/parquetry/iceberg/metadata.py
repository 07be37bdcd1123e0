"""The metadata of a table, as Iceberg's readers get them: made of the metastore's record, stored nowhere.

Every readable version of the table is a snapshot, whose id is the version's number. Versions from before a
REPLACE TABLE are left out: field ids begin anew with it. So is version 0 of a table without files, which is
what Iceberg calls a table without snapshots.

The table's columns become an Iceberg schema, and its names in files a name mapping.

Ids are the table's field ids (`data_files.field_ids`), which are the ids in its files as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.data_files import physical_name
from parquetry.exchange import ICEBERG, history_uuid
from parquetry.iceberg.manifest_names import ManifestNames, file_uri, manifest_folder
from parquetry.locations import join_location
from parquetry.metastore import CommitRecord, Metastore, TableMetadata, TableSnapshot, TaggedVersion, history
from parquetry.types import type_from_json

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


def with_tags(metadata: dict[str, Any], tags: Sequence[TaggedVersion]) -> dict[str, Any]:
    """Return a table's metadata with its tags as refs, as far as their versions are served."""
    served = {each["snapshot-id"] for each in metadata["snapshots"]}
    refs = {tag.name: {"snapshot-id": tag.version, "type": "tag"} for tag in tags if tag.version in served}
    return {**metadata, "refs": {**metadata["refs"], **refs}}


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


Path = tuple[str, ...]
Ids = Mapping[Path, int]


def iceberg_schema(label: str, metadata: TableMetadata, schema_id: int) -> dict[str, Any]:
    """Return the schema of a version of a table, as Iceberg's metadata have it.

    Args:
        label: the table's name for messages.
        metadata: of the version.
        schema_id: number of the schema in the table's metadata.

    Raises:
        UnsupportedError: Iceberg has no type for a column, or its readers would read other values.
    """
    ICEBERG.raise_if_refused(label, ICEBERG.definition_refusal(metadata))
    ids = metadata.ids_by_path
    fields = []
    for column in metadata.columns:
        own = _field(ids, (column.physical,), column.name, column.type)
        fields.append(own if column.comment is None else {**own, "doc": column.comment})
    return {"type": "struct", "schema-id": schema_id, "fields": fields}


def _field(ids: Ids, path: Path, name: str, kind: Any) -> dict[str, Any]:
    return {"id": ids[path], "name": name, "required": False, "type": _type(ids, path, kind)}


def _type(ids: Ids, path: Path, kind: Any) -> Any:
    """Return a type as Iceberg's metadata have it, with the ids of the fields within."""
    match kind:
        case {"type": "struct", "fields": fields}:
            paths = ((*path, physical_name(each)) for each in fields)
            inner = [
                _field(ids, at, each["name"], each["type"]) for at, each in zip(paths, fields, strict=True)
            ]
            return {"type": "struct", "fields": inner}
        case {"type": "array", "elementType": element}:
            within = (*path, "element")
            return {
                "type": "list",
                "element-id": ids[within],
                "element": _type(ids, within, element),
                "element-required": False,
            }
        case {"type": "map", "keyType": key, "valueType": value}:
            keys, values = (*path, "key"), (*path, "value")
            return {
                "type": "map",
                "key-id": ids[keys],
                "key": _type(ids, keys, key),
                "value-id": ids[values],
                "value": _type(ids, values, value),
                "value-required": False,
            }
    plain = type_from_json(kind)
    return f"decimal({plain.precision}, {plain.scale})" if plain.name == "decimal" else plain.facts.iceberg


def name_mapping(ids: Ids) -> list[dict[str, Any]]:
    """Return the names in files by ids, also of dropped columns, which files still have.

    >>> name_mapping({("a",): 1, ("s",): 2, ("s", "x"): 3})
    [{'field-id': 1, 'names': ['a']}, {'field-id': 2, 'names': ['s'], 'fields': [{'field-id': 3, 'names': ['x']}]}]
    """
    roots: list[dict[str, Any]] = []
    nodes: dict[Path, dict[str, Any]] = {}
    for path in sorted(ids, key=len):
        nodes[path] = {"field-id": ids[path], "names": [path[-1]]}
        if len(path) == 1:
            roots.append(nodes[path])
        elif path[:-1] in nodes:  # the field of a dropped struct may be recorded alone
            nodes[path[:-1]].setdefault("fields", []).append(nodes[path])
    return roots
