"""Databases and tables: what CREATE, ALTER, DROP, RENAME and SHOW come to."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow.fs as pafs
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry.config import PARTITION_INDEXES, check_properties, is_fixed, rename_column, table_property
from parquetry.errors import (
    ColumnNotFoundError,
    NamespaceNotFoundError,
    PropertyError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    WarehouseError,
)
from parquetry.layout.location import join_location, open_location
from parquetry.metastore.indexes import new_index
from parquetry.metastore.model import TableMetadata
from parquetry.spark import protocol as p
from parquetry.spark.lake import Lake, Staged
from parquetry.spark.schema import changed, declared, type_text
from parquetry.types import type_from_json

_RESERVED = (
    "provider",
    "location",
    "comment",
    "owner",
    "external",
    "is_managed_location",
    "table_type",
    "collation",
)
_OPTION = "option."
"""Spark gives each of OPTIONS twice, and so once for `SHOW CREATE TABLE`; we keep it as a property only."""
_HIVE = ("hive.stored-as", "hive.input-format", "hive.output-format", "hive.serde")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_UNKEYABLE = "a partition column has to be a number, a string, a boolean, binary, a date or a timestamp"


def create(lake: Lake, q: p.CreateTable) -> dict[str, Any]:
    """Create an empty table."""
    database = _database(lake, q.namespace, q.name)
    metadata = _metadata(lake, database, q)
    try:
        return lake.described(lake.metastore.create_table(database, q.name, metadata))
    except (TableExistsError, NamespaceNotFoundError):
        _give_back(metadata)
        raise


def stage(lake: Lake, q: p.StageTable) -> dict[str, Any]:
    """Create a table that nobody sees before it is published."""
    database = _database(lake, q.namespace, q.name)
    if q.mode == "replace":
        lake.metastore.table(database, q.name)  # it has to be there
    lake.metastore.database(database)
    staged = lake.metastore.stage_table(database, q.name, _metadata(lake, database, q))
    lake.staged[staged.id.hex()] = Staged(staged, database, q.name)
    described = lake.described(staged.snapshot)
    return {**described, "name": f"{lake.name}.{database}.{q.name}", "mode": q.mode}


def publish(lake: Lake, q: p.PublishTable) -> None:
    """Give a staged table its name; what it replaces is dropped."""
    staged = lake.staged[q.table.id]
    replaces = q.mode != "create"
    location = staged.table.snapshot.metadata.location
    delete_files = _doomed(lake, staged.database, staged.name, spared=location) if replaces else None
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


def _database(lake: Lake, namespace: list[str], table: str = "") -> str:
    """Return the database in which something is to be made."""
    if len(namespace) != 1:
        wanted = ".".join(filter(None, [lake.name, *namespace, table]))
        raise UnsupportedError(
            f"{wanted} cannot be made: databases do not nest, and a table is in one; say "
            f"{lake.name}.database or {lake.name}.database.table."
        )
    return namespace[0]


def load(lake: Lake, q: p.LoadTable) -> dict[str, Any]:
    """Return a table, now or as it was."""
    if len(q.namespace) != 1:
        raise TableNotFoundError(f"{'.'.join([*q.namespace, q.name])} is not a table of catalog {lake.name}.")
    version = None if q.version is None else _version(q.version)
    as_of = None if q.as_of is None else q.as_of // 1000
    try:
        snapshot = lake.metastore.table(q.namespace[0], q.name, version=version, as_of=as_of)
    except NamespaceNotFoundError as error:
        raise TableNotFoundError(error.message) from None  # Spark asks so whether a table is there: IF EXISTS
    return lake.described(snapshot)


def _version(text: str) -> int:
    if not text.strip().isdigit():
        raise UnsupportedError(
            f"VERSION AS OF {text!r}: a table's versions are numbers, as CALL system.history lists them."
        )
    return int(text)


def alter(lake: Lake, q: p.AlterTable) -> dict[str, Any]:
    """Change a table's columns and properties, all of them or none."""
    snapshot = lake.metastore.table(lake.database(q.namespace), q.name)
    metadata = snapshot.metadata
    for change in q.changes:
        metadata = _altered(metadata, change)
    _check_sorting(metadata)
    transaction = snapshot.begin("alter")
    transaction.set_metadata(metadata)
    return lake.described(transaction.commit())


def _altered(metadata: TableMetadata, change: dict[str, Any]) -> TableMetadata:
    replace = msgspec.structs.replace
    if change["change"] == "set_property":
        key, value = change["key"], change["value"]
        if key in ("comment", "owner"):
            return replace(metadata, **{key: value})
        _check_changeable(key)
        check_properties({key: value})
        return replace(metadata, properties={**metadata.properties, key: value})
    if change["change"] == "remove_property":
        if change["key"] != "comment":
            _check_changeable(change["key"])
        kept = {key: value for key, value in metadata.properties.items() if key != change["key"]}
        return replace(
            metadata, properties=kept, comment=None if change["key"] == "comment" else metadata.comment
        )
    columns = changed(metadata, change)
    if change["change"] != "rename_column" or len(change["column"]) != 1:
        return replace(metadata, columns=columns)
    old, new = change["column"][0], change["to"]
    return replace(
        metadata,
        columns=columns,
        partition_by=tuple(new if name.lower() == old.lower() else name for name in metadata.partition_by),
        properties=rename_column(metadata.properties, old, new),
    )


def _check_changeable(key: str) -> None:
    if key in _RESERVED or is_fixed(key):
        raise PropertyError(
            f"table property {key!r} cannot be changed after the table was made: make a new table."
        )


def _check_sorting(metadata: TableMetadata) -> None:
    for name in table_property(metadata.properties, "sort-by") or ():
        try:
            column = metadata.column(name)
        except ColumnNotFoundError as error:
            raise PropertyError(f"table property 'sort-by': {error.message}") from None
        if isinstance(column.type, dict) and column.type["type"] == "map":
            raise PropertyError(f"table property 'sort-by': column {name} is a map, and maps have no order.")


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
        namespace = namespace[
            1:
        ]  # Spark takes the new name as one within the catalog; users write it whole, too
    if len(namespace) > 1:
        raise UnsupportedError(
            f"table {'.'.join([lake.name, *q.namespace, q.name])} cannot become {'.'.join(q.to)}: it stays in its catalog, "
            "where databases do not nest; say RENAME TO database.table, or copy it with CREATE TABLE … AS SELECT."
        )
    lake.metastore.rename_table(lake.database(q.namespace), q.name, (namespace or q.namespace)[0], name)


def _doomed(lake: Lake, database: str, name: str, spared: str | None = None) -> Callable[[], None] | None:
    """Return what deletes a table's files once it is dropped; None if there is no such table.

    An external table's files stay; but those that an overwrite has left for readers of older versions would
    be taken for data by whoever reads the folder next.

    Args:
        lake: the catalog.
        database: of the table.
        name: of the table.
        spared: where a table lies that takes this one's place: it may be the same folder.
    """
    try:
        snapshot = lake.metastore.table(database, name)
    except TableNotFoundError:
        return None
    location = snapshot.metadata.location
    if not snapshot.metadata.external:
        if spared is not None and (
            f"{spared}/".startswith(f"{location}/") or f"{location}/".startswith(f"{spared}/")
        ):
            return lambda: _delete_own(location, snapshot.id, set())
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
    properties = {
        key: value
        for key, value in q.properties.items()
        if key not in (*_RESERVED, *_HIVE) and not key.startswith(_OPTION)
    }
    given = q.properties.get("location")
    if given is None and q.properties.get("external") == "true":
        raise UnsupportedError(
            f"external table {database}.{q.name} needs a LOCATION: say where its files are, or leave EXTERNAL out."
        )
    if q.properties.get("collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise UnsupportedError(
            f"table {database}.{q.name}: values are found by their bytes; leave DEFAULT COLLATION out."
        )
    if given is not None:
        given = absolute(given, lake.metastore.database_location(database))
    file_format = _format(q.properties)
    fields = q.schema["fields"]
    partition_by = tuple(_partition_column(transform) for transform in q.partitioning)
    if not fields:
        if given is None:
            raise UnsupportedError(
                f"table {database}.{q.name} has no columns: name them, or the LOCATION they can be read from."
            )
        fields, partition_by = _inferred(given, file_format, partition_by)
    check_properties(properties)
    columns = declared(fields, file_format)
    by_name = {column.name.lower(): column for column in columns}
    for i, name in enumerate(partition_by):
        column = by_name.get(name.lower())
        if column is None:
            raise ColumnNotFoundError(
                f"partition column {name} is not a column of the table: add it to the columns."
            )
        if not type_from_json(column.type).primitive:
            raise UnsupportedError(
                f"partition column {name} is of type {type_text(column.type)}; {_UNKEYABLE}."
            )
        if name.lower() in {other.lower() for other in partition_by[:i]}:
            raise UnsupportedError(f"partition column {name} is named twice in PARTITIONED BY.")
    if len(partition_by) == len(columns):
        raise UnsupportedError(
            f"table {database}.{q.name} has partition columns only: at least one column has to be in the files."
        )
    metadata = TableMetadata(
        columns=columns,
        partition_by=tuple(by_name[name.lower()].name for name in partition_by),
        format=file_format,
        location=given or "",
        external=given is not None,
        properties=properties,
        comment=q.properties.get("comment"),
        owner=q.properties.get("owner") or getpass.getuser(),
        created_at=int(time.time() * 1000),
        descending=_descending(properties, partition_by),
    )
    metadata = _indexed(metadata)
    _check_sorting(metadata)
    if given is None:  # last, as this one leaves a trace
        metadata = msgspec.structs.replace(metadata, location=_managed_location(lake, database, q.name))
    return metadata


def _format(properties: dict[str, str]) -> Literal["parquet", "orc"]:
    """Return the format that USING, STORED AS, or the classes that Hive's DDL names, ask for."""
    classes = " ".join(value for key, value in properties.items() if key in _HIVE[1:]).lower()
    named = properties.get("hive.stored-as") or properties.get("provider")
    if classes:
        named = next(
            (name for name in ("parquet", "orc") if all(name in x for x in classes.split())), classes
        )
    name = (named or "parquet").lower()
    if name in ("parquet", "parquetry"):
        return "parquet"
    if name == "orc":
        return "orc"
    raise UnsupportedError(
        f"tables are stored as parquet or orc, not {name}: say USING parquet or USING orc."
    )


def _partition_column(transform: p.Transform) -> str:
    if transform.name == "identity" and len(transform.columns) == 1 and len(transform.columns[0]) == 1:
        return transform.columns[0][0]
    clause = {
        "bucket": "CLUSTERED BY … INTO … BUCKETS",
        "sorted_bucket": "CLUSTERED BY … SORTED BY …",
        "cluster_by": "CLUSTER BY",
    }
    raise UnsupportedError(
        f"{clause.get(transform.name, 'PARTITIONED BY')} ({transform.text}) is not supported: PARTITIONED BY takes columns of "
        "the table, and the property sort-by those to sort files by."
    )


def _descending(properties: dict[str, str], partition_by: Sequence[str]) -> tuple[bool, ...]:
    down: set[str] = set()
    for name, descending in table_property(properties, "partition-order") or ():
        if name.lower() not in {column.lower() for column in partition_by}:
            raise PropertyError(
                f"table property 'partition-order' names {name!r}, which is not a partition column; those are "
                f"{', '.join(partition_by) or '(none)'}."
            )
        if descending:
            down.add(name.lower())
    return tuple(name.lower() in down for name in partition_by) if down else ()


def _indexed(metadata: TableMetadata) -> TableMetadata:
    """Return the metadata of a table without partitions, with the indexes that its property asks for."""
    lists = table_property(metadata.properties, PARTITION_INDEXES) or ()
    kept = {key: value for key, value in metadata.properties.items() if key != PARTITION_INDEXES}
    for columns in lists:
        index = new_index(metadata, columns, ready=True)
        metadata = msgspec.structs.replace(metadata, indexes=(*metadata.indexes, index))
    return msgspec.structs.replace(metadata, properties=kept)


def absolute(location: str, base: str | None = None) -> str:
    """Return a location as Hadoop writes it; a path without a scheme is the driver's own.

    Args:
        location: as the user wrote it.
        base: where relative paths begin; None: the working directory.
    """
    trimmed = re.sub(r"^file:/+", "file:/", location.rstrip("/") or "/")
    if _SCHEME.match(trimmed):
        return trimmed
    if base is not None and not trimmed.startswith("/"):
        return f"{absolute(base)}/{os.path.normpath(trimmed)}"
    return f"file:{os.path.abspath(trimmed)}"


def _managed_location(lake: Lake, database: str, name: str) -> str:
    """Make the folder of a managed table, where Hive would put it; one that is in use already is left alone.

    It is made now, so that no other table takes it for free: what is in it goes when this table is dropped.
    """
    plain = absolute(lake.metastore.table_location(database, name))
    for location in (plain, f"{plain}-{uuid.uuid4().hex[:8]}"):
        filesystem, path = open_location(location)
        try:
            if isinstance(filesystem, pafs.LocalFileSystem):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).mkdir()
            elif filesystem.get_file_info(path).type == pafs.FileType.NotFound:
                filesystem.create_dir(path)
            else:
                continue
        except FileExistsError:
            if not Path(path).exists():  # a folder above it is a file
                raise WarehouseError(f"{location} cannot be made: there is a file in its way.") from None
            continue
        except OSError as error:
            raise WarehouseError(
                f"the folder {location} of table {database}.{name} cannot be made: {error.strerror or error}. "
                "Give the user that runs Spark's driver the right to write there, or say LOCATION."
            ) from None
        return location
    raise WarehouseError(
        f"the folder {plain} cannot be made: its name is taken."
    )  # never twice by a random name


def _give_back(metadata: TableMetadata) -> None:
    """Remove the folder of a managed table that did not come to be."""
    if not metadata.external:
        filesystem, path = open_location(metadata.location)
        with contextlib.suppress(OSError):
            if isinstance(filesystem, pafs.LocalFileSystem):
                Path(path).rmdir()


def _inferred(
    location: str, file_format: str, partition_by: tuple[str, ...]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return columns read from the files of a location, and the partition columns its directories name."""
    try:
        frame = SparkSession.active().read.format(file_format).load(location)
    except AnalysisException as error:
        raise WarehouseError(
            f"the columns cannot be read from LOCATION {location}: {error.getCondition()}; name the columns, or a "
            f"folder that holds {file_format} files."
        ) from None
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
    name = _database(lake, q.namespace)
    lake.metastore.create_database(name, _located(lake, q.properties))


def _located(lake: Lake, properties: dict[str, str]) -> dict[str, str]:
    """Return a database's properties with its location made absolute; relative ones begin in the warehouse."""
    given = properties.get("location")
    return (
        properties if given is None else {**properties, "location": absolute(given, lake.metastore.warehouse)}
    )


def _alter_namespace(lake: Lake, q: p.AlterNamespace) -> None:
    record = lake.metastore.database(lake.database(q.namespace))
    properties = dict(record.properties)
    for change in q.changes:
        key, value = str(change["key"]), change["value"]
        if value is None:
            properties.pop(key, None)
        else:
            properties[key] = value
    lake.metastore.alter_database(record.name, _located(lake, properties))


def _drop_namespace(lake: Lake, q: p.DropNamespace) -> bool:
    database = lake.database(q.namespace)
    doomed = [_doomed(lake, database, name) for name in lake.metastore.tables(database)] if q.cascade else []
    lake.metastore.drop_database(database, cascade=q.cascade)
    for delete_files in filter(None, doomed):
        delete_files()
    return True


def _list_tables(lake: Lake, q: p.ListTables) -> list[str]:
    return list(lake.metastore.tables(lake.database(q.namespace)))


_INSTEAD = "write the rows as they are to be with INSERT OVERWRITE, which replaces whole partitions"


def _refuse(lake: Lake, q: p.Refuse) -> None:
    """Say that a statement is not offered, and what is."""
    if q.condition is not None:
        raise UnsupportedError(
            f"{q.statement} {lake.name}.{q.table.database}.{q.table.table} takes whole partitions only, and which "
            f"ones '{q.condition}' selects is not known before rows are read. Compare partition columns with "
            f"values, or {_INSTEAD}."
        )
    raise UnsupportedError(
        f"{q.statement} {lake.name}.{q.table.database}.{q.table.table} is not supported: {_INSTEAD}."
    )


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
    p.Refuse: _refuse,
}
