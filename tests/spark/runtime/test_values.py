"""Runtime values of a join prune every table that has statistics, by each column of the keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.spark.verdicts import Verdict, VerdictFile, with_and_without_adaptive_execution
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

pytestmark = pytest.mark.core

LAYOUTS = {
    "files": "TBLPROPERTIES ('distribution' = 'none')",
    "orc": "USING orc TBLPROPERTIES ('distribution' = 'none')",
    "buckets": "CLUSTERED BY (k) INTO 16 BUCKETS",
    "heavy": "SKEWED BY (k) ON (1, 11, 21) STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    "partitions": "PARTITIONED BY (k)",
}
OFTEN = {
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": False,
    "spark.sql.optimizer.dynamicPartitionPruning.fallbackFilterRatio": 1000,  # tables this small are never worth it
}


@pytest.fixture(scope="module")
def fact(spark: SparkSession) -> Iterator[str]:
    """Tables of 100 rows in each layout, the same rows as the view `rt_fact`, and Spark's own small table
    `rt_dim`.
    """
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.run_time")
    rows = spark.range(0, 100, 1, 10).selectExpr(
        "CAST(id AS INT) k", "id v", "concat('s', lpad(id, 3, '0')) s"
    )
    for name, clause in LAYOUTS.items():
        columns = "v bigint, s string, k int" if name == "partitions" else "k int, v bigint, s string"
        spark.sql(f"CREATE TABLE lake.run_time.{name} ({columns}) {clause}")
        told = rows.select(*spark.table(f"lake.run_time.{name}").columns)
        told.writeTo(f"lake.run_time.{name}").append()
    local_view(rows, "rt_fact")
    spark.range(100).selectExpr(
        "CAST(id AS INT) k", "CAST(id % 10 AS INT) a", "CAST(id DIV 10 AS INT) b",
        "concat('s', lpad(id, 3, '0')) s", "id kk", "IF(id = 11, NULL, CAST(id AS INT)) n",
    ).write.saveAsTable("rt_dim")  # fmt: skip
    yield "lake.run_time"
    spark.sql("DROP TABLE rt_dim")
    spark.sql("DROP NAMESPACE lake.run_time CASCADE")


def scans(frame: DataFrame, table: str) -> list[dict[str, Any]]:
    """Return what the report says of the scans of a table."""
    told: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return [scan for scan in told if scan["table"] == table]


def delivered(scan: dict[str, Any]) -> dict[str, int]:
    """Return the number of values that arrived at a scan, by column. For a column with two sets the second
    counts; conditions count as 0.
    """
    found = scan.get("run_time", {}).get("values", ())
    return {each.get("column") or each["condition"]: each.get("count", 0) for each in found}


def kept(scan: dict[str, Any], name: str = "files") -> int:
    """Return how many things a step of a scan left."""
    return next(int(step["kept"]) for step in scan["steps"] if step["name"] == name)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    ("layout", "told", "cut"),
    [
        ("files", "files 3 of 10 (run-time values k IN (1, 11, 21))", "files 10 → 3 · "),
        ("orc", "files 3 of 10 (run-time values k IN (1, 11, 21))", "files 10 → 3"),
        ("buckets", "buckets 3 of 16 (run-time values k IN (1, 11, 21))", "buckets 16 → 3 · files 16 → 3 · "),
        (
            "heavy",
            "directories 3 of 4 (run-time values k IN (1, 11, 21))",
            "directories 4 → 3 · files 4 → 3",
        ),
        (
            "partitions",
            "partitions 3 of 100 (run-time values k IN (1, 11, 21))",
            "partitions 100 → 3 · files 100 → 3",
        ),
    ],
)
def test_each_layout_is_narrowed(
    spark: SparkSession, fact: str, layout: str, told: str, cut: str, adaptive: bool
) -> None:
    """The values prune partitions, directories, buckets or files, and the report gives their source."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(
            f"SELECT /*+ BROADCAST(d) */ sum(v) FROM {fact}.{layout} f JOIN rt_dim d ON f.k = d.k "
            "WHERE d.a = 1 AND d.b < 3"
        )
        assert "run time:" not in str(parquetry.explain(frame))
        assert frame.collect() == [(33,)]
    text = str(parquetry.report(frame))
    assert told in text
    assert f"  run time: k → 3 values: {cut}" in text


HINT = "/*+ BROADCAST(d) */"
FEW = "d.a = 1 AND d.b < 3"
SHAPES = VerdictFile.named("values")
ALSO = ("null-supplying side", "sort-merge", "correlated maximum", "small side LEFT SEMI")
"""Shapes whose values Spark also collects beside the join, if it may."""


def judged(spark: SparkSession, fact: str, title: str, changed: dict[str, Any], adaptive: bool) -> Verdict:
    """Return what became of the query of an example, which has plain Spark's rows."""
    query = SHAPES.query(title)
    expected = plainly(spark, query.format(f="rt_fact"))
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive, **changed}):
        frame = spark.sql(query.format(f=f"{fact}.files"))
        assert plans.comparable(frame.collect()) == expected
        assert len(scans(frame, f"{fact}.files")) == 1
        names = {"f": f"{fact}.files", "rt_dim": "spark_catalog.default.rt_dim"}
        return Verdict.from_report(frame, names, "f")


NEWEST = pytest.mark.newest("Spark 4.2 and earlier put no filter of their own by values in the query's text")


@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=NEWEST if title == "VALUES" else ()) for title in SHAPES.titles]
)
def test_shapes_of_joins(spark: SparkSession, fact: str, title: str) -> None:
    """Each shape gets the values that Spark sends for it, reads exactly these files, and has plain Spark's
    rows.

    With `reuseBroadcastOnly=false`, values also come from joins that shuffle or broadcast the other side.
    """
    adaptive, planned = (judged(spark, fact, title, {}, adaptive) for adaptive in (True, False))
    verdicts = with_and_without_adaptive_execution("f", adaptive, planned)
    if title in ALSO:
        adaptive, planned = (judged(spark, fact, title, OFTEN, adaptive) for adaptive in (True, False))
        verdicts |= with_and_without_adaptive_execution("f, Spark collects more", adaptive, planned)
    SHAPES.check(title, verdicts)


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_table_read_twice_has_each_its_own_values(spark: SparkSession, fact: str, adaptive: bool) -> None:
    """Each of two scans of one table in a query reads the files for its own join; neither
    replaces the other.
    """
    one = f"SELECT {HINT} f.v FROM {{f}} f JOIN rt_dim d ON f.k = d.k WHERE d.a = 1 AND d.b = {{b}}"
    queries = {
        "union": (f"{one.format(f='{f}', b=2)} UNION ALL {one.format(f='{f}', b=3)}", [1, 1]),
        "with one that has none": (
            f"SELECT x.v, y.v FROM ({one.format(f='{f}', b=2)}) x JOIN {{f}} y ON x.v = y.v + 1", [1, 10],
        ),
        "a common expression": (
            "WITH c AS (SELECT k, v FROM {f}) "
            f"SELECT {HINT} c.v FROM c JOIN rt_dim d ON c.k = d.k WHERE d.a = 1 AND d.b = 2 "
            f"UNION ALL SELECT {HINT} c.v FROM c JOIN rt_dim d ON c.k = d.k WHERE d.a = 1 AND d.b IN (3, 4)", [1, 2],
        ),
        "a common expression that is made once": (
            "WITH c AS (SELECT k, v, uuid() u FROM {f}) "
            f"SELECT {HINT} c.v FROM c JOIN rt_dim d ON c.k = d.k WHERE d.a = 1 AND d.b = 2 "
            f"UNION ALL SELECT c.v FROM c WHERE c.k > 90", None,
        ),
    }  # fmt: skip
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        for name, (query, files) in queries.items():
            expected = plainly(spark, query.format(f="rt_fact"))
            frame = spark.sql(query.format(f=f"{fact}.files"))
            assert plans.comparable(frame.collect()) == expected, name
            if files is not None:
                assert sorted(kept(scan) for scan in scans(frame, f"{fact}.files")) == files, name


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_setting_turns_it_off(spark: SparkSession, fact: str, adaptive: bool) -> None:
    """By an option of the read, the session or the table; the report says which, and everything is read."""
    query = f"SELECT {HINT} f.v FROM {fact}.files {{}} f JOIN rt_dim d ON f.k = d.k WHERE {FEW}"
    off = "WITH ('runtime-pruning' = 'false')"
    cases: list[tuple[str, dict[str, Any], str, str]] = [
        (off, {}, "", "option 'runtime-pruning'"),
        ("", {"parquetry.runtime-pruning": "false"}, "", "session setting 'parquetry.runtime-pruning'"),
        ("", {}, "false", "table property 'runtime-pruning'"),
    ]
    for option, session, table, said in cases:
        if table:
            spark.sql(f"ALTER TABLE {fact}.files SET TBLPROPERTIES ('runtime-pruning' = '{table}')")
        try:
            with settings(spark, {"spark.sql.adaptive.enabled": adaptive, **session}):
                frame = spark.sql(query.format(option))
                assert sorted(row.v for row in frame.collect()) == [1, 11, 21]
                (scan,) = scans(frame, f"{fact}.files")
                assert (scan["run_time"], kept(scan)) == ({"off": said}, 10)
                assert f"  run time: off ({said})" in str(parquetry.report(frame))
        finally:
            if table:
                spark.sql(f"ALTER TABLE {fact}.files UNSET TBLPROPERTIES ('runtime-pruning')")


def test_a_materialised_dimension_sends_its_values(spark: SparkSession, fact: str) -> None:
    """A cached dimension, whose condition Spark does not see, and one from a checkpoint send their values."""
    query = f"SELECT {HINT} f.v FROM {fact}.files f JOIN {{}} d ON f.k = d.k"
    few = spark.sql(f"SELECT * FROM rt_dim d WHERE {FEW}")
    few.localCheckpoint().createOrReplaceTempView("rt_held")
    spark.sql(f"CACHE TABLE rt_cached AS SELECT * FROM rt_dim d WHERE {FEW}")
    try:
        for name in ("rt_cached", "rt_held"):
            frame = spark.sql(query.format(name))
            assert sorted(row.v for row in frame.collect()) == [1, 11, 21]
            (scan,) = scans(frame, f"{fact}.files")
            assert (delivered(scan), kept(scan)) == ({"k": 3}, 3)
    finally:
        spark.sql("UNCACHE TABLE rt_cached")


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_small_side_without_rows(spark: SparkSession, fact: str, adaptive: bool) -> None:
    """If the small side has no rows, the join is empty, and no file has to be read."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        for layout in LAYOUTS:
            frame = spark.sql(
                f"SELECT {HINT} count(v) FROM {fact}.{layout} f JOIN rt_dim d ON f.k = d.k WHERE d.a = 77"
            )
            assert frame.collect() == [(0,)]
            (scan,) = scans(frame, f"{fact}.{layout}")
            assert adaptive or kept(scan) == 0
