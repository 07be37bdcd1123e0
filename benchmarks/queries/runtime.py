"""The cost of run-time pruning where its values leave nothing out: joins with it and without.

Ten million rows in 200 partitions are joined with small tables that hold every value of the key. The answers
are compared.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, drain, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_ROWS = 10_000_000
_PARTITIONS, _ITEMS = 200, 1_000
_ROUNDS = 21
_MAX_RATIO = 1.02
_SETTING = "parquetry.runtime-pruning"
_FACTS = f"{CATALOG}.bench.runtime_facts"
_DAYS = f"{CATALOG}.bench.runtime_days"
_ITEM_TABLE = f"{CATALOG}.bench.runtime_items"
_SUM = "count(*), sum(f.amount), sum(f.quantity)"


class _RuntimeJoin(NamedTuple):
    """A join, and how large a table may be that is broadcast."""

    sql: str
    broadcast: str = "10mb"


_SHAPES = {
    "partitions, by a shared broadcast": _RuntimeJoin(
        f"SELECT d.week, {_SUM} FROM {_FACTS} f JOIN {_DAYS} d ON f.day = d.day GROUP BY d.week"
    ),
    "files, by a shared broadcast": _RuntimeJoin(
        f"SELECT i.maker, {_SUM} FROM {_FACTS} f JOIN {_ITEM_TABLE} i ON f.item = i.item GROUP BY i.maker"
    ),
    "both": _RuntimeJoin(
        f"SELECT d.week, i.maker, {_SUM} FROM {_FACTS} f JOIN {_DAYS} d ON f.day = d.day "
        f"JOIN {_ITEM_TABLE} i ON f.item = i.item GROUP BY d.week, i.maker"
    ),
    "the small table is read once more": _RuntimeJoin(
        f"SELECT i.maker, {_SUM} FROM {_FACTS} f JOIN {_ITEM_TABLE} i ON f.item = i.item GROUP BY i.maker",
        "-1",
    ),
    "a range": _RuntimeJoin(
        f"SELECT d.week, {_SUM} FROM {_FACTS} f JOIN {_DAYS} d ON f.day = d.day AND f.item >= d.least "
        "GROUP BY d.week"
    ),
}


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and join them in each shape, with values and without."""
    spark = start(folder)
    _load(spark, folder, int(_ROWS * scale))
    result = Result("runtime")
    for name, shape in _SHAPES.items():
        _measure(spark, name, shape, result)
    spark.stop()
    return result


def _load(spark: SparkSession, folder: Path, rows: int) -> None:
    with parquetry.open(folder / "warehouse") as catalog:
        if "bench.runtime_items" in catalog.tables():
            return
    spark.sql(
        f"CREATE OR REPLACE TABLE {_FACTS} USING parquet PARTITIONED BY (day) AS "
        f"SELECT id, CAST(pmod(hash(id), {_ITEMS}) AS INT) AS item, id % 97 AS quantity, rand(7) AS amount, "
        f"CAST(id % {_PARTITIONS} AS INT) AS day FROM range({rows})"
    )
    spark.sql(
        f"CREATE OR REPLACE TABLE {_DAYS} USING parquet AS SELECT CAST(id AS INT) AS day, id DIV 7 AS week, "
        f"0 AS least FROM range({_PARTITIONS})"
    )
    spark.sql(
        f"CREATE OR REPLACE TABLE {_ITEM_TABLE} USING parquet AS SELECT CAST(id AS INT) AS item, id % 10 AS maker "
        f"FROM range({_ITEMS})"
    )


def _measure(spark: SparkSession, name: str, shape: _RuntimeJoin, result: Result) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", shape.broadcast)
    spark.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", shape.broadcast)

    def join(pruning: str) -> None:
        spark.conf.set(_SETTING, pruning)
        drain(spark.sql(shape.sql))

    def answer(pruning: str) -> list[tuple[object, ...]]:
        spark.conf.set(_SETTING, pruning)
        rows = spark.sql(shape.sql).collect()
        return sorted(tuple(round(v, 2) if isinstance(v, float) else v for v in row) for row in rows)

    if answer("true") != answer("false"):
        raise AssertionError(f"{name}: the answers differ")
    timing = take_turns(name, {"values": partial(join, "true"), "none": partial(join, "false")}, _ROUNDS)
    result.timings.append(timing)
    result.findings.append(
        BenchmarkFinding(
            f"{name}: with values that leave nothing out", timing.ratio("values", "none"), _MAX_RATIO
        )
    )
