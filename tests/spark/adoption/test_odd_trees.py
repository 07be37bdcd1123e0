"""Trees that not every lister sees alike: names with underscores, folders of streams, dates with a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def test_underscores_are_seen_as_by_spark(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """Rows below `_day=1` are read as stock Spark reads them, and a file that HDFS still copies is not."""
    folder = tmp_path / "t"
    spark.sql("SELECT id, id % 3 AS _day FROM range(9)").coalesce(1).write.partitionBy("_day").parquet(
        str(folder)
    )
    (file,) = (folder / "_day=1").glob("*.parquet")
    shutil.copy(file, folder / "_day=1" / f"{file.name}._COPYING_")
    spark.sql(
        f"CREATE TABLE {db}.t (id BIGINT, _day BIGINT) PARTITIONED BY (_day) LOCATION '{folder.as_uri()}'"
    )
    assert {row[0] for row in rows(f"MSCK REPAIR TABLE {db}.t")} <= {"added", "new"}
    stock = spark.read.parquet(str(folder))
    query = "SELECT _day, count(*), sum(id) FROM {} GROUP BY _day ORDER BY _day"
    assert rows(query.format(f"{db}.t")) == [
        tuple(row) for row in spark.sql(query.format("{s}"), s=stock).collect()
    ]
    assert rows(query.format(f"{db}.t")) == [(0, 3, 9), (1, 3, 12), (2, 3, 15)]
    assert rows(f"CALL lake.system.fsck('{db.removeprefix('lake.')}.t')") == []
    rows(
        f"CALL lake.system.vacuum('{db.removeprefix('lake.')}.t', older_than => current_timestamp(), allow_recent => true)"
    )
    assert len(list((folder / "_day=1").glob("part-*"))) == 2


def test_the_folder_of_a_stream_is_taken_by_its_log(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path
) -> None:
    """Files of failed batches are left out with a row each, as stock Spark leaves them out."""
    source, sink = tmp_path / "source", tmp_path / "sink"
    for number in range(3):
        spark.range(number * 10, number * 10 + 10, 1, 1).write.mode("append").parquet(str(source))
        stream = spark.readStream.schema("id BIGINT").parquet(str(source)).selectExpr("id", "id % 2 AS p")
        (
            stream.writeStream.partitionBy("p")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(sink), format="parquet")
            .awaitTermination()
        )
    orphan = sink / "p=1" / "part-00000-0-c000.snappy.parquet"
    shutil.copy(next((sink / "p=1").glob("part-*.parquet")), orphan)
    spark.sql(
        f"CREATE TABLE {db}.s (id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{sink.as_uri()}'"
    )
    found = rows(f"MSCK REPAIR TABLE {db}.s")
    assert spark.read.parquet(str(sink)).count() == 30
    assert rows(f"SELECT count(*), sum(id) FROM {db}.s") == [(30, 435)]
    left_out = [str(row) for row in found if row[0] == "ignored"]
    assert len(left_out) == 1, left_out
    assert orphan.name in left_out[0]
    assert "_spark_metadata" in left_out[0]
