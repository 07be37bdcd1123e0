"""Sequences of random DELETEs, UPDATEs and MERGEs on tables of random layouts give the rows that plain Spark
computes.
"""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import examples

LAYOUTS = (
    "USING parquet PARTITIONED BY (p)",
    "USING orc PARTITIONED BY (p)",
    "USING parquet",
    "USING parquet PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (v) INTO 3 BUCKETS",
    "USING parquet PARTITIONED BY (p, s) TBLPROPERTIES ('sort-by' = 'v')",
)
COLUMNS = ("id", "v", "s", "p")


class Statements:
    """Random conditions and values, as SQL; `{t}` stands for the table."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choice(self, *texts: str) -> str:
        return self._random.choice(texts)

    def number(self) -> int:
        return self._random.randrange(12)

    def simple(self) -> str:
        return self.choice(
            f"id = {self.number()}", f"v > {self.number()}", f"v <> {self.number()}", "v IS NULL", "s IS NOT NULL",
            f"p = {self.number() % 4}", f"p IN (NULL, {self.number() % 4})", f"s = 's{self.number() % 3}'",
            f"id % {self.number() + 2} = 1", f"p + v = {self.number()}", f"id BETWEEN {self.number()} AND 30",
            f"hash(id) % {self.number() + 1} = 0", "s LIKE '%1'", "NULL", "p <=> NULL",
        )  # fmt: skip

    def condition(self) -> str:
        kind = self._random.randrange(4)
        if kind == 0:
            return self.simple()
        if kind == 1:
            return f"NOT ({self.simple()})"
        return f"({self.simple()}) {self.choice('AND', 'OR')} ({self.simple()})"

    def changes(self) -> dict[str, str]:
        values = {
            "v": self.choice("NULL", "7", "v + 1", "CAST(id AS INT)"), "s": self.choice("NULL", "'s9'", "upper(s)"),
            "p": self.choice("NULL", "1", "5", "v", "p"),
        }  # fmt: skip
        return {
            name: values[name] for name in self._random.sample(sorted(values), self._random.randrange(1, 4))
        }


def rows(spark: SparkSession, query: str) -> list[str]:
    return sorted(str(tuple(row)) for row in spark.sql(query).collect())


@pytest.mark.exhaustive("tests/spark/rows/test_changing.py has each statement, and the layouts")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_statements(spark: SparkSession, db: str, layout: str) -> None:
    """After each of them the table holds the rows that plain Spark computes of those before it."""
    make = Statements(LAYOUTS.index(layout))
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v INT, s STRING, p INT) {layout}")
    for first in (0, 30):
        spark.sql(
            f"INSERT INTO {table} SELECT id, CAST(IF(id % 5 = 0, NULL, id % 11) AS INT), IF(id % 7 = 0, NULL, concat('s', id % 3)), "
            f"CAST(NULLIF(id % 4, 3) AS INT) FROM range({first}, {first + 30})"
        )
    for _ in range(examples(8, least=3)):
        frame = spark.table(table)
        spark.createDataFrame(frame.toArrow(), frame.schema).createOrReplaceTempView("model")
        kind, condition, changes = make.choice("delete", "update", "merge"), make.condition(), make.changes()
        told = f"SELECT *, coalesce({condition}, false) AS c FROM model"
        sets = ", ".join(f"{name} = {value}" for name, value in changes.items())
        if kind == "delete":
            statement, wanted = (
                f"DELETE FROM {table} WHERE {condition}",
                f"SELECT {', '.join(COLUMNS)} FROM ({told}) WHERE NOT c",
            )
        elif kind == "update":
            values = (f"IF(c, {changes[name]}, {name})" if name in changes else name for name in COLUMNS)
            statement, wanted = (
                f"UPDATE {table} SET {sets} WHERE {condition}",
                f"SELECT {', '.join(values)} FROM ({told})",
            )
        else:
            step = make.number() + 1
            spark.sql(
                f"SELECT id * {step} AS k, CAST(id AS INT) AS w FROM range(15) UNION ALL SELECT NULL, 0"
            ).createOrReplaceTempView("news")
            values = (f"IF(k IS NULL, {name}, {changes.get(name, name)})" for name in COLUMNS)
            statement = (
                f"MERGE INTO {table} AS t USING news ON t.id = k WHEN MATCHED AND {condition} THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED AND w <> 3 THEN INSERT (id, v) VALUES (k, w)"
            )
            wanted = (
                f"SELECT {', '.join(values)} FROM ({told}) LEFT JOIN news ON id = k WHERE k IS NULL OR NOT c "
                "UNION ALL SELECT k, w, NULL, NULL FROM news LEFT ANTI JOIN model ON id = k WHERE w <> 3"
            )
        expected = rows(spark, wanted)
        try:
            spark.sql(statement)
        except Exception as error:
            if "MERGE_CARDINALITY_VIOLATION" not in str(error):
                raise AssertionError(f"{layout}: {statement}") from error
            continue  # a MERGE has inserted a key again; no row changes
        assert rows(spark, f"SELECT * FROM {table}") == expected, f"{layout}: {statement}"
    assert spark.sql(f"CALL lake.system.fsck('{table.removeprefix('lake.')}')").collect() == []
