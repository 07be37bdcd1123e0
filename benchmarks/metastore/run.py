"""Finding some partitions among a million: on SQLite, PostgreSQL, Hive's metastore, and requests to HBase.

Filters come as trees. Each kind of filter is asked about another part of the table in every round. The time
covers planning and reading on a snapshot that has been loaded, as in a query. The time to load a snapshot,
and the additional time for the filter's text, are measured, too.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore import hbase, postgresql, served, writers
from benchmarks.metastore.hive import Backend, EmbeddedMetastore, derby
from benchmarks.metastore.table import (
    DATABASE,
    FILTERS_PER_KIND,
    KEYS,
    RARE_REGIONS,
    SELECTED_PARTITIONS,
    TABLE,
    Grid,
    Lookups,
    add,
    count_found,
    kept,
)
from parquetry.metastore import Metastore, TableSnapshot, open_metastore
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.operations.indexes import drop_index
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.types import STRING
from tests.support.hbase.artifacts import libraries
from tests.support.postgresql.launcher import PostgreSQLServer

_SIZES = {1_000_000: 4_000, 100_000: 2_000, 10_000: 1_000}
"""Partitions of the tables, largest first, and the fewest that a small scale makes of them."""
_ON_HBASE = 10_000
"""The fewest on HBase."""
_ADDED, _ADDED_TO_HIVE = 10_000, 1_000
_ROUNDS, _SLOW_ROUNDS, _SLOW_CALLS = 60, 7, 5
_WARM_UP = 5
"""Filters of a kind that Hive is asked before the clock starts, for its JVM to compile."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of filter.

    Attributes:
        name: for the report.
        make: gives one of a number, for a table.
        partitions: that it finds.
        target: milliseconds that it may take among a million partitions, or a ratio.
    """

    name: str
    make: Callable[[Grid, int], Predicate]
    partitions: int
    target: float

    @property
    def label(self) -> str:
        return f"{self.partitions} by {self.name}"

    def lookups(self, grid: Grid, find: Callable[[Filter], int]) -> Lookups[Filter]:
        """Return the filters of this kind, to be run in turn."""
        return Lookups(
            find, [Filter(self.make(grid, number)) for number in range(FILTERS_PER_KIND)], self.partitions
        )


_KINDS = (
    _Kind("leading columns", Grid.leading, SELECTED_PARTITIONS, 1.0),
    _Kind("the whole key", Grid.whole, 1, 0.1),
    _Kind("a non-leading column", Grid.skipping, SELECTED_PARTITIONS, 2.0),
)
_SCAN_TARGET = 1500.0
_UNION_TARGET, _CHOICE_TARGET = 0.1, 1.05
"""Ratios of CPU time: of a union to a scan of all keys, and of a filter that no index serves to the same
filter without index.
"""
_ADD_TARGET = 1.5
_MAX_GROWTH = 1.3
"""How many times as long a filter may take among a hundred times as many partitions."""
_MIN_SPEEDUPS = {"Derby": 200.0, "PostgreSQL": 20.0}
"""How many times as long Hive should take, with a tenth of the partitions."""


def run(folder: Path, scale: float) -> Result:
    """Measure on SQLite, beside Hive, on PostgreSQL with many writers, and on HBase."""
    console = Console(highlight=False)
    libraries()  # fetched now if need be: the rest takes minutes
    result = Result("metastore")
    grids = [Grid(max(least, int(size * scale))) for size, least in _SIZES.items()]
    large, medium, _ = grids
    with contextlib.ExitStack() as stack:
        tables = {}
        for grid in grids:
            warehouse, seconds = kept(folder, grid, console)
            if seconds is not None:
                result.findings.append(
                    BenchmarkFinding(f"index on {grid.partitions:,} partitions, made", seconds, None, "s")
                )
            metastore = stack.enter_context(open_metastore(str(warehouse)))
            tables[grid] = metastore.table(DATABASE, TABLE)
            _load(result, grid, metastore)
        with console.status("finding partitions"):
            _find(result, tables)
            _scan(result, large, tables[large])
            _choose(result, medium, tables[medium])
            _parse(result, large)
        with console.status("adding partitions"):
            _add(result, kept(folder, large, console)[0], large, int(_ADDED * min(1, scale)))
        added = int(_ADDED_TO_HIVE * min(1, scale))
        with console.status("Hive's metastore on Derby"):
            home = folder / f"hive-{medium.partitions}"
            _beside_hive(result, derby(home / "derby"), home, tables, added)
        with console.status("starting PostgreSQL"):
            server = PostgreSQLServer.start_in_temporary_folder(durable=True)
            stack.callback(server.remove)
        with console.status("Hive's metastore on PostgreSQL"), tempfile.TemporaryDirectory() as scratch:
            backend = postgresql.hive_backend(server, folder)
            _beside_hive(result, backend, Path(scratch), tables, added)
        served.measure(result, server, folder, kept(folder, large, console)[0], large, console)
        postgresql.measure(result, server, kept(folder, large, console)[0], large, added, console)
        writers.measure(result, server, console)
    hbase.measure(result, max(_ON_HBASE, medium.partitions), console)
    return result


def _plan_and_read(table: TableSnapshot, filter: Filter) -> int:
    return count_found(table, cheapest_plan(table, filter))


def _read_in_full(table: TableSnapshot, filter: Filter) -> int:
    """Look at all that Hive returns of a partition, and at its files."""
    found = table.partitions(cheapest_plan(table, filter))
    return len([(each.values, each.location, each.arrangement, each.files) for each in found])


def _find(result: Result, tables: Mapping[Grid, TableSnapshot]) -> None:
    """Measure the kinds of filters in tables of all sizes."""
    large, *_, small = tables
    for kind in _KINDS:
        variants = {
            f"of {grid.partitions:,}": kind.lookups(grid, partial(_plan_and_read, table))
            for grid, table in tables.items()
        }
        timing = take_turns(kind.label, variants, _ROUNDS)
        result.timings.append(timing)
        of_large, of_small = f"of {large.partitions:,}", f"of {small.partitions:,}"
        by_index = ", by an index" if kind.make == Grid.skipping else ""
        milliseconds = 1000 * timing.median(of_large)
        result.findings += [
            BenchmarkFinding(f"{kind.label}{by_index}, {of_large}", milliseconds, kind.target, "ms"),
            BenchmarkFinding(
                f"{kind.label}{by_index}: {of_large} / {of_small}",
                timing.ratio(of_large, of_small),
                _MAX_GROWTH,
            ),
        ]


def _scan(result: Result, grid: Grid, table: TableSnapshot) -> None:
    """Measure a filter by a non-leading column as if there were no index."""

    def find(filter: Filter) -> int:
        return count_found(table, plan_scan(filter, table.key_schema))

    kind = _KINDS[-1]
    timing = take_turns(f"{kind.label}, without an index", {"": kind.lookups(grid, find)}, 5)
    result.timings.append(timing)
    what = f"{timing.job}, of {grid.partitions:,}"
    result.findings.append(BenchmarkFinding(what, 1000 * timing.median(""), _SCAN_TARGET, "ms"))


def _choose(result: Result, grid: Grid, table: TableSnapshot) -> None:
    """Measure the choice of an index where it serves one branch of an OR, and where it serves nothing."""

    def by_keys(filter: Filter) -> int:
        return count_found(table, plan_scan(filter, table.key_schema))

    kinds = (
        _Kind("leading columns or a non-leading one", Grid.either, 2 * SELECTED_PARTITIONS, _UNION_TARGET),
        _Kind(
            "an unselective filter",
            Grid.unselective,
            grid.partitions - SELECTED_PARTITIONS * RARE_REGIONS,
            _CHOICE_TARGET,
        ),
    )
    for kind in kinds:
        variants = {
            "with the index": kind.lookups(grid, partial(_plan_and_read, table)),
            "by keys": kind.lookups(grid, by_keys),
        }
        timing = take_turns(f"{kind.label}, of {grid.partitions:,}", variants, 7, clock=time.process_time)
        result.timings.append(timing)
        ratio = timing.ratio("with the index", "by keys")
        result.findings.append(
            BenchmarkFinding(f"{timing.job}, CPU with the index beside none", ratio, kind.target)
        )


def _load(result: Result, grid: Grid, metastore: Metastore) -> None:
    timing = take_turns(
        "loading the newest version of a table",
        {f"of {grid.partitions:,}": partial(metastore.table, DATABASE, TABLE)},
        _ROUNDS,
    )
    result.timings.append(timing)


def _parse(result: Result, grid: Grid) -> None:
    """Measure what it adds if the filter is a text."""
    types = dict.fromkeys(KEYS, STRING)
    texts = {
        kind.name: Lookups(
            lambda text: len([parse_filter(text, types)]),
            [str(kind.make(grid, number)) for number in range(FILTERS_PER_KIND)],
            1,
        )
        for kind in _KINDS
    }
    timing = take_turns("reading a filter's text", texts, _ROUNDS)
    result.timings.append(timing)
    slowest = max(map(timing.median, texts))
    result.findings.append(BenchmarkFinding("what a filter's text adds, at most", 1000 * slowest, 0.5, "ms"))


def _add(result: Result, kept_in: Path, grid: Grid, added: int) -> None:
    """Measure commits of new partitions to a copy of a table: at its end and all over it.

    The table has an index, or none.
    """
    work = kept_in.with_name("metastore-added-to")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(kept_in, work)
    numbers = count()
    with open_metastore(str(work)) as metastore:
        newest = partial(metastore.table, DATABASE, TABLE)

        def at_the_end() -> None:
            first = next(numbers) * added
            add(newest(), [(grid.day(grid.days + 9), "00", f"{first + n:09d}") for n in range(added)])

        def all_over() -> None:
            first, days = next(numbers) * added, grid.days
            add(newest(), [(grid.day(n * days // added), "12", f"{first + n:09d}") for n in range(added)])

        for index in ("an index", "no index"):
            if index == "no index":
                drop_index(newest(), ["region"])
            timing = take_turns(
                f"adding {added:,} partitions to {grid.partitions:,} in one commit, {index}",
                {"at the end": at_the_end, "all over": all_over},
                5,
            )
            result.timings.append(timing)
            result.findings += [
                BenchmarkFinding(f"{timing.job}, {variant}", timing.median(variant), _ADD_TARGET, "s")
                for variant in timing.seconds
            ]
    shutil.rmtree(work)


def _beside_hive(
    result: Result,
    backend: Backend,
    home: Path,
    tables: Mapping[Grid, TableSnapshot],
    added: int,
) -> None:
    """Measure Hive's metastore with the partitions of the second table, beside that table and the first.

    Args:
        result: gets the findings.
        backend: Hive's database.
        home: folder for the metastore; it is filled unless that was done before.
        tables: the largest first.
        added: how many partitions to add.
    """
    large, medium, *_ = tables
    filled = home / "filled"
    if not filled.exists():
        shutil.rmtree(home, ignore_errors=True)
    with contextlib.closing(EmbeddedMetastore(backend, home)) as hive:
        if not filled.exists():
            hive.fill(medium)
            filled.touch()
        of_hive = f"Hive on {backend.name}, of {medium.partitions:,}"
        for kind in _KINDS:
            asked = Lookups(
                hive.find,
                [str(kind.make(medium, number)) for number in range(FILTERS_PER_KIND)],
                kind.partitions,
            )
            for _ in range(_WARM_UP):
                asked()
            ours = {
                grid: kind.lookups(grid, partial(_read_in_full, tables[grid])) for grid in (large, medium)
            }
            labels = {grid: f"parquetry, of {grid.partitions:,}" for grid in ours}
            variants: dict[str, Callable[[], None]] = {of_hive: asked}
            variants.update((labels[grid], find) for grid, find in ours.items())
            timing = take_turns(
                f"{kind.label}, all of each partition", variants, _SLOW_ROUNDS, calls=_SLOW_CALLS
            )
            result.timings.append(timing)
            for grid, target in ((large, _MIN_SPEEDUPS[backend.name]), (medium, None)):
                what = f"{kind.label}: {of_hive} / {labels[grid]}"
                factor = timing.ratio(of_hive, labels[grid])
                result.findings.append(BenchmarkFinding(what, factor, target, at_least=True))
        hive.new_table("added")
        rounds = [medium.values[start : start + added] for start in range(0, 4 * added, added)]
        seconds = [hive.add("added", some) for some in rounds][1:]
        what = f"Hive on {backend.name}: a partition added, {added:,} in one call"
        result.findings.append(BenchmarkFinding(what, 1000 * statistics.median(seconds) / added, None, "ms"))
        hive.drop_table("added")
