"""A MERGE rewrites only the files with a row that one of its clauses changes. If no clause applies, and no
row is inserted, it rewrites none.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.spark.rows.test_changing import Model
from tests.support.spark.streams import FileSink, batches
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core


@pytest.fixture
def stock_of(spark: SparkSession, db: str) -> Model:
    """A table of 3 partitions with 2 files each, with keys 0 to 5 and 100 to 105, all with value 1 and a
    char.
    """
    table = f"{db}.upserted"
    spark.sql(
        f"CREATE TABLE {table} (id INT, a INT, c CHAR(3), p INT) USING parquet PARTITIONED BY (p) "
        "TBLPROPERTIES ('distribution' = 'none')"
    )
    spark.sql(  # two tasks, each with files of its own
        f"INSERT INTO {table} SELECT CAST(id AS INT), 1, 'x', CAST(id % 3 AS INT) "
        "FROM (SELECT id % 6 + id DIV 6 * 100 AS id FROM range(0, 12, 1, 2))"
    )
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('distribution')")
    return Model(spark, table)


def rewritten(model: Model) -> str:
    """Return the number of rewritten files in the newest version's summary."""
    summary = model.spark.sql(
        f"SELECT summary FROM {model.table}.history ORDER BY version DESC LIMIT 1"
    ).first()[0]
    return str(json.loads(summary)["files rewritten"])


def test_an_upsert_that_changes_nothing_makes_no_version(
    spark: SparkSession, db: str, tmp_path: Path
) -> None:
    """Such a MERGE may run repeatedly beside a stream over the table. The stream goes on, and reads the
    inserts of a MERGE that changes no row.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, a INT) USING parquet")
    spark.sql(f"INSERT INTO {table} SELECT int(id), 1 FROM range(10)")
    sink = FileSink(spark, tmp_path / "sink")
    stream = spark.readStream.table(table)
    assert batches(sink.run(stream)) == [10]
    model, before = Model(spark, table), Model(spark, table).version()
    upsert = (
        f"MERGE INTO {table} t USING (SELECT 3 id, 1 a UNION ALL SELECT {{}}, 1) s ON t.id = s.id "
        "WHEN MATCHED AND t.a <> s.a THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT *"
    )
    files = set(spark.sql(f"SELECT path FROM {table}.files").collect())
    spark.sql(upsert.format(4))
    assert model.version() == before
    assert batches(sink.run(stream)) == []
    spark.sql(upsert.format(50))
    assert (model.version(), rewritten(model)) == (before + 1, "0 of 1")
    assert files < set(spark.sql(f"SELECT path FROM {table}.files").collect())
    assert batches(sink.run(stream)) == [1]
    spark.sql(upsert.format(50))
    assert model.version() == before + 1
    assert spark.sql(f"SELECT count(*), sum(a) FROM {table}").first() == (11, 11)


SOURCE = "(SELECT CAST(id AS INT) AS id, IF(id IN (3, 101), 2, 1) AS a, CAST(id % 3 AS INT) AS p FROM range({first}, {last}))"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, a, p) VALUES (s.id, s.a, s.p)"
CHANGES = "WHEN MATCHED AND t.a <> s.a THEN UPDATE SET a = s.a"
MERGES = [
    # keys in the files: 0 and 3 | 1 and 4 | 2 and 5, and again from 100 on (102 and 105, 100 and 103, 101 and
    # 104)
    ((0, 6), CHANGES, "1 of 6", "SELECT id, IF(id = 3, 2, a), c, p FROM model"),
    ((1, 3), CHANGES, None, "SELECT * FROM model"),
    ((0, 106), f"{CHANGES} {INSERT}", "2 of 6",
     "SELECT id, IF(id IN (3, 101), 2, a), c, p FROM model UNION ALL SELECT id, 1, NULL, id % 3 FROM range(6, 100)"),
    ((0, 8), f"WHEN MATCHED AND s.a = 9 THEN DELETE {INSERT}", "0 of 6",
     "SELECT * FROM model UNION ALL SELECT id, 1, NULL, id % 3 FROM range(6, 8)"),
    ((0, 6), f"WHEN MATCHED AND s.a = 9 THEN DELETE WHEN MATCHED AND NULL THEN UPDATE SET a = 7 {INSERT}", None,
     "SELECT * FROM model"),
    ((0, 6), "WHEN MATCHED AND upper(t.c) BETWEEN 'W' AND 'Y' AND nullif(s.id, t.a) = 4 THEN DELETE "
     f"{CHANGES} {INSERT}", "2 of 6",
     "SELECT id, IF(id = 3, 2, a), c, p FROM model WHERE id <> 4"),
    ((0, 6), "WHEN MATCHED AND NULL THEN DELETE", None, "SELECT * FROM model"),
    ((0, 6), f"WHEN MATCHED AND NULL THEN DELETE {INSERT} WHEN NOT MATCHED BY SOURCE AND NULL THEN DELETE", None, "SELECT * FROM model"),
    ((0, 6), f"WHEN MATCHED THEN UPDATE SET a = s.a {INSERT}", "3 of 6", "SELECT id, IF(id = 3, 2, a), c, p FROM model"),
    ((0, 104), "WHEN NOT MATCHED BY SOURCE AND t.id > 104 THEN DELETE", "1 of 6", "SELECT * FROM model WHERE id <> 105"),
    ((0, 106), "WHEN NOT MATCHED BY SOURCE THEN DELETE", None, "SELECT * FROM model"),
    ((0, 5), "WHEN NOT MATCHED BY SOURCE AND t.c = 'x' AND t.p = 2 THEN UPDATE SET a = 5", "2 of 6",
     "SELECT id, IF(p = 2 AND id > 4, 5, a), c, p FROM model"),
    ((0, 106), f"{INSERT} WHEN NOT MATCHED BY SOURCE AND t.a = 1 THEN DELETE", "0 of 6",
     "SELECT * FROM model UNION ALL SELECT id, 1, NULL, id % 3 FROM range(6, 100)"),
    ((0, 105), f"{CHANGES} {INSERT} WHEN NOT MATCHED BY SOURCE AND t.a = 1 THEN DELETE", "3 of 6",
     "SELECT id, IF(id IN (3, 101), 2, a), c, p FROM model WHERE id < 105 "
     "UNION ALL SELECT id, 1, NULL, id % 3 FROM range(6, 100)"),
    ((0, 4), f"{CHANGES} {INSERT} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 0", "6 of 6",
     "SELECT id, CASE WHEN id = 3 THEN 2 WHEN id > 3 THEN 0 ELSE a END, c, p FROM model"),
    ((0, 4), f"WHEN MATCHED THEN DELETE {INSERT} WHEN NOT MATCHED BY SOURCE AND t.id = 103 THEN DELETE", "4 of 6",
     "SELECT * FROM model WHERE id > 3 AND id <> 103"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("adaptive", "keys", "clauses", "files", "expected"),
    [(number % 2 == 0, *merge) for number, merge in enumerate(MERGES)],
)
def test_files_are_looked_for_by_the_clauses(
    spark: SparkSession,
    stock_of: Model,
    adaptive: bool,
    keys: tuple[int, int],
    clauses: str,
    files: str | None,
    expected: str,
) -> None:
    """All clauses, also NOT MATCHED BY SOURCE, decide which files are rewritten.

    A row is inserted only if no match exists, also in files that are not rewritten.
    """
    before = stock_of.version()
    source = SOURCE.format(first=keys[0], last=keys[1])
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        stock_of.changed(f"MERGE INTO {stock_of.table} t USING {source} s ON t.id = s.id {clauses}", expected)
    assert stock_of.version() == before + (files is not None)
    if files is not None:
        assert rewritten(stock_of) == files


def test_sources_of_every_kind(spark: SparkSession, stock_of: Model) -> None:
    """MERGE makes the right changes with the table itself, a CTE used twice, or a view as source, and with
    chars in ON.
    """
    table = stock_of.table
    stock_of.changed(
        f"MERGE INTO {table} t USING (SELECT id + 100 AS id, a + 1 AS a, p FROM {table} WHERE id < 3 OR id = 50) s ON t.id = s.id "
        f"WHEN MATCHED AND s.p = 1 AND t.a < s.a THEN UPDATE SET a = s.a {INSERT}",
        "SELECT id, IF(id = 101, 2, a), c, p FROM model",
    )
    assert rewritten(stock_of) == "1 of 6"
    stock_of.changed(
        f"WITH some AS (SELECT id, c, a + 5 AS a, p FROM {table} WHERE p = 0) "
        f"MERGE INTO {table} t USING (SELECT x.id, x.c, y.a, x.p FROM some x JOIN some y ON x.id = y.id) s "
        f"ON t.id = s.id AND t.c = s.c WHEN MATCHED AND t.id = 3 AND t.c = 'x' THEN UPDATE SET a = s.a {INSERT} "
        "WHEN NOT MATCHED BY SOURCE AND t.c = 'y' THEN DELETE",
        "SELECT id, IF(id = 3, 6, a), c, p FROM model",
    )
    assert rewritten(stock_of) == "1 of 6"
    version = stock_of.version()
    spark.sql(f"CREATE OR REPLACE TEMP VIEW same AS SELECT * FROM {table}")
    stock_of.changed(
        f"MERGE INTO {table} t USING same s ON t.id = s.id AND t.p = s.p "
        "WHEN MATCHED AND NOT (t.a <=> s.a) THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "SELECT * FROM model",
    )
    assert stock_of.version() == version


def test_two_rows_for_one_are_told_where_rows_are_inserted(stock_of: Model) -> None:
    """Spark's own error reports two rows for one, also if no clause applies: the row is read to decide about
    inserts.
    """
    merge = (
        f"MERGE INTO {stock_of.table} t USING (SELECT 3 AS id, 1 AS a, 0 AS p UNION ALL SELECT 3, 1, 0) s ON t.id = s.id "
        f"{CHANGES} {INSERT}"
    )
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        stock_of.spark.sql(merge)


def test_without_the_look_for_files_all_are_written_anew(spark: SparkSession, stock_of: Model) -> None:
    """`spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled` turns off both looks."""
    with settings(spark, {"spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": False}):
        stock_of.changed(
            f"MERGE INTO {stock_of.table} t USING {SOURCE.format(first=0, last=6)} s ON t.id = s.id {CHANGES} {INSERT}",
            "SELECT id, IF(id = 3, 2, a), c, p FROM model",
        )
    assert rewritten(stock_of) == "6 of 6"


@pytest.mark.unaudited("it counts the scans of a plan")
def test_what_is_told_of_a_merge(spark: SparkSession, stock_of: Model) -> None:
    """Before a MERGE runs, EXPLAIN and `explain` show the files that it may read; afterwards a report shows
    the files that it read.
    """
    merge = (
        f"MERGE INTO {stock_of.table} t USING {SOURCE.format(first=0, last=6)} s ON t.id = s.id AND t.p = s.p AND t.p < 2 "
        f"{CHANGES} {INSERT}"
    )
    assert "RewriteRows" in spark.sql(f"EXPLAIN {merge}").first()[0]
    files = [step.kept for scan in parquetry.explain(merge).scans if (step := scan.step("files"))]
    assert files == [4, 4]  # to read, and to look for those
    (scan,) = parquetry.report(spark.sql(merge)).scans
    step = scan.step("files")
    assert step is not None
    assert (step.kept, step.of, step.by) == (2, 4, ("rows that match",))
    assert rewritten(stock_of) == "1 of 6"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {} WHERE a = 2",
        "DELETE FROM {} WHERE p = 7",
        "DELETE FROM {} WHERE id IN (SELECT 77)",
        "UPDATE {} SET a = 5 WHERE id BETWEEN 50 AND 60",
        "UPDATE {} SET a = 5 WHERE p = 9",
        "UPDATE {} SET a = (SELECT 5) WHERE id IN (SELECT 77)",
        "INSERT INTO {} SELECT 1, 1, 'x', 1 WHERE false",
    ],
)
def test_siblings_that_change_nothing(spark: SparkSession, stock_of: Model, statement: str) -> None:
    """Such statements make no version, whether conditions, statistics, partitions or rows show that nothing
    changes.
    """
    before = stock_of.version()
    spark.sql(statement.format(stock_of.table))
    assert stock_of.version() == before


def test_statements_by_chars(spark: SparkSession, db: str) -> None:
    """A CHAR is compared with its padding, also in subqueries, and in a MERGE that only deletes or sets all
    columns.
    """
    spark.sql(f"CREATE TABLE {db}.s (k CHAR(3))")
    spark.sql(f"INSERT INTO {db}.s VALUES ('ab')")
    spark.sql(f"CREATE TABLE {db}.t (id INT, k CHAR(3), n INT) USING parquet")
    spark.sql(f"INSERT INTO {db}.t SELECT CAST(id AS INT), IF(id % 2 = 0, 'ab', 'cd'), 0 FROM range(8)")
    for statement, left in (
        (f"DELETE FROM {db}.t WHERE EXISTS (SELECT 1 FROM {db}.s x WHERE x.k = t.k AND t.id = 0)", range(1, 8)),
        (f"DELETE FROM {db}.t WHERE k IN (SELECT k FROM {db}.s) AND id = 2", (1, 3, 4, 5, 6, 7)),
        (f"MERGE INTO {db}.t AS t USING {db}.s AS s ON t.k = s.k WHEN MATCHED AND t.id = 4 THEN DELETE", (1, 3, 5, 6, 7)),
        (f"DELETE FROM {db}.t WHERE k = 'cd' AND id > 4", (1, 3, 6)),
    ):  # fmt: skip
        spark.sql(statement)
        assert sorted(row.id for row in spark.table(f"{db}.t").collect()) == list(left), statement
    spark.sql(f"UPDATE {db}.t SET id = id, k = k, n = 7 WHERE k = 'ab'")
    assert [tuple(row) for row in spark.table(f"{db}.t").sort("id").collect()] == [
        (1, "cd ", 0), (3, "cd ", 0), (6, "ab ", 7),
    ]  # fmt: skip
