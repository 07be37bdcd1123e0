"""What a new table is, from what its statement says: columns, partition columns, format, place, indexes."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from parquetry.config import (
    BUCKETING_VERSION,
    PARTITION_INDEXES,
    SKEWED_BY,
    SKEWED_LOCATIONS,
    check_properties,
)
from parquetry.ddl.skewed_by import is_not_directories, parse_skewed_by
from parquetry.errors import (
    ColumnNotFoundError,
    PropertyError,
    UnsupportedError,
)
from parquetry.identifiers import joined_name
from parquetry.layout.arrangement import BucketSpec, SortColumn
from parquetry.layout.bucket_begin import bucket_begin
from parquetry.layout.list_bucketing_rules import Subject, require_allowed
from parquetry.layout.records import Column
from parquetry.layout.schema_json import Field, declared
from parquetry.maintenance.skew import is_relaxed, recorded
from parquetry.metastore.indexes import new_index
from parquetry.metastore.model import TableMetadata
from parquetry.planner import questions
from parquetry.planner.lake import Lake
from parquetry.planner.locations import external_location, managed_location, require_free_cells
from parquetry.planner.sorting import sort_columns
from parquetry.precedence import Settings, settle
from parquetry.types import type_text

RESERVED = (
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
_BUCKETS = ("bucket", "sorted_bucket")
_OF_SPARKS_TABLES = ("transient_lastDdlTime", "spark.sql.", "serialization.", "totalSize", "numFiles")
"""What names of properties begin with that Spark and Hive's metastore put on their tables themselves."""
_UNKEYABLE = "a partition column has to be a number, a string, a boolean, binary, a date or a timestamp"


def new_metadata(lake: Lake, database: str, q: questions.CreateTable | questions.StageTable) -> TableMetadata:
    """Return what a new table is, from what its statement says; each clause has a function of its own."""
    label = f"{database}.{q.name}"
    if isinstance(q, questions.CreateTable) and q.like is not None:
        q = msgspec.structs.replace(q, properties={**_like(q.like), **q.properties})
    _check_rules(label, q)
    _check_collation(label, q.properties)
    external = _external_location(lake, database, q)
    file_format = _format(q.properties)
    properties = _kept_properties(q.properties)
    fields, named = _fields(lake, label, q, external, file_format)
    check_properties(properties)
    settings = settle(properties=properties)
    columns = declared(fields, file_format)
    partition_by = _partition_by(label, columns, named)
    metadata = TableMetadata(
        columns=columns,
        partition_by=partition_by,
        format=file_format,
        location=external or "",
        external=external is not None,
        properties=properties,
        comment=q.properties.get("comment"),
        owner=q.properties.get("owner") or getpass.getuser(),
        created_at=int(time.time() * 1000),
        descending=_descending(settings, partition_by),
    )
    metadata = _indexed(metadata, settings)
    metadata = _skewed(metadata, lake, label)
    metadata = _bucketed(metadata, settings, q.partitioning)
    sort_columns(metadata, settings)  # refuses what files cannot be sorted by
    bucket_begin(metadata.properties, metadata.types_of_partitions)  # refuses what is no partition
    if external is None:  # last, as this one leaves a trace
        metadata = msgspec.structs.replace(metadata, location=managed_location(lake, database, q.name))
    return metadata


def _like(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what of a table's properties one like it gets: those of its user, its format, comment and heavy values."""
    return {
        key: value
        for key, value in _kept_properties(properties).items()
        if not key.startswith(_OF_SPARKS_TABLES) and key != SKEWED_LOCATIONS
    } | {key: properties[key] for key in ("provider", "comment") if key in properties}


def _check_rules(label: str, q: questions.CreateTable | questions.StageTable) -> None:
    """Make sure that clauses go together with directories for heavy values, if there are to be any.

    Raises:
        ListBucketingError: one does not.
    """
    clause = q.properties.get(SKEWED_BY)
    directories = (
        clause is not None and not is_not_directories(clause) and parse_skewed_by(clause).directories
    )
    asked = Subject(
        label=label,
        directories=directories,
        buckets=any(transform.name in _BUCKETS for transform in q.partitioning),
        external="location" in q.properties or q.properties.get("external") == "true",
        file_format=_named_format(q.properties),
        relaxed=is_relaxed(q.properties),
    )
    require_allowed(asked, "define")
    if isinstance(q, questions.StageTable) and q.mode == "create":  # which is for queries alone
        require_allowed(asked, "create as")


def _skewed(metadata: TableMetadata, lake: Lake, label: str) -> TableMetadata:
    """Return the metadata with the heavy values that its properties say.

    Raises:
        SkewError: they cannot be.
        LocationTakenError: a place that one of them is given is another, managed table's.
    """
    found, of_partition = recorded(metadata, lambda: lake.engine.time_zone)
    if of_partition is not None:
        raise PropertyError(
            f"Table property {SKEWED_LOCATIONS!r} names a partition, and a new table has none: leave PARTITION out."
        )
    require_free_cells(lake, label, found.arrangement.skew)
    return found


def _bucketed(
    metadata: TableMetadata, settings: Settings, partitioning: Sequence[questions.Transform]
) -> TableMetadata:
    """Return the metadata with the buckets that CLUSTERED BY … INTO … BUCKETS, or `bucket(n, …)`, asks for."""
    asked = [each for each in partitioning if each.name in _BUCKETS]
    if not asked:
        return metadata
    columns, to_sort_by, count = _bucket_arguments(asked[0])
    buckets = BucketSpec(
        tuple(metadata.column(name).physical for name in columns),
        count,
        settings[BUCKETING_VERSION],
        tuple(SortColumn(metadata.column(name).physical) for name in to_sort_by),
    )
    arrangement = msgspec.structs.replace(metadata.arrangement, buckets=buckets)
    metadata.require_arrangeable(arrangement)
    return msgspec.structs.replace(metadata, arrangement=arrangement)


def _bucket_arguments(transform: questions.Transform) -> tuple[list[str], list[str], int]:
    """Return the columns of buckets, those to sort them by, and their number."""
    at = next(i for i, argument in enumerate(transform.arguments) if "lit" in argument)
    named = [each.get("col") for each in transform.arguments]
    columns, to_sort_by = [[joined_name(path) for path in part if path] for part in (named[:at], named[at:])]
    if transform.name == "bucket":
        columns, to_sort_by = to_sort_by, []
    return columns, to_sort_by, int(transform.arguments[at]["lit"])


def _check_collation(label: str, properties: Mapping[str, str]) -> None:
    if properties.get("collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise UnsupportedError(
            f"Table {label}: values are found by their bytes; leave DEFAULT COLLATION out."
        )


def _external_location(
    lake: Lake, database: str, q: questions.CreateTable | questions.StageTable
) -> str | None:
    """Return where the files of an external table are; None for a managed one."""
    given = q.properties.get("location")
    if given is None and q.properties.get("external") == "true":
        raise UnsupportedError(
            f"External table {database}.{q.name} needs a LOCATION: say where its files are, or leave EXTERNAL out."
        )
    return None if given is None else external_location(lake, database, q.name, given)


def _kept_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that the table keeps as such: those that no clause of the statement stands for."""
    return {
        key: value
        for key, value in properties.items()
        if key not in (*RESERVED, *_HIVE) and not key.startswith(_OPTION)
    }


def _fields(
    lake: Lake,
    label: str,
    q: questions.CreateTable | questions.StageTable,
    external: str | None,
    file_format: str,
) -> tuple[list[Field], tuple[str, ...]]:
    """Return the fields of a table and the names of its partition columns, as stated or read from its files."""
    partition_by = tuple(_partition_column(each) for each in q.partitioning if each.name not in _BUCKETS)
    fields: list[Field] = q.schema["fields"]
    if fields:
        return fields, partition_by
    if external is None:
        raise UnsupportedError(
            f"Table {label} has no columns: name them, or the LOCATION they can be read from."
        )
    fields, found = lake.engine.inferred(external, file_format)
    partition_by = partition_by or found
    return _trailing(fields, partition_by), partition_by


def _partition_by(label: str, columns: Sequence[Column], named: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the partition columns as the columns have them.

    Raises:
        ColumnNotFoundError: one is not a column of the table.
        UnsupportedError: one cannot be a partition column, is named twice, or no other column is left.
    """
    by_name = {column.name.lower(): column for column in columns}
    for i, name in enumerate(named):
        column = by_name.get(name.lower())
        if column is None:
            raise ColumnNotFoundError(
                f"Partition column {name} is not a column of the table: add it to the columns."
            )
        _check_partition_column(name, column)
        if name.lower() in {other.lower() for other in named[:i]}:
            raise UnsupportedError(f"Partition column {name} is named twice in PARTITIONED BY.")
    if len(named) == len(columns):
        raise UnsupportedError(
            f"Table {label} has partition columns only: at least one column has to be in the files."
        )
    return tuple(by_name[name.lower()].name for name in named)


def _check_partition_column(name: str, column: Column) -> None:
    if not column.column_type.primitive:
        raise UnsupportedError(f"Partition column {name} is of type {type_text(column.type)}; {_UNKEYABLE}.")
    if "\0" in name:
        raise UnsupportedError(
            f"Partition column {name!r}: a directory's name cannot hold the character NUL; choose another name."
        )


def _format(properties: Mapping[str, str]) -> Literal["parquet", "orc"]:
    """Return the format that USING, STORED AS, or the classes that Hive's DDL names, ask for."""
    name = _named_format(properties)
    if name == "parquet":
        return "parquet"
    if name == "orc":
        return "orc"
    raise UnsupportedError(
        f"Tables are stored as parquet or orc, not {name}: say USING parquet or USING orc."
    )


def _named_format(properties: Mapping[str, str]) -> str:
    classes = " ".join(value for key, value in properties.items() if key in _HIVE[1:]).lower()
    named = properties.get("hive.stored-as") or properties.get("provider")
    if classes:
        named = next(
            (name for name in ("parquet", "orc") if all(name in x for x in classes.split())), classes
        )
    name = (named or "parquet").lower()
    return "parquet" if name == "parquetry" else name


def _partition_column(transform: questions.Transform) -> str:
    if transform.name == "identity" and len(transform.columns) == 1 and len(transform.columns[0]) == 1:
        return transform.columns[0][0]
    raise UnsupportedError(
        f"{_clause(transform)} is not supported: PARTITIONED BY takes columns of the table, and the property sort-by "
        "those to sort files by."
    )


def _clause(transform: questions.Transform) -> str:
    """Return the clause that a transform came by, as it may have been written."""
    if transform.name not in _BUCKETS:
        clause = "CLUSTER BY" if transform.name == "cluster_by" else "PARTITIONED BY"
        return f"{clause} ({transform.text})"
    at = next(i for i, argument in enumerate(transform.arguments) if "lit" in argument)
    count, named = transform.arguments[at]["lit"], [each.get("col") for each in transform.arguments]
    columns, to_sort_by = (
        ", ".join(joined_name(path) for path in part if path) for part in (named[:at] or named, named[at:])
    )
    sorting = f" SORTED BY ({to_sort_by})" if transform.name == "sorted_bucket" else ""
    return f"CLUSTERED BY ({columns}){sorting} INTO {count} BUCKETS"


def _descending(settings: Settings, partition_by: Sequence[str]) -> tuple[bool, ...]:
    down: set[str] = set()
    for name, descending in settings["partition-order"] or ():
        if name.lower() not in {column.lower() for column in partition_by}:
            raise PropertyError(
                f"Table property 'partition-order' names {name!r}, which is not a partition column; those are "
                f"{', '.join(partition_by) or '(none)'}."
            )
        if descending:
            down.add(name.lower())
    return tuple(name.lower() in down for name in partition_by) if down else ()


def _indexed(metadata: TableMetadata, settings: Settings) -> TableMetadata:
    """Return the metadata of a table without partitions, with the indexes that its property asks for."""
    kept = {key: value for key, value in metadata.properties.items() if key != PARTITION_INDEXES}
    for columns in settings[PARTITION_INDEXES] or ():
        index = new_index(metadata, columns, ready=True)
        metadata = msgspec.structs.replace(metadata, indexes=(*metadata.indexes, index))
    return msgspec.structs.replace(metadata, properties=kept)


def _trailing(fields: list[Field], partition_by: Sequence[str]) -> list[Field]:
    """Return fields with the partition columns last, as they are where files do not hold them.

    Polars, DuckDB and Hudi write them into the files, too, and Spark leaves them where they stand there.
    """
    places = {name.lower(): place for place, name in enumerate(partition_by)}
    return sorted(fields, key=lambda field: places.get(field["name"].lower(), -1))


def new_database(lake: Lake, namespace: list[str], table: str = "") -> str:
    """Return the database in which something is to be made."""
    if len(namespace) != 1:
        wanted = ".".join(filter(None, [lake.name, *namespace, table]))
        raise UnsupportedError(
            f"{wanted} cannot be made: databases do not nest, and a table is in one; say "
            f"{lake.name}.database or {lake.name}.database.table."
        )
    return namespace[0]
