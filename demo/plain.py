"""Plain Spark beside Parquetry: the same files, read by Spark's own sources, and which of them it opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from demo.queries import PlainRead
from demo.tpcds import SKEWED_BY, Raw


def session(spark: SparkSession, raw: Raw, locations: Mapping[str, str]) -> SparkSession:
    """Return a session in which the tables' bare names are read by Spark alone.

    They are the files that Parquetry has loaded, with the partitions that their directories name. Directories within
    partitions Spark does not understand, so of tables that have such it reads the raw rows.

    Args:
        spark: to share the cores with.
        raw: the rows.
        locations: of the tables that are loaded, by their bare names.
    """
    plain = spark.newSession()
    for table, location in locations.items():
        path = str(raw.file(table)) if table in SKEWED_BY else location
        plain.read.parquet(path).createOrReplaceTempView(table)
    return plain


def read_of(frame: DataFrame, tables: frozenset[str], seconds: float) -> PlainRead:
    """Return what Spark opened of some tables.

    Args:
        frame: a query that has run.
        tables: by their bare names.
        seconds: that it took.
    """
    scans = [scan for scan in _scans(frame._jdf.queryExecution().executedPlan()) if _table(scan) in tables]
    metrics = [scan.metrics() for scan in scans]
    return PlainRead(
        sum(int(each.apply("numFiles").value()) for each in metrics),
        sum(int(each.apply("filesSize").value()) for each in metrics),
        seconds,
    )


def _scans(node: Any) -> Iterator[Any]:
    """Yield the scans of files of a plan as it was run; what is used twice, once."""
    kind = node.getClass().getSimpleName()
    if kind == "FileSourceScanExec":
        yield node
    elif kind == "AdaptiveSparkPlanExec":
        yield from _scans(node.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _scans(node.plan())
    elif kind != "ReusedExchangeExec":
        children = node.children()
        for place in range(children.size()):
            yield from _scans(children.apply(place))


def _table(scan: Any) -> str:
    return PurePosixPath(scan.relation().location().rootPaths().head().getName()).stem
