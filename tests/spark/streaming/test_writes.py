"""A stream into our table makes one commit for each batch, and none for a batch that was committed before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from parquetry import metastore as ms
from tests.support.effort import sampled
from tests.support.spark.streams import Rows, forget_last_commit, in_order, into_table
from tests.support.stores.metastores import current_table

pytestmark = pytest.mark.core

Sql = Callable[[str], Rows]


@pytest.fixture(scope="module", autouse=True)
def _one_task_after_a_shuffle(spark: SparkSession) -> None:
    """Keep the state of a query in one place. The setting is restored after the module."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.fixture
def source(spark: SparkSession, db: str) -> str:
    """A table with two versions of three rows each; a stream takes one version at a time."""
    spark.sql(f"CREATE TABLE {db}.source (id INT, v STRING, p INT) USING parquet")
    for start in (0, 3):
        values = ", ".join(f"({n}, 'v{n % 2}', {n % 3})" for n in range(start, start + 3))
        spark.sql(f"INSERT INTO {db}.source SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    return f"{db}.source"


def stream(spark: SparkSession, source: str) -> DataFrame:
    """Return the stream of a table, a file a batch."""
    return spark.readStream.option("maxFilesPerTrigger", 1).option("startingVersion", 0).table(source)


def versions(rows: Sql, table: str) -> Rows:
    """Return the history's entries for the commits of batches."""
    return rows(
        f"SELECT operation, get_json_object(summary, '$.batch') FROM {table}.history WHERE summary LIKE '%batch%' ORDER BY version"
    )


def test_from_table_to_table(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """A stream into a new table of another catalog makes a commit for each batch; a batch repeated after a
    crash commits nothing.
    """
    spark.sql("CREATE NAMESPACE IF NOT EXISTS pond.streamed")
    spark.sql("DROP TABLE IF EXISTS pond.streamed.copy")
    table = "pond.streamed.copy"
    query = into_table(stream(spark, source), table, tmp_path)
    assert in_order(rows(f"SELECT * FROM {table}")) == in_order(rows(f"SELECT * FROM {source}"))
    assert versions(rows, table) == [("append", "0"), ("append", "1")]
    assert [p.sink.numOutputRows for p in query.recentProgress if p.numInputRows] == [3, 3]
    assert forget_last_commit(tmp_path) == 1
    folder = Path(rows(f"SELECT input_file_name() FROM {table}")[0][0].partition(":")[2]).parent
    files = set(folder.iterdir())
    spark.sql(f"INSERT INTO {source} VALUES (6, 'v0', 0)")
    spark.sql(f"INSERT INTO {table} VALUES (-1, 'other', 0)")  # carries on how far the stream was
    into_table(stream(spark, source), table, tmp_path)
    assert in_order(rows(f"SELECT * FROM {table} WHERE id >= 0")) == in_order(rows(f"SELECT * FROM {source}"))
    assert [number for _, number in versions(rows, table)] == ["0", "1", "2"]
    assert (
        len({path for path in set(folder.iterdir()) - files if path.suffix == ".parquet"}) == 2
    )  # one of them the other's


def test_a_batch_is_committed_once_whatever_was_vacuumed(
    spark: SparkSession, source: str, rows: Sql, tmp_path: Path
) -> None:
    """A batch is recognised although its version has expired; a query with another checkpoint
    is another one.
    """
    table = f"{source}2"
    into_table(stream(spark, source), table, tmp_path / "a", by=["p"])
    assert rows(f"SHOW PARTITIONS {table}") == [("p=0",), ("p=1",), ("p=2",)]
    spark.sql(f"INSERT INTO {table} VALUES (-1, 'other', 0)")
    spark.sql(f"CALL lake.system.vacuum('{table}', older_than => current_timestamp(), allow_recent => true)")
    forget_last_commit(tmp_path / "a")
    into_table(stream(spark, source), table, tmp_path / "a")
    assert rows(f"SELECT count(*) FROM {table}") == [(7,)]
    into_table(stream(spark, source), table, tmp_path / "b")
    assert rows(f"SELECT count(*) FROM {table}") == [(13,)]


def test_rows_lie_as_those_of_an_insert(
    spark: SparkSession, source: str, rows: Sql, store: ms.Metastore, tmp_path: Path
) -> None:
    """Batches go into partitions, sorted buckets, directories of heavy values, and ORC; a stream reads them
    all.
    """
    clauses = {
        "plain": "PARTITIONED BY (p)",
        "bucketed": "PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (id) INTO 2 BUCKETS",
        "skewed": "PARTITIONED BY (p) SKEWED BY (v) ON ('v1') STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    }
    for name, clause in clauses.items():
        table, inserted = f"{source}_{name}", f"{source}_{name}_inserted"
        for each in (table, inserted):
            spark.sql(
                f"CREATE TABLE {each} (id INT, v STRING, p INT) USING {'orc' if name == 'plain' else 'parquet'} {clause}"
            )
        into_table(spark.readStream.table(source), table, tmp_path / name)
        spark.sql(f"INSERT INTO {inserted} SELECT * FROM {source}")
        assert in_order(rows(f"SELECT * FROM {table}")) == in_order(rows(f"SELECT * FROM {source}"))

        def laid_out(name: str) -> list[Any]:
            found = current_table(store, name)
            return [
                (
                    part.values,
                    part.arrangement,
                    sorted((f.rows, f.bucket, f.cell, f.sorted) for f in part.files),
                )
                for part in found.partitions()
            ]

        assert laid_out(table) == laid_out(inserted), name
        assert in_order(rows(f"SELECT * FROM {table} WHERE id = 4 AND v = 'v0'")) == [(4, "v0", 1)]
        for condition in sampled(("true", "id > 3 AND v = 'v1'"), name):
            seen: list[Rows] = []
            writer = spark.readStream.table(table).where(condition).writeStream
            writer = writer.foreachBatch(lambda frame, _, seen=seen: seen.append(in_order(frame.collect())))
            writer.trigger(availableNow=True).start().awaitTermination()
            assert seen == [in_order(rows(f"SELECT * FROM {source} WHERE {condition}"))], (name, condition)
    spark.sql(f"ALTER TABLE {source}_skewed UNSET TBLPROPERTIES ('list-bucketing-rules')")
    with pytest.raises(StreamingQueryException, match=r"rule insert-into\)\. Write whole partitions"):
        into_table(spark.readStream.table(source), f"{source}_skewed", tmp_path / "refused")


def test_complete_mode_replaces_all_rows(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """Each batch gives the whole of an aggregate; a query that keeps state goes on from it where it died."""
    table = f"{source}_totals"
    spark.sql(f"CREATE TABLE {table} (p INT, n BIGINT) USING parquet")

    def totals() -> DataFrame:
        return stream(spark, source).groupBy("p").count().withColumnRenamed("count", "n")

    into_table(totals(), table, tmp_path, "complete")
    assert in_order(rows(f"SELECT * FROM {table}")) == [(0, 2), (1, 2), (2, 2)]
    assert versions(rows, table)[0][0] == "overwrite"
    forget_last_commit(tmp_path)
    spark.sql(f"INSERT INTO {source} VALUES (6, 'v', 2)")
    into_table(totals(), table, tmp_path, "complete")
    assert in_order(rows(f"SELECT * FROM {table}")) == [(0, 2), (1, 2), (2, 3)]
    with pytest.raises(AnalysisException, match=r"output mode update: it has no keys.*foreachBatch"):
        into_table(totals(), table, tmp_path / "update", "update")


def test_a_query_with_state_is_run_again(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """A batch that was committed before writes no row, and its state is available to the next batch."""
    table = f"{source}_distinct"
    spark.sql(f"CREATE TABLE {table} (p INT) USING parquet")
    distinct = stream(spark, source).select("p").dropDuplicates(["p"])
    into_table(distinct, table, tmp_path)
    forget_last_commit(tmp_path)
    spark.sql(f"INSERT INTO {source} VALUES (6, 'v', 7), (7, 'v', 0)")
    into_table(distinct, table, tmp_path)
    assert in_order(rows(f"SELECT * FROM {table}")) == [(0,), (1,), (2,), (7,)]


def test_columns_go_by_their_names(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """A stream casts as an INSERT does; values that do not fit are an error, and no row is written."""
    table = f"{source}_named"
    spark.sql(f"CREATE TABLE {table} (p BIGINT, note STRING, id INT) USING parquet")
    into_table(stream(spark, source).selectExpr("id", "p", "v AS note"), table, tmp_path / "a")
    assert in_order(rows(f"SELECT p, note, id FROM {table}")) == in_order(
        rows(f"SELECT p, v, id FROM {source}")
    )
    before = rows(f"SELECT max(version) FROM {table}.history")
    for number, columns in enumerate((["id", "p", "v"], ["id", "v AS p", "v AS note"])):
        with pytest.raises(StreamingQueryException, match="INCOMPATIBLE_DATA_FOR_TABLE"):
            into_table(stream(spark, source).selectExpr(*columns), table, tmp_path / str(number))
    assert rows(f"SELECT max(version) FROM {table}.history") == before


def test_a_sink_that_was_made_anew(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """A query that runs does not write into another table of the name."""
    table = f"{source}_sink"
    create = f"CREATE TABLE {table} (id INT, v STRING, p INT) USING parquet"
    spark.sql(create)
    writer = stream(spark, source).writeStream.option("checkpointLocation", str(tmp_path))
    query = writer.toTable(table)
    try:
        query.processAllAvailable()
        assert rows(f"SELECT count(*) FROM {table}") == [(6,)]
        spark.sql(f"DROP TABLE {table}")
        spark.sql(create)
        spark.sql(f"INSERT INTO {source} VALUES (6, 'v', 2)")
        with pytest.raises(
            StreamingQueryException, match="was dropped or replaced since the streaming query"
        ):
            query.processAllAvailable()
    finally:
        query.stop()
    assert rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_merge_of_each_batch(spark: SparkSession, source: str, rows: Sql, tmp_path: Path) -> None:
    """`foreachBatch` may change rows by their keys."""
    table = f"{source}_merged"
    spark.sql(f"CREATE TABLE {table} (p INT, id INT) USING parquet")

    def merge(frame: DataFrame, _: int) -> None:
        frame.createOrReplaceTempView("merged_batch")
        frame.sparkSession.sql(
            f"MERGE INTO {table} t USING merged_batch b ON t.p = b.p WHEN MATCHED THEN UPDATE SET id = b.id "
            "WHEN NOT MATCHED THEN INSERT (p, id) VALUES (b.p, b.id)"
        )

    writer = stream(spark, source).writeStream.foreachBatch(merge).option("checkpointLocation", str(tmp_path))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert in_order(rows(f"SELECT * FROM {table}")) == [(0, 3), (1, 4), (2, 5)]


def test_cached_rows_of_the_table(
    spark: SparkSession, source: str, rows: Sql, db: str, tmp_path: Path
) -> None:
    """After a batch, the table, a view over it and a query over it are no longer cached, as with Spark's own
    sinks, and have its rows.
    """
    spark.sql(f"CREATE TABLE {db}.t (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (-1, 'v', 0)")
    spark.sql(f"CACHE TABLE {db}.t")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW over AS SELECT id FROM {db}.t WHERE id >= 0")
    spark.sql("CACHE TABLE over")
    query = spark.table(f"{db}.t").groupBy("p").count().cache()
    assert (query.count(), rows("SELECT * FROM over")) == (1, [])
    into_table(stream(spark, source), f"{db}.t", tmp_path)
    assert [spark.catalog.isCached(name) for name in (f"{db}.t", "over")] == [False, False]
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(n,) for n in range(-1, 6)]
    assert sorted(rows("SELECT * FROM over")) == [(n,) for n in range(6)]
    again = spark.table(f"{db}.t").groupBy("p").count()
    assert sorted(tuple(row) for row in again.collect()) == [(0, 3), (1, 2), (2, 2)]
    spark.catalog.clearCache()


@pytest.mark.needs("evolving writes")
@pytest.mark.parametrize("option", ["mergeSchema", "MERGESCHEMA"])
def test_merge_schema(spark: SparkSession, source: str, rows: Sql, tmp_path: Path, option: str) -> None:
    """With the option, the table gets new columns, before its partition columns, and wider types.

    Without it, the error names the remedy.
    """
    target = f"{source}_target"
    spark.sql(f"CREATE TABLE {target} (id INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {target} VALUES (0, 7)")
    frame = spark.readStream.table(source).selectExpr("2 AS p", "'n' AS more", "CAST(id AS BIGINT) AS id")
    count = spark.table(source).count()

    def run(checkpoint: str, **options: str) -> None:
        writer = frame.writeStream.options(**options).option("checkpointLocation", str(tmp_path / checkpoint))
        writer.trigger(availableNow=True).toTable(target).awaitTermination()

    with pytest.raises(StreamingQueryException, match=r"more.*option\(\"mergeSchema\", \"true\"\)"):
        run("without")
    assert rows(f"SELECT * FROM {target}") == [(0, 7)]
    run("with", **{option: "true"})
    assert [field.simpleString() for field in spark.table(target).schema] == [
        "id:bigint", "more:string", "p:int",
    ]  # fmt: skip
    assert rows(f"SELECT id, more, p FROM {target} WHERE p = 7") == [(0, None, 7)]
    assert rows(f"SELECT count(*), min(more), max(p) FROM {target} WHERE p <> 7") == [(count, "n", 2)]
    assert sorted(rows(f"SELECT id FROM {target} WHERE p = 2")) == sorted(rows(f"SELECT id FROM {source}"))
    before = versions(rows, target)
    forget_last_commit(tmp_path / "with")
    run("with", **{option: "true"})
    assert versions(rows, target) == before
