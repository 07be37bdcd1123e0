"""Random stars and snowflakes return plain Spark's rows.

They have all types of joins, several facts, groups, NULLs and keys of mixed types.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import examples
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

pytestmark = pytest.mark.exhaustive(
    "tests/spark/runtime/test_joins.py::test_shapes shows it of a sample of shapes, and "
    "tests/spark/bucketing/test_joins_random.py joins at random"
)

CASES = 200
DATABASE = "lake.random_run_time"
TYPES = ("int", "bigint", "smallint", "string")
JOINS = ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
LAYOUTS = {
    "parts": ("v int, x int, k {}", "PARTITIONED BY (k)"),
    "files": ("k {}, v int, x int", "TBLPROPERTIES ('distribution' = 'none')"),
    "buckets": ("k {}, v int, x int", "CLUSTERED BY (k) INTO 4 BUCKETS"),
    "orc": ("k {}, v int, x int", "USING orc TBLPROPERTIES ('distribution' = 'none')"),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Fact tables in several layouts, with dimensions and dimensions of these, and a view of the rows of
    each.
    """
    spare_classes(spark)
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    chance = random.Random(3)
    views: dict[str, str] = {}

    def made(name: str, columns: str, clause: str, rows: str) -> None:
        spark.sql(f"CREATE TABLE {DATABASE}.{name} ({columns}) {clause}")
        order = ", ".join(column.split()[0] for column in columns.split(", "))
        spark.sql(f"INSERT INTO {DATABASE}.{name} SELECT {order} FROM ({rows})")
        views[name] = f"plain_random_{name}"
        local_view(spark.table(f"{DATABASE}.{name}"), views[name])

    for layout, (columns, clause) in LAYOUTS.items():
        type = chance.choice(TYPES[:2])
        rows = (
            "SELECT IF(id % 11 = 3, NULL, CAST(id DIV 10 AS INT)) k, id v, IF(id % 5 = 0, NULL, id % 9) x "
            "FROM range(0, 200, 1, 5)"
        )
        made(f"fact_{layout}", columns.format(type), clause, rows)
    for number in range(5):
        type = chance.choice(TYPES[:3]) if number < 4 else "string"
        count, start = chance.randint(2, 9), chance.randint(0, 12)
        rows = (
            f"SELECT IF(id % 4 = 1, NULL, CAST(id + {start} AS {type})) k, IF(id = 2, NULL, id % 5) y, concat('n', id) name "
            f"FROM range(0, {count}, 1, 1) UNION ALL SELECT CAST(7 AS {type}), 1, 'twice'"
        )
        made(f"dim_{number}", f"k {type}, y int, name string", "", rows)
    for number, start in enumerate((3, 9)):
        rows = (
            f"SELECT IF(id = 4, NULL, id + {start}) k, id % 5 y, concat('n', id) name FROM range(0, 6, 1, 1)"
        )
        made(f"dim_{5 + number}", "y int, name string, k int", "PARTITIONED BY (k)", rows)
    for number in range(2):
        rows = f"SELECT IF(id = 3, NULL, id) y, concat('m', id) label FROM range(0, {4 + number}, 1, 1)"
        made(f"far_{number}", "y int, label string", "", rows)
    yield views
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def drawn(chance: random.Random) -> str:
    """Return a query with the names of tables in braces."""
    source = f"{{fact_{chance.choice(list(LAYOUTS))}}} f"
    visible = ["f.k", "f.v", "f.x"]
    where = []
    if chance.random() < 0.2:
        where.append(chance.choice(["f.v < 150", "f.x > 3", "f.k IS NOT NULL"]))
    for number in range(chance.randint(1, 3)):
        join, alias = chance.choice(JOINS), f"t{number}"
        keys = [name for name in visible if name.endswith(".k")]
        links = [name for name in visible if name.endswith((".y", ".x"))]
        if keys and chance.random() < 0.1:
            table, on, columns = (
                f"{{fact_{chance.choice(list(LAYOUTS))}}}",
                (chance.choice(keys), "k"),
                ["k", "x"],
            )
        elif not links or (keys and chance.random() < 0.65):
            table, on, columns = (
                f"{{dim_{chance.choice((0, 1, 2, 3, 4, 5, 5, 6, 6))}}}",
                (chance.choice(keys), "k"),
                ["k", "y", "name"],
            )
        else:
            table, on, columns = (
                f"{{far_{chance.randint(0, 1)}}}",
                (chance.choice(links), "y"),
                ["y", "label"],
            )
        if chance.random() < 0.4:
            text = columns[-1]
            of_text = [f"{text} < '{text[0]}3'", f"{text} LIKE '%1'"] if text != "x" else ["v < 60"] * 2
            some = chance.choice([*of_text, f"{text} IS NOT NULL", f"{columns[0]} > 2"])
            table = f"(SELECT * FROM {table} WHERE {some})"
        other = f"{alias}.{on[1]}"
        more = f"{alias}.{'x' if columns[-1] == 'x' else 'y'}"
        condition = chance.choice(
            [
                *([f"{on[0]} = {other}"] * 16),
                f"{on[0]} <=> {other}",
                f"{on[0]} < {other}",
                f"{other} <= {on[0]}",
                f"{on[0]} = {other} OR {on[0]} = {more}",
                f"{on[0]} BETWEEN {more} AND {other}",
            ]
        )
        if "f.v" in visible and chance.random() < 0.1:
            condition = f"({condition}) AND f.v > {chance.randint(0, 100)}"
        added = [f"{alias}.{column}" for column in columns]
        semi = join in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
        if number == 0 and chance.random() < 0.3:
            source = f"{table} {alias} {join} {source} ON {condition}"
            visible, where = (added, []) if semi else (visible + added, where)
        else:
            source = f"{source} {join} {table} {alias} ON {condition}"
            visible = visible if semi else visible + added
        if {"f.k", "f.v", "f.x"} <= set(visible) and chance.random() < 0.15:
            source = f"(SELECT f.k, f.x, count(*) v FROM {source} GROUP BY f.k, f.x) f"
            visible = ["f.k", "f.v", "f.x"]
    hint = chance.choice(["", "", "/*+ MERGE(t0) */", "/*+ BROADCAST(t0) */", "/*+ SHUFFLE_HASH(t0) */"])
    picked = chance.sample(visible, chance.randint(1, len(visible)))
    asked = f" WHERE {' AND '.join(where)}" if where else ""
    return (
        f"SELECT {hint} {', '.join(f'{name} AS c{i}' for i, name in enumerate(picked))} FROM {source}{asked}"
    )


def test_random_joins(spark: SparkSession, tables: dict[str, str]) -> None:
    """Random joins return plain Spark's rows with and without adaptive execution.

    Values come in many of them, from broadcasts and from separate reads.
    """
    chance = random.Random(23)
    served: Counter[str] = Counter()
    for case in range(examples(CASES)):
        query = drawn(chance)
        given = {
            "spark.sql.adaptive.enabled": chance.random() < 0.5,
            "spark.sql.autoBroadcastJoinThreshold": chance.choice(["10mb", "10mb", "-1"]),
        }
        with settings(spark, given):
            frame = spark.sql(query.format(**{name: f"{DATABASE}.{name}" for name in tables}))
            found = plans.comparable(frame.collect())
            expected = plainly(spark, query.format(**tables))
            assert found == expected, (case, query, given)
            for each in parquetry.report(frame).values:
                served[
                    each.how
                    if each.how in ("spark", "known", "refused")
                    else "shared"
                    if each.shared
                    else "read"
                ] += 1
    assert set(served) == {"spark", "known", "refused", "shared", "read"}
    assert min(served.values()) > examples(CASES) // 40, served
