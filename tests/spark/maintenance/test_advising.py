"""CALL system.advise says which layout a table should have, gives it, and its statements are Spark's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit

import parquetry
from parquetry import metastore as ms
from parquetry.catalog import Catalog

ROWS = 40_000


def test_advice_is_applied_and_comes_true(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """Applied advice sorts all files, records its promise and changes no row. Queries read as promised."""
    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, k bigint, v bigint) USING parquet TBLPROPERTIES ('target-file-size' = '16kb')"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT id, id * 7919 % {ROWS}, id % 11 FROM range({ROWS})")
    conditions = ", ".join(f"'k BETWEEN {low} AND {low + 300}'" for low in range(0, ROWS, 4_000))
    call = f"CALL lake.system.advise('{db}.t', queries => array({conditions})"
    (first, *_) = spark.sql(f"{call}, apply => true)").collect()
    assert first.verdict == "advised"
    assert first.detail.startswith("New files have the layout 'sorted by k; ")
    assert first.layout.startswith("sorted by k; ")
    assert first.bytes + first.spread < first.bytes_now / 5
    name, table = db.removeprefix("lake."), f"{db}.t"
    snapshot = store.table(name, "t")
    assert snapshot.metadata.properties["sort-by"].split(",")[0] == "k"
    step, *_ = ms.history(snapshot)
    assert step.operation == "compact"
    assert json.loads(step.summary["promise"])["bytes"] == first.bytes
    assert spark.sql(f"SELECT count(*), sum(k), sum(id) FROM {table}").first()[:] == (
        ROWS,
        ROWS * (ROWS - 1) // 2,
        ROWS * (ROWS - 1) // 2,
    )
    query = spark.sql(f"SELECT * FROM {table} WHERE k BETWEEN 4000 AND 4300")
    query.collect()
    read = parquetry.report(query).to_dict()["scans"][0]
    step = next(step for step in read["steps"] if step["name"] == "bytes")
    assert step["kept"] < 1.5 * (first.bytes + first.spread)
    (second, *_) = spark.sql(f"{call})").collect()
    assert second.bytes_now < 1.5 * (first.bytes + first.spread)


def test_layout_auto(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """`maintain` sorts files as the history advises, and says why. New partitions are sorted, too.

    A rollback undoes it. The rows are the same all the time. The history has the promise beside the truth.
    """
    name, table = db.removeprefix("lake."), f"{db}.t"
    properties = "'layout' = 'auto', 'pruning-history' = 'values', 'target-file-size' = '64kb', 'distribution' = 'none'"
    spark.sql(
        f"CREATE TABLE {table} (id bigint, k bigint, d int) USING parquet PARTITIONED BY (d) TBLPROPERTIES ({properties})"
    )
    rows = spark.range(ROWS).selectExpr("id", f"id * 7919 % {ROWS} AS k").repartition(12)
    rows.withColumn("d", lit(1)).write.insertInto(table)
    before = store.table(name, "t")
    query = f"SELECT count(*), sum(id) FROM {table} WHERE d = 1 AND k BETWEEN {{0}} AND {{0}} + 100"
    answers = [spark.sql(query.format(first)).first() for first in range(0, ROWS, 2_000)]
    (planned,) = spark.sql(f"CALL lake.system.maintain('{name}.t', dry_run => true)").collect()
    assert (planned.need, planned.outcome) == ("layout", "planned"), planned
    done, *_ = spark.sql(f"CALL lake.system.maintain('{name}.t')").collect()
    assert (done.need, done.outcome, done["count"]) == ("layout", "done", 12), done
    after = store.table(name, "t")
    assert after.metadata.properties["sort-by"] == "k"
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('distribution')")
    rows.withColumn("d", lit(2)).write.insertInto(table)
    bounds = [
        (each.statistics["k"].min, each.statistics["k"].max)
        for each in Catalog(store).files(f"{name}.t", "d = 2")
    ]
    assert len(bounds) > 3
    assert sum(high - low + 1 for low, high in bounds) == ROWS, "files of a new partition overlap"
    assert [spark.sql(query.format(first)).first() for first in range(0, ROWS, 2_000)] == answers
    reads = spark.sql(f"SELECT bytes_read, promised_bytes FROM {table}.queries").collect()
    since = [read.bytes_read for read in reads if read.promised_bytes is not None]
    assert len(since) == len(answers)
    promised = next(read.promised_bytes for read in reads if read.promised_bytes is not None)
    assert sum(since) / len(since) < 1.5 * promised
    reason = f"SELECT operation FROM {table}.history WHERE summary LIKE '%pays after%' ORDER BY version"
    assert [row.operation for row in spark.sql(reason).collect()] == ["layout", "compact"]
    spark.sql(f"CALL lake.system.rollback('{name}.t', {before.version})")
    rolled_back = store.table(name, "t")
    assert "sort-by" not in rolled_back.metadata.properties
    assert rolled_back.totals.files == 12
    assert [spark.sql(query.format(first)).first() for first in range(0, ROWS, 2_000)] == answers
    again, *_ = spark.sql(f"CALL lake.system.maintain('{name}.t')").collect()
    assert "undone by a rollback" in again.detail


def test_statements_of_advice_run(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """The statement for a folder makes a table with its rows, and the one for a table replaces it."""
    folder = str(tmp_path / "visits")
    spark.range(ROWS).selectExpr("id", "id % 5 AS p", "timestamp_micros(id * 100000000) AS ts").repartition(
        20, "p", "id"
    ).write.parquet(folder)
    times = "array('ts BETWEEN TIMESTAMP ''1970-01-03 00:00:00'' AND TIMESTAMP ''1970-01-04 00:00:00'' AND p = 3')"
    (first, *_) = spark.sql(f"CALL lake.system.advise(path => '{folder}', queries => {times})").collect()
    assert first.verdict == "advised"
    statement = first.statement.replace("lake.default.visits", f"{db}.visits")
    spark.sql(statement)
    assert spark.table(f"{db}.visits").count() == ROWS
    (other, *_) = spark.sql(
        f"CALL lake.system.advise('{db}.visits', queries => array('id BETWEEN 5000 AND 5100'))"
    ).collect()
    if other.verdict == "advised":
        for each in other.statement.split(";\n"):
            spark.sql(each)
    assert spark.table(f"{db}.visits").count() == ROWS


def test_a_table_of_sparks_own_catalog(spark: SparkSession, tmp_path: Path) -> None:
    """Its folder is read, queries of a file of SQL name it, and the statement makes a table of its rows."""
    spark.sql("CREATE TABLE spark_catalog.default.advised_visits (id BIGINT, k BIGINT) USING parquet")
    try:
        rows = spark.range(ROWS).selectExpr("id", f"id * 7919 % {ROWS} AS k").repartition(20)
        rows.write.insertInto("spark_catalog.default.advised_visits")
        queries = tmp_path / "queries.sql"
        queries.write_text("SELECT sum(id) FROM default.advised_visits WHERE k BETWEEN 100 AND 200")
        advice = parquetry.advise("spark_catalog.default.advised_visits", queries)
        assert advice.queries == 1
        assert advice.best is not None
        assert advice.best.statements[0].endswith("FROM spark_catalog.default.advised_visits")
        name = "`SPARK_CATALOG`.default.advised_visits"
        called = spark.sql(f"CALL lake.system.advise('{name}', queries_file => '{queries}')").collect()
        assert (called[0].verdict, called[0].layout) == ("advised", advice.best.layout)
        with pytest.raises(Exception, match="is no table of Parquetry"):
            spark.sql(f"CALL lake.system.advise('{name}', queries_file => '{queries}', apply => true)")
        with pytest.raises(Exception, match=r"CREATE TABLE … AS SELECT makes a table of Parquetry from it"):
            spark.sql(f"CALL lake.system.compact('{name}')")
        with pytest.raises(Exception, match="queries and queries_file: give one of them"):
            spark.sql(
                f"CALL lake.system.advise('{name}', queries => array('k = 1'), queries_file => '{queries}')"
            )
        spark.sql(advice.best.statements[0])
        assert spark.table("lake.default.advised_visits").count() == ROWS
    finally:
        spark.sql("DROP TABLE IF EXISTS lake.default.advised_visits")
        spark.sql("DROP TABLE spark_catalog.default.advised_visits")
