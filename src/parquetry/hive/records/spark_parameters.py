"""The parameters that make a table of Hive's metastore one of Spark's own.

Then Spark takes names, types, defaults and buckets from them, reads files by its own readers, and prunes
partitions and buckets. Other clients ignore them. They have the names of columns in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec

from parquetry.data_files import FileRecord, TableColumn
from parquetry.locations import base_name
from parquetry.metastore import TableSnapshot, ViewDefinition
from parquetry.publishing import flat_files

_SCHEMA = "spark.sql.sources.schema"
_VERSION = {"spark.sql.create.version": "3.5.0"}
_KEPT_METADATA = ("comment", "CURRENT_DEFAULT", "EXISTS_DEFAULT", "__CHAR_VARCHAR_TYPE_STRING")
_BUCKET_IN_NAME = re.compile(r".*_(\d+)(?:\..*)?", re.ASCII | re.DOTALL)
"""The bucket in a file's name, as Spark finds it (`BucketingUtils`)."""
_MAX_COMPARED_PARTITIONS = 1_000
"""Partitions whose files are compared with the table's buckets. Spark knows buckets of a table, and none of a
partition. So a table with more partitions has no buckets there."""


def table_parameters(snapshot: TableSnapshot) -> dict[str, str]:
    """Return the parameters of a table."""
    metadata = snapshot.metadata
    columns = (*metadata.data_columns, *metadata.partition_columns)
    parameters = {
        "spark.sql.sources.provider": metadata.format,
        "spark.sql.partitionProvider": "catalog",
        **_VERSION,
        **_schema(columns),
    }
    if metadata.partition_by:
        names = [column.physical for column in metadata.partition_columns]
        parameters |= _numbered("schema.numPartCols", "schema.partCol", names)
    return parameters | _buckets(snapshot)


def view_parameters(columns: Iterable[TableColumn], view: ViewDefinition) -> dict[str, str]:
    """Return the parameters of a view: the names of its query's columns, and settings to parse it."""
    names = list(view.query_columns) or [column.name for column in columns]
    parameters = {
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": ".".join(view.namespace) or "default",
        "view.query.out.numCols": str(len(names)),
        **_VERSION,
        **_schema(columns),
    }
    parameters |= {f"view.query.out.col.{number}": name for number, name in enumerate(names)}
    return parameters | {f"view.sqlConfig.{name}": value for name, value in view.settings.items()}


def _schema(columns: Iterable[TableColumn]) -> dict[str, str]:
    fields = [
        {
            "name": column.physical,
            "type": column.type,
            "nullable": True,
            "metadata": {key: column.metadata[key] for key in _KEPT_METADATA if key in column.metadata},
        }
        for column in columns
    ]
    return {_SCHEMA: msgspec.json.encode({"type": "struct", "fields": fields}).decode()}


def _numbered(count: str, each: str, values: Sequence[str]) -> dict[str, str]:
    """Return a list as Spark writes it: its length, and each value by its number."""
    numbered = {f"spark.sql.sources.{each}.{number}": value for number, value in enumerate(values)}
    return {f"spark.sql.sources.{count}": str(len(values)), **numbered}


def _buckets(snapshot: TableSnapshot) -> dict[str, str]:
    """Return the parameters of buckets, or none if Spark would look for rows in wrong files."""
    buckets = snapshot.metadata.arrangement.buckets
    if buckets is None or buckets.version != "spark" or buckets.unsettled:
        return {}
    partitions = list(islice(snapshot.partitions(), _MAX_COMPARED_PARTITIONS + 1))
    if len(partitions) > _MAX_COMPARED_PARTITIONS:
        return {}
    in_order = bool(buckets.sort) and not any(each.descending for each in buckets.sort)
    for partition in partitions:
        own = partition.arrangement.buckets
        if own is None or (own.version, own.columns, own.count) != (
            buckets.version,
            buckets.columns,
            buckets.count,
        ):
            return {}
        files = flat_files(partition)
        if not all(_is_in_named_bucket(file) for file in files):
            return {}
        in_order = in_order and own.sort == buckets.sort and all(file.sorted for file in files)
    sort = [each.column for each in buckets.sort] if in_order else []
    return {
        "spark.sql.sources.schema.numBuckets": str(buckets.count),
        **_numbered("schema.numBucketCols", "schema.bucketCol", buckets.columns),
        **(_numbered("schema.numSortCols", "schema.sortCol", sort) if sort else {}),
    }


def _is_in_named_bucket(file: FileRecord) -> bool:
    match = _BUCKET_IN_NAME.fullmatch(base_name(file.path))
    return match is not None and file.bucket == int(match[1])
