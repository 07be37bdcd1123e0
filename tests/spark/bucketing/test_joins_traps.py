"""Buckets never mislead Spark: all joins return the right rows, and shuffle if they have to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import alternating, sampled
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import OnDemand, Twins, agree, make, settings, spare_classes

BUCKETING = "spark.sql.sources.v2.bucketing"
Tables = dict[str, Twins]
KNOWN: dict[str, list[tuple[Any, ...]]] = {}
"""The answers of plain Spark to queries of `tables`, which do not change."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast, with a database for the tables of this module."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.trapped")
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1}):
        yield spark
    spark.sql("DROP NAMESPACE lake.trapped CASCADE")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Tables:
    """Tables of one and of two bucket columns, where equal values of one column are in several buckets."""
    rows = [(n % 7, n % 5 if n % 9 else None, f"v{n}") for n in range(140)]
    given: dict[str, tuple[str, str, list[Any]]] = {
        "pair": ("a bigint, b int, s string", "(a, b) INTO 8 BUCKETS", rows),
        "two": ("a bigint, b int, s string", "(a, b) INTO 2 BUCKETS", rows[:90]),
        "six": ("a bigint, b int, s string", "(a, b) INTO 6 BUCKETS", rows[30:]),
        "all": ("a bigint, b int, s string", "(b, a, s) INTO 5 BUCKETS", rows),
        "one": ("a bigint, b int, s string", "(a) INTO 4 BUCKETS", rows[::2]),
        "small": ("a int, b int, s string", "(a) INTO 4 BUCKETS", rows[::3]),
        "none": ("a bigint, b int, s string", "(a) INTO 4 BUCKETS", []),
        "nobody": ("a bigint, b int, s string", "(a, b) INTO 8 BUCKETS", []),
    }
    return OnDemand(lambda name: make(session, f"lake.trapped.{name}", *given[name]))


PART_OF_THE_COLUMNS = (
    "SELECT a, count(*) FROM (SELECT a FROM {t} WHERE b >= 0) GROUP BY a",
    "SELECT b, count(*) FROM (SELECT b FROM {t} WHERE a >= 0) GROUP BY b",
    "SELECT a, count(*) FROM (SELECT l.a FROM {t} l JOIN {pair} r ON l.a = r.a AND l.b = r.b) GROUP BY a",
    "SELECT b, count(*) FROM (SELECT r.b FROM {t} l LEFT JOIN {six} r ON l.a = r.a AND l.b = r.b) GROUP BY b",
    "SELECT * FROM (SELECT a, s FROM {t} WHERE b > 0) l JOIN (SELECT a, s FROM {pair} WHERE b > 0) r ON l.a = r.a",
    "SELECT * FROM (SELECT a, s FROM {t} WHERE b > 0) l JOIN {one} r ON l.a = r.a",
    "SELECT a, s, row_number() OVER (PARTITION BY a ORDER BY s) FROM (SELECT a, s FROM {t} WHERE b > 0)",
    "SELECT * FROM {t} l JOIN {pair} r ON l.a = r.a",
    "SELECT * FROM {t} l JOIN {pair} r ON l.a = r.b AND l.b = r.a",
)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("name", ["two", "six", "pair", "all"])
def test_a_part_of_the_bucket_columns_decides_nothing(
    session: SparkSession, tables: Tables, name: str, adaptive: bool
) -> None:
    """Rows that agree in one of two bucket columns are in several buckets, also if a query then uses that
    column alone.
    """
    for query in alternating(PART_OF_THE_COLUMNS, adaptive):
        nodes = agree(session, query.replace("{t}", f"{{{name}}}"), tables, adaptive, KNOWN)
        assert nodes["Exchange"] > 0, query


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("allowKeysSubsetOfPartitionKeys", "pair"),
        ("shuffle", "pair"),
        ("partiallyClusteredDistribution", "pair"),
        ("partition.filter", "two"),
    ],
)
def test_settings_that_take_the_columns_one_by_one(
    session: SparkSession, tables: Tables, setting: str, name: str
) -> None:
    """Spark gets no buckets if a setting lets it take one of several bucket columns for all, or
    hash by it.
    """
    with settings(session, {f"{BUCKETING}.{setting}.enabled": True}):
        for query in PART_OF_THE_COLUMNS:
            agree(session, query.replace("{t}", f"{{{name}}}"), tables, known=KNOWN)
        agree(session, "SELECT * FROM {pair} l JOIN {six} r ON l.a = r.a AND l.b = r.b", tables)
        agree(session, "SELECT * FROM {one} l FULL JOIN {one} r ON l.a = r.a", tables)


def test_one_side_is_shuffled_as_the_other_lies(session: SparkSession, tables: Tables) -> None:
    """If a user turns that on: by the same hash, NULL included."""
    view = tables["pair"].view
    known: dict[str, list[tuple[Any, ...]]] = {}
    for version in ("1", "2", "spark"):
        table = make(session, f"lake.trapped.shuffled_{version}", "a bigint, s string", "(a) INTO 4 BUCKETS",
                     [(None if n == 5 else n - 9, str(n)) for n in range(40)], version=version)  # fmt: skip
        with settings(session, {f"{BUCKETING}.shuffle.enabled": True}):
            for join in sampled(("INNER", "LEFT", "RIGHT", "FULL"), version):
                query = f"SELECT * FROM {{t}} l {join} JOIN {view} r ON l.a = r.a"
                nodes = agree(session, query, {"t": table}, known=known)
                assert nodes["Exchange"] == 1


@pytest.mark.parametrize(
    "setting", ["enabled", "pushPartValues.enabled", "allowCompatibleTransforms.enabled"]
)
def test_with_a_setting_off_it_shuffles(session: SparkSession, tables: Tables, setting: str) -> None:
    """And the answer is the same."""
    query = "SELECT * FROM {one} l JOIN (SELECT DISTINCT a, b, s FROM {one} WHERE a < 3) r ON l.a = r.a"
    with settings(session, {f"{BUCKETING}.{setting}": False}):
        agree(session, query, tables)


@pytest.mark.parametrize(
    ("query", "shuffled"),
    [
        ("SELECT * FROM {one} l JOIN {small} r ON l.a = r.a", True),  # another type, another hash
        (
            "SELECT * FROM {one} l JOIN {one} r ON l.a <=> r.a",
            True,
        ),  # Spark joins by expressions of the columns
        ("SELECT * FROM {one} l JOIN {one} r ON l.a = r.a + 1", True),
        ("SELECT a FROM {one} EXCEPT SELECT a FROM {pair} WHERE a > 3", True),
        ("SELECT * FROM {one} l JOIN {one} r ON l.b = r.b", True),
        ("SELECT * FROM {one} l CROSS JOIN {small} r WHERE l.a < r.a", False),
        ("SELECT count(s) FROM {one} WHERE s > 'v5'", True),
        ("SELECT * FROM {one} ORDER BY a, s LIMIT 7", False),
        ("SELECT s FROM {one}", False),
    ],
)
def test_what_buckets_do_not_help(session: SparkSession, tables: Tables, query: str, shuffled: bool) -> None:
    """Joins with casts, null-safe keys, expressions and other columns return the right rows, by a shuffle if
    necessary.
    """
    assert (agree(session, query, tables)["Exchange"] > 0) is shuffled


@pytest.mark.parametrize("adaptive", [True, False])
def test_nothing_joined_with_something(session: SparkSession, tables: Tables, adaptive: bool) -> None:
    """A join does not shuffle for a table without rows, or with conditions that remove all rows."""
    for query in (
        "SELECT * FROM {none} l {join} JOIN {one} r ON l.a = r.a",
        "SELECT * FROM {one} l {join} JOIN {none} r ON l.a = r.a",
        "SELECT * FROM {nobody} l {join} JOIN {pair} r ON l.a = r.a AND l.b = r.b",
        "SELECT * FROM {one} l {join} JOIN (SELECT * FROM {one} WHERE a > 100) r ON l.a = r.a",
        "SELECT * FROM {none} l {join} JOIN {none} r ON l.a = r.a",
    ):
        for join in sampled(("INNER", "LEFT", "RIGHT", "FULL", "LEFT ANTI"), query, str(adaptive)):
            nodes = agree(session, query.replace("{join}", join), tables, adaptive, KNOWN)
            assert nodes["Exchange"] == 0, (join, query)


def test_unions(session: SparkSession, tables: Tables) -> None:
    """Unions of tables with equal and with different buckets return the right rows, joined and grouped."""
    for query in (
        "SELECT a, count(*) FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {one}) GROUP BY a",
        "SELECT a, count(*) FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {pair}) GROUP BY a",
        "SELECT a, b, count(*) FROM (SELECT * FROM {two} UNION ALL SELECT * FROM {pair}) GROUP BY a, b",
        "SELECT * FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {one}) l JOIN {one} r ON l.a = r.a",
        "SELECT a, count(*) FROM (SELECT a FROM {pair} WHERE b = 1 UNION ALL SELECT a FROM {pair} WHERE b = 2) GROUP BY a",
    ):
        agree(session, query, tables)


TYPES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [-128, -1, 0, 7],
    "smallint": [-1, 0, 300],
    "int": [-(2**31), -1, 0, 5, 2**31 - 1],
    "bigint": [-(2**63), -1, 0, 2**40],
    "string": ["", "a", "é", "日本", " ", "x" * 40],
    "varchar(9)": ["", "a", "é", "ab "],
    "char(4)": ["a   ", "abcd", "é   "],
    "binary": [b"", b"\x00\xff", b"a"],
    "decimal(9,2)": [Decimal("1.50"), Decimal("0.00"), Decimal("-7.25")],
    "decimal(30,4)": [Decimal("1.5000"), Decimal("-99999999999999999999.0001")],
    "date": [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2026, 2, 28)],
    "timestamp": [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2026, 1, 1)],
    "timestamp_ntz": [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2026, 1, 1)],
    "struct<a:int,b:string>": [(1, "a"), (1, None), (None, None)],
    "float": [0.0, -0.0, 1.5, float("inf")],
    "double": [0.0, -0.0, -1.5, 1e300],
    "array<int>": [[], [1], [1, None]],
}
PADDED = "char(4)"
"""A type that Spark pads as it reads, so that the hash of its own version is of another text."""


@pytest.mark.parametrize("type", TYPES)
def test_each_type(session: SparkSession, type: str) -> None:
    """A bucket column of each type joins without a shuffle in each version of the hash that Spark's padding
    leaves alone.
    """
    name = "".join(c for c in type if c.isalnum())
    values = [None, *TYPES[type]]
    for version in sampled(("1", "2", "spark")):
        left, right = (
            make(session, f"lake.trapped.{name}_{version}_{count}", f"k {type}, n int", f"(k) INTO {count} BUCKETS",
                 [(values[n % len(values)], n) for n in range(size)], version=version)
            for count, size in ((4, 25), (8, 12))
        )  # fmt: skip
        for join in ("INNER", "FULL"):
            nodes = agree(
                session, f"SELECT * FROM {{l}} l {join} JOIN {{r}} r ON l.k = r.k", {"l": left, "r": right}
            )
            assert (nodes["Exchange"] > 0) is (type == PADDED and version == "spark"), (version, join)


TEXTS = {"s": "string", "v": "varchar(9)", "w": "varchar(8)", "c": "char(2)", "d": "char(4)"}
MEETINGS = {
    ("s", "v"): {"1": 1, "2": 0, "spark": 0},
    ("w", "v"): {"1": 0, "2": 0, "spark": 0},
    ("c", "c"): {"1": 0, "2": 0, "spark": 2},
    ("c", "d"): {"1": 1, "2": 1, "spark": 2},
    ("d", "v"): {"1": 1, "2": 1, "spark": 1},
    ("s", "c"): {"1": 1, "2": 1, "spark": 1},
}
"""How many sides of a join are shuffled, by the two types and the version of the hash."""


@pytest.mark.parametrize("version", ["1", "2", "spark"])
def test_types_that_spark_takes_for_one(session: SparkSession, stock: str, version: str) -> None:
    """Texts meet in their buckets if both types have one hash, also padded ones; else one side is shuffled by
    the hash of the other's type.
    """
    values = ", ".join(f"('{text}', {n})" for n, text in enumerate(["", "a", "é", "ab", "a\\0", "日"]))
    of = {}
    for name, type in TEXTS.items():
        made = make(
            session,
            f"lake.trapped.text_{name}_{version}",
            f"k {type}, n int",
            "(k) INTO 4 BUCKETS",
            [],
            version=version,
        )
        of[name] = Twins(made.table, f"{stock}.text_{name}")
        session.sql(f"CREATE TABLE {of[name].view} (k {type}, n int) USING parquet")
        for table in of[name]:
            session.sql(f"INSERT INTO {table} VALUES {values}, (NULL, 9)")
    for (left, right), shuffled in MEETINGS.items():
        for join in ("INNER", "FULL"):
            query = f"SELECT * FROM {{{left}}} l {join} JOIN {{{right}}} r ON l.k = r.k"
            nodes = agree(session, query, of)
            exchanges = nodes["Exchange"] + nodes["ReusedExchange"]
            assert exchanges == shuffled[version], (query, version, nodes)


@pytest.mark.newest("Spark 4.1 shuffles what is cached of a bucketed table")
def test_cached(session: SparkSession, tables: Tables) -> None:
    """A cached bucketed table keeps its buckets."""
    query = "SELECT * FROM (SELECT a, s FROM {one}) l JOIN {one} r ON l.a = r.a"
    session.sql(f"CACHE TABLE hoard AS SELECT * FROM {tables['one'].table}")
    try:
        agree(session, query, tables)
        frame = session.sql(f"SELECT * FROM hoard l JOIN {tables['one'].table} r ON l.a = r.a")
        found, nodes = plans.run(frame)
        view = tables["one"].view
        wanted = session.sql(f"SELECT * FROM {view} l JOIN {view} r ON l.a = r.a").collect()
        assert plans.comparable(found) == plans.comparable(wanted)
        assert nodes["Exchange"] == 0
    finally:
        session.sql("UNCACHE TABLE hoard")


def test_partitions_of_different_buckets(session: SparkSession) -> None:
    """A table whose partitions have 4 and 6 buckets is joined in 2, or in 4 if a query reads only partitions
    with 4.
    """
    rows = [(n % 19, n, n % 2) for n in range(80)]
    history = make(
        session,
        "lake.trapped.history",
        "k int, n int, p int",
        "(k) INTO 4 BUCKETS",
        rows[::2],
        partitioned="p",
    )
    four = make(session, "lake.trapped.four", "k int, n int", "(k) INTO 4 BUCKETS", [row[:2] for row in rows])
    of = {"history": history, "four": four}
    query = "SELECT * FROM {history} l JOIN {four} r ON l.k = r.k"
    assert agree(session, query, of)["Exchange"] == 0


def test_renamed_columns(session: SparkSession) -> None:
    """Columns go by their names of today, also odd ones."""
    rows = [(n % 19, n) for n in range(40)]
    one = make(session, "lake.trapped.renamed", "k int, n int", "(k) SORTED BY (k) INTO 4 BUCKETS", rows)
    session.sql(f"ALTER TABLE {one.table} RENAME COLUMN k TO `a.b ``c`")
    query = f"SELECT * FROM {one.table} l JOIN {one.table} r ON l.`a.b ``c` = r.`a.b ``c`"
    found, nodes = plans.run(session.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (86, 0, 0)
