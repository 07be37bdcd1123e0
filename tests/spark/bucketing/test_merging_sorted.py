"""With `preserveOrderingOnCoalesce`, which docs/buckets.md recommends, Spark merges the sorted files of a
bucket, and sorts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import sampled

Rows = Callable[[str], list[tuple[Any, ...]]]
SETTING = "spark.sql.sources.v2.bucketing.preserveOrderingOnCoalesce.enabled"
ROWS = 9_000
"""Rows of each file. One bucket has more of them than one batch of the readers."""

QUERIES = [
    "SELECT l.k, l.f, r.f FROM {a} l JOIN {b} r ON l.k = r.k",
    "SELECT l.k, l.s, r.k FROM {a} l FULL JOIN {b} r ON l.k = r.k WHERE l.f = 0 OR r.f = 2 OR l.k IS NULL",
    "SELECT l.k, r.f FROM {a} l JOIN {eight} r ON l.k = r.k",
    "SELECT l.k, count(*) FROM {a} l JOIN {a} r ON l.k = r.k GROUP BY l.k",
    "SELECT l.k, l.f FROM {a} l LEFT ANTI JOIN {b} r ON l.k = r.k",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY k) AS n FROM {a}",
    "SELECT count(*) FROM (SELECT l.k FROM {a} l JOIN {b} r ON l.k = r.k LIMIT 7)",
    "SELECT sum(l.f), sum(hash(l.s, r.s)) FROM {a} l JOIN {b} r ON l.k = r.k WHERE l.k > 100",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that joins by sorting and merging."""
    settings = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.join.preferSortMergeJoin": "true"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name in settings:
        spark.conf.unset(name)


def _tables(spark: SparkSession, db: str, fmt: str, wanted: str) -> dict[str, str]:
    """Make the wanted tables, with three sorted files in each bucket.

    Keys repeat, are NULL, or are in one file alone.
    """
    names = {}
    for name, buckets in {"a": 2, "b": 2, "eight": 4}.items():
        if f"{{{name}}}" not in wanted:
            continue
        names[name] = table = f"{db}.{name}"
        spark.sql(
            f"CREATE TABLE {table} (k BIGINT, f INT, s STRING) USING {fmt} CLUSTERED BY (k) SORTED BY (k) INTO {buckets} BUCKETS"
        )
        for file in range(3):
            spark.sql(
                f"INSERT INTO {table} SELECT if(id % 997 = 0, NULL, id * 3 + {file} * {len(names)}), {file}, "
                f"concat('{name}', id) FROM range(0, {ROWS}, 1, 1)"
            )
    return names


@pytest.mark.needs("merging sorted files")
@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_sorted_files_of_a_bucket_are_merged(session: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """The setting changes no rows, with and without generated code, in batches and by rows; joins sort
    nothing.
    """
    chosen = [QUERIES[0], *sampled(QUERIES[1:-1], fmt), QUERIES[-1]]
    tables = _tables(session, db, fmt, " ".join(chosen))
    queries = [
        f"SELECT count(*), bit_xor(xxhash64(*)), sum(hash(*)) FROM ({query.format(**tables)})"
        for query in chosen
    ]
    expected = [rows(query) for query in queries]
    session.conf.set(SETTING, "true")
    others = {
        "spark.sql.codegen.wholeStage": "false",
        f"spark.sql.{fmt}.enableVectorizedReader": "false",
        "spark.sql.adaptive.enabled": "false",
    }
    try:
        plan = rows(f"EXPLAIN {QUERIES[0].format(**tables)}")[0][0]
        assert "SortedMerge" in plan
        assert "Sort [" not in plan
        for name in (None, *sampled([*others], fmt)):
            if name is not None:
                session.conf.set(name, others[name])
            given = list(zip(queries, expected, strict=True))
            for query, known in given if name is None else (given[0], given[-1]):
                assert rows(query) == known, (query, name)
            if name is not None:
                session.conf.unset(name)
    finally:
        for name in (SETTING, *others):
            session.conf.unset(name)
