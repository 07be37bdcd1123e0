"""Spark's answers to what the planner asks back: columns and footers, its time zone, its errors.

The Hive metastore of the active session needs Hive support.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from parquetry.compaction import Rewrite
from parquetry.config import HISTORY_STATEMENTS, PRUNING_HISTORY, SESSION_PREFIX, settle
from parquetry.data_files import (
    ArrowFooters,
    FileRecord,
    FooterVisitor,
    TableColumn,
    describe_mismatches,
    from_bridge,
    unknown_columns,
)
from parquetry.errors import FileCorruptError, FileMissingError, HiveError, TableExistsError, WarehouseError
from parquetry.joins import SETTINGS
from parquetry.layout import Counted, columns_from_fields
from parquetry.locations import join_location
from parquetry.metastore import Check, CountedColumn, TableMetadata, TableSnapshot
from parquetry.operations import FinishedQuery
from parquetry.planner import CHOSEN_FILES_OPTION, Failure, chosen_files, report_from_facts, report_from_json
from parquetry.progress import Progress
from parquetry.prune import Report
from parquetry.publishing import OWNED_BY, HivePartition, HiveTable
from parquetry.spark.active import active_session, bridge_class, java_class, java_error, session_of
from parquetry.spark.compaction import compact
from parquetry.spark.hadoop_files import HadoopFileSystems, storage_checks
from parquetry.spark.write.distinct_values import count_distinct
from parquetry.spark.write.heavy_hitters import count_values

_LOG = logging.getLogger("parquetry")
_MAX_REPORTED_FILES = 5
_FILES_PER_CALL = 1024


class SparkEngine:
    """The engine of this process's sessions. Each question comes from the active session."""

    file_systems = HadoopFileSystems()
    """Opens locations by the Hadoop file systems of the active session."""

    can_rewrite = True
    """A session writes files."""

    @property
    def time_zone(self) -> str:
        """Return the session's time zone."""
        zone: str = active_session().conf.get("spark.sql.session.timeZone")
        return zone

    def hidden_option(self, reference: str, /) -> str:
        """Return the option of a catalog that a question names by a reference. The bridge keeps it."""
        door = bridge_class(SparkContext._active_spark_context._jvm, "protocol.Bridge")
        return bytes(door.hiddenOption(reference)).decode()

    def data_files(
        self,
        file_format: str,
        location: str,
        paths: Sequence[str],
        visitor: FooterVisitor | None = None,
    ) -> list[FileRecord]:
        """Return the records of files; see `FooterReader.data_files`. The bridge reads the footers of ORC."""
        if file_format == "parquet":
            return ArrowFooters().data_files(file_format, location, paths, visitor)
        spark = active_session()
        door = bridge_class(spark._jvm, "datafiles.OrcStatistics")
        files: list[FileRecord] = []
        for start in range(0, len(paths), _FILES_PER_CALL):
            batch = paths[start : start + _FILES_PER_CALL]
            whole = [join_location(location, path) for path in batch]
            answers = json.loads(door.read(spark._jsparkSession, whole))
            for path, answer in zip(batch, answers, strict=True):
                if "error" in answer:
                    kind = FileMissingError if answer["missing"] else FileCorruptError
                    message = (
                        f"The file '{answer['path']}' is not a whole ORC file that can be read: {answer['error']}. "
                        "Remove or restore it."
                    )
                    if visitor is None or answer["missing"]:
                        raise kind(message)
                    visitor.broken[path] = message
                    continue
                files.append(msgspec.structs.replace(from_bridge(answer), path=path))
        return files

    def infer_columns(self, location: str, file_format: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Return the columns of the files of a location; see `Engine.infer_columns`."""
        try:
            frame = active_session().read.format(file_format).load(location)
        except (Py4JJavaError, CapturedException) as error:
            if file_format == "parquet" and (hint := unknown_columns(location)):
                raise WarehouseError(
                    f"The columns cannot be read from LOCATION {location}: {hint}; or name the other columns."
                ) from None
            raise WarehouseError(
                f"The columns cannot be read from LOCATION {location}: {_reason(error)}; name the columns, or a "
                f"folder that holds {file_format} files."
            ) from None
        relation = frame._jdf.queryExecution().analyzed().relation()
        fields: list[dict[str, Any]] = frame.schema.jsonValue()["fields"]
        folders = tuple(relation.partitionSchema().fieldNames())
        if file_format == "parquet" and (
            mixed := describe_mismatches(location, columns_from_fields(fields), folders)
        ):
            _LOG.warning(
                "The columns of LOCATION %s were read from one of its files, and others differ: %s.",
                location, "; ".join(mixed[:_MAX_REPORTED_FILES]),
            )  # fmt: skip
        return fields, folders

    def target_file_size(self, metadata: TableMetadata) -> int:
        """Return the bytes that a file of a table should have, by the session's settings and the table's."""
        size: int = settle(session=_session(), properties=metadata.properties)["target-file-size"]
        return size

    def storage_checks(self, location: str) -> list[Check]:
        """Check the session's settings for the file system of a location."""
        return list(storage_checks(active_session(), location))

    def compact(
        self,
        table: str,
        snapshot: TableSnapshot,
        rewrites: Sequence[Rewrite],
        operation: str,
        progress: Progress,
        summary: Mapping[str, str] | None = None,
    ) -> TableSnapshot:
        """Write files of a table anew, and commit; see `Engine.compact`."""
        return compact(self, table, snapshot, rewrites, _session(), (operation, summary or {}), progress)

    def count_distinct(
        self, table: str, snapshot: TableSnapshot, columns: Sequence[TableColumn]
    ) -> list[CountedColumn]:
        """Count distinct values in one pass; see `Engine.count_distinct`."""
        rows = active_session().read.option("versionAsOf", str(snapshot.version)).table(table)
        return count_distinct(rows, columns)

    def heavy_values(
        self,
        table: str,
        snapshot: TableSnapshot,
        where: str | None,
        columns: Sequence[TableColumn],
        share: float,
        files: Sequence[str] | None = None,
    ) -> list[Counted]:
        """Count how often values occur in each partition; see `Engine.heavy_values`."""
        reader = active_session().read.option("versionAsOf", str(snapshot.version))
        metadata = snapshot.metadata
        with ExitStack() as reads:
            if files is not None:
                reader = reader.option(CHOSEN_FILES_OPTION, reads.enter_context(chosen_files(iter(files))))
            rows = reader.table(table)
            return count_values(
                rows if where is None else rows.where(where),
                list(zip(metadata.partition_by, snapshot.partition_types, strict=True)),
                [column.name for column in columns],
                [column.column_type for column in columns],
                share,
            )

    def delete_rows(self, table: str, condition: str) -> None:
        """Run a DELETE whose text no history records; see `Engine.delete_rows`."""
        # a session of its own, which knows all that this one does: others use this one's settings meanwhile
        session = session_of(active_session()._jsparkSession.cloneSession())
        session.conf.set(SESSION_PREFIX + HISTORY_STATEMENTS, "false")
        session.conf.set(SESSION_PREFIX + PRUNING_HISTORY, "off")
        session.sql(f"DELETE FROM {table} WHERE {condition}")

    def count_rows(self, table: str, condition: str) -> int:
        """Return the number of rows that satisfy a condition; see `Engine.count_rows`."""
        count: int = _unrecorded_session().read.table(table).where(condition).count()
        return count

    def may_have_rows(self, table: str, version: int, condition: str) -> bool:
        """Return whether a version has a row that satisfies a condition; see `Engine.may_have_rows`."""
        rows = _unrecorded_session().read.option("versionAsOf", str(version)).table(table)
        try:
            return bool(rows.where(condition).limit(1).count())
        except AnalysisException:
            return True

    def hive(self) -> SparkHive:
        """Return the session's Hive metastore. If the session has none, the first call of a method fails."""
        return SparkHive()

    def report(self, query: str, *, of_run: bool) -> Report:
        """Return the report of a query, or of its newest run; see `Engine.report`."""
        spark = active_session()
        if of_run:
            queries = bridge_class(spark._jvm, "reports.FinishedQueries")
            return report_from_json(queries.reportOfRun(spark._jsparkSession, query, list(SETTINGS)))
        reports = bridge_class(spark._jvm, "reports.Reports")
        return report_from_json(reports.ofSql(spark._jsparkSession, query, list(SETTINGS)))

    def finished_queries(self, count: int, /) -> list[FinishedQuery]:
        """Return the last queries of the session; see `Engine.finished_queries`."""
        spark = active_session()
        queries = bridge_class(spark._jvm, "reports.FinishedQueries")
        answer = json.loads(queries.reports(spark._jsparkSession, count, list(SETTINGS)))
        return [
            FinishedQuery(
                each["query"],
                each["at"] * 1000,
                each["milliseconds"],
                each["statement"],
                report_from_facts(each["report"]),
            )
            for each in answer
        ]

    def flush_history(self) -> None:
        """Have queries of the application's sessions recorded; see `Engine.flush_history`."""
        bridge_class(active_session()._jvm, "reports.FinishedQueries").flushHistory()

    def failure(self, error: Exception, /) -> Failure | None:
        """Keep an error of Spark's own in the JVM, which raises it again after the planner's answer."""
        if not isinstance(error, Py4JJavaError | CapturedException):
            return None
        door = bridge_class(SparkContext._active_spark_context._jvm, "protocol.Bridge")
        java = java_error(error)
        return Failure("SPARK", door.keep(java))


def _unrecorded_session() -> SparkSession:
    """Return a copy of the active session that keeps no history: its conditions are to be erased."""
    session = session_of(active_session()._jsparkSession.cloneSession())
    session.conf.set(SESSION_PREFIX + PRUNING_HISTORY, "off")
    return session


def _session() -> dict[str, str]:
    """Return the settings of the active session that are ours."""
    settings = active_session().conf.getAll
    return {key: value for key, value in settings.items() if key.startswith(SESSION_PREFIX)}


def _reason(error: Py4JJavaError | CapturedException) -> str:
    """Return why Spark could not read a location: the error's condition, or else Java's message."""
    condition = error.getCondition() if isinstance(error, CapturedException) else None
    java = java_error(error)
    return condition or str(java.toString())


_PARTITIONS_PER_CALL = 500


class SparkHive:
    """Implements `publishing.hive.HiveMetastore` by the active session."""

    def __init__(self) -> None:
        self._spark = active_session()
        self._door = java_class(self._spark._jvm, "org.apache.spark.sql.hive.parquetry.HiveTables")

    def put_table(self, table: HiveTable) -> bool:
        """Create or change a table, and create its database if it is missing."""
        known = self._call("parameters", table.database, table.name)
        if known is not None and known.get(OWNED_BY) != table.parameters[OWNED_BY]:
            raise TableExistsError(
                f"Hive has a table {table.database}.{table.name} already that was not published from this one: publish "
                "under another name, or drop Hive's table first."
            )
        self._call("putTable", _json(table), known is not None)
        return known is None

    def put_partitions(
        self, table: HiveTable, partitions: Iterable[HivePartition], progress: Progress
    ) -> tuple[int, int, int]:
        """Create, change and drop a table's partitions until they are the given ones."""
        there = set(self._call("partitionNames", table.database, table.name))
        columns = [column.name for column in table.partition_columns]
        given = {self._door.partitionName(columns, list(each.values)): each for each in partitions}
        new = [each for name, each in given.items() if name not in there]
        old = [each for name, each in given.items() if name in there]
        gone = sorted(there - given.keys())
        done = 0
        for batch, known in ((new, False), (old, True)):
            rest = iter(batch)
            while some := list(islice(rest, _PARTITIONS_PER_CALL)):
                self._call("putPartitions", _json(table), _json(some), known)
                done += len(some)
                progress("Telling Hive of partitions", done, len(given))
        self._call("dropPartitions", table.database, table.name, gone)
        return len(new), len(old), len(gone)

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._door, name)(self._spark._jsparkSession, *arguments)
        except (Py4JJavaError, CapturedException) as error:
            java = error._origin if isinstance(error, CapturedException) else error.java_exception
            if "ParquetryException" in java.getClass().getName():
                raise
            raise HiveError(
                f"Hive's metastore refused a call: {java.toString()}. Look into its log. Earlier calls took effect, and can be "
                "repeated."
            ) from None


def _json(record: Any) -> str:
    return msgspec.json.encode(record).decode()
