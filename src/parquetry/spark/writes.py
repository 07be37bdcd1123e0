"""INSERT: rows become files where they will stay, and one commit shows them.

Rows are clustered by partition, so that a partition gets one file for each `target-file-size` and not one for each
task. Nothing is moved and nothing is overwritten: files get names never used before, and until the commit nobody
reads them. What a failed write leaves is deleted at once, or by `vacuum` if the process died.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from parquetry.config import table_property
from parquetry.errors import CommitUnknownError, ParquetryError
from parquetry.layout.location import join_location, open_location
from parquetry.layout.paths import parse_partition_path, stored_value
from parquetry.metastore.model import DataFile
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.spark import protocol as p
from parquetry.spark.footers import data_files
from parquetry.spark.lake import Lake
from parquetry.spark.predicates import conjuncts, replace_where, whole
from parquetry.spark.schema import physical_schema
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")
_ROW_BYTES = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 3, "bigint": 6, "float": 4, "double": 8, "date": 2}
_OTHER_ROW_BYTES = 12


class Written(NamedTuple):
    """The files that one write made for one partition."""

    values: tuple[Value, ...]
    files: tuple[DataFile, ...]


def write(lake: Lake, q: p.Write, data: Any) -> dict[str, int]:
    """Write the rows of a JVM DataFrame into a table, and commit.

    Raises:
        CommitConflictError: another writer changed what this one overwrites.
        UnsupportedError: the overwritten filter does not select whole partitions.
    """
    snapshot = lake.snapshot(q.table)
    where = conjuncts(snapshot, q.predicates)
    if q.mode == "overwrite":
        whole(snapshot, where, _OVERWRITE)  # before hours of work
    frame = DataFrame(data, SparkSession(SparkContext._active_spark_context, data.sparkSession()))
    files = write_files(snapshot, frame)
    try:
        written = collect(snapshot, frame.sparkSession, files)
        transaction = snapshot.begin(_OPERATIONS[q.mode])
        if q.mode == "truncate":
            transaction.replace_where(None)
        elif q.mode == "overwrite":
            replace_where(transaction, where, _OVERWRITE)
        for part in written:
            (transaction.replace if q.mode == "dynamic" else transaction.append)(part.values, part.files)
        lake.hold(transaction.commit())
    except CommitUnknownError:
        raise  # the files may be live
    except BaseException:
        delete_files(file["path"] for file in files)
        raise
    return {"files": sum(len(w.files) for w in written), "partitions": len(written)}


_OVERWRITE = "INSERT OVERWRITE of"
_OPERATIONS = {"append": "append", "truncate": "overwrite", "overwrite": "overwrite", "dynamic": "overwrite partitions"}


def write_files(snapshot: TableSnapshot, frame: DataFrame) -> list[dict[str, Any]]:
    """Write rows as data files of a table, which nobody sees yet.

    Returns:
        For each file its directory below the table, its path, bytes and time of change.
    """
    metadata = snapshot.metadata
    spark = frame.sparkSession
    physical = StructType.fromJson(physical_schema(metadata.columns))
    names = [column.physical for column in metadata.partition_columns]
    columns = []
    for given, field in zip(frame.columns, physical.fields, strict=True):
        column = F.col(f"`{given.replace('`', '``')}`").cast(field.dataType)
        if field.name in names and field.dataType.typeName() in ("string", "varchar", "char"):
            column = F.nullif(column, F.lit(""))  # a directory's name cannot hold it; Hive and Spark do the same
        columns.append(column.alias(field.name))
    rows = frame.select(*columns)
    door = spark._jvm.org.apache.spark.sql.parquetry.FileWriter
    target = table_property(metadata.properties, "target-file-size")
    sort_by = [metadata.column(name).physical for name in table_property(metadata.properties, "sort-by") or ()]
    if table_property(metadata.properties, "distribution") == "auto" and (names or not _arranged(frame)):
        # shuffled rows are about twice as large as the files they end in
        rows = DataFrame(door.cluster(rows._jdf, names, 2 * target), spark)
    if names or sort_by:
        rows = rows.sortWithinPartitions(*(f"`{name.replace('`', '``')}`" for name in [*names, *sort_by]))
    options = {
        "timeZone": "UTC",  # timestamps in paths; see types.text_from_value
        "maxRecordsPerFile": str(max(1, int(target / _row_bytes(snapshot)))),
        **{key: value for key, value in metadata.properties.items() if key.startswith(("parquet.", "orc."))},
    }
    compression = table_property(metadata.properties, "compression")
    if compression is not None:
        options["compression"] = compression
    prefix = f"pq-{snapshot.id.hex()}-{uuid.uuid4().hex}"
    written = door.write(rows._jdf, metadata.format, metadata.location, names, prefix, options)
    files: list[dict[str, Any]] = json.loads(written)
    return files


def _arranged(frame: DataFrame) -> bool:
    """Return whether the query says itself how its rows are to be arranged (ORDER BY, DISTRIBUTE BY, a hint)."""
    top = frame._jdf.queryExecution().analyzed().nodeName()
    return top in ("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions")


def _row_bytes(snapshot: TableSnapshot) -> float:
    """Return the size of a row in a file: as it was so far, or as the types let guess."""
    totals = snapshot.totals
    if totals.rows and totals.bytes:
        return totals.bytes / totals.rows
    return sum(_ROW_BYTES.get(c.column_type.name, _OTHER_ROW_BYTES) for c in snapshot.metadata.data_columns)


def collect(snapshot: TableSnapshot, spark: SparkSession, files: list[dict[str, Any]]) -> list[Written]:
    """Return the files of a write by partition, with the statistics of their footers; empty ones are deleted."""
    metadata = snapshot.metadata
    names = [column.physical for column in metadata.partition_columns]
    types = metadata.partition_types
    root = metadata.location
    relative = [f"{file['directory']}/{_base(file['path'])}".lstrip("/") for file in files]
    read = data_files(spark, metadata.format, root, relative)
    delete_files(join_location(root, file.path) for file in read if not file.rows)
    by_key: dict[bytes, list[DataFile]] = defaultdict(list)
    values_of: dict[bytes, tuple[Value, ...]] = {}
    for written, file in zip(files, read, strict=True):
        if not file.rows:
            continue
        directory = written["directory"]
        values = tuple(map(stored_value, parse_partition_path(directory, names, types, "UTC"))) if names else ()
        key = snapshot.key_of(values)
        values_of.setdefault(key, values)
        by_key[key].append(file)
    return [Written(values_of[key], _placed(snapshot, values_of[key], by_key[key])) for key in sorted(by_key)]


def _placed(snapshot: TableSnapshot, values: tuple[Value, ...], files: list[DataFile]) -> tuple[DataFile, ...]:
    """Return files with their paths as a partition records them: relative to its location, if they are below it."""
    partition = snapshot.partition(values)
    base = (partition.location if partition is not None else snapshot.default_location(values)) + "/"
    root = snapshot.metadata.location
    placed = []
    for file in files:
        path = join_location(root, file.path)
        placed.append(msgspec.structs.replace(file, path=path.removeprefix(base)))
    return tuple(placed)


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def delete_files(paths: Iterable[str]) -> None:
    """Delete files that no commit names; what cannot be deleted is left to `vacuum`."""
    for path in paths:
        try:
            filesystem, local = open_location(path)
            filesystem.delete_file(local)
        except (OSError, ParquetryError) as error:
            _LOG.warning("the uncommitted file %s could not be deleted: %s", path, error)
