"""The Hive metastore of the active session, which needs Hive support."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from parquetry.errors import HiveError, TableExistsError
from parquetry.progress import Progress
from parquetry.publishing import OWNED_BY, HivePartition, HiveTable
from parquetry.spark.active import active_session, java_class

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
