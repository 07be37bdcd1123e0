"""Access paths to partitions: filters that the key serves, with an index beside, and skip scans, no Spark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import parquetry
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.catalog import Catalog
from parquetry.catalog.shapes import Plan
from parquetry.metastore import (
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    create_index,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.partition_rows import skip_scan
from parquetry.types import Value

DAYS, STORES = 5_000, 10
"""50,000 partitions by day and store; on every 25th day the store `zz` takes the place of `r9`."""
REGIONS, DATES = 34, 1_500
"""51,000 partitions by region and date."""
KEY_SERVED = (
    "d = 7 AND s > 'r0'",
    "d < 20 AND s > 'r0'",
    "s LIKE '%' AND d IN (2195, 2751, 3041, 1748)",
    "d IN (1, 2, 3, 4) AND s >= 'r2' AND s < 'r5'",
    "d >= 10 AND d < 13 OR d = 99 AND s = 'r1'",
)
UNSELECTIVE = (
    "s >= 'a'",
    "s != 'r1'",
    "d < 4000 AND s > 'r0'",
    "(d > 100 OR s = 'zz') AND (d < 4500 OR s = 'r1')",
)
SKIPPING = {
    "day = 7": REGIONS,
    "day IN (7, 8, 900)": REGIONS,
    "day >= 1490": REGIONS,
    "region > 20 AND day = 7": 13,
}
"""Filters on the later column, and the seeks of each."""
ROUNDS = 15


def run(_folder: Path, _scale: float) -> Result:
    """Compare filters of a table with an index and without, and skip scans with reading in order."""
    result = Result("paths")
    with tempfile.TemporaryDirectory() as folder:
        _fill(folder)
        with parquetry.open(folder) as catalog:
            for filter in (*KEY_SERVED, *UNSELECTIVE):
                _compare_index(result, catalog, filter, 1.05)
            for filter, seeks in SKIPPING.items():
                _compare_skip_scan(result, catalog, filter, seeks)
    return result


def _compare_index(result: Result, catalog: Catalog, filter: str, most: float) -> None:
    plans = {name: catalog.plan(f"bench.{name}", filter, run=True) for name in ("plain", "indexed")}
    keys = {name: plan.keys_examined or 0 for name, plan in plans.items()}
    variants = {name: partial(_run, catalog, f"bench.{name}", filter) for name in plans}
    calls = 1 if filter in UNSELECTIVE else 20
    timing = take_turns(filter, variants, rounds=ROUNDS, calls=calls, clock=time.process_time)
    result.timings.append(timing)
    what = f"{filter}: index beside ({keys['plain']:,} keys, {keys['indexed']:,} with the index)"
    result.findings.append(BenchmarkFinding(what, timing.ratio("indexed", of="plain"), most))
    result.findings.append(BenchmarkFinding(f"{filter}: keys", keys["indexed"] / max(1, keys["plain"]), 1.05))


def _compare_skip_scan(result: Result, catalog: Catalog, filter: str, seeks: int) -> None:
    plan = _run(catalog, "bench.regions", filter)
    with _in_order():
        plain = _run(catalog, "bench.regions", filter)
    if (plan.partitions, plan.seeks, plain.seeks) != (plain.partitions, seeks, 0):
        raise AssertionError(
            f"{filter}: {plan.partitions} partitions by {plan.seeks} seeks instead of {seeks}"
        )
    variants: dict[str, Callable[[], object]] = {
        "skip scan": partial(_run, catalog, "bench.regions", filter),
        "in order": partial(_run_in_order, catalog, filter),
    }
    timing = take_turns(filter, variants, rounds=ROUNDS, clock=time.process_time)
    result.timings.append(timing)
    what = f"{filter}: {plan.seeks} seeks and {plan.keys_examined:,} keys of {plain.keys_examined:,}"
    result.findings.append(BenchmarkFinding(what, timing.ratio("in order", of="skip scan"), 5, at_least=True))


def _run(catalog: Catalog, table: str, filter: str) -> Plan:
    return catalog.plan(table, filter, run=True)


def _run_in_order(catalog: Catalog, filter: str) -> None:
    with _in_order():
        _run(catalog, "bench.regions", filter)


@contextmanager
def _in_order() -> Iterator[None]:
    """Have no table be long enough for a skip scan."""
    least = skip_scan.MIN_KEYS_PER_JUMP_COST
    skip_scan.MIN_KEYS_PER_JUMP_COST = 1 << 40
    try:
        yield
    finally:
        skip_scan.MIN_KEYS_PER_JUMP_COST = least


def _fill(folder: str) -> None:
    with open_metastore(folder, create=True) as metastore:
        metastore.create_database("bench")
        tables: dict[str, list[tuple[Value, ...]]] = {
            "plain": [
                (d, "zz" if s == 9 and d % 25 == 7 else f"r{s}") for d in range(DAYS) for s in range(STORES)
            ],
            "regions": [(region, day) for region in range(REGIONS) for day in range(DATES)],
        }
        tables["indexed"] = tables["plain"]
        for name, rows in tables.items():
            names = ("region", "day") if name == "regions" else ("d", "s")
            types = ("integer", "integer" if name == "regions" else "string")
            columns = tuple(TableColumn(*each) for each in zip(names, types, strict=True))
            described = TableMetadata(
                (TableColumn("x", "long"), *columns),
                names,
                "parquet",
                metastore.table_location("bench", name),
            )
            transaction = Transaction(metastore.create_table("bench", name, described), "append")
            for row in rows:
                transaction.append(row, [FileRecord("f.parquet", 1000, 10)])
            table = commit(transaction)
            if name == "indexed":
                create_index(table, ["s"])
