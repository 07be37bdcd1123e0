"""Random tables with random workloads. One layout is planted as the best."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from parquetry.adviser import Grain, TableLayout
from parquetry.workload import QueryCondition, QueryRecord, TableRead
from tests.support.adviser.truth import Condition

START = datetime.datetime(2026, 1, 1)
DAYS = 120
TEXTS = ("DE", "FR", "US", "GB", "IT", "ES", "PL", "SE", "NL", "BE", "AT", "CH")


@dataclass(frozen=True)
class Workload:
    """Rows, queries, and the layout that was planted.

    Attributes:
        rows: of the table, in the order of its files.
        queries: the conditions of each, its columns, and how often it runs.
        planted: what the best layout has: a text that its words contain, or several.
    """

    name: str
    rows: pa.Table
    queries: list[tuple[tuple[Condition, ...], tuple[str, ...], int]]
    planted: Callable[[TableLayout], bool] = field(repr=False)

    def records(self, table: str) -> list[QueryRecord]:
        """Return the queries as a history has them."""
        return [
            QueryRecord(
                (
                    TableRead(
                        table,
                        conditions=tuple(QueryCondition(each.text, (each.column,)) for each in conditions),
                        columns=columns,
                    ),
                ),
                weight=weight,
            )
            for conditions, columns, weight in self.queries
        ]


def random_rows(rng: np.random.Generator, count: int) -> pa.Table:
    """Return a log of events in the order of arrival: times, keys, a skewed text, numbers."""
    seconds = np.sort(rng.integers(0, DAYS * 86_400, count))
    late = rng.random(count) < 0.02
    seconds = np.where(late, np.maximum(seconds - rng.integers(0, 86_400 * 3, count), 0), seconds)
    weights = 1 / np.arange(1, len(TEXTS) + 1) ** rng.uniform(0.8, 1.5)
    user = (rng.zipf(rng.uniform(1.2, 1.6), count) * 7919) % 20_000
    return pa.table(
        {
            "ts": pa.array(np.datetime64(START, "us") + seconds.astype("timedelta64[s]"), pa.timestamp("us")),
            "country": np.array(TEXTS)[rng.choice(len(TEXTS), count, p=weights / weights.sum())],
            "user_id": user.astype(np.int64),
            "item": rng.integers(0, 100_000, count),
            "price": np.round(rng.lognormal(3, 1, count), 2),
            "qty": rng.integers(1, 50, count).astype(np.int32),
        }
    )


ALL = ("ts", "country", "user_id", "item", "price", "qty")


def _columns(rng: np.random.Generator, needed: set[str]) -> tuple[str, ...]:
    others = [name for name in ALL if name not in needed]
    more = rng.choice(len(others), rng.integers(1, len(others) + 1), replace=False)
    return tuple(sorted(needed | {others[index] for index in more}))


def _times(rng: np.random.Generator, days: float) -> Condition:
    start = START + datetime.timedelta(days=float(rng.uniform(0, DAYS - days)))
    start = start.replace(microsecond=0)
    return Condition("ts", start, (start + datetime.timedelta(days=days)).replace(microsecond=0))


def _range_of(rng: np.random.Generator, rows: pa.Table, name: str, share: float) -> Condition:
    values = np.sort(rows[name].to_numpy())
    first = int(rng.integers(0, max(1, int(len(values) * (1 - share)))))
    last = min(len(values) - 1, first + int(len(values) * share))
    return Condition(name, values[first].item(), values[last].item())


def _value_of(rng: np.random.Generator, rows: pa.Table, name: str) -> Condition:
    value = rows[name][int(rng.integers(0, rows.num_rows))].as_py()
    return Condition(name, value, value)


def random_workload(seed: int, count: int = 60_000) -> Workload:
    """Return a table and queries; one kind of layout serves nearly all of them."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, count)
    kinds = (_by_number, _by_time, _by_text_and_time, _by_text_and_number)
    return kinds[seed % len(kinds)](rng, rows)


def _with_noise(
    rng: np.random.Generator, rows: pa.Table, made: list[tuple[Condition, ...]]
) -> list[tuple[tuple[Condition, ...], tuple[str, ...], int]]:
    noise: list[tuple[Condition, ...]] = [(_range_of(rng, rows, "qty", 0.1),)]
    return [
        (each, _columns(rng, {condition.column for condition in each}), weight)
        for some, weight in ((made, 10), (noise, 1))
        for each in some
    ]


def _by_number(rng: np.random.Generator, rows: pa.Table) -> Workload:
    name = ("user_id", "item", "price")[int(rng.integers(3))]
    made: list[tuple[Condition, ...]] = [
        (_range_of(rng, rows, name, float(rng.uniform(0.002, 0.03))),) for _ in range(8)
    ]
    rows = rows.take(pa.array(rng.permutation(rows.num_rows)))
    return Workload(
        f"sorted by {name}", rows, _with_noise(rng, rows, made), lambda layout: _leads(layout, name)
    )


def _by_time(rng: np.random.Generator, rows: pa.Table) -> Workload:
    made: list[tuple[Condition, ...]] = [(_times(rng, float(rng.uniform(0.5, 4))),) for _ in range(8)]
    rows = rows.take(pa.array(rng.permutation(rows.num_rows)))
    return Workload("by time", rows, _with_noise(rng, rows, made), lambda layout: _leads(layout, "ts"))


def _by_text_and_time(rng: np.random.Generator, rows: pa.Table) -> Workload:
    made: list[tuple[Condition, ...]] = [
        (_value_of(rng, rows, "country"), _times(rng, float(rng.uniform(1, 8)))) for _ in range(10)
    ]
    rows = rows.take(pa.array(rng.permutation(rows.num_rows)))
    return Workload(
        "by country and time",
        rows,
        _with_noise(rng, rows, made),
        lambda layout: {"country", "ts"} <= layout.columns(),
    )


def _by_text_and_number(rng: np.random.Generator, rows: pa.Table) -> Workload:
    made: list[tuple[Condition, ...]] = [
        (_value_of(rng, rows, "country"), _range_of(rng, rows, "item", float(rng.uniform(0.01, 0.05))))
        for _ in range(10)
    ]
    return Workload(
        "by country and item",
        rows,
        _with_noise(rng, rows, made),
        lambda layout: {"country", "item"} <= layout.columns(),
    )


def _leads(layout: TableLayout, name: str) -> bool:
    """Return whether rows are divided or sorted by a column before all others."""
    first: list[Any] = [*(grain.column for grain in layout.partition), *layout.bucket_by[:0], *layout.sort]
    return bool(first) and first[0] == name


def static_layouts(file_bytes: int) -> list[TableLayout]:
    """Return all static layouts that a planted one is compared with."""
    plain = TableLayout(file_bytes)
    bases = [
        plain,
        TableLayout(file_bytes, (Grain("country"),)),
        TableLayout(file_bytes, (Grain("ts", "month"),)),
        TableLayout(file_bytes, (Grain("ts", "day"),)),
    ]
    sorts: list[tuple[str, ...]] = [
        (),
        ("ts",),
        ("user_id",),
        ("item",),
        ("price",),
        ("country", "ts"),
        ("country", "item"),
    ]
    return [TableLayout(base.file_bytes, base.partition, sort=sort) for base in bases for sort in sorts]
