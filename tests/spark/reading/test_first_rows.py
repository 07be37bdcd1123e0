"""LIMIT, and the first rows in an order: only the files that they need are read, and the rows are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry

Rows = Callable[[str], list[tuple[Any, ...]]]

FILES = 8
"""Files of the table, with ten rows each."""


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """Eight files of ten rows, by ascending `id` from 0 to 79; `few` is NULL where `id` is below 5.

    The column `f` has NaN in the last file. The view `plain_rows` has the same rows.
    """
    spark.sql("CREATE NAMESPACE lake.first_rows")
    name = "lake.first_rows.t"
    spark.sql(f"CREATE TABLE {name} (id int, few int, s string, f double, c char(4), p int) PARTITIONED BY (p)")
    for low in range(0, 10 * FILES, 10):
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), CAST(IF(id < 5, NULL, id DIV 20) AS INT),"
            " concat(repeat('x', 70), 100 + id), IF(id = 75, CAST('NaN' AS DOUBLE), id / 2), concat('c', id),"
            f" {low // 40} FROM range({low}, {low + 10}, 1, 1)"
        )
    rows = spark.table(name)
    spark.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("plain_rows")
    yield name
    spark.sql("DROP NAMESPACE lake.first_rows CASCADE")


@pytest.fixture(params=["true", "false"], ids=["adaptive", "static"], autouse=True)
def _adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Run each query with adaptive execution, and without."""
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def files(frame: DataFrame) -> list[tuple[int, str]]:
    """Return for each scan the files that it reads, and why no others."""
    steps = [
        step
        for scan in parquetry.explain(frame).to_dict()["scans"]
        for step in scan["steps"]
        if step["name"] == "files"
    ]
    return [(step["kept"], ", ".join(step["by"])) for step in steps]


@pytest.mark.parametrize(
    ("query", "kept", "rows"),
    [
        ("SELECT id FROM {} LIMIT 10", 1, 10),
        ("SELECT id FROM {} LIMIT 25", 3, 25),
        ("SELECT id + 1, upper(s) FROM {} WHERE id >= 35 LIMIT 10", 1, 10),
        ("SELECT id FROM {} WHERE id >= 35 AND s > 'a' AND p = 1 LIMIT 12 OFFSET 5", 2, 12),
        ("SELECT id FROM {} WHERE id BETWEEN 35 AND 44 LIMIT 3", 2, 3),
        ("SELECT id FROM {} WHERE id % 2 = 0 LIMIT 3", 8, 3),
        ("SELECT id FROM {} WHERE id >= 60 AND rand() >= 0 LIMIT 3", 2, 3),
        ("SELECT id FROM {} LIMIT 1000", 8, 80),
        ("SELECT count(*) FROM (SELECT id FROM {} WHERE id > 30 LIMIT 10)", 1, 1),
        ("SELECT id FROM {} WHERE id IN (SELECT max(id) FROM plain_rows) LIMIT 1", 8, 1),
    ],
)
def test_a_limit_reads_enough_files(spark: SparkSession, table: str, query: str, kept: int, rows: int) -> None:
    """Files whose rows all match suffice if they have enough rows; else every file that may match is read."""
    frame = spark.sql(query.format(table))
    assert [count for count, _ in files(frame)][:1] == [kept]
    found = frame.collect()
    assert len(found) == rows
    if rows > 1 or "count" in query:
        everything = spark.sql(query.format("plain_rows").split(" LIMIT")[0] + ")" * query.count("("))  if False else None
        assert everything is None
