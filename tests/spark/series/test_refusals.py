"""Statements that need a feature which the installed series of Spark lacks are refused in the words of
docs/versions.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from parquetry.metastore import Metastore
from tests.support.spark.asked_lake import BridgeLake
from tests.support.spark.series import refused

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]
T = "lake.refusing.t"
ROWS = [(1, 10, "a"), (2, 20, "b")]


@pytest.fixture(scope="module")
def database(spark: SparkSession) -> Iterator[None]:
    """A table of two partitions that no test changes."""
    spark.sql("CREATE NAMESPACE lake.refusing")
    spark.sql(f"CREATE TABLE {T} (id INT, v INT, p STRING) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {T} VALUES (1, 10, 'a'), (2, 20, 'b')")
    yield
    spark.sql("DROP NAMESPACE lake.refusing CASCADE")


@pytest.fixture
def kept(database: None, rows: Rows) -> Iterator[None]:
    """Refused statements: the table's columns and rows stay the same."""
    yield
    assert sorted(rows(f"SELECT * FROM {T}")) == ROWS


@pytest.mark.lacks("views")
def test_views(spark: SparkSession, rows: Rows, kept: None) -> None:
    """CREATE VIEW names Spark's own catalog as the place for a view, and there it is made; no other statement
    finds views.
    """
    with refused("views") as caught:
        spark.sql(f"CREATE OR REPLACE VIEW lake.refusing.w AS SELECT id FROM {T}")
    found = re.search(r"CREATE VIEW (spark_catalog\.default\.w) AS", str(caught.value))
    assert found is not None
    for statement in ("SHOW VIEWS IN lake.refusing", "DROP VIEW lake.refusing.w"):
        with pytest.raises(AnalysisException, match="does not support views"):
            spark.sql(statement)
    spark.sql(f"CREATE VIEW {found[1]} AS SELECT id FROM {T}")
    try:
        assert sorted(rows(f"SELECT id FROM {found[1]}")) == [(1,), (2,)]
    finally:
        spark.sql(f"DROP VIEW {found[1]}")


@pytest.mark.lacks("create table like")
def test_create_table_like(spark: SparkSession, kept: None) -> None:
    """The error names CREATE TABLE AS SELECT, which makes a table of the same columns."""
    for statement in (
        f"CREATE TABLE lake.refusing.l LIKE {T}",
        f"CREATE TABLE IF NOT EXISTS lake.refusing.l LIKE {T} CLUSTERED BY (id) INTO 2 BUCKETS",
    ):
        with refused("create table like"):
            spark.sql(statement)
    spark.sql(f"CREATE TABLE lake.refusing.l PARTITIONED BY (p) AS SELECT * FROM {T} LIMIT 0")
    assert spark.table("lake.refusing.l").schema == spark.table(T).schema


@pytest.mark.lacks("described partitions")
def test_described_partitions(spark: SparkSession, rows: Rows, kept: None) -> None:
    """The error names the table of partitions, which shows the same."""
    for more in ("", "EXTENDED "):
        with refused("described partitions") as caught:
            spark.sql(f"DESCRIBE {more}{T} PARTITION (p = 'a')")
        assert f"SELECT * FROM {T}.partitions." in str(caught.value)
    assert sorted(rows(f"SELECT p, rows FROM {T}.partitions")) == [("a", 1), ("b", 1)]


@pytest.mark.lacks("evolving writes")
def test_evolving_writes(spark: SparkSession, kept: None) -> None:
    """INSERT WITH SCHEMA EVOLUTION and the option mergeSchema are refused, also if no column is new."""
    rows = "SELECT 3 AS id, 30 AS v, 'c' AS p, 'x' AS more"
    for statement in (f"INTO {T} BY NAME {rows}", f"OVERWRITE TABLE {T} {rows}"):
        with refused("evolving writes") as caught:
            spark.sql(f"INSERT WITH SCHEMA EVOLUTION {statement}")
        assert f"ALTER TABLE {T} ADD COLUMNS" in str(caught.value)
    with refused("evolving writes"):
        spark.sql(f"WITH s AS ({rows}) INSERT WITH SCHEMA EVOLUTION INTO {T} SELECT * FROM s")
    for frame in (spark.sql(rows), spark.sql(rows).drop("more")):
        for write in (
            frame.writeTo(T).option("mergeSchema", "true").append,
            lambda frame=frame: frame.write.mode("append").option("mergeSchema", "true").saveAsTable(T),
            lambda frame=frame: frame.write.option("mergeSchema", "true").insertInto(T),
        ):
            with refused("evolving writes"):
                write()


@pytest.mark.lacks("evolving merges")
def test_evolving_merges(spark: SparkSession, kept: None) -> None:
    """The error of MERGE, and of mergeInto, names ALTER TABLE."""
    source = "SELECT 1 AS id, 0 AS v, 'a' AS p, 'x' AS more"
    merge = spark.sql(source).alias("s").mergeInto(T, expr(f"s.id = {T}.id")).withSchemaEvolution()
    for run in (
        lambda: spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {T} t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
        ),
        merge.whenMatched().updateAll().merge,
    ):
        with refused("evolving merges") as caught:
            run()
        assert f"ALTER TABLE {T} ADD COLUMNS" in str(caught.value)


@pytest.mark.lacks("constraints")
def test_constraints_are_neither_made_nor_shown(spark: SparkSession, kept: None) -> None:
    """Each clause for one is refused, in CREATE TABLE as in ALTER TABLE."""
    for clause in ("v INT, CHECK (v > 0)", "v INT PRIMARY KEY", "v INT, CONSTRAINT c UNIQUE (v)"):
        with refused("constraints"):
            spark.sql(f"CREATE TABLE lake.refusing.c ({clause})")
    for clause in ("ADD CONSTRAINT c CHECK (v > 0)", "ADD CHECK (v > 0)", "DROP CONSTRAINT c"):
        with refused("constraints"):
            spark.sql(f"ALTER TABLE {T} {clause}")


@pytest.mark.lacks("constraints")
def test_a_check_is_kept(spark: SparkSession, rows: Rows, db: str, warehouse: Path, store: Metastore) -> None:
    """A table that enforces a CHECK is read, and rows are deleted from it; the CHECK is not shown, and new
    rows are refused.
    """
    spark.sql(f"CREATE TABLE {db}.t (id INT, v INT)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    added = {"name": "positive", "kind": "check", "predicate": "v > 0", "enforced": True}
    change = {"change": "add_constraint", "constraint": added, "version": None}
    lake = BridgeLake(warehouse / "lake", store)
    lake.ask("alter_table", namespace=[db.removeprefix("lake.")], name="t", changes=[change])
    shown = [*rows(f"SHOW CREATE TABLE {db}.t"), *rows(f"DESCRIBE EXTENDED {db}.t")]
    assert "positive" not in str(shown)
    with pytest.raises(AnalysisException, match=r"positive CHECK \(v > 0\), and Spark .* tests no rows by"):
        spark.sql(f"INSERT INTO {db}.t VALUES (3, 3)")
    spark.sql(f"DELETE FROM {db}.t WHERE id = 1")
    assert rows(f"SELECT * FROM {db}.t") == [(2, 2)]


@pytest.mark.lacks("parameters")
def test_parameters(spark: SparkSession, kept: None) -> None:
    """Markers by name and by place, in clauses of all kinds, are named in the error."""
    values: Any
    for statement, values, marker in (
        ("CREATE TABLE lake.refusing.s (x INT) SKEWED BY (x) ON (:one)", {"one": 1}, ":one"),
        (f"ALTER TABLE {T} SKEWED BY (id) ON (?)", [1], "?"),
        ("CREATE TABLE lake.refusing.s (x INT) CLUSTERED BY (x) INTO :n BUCKETS", {"n": 4}, ":n"),
        (f"OPTIMIZE {T} WHERE p = :p", {"p": "a"}, ":p"),
    ):
        with refused("parameters") as caught:
            spark.sql(statement, values)
        assert str(caught.value).endswith(f"Write the value itself in place of {marker}.")


@pytest.mark.lacks("hidden columns in merges")
def test_hidden_columns_in_merges(spark: SparkSession, db: str, rows: Rows) -> None:
    """A MERGE that names `_file` and inserts is refused. It is not if it only changes rows, or if the name is
    one of its source's columns.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id, 10 AS v")
    merge = f"MERGE INTO {db}.t t USING (SELECT explode(array(1, 2)) AS id) s ON t.id = s.id"
    changed, inserts = (
        "WHEN MATCHED AND t._file LIKE '%' THEN UPDATE SET v = 0",
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 1)",
    )
    with refused("hidden columns in merges"):
        spark.sql(f"{merge} {changed} {inserts}")
    spark.sql(f"{merge} {changed}")
    source = "(SELECT explode(array(1, 2)) AS id, 'x' AS _file)"
    spark.sql(f"MERGE INTO {db}.t t USING {source} s ON t.id = s.id AND s._file = 'x' {inserts}")
    assert rows(f"SELECT * FROM {db}.t ORDER BY id") == [(1, 0), (2, 1)]


@pytest.mark.lacks("left-out columns")
def test_left_out_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """INSERT with a list of columns or BY NAME, and a DataFrame's write by name, name the columns that lack a
    value; DEFAULT is one.
    """
    spark.sql(f"CREATE TABLE {db}.t (a INT, b INT DEFAULT 5)")
    frame = spark.sql("SELECT 1 AS a")
    for write in (
        lambda: spark.sql(f"INSERT INTO {db}.t (a) VALUES (1)"),
        lambda: spark.sql(f"INSERT INTO {db}.t BY NAME SELECT 1 AS a"),
        lambda: spark.sql(f"WITH s AS (SELECT 1 AS a) INSERT INTO {db}.t BY NAME SELECT * FROM s"),
        frame.writeTo(f"{db}.t").append,
        lambda: frame.write.mode("append").saveAsTable(f"{db}.t"),
    ):
        with refused("left-out columns") as caught:
            write()
        assert f"A write into {db}.t without b" in str(caught.value)
    spark.sql(f"INSERT INTO {db}.t (b, a) VALUES (DEFAULT, 1)")
    assert rows(f"SELECT * FROM {db}.t") == [(1, 5)]


@pytest.mark.lacks("void columns")
def test_void_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """A VOID column is named where it would be written or read; other columns are read."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN b VOID")
    for statement in (
        f"INSERT INTO {db}.t VALUES (2, NULL)",
        f"UPDATE {db}.t SET a = 2",
        f"CREATE TABLE {db}.u AS SELECT 1 AS a, NULL AS b",
        f"SELECT * FROM {db}.t",
    ):
        with refused("void columns"):
            spark.sql(statement).collect()
    assert rows(f"SELECT a FROM {db}.t") == [(1,)]


@pytest.mark.lacks("show procedures")
def test_show_procedures(spark: SparkSession, rows: Rows, kept: None) -> None:
    """The error names a call, which works."""
    for statement in ("SHOW PROCEDURES", "SHOW PROCEDURES IN lake.system"):
        with refused("show procedures") as caught:
            spark.sql(statement)
        found = re.search(r"CALL lake\.system\.history\(table => 'db\.t'\)", str(caught.value))
        assert found is not None
        assert len(rows(found[0].replace("db.t", T.removeprefix("lake.")))) == 2
