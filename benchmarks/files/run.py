"""Planning among a million files, on SQLite; for comparison Iceberg's planner and PyIceberg.

Both sides have the same entries. Only entries are made, with statistics of 23 columns; no data files exist,
and none is opened. The time of a plan is the time of `Planner.ask`: the version of the table is known, and
the answer is as the bridge gets it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks import planning
from benchmarks.files import appends, spark
from benchmarks.files.iceberg import VERSION, Iceberg, IcebergTable, MissingIcebergError, environment
from benchmarks.files.planning import Cost, FileFilter, PlanningSession, in_own_process, select
from benchmarks.files.tables import FileLayout, kept
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.table import DATABASE
from parquetry.metastore import open_metastore

_ROUNDS, _PYTHON_ROUNDS = 5, 2
_MAX_SECONDS_PER_PLAN = 20.0
"""Seconds that all rounds of a plan may take."""
_MEMORY_TARGET = 300.0
_MIN_SPEEDUP = 5.0
"""How many times as long Iceberg's planner should take for a hundredth of a million files."""
_OURS, _SELECT, _ICEBERG, _PYICEBERG = "parquetry", "select_files", f"Iceberg {VERSION}", "PyIceberg"


def run(folder: Path, scale: float) -> Result:
    """Measure plans, memory, appends, and what Spark waits for."""
    console = Console(highlight=False)
    huge = FileLayout("huge", 1_000, max(1, int(1_000 * scale)))
    many = FileLayout("many", 1_000, max(1, int(100 * scale)))
    single = FileLayout("single", max(1_000, int(100_000 * scale)), 1)
    long = FileLayout("long", 1, max(1_000, int(50_000 * scale)))
    small = FileLayout("small", 10, 10)
    result = Result("files")
    jobs: tuple[tuple[FileLayout, str, float | None], ...] = (
        (huge, "scattered", 1.5),
        (huge, "ordered", 0.15),
        (huge, "within", None),
        (single, "scattered", 0.7),
        (many, "scattered", None),
    )
    for shape in (huge, many, single, long, small):
        kept(folder, shape, console)
    with ExitStack() as stack:
        iceberg = _iceberg(stack, folder, console)
        beside = {} if iceberg is None else {s: iceberg.table(s, console) for s in (huge, many, single)}
        for shape, column, target in jobs:
            file_filter = FileFilter.one_percent(kept(folder, shape, console), shape, column)
            with console.status(str(file_filter)):
                _plan(result, file_filter, target, beside.get(shape))
        file_filter = FileFilter.one_percent(kept(folder, many, console), many, "scattered")
        if many in beside:
            with console.status(f"{file_filter}, {_PYICEBERG}"):
                _in_python(result, file_filter, beside[many])
    with console.status("memory"):
        _memory(result, folder, console, (huge, many, single), small)
    parts = [
        spark.measure(folder, many, console),
        appends.measure(folder, huge, small, long, console),
        planning.run(folder, scale),
    ]
    for part in parts:
        result.timings += part.timings
        result.findings += part.findings
    return result


def _iceberg(stack: ExitStack, folder: Path, console: Console) -> Iceberg | None:
    """Start Iceberg, if it can be had; it ends with the stack."""
    try:
        return stack.enter_context(Iceberg(environment(folder.parent, console), folder))
    except MissingIcebergError as error:
        console.print(f"Iceberg was left out: {error}", soft_wrap=True, markup=False)
        return None


def _plan(
    result: Result, file_filter: FileFilter, target: float | None, iceberg: IcebergTable | None
) -> None:
    """Measure a plan: through the planner, in the library alone, and by Iceberg."""
    session = PlanningSession(file_filter.warehouse, file_filter.shape.name)
    with open_metastore(file_filter.warehouse) as metastore:
        table = metastore.table(DATABASE, file_filter.shape.name)
        variants = {_OURS: partial(session.plan, file_filter), _SELECT: partial(select, table, file_filter)}
        if iceberg is not None:
            variants[_ICEBERG] = partial(iceberg.plan, file_filter)
        taken = {_OURS: _processor_time(variants[_OURS], time.process_time)}
        # what takes long is neither asked often nor changed much by what the processor has in its caches
        rounds = max(1, min(_ROUNDS, int(_MAX_SECONDS_PER_PLAN / taken[_OURS])))
        timing = take_turns(str(file_filter), variants, rounds)
    result.timings.append(timing)
    result.findings.append(BenchmarkFinding(timing.job, timing.median(_OURS), target, "s"))
    if iceberg is not None:
        faster = (
            _MIN_SPEEDUP if (file_filter.shape.name, file_filter.column) == ("huge", "scattered") else None
        )
        what = f"{timing.job}: {_ICEBERG} / parquetry"
        result.findings.append(BenchmarkFinding(what, timing.ratio(_ICEBERG, _OURS), faster, at_least=True))
        taken[_ICEBERG] = _processor_time(variants[_ICEBERG], iceberg.cpu_seconds)
        # on a machine with other work, and because Iceberg plans with all cores, and Parquetry with one
        factor = taken[_ICEBERG] / taken[_OURS]
        result.findings.append(BenchmarkFinding(f"{what}, in processor time", factor, None))
    result.findings += [
        BenchmarkFinding(f"{timing.job}: processor time, {name}", seconds, None, "s")
        for name, seconds in taken.items()
    ]


def _processor_time(plan: Callable[[], None], clock: Callable[[], float]) -> float:
    """Return the seconds of processor time of a plan, by the clock of the process that makes it."""
    before = clock()
    plan()
    return clock() - before


def _in_python(result: Result, file_filter: FileFilter, iceberg: IcebergTable) -> None:
    """Measure PyIceberg, which takes too long for a million files, in a process of its own."""
    timing = take_turns(
        str(file_filter),
        {_OURS: partial(PlanningSession(file_filter.warehouse, file_filter.shape.name).plan, file_filter)},
    )
    timing.seconds[_PYICEBERG] = iceberg.seconds_in_python(file_filter, _PYTHON_ROUNDS)
    result.timings.append(timing)
    what = f"{timing.job}: {_PYICEBERG} / parquetry"
    result.findings.append(BenchmarkFinding(what, timing.ratio(_PYICEBERG, _OURS), None))


def _memory(
    result: Result, folder: Path, console: Console, shapes: tuple[FileLayout, ...], small: FileLayout
) -> None:
    """Measure the first plan of a process: memory and processor time."""
    warm_up = FileFilter.one_percent(kept(folder, small, console), small, "scattered")
    for shape in shapes:
        file_filter = FileFilter.one_percent(kept(folder, shape, console), shape, "scattered")
        cost: Cost = in_own_process(file_filter, warm_up)
        target = _MEMORY_TARGET if shape.name == "huge" else None
        result.findings += [
            BenchmarkFinding(f"{file_filter}: more memory", cost.bytes / 1e6, target, "MB"),
            BenchmarkFinding(f"{file_filter}: first of a process", cost.seconds, None, "s"),
            BenchmarkFinding(f"{file_filter}: processor time of that", cost.cpu, None, "s"),
        ]
