"""The changes of a table as rows: `table_changes`, `CHANGES FROM VERSION`, and the same without Spark."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry
from tests.support.change_histories.histories import ChangingTable
from tests.support.change_histories.values import multiset
from tests.support.effort import examples

pytestmark = pytest.mark.core

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Versions: 1 inserts, 2 updates, 3 deletes, 4 merges."""
    name = f"{db}.t"
    for statement in (
        f"CREATE TABLE {name} (id INT, d DOUBLE, m MAP<STRING, INT>, p INT) USING parquet PARTITIONED BY (p)",
        f"INSERT INTO {name} VALUES (1, 0.0D, map('x', 1), 1), (2, double('NaN'), NULL, 1), (2, double('NaN'), NULL, 1), (3, -0.0D, map(), 2)",
        f"UPDATE {name} SET d = -0.0D WHERE id = 1",
        f"DELETE FROM {name} WHERE id = 3",
        f"MERGE INTO {name} t USING (SELECT 1 AS id UNION ALL SELECT 9) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET p = 7 WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 1)",
    ):
        spark.sql(statement)
    return name


def test_table_changes(spark: SparkSession, table: str, rows: Sql) -> None:
    """Each version's changes are rows; with a key updates are pairs; net changes compare the ends."""
    columns = "_commit_version, _change_type, id, d, p"
    each = rows(f"SELECT {columns} FROM table_changes('{table}', 2) ORDER BY ALL")
    assert list(map(str, each)) == [
        "(2, 'delete', 1, 0.0, 1)",
        "(2, 'insert', 1, -0.0, 1)",
        "(3, 'delete', 3, -0.0, 2)",
        "(4, 'delete', 1, -0.0, 1)",
        "(4, 'insert', 1, -0.0, 7)",
        "(4, 'insert', 9, None, 1)",
    ]
    pairs = rows(
        f"SELECT {columns} FROM table_changes('{table}', 1, 4, keys => 'ID') WHERE id = 1 ORDER BY ALL"
    )
    assert list(map(str, pairs)) == [
        "(1, 'insert', 1, 0.0, 1)",
        "(2, 'update_postimage', 1, -0.0, 1)",
        "(2, 'update_preimage', 1, 0.0, 1)",
        "(4, 'update_postimage', 1, -0.0, 7)",
        "(4, 'update_preimage', 1, -0.0, 1)",
    ]
    net = f"table_changes('{table}', 2, 4, net => true)"
    assert rows(f"SELECT _commit_version, _change_type, id, p FROM {net} ORDER BY ALL") == [
        (4, "delete", 1, 1),
        (4, "delete", 3, 2),
        (4, "insert", 1, 7),
        (4, "insert", 9, 1),
    ]
    twice = spark.sql(f"SELECT * FROM table_changes('{table}', 2)")
    assert twice.alias("a").join(twice.alias("b"), "id").count() == 4 * 4 + 1 + 1
    times = f"SELECT min(committed_at), max(committed_at) FROM {table}.history WHERE version BETWEEN 2 AND 4"
    first, last = rows(times)[0]
    assert rows(f"SELECT count(*) FROM table_changes('{table}', TIMESTAMP '{first}', '{last}')") == [(6,)]
    assert rows(f"SELECT DISTINCT _commit_timestamp FROM table_changes('{table}', 4, 4)") == [(last,)]


def test_files_that_are_read(spark: SparkSession, table: str) -> None:
    """Plans say how many files are read: conditions leave out some of the files that differ."""

    def counts(where: str, more: str = "") -> list[str]:
        plan = spark.sql(f"EXPLAIN SELECT id FROM table_changes('{table}', 2, 4{more}) {where}").first()[0]
        return re.findall(r"(\d+ of \d+) files", plan)

    # alone: the deleted file, the new partition; compared: p=1 twice
    assert [counts(""), counts("WHERE p = 2"), counts("WHERE p = 1 AND d > 5", ", keys => 'id'")] == [
        ["2 of 2", "4 of 4"],
        ["1 of 2", "0 of 4"],
        ["0 of 1", "5 of 5"],
    ]


def test_what_is_refused(spark: SparkSession, table: str) -> None:
    """Other words, tables and versions are refused with what to write."""
    for call, message in (
        (f"'{table}'", "with 1 arguments in a row: write"),
        (f"'{table}', 1, key => 'id'", "the argument key: write"),
        (f"'{table}', 1.5", "neither a version nor a time"),
        (f"'{table}', 'soon'", "neither a version nor a time"),
        (f"'{table}', 9", "has no version 9: the newest is 4"),
        (f"'{table}', 1, keys => 'none'", "none"),
        ("'spark_catalog.default.t', 1", "no table in a catalog of Parquetry"),
    ):
        with pytest.raises(AnalysisException, match=re.escape(message)):
            spark.sql(f"SELECT * FROM table_changes({call})").collect()


@pytest.mark.since("4.2", "earlier ones have no CHANGES FROM")
def test_sparks_own_clause(spark: SparkSession, table: str, rows: Sql) -> None:
    """CHANGES FROM VERSION, its options and `spark.read.changes` give what `table_changes` gives."""
    for clause, call in (
        ("FROM VERSION 2 TO VERSION 4", "2, 4"),
        ("FROM VERSION 1 EXCLUSIVE TO VERSION 5 EXCLUSIVE", "2, 4"),
        ("FROM VERSION 2 WITH (deduplicationMode = 'netChanges')", "2, net => true"),
        ("FROM VERSION 2 WITH (keys = 'id')", "2, keys => 'id'"),
        ("FROM VERSION 2 WITH (computeUpdates = 'true', keys = 'p, ID')", "2, keys => 'p, id'"),
    ):
        found = rows(f"SELECT * FROM {table} CHANGES {clause}")
        expected = rows(f"SELECT * FROM table_changes('{table}', {call})")
        assert sorted(map(str, found)) == sorted(map(str, expected)), clause
    raw = f"SELECT * FROM {table} CHANGES FROM VERSION 2 TO VERSION 2 WITH (deduplicationMode = 'none')"
    assert sorted(row[4] for row in rows(raw)) == ["delete"] * 3 + ["insert"] * 3
    frame = spark.read.option("startingVersion", 3).option("endingVersion", 3).changes(table)
    assert [(row.id, row._change_type) for row in frame.collect()] == [(3, "delete")]
    keyed = spark.read.options(startingVersion=2, endingVersion=2, computeUpdates=True, keys="id").changes(
        table
    )
    assert {row._change_type for row in keyed.collect()} == {"update_preimage", "update_postimage"}
    with pytest.raises(AnalysisException, match=r"say WITH .computeUpdates = .true., keys = .id.."):
        rows(f"SELECT * FROM {table} CHANGES FROM VERSION 2 WITH (computeUpdates = 'true')")


def test_columns_that_changed_between(spark: SparkSession, db: str, rows: Sql) -> None:
    """Earlier rows have the columns of the last version: defaults, new names, wider types, none that went."""
    for statement in (
        f"CREATE TABLE {db}.c (id INT, old INT, gone INT) USING parquet",
        f"INSERT INTO {db}.c VALUES (1, 1, 1), (2, 2, 2)",
        f"ALTER TABLE {db}.c ADD COLUMN n INT DEFAULT 5",
        f"ALTER TABLE {db}.c RENAME COLUMN old TO v",
        f"ALTER TABLE {db}.c ALTER COLUMN v TYPE BIGINT",
        f"ALTER TABLE {db}.c DROP COLUMN gone",
        f"UPDATE {db}.c SET v = v + 10000000000 WHERE id = 1",
    ):
        spark.sql(statement)
    newest = spark.sql(f"SELECT max(version) FROM {db}.c.history").first()[0]
    assert rows(f"SELECT id, v, n, _change_type FROM table_changes('{db}.c', 1) ORDER BY ALL") == [
        (1, 1, 5, "delete"),
        (1, 1, 5, "insert"),
        (1, 10000000001, 5, "insert"),
        (2, 2, 5, "insert"),
    ]
    spark.sql(f"CALL lake.system.rollback('{db}.c', version => 1)")
    with pytest.raises(AnalysisException, match="had another type"):
        rows(f"SELECT * FROM table_changes('{db}.c', {newest})")


@pytest.mark.parametrize(
    "layout",
    [
        "USING orc PARTITIONED BY (p)",
        "USING parquet PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (id) INTO 3 BUCKETS",
        "USING parquet PARTITIONED BY (p) SKEWED BY (v) ON ('a', 'b') STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
        "USING orc CLUSTERED BY (v) INTO 2 BUCKETS",
    ],
)
def test_layouts(spark: SparkSession, db: str, rows: Sql, layout: str) -> None:
    """In every layout, each version's changes are what it and the version before differ by."""
    name = f"{db}.t"
    spark.sql(f"CREATE TABLE {name} (id INT, v STRING, s STRUCT<a: INT>, p INT) {layout}")
    make = "SELECT CAST(id AS INT), IF(id % 5 = 0, NULL, IF(id % 3 = 0, 'a', 'b')), struct(CAST(id AS INT)), CAST(id % 2 AS INT)"
    for statement in (
        f"INSERT INTO {name} {make} FROM range(20)",
        f"DELETE FROM {name} WHERE id % 7 = 1",
        f"UPDATE {name} SET v = 'b', p = 1 - p WHERE id IN (2, 3, 12)",
        f"INSERT OVERWRITE {name} {make} FROM range(15, 25)",
        f"MERGE INTO {name} t USING (SELECT id, 'c' AS v FROM range(18, 30)) n ON t.id = n.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = n.v "
        "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (n.id, n.v, 0)",
        f"CALL lake.system.compact('{name}')",
        f"CALL lake.system.rollback('{name}', version => 2)",
    ):
        spark.sql(statement)
    found: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for row in spark.sql(f"SELECT * FROM table_changes('{name}', 1)").collect():
        found[row._commit_version, row._change_type][str(row[:4])] += 1
    before = Counter[str]()
    for (version,) in rows(f"SELECT version FROM {name}.history WHERE version > 0 ORDER BY version"):
        now = Counter(
            str(tuple(row)) for row in spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}").collect()
        )
        assert found.pop((version, "delete"), Counter()) == before - now, version
        assert found.pop((version, "insert"), Counter()) == now - before, version
        before = now
    assert not found


def test_random_histories(spark: SparkSession, tmp_path: Path) -> None:
    """Spark gives the same changes as Python, with and without a key, over random histories."""
    for seed in range(examples(24, least=3)):
        folder = tmp_path / str(seed)
        ChangingTable(folder, seed).run(commits=8)
        catalog = f"h{seed}"
        spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.spark.sql.parquetry.ParquetryCatalog")
        spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(folder))
        with parquetry.open(folder) as lake:
            for call, how in (("", {}), (", keys => 'id'", {"keys": "id"}), (", net => true", {"net": True})):
                first = 2 if how else 1
                try:
                    expected = lake.changes("default.t", first, **how).to_arrow().to_pylist()
                except parquetry.errors.UnsupportedError:
                    continue  # after a rollback, a wider type than now
                frame = spark.sql(f"SELECT * FROM table_changes('{catalog}.default.t', {first}{call})")
                found = frame.toArrow().to_pylist()
                assert multiset(found) == multiset(expected), (seed, call)
