"""All 99 queries of TPC-DS, over facts partitioned by day: what is read, and in what time, beside Spark's own tables on the same files.

Both read the same files: Spark through its own listing, which is made before the clock starts, Parquetry as it took the same trees in.
Every answer is compared. Files and bytes are those of the facts, as each side's scans tell them after the run; Spark's are counted where it
has dropped the partitions that a join does not want.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from benchmarks.lake import CATALOG, drain, start
from benchmarks.loading import raw
from benchmarks.measure import Finding, Result, geometric_mean, take_turns
from demo.answers import difference
from demo.tpcds import query_texts

FACTS = {
    "store_sales": ("ss_sold_date_sk", "ss_item_sk"),
    "catalog_sales": ("cs_sold_date_sk", "cs_item_sk"),
    "web_sales": ("ws_sold_date_sk", "ws_item_sk"),
    "store_returns": ("sr_returned_date_sk", "sr_item_sk"),
    "catalog_returns": ("cr_returned_date_sk", "cr_item_sk"),
    "web_returns": ("wr_returned_date_sk", "wr_item_sk"),
    "inventory": ("inv_date_sk", "inv_item_sk"),
}
"""The column that each is partitioned by, and the one by which its files are sorted."""
STARS = (3, 7, 13, 19, 25, 29, 42, 52, 53, 55, 63, 68, 73, 79, 89, 98)
"""The queries that are timed: a fact with filtered dimensions."""
_DATABASE = f"{CATALOG}.tpcds"
_ROUNDS = 3


class Read(NamedTuple):
    """What a query read of the facts.

    Attributes:
        files: how many.
        bytes: in these.
    """

    files: int
    bytes: int


def run(folder: Path, scale: float) -> Result:
    """Run all queries once, and those on stars in turns."""
    spark = start(folder)
    plain = spark.newSession()
    _load(spark, plain, folder, scale)
    for session in (spark, plain):
        session.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")  # eight queries quote names so
    spark.sql(f"USE {_DATABASE}")
    result = Result("tpcds")
    texts = query_texts()
    counted = {number: _compared(number, text, spark, plain) for number, text in texts.items()}
    _count(counted, result)
    ratios = []
    for number in STARS:
        ask = {"parquetry": partial(_ask, spark, texts[number]), "spark": partial(_ask, plain, texts[number])}
        result.timings.append(take_turns(f"q{number}", ask, rounds=_ROUNDS))
        ratios.append(result.timings[-1].ratio("spark", "parquetry"))
    faster = Finding(
        "16 stars, geometric mean: spark / parquetry", geometric_mean(ratios), 1.3, at_least=True
    )
    result.findings.append(faster)
    spark.stop()
    return result


def _ask(session: SparkSession, sql: str) -> None:
    drain(session.sql(sql))


def _compared(number: int, text: str, spark: SparkSession, plain: SparkSession) -> tuple[Read, Read]:
    """Return what a query read of the facts through Parquetry, and through Spark.

    Raises:
        AssertionError: the answers differ.
    """
    ours, theirs = spark.sql(text), plain.sql(text)
    differs = difference(ours.collect(), theirs.collect())
    if differs is not None:
        raise AssertionError(f"q{number}: {differs}")
    found = _read_by_us(ours), _read_by_spark(theirs)
    print(f"q{number}: files {found[0].files:,} of Spark's {found[1].files:,}", flush=True)
    return found


def _count(counted: dict[int, tuple[Read, Read]], result: Result) -> None:
    for number, (ours, theirs) in counted.items():
        result.findings.append(Finding(f"q{number}: files of {theirs.files:,}", ours.files, unit="files"))
    of_facts = {number: both for number, both in counted.items() if both[1].bytes}
    for what, field in (("files", 0), ("bytes", 1)):
        more = sum(ours[field] > theirs[field] for ours, theirs in counted.values())
        result.findings.append(Finding(f"queries that read more {what} than Spark", more, 0, "queries"))
    for name, numbers in (("all queries", tuple(of_facts)), ("16 stars", STARS)):
        ratios = [max(of_facts[n][0].bytes, 1) / of_facts[n][1].bytes for n in numbers if n in of_facts]
        mean = geometric_mean(ratios)
        result.findings.append(Finding(f"{name}, file bytes, geometric mean: parquetry / spark", mean))


def _read_by_us(frame: DataFrame) -> Read:
    files = size = 0
    for node in _nodes(frame._jdf.queryExecution().executedPlan(), set()):
        if node.getClass().getSimpleName() != "BatchScanExec":
            continue
        if str(node.table().name()).rsplit(".", 1)[-1] in FACTS:
            for part in _elements(node.filteredPartitions()):
                lengths = [file.length() for file in part.get().files()] if part.isDefined() else []
                files, size = files + len(lengths), size + sum(lengths)
    return Read(files, size)


def _read_by_spark(frame: DataFrame) -> Read:
    files = size = 0
    for node in _nodes(frame._jdf.queryExecution().executedPlan(), set()):
        if node.getClass().getSimpleName() == "FileSourceScanExec":
            folders = {Path(str(path)).name for path in _elements(node.relation().location().rootPaths())}
            if folders & FACTS.keys():
                metrics = node.metrics()
                files += int(metrics.apply("numFiles").value())
                size += int(metrics.apply("filesSize").value())
    return Read(files, size)


def _elements(of: Any) -> Iterator[Any]:
    """Go through an array or a sequence of Scala."""
    if hasattr(of, "__len__"):
        yield from of
    else:
        for place in range(of.size()):
            yield of.apply(place)


def _nodes(plan: Any, seen: set[int]) -> Iterator[Any]:
    """Go through the nodes of a plan that ran, each once: through adaptive plans, their stages, and subqueries."""
    name = plan.getClass().getSimpleName()
    if plan.id() in seen:
        return
    seen.add(plan.id())
    yield plan
    if name == "AdaptiveSparkPlanExec":
        yield from _nodes(plan.executedPlan(), seen)
    elif name.endswith("QueryStageExec"):
        yield from _nodes(plan.plan(), seen)
    for below in (plan.children(), plan.subqueries()):
        for each in _elements(below):
            yield from _nodes(each, seen)


def _load(spark: SparkSession, plain: SparkSession, folder: Path, scale: float) -> None:
    """Have trees of the facts that both read, and the other tables in each."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_DATABASE}")
    made = raw(folder, scale)
    for table in made.rows:
        source = plain.read.parquet(str(made.file(table)))
        keys = FACTS.get(table)
        tree = folder / "facts" / table
        if keys is None:
            source.createOrReplaceTempView(table)
        elif not (tree / "_SUCCESS").exists():
            sorted_rows = source.repartition(4, keys[0]).sortWithinPartitions(*keys)
            sorted_rows.write.mode("overwrite").partitionBy(keys[0]).parquet(str(tree))
        if keys is not None:
            plain.read.parquet(str(tree)).createOrReplaceTempView(table)
        if spark.catalog.tableExists(f"{_DATABASE}.{table}"):
            continue
        if keys is None:
            spark.read.parquet(str(made.file(table))).createOrReplaceTempView("to_load")
            spark.sql(f"CREATE TABLE {_DATABASE}.{table} USING parquet AS SELECT * FROM to_load")
        else:
            columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in source.schema)
            spark.sql(
                f"CREATE TABLE {_DATABASE}.{table} ({columns}) USING parquet PARTITIONED BY ({keys[0]}) LOCATION '{tree}'"
            )
            spark.sql(f"CALL {CATALOG}.system.sync(table => 'tpcds.{table}')")
