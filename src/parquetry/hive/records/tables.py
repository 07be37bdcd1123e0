"""A version of a table, or a view, as Hive's record of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parquetry.data_files import type_parts
from parquetry.errors import UnsupportedError
from parquetry.exchange import HIVE, HIVE_IN_SPARK, FileCheck
from parquetry.hive.names import CATALOG
from parquetry.hive.records.spark_parameters import table_parameters, view_parameters
from parquetry.hive.wire.encoding import Encoded, encode, encode_value
from parquetry.hive.wire.idl import Container, definitions
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.publishing import (
    HiveColumn,
    HiveStorage,
    bucket_parameters,
    flat_files,
    hive_columns,
    hive_refusal,
    hive_storage,
    statistics,
)
from parquetry.serving import portable_text

_MILLISECONDS = 1000
_PLACEHOLDER = (HiveColumn("col", "array<string>", "from deserializer"),)
_MAX_SECONDS = (1 << 31) - 1
"""Hive has times of 32 bits."""


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A table's record, and what its partitions share with it.

    Attributes:
        encoded: the record of the table.
        columns: the columns that are not partition columns, written.
        partition_names: the names of partition columns, in lower case.
    """

    encoded: Encoded
    columns: Encoded
    partition_names: tuple[str, ...]


def seconds(milliseconds: int) -> int:
    """Return a time as Hive has it, in seconds."""
    return min(milliseconds // _MILLISECONDS, _MAX_SECONDS)


def require_served(snapshot: TableSnapshot, spark_alone: bool, utc: bool) -> None:
    """Make sure that readers of Hive's metastore would read a table's own rows.

    Args:
        snapshot: the table.
        spark_alone: whether all readers are Spark's.
        utc: whether all of them read times in UTC.

    Raises:
        UnsupportedError: they would read others.
    """
    readers = HIVE_IN_SPARK if spark_alone else HIVE
    readers.raise_if_refused(snapshot.label, hive_refusal(snapshot.metadata, readers, utc=utc))
    if not spark_alone:
        HIVE.raise_if_refused(snapshot.label, HIVE.widened_refusal(snapshot.metadata, ()))


def require_files(snapshot: TableSnapshot, partition: PartitionSnapshot) -> None:
    """Make sure that all readers, and not only Spark's, read a partition's files right.

    Raises:
        UnsupportedError: some would read them otherwise.
    """
    check = FileCheck(snapshot.metadata, HIVE)
    for file in partition.each_file():
        check.require_readable(snapshot.label, file.path, file)


def table_record(
    snapshot: TableSnapshot,
    name: str,
    location: str,
    whole: PartitionSnapshot | None,
    *,
    database: str | None = None,
    more: Mapping[str, str] | None = None,
) -> TableRecord:
    """Return the record of a table.

    Args:
        snapshot: the table's version.
        name: its name in the call.
        location: what the client gets as its folder.
        whole: the only partition of a table without partition columns, if it has one.
        database: its database's name in the metastore, or None for ours.
        more: parameters besides.
    """
    metadata = snapshot.metadata
    arrangement = metadata.arrangement if whole is None else whole.arrangement
    files = None if whole is None else flat_files(whole)
    types = {column.physical: column.column_type for column in metadata.columns}
    storage = hive_storage(metadata.format, location, types, arrangement, files, arrangement)
    columns = encode_value(_list_of("FieldSchema"), _fields(data_columns(snapshot)))
    keys = hive_columns(snapshot.label, metadata.partition_columns)
    parameters = {
        "EXTERNAL": "TRUE",
        "parquetry.version": str(snapshot.version),
        **_modified(snapshot),
        **({} if metadata.comment is None else {"comment": metadata.comment}),
        **bucket_parameters(arrangement, storage),
        **({} if files is None else statistics(files)),
        **table_parameters(snapshot),
        **(more or {}),
    }
    record = {
        **_head(snapshot, name),
        "dbName": database or snapshot.database,
        "sd": storage_record(columns, storage, path=True),
        "partitionKeys": _fields(keys),
        "parameters": parameters,
        "tableType": "EXTERNAL_TABLE",
    }
    encoded = encode(definitions().records["Table"], record)
    return TableRecord(encoded, columns, tuple(key.name.lower() for key in keys))


def data_columns(snapshot: TableSnapshot) -> tuple[HiveColumn, ...]:
    """Return the columns that are not partition columns, as Hive has them.

    If Hive lacks the type of one, there is a placeholder for all, as Spark writes it: its clients read the
    columns from Spark's own parameters.
    """
    columns = snapshot.metadata.data_columns
    if any(
        part.leaf is not None and not part.leaf.facts.hive for each in columns for part in type_parts(each)
    ):
        return _PLACEHOLDER
    return hive_columns(snapshot.label, columns)


def view_record(snapshot: TableSnapshot, name: str, catalog: str | None) -> Encoded:
    """Return the record of a view.

    Args:
        snapshot: the view.
        name: its name in the call.
        catalog: the warehouse's name in Spark, which the view's text may have, or None.

    Raises:
        UnsupportedError: the text has names that clients do not have.
    """
    metadata, view = snapshot.metadata, snapshot.metadata.view
    assert view is not None
    if catalog is None:
        raise UnsupportedError(
            f"View {snapshot.label} is not served: start serve-hive with --catalog and the catalog's name in Spark."
        )
    text = portable_text(snapshot.label, view, catalog, "clients of Hive's metastore")
    record = {
        **_head(snapshot, name),
        "sd": {
            "cols": _fields(hive_columns(snapshot.label, metadata.columns)),
            "inputFormat": "org.apache.hadoop.mapred.TextInputFormat",
            "outputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
            "compressed": False,
            "numBuckets": -1,
            "serdeInfo": {"parameters": {}},
            "bucketCols": [],
            "sortCols": [],
            "parameters": {},
        },
        "partitionKeys": [],
        "parameters": {
            **_modified(snapshot),
            **({} if metadata.comment is None else {"comment": metadata.comment}),
            **view_parameters(metadata.columns, view),
        },
        "viewOriginalText": text,
        "viewExpandedText": text,
        "tableType": "VIRTUAL_VIEW",
    }
    return encode(definitions().records["Table"], record)


def storage_record(columns: Encoded, storage: HiveStorage, *, path: bool = False) -> dict[str, Any]:
    """Return Hive's record of a storage.

    Args:
        columns: the columns, written.
        storage: the storage.
        path: whether Spark looks for the location here, too.
    """
    buckets, skew = storage.buckets, storage.skew
    parameters = {"serialization.format": "1", **({"path": storage.location} if path else {})}
    return {
        "cols": columns,
        "location": storage.location,
        "inputFormat": storage.input_format,
        "outputFormat": storage.output_format,
        "compressed": False,
        "numBuckets": -1 if buckets is None else buckets.count,
        "serdeInfo": {"serializationLib": storage.serde, "parameters": parameters},
        "bucketCols": [] if buckets is None else list(buckets.columns),
        "sortCols": []
        if buckets is None
        else [{"col": name, "order": int(not down)} for name, down in buckets.sort],
        "parameters": {},
        "skewedInfo": {
            "skewedColNames": [] if skew is None else list(skew.columns),
            "skewedColValues": [] if skew is None else [list(values) for values in skew.values],
            "skewedColValueLocationMaps": {} if skew is None else dict(skew.locations),
        },
        "storedAsSubDirectories": skew is not None and skew.directories,
    }


def _head(snapshot: TableSnapshot, name: str) -> dict[str, Any]:
    return {
        "tableName": name,
        "dbName": snapshot.database,
        "owner": snapshot.metadata.owner or "",
        "createTime": seconds(snapshot.metadata.created_at),
        "lastAccessTime": 0,
        "retention": 0,
        "privileges": None,
        "temporary": False,
        "rewriteEnabled": False,
        "catName": CATALOG,
        "ownerType": 1,
    }


def _modified(snapshot: TableSnapshot) -> Mapping[str, str]:
    return {"transient_lastDdlTime": str(seconds(snapshot.committed_at))}


def _fields(columns: tuple[HiveColumn, ...]) -> list[dict[str, Any]]:
    """Return columns as Hive has them: their names are in lower case."""
    return [{"name": each.name.lower(), "type": each.type, "comment": each.comment} for each in columns]


def _list_of(record: str) -> Container:
    return Container("list", definitions().records[record])
