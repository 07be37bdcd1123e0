"""Plain Spark beside Parquetry: the same rows, read by Spark's own sources, and what Spark opened of them.

Spark reads the files that Parquetry has written, in their order, with the partitions that their directories
name; it has listed them before the clock starts. Directories within partitions it does not understand, so of
a table with such directories it has the same rows partitioned by the same column, in as many files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession

from demo.lake import DATABASE, Lake
from demo.outcome import Read
from demo.tables import LAYOUTS, RANGES
from demo.tpcds import Raw

OWN_LAYOUTS = {"visits": "year"}
"""Tables that plain Spark has in files of its own, with the column that these are partitioned by."""


class PlainSpark:
    """A session of Spark alone, with a view for each table.

    Args:
        spark: to share the cores with.
        lake: where the tables are.
        raw: the rows.
        tables: the bare names.
    """

    def __init__(self, spark: SparkSession, lake: Lake, raw: Raw, tables: Sequence[str]) -> None:
        self.session = spark.newSession()
        self._roots: dict[str, str] = {}
        with lake.catalog() as catalog:
            for table in tables:
                name = f"{DATABASE}.{table}"
                if table in OWN_LAYOUTS:
                    paths = [self._write(lake, raw, table, catalog.table(name).files)]
                elif table in RANGES:  # earlier versions have files in this folder, too
                    paths = [file.path for file in catalog.files(name)]
                else:
                    paths = [catalog.table(name).location]
                self._roots[_path(paths[0])] = table
                self.session.read.parquet(*paths).createOrReplaceTempView(table)

    def _write(self, lake: Lake, raw: Raw, table: str, files: int) -> str:
        """Write a table partitioned as Spark's users do, if it is not there yet, and return its folder."""
        folder = f"{lake.plain}/{table}"
        if not self._exists(f"{folder}/_SUCCESS"):
            rows = self.session.read.parquet(str(raw.file(table)))
            key = OWN_LAYOUTS[table]
            tasks = max(1, round(files / rows.select(key).distinct().count()))
            rows.repartition(tasks).write.mode("overwrite").partitionBy(key).parquet(folder)
        return folder

    def _exists(self, location: str) -> bool:
        path, files = self._hadoop(location)
        return bool(files.exists(path))

    def delete(self, location: str) -> None:
        """Delete a folder; a missing one is no error."""
        path, files = self._hadoop(location)
        files.delete(path, True)

    def _hadoop(self, location: str) -> tuple[Any, Any]:
        """Return a location's path and file system, as Hadoop has them."""
        jvm: Any = self.session._jvm
        path = jvm.org.apache.hadoop.fs.Path(location)
        return path, path.getFileSystem(self.session._jsparkSession.sessionState().newHadoopConf())

    def read_of(self, frame: DataFrame, tables: frozenset[str]) -> Read:
        """Return what Spark opened of some tables, as the metrics of its scans say.

        Args:
            frame: a query that has run.
            tables: by their bare names.
        """
        scans = [
            scan
            for scan in _scans(frame._jdf.queryExecution().executedPlan())
            if self._roots.get(scan.relation().location().rootPaths().head().toUri().getPath()) in tables
        ]
        metrics = [scan.metrics() for scan in scans]
        return Read(
            sum(int(each.apply("numFiles").value()) for each in metrics),
            sum(int(each.apply("filesSize").value()) for each in metrics),
        )

    def own_shuffles(self, raw: Raw, query: str, tables: Sequence[str]) -> int:
        """Return how often Spark would shuffle a query of bucketed tables of its own, without rows.

        Args:
            raw: the rows, for their columns.
            query: with the tables' bare names.
            tables: with buckets.
        """
        session = self.session.newSession()
        for table in tables:
            name = f"spark_catalog.default.{table}"
            columns = session.read.parquet(str(raw.file(table))).schema
            listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
            session.sql(f"DROP TABLE IF EXISTS {name}")
            location = urlsplit(session.conf.get("spark.sql.warehouse.dir", "")).path
            shutil.rmtree(f"{unquote(location)}/{table}", ignore_errors=True)
            session.sql(f"CREATE TABLE {name} ({listed}) USING parquet {LAYOUTS[table]}")
        session.sql("USE spark_catalog.default")
        return shuffles(session.sql(query))


def shuffles(frame: DataFrame) -> int:
    """Return how many times a query shuffles rows by the hash of some columns, as it was planned."""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    return plan.partition("== Initial Plan ==")[0].count("Exchange hashpartitioning")


def _scans(node: Any) -> Iterator[Any]:
    """Yield the scans of files of a plan as it was run; one that serves twice, once."""
    kind = node.getClass().getSimpleName()
    if kind == "FileSourceScanExec":
        yield node
    elif kind == "AdaptiveSparkPlanExec":
        yield from _scans(node.executedPlan())
    elif kind == "CommandResultExec":
        yield from _scans(node.commandPhysicalPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _scans(node.plan())
    elif kind != "ReusedExchangeExec":
        children = node.children()
        for place in range(children.size()):
            yield from _scans(children.apply(place))


def _path(location: str) -> str:
    """Return the path of a location, which may be a URI.

    >>> _path("file:/a%20b"), _path("/a b")
    ('/a b', '/a b')
    """
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme else location
