"""Our metastore on PostgreSQL beside the same one in SQLite, and the database that Hive's metastore uses."""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.hive import Backend
from benchmarks.metastore.table import (
    DATABASE,
    FILTERS_PER_KIND,
    SELECTED_PARTITIONS,
    TABLE,
    Grid,
    Lookups,
    add,
    count_found,
    new_table,
)
from parquetry.metastore import Metastore, TableSnapshot, open_metastore
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Predicate
from parquetry.store import Store, open_store
from tests.support.jars import SETTINGS, java, pyspark_jars
from tests.support.postgresql.launcher import USER, PostgreSQLServer

_DRIVER = ("org.postgresql", "postgresql", "42.7.4")
_ROUNDS, _COMMITS = 60, 7
_TIMES_SQLITE = 3.0
"""How many times as long as SQLite a filter may take, beside one round trip to the server."""


def hive_backend(server: PostgreSQLServer, cache: Path, database: str = "metastore") -> Backend:
    """Return a new database of the server as Hive's metastore takes it.

    Args:
        server: that is running.
        cache: folder to keep the JDBC driver in.
        database: the database's name.
    """
    server.create_database(database)
    return Backend(
        "PostgreSQL",
        f"jdbc:postgresql://127.0.0.1:{server.port}/{database}",
        "org.postgresql.Driver",
        USER,
        _driver(cache),
        "COPY {table} FROM '{file}' WITH (FORMAT csv)",
        'ANALYZE "{table}"',
        server.folder,
    )


def measure(
    result: Result, server: PostgreSQLServer, warehouse: Path, grid: Grid, added: int, console: Console
) -> None:
    """Copy the metastore of a warehouse to PostgreSQL, and measure filters and commits on both.

    Args:
        result: gets the findings.
        server: that is running, and writes durably.
        warehouse: with its metastore in SQLite, which is not changed.
        grid: what is in it.
        added: partitions of the larger commit, of new partitions.
        console: for the progress.
    """
    url = server.url("bench")
    with console.status(f"copying {grid.partitions:,} partitions to PostgreSQL"):
        _copy(warehouse, url)
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_metastore(str(warehouse)) as embedded,
        open_metastore(str(warehouse), url) as shared,
    ):
        metastores = {"SQLite": embedded, "PostgreSQL": shared}
        with console.status("finding partitions on PostgreSQL"):
            round_trip = _round_trip(result, server)
            for name, make, partitions in (
                ("leading columns", grid.leading, SELECTED_PARTITIONS),
                ("the whole key", grid.whole, 1),
                ("a non-leading column", grid.skipping, SELECTED_PARTITIONS),
            ):
                _find(
                    result,
                    f"{partitions} by {name}",
                    metastores,
                    make,
                    partitions,
                    grid.partitions,
                    round_trip,
                )
        with (
            console.status("committing to PostgreSQL"),
            open_metastore(str(Path(scratch, "warehouse")), create=True) as alone,
        ):
            _commit(result, {"SQLite": alone, "PostgreSQL": shared}, grid, added)


def _copy(warehouse: Path, url: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "dump")
        with open_metastore(str(warehouse)) as metastore:
            dump(metastore, folder)
        with open_metastore(str(warehouse), url, create=True) as metastore:
            restore(metastore, folder)


def _round_trip(result: Result, server: PostgreSQLServer) -> float:
    """Return the seconds that the least statement takes: to look for a row that does not exist."""
    store: Store = open_store(server.url("bench"), "/")
    timing = take_turns("a round trip to PostgreSQL", {"": partial(store.get, b"\xff")}, _ROUNDS)
    store.close()
    result.timings.append(timing)
    return timing.median("")


def _find(
    result: Result,
    label: str,
    metastores: dict[str, Metastore],
    make: Callable[[int], Predicate],
    partitions: int,
    size: int,
    round_trip: float,
) -> None:
    filters = [Filter(make(number)) for number in range(FILTERS_PER_KIND)]

    def find(table: TableSnapshot, filter: Filter) -> int:
        return count_found(table, cheapest_plan(table, filter))

    variants = {
        f"on {name}": Lookups(partial(find, metastore.table(DATABASE, TABLE)), filters, partitions)
        for name, metastore in metastores.items()
    }
    timing = take_turns(f"{label}, of {size:,}", variants, _ROUNDS)
    result.timings.append(timing)
    allowed = _TIMES_SQLITE * timing.median("on SQLite") + round_trip
    result.findings.append(
        BenchmarkFinding(
            f"{label}: PostgreSQL / ({_TIMES_SQLITE:g} × SQLite + a round trip)",
            timing.median("on PostgreSQL") / allowed,
            1.0,
        )
    )


def _commit(result: Result, metastores: dict[str, Metastore], grid: Grid, added: int) -> None:
    """Measure commits of one partition and of many to tables of their own."""
    numbers = itertools.count()
    for metastore in metastores.values():
        new_table(metastore, "added")

    def commit_partitions(metastore: Metastore, count: int) -> None:
        first = next(numbers) * count
        values = [(grid.day(n % grid.days), "00", f"{first + n:012d}") for n in range(count)]
        add(metastore.table(DATABASE, "added"), values)

    for count in (1, added):
        variants = {
            f"on {name}": partial(commit_partitions, metastore, count)
            for name, metastore in metastores.items()
        }
        timing = take_turns(f"a commit of {count:,} partitions", variants, _COMMITS)
        result.timings.append(timing)
        result.findings.append(
            BenchmarkFinding(f"{timing.job}: PostgreSQL / SQLite", timing.ratio("on PostgreSQL", "on SQLite"))
        )


def _driver(cache: Path) -> Path:
    """Return the JDBC driver, fetched by Ivy (which is in PySpark's jars) if need be."""
    organisation, name, revision = _DRIVER
    wanted = cache / f"{name}-{revision}.jar"
    if not wanted.exists():
        command = [java(), "-cp", str(pyspark_jars() / "*"), "org.apache.ivy.Main"]
        if os.environ.get(SETTINGS):
            command += ["-settings", os.environ[SETTINGS]]
        command += ["-dependency", organisation, name, revision, "-confs", "master", "-types", "jar"]
        with tempfile.TemporaryDirectory() as ivy:
            command += ["-cache", ivy, "-retrieve", str(cache / "[artifact]-[revision].[ext]")]
            ivy_run = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
        if not wanted.exists():
            raise RuntimeError(
                f"the JDBC driver of PostgreSQL could not be fetched\n{ivy_run.stdout[-2000:]}"
            )
    return wanted
