"""A scan gets several keys of one join as tuples: they prune partitions, files and directories, and the
answers are plain Spark's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

import parquetry
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.planner.scans import runtime_values, scan_answer
from tests.support.spark import plans, series
from tests.support.spark.verdicts import Verdict, VerdictFile, with_and_without_adaptive_execution
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

DATABASE = "lake.run_time_tuples"
FACT = {
    # 30 days by seven numbers, which are both x and y; partitions with a NULL
    "f": (
        "(v int, day date, x int, y int) PARTITIONED BY (day, x, y)",
        "SELECT int(id) v, date_add(date'2026-01-01', int(id % 30)) day, int(id % 7) x, int(id % 7) y FROM range(630) "
        "UNION ALL SELECT 700, NULL, 1, 1 UNION ALL SELECT 701, date'2026-01-02', 2, NULL",
    ),
    # the same rows by the two columns whose values arrive
    "t": (
        "(v int, x int, day date, y int) PARTITIONED BY (y, day)",
        "SELECT v, x, day, y FROM lake.run_time_tuples.f",
    ),
    # two partitions of 32 buckets each, and 64 pairs
    "b": (
        "(v int, a int, c string, p int) PARTITIONED BY (p) CLUSTERED BY (a, c) INTO 32 BUCKETS",
        "SELECT int(id) v, int(id % 8) a, concat('c', id DIV 8 % 8) c, int(id % 2) p FROM range(640)",
    ),
    # buckets whose files are sorted
    "s": (
        "(v int, a int, c string) CLUSTERED BY (a, c) SORTED BY (a, c) INTO 32 BUCKETS",
        "SELECT int(id) v, int(id % 8) a, concat('c', id DIV 8 % 8) c FROM range(640)",
    ),
    # each of two partitions has nine directories of heavy pairs and one for the others
    "h": (
        "(v int, a int, c string, p int) PARTITIONED BY (p) SKEWED BY (a, c) ON ("
        + ", ".join(f"({a}, 'c{c}')" for a in range(3) for c in range(3))
        + ") STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
        "SELECT int(id) v, int(id % 4) a, concat('c', id DIV 4 % 4) c, int(id DIV 16 % 2) p FROM range(640)",
    ),
}
SMALL = {
    # eight pairs, as the partitions of a table
    "c": (
        "(k int, day date, y int) PARTITIONED BY (day, y)",
        "SELECT int(id) k, date_add(date'2026-01-01', int(id)) day, int(1 + id) % 7 y FROM range(0, 8, 1, 1)",
    )
}
DIMENSIONS = {
    # eight pairs, and two with a NULL; x is equal to y in every other row
    "d": "SELECT int(id) k, IF(id = 8, NULL, date_add(date'2026-01-01', int(id % 8))) day, IF(id = 9, NULL, int(id % 7)) y, "
    "IF(id % 2 = 0, int(id % 7), 99) x, concat('n', id) n FROM range(0, 10, 1, 1)",
    "e": "SELECT int(id) k, int(id) x, concat('n', id) n FROM range(0, 4, 1, 1)",
    "g": "SELECT int(id) a, IF(id = 3, NULL, concat('c', id)) c, concat('n', id) n FROM range(0, 4, 1, 1)",
}
SHAPES = VerdictFile.named("tuples")
NODES = ("BroadcastExchange", "SubqueryBroadcast", "Subquery")
"""Other sources of values that a plan may have, beside joins."""
NOT_ALWAYS_READ = ("no rows",)
"""Where adaptive execution plans nothing in the end."""
ON = "f.day = d.day AND f.y = d.y"
PAIRS = "SELECT count(*), sum(v) FROM {f} f JOIN {d} d ON " + ON


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, dict[str, str]]]:
    """Names of tables of ours, and of views of the same rows, by the letters of the queries."""
    spare_classes(spark)
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    names: dict[str, dict[str, str]] = {"ours": {}, "plain": {}}
    for letter, (columns, rows) in (FACT | SMALL).items():
        names["ours"][letter], names["plain"][letter] = f"{DATABASE}.{letter}", f"plain_tuples_{letter}"
        spark.sql(f"CREATE TABLE {DATABASE}.{letter} {columns}")
        spark.sql(f"INSERT INTO {DATABASE}.{letter} {rows}")
    for letter, rows in DIMENSIONS.items():
        names["ours"][letter], names["plain"][letter] = f"{DATABASE}.{letter}", f"plain_tuples_{letter}"
        spark.sql(f"CREATE TABLE {DATABASE}.{letter} AS {rows}")
    for letter, name in names["plain"].items():
        local_view(spark.table(names["ours"][letter]), name)
    yield names
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def scan(frame: DataFrame, table: str) -> dict[str, Any]:
    """Return what the report says of the scan of a table."""
    scans: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(each for each in scans if each["table"] == table)


def judged(
    spark: SparkSession, tables: dict[str, dict[str, str]], query: str, letter: str, adaptive: bool
) -> Verdict:
    """Return what became of a query of one of the fact tables, which has plain Spark's rows."""
    names = tables["ours"]
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(**names))
        rows, nodes = plans.run(frame)
    assert plans.comparable(rows) == plainly(spark, query.format(**tables["plain"]))
    return Verdict.from_report(
        frame, names, letter, [f"{nodes[each]} {each}" for each in NODES if nodes[each]]
    )


@pytest.mark.parametrize("title", SHAPES.titles)
def test_shapes(spark: SparkSession, tables: dict[str, dict[str, str]], title: str) -> None:
    """Partitions, files and directories without any of the tuples are pruned, and the answer is plain
    Spark's.

    The build side runs as often as for one key.
    """
    query = SHAPES.query(title)
    first = next(letter for letter in "fbsh" if f"{{{letter}}}" in query)
    planned = judged(spark, tables, query, first, adaptive=False)
    adaptive = judged(spark, tables, query, first, adaptive=True)
    both = title not in NOT_ALWAYS_READ
    verdicts = (
        with_and_without_adaptive_execution(first, adaptive, planned)
        if both
        else {f"{first}, planned": planned}
    )
    if first == "f":
        verdict = judged(spark, tables, query.replace("{f}", "{t}"), "t", adaptive=both)
        verdicts["t" if both else "t, planned"] = verdict
    if not series.is_before("4.1"):  # which plans several otherwise
        SHAPES.check(title, verdicts)


def test_the_report(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """The report has one line for the keys together, with the number and source of the tuples; without a run
    it has none.
    """
    frame = spark.sql(SHAPES.query("Spark has filters of its own").format(**tables["ours"]))
    frame.collect()
    (line,) = map(str, parquetry.report(frame).values)
    assert line == (
        f"{DATABASE}.f.(day, y): 4 run-time tuples of {DATABASE}.d.(day, y) where n < 'n4' (INNER JOIN, its broadcast)"
    )
    plan = str(frame._jdf.queryExecution().optimizedPlan().toString())
    assert plan.count("dynamicpruning") == 1, plan


@contextmanager
def limits(
    spark: SparkSession, tables: dict[str, dict[str, str]], module: ModuleType, **changed: int
) -> Iterator[None]:
    """Change limits of a module; the session's answers are by the limits of the moment, within and after.

    A session keeps what it learned of a version, so each table gets a new one.
    """

    def begin_version() -> None:
        for table in tables["ours"].values():
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('changed' = '{uuid.uuid4()}')")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIMITS", replace(LIMITS, **changed))
        begin_version()
        yield
    begin_version()


def test_many_tuples(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """Above the limit each column's values are used: they prune as without tuples, and the rows
    are the same.
    """
    query = SHAPES.query("null-safe")
    expected = plainly(spark, query.format(**tables["plain"]))
    for most, kept, told in ((9, 9, "(day, y) → 9 tuples"), (8, 57, "day → 8 values, y IN")):
        with limits(spark, tables, runtime_values, tuples=most):
            frame = spark.sql(query.format(**tables["ours"]))
            assert frame.collect() == expected
            found, text = scan(frame, f"{DATABASE}.f"), str(parquetry.report(frame))
        assert next(each["kept"] for each in found["steps"] if each["name"] == "partitions") == kept
        assert f"run time: {told}" in text


@pytest.mark.parametrize("adaptive", [True, False])
def test_more_tuples_than_are_sent(
    spark: SparkSession, tables: dict[str, dict[str, str]], adaptive: bool
) -> None:
    """Above the limit, each column's values arrive separately, and each NULL is equal to any other in them.
    Tuples with a computed key, which Spark evaluates, have no limit.
    """
    queries = (
        (SHAPES.query("null-safe"), 57),  # from the least to the greatest, and NULL
        (SHAPES.query("null-safe, both"), 58),
        (f"{PAIRS} AND f.x + 1 = d.x + 1", 4),  # Spark evaluates the tuples for each partition
        ("SELECT count(*), sum(v) FROM {f} f JOIN (SELECT day, y, k % 2 z FROM {d} WHERE k < 4) d ON f.day = d.day AND f.y <=> d.y AND f.x % 2 = d.z", 4),
    )  # fmt: skip
    with (
        limits(spark, tables, scan_answer, set_values=3),
        settings(spark, {"spark.sql.adaptive.enabled": adaptive}),
    ):
        for query, kept in queries:
            frame = spark.sql(query.format(**tables["ours"]))
            assert frame.collect() == plainly(spark, query.format(**tables["plain"])), query
            steps = scan(frame, f"{DATABASE}.f")["steps"]
            assert next(each["kept"] for each in steps if each["name"] == "partitions") == kept


def test_keys_of_two_columns_that_say_what_null_safe_keys_say(
    spark: SparkSession, tables: dict[str, dict[str, str]]
) -> None:
    """`coalesce(y, 0) = d.a AND (y IS NULL) = d.flag` is read as `<=>`, with separate columns on the other
    side.
    """
    query = (
        "SELECT count(*), sum(v) FROM {f} f JOIN (SELECT day, coalesce(y, 0) a, y IS NULL flag FROM {d}) d "
        "ON f.day = d.day AND coalesce(f.y, 0) = d.a AND (f.y IS NULL) = d.flag"
    )
    frame = spark.sql(query.format(**tables["ours"]))
    assert frame.collect() == plainly(spark, query.format(**tables["plain"]))
    assert "run time: (day, y) → 9 tuples" in str(parquetry.report(frame))


def test_tables_of_two_catalogs(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """Each catalog's tables get their own tuples, of the keys of their own join."""
    spark.sql("CREATE NAMESPACE pond.tuples")
    spark.sql("CREATE TABLE pond.tuples.f (w int, p int, q int) PARTITIONED BY (p, q)")
    spark.sql("INSERT INTO pond.tuples.f SELECT int(id), int(id % 7), int(id % 6) FROM range(84)")
    query = (
        f"SELECT count(*), sum(f.v), sum(o.w) FROM {{f}} f JOIN {{d}} d ON {ON} JOIN {{o}} o ON o.p = d.x AND o.q = d.k "
        "WHERE d.n < 'n7'"
    )
    frame = spark.sql(query.format(**tables["ours"], o="pond.tuples.f"))
    rows = frame.collect()
    local_view(spark.table("pond.tuples.f"), "plain_tuples_o")
    assert rows == plainly(spark, query.format(**tables["plain"], o="plain_tuples_o"))
    text = str(parquetry.report(frame))
    assert ("(day, y) → " in text, "(p, q) → " in text) == (True, True), text
    spark.sql("DROP NAMESPACE pond.tuples CASCADE")


def test_what_serves_two_places_still_does(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """A shuffle above a scan with tuples is reused, and so are the tuples of one broadcast for two scans."""
    groups = f"WITH x AS ({PAIRS.replace('count(*), sum(v)', 'f.x, sum(v) s')} GROUP BY f.x) "
    same = groups + "SELECT x, s FROM x UNION ALL SELECT x + 1, s FROM x"
    others = (
        groups
        + "SELECT a.x, a.s, b.n FROM x a JOIN ("
        + PAIRS.replace("count(*), sum(v)", "f.x, count(*) n")
        + " GROUP BY f.x) b USING (x)"
    )
    for query, count, again in ((same, 2, "ReusedExchange"), (others, 3, "ReusedSubquery")):
        with settings(spark, {"spark.sql.adaptive.enabled": False}):
            frame = spark.sql(query.format(**tables["ours"]))
            rows, nodes = plans.run(frame)
        assert plans.comparable(rows) == plainly(spark, query.format(**tables["plain"]))
        assert (nodes["BatchScan"], nodes["BroadcastExchange"] > 0, nodes[again] > 0) == (
            count,
            True,
            True,
        ), "\n".join(plans.lines(frame))
        steps = scan(frame, f"{DATABASE}.f")["steps"]
        assert next(each["kept"] for each in steps if each["name"] == "partitions") == 8


KNOWN = {
    "columns": ("f.day = c.day AND f.y = c.y", 8),
    "a semi join": ("(day, y) IN", 8),
    "a computed key of the build side": ("f.day = c.day AND f.y = dayofmonth(c.day) % 7", 8),
    "a computed key of the probe side": ("f.day = c.day AND f.y + 1 = c.y", 7),
    "null-safe, with one key computed": ("f.day <=> c.day AND f.y + 1 <=> c.y", 7),
    "coalesce": ("f.day = c.day AND coalesce(f.y, 0) = c.y", 8),
    "values that arrive": ("f.day = c.day AND f.y + 1 = c.y + 0 * int(c.k)", 7),
}
"""Conditions on all 30 days by seven numbers and two odd partitions, and how many partitions have a pair."""


@pytest.mark.parametrize("title", KNOWN)
@pytest.mark.parametrize("adaptive", [True, False])
def test_pairs_of_partition_columns(
    spark: SparkSession, tables: dict[str, dict[str, str]], title: str, adaptive: bool
) -> None:
    """Only partitions with a pair of the small table are read, whether planning knows the pairs or they
    arrive, and whether a key is a column or computed from partition columns.
    """
    condition, least = KNOWN[title]
    query = f"SELECT count(*), sum(v) FROM {{f}} f JOIN {{c}} c ON {condition}"
    if title == "a semi join":
        query = f"SELECT count(*), sum(v) FROM {{f}} f WHERE {condition} (SELECT day, y FROM {{c}})"
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(**tables["ours"]))
        rows = frame.collect()
    assert rows == plainly(spark, query.format(**tables["plain"]))
    steps = scan(frame, f"{DATABASE}.f")["steps"]
    assert next(each["kept"] for each in steps if each["name"] == "partitions") == least


def test_it_can_be_turned_off(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """`runtime-pruning` and `runtime-pruning-max-build-size` hold for tuples as for sets."""
    for name, setting in (
        ("inner", {"runtime-pruning": "false"}),
        ("sort-merge", {"runtime-pruning-max-build-size": "0"}),
    ):
        with settings(spark, {f"parquetry.{key}": value for key, value in setting.items()}):
            frame = spark.sql(SHAPES.query(name).format(**tables["ours"]))
            frame.collect()
        assert "dynamicpruning" not in str(frame._jdf.queryExecution().optimizedPlan().toString())
