"""Each shape of a join gets its possible values, from the least expensive source, and returns plain Spark's
answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from parquetry.prune.report.join_values import ValuesReport
from tests.support.effort import STEP
from tests.support.spark import plans, series
from tests.support.spark.verdicts import NO_SCAN, Verdict, VerdictFile, with_and_without_adaptive_execution
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

DATABASE = "lake.run_time_joins"
TABLES = {"f": "fact", "t": "twofold", "w": "wide", "g": "files", "d": "dim", "e": "far"}
ALL = {"f": 40, "t": 80, "w": 120, "g": 10}
"""Partitions of each fact table; of the last, which has none, files."""


SHAPES = VerdictFile.named("joins")
NOT_ALWAYS_READ = ("an empty side",)
"""Where adaptive execution may have read nothing when it sees that nothing can match."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    """A fact table in 40 partitions, with one more column in 80, and with two more in 120.

    A table in 10 files by ranges of its key, and small tables; the views of their rows.
    """
    spare_classes(spark)
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    views = {}
    for letter, name in TABLES.items():
        table = f"{DATABASE}.{name}"
        match letter:
            case "f":
                spark.sql(f"CREATE TABLE {table} (v int, j int, k int) USING parquet PARTITIONED BY (k)")
                rows = "SELECT id, id % 7, id % 40 FROM range(4000)"
            case "t":
                spark.sql(
                    f"CREATE TABLE {table} (v int, j int, b int, k int) USING parquet PARTITIONED BY (b, k)"
                )
                rows = "SELECT id, id % 7, id DIV 40 % 2, id % 40 FROM range(4000)"
            case "w":
                columns = "v int, j int, z int, k int, a int"
                spark.sql(f"CREATE TABLE {table} ({columns}) USING parquet PARTITIONED BY (z, k, a)")
                rows = "SELECT id, id % 7, id % 2, id % 40, id DIV 40 % 3 FROM range(4000)"
            case "g":
                spark.sql(
                    f"CREATE TABLE {table} (k int, v int) USING parquet TBLPROPERTIES ('distribution' = 'none')"
                )
                rows = "SELECT id DIV 100, id FROM range(0, 4000, 1, 10)"
            case "d":
                spark.sql(f"CREATE TABLE {table} (k int, e int, name string) USING parquet")
                rows = "SELECT IF(id = 6, NULL, id * 3), id % 4, concat('n', id) FROM range(0, 7, 1, 1)"
            case _:
                spark.sql(f"CREATE TABLE {table} (e int, name string) USING parquet")
                rows = "SELECT id, concat('e', id) FROM range(0, 4, 1, 1)"
        spark.sql(f"INSERT INTO {table} {rows}")
        views[letter] = f"plain_run_time_{letter}"
        local_view(spark.table(table), views[letter])
    yield views
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def ours(query: str) -> str:
    return query.format(**{letter: f"{DATABASE}.{name}" for letter, name in TABLES.items()})


def kept(frame: DataFrame) -> int:
    """Return how many partitions of the fact table a query has read, or files if it has none."""
    for scan in parquetry.report(frame).scans:
        for letter in ALL:
            if scan.table == f"{DATABASE}.{TABLES[letter]}":
                step = scan.step("files" if letter == "g" else "partitions")
                assert step is not None
                return step.kept
    raise AssertionError("no scan of a fact table")


def told(frame: DataFrame) -> list[ValuesReport]:
    """Return what a report says of values for the fact table."""
    facts = {f"{DATABASE}.{TABLES[letter]}" for letter in ALL}
    return [each for each in parquetry.report(frame).values if each.table in facts]


def assert_reasons(frame: DataFrame, letter: str) -> None:
    """Values that arrived prune something, or the report has a reason."""
    used = [each for each in told(frame) if each.how != "refused"]
    if kept(frame) == ALL[letter]:
        assert all(f"leave nothing out: {each.reason}" in str(each) for each in used), str(used)
    elif len(used) == 1:
        assert not used[0].reason, str(used)


def judged(
    spark: SparkSession, query: str, letter: str, expected: list[tuple[Any, ...]], adaptive: bool
) -> Verdict:
    """Return what became of a query of one of the fact tables, which has the rows that are expected."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(ours(query))
        assert plans.comparable(frame.collect()) == expected
        verdict = Verdict.from_report(
            frame, {each: f"{DATABASE}.{name}" for each, name in TABLES.items()}, letter
        )
        if verdict.read != NO_SCAN:
            assert_reasons(frame, letter)
    return verdict


OTHERWISE_BEFORE_4_3 = ("values",)  # Spark puts no filter of its own by values in the query's text
OTHERWISE_BEFORE_4_1 = (*OTHERWISE_BEFORE_4_3, "snowflake, in another order", "a range below a union")
"""Shapes whose verdict says something else on earlier series, by title."""


@pytest.mark.parametrize("title", SHAPES.titles)
def test_shapes(spark: SparkSession, tables: dict[str, str], title: str) -> None:
    """A join prunes partitions or files if the answer stays the same, and a report says how, or why not.

    In a table by two or three columns it prunes as many of each kind. The query reads none of the other
    columns, and no partition is listed at first.
    """
    query = SHAPES.query(title)
    expected = plainly(spark, query.format(**tables))
    first = "g" if "{g}" in query else "f"
    planned = judged(spark, query, first, expected, adaptive=False)
    adaptive = judged(spark, query, first, expected, adaptive=True)
    both = title not in NOT_ALWAYS_READ
    verdicts = (
        with_and_without_adaptive_execution(first, adaptive, planned)
        if both
        else {f"{first}, planned": planned}
    )
    for more in "tw" if first == "f" else "":
        verdict = judged(spark, query.replace("{f}", f"{{{more}}}"), more, expected, adaptive=both)
        verdicts[more if both else f"{more}, planned"] = verdict
    if not (
        (series.is_before("4.3") and title in OTHERWISE_BEFORE_4_3)
        or (series.is_before("4.1") and title in OTHERWISE_BEFORE_4_1)
    ):  # fmt: skip
        SHAPES.check(title, verdicts)


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
@pytest.mark.parametrize("query", ["inner", "semi", "IN", "below an aggregate by the key", "files"])
def test_a_shared_broadcast_is_made_once(
    spark: SparkSession, tables: dict[str, str], query: str, adaptive: bool
) -> None:
    """The values come from the join's own broadcast: the plan has one, reuses it, and runs nothing for the
    values alone.
    """
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(ours(SHAPES.query(query)))
        _, nodes = plans.run(frame)
    assert (nodes["BroadcastExchange"], nodes["SubqueryBroadcast"], nodes["Subquery"]) == (
        1,
        1,
        0,
    ), frame._jdf.queryExecution().executedPlan().toString()


NUMBERS = "(SELECT explode(sequence({})) k)"
REASONS = {
    "all partitions": (f"{{f}} f JOIN {NUMBERS.format('0, 39')} d ON f.k = d.k", "every partition may hold a match"),
    "all that are computed": (f"{{f}} f JOIN {NUMBERS.format('0, 99')} d ON f.k + 1 = d.k", "every partition may hold a match"),
    "computed of two columns": (f"{{w}} f JOIN {NUMBERS.format('0, 9')} d ON f.z + f.a = d.k", "every partition may hold a match"),
    "Spark's own": ("{f} f JOIN {d} d ON f.k * 0 = d.k * 0 WHERE d.name = 'n1'", "every partition may hold a match"),
    "a range": ("{f} f JOIN {d} d ON f.k < d.k + 100", "every partition may hold a match"),
    "two ends": ("{w} f JOIN {d} d ON f.a BETWEEN d.e - 9 AND d.e + 9", "every partition may hold a match"),
    "all files": (f"{{g}} f JOIN {NUMBERS.format('0, 39, 4')} d ON f.k = d.k", "every file may hold a match"),
    "known": ("{f} f JOIN (SELECT k, a FROM {w}) d ON f.k = d.k", "every partition has one of them"),
}  # fmt: skip
"""Values that come to the fact table and leave nothing out, and why."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.since("4.1", "on Spark 4.0 a report says no reason for ends of ranges")
        )
        if name in ("a range", "two ends")
        else name
        for name in REASONS
    ],
)
def test_values_that_leave_nothing_out_have_a_reason(
    spark: SparkSession, tables: dict[str, str], name: str
) -> None:
    """In the text and the dict: of partitions, of files, of values from wherever they come."""
    query, reason = REASONS[name]
    frame = spark.sql(ours(f"SELECT /*+ BROADCAST(d) */ sum(v), count(*) FROM {query}"))
    assert frame.collect() == plainly(spark, f"SELECT sum(v), count(*) FROM {query}".format(**tables))
    report = parquetry.report(frame)
    lines = [each for each in report.to_dict()["values"] if each["table"] == told(frame)[0].table]
    used = [each for each in lines if each["how"] != "refused"]
    assert {each["reason"] for each in used} == {reason}, str(report)
    assert f") leave nothing out: {reason}\n" in f"{report}\n"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "SELECT sum(v) FROM {f} f JOIN (SELECT * FROM {d} WHERE length(name) > 9) d ON f.k + 1 = d.k",
            "nothing of lake.run_time_joins.fact is read",
        ),
        (
            "SELECT j, sum(v) FROM {f} f JOIN {d} d ON f.k = d.k GROUP BY j UNION ALL "
            "SELECT j + 9, sum(v) FROM {f} f JOIN {d} d ON f.k = d.k GROUP BY j",
            "what another place of the query reads of lake.run_time_joins.fact serves here, too",
        ),
    ],
)
def test_a_scan_that_is_not_there_has_no_values(
    spark: SparkSession, tables: dict[str, str], query: str, reason: str
) -> None:
    """Where a side without rows spares it, or one place reads for two, the report says so."""
    frame = spark.sql(ours(query))
    assert plans.comparable(frame.collect()) == plainly(spark, query.format(**tables))
    assert reason in {each.reason for each in told(frame)}, str(parquetry.report(frame))


@pytest.mark.parametrize(
    "build",
    [
        "SELECT plus_three(k) AS key FROM {d}",
        "SELECT k AS key FROM {d} UNION ALL SELECT plus_three(e) FROM {d}",
    ],
)
def test_a_key_of_a_python_function_gives_no_values(
    spark: SparkSession, tables: dict[str, str], build: str
) -> None:
    """The report names the function, whichever input of a UNION calls it."""
    spark.udf.register("plus_three", lambda number: None if number is None else number + 3, "int")
    query = f"SELECT /*+ BROADCAST(b) */ sum(f.v), count(*) FROM {{f}} f JOIN ({build}) b ON f.k = b.key"
    frame = spark.sql(ours(query))
    assert frame.collect() == plainly(spark, query.format(**tables))
    reasons = {each.reason for each in told(frame) if each.table.endswith(".fact")}
    assert reasons == {"a Python function computes key"}


def test_what_spark_prunes_is_not_pruned_twice(spark: SparkSession, tables: dict[str, str]) -> None:
    """Where Spark's own filter takes the values from the broadcast, there is no second one."""
    frame = spark.sql(ours(SHAPES.query("inner, a condition of Spark's liking")))
    frame.collect()
    plan = str(frame._jdf.queryExecution().optimizedPlan().toString())
    assert plan.count("dynamicpruning") == 1, plan


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_materialised_dimensions(spark: SparkSession, tables: dict[str, str], adaptive: bool) -> None:
    """A cached or checkpointed dimension provides its values as any other; a cached join is read from the
    cache.
    """
    query = "SELECT sum(v) FROM {f} f JOIN small_run_time d ON f.k = d.k"
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        cached = spark.sql(ours("SELECT * FROM {d} WHERE name < 'n3'")).cache()
        try:
            cached.createOrReplaceTempView("small_run_time")
            frame = spark.sql(ours(query))
            assert frame.collect() == plainly(spark, query.format(**tables))
            assert kept(frame) == 3
            assert [each.values for each in told(frame)] == [3]
        finally:
            cached.unpersist()
        checked = spark.sql(ours("SELECT * FROM {d} WHERE name < 'n3'")).localCheckpoint()
        checked.createOrReplaceTempView("small_run_time")
        frame = spark.sql(ours(query))
        frame.collect()
        assert kept(frame) == 3
        joined = spark.sql(ours("SELECT f.k, v FROM {f} f JOIN {d} d ON f.k = d.k")).cache()
        try:
            assert joined.count() == 600
            assert joined.groupBy("k").count().collect() == joined.groupBy("k").count().collect()
        finally:
            joined.unpersist()


def test_ctes_views_and_writes(spark: SparkSession, tables: dict[str, str]) -> None:
    """A CTE used twice, a view, a nested subquery and a write have the rows of plain Spark."""
    queries = [
        "WITH x AS (SELECT f.k, v FROM {f} f JOIN {d} d ON f.k = d.k) "
        "SELECT a.k, sum(a.v + b.v) FROM x a JOIN x b ON a.k = b.k AND a.v = b.v GROUP BY a.k",
        "WITH x AS (SELECT k, v, rand() r FROM {f}) SELECT count(*) FROM x a JOIN {d} d ON a.k = d.k JOIN x b ON b.v = a.v",
        "SELECT (SELECT max(v) FROM {f} f JOIN {d} d ON f.k = d.k) m, count(*) FROM {f} WHERE k IN (SELECT d.k FROM {d} d "
        "JOIN {e} e ON d.e = e.e)",
        "SELECT d.k, (SELECT max(v) FROM {f} f WHERE f.k = d.k) m FROM {d} d",
        "SELECT d.k FROM {d} d WHERE d.e < (SELECT count(*) FROM {f} f JOIN {e} e ON f.j = e.e WHERE f.k = d.k)",
    ]
    for query in queries:
        expected = plainly(spark, query.format(**tables))
        assert plans.comparable(spark.sql(ours(query)).collect()) == expected, query
    join = "SELECT f.v, f.j, f.k FROM {f} f JOIN {d} d ON f.k = d.k"
    spark.sql(f"CREATE TABLE {DATABASE}.copied AS {ours(join)}")
    spark.sql(f"INSERT INTO {DATABASE}.copied {ours(join)}")
    spark.sql(f"INSERT INTO {DATABASE}.copied SELECT v, j, k FROM {DATABASE}.copied WHERE k = 3")
    rows = plainly(spark, join.format(**tables))
    expected_rows = sorted(rows * 2 + [row for row in rows if row[2] == 3] * 2)
    assert sorted(spark.table(f"{DATABASE}.copied").collect()) == expected_rows


def test_a_large_side_is_not_read_twice(spark: SparkSession, tables: dict[str, str]) -> None:
    """Above `runtime-pruning-max-build-size` only a broadcast's values are used. The same is true if the
    build side is not smaller than the table.
    """
    query = ours(SHAPES.query("left, null-supplying"))
    with settings(spark, {"parquetry.runtime-pruning-max-build-size": "1b"}):
        frame = spark.sql(query)
        frame.collect()
        assert kept(frame) == ALL["f"]
        (line,) = told(frame)
        assert "more than runtime-pruning-max-build-size (1 B)" in line.reason
    mutual = spark.sql(ours("SELECT /*+ MERGE(g) */ count(*) FROM {g} f JOIN {g} g ON f.k = g.k"))
    mutual.collect()
    assert kept(mutual) == 10
    assert "is not worth it" in str(parquetry.report(mutual))


def test_a_table_of_nearly_all_values(spark: SparkSession, tables: dict[str, str]) -> None:
    """The metastore does not get the keys of all customers, as each file has some of them; it gets a few, or
    the keys under a condition.
    """
    everyone, sales = f"{DATABASE}.everyone", f"{DATABASE}.sales_of_everyone"
    rows = "SELECT id AS customer, id % 7 AS kind FROM range(1, 12001)"
    spark.sql(f"CREATE TABLE {everyone} AS {rows}")
    spark.sql(
        f"CREATE TABLE {sales} PARTITIONED BY (part) AS "
        "SELECT id * 7919 % 12000 + 1 AS customer, id AS v, id % 4 AS part FROM range(48000)"
    )
    query = f"SELECT sum(v), count(*) FROM {sales} s JOIN {everyone} e ON s.customer = e.customer"
    whole, narrowed = spark.sql(query), spark.sql(f"{query} WHERE e.customer % 4000 = 1 AND e.kind >= 0")
    assert whole.collect() == [(47999 * 24000, 48000)]
    (said,) = (each for each in parquetry.report(whole).values if each.table == sales)
    assert said.reason == f"its 12,000 values are nearly all that there are, and files of {sales} hold some"
    narrowed.collect()
    (said,) = (each for each in parquetry.report(narrowed).values if each.table == sales)
    assert said.how == "spark"
    spark.sql(f"DROP TABLE {everyone}")
    spark.sql(f"DROP TABLE {sales}")


@pytest.mark.since("4.1", "Spark 4.0 plans it otherwise")
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_sparks_own_filter_stays(spark: SparkSession, tables: dict[str, str], adaptive: bool) -> None:
    """A dimension that gets values itself is one broadcast for Spark's filter and the join, and the fact
    table is pruned.
    """
    wide = f"{DATABASE}.wide_{'adaptive' if adaptive else 'planned'}"
    spark.sql(f"CREATE TABLE {wide} (k int, e int, name string) TBLPROPERTIES ('distribution' = 'none')")
    spark.sql(f"INSERT INTO {wide} SELECT id * 3, id % 4, concat('n', id) FROM range(0, 6, 1, 3)")
    query = (
        "SELECT sum(v), max(e.name) FROM {f} f JOIN {w} d ON f.k = d.k LEFT SEMI JOIN {d} x ON d.k = x.k "
        "JOIN {e} e ON d.e = e.e WHERE d.name < 'n3'"
    )
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(ours(query.replace("{w}", wide)))
        found = frame.collect()
    assert found == plainly(spark, query.format(**tables | {"w": tables["d"]}))
    assert kept(frame) == 3
    assert any(each.table == wide and each.how != "refused" for each in parquetry.report(frame).values)


def test_it_can_be_turned_off(spark: SparkSession, tables: dict[str, str]) -> None:
    """With `runtime-pruning` = false, neither this rule nor Spark's collects values, and the
    report says so.
    """
    for name in ("inner", "inner, a condition of Spark's liking", "left, null-supplying"):
        with settings(spark, {"parquetry.runtime-pruning": "false"}):
            frame = spark.sql(ours(SHAPES.query(name)))
            frame.collect()
            plan = str(frame._jdf.queryExecution().optimizedPlan().toString())
            assert "dynamicpruning" not in plan
            assert kept(frame) == ALL["f"]
            assert {each.reason for each in told(frame)} == {"runtime-pruning is false"}


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_buckets_stay(spark: SparkSession, tables: dict[str, str], adaptive: bool) -> None:
    """A join of bucketed tables gets values and shuffles nothing, not even to remove duplicate values."""
    for name, rows in (
        ("many", "SELECT id, id FROM range(4000)"),
        ("few", "SELECT id * 9, id FROM range(3)"),
    ):
        spark.sql(f"DROP TABLE IF EXISTS {DATABASE}.{name}")
        spark.sql(f"CREATE TABLE {DATABASE}.{name} (id int, v int) CLUSTERED BY (id) INTO 8 BUCKETS")
        spark.sql(f"INSERT INTO {DATABASE}.{name} {rows}")
    changed = {"spark.sql.adaptive.enabled": adaptive, "spark.sql.autoBroadcastJoinThreshold": "-1"}
    with settings(spark, changed):
        for join, expected in (("JOIN", 27), ("RIGHT JOIN", 27), ("LEFT SEMI JOIN", 27)):
            frame = spark.sql(
                f"SELECT m.id FROM {DATABASE}.many m {join} {DATABASE}.few f ON m.id = f.id ORDER BY 1"
            )
            found, nodes = plans.run(frame)
            assert sum(row.id for row in found) == expected
            assert nodes["Exchange"] == 1  # of the order
            (line,) = parquetry.report(frame).values
            assert (line.table, line.values, line.shared) == (f"{DATABASE}.many", 3, False)
            (many,) = [scan for scan in parquetry.report(frame).scans if scan.table.endswith("many")]
            assert any(step.kept < step.of for step in many.steps if not step.counts_bytes)


def test_other_tables_are_left_alone(spark: SparkSession, tables: dict[str, str]) -> None:
    """A plan without a table of ours, or without a join, is what it is without the rule."""
    for query in (
        "SELECT sum(v) FROM {f} f JOIN {d} d ON f.k = d.k".format(**tables),
        ours("SELECT sum(v) FROM {f} WHERE k < 3"),
    ):
        assert "dynamicpruning" not in str(spark.sql(query)._jdf.queryExecution().optimizedPlan().toString())


def test_a_session_of_its_own(spark: SparkSession, tables: dict[str, str]) -> None:
    """Each session has the rule, for its first query too, and keeps a user's own rules."""
    other = spark.newSession()
    frame = other.sql(ours(SHAPES.query("left, null-supplying")))
    frame.collect()
    assert kept(frame) == 6


def test_tables_with_values_for_each_other(spark: SparkSession, tables: dict[str, str]) -> None:
    """If all tables have values for each other, the plan stays about as large as without them."""
    facts = range(6 if STEP == 1 else 4)
    names = {f"c{number}": f"{DATABASE}.chain_{number}" for number in facts}
    views = {f"c{number}": f"plain_chain_{number}" for number in facts}
    rows = "SELECT CAST(id AS INT) v, CAST(id % 7 AS INT) j, CAST(id % 10 AS INT) k FROM range(30)"
    for number in facts:
        spark.sql(f"CREATE TABLE {names[f'c{number}']} (v int, j int, k int) PARTITIONED BY (k)")
        spark.sql(f"INSERT INTO {names[f'c{number}']} {rows}")
        spark.sql(rows).createOrReplaceTempView(views[f"c{number}"])
    pairs = "".join(
        f" JOIN {{c{n}}} c{n} ON c{n}.k = c0.k AND c{n}.v = c{n - 1}.v JOIN {{d}} d{n} ON d{n}.k = c{n}.k AND d{n}.name < 'n{n + 1}'"
        for n in facts[1:]
    )
    merged = ", ".join(f"c{n}" for n in facts[1:])
    query = f"SELECT /*+ MERGE({merged}) */ count(*), sum(c0.v + c{facts[-1]}.v) FROM {{c0}} c0{pairs} WHERE c0.j < 5"
    frame = spark.sql(query.format(d=f"{DATABASE}.dim", **names))
    scans = frame._jdf.queryExecution().optimizedPlan().treeString().count("RelationV2")
    assert len(facts) * 2 <= scans < 800, scans
    assert frame.collect() == plainly(spark, query.format(d=tables["d"], **views))


@pytest.mark.since("4.1", "Spark 4.0 plans it otherwise")
def test_what_is_read_once_stays_so(spark: SparkSession, tables: dict[str, str]) -> None:
    """An aggregate that serves two places of a query is not read for each by values of its own."""
    query = (
        "WITH s AS (SELECT k, j, sum(v) v FROM {f} GROUP BY k, j) "
        "SELECT count(*), sum(x.v + y.v) FROM s x JOIN s y ON x.j = y.j JOIN {d} d ON d.k = x.k JOIN {e} e ON e.e = y.k"
    )
    frame = spark.sql(ours(query))
    found, nodes = plans.run(frame)
    assert found == plainly(spark, query.format(**tables))
    assert nodes["ReusedExchange"] == 1
    assert kept(frame) == ALL["f"]
    assert any("serves several places of the query" in each.reason for each in told(frame))


def test_values_are_listed_once(spark: SparkSession, db: str) -> None:
    """If Spark has a filter already, the report lists its values once, and names no table as
    read for them.
    """
    spark.sql(f"CREATE TABLE {db}.f (v int, day int) PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {db}.f SELECT id, id % 20 FROM range(40)")
    for name in "de":
        spark.sql(f"CREATE TABLE {db}.{name} (day int, name string)")
        spark.sql(f"INSERT INTO {db}.{name} SELECT id, concat('n', id % 3) FROM range(8)")
    frame = spark.sql(
        f"SELECT sum(v) FROM {db}.f JOIN {db}.d ON f.day = d.day JOIN {db}.e ON e.day = d.day WHERE d.name = 'n1'"
    )
    frame.collect()
    report = parquetry.report(frame)
    assert sorted((each.build, each.how) for each in report.values) == [
        (f"{db}.d", "spark"),
        (f"{db}.e", "collected"),
    ], str(report)
    for text in (str(report), report._repr_html_(), parquetry.explain(frame).to_dict()):
        assert "is read for them" not in str(text)
    step = next(scan for scan in report.scans if scan.table == f"{db}.f").step("partitions")
    assert step is not None
    assert step.kept == 3
