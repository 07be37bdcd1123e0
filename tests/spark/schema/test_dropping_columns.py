"""After DROP COLUMN and REPLACE COLUMNS, old values stay hidden, in files of both formats, and older versions
still show them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.support.spark import series

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.exhaustive("test_old_values_never_come_back drops and adds columns; test_old_files renames them")
def test_any_sequence_of_changes(spark: SparkSession, db: str, rows: Rows) -> None:
    """After each of many random changes to columns, the rows are the same as if they had been written in the
    new schema.
    """
    random_ = random.Random(17)
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (a INT, p INT) USING parquet PARTITIONED BY (p)")
    columns = ["a"]
    kept: list[dict[str, int | None]] = []
    names = ["a", "b", "c"]
    for number in range(24):
        free = [name for name in names if name not in columns]
        what = random_.choice(["insert", "insert", "drop", "add", "rename"])
        if what == "drop" and len(columns) > 1:
            gone = random_.choice(columns)
            spark.sql(f"ALTER TABLE {table} DROP COLUMN {gone}")
            columns.remove(gone)
            for row in kept:
                del row[gone]
        elif what == "add" and free:
            new = random_.choice(free)
            spark.sql(f"ALTER TABLE {table} ADD COLUMN {new} INT")
            columns.append(new)
            for row in kept:
                row[new] = None
        elif what == "rename" and free:
            old, new = random_.choice(columns), random_.choice(free)
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
            columns[columns.index(old)] = new
            for row in kept:
                row[new] = row.pop(old)
        elif what == "insert":
            row = {name: random_.randrange(100) for name in columns} | {"p": number}
            spark.sql(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(map(str, row.values()))})")
            kept.append(dict(row))
        else:
            continue
        shown = spark.table(table)
        assert shown.columns == [*columns, "p"]
        found = [row.asDict() for row in shown.orderBy("p").collect()]
        assert found == kept, (number, what)
        name = random_.choice(columns)
        least = [row["p"] for row in kept if (value := row[name]) is not None and value >= 50]
        assert [p for (p,) in rows(f"SELECT p FROM {table} WHERE {name} >= 50 ORDER BY p")] == least
    assert len(kept) > 5


@pytest.mark.needs("newer versions")
def test_a_query_that_was_understood_before(spark: SparkSession, rows: Rows, db: str) -> None:
    """A query analysed before a change finds a column whose name now has other letter case."""
    spark.sql(f"CREATE TABLE {db}.stale (id INT, v INT) USING parquet")
    spark.sql(f"INSERT INTO {db}.stale VALUES (1, 1)")
    before = spark.table(f"{db}.stale")
    assert [tuple(row) for row in before.collect()] == [(1, 1)]
    before = spark.table(f"{db}.stale").select("id", "v")
    spark.sql(f"ALTER TABLE {db}.stale RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE {db}.stale RENAME COLUMN w TO V")
    spark.sql(f"INSERT INTO {db}.stale VALUES (2, 2)")
    assert sorted(tuple(row) for row in before.collect()) == [(1, 1), (2, 2)]
    assert sorted(rows(f"SELECT * FROM {db}.stale")) == [(1, 1), (2, 2)]


_OLD = "(1, 10, named_struct('x', 1, 'y', 1), array(named_struct('x', 1, 'y', 1)), map('k', named_struct('x', 1, 'y', 1)))"


@pytest.fixture
def changed(spark: SparkSession, db: str) -> str:
    """A table with a row; each test drops something of it, and makes it again."""
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, c INT, s STRUCT<x: INT, y: INT>, a ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, STRUCT<x: INT, y: INT>>)"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES {_OLD}")
    return f"{db}.t"


@pytest.mark.needs("column ids")
@pytest.mark.parametrize("column", ["c", "s.x", "a.element.x", "m.value.x"])
def test_a_dataframe_does_not_take_a_new_column_for_an_old_one(
    spark: SparkSession, changed: str, column: str
) -> None:
    """A column or field that was dropped and made again is a new one: a DataFrame from before fails and says
    so, for every use of it.
    """
    spark.sql(f"CREATE TABLE {changed}2 AS SELECT * FROM {changed} LIMIT 0")
    frame = spark.table(changed)
    filtered = frame.where("id > 0").select("id", column.partition(".")[0])
    schema = frame.schema
    spark.sql(f"ALTER TABLE {changed} DROP COLUMN {column}")
    spark.sql(f"ALTER TABLE {changed} ADD COLUMN {column} INT")
    uses: list[Callable[[], Any]] = [
        frame.collect,
        filtered.count,
        filtered.writeTo(f"{changed}2").append,
        lambda: frame.write.insertInto(f"{changed}2"),
        frame.join(spark.table(f"{changed}2"), "id").collect,
    ]
    # `frame.writeTo(…)` alone is understood anew when it writes, as one of Spark's own tests has it
    for use in uses:
        with pytest.raises(AnalysisException, match="INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS") as raised:
            use()
        assert "field ID has changed" in str(raised.value)
        assert column.rpartition(".")[2] in str(raised.value)
    assert spark.table(f"{changed}2").count() == 0
    assert {field.name for field in spark.table(changed).schema} == {field.name for field in schema}
    assert spark.table(changed).count() == 1


def test_schemas_show_no_ids(spark: SparkSession, changed: str) -> None:
    """A schema equals the one that a user writes, before and after a column was made again, and tables made
    from it have it.
    """
    spark.sql(f"ALTER TABLE {changed} DROP COLUMNS (c, s.x)")
    spark.sql(f"ALTER TABLE {changed} ADD COLUMNS (c INT, s.x INT)")
    written = "id INT, s STRUCT<y: INT, x: INT>, a ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, STRUCT<x: INT, y: INT>>, c INT"
    for frame in (
        spark.table(changed),
        spark.table(changed).where("id > 0"),
        spark.sql(f"SELECT * FROM {changed} t"),
    ):
        assert frame.schema == spark.createDataFrame([], written).schema
        assert all(not field.metadata for field in frame.schema)
        frame.collect()
        assert "FIELD_ID" not in frame.schema.json()
    spark.sql(f"CREATE TABLE {changed}2 AS SELECT * FROM {changed}")
    assert "FIELD_ID" not in spark.table(f"{changed}2").schema.json()
    if series.has("create table like"):
        spark.sql(f"CREATE TABLE {changed}3 LIKE {changed}")
        assert "FIELD_ID" not in spark.table(f"{changed}3").schema.json()


def test_what_stays_is_not_another_column(spark: SparkSession, changed: str) -> None:
    """If columns are added, moved, commented, dropped and restored by a rollback, a DataFrame from before
    does not change.
    """
    frame = spark.table(changed)
    row = frame.collect()
    for statements in (
        ["ADD COLUMNS (d INT)"],
        ["ALTER COLUMN c AFTER s", "ALTER COLUMN c COMMENT 'of old'"],
        ["RENAME COLUMN c TO e", "RENAME COLUMN e TO c"],
    ):
        for statement in statements:
            spark.sql(f"ALTER TABLE {changed} {statement}")
        assert frame.where("id = 1").select(*frame.columns).collect() == row
    spark.sql(f"ALTER TABLE {changed} DROP COLUMN c")
    spark.sql(f"CALL lake.system.rollback(table => '{changed}', version => 1)")
    assert frame.where("id = 1").collect() == row
