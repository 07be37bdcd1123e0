"""Conditions that need a function prune directories of heavy values on skewed columns, as they prune
partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import alternating, examples
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, spare_classes

Rows = Callable[..., list[tuple[Any, ...]]]

HEAVY = {
    1: (("x", "y"), [(10, "a"), (10, "b"), (20, "c")]),
    2: (("x",), [(10,), (30,), (None,)]),
    3: ((), []),
    4: (("y",), [("",), ("a",), (None,)]),
}
"""The skewed columns of each partition, and their heavy values: 4 directories, 4, a plain one, 4."""
VIEWS = {
    "plain": "SELECT x, y, v, day FROM VALUES (10), (20), (30), (40), (NULL) AS x(x), VALUES ('a'), ('b'), ('c'), (''), (NULL) AS y(y), "
    "VALUES (0), (1), (7) AS v(v), VALUES (1), (2), (3), (4) AS day(day)",
    "cells": "SELECT * FROM VALUES (10, 'a', 1), (10, 'b', 1), (20, 'c', 1) AS t(x, y, day)",
}


def literal(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def clause(columns: Sequence[str], values: Sequence[tuple[Any, ...]]) -> str:
    if not columns:
        return "NOT SKEWED"
    tuples = ", ".join(f"({', '.join(map(literal, row))})" for row in values)
    if len(columns) == 1:
        tuples = tuples.replace("(", "").replace(")", "")
    return f"SKEWED BY ({', '.join(columns)}) ON ({tuples}) STORED AS DIRECTORIES"


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A table of each format whose partitions are skewed by different columns, and a view `plain` of the same
    rows.
    """
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.functions_of_heavy")
    name = f"lake.functions_of_heavy.t_{request.param}"
    spark.sql(
        f"CREATE TABLE {name} (x INT, y STRING, v INT, day INT) USING {request.param} PARTITIONED BY (day) "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    for view, query in VIEWS.items():
        local_view(spark.sql(query), view)
    for day, (columns, values) in HEAVY.items():
        spark.sql(f"ALTER TABLE {name} {clause(columns, values)}")
        spark.sql(
            f"INSERT OVERWRITE {name} PARTITION (day = {day}) SELECT x, y, v FROM plain WHERE day = {day}"
        )
    yield name
    spark.sql("DROP NAMESPACE lake.functions_of_heavy CASCADE")


def counts(query: str) -> dict[str, tuple[int, int]]:
    """Return how many directories and files a query reads of how many."""
    (scan,) = parquetry.explain(query).to_dict()["scans"]
    return {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}


def check_rows(spark: SparkSession, table: str, conditions: Sequence[str], plain: str = "plain") -> None:
    """Compare the rows of conditions with the same rows of a table without directories."""
    query = " UNION ALL ".join(
        f"SELECT {n} AS n, * FROM {{0}} WHERE {where}" for n, where in enumerate(conditions)
    )
    found = plans.comparable(spark.sql(query.format(table)).collect())
    assert found == plainly(spark, query.format(plain))


def tried(conditions: Iterable[str], table: str) -> Sequence[str]:
    """Return the conditions that are tried with a table: in a sample, every other one with each format."""
    return alternating(list(conditions), table.endswith("orc"))


ONE_MAP = {
    "upper(y) = 'B' AND x = 10": 2,
    "concat(y, x) = 'a10'": 2,
    "coalesce(x, 0) = 0": 1,
    "CASE WHEN x = 10 THEN y = 'a' ELSE false END": 2,
    # with a partition column, and with a column that is not skewed
    "x + day = 11": 3,
    "upper(y) = 'A' AND v + 1 > 1 OR x + 10 = 30": 3,
    "upper(y) = 'A' OR v + 1 > 3": 4,
    "v + 1 > 3": 4,
    # forms that Spark hands to no source
    "y RLIKE '^[bc]'": 3,
    "exists(array('a'), each -> each = y)": 2,
    "named_struct('a', x, 'b', y) = named_struct('a', 10, 'b', 'b')": 2,
    f"(x, y) IN ((20, 'c'), {', '.join(str((n, 'q')) for n in range(120))})": 2,
    # what is not deterministic decides nothing, and what stands beside it does
    "upper(y) = 'A' AND rand() < 2": 2,
    "upper(y) = 'A' OR rand() < 2": 4,
}  # fmt: skip
"""Conditions on a partition with directories for (10, 'a'), (10, 'b'), (20, 'c') and all others, and how many
directories remain.
"""
FAILING = {
    "x <> 20 AND 100 / (x - 20) < 0": 3,
    "v = 5 AND 100 / (x - 20) < 0": 4,
    "v = 5 AND CAST(y AS INT) = 1": 4,
    "v = 5 AND CAST(x * 300000000 AS INT) > 0": 4,
    "v = 5 AND CASE WHEN x = 10 THEN false ELSE raise_error('never') END": 2,
}
"""Conditions on the same directories that cannot be evaluated for some values. Spark reads the rows, and the
part before decides.
"""
ALL_MAPS = {
    "upper(y) = 'A'": 9,
    "coalesce(x, 0) = 0": 8,
    "length(y) = 0 OR x + 0 = 30": 10,
    "length(y) = 0 AND x + 0 = 30": 5,  # of all others of day 2 none has 30
    "x + day = 12": 8,
    "x + day = 12 AND v >= 0 OR day = 4": 8,
    "concat(coalesce(y, 'N'), day) = 'N4'": 8,
    "concat(y, '') = ''": 7,  # the rest of day 4 has none, as the empty text has a directory there
    "coalesce(y, '') = ''": 9,
}
"""Conditions on all partitions, and how many of 13 directories they leave."""


class TestExact:
    """Counts of directories and files."""

    def test_of_one_partition(self, spark: SparkSession, table: str, rows: Rows) -> None:
        """A query reads the directories whose values satisfy its condition, and the directory of all others;
        each has one file.
        """
        some = tried(ONE_MAP, table)
        check_rows(spark, table, [f"day = 1 AND ({where})" for where in some])
        for where in some:
            kept = ONE_MAP[where]
            found = counts(f"SELECT * FROM {table} WHERE day = 1 AND ({where})")
            assert (found["directories"], found["files"]) == ((kept, 4), (kept, kept)), where

    def test_errors_keep_directories(self, spark: SparkSession, table: str, rows: Rows) -> None:
        """An error in evaluation is none of the query; a directory is read all the same."""
        assert spark.conf.get("spark.sql.ansi.enabled") == "true"
        for where in tried(FAILING, table):
            kept = FAILING[where]
            query = f"SELECT * FROM {table} WHERE day = 1 AND {where}"
            assert len(rows(query)) == (15 if "x <> 20" in where else 0), where
            found = counts(query)
            assert (found["directories"], found["files"]) == ((kept, 4), (kept, kept)), where

    def test_of_partitions_with_other_maps(self, spark: SparkSession, table: str, rows: Rows) -> None:
        """Each partition goes by its own map; NULL and the empty text have directories of their own."""
        some = tried(ALL_MAPS, table)
        check_rows(spark, table, some)
        for where in some:
            assert counts(f"SELECT * FROM {table} WHERE {where}")["directories"][0] == ALL_MAPS[where], where

    def test_random_expressions(self, spark: SparkSession, table: str, rows: Rows) -> None:
        """A query reads exactly the heavy tuples that satisfy a random condition by brute force."""
        chance = Random(f"functions {table}")
        numbers = [
            "x",
            "day",
            "x % 7",
            "length(y)",
            "ascii(y)",
            "x * day - 9",
            "coalesce(x, 3)",
            "nullif(x, 20)",
            "hash(x, y) % 5",
        ]
        texts = [
            "y",
            "upper(y)",
            "concat(y, x)",
            "lpad(y, 2, 'z')",
            "reverse(concat(x, y))",
            "coalesce(y, 'q')",
            "substr(concat(x, y), 2)",
        ]

        def leaf() -> str:
            if chance.random() < 0.5:
                right = chance.choice([*numbers, *map(str, (0, 1, 3, 6, 10, 20, 97))])
                return f"{chance.choice(numbers)} {chance.choice(['=', '<', '>=', '<>', '<=>'])} {right}"
            right = chance.choice([*texts, "'B'", "'a10'", "'0a'", "'c'"])
            return f"{chance.choice(texts)} {chance.choice(['=', '<', '>=', '<>'])} {right}"

        def condition(depth: int) -> str:
            if depth == 0:
                return leaf()
            left, right = condition(depth - 1), condition(chance.randrange(depth))
            return chance.choice(
                [
                    f"({left} AND {right})",
                    f"({left} OR {right})",
                    f"NOT ({left})",
                    f"IF({leaf()}, {left}, {right})",
                ]
            )

        conditions = [condition(chance.randint(0, 3)) for _ in range(examples(24, 8))]
        check_rows(spark, table, conditions)
        true = rows("SELECT " + ", ".join(f"count_if({each})" for each in conditions) + " FROM cells")[0]
        for where, heavy in zip(conditions, true, strict=True):
            kept, _ = counts(f"SELECT * FROM {table} WHERE {where} AND day = 1")["directories"]
            assert kept in (heavy, heavy + 1), (
                where
            )  # the planner may know that all others are not in question
        assert any(true)

    def test_values_are_evaluated_once(
        self, spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many partitions have them; of what is understood none, and none of a table without
        directories.
        """
        from parquetry.planner import planner
        from parquetry.planner.protocol import questions
        from parquetry.planner.scans import scans

        given: list[list[int]] = []

        def counting(lake: Any, question: Any) -> Any:
            answer = scans.heavy_values(lake, question)
            given.append([len(found.rows) for each in answer.values for found in each])
            return answer

        monkeypatch.setitem(planner._ANSWERS, questions.HeavyValues, counting)
        # of a new version, the session has no answer yet
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('evaluated' = 'once')")
        for where, expected in {
            "upper(y) = 'A'": [[3, 3]],
            "concat(x, y) = '10a'": [[3, 3, 3]],
            "day = 1 AND x + 1 = 11 AND upper(y) = 'A'": [[2, 3]],
            "day IN (1, 3) AND x + day = 11": [[2]],
            "x = 10 AND y LIKE 'a%' AND v > 3": [],
        }.items():
            given.clear()
            counts(f"SELECT * FROM {table} WHERE {where}")
            assert [sorted(each) for each in given] == expected, where


class TestBeside:
    """With what else tables have, and where else conditions stand."""

    def test_report_and_shared_scans(self, spark: SparkSession, table: str) -> None:
        """The report names the condition; subqueries of one table each have their own directories."""
        frame = spark.sql(
            f"SELECT * FROM {table} WHERE day = 1 AND y RLIKE '^[bc]' AND concat(y, x) = 'b10' AND v % 2 = 1"
        )
        frame.collect()
        assert (
            "directories 2 of 4 (CONCAT(y, CAST(x AS string)) = 'b10' AND RLIKE(y, '^[bc]')) · files 2 of 2"
            in str(parquetry.report(frame))
        )
        both = spark.sql(
            f"SELECT (SELECT count(*) FROM {table} WHERE day = 1 AND upper(y) = 'A'), (SELECT count(*) FROM {table} WHERE day = 1 AND upper(y) = 'B'), "
            f"(SELECT sum(v) FROM {table} WHERE day = 1 AND upper(y) = 'B')"
        )
        assert [tuple(row) for row in both.collect()] == [(15, 15, 40)]
        assert str(parquetry.report(both)).count("directories 2 of 4 (UPPER(y) = ") >= 2

    def test_buckets_places_and_other_names(
        self, spark: SparkSession, db: str, rows: Rows, tmp_path: Any
    ) -> None:
        """Pruning works with buckets within directories, with directories elsewhere, with a renamed skewed
        column, and for DELETE, UPDATE and MERGE.
        """
        spark.sql(
            f"CREATE TABLE {db}.t (x INT, c CHAR(3), day DATE, v INT, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (v) INTO 2 BUCKETS "
            "SKEWED BY (x, c, day) ON ((1, 'a', DATE'2026-01-31'), (2, 'b', NULL), (3, 'cc', DATE'2026-02-01')) STORED AS DIRECTORIES "
            "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
        )
        spark.sql(
            f"ALTER TABLE {db}.t SET SKEWED LOCATION ((1, 'a', DATE'2026-01-31') = 'file:{tmp_path}/far')"
        )
        spark.sql(
            f"INSERT INTO {db}.t SELECT x, c, IF(x = 2, NULL, date_add(DATE'2026-01-30', x - IF(x = 3, 1, 0))), v, p FROM VALUES (1, 'a'), (2, 'b'), (3, 'cc'), (9, 'z') "
            "AS t(x, c), VALUES (0), (1), (2), (3) AS v(v), VALUES (1), (2) AS p(p)"
        )
        spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN day TO d")
        model = spark.table(f"{db}.t")
        local_view(model, "model")
        expected = {
            "d + INTERVAL 1 DAY = DATE'2026-02-01'": (4, 8),
            "month(d) = 2 AND p = 1": (2, 4),
            "trim(c) = 'cc'": (4, 8),
            "length(c) = 3": (8, 8),
            "concat(c, '|') = 'a  |' OR x + p = 4": (6, 8),
            "c = 'b' AND abs(x) = 2": (4, 8),
            "c = 'b'": (4, 8),
            "coalesce(d, DATE'1970-01-01') < DATE'2000-01-01'": (4, 8),
        }
        check_rows(spark, f"{db}.t", list(expected), "model")
        for where, kept in expected.items():
            found = counts(f"SELECT * FROM {db}.t WHERE {where}")
            assert found["directories"] == kept, where
        for statement, left in {
            f"DELETE FROM {db}.t WHERE month(d) = 2 AND v % 2 = 0": "SELECT * FROM model WHERE NOT coalesce(month(d) = 2 AND v % 2 = 0, false)",
            f"UPDATE {db}.t SET v = v + 10 WHERE trim(c) = 'b' AND x + p = 4": "SELECT x, c, d, IF(trim(c) = 'b' AND x + p = 4, v + 10, v), p FROM model",
            f"MERGE INTO {db}.t USING (SELECT 1 AS k) s ON abs(x) = s.k AND concat(x, c) = '1a  ' WHEN MATCHED THEN DELETE": "SELECT * FROM model WHERE x <> 1",
        }.items():
            wanted = sorted(map(str, rows(left)))
            spark.sql(statement)
            local_view(spark.table(f"{db}.t"), "model")
            assert sorted(map(str, rows("SELECT * FROM model"))) == wanted, statement
