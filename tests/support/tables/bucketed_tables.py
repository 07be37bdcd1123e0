"""Bucketed tables for tests: each is made of rows, beside a view of the same rows without arrangement."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tests.support.effort import STEP
from tests.support.spark import plans

PLAINLY = {
    "spark.sql.adaptive.enabled": False,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.leafNodeDefaultParallelism": 1,
    "spark.sql.shuffle.partitions": 1,
}
"""How Spark answers a query of few rows with the least work: in few tasks, without a class for each query."""


class Twins(NamedTuple):
    """The same rows as a bucketed table and as a view, by their names."""

    table: str
    view: str


def spare_classes(spark: SparkSession) -> None:
    """Where a sample is run, have a module's queries run without a generated class for each of them.

    Compiling such a class is a third of the time of a new query over few rows.
    """
    if STEP > 1:
        spark.conf.set("spark.sql.codegen.wholeStage", "false")


def make(
    spark: SparkSession,
    name: str,
    columns: str,
    clause: str,
    rows: Sequence[tuple[Any, ...]],
    *,
    version: str | int = 2,
    format: str = "parquet",
    partitioned: str | None = None,
    properties: dict[str, str] | None = None,
) -> Twins:
    """Make a table, and a view `plain_…` of the same rows.

    Args:
        spark: a session.
        name: of the table, with catalog and database.
        columns: as in CREATE TABLE.
        clause: what comes behind CLUSTERED BY.
        rows: of the table, a char in its whole length; the table stays empty if there are none.
        version: of the hash.
        format: of the files.
        partitioned: the partition columns, those at the end of `columns`.
        properties: more of the table's.
    """
    told = {"bucketing-version": str(version), **(properties or {})}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in told.items())
    parts = "" if partitioned is None else f"PARTITIONED BY ({partitioned})"
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING {format} {parts} CLUSTERED BY {clause} TBLPROPERTIES ({listed})"
    )
    view = f"plain_{name.replace('.', '_')}"
    texts = re.sub(r"\b(var)?char\(\d+\)", "string", columns)  # Spark makes no frame of them
    local_frame(spark, rows, texts).createOrReplaceTempView(view)
    if rows:
        spark.sql(f"INSERT INTO {name} SELECT * FROM {view}")
    return Twins(name, view)


def local_frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], columns: str) -> DataFrame:
    """Return a frame whose plan holds its rows; for a list of rows, Spark would call a Python process."""
    schema = StructType.fromDDL(columns)
    takes_zone = "timezone" in inspect.signature(to_arrow_schema).parameters  # Spark 4.2 does
    fields = to_arrow_schema(schema, **({"timezone": "UTC"} if takes_zone else {}))
    arrays = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(fields)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=fields), schema)


def local_view(frame: DataFrame, name: str) -> None:
    """Make a view whose plan holds the rows that a frame has now."""
    frame.sparkSession.createDataFrame(frame.toArrow(), frame.schema).createOrReplaceTempView(name)


def plainly(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query of Spark's own tables and views, in the least expensive way for few rows."""
    with settings(spark, PLAINLY):
        return plans.comparable(spark.sql(query).collect())


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, Any]) -> Iterator[None]:
    """Have settings for a while."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value if isinstance(value, str) else str(value).lower())
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
