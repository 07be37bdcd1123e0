"""Upkeep, and plans, of tables of very many small partitions; and many small writes with `auto-compact`.

Metastores are built without data files, as in `benchmarks.files`; `fsck` has real files of one byte.
What was there before is measured beside it in the same process: plans by the partitions' own rows, and upkeep
that looks at everything. All seconds are of the processor.
"""

from __future__ import annotations

import copy
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.files.planning import FileFilter, in_own_process, select
from benchmarks.files.tables import FileLayout, entries, kept
from benchmarks.measure import BenchmarkFinding, Result, Timing
from benchmarks.metastore.table import DATABASE
from parquetry.metastore import (
    TableMetadata,
    TableSnapshot,
    Transaction,
    commit,
    dump,
    fsck,
    open_metastore,
    refresh_ranges,
    vacuum,
)
from tests.support.micro_batches import MicroBatches, MicroBatchResult, run_micro_batches

_ROUNDS = 3
_TARGET_RATIO = 3.0
"""Times as long as a plan may take if each partition has one file, beside a thousand partitions."""
_MAX_UNCHANGED_SECONDS = 0.5
"""Seconds that a vacuum and an fsck may take if nothing has changed."""
_RANGES, _ROWS, _FEW = "range manifests", "the partitions' own rows", "1,000 partitions"


def run(folder: Path, scale: float) -> Result:
    """Measure plans, upkeep and many small writes."""
    console = Console(highlight=False)
    result = Result("upkeep")
    total = max(10_000, int(1_000_000 * scale))
    single, few = FileLayout("single", total, 1), FileLayout("few", 1_000, total // 1_000)
    large = FileLayout("large", max(1_000, int(20_000 * scale)), 1_000, narrow=True)
    for column in ("scattered", "ordered"):
        with console.status(f"plans by a column that is {column}"):
            _plans(result, folder, single, few, column, console)
    _large(result, folder, large, console)
    with console.status("upkeep"):
        _upkeep(result, folder, max(5_000, int(100_000 * scale)))
    with console.status("small writes"):
        _micro_batches(result, max(500, int(10_000 * scale)))
    return result


def _plans(
    result: Result, folder: Path, single: FileLayout, few: FileLayout, column: str, console: Console
) -> None:
    """Measure plans for a hundredth of the files, where each partition has one, and where it has many."""
    single_filter = FileFilter.one_percent(kept(folder, single, console), single, column)
    few_filter = FileFilter.one_percent(kept(folder, few, console), few, column)
    with open_metastore(single_filter.warehouse) as one, open_metastore(few_filter.warehouse) as other:
        table = one.table(DATABASE, single.name)
        refresh_ranges(table)
        table, of_few = table.refresh(), other.table(DATABASE, few.name)
        timing = _take_turns(
            str(single_filter),
            {
                _RANGES: lambda: select(table, single_filter),
                _FEW: lambda: select(of_few, few_filter),
            },
        )
        # so slow that one run is enough
        timing.seconds[_ROWS] = [_seconds(lambda: select(_by_rows(table), single_filter))]
    result.timings.append(timing)
    ratio = timing.ratio(_RANGES, _FEW)
    result.findings += [
        BenchmarkFinding(f"{timing.job}: {_RANGES} / {_FEW}", ratio, _TARGET_RATIO),
        BenchmarkFinding(f"{timing.job}: {_ROWS} / {_RANGES}", timing.ratio(_ROWS, _RANGES), None),
    ]


def _by_rows(table: TableSnapshot) -> TableSnapshot:
    """Return the same version without its range manifests."""
    other = copy.copy(table)
    other.commit = msgspec.structs.replace(table.commit, ranges=b"")
    return other


def _large(result: Result, folder: Path, large: FileLayout, console: Console) -> None:
    """Measure plans of a table of twenty million files, each in a process of its own, and its metastore."""
    small = FileLayout("small", 10, 10)
    warm_up = FileFilter.one_percent(kept(folder, small, console), small, "scattered")
    warehouse = kept(folder, large, console)
    for column in ("scattered", "ordered"):
        one_percent = FileFilter.one_percent(warehouse, large, column)
        with console.status(str(one_percent)):
            costs = [in_own_process(one_percent, warm_up) for _ in range(_ROUNDS)]
        result.findings += [
            BenchmarkFinding(str(one_percent), statistics.median(cost.cpu for cost in costs), None, "s"),
            BenchmarkFinding(
                f"{one_percent}: memory", statistics.median(cost.bytes for cost in costs) / 1e6, None, "MB"
            ),
        ]
    size = sum(path.stat().st_size for path in warehouse.rglob("*") if path.is_file())
    result.findings.append(BenchmarkFinding(f"metastore of {large}", size / 1e6, None, "MB"))


def _upkeep(result: Result, folder: Path, partitions: int) -> None:
    """Measure vacuum, fsck and dump of a table of real files of one byte."""
    warehouse = Path(tempfile.mkdtemp(dir=folder))
    try:
        with open_metastore(str(warehouse), create=True) as metastore:
            metastore.create_database(DATABASE)
            location = metastore.table_location(DATABASE, "t")
            layout = FileLayout("t", partitions, 1)
            metadata = TableMetadata(layout.columns, ("p",), "parquet", location)
            table = _write_files(metastore.create_table(DATABASE, "t", metadata), layout)
            jobs: dict[str, Callable[[], object]] = {
                "vacuum, first": lambda: vacuum(table),
                "vacuum, nothing changed": lambda: vacuum(table),
                "vacuum, full": lambda: vacuum(table, full=True),
                "fsck, first": lambda: fsck(table),
                "fsck, nothing changed": lambda: fsck(table),
                "fsck, full": lambda: fsck(table, full=True),
                "dump": lambda: dump(metastore, warehouse / "dump"),
            }
            for job, do in jobs.items():
                target = _MAX_UNCHANGED_SECONDS if job == "fsck, nothing changed" else None
                what = f"{partitions:,} partitions: {job}"
                result.findings.append(BenchmarkFinding(what, _seconds(do), target, "s"))
    finally:
        shutil.rmtree(warehouse, ignore_errors=True)


def _write_files(table: TableSnapshot, layout: FileLayout) -> TableSnapshot:
    records = entries(layout, 0, layout.total)
    transaction = Transaction(table, "append")
    for p, record in enumerate(records):
        path = Path(table.placement.default_location((p,)).removeprefix("file:"))
        path.mkdir(parents=True)
        name = f"pq-{table.id.hex()}-{p}.parquet"
        (path / name).write_bytes(b"x")
        transaction.append((p,), [msgspec.structs.replace(record, path=name, bytes=1)])
    return commit(transaction)


def _micro_batches(result: Result, count: int) -> None:
    """Measure many small writes into one partition, with `auto-compact` and without."""
    batches = MicroBatches(file_bytes=100_000, target=128 << 20, min_files=50, max_bytes=1 << 30)
    done: dict[str, MicroBatchResult] = {}
    for name, compacts in (("auto-compact", True), ("without", False)):
        with tempfile.TemporaryDirectory() as folder, open_metastore(folder, create=True) as metastore:
            settings = replace(batches, compacts=compacts)
            before = time.process_time()
            done[name] = run_micro_batches(count, settings, metastore)
            seconds = time.process_time() - before
            table = done[name].table
            plan = statistics.median([_seconds(partial(_files, table)) for _ in range(5)])
        what = f"{count:,} small writes, {name}"
        result.findings += [
            BenchmarkFinding(f"{what}: most files", done[name].most_files, None, "files"),
            BenchmarkFinding(f"{what}: a plan after them", 1000 * plan, None, "ms"),
            BenchmarkFinding(f"{what}: decision and commits of a write", 1000 * seconds / count, None, "ms"),
        ]
    compacted = done["auto-compact"]
    result.findings.append(
        BenchmarkFinding(
            f"{count:,} small writes, auto-compact: bytes rewritten / written",
            compacted.bytes_rewritten / compacted.bytes_written,
            None,
        )
    )


def _files(table: TableSnapshot) -> list[str]:
    return [file.path for partition in table.partitions() for file in partition.files]


def _take_turns(job: str, variants: dict[str, Callable[[], object]]) -> Timing:
    """Measure processor time of variants in turns, each warmed up."""
    for do in variants.values():
        do()
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(_ROUNDS):
        for name, do in variants.items():
            seconds[name].append(_seconds(do))
    return Timing(job, seconds)


def _seconds(do: Callable[[], object]) -> float:
    before = time.process_time()
    do()
    return time.process_time() - before
