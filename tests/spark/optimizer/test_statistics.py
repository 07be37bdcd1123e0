"""Statistics that Spark's cost-based optimizer gets of our tables, and the joins that it plans by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry

Rows = Callable[[str], list[tuple[object, ...]]]
CBO, REORDER = "spark.sql.cbo.enabled", "spark.sql.cbo.joinReorder.enabled"
TABLES = {
    "sales": "SELECT id % 18000 AS item, id * 7 % 10000 AS customer, id * 1.5 AS paid FROM range(60000)",
    "item": "SELECT id AS i, CAST(id % 100 AS INT) AS price, concat('kind ', id % 10) AS kind FROM range(18000)",
    "customer": "SELECT id AS c, id % 5000 AS address, CAST(1930 + id % 70 AS INT) AS born FROM range(10000)",
    "address": "SELECT id AS a, concat('city ', id * 13 % 60) AS city FROM range(5000)",
}
CHAIN = """SELECT count(*) FROM {0}.sales JOIN {0}.customer ON customer = c JOIN {0}.address ON address = a
    JOIN {0}.item ON item = i WHERE kind = 'kind 3' AND city = 'city 7'"""


@pytest.fixture
def cbo(spark: SparkSession) -> Iterator[None]:
    """Turn the cost-based optimizer on, and adaptive execution off."""
    before = {name: spark.conf.get(name) for name in (CBO, REORDER, "spark.sql.adaptive.enabled")}
    spark.conf.set(CBO, "true")
    spark.conf.set(REORDER, "true")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    for name, value in before.items():
        assert value is not None
        spark.conf.set(name, value)


def statistics(frame: DataFrame) -> tuple[Any, dict[str, tuple[Any, ...]]]:
    """Return the rows that Spark expects of a query, and distinct values, NULLs and bounds of its columns."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    found = plan.stats()
    columns = {}
    attributes = plan.output()
    for position in range(attributes.length()):
        attribute = attributes.apply(position)
        each = found.attributeStats().get(attribute)
        if each.isDefined():
            of = each.get()
            columns[attribute.name()] = tuple(
                str(part.get()) if part.isDefined() else None
                for part in (of.distinctCount(), of.nullCount(), of.min(), of.max())
            )
    rows = found.rowCount()
    return int(str(rows.get())) if rows.isDefined() else None, columns


def exchanges(frame: DataFrame) -> int:
    """Return how often the plan shuffles rows by a hash."""
    return str(frame._jdf.queryExecution().executedPlan()).count("Exchange hashpartitioning")


@pytest.mark.usefixtures("cbo")
def test_joins_are_planned_as_of_tables_of_spark(
    spark: SparkSession, db: str, stock: str, rows: Rows
) -> None:
    """Four tables are joined with no more shuffles than the same rows as Parquet tables of Spark alone.

    The expected rows of a join of two are near the truth, and the answer is the same.
    """
    for name, query in TABLES.items():
        spark.sql(f"CREATE TABLE {db}.{name} USING parquet AS {query}")
        spark.sql(f"CREATE TABLE {stock}.{name} USING parquet AS {query}")
    ours, theirs = spark.sql(CHAIN.format(db)), spark.sql(CHAIN.format(stock))
    assert exchanges(ours) <= exchanges(theirs)
    assert rows(CHAIN.format(db)) == rows(CHAIN.format(stock))
    expected, _ = statistics(spark.sql(f"SELECT * FROM {db}.customer JOIN {db}.address ON address = a"))
    assert 5_000 <= expected <= 20_000


@pytest.mark.usefixtures("cbo")
def test_statistics_are_true_after_pruning(spark: SparkSession, db: str) -> None:
    """Spark gets the rows, bounds and NULLs of the files that conditions leave, in its own form of values."""
    spark.sql(
        f"""CREATE TABLE {db}.t (id BIGINT, day DATE, at TIMESTAMP, money DECIMAL(9,2), ok BOOLEAN, name STRING,
        `odd name` INT, p INT) PARTITIONED BY (p)"""
    )
    spark.sql(
        f"""INSERT INTO {db}.t SELECT id, DATE '2026-01-01' + CAST(id % 10 AS INT), TIMESTAMP '2026-01-01 00:00:00',
        CAST(id AS DECIMAL(9,2)) / 4, id % 2 = 0, IF(id % 4 = 0, NULL, 'abc'), 7, CAST(id / 100 AS INT) FROM range(300)"""
    )
    query = f"SELECT * FROM {db}.t WHERE p = 1"
    found, columns = statistics(spark.sql(query))
    assert found == 100
    assert columns == {
        "id": ("100", "0", "100", "199"),
        "day": ("10", "0", "20454", "20463"),
        "at": ("1", "0", "1767225600000000", "1767225600000000"),
        "money": ("100", "0", "25.00", "49.75"),
        "ok": ("2", "0", "False", "True"),
        "name": ("1", "25", None, None),
        "odd name": ("1", "0", "7", "7"),
        "p": ("1", "0", "1", "1"),
    }
    assert spark.sql(f"{query} AND money < 30 AND day > DATE '2026-01-02' AND ok").collect()
    some = spark.sql(f"SELECT * FROM {db}.t WHERE id BETWEEN 200 AND 249")
    narrowed, _ = statistics(some)
    assert 40 <= narrowed <= 60
    assert some.collect()
    assert f"rows 50 (estimated {narrowed})" in str(parquetry.report(some))
    # a column that Spark cannot estimate might be a key, so the rows are not reported either
    spark.sql(f"CREATE TABLE {db}.u AS SELECT id, TIMESTAMP_NTZ '2026-01-01 00:00:00' AS at FROM range(9)")
    assert statistics(spark.sql(f"SELECT * FROM {db}.u WHERE at > TIMESTAMP_NTZ '2025-01-01 00:00:00'")) == (
        None,
        {},
    )
    assert statistics(spark.sql(f"SELECT id FROM {db}.u"))[0] == 9


@pytest.mark.unaudited("the audit asks, too")
def test_nothing_is_asked_without_the_optimizer(spark: SparkSession, db: str) -> None:
    """No question is about statistics: the answer about conditions has them if the optimizer wants them."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id, id % 7 AS k FROM range(70)")
    query = f"SELECT sum(a.id + b.id) FROM {db}.t a JOIN {db}.t b ON a.k = b.k"
    for on in ("false", "true", "true"):
        spark.conf.set(CBO, on)
        with parquetry.trace() as trace:
            spark.sql(query).collect()
        spark.conf.set(CBO, "false")
        assert "estimate_scan" not in {row["question"] for row in trace.rows}
    assert statistics(spark.table(f"{db}.t")) == (None, {})


@pytest.mark.usefixtures("cbo")
def test_analyze_counts_distinct_values(spark: SparkSession, db: str, rows: Rows) -> None:
    """ANALYZE … FOR COLUMNS counts what files do not say, and the optimizer uses it, after a rename, too.

    Before, and of part of the rows, dictionaries of files tell about how many values there are. Equal counts
    make no further version.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, hash BIGINT, name STRING, p INT) PARTITIONED BY (p)")
    spark.sql(
        f"""INSERT INTO {db}.t SELECT id, xxhash64(id % 50), concat('name ', id % 400), CAST(id % 4 AS INT)
        FROM range(4000)"""
    )
    assert 50 <= int(statistics(spark.table(f"{db}.t"))[1]["hash"][0]) <= 150
    analyze = f"ANALYZE TABLE {db}.t COMPUTE STATISTICS FOR ALL COLUMNS"
    ((*_, detail),) = rows(analyze)
    assert detail == "Counted the distinct values of 3 columns."
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN hash TO h")
    whole = statistics(spark.table(f"{db}.t"))[1]
    assert 45 <= int(whole["h"][0]) <= 55
    assert 380 <= int(whole["name"][0]) <= 420
    part = statistics(spark.sql(f"SELECT * FROM {db}.t WHERE p = 1"))[1]
    assert 50 <= int(part["name"][0]) <= 200  # 100 of the 400 names
    assert part["p"] == ("1", "0", "1", "1")
    rows(analyze)
    versions = rows(f"CALL lake.system.history(table => '{db}.t')")
    assert [version[2] for version in versions][:3] == ["alter", "analyze", "append"]


@pytest.mark.usefixtures("cbo")
def test_comparisons_of_columns_in_many_files(spark: SparkSession, db: str) -> None:
    """Spark estimates comparisons of each type by histograms: at bounds, between files, within one."""
    kinds = {
        "l": "BIGINT", "i": "INT", "f": "FLOAT", "d": "DOUBLE", "m": "DECIMAL(12,3)", "day": "DATE", "at": "TIMESTAMP"
    }  # fmt: skip
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    spark.sql(f"CREATE TABLE {db}.t ({columns}, p INT) PARTITIONED BY (p)")
    value = "(id + 1000 * (id DIV 100)) / 10"
    numbers = ", ".join(f"CAST({value} AS {kinds[name]})" for name in "lifdm")
    spark.sql(
        f"""INSERT INTO {db}.t SELECT {numbers}, DATE '2026-01-01' + CAST({value} AS INT),
        TIMESTAMP_SECONDS(CAST({value} AS BIGINT)), CAST(id DIV 100 AS INT) FROM range(400)"""
    )
    literals = {
        name: [f"CAST({each} AS {kinds[name]})" for each in (0, 0.1, 50, 109.9, 112.3, 339.9)]
        for name in "lifdm"
    }
    literals["day"] = [f"DATE '2026-01-01' + {each}" for each in (0, 5, 50, 112, 339)]
    literals["at"] = [f"TIMESTAMP_SECONDS({each})" for each in (0, 5, 50, 112, 339)]
    each_way = [
        f"{name} {op} {literal}"
        for name in kinds
        for literal in literals[name]
        for op in ("=", "<", "<=", ">", ">=")
    ]
    found, _ = statistics(spark.sql(f"SELECT * FROM {db}.t WHERE {' OR '.join(each_way)}"))
    assert 0 < found <= 400
    below, _ = statistics(spark.sql(f"SELECT * FROM {db}.t WHERE m > 50 OR m > 99"))
    assert below == 300  # no more than the rows of the files that are left
    narrow = " AND ".join(
        f"{name} >= {literals[name][1]} AND {name} < {literals[name][-1]}" for name in kinds
    )
    assert 0 < statistics(spark.sql(f"SELECT * FROM {db}.t WHERE {narrow}"))[0] <= 400
