"""The order of files is used as far as it goes: files of a bucket are merged, joins compare their keys in its
order, and only what it leaves open is sorted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import sampled
from tests.support.join_tables.made import MadeTables
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_frame, settings

pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that joins by sorting and merging, with a database for the tables of this module."""
    spark.sql("CREATE NAMESPACE lake.ordered")
    given = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.join.preferSortMergeJoin": "true",
        "spark.sql.execution.replaceHashWithSortAgg": "true",  # the default of Spark 4.3
    }
    with settings(spark, given):
        yield spark
    spark.sql("DROP NAMESPACE lake.ordered CASCADE")


def test_the_name_of_the_file_that_is_read(session: SparkSession, join_tables: MadeTables) -> None:
    """A query with `input_file_name` has the name of each row's own file."""
    named = f"SELECT input_file_name() AS f, _metadata.file_path AS p, rank() OVER (PARTITION BY a ORDER BY n) FROM {join_tables['o_one'].table}"
    rows = session.sql(f"SELECT count(*), count_if(f = p), count(DISTINCT f) FROM ({named})").head()
    assert tuple(rows) == (120, 120, 12)


VALUES: dict[str, list[Any]] = {
    "string": ["", "a", "Z", "é", "日本", "\U0001f600", "x" * 40, " "],
    "double": [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1e300],
    "decimal(30,4)": [Decimal("1.5"), Decimal("-99999999999999999999.0001"), Decimal(0), Decimal("0.0001")],
    "date": [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 2, 28)],
    "timestamp": [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2026, 1, 1)],
    "binary": [b"", b"\x00\xff", b"\x7f", b"\x80"],
    "boolean": [True, False],
    "struct<x:int,y:string>": [(1, "a"), (1, None), (0, "b")],
}


@pytest.mark.parametrize("type", VALUES)
def test_merged_rows_of_each_type_are_in_order(session: SparkSession, type: str) -> None:
    """Merged files are in Spark's own order, up and down: NULL, NaN, -0.0 and texts by their bytes
    included.
    """
    columns = f"k int, v {type}, n int"
    values = [None, *VALUES[type]]
    rows = [(n % 3, values[n * 7 % len(values)], n) for n in range(90)]
    for direction, nulls in (("ASC", "NULLS FIRST"), ("DESC", "NULLS LAST")):
        fmt = sampled(["orc", "parquet"], type, direction)[0]
        number = list(VALUES).index(type)
        name = f"lake.ordered.v{number}_{direction}"
        session.sql(
            f"CREATE TABLE {name} ({columns}) USING {fmt} CLUSTERED BY (k) "
            f"SORTED BY (k {direction}, v {direction}) INTO 2 BUCKETS"
        )
        for i in range(5):
            local_frame(session, rows[i::5], columns).createOrReplaceTempView("some_rows")
            session.sql(f"INSERT INTO {name} SELECT * FROM some_rows")
        local_frame(session, rows, columns).createOrReplaceTempView(f"rows_{number}")
        order = f"SORT BY k {direction} {nulls}, v {direction} {nulls}"
        window = f"SELECT k, n, rank() OVER (PARTITION BY k {order.replace('SORT', 'ORDER', 1)}) AS r FROM "
        frame = session.sql(window + name)
        found, nodes = plans.run(frame)
        assert plans.comparable(found) == plans.comparable(session.sql(f"{window}rows_{number}").collect())
        # a window sorts its partition columns upwards
        assert nodes["Sort"] == (direction == "DESC")
        merged = session.sql(f"SELECT * FROM {name} {order}")
        assert plans.nodes(merged)["Sort"] == 0
        ranks = f"SELECT n, rank() OVER (ORDER BY k {direction} {nulls}, v {direction} {nulls}) AS r FROM rows_{number}"
        rank = dict(session.sql(ranks).collect())
        for part in merged.rdd.glom().collect():
            assert [rank[row.n] for row in part] == sorted(rank[row.n] for row in part)


def test_a_file_of_each_kind_is_read_once(session: SparkSession, db: str) -> None:
    """Merged files are each opened once, also below a LIMIT, and a run-time value leaves out files."""
    session.sql(f"CREATE TABLE {db}.t (a INT, n INT) CLUSTERED BY (a) SORTED BY (a) INTO 2 BUCKETS")
    for i in range(4):
        session.sql(f"INSERT INTO {db}.t SELECT id, {i} FROM range({i * 100}, {i * 100 + 100}, 1, 1)")
    frame = session.sql(f"SELECT count(*) FROM {db}.t l JOIN {db}.t r ON l.a = r.a")
    assert frame.head()[0] == 400
    assert "merging up to 4 files a bucket" in session.sql(f"EXPLAIN SELECT * FROM {db}.t").head()[0]
    assert plans.nodes(frame)["Sort"] == 0
    report = parquetry.report(frame)
    assert [(step.kept, step.of) for scan in report.scans for step in scan.steps if step.name == "files"] == [
        (8, 8)
    ] * 2


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_many_rows_are_merged_in_batches_and_by_rows(session: SparkSession, db: str, fmt: str) -> None:
    """Several batches of each file are merged, with generated code and without, and groups that do not fit
    into memory are sorted by Spark's sorter.
    """
    session.sql(
        f"CREATE TABLE {db}.m (k BIGINT, g INT, s STRING) USING {fmt} CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS"
    )
    for file in range(3):
        session.sql(
            f"INSERT INTO {db}.m SELECT if(id % 997 = 0, NULL, if(id % 2 = 0, 5, id * 3 + {file})), "
            f"id * 7919 % 10007, concat('m', id) FROM range(0, 60000, 1, 1)"
        )
    window = f"SELECT k, g, s, row_number() OVER (PARTITION BY k ORDER BY g, s) AS r FROM {db}.m"
    join = f"SELECT l.k, l.g, l.s, r.s AS t FROM {db}.m l LEFT JOIN (SELECT * FROM {db}.m WHERE k > 5) r ON l.k = r.k AND l.g = r.g"
    queries = [
        f"SELECT count(*), bit_xor(xxhash64(*)), sum(hash(*)) FROM ({query})" for query in (window, join)
    ]
    with settings(session, {"spark.sql.sources.v2.bucketing.enabled": "false"}):
        known = [session.sql(query).collect() for query in queries]
    others = (
        "spark.sql.codegen.wholeStage",
        f"spark.sql.{fmt}.enableVectorizedReader",
        "spark.sql.adaptive.enabled",
    )
    for name in (None, *sampled(others, fmt)):
        with settings(session, {} if name is None else {name: False}):
            for query, rows in zip(queries, known, strict=True):
                frame = session.sql(query)
                assert frame.collect() == rows, (query, name)
                nodes = plans.nodes(frame)
                assert (nodes["Sort"], nodes["IncrementalSort"] > 0) == (0, True), (query, name)


ROWS_OF_OTHER_KINDS = (
    "SELECT x.a, x.n, x.p, x.d, y.p AS q, x._metadata.file_name AS f FROM {t} x JOIN {t} y ON x.a = y.a AND x.n >= y.n",
    "SELECT a, n, p, d, _file, rank() OVER (PARTITION BY a ORDER BY n, p) AS r FROM {t}",
    "SELECT /*+ BROADCAST(z) */ x.a, x.n, y.d FROM {t} x JOIN {t} y ON x.a = y.a JOIN (SELECT id AS n FROM range(40, 45)) z ON x.n = z.n",
    "SELECT x.a, x.s.u, y.s.w FROM {t} x LEFT JOIN {t} y ON x.a = y.a AND x.p = y.p WHERE x.p > 0",
)  # fmt: skip


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_merged_rows_of_partitions_defaults_and_hidden_columns(
    session: SparkSession, db: str, fmt: str
) -> None:
    """Merged rows have the values of their own partition, file and defaults, and run-time values leave out
    rows.
    """
    table = f"{db}.kinds"
    session.sql(
        f"CREATE TABLE {table} (a INT, n INT, s STRUCT<u: INT, w: STRING>, p INT) USING {fmt} PARTITIONED BY (p) "
        "CLUSTERED BY (a) SORTED BY (a, n) INTO 2 BUCKETS"
    )
    rows = "SELECT id % 11, {first} + id, named_struct('u', id, 'w', 'x'), id % 2 FROM range(40)"
    session.sql(f"INSERT INTO {table} {rows.format(first=0)}")
    session.sql(f"ALTER TABLE {table} ADD COLUMN d INT DEFAULT 7")
    session.sql(f"INSERT INTO {table} (a, n, s, p, d) SELECT *, 8 FROM ({rows.format(first=20)})")
    for query in sampled(ROWS_OF_OTHER_KINDS, fmt):
        text = query.format(t=table)
        with settings(session, {"spark.sql.sources.v2.bucketing.enabled": "false"}):
            known = plans.comparable(session.sql(text).collect())
        found, nodes = plans.run(session.sql(text))
        assert plans.comparable(found) == known, query
        assert (len(found) > 0, nodes["Exchange"], nodes["Sort"]) == (True, 0, 0), query
