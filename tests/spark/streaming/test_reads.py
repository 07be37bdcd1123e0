"""A stream reads each row of our table once, after any change of the table and any failure of the query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

from tests.support.effort import sampled
from tests.support.spark.streams import FileSink, Rows, batches, forget_last_commit, in_order

pytestmark = pytest.mark.core

Sql = Callable[[str], Rows]


@pytest.fixture(scope="module", autouse=True)
def _one_task_after_a_shuffle(spark: SparkSession) -> None:
    """Keep the state of a query in one place. The setting is restored after the module."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Partitions `p` = 1 and 2 with a file of two rows each, in version 1."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 1), (4, 'd', 2)")
    return f"{db}.t"


@pytest.fixture
def sink(spark: SparkSession, tmp_path: Path) -> FileSink:
    """Spark's own files."""
    return FileSink(spark, tmp_path)


def failure(sink: FileSink, spark: SparkSession, table: str, **options: Any) -> str:
    """Return how a stream of a table fails."""
    with pytest.raises(StreamingQueryException) as caught:
        sink.run(spark.readStream.options(**options).table(table))
    return str(caught.value).split("=== Streaming Query")[0]


def test_each_version_is_read_once(spark: SparkSession, table: str, rows: Sql, sink: FileSink) -> None:
    """A stream reads the table's current rows, then the new rows of each version.

    This is true over restarts, and after a query that died before its commit.
    """
    frame = spark.readStream.table(table)
    assert batches(sink.run(frame)) == [4]
    for number in range(5, 8):
        spark.sql(f"INSERT INTO {table} VALUES ({number}, 'e', 2), ({number * 10}, NULL, NULL)")
        if number != 6:
            assert batches(sink.run(frame)) == ([2] if number == 5 else [4])
    forget_last_commit(sink.checkpoint)
    spark.sql(f"INSERT INTO {table} VALUES (8, 'f', 3)")
    assert batches(sink.run(frame)) == [1]  # the sink knows the batch before; then what came since
    assert sink.rows() == in_order(rows(f"SELECT * FROM {table}"))
    assert batches(sink.run(frame)) == []


def test_a_first_batch_that_was_cut_short_is_the_same_again(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    """The batch starts with its original version again, although the table has newer ones; no row is lost or
    read twice.
    """
    seen: list[Rows] = []
    writer = (
        spark.readStream.table(table).select("id").writeStream.option("checkpointLocation", str(tmp_path))
    )
    writer = writer.foreachBatch(lambda frame, _: seen.append(in_order(frame.collect()))).trigger(
        availableNow=True
    )
    writer.start().awaitTermination()
    assert forget_last_commit(tmp_path) == 0
    spark.sql(f"INSERT INTO {table} VALUES (5, 'e', 1)")
    writer.start().awaitTermination()
    assert seen == [[(1,), (2,), (3,), (4,)], [(1,), (2,), (3,), (4,)], [(5,)]]


def test_limits_cut_batches(spark: SparkSession, table: str, rows: Sql, sink: FileSink) -> None:
    """A version is read in as many batches as the limits require, also after a restart; one file is always
    read.
    """
    spark.sql(f"INSERT INTO {table} VALUES (5, 'a', 1), (6, 'b', 2), (7, 'c', 3)")

    def run(**options: Any) -> list[int]:
        return batches(sink.run(spark.readStream.options(**options).table(table)))

    assert run(maxFilesPerTrigger=3) == [5, 2]  # files of 2 and 1 rows in partition 1, 2 and 1 in 2, 1 in 3
    spark.sql(f"INSERT INTO {table} VALUES (8, 'a', 1), (9, 'b', 2), (10, 'c', 3), (11, 'c', 4)")
    query = sink.run(spark.readStream.option("maxFilesPerTrigger", 3).table(table), once=True)
    assert batches(query) == [4]  # Trigger.Once reads all at once
    spark.sql(f"INSERT INTO {table} VALUES (12, 'a', 1), (13, 'b', 2)")
    spark.sql(f"INSERT INTO {table} VALUES (14, 'a', 1)")
    assert run(maxBytesPerTrigger="1b") == [1, 1, 1]
    assert sink.rows() == in_order(rows(f"SELECT * FROM {table}"))
    assert "maxFilesPerTrigger of the streaming read is '0'" in failure(
        sink, spark, table, maxFilesPerTrigger=0
    )


def test_a_version_to_start_with(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A stream starts by number, with the earliest or the next version, or by a time; a missing version is an
    error.
    """
    spark.sql(f"INSERT INTO {table} VALUES (5, 'e', 1)")
    spark.sql(f"INSERT INTO {table} VALUES (6, 'f', 1)")
    made = {row.version: row.committed_at for row in spark.sql(f"SELECT * FROM {table}.history").collect()}
    wanted: dict[tuple[str, str], list[int]] = {
        ("startingVersion", "0"): [1, 2, 3, 4, 5, 6],
        ("startingVersion", "2"): [5, 6],
        ("startingVersion", "EARLIEST"): [1, 2, 3, 4, 5, 6],
        ("startingVersion", "latest"): [],
        ("startingTimestamp", str(made[3])): [6],
    }
    for number, (option, value) in enumerate(sampled([*wanted])):
        ids = wanted[option, value]
        sink = FileSink(spark, tmp_path / str(number))
        sink.run(spark.readStream.option(option, value).table(table).select("id"))
        found = sink.rows() if sink.files.exists() and ids else []
        assert [row[0] for row in found] == ids, value
    sink = FileSink(spark, tmp_path / "bad")
    assert "Version 9, with which the stream" in failure(sink, spark, table, startingVersion=9)
    assert "is 'now': not a version" in failure(sink, spark, table, startingVersion="now")
    assert "not a time such as" in failure(sink, spark, table, startingTimestamp="soon")
    assert "is to come" in failure(sink, spark, table, startingTimestamp="2099-01-01")
    spark.sql(f"CALL lake.system.vacuum('{table}', older_than => current_timestamp(), allow_recent => true)")
    assert "Start with 4 or later" in failure(sink, spark, table, startingVersion=2)


def test_rows_that_were_taken_away_stop_a_stream(
    spark: SparkSession, table: str, rows: Sql, sink: FileSink
) -> None:
    """A stream reads the rows before the change; then it reports version and operation, or skips them if the
    option says so.
    """
    frame = spark.readStream.table(table)
    sink.run(frame)
    statements = {
        f"INSERT OVERWRITE {table} PARTITION (p = 1) VALUES (10, 'x')": "overwrite",
        f"DELETE FROM {table} WHERE id = 4": "delete",
        f"UPDATE {table} SET v = 'y' WHERE id = 2": "update",
        f"ALTER TABLE {table} DROP PARTITION (p = 1)": "drop partitions",
        f"CALL lake.system.rollback('{table}', 1)": "rollback",
        f"TRUNCATE TABLE {table}": "truncate",
    }
    seen = sink.rows()
    for number, (statement, operation) in enumerate(statements.items()):
        spark.sql(f"INSERT INTO {table} VALUES ({100 + number}, 'n', 2)")
        seen.append((100 + number, "n", 2))
        spark.sql(statement)
        newest = rows(f"SELECT max(version) FROM {table}.history")[0][0]
        if number in (0, 4):
            told = failure(sink, spark, table)
            assert f"Version {newest} of table {table} ({operation}" in told
            assert "skipChangeCommits = true" in told
            assert sink.rows() == sorted(seen)
        if number >= 3:
            sink.run(spark.readStream.option("skipChangeCommits", True).table(table))
            assert sink.rows() == sorted(seen)


def test_rows_that_are_the_same_are_not_read_again(
    spark: SparkSession, db: str, rows: Sql, sink: FileSink, tmp_path: Path
) -> None:
    """Compaction, compacted metadata, indexes, other properties and a sync without findings add no row; a
    sync's new files do.
    """
    table, folder = f"{db}.theirs", tmp_path / "theirs"

    def theirs(number: int, p: int) -> None:
        rows = spark.range(number, number + 1).selectExpr("CAST(id AS INT) AS id", "'m' AS v").coalesce(1)
        rows.write.mode("append").parquet(f"{folder}/p={p}")

    theirs(1, 1)
    spark.sql(
        f"CREATE TABLE {table} (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p) LOCATION '{folder}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {table}")
    frame = spark.readStream.table(table)
    sink.run(frame)
    spark.sql(f"INSERT INTO {table} VALUES (5, 'e', 1)")
    for call in ("compact", "compact_metadata", "sync"):
        spark.sql(f"CALL lake.system.{call}('{table}')")
    assert rows(f"SELECT max(version) FROM {table}.history WHERE operation = 'compact'")[0][0] is not None
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('note' = 'x')")
    assert batches(sink.run(frame)) == [1]
    theirs(6, 2)
    spark.sql(f"MSCK REPAIR TABLE {table}")
    theirs(7, 2)
    spark.sql(f"CALL lake.system.sync('{table}')")
    theirs(8, 3)
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 3)")
    assert batches(sink.run(frame)) == [3]
    assert sink.rows() == in_order(rows(f"SELECT * FROM {table}"))
    next(Path(folder, "p=3").glob("*.parquet")).unlink()
    spark.sql(f"CALL lake.system.sync('{table}')")
    assert "(sync) took rows away" in failure(sink, spark, table)


def test_a_stream_that_cannot_go_on_says_why(
    spark: SparkSession, table: str, sink: FileSink, db: str
) -> None:
    """Versions that were vacuumed, and a table that was dropped, or made anew under its name."""
    frame = spark.readStream.table(table)
    sink.run(frame)
    for number in (5, 6):
        spark.sql(f"INSERT INTO {table} VALUES ({number}, 'e', 1)")
    spark.sql(f"CALL lake.system.vacuum('{table}', older_than => current_timestamp(), allow_recent => true)")
    told = failure(sink, spark, table)
    assert (
        f"Version 1 of table {table}, which the stream is to go on from, has been vacuumed away; the oldest is 3"
        in told
    )
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p)")
    assert "is another one than the stream has read so far" in failure(sink, spark, table)


def test_columns_come_and_go(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A running stream keeps the columns that it began with; after a restart it has the table's columns."""
    seen: list[Rows] = []
    query = (
        spark.readStream.table(table)
        .writeStream.foreachBatch(lambda frame, _: seen.append(in_order(frame.collect())))
        .option("checkpointLocation", str(tmp_path / "c"))
        .start()
    )
    try:
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (w INT)")
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO text")
        spark.sql(f"INSERT INTO {table} (id, text, p, w) VALUES (5, 'e', 1, 50)")
        query.processAllAvailable()
        assert [rows for rows in seen if rows][1:] == [[(5, "e", 1)]]
        spark.sql(f"ALTER TABLE {table} DROP COLUMN text")
        with pytest.raises(
            StreamingQueryException, match=r"Column v of table .* was dropped as of version 5"
        ):
            query.processAllAvailable()
    finally:
        query.stop()
    spark.sql(f"INSERT INTO {table} (id, p, w) VALUES (6, 1, 60)")
    again = spark.readStream.table(table)
    assert again.columns == ["id", "w", "p"]
    writer = again.writeStream.foreachBatch(lambda frame, _: seen.append(in_order(frame.collect())))
    writer.option("checkpointLocation", str(tmp_path / "c")).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert seen[-1] == [(6, 60, 1)]


@pytest.mark.parametrize(
    ("condition", "read"),
    [("p = 1", [2, 1]), ("id > 4", [3]), ("upper(v) = 'A' AND p IN (1, 3)", [2, 2])],
)
def test_files_and_columns_are_left_out(
    spark: SparkSession, table: str, rows: Sql, sink: FileSink, condition: str, read: list[int]
) -> None:
    """Partitions and statistics prune the initial table and the rows of each version; the answer equals a
    query's.
    """
    frame = spark.readStream.table(table).where(condition).select("v")
    found = batches(sink.run(frame))
    spark.sql(f"INSERT INTO {table} VALUES (5, 'a', 1), (6, 'b', 2), (7, 'a', 3)")
    query = sink.run(frame)
    assert found + batches(query) == read
    assert sink.rows() == in_order(rows(f"SELECT v FROM {table} WHERE {condition}"))
    plan = query._jsq.explainInternal(False)  # type: ignore[attr-defined]
    assert "MicroBatchScan[v#" in plan or condition != "p = 1"
    assert "id#" not in plan or condition != "p = 1"


def test_stream_beside_tables(spark: SparkSession, table: str, rows: Sql, tmp_path: Path) -> None:
    """Joined with a table, counted without a column, united with itself, and with the file of each row."""
    other = f"{table}2"
    spark.sql(f"CREATE TABLE {other} PARTITIONED BY (p) AS SELECT * FROM {table}")
    first = f"{table}3"  # its partition column is not the last
    spark.sql(f"CREATE TABLE {first} (p INT, q INT, v STRING) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {first} SELECT p, id + 10, v FROM {table}")
    stream = spark.readStream.table(table)
    frames = {
        "join": stream.join(spark.table(other), "p").where("p = 1").drop("v"),
        "first": spark.readStream.table(first),
        "first where": spark.readStream.table(first).where("q > 12"),
        "union": stream.where("p = 1").union(stream.where("id > 2")),
        "itself": stream.selectExpr("id AS k").join(stream.selectExpr("p AS k", "v"), "k"),
        "apart": stream.select("id").repartition(2).union(stream.select("p").repartition(2)),
        "file": stream.selectExpr("id", "_file LIKE '%/p=1/%' AS there"),
    }
    batch = spark.table(table)
    wanted = {
        "first": spark.table(first),
        "first where": spark.table(first).where("q > 12"),
        "join": batch.join(spark.table(other), "p").where("p = 1").drop("v"),
        "union": batch.where("p = 1").union(batch.where("id > 2")),
        "itself": batch.selectExpr("id AS k").join(batch.selectExpr("p AS k", "v"), "k"),
        "apart": batch.select("id").union(batch.select("p")),
        "file": batch.selectExpr("id", "_file LIKE '%/p=1/%' AS there"),
    }
    for name in sampled([*frames]):
        seen: list[Rows] = []
        writer = frames[name].writeStream.foreachBatch(
            lambda got, _, seen=seen: seen.append(in_order(got.collect()))
        )
        writer.option("checkpointLocation", str(tmp_path / name)).trigger(
            availableNow=True
        ).start().awaitTermination()
        assert seen == [in_order(wanted[name].collect())], name
    query = stream.groupBy().count().writeStream.outputMode("complete").format("memory").queryName("counted")
    query.trigger(availableNow=True).start().awaitTermination()
    assert rows("SELECT * FROM counted") == [(4,)]


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("readChangeFeed", "is not recorded"),
        ("snapshot-id", "versionAsOf"),
        ("ignoreDeletes", "skipChangeCommits"),
        ("stream-from-timestamp", "startingTimestamp"),
        ("endingVersion", "ends at no version"),
    ],
)
def test_options_of_streams_that_say_something_elsewhere(
    spark: SparkSession, table: str, tmp_path: Path, option: str, says: str
) -> None:
    """They are refused by name, with what to say instead, before a row is read."""
    sink = FileSink(spark, tmp_path)
    with pytest.raises((AnalysisException, StreamingQueryException), match=f"'{option}' .*{says}"):
        sink.run(spark.readStream.option(option, "true" if option == "ignoreDeletes" else "1").table(table))
    assert not sink.files.exists() or not list(sink.files.glob("*.parquet"))
