"""The report gives the reason why Spark shuffles a join of bucketed tables, and says so if it does not
shuffle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.joins.plan import shuffle_reasons
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

_TABLES = {
    "a": ("id int, k int, s string, v int", "CLUSTERED BY (id) INTO 8 BUCKETS", 2),
    "b": ("id int, k int, s string, v int", "CLUSTERED BY (id) INTO 4 BUCKETS", 2),
    "three": ("id int, v int", "CLUSTERED BY (id) INTO 3 BUCKETS", 2),
    "one": ("id int, v int", "CLUSTERED BY (id) INTO 8 BUCKETS", 1),
    "long": ("id bigint, v int", "CLUSTERED BY (id) INTO 8 BUCKETS", 2),
    "two": ("x int, y int, v int", "CLUSTERED BY (x, y) INTO 8 BUCKETS", 2),
    "other": ("x int, y int, v int", "CLUSTERED BY (y, x) INTO 8 BUCKETS", 2),
    "text": ("s string, v int", "CLUSTERED BY (s) INTO 8 BUCKETS", 2),
    "short": ("s varchar(9), v int", "CLUSTERED BY (s) INTO 8 BUCKETS", 2),
    "ratio": ("f double, v int", "CLUSTERED BY (f) INTO 8 BUCKETS", 2),
    "code": ("c char(4), v int", "CLUSTERED BY (c) INTO 8 BUCKETS", 2),
    "spark_code": ("c char(4), v int", "CLUSTERED BY (c) INTO 8 BUCKETS", "spark"),
    "single": ("id int, v int", "CLUSTERED BY (id) INTO 1 BUCKETS", 2),
    "plain": ("id int, v int", "", 2),
    "bare": ("id int, v int", "", 2),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[str]:
    """The database of tables in buckets of all kinds, which tests only read."""
    name = "lake.reasons"
    spark.sql(f"CREATE NAMESPACE {name}")
    for table, (columns, clause, version) in _TABLES.items():
        spark.sql(
            f"CREATE TABLE {name}.{table} ({columns}) USING parquet {clause} "
            f"TBLPROPERTIES ('bucketing-version' = '{version}')"
        )
        values = ", ".join(f"CAST(id AS {each.split()[1]})" for each in columns.split(", "))
        spark.sql(f"INSERT INTO {name}.{table} SELECT {values} FROM range(20)")
    yield name
    spark.sql(f"DROP NAMESPACE {name} CASCADE")


@pytest.fixture(scope="module", params=["false", "true"], ids=["planned", "adaptive"])
def db(request: pytest.FixtureRequest, spark: SparkSession, tables: str) -> Iterator[str]:
    """The tables, in a session that broadcasts none of them."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield tables
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.unset("spark.sql.adaptive.enabled")


def told(found: Any, db: str) -> list[str]:
    """Return what a report says of joins, without the name of the database."""
    return [str(join).replace(f"{db}.", "") for join in found.joins]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "a JOIN three t ON a.id = t.id",
            "a INNER JOIN three ON id = id: no shuffle, 2 sorts (24 buckets by id, … of a read again, … of three read again)",
        ),
        (
            "single s JOIN a ON a.id = s.id",
            "single INNER JOIN a ON id = id: no shuffle, 2 sorts (1 bucket by id)",
        ),
        (
            "a LEFT JOIN one t ON a.id = t.id",
            "a LEFT OUTER JOIN one ON id = id: one side shuffled, the right, 2 sorts (versions of the hash differ: a has 2, one 1; "
            "a stays in its buckets by id)",
        ),
        (
            "a FULL JOIN long t ON a.id = t.id",
            "a FULL OUTER JOIN long ON CAST(id AS BIGINT) = id: one side shuffled, the left, 2 sorts (types differ: a.id is int, "
            "long.id is bigint; long stays in its buckets by id)",
        ),
        (
            "text t JOIN short u ON t.s = u.s",
            "text INNER JOIN short ON s = s: no shuffle, 2 sorts (8 buckets by s)",
        ),
        (
            "ratio t JOIN ratio u ON t.f = u.f",
            "ratio INNER JOIN ratio ON f = f: no shuffle, 2 sorts (8 buckets by f)",
        ),
        (
            "code t JOIN code u ON t.c = u.c",
            "code INNER JOIN code ON c = c: no shuffle, 2 sorts (8 buckets by c)",
        ),
        (
            "code t JOIN text u ON t.c = u.s",
            "code INNER JOIN text ON c = s: one side shuffled, the right, 2 sorts (types differ: code.c is char(4), "
            "text.s is string; code stays in its buckets by c)",
        ),
        (
            "spark_code t JOIN spark_code u ON t.c = u.c",
            "spark_code INNER JOIN spark_code ON c = c: shuffled, 2 sorts (Spark pads columns of type char(4) as it reads "
            "them, so that c is no plain column to it)",
        ),
        (
            "a JOIN b ON a.id <=> b.id",
            "a INNER JOIN b ON id <=> id: no shuffle, 2 sorts (4 buckets by id)",
        ),
        (
            "a JOIN b ON CAST(a.id AS BIGINT) = CAST(b.id AS BIGINT)",
            "a INNER JOIN b ON CAST(id AS BIGINT) = CAST(id AS BIGINT): no shuffle, 2 sorts (4 buckets by id)",
        ),
        (
            "a LEFT SEMI JOIN b ON a.id + 1 = b.id",
            "a LEFT SEMI JOIN b ON (id + 1) = id: one side shuffled, the left, 2 sorts (the key (id + 1) is not a plain column; "
            "b stays in its buckets by id)",
        ),
        (
            "a JOIN b ON a.k = b.k",
            "a INNER JOIN b ON k = k: shuffled, 2 sorts (a is in buckets by id, and id is neither joined on nor read)",
        ),
        (
            "a JOIN b ON a.k = b.k AND a.id > b.id",
            "a INNER JOIN b ON k = k: shuffled, 2 sorts (a is in buckets by id, and id is not joined on)",
        ),
        (
            "two t LEFT ANTI JOIN two u ON t.x = u.x",
            "two LEFT ANTI JOIN two ON x = x: shuffled, 2 sorts (two is in buckets by x, y, and y is neither joined on nor read)",
        ),
        (
            "two t JOIN other u ON t.x = u.x AND t.y = u.y",
            "two INNER JOIN other ON x = x AND y = y: one side shuffled, the right, 2 sorts (columns differ: two is in buckets by "
            "x, y, other by y, x, and two.x is joined with other.x, not with other.y; two stays in its buckets by x, y)",
        ),
        (
            "a JOIN plain p ON a.id = p.id",
            "a INNER JOIN plain ON id = id: one side shuffled, the right, 2 sorts (plain is not in buckets; a stays in its buckets "
            "by id)",
        ),
        (
            "a JOIN (SELECT id + 1 AS n FROM range(30)) r ON a.id = r.n",
            "a INNER JOIN range() ON CAST(id AS BIGINT) = (id + 1L): one side shuffled, the right, 2 sorts (range() is not in "
            "buckets; a stays in its buckets by id)",
        ),
        (
            "(SELECT /*+ REPARTITION(3) */ * FROM a) t JOIN b ON t.id = b.id",
            "a INNER JOIN b ON id = id: one side shuffled, the left, 2 sorts (the query repartitions a; b stays in its buckets by id)",
        ),
        (
            "(SELECT id AS number, max(v) AS most FROM a GROUP BY id) t JOIN three u ON t.number = u.id",
            "a INNER JOIN three ON id = id: no shuffle, 2 sorts (24 buckets by id, … of a read again, … of three read again)",
        ),
        ("a JOIN b ON a.id = b.id", "a INNER JOIN b ON id = id: no shuffle, 2 sorts (4 buckets by id)"),
        (
            "a LEFT JOIN b ON a.k = b.k AND b.id = a.id",
            "a LEFT OUTER JOIN b ON k = k AND id = id: no shuffle, 2 sorts (4 buckets by id)",
        ),
        (
            "(SELECT /*+ BROADCAST(b) */ a.v FROM a JOIN b ON a.id = b.id)",
            "a INNER JOIN b ON id = id: no shuffle (b is broadcast)",
        ),
        (
            "a WHERE id IN (SELECT id FROM b WHERE v > 3)",
            "a LEFT SEMI JOIN b ON id = id: no shuffle, 2 sorts (4 buckets by id)",
        ),
    ],
)
def test_a_shuffle_has_its_reason(spark: SparkSession, db: str, query: str, expected: str) -> None:
    """Before a run and after it: the first demand of Spark's that is not met."""
    spark.sql(f"USE {db}")
    frame = spark.sql(f"SELECT count(*) FROM {query}")
    before = told(parquetry.explain(frame), db)
    frame.collect()
    assert told(parquetry.report(frame), db) == before
    assert [re.sub(r"[\d.]+ k?B of", "… of", line) for line in before] == [expected]


def test_a_setting_that_stands_in_the_way_is_named(spark: SparkSession, db: str) -> None:
    """As it is when the query is planned."""
    query = f"SELECT count(*) FROM {db}.a JOIN {db}.a b ON a.id = b.id"
    with settings(spark, {shuffle_reasons.ENABLED: False}):
        (said,) = told(parquetry.explain(query), db)
    assert (
        said
        == f"a INNER JOIN a ON id = id: shuffled, 2 sorts ({shuffle_reasons.ENABLED} is false: set it to true)"
    )


@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "COST"])
def test_explain_says_what_joins_shuffle(spark: SparkSession, db: str, mode: str) -> None:
    """The statement EXPLAIN ends with the lines of the report about joins. Without a join of our tables it
    has Spark's text alone, and so has one of a statement that fails.
    """
    spark.sql(f"USE {db}")

    def explained(query: str) -> tuple[str, str]:
        rows = spark.sql(f"EXPLAIN {mode} {query}").collect()  # several, if the query fails
        text, _, joins = "\n".join(row[0] for row in rows).partition("== Joins ==\n")
        return text, joins

    for query in (
        "SELECT * FROM a JOIN plain p ON a.id = p.id",
        "INSERT INTO plain SELECT a.id, b.v FROM a LEFT JOIN b ON a.k = b.k",
        "SELECT * FROM plain WHERE id = (SELECT max(a.id) FROM a JOIN b ON a.id = b.id)",
    ):
        text, joins = explained(query)
        assert "== Physical Plan ==" in text
        report = parquetry.explain(query)
        assert joins.splitlines() == [*map(str, report.joins), *map(str, report.heavy_keys)]
        assert len(report.joins) == 1
    assert explained("SELECT * FROM range(9) p JOIN range(9) q ON p.id = q.id")[1] == ""
    assert explained("SELECT * FROM a")[1] == ""
    failing = "SELECT nothing FROM a JOIN b ON a.id = b.id"
    assert "nothing" in explained(failing)[0]
    assert "Joins" not in explained(failing)[0]
    assert "== Joins ==" not in spark.sql("EXPLAIN CODEGEN SELECT * FROM a JOIN b ON a.id = b.id").head()[0]


def test_joins_are_found_wherever_they_are(spark: SparkSession, db: str) -> None:
    """Joins are reported in subqueries, views, writes, caches and reused exchanges; joins of others' rows are
    not.
    """
    spark.sql(f"USE {db}")
    reason = "a is in buckets by id, and id is neither joined on nor read"
    shuffled = f"a INNER JOIN b ON k = k: shuffled, 2 sorts ({reason})"
    join = "SELECT a.k AS id, a.v FROM a JOIN b ON a.k = b.k"
    for query in (
        f"SELECT * FROM plain WHERE id = (SELECT max(id) FROM ({join}) x)",
        f"WITH x AS ({join}) SELECT count(*) FROM x",
        f"INSERT INTO plain {join}",
        f"INSERT OVERWRITE plain {join}",
        f"CREATE TABLE made AS {join}",
    ):
        assert shuffled in told(parquetry.explain(query), db), query
    frame = spark.sql(join).cache()
    try:
        assert told(parquetry.report(frame), db) == [shuffled]
        assert told(parquetry.report(frame.groupBy("v").count()), db) == [shuffled]
    finally:
        frame.unpersist()
    assert told(parquetry.explain("SELECT * FROM range(9) p JOIN range(9) q ON p.id = q.id"), db) == []
    assert "joins" not in parquetry.explain("SELECT * FROM a").to_dict()
    assert parquetry.explain(join).to_dict()["joins"] == [
        {
            "type": "INNER",
            "left": f"{db}.a",
            "right": f"{db}.b",
            "on": ["k = k"],
            "shuffled": True,
            "reason": f"{db}.{reason}",
            "sides": ["left", "right"],
            "sorts": 2,
        }
    ]


def test_every_join_of_our_tables_has_a_line(spark: SparkSession, db: str) -> None:
    """Each join of a star has one, in the order of the query: shuffled, broadcast, or without keys."""
    spark.sql(f"USE {db}")
    query = """SELECT /*+ BROADCAST(q, r, s) */ * FROM a JOIN plain p ON a.k = p.id
        LEFT JOIN bare q ON p.v = q.id JOIN range(5) r ON a.v < r.id CROSS JOIN bare s"""
    found = told(parquetry.explain(query), db)
    assert found == [
        "a INNER JOIN plain ON k = id: shuffled, 2 sorts (plain is not in buckets)",
        "plain LEFT OUTER JOIN bare ON v = id: no shuffle (bare is broadcast)",
        "a INNER JOIN range(): no shuffle (range() is broadcast)",
        "a CROSS JOIN bare: no shuffle (bare is broadcast)",
    ]
    assert told(parquetry.explain("SELECT * FROM plain p JOIN bare q ON p.id = q.id"), db) == [
        "plain INNER JOIN bare ON id = id: shuffled, 2 sorts (neither side is in buckets)"
    ]
    assert told(parquetry.explain("SELECT * FROM plain p JOIN bare q ON p.id < q.id"), db) == [
        "plain INNER JOIN bare: no shuffle (no keys are compared: each part of one side meets each part of the other)"
    ]


SHUFFLE, PARTIAL = shuffle_reasons.SHUFFLE, shuffle_reasons.PARTIAL
SHUFFLED_BEFORE_4_2 = "plain p JOIN a ON p.id = a.id JOIN b ON b.id = p.id"
ONE_SIDE = {
    "a JOIN plain p ON a.id = p.id": ({SHUFFLE}, [("right",)]),
    "plain p LEFT JOIN a ON a.id = p.id": ({SHUFFLE}, [("left",)]),
    "a FULL JOIN plain p ON a.v = p.v AND a.id = p.id": ({SHUFFLE}, [("right",)]),
    "a JOIN plain p /* SHUFFLE_HASH */ ON a.id = p.id": ({SHUFFLE}, [("right",)]),
    "a JOIN three t ON a.id = t.id": ({SHUFFLE}, [()]),
    "two t JOIN plain p ON t.x = p.id AND t.y = p.v": (set(), [("right",)]),
    "a JOIN b ON a.id = b.id JOIN plain p ON p.id = a.id": ({SHUFFLE}, [(), ("right",)]),
    SHUFFLED_BEFORE_4_2: ({SHUFFLE}, [("left",), ()]),
    "a JOIN plain p ON a.id = p.id JOIN three q ON q.id = p.id": (set(), [("right",), ()]),
    "plain p JOIN a ON a.id = p.id": ({SHUFFLE, PARTIAL}, [("left",)]),
}
"""Joins, Spark's settings that are on, and which sides of each are shuffled, in the order of the query."""


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(query, marks=pytest.mark.since("4.2", "Spark shuffled it before"))
        if query == SHUFFLED_BEFORE_4_2
        else query
        for query in ONE_SIDE
    ],
)
def test_the_side_that_is_shuffled_is_named(spark: SparkSession, db: str, query: str) -> None:
    """The report agrees with Spark's plan: it names as many sides as the plan has exchanges, for each type
    and order of join.
    """
    spark.sql(f"USE {db}")
    on, expected = ONE_SIDE[query]
    with settings(spark, dict.fromkeys(on, True)):
        hint = "/*+ SHUFFLE_HASH(p) */" if "SHUFFLE_HASH" in query else ""
        frame = spark.sql(f"SELECT {hint} * FROM {query}")
        _, nodes = plans.run(frame)
        found = parquetry.report(frame).joins
    assert [join.sides for join in found] == expected
    assert nodes["Exchange"] == sum(len(join.sides) for join in found)
    assert bool(hint) == bool(nodes["ShuffledHashJoin"])
    with settings(spark, {shuffle_reasons.ENABLED: False}):  # after the run
        assert [join.sides for join in parquetry.report(frame).joins] == expected


def test_one_side_that_is_shuffled_is_named_in_the_text(spark: SparkSession, db: str) -> None:
    """The text says which side is shuffled, and which stays in its buckets; where both are, it names none."""
    text = parquetry.explain(f"SELECT * FROM {db}.a JOIN {db}.b ON a.v = b.v")
    assert "shuffled, 2 sorts (" in str(text)
    (said,) = told(parquetry.explain(f"SELECT * FROM {db}.plain p JOIN {db}.a ON a.id = p.id"), db)
    assert said == (
        "plain INNER JOIN a ON id = id: one side shuffled, the left, 2 sorts (plain is not in buckets; a stays in its "
        "buckets by id)"
    )
