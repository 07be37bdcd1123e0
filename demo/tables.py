"""The tables of the demo: how each is laid out, and how they are loaded."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from demo.lake import CATALOG, DATABASE
from demo.outcome import counted_text
from demo.tpcds import Raw

LAYOUTS = {
    "catalog_sales": "PARTITIONED BY (cs_sold_date_sk)",
    "purchases": "CLUSTER BY (customer) TBLPROPERTIES ('distribution' = 'none')",
    "sales": "PARTITIONED BY (year) TBLPROPERTIES ('sort-by' = 'item', 'target-file-size' = '32kb')",
    "refunds": "PARTITIONED BY (month)",
    "visits": "PARTITIONED BY (year) SKEWED BY (page) ON (1, 2, 3, 4) STORED AS DIRECTORIES",
    "sold": "CLUSTERED BY (item, ticket) SORTED BY (item, ticket) INTO 8 BUCKETS",
    "returned": "CLUSTERED BY (item, ticket) SORTED BY (item, ticket) INTO 4 BUCKETS",
}
"""The clauses of the large tables; the slowest to load come first. Each other table is one plain file."""
RANGES = {"purchases": (1000, "customer")}
"""Tables that are written as so many files, each with a range of a column."""
_AT_ONCE = 2
"""Tables that are loaded at the same time: while one commits, the other keeps the cores busy."""


def load(spark: SparkSession, raw: Raw, tables: Sequence[str], console: Console) -> None:
    """Create the tables, and insert the raw rows where they are missing.

    What it prints says why there are fewer rows than TPC-DS has: other tables are in no question.

    An INSERT is atomic, so the number of rows shows which tables an interrupted run has not loaded.
    """
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{DATABASE}")
    missing = [table for table in _largest_first(tables) if not _is_loaded(spark, raw, table)]
    asked = sum(raw.rows[table] for table in tables)
    console.print(
        f"[green]✓[/] TPC-DS: {len(raw.rows)} tables, {sum(raw.rows.values()):,} rows; questions are about "
        f"{len(tables)} of them, {asked:,} rows"
    )
    if not missing:
        console.print("[green]✓[/] The tables are loaded already")
        return
    started = time.monotonic()
    bars = (
        TextColumn("  {task.description:<32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
    )
    with Progress(*bars, console=console, transient=True) as progress, ThreadPoolExecutor(_AT_ONCE) as pool:
        everything = progress.add_task("all tables", total=sum(raw.rows[table] for table in missing))
        inserts: dict[Future[None], str] = {
            pool.submit(_insert, spark, raw, table): table for table in missing
        }
        bars_of: dict[str, TaskID] = {}
        waiting = set(inserts)
        while waiting:
            done, waiting = wait(waiting, timeout=0.25)
            for table in (inserts[future] for future in waiting if future.running()):
                if table not in bars_of:
                    bars_of[table] = progress.add_task(table, total=raw.rows[table])
                progress.update(bars_of[table], completed=int(_share_done(spark, table) * raw.rows[table]))
            for future in done:
                future.result()
                table = inserts[future]
                progress.update(everything, advance=raw.rows[table])
                if table in bars_of:
                    progress.remove_task(bars_of[table])
    rows = sum(raw.rows[table] for table in missing)
    console.print(
        f"[green]✓[/] Loaded {'these' if len(missing) == len(tables) else 'the missing'} {counted_text(len(missing), 'table')}, "
        f"{rows:,} rows in {time.monotonic() - started:.0f} s"
    )


def _largest_first(tables: Sequence[str]) -> list[str]:
    return [*(table for table in LAYOUTS if table in tables), *(t for t in tables if t not in LAYOUTS)]


def _is_loaded(spark: SparkSession, raw: Raw, table: str) -> bool:
    name = f"{CATALOG}.{DATABASE}.{table}"
    rows = row_count(spark, name)
    if rows is None:
        return False
    if rows not in (0, raw.rows[table]):
        sys.exit(
            f"{name} holds {rows:,} rows instead of {raw.rows[table]:,}: remove the folder and run again."
        )
    return bool(rows == raw.rows[table])


def row_count(spark: SparkSession, name: str) -> int | None:
    """Return how many rows a table has, or None if there is no such table."""
    if not spark.catalog.tableExists(name):
        return None
    rows: int = spark.sql(f"SELECT count(*) FROM {name}").collect()[0][0]
    return rows


def _insert(spark: SparkSession, raw: Raw, table: str) -> None:
    source = spark.read.parquet(str(raw.file(table)))
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in source.schema)
    layout = LAYOUTS.get(table, "")
    name = f"{CATALOG}.{DATABASE}.{table}"
    spark.sparkContext.setJobGroup(table, f"load {table}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING parquet {layout}")
    if table in RANGES:
        source = source.repartitionByRange(*RANGES[table])
    source.createOrReplaceTempView(f"raw_{table}")
    # a table with directories takes no INSERT INTO by default, as Hive's design has it
    into = "OVERWRITE" if "SKEWED" in layout else "INTO"
    spark.sql(f"INSERT {into} {name} BY NAME SELECT * FROM raw_{table}")


def _share_done(spark: SparkSession, group: str) -> float:
    """Return the share of the tasks known so far that have ended."""
    tracker = spark.sparkContext.statusTracker()
    done = known = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            tasks = tracker.getStageInfo(stage)
            if tasks is not None:
                done, known = done + tasks.numCompletedTasks, known + tasks.numTasks
    return done / known if known else 0.0
