"""Hive's statements about heavy values, typed into Spark: their effects, what other statements show of them,
and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.layout.cells import AutoSkew
from parquetry.layout.skew_map import SkewMap
from tests.support.spark import series

Rows = Callable[..., list[tuple[Any, ...]]]
COLUMNS = "(x INT, y STRING, p INT) USING parquet PARTITIONED BY (p)"
HEAVY = "SKEWED BY (x, y) ON ((1, 'UP'), ('2', NULL), (3, 'it''s \\\\ \"')) STORED AS DIRECTORIES"
CELLS = ((1, "UP"), (2, None), (3, "it's \\ \""))
FULL = SkewMap(("x", "y"), CELLS, directories=True)
RELAXED = "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"


@pytest.fixture
def skew(warehouse: Path, db: str) -> Callable[..., Any]:
    """Return what the record of a table says, or of its partitions."""

    def of(table: str, partitions: bool = False) -> Any:
        with ms.open_metastore(str(warehouse / "lake")) as metastore:
            found = metastore.table(db.split(".")[1], table)
            if partitions:
                return {part.values: part.arrangement.skew for part in found.partitions()}
            return found.metadata.arrangement.skew

    return of


def test_each_statement_does_what_it_says(
    spark: SparkSession, rows: Rows, db: str, skew: Callable[..., Any]
) -> None:
    """CREATE, ALTER, in scripts, in a current database; what SHOW CREATE TABLE prints runs again."""
    spark.sql(
        f"CREATE TABLE {db}.t {COLUMNS}\n  {HEAVY} -- of most rows\n  COMMENT 'skewed by' TBLPROPERTIES ('a' = 'b')"
    )
    assert skew("t") == FULL
    shown = rows(f"SHOW CREATE TABLE {db}.t")[0][0]
    assert shown.splitlines()[-1].startswith("SKEWED BY (x, y) ON ((1, 'UP'), (2, NULL), (3, 'it''s")
    assert "skewed-by" not in shown
    spark.sql(shown.replace(f"{db}.t", f"{db}.again"))
    assert skew("again") == FULL
    spark.sql(f"USE {db}")
    spark.conf.set("spark.sql.scripting.enabled", "true")  # Spark 4.0 has it off
    spark.sql("ALTER TABLE t SKEWED BY (x) ON AUTO STORED AS DIRECTORIES")
    assert skew("t") == SkewMap(("x",), (), True, auto=AutoSkew(0.05, 16))
    spark.sql("ALTER TABLE t NOT STORED AS DIRECTORIES")
    assert skew("t") == SkewMap(("x",), (), auto=AutoSkew(0.05, 16))
    spark.sql(
        "BEGIN ALTER TABLE t SKEWED BY (x) ON (7) STORED AS DIRECTORIES; ALTER TABLE t SET SKEWED LOCATION (7 = 'file:/7'); END"
    )
    assert skew("t") == SkewMap(("x",), ((7,),), True, ("file:/7",))
    spark.sql("EXPLAIN ALTER TABLE t NOT SKEWED")
    spark.sql("EXECUTE IMMEDIATE 'ALTER TABLE t SKEWED BY (x) ON (8)'")
    assert skew("t") == SkewMap(("x",), ((8,),))
    spark.sql(
        "CREATE OR REPLACE TABLE t (x INT, p INT) PARTITIONED BY (p) SKEWED BY (x) ON (9) STORED AS ORC"
    )
    assert skew("t") == SkewMap(("x",), ((9,),))
    other = spark.newSession()  # whose current catalog is Spark's own
    with pytest.raises(ParseException):
        other.sql("ALTER TABLE t NOT SKEWED")
    spark.sql("ALTER TABLE t NOT SKEWED")
    other.sql(f"ALTER TABLE {db}.t NOT SKEWED")
    assert skew("t") is None


@pytest.mark.needs("create table like")
def test_like_keeps_what_is_skewed(
    spark: SparkSession, rows: Rows, db: str, skew: Callable[..., Any]
) -> None:
    """With the table's properties; a table like one of Spark's has the skew of the statement."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {HEAVY} TBLPROPERTIES ('a' = 'b')")
    shown = rows(f"SHOW CREATE TABLE {db}.t")[0][0]
    spark.sql(f"CREATE TABLE {db}.alike LIKE {db}.t TBLPROPERTIES ('mine' = '1')")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {db}.alike LIKE {db}.t")
    assert skew("alike") == FULL
    assert rows(f"SHOW CREATE TABLE {db}.alike")[0][0] == shown.replace(f"{db}.t", f"{db}.alike").replace(
        "'a' = 'b'", "'a' = 'b',\n  'mine' = '1'"
    )
    spark.sql(
        "CREATE TABLE skewed_source (x INT COMMENT 'c', y CHAR(3), p DATE) USING orc PARTITIONED BY (p) COMMENT 'of Spark'"
    )
    try:
        spark.sql(f"CREATE TABLE {db}.ours LIKE skewed_source SKEWED BY (x) ON (1)")
    finally:
        spark.sql("DROP TABLE skewed_source")
    assert skew("ours") == SkewMap(("x",), ((1,),))
    shown = rows(f"SHOW CREATE TABLE {db}.ours")[0][0]
    for part in ("x INT COMMENT 'c'", "CHAR(3)", "USING orc", "PARTITIONED BY (p)", "COMMENT 'of Spark'"):
        assert part in shown


@pytest.mark.needs("parameters")
def test_values_may_be_parameters(spark: SparkSession, db: str, skew: Callable[..., Any]) -> None:
    """By name and by place."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {HEAVY}")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1)")
    spark.sql(
        f"alter table {db}.t partition (p = '1') set skewed location ((1, 'UP') = :uri)", {"uri": "file:/far"}
    )
    spark.sql(f"ALTER TABLE {db}.t SKEWED BY (y) ON (?, :x)".replace(":x", "?"), ["it's \\", None])
    assert skew("t") == SkewMap(("y",), (("it's \\",), (None,)))
    assert skew("t", partitions=True) == {(1,): SkewMap(("x", "y"), CELLS, True, ("file:/far", None, None))}


def test_concatenate_merges_by_the_rules(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """CONCATENATE merges partitions, also with values that need quotes.

    The rules must be relaxed for an external table, but not for the procedure.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (x INT, ds STRING) PARTITIONED BY (ds) SKEWED BY (x) ON (1) STORED AS DIRECTORIES "
        f"LOCATION '{tmp_path}/t' {RELAXED}"
    )
    value = "'it\\'s \\\\ \"'"
    for x in (1, 1, 2, 2):
        spark.sql(f"INSERT INTO {db}.t VALUES ({x}, {value}), ({x}, 'other')")
    spark.sql(f"ALTER TABLE {db}.t NOT STORED AS DIRECTORIES")
    spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('list-bucketing-rules' = 'strict')")
    with pytest.raises(AnalysisException, match="rule external"):
        spark.sql(f"ALTER TABLE {db}.t CONCATENATE")
    called = rows(f"CALL lake.system.compact(table => '{db}.t', where => \"ds = 'other'\")")
    assert [row[1:3] for row in called] == [(4, 2)]
    spark.sql(f"ALTER TABLE {db}.t SET {RELAXED}")
    merged = rows(f"ALTER TABLE {db}.t PARTITION (ds = {value}) CONCATENATE")
    assert [row[1:3] for row in merged] == [(4, 2)]
    assert rows(f"SELECT x, count(*) FROM {db}.t GROUP BY x ORDER BY x") == [(1, 4), (2, 4)]
    with pytest.raises(AnalysisException, match=f"{db[5:]}.t has no partition where `ds` = 'none'"):
        spark.sql(f"ALTER TABLE {db}.t PARTITION (ds = 'none') CONCATENATE")
    # A timestamp without a zone is one of the session's, as in every other statement.
    spark.sql(f"CREATE TABLE {db}.z (x INT, at TIMESTAMP) PARTITIONED BY (at)")
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        for x in (1, 2):
            spark.sql(f"INSERT INTO {db}.z VALUES ({x}, TIMESTAMP '2026-01-01 00:00:00')")
        merged = rows(f"ALTER TABLE {db}.z PARTITION (at = '2026-01-01 00:00:00') CONCATENATE")
        assert [row[1:3] for row in merged] == [(2, 1)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_describe_shows_hives_rows(spark: SparkSession, rows: Rows, db: str) -> None:
    """DESCRIBE adds Hive's rows behind Spark's: for the table, and for a partition with its paths. A table
    that is not skewed gets no rows.
    """
    spark.sql(f"CREATE TABLE {db}.plain {COLUMNS}")
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} SKEWED BY (x) ON (1, NULL) STORED AS DIRECTORIES")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1)")
    plain = [row[0] for row in rows(f"DESCRIBE EXTENDED {db}.plain")]
    found = rows(f"DESCRIBE FORMATTED {db}.t")
    assert [row[0] for row in found if row[0] in plain] == [*plain, ""]
    assert found[-4:] == [
        ("# Storage Information", "", ""),
        ("Stored As SubDirectories", "Yes", ""),
        ("Skewed Columns", "[x]", ""),
        ("Skewed Values", "[[1], [NULL]]", ""),
    ]
    assert "# Storage Information" not in plain
    assert len(rows(f"DESCRIBE {db}.t")) == len(rows(f"DESCRIBE {db}.plain"))
    assert ("skewed-by", "(x) ON (1, NULL) STORED AS DIRECTORIES") in rows(f"SHOW TBLPROPERTIES {db}.t")
    if series.has("described partitions"):
        part = {row[0]: row[1] for row in rows(f"DESCRIBE EXTENDED {db}.t PARTITION (p = 1)")}
        assert part["Stored As SubDirectories"] == "Yes"
        assert (
            part["Skewed Value to Truncated Path"]
            == "{[1]=/t/p=1/x=1, [NULL]=/t/p=1/x=__HIVE_DEFAULT_PARTITION__}"
        )


def test_what_does_not_go_together_is_refused_before_anything_is_written(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, tmp_path: Path
) -> None:
    """Each with the rule's name; relaxed, what can be done works and gives the rows that were put in."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {HEAVY}")
    spark.sql(f"CREATE TABLE {db}.flat (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES")
    spark.sql(
        f"CREATE TABLE {db}.named (x INT, p STRING) PARTITIONED BY (p) SKEWED BY (x) ON (1) STORED AS DIRECTORIES"
    )
    folder = Path(rows(f"DESCRIBE NAMESPACE {db}")[-1][1].removeprefix("file:"))
    default = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
    one, fails = (
        "SKEWED BY (x) ON (1) STORED AS DIRECTORIES",
        "SELECT CAST(raise_error('it was read') AS INT) AS x",
    )
    for statement, says in (
        (f"INSERT INTO {db}.t SELECT CAST(raise_error('it was read') AS INT) AS x, 'a' AS y, 1 AS p", "rule insert-into"),
        (f"INSERT OVERWRITE {db}.flat {fails}", "rule unpartitioned"),
        (f"INSERT OVERWRITE {db}.named PARTITION (p = '{default}') {fails}", "rule default-directory"),
        (f"INSERT OVERWRITE {db}.named VALUES (1, '{default}')", "rule default-directory"),
        (f"ALTER TABLE {db}.named ADD PARTITION (p = '{default}')", "rule default-directory"),
        (f"CREATE TABLE {db}.made {one} AS {fails}", "rule create-as"),
        (f"CREATE OR REPLACE TABLE {db}.flat {one} AS {fails}", "rule create-as"),
        (f"CREATE TABLE {db}.made (x INT) {one} LOCATION '{tmp_path}/far'", "rule external"),
        (f"CREATE TABLE {db}.made (x INT) {one} CLUSTERED BY (x) INTO 4 BUCKETS", "rule buckets"),
        (f"CREATE TABLE {db}.made (x INT) {one} STORED AS TEXTFILE", "rule format"),
        (f"LOAD DATA INPATH '/nowhere' INTO TABLE {db}.t", "[Error 10195]: A stored-as-directories table"),
        (f"ALTER TABLE {db}.t RENAME COLUMN x TO z", "[Error 10207]: x is a skewed column. It's not allowed"),
        (f"ALTER TABLE {db}.t ALTER COLUMN x TYPE BIGINT", "[Error 10207]: x is a skewed column. It's not allowed"),
        (f"ALTER TABLE {db}.t DROP COLUMN x", "[Error 10207]: x is a skewed column. It's not allowed"),
        (f"CREATE TABLE {db}.made (x INT) SKEWED BY (x, z) ON ((1, 2))", "[Error 10203]: Invalid skewed column name: z"),
        (f"ALTER TABLE {db}.t SET SKEWED LOCATION ((1, 'UP') = '/x')", "/x is not absolute or has no scheme"),
    ):  # fmt: skip
        with pytest.raises(AnalysisException, match=re.escape(says)):
            spark.sql(statement)
    assert [row[1] for row in rows(f"SHOW TABLES IN {db}")] == ["flat", "named", "t"]
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    for table in ("t", "flat", "named"):
        spark.sql(f"ALTER TABLE {db}.{table} SET {RELAXED}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'UP', 1), (2, NULL, 1), (5, 'b', 1)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'UP', 1)")
    assert rows(f"SELECT x, y FROM {db}.t ORDER BY x, y") == [(1, "UP"), (1, "UP"), (2, None), (5, "b")]
    spark.sql(f"INSERT INTO {db}.flat VALUES (1), (2)")
    spark.sql(f"INSERT INTO {db}.named VALUES (1, '{default}')")
    spark.sql(f"CREATE TABLE {db}.made {one} LOCATION '{tmp_path}/far' {RELAXED} AS SELECT x FROM {db}.flat")
    assert rows(f"SELECT x FROM {db}.made ORDER BY x") == [(1,), (2,)]
    assert rows(f"SELECT * FROM {db}.named") == [(1, default)]
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN x TO z")
    assert rows(f"SELECT z FROM {db}.t WHERE z = 5") == [(5,)]


def test_tables_of_others_are_left_to_spark(spark: SparkSession, db: str) -> None:
    """Spark's own errors stay, to the letter and with their places; so do errors behind a clause of ours."""
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for statement in (
        "CREATE TABLE s (x INT)\n  SKEWED BY (x) ON (1)",
        "ALTER TABLE spark_catalog.default.s NOT SKEWED",
        "ALTER TABLE s CONCATENATE",
        f"CREATE TABLE {db}.s (x INT) SKEWED BY x ON (1)",
        f"ALTER TABLE {db}.s NOT SKEWED AT ALL",
    ):
        with pytest.raises(ParseException) as alone:
            plain.parsePlan(statement)
        with pytest.raises(ParseException) as ours:
            spark.sql(statement)
        assert str(ours.value) == str(alone.value)
    with pytest.raises(ParseException, match=r"(?s)near 'USNIG'.*line 3, pos 2"):
        spark.sql(f"CREATE TABLE {db}.s (x INT)\n  SKEWED BY (x) ON (1) STORED AS DIRECTORIES\n  USNIG orc")
    with pytest.raises(AnalysisException, match=r"`nosuch`.*line 2 pos 8") as behind:
        spark.sql(f"CREATE TABLE {db}.s SKEWED BY (x) ON (1) AS\n SELECT nosuch AS x")
    assert "nosuch" in str(behind.value)
