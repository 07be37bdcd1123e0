"""Work out a new table's metadata from its statement: columns, partitioning, format, location, indexes."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from parquetry.config import (
    BUCKETING_VERSION,
    CLUSTERED_BY,
    HIVE_COMPATIBLE,
    PARTITION_INDEXES,
    SKEWED_BY,
    SKEWED_LOCATIONS,
    SORT_BY,
    Settings,
    check_codec,
    check_properties,
    our_names,
    settle,
)
from parquetry.data_files import TableColumn
from parquetry.ddl import is_not_directories, parse_skewed_by
from parquetry.definition import (
    Subject,
    bucket_begin,
    is_relaxed,
    require_allowed,
    require_columns,
    translate_cluster_by,
    with_constraints,
)
from parquetry.errors import ColumnNotFoundError, PropertyError, UnsupportedError
from parquetry.layout import Field, declare_columns
from parquetry.metastore import TableMetadata, new_index
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import questions
from parquetry.planner.tables.create_layout import (
    BUCKET_TRANSFORMS,
    CLUSTER_TRANSFORM,
    bucketed,
    descending_columns,
    skewed,
)
from parquetry.types import type_text

RESERVED_PROPERTIES = (
    "provider",
    "location",
    "comment",
    "owner",
    "external",
    "is_managed_location",
    "table_type",
    "collation",
)
_OPTION_PREFIX = "option."
"""Prefix of Spark's second copy of each of OPTIONS, for `SHOW CREATE TABLE`. Only the first is kept."""
_HIVE_PROPERTIES = ("hive.stored-as", "hive.input-format", "hive.output-format", "hive.serde")
_SPARK_PROPERTY_PREFIXES = (
    "transient_lastDdlTime", "spark.sql.", "serialization.", "totalSize", "numFiles", "clusteringColumns",
)  # fmt: skip
"""Prefixes of property names that Spark and Hive's metastore set on their tables themselves."""
_FILE_TRANSFORMS = (*BUCKET_TRANSFORMS, CLUSTER_TRANSFORM)
"""Names of the transforms that define how files are arranged within a partition."""
_UNKEYABLE_REASON = (
    "a partition column has to be a number, a string, a boolean, binary, a date, a timestamp or an interval: give the table a column "
    "of such a type with what partitions are to be told apart by"
)


def new_metadata(
    lake: Lake,
    database: str,
    q: questions.CreateTable | questions.StageTable,
    replaced: TableMetadata | None = None,
) -> TableMetadata:
    """Return a new table's metadata from its statement. Each clause has a function of its own.

    Args:
        lake: the catalog.
        database: of the table.
        q: the statement.
        replaced: the metadata of the table that the statement replaces. The new table keeps its location,
            unless the statement names another one.
    """
    label = f"{database}.{q.name}"
    q = msgspec.structs.replace(q, properties=our_names(q.properties))
    if isinstance(q, questions.CreateTable) and q.like is not None:
        q = _alike(q, q.like)
    _check_rules(label, q)
    _check_collation(label, q.properties)
    external = _external_location(lake, database, q)
    file_format = _format(q.properties)
    properties = _kept_properties(q.properties)
    fields, named = _fields(lake, label, q, external, file_format)
    check_properties(properties)
    check_codec(properties, file_format)
    columns = declare_columns(fields, file_format)
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
    )
    metadata = with_constraints(metadata, label, q.constraints)
    metadata = _clustered(label, metadata, q.partitioning)
    settings = settle(properties=metadata.properties)
    metadata = msgspec.structs.replace(metadata, descending=descending_columns(settings, partition_by))
    metadata = _indexed(metadata, settings)
    metadata = skewed(metadata, lake, label)
    metadata = bucketed(metadata, label, q.partitioning)
    require_columns(metadata, settings)
    bucket_begin(metadata.properties, metadata.types_of_partitions)  # refuses what is no partition
    if external is not None:
        return metadata
    if replaced is not None:
        return msgspec.structs.replace(metadata, location=replaced.location, external=replaced.external)
    # last, as this makes a folder
    return msgspec.structs.replace(metadata, location=lake.locations.make_managed(database, q.name))


def _is_bucketed_by_spark(q: questions.CreateTable, like: Mapping[str, str]) -> bool:
    """Return whether the other table has buckets by Spark's own hash; ours name the hash in a property."""
    spread = any(transform.name in BUCKET_TRANSFORMS for transform in q.partitioning)
    return (
        spread
        and not {CLUSTERED_BY} & (like.keys() | q.properties.keys())
        and like.get("provider", "hive").lower() != "hive"
    )


def _alike(q: questions.CreateTable, like: Mapping[str, str]) -> questions.CreateTable:
    """Return the question with the properties of the other table, where the statement has none of its own.

    These are the user's properties, and its format, comment, heavy values, buckets and order.
    """
    kept = {
        key: value
        for key, value in _kept_properties(our_names(like)).items()
        if not key.startswith(_SPARK_PROPERTY_PREFIXES) and key not in (SKEWED_LOCATIONS, HIVE_COMPATIBLE)
    } | {key: like[key] for key in ("provider", "comment") if key in like}
    if _is_bucketed_by_spark(q, like):
        kept[BUCKETING_VERSION] = "spark"
    properties = {**kept, **q.properties}
    said = [
        *(BUCKET_TRANSFORMS if CLUSTERED_BY in properties else ()),
        *([CLUSTER_TRANSFORM] if SORT_BY in properties else ()),
    ]
    partitioning = [
        each for each in q.partitioning if each.name not in said
    ]  # the property of the other table says the same
    return msgspec.structs.replace(q, properties=properties, partitioning=partitioning)


def _check_collation(label: str, properties: Mapping[str, str]) -> None:
    if properties.get("collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise UnsupportedError(
            f"Table {label}: values are found by their bytes; leave DEFAULT COLLATION out."
        )


def _external_location(
    lake: Lake, database: str, q: questions.CreateTable | questions.StageTable
) -> str | None:
    """Return the location of an external table's files, or None for a managed table."""
    location = q.properties.get("location")
    if location is None and q.properties.get("external") == "true":
        raise UnsupportedError(
            f"External table {database}.{q.name} needs a LOCATION: say where its files are, or leave EXTERNAL out."
        )
    return None if location is None else lake.locations.external(database, q.name, location)


def _kept_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that the table keeps as such. The others stand for clauses of the statement."""
    return {
        key: value
        for key, value in properties.items()
        if key not in (*RESERVED_PROPERTIES, *_HIVE_PROPERTIES) and not key.startswith(_OPTION_PREFIX)
    }


def _fields(
    lake: Lake,
    label: str,
    q: questions.CreateTable | questions.StageTable,
    external: str | None,
    file_format: str,
) -> tuple[list[Field], tuple[str, ...]]:
    """Return a table's fields and the names of its partition columns, from the statement or the files."""
    partition_by = tuple(
        _partition_column(each) for each in q.partitioning if each.name not in _FILE_TRANSFORMS
    )
    fields: list[Field] = q.schema["fields"]
    if fields:
        return fields, partition_by
    if external is None:
        raise UnsupportedError(
            f"Table {label} has no columns: name them, or the LOCATION they can be read from."
        )
    fields, found = lake.engine.infer_columns(external, file_format)
    partition_by = partition_by or found
    return _trailing(fields, partition_by), partition_by


def _partition_by(label: str, columns: Sequence[TableColumn], named: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the partition columns in the letter case of the columns.

    Raises:
        ColumnNotFoundError: the table has no such column.
        UnsupportedError: a column cannot be a partition column, is named twice, or no other column remains.
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


def _check_partition_column(name: str, column: TableColumn) -> None:
    if not column.column_type.keyed:
        raise UnsupportedError(
            f"Partition column {name} is of type {type_text(column.type)}; {_UNKEYABLE_REASON}."
        )
    if "\0" in name:
        raise UnsupportedError(
            f"Partition column {name!r}: a directory's name cannot hold the character NUL; choose another name."
        )


def _partition_column(transform: questions.Transform) -> str:
    if transform.name == "identity" and len(transform.columns) == 1 and len(transform.columns[0]) == 1:
        return transform.columns[0][0]
    raise UnsupportedError(
        f"PARTITIONED BY ({transform.text}) is not supported: it takes columns of the table and bucket(n, column), and CLUSTER BY "
        "those to sort files by. Give the table a column with that value, written with its rows, and partition by it."
    )


def _clustered(
    label: str, metadata: TableMetadata, partitioning: Sequence[questions.Transform]
) -> TableMetadata:
    """Return the metadata with CLUSTER BY as a property.

    Raises:
        PropertyError: the statement sets the property, too.
    """
    clustering = next((each for each in partitioning if each.name == CLUSTER_TRANSFORM), None)
    if clustering is None:
        return metadata
    if SORT_BY in metadata.properties:
        raise PropertyError(
            f"Table {label}: CLUSTER BY and the property {SORT_BY!r}, which is {metadata.properties[SORT_BY]!r}, say the same: "
            "give one."
        )
    text = translate_cluster_by(label, metadata, clustering.columns)
    return msgspec.structs.replace(metadata, properties={**metadata.properties, SORT_BY: text})


def _indexed(metadata: TableMetadata, settings: Settings) -> TableMetadata:
    """Return the metadata of a table without partitions, with the indexes that its property lists."""
    kept = {key: value for key, value in metadata.properties.items() if key != PARTITION_INDEXES}
    for columns in settings[PARTITION_INDEXES] or ():
        index = new_index(metadata, columns, ready=True)
        metadata = msgspec.structs.replace(metadata, indexes=(*metadata.indexes, index))
    return msgspec.structs.replace(metadata, properties=kept)


def _trailing(fields: list[Field], partition_by: Sequence[str]) -> list[Field]:
    """Return fields with the partition columns last, the usual order, where files do not contain them.

    Polars, DuckDB and Hudi write them into the files, too. Then Spark leaves them where the files have them.
    """
    positions = {name.lower(): position for position, name in enumerate(partition_by)}
    return sorted(fields, key=lambda field: positions.get(field["name"].lower(), -1))


def new_database(lake: Lake, namespace: list[str], table: str = "") -> str:
    """Return the database for a new object."""
    lake.refuse_branch(
        namespace,
        table,
        "made or replaced by a statement",
        f"CALL {lake.name}.system.branch makes one, and INSERT writes it",
    )
    if len(namespace) != 1:
        wanted = ".".join(filter(None, [lake.name, *namespace, table]))
        raise UnsupportedError(
            f"{wanted} cannot be made: databases do not nest, and a table is in one; say "
            f"{lake.name}.database or {lake.name}.database.table."
        )
    return namespace[0]


def _check_rules(label: str, q: questions.CreateTable | questions.StageTable) -> None:
    """Make sure that the clauses allow directories for heavy values, if the table is to have some.

    Raises:
        ListBucketingError: a clause does not.
    """
    text = q.properties.get(SKEWED_BY)
    clause = None if text is None or is_not_directories(text) else parse_skewed_by(text)
    subject = Subject(
        label=label,
        directories=clause is not None and clause.directories,
        buckets=CLUSTERED_BY in q.properties
        or any(each.name in BUCKET_TRANSFORMS for each in q.partitioning),
        external="location" in q.properties or q.properties.get("external") == "true",
        file_format=_named_format(q.properties),
        relaxed=is_relaxed(q.properties, measured=clause is not None and clause.tuples is None),
    )
    require_allowed(subject, "define")
    if isinstance(q, questions.StageTable) and q.mode == "create":  # only for CREATE TABLE AS
        require_allowed(subject, "create as")


def _format(properties: Mapping[str, str]) -> Literal["parquet", "orc"]:
    """Return the format in USING, in STORED AS, or in the class names of Hive's DDL."""
    name = _named_format(properties)
    if name == "parquet":
        return "parquet"
    if name == "orc":
        return "orc"
    raise UnsupportedError(
        f"Tables are stored as parquet or orc, not {name}: say USING parquet or USING orc."
    )


def _named_format(properties: Mapping[str, str]) -> str:
    classes = " ".join(value for key, value in properties.items() if key in _HIVE_PROPERTIES[1:]).lower()
    named = properties.get("hive.stored-as") or properties.get("provider")
    if classes:
        named = next(
            (name for name in ("parquet", "orc") if all(name in x for x in classes.split())), classes
        )
    name = (named or "parquet").lower()
    return "parquet" if name == "parquetry" else name
