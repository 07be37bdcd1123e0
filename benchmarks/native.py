"""A native engine's CPU for a scan, a star and a bucketed join: our tables beside stock's, on the same files.

It needs PySpark 4.1, the newest series that Comet has a build for: `make bench SPARK=4.1 BENCH=native`.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, drain, processor_seconds, settings
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.config import series_of
from tests.support.comet import SERIES, with_comet

_ROWS, _PARTITIONS, _ITEMS, _BUCKETS = 4_000_000, 20, 1_000, 8
_ROUNDS, _CALLS = 7, 3
_MAX_RATIO = 1.05
_OURS, _STOCK = "ours", "stock"
_TABLES = ("facts", "items", "orders", "lines")
_QUERIES = {
    "scan": "SELECT s, sum(v), count(*), max(item) FROM {facts} WHERE day < 8 AND item > 100 GROUP BY s",
    "star": "SELECT i.maker, sum(f.v), count(*) FROM {facts} f JOIN {items} i ON f.item = i.item GROUP BY i.maker",
    "star with pruning": (
        "SELECT i.maker, sum(f.v), count(*) FROM {facts} f JOIN {items} i ON f.id_range = i.item "
        "WHERE i.maker = 3 AND i.item < 100 GROUP BY i.maker"
    ),
    "bucketed join": (
        "SELECT /*+ MERGE(l) */ count(*), sum(o.v), sum(l.v) FROM {orders} o JOIN {lines} l ON o.k = l.k"
    ),
}


def run(folder: Path, scale: float) -> Result:
    """Write the tables, read their files as stock tables, too, and ask both sides in turns."""
    if series_of(pyspark.__version__) != SERIES:
        raise SystemExit(f"Comet is for Spark {SERIES}: make bench SPARK={SERIES} BENCH=native")
    spark = _start(folder)
    _load(spark, folder, int(_ROWS * scale))
    result = Result("native")
    for name, query in _QUERIES.items():
        sides = {
            _OURS: query.format(**{table: f"{CATALOG}.bench.native_{table}" for table in _TABLES}),
            _STOCK: query.format(**{table: f"spark_catalog.default.native_{table}" for table in _TABLES}),
        }
        _measure(spark, name, sides, result)
        _measure_without_engine(spark, name, sides[_OURS], result)
    spark.stop()
    return result


def _start(folder: Path) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = with_comet(SparkSession.builder.master("local[2]").appName("Parquetry benchmarks"))
    for name, value in settings(folder).items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.catalogImplementation", "in-memory")
    spark = parquetry.configure(builder, catalog=CATALOG, warehouse=folder / "warehouse").getOrCreate()
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.bench")
    return spark


def _load(spark: SparkSession, folder: Path, rows: int) -> None:
    wide = (
        f"SELECT id, int(id % {_ITEMS}) item, int(id * {_ITEMS} DIV {rows}) id_range, id * 0.5D v, "
        f"concat('s', id % 97) s, int(id * {_PARTITIONS} DIV {rows}) day FROM range({rows})"
    )
    created = {
        "facts": f"PARTITIONED BY (day) AS {wide}",
        "items": f"AS SELECT int(id) item, int(id % 10) maker FROM range({_ITEMS})",
        "orders": _bucketed(f"SELECT id k, id * 0.5D v FROM range({rows // 4})"),
        "lines": _bucketed(f"SELECT id DIV 4 k, id * 0.25D v FROM range({rows})"),
    }
    with parquetry.open(folder / "warehouse") as catalog:
        there = catalog.tables()
    for table, definition in created.items():
        name = f"{CATALOG}.bench.native_{table}"
        if f"bench.native_{table}" not in there:
            spark.sql(f"CREATE TABLE {name} USING parquet {definition}")
        schema = ", ".join(
            f"{field.name} {field.dataType.simpleString()}" for field in spark.table(name).schema
        )
        stock = f"spark_catalog.default.native_{table}"
        layout = {"facts": "PARTITIONED BY (day)", "items": ""}.get(
            table, f"CLUSTERED BY (k) INTO {_BUCKETS} BUCKETS"
        )
        location = folder / "warehouse" / "bench.db" / f"native_{table}"
        spark.sql(f"CREATE TABLE {stock} ({schema}) USING parquet {layout} LOCATION '{location}'")
        if table == "facts":
            spark.sql(f"MSCK REPAIR TABLE {stock}")


def _bucketed(query: str) -> str:
    return (
        f"CLUSTERED BY (k) INTO {_BUCKETS} BUCKETS TBLPROPERTIES ('bucketing-version' = 'spark') AS {query}"
    )


def _measure(spark: SparkSession, name: str, sides: dict[str, str], result: Result) -> None:
    def answer(side: str) -> list[tuple[object, ...]]:
        rows = spark.sql(sides[side]).collect()
        return sorted(tuple(round(v, 2) if isinstance(v, float) else v for v in row) for row in rows)

    if answer(_OURS) != answer(_STOCK):
        raise AssertionError(f"{name}: the answers differ")
    report = parquetry.report(spark.sql(sides[_OURS]))
    result.details[name] = {"report": report.to_dict()}
    timing = take_turns(
        name,
        {side: partial(_ask, spark, query) for side, query in sides.items()},
        _ROUNDS,
        warmups=2,
        calls=_CALLS,
        clock=partial(processor_seconds, spark),
    )
    result.timings.append(timing)
    result.findings.append(
        BenchmarkFinding(
            f"{name} with Comet: CPU of ours to stock's", timing.ratio(_OURS, _STOCK), _MAX_RATIO
        )
    )


def _measure_without_engine(spark: SparkSession, name: str, query: str, result: Result) -> None:
    """Compare both forms of our scans in Spark itself."""

    def ask(form: str) -> None:
        spark.conf.set("parquetry.native-scans", form)
        _ask(spark, query)

    spark.conf.set("spark.comet.enabled", "false")
    forms = {"Spark's form": partial(ask, "on"), "our form": partial(ask, "off")}
    timing = take_turns(
        f"{name}, without an engine", forms, _ROUNDS, 2, _CALLS, partial(processor_seconds, spark)
    )
    spark.conf.unset("spark.comet.enabled")
    spark.conf.unset("parquetry.native-scans")
    result.timings.append(timing)
    what = f"{name} without an engine: CPU of Spark's form to ours"
    result.findings.append(BenchmarkFinding(what, timing.ratio("Spark's form", "our form")))


def _ask(spark: SparkSession, query: str) -> None:
    drain(spark.sql(query))
