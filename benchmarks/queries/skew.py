"""List bucketing: reads of a heavy and a light value in several layouts of the same rows; its write cost.

20 million rows in ten partitions, in random order. `x` has a thousand values: four of them in 80 % of the
rows, or, as `zipf`, each value in proportion to one by its rank. The layouts:

| | |
|---|---|
| skewed | `SKEWED BY (x)` by hand: the four, or of zipf the two that have a twentieth of the rows or more |
| auto | `SKEWED BY (x) ON AUTO`, which finds the same; only loaded |
| plain | partitioned by `ds` only: statistics of files and row groups, and Spark's filters |
| by both | partitioned by `ds` and `x` |
| sorted | `sort-by` `x` |

"Exact" reads the very files that the skewed table reads, listed before the clock starts, by Spark alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, drain, files, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.prune.report.scan import ScanReport

_ROWS = 20_000_000
_DAYS = 10
_LIGHT_VALUE = 777
_HEAVY_VALUE = 1
_COLUMNS = "x INT, v DOUBLE, s STRING, ds INT"
_QUERY = "SELECT count(*), sum(v), max(s) FROM {} WHERE x = {}"
_DRAWN = {
    "four": "IF(rand(1) < 0.8, 1 + floor(rand(2) * 4), 5 + floor(rand(3) * 996))",
    # the inverse of the distribution function of 1 / x over 1 … 1000, which is close to Zipf's
    "zipf": "least(1000, floor(exp(rand(4) * ln(1001))))",
}
_CLAUSES = {"four": "SKEWED BY (x) ON (1, 2, 3, 4)", "zipf": "SKEWED BY (x) ON (1, 2)"}
_ROUNDS_OF_LOADING = 3


def run(folder: Path, scale: float) -> Result:
    """Load each layout, and ask for one heavy value and one light one."""
    spark = start(folder)
    result = Result("skew")
    for name in _DRAWN:
        _compare(spark, folder, scale, name, result)
    spark.stop()
    return result


def _compare(spark: SparkSession, folder: Path, scale: float, name: str, result: Result) -> None:
    rows = _rows(spark, folder, int(_ROWS * scale), name)
    layouts = {
        "skewed": f"PARTITIONED BY (ds) {_CLAUSES[name]} STORED AS DIRECTORIES",
        "plain": "PARTITIONED BY (ds)",
        "by both": "PARTITIONED BY (ds, x)",
        "sorted": "PARTITIONED BY (ds) TBLPROPERTIES ('sort-by' = 'x')",
    }
    auto = f"{CATALOG}.bench.{name}_auto"
    spark.sql(f"DROP TABLE IF EXISTS {auto} PURGE")
    spark.sql(
        f"CREATE TABLE {auto} ({_COLUMNS}) PARTITIONED BY (ds) SKEWED BY (x) ON AUTO STORED AS DIRECTORIES"
    )
    tables = {layout: f"{CATALOG}.bench.{name}_{layout.replace(' ', '_')}" for layout in layouts}
    for layout, clauses in layouts.items():
        spark.sql(f"DROP TABLE IF EXISTS {tables[layout]} PURGE")
        spark.sql(f"CREATE TABLE {tables[layout]} ({_COLUMNS}) {clauses}")
        if layout in ("by both", "sorted"):
            _fill(spark, rows, tables[layout])
    loading = take_turns(
        f"load, {name}",
        {
            layout: partial(_fill, spark, rows, table)
            for layout, table in {**tables, "auto": auto}.items()
            if layout in ("skewed", "plain", "auto")
        },
        rounds=_ROUNDS_OF_LOADING,
    )
    result.timings.append(loading)
    bare = {layout: table.rpartition(".")[2] for layout, table in tables.items()}
    counts = {layout: len(files(folder, table)) for layout, table in bare.items()}
    with parquetry.open(folder / "warehouse") as catalog:
        entries = {layout: catalog.table(f"bench.{table}").partitions for layout, table in bare.items()}
    result.findings += [
        BenchmarkFinding(f"{name}: writing, skewed / plain", loading.ratio("skewed", "plain"), 1.3),
        BenchmarkFinding(f"{name}: writing, auto / plain", loading.ratio("auto", "plain")),
        BenchmarkFinding(f"{name}: files, skewed / by both", counts["skewed"] / counts["by both"], 1 / 20),
        *(
            BenchmarkFinding(f"{name}: files, {layout}", count, unit="files")
            for layout, count in counts.items()
        ),
        *(
            BenchmarkFinding(f"{name}: entries, {layout}", count, unit="entries")
            for layout, count in entries.items()
        ),
    ]
    for kind, value in (("heavy", _HEAVY_VALUE), ("light", _LIGHT_VALUE)):
        _ask(spark, folder, f"{name}, {kind}", value, tables, result)


def _ask(
    spark: SparkSession, folder: Path, job: str, value: int, tables: dict[str, str], result: Result
) -> None:
    """Time the query for one value, and note what each layout reads of how much."""
    exact = [*_selected(folder, tables["skewed"], value)]
    spark.read.parquet(*exact).createOrReplaceTempView("exact_files")
    variants = {
        layout: partial(_run, spark, _QUERY.format(table, value))
        for layout, table in {**tables, "exact": "exact_files"}.items()
    }
    timing = take_turns(job, variants, rounds=15, warmups=5)
    result.timings.append(timing)
    result.findings.append(
        BenchmarkFinding(f"{job}: skewed / exact files", timing.ratio("skewed", "exact"), 1.1)
    )
    result.findings += [
        BenchmarkFinding(f"{job}: skewed / {layout}", timing.ratio("skewed", layout))
        for layout in tables
        if layout != "skewed"
    ]
    for layout, table in tables.items():
        (scan,) = parquetry.explain(spark.sql(_QUERY.format(table, value))).scans
        result.findings += [
            BenchmarkFinding(f"{job}: {step} read, {layout}", _kept(scan, step), unit=step)
            for step in ("files", "bytes")
        ]


def _run(spark: SparkSession, query: str) -> None:
    drain(spark.sql(query))


def _kept(scan: ScanReport, name: str) -> int:
    step = scan.step(name)
    assert step is not None
    return step.kept


def _selected(folder: Path, table: str, value: int) -> list[str]:
    return files(folder, table.rpartition(".")[2], f"x = {value}")


def _fill(spark: SparkSession, rows: str, table: str) -> None:
    spark.sql(f"INSERT OVERWRITE {table} SELECT x, v, s, ds FROM {rows}")


def _rows(spark: SparkSession, folder: Path, count: int, name: str) -> str:
    """Return a view of the rows, made if they are not there yet."""
    path = folder / f"skew_{name}"
    if not (path / "_SUCCESS").exists():
        spark.range(0, count, 1, 8).selectExpr(
            f"CAST({_DRAWN[name]} AS INT) AS x",
            "rand(5) AS v",
            "md5(CAST(id AS STRING)) AS s",
            f"CAST(floor(rand(6) * {_DAYS}) AS INT) AS ds",
        ).write.mode("overwrite").parquet(str(path))
    spark.read.parquet(str(path)).createOrReplaceTempView(f"rows_{name}")
    return f"rows_{name}"
