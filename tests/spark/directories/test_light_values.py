"""Rows of values that are not heavy are sorted, so that a query on one reads few row groups and pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.spark import plans

Rows = Callable[[str], list[tuple[Any, ...]]]

_FILL = (
    "SELECT IF(id % 2 = 0, 10, CAST(id * 7919 % 1000 AS INT)) AS x, concat('y', id DIV 2000 % 10) AS y, CAST(id AS INT) AS v, "
    "0 AS p FROM range(200000)"
)
"""Half of the rows have x = 10 with ten values of y. Each other x has 200 rows, and with one y 20."""


def rows_read(spark: SparkSession, query: str, table: str) -> tuple[int, int]:
    """Return the number of rows of a query's answer, and of the rows that its scan gave to Spark."""
    frame = spark.sql(query.format(table))
    return len(frame.collect()), plans.rows_read(frame, table)


@pytest.mark.parametrize(("format", "stride"), [("parquet", 20_000), ("orc", 10_000)])
@pytest.mark.parametrize(
    ("clause", "light"), [("(x) ON AUTO", 100_000), ("(x, y) ON ((10, 'y0'), (10, 'y2'))", 180_000)]
)
def test_a_light_value_reads_few_rows(
    spark: SparkSession, db: str, format: str, stride: int, clause: str, light: int
) -> None:
    """A light value, or a light key of two columns, is in one page of Parquet or one stride of ORC. All light
    rows are read if they are stored as written; a heavy value's directory is read alone in both.
    """
    read = {}
    for name, how in {"light": "sorted", "plain": "as-written"}.items():
        properties = f"('light-values' = '{how}', 'list-bucketing-rules' = 'relaxed')"
        spark.sql(
            f"CREATE TABLE {db}.{name} (x INT, y STRING, v INT, p INT) USING {format} PARTITIONED BY (p) "
            f"SKEWED BY {clause} STORED AS DIRECTORIES TBLPROPERTIES {properties}".replace(
                "AUTO STORED AS DIRECTORIES", "AUTO"
            )
        )
        spark.sql(f"INSERT OVERWRITE {db}.{name} {_FILL}")
        read[how] = [
            rows_read(spark, f"SELECT v FROM {{}} WHERE {where}", f"{db}.{name}")
            for where in ("x = 501", "x = 501 AND y = 'y7'", "x = 10 AND y = 'y0'")
        ]
    heavy = read["as-written"][2]
    assert heavy[0] == 10_000
    assert heavy[1] in (10_000, 100_000), "of a directory for x and y, or for x alone"
    # y is the same in runs of 2,000 rows, so that some strides of ORC are left out by it
    both = 140_000 if (light, format) == (180_000, "orc") else light
    assert read["as-written"] == [(200, light), (20, both), heavy]
    assert read["sorted"] == [(200, stride), (20, stride), heavy]


def test_the_order_of_a_file_that_is_said_comes_first(spark: SparkSession, db: str, rows: Rows) -> None:
    """`sort-by` and `SORTED BY` take precedence; `compact` sorts the light rows of several inserts."""
    made = f"CREATE TABLE {db}.{{}} (x INT, y STRING, v INT, p INT) PARTITIONED BY (p) {{}} SKEWED BY (x) ON (10) STORED AS DIRECTORIES"
    relaxed = "'list-bucketing-rules' = 'relaxed'"
    spark.sql(made.format("by_v", "") + f" TBLPROPERTIES ({relaxed}, 'sort-by' = 'v')")
    spark.sql(
        made.format("buckets", "CLUSTERED BY (y) SORTED BY (v) INTO 1 BUCKETS")
        + f" TBLPROPERTIES ({relaxed})"
    )
    spark.sql(made.format("light", "") + f" TBLPROPERTIES ({relaxed})")
    for name in ("by_v", "buckets", "light"):
        for part in ("id DIV 1000 % 2 = 0", "id DIV 1000 % 2 = 1"):
            spark.sql(f"INSERT INTO {db}.{name} SELECT x, y, v, p FROM ({_FILL} WHERE {part})")
    ordered = f"SELECT count_if(x < before) FROM (SELECT x, lag(x) OVER (PARTITION BY _file ORDER BY _metadata.row_index) AS before FROM {db}.{{}} WHERE x != 10)"
    by_v = (
        ordered.replace("x < before", "v < before")
        .replace("lag(x)", "lag(v)")
        .replace("SELECT x,", "SELECT v,")
    )
    assert (
        rows(by_v.format("by_v")) == rows(by_v.format("buckets")) == rows(ordered.format("light")) == [(0,)]
    )
    assert rows(by_v.format("light"))[0][0] > 0
    assert rows_read(spark, "SELECT v FROM {} WHERE x = 501", f"{db}.light") == (200, 40_000)
    spark.sql(f"CALL lake.system.compact(table => '{db.removeprefix('lake.')}.light')")
    assert rows(ordered.format("light")) == [(0,)]
    assert rows_read(spark, "SELECT v FROM {} WHERE x = 501", f"{db}.light") == (200, 20_000)
