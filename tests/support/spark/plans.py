"""Nodes of a query's executed plan, and how many there are of each."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyspark.sql import DataFrame, Row

_LINE = re.compile(r"^[ :|+\-]*(?:\* ?)?(?:\(\d+\) )?([A-Z]\w+)")
_AUDIT = {"CheckedRows", "ParquetryAudit"}
"""Nodes of an audit, which are in no query otherwise."""
_FINAL = "== Final Plan =="
_INITIAL = "== Initial Plan =="


def run(frame: DataFrame) -> tuple[list[Row], Counter[str]]:
    """Run a query; return its rows, and how many nodes of each name its final plan had.

    The nodes of a part that is used again are counted where it was executed. A sort for a global ORDER BY is
    a node `Sort` as any other, and its exchange is an `Exchange`.
    """
    rows = frame.collect()
    return rows, nodes(frame)


def lines(frame: DataFrame) -> list[str]:
    """Return the lines of a frame's plan; if it was adaptive, the lines of its last plan."""
    text = str(frame._jdf.queryExecution().executedPlan().toString())
    kept: list[str] = []
    skipped: int | None = None  # how deep what is left out begins: plans before the last
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" :|+-"))
        if skipped is not None and (depth > skipped or not line.strip()):
            continue
        skipped = depth - 1 if _INITIAL in line else None
        if skipped is None:
            kept.append(line)
    return kept


def nodes(frame: DataFrame) -> Counter[str]:
    """Return how many nodes of each name the plan of a frame has, as `lines` tells it."""
    found = (match[1] for line in lines(frame) if (match := _LINE.match(line)))
    return Counter(name for name in found if name not in _AUDIT)


def shuffles(frame: DataFrame) -> int:
    """Return how many shuffles the executed plan has."""
    return nodes(frame)["Exchange"]


def tasks(frame: DataFrame) -> int:
    """Return how many partitions the result of a frame has."""
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def rows_read(frame: DataFrame, table: str) -> int:
    """Return how many rows the scan of a table gave, in a query that has run and did not adapt itself.

    Raises:
        LookupError: the plan has no such scan.
    """
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    for node in map(leaves.apply, range(leaves.size())):
        if table in node.nodeName():
            return int(node.metrics().apply("numOutputRows").value())
    raise LookupError(f"no scan of {table}")


def comparable(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return rows in an order that depends on nothing but their values."""
    return sorted((tuple(row) for row in rows), key=repr)
