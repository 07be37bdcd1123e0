"""INSERT: rows become files where they will stay, and one commit shows them.

Rows are clustered by partition, so that a partition gets one file for each `target-file-size` and not one for
each task. Nothing is moved and nothing is overwritten: files get names never used before, and until the
commit nobody reads them. What a failed write leaves is deleted at once, or by `vacuum` if the process died.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from parquetry.config import check_properties, table_property
from parquetry.errors import CommitUnknownError, PropertyError, ValueTypeError
from parquetry.identifiers import quoted
from parquetry.keys import successor
from parquetry.layout.file_names import new_prefix
from parquetry.layout.location import require_writable
from parquetry.layout.paths import parse_partition_path, stored_value
from parquetry.layout.places import base_name, join_location, path_within
from parquetry.metastore.model import DataFile
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner import protocol as p
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conjuncts, replace_where, whole
from parquetry.planner.schema import physical_schema
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Compare, IsNull
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.spark.replaced import CHECKED, by_partition, check_partitions, checked_rows, outside
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")
_SHUFFLED_TO_WRITTEN = 2
"""Shuffled rows are about twice as large as the files they end in."""
_CLUSTERS = 1000
"""Tasks to cluster into, at least, before adaptive execution packs the small ones: were there few, a task
would hold many partitions, be found too large, and be split right through all of them."""


class Written(NamedTuple):
    """The files that one write made for one partition."""

    values: tuple[Value, ...]
    files: tuple[DataFile, ...]


def write(lake: Lake, q: p.Write, data: Any) -> dict[str, int]:
    """Write the rows of a JVM DataFrame into a table, and commit.

    Raises:
        CommitConflictError: another writer changed what this one overwrites.
        PropertyError: a write option cannot be used.
        UnsupportedError: the overwritten filter does not select whole partitions.
    """
    snapshot = lake.snapshot(q.table)
    mode, properties = _settled(snapshot, q)
    where = [_stored(snapshot, predicate) for predicate in conjuncts(snapshot, q.predicates)]
    of_rows = () if any(name.lower() == CHECKED for name in q.write_options) else where
    if mode == "overwrite":
        whole(snapshot, where, _OVERWRITE)  # before hours of work
        by_partition(snapshot, of_rows)
    require_writable(snapshot.metadata.location, lake.full_name(snapshot))
    spark = SparkSession(SparkContext._active_spark_context, data.sparkSession())
    files = write_files(snapshot, DataFrame(data, spark), properties, of_rows)
    try:
        written = collect(lake, snapshot, files)
        check_partitions(snapshot, of_rows, (part.values for part in written))
        transaction = snapshot.begin(_OPERATIONS[mode])
        if mode == "truncate":
            transaction.replace_where(None)
        elif mode == "overwrite":
            replace_where(transaction, where, _OVERWRITE)
        for part in written:
            (transaction.replace if mode == "dynamic" else transaction.append)(part.values, part.files)
        static = _static_partition(snapshot, of_rows) if mode == "overwrite" and not written else None
        if static is not None:
            transaction.append(
                static, ()
            )  # as Hive has it, a partition that is overwritten by nothing is empty
        lake.hold(transaction.commit())
    except CommitUnknownError:
        raise  # the files may be live
    except BaseException:
        delete_files([file["path"] for file in files], snapshot.metadata.location)
        raise
    return {"files": sum(len(w.files) for w in written), "partitions": len(written)}


_LONGEST_NAME = 255
_OVERWRITE = "INSERT OVERWRITE of"
_OPERATIONS = {
    "append": "append",
    "truncate": "overwrite",
    "overwrite": "overwrite",
    "dynamic": "overwrite partitions",
}


def _stored(snapshot: TableSnapshot, predicate: Filter) -> Filter:
    """Return the predicate of a static partition as rows are stored: those given p = '' are under NULL."""
    match predicate.node:
        case Compare("=" | "<=>", name, value) if name in snapshot.metadata.partition_by:
            if value is not None and stored_value(value) is None:
                return Filter(IsNull(name))
    return predicate


def _static_partition(snapshot: TableSnapshot, where: Sequence[Filter]) -> tuple[Value, ...] | None:
    """Return the one partition that INSERT OVERWRITE names; None for a filter, and for fewer columns."""
    values: dict[str, Value] = {}
    for predicate in where:
        match predicate.node:
            case Compare("<=>", name, value):
                values[name] = value
            case IsNull(name):
                values[name] = None
            case _:
                return None
    names = snapshot.metadata.partition_by
    return tuple(values[name] for name in names) if names and set(values) == set(names) else None


def _settled(snapshot: TableSnapshot, q: p.Write) -> tuple[str, dict[str, str]]:
    """Return how to write: the statement's mode and the table's properties, unless options say otherwise.

    Options that are nobody's are left alone, as Spark's own sources leave them.
    """
    mode: str = q.mode
    given = {}
    for name, value in q.write_options.items():
        if name.lower() == "partitionoverwritemode":
            if value.lower() not in ("static", "dynamic"):
                raise PropertyError(
                    f"write option partitionOverwriteMode is {value!r}: say static or dynamic."
                )
            if mode in ("truncate", "dynamic") and snapshot.metadata.partition_by:
                mode = "dynamic" if value.lower() == "dynamic" else "truncate"
        elif name.startswith(("parquet.", "orc.")):
            given[name] = value
        elif name.lower() in _OPTIONS:
            check_properties({name.lower(): value})
            given[name.lower()] = value
        elif name.lower() == "maxrecordsperfile":
            given["maxRecordsPerFile"] = value
    return mode, {**snapshot.metadata.properties, **given}


_OPTIONS = ("target-file-size", "compression", "sort-by", "distribution")


def write_files(
    snapshot: TableSnapshot, frame: DataFrame, properties: dict[str, str], where: Sequence[Filter] = ()
) -> list[dict[str, Any]]:
    """Write rows as data files of a table, which nobody sees yet.

    Args:
        snapshot: the table.
        frame: its columns, in order.
        properties: the table's, or what holds for this write instead.
        where: the conditions, joined by AND, that each row has to satisfy; see `replaced`.

    Returns:
        For each file its directory below the table, its path, bytes and time of change.

    Raises:
        ValueTypeError: a partition's value makes no name of a directory.
        PropertyError: the writer of the files cannot use a property or an option.
        OutsideConditionError: a row does not satisfy the conditions.
    """
    metadata = snapshot.metadata
    spark = frame.sparkSession
    names = [column.physical for column in metadata.partition_columns]
    rows = checked_rows(snapshot, where, frame.select(*_columns(snapshot, frame.columns)))
    door = spark._jvm.org.apache.spark.sql.parquetry.FileWriter
    target = table_property(properties, "target-file-size")
    sort_by = [metadata.column(name).physical for name in table_property(properties, "sort-by") or ()]
    if table_property(properties, "distribution") == "auto" and (names or sort_by or not _arranged(frame)):
        ranges = [] if names else sort_by
        settings = _clustering(spark, names, sort_by)
        size = _SHUFFLED_TO_WRITTEN * target
        rows = DataFrame(door.cluster(rows._jdf, names, ranges, size, settings), spark)
    if names or sort_by:
        rows = rows.sortWithinPartitions(*(quoted(name) for name in [*names, *sort_by]))
    options = {
        key: value for key, value in properties.items() if key.startswith(("parquet.", "orc.", "maxRecords"))
    }
    options["timeZone"] = "UTC"  # timestamps in paths; see types.text_from_value
    compression = table_property(properties, "compression")
    if compression is not None:
        options["compression"] = compression
    totals = snapshot.totals
    row_bytes = totals.bytes / totals.rows if totals.rows and totals.bytes else 0.0
    try:
        written = door.write(
            rows._jdf,
            metadata.format,
            metadata.location,
            names,
            new_prefix(snapshot.id),
            target,
            row_bytes,
            options,
        )
    except (Py4JJavaError, CapturedException) as error:
        refusal = _raised(error)
        if refusal.startswith(_unnameable(snapshot)):
            raise ValueTypeError(refusal) from None
        if (told := outside(snapshot, where, refusal)) is not None:
            raise told from None
        if _names_too_much(f"{error} {getattr(error, '_stackTrace', '')}"):
            raise ValueTypeError(
                f"a value of a partition column ({', '.join(metadata.partition_by)}) of table {snapshot.label} is too "
                f"long for the name of a directory, which most file systems limit to {_LONGEST_NAME} bytes, escapes included: "
                "shorten it, or partition by another column. Nothing was written."
            ) from None
        given = {key: value for key, value in options.items() if key != "timeZone"}
        if given and (reason := _not_an_argument(error)) is not None:
            raise PropertyError(
                f"table {snapshot.label} cannot be written with {given}: {reason}. Change the properties or the options "
                "of the write. Nothing was written."
            ) from None
        raise
    files: list[dict[str, Any]] = json.loads(written)
    return files


def _raised(error: Py4JJavaError | CapturedException) -> str:
    """Return the text that a task raised by `raise_error`, which a user's own query may do as well."""
    if not isinstance(error, CapturedException) or error.getCondition() != "USER_RAISED_EXCEPTION":
        return ""
    parameters: dict[str, str] = error.getMessageParameters() or {}
    return parameters.get("errorMessage", "")


def _not_an_argument(error: Py4JJavaError | CapturedException) -> str | None:
    """Return what Java says of a value that it cannot use, where nobody has given that error a class."""
    cause = error._origin if isinstance(error, CapturedException) else error.java_exception
    if isinstance(error, CapturedException) and error.getCondition() is not None:
        return None
    while cause.getCause() is not None:
        cause = cause.getCause()
    name = cause.getClass().getName()
    return str(cause.toString()) if name in ("java.lang.IllegalArgumentException", _NO_NUMBER) else None


_NO_NUMBER = "java.lang.NumberFormatException"


def _unnameable(snapshot: TableSnapshot) -> str:
    return f"table {snapshot.label}: a directory's name cannot hold what partition column "


def _names_too_much(trace: str) -> bool:
    """Return whether a write failed because a directory's name was too long; local disks do not say so."""
    if "PathComponentTooLongException" in trace or "File name too long" in trace:
        return True
    failed = re.search(r"Mkdirs failed to create (.*)", trace)
    return failed is not None and any(len(name.encode()) > _LONGEST_NAME for name in failed[1].split("/"))


def _clustering(spark: SparkSession, names: list[str], sort_by: list[str]) -> dict[str, str]:
    """Return the settings of Spark that clustering rows needs, whatever the session's own are."""
    adaptive = "spark.sql.adaptive"
    known = f"{adaptive}.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions"
    clusters = max(_CLUSTERS, *(int(spark.conf.get(key, None) or 0) for key in known))
    settings = {
        f"{adaptive}.enabled": "true",  # how many files there are to be is known only once the rows are
        f"{adaptive}.coalescePartitions.enabled": "true",
        # a split partition would be sorted piece by piece
        f"{adaptive}.optimizeSkewsInRebalancePartitions.enabled": "false" if sort_by else "true",
    }
    if names or sort_by:
        settings[f"{adaptive}.coalescePartitions.initialPartitionNum"] = str(clusters)
    if names:  # a partition stays in one task, however many there are: keep all cores busy
        settings[f"{adaptive}.coalescePartitions.parallelismFirst"] = "true"
    else:  # each task makes a file
        settings[f"{adaptive}.coalescePartitions.minPartitionNum"] = "1"
    return settings


def _columns(snapshot: TableSnapshot, given: list[str]) -> list[Column]:
    """Return expressions that make of the given columns those of the files."""
    metadata = snapshot.metadata
    physical = StructType.fromJson(physical_schema(metadata.columns))
    in_path = {column.physical for column in metadata.partition_columns}
    columns = []
    for name, field in zip(given, physical.fields, strict=True):
        column = sf.col(quoted(name)).cast(field.dataType)
        kind = field.dataType.typeName()
        if field.name in in_path and kind in ("string", "varchar", "char", "binary"):
            refusal = (
                f"{_unnameable(snapshot)}{field.name} is given: bytes that are not UTF-8 text, or the character NUL. "
                "Write them as text, with hex() or base64(). Nothing was written."
            )
            text = column.cast("string")
            fits = sf.is_valid_utf8(text) & ~sf.contains(text, sf.lit("\0"))
            column = sf.when(~fits, sf.raise_error(sf.lit(refusal)).cast(field.dataType)).otherwise(column)
            if kind != "binary":
                column = sf.nullif(
                    column, sf.lit("")
                )  # a directory's name cannot hold it; Hive and Spark do the same
        columns.append(column.alias(field.name))
    return columns


def _arranged(frame: DataFrame) -> bool:
    """Return whether the query says itself how its rows are arranged (ORDER BY, DISTRIBUTE BY, a hint)."""
    plan = frame._jdf.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias", "View", "Filter", "GlobalLimit", "LocalLimit"):
        plan = plan.children().head()
    return plan.nodeName() in ("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions")


def collect(lake: Lake, snapshot: TableSnapshot, files: list[dict[str, Any]]) -> list[Written]:
    """Return the files of a write by partition, with their footers' statistics; empty ones are deleted."""
    metadata = snapshot.metadata
    names = [column.physical for column in metadata.partition_columns]
    types = metadata.partition_types
    root = metadata.location
    relative = [f"{file['directory']}/{base_name(file['path'])}".lstrip("/") for file in files]
    read = lake.engine.data_files(metadata.format, root, relative)
    delete_files([join_location(root, file.path) for file in read if not file.rows], root)
    by_key: dict[bytes, list[DataFile]] = defaultdict(list)
    values_of: dict[bytes, tuple[Value, ...]] = {}
    for made, file in zip(files, read, strict=True):
        if not file.rows:
            continue
        directory = made["directory"]
        values = (
            tuple(map(stored_value, parse_partition_path(directory, names, types, "UTC"))) if names else ()
        )
        key = snapshot.key_of(values)
        values_of.setdefault(key, values)
        by_key[key].append(file)
    keys = sorted(by_key)
    plan = ScanPlan(tuple(KeyScan("get", key, successor(key), None) for key in keys))
    located = {partition.key: partition.location for partition in snapshot.partitions(plan)}
    written = []
    for key in keys:
        values = values_of[key]
        base = located.get(key) or snapshot.default_location(values)
        written.append(Written(values, tuple(_placed(file, root, base) for file in by_key[key])))
    return written


def _placed(file: DataFile, root: str, base: str) -> DataFile:
    """Return a file with the path that its partition records: relative to its location, if below it."""
    return msgspec.structs.replace(file, path=path_within(base, join_location(root, file.path)))


def delete_files(paths: Sequence[str], location: str) -> None:
    """Delete files that no commit names; what cannot be deleted is left to `vacuum`.

    Args:
        paths: the files.
        location: of their table; directories below it that become empty go, too.
    """
    if not paths:
        return
    session = SparkSession.active()
    door = session._jvm.org.apache.spark.sql.parquetry.FileWriter
    for failure in door.delete(session._jsparkSession, location, list(paths)):
        _LOG.warning("an uncommitted file could not be deleted: %s", failure)
