"""CALL system.advise says which layout a table should have, gives it, and its statements are Spark's."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms

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
    promise = next(commit for commit in ms.history(snapshot) if commit.operation == "advise")
    assert json.loads(promise.summary["promise"])["bytes"] == first.bytes
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
