"""Options and clauses that limit an overwrite: `replaceWhere`, `partitionOverwriteMode`, `IF NOT EXISTS`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as sf

Rows = Callable[[str], list[tuple[Any, ...]]]
Save = Callable[[DataFrame, str, dict[str, str]], None]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """A row in each of the partitions `p` = 0, 1, 2; version 1."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (0, 0), (1, 1), (2, 2)")
    return f"{db}.t"


def _save(rows: DataFrame, table: str, options: dict[str, str]) -> None:
    rows.write.mode("overwrite").options(**options).saveAsTable(table)


def _save_with_partitions(rows: DataFrame, table: str, options: dict[str, str]) -> None:
    rows.select("p", "id").write.mode("overwrite").options(**options).partitionBy("p").saveAsTable(table)


def _insert(rows: DataFrame, table: str, options: dict[str, str]) -> None:
    rows.write.mode("overwrite").options(**options).insertInto(table)


def _replace(rows: DataFrame, table: str, options: dict[str, str]) -> None:
    rows.writeTo(table).options(**options).createOrReplace()


SAVES = pytest.mark.parametrize("save", [_save, _save_with_partitions, _insert, _replace])


@SAVES
@pytest.mark.parametrize("name", ["replaceWhere", "REPLACEWHERE"])
@pytest.mark.parametrize("session_mode", ["static", "dynamic"])
def test_replace_where(
    spark: SparkSession, table: str, rows: Rows, save: Save, name: str, session_mode: str
) -> None:
    """The rows of the condition are replaced, and no others, in a new version of the same table; a second run
    does the same.
    """
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", session_mode)
    new = spark.sql("SELECT 9 AS id, 1 AS p")
    save(new, table, {name: "p >= 1"})
    assert sorted(rows(f"SELECT * FROM {table}")) == [(0, 0), (9, 1)]
    save(new, table, {name: "p = 1"})
    assert sorted(rows(f"SELECT * FROM {table}")) == [(0, 0), (9, 1)]
    assert sorted(rows(f"SELECT id FROM {table} VERSION AS OF 1")) == [(0,), (1,), (2,)]
    operations = [row[0] for row in rows(f"SELECT operation FROM {table}.history ORDER BY version")]
    assert operations == ["create", "append", "overwrite", "overwrite"]


@SAVES
@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("id = 1 OR id = 5 AND p > 7 OR id < 1 AND p < 9", None),
        ("p = 2", "does not satisfy REPLACE WHERE .*p = 2.*: .*p = 1"),
        ("p = ", "Option replaceWhere is 'p = ', which is no condition"),
        ("nope = 1", "nope"),
    ],
)
def test_replace_where_that_does_not_fit(
    spark: SparkSession, table: str, rows: Rows, save: Save, condition: str, says: str | None
) -> None:
    """A condition that is not possible, or rows outside of it, cause an error, and nothing changes."""
    spark.sql(f"INSERT INTO {table} VALUES (5, 1)")
    before = sorted(rows(f"SELECT * FROM {table}"))
    wanted = (
        says or "Option replaceWhere of a write into .*takes whole partitions only.*Name partition columns"
    )
    with pytest.raises(AnalysisException, match=wanted):
        save(spark.sql("SELECT 1 AS id, 1 AS p"), table, {"replaceWhere": condition})
    assert sorted(rows(f"SELECT * FROM {table}")) == before


@pytest.mark.newest("Spark 4.1 tells options in lower case")
def test_replace_where_that_would_be_ignored(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """The option is refused with its name: in an append, beside another condition or mode, in SQL, by other
    partition columns, and without a table.
    """
    new = spark.sql("SELECT 9 AS id, 1 AS p")
    option = {"replaceWhere": "p = 1"}
    dynamic = {**option, "partitionOverwriteMode": "dynamic"}
    for attempt in (
        lambda: new.write.mode("append").options(**option).saveAsTable(table),
        lambda: new.write.options(**option).insertInto(table),
        lambda: new.writeTo(table).options(**option).append(),
        lambda: new.writeTo(table).options(**option).overwrite(sf.col("p") == 1),
        lambda: new.writeTo(table).options(**option).overwritePartitions(),
        lambda: _save(new, table, dynamic),
        lambda: _insert(new, table, dynamic),
        lambda: new.write.mode("overwrite").options(**option).partitionBy("id").saveAsTable(table),
        lambda: spark.sql(f"INSERT OVERWRITE {table} WITH (replaceWhere = 'p = 1') SELECT 9, 1"),
        lambda: _save(new, f"{db}.none", option),
        lambda: _replace(new, f"{db}.none", option),
        lambda: new.write.options(**option).saveAsTable(f"{db}.none"),
    ):
        with pytest.raises(AnalysisException, match=r"[Oo]ptions? '?replaceWhere"):
            attempt()
    assert sorted(rows(f"SELECT * FROM {table}")) == [(0, 0), (1, 1), (2, 2)]
    assert not spark.catalog.tableExists(f"{db}.none")


def test_replace_where_of_the_statement(spark: SparkSession, table: str) -> None:
    """A condition on columns other than partition columns is refused, with the typed text in the error."""
    spark.sql(f"INSERT INTO {table} VALUES (5, 1)")
    with pytest.raises(
        AnalysisException, match=r"REPLACE WHERE in .* takes whole partitions only: '.*id > 2"
    ):
        spark.sql(f"INSERT INTO {table} REPLACE WHERE p = 1 AND id > 2 SELECT 9, 1")


@pytest.mark.parametrize("save", [_save, _save_with_partitions, _insert, _replace])
def test_dynamic_partition_overwrite(spark: SparkSession, table: str, rows: Rows, save: Save) -> None:
    """With the option, an overwrite replaces the partitions of its rows, also in `saveAsTable`.

    Without it, it replaces all, for any setting of the session.
    """
    new = spark.sql("SELECT 9 AS id, 1 AS p")
    save(new, table, {"partitionOverwriteMode": "dynamic"})
    assert sorted(rows(f"SELECT id, p FROM {table}")) == [(0, 0), (2, 2), (9, 1)]
    save(new, table, {"partitionOverwriteMode": "static"})
    assert rows(f"SELECT id, p FROM {table}") == [(9, 1)]


def test_dynamic_partition_overwrite_of_a_new_table(spark: SparkSession, db: str, rows: Rows) -> None:
    """A table that is not there is made, and one without partitions replaced whole."""
    for _ in range(2):
        _save(spark.range(2), f"{db}.plain", {"partitionOverwriteMode": "dynamic"})
        assert sorted(rows(f"SELECT * FROM {db}.plain")) == [(0,), (1,)]


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_if_not_exists(spark: SparkSession, db: str, rows: Rows, mode: str) -> None:
    """If the partition exists, with or without rows, the query does not run and nothing changes, as in
    Spark's own tables.
    """
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    stock = "spark_catalog.default.if_not_exists"
    try:
        for table in (f"{db}.t", stock):
            spark.sql(f"CREATE TABLE {table} (id INT, d DATE, q STRING) USING parquet PARTITIONED BY (d, q)")
            day = "d = DATE '2026-01-01', q = 'x'"
            statements = [
                f"INSERT OVERWRITE {table} PARTITION ({day}) IF NOT EXISTS SELECT 1",
                f"INSERT OVERWRITE {table} PARTITION ({day}) IF NOT EXISTS SELECT raise_error('ran')",
                f"INSERT OVERWRITE {table} PARTITION (D = '2026-1-1', q = 'x') IF NOT EXISTS SELECT 2",
                f"WITH n AS (SELECT 3 AS id) INSERT OVERWRITE {table} PARTITION (d = '2026-01-02', q = 'x') IF NOT EXISTS SELECT * FROM n",
                f"INSERT OVERWRITE {table} PARTITION (d = '2026-01-02', q = 'y') IF NOT EXISTS SELECT 4",
                f"ALTER TABLE {table} ADD PARTITION (d = '2026-01-03', q = 'x')",
                f"INSERT OVERWRITE {table} PARTITION (d = '2026-01-03', q = 'x') IF NOT EXISTS SELECT 5",
                f"INSERT OVERWRITE {table} PARTITION (d = NULL, q = 'x') IF NOT EXISTS SELECT 6",
                f"INSERT OVERWRITE {table} PARTITION (d = NULL, q = 'x') IF NOT EXISTS SELECT 7",
            ]
            for statement in statements:
                spark.sql(statement)
        expected = sorted(map(str, rows(f"SELECT * FROM {stock}")))
        assert sorted(map(str, rows(f"SELECT * FROM {db}.t"))) == expected
        assert len(expected) == 4
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {stock}")
    assert len(rows(f"SELECT * FROM {db}.t.history WHERE operation LIKE 'overwrite%'")) == 4


def test_if_not_exists_twice_at_once(spark: SparkSession, table: str, rows: Rows) -> None:
    """If several write the same new partition at once, one succeeds, and the others find it."""

    def write(number: int) -> None:
        spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 7) IF NOT EXISTS SELECT {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(rows(f"SELECT * FROM {table} WHERE p = 7")) == 1
