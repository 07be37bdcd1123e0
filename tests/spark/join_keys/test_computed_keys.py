"""Keys of joins that are computed from columns.

If they are computed from partition columns, partitions without a match are pruned, for any other columns of
the query. From data columns, files are pruned by their bounds if the function's values in a file are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

LAYOUTS = {
    1: (("day",), ""),
    2: (("x", "day"), "TBLPROPERTIES ('partition-order' = 'day DESC')"),
    3: (("day", "x", "c"), "CLUSTERED BY (v) INTO 2 BUCKETS"),
}
"""By how many columns a table is partitioned: the columns, and what else the table has."""
PARTITIONS = {1: 12, 2: 60, 3: 60}
READ = {1: ("none",), 2: ("v",), 3: ("all", "none")}
"""Columns that a query reads of each layout's table: all partition columns, the fact alone, or no column but
the key's.
"""
ON_DAY, ON_X, ON_C = (1, 2, 3), (2, 3), (3,)
SHAPES = {
    "a function": (ON_DAY, "{f} f JOIN {d} d ON dayofmonth(f.day) = d.n"),
    "a sum of a date": (ON_DAY, "{f} f JOIN {d} d ON date_add(f.day, 1) = d.day WHERE d.name <> 'n9'"),
    "null-safe": (ON_DAY, "{f} f JOIN {d} d ON f.day <=> d.day"),
    "another type": (ON_DAY, "{f} f JOIN {d} d ON CAST(f.day AS STRING) = d.text"),
    "null-supplying": (ON_DAY, "{d} d LEFT JOIN {f} f ON date_add(f.day, 1) = d.day"),
    "semi": (ON_DAY, "{f} f LEFT SEMI JOIN {d} d ON date_add(f.day, 1) = d.day"),
    "in a subquery": (ON_DAY, "(SELECT *, date_add(day, 1) dd FROM {f}) f JOIN {d} d ON f.dd = d.day"),
    "a range": (ON_DAY, "{f} f JOIN {d} d ON dayofmonth(f.day) < d.n"),
    "a sum": (ON_X, "{f} f JOIN {d} d ON f.x + 1 = d.n"),
    "IN": (ON_X, "{f} f WHERE x + 1 IN (SELECT n FROM {d})"),
    "two columns": (ON_X, "{f} f JOIN {d} d ON f.x + dayofmonth(f.day) = d.n"),
    "a value": (ON_X, "{f} f WHERE f.x + 1 = (SELECT min(n) FROM {d})"),
    "a value of two columns": (ON_X, "{f} f WHERE f.x + dayofmonth(f.day) < (SELECT min(n) + 1 FROM {d})"),
    "no join": (ON_X, "{f} f WHERE f.x + dayofmonth(f.day) = 4 AND f.v >= 0"),
    "no value": (ON_X, "{f} f LEFT SEMI JOIN (SELECT * FROM {d} WHERE length(name) > 9) d ON f.x + 1 = d.n"),
    "a char": (ON_C, "{f} f JOIN {d} d ON f.c = d.c"),
    "a function of a char": (ON_C, "{f} f JOIN {d} d ON upper(f.c) = d.u"),
    "three columns": (ON_C, "{f} f JOIN {d} d ON f.x + dayofmonth(f.day) + length(trim(f.c)) = d.n"),
}  # fmt: skip
"""Uses of the fact table `f`: the layouts, and the query."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[str]:
    """A table of 20 files, each with one day and a row for each hour; a view of the same rows; and a table of
    days.
    """
    spark.sql("CREATE NAMESPACE lake.computed")
    spark.sql(
        "CREATE TABLE lake.computed.f (v int, ts timestamp, ntz timestamp_ntz, d date) TBLPROPERTIES ('distribution' = 'none')"
    )
    moment = "timestamp'2026-01-01' + make_interval(0, 0, 0, 0, int(id))"
    rows = spark.range(0, 480, 1, 20).selectExpr(
        "int(id) v", f"{moment} ts", f"CAST({moment} AS timestamp_ntz) ntz", f"CAST({moment} AS date) d"
    )
    rows.writeTo("lake.computed.f").append()
    local_view(rows, "computed_f")
    spark.range(40).selectExpr(
        "date_add(date'2026-01-01', int(id)) day", "int(id DIV 3) a", "int(id) n", "int(id) + 1 m"
    ).coalesce(1).write.saveAsTable("computed_d")
    yield "lake.computed.f"
    spark.sql("DROP TABLE computed_d")
    spark.sql("DROP NAMESPACE lake.computed CASCADE")


@pytest.fixture(scope="module")
def pairs(spark: SparkSession, tables: str) -> str:
    """A table of 5 partitions with 12 files each; each file has ten values that follow each other."""
    spark.sql(
        "CREATE TABLE lake.computed.pairs (v int, x int) PARTITIONED BY (x) TBLPROPERTIES ('distribution' = 'none')"
    )
    rows = spark.range(0, 120, 1, 12).selectExpr("int(id) v", "explode(array(0, 3, 4, 5, 6)) x")
    rows.writeTo("lake.computed.pairs").append()
    local_view(rows, "computed_pairs")
    return "lake.computed.pairs"


@pytest.fixture(scope="module")
def ends(spark: SparkSession, tables: str) -> str:
    """A table of 12 files with integers and doubles: the ends of their types, NaN and NULL."""
    spark.sql("CREATE TABLE lake.computed.ends (v int, r double) TBLPROPERTIES ('distribution' = 'none')")
    values = "array(2147483647, 6, 5, -5, -2147483648, NULL)"
    reals = "array(double('NaN'), 0.5D, NULL, -0.0D, double('Infinity'), 1e300D)"
    rows = spark.range(0, 12, 1, 12).selectExpr(
        f"get({values}, int(id % 6)) v", f"get({reals}, int((id + id DIV 6) % 6)) r"
    )
    rows.writeTo("lake.computed.ends").append()
    local_view(rows, "computed_ends")
    return "lake.computed.ends"


@pytest.fixture(scope="module")
def partitioned(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Fact tables in each layout, with NULL among the days, a small table; and the views of their rows."""
    spare_classes(spark)
    database = "lake.computed_of_partitions"
    spark.sql(f"CREATE NAMESPACE {database}")
    tables = {"d": f"{database}.d"}
    day = "IF(id % 12 = 11, NULL, date_add(DATE'2026-01-01', int(id % 12)))"
    rows = f"SELECT int(id) v, {day} day, int(id % 5) x, IF(id % 2 = 0, 'a', 'bc') c FROM range(60)"
    for count, (by, more) in LAYOUTS.items():
        tables[f"f{count}"] = table = f"{database}.f{count}"
        columns = "v INT, day DATE, was INT, c CHAR(3)"  # one is renamed
        named = ", ".join(by).replace("x", "was")
        spark.sql(f"CREATE TABLE {table} ({columns}) PARTITIONED BY ({named}) {more}")
        spark.sql(f"INSERT INTO {table} {rows}")
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN was TO x")
    spark.sql(f"CREATE TABLE {database}.d (n INT, day DATE, text STRING, c CHAR(3), u STRING, name STRING)")
    spark.sql(
        f"INSERT INTO {database}.d SELECT id + 3, IF(id = 2, NULL, date_add(DATE'2026-01-02', int(id * 5))), "
        "concat('2026-01-0', id), IF(id < 3, 'bc', 'd'), 'A  ', concat('n', id) FROM range(0, 4, 1, 1)"
    )
    for letter, table in list(tables.items()):
        tables[f"plain {letter}"] = f"plain_of_partitions_{letter}"
        local_view(spark.table(table), tables[f"plain {letter}"])
    yield tables
    spark.sql(f"DROP NAMESPACE {database} CASCADE")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.needs("functions of partitions"))
        if name.startswith("a value")
        else name
        for name in SHAPES
    ],
)
def test_partitions_with_matches_alone_are_read(
    spark: SparkSession, partitioned: dict[str, str], name: str
) -> None:
    """A query reads exactly the partitions with matches, with all partition columns or none, and returns
    plain Spark's rows.
    """
    layouts, query = SHAPES[name]
    for count in layouts:
        by = ", ".join(f"f.{column}" for column in LAYOUTS[count][0])
        reads = {"all": f"max(struct({by}))", "v": "sum(f.v)", "none": "count(*)"}
        held = f"count(DISTINCT IF(f.v IS NULL, NULL, struct({by})))"
        plain = query.format(f=partitioned[f"plain f{count}"], d=partitioned["plain d"])
        *expected, exact = plainly(spark, f"SELECT {', '.join((*reads.values(), held))} FROM {plain}")[0]
        assert 0 < exact < PARTITIONS[count] or name == "no value"
        for (what, read), value in zip(reads.items(), expected, strict=True):
            if what not in READ[count]:
                continue
            # adaptive execution reads nothing where a side has no rows, and does not say so
            adaptive = what != "v" and name != "no value"
            hint = "/*+ MERGE(d) */" if what == "v" and " d ON" in query else ""
            ours = query.format(f=partitioned[f"f{count}"], d=partitioned["d"])
            with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
                frame = spark.sql(f"SELECT {hint} {read} FROM {ours}")
                assert frame.collect() == [(value,)], what
            told = report_of(frame, partitioned[f"f{count}"])
            steps = {step["name"]: step["kept"] for step in told["steps"]}
            assert steps["partitions"] == exact, (count, what, str(parquetry.report(frame)))
            assert count == 3 or steps["files"] == exact


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE {f} SET v = v WHERE x + dayofmonth(day) = 4", "4 of 60 ((x + dayofmonth(day)) = 4)"),
        ("UPDATE {f} SET v = v WHERE x + 1 IN (SELECT n FROM {d})", "36 of 60 (run-time values (x + 1) IN ("),
        ("DELETE FROM {f} WHERE x + 1 IN (SELECT n + 99 FROM {d})", "0 of 60 (run-time values (x + 1) IN ("),
        pytest.param(
            "MERGE INTO {f} f USING {d} d ON f.x + 1 = d.n WHEN MATCHED AND d.n = 3 THEN UPDATE SET v = f.v",
            "12 of 60 ((x + 1) = 3",
            marks=pytest.mark.newest("Spark 4.2 and earlier do not infer x + 1 = 3, and find 3 at run time"),
        ),
    ],
)
def test_statements_look_for_rows_in_partitions_with_matches(
    spark: SparkSession, partitioned: dict[str, str], statement: str, told: str
) -> None:
    """The query that finds the files to write anew leaves out partitions as any other."""
    frame = spark.sql(statement.format(f=partitioned["f3"], d=partitioned["d"]))
    plan = frame._jdf.queryExecution().commandExecuted().commandPhysicalPlan().toString()
    assert f"{partitioned['f3']}: partitions {told}" in plan, plan


DATA_KEYS = {
    "CAST(f.ts AS date) = d.day": 3,
    "to_date(f.ntz) = d.day": 3,
    "date_trunc('day', f.ts) = timestamp(d.day)": 3,
    "datediff(f.d, date'2025-12-31') = d.m": 3,
    "f.v + 1 = d.m": 1,
    "-f.v = -d.n": 1,
    "f.v * 2 = d.m": 1,
    "f.v + f.v = d.m": 1,
    "coalesce(f.v, 0) = d.n": 1,
    "CAST(f.v AS string) = CAST(d.n AS string)": 1,
    "f.v + 1 <=> d.m": 1,
    "f.v DIV 24 = d.n": 3,
    "f.v % 7 = d.m": 0,
    "hash(f.v) = d.m": 20,
    "crc32(CAST(f.v AS string)) = d.m": 20,
}
"""Joins by a key of data columns: the number of 20 files that may hold a value of it."""


@pytest.mark.parametrize("hint", ["BROADCAST(d)", "MERGE(d)"])
@pytest.mark.parametrize("condition", DATA_KEYS)
def test_keys_of_data_columns(spark: SparkSession, tables: str, condition: str, hint: str) -> None:
    """A join reads the files whose bounds allow a value of the key, and has plain Spark's answer. The report
    names keys whose values in a file are not known.
    """
    query = "SELECT /*+ {hint} */ count(*), sum(v) FROM {f} f JOIN computed_d d ON {on} WHERE d.a = 2"
    files = DATA_KEYS[condition]
    adaptive = hint == "MERGE(d)" and files > 0  # adaptive execution does not run a scan of no files
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(f=tables, on=condition, hint=hint))
        assert frame.collect() == plainly(spark, query.format(f="computed_f", on=condition, hint=hint))
    step = next(step for step in report_of(frame, tables)["steps"] if step["name"] == "files")
    assert (step["kept"], step["of"]) == (files, 20)
    assert ("its values in a file are not known" in str(parquetry.report(frame))) == (files == 20)


@pytest.mark.parametrize("hint", ["BROADCAST(d)", "MERGE(d)"])
def test_tuples_with_keys_of_data_columns(spark: SparkSession, pairs: str, hint: str) -> None:
    """Beside a partition column, a key of a data column comes in tuples: of each partition, the files with
    its own values are read.
    """
    query = "SELECT /*+ {hint} */ count(*), sum(v) FROM {f} f JOIN computed_d d ON {on} WHERE d.a = 1"
    for condition, files in (
        ("f.x = d.n AND f.v DIV 10 = d.m", 3),
        ("f.x + 1 = d.m AND f.v + 1 = d.n * 10", 3),
        ("f.x <=> d.n AND f.v - 1 = d.n * 10", 3),
        ("f.x = d.n AND f.v + f.x = d.n * 10", 3),
        ("f.x + f.v = d.n", 4),
    ):
        frame = spark.sql(query.format(f=pairs, on=condition, hint=hint))
        assert frame.collect() == plainly(spark, query.format(f="computed_pairs", on=condition, hint=hint))
        step = next(step for step in report_of(frame, pairs)["steps"] if step["name"] == "files")
        assert step["kept"] == files, (condition, str(parquetry.report(frame)))


@pytest.mark.parametrize("ansi", [True, False])
def test_overflow(spark: SparkSession, ends: str, ansi: bool) -> None:
    """A sum that overflows is an error, or wraps as Spark wraps it: its file is read. NaN equals NaN."""
    query = "SELECT count(*), min(f.v), max(f.v) FROM {f} f JOIN {d} d ON "
    builds = {
        "f.v + 1 = d.k": "(SELECT explode(array(-2147483648, 7)) k)",
        "f.r + 1 = d.k": "(SELECT explode(array(double('NaN'), double('Infinity'))) k)",
        "-f.v = d.k": "(SELECT explode(array(5, -9)) k)",
        "abs(f.v) = d.k": "(SELECT explode(array(5, 2147483647)) k)",
        "CAST(f.v AS bigint) + 1 = d.k": "(SELECT explode(array(2147483648, 7)) k)",
        "try_add(f.v, 1) <=> d.k": "(SELECT explode(array(NULL, 7)) k)",
    }
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        for condition, build in builds.items():
            plain = (query + condition).format(f="computed_ends", d=build)
            try:
                expected: Any = plainly(spark, plain)
            except PySparkException as error:
                expected = type(error)
            try:
                found: Any = spark.sql((query + condition).format(f=ends, d=build)).collect()
            except PySparkException as error:
                found = type(error)
            assert found == expected, condition
            assert isinstance(found, list) or ansi


def report_of(frame: Any, table: str) -> dict[str, Any]:
    """Return what the report says of the scan of a table."""
    told: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(scan for scan in told if scan["table"] == table)
