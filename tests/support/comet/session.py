"""A program with a session of its own with Comet: it runs queries in both forms, and prints what it saw.

    python -m tests.support.comet.session folder < statements.json

The input has statements, and queries by name. The output has, for each query, the rows without native scans,
the rows with them, the classes of the plan's nodes, the number of files that scans read, and the report.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.comet import with_comet

_SETTING = "parquetry.native-scans"


def main() -> None:
    """Answer one input."""
    asked = json.load(sys.stdin)
    builder = with_comet(SparkSession.builder.master("local[2]"))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = parquetry.configure(builder, catalog="lake", warehouse=sys.argv[1]).getOrCreate()
    for statement in asked["statements"]:
        spark.sql(statement)
    answers = {}
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for name, query in asked["queries"].items():
            answers[f"{name}, adaptive {adaptive}"] = _answer(spark, query)
    spark.stop()
    print(f"answers: {json.dumps(answers)}")


def _answer(spark: SparkSession, query: str) -> dict[str, Any]:
    spark.conf.set(_SETTING, "off")
    expected = _rows(spark.sql(query))
    spark.conf.set(_SETTING, "auto")
    frame = spark.sql(query)
    found = _rows(frame)
    nodes: list[str] = []
    files: list[int] = []
    _visit(frame._jdf.queryExecution().executedPlan(), nodes, files)
    return {
        "expected": expected,
        "rows": found,
        "nodes": nodes,
        "files": files,
        "report": str(parquetry.report(frame)),
    }


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())


def _visit(node: Any, nodes: list[str], files: list[int]) -> None:
    """Gather the classes of a plan's nodes, and how many files its native scans read."""
    name = node.getClass().getSimpleName()
    nodes.append(name)
    if name == "CometNativeScanExec":
        files.append(int(node.metrics().apply("numFiles").value()))
    if name == "AdaptiveSparkPlanExec":
        _visit(node.executedPlan(), nodes, files)
    if name.endswith("QueryStageExec"):
        _visit(node.plan(), nodes, files)
    if name == "ReusedExchangeExec":  # the exchange itself is in a runtime filter
        _visit(node.child(), nodes, files)
    for i in range(node.children().size()):
        _visit(node.children().apply(i), nodes, files)


if __name__ == "__main__":
    main()
