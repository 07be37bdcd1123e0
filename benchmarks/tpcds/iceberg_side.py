"""The part that runs in the environment with Iceberg.

PySpark's own interpreter starts it with a question as JSON. It writes the facts as Iceberg tables with hidden
partitions, `truncate(30, date)`, sorted by date and item within them, and runs the queries. Its last line is
the answer: rows, the files and their parts that tasks got, seconds. The question's fields are documented in
`iceberg.ask`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_DAYS_PER_PARTITION = 30


def main() -> None:
    """Answer the question in the first argument."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    spark = _start(request)
    for table in request["tables"]:
        spark.read.parquet(f"{request['raw']}/{table}.parquet").createOrReplaceTempView(table)
    for fact, keys in request["facts"].items():
        made = Path(request["warehouse"]) / f"{fact}.made"
        if not made.exists():
            _write(spark, fact, f"{request['raw']}/{fact}.parquet", *keys)
            made.touch()
        spark.table(f"ice.tpcds.{fact}").createOrReplaceTempView(fact)
    answers = {number: _run(spark, text, request["rounds"]) for number, text in request["queries"].items()}
    spark.stop()
    print(json.dumps(answers))


def _start(request: dict[str, Any]) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("Iceberg")
    settings = {
        **request["settings"],
        "spark.jars": request["runtime"],
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": request["warehouse"],
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _write(spark: SparkSession, fact: str, path: str, date: str, item: str) -> None:
    table, rows = f"ice.tpcds.{fact}", spark.read.parquet(path)
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)
    spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")  # of an interrupted run
    spark.sql(
        f"CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY (truncate({_DAYS_PER_PARTITION}, {date}))"
    )
    spark.sql(f"ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY {date}, {item}")
    rows.createOrReplaceTempView("to_load")
    spark.sql(f"INSERT INTO {table} SELECT * FROM to_load")


def _run(spark: SparkSession, text: str, rounds: int) -> dict[str, Any]:
    frame = spark.sql(text)
    rows = [list(map(_text, row)) for row in frame.collect()]
    jvm: Any = spark._jvm
    ran = _nodes(frame._jdf.queryExecution().executedPlan(), jvm.java.lang.System.identityHashCode, set())
    found = [scan for node in ran if (scan := _scan(node))]
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        spark.sql(text).collect()
        seconds.append(time.perf_counter() - started)
    return {"rows": rows, "scans": found, "seconds": seconds}


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _scan(node: Any) -> dict[str, Any] | None:
    """Return the table, the columns and the parts of files that a scan's tasks were given."""
    if node.getClass().getSimpleName() != "BatchScanExec":
        return None
    parts = [
        [task.file().location(), task.start(), task.length()]
        for part in _input_partitions(node.filteredPartitions())
        for task in part.taskGroup().tasks().toArray()
    ]
    columns = list(node.scan().readSchema().fieldNames())
    return {"columns": columns, "parts": parts}


def _input_partitions(of: Any) -> Iterator[Any]:
    """Go through what releases of Spark put into options, or into the sequences of one key."""
    name = of.getClass().getSimpleName()
    if name.endswith("InputPartition"):
        yield of
    elif name == "Some":
        yield of.get()
    elif name != "None$":
        for each in _elements(of):
            yield from _input_partitions(each)


def _elements(of: Any) -> Iterator[Any]:
    if hasattr(of, "__len__"):
        yield from of
    else:
        for place in range(of.size()):
            yield of.apply(place)


def _nodes(plan: Any, same: Any, seen: set[int]) -> Iterator[Any]:
    """Go through a plan that ran, each node once: also stages that adaptive execution removed, without rows.

    Args:
        plan: its root.
        same: Java's `System.identityHashCode`. `id()` of a stage is its number in its own plan, which
            stages of other plans share.
        seen: nodes already gone through, filled.
    """
    name, identity = plan.getClass().getSimpleName(), same(plan)
    if identity in seen:
        return
    seen.add(identity)
    yield plan
    below = [each for of in (plan.children(), plan.subqueries()) for each in _elements(of)]
    if name == "AdaptiveSparkPlanExec":
        below.append(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        below.append(plan.plan())
    elif name in ("ReusedExchangeExec", "ReusedSubqueryExec"):
        below.append(plan.child())
    elif name == "EmptyRelationExec":
        below += [stage.physicalPlan() for stage in _stages(plan.logical())]
    for each in below:
        yield from _nodes(each, same, seen)


def _stages(logical: Any) -> Iterator[Any]:
    """Go through the stages of adaptive execution in a logical plan."""
    if logical.getClass().getSimpleName() == "LogicalQueryStage":
        yield logical
    for each in _elements(logical.children()):
        yield from _stages(each)


if __name__ == "__main__":
    main()
