"""Counts of processes and stores, and the counts that grow while the same work is done again and again."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil

SHARE = 0.05
"""Share of a count that may be added after the first tenth of the work."""
SLACK = 8
"""Number that may be added to a small count. Questions that are asked at one time have connections of their
own, and the threads of a pool start one by one.
"""
_MB = 1 << 20
_AUTOMATIC_CHECKPOINT = 1000
"""Pages: SQLite empties its log when it has so many, and writes it from its beginning again."""
_SPARKS_POOLS = (
    "broadcast-exchange", "ResultQueryStageExecution", "dynamicpruning", "subquery", "QueryStageCreator", "map-output-",
    "Executor task launch", "ForkJoinPool", "task-result-getter", "shuffle-exchange", "state-store",
)  # fmt: skip
"""Beginnings of the names of Spark's threads that end after a time without work: up to 128 of each."""


def process_counts(process: psutil.Process, name: str) -> dict[str, int]:
    """Return the threads, open files and connections of a process, by names with the process's name."""
    return {
        f"{name}: threads": process.num_threads(),
        f"{name}: open files": process.num_fds(),
        f"{name}: connections": len(process.net_connections()),
    }


def java_threads(jvm: Any) -> dict[str, int]:
    """Return the number of threads of a JVM without the threads of Spark's pools."""
    names = [thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()]
    return {"JVM: threads": sum(not name.startswith(_SPARKS_POOLS) for name in names)}


def process_memory(process: psutil.Process, name: str) -> dict[str, int]:
    """Return the megabytes of memory of a process."""
    return {f"{name}: MB": process.memory_info().rss // _MB}


def heap(jvm: Any) -> dict[str, int]:
    """Return the megabytes of objects in use in a JVM, after its garbage and Python's are collected."""
    gc.collect()
    for _ in range(2):  # the first one finds what Python has released
        jvm.java.lang.System.gc()
    memory = jvm.java.lang.Runtime.getRuntime()
    return {"JVM: MB in use": (memory.totalMemory() - memory.freeMemory()) // _MB}


def store_counts(warehouse: Path) -> dict[str, int]:
    """Return the rows of a warehouse's SQLite file, and the pages of 16 KiB of its log, if they are many."""
    file = warehouse / "_parquetry" / "metastore.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        rows = sum(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in names)
    log = file.with_name(file.name + "-wal")
    pages = log.stat().st_size >> 14 if log.exists() else 0
    return {"store: rows": rows, "store: pages of the log": max(pages, _AUTOMATIC_CHECKPOINT)}


def print_table(unit: str, moments: Mapping[int, Mapping[str, int]]) -> None:
    """Print what was counted at some moments as a table of Markdown, which `pytest -s` shows.

    Args:
        unit: what the numbers of the moments count, such as statements.
        moments: the counts at each of them.
    """
    names = {name: None for counts in moments.values() for name in counts}
    rows = [[f"after {number:,} {unit}" for number in moments]]
    rows += [[f"{counts[name]:,}" if name in counts else "" for counts in moments.values()] for name in names]
    lines = [f"| {first} | {' | '.join(row)} |" for first, row in zip(["", *names], rows, strict=True)]
    print("", lines[0], "|---" * (len(moments) + 1) + "|", *lines[1:], sep="\n")


def growth(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return what has grown by more than `SHARE` and by more than `SLACK`, before and after."""
    return {
        name: (count, after[name])
        for name, count in before.items()
        if after[name] > max(count * (1 + SHARE), count + SLACK)
    }
