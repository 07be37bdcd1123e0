"""Partitions by name and by condition: ALTER TABLE … PARTITION, SHOW PARTITIONS, TRUNCATE, DELETE FROM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def folder_of(rows: Rows, table: str) -> Path:
    """Return the folder of a table."""
    return Path(
        next(row[1] for row in rows(f"DESCRIBE EXTENDED {table}") if row[0] == "Location").removeprefix(
            "file:"
        )
    )


def shown(rows: Rows, table: str) -> list[str]:
    """Return the partitions of a table."""
    return [row[0] for row in rows(f"SHOW PARTITIONS {table}")]


TYPES = [
    ("boolean", "true", "true"),
    ("tinyint", "-1", "-1"),
    ("smallint", "300", "300"),
    ("int", "-5", "-5"),
    ("bigint", "9223372036854775807", "9223372036854775807"),
    ("float", "'1.5'", "1.5"),
    ("double", "'-0.0'", "0.0"),
    ("double", "'NaN'", "NaN"),
    ("double", "'-Infinity'", "-Infinity"),
    ("decimal(10,2)", "1.5", "1.50"),
    ("string", "'a=b/c %d'", "a%3Db%2Fc %25d"),
    ("string", "'null'", "null"),
    ("string", "' ünï 日本 '", " ünï 日本 "),
    ("string", r"'it\'s \"x\"\n'", "it%27s %22x%22%0A"),
    ("varchar(5)", "'ab '", "ab "),
    ("char(4)", "'ab'", "ab  "),
    ("binary", "X'6162'", "ab"),
    ("date", "DATE '2024-02-29'", "2024-02-29"),
    ("date", "DATE '0001-01-01'", "0001-01-01"),
    ("timestamp", "TIMESTAMP '2024-01-01 12:34:56.789'", "2024-01-01 12%3A34%3A56.789"),
    ("timestamp_ntz", "TIMESTAMP_NTZ '2024-01-01 12:34:56'", "2024-01-01 12%3A34%3A56"),
]


@pytest.mark.parametrize(("type_", "literal", "text"), TYPES)
def test_partitions_of_every_type(
    spark: SparkSession, rows: Rows, db: str, type_: str, literal: str, text: str
) -> None:
    """A partition of each type, and of NULL, is added, shown as Hive names it, found, renamed and dropped."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, p {type_}) PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = {literal}) PARTITION (p = null)")
    assert shown(rows, table) == ["p=__HIVE_DEFAULT_PARTITION__", f"p={text}"]
    assert rows(f"SHOW PARTITIONS {table} PARTITION (p = {literal})") == [(f"p={text}",)]
    with pytest.raises(AnalysisException, match="already exist") as caught:
        spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = {literal})")
    assert caught.value.getCondition() == "PARTITIONS_ALREADY_EXIST"
    spark.sql(f"ALTER TABLE {table} ADD IF NOT EXISTS PARTITION (p = {literal}) PARTITION (p = null)")
    spark.sql(f"INSERT INTO {table} PARTITION (p = {literal}) VALUES (1)")
    assert rows(f"SELECT id, p IS NULL FROM {table} WHERE p = CAST({literal} AS {type_})") == [(1, False)]
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = null)")
    spark.sql(f"ALTER TABLE {table} PARTITION (p = {literal}) RENAME TO PARTITION (p = null)")
    assert shown(rows, table) == ["p=__HIVE_DEFAULT_PARTITION__"]
    assert rows(f"SELECT id, p FROM {table}") == [(1, None)]
    spark.sql(f"ALTER TABLE {table} PARTITION (p = null) RENAME TO PARTITION (p = {literal})")
    assert shown(rows, table) == [f"p={text}"]
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = {literal})")
    assert shown(rows, table) == []


def test_null_and_the_text_null(spark: SparkSession, rows: Rows, db: str) -> None:
    """NULL, '' and Hive's name for NULL are one partition; the text 'null' is another."""
    spark.sql(f"CREATE TABLE {db}.t (id int, p string) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, NULL), (2, 'null'), (3, '')")
    assert shown(rows, f"{db}.t") == ["p=__HIVE_DEFAULT_PARTITION__", "p=null"]
    assert sorted(rows(f"SELECT id FROM {db}.t WHERE p IS NULL")) == [(1,), (3,)]
    spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (p = '__HIVE_DEFAULT_PARTITION__')")
    assert rows(f"SELECT id, p FROM {db}.t") == [(2, "null")]


@FORMATS
def test_add_and_drop(spark: SparkSession, rows: Rows, db: str, tmp_path: Path, file_format: str) -> None:
    """ADD takes several partitions, each with a LOCATION whose files are adopted; DROP takes several, all or
    none.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, p int, q string) USING {file_format} PARTITIONED BY (p, q)")
    spark.sql("SELECT id FROM VALUES (7), (8) AS v(id)").coalesce(1).write.format(file_format).save(
        f"{tmp_path}/a b%20"
    )
    spark.sql(
        f"ALTER TABLE {table} ADD PARTITION (q = 'x', p = 1) LOCATION '{tmp_path}/a b%20' "
        f"PARTITION (p = 2, q = 'y') PARTITION (P = 3, Q = 'z') LOCATION 'sub/dir'"
    )
    assert shown(rows, table) == ["p=1/q=x", "p=2/q=y", "p=3/q=z"]
    assert sorted(rows(f"SELECT * FROM {table}")) == [(7, 1, "x"), (8, 1, "x")]
    assert rows(f"SELECT count(*), max(id) FROM {table} WHERE id > 7") == [(1, 8)]
    spark.sql(f"INSERT INTO {table} VALUES (9, 3, 'z'), (10, 1, 'x')")
    found = [(7, 1, "x"), (8, 1, "x"), (9, 3, "z"), (10, 1, "x")]
    # the new files are below the table; no reader looks there for files recorded elsewhere
    assert sorted(rows(f"SELECT * FROM {table}")) == found
    spark.sql(f"CALL lake.system.sync(table => '{table}')")
    assert sorted(rows(f"SELECT * FROM {table}")) == found
    assert rows(f"SHOW PARTITIONS {table} PARTITION (q = 'z')") == [("p=3/q=z",)]
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1, q = 'x'), PARTITION (p = 9, q = 'x')")
    assert caught.value.getCondition() == "PARTITIONS_NOT_FOUND"
    assert len(shown(rows, table)) == 3
    spark.sql(
        f"ALTER TABLE {table} DROP IF EXISTS PARTITION (p = 1, q = 'x'), PARTITION (p = 9, q = 'x') PURGE"
    )
    assert shown(rows, table) == ["p=2/q=y", "p=3/q=z"]
    assert rows(f"SELECT id FROM {table}") == [(9,)]


def test_what_was_dropped_does_not_come_back(spark: SparkSession, rows: Rows, db: str) -> None:
    """A partition that is dropped and added again is empty, though older versions keep its old files there.

    PURGE deletes them.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (p) AS SELECT 1 AS id, 1 AS p")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1)")
    assert len(list((folder_of(rows, table) / "p=1").glob("pq-*"))) == 1
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1)")
    assert rows(f"SELECT * FROM {table}") == []
    assert rows(f"SELECT count(*) FROM {table} WHERE p = 1") == [(0,)]
    spark.sql(f"INSERT INTO {table} VALUES (2, 1)")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1) PURGE")
    assert len(list((folder_of(rows, table) / "p=1").glob("pq-*"))) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("ADD PARTITION (nope = 1)", "nope"),
        ("ADD PARTITION (p = 1)", "q"),
        ("ADD PARTITION (p = 'x', q = 1)", "'x'.*INT"),
        ("ADD PARTITION (p = 3000000000, q = 1)", "(?i)overflow|cast"),
        ("ADD PARTITION (p = 5, q = 5) PARTITION (p = 5, q = 5)", "(?i)partition"),
        ("DROP PARTITION (p = 9)", "PARTITIONS_NOT_FOUND"),
        ("DROP PARTITION (r = 1)", "r"),
        ("DROP PARTITION (p = 9, q = 9)", "PARTITIONS_NOT_FOUND"),
        ("PARTITION (p = 9, q = 9) RENAME TO PARTITION (p = 8, q = 8)", "(?i)not.found"),
        ("PARTITION (p = 1, q = 1) RENAME TO PARTITION (p = 2, q = 2)", "(?i)already exist|EXISTS"),
        ("PARTITION (p = 1, q = 1) SET LOCATION '/x'", "SET LOCATION does not support partition"),
    ],
)
def test_partitions_that_cannot_be(spark: SparkSession, rows: Rows, db: str, change: str, says: str) -> None:
    """An unknown column, a missing or ill-typed value, and a missing or existing partition are errors, and
    change nothing.
    """
    spark.sql(
        f"CREATE TABLE {db}.t PARTITIONED BY (p, q) AS SELECT id, CAST(id AS int) AS p, CAST(id AS int) AS q FROM range(1, 3)"
    )
    with pytest.raises(PySparkException, match=says):
        spark.sql(f"ALTER TABLE {db}.t {change}")
    assert shown(rows, f"{db}.t") == ["p=1/q=1", "p=2/q=2"]
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(1, 1, 1), (2, 2, 2)]


def test_a_table_without_partitions(spark: SparkSession, rows: Rows, db: str) -> None:
    """Partition statements on a table without partition columns are errors; TRUNCATE and a DELETE of all rows
    are not.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    for statement in (
        "SHOW PARTITIONS {}", "ALTER TABLE {} ADD PARTITION (id = 1)", "ALTER TABLE {} DROP PARTITION (id = 1)",
        "TRUNCATE TABLE {} PARTITION (id = 1)",
    ):  # fmt: skip
        with pytest.raises(AnalysisException):
            spark.sql(statement.format(f"{db}.t"))
    spark.sql(f"DELETE FROM {db}.t WHERE hash(id) = 3")
    assert rows(f"SELECT * FROM {db}.t") == [(1,)]
    spark.sql(f"TRUNCATE TABLE {db}.t")
    assert rows(f"SELECT * FROM {db}.t") == []
    spark.sql(f"INSERT INTO {db}.t VALUES (2)")
    spark.sql(f"DELETE FROM {db}.t")
    assert rows(f"SELECT count(*) FROM {db}.t") == [(0,)]


@FORMATS
def test_truncate(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """TRUNCATE empties a table or one partition; the partitions stay, as in Hive and Spark (SPARK-34418)."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} USING {file_format} PARTITIONED BY (p) AS SELECT id, id % 3 AS p FROM range(9)"
    )
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (p = 1)")
    assert rows(f"SELECT p, count(*) FROM {table} GROUP BY p ORDER BY p") == [(0, 3), (2, 3)]
    with pytest.raises(AnalysisException, match=r"(?i)not.found"):
        spark.sql(f"TRUNCATE TABLE {table} PARTITION (p = 7)")
    spark.sql(f"TRUNCATE TABLE {table}")
    assert rows(f"SELECT count(*), max(id) FROM {table}") == [(0, None)]
    assert shown(rows, table) == ["p=0", "p=1", "p=2"]
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    assert rows(f"SELECT * FROM {table}") == [(1, 1)]


DELETES: list[tuple[str, set[int | None]]] = [
    ("p = 1", {1}),
    ("p IS NULL", {None}),
    ("p > 1", {2, 3}),
    ("p IN (1, 3) AND s = 'x'", {1, 3}),
    ("p <=> NULL OR p = 2", {None, 2}),
    ("p BETWEEN 1 AND 2 AND s LIKE 'x%'", {1, 2}),
    ("NOT p = 1", {2, 3}),
    ("p = 77", set()),
    ("1 = 1", {None, 1, 2, 3}),
    ("1 = 0", set()),
    ("NULL", set()),
    ("id >= 0", {None, 1, 2, 3}),
    ("id > 1000", set()),
]


@FORMATS
@pytest.mark.parametrize(("condition", "gone"), DELETES)
def test_delete_whole_partitions(
    spark: SparkSession, rows: Rows, db: str, file_format: str, condition: str, gone: set[int | None]
) -> None:
    """DELETE FROM with a predicate that selects whole partitions deletes the rows that plain SQL would
    select.
    """
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} USING {file_format} PARTITIONED BY (s, p) "
        "AS SELECT 'x' AS s, NULLIF(CAST(id % 4 AS int), 0) AS p, id FROM range(12)"
    )
    spark.sql(f"DELETE FROM {table} WHERE {condition}")
    left = {row[0] for row in rows(f"SELECT p FROM {table}")}
    assert left == {None, 1, 2, 3} - gone
    assert rows(f"SELECT count(*) FROM {table}") == [(3 * len(left),)]


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("nope = 1", "UNRESOLVED_COLUMN.*`nope`"),
        ("p = 'x'", "CAST_INVALID_INPUT.*'x'"),
    ],
)
def test_deletes_that_are_refused(
    spark: SparkSession, rows: Rows, db: str, condition: str, says: str
) -> None:
    """A DELETE by an unknown column or an invalid value is an error that names it, and deletes no row."""
    spark.sql(f"CREATE TABLE {db}.t PARTITIONED BY (p) AS SELECT id, CAST(id % 2 AS int) AS p FROM range(10)")
    with pytest.raises(PySparkException, match=says):
        spark.sql(f"DELETE FROM {db}.t WHERE {condition}")
    assert rows(f"SELECT count(*) FROM {db}.t") == [(10,)]


def test_statements_on_a_cached_table(spark: SparkSession, rows: Rows, db: str) -> None:
    """DELETE, TRUNCATE and partition statements on a cached table take effect, and queries see it at once."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (p) AS SELECT id, CAST(id % 4 AS int) AS p FROM range(8)")
    spark.sql(f"CACHE TABLE {table}")
    left = {0, 1, 2, 3}
    for statement, gone in (
        ("DELETE FROM {} WHERE p = 0", 0), ("ALTER TABLE {} DROP PARTITION (p = 1)", 1),
        ("TRUNCATE TABLE {} PARTITION (p = 2)", 2), ("TRUNCATE TABLE {}", 3),
    ):  # fmt: skip
        assert {row[0] for row in rows(f"SELECT p FROM {table}")} == left
        spark.sql(statement.format(table))
        left.remove(gone)
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    assert sorted(rows(f"SELECT * FROM {table}")) == [(1, 1), (2, 2)]
    spark.sql(f"DELETE FROM {table}")
    assert rows(f"SELECT * FROM {table}") == []
    spark.sql(f"UNCACHE TABLE {table}")


@pytest.mark.parametrize(
    ("type_", "there", "gone"),
    [
        ("date", "DATE '2027-01-01'", "DATE '2027-01-02'"),
        ("timestamp", "TIMESTAMP '2027-01-01 10:00:00.5'", "TIMESTAMP '2027-01-02 10:00:00'"),
        ("interval year to month", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1-3' YEAR TO MONTH"),
        ("binary", "X'6162'", "X'6163'"),
        ("string", "'a'", "'b'"),
    ],
)
def test_errors_about_partitions_tell_values_as_sql_has_them(
    spark: SparkSession, db: str, rows: Rows, type_: str, there: str, gone: str
) -> None:
    """Errors of statements that add, drop, rename or empty partitions show a date as SQL writes it,
    not as the number of its day.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, p {type_}, q int) PARTITIONED BY (p, q)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, {there}, 1)")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = {there}, q = 2)")
    old, new = (str(rows(f"SELECT CAST({value} AS string)")[0][0]) for value in (there, gone))
    for statement, shown in (
        (f"ADD PARTITION (p = {there}, q = 2)", old),
        (f"DROP PARTITION (p = {gone}, q = 2)", new),
        (f"PARTITION (p = {gone}, q = 2) RENAME TO PARTITION (p = {there}, q = 3)", new),
        (f"PARTITION (p = {there}, q = 1) RENAME TO PARTITION (p = {there}, q = 2)", old),
    ):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(f"ALTER TABLE {db}.t {statement}")
        assert f"PARTITION (`p` = {shown}, `q` = 2)" in str(caught.value)
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (p = {gone})")
    assert f"PARTITION (`p` = {new})" in str(caught.value)
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"TRUNCATE TABLE {db}.t PARTITION (q = 1, p = {gone})")
    assert f"PARTITION (`p` = {new}, `q` = 1)" in str(caught.value)
    assert len(rows(f"SHOW PARTITIONS {db}.t")) == 2


@pytest.mark.parametrize(
    ("statement", "condition", "kind"),
    [
        ("ALTER TABLE {} DROP PARTITION (p = 9)", "PARTITIONS_NOT_FOUND", "NoSuchPartitionsException"),
        ("ALTER TABLE {} DROP IF EXISTS PARTITION (p = 9)", None, None),
        ("TRUNCATE TABLE {} PARTITION (p = 9)", "PARTITIONS_NOT_FOUND", "NoSuchPartitionException"),
        (
            "ALTER TABLE {} PARTITION (p = 9) RENAME TO PARTITION (p = 8)",
            "PARTITIONS_NOT_FOUND",
            "NoSuchPartitionException",
        ),
        (
            "ALTER TABLE {} PARTITION (p = 1) RENAME TO PARTITION (p = 2)",
            "PARTITIONS_ALREADY_EXIST",
            "PartitionsAlreadyExistException",
        ),
        (
            "ALTER TABLE {} ADD PARTITION (p = 2)",
            "PARTITIONS_ALREADY_EXIST",
            "PartitionsAlreadyExistException",
        ),
        ("ALTER TABLE {} ADD IF NOT EXISTS PARTITION (p = 2)", None, None),
    ],
)
def test_partitions_missing_or_there_already_raise_sparks_own_exceptions(
    spark: SparkSession, db: str, rows: Rows, statement: str, condition: str | None, kind: str | None
) -> None:
    """Errors have the classes of Spark's own tables, and name table and partition; the table
    does not change.
    """
    stock = "spark_catalog.default.partition_errors"
    tables = (f"{db}.t", stock)
    try:
        for table in tables:
            spark.sql(f"CREATE TABLE {table} (id int, p int) USING parquet PARTITIONED BY (p)")
            spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
            if condition is None:
                spark.sql(statement.format(table))
            else:
                with pytest.raises(AnalysisException) as caught:
                    spark.sql(statement.format(table))
                assert caught.value.getCondition() == condition
                if table != stock:
                    assert caught.value._origin.getClass().getSimpleName() == kind
                    assert "`t`" in str(caught.value)
            assert sorted(rows(f"SELECT id, p FROM {table}")) == [(1, 1), (2, 2)]
            assert rows(f"SHOW PARTITIONS {table}") == [("p=1",), ("p=2",)]
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {stock}")
