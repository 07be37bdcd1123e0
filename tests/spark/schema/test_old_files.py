"""Files from before a column was added, renamed or widened are read by the current schema, and pruned
correctly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.tables import filtered

Rows = Callable[[str], list[tuple[Any, ...]]]


def files(query: str) -> tuple[int, int]:
    (scan,) = parquetry.explain(query).to_dict()["scans"]
    return next((s["kept"], s["of"]) for s in scan["steps"] if s["name"] == "files")


@pytest.fixture(params=["parquet", "orc"])
def file_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_column_added_later_is_null_in_old_files(
    spark: SparkSession, db: str, rows: Rows, file_format: str
) -> None:
    """Conditions on an added column prune old files or keep them by the rules of NULL, and fields added to
    structs are NULL there.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, s struct<a: int>) USING {file_format}")
    spark.sql(f"INSERT INTO {table} VALUES (1, named_struct('a', 10)), (2, NULL)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (n int, s.b string)")
    spark.sql(f"INSERT INTO {table} VALUES (3, named_struct('a', 30, 'b', 'x'), 7), (4, NULL, NULL)")
    expected = {
        "n = 7": (1, [3]),
        "n <> 7": (0, []),
        "NOT (n = 8)": (1, [3]),
        "n IS NULL": (2, [1, 2, 4]),
        "n IS NOT NULL": (1, [3]),
        "n <=> NULL": (2, [1, 2, 4]),
        "n = 7 OR id = 1": (2, [1, 3]),
        "coalesce(n, 0) = 0": (2, [1, 2, 4]),
        "s.b = 'x'": (1, [3]),
        "s.b IS NULL AND s IS NOT NULL": (2, [1]),
    }
    selected = filtered.found(spark, table, [*expected])
    assert dict(zip(expected, selected, strict=True)) == {where: ids for where, (_, ids) in expected.items()}
    for where, (kept, _) in expected.items():
        assert files(f"SELECT id FROM {table} WHERE {where}") == (kept, 2), where
    assert rows(f"SELECT count(n), min(n), max(n), count(*) FROM {table}") == [(1, 7, 7, 4)]
    assert sorted(rows(f"SELECT id, s.a, s.b FROM {table} WHERE id < 4")) == [
        (1, 10, None),
        (2, None, None),
        (3, 30, "x"),
    ]


def test_renamed_columns_are_found_in_old_files(
    spark: SparkSession, db: str, rows: Rows, file_format: str
) -> None:
    """Renamed columns, fields and partition columns; a new column with the old name is another one."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id int, v int, s struct<a: int, b: int>, p int) USING {file_format} PARTITIONED BY (p)"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 10, named_struct('a', 1, 'b', 2), 1)")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s.a TO z")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN p TO q")
    spark.sql(f"INSERT INTO {table} VALUES (2, 20, named_struct('z', 3, 'b', 4), 2)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (v int)")
    spark.sql(f"INSERT INTO {table} (id, w, s, q, v) VALUES (3, 30, NULL, 1, 99)")
    query = f"SELECT id, w, v, s.z, q FROM {table}"
    assert sorted(rows(query)) == [(1, 10, None, 1, 1), (2, 20, None, 3, 2), (3, 30, 99, None, 1)]
    expected = {
        "w = 10": (1, [1]), "w > 15": (2, [2, 3]), "v = 10": (0, []), "v = 99": (1, [3]), "v IS NULL": (2, [1, 2]),
        "s.z = 3": (1 if file_format == "parquet" else 2, [2]), "s.z > 0 AND w < 15": (1, [1]),
    }  # fmt: skip
    selected = filtered.found(spark, table, [*expected])
    assert dict(zip(expected, selected, strict=True)) == {where: ids for where, (_, ids) in expected.items()}
    for where, (kept, _) in expected.items():
        assert files(f"SELECT id FROM {table} WHERE {where}") == (kept, 3), where
    assert files(f"SELECT id FROM {table} WHERE q = 2") == (1, 1)
    assert rows(f"SELECT min(w), max(v), max(q) FROM {table}") == [(10, 99, 2)]


_WIDER = [
    (
        "int",
        "bigint",
        ["1", "2147483647"],
        ["4294967297", "-1"],
        ["4294967298", "1", "0", "-2147483648", "4294967297"],
    ),
    (
        "float",
        "double",
        ["1.5", "CAST('NaN' AS FLOAT)"],
        ["1e300", "0.1D"],
        ["1.5D", "0.1D", "1e200", "CAST(0.1 AS FLOAT)"],
    ),
    (
        "decimal(5,2)",
        "decimal(12,2)",
        ["1.50", "-999.99"],
        ["1234567.89"],
        ["1.5", "1000", "-999.99", "999.999"],
    ),
    ("tinyint", "smallint", ["1", "127"], ["-32768", "128"], ["127", "128", "-1", "383"]),
    ("smallint", "int", ["-1", "5"], ["65535", "70000"], ["65535", "-1", "65541"]),
]


@pytest.mark.parametrize(
    ("narrow", "wide", "old", "new", "literals"), _WIDER, ids=[f"{n}-{w}" for n, w, *_ in _WIDER]
)
def test_widened_columns_compare_in_their_new_type(
    spark: SparkSession, db: str, rows: Rows, file_format: str, narrow: str, wide: str, old: list[str], new: list[str],
    literals: list[str],
) -> None:  # fmt: skip
    """Old files hold the narrow type: no literal of the wide one is cut to it, in files or in row groups."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (c {narrow}) USING {file_format}")
    spark.sql(f"INSERT INTO {table} VALUES {', '.join(f'(CAST({v} AS {narrow}))' for v in old)}, (NULL)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN c TYPE {wide}")
    spark.sql(f"INSERT INTO {table} VALUES {', '.join(f'(CAST({v} AS {wide}))' for v in new)}")
    view = " UNION ALL ".join(
        [f"SELECT CAST(CAST({v} AS {narrow}) AS {wide}) AS c" for v in old]
        + [f"SELECT CAST({v} AS {wide}) AS c" for v in new]
        + [f"SELECT CAST(NULL AS {wide}) AS c"]
    )
    predicates = [
        f"c {op} {literal}" for literal in literals for op in ("=", "<", "<=", ">", ">=", "<>", "<=>")
    ]
    truths = ", ".join(f"count_if({p})" for p in predicates)
    expected = list(rows(f"SELECT {truths} FROM ({view})")[0])
    assert [len(each) for each in filtered.found(spark, table, predicates, "c")] == expected
    assert str(sorted(rows(f"SELECT c FROM {table}"), key=str)) == str(sorted(rows(view), key=str))
    # the old file's greatest is no answer for the new type's digits
    assert str(rows(f"SELECT min(c), max(c) FROM {table}")) == str(
        rows(f"SELECT min(c), max(c) FROM ({view})")
    )
