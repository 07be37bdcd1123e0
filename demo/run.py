"""Run the demo: make the data, load it, ask, check each answer against plain Spark, and show what was read.

Everything lies in one folder, and what is there already is not made again. The exit code is 1 if any answer
differs from plain Spark's over the same rows, or if a query reads more than it may (`demo.queries`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

import parquetry
from demo import plain, tpcds
from demo.answers import difference
from demo.page import page
from demo.queries import Outcome, Query, Shuffles, excesses, queries, tables_of
from demo.summary import files_text, shuffles_text, summary
from parquetry.prune.report.report import Report

CATALOG, DATABASE = "lake", "tpcds"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_BESIDE = 2
"""Tables loaded at once: while one commits, the other keeps the cores busy."""


def main() -> int:
    """Run the demo and return its exit code."""
    arguments = _arguments()
    started = time.monotonic()
    console = Console(highlight=False)
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    console.print(f"[bold]Parquetry[/] on TPC-DS at scale {arguments.scale:g}, in {folder}\n")

    with console.status("Making TPC-DS with DuckDB …"):
        raw = tpcds.make(folder / "raw", arguments.scale)
    console.print(f"[green]✓[/] TPC-DS: {len(raw.rows)} tables, {sum(raw.rows.values()):,} rows")
    with console.status("Starting Spark …"):
        spark = _session(folder)
    console.print(f"[green]✓[/] Spark {spark.version} with the catalog {CATALOG}")
    asked = queries(tpcds.query_texts())
    tables = tables_of(asked, raw.rows)
    load(spark, raw, tables, console)

    spark.sql(f"USE {CATALOG}.{DATABASE}")
    with console.status("Listing the same files for plain Spark …"):
        beside = plain.session(spark, raw, _locations(folder, tables))
    outcomes = []
    for query in asked:
        outcomes.append(ask(query, spark, beside, raw))
        _print_outcome(console, outcomes[-1])
    spark.stop()
    sizes = _table_sizes(folder)

    console.print()
    console.print(summary(outcomes, sizes, wide=console.width >= 120))
    html = (folder / "report.html").absolute()
    html.write_text(page(outcomes, sizes, arguments.scale), encoding="utf-8")
    failed = [outcome.query.name for outcome in outcomes if outcome.faults]
    console.print(f"The same as a page: [link={html.as_uri()}]{html}[/link]", soft_wrap=True)
    if failed:
        console.print(f"[bold red]✗ Wrong: {', '.join(failed)}[/]")
    else:
        console.print(
            f"[green]✓[/] All {len(outcomes)} answers are plain Spark's, and no query read more than "
            f"it had to ({time.monotonic() - started:.0f} s)."
        )
    return 1 if failed else 0


def load(spark: SparkSession, raw: tpcds.Raw, tables: Sequence[str], console: Console) -> None:
    """Create the tables and insert the raw rows into those that do not hold them yet.

    An INSERT is there whole or not at all, so counting rows tells which an interrupted run has left to do.
    """
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{DATABASE}")
    missing = [table for table in tables if not _holds(spark, raw, table)]
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
    with Progress(*bars, console=console, transient=True) as progress, ThreadPoolExecutor(_BESIDE) as pool:
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
        f"[green]✓[/] Loaded {len(missing)} tables, {rows:,} rows in {time.monotonic() - started:.0f} s"
    )


def ask(query: Query, spark: SparkSession, beside: SparkSession, raw: tpcds.Raw) -> Outcome:
    """Run a query through Parquetry and through plain Spark, and compare."""
    started = time.perf_counter()
    frame = spark.sql(query.sql)
    ours = frame.collect()
    seconds = time.perf_counter() - started
    report = parquetry.report(frame)
    faults = excesses(report, {limit: raw.count(limit.count) for limit in query.limits})
    started = time.perf_counter()
    asked = beside.sql(query.sql)
    theirs = asked.collect()
    read = plain.read_of(asked, query.tables, time.perf_counter() - started)
    differs = difference(ours, theirs)
    if differs is not None:
        faults.insert(0, f"the answer is not plain Spark's: {differs}")
    shuffled = Shuffles(_shuffled(frame), _shuffled(asked))
    if query.shuffles is not None and shuffled.ours > query.shuffles:
        faults.append(
            f"{shuffled.ours} inputs of joins and groups were shuffled where {query.shuffles} have to be"
        )
    return Outcome(query, report, len(ours), seconds, tuple(faults), shuffled, read)


def _shuffled(frame: DataFrame) -> int:
    """Return how many times a query that has run shuffled rows by the hash of some columns."""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    return plan.partition("== Initial Plan ==")[0].count("Exchange hashpartitioning")


def _session(folder: Path) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("Parquetry demo")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str((folder / "spark-warehouse").absolute()),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return parquetry.configure(builder, catalog=CATALOG, warehouse=folder / "warehouse").getOrCreate()


def _holds(spark: SparkSession, raw: tpcds.Raw, table: str) -> bool:
    name = f"{CATALOG}.{DATABASE}.{table}"
    if not spark.catalog.tableExists(name):
        return False
    rows = spark.sql(f"SELECT count(*) FROM {name}").collect()[0][0]
    if rows not in (0, raw.rows[table]):
        sys.exit(
            f"{name} holds {rows:,} rows instead of {raw.rows[table]:,}: remove the folder and run again"
        )
    return bool(rows == raw.rows[table])


def _insert(spark: SparkSession, raw: tpcds.Raw, table: str) -> None:
    source = spark.read.parquet(str(raw.file(table)))
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in source.schema)
    key = tpcds.PARTITIONED_BY.get(table)
    partitioned = f"PARTITIONED BY ({key})" if key else ""
    skewed = tpcds.SKEWED_BY.get(table)
    skew = f"SKEWED BY {skewed} STORED AS DIRECTORIES" if skewed else ""
    bucketed = tpcds.BUCKETED_BY.get(table)
    buckets = f"CLUSTERED BY {bucketed}" if bucketed else ""
    name = f"{CATALOG}.{DATABASE}.{table}"
    spark.sparkContext.setJobGroup(table, f"load {table}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING parquet {partitioned} {skew} {buckets}")
    source.createOrReplaceTempView(f"raw_{table}")
    into = (
        "OVERWRITE" if skewed else "INTO"
    )  # a table with directories takes no INSERT INTO by default, as Hive's document has it
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


def _table_sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of each table that is laid out in some way, by its full name; no Spark is asked."""
    with parquetry.open(folder / "warehouse") as catalog:
        return {
            f"{CATALOG}.{DATABASE}.{table}": catalog.table(f"{DATABASE}.{table}").bytes
            for table in (*tpcds.PARTITIONED_BY, *tpcds.BUCKETED_BY)
        }


def _locations(folder: Path, tables: Sequence[str]) -> dict[str, str]:
    """Return where the files of tables are, by their bare names."""
    with parquetry.open(folder / "warehouse") as catalog:
        return {table: catalog.table(f"{DATABASE}.{table}").location for table in tables}


def _print_outcome(console: Console, outcome: Outcome) -> None:
    mark = "[red]✗[/]" if outcome.faults else "[green]✓[/]"
    console.print(f"\n{mark} [bold]{outcome.query.name}[/]: {outcome.query.asks}")
    console.print(Padding(Text(str(Report(outcome.limited, outcome.report.joins)), "dim"), (0, 0, 0, 2)))
    console.print(Padding(Text(files_text(outcome), "dim"), (0, 0, 0, 2)))
    if outcome.query.shuffles is not None:
        console.print(Padding(Text(shuffles_text(outcome.shuffles), "dim"), (0, 0, 0, 2)))
    for fault in outcome.faults:
        console.print(Padding(Text(fault, "red"), (0, 0, 0, 2)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-DS scale factor (default: 0.1)")
    parser.add_argument("--folder", type=Path, required=True, help="where everything is kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
