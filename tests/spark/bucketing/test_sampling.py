"""`TABLESAMPLE (BUCKET x OUT OF y)` returns Hive's rows, and reads the buckets that can have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

import parquetry
from parquetry.hashing import bucket_numbers
from parquetry.types import parse_type
from tests.spark.bucketing.test_pruning import buckets

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]

_ROWS = [(None if i % 41 == 0 else i % 40, "ab"[i % 2], i, i // 100) for i in range(400)]
"""Rows of `id`, `s`, `v` and the partition `p`."""


def in_bucket(
    bucket: int, count: int, of: Callable[[tuple[Any, ...]], tuple[Any, ...]], *types: str
) -> list[int]:
    """Return the values of `v` in the rows of a bucket, by the hash of Hive 3 of some of their values."""
    numbers = bucket_numbers(2, count, [parse_type(each) for each in types], [of(row) for row in _ROWS])
    return [row[2] for row, number in zip(_ROWS, numbers, strict=True) if number == bucket - 1]


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """A table of four partitions in eight buckets, one in four, and a table without buckets, `…plain`."""
    db = f"lake.samples_{request.param}"
    spark.sql(f"CREATE NAMESPACE {db}")
    columns = "(id int, s string, v int, p int)"
    spark.createDataFrame(_ROWS, "id int, s string, v int, p int").createOrReplaceTempView("sampled_rows")
    spark.sql(
        f"CREATE TABLE {db}.t {columns} USING {request.param} PARTITIONED BY (p) CLUSTERED BY (id) INTO 4 BUCKETS"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT * FROM sampled_rows WHERE p = 3")
    spark.sql(f"ALTER TABLE {db}.t INTO 8 BUCKETS")
    spark.sql(f"INSERT INTO {db}.t SELECT * FROM sampled_rows WHERE p < 3")
    spark.sql(f"CREATE TABLE {db}.plain {columns} USING {request.param} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.plain SELECT * FROM sampled_rows")
    yield f"{db}.t"
    spark.sql(f"DROP NAMESPACE {db} CASCADE")


@pytest.mark.parametrize(
    ("sample", "expected", "read"),
    [
        ("BUCKET 3 OUT OF 8 ON id", (3, 8), (4, 28)),
        ("BUCKET 3 OUT OF 8", (3, 8), (4, 28)),
        ("bucket 1 out of 2 on id", (1, 2), (14, 28)),
        ("BUCKET 3 OUT OF 16 ON id", (3, 16), (4, 28)),
        ("BUCKET 6 OUT OF 12", (6, 12), (7, 28)),
        ("BUCKET 1 OUT OF 1", (1, 1), (28, 28)),
        ("BUCKET 2 OUT OF 5", (2, 5), (28, 28)),
    ],
)
def test_a_sample_reads_its_buckets(
    spark: SparkSession, table: str, sample: str, expected: tuple[int, int], read: tuple[int, int]
) -> None:
    """The bucket columns are meant without ON. Numbers may be multiples, divisors or neither, in each
    partition by its own number.
    """
    frame = spark.sql(f"SELECT v FROM {table} TABLESAMPLE ({sample}) AS x")
    assert sorted(row.v for row in frame.collect()) == in_bucket(*expected, lambda row: row[:1], "int")
    assert buckets(parquetry.report(frame)) == [read]


def test_other_columns_and_other_relations(spark: SparkSession, table: str) -> None:
    """ON may name columns, partition columns and expressions. The relation may be a view, a common table
    expression, a subquery, or a side of a join.
    """
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW sampled_view AS SELECT id AS number, s, v FROM {table} WHERE v >= 0"
    )
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW stored_view AS SELECT v FROM {table} TABLESAMPLE (BUCKET 3 OUT OF 8)"
    )
    by_id = in_bucket(3, 8, lambda row: row[:1], "int")
    by_both = in_bucket(2, 4, lambda row: (row[1], row[0]), "string", "int")
    upper = in_bucket(2, 3, lambda row: (row[1].upper(),), "string")
    queries = {
        "SELECT v FROM {0} TABLESAMPLE (BUCKET 2 OUT OF 4 ON s, id)": (by_both, [()]),
        "SELECT v FROM {0} TABLESAMPLE (BUCKET 2 OUT OF 3\n ON upper(s))": (upper, [()]),
        "SELECT v FROM sampled_view TABLESAMPLE (BUCKET 3 OUT OF 8 ON number)": (by_id, [(4, 28)]),
        "SELECT v FROM stored_view": (by_id, [(4, 28)]),
        "WITH c AS (SELECT * FROM {0}) SELECT v FROM c TABLESAMPLE (BUCKET 3 OUT OF 8 ON id)": (
            by_id,
            [(4, 28)],
        ),
        "SELECT v FROM (SELECT * FROM {0}) TABLESAMPLE (BUCKET 3 OUT OF 8 ON id) y WHERE p < 3": (
            [v for v in by_id if v < 300],
            [(3, 24)],
        ),
        "SELECT v FROM {0} WHERE lake.system.hive_bucket(2, 8, id) = 2": (by_id, [(4, 28)]),
        "SELECT v FROM {0} WHERE lake.system.hive_bucket(1, 8, id) IN (0, 1, 2, 3, 4, 5, 6, 7)": (
            list(range(400)),
            [(28, 28)],
        ),
    }
    for query, (expected, read) in queries.items():
        frame = spark.sql(query.format(table))
        assert sorted(row.v for row in frame.collect()) == expected, query
        if read != [()]:
            assert buckets(parquetry.report(frame)) == read, query
    by_day = spark.sql(f"SELECT v FROM {table} TABLESAMPLE (BUCKET 1 OUT OF 4 ON p)")
    assert sorted(row.v for row in by_day.collect()) == in_bucket(1, 4, lambda row: row[3:], "int")
    assert parquetry.report(by_day).to_dict()["scans"][0]["steps"][0]["kept"] == 1
    joined = spark.sql(
        f"SELECT a.v FROM {table} TABLESAMPLE (BUCKET 3 OUT OF 8) a LEFT SEMI JOIN {table} TABLESAMPLE (BUCKET 1 OUT OF 2 ON id) b "
        f"ON a.id = b.id WHERE a.v IN (SELECT v FROM {table} TABLESAMPLE (BUCKET 1 OUT OF 4))"
    )
    inner = {row[0] for row in _ROWS if row[2] in in_bucket(1, 2, lambda row: row[:1], "int")}
    quarter = in_bucket(1, 4, lambda row: row[:1], "int")
    ids = {row[2]: row[0] for row in _ROWS}
    assert sorted(row.v for row in joined.collect()) == [
        v for v in by_id if ids[v] is not None and ids[v] in inner and v in quarter
    ]


def test_random_buckets_and_fractions(spark: SparkSession, table: str, rows: Rows) -> None:
    """`ON rand()` divides the rows at random, with a seed always alike. Without ON, a table without buckets
    gives a fraction of its rows, as in Spark.
    """
    plain = f"{table.rpartition('.')[0]}.plain"
    parts = [
        rows(f"SELECT v FROM {table} TABLESAMPLE (BUCKET {bucket} OUT OF 3 ON rand(7))")
        for bucket in (1, 2, 3)
    ]
    assert sorted(row for part in parts for row in part) == [(v,) for v in range(400)]
    assert all(parts)
    again = rows(f"SELECT v FROM {table} TABLESAMPLE (BUCKET 2 OUT OF 3 ON rand()) REPEATABLE (7)")
    assert again == parts[1]
    assert rows(f"SELECT v FROM {plain} TABLESAMPLE (BUCKET 2 OUT OF 3) REPEATABLE (5)") == rows(
        f"SELECT v FROM (SELECT * FROM {plain}) TABLESAMPLE (66.66666666666666 PERCENT) REPEATABLE (5)"
    )
    assert sorted(rows(f"SELECT v FROM {plain} TABLESAMPLE (BUCKET 3 OUT OF 8 ON id)")) == [
        (v,) for v in in_bucket(3, 8, lambda row: row[:1], "int")
    ]


def test_samples_that_cannot_be(spark: SparkSession, table: str) -> None:
    """The error names the sample and a remedy; statements that change rows have no samples."""
    for sample, message in {
        "BUCKET 9 OUT OF 8": "there is no bucket 9 of 8: buckets have numbers from 1 to 8",
        "BUCKET 0 OUT OF 8 ON id": "there is no bucket 0 of 8",
        "BUCKET 1 OUT OF 0": "there are 0 buckets",
        "BUCKET 1 OUT OF 2 ON uuid()": "name columns, or ON rand()",
    }.items():
        with pytest.raises(AnalysisException, match=message.replace("(", r"\(").replace(")", r"\)")):
            spark.sql(f"SELECT * FROM {table} TABLESAMPLE ({sample})").collect()
    with pytest.raises(AnalysisException, match="of no table of Parquetry"):
        spark.sql("SELECT * FROM sampled_rows TABLESAMPLE (BUCKET 1 OUT OF 2 ON id)").collect()
    with pytest.raises(AnalysisException, match="nothing"):
        spark.sql(f"SELECT * FROM {table} TABLESAMPLE (BUCKET 1 OUT OF 2 ON nothing)")
    with pytest.raises(AnalysisException, match="a sample is read, not changed"):
        spark.sql(f"DELETE FROM {table} TABLESAMPLE (BUCKET 1 OUT OF 2)")
    with pytest.raises(ParseException):
        spark.sql(f"SELECT * FROM {table} TABLESAMPLE (BUCKET 1 OUT OF)")
