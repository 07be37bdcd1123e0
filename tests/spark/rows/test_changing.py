"""DELETE, UPDATE and MERGE of any rows give the result of plain Spark, in one commit, and rewrite no file
without a match.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from parquetry.spark.write import rewrite_rows
from tests.support.tables import filtered
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("fmt", ["parquet", "orc"])


class Model:
    """A table of ours, and its rows as they were in a view of plain Spark's."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self.spark = spark
        self.table = table

    def remember(self) -> None:
        """Keep the current rows as the view `model`."""
        frame = self.spark.table(self.table)
        self.spark.createDataFrame(frame.toArrow(), frame.schema).createOrReplaceTempView("model")

    def changed(self, statement: str, expected: str) -> None:
        """Run a statement, and compare the table with what a query of `model` gives."""
        self.remember()
        wanted = self.sorted(expected)
        self.spark.sql(statement)
        assert self.sorted(f"SELECT * FROM {self.table}") == wanted, statement
        # each way to count reads other things
        assert self.spark.sql(f"SELECT count(*) FROM {self.table}").first()[0] == len(wanted), statement

    def sorted(self, query: str) -> list[str]:
        return sorted(str(tuple(row)) for row in self.spark.sql(query).collect())

    def version(self) -> int:
        return int(self.spark.sql(f"SELECT max(version) FROM {self.table}.history").first()[0])


@pytest.fixture
def sales(spark: SparkSession, db: str) -> Model:
    """A table of 3 partitions and one of NULL, each of 3 files."""
    table = f"{db}.sales"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, v INT, s STRING, p INT) USING parquet PARTITIONED BY (p) "
        "TBLPROPERTIES ('distribution' = 'none')"
    )
    spark.sql(  # three tasks, each with files of its own
        f"INSERT INTO {table} SELECT id, CAST(IF(id % 5 = 0, NULL, id % 7) AS INT), concat('s', id % 3), "
        "CAST(NULLIF(id % 4, 3) AS INT) FROM (SELECT id % 20 + id DIV 20 * 100 AS id FROM range(0, 60, 1, 3))"
    )
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('distribution')")
    return Model(spark, table)


CONDITIONS = [
    "id = 3", "id = 103 OR id = 7", "v > 3", "v IS NULL AND p = 1", "NOT (v > 3)", "v <> 2 OR p IS NULL", "p = 2 AND id > 100",
    "v IN (1, NULL)", "v NOT IN (1, NULL)", "s LIKE '%1' AND hash(id, p) % 2 = 0", "p + v = 3", "id >= 0", "id > 5000",
    "id IN (SELECT id + 100 FROM range(5))", "v NOT IN (SELECT 3)", "v = (SELECT max(v) FROM {t})",
    "EXISTS (SELECT 1 FROM {t} AS o WHERE o.id = {t}.id + 100)", "p IN (SELECT 1) AND v > 2", "NULL",
    "upper(s) BETWEEN 'S1' AND 'S1'", "nullif(id + v, 5) BETWEEN 3 AND 100",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_delete(sales: Model, condition: str) -> None:
    """DELETE keeps the rows whose condition is false or NULL."""
    table = sales.table
    wanted = f"SELECT * FROM model WHERE NOT coalesce({condition.format(t='model')}, false)"
    if "EXISTS" in condition or "SELECT" in condition:
        wanted = f"SELECT id, v, s, p FROM (SELECT *, ({condition.format(t='model')}) AS c FROM model) WHERE NOT coalesce(c, false)"
    sales.changed(f"DELETE FROM {table} WHERE {condition.format(t=table)}", wanted)


UPDATES = [
    ("v = 9", "v > 3", {"v": "9"}),
    ("v = v + id, s = upper(s)", "v IS NULL OR p = 1", {"v": "CAST(v + id AS INT)", "s": "upper(s)"}),
    ("p = 7", "id % 10 = 4", {"p": "7"}),
    ("p = NULL, v = NULL", "p = 2", {"p": "NULL", "v": "NULL"}),
    ("p = v", "id < 100", {"p": "v"}),
    ("s = 'x'", None, {"s": "'x'"}),
    ("s = ''", "NULL", {}),
    ("s = 'in'", "id IN (SELECT id + 100 FROM range(5))", {"s": "'in'"}),
    ("p = 1, s = 'most'", "v = (SELECT max(v) FROM {t})", {"p": "1", "s": "'most'"}),
    ("v = 0", "id NOT IN (SELECT id FROM {t} WHERE v > 1)", {"v": "0"}),
]


@pytest.mark.parametrize(("change", "condition", "columns"), UPDATES)
def test_update(sales: Model, change: str, condition: str | None, columns: dict[str, str]) -> None:
    """Values change where the condition is true, and rows go to the partition that they are of then."""
    table = sales.table
    told = "true" if condition is None else condition.format(t="model")
    values = ", ".join(
        f"IF(coalesce(c, false), {columns[name]}, {name}) AS {name}" if name in columns else name
        for name in ("id", "v", "s", "p")
    )
    where = "" if condition is None else f" WHERE {condition.format(t=table)}"
    sales.changed(
        f"UPDATE {table} SET {change}{where}", f"SELECT {values} FROM (SELECT *, ({told}) AS c FROM model)"
    )


@pytest.fixture
def news(spark: SparkSession) -> None:
    """Rows to merge: some exist, some do not, and one has no key."""
    spark.sql(
        "SELECT id * 3 AS id, CAST(id AS INT) AS v, 'new' AS s, CAST(id % 5 AS INT) AS p FROM range(0, 50) "
        "UNION ALL SELECT NULL, 1, 'null', 1"
    ).createOrReplaceTempView("news")


MERGES = [
    (
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "SELECT m.* FROM model m LEFT ANTI JOIN news n ON m.id = n.id UNION ALL SELECT * FROM news",
    ),
    (
        "WHEN MATCHED AND n.v > 3 THEN DELETE",
        "SELECT m.* FROM model m LEFT ANTI JOIN news n ON m.id = n.id AND n.v > 3",
    ),
    (
        "WHEN MATCHED AND t.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v + n.v, p = 8",
        "SELECT m.id, IF(n.id IS NULL, m.v, m.v + n.v), m.s, IF(n.id IS NULL, m.p, 8) FROM model m LEFT JOIN news n ON m.id = n.id "
        "WHERE n.id IS NULL OR m.v IS NOT NULL",
    ),
    (
        "WHEN NOT MATCHED AND n.v > 10 THEN INSERT (id, p) VALUES (n.id, 5)",
        "SELECT * FROM model UNION ALL SELECT n.id, NULL, NULL, 5 FROM news n LEFT ANTI JOIN model m ON m.id = n.id WHERE n.v > 10",
    ),
    (
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.p = 1 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'old'",
        "SELECT m.id, m.v, IF(n.id IS NULL, 'old', m.s), m.p FROM model m LEFT JOIN news n ON m.id = n.id "
        "WHERE n.id IS NOT NULL OR coalesce(m.p <> 1, true) "
        "UNION ALL SELECT n.* FROM news n LEFT ANTI JOIN model m ON m.id = n.id",
    ),
]


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(("clauses", "expected"), MERGES)
@pytest.mark.usefixtures("news")
def test_merge(spark: SparkSession, sales: Model, clauses: str, expected: str, adaptive: bool) -> None:
    """Each clause gives the result of joins of both sides, with and without adaptive execution; NULL matches
    no row.
    """
    spark.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
    try:
        sales.changed(f"MERGE INTO {sales.table} AS t USING news AS n ON t.id = n.id {clauses}", expected)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_merge_of_two_rows_for_one(spark: SparkSession, sales: Model) -> None:
    """Two source rows for one row cause Spark's own error, and change no row."""
    before = sales.version()
    merge = (
        f"MERGE INTO {sales.table} AS t USING (SELECT 3L AS id UNION ALL SELECT 3L) AS n ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET v = 1"
    )
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        spark.sql(merge)
    assert sales.version() == before


def test_merge_from_itself(sales: Model) -> None:
    """The source is the table as it was before, in a CTE; so it is in a subquery."""
    table = sales.table
    sales.changed(
        f"WITH older AS (SELECT id + 100 AS id, max(v) AS v FROM {table} WHERE id < 50 GROUP BY id) "
        f"MERGE INTO {table} AS t USING older ON t.id = older.id WHEN MATCHED THEN UPDATE SET v = older.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (older.id, -1)",
        "SELECT m.id, IF(o.id IS NULL, m.v, o.v), m.s, m.p FROM model m LEFT JOIN model o ON m.id = o.id + 100 AND o.id < 50 "
        "UNION ALL SELECT o.id + 100, -1, NULL, NULL FROM model o LEFT ANTI JOIN model m ON m.id = o.id + 100 WHERE o.id < 50",
    )


def told(spark: SparkSession, model: Model) -> tuple[str, Any]:
    """Return the newest entry of a table's history: the operation, and the number of rewritten files with the
    total.
    """
    operation, summary = spark.sql(
        f"SELECT operation, summary FROM {model.table}.history ORDER BY version DESC LIMIT 1"
    ).first()
    return operation, json.loads(summary)["files rewritten"] if summary else None


def test_which_files_are_rewritten(spark: SparkSession, sales: Model) -> None:
    """A statement rewrites the files with a match; the history says how many, in one commit."""
    files = f"SELECT path FROM {sales.table}.files"
    for statement, rewritten in (
        ("DELETE FROM {} WHERE hash(id) = hash(3L)", "1 of 12"),
        ("UPDATE {} SET v = 1 WHERE id IN (SELECT 100L * id FROM range(3))", "3 of 12"),
        (
            "MERGE INTO {} AS t USING (SELECT 104L AS id) AS n ON t.id = n.id WHEN MATCHED THEN DELETE",
            "1 of 10",
        ),
        ("UPDATE {} SET p = 2 WHERE p = 1 AND id < 100", "1 of 10"),
    ):
        before, version = set(spark.sql(files).collect()), sales.version()
        spark.sql(statement.format(sales.table))
        assert told(spark, sales) == (statement.split()[0].lower(), rewritten)
        assert len(before - set(spark.sql(files).collect())) == int(rewritten.split()[0])
        assert sales.version() == version + 1


def test_the_report(spark: SparkSession, sales: Model) -> None:
    """After a statement ran, its report counts the rewritten files with a match. Before, it counts the files
    that may be rewritten.
    """
    statement = f"DELETE FROM {sales.table} WHERE p = 1 AND hash(id) = hash(1L)"
    (before, *_) = parquetry.explain(statement).scans
    assert [(step.name, step.kept, step.of) for step in before.steps if not step.counts_bytes] == [
        ("partitions", 1, 4), ("files", 3, 3),
    ]  # fmt: skip
    (scan,) = parquetry.report(spark.sql(statement)).scans
    files = scan.step("files")
    assert files is not None
    assert (files.kept, files.of, files.by) == (1, 3, ("rows that match",))


def test_nothing_matches(spark: SparkSession, sales: Model) -> None:
    """There is no commit then."""
    before = sales.version()
    for statement in (
        "DELETE FROM {} WHERE hash(id) = 1 AND id > 50 AND id < 60",
        "UPDATE {} SET v = 1 WHERE s LIKE '%none%'",
        "MERGE INTO {} AS t USING (SELECT 77L AS id) AS n ON t.id = n.id WHEN MATCHED THEN DELETE",
        "MERGE INTO {} AS t USING (SELECT 3L AS id) AS n ON t.id = n.id WHEN NOT MATCHED THEN INSERT (id) VALUES (n.id)",
    ):
        spark.sql(statement.format(sales.table))
        assert sales.version() == before, statement


def test_everything_matches(spark: SparkSession, sales: Model) -> None:
    """A DELETE of all rows by their values leaves no partition, as a DELETE by partitions does; the table
    accepts rows again.
    """
    sales.changed(f"DELETE FROM {sales.table} WHERE hash(id) IS NOT NULL", "SELECT * FROM model WHERE false")
    assert spark.sql(f"SHOW PARTITIONS {sales.table}").collect() == []
    sales.changed(f"INSERT INTO {sales.table} VALUES (1, 2, 'x', 3)", "SELECT 1L, 2, 'x', 3")


@FORMATS
def test_tables_of_other_kinds(spark: SparkSession, db: str, fmt: str, tmp_path: Path) -> None:
    """Changes work in unpartitioned and external tables, with added and renamed columns, with a char, and
    with dynamic overwrite.

    A column may have the name of the internal file column.
    """
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, _file STRING, c CHAR(4), n STRUCT<a: INT, b: STRING>) USING {fmt} LOCATION '{tmp_path}/t'"
    )
    model = Model(spark, table)
    spark.sql(
        f"INSERT INTO {table} SELECT id, 'f', IF(id % 2 = 0, 'ab', NULL), named_struct('a', CAST(id AS INT), 'b', 'x') FROM range(9)"
    )
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (later DATE)")
    spark.sql(f"INSERT INTO {table} SELECT id, 'g', 'cd', NULL, DATE '2026-01-01' FROM range(9, 12)")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN _file TO f2")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        model.changed(
            f"DELETE FROM {table} WHERE c = 'ab' AND id > 3",
            "SELECT * FROM model WHERE NOT coalesce(c = 'ab  ' AND id > 3, false)",
        )
        model.changed(
            f"UPDATE {table} SET n.b = f2, later = later + 1 WHERE later IS NOT NULL OR n.a = 1",
            "SELECT id, f2, c, IF(coalesce(later IS NOT NULL OR n.a = 1, false), named_struct('a', n.a, 'b', f2), n), later + 1 FROM model",
        )
        model.changed(
            f"MERGE INTO {table} AS t USING (SELECT 2L AS id, 'y' AS f UNION ALL SELECT 20, 'z') AS n ON t.id = n.id "
            "WHEN MATCHED THEN UPDATE SET f2 = n.f WHEN NOT MATCHED THEN INSERT (id, f2, c) VALUES (n.id, n.f, 'q')",
            "SELECT id, IF(id = 2, 'y', f2), c, n, later FROM model UNION ALL SELECT 20, 'z', 'q   ', NULL, NULL",
        )
        model.changed(f"DELETE FROM {table} WHERE id < 100 OR f2 IS NULL", "SELECT * FROM model WHERE false")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def test_files_of_others(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Adopted files are rewritten, stay on disk, and no sync brings them back."""
    table = f"{db}.adopted"
    spark.range(20).selectExpr("id", "id % 2 AS p").coalesce(1).write.partitionBy("p").parquet(
        f"{tmp_path}/a"
    )
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, p BIGINT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/a'"
    )
    spark.sql(f"MSCK REPAIR TABLE {table}")
    model = Model(spark, table)
    files = set(tmp_path.rglob("*.parquet"))
    model.changed(f"DELETE FROM {table} WHERE id IN (3, 5)", "SELECT * FROM model WHERE id NOT IN (3, 5)")
    model.changed(f"UPDATE {table} SET p = 1 WHERE id = 2", "SELECT id, IF(id = 2, 1, p) FROM model")
    assert files <= set(tmp_path.rglob("*.parquet"))
    spark.sql(f"MSCK REPAIR TABLE {table}")
    assert spark.sql(f"SELECT count(*), sum(id), sum(p) FROM {table}").first() == (18, 182, 9)


def test_an_index_is_kept(spark: SparkSession, sales: Model) -> None:
    """Partitions that a statement makes and empties come and go in the indexes, too."""
    table = sales.table
    spark.sql(
        f"CREATE TABLE {table}2 (id BIGINT, p INT, q INT) USING parquet PARTITIONED BY (p, q) TBLPROPERTIES ('partition-indexes' = 'q')"
    )
    model = Model(spark, f"{table}2")
    spark.sql(f"INSERT INTO {table}2 SELECT id, CAST(id % 3 AS INT), CAST(id % 7 AS INT) FROM range(42)")
    model.changed(f"UPDATE {table}2 SET q = 9 WHERE id % 7 = 2", "SELECT id, p, IF(q = 2, 9, q) FROM model")
    numbers = [len(each) for each in filtered.found(spark, f"{table}2", ["q = 2", "q = 9", "q = 3"])]
    assert numbers == [0, 6, 6]
    assert spark.sql(f"CALL lake.system.fsck('{table.removeprefix('lake.')}2')").collect() == []


@pytest.mark.parametrize(
    "clause",
    ["CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS", "SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES"],
)
def test_rows_come_to_their_buckets_and_directories(
    spark: SparkSession, store: ms.Metastore, db: str, clause: str
) -> None:
    """Changed rows go to their buckets, directories or partitions; `verify` and the readers'
    answers agree.
    """
    table = f"{db}.arranged"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, x INT, p INT) USING parquet PARTITIONED BY (p) {clause}")
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, CAST(id % 5 AS INT), CAST(id % 2 AS INT) FROM range(200)")
    model = Model(spark, table)
    model.changed(f"DELETE FROM {table} WHERE id % 9 = 4", "SELECT * FROM model WHERE id % 9 <> 4")
    model.changed(
        f"UPDATE {table} SET id = id + 1000, x = 2 WHERE id < 50 AND x = 1",
        "SELECT IF(id < 50 AND x = 1, id + 1000, id), IF(id < 50 AND x = 1, 2, x), p FROM model",
    )
    model.changed(f"UPDATE {table} SET p = 5 WHERE x = 2", "SELECT id, x, IF(x = 2, 5, p) FROM model")
    model.changed(
        f"MERGE INTO {table} AS t USING (SELECT id * 10 AS id FROM range(30)) AS n ON t.id = n.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, x, p) VALUES (n.id, 1, 0)",
        "SELECT m.* FROM model m WHERE NOT (id % 10 = 0 AND id < 300) "
        "UNION ALL SELECT n.id * 10, 1, 0 FROM range(30) n LEFT ANTI JOIN model m ON m.id = n.id * 10",
    )
    short = table.removeprefix("lake.")
    if "BUCKETS" in clause:
        assert spark.sql(f"CALL lake.system.verify('{short}')").collect() == []
    assert all(
        file.is_arranged for part in store.table(*short.split(".")).partitions() for file in part.files
    )
    looked_for = [tuple(row) for row in spark.sql(f"SELECT id, x FROM {table}").collect()[::20]]
    conditions = [f"id = {id} AND x = {x}" for id, x in looked_for]  # read by bucket, and by directory
    assert filtered.found(spark, table, conditions, "struct(id, x)") == [[each] for each in looked_for]
    assert spark.sql(f"CALL lake.system.fsck('{short}')").collect() == []


def test_of_two_that_rewrite_one_partition_one_wins(
    spark: SparkSession, sales: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit during a rewrite conflicts if it changes a rewritten partition, and no row of either statement
    is lost.
    """
    table, begun, go = sales.table, Event(), Event()
    true_write = rewrite_rows.write_files

    def slow(*arguments: Any) -> Any:
        written = true_write(*arguments)
        begun.set()
        go.wait(60)
        return written

    for other, conflicts in (
        (f"INSERT INTO {table} VALUES (900, 1, 'x', 1)", True),
        (f"DELETE FROM {table} WHERE hash(id) = hash(201L)", True),
        (f"UPDATE {table} SET v = 5 WHERE p = 0", False),
        (f"INSERT INTO {table} VALUES (901, 1, 'x', 2)", False),
    ):
        begun.clear(), go.clear()
        sales.remember()
        with ThreadPoolExecutor(1) as pool:
            monkeypatch.setattr(rewrite_rows, "write_files", slow)
            first = pool.submit(spark.sql, f"UPDATE {table} SET v = 77 WHERE p = 1 AND hash(id) % 2 = 0")
            assert begun.wait(60)
            monkeypatch.setattr(rewrite_rows, "write_files", true_write)
            spark.sql(other)
            between = sales.sorted(f"SELECT * FROM {table}")
            files = len(list(folder(spark, table).rglob("*.parquet")))
            go.set()
            if not conflicts:
                first.result()
                changed = f"SELECT id, IF(coalesce(p = 1 AND hash(id) % 2 = 0, false), 77, v) AS v, s, p FROM {table}"
                assert sales.sorted(f"SELECT * FROM {table}") == sales.sorted(changed)
                assert "77" in str(sales.sorted(f"SELECT v FROM {table}"))
                continue
            with pytest.raises(
                AnalysisException, match=r"partition p=1 was changed by version .*run it again"
            ) as told:
                first.result()
            assert told.value.getCondition() == "PARQUETRY_COMMIT_CONFLICT"
            assert sales.sorted(f"SELECT * FROM {table}") == between
            assert len(list(folder(spark, table).rglob("*.parquet"))) < files  # what was written is gone


def folder(spark: SparkSession, table: str) -> Path:
    found = {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    return Path(found["Location"].removeprefix("file:"))


def test_of_two_merges_of_one_new_key_one_wins(
    spark: SparkSession, sales: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other merge conflicts, as its key was inserted in the meantime; run again, it finds the row."""
    table = sales.table
    merge = (
        f"MERGE INTO {table} AS t USING (SELECT 555L AS id, 1 AS v, 's' AS s, {{}} AS p) AS n ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT *"
    )
    true_write = rewrite_rows.write_files
    for p in (1, 44):

        def between(*arguments: Any, p: int = p) -> Any:
            written = true_write(*arguments)
            monkeypatch.setattr(rewrite_rows, "write_files", true_write)
            spark.sql(merge.format(p))
            return written

        monkeypatch.setattr(rewrite_rows, "write_files", between)
        with pytest.raises(AnalysisException, match="was changed by version"):
            spark.sql(merge.format(p))
        spark.sql(merge.format(p))
        assert spark.sql(f"SELECT count(*) FROM {table} WHERE id = 555").first()[0] == 1
        spark.sql(f"DELETE FROM {table} WHERE id = 555")


def test_a_failure_leaves_nothing(spark: SparkSession, sales: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of a row that cannot be computed, nor of a commit that fails: no version, no file."""
    table = sales.table
    files, version = set(folder(spark, table).rglob("*.parquet")), sales.version()
    with pytest.raises(PySparkException, match="USER_RAISED"):
        spark.sql(f"UPDATE {table} SET v = IF(id > 200, raise_error('no'), 1) WHERE v > 2")

    def failing(*_arguments: Any) -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(rewrite_rows, "_change", failing)
    with pytest.raises(PySparkException, match="the disk is gone"):
        spark.sql(f"DELETE FROM {table} WHERE v = 3")
    assert set(folder(spark, table).rglob("*.parquet")) == files
    assert sales.version() == version


SOME = "SELECT CAST(id AS BIGINT) AS id, 1 AS v FROM range(0, 20) LIMIT 15"


@pytest.mark.parametrize("adaptive", [True, False])
def test_sources_that_give_other_rows_each_time(spark: SparkSession, sales: Model, adaptive: bool) -> None:
    """A non-deterministic source is evaluated once, so that as many rows match as it returns.

    An UPDATE by one, which Spark would evaluate twice, is refused.
    """
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        count = spark.table(sales.table).count()
        spark.sql(
            f"MERGE INTO {sales.table} t USING ({SOME}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = 'met' "
            "WHEN NOT MATCHED THEN INSERT (id, v, s, p) VALUES (s.id, s.v, 'new', 1)"
        )
        assert spark.sql(f"SELECT count(*), count_if(s = 'met') FROM {sales.table}").first() == (count, 15)
        assert len(set((told(spark, sales)[1] or "").split(" of "))) == 1, "all files"
        version = sales.version()
        with pytest.raises(
            AnalysisException, match=r"UPDATE .*\.sales: the subquery .* a LIMIT.* table first"
        ):
            spark.sql(f"UPDATE {sales.table} SET v = 0 WHERE id IN (SELECT id FROM ({SOME}))")
        assert sales.version() == version
        spark.sql(f"DELETE FROM {sales.table} WHERE id IN (SELECT id FROM ({SOME}))")
        assert spark.table(sales.table).count() == count - 15
