"""The cost of planning in Python: 30 partitions of 100,000, as the bridge asks for them. No Spark runs."""

from __future__ import annotations

import json
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkFinding, Result, Timing, take_turns
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol.codec import PROTOCOL

PARTITIONS = 100_000
SELECTED_PARTITIONS = 30
_FILES_PER_PARTITION = 2
_MAX_MS_WITHOUT_LISTING = 10.0
"""Milliseconds for an answer that needs no list of partitions."""


def run(_folder: Path, _scale: float) -> Result:
    """Plan by equality with scattered keys and by a range, and everything else a query asks before it."""
    result = Result("planning")
    with tempfile.TemporaryDirectory() as folder:
        seconds = _fill(folder)
        result.findings.append(
            BenchmarkFinding(
                f"commit of {PARTITIONS:,} partitions, {_FILES_PER_PARTITION} files each", seconds, None, "s"
            )
        )
        planner = Planner(NoEngine())
        scattered = [number * (PARTITIONS // SELECTED_PARTITIONS) for number in range(SELECTED_PARTITIONS)]
        jobs: dict[str, list[dict[str, Any]]] = {
            f"{SELECTED_PARTITIONS} scattered keys (IN)": [call("IN", *scattered)],
            f"{SELECTED_PARTITIONS} keys in a row (BETWEEN)": [
                call(">=", 5000),
                call("<=", 5000 + SELECTED_PARTITIONS - 1),
            ],
        }
        for job, predicates in jobs.items():
            variants = {
                "in a session": partial(_plan, planner, folder, predicates),
                "first of a session": partial(_plan_first, folder, predicates),
            }
            timing = take_turns(job, variants, rounds=25)
            result.timings.append(timing)
            result.findings += [_milliseconds(timing, variant) for variant in variants]
        result.findings += _aggregates(result, planner, folder)
    return result


def _milliseconds(timing: Timing, variant: str) -> BenchmarkFinding:
    what = f"planning {timing.job} of {PARTITIONS:,} partitions, {variant}"
    return BenchmarkFinding(what, 1000 * timing.median(variant), 20.0, "ms")


def _aggregates(result: Result, planner: Planner, folder: str) -> list[BenchmarkFinding]:
    """Measure answers from a whole table's totals and the ends of its keys, for many partitions."""
    table = ask(planner, folder, op="load_table", namespace=["bench"], name="wide")["table"]
    asked: dict[str, list[tuple[str, str | None]]] = {
        "count(*)": [("count", None)],
        "min(key), max(key)": [("min", "key"), ("max", "key")],
    }
    findings = []
    for job, functions in asked.items():
        calls = [{"function": function, "column": column} for function, column in functions]
        question = {"op": "aggregate", "table": table, "predicates": [], "functions": calls, "group_by": []}
        timing = take_turns(job, {"in a session": partial(ask, planner, folder, **question)}, rounds=25)
        result.timings.append(timing)
        what = f"{job} of {PARTITIONS:,} partitions"
        findings.append(
            BenchmarkFinding(what, 1000 * timing.median("in a session"), _MAX_MS_WITHOUT_LISTING, "ms")
        )
    return findings


def _plan(planner: Planner, folder: str, predicates: list[dict[str, Any]]) -> None:
    """Ask all that a query asks: the table, what its predicates are good for, and what to read."""
    found = ask(planner, folder, op="load_table", namespace=["bench"], name="wide")
    about = {"table": found["table"], "predicates": predicates}
    ask(planner, folder, op="push_predicates", **about)
    plan = ask(planner, folder, op="plan_scan", **about, runtime=[], columns=["id", "amount"])
    files = plan["files"]["names"].split("/")
    if len(files) != SELECTED_PARTITIONS * _FILES_PER_PARTITION:
        raise AssertionError(f"{len(files)} files instead of {SELECTED_PARTITIONS * _FILES_PER_PARTITION}")


def _plan_first(folder: str, predicates: list[dict[str, Any]]) -> None:
    """The same, beginning with opening the metastore."""
    _plan(Planner(NoEngine()), folder, predicates)


def ask(planner: Planner, folder: str, **question: Any) -> Any:
    """Ask what the bridge would ask of a warehouse, and return the answer."""
    head = {"protocol": PROTOCOL, "catalog": "lake", "options": {"warehouse": folder}}
    answer = json.loads(planner.ask(json.dumps({**head, **question})))
    if "error" in answer:
        raise AssertionError(answer["error"])
    return answer["ok"]


def call(function: str, *values: int, column: str = "key", type: str = "int") -> dict[str, Any]:
    """Return a predicate as the bridge sends it: a function of a column and of literals."""
    literals = [{"lit": str(value), "type": type} for value in values]
    return {"fn": function, "args": [{"col": [column]}, *literals]}


def _fill(folder: str) -> float:
    """Make the table, and return the seconds its one commit took."""
    columns = (TableColumn("id", "long"), TableColumn("amount", "double"), TableColumn("key", "integer"))
    metastore = open_metastore(folder, create=True)
    metastore.create_database("bench")
    metadata = TableMetadata(columns, ("key",), "parquet", metastore.table_location("bench", "wide"))
    table = metastore.create_table("bench", "wide", metadata)
    transaction = Transaction(table, "append")
    for key in range(PARTITIONS):
        statistics = {
            "id": ColumnStatistics(80_000, 0, key, key + 9),
            "amount": ColumnStatistics(70_000, 12, 0.0, 9.5),
        }
        transaction.append(
            (key,),
            [
                FileRecord(f"part-{n}.parquet", 160_000, 10_000, 0, statistics)
                for n in range(_FILES_PER_PARTITION)
            ],
        )
    started = time.perf_counter()
    commit(transaction)
    seconds = time.perf_counter() - started
    metastore.close()
    return seconds
