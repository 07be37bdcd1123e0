"""A table with a million partitions, in a metastore and nowhere else, and the search for one of them.

A process of its own makes the table while Spark loads the others: `python -m demo.million WAREHOUSE STORE
PARTITIONS`.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import Any

import parquetry
from demo.lake import Lake
from demo.outcome import Outcome, Side
from demo.scenes import MILLION
from parquetry.errors import ParquetryError
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit

PARTITIONS = 1_000_000
"""Partitions of the table: every hour of nine and a half years, in twelve regions."""
_DATABASE, _TABLE = "grid", "events"
_NAME = f"{_DATABASE}.{_TABLE}"
_KEYS = ("day", "hour", "region")
_PARTITIONS_PER_COMMIT = 100_000
_SEARCHES = 25
"""Searches, each for another hour, whose median counts."""
_FIRST_DAY = datetime.date(2016, 6, 1)
_FILE = FileRecord("part-00000.parquet", 41_943_040, 120_000, 1_700_000_000_000, {})


def fill(million: tuple[str, str], partitions: int = PARTITIONS) -> None:
    """Make the table, or what is missing of it.

    Args:
        million: the warehouse and the store; see `Lake.million`.
        partitions: of the table.
    """
    with open_metastore(*million, create=True) as metastore:
        table = _table(metastore)
        while (there := table.totals.partitions) < partitions:
            transaction = Transaction(table, "append")
            for values in islice(_grid(), there, min(there + _PARTITIONS_PER_COMMIT, partitions)):
                transaction.append(values, [_FILE])
            table = commit(transaction)


def _table(metastore: Metastore) -> Any:
    """Return the table, made without partitions if it is not there."""
    if _DATABASE not in metastore.databases():
        metastore.create_database(_DATABASE)
    if _TABLE in metastore.tables(_DATABASE):
        return metastore.table(_DATABASE, _TABLE)
    columns = (TableColumn("id", "long"), *(TableColumn(key, "string") for key in _KEYS))
    location = metastore.table_location(_DATABASE, _TABLE)
    return metastore.create_table(_DATABASE, _TABLE, TableMetadata(columns, _KEYS, "parquet", location))


def _grid() -> Any:
    """Yield the values of the partitions, without end, in the order of their keys."""
    days = (str(_FIRST_DAY + datetime.timedelta(days=number)) for number in range(10_000))
    hours = [f"{hour:02d}" for hour in range(24)]
    regions = [f"region-{letter}" for letter in "abcdefghijkl"]
    return ((day, hour, region) for day in days for hour, region in product(hours, regions))


def find(lake: Lake) -> Outcome:
    """Search for one partition, and return the keys that were examined, and the median time of searches."""
    with parquetry.open(*lake.million) as catalog:
        there = catalog.table(_NAME).partitions
        plan = catalog.plan(_NAME, MILLION.sql, run=True)
        times = []
        for number in range(_SEARCHES):
            other = MILLION.sql.replace("'07'", f"'{number % 24:02d}'")
            started = time.perf_counter()
            catalog.plan(_NAME, other, run=True)
            times.append(time.perf_counter() - started)
    examined = plan.keys_examined if plan.keys_examined is not None else there
    faults = [] if plan.partitions == 1 else [f"{plan.partitions} partitions were found instead of 1"]
    if examined > 2:
        faults.append(f"{examined:,} keys were examined where 2 are enough")
    mine = Side(examined, "key examined", None, median(times))
    return Outcome(
        MILLION, mine, Side(there, "partition"), plan.partitions or 0, tuple(faults), beside_name="the table"
    )


class Filling:
    """The process that makes the table; a context manager that ends it if it still runs.

    Args:
        lake: where the table is to be.
        partitions: of the table.
    """

    def __init__(self, lake: Lake, partitions: int = PARTITIONS) -> None:
        self._lake = lake
        self._partitions = partitions
        self._process = subprocess.Popen(
            [sys.executable, "-m", "demo.million", *lake.million, str(partitions)],
            cwd=Path(__file__).parents[1],
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Filling:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.communicate()

    def wait(self, seconds: float) -> bool:
        """Wait for the process, and return whether it has ended. If it failed, exit with its message."""
        try:
            _, errors = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        if self._process.returncode:
            sys.exit(f"The table with a million partitions could not be made.\n{errors}")
        return True

    def done(self) -> int:
        """Return how many partitions have been made so far."""
        try:
            with parquetry.open(*self._lake.million) as catalog:
                return catalog.table(_NAME).partitions
        except ParquetryError:
            return 0


if __name__ == "__main__":
    os.nice(5)
    try:
        fill((sys.argv[1], sys.argv[2]), int(sys.argv[3]))
    except KeyboardInterrupt:
        sys.exit(130)
