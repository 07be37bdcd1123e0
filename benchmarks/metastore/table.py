"""The table that metastores are compared on: a partition for every hour of every day in every region.

A few regions are rare: 24 partitions each, all over the table. They are what a filter asks for that skips the
leading columns.
"""

from __future__ import annotations

import datetime
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from parquetry import __version__
from parquetry.locations import storage_path
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.nodes import And, Compare, In, Or, Predicate, equal
from parquetry.scan.plan import ScanPlan
from parquetry.types import STRING

T = TypeVar("T")

DATABASE, TABLE = "bench", "events"
KEYS = ("ds", "hour", "region")
SELECTED_PARTITIONS = 24
"""Partitions that each filter finds, except the filter by a whole key."""
FILTERS_PER_KIND = 20
"""Filters of a kind, each about another part of the table; they are asked in turn."""
PARTITIONS_PER_COMMIT = 100_000
"""Partitions in a commit."""

_FIRST_DAY = datetime.date(2012, 1, 1)
_HOURS = tuple(f"{hour:02d}" for hour in range(24))
_REGIONS = tuple(f"region-{letter}" for letter in "abcdefghijkl")
RARE_REGIONS = 10
"""Regions with `SELECTED_PARTITIONS` partitions each."""
_RARE = tuple(f"rare-{number}" for number in range(RARE_REGIONS))
_A_DAY = len(_HOURS) * len(_REGIONS)
_FILE = FileRecord(
    "part-00000-7d2f6a0e-4f0b-4c8e-9b57-3f1f0c7a5d11-c000.snappy.parquet",
    41_943_040,
    120_000,
    1_700_000_000_000,
    {
        "id": ColumnStatistics(900_000, 0, 1_000_000, 1_999_999),
        "customer": ColumnStatistics(700_000, 12, "aaron", "zoe"),
        "amount": ColumnStatistics(800_000, 0, 0.01, 9_999.5),
    },
)

Values = tuple[str, str, str]


@dataclass(frozen=True)
class Grid:
    """The partitions of a table.

    Attributes:
        partitions: their number; a thousand at least.
    """

    partitions: int

    @property
    def days(self) -> int:
        """Return how many days have all their partitions."""
        return (self.partitions - SELECTED_PARTITIONS * len(_RARE)) // _A_DAY

    def day(self, number: int) -> str:
        """Return the text of a day, from 0."""
        return str(_FIRST_DAY + datetime.timedelta(days=number))

    @cached_property
    def values(self) -> Sequence[Values]:
        """Return the values of all partitions, in the order of their keys."""
        found = [
            (day, hour, region)
            for day in map(self.day, range(self.days + 1))
            for hour in _HOURS
            for region in _REGIONS
        ]
        rare = SELECTED_PARTITIONS * len(_RARE)
        del found[self.partitions - rare :]
        for number in range(rare):
            # In the afternoons only: filters for the mornings find none of them.
            slot = number * self.days * 12 // rare
            found.append((self.day(slot // 12), _HOURS[12 + slot % 12], _RARE[number % len(_RARE)]))
        return sorted(found)

    def leading(self, number: int) -> Predicate:
        """Return a filter by a day and two of its hours: 24 adjacent partitions."""
        hours = (Compare(">=", "hour", "06", STRING), Compare("<", "hour", "08", STRING))
        return And((equal("ds", self.day_of_filter(number), STRING), *hours))

    def whole(self, number: int) -> Predicate:
        """Return a filter by the whole key: one partition."""
        values = (self.day_of_filter(number), _HOURS[number % 12], _REGIONS[number % len(_REGIONS)])
        return And(tuple(equal(key, value, STRING) for key, value in zip(KEYS, values, strict=True)))

    def skipping(self, number: int) -> Predicate:
        """Return a filter by the last column: 24 partitions, far from each other."""
        return equal("region", _RARE[number % len(_RARE)], STRING)

    def either(self, number: int) -> Predicate:
        """Return a filter by a day and two of its hours or by the last column: 48 partitions, half adjoin."""
        return Or((self.leading(number), self.skipping(number)))

    def unselective(self, number: int) -> Predicate:
        """Return a filter by the last column that all but the rare regions satisfy."""
        return Compare(">=", "region", f"region-{chr(ord('A') + number)}", STRING)

    def scattered(self, number: int) -> Predicate:
        """Return a filter by many whole keys: 24 partitions, far from each other."""
        days = tuple(
            self.day((number + place * self.days // SELECTED_PARTITIONS) % self.days)
            for place in range(SELECTED_PARTITIONS)
        )
        return And(
            (In("ds", days, STRING), equal("hour", "07", STRING), equal("region", _REGIONS[3], STRING))
        )

    def within(self, number: int) -> Predicate:
        """Return a filter by a day and a region, without a condition on the second column: 24 partitions."""
        return And((equal("ds", self.day_of_filter(number), STRING), equal("region", _REGIONS[5], STRING)))

    def hourly(self, _number: int) -> Predicate:
        """Return a filter by the second column: every day's partitions of an hour."""
        return equal("hour", _HOURS[3], STRING)

    @property
    def hourly_partitions(self) -> int:
        """Return how many partitions a filter by the second column finds."""
        return sum(hour == _HOURS[3] for _, hour, _ in self.values)

    def day_of_filter(self, number: int) -> str:
        """Return the day that a filter is about."""
        return self.day(self.days * (2 * (number % FILTERS_PER_KIND) + 1) // (2 * FILTERS_PER_KIND))


class Lookups(Generic[T]):
    """Runs one filter after another, and checks that it finds as much as it should.

    Args:
        find: runs a filter and returns how many partitions it found.
        filters: to run in turn.
        expected: how many partitions each finds.
    """

    def __init__(self, find: Callable[[T], int], filters: Sequence[T], expected: int) -> None:
        self._find = find
        self._turn = cycle(filters)
        self._expected = expected

    def __call__(self) -> None:
        """Run the next."""
        asked = next(self._turn)
        found = self._find(asked)
        if found != self._expected:
            raise AssertionError(f"{found} partitions instead of {self._expected}: {asked}")


def count_found(table: TableSnapshot, plan: ScanPlan) -> int:
    """Return how many partitions a plan finds; all of them are read."""
    return len(list(table.partitions(plan)))


def progress(console: Console) -> Progress:
    """Make the display of what is being loaded; nothing of it stays."""
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*bars, console=console, transient=True)


def new_table(metastore: Metastore, name: str = TABLE) -> TableSnapshot:
    """Make the table, without partitions, and its database."""
    if DATABASE not in metastore.databases():
        metastore.create_database(DATABASE)
    columns = (
        TableColumn("id", "long"),
        TableColumn("customer", "string"),
        TableColumn("amount", "double"),
        *(TableColumn(key, "string") for key in KEYS),
    )
    metadata = TableMetadata(columns, KEYS, "parquet", metastore.table_location(DATABASE, name))
    return metastore.create_table(DATABASE, name, metadata)


def add(table: TableSnapshot, values: Sequence[Values]) -> tuple[TableSnapshot, float]:
    """Add partitions of one file each, in one commit.

    Returns:
        the version made, and the seconds that it took.
    """
    started = time.perf_counter()
    transaction = Transaction(table, "append")
    for each in values:
        transaction.append(each, [_FILE])
    after = commit(transaction)
    return after, time.perf_counter() - started


def fill(table: TableSnapshot, grid: Grid, advance: Callable[[int], None]) -> TableSnapshot:
    """Add all partitions of a grid, some at a time.

    Args:
        table: to add to.
        grid: what to add.
        advance: called with the number of partitions added.
    """
    for some in _parts(grid.values, PARTITIONS_PER_COMMIT):
        table, _ = add(table, some)
        advance(len(some))
    return table


def kept(folder: Path, grid: Grid, console: Console) -> tuple[Path, float | None]:
    """Return the warehouse of a table with an index on its last column, made by this version if need be.

    Returns:
        its folder; and the seconds that the index took, if it was made now.
    """
    warehouse = folder / f"metastore-{grid.partitions}"
    made_by = warehouse / "made-by"
    if made_by.exists() and made_by.read_text(encoding="utf-8") == __version__:
        return warehouse, None
    shutil.rmtree(warehouse, ignore_errors=True)
    with open_metastore(str(warehouse), create=True) as metastore, progress(console) as shown:
        task = shown.add_task("partitions", total=grid.partitions)
        table = fill(new_table(metastore), grid, lambda count: shown.advance(task, count))
        shown.update(task, description="index", total=None)
        started = time.perf_counter()
        create_index(table, ["region"])
        seconds = time.perf_counter() - started
    made_by.write_text(__version__, encoding="utf-8")
    return warehouse, seconds


def make_files(warehouse: Path, partitions: Sequence[Values]) -> None:
    """Make the files of partitions, with a byte each: readers of a served table get links to them."""
    with open_metastore(str(warehouse)) as metastore:
        location = storage_path(metastore.table(DATABASE, TABLE).metadata.location).path
    for values in partitions:
        named = "/".join(f"{key}={value}" for key, value in zip(KEYS, values, strict=True))
        file = Path(location, named, _FILE.path)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"x")


def _parts(values: Sequence[Values], size: int) -> Iterator[Sequence[Values]]:
    return (values[start : start + size] for start in range(0, len(values), size))
