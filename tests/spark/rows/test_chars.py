"""Statements about CHAR columns whose files have no padding, as other writers leave them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import sampled

pytestmark = pytest.mark.core

Rows = Callable[..., list[tuple[Any, ...]]]

COLUMNS = "id INT, k CHAR(4), v VARCHAR(4), n INT, s STRUCT<k: CHAR(4)>, a ARRAY<CHAR(4)>, p CHAR(3)"
SETS, DELETES = "WHEN MATCHED THEN UPDATE SET n = 1", "WHEN MATCHED THEN DELETE"
INSERTS = "WHEN NOT MATCHED THEN INSERT (id, k, n, p) VALUES (9, u.k, 9, 'a')"
STATEMENTS = [
    "UPDATE {t} SET n = 1 WHERE k = 'ab'",
    "UPDATE {t} SET n = length(k) WHERE id = 0",
    "UPDATE {t} SET n = 1 WHERE k = v",
    "UPDATE {t} SET n = 1, k = 'cd', p = 'z' WHERE k LIKE 'ab %'",
    "UPDATE {t} SET n = 1 WHERE s.k = 'ab  '",
    "UPDATE {t} SET n = 1 WHERE a[0] = 'ab  '",
    "DELETE FROM {t} WHERE array_contains(a, 'ab  ') AND id > 0",
    "UPDATE {t} SET n = 1 WHERE p = 'a'",
    "UPDATE {t} SET n = 1 WHERE p = 'a' OR k = 'cd'",
    "UPDATE {t} SET n = 1 WHERE k IN (SELECT k FROM {u})",
    "UPDATE {t} SET n = 1 WHERE EXISTS (SELECT 1 FROM {u} u WHERE u.k = {t}.k AND {t}.id < 4)",
    "UPDATE {t} SET n = 1 WHERE k NOT IN (SELECT k FROM {u}) AND p IN (SELECT p FROM {u})",
    "DELETE FROM {t} WHERE k = 'ab' AND id > 0",
    "DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM {u} u WHERE u.k = {t}.k AND u.p = {t}.p)",
    *(
        f"MERGE INTO {{t}} t USING {{u}} u ON t.k = u.k {clauses}"
        for clauses in (SETS, DELETES, INSERTS, f"{SETS.replace('MATCHED', 'MATCHED AND t.id = 0')} {INSERTS}")
    ),
    *(f"MERGE INTO {{t}} t USING {{u}} u ON {on} {SETS} {INSERTS}" for on in ("t.p = u.p AND t.k = u.k", "t.s.k = u.k", "t.a[0] = u.k")),
    f"MERGE INTO {{t}} t USING {{u}} u ON t.id = u.i - 3 {SETS.replace('MATCHED', 'MATCHED AND t.k = u.k')}",
    f"MERGE INTO {{t}} t USING {{u}} u ON t.id = u.i {DELETES} WHEN NOT MATCHED BY SOURCE AND t.k = 'cd' THEN UPDATE SET n = length(t.k)",
    f"MERGE INTO {{t}} t USING {{u}} u ON t.k = u.k {SETS} WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE",
]  # fmt: skip


def _made(spark: SparkSession, db: str, folder: Path | None) -> dict[str, str]:
    """Make a table `t` and a one-row source `u`, of padded files, or of files in a folder without padding."""
    names = {each: f"{db}.{'bare' if folder else 'padded'}_{each}" for each in "tu"}
    rows = {
        "t": "SELECT int(id) AS id, IF(id % 2 = 0, 'ab', 'cd') AS k, IF(id < 2, 'ab  ', 'ab') AS v, 0 AS n, "
        "named_struct('k', IF(id % 2 = 0, 'ab', 'cd')) AS s, array(IF(id % 2 = 0, 'ab', 'cd')) AS a, IF(id < 4, 'a', 'b') AS p FROM range(8)",
        "u": "SELECT 3 AS i, 'ab' AS k, 'a' AS p",
    }
    for each, columns in (
        ("t", f"{COLUMNS}) USING parquet PARTITIONED BY (p"),
        ("u", "i INT, k CHAR(4), p CHAR(3)"),
    ):
        if folder:
            frame = spark.sql(rows[each]).coalesce(1).write
            (frame.partitionBy("p") if each == "t" else frame).parquet(f"{folder}/{each}")
            spark.sql(f"CREATE TABLE {names[each]} ({columns}) LOCATION '{folder}/{each}'")
            spark.sql(f"MSCK REPAIR TABLE {names[each]}")
        else:
            spark.sql(f"CREATE TABLE {names[each]} ({columns})")
            spark.sql(f"INSERT INTO {names[each]} {rows[each]}")
    return names


def test_statements_find_chars_without_padding(
    spark: SparkSession, db: str, tmp_path: Path, rows: Rows
) -> None:
    """UPDATE, DELETE and MERGE change the rows that they change in files with padding."""
    padded, bare = _made(spark, db, None), _made(spark, db, tmp_path)
    at_first = rows(f"SELECT * FROM {padded['t']}")
    versions = {
        each["t"]: rows(f"SELECT max(version) FROM {each['t']}.history")[0][0] for each in (padded, bare)
    }
    for statement in sampled(STATEMENTS):
        found = []
        for names in (padded, bare):
            spark.sql(statement.format(**names))
            found.append(rows(f"SELECT * FROM {names['t']}"))
            spark.sql(f"CALL lake.system.rollback('{names['t']}', {versions[names['t']]})")
        assert found[0] == found[1], statement
        only_inserts = statement.endswith(INSERTS) and "WHEN MATCHED" not in statement
        assert (found[0] == at_first) == only_inserts, statement


def test_exists_with_a_char_and_a_range(spark: SparkSession, db: str, tmp_path: Path, rows: Rows) -> None:
    """A subquery may compare a CHAR with the row's by =, and another column by <."""
    names = _made(spark, db, tmp_path)
    exists = "EXISTS (SELECT 1 FROM {u} u WHERE u.k = {t}.k AND {t}.id < u.i)".format(**names)
    spark.sql(f"UPDATE {names['t']} SET n = 1 WHERE {exists}")
    assert sorted(rows(f"SELECT id FROM {names['t']} WHERE n = 1")) == [(0,), (2,)]
    spark.sql(f"DELETE FROM {names['t']} WHERE {exists}")
    assert sorted(rows(f"SELECT id FROM {names['t']}")) == [(1,), (3,), (4,), (5,), (6,), (7,)]


def test_chars_are_written_beside_nested_values(spark: SparkSession, db: str, rows: Rows) -> None:
    """In each way of writing: Spark casts the fields of a map's values, and checks the lengths of chars."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (k CHAR(4), m MAP<DATE, STRUCT<x: FLOAT>>, v VARCHAR(4), p INT) PARTITIONED BY (p)"
    )
    row = "SELECT '{0}', map(DATE'2026-01-01', named_struct('x', cast(1 AS FLOAT))) AS m, '{0}', {1}"
    union = " UNION ALL ".join([row.format("a", 1), row.format("ab", 2)])
    both, first = [("a   ", 1.0, "a", 1), ("ab  ", 1.0, "ab", 2)], ("c   ", 1.0, "c", 1)
    found = f"SELECT k, m[DATE'2026-01-01'].x, v, p FROM {table} ORDER BY p"
    for write, expected in (
        (f"INSERT INTO {table} {union}", both),
        (
            f"INSERT OVERWRITE {table} PARTITION (p = 1) {row.format('c', 1).rpartition(',')[0]}",
            [first, both[1]],
        ),
        (f"INSERT INTO {table} REPLACE WHERE p > 0 {union}", both),
        (f"INSERT OVERWRITE {table} TABLE {table}", both),
        (f"INSERT INTO {table} REPLACE WHERE p = 1 {row.format('c', 1)}", [first, both[1]]),
    ):
        spark.sql(write)
        assert rows(found) == expected, write
    spark.sql(union).toDF("k", "m", "v", "p").writeTo(table).overwritePartitions()
    assert rows(found) == both
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM {table} WHERE p = 1) s ON t.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(f"SELECT count(*) FROM {table}") == [(1,)]
