"""Hive's and Spark's statements about buckets, typed into Spark: their effects, what other statements show of
them, and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException
from pyspark.sql import SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn
from parquetry.layout.skew_map import SkewMap
from tests.support.spark import series

Rows = Callable[..., list[tuple[Any, ...]]]
COLUMNS = "(a INT, `b c` STRING, d DATE, p INT) USING parquet PARTITIONED BY (p)"
CLAUSE = "CLUSTERED BY (`b c`, A) SORTED BY (d DESC, a) INTO 4 BUCKETS"
SPEC = BucketSpec(("b c", "a"), 4, 2, (SortColumn("d", True), SortColumn("a")))
RELAXED = "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"

HIVES = """
CREATE EXTERNAL TABLE {}(
  `id` int,
  `k` varchar(20))
PARTITIONED BY (
  `ds` string)
CLUSTERED BY (
  k)
SORTED BY (
  k ASC,
  id DESC)
INTO 4 BUCKETS
ROW FORMAT SERDE
  'org.apache.hadoop.hive.ql.io.orc.OrcSerde'
STORED AS INPUTFORMAT
  'org.apache.hadoop.hive.ql.io.orc.OrcInputFormat'
OUTPUTFORMAT
  'org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat'
LOCATION
  'file:{}'
TBLPROPERTIES (
  'bucketing_version'='1',
  'transient_lastDdlTime'='1760000000')
"""
"""The output of Hive's SHOW CREATE TABLE."""


@pytest.fixture
def buckets(warehouse: Path, db: str) -> Callable[..., Any]:
    """Return what the record of a table says, or of its partitions."""

    def of(table: str, partitions: bool = False) -> Any:
        with ms.open_metastore(str(warehouse / "lake")) as metastore:
            found = metastore.table(db.split(".")[1], table)
            if partitions:
                return {part.values: part.arrangement.buckets for part in found.partitions()}
            return found.metadata.arrangement.buckets

    return of


def test_create_takes_the_clause_anywhere(
    spark: SparkSession, db: str, buckets: Callable[..., Any], tmp_path: Path
) -> None:
    """CLUSTERED BY works in Hive's DDL and Spark's, with a query, in CREATE OR REPLACE, with parameters, in a
    script, and as Hive prints it.
    """
    for number, statement in enumerate(
        (
            f"CREATE TABLE {db}.{{}} {COLUMNS}\n  {CLAUSE} -- of most joins\n  COMMENT 'clustered by (d)'",
            f"CREATE TABLE {db}.{{}} (a INT, `b c` STRING, d DATE) COMMENT 'c' PARTITIONED BY (p INT) {CLAUSE} STORED AS ORC",
            f"CREATE TABLE {db}.{{}} (a INT, `b c` STRING, d DATE) STORED AS PARQUET TBLPROPERTIES ('x' = 'y') {CLAUSE}",
            f"CREATE TABLE {db}.{{}} {CLAUSE} AS SELECT 1 AS a, 'x' AS `b c`, DATE '2026-01-01' AS d WHERE false",
            f"CREATE OR REPLACE TABLE {db}.t0 USING orc {CLAUSE} PARTITIONED BY (p) AS "
            "SELECT 1 AS a, 'x' AS `b c`, DATE '2026-01-01' AS d, 1 AS p WHERE false",
            f"BEGIN CREATE TABLE {db}.{{}} {COLUMNS} {CLAUSE}; END",
            f"EXECUTE IMMEDIATE 'CREATE TABLE {db}.{{}} {COLUMNS} {CLAUSE}'",
            f"CREATE TABLE {db}.{{}} {COLUMNS} {CLAUSE.replace('INTO 4', 'INTO ${spark.n_of_buckets}')}",
        )
    ):  # fmt: skip
        spark.conf.set("spark.n_of_buckets", "4")
        spark.conf.set("spark.sql.scripting.enabled", "true")  # Spark 4.0 has it off
        spark.sql(statement.replace("{}", f"t{number}"))
        assert buckets("t0" if "OR REPLACE" in statement else f"t{number}") == SPEC, statement
    if series.has("parameters"):
        spark.sql(f"CREATE TABLE {db}.named {COLUMNS} CLUSTERED BY (a) INTO :n BUCKETS", {"n": 6})
        spark.sql(f"CREATE TABLE {db}.placed {COLUMNS} CLUSTERED BY (a) INTO ? BUCKETS", [6])
        assert buckets("named") == buckets("placed") == BucketSpec(("a",), 6)
    spark.sql(HIVES.format(f"{db}.of_hive", tmp_path / "of_hive"))
    assert buckets("of_hive") == BucketSpec(("k",), 4, 1, (SortColumn("k"), SortColumn("id", True)))
    spark.sql(f"USE {db}")
    spark.sql("CREATE TABLE here (a INT) CLUSTERED BY (a) SORTED BY (a ASC NULLS FIRST) INTO 2 BUCKETS")
    assert buckets("here") == BucketSpec(("a",), 2, 2, (SortColumn("a"),))


def test_sparks_own_ways_say_the_same(
    spark: SparkSession, rows: Rows, db: str, buckets: Callable[..., Any]
) -> None:
    """`bucket(n, …)` among the partition columns and DataFrames with `bucket` and `bucketBy` make buckets and
    keep the rows.
    """
    spark.sql(f"CREATE TABLE {db}.t (a INT, b STRING, p INT) PARTITIONED BY (bucket(8, a, b), p)")
    assert buckets("t") == BucketSpec(("a", "b"), 8)
    frame = spark.sql("SELECT CAST(id AS INT) AS a, CAST(id % 3 AS STRING) AS b, id % 2 AS p FROM range(20)")
    frame.writeTo(f"{db}.u").partitionedBy(sf.col("p"), sf.partitioning.bucket(4, "a")).tableProperty(
        "bucketing_version", "1"
    ).create()
    assert buckets("u") == BucketSpec(("a",), 4, 1)
    frame.write.partitionBy("p").bucketBy(4, "b").sortBy("a").saveAsTable(f"{db}.v")
    assert buckets("v") == BucketSpec(("b",), 4, 2, (SortColumn("a"),))
    for write in (frame.write.partitionBy("p"), frame.write.partitionBy("p").bucketBy(5, "b").sortBy("a")):
        with pytest.raises(
            IllegalArgumentException, match=r"provided: identity\(p\)[^$]*table: identity\(p\), "
        ):
            write.mode("append").saveAsTable(f"{db}.v")
    spark.sql(rows(f"SHOW CREATE TABLE {db}.v")[0][0].replace(f"{db}.v", f"{db}.w"))
    frame.write.mode("append").partitionBy("p").bucketBy(4, "b").sortBy("a").saveAsTable(f"{db}.w")
    for table in ("u", "v", "w"):
        assert sorted(rows(f"SELECT a, b, p FROM {db}.{table}")) == sorted(
            tuple(row) for row in frame.collect()
        )
        assert rows(f"SHOW PARTITIONS {db}.{table}") == [("p=0",), ("p=1",)]
        assert buckets(table, partitions=True) == dict.fromkeys([(0,), (1,)], buckets(table))


def test_alter_says_other_buckets_from_then_on(
    spark: SparkSession, rows: Rows, db: str, buckets: Callable[..., Any]
) -> None:
    """Hive's four statements and its spelling of the version; partitions keep what they were made with."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS}")
    expected = {}
    for number, (statement, spec) in enumerate(
        (
            ("SET TBLPROPERTIES ('a' = 'b')", None),
            (CLAUSE, SPEC),
            ("INTO 8 BUCKETS", BucketSpec(SPEC.columns, 8, 2, SPEC.sort)),
            ("NOT SORTED", BucketSpec(SPEC.columns, 8)),
            ("SET TBLPROPERTIES ('bucketing_version' = '1')", BucketSpec(SPEC.columns, 8, 1)),
            ("clustered by (a) into 2 buckets", BucketSpec(("a",), 2, 1)),
            ("UNSET TBLPROPERTIES ('bucketing-version')", BucketSpec(("a",), 2)),
            ("NOT CLUSTERED", None),
            ("NOT CLUSTERED", None),
        )
    ):
        spark.sql(f"ALTER TABLE {db}.t {statement}")
        assert buckets("t") == spec, statement
        spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = {number})")
        expected[(number,)] = spec
    assert buckets("t", partitions=True) == expected
    assert rows(f"SHOW TBLPROPERTIES {db}.t ('a')") == [("a", "b")]
    with pytest.raises(
        AnalysisException, match=re.escape("write it anew with CALL system.rebucket(table => '")
    ):
        spark.sql(f"ALTER TABLE {db}.t PARTITION (p = 1) INTO 8 BUCKETS")


def test_what_is_shown_can_be_run_again(
    spark: SparkSession, rows: Rows, db: str, buckets: Callable[..., Any]
) -> None:
    """SHOW CREATE TABLE has both clauses in Hive's order, and DESCRIBE has Hive's rows."""
    spark.sql(
        f"CREATE TABLE {db}.t {COLUMNS} SKEWED BY (a) ON (1) {CLAUSE} TBLPROPERTIES ('bucketing_version' = '1')"
    )
    shown = rows(f"SHOW CREATE TABLE {db}.t")[0][0]
    assert shown.splitlines()[-2:] == [
        "CLUSTERED BY (`b c`, a) SORTED BY (d DESC, a) INTO 4 BUCKETS",
        "SKEWED BY (a) ON (1)",
    ]
    assert "clustered-by" not in shown
    spark.sql(shown.replace(f"{db}.t", f"{db}.again"))
    assert buckets("t") == buckets("again") == BucketSpec(SPEC.columns, 4, 1, SPEC.sort)
    assert rows(f"SHOW CREATE TABLE {db}.again")[0][0] == shown.replace(f"{db}.t", f"{db}.again")
    properties = dict(rows(f"SHOW TBLPROPERTIES {db}.t"))
    assert properties["clustered-by"] == "(`b c`, a) SORTED BY (d DESC, a) INTO 4 BUCKETS"
    assert (properties["bucketing-version"], properties["hive-compatible"]) == ("1", "true")
    described = rows(f"DESCRIBE FORMATTED {db}.t")
    assert described[described.index(("# Storage Information", "", "")) + 1 :] == [
        ("Num Buckets", "4", ""),
        ("Bucket Columns", "[b c, a]", ""),
        ("Sort Columns", "[d DESC, a]", ""),
        ("bucketing_version", "1", ""),
        ("Stored As SubDirectories", "No", ""),
        ("Skewed Columns", "[a]", ""),
        ("Skewed Values", "[[1]]", ""),
    ]


@pytest.mark.needs("described partitions")
def test_a_partition_describes_its_own_buckets(spark: SparkSession, rows: Rows, db: str) -> None:
    """A partition shows the buckets that it was made with, after the table has none any longer."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {CLAUSE}")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1)")
    spark.sql(f"ALTER TABLE {db}.t NOT CLUSTERED")
    part = {row[0]: row[1] for row in rows(f"DESCRIBE EXTENDED {db}.t PARTITION (p = 1)")}
    assert (part["Num Buckets"], part["Bucket Columns"]) == ("4", "[b c, a]")
    assert "Num Buckets" not in [row[0] for row in rows(f"DESCRIBE EXTENDED {db}.t")]


@pytest.mark.needs("create table like")
def test_like_keeps_buckets(spark: SparkSession, db: str, buckets: Callable[..., Any]) -> None:
    """With their version, unless the statement has buckets of its own."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {CLAUSE} TBLPROPERTIES ('bucketing_version' = '1')")
    spark.sql(f"CREATE TABLE {db}.alike LIKE {db}.t")
    assert buckets("alike") == BucketSpec(SPEC.columns, 4, 1, SPEC.sort)
    spark.sql(f"CREATE TABLE {db}.other LIKE {db}.t CLUSTERED BY (a) INTO 2 BUCKETS")
    assert buckets("other") == BucketSpec(("a",), 2, 1)


@pytest.mark.needs("create table like")
def test_a_table_like_one_of_sparks_has_its_buckets(
    spark: SparkSession, db: str, buckets: Callable[..., Any]
) -> None:
    """The buckets have the columns, count and order of the original, and Spark's hash, unless the statement
    gives others.
    """
    spark.sql(
        "CREATE TABLE bucketed_source (a INT, b CHAR(3), p INT) USING parquet PARTITIONED BY (p) "
        "CLUSTERED BY (b) SORTED BY (a) INTO 4 BUCKETS"
    )
    try:
        spark.sql(f"CREATE TABLE {db}.t LIKE bucketed_source")
        spark.sql(f"CREATE TABLE {db}.u LIKE bucketed_source TBLPROPERTIES ('bucketing-version' = '1')")
        spark.sql(f"CREATE TABLE {db}.v LIKE bucketed_source CLUSTERED BY (a) INTO 2 BUCKETS")
    finally:
        spark.sql("DROP TABLE bucketed_source")
    assert buckets("t") == BucketSpec(("b",), 4, "spark", (SortColumn("a"),))
    assert buckets("u") == BucketSpec(("b",), 4, 1, (SortColumn("a"),))
    assert buckets("v") == BucketSpec(("a",), 2)


def test_what_cannot_be_is_refused_before_anything_is_written(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, buckets: Callable[..., Any]
) -> None:
    """With the column, the value and what to do; a query is not run, and the table stays as it is."""
    fails = "SELECT CAST(raise_error('it was read') AS INT) AS x"
    spark.sql(
        f"CREATE TABLE {db}.t (x INT, s STRUCT<a: INT>, p INT) PARTITIONED BY (p) CLUSTERED BY (x, s) INTO 4 BUCKETS"
    )
    before = buckets("t")
    for statement, says in (
        (f"CREATE TABLE {db}.made (x INT, p INT) PARTITIONED BY (p) CLUSTERED BY (p) INTO 4 BUCKETS", "CLUSTERED BY names p, which is none of the columns in the files: these are x"),
        (f"CREATE TABLE {db}.made CLUSTERED BY (y) INTO 4 BUCKETS AS {fails}", "CLUSTERED BY names y"),
        (f"CREATE TABLE {db}.made CLUSTERED BY (x) INTO 0 BUCKETS AS {fails}", "INTO 0 BUCKETS: give a number of buckets from 1"),
        (f"CREATE TABLE {db}.made (x VARIANT) CLUSTERED BY (x) INTO 4 BUCKETS", "Column x is of type variant, which cannot be hashed into buckets"),
        (f"CREATE TABLE {db}.made (x STRING COLLATE UTF8_LCASE) CLUSTERED BY (x) INTO 4 BUCKETS", "column x has a collation"),
        (f"CREATE TABLE {db}.made (x INT) CLUSTERED BY (x) SORTED BY (x DESC NULLS FIRST) INTO 4 BUCKETS", "NULLS LAST goes with DESC"),
        (f"CREATE TABLE {db}.made (x INT) CLUSTERED BY (x) INTO four BUCKETS", "'four' is not expected here: write the number of buckets"),
        (f"CREATE TABLE {db}.made (s STRUCT<a: INT>) PARTITIONED BY (bucket(4, s.a))", "a field of a struct"),
        (f"CREATE TABLE {db}.made (x INT) PARTITIONED BY (bucket(4, x)) CLUSTERED BY (x) INTO 4 BUCKETS", "said more than once: bucket(4, x), CLUSTERED BY"),
        (f"ALTER TABLE {db}.t CLUSTERED BY (p) INTO 4 BUCKETS", "CLUSTERED BY names p"),
        (f"ALTER TABLE {db}.t INTO 100001 BUCKETS", "from 1 to 100000"),
        (f"ALTER TABLE {db}.t SET TBLPROPERTIES ('bucketing_version' = '3')", "'bucketing-version' is '3': not one of 1, 2, spark"),
        (f"ALTER TABLE {db}.t SET TBLPROPERTIES ('hive-compatible' = 'false')", "follows from 'bucketing-version', which is 2"),
        (f"ALTER TABLE {db}.t ALTER COLUMN x TYPE BIGINT", "Column x is a bucket column"),
        (f"ALTER TABLE {db}.t ALTER COLUMN s.a TYPE BIGINT", "Column s is a bucket column"),
        (f"ALTER TABLE {db}.t ADD COLUMN s.b INT", "Column s is a bucket column"),
        (f"ALTER TABLE {db}.t DROP COLUMN x", "Column x cannot be dropped, as rows of table"),
    ):  # fmt: skip
        with pytest.raises(AnalysisException, match=re.escape(says)):
            spark.sql(statement)
    assert [row[1] for row in rows(f"SHOW TABLES IN {db}")] == ["t"]
    assert buckets("t") == before
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN x TO y")
    spark.sql(f"ALTER TABLE {db}.t CHANGE COLUMN y y INT COMMENT 'the same type'")
    assert dict(rows(f"SHOW TBLPROPERTIES {db}.t"))["clustered-by"] == "(y, s) INTO 4 BUCKETS"
    assert buckets("t") == before


def test_beside_directories_where_rules_are_relaxed(spark: SparkSession, db: str, warehouse: Path) -> None:
    """Hive's DDL has both clauses of one table; strict rules name the one that it breaks."""
    both = "SKEWED BY (x) ON (1) STORED AS DIRECTORIES CLUSTERED BY (x) INTO 4 BUCKETS"
    with pytest.raises(AnalysisException, match="rule buckets"):
        spark.sql(f"CREATE TABLE {db}.t (x INT, p INT) PARTITIONED BY (p) {both}")
    spark.sql(f"CREATE TABLE {db}.t (x INT, p INT) PARTITIONED BY (p) {both} {RELAXED}")
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        arrangement = metastore.table(db.split(".")[1], "t").metadata.arrangement
    assert arrangement.buckets == BucketSpec(("x",), 4)
    assert arrangement.skew == SkewMap(("x",), ((1,),), directories=True)
    with pytest.raises(AnalysisException, match="rule buckets"):
        spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('list-bucketing-rules' = 'strict')")


def test_tables_of_others_are_left_to_spark(spark: SparkSession, rows: Rows, db: str) -> None:
    """Spark's own buckets work as before. Its error texts do not change, also for errors after a clause of
    ours.
    """
    spark.sql("CREATE TABLE bucketed (x INT) USING parquet CLUSTERED BY (x) SORTED BY (x) INTO 4 BUCKETS")
    try:
        assert ("Num Buckets", "4", "") in rows("DESCRIBE FORMATTED bucketed")
    finally:
        spark.sql("DROP TABLE bucketed")
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for statement in (
        "CREATE TABLE s (x INT)\n  CLUSTERED BY (x) SORTED BY (x DESC) INTO 4 BUCKETS",
        "ALTER TABLE spark_catalog.default.s NOT CLUSTERED",
        "ALTER TABLE s INTO 4 BUCKETS",
        f"CREATE TABLE {db}.s (x INT) CLUSTERED BY x INTO 4 BUCKETS",
        f"CREATE TABLE {db}.s (x INT) CLUSTERED BY (x)",
        f"ALTER TABLE {db}.s NOT SORTED BY (x)",
    ):
        with pytest.raises(ParseException) as alone:
            plain.parsePlan(statement)
        with pytest.raises(ParseException) as ours:
            spark.sql(statement)
        assert str(ours.value) == str(alone.value)
    with pytest.raises(ParseException, match=r"(?s)near 'USNIG'.*line 3, pos 2"):
        spark.sql(f"CREATE TABLE {db}.s (x INT)\n  CLUSTERED BY (x) INTO 4 BUCKETS\n  USNIG orc")
