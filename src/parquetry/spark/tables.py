"""Databases and tables: what CREATE, ALTER, DROP, RENAME and SHOW come to."""

from __future__ import annotations

import getpass
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
import pyarrow.fs as pafs
from pyspark.sql import SparkSession

from parquetry.config import check_properties, table_property
from parquetry.errors import ColumnNotFoundError, NamespaceNotFoundError, PropertyError, TableNotFoundError, UnsupportedError
from parquetry.layout.location import join_location, open_location
from parquetry.metastore.model import TableMetadata
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.spark import protocol as p
from parquetry.spark.lake import Lake, Staged
from parquetry.spark.schema import changed, declared
from parquetry.types import type_from_json

_RESERVED = ("provider", "location", "comment", "owner", "external", "is_managed_location", "table_type", "collation")
_UNKEYABLE = "a partition column has to be a number, a string, a boolean, binary, a date or a timestamp"


def create(lake: Lake, q: p.CreateTable) -> dict[str, Any]:
    """Create an empty table."""
    database = lake.database(q.namespace)
    return lake.described(lake.metastore.create_table(database, q.name, _metadata(lake, database, q)))


def stage(lake: Lake, q: p.StageTable) -> dict[str, Any]:
    """Create a table that nobody sees before it is published."""
    database = lake.database(q.namespace)
    if q.mode == "replace":
        lake.metastore.table(database, q.name)  # it has to be there
    staged = lake.metastore.stage_table(database, q.name, _metadata(lake, database, q))
    lake.staged[staged.id.hex()] = Staged(staged, database, q.name)
    described = lake.described(staged.snapshot)
    return {**described, "name": f"{lake.name}.{database}.{q.name}", "mode": q.mode}


def publish(lake: Lake, q: p.PublishTable) -> None:
    """Give a staged table its name; what it replaces is dropped."""
    staged = lake.staged[q.table.id]
    replaces = q.mode != "create"
    delete_files = _doomed(lake, staged.database, staged.name) if replaces else None
    lake.hold(staged.table.publish(replace=replaces))
    del lake.staged[q.table.id]
    if delete_files is not None:
        delete_files()


def discard(lake: Lake, q: p.DiscardTable) -> None:
    """Forget a staged table, and what was written into it."""
    staged = lake.staged.pop(q.table.id).table
    metadata = staged.snapshot.metadata
    staged.discard()
    if not metadata.external:
        _delete_tree(metadata.location)
    else:
        _delete_own(metadata.location, staged.id, keep=set())


def load(lake: Lake, q: p.LoadTable) -> dict[str, Any]:
    """Return a table, now or as it was."""
    if len(q.namespace) != 1:
        raise TableNotFoundError(f"{'.'.join([*q.namespace, q.name])} is not a table of catalog {lake.name}.")
    version = None if q.version is None else _version(q.version)
    as_of = None if q.as_of is None else q.as_of // 1000
    return lake.described(lake.metastore.table(q.namespace[0], q.name, version=version, as_of=as_of))


def _version(text: str) -> int:
    if not text.strip().isdigit():
        raise UnsupportedError(f"VERSION AS OF {text!r}: a table's versions are numbers, as CALL system.history lists them.")
    return int(text)


def alter(lake: Lake, q: p.AlterTable) -> dict[str, Any]:
    """Change a table's columns and properties, all of them or none."""
    snapshot = lake.metastore.table(lake.database(q.namespace), q.name)
    metadata = snapshot.metadata
    for change in q.changes:
        metadata = _altered(metadata, change)
    transaction = snapshot.begin("alter")
    transaction.set_metadata(metadata)
    return lake.described(transaction.commit())


def _altered(metadata: TableMetadata, change: dict[str, Any]) -> TableMetadata:
    replace = msgspec.structs.replace
    if change["change"] == "set_property":
        key, value = change["key"], change["value"]
        if key in ("comment", "owner"):
            return replace(metadata, **{key: value})
        if key in _RESERVED or key == "partition-order":
            raise PropertyError(f"table property {key!r} cannot be changed after the table was made: make a new table.")
        check_properties({key: value})
        return replace(metadata, properties={**metadata.properties, key: value})
    if change["change"] == "remove_property":
        kept = {key: value for key, value in metadata.properties.items() if key != change["key"]}
        return replace(metadata, properties=kept, comment=None if change["key"] == "comment" else metadata.comment)
    columns = changed(metadata, change)
    if change["change"] != "rename_column":
        return replace(metadata, columns=columns)
    renamed = tuple(
        change["to"] if len(change["column"]) == 1 and name.lower() == change["column"][0].lower() else name
        for name in metadata.partition_by
    )
    return replace(metadata, columns=columns, partition_by=renamed)


def drop(lake: Lake, q: p.DropTable) -> bool:
    """Drop a table, and the files of a managed one."""
    try:
        delete_files = _doomed(lake, lake.database(q.namespace), q.name)
    except NamespaceNotFoundError:
        return False
    if delete_files is None:
        return False
    lake.metastore.drop_table(q.namespace[0], q.name)
    delete_files()
    return True


def rename(lake: Lake, q: p.RenameTable) -> None:
    """Rename a table; its files stay where they are."""
    *namespace, name = q.to
    if len(namespace) == 2 and namespace[0].lower() == lake.name.lower():
        namespace = namespace[1:]  # Spark takes the new name as one within the catalog; users write it whole, too
    lake.metastore.rename_table(lake.database(q.namespace), q.name, lake.database(namespace or q.namespace), name)


def _doomed(lake: Lake, database: str, name: str) -> Callable[[], None] | None:
    """Return what deletes a table's files once it is dropped; None if there is no such table.

    An external table's files stay; but those that an overwrite has left for readers of older versions would be
    taken for data by whoever reads the folder next.
    """
    try:
        snapshot = lake.metastore.table(database, name)
    except TableNotFoundError:
        return None
    location = snapshot.metadata.location
    if not snapshot.metadata.external:
        return lambda: _delete_tree(location)
    keep = {
        open_location(join_location(partition.location, file.path))[1]
        for partition in snapshot.partitions()
        for file in partition.files
    }
    return lambda: _delete_own(location, snapshot.id, keep)


def _delete_tree(location: str) -> None:
    filesystem, path = open_location(location)
    if filesystem.get_file_info(path).type == pafs.FileType.Directory:
        filesystem.delete_dir(path)


def _delete_own(location: str, table: bytes, keep: set[str]) -> None:
    filesystem, path = open_location(location)
    for info in filesystem.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True)):
        if info.is_file and info.base_name.startswith(f"pq-{table.hex()}-") and info.path not in keep:
            filesystem.delete_file(info.path)


def _metadata(lake: Lake, database: str, q: p.CreateTable | p.StageTable) -> TableMetadata:
    """Return what a new table is, from what its statement says."""
    properties = {key: value for key, value in q.properties.items() if key not in _RESERVED}
    given = q.properties.get("location")
    file_format = _format(q.properties.get("provider"), properties.pop("hive.stored-as", None))
    fields = q.schema["fields"]
    partition_by = tuple(_partition_column(transform) for transform in q.partitioning)
    if not fields:
        if given is None:
            raise UnsupportedError(f"table {database}.{q.name} has no columns: name them, or the LOCATION they can be read from.")
        fields, partition_by = _inferred(given, file_format, partition_by)
    check_properties(properties)
    columns = declared(fields)
    by_name = {column.name.lower(): column for column in columns}
    for i, name in enumerate(partition_by):
        column = by_name.get(name.lower())
        if column is None:
            raise ColumnNotFoundError(f"partition column {name} is not a column of the table: add it to the columns.")
        if not type_from_json(column.type).primitive:
            raise UnsupportedError(f"partition column {name} is of type {type_from_json(column.type)}; {_UNKEYABLE}.")
        if name.lower() in {other.lower() for other in partition_by[:i]}:
            raise UnsupportedError(f"partition column {name} is named twice in PARTITIONED BY.")
    if len(partition_by) == len(columns):
        raise UnsupportedError(f"table {database}.{q.name} has partition columns only: at least one column has to be in the files.")
    return TableMetadata(
        columns=columns,
        partition_by=tuple(by_name[name.lower()].name for name in partition_by),
        format=file_format,
        location=absolute(given) if given else _managed_location(lake, database, q.name),
        external=given is not None,
        properties=properties,
        comment=q.properties.get("comment"),
        owner=q.properties.get("owner") or getpass.getuser(),
        created_at=int(time.time() * 1000),
        descending=_descending(properties, partition_by),
    )


def _format(provider: str | None, stored_as: str | None) -> Literal["parquet", "orc"]:
    name = (stored_as or provider or "parquet").lower()
    if name in ("parquet", "parquetry"):
        return "parquet"
    if name == "orc":
        return "orc"
    raise UnsupportedError(f"tables are stored as parquet or orc, not {name}: say USING parquet or USING orc.")


def _partition_column(transform: p.Transform) -> str:
    if transform.name == "identity" and len(transform.columns) == 1 and len(transform.columns[0]) == 1:
        return transform.columns[0][0]
    raise UnsupportedError(f"PARTITIONED BY {transform.text} is not supported: partition by columns themselves.")


def _descending(properties: dict[str, str], partition_by: Sequence[str]) -> tuple[bool, ...]:
    down: set[str] = set()
    for item in table_property(properties, "partition-order") or ():
        name, _, direction = item.partition(" ")
        if name.lower() not in {column.lower() for column in partition_by} or direction.strip().lower() not in ("", "asc", "desc"):
            raise PropertyError(f"partition-order {item!r} is not a partition column with ASC or DESC after it.")
        if direction.strip().lower() == "desc":
            down.add(name.lower())
    return tuple(name.lower() in down for name in partition_by) if down else ()


def absolute(location: str) -> str:
    """Return a location as Hadoop writes it; a path without a scheme is the driver's own."""
    trimmed = re.sub(r"^file:/+", "file:/", location.rstrip("/") or "/")
    return trimmed if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", trimmed) else f"file:{os.path.abspath(trimmed)}"


def _managed_location(lake: Lake, database: str, name: str) -> str:
    """Return where Hive would put a table; a folder that is in use already is left alone."""
    plain = absolute(lake.metastore.table_location(database, name))
    filesystem, path = open_location(plain)
    if filesystem.get_file_info(path).type == pafs.FileType.NotFound:
        return plain
    return f"{plain}-{uuid.uuid4().hex[:8]}"


def _inferred(location: str, file_format: str, partition_by: tuple[str, ...]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return columns read from the files of a location, and the partition columns its directories name."""
    frame = SparkSession.active().read.format(file_format).load(location)
    relation = frame._jdf.queryExecution().analyzed().relation()
    found = tuple(relation.partitionSchema().fieldNames())
    fields: list[dict[str, Any]] = frame.schema.jsonValue()["fields"]
    return fields, partition_by or found


def _namespaces(lake: Lake, _q: p.ListNamespaces) -> list[str]:
    return list(lake.metastore.databases())


def _load_namespace(lake: Lake, q: p.LoadNamespace) -> dict[str, str]:
    record = lake.metastore.database(lake.database(q.namespace))
    return {"location": absolute(lake.metastore.database_location(record.name)), **record.properties}


def _create_namespace(lake: Lake, q: p.CreateNamespace) -> None:
    lake.metastore.create_database(lake.database(q.namespace), q.properties)


def _alter_namespace(lake: Lake, q: p.AlterNamespace) -> None:
    record = lake.metastore.database(lake.database(q.namespace))
    properties = dict(record.properties)
    for change in q.changes:
        key, value = str(change["key"]), change["value"]
        if value is None:
            properties.pop(key, None)
        else:
            properties[key] = value
    lake.metastore.alter_database(record.name, properties)


def _drop_namespace(lake: Lake, q: p.DropNamespace) -> bool:
    database = lake.database(q.namespace)
    doomed = [_doomed(lake, database, name) for name in lake.metastore.tables(database)] if q.cascade else []
    lake.metastore.drop_database(database, cascade=q.cascade)
    for delete_files in filter(None, doomed):
        delete_files()
    return True


def _list_tables(lake: Lake, q: p.ListTables) -> list[str]:
    return list(lake.metastore.tables(lake.database(q.namespace)))


ANSWERS: dict[type[p.Question], Callable[[Lake, Any], Any]] = {
    p.ListNamespaces: _namespaces,
    p.LoadNamespace: _load_namespace,
    p.CreateNamespace: _create_namespace,
    p.AlterNamespace: _alter_namespace,
    p.DropNamespace: _drop_namespace,
    p.ListTables: _list_tables,
    p.LoadTable: load,
    p.CreateTable: create,
    p.StageTable: stage,
    p.PublishTable: publish,
    p.DiscardTable: discard,
    p.AlterTable: alter,
    p.DropTable: drop,
    p.RenameTable: rename,
}
