"""A stream of changes goes on past versions that take rows away, and tells what each version changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.support.spark.streams import FileSink, batches, forget_last_commit

pytestmark = pytest.mark.core


@pytest.fixture(scope="module", autouse=True)
def _one_task_after_a_shuffle(spark: SparkSession) -> None:
    """Keep batches small. The setting is restored after the module."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")


def test_changes_are_streamed(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Over restarts, and after a query that died before its commit, each change is read once."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    sink = FileSink(spark, tmp_path)
    frame = spark.readStream.option("readChanges", True).option("keys", "id").table(table)
    assert frame.columns == ["id", "v", "p", "_change_type", "_commit_version", "_commit_timestamp"]
    wanted = frame.select("_commit_version", "_change_type", "id", "v")
    sink.run(wanted)
    assert sink.rows() == [(1, "insert", 1, "a"), (1, "insert", 2, "b"), (1, "insert", 3, "c")]
    spark.sql(f"UPDATE {table} SET v = 'z' WHERE id = 1")
    spark.sql(f"DELETE FROM {table} WHERE p = 2")
    sink.run(wanted)
    forget_last_commit(sink.checkpoint)
    spark.sql(f"CALL lake.system.compact('{table}')")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'd', 2)")
    spark.sql(f"CALL lake.system.rollback('{table}', version => 3)")
    sink.run(wanted)
    assert sink.rows()[3:] == [
        (2, "update_postimage", 1, "z"),
        (2, "update_preimage", 1, "a"),
        (3, "delete", 3, "c"),
        (4, "insert", 4, "d"),
        (5, "delete", 4, "d"),
    ]
    assert batches(sink.run(wanted)) == []


def test_batches_end_with_versions(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Limits end batches between versions, conditions hold, and the options exclude each other."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 1), (3, 2)")
    spark.sql(f"UPDATE {table} SET id = id + 10")
    sink = FileSink(spark, tmp_path)
    options = {"readChanges": "true", "startingVersion": "1", "maxFilesPerTrigger": "1"}
    frame = spark.readStream.options(**options).table(table)
    query = sink.run(frame.where("id > 1 AND p = 1").select("id", "_change_type"))
    assert len(batches(query)) == 2
    assert sink.rows() == [(2, "delete"), (2, "insert"), (11, "insert"), (12, "insert")]
    other = FileSink(spark, tmp_path / "other")
    with pytest.raises(StreamingQueryException, match="exclude each other"):
        other.run(spark.readStream.options(readChanges="true", skipChangeCommits="true").table(table))


@pytest.mark.since("4.2", "earlier ones have no readStream.changes")
def test_sparks_own_reader(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """`spark.readStream.changes` reads the same changes, with a key and with a first version."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, v INT) USING parquet")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    spark.sql(f"UPDATE {table} SET v = 5 WHERE id = 1")
    frame = spark.readStream.options(startingVersion=2, keys="id").changes(table)
    wanted = frame.select("_commit_version", "_change_type", "id", "v")
    sink = FileSink(spark, tmp_path)
    sink.run(wanted)
    spark.sql(f"DELETE FROM {table} WHERE id = 2")
    sink.run(wanted)
    assert sink.rows() == [(2, "update_postimage", 1, 5), (2, "update_preimage", 1, 1), (3, "delete", 2, 2)]
