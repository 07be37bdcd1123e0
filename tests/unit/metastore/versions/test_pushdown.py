"""Residuals that the store tests: fewer rows come from it, and the answer is the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import Examined, Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.store import MemoryStore
from parquetry.store.base import Fields, Range
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups
from tests.support.stores.metastores import file, metadata

COLUMNS = (
    TableColumn("x", "long"),
    TableColumn("d", "integer"),
    TableColumn("h", "integer"),
    TableColumn("s", "string"),
    *(TableColumn(f"c{n}", "string") for n in range(8)),
)
VALUES = list(itertools.product(range(6), (None, 1, 2), ("eu", "us", None, "ap")))
FILTERS = [
    "h = 1",
    "s like '%u%' and h is null",
    "s != 'eu' or h > 1",
    "d >= 2 and s in ('eu', 'ap')",
    "(h, s) in ((1, 'eu'), (2, 'us'))",
    "(h, s) not in ((1, 'eu'), (2, 'us'))",
    "d in (1, 3) and s is null",
    "(d = 1 and s = 'eu') or (d = 4 and h = 2 and s like 'a_')",
    "not (s like 'e%' or h between 1 and 1)",
]
EXCESS = {FILTERS[7]: 3}
"""Rows that satisfy what is asked of another range than their own."""


class Watched(MemoryStore):
    """A store that counts the rows it gives away, and that may forget to keep fields.

    Attributes:
        given: rows of scans of ranges.
        forgets: whether rows are written without their fields.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given = 0
        self.forgets = False

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        return super().put_many(rows, None if self.forgets else fields)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        for row in super().scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups):
            self.given += 1
            yield row


def make(store: MemoryStore, **changes: Any) -> TableSnapshot:
    fields = {"columns": COLUMNS, "partition_by": ("d", "h", "s"), **changes}
    table = Metastore(store, "/lake").create_table("default", "t", metadata(**fields))
    return add(table, VALUES)


def add(table: TableSnapshot, partitions: Iterable[tuple[Any, ...]]) -> TableSnapshot:
    transaction = Transaction(table, "append")
    for values in partitions:
        transaction.append(values, [file("f")])
    return commit(transaction)


def drop(table: TableSnapshot, partitions: Iterable[tuple[Any, ...]]) -> TableSnapshot:
    transaction = Transaction(table, "drop")
    for values in partitions:
        transaction.drop(values)
    return commit(transaction)


def found(table: TableSnapshot, text: str) -> set[tuple[Any, ...]]:
    plan = cheapest_plan(table, parse_filter(text, table.key_schema.types))
    partitions = [partition.values for partition in table.partitions(plan)]
    assert len(partitions) == len(set(partitions))
    return set(partitions)


def wanted(table: TableSnapshot, text: str) -> set[tuple[Any, ...]]:
    columns = table.key_schema.types
    predicate = parse_filter(text, columns)
    everything = [partition.values for partition in table.partitions()]
    return {
        row for row in everything if evaluate(predicate.node, dict(zip(columns, row, strict=True))) is True
    }


@pytest.mark.parametrize("text", FILTERS)
@pytest.mark.parametrize("order", ["", "d,s", "h"])
def test_only_wanted_rows_come(text: str, order: str) -> None:
    """The store returns hardly more rows than the result has, for any order of the columns.

    Counting the keys reads no more rows.
    """
    store = Watched()
    table = make(store, descending=tuple(name in order.split(",") for name in "dhs") if order else ())
    expected = wanted(table, text)
    store.given = 0
    assert found(table, text) == expected
    assert store.given - EXCESS.get(text, 0) == len(expected) > 0
    counted = Examined()
    plan = cheapest_plan(table, parse_filter(text, table.key_schema.types))
    assert len(list(table.partitions(plan, examined=counted))) == len(expected)
    assert counted.keys == store.given / 2 == len(expected) + EXCESS.get(text, 0)  # counting changes nothing


@pytest.mark.parametrize("text", FILTERS)
def test_every_version(text: str) -> None:
    """Partitions that were dropped, made again or replaced are found in the versions that have them."""
    store = Watched()
    table = make(store)
    some = [values for n, values in enumerate(VALUES) if n % 3 == 0]
    store.forgets = True
    table = drop(table, some)
    table = add(table, some[::2])
    store.forgets = False
    transaction = Transaction(table, "replace")
    for values in some[::4]:
        transaction.replace(values, [file("g")])
    table = drop(commit(transaction), VALUES[1::3])
    table = drop(table, some[::2])
    for version in range(1, table.version + 1):
        then = Metastore(store, "/lake").table("default", "t", version=version)
        assert found(then, text) == wanted(then, text)


def test_indexes_and_copies(tmp_path: Path) -> None:
    """Entries of an index are tested in the store, too, and a restored table is as good as the first."""
    table = make(rows := Watched())
    create_index(table, ["s"])
    dump(Metastore(table.store, "/lake"), tmp_path / "dump")
    copy = Watched()
    restore(Metastore(copy, "/lake"), tmp_path / "dump")
    for store in (rows, copy):
        latest = Metastore(store, "/lake").table("default", "t")
        for text in FILTERS:
            assert found(latest, text) == wanted(latest, text)
        text = "h != 1 and h != 2 and d > 0"
        expected = wanted(latest, text)
        store.given = 0
        assert found(latest, text) == expected == set()
        assert store.given == 0


@pytest.mark.parametrize("columns", [("c0",), ("h", "d"), ("s", "d", "h"), tuple(f"c{n}" for n in range(8))])
def test_partition_columns_that_were_others(columns: tuple[str, ...]) -> None:
    """Rows from when a table had other partition columns neither show nor get in the way."""
    table = make(Watched())
    table = drop(table, VALUES)
    transaction = Transaction(table, "alter")
    transaction.set_metadata(metadata(columns=COLUMNS, partition_by=columns))
    table = commit(transaction)
    types = {"d": 1, "h": 2}
    table = add(table, [tuple(types.get(name, "é") for name in columns)])
    for name in columns:
        for text in (f"{name} is not null", f"{name} like '%'", f"{name} = {types.get(name, repr('é'))}"):
            assert found(table, text) == wanted(table, text)
            assert len(found(table, text)) == 1
        assert found(table, f"{name} is null") == set()
    old = Metastore(table.store, "/lake").table("default", "t", version=1)
    assert found(old, "h = 1") == wanted(old, "h = 1")
