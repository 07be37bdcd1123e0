"""Options of one read or one write reach the reader or writer from every statement and call.

Spark's own tests (`DataSourceV2OptionSuite`) look for options in the scans and writes of its tables in
memory; these tests look at their effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

import parquetry
from tests.support.spark import series
from tests.support.spark.streams import FileSink

Rows = Callable[[str], list[tuple[Any, ...]]]

OPTION = "WITH ('compression' = 'gzip')"


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """A table with a row in each of two partitions, in files of another codec than the option names."""
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('compression' = 'zstd')"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    return f"{db}.t"


def codecs(spark: SparkSession, table: str) -> dict[str, int]:
    """Return how many files have which codec."""
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        files = [file.path for file in catalog.files(table.removeprefix("lake."))]
    found = [pq.read_metadata(path).row_group(0).column(0).compression for path in files]
    return {codec: found.count(codec) for codec in sorted(set(found))}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT INTO {} {} VALUES (3, 1)", {"GZIP": 1, "ZSTD": 2}),
        ("INSERT INTO {} {} BY NAME SELECT 1 AS p, 3 AS id", {"GZIP": 1, "ZSTD": 2}),
        ("INSERT OVERWRITE {} {} VALUES (3, 1)", {"GZIP": 1}),
        ("INSERT OVERWRITE {} {} PARTITION (p = 1) SELECT 3", {"GZIP": 1, "ZSTD": 1}),
        ("INSERT INTO {} {} REPLACE WHERE p = 1 VALUES (3, 1)", {"GZIP": 1, "ZSTD": 1}),
    ],
)
def test_statements_that_write(
    spark: SparkSession, table: str, statement: str, expected: dict[str, int]
) -> None:
    """An option in WITH applies to the files that the statement writes, and to no others."""
    spark.sql(statement.format(table, OPTION))
    assert codecs(spark, table) == expected
    spark.sql(f"INSERT INTO {table} VALUES (4, 3)")
    assert codecs(spark, table) == {"ZSTD": 0} | expected | {"ZSTD": expected.get("ZSTD", 0) + 1}


Write = Callable[[DataFrame, str], object]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda frame, t: frame.write.option("compression", "gzip").mode("append").saveAsTable(t),
            {"GZIP": 1, "ZSTD": 2},
        ),
        (lambda frame, t: frame.write.option("compression", "gzip").insertInto(t), {"GZIP": 1, "ZSTD": 2}),
        (
            lambda frame, t: frame.write.option("compression", "gzip").insertInto(t, overwrite=True),
            {"GZIP": 1},
        ),
        (lambda frame, t: frame.writeTo(t).option("compression", "gzip").append(), {"GZIP": 1, "ZSTD": 2}),
        (
            lambda frame, t: frame.writeTo(t).option("compression", "gzip").overwrite(col("p") == 1),
            {"GZIP": 1, "ZSTD": 1},
        ),
        (
            lambda frame, t: frame.writeTo(t).option("compression", "gzip").overwritePartitions(),
            {"GZIP": 1, "ZSTD": 1},
        ),
    ],
    ids=["saveAsTable", "insertInto", "insertInto overwrite", "append", "overwrite", "overwritePartitions"],
)
def test_dataframes_that_write(
    spark: SparkSession, table: str, write: Write, expected: dict[str, int]
) -> None:
    """An option of a DataFrame's write applies to the files that it writes."""
    write(spark.sql("SELECT 3 AS id, 1 AS p"), table)
    assert codecs(spark, table) == expected


@pytest.mark.needs("options of each table")
def test_reads(spark: SparkSession, rows: Rows, table: str) -> None:
    """An option of a read applies to that table alone, in SQL, in a DataFrame, in joins, in subqueries and
    below a write.
    """
    good, bad = "WITH ('runtime-pruning' = 'false')", "WITH ('runtime-pruning' = 'perhaps')"
    assert rows(f"SELECT id FROM {table} {good} WHERE p = 1") == [(1,)]
    assert rows(f"SELECT id FROM {table} WITH ('unheard-of' = 'x') WHERE p = 1") == [(1,)]
    for statement in (
        f"SELECT * FROM {table} {bad}",
        f"SELECT * FROM {table} a JOIN {table} {bad} b ON a.id = b.id",
        f"SELECT * FROM {table} WHERE id IN (SELECT id FROM {table} {bad})",
        f"INSERT INTO {table} SELECT * FROM {table} {bad}",
    ):
        with pytest.raises(AnalysisException, match="Option 'runtime-pruning' is 'perhaps'"):
            spark.sql(statement).collect()
    reader = spark.read.option("runtime-pruning", "perhaps")
    with pytest.raises(AnalysisException, match="Option 'runtime-pruning' is 'perhaps'"):
        reader.table(table).collect()
    assert spark.read.option("runtime-pruning", "false").table(table).count() == 2
    assert codecs(spark, table) == {"ZSTD": 2}


def test_streams(spark: SparkSession, table: str, tmp_path: Any) -> None:
    """Options of streaming reads limit their batches, in SQL as of a DataFrame."""
    frames = {"frame": spark.readStream.option("maxFilesPerTrigger", "1").table(table)}
    if not series.is_before("4.1"):  # Spark 4.0 has STREAM in FROM, but no options there
        frames["sql"] = spark.sql(f"SELECT * FROM STREAM {table} WITH ('maxFilesPerTrigger' = '1')")
    for name, frame in frames.items():
        sink = FileSink(spark, tmp_path / name)
        query = sink.run(frame)
        assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == [1, 1]
        assert sink.rows() == [(1, 1), (2, 2)]
