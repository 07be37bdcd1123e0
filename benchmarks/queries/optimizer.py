"""Plans of the 99 queries of TPC-DS, by what Spark's optimizer knows of their tables.

The facts have eight files each, sorted by their date. Spark's own tables have the same rows in as many files.

| variant | |
|---|---|
| ours | tables of Parquetry; nothing is analysed |
| ours, counted | the same, after ANALYZE TABLE … FOR ALL COLUMNS |
| unanalysed | tables of Spark's own catalog |
| analysed | the same files, after ANALYZE TABLE … COMPUTE STATISTICS FOR ALL COLUMNS |

Each query is planned with the cost-based optimizer and its join reorder on and off. So it is with adaptive
execution on, if `PARQUETRY_BENCH_RUN` is set: such a query has to run until its plan is final. The shuffles,
broadcasts and sorts of plans are counted.

Then the processor's time is measured: the queries with other numbers, which are new to all caches, planned in
our tables and in Spark's own, query by query.

Besides, the rows that the optimizer expects of each filtered table are compared with the rows that there are.
The table in `docs/concepts.md` is written anew (`optimizer_table`).
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from benchmarks.lake import CATALOG, drain, planning_seconds, start
from benchmarks.measure import BenchmarkFinding, Result
from benchmarks.queries.optimizer_table import write_table
from benchmarks.tpcds.layouts import FACTS
from benchmarks.writing.loading import raw
from demo.tpcds import DERIVED, query_texts

_FILES_OF_FACT = 8
_SCHEMAS = {
    "ours": f"{CATALOG}.tpcds_plans",
    "ours, counted": f"{CATALOG}.tpcds_counted",
    "unanalysed": "spark_catalog.unanalysed",
    "analysed": "spark_catalog.analysed",
}
_OPTIMIZER = ("spark.sql.cbo.enabled", "spark.sql.cbo.joinReorder.enabled")
_ADAPTIVE = "spark.sql.adaptive.enabled"
_NODES = {
    "shuffles": ("Exchange hashpartitioning", "Exchange rangepartitioning"),
    "broadcasts": ("BroadcastExchange",),
    "sorts": ("Sort [",),
}
"""The names of nodes in a plan's text."""
_TIMED = ("ours", "unanalysed", "analysed")
_ROUNDS_OF_TIME = 3
_NUMBER = re.compile(r"(?:(?<=[=<>(])|(?<=[=<>] )|(?<=(?i:between) ))\d+(?![\w.'-])")
"""A whole number that a query compares something with. It matches no position of a column."""
_NEAR = 2.0
"""How many times as many rows as there are, or as few, count as a near estimate."""


def run(folder: Path, scale: float) -> Result:
    """Load the tables, and plan all queries in each variant."""
    spark = start(folder)
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    _load(spark, folder, scale)
    result = Result("optimizer")
    texts = query_texts()
    runs = ("off", "on") if os.environ.get("PARQUETRY_BENCH_RUN") else ("off",)
    for name in ("ours", "ours, counted"):
        _distinct(spark, name, list(raw(folder, scale).rows), result)
    for optimizer in ("on", "off"):
        for adaptive in runs:
            plans = {name: _plan_all(spark, name, texts, optimizer, adaptive) for name in _SCHEMAS}
            _compare(result, plans, f"CBO {optimizer}, AQE {adaptive}")
    for optimizer in ("on", "off"):
        _time(spark, texts, optimizer, result)
    for name in ("ours", "ours, counted", "analysed"):
        _rows(spark, name, texts, result)
    write_table(result, scale)
    spark.stop()
    return result


def _load(spark: SparkSession, folder: Path, scale: float) -> None:
    source = raw(folder, scale)
    for schema in _SCHEMAS.values():
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {schema}")
    for table in (name for name in source.rows if name not in DERIVED):
        path = folder / "spark-warehouse" / "unanalysed.db" / table
        frame = spark.read.parquet(str(source.file(table)))
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
        if table in FACTS:
            frame = frame.repartitionByRange(_FILES_OF_FACT, FACTS[table][0]).sortWithinPartitions(
                *FACTS[table]
            )
        if not (path / "_SUCCESS").exists():
            print(f"writing {table}", flush=True)
            frame.write.mode("overwrite").parquet(str(path))
        for name in ("unanalysed", "analysed"):  # Spark forgets its tables when the session ends
            spark.sql(f"CREATE TABLE {_SCHEMAS[name]}.{table} ({columns}) USING parquet LOCATION '{path}'")
        spark.sql(f"ANALYZE TABLE {_SCHEMAS['analysed']}.{table} COMPUTE STATISTICS FOR ALL COLUMNS")
        frame.createOrReplaceTempView("to_load")
        for name in ("ours", "ours, counted"):
            ours = f"{_SCHEMAS[name]}.{table}"
            if not spark.catalog.tableExists(ours):
                spark.sql(
                    f"CREATE TABLE {ours} USING parquet TBLPROPERTIES ('distribution' = 'none') AS SELECT * FROM to_load"
                )
                if name == "ours, counted":
                    spark.sql(f"ANALYZE TABLE {ours} COMPUTE STATISTICS FOR ALL COLUMNS")


def _use(spark: SparkSession, name: str) -> None:
    spark.sql(f"USE {_SCHEMAS[name]}")


def _plan_all(
    spark: SparkSession, name: str, texts: dict[int, str], optimizer: str, adaptive: str
) -> dict[int, dict[str, int]]:
    """Return how many nodes of each kind the plan of each query has."""
    _set(spark, optimizer, adaptive)
    _use(spark, name)
    plans = {}
    for number, text in texts.items():
        frame = spark.sql(text)
        plan = frame._jdf.queryExecution().executedPlan()
        if adaptive == "on":
            drain(frame)
        text_of_plan = without_initial_plans(str(plan.toString()))
        plans[number] = {
            kind: sum(text_of_plan.count(node) for node in nodes) for kind, nodes in _NODES.items()
        }
    total = {kind: sum(plan[kind] for plan in plans.values()) for kind in _NODES}
    print(f"{name}, CBO {optimizer}, AQE {adaptive}: {total}", flush=True)
    return plans


def without_initial_plans(text: str) -> str:
    """Return a plan's text without the plans that adaptive execution began with, in subqueries, too.

    >>> text = '''+- == Final Plan ==
    ... Scan
    ... :  +- == Initial Plan ==
    ... :     Sort
    ... +- Filter
    ... +- == Initial Plan ==
    ...    Sort'''
    >>> print(without_initial_plans(text))
    +- == Final Plan ==
    Scan
    +- Filter
    """
    lines: list[str] = []
    within: int | None = None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" :"))
        if within is not None and depth > within:
            continue
        within = depth if line.lstrip(" :").startswith("+- == Initial Plan ==") else None
        if within is None:
            lines.append(line)
    return "\n".join(lines)


def _set(spark: SparkSession, optimizer: str, adaptive: str) -> None:
    for setting in _OPTIMIZER:
        spark.conf.set(setting, str(optimizer == "on").lower())
    spark.conf.set(_ADAPTIVE, str(adaptive == "on").lower())


def _time(spark: SparkSession, texts: dict[int, str], optimizer: str, result: Result) -> None:
    """Measure the processor's time of planning, side by side, with queries that are new each time.

    All queries were planned before, so that the JVM has compiled what planning needs.
    """
    _set(spark, optimizer, "off")
    seconds: dict[str, list[float]] = {name: [] for name in _TIMED}
    for turn in range(1, _ROUNDS_OF_TIME + 1):
        spent = dict.fromkeys(_TIMED, 0.0)
        for text in texts.values():
            other = _renumbered(text, turn)
            if other == text:  # it would be known
                continue
            each = {name: _planning_time(spark, name, other) for name in _TIMED}
            spent = {name: spent[name] + each[name] for name in _TIMED}
        for name in _TIMED:
            seconds[name].append(spent[name])
        print(f"CBO {optimizer}: seconds of the processor in planning: {spent}", flush=True)
    for name in _TIMED[1:]:
        ratios = [ours / theirs for ours, theirs in zip(seconds["ours"], seconds[name], strict=True)]
        what = f"CBO {optimizer}: processor in planning new queries, ours / {name}"
        result.findings.append(BenchmarkFinding(what, statistics.median(ratios)))
    result.details[f"CBO {optimizer}: processor in planning"] = seconds


def _planning_time(spark: SparkSession, name: str, text: str) -> float:
    _use(spark, name)
    started = planning_seconds(spark)
    spark.sql(text)._jdf.queryExecution().executedPlan()
    return planning_seconds(spark) - started


def _renumbered(text: str, turn: int) -> str:
    """Return a query with other numbers: years of the data, and numbers a little greater."""

    def other(match: re.Match[str]) -> str:
        value = int(match[0])
        if 1990 <= value <= 2010:
            return str(1998 + (value - 1998 + turn) % 5)
        return str(value + turn) if value > 1 else match[0]

    return _NUMBER.sub(other, text)


def _compare(result: Result, plans: dict[str, dict[int, dict[str, int]]], when: str) -> None:
    for kind in _NODES:
        for name, of in plans.items():
            result.findings.append(
                BenchmarkFinding(
                    f"{when}: {kind}, {name}", sum(plan[kind] for plan in of.values()), unit=kind
                )
            )
    result.details[when] = plans
    for name in ("ours", "ours, counted", "analysed"):
        worse = [
            number
            for number, plan in plans[name].items()
            if plan["shuffles"] > plans["unanalysed"][number]["shuffles"]
        ]
        print(f"{when}: {name} has more shuffles than unanalysed: {worse}", flush=True)
        result.findings.append(
            BenchmarkFinding(
                f"{when}: with more shuffles than unanalysed, {name}",
                len(worse),
                0 if name == "ours" else None,
                "queries",
            )
        )
    totals = {name: sum(plan["shuffles"] for plan in of.values()) for name, of in plans.items()}
    result.findings.append(
        BenchmarkFinding(f"{when}: shuffles, ours / analysed", totals["ours"] / totals["analysed"], 1)
    )


class _Expected(NamedTuple):
    """The rows of a filtered table, and the rows that the optimizer expects."""

    table: str
    expected: float
    rows: int

    @property
    def is_near(self) -> bool:
        """Return whether the estimate is within `_NEAR` times the rows, give or take one row."""
        low, high = sorted((self.expected + 1, self.rows + 1.0))
        return high <= _NEAR * low


def _rows(spark: SparkSession, name: str, texts: dict[int, str], result: Result) -> None:
    """Compare estimates of filtered tables with their rows."""
    _set(spark, "on", "off")
    _use(spark, name)
    found: dict[str, _Expected] = {}
    for text in texts.values():
        plan = spark.sql(text)._jdf.queryExecution().optimizedPlan()
        for each in _filtered(plan):
            key = str(each.canonicalized().toString())
            expected = each.stats().rowCount()
            if key not in found and expected.isDefined():
                found[key] = _Expected(str(each.toString()), float(str(expected.get())), _count(spark, each))
    if not found:
        return
    near = sum(each.is_near for each in found.values()) / len(found)
    print(f"{name}: {near:.2f} of {len(found)} filtered tables have a near estimate", flush=True)
    result.findings.append(
        BenchmarkFinding(
            f"filtered tables with an estimate within {_NEAR:g} times of their rows, {name}",
            near,
            0.9,
            "of all",
            True,
        )
    )
    result.details[f"rows, {name}"] = [each._asdict() for each in found.values()]
    off = statistics.median(
        max(each.expected + 1, each.rows + 1) / min(each.expected + 1, each.rows + 1)
        for each in found.values()
    )
    result.findings.append(BenchmarkFinding(f"median error of these estimates, {name}", off))


def _distinct(spark: SparkSession, name: str, tables: list[str], result: Result) -> None:
    """Compare numbers of distinct values with what ANALYZE TABLE counts in Spark's own tables."""
    ratios = {}
    for table in tables:
        if table in DERIVED:
            continue
        for setting in _OPTIMIZER:
            spark.conf.set(setting, "true")
        theirs = _distinct_of(spark, f"{_SCHEMAS['analysed']}.{table}")
        for column, count in _distinct_of(spark, f"{_SCHEMAS[name]}.{table}").items():
            if column in theirs:
                ratios[f"{table}.{column}"] = (count + 1) / (theirs[column] + 1)

    near = sum(1 / _NEAR <= ratio <= _NEAR for ratio in ratios.values()) / len(ratios)
    print(f"{name}: {near:.2f} of {len(ratios)} columns have a near number of distinct values", flush=True)
    result.findings.append(
        BenchmarkFinding(
            f"columns with distinct values within {_NEAR:g} times of ANALYZE, {name}", near, None, "of all"
        )
    )
    result.details[f"distinct values, {name}"] = ratios


def _distinct_of(spark: SparkSession, table: str) -> dict[str, int]:
    plan = spark.table(table)._jdf.queryExecution().optimizedPlan()
    found, output = plan.stats().attributeStats(), plan.output()
    counts = {}
    for position in range(output.length()):
        column = found.get(output.apply(position))
        if column.isDefined() and column.get().distinctCount().isDefined():
            counts[output.apply(position).name()] = int(str(column.get().distinctCount().get()))
    return counts


def _filtered(plan: Any) -> Iterator[Any]:
    """Yield the filters of a plan that are directly above a table, without runtime filters."""
    children = plan.children()
    if plan.nodeName() == "Filter" and children.apply(0).children().isEmpty():
        text = str(plan.toString())
        if "dynamicpruning" not in text and "subquery" not in text and "bloom" not in text:
            yield plan
    for position in range(children.length()):
        yield from _filtered(children.apply(position))


def _count(spark: SparkSession, plan: Any) -> int:
    assert spark._jvm is not None
    frame = spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)
    return int(DataFrame(frame, spark).count())
