"""Audit of streams: each batch is read without a file too few."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.support.exchanged_files import alike, exchange
from tests.support.spark.audit import claims
from tests.support.spark.streams import FileSink
from tests.support.tables.bucketed_tables import settings

pytestmark = [pytest.mark.core, pytest.mark.every_case, pytest.mark.unaudited("it counts claims")]


@pytest.fixture
def chosen(spark: SparkSession, db: str) -> DataFrame:
    """A stream of some rows of two of four files, some of them in a directory with an escaped name."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, p STRING) USING parquet PARTITIONED BY (p)")
    for first, value in ((100, "a b"), (200, "a b"), (300, "%41=é:x"), (400, "%41=é:x")):
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, '{value}' FROM range({first}, {first + 9})"
        )
    return spark.readStream.table(table).where("id IN (105, 305)")


def test_batches_that_are_right(spark: SparkSession, chosen: DataFrame, tmp_path: Path) -> None:
    """An audited stream gives its rows, and the files that it left out are counted."""
    sink, before = FileSink(spark, tmp_path), claims(spark)
    with settings(spark, {"parquetry.audit": "on"}):
        sink.run(chosen)
    assert [row[0] for row in sink.rows()] == [105, 305]
    assert claims(spark) - before == 2


def test_a_batch_that_lacks_rows(spark: SparkSession, db: str, chosen: DataFrame, tmp_path: Path) -> None:
    """The query fails if a file that it left out has a row of its condition."""
    exchange(*alike(spark, f"{db}.t", "p = '%41=é:x'"))
    with settings(spark, {"parquetry.audit": "on"}), pytest.raises(StreamingQueryException) as caught:
        FileSink(spark, tmp_path).run(chosen)
    assert "[PARQUETRY_AUDIT]" in str(caught.value)
    assert "id = 305" in str(caught.value)
