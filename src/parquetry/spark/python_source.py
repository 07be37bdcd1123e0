"""`spark.read.format("parquetry")` without the bridge's jar: Spark's Python data source, to read only.

It is a stopgap for sessions that take no jar. Rows pass a Python process, Spark does not tell a source which
columns it needs, and joins bring no values. The catalog (`session.configure`) has none of these limits.

Filters that Spark hands over become conditions of ours.

A filter that is not understood is left to Spark, which tests it on the rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, datasource
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from parquetry.catalog import Catalog, Scan, ScanTask
from parquetry.errors import ConfigurationError
from parquetry.predicate import Compare, In, IsNull, Not, Predicate, contains, ends_with, starts_with
from parquetry.types import ColumnType, Value, type_from_json

if TYPE_CHECKING:
    import pyarrow as pa

_STORAGE_PREFIX = "storage."
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Spark's setting, from 4.1 on. Without it, Spark refuses sources that take filters."""
_OPTIONS = ("warehouse", "store", "table", "where", "columns", "version", "timestamp", "limit", "time_zone")


def register_data_source(spark: SparkSession) -> None:
    """Make `spark.read.format("parquetry")` known to a session that has no jar of ours.

    Options of a read are `table`, and `warehouse` and `store` as for `parquetry.open`. `columns` are names,
    separated by commas. `where`, `version`, `timestamp`, `limit` and `time_zone` are as for `Catalog.scan`.
    `storage.NAME` is a storage option of `parquetry.open`. From then on the session hands filters to Python
    data sources.

    Args:
        spark: the session, from Spark 4.0 on.

    Raises:
        ConfigurationError: the session has the jar. Its catalog has none of the source's limits.
    """
    spark.conf.set(_PUSHDOWN, "true")
    try:
        spark.dataSource.register(ParquetrySource)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        raise ConfigurationError(
            "This session has Parquetry's jar, which needs no data source: read spark.table('lake.db.t'); see parquetry.configure."
        ) from None


class ParquetrySource(DataSource):  # type: ignore[misc]
    """The source that `register_data_source` registers."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "parquetry"

    def schema(self) -> StructType:
        """Return the schema of the rows."""
        with _open_catalog(self.options) as catalog:
            return _spark_schema(_scan(catalog, self.options))

    def reader(self, schema: StructType) -> _SourceReader:  # noqa: ARG002 - Spark's method
        """Return the reader of the rows."""
        return _SourceReader(dict(self.options))


@dataclass
class _FilesOfTask(InputPartition):  # type: ignore[misc]
    """The files that one task reads."""

    task: ScanTask


class _SourceReader(DataSourceReader):  # type: ignore[misc]
    """Plans the files in one process, and reads them in others."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._conditions: list[Predicate] = []

    def pushFilters(self, filters: Sequence[Any]) -> Iterator[Any]:  # noqa: N802 - Spark's method
        """Take the filters that are understood, and yield the others. Spark calls it from 4.1 on."""
        with _open_catalog(self._options) as catalog:
            columns = _scan(catalog, self._options).table_columns
        types = {column.name: column.column_type for column in columns}
        limited = "limit" in self._options
        for each in filters:
            condition = None if limited else read_filter(each, types)
            if condition is None:
                yield each
            else:
                self._conditions.append(condition)

    def partitions(self) -> list[_FilesOfTask]:
        """Return the tasks."""
        with _open_catalog(self._options) as catalog:
            scan = _scan(catalog, self._options)
            for condition in self._conditions:
                scan = scan.filter(condition)
            return [_FilesOfTask(task) for task in scan.tasks()]

    def read(self, partition: _FilesOfTask) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task's files. Without files, Spark passes a partition of its own."""
        if not isinstance(partition, _FilesOfTask):
            return iter(())
        return partition.task.read(_storage_options(self._options))


def _open_catalog(options: Mapping[str, str]) -> Catalog:
    return Catalog.open(options.get("warehouse"), options.get("store"), _storage_options(options))


def _storage_options(options: Mapping[str, str]) -> dict[str, str] | None:
    storage = {
        name.removeprefix(_STORAGE_PREFIX): value
        for name, value in options.items()
        if name.startswith(_STORAGE_PREFIX)
    }
    return storage or None


def _scan(catalog: Catalog, options: Mapping[str, str]) -> Scan:
    for name in options:
        if name.lower() not in _OPTIONS and not name.startswith(_STORAGE_PREFIX):
            raise ConfigurationError(
                f"The option {name!r} is unknown: known are {', '.join(_OPTIONS)} and {_STORAGE_PREFIX}NAME."
            )
    table = options.get("table") or options.get("path")
    if not table:
        raise ConfigurationError("No table is named: add .option('table', 'db.t').")
    columns = options.get("columns")
    version, timestamp, limit = options.get("version"), options.get("timestamp"), options.get("limit")
    return catalog.scan(
        table,
        options.get("where"),
        None if columns is None else [name.strip() for name in columns.split(",")],
        version=None if version is None else _integer("version", version),
        timestamp=None if timestamp is None else dt.datetime.fromisoformat(timestamp),
        limit=None if limit is None else _integer("limit", limit),
        time_zone=options.get("time_zone"),
    )


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"The option {name} is {text!r}: write a whole number.") from None


def _spark_schema(scan: Scan) -> StructType:
    fields = [
        {
            "name": column.name,
            "type": _without_lengths(column.type),
            "nullable": column.nullable,
            "metadata": {},
        }
        for column in scan.table_columns
    ]
    return StructType.fromJson({"type": "struct", "fields": fields})


def _without_lengths(type: Any) -> Any:
    """Return a type of Spark's schema JSON with STRING for CHAR and VARCHAR, which sources do not have."""
    match type:
        case str() if type_from_json(type).textual:
            return "string"
        case dict():
            return {
                key: value if key == "metadata" else _without_lengths(value) for key, value in type.items()
            }
        case list():
            return [_without_lengths(each) for each in type]
    return type


_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_LIKES = {"StringStartsWith": starts_with, "StringEndsWith": ends_with, "StringContains": contains}


def read_filter(each: Any, types: Mapping[str, ColumnType]) -> Predicate | None:
    """Return a filter of Spark's as a condition, or None if it is left to Spark.

    Args:
        each: one of the classes in `pyspark.sql.datasource`.
        types: of the table's columns, by name.
    """
    if isinstance(each, datasource.Not):
        child = read_filter(each.child, types)
        return None if child is None else Not(child)
    path: tuple[str, ...] = getattr(each, "attribute", ())
    type = types.get(path[0]) if len(path) == 1 else None
    if type is None:
        return None
    name, kind = path[0], each.__class__.__name__
    if kind in ("IsNull", "IsNotNull"):
        return IsNull(name) if kind == "IsNull" else Not(IsNull(name))
    if not type.facts.python_literals:
        return None
    if kind in _COMPARISONS:
        return Compare(_COMPARISONS[kind], name, _value(each.value), type)
    if kind == "In":
        values = tuple(map(_value, each.value))
        return In(name, tuple(value for value in values if value is not None), type, None in values)
    if kind in _LIKES and type.unpadded:
        return _LIKES[kind](name, each.value)
    return None


def _value(value: Any) -> Value:
    """Return a literal in the form of `parquetry.types`."""
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return bytes(value) if isinstance(value, bytearray) else value
