"""DEFAULT values, compared with Spark's own tables: the values that statements fill in, and the rows of files
without the column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.metastore import Metastore
from parquetry.store.memory import MemoryStore
from tests.support.tables import filtered
from tests.support.tables.bucketed_tables import settings

Rows = Callable[[str], list[tuple[Any, ...]]]

_HISTORY = (
    "CREATE TABLE {t} (a INT, b INT DEFAULT 5, s STRING DEFAULT 'x', p INT DEFAULT 1) USING {format} PARTITIONED BY (p)",
    "INSERT INTO {t} (a) VALUES (1)",
    "INSERT INTO {t} VALUES (2, DEFAULT, 'y', 2)",
    "ALTER TABLE {t} ADD COLUMN c INT DEFAULT 3 + 4",
    "ALTER TABLE {t} ADD COLUMNS (d STRING DEFAULT 'old', n INT, st STRUCT<x: INT, y: STRING> DEFAULT named_struct('x', 2, 'y', 'z'))",
    "INSERT INTO {t} (a, p) VALUES (3, 2)",
    "ALTER TABLE {t} ALTER COLUMN c SET DEFAULT 8",
    "ALTER TABLE {t} ALTER COLUMN d DROP DEFAULT",
    "ALTER TABLE {t} ALTER COLUMN n SET DEFAULT 1",
    "INSERT INTO {t} (p, a) VALUES (2, 4), (3, NULL)",
    "INSERT INTO {t} (a, b, s, c, d, n, st) VALUES (5, NULL, DEFAULT, NULL, 'new', DEFAULT, NULL)",
    "INSERT INTO {t} (c, a) VALUES (DEFAULT, 6)",
)
_CONDITIONS = (
    "c = 7", "c > 7", "c < 7", "c IS NULL", "c IS NOT NULL", "c IN (1, 7)", "c IN (8, 9)", "NOT (c = 7)", "c <=> 7", "c <=> NULL",
    "c BETWEEN 6 AND 7", "c + 0 = 7", "d = 'old'", "d LIKE 'ol%'", "d IS NULL", "d > 'old'", "n IS NULL", "n = 1",
    "st.x = 2", "st.x > 2", "st IS NULL", "st.y = 'z' AND p = 1", "c = 7 OR d = 'new'", "c = 7 AND b = 5", "length(d) = 3",
    "c = (SELECT max(c) - 1 FROM {t})", "a IN (SELECT c - 5 FROM {t})",
)  # fmt: skip


@pytest.mark.needs("left-out columns")
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_as_sparks_own_tables(spark: SparkSession, db: str, stock: str, rows: Rows, format: str) -> None:
    """A history of columns, defaults and inserts gives the result of Spark's own table: rows, filters,
    aggregates, joins.
    """
    ours, theirs = f"{db}.t", f"{stock}.t"
    asked = _CONDITIONS[::2] if format == "parquet" else _CONDITIONS[1::5]
    for statement in _HISTORY:
        for table in (ours, theirs):
            spark.sql(statement.format(t=table, format=format))
    questions = [
        "SELECT a, b, s, c, d, n, st, p FROM {t}",
        "SELECT count(*), count(c), min(c), max(c), count(d), min(d), max(d), count(n), max(n), sum(c) FROM {t}",
        "SELECT p, count(c), min(d) FROM {t} GROUP BY p",
        "SELECT st.x FROM {t}",
        "SELECT count(*) FROM {t} u JOIN {t} v ON u.c = v.c WHERE v.d = 'old'",
        "SELECT count(*) FROM {t} WHERE c = 7",
        "SELECT count(*) FROM {t} WHERE c IS NULL",
    ]

    def selected(table: str) -> list[list[Any]]:
        conditions = [condition.format(t=table) for condition in asked]
        return filtered.found(spark, table, conditions, "to_json(struct(a, c, st.y))")

    found, chosen = [sorted(rows(question.format(t=ours)), key=str) for question in questions], selected(ours)
    # Spark 4.3.0 forgets the default of its own table's struct where a query reads one field of it
    with settings(spark, {"spark.sql.optimizer.nestedSchemaPruning.enabled": "false"}):
        for question, answer in zip(questions, found, strict=True):
            assert answer == sorted(rows(question.format(t=theirs)), key=str), question
        assert filtered.differences(asked, chosen, selected(theirs)) == []
    assert len(rows(f"SELECT a FROM {ours} WHERE c = 7")) == 3  # none of the above holds of two empty tables
    report = parquetry.report(spark.sql(f"SELECT a FROM {ours} WHERE c = 8"))
    step = report.scans[0].step("files")
    assert step is not None
    # files with only 7 and NULL are pruned, and the two that do not store it and have the default, 7
    assert (step.kept, step.of) == (3, 7)


_SPOILED = {
    "b": ("BINARY", "X'6162'"),
    "m": ("MAP<STRING, INT>", "map('x', 1, 'y', 2)"),
    "l": ("ARRAY<INT>", "array(1, NULL)"),
    "st": ("STRUCT<x: INT, y: BINARY>", "named_struct('x', CAST(NULL AS INT), 'y', X'61')"),
    "d": ("DECIMAL(38,2)", "-123456789012345678901234567890.12BD"),
    "ml": (
        "ARRAY<STRUCT<m: MAP<STRING, BINARY>>>",
        "array(named_struct('m', map('k', X'', 'n', NULL)), NULL)",
    ),
    "v": ("VARIANT", "parse_json('[1, null]')"),
}


@pytest.mark.needs("left-out columns")
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_defaults_that_sparks_readers_of_batches_cannot_give(
    spark: SparkSession, db: str, rows: Rows, format: str
) -> None:
    """Every row of old files has the defaults, also over several batches, and no row of new files does, with
    each of Spark's readers.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (a INT, s STRING, p INT) USING {format} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, string(id), 1 FROM range(5000)")
    columns = {n: each for n, each in _SPOILED.items() if (n, format) != ("v", "orc")}
    for n, (type, default) in columns.items():
        place = "FIRST" if n in ("m", "v") else ""
        spark.sql(f"ALTER TABLE {table} ADD COLUMN {n} {type} DEFAULT {default} {place}")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN n INT AFTER a")
    spark.sql(f"INSERT INTO {table} (a, {', '.join(columns)}) VALUES (7000{', NULL' * len(columns)})")
    spark.sql(f"INSERT INTO {table} (a, b) VALUES (7001, X'6162')")  # and the defaults, which the file holds
    texts = ", ".join("string(d) AS d" if n == "d" else f"to_json(struct({n})) AS {n}" for n in columns)
    values = ", ".join(f"CAST({default} AS {type}) AS {n}" for n, (type, default) in columns.items())
    wanted = rows(f"SELECT {texts} FROM (SELECT {values})")
    counts = ", ".join(f"count({n})" for n in columns)
    for batches, fields in (
        ("true", "100"),
        ("false", "1"),
    ):  # with more fields Spark has batches given as rows
        spark.conf.set(f"spark.sql.{format}.enableVectorizedReader", batches)
        spark.conf.set("spark.sql.codegen.maxFields", fields)
        assert rows(f"SELECT DISTINCT {texts} FROM {table} WHERE s = string(a) AND n IS NULL") == wanted
        assert rows(f"SELECT {counts} FROM {table} WHERE a = 7000") == [(0,) * len(columns)]
        assert rows(f"SELECT {texts} FROM {table} WHERE a = 7001") == wanted
        condition = "b = X'6162' AND m['y'] = 2"
        assert rows(f"SELECT count(*), {counts} FROM {table} WHERE {condition}") == [
            (5001,) * (1 + len(columns))
        ]
        hidden, number = ("row_index", 5000) if format == "parquet" else ("file_name", 2)
        counted = rows(f"SELECT count(DISTINCT _metadata.{hidden}), count(m) FROM {table} WHERE b > X'61'")
        assert counted == [(number, 5001)]
    spark.conf.unset(f"spark.sql.{format}.enableVectorizedReader")
    spark.conf.unset("spark.sql.codegen.maxFields")
    spark.sql(f"UPDATE {table} SET b = DEFAULT, a = -a WHERE a = 4999")
    assert rows(f"SELECT DISTINCT {texts} FROM {table} WHERE a < 5000") == wanted


@pytest.mark.needs("create table like")
@pytest.mark.needs("left-out columns")
def test_shown_copied_and_dumped(
    spark: SparkSession, db: str, stock: str, rows: Rows, store: Metastore, tmp_path: Any
) -> None:
    """SHOW CREATE TABLE, LIKE, CREATE TABLE AS SELECT and a dump keep the defaults, the first three as
    Spark's own tables.
    """
    for schema in (db, stock):
        table = f"{schema}.t"
        for statement in _HISTORY[:7]:
            spark.sql(statement.format(t=table, format="parquet"))
        spark.sql(f"CREATE TABLE {schema}.copy USING parquet AS SELECT a, c FROM {table}")
        spark.sql(f"CREATE TABLE {schema}.alike LIKE {table}")
    for name in ("t", "copy", "alike"):
        ours, theirs = (
            rows(f"SHOW CREATE TABLE {schema}.{name}")[0][0].replace(schema, "") for schema in (db, stock)
        )
        assert ours.split("USING")[0] == theirs.split("USING")[0], name
        assert "c INT DEFAULT 8" in ours
    described = rows(f"DESCRIBE EXTENDED {db}.t")
    assert ("c", "int", "8") in described
    assert ("d", "string", "'old'") in described
    spark.sql(f"INSERT INTO {db}.alike (a) VALUES (1)")
    assert rows(f"SELECT b, c FROM {db}.alike") == [(5, 8)]
    dump(store, tmp_path / "dump")
    with Metastore(MemoryStore(), str(tmp_path)) as other:
        restore(other, tmp_path / "dump")
        schema, name = db.removeprefix("lake."), "t"
        assert other.table(schema, name).metadata.columns == store.table(schema, name).metadata.columns


@pytest.mark.needs("left-out columns")
def test_fewer_columns(spark: SparkSession, db: str, stock: str, rows: Rows) -> None:
    """Frames and queries with fewer columns are completed by name, as in Spark's own table, and refused by
    position.
    """
    frame = spark.sql("SELECT 1 AS a")
    for schema in (db, stock):
        spark.sql(f"CREATE TABLE {schema}.t (a INT, b INT DEFAULT 5) USING parquet")
        spark.sql(f"INSERT INTO {schema}.t BY NAME SELECT 1 AS a")
        with pytest.raises(AnalysisException, match="NOT_ENOUGH_DATA_COLUMNS"):
            frame.write.insertInto(f"{schema}.t")
    assert rows(f"SELECT * FROM {db}.t") == [(1, 5)] == rows(f"SELECT * FROM {stock}.t")
    frame.write.mode("append").saveAsTable(f"{db}.t")  # Spark's own table goes by position here, and refuses
    frame.writeTo(f"{db}.t").append()
    assert rows(f"SELECT * FROM {db}.t") == [(1, 5)] * 3
