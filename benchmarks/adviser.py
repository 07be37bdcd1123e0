"""Forecasts of the adviser beside files that are really written, and what following its advice costs in all.

Three questions. How far are forecasts off, and is the planted layout found, over random tables and queries?
What does a log of visits with a drift read and rewrite, if advice is followed? It is compared with no advice,
and with the best static layout, chosen in hindsight. The same of TPC-DS's sales. PyArrow writes
the files.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result
from parquetry.adviser import (
    Advice,
    AdviceRequest,
    Grain,
    TableLayout,
    TableStudy,
    advise_on,
    folder_source,
    next_step,
)
from parquetry.workload import QueryCondition, QueryRecord, TableRead
from tests.support.adviser.truth import Condition, WrittenTable, write_layout
from tests.support.adviser.worlds import Workload, random_workload

_WORLDS = 20
_ROWS, _SAMPLE_SHARE = 200_000, 0.05
_FILES = 60
_ALTERNATIVES = 3
"""Forecasts of each world that are held against written files."""
_QUERIES = 1_000
_FIRST_ADVICE = 10
"""Queries before the first advice."""
_WINDOW = 100
"""Queries between one advice and the next, which is about these queries."""
_RECENT = 100
"""The queries that a step of a table with `layout` = `auto` goes by: the newest."""
_DAY = 50
"""Queries between two runs of `maintain`."""
_REWRITE_FACTOR = 2
"""A rewrite reads all bytes and writes them."""

_Query = tuple[tuple[Condition, ...], tuple[str, ...]]


def run(folder: Path, scale: float) -> Result:
    """Measure errors of forecasts, planted layouts, and two logs."""
    console = Console(highlight=False)
    result = Result("adviser")
    with console.status("random tables"):
        result.findings += list(_random_worlds(folder / "adviser"))
    for name, log in (("visits with a drift", _visits(scale)), ("TPC-DS", _tpcds(folder, scale))):
        with console.status(name):
            result.findings += list(_follow(name, log, folder / "adviser"))
    return result


def _random_worlds(folder: Path) -> Iterator[BenchmarkFinding]:
    ratios, promises, planted = [], [], 0
    for seed in range(_WORLDS):
        world = random_workload(seed, _ROWS)
        size = world.rows.nbytes // 2 // _FILES
        now = write_layout(world.rows, TableLayout(size), folder / "now")
        advice = _advise(folder / "now", world.records("now"), _ROWS)
        if advice.best is None or advice.best.spec is None:
            continue
        planted += world.planted(advice.best.spec)
        for each in (advice.best, *advice.alternatives)[:_ALTERNATIVES]:
            assert each.spec is not None
            then = write_layout(world.rows, each.spec, folder / "then")
            truth = _mean(then, world)
            ratios.append(each.bytes / truth)
            promises.append((advice.bytes_now / (each.bytes + each.spread)) / (_mean(now, world) / truth))
    errors = np.abs(np.array(ratios) - 1)
    yield BenchmarkFinding("random tables: forecasts within 20 % of the written files", float(np.mean(errors <= 0.2)), 0.9, at_least=True)  # fmt: skip
    yield BenchmarkFinding("random tables: the promise that is most too good", max(promises), 1.5)
    yield BenchmarkFinding("random tables: planted layouts found", planted / _WORLDS, 0.95, at_least=True)


def _advise(folder: Path, records: Sequence[QueryRecord], rows: int) -> Advice:
    request = AdviceRequest(records, ["now"], sample_rows=int(rows * _SAMPLE_SHARE))
    return advise_on(folder_source(str(folder)), request)


def _mean(written: WrittenTable, world: Workload) -> float:
    reads = [(written.read(conditions, columns)[0], weight) for conditions, columns, weight in world.queries]
    return sum(size * weight for size, weight in reads) / sum(weight for _, weight in reads)


@dataclass(frozen=True)
class _Log:
    """Rows, and queries in the order of their arrival.

    Attributes:
        rows: of the table, in the order of its files.
        queries: in their order.
        layouts: the static layouts that hindsight chooses among, for a size of files.
    """

    rows: pa.Table
    queries: list[_Query]
    layouts: Callable[[int], list[TableLayout]]


def _follow(name: str, log: _Log, folder: Path) -> Iterator[BenchmarkFinding]:
    """Follow advice through a log, and compare bytes read and rewritten."""
    size = log.rows.nbytes // 2 // _FILES
    start = now = write_layout(log.rows, TableLayout(size), folder / "now")
    unadvised = sum(start.read(*query)[0] for query in log.queries)
    statics = {
        str(layout): sum(written.read(*query)[0] for query in log.queries)
        for layout in log.layouts(size)
        for written in (write_layout(log.rows, layout, folder / "then"),)
    }
    spent = 0
    for number, query in enumerate(log.queries):
        if number == _FIRST_ADVICE or (number and number % _WINDOW == 0):
            recent = log.queries[max(0, number - _WINDOW) : number]
            best = _advise(folder / "now", _records(recent), log.rows.num_rows).best
            if best is not None and best.spec is not None and (best.pays_after or math.inf) <= _WINDOW:
                spent += _REWRITE_FACTOR * now.bytes
                now = write_layout(log.rows, best.spec, folder / "now")
        spent += now.read(*query)[0]
    auto = _follow_by_itself(log, size, folder / "auto")
    for how, all_bytes in (("advised", spent), ("layout = auto", auto)):
        yield BenchmarkFinding(
            f"{name}: bytes read and rewritten, {how} / unadvised", all_bytes / unadvised, 0.5
        )
        yield BenchmarkFinding(
            f"{name}: bytes read and rewritten, {how} / read with the best static layout",
            all_bytes / min(statics.values()),
            1.3,
        )


def _follow_by_itself(log: _Log, size: int, folder: Path) -> int:
    """Return the bytes that queries read, and steps of `layout` = `auto` rewrite: once a day."""
    now, layout = write_layout(log.rows, TableLayout(size), folder), TableLayout(size)
    spent = last = 0
    for number, query in enumerate(log.queries):
        if number == _FIRST_ADVICE or (number and number % _DAY == 0):
            recent = _records(log.queries[max(0, number - _RECENT) : number])
            source = replace(folder_source(str(folder)), layout=layout)
            sample_rows = int(log.rows.num_rows * _SAMPLE_SHARE)
            request = AdviceRequest(recent, ["now"], sample_rows=sample_rows, order_only=True)
            step = next_step(TableStudy(source, request), number - last)
            if step.is_due:
                last, layout = number, step.layout or layout
            if step.resorting is not None:
                paths = {source.files[index].path.removeprefix("file:") for index in step.resorting.files}
                now, rewritten = now.rewrite(paths, layout, folder / f"step-{number}")
                spent += _REWRITE_FACTOR * rewritten
        spent += now.read(*query)[0]
    return spent


def _records(queries: Sequence[_Query]) -> list[QueryRecord]:
    return [
        QueryRecord(
            (
                TableRead(
                    "now",
                    conditions=tuple(QueryCondition(each.text, (each.column,)) for each in conditions),
                    columns=columns,
                ),
            )
        )
        for conditions, columns in queries
    ]


def _visits(scale: float) -> _Log:
    """Return a log of visits: users by Zipf's law are looked up at first, then pages of single days."""
    rng = np.random.default_rng(11)
    count = int(400_000 * scale)
    start = datetime.datetime(2026, 1, 1)
    seconds = np.sort(rng.integers(0, 90 * 86_400, count))
    users, pages = rng.zipf(1.3, count) % 30_000, rng.zipf(1.4, count) % 2_000
    rows = pa.table(
        {
            "ts": pa.array(np.datetime64(start, "us") + seconds.astype("timedelta64[s]"), pa.timestamp("us")),
            "user_id": (users * 7919) % 30_000,
            "page": (pages * 613) % 2_000,
            "ms": rng.exponential(200, count).astype(np.int32),
        }
    ).take(pa.array(rng.permutation(count)))
    queries: list[_Query] = []
    for number in range(_QUERIES):
        if number < _QUERIES // 2:
            user = int((int(rng.zipf(1.3)) % 30_000) * 7919 % 30_000)
            queries.append(((Condition("user_id", user, user),), ("user_id", "ts", "page")))
        else:
            day = start + datetime.timedelta(days=int(rng.integers(90)))
            low = int(rng.integers(1_900))
            times = Condition("ts", day, day + datetime.timedelta(days=1))
            queries.append(((times, Condition("page", low, low + 100)), ("ts", "page", "ms")))
    return _Log(rows, queries, _visit_layouts)


def _visit_layouts(size: int) -> list[TableLayout]:
    bases = [TableLayout(size), *(TableLayout(size, (Grain("ts", unit),)) for unit in ("day", "month"))]
    sorts: list[tuple[str, ...]] = [(), ("user_id",), ("ts",), ("page",), ("page", "ts"), ("user_id", "ts")]
    return [replace(base, sort=sort) for base in bases for sort in sorts]


def _tpcds(folder: Path, scale: float) -> _Log:
    """Return sales of TPC-DS, with queries as its star joins ask them: months, years, items, customers."""
    from demo import tpcds

    raw = tpcds.make(folder / "adviser-tpcds", 0.2 * scale)
    names = ["ss_sold_date_sk", "ss_item_sk", "ss_customer_sk", "ss_quantity", "ss_net_paid"]
    rows = pq.read_table(raw.file("store_sales"), columns=names)
    rows = rows.filter(pa.compute.is_valid(rows["ss_sold_date_sk"])).drop_null()
    rng = np.random.default_rng(12)
    rows = rows.take(pa.array(rng.permutation(rows.num_rows)))
    dates = rows["ss_sold_date_sk"].to_numpy()
    items = int(rows["ss_item_sk"].to_numpy().max())
    queries: list[_Query] = []
    for _ in range(_QUERIES):
        first = int(rng.integers(dates.min(), dates.max() - 365))
        days = Condition("ss_sold_date_sk", first, first + int(rng.choice([30, 90, 365], p=[0.6, 0.3, 0.1])))
        low = int(rng.integers(1, items))
        chosen = Condition("ss_item_sk", low, low + items // 50)
        conditions = (days, chosen) if rng.random() < 0.3 else (days,)
        queries.append((conditions, ("ss_sold_date_sk", "ss_item_sk", "ss_net_paid")))
    return _Log(rows, queries, _sales_layouts)


def _sales_layouts(size: int) -> list[TableLayout]:
    names = ("ss_sold_date_sk", "ss_item_sk", "ss_customer_sk")
    bases = [
        TableLayout(size),
        *(TableLayout(size, (Grain("ss_sold_date_sk", "range", width),)) for width in (60, 240)),
    ]
    sorts = [(), *((name,) for name in names), names[:2], names[1::-1]]
    return [replace(base, sort=sort) for base in bases for sort in sorts]
