"""The rows that a reader takes from a store do not grow with the number of commits, in any store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import pytest

from parquetry.metastore import Examined, Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.wire import encode
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan import IndexOrder, plan_by_index
from parquetry.store import Store
from parquetry.store.hbase.scans import FIRST_BATCH_ROWS
from parquetry.store.hbase.store import HBaseStore
from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.effort import STEP
from tests.support.stores.metastores import file, metadata

COMMITS = 300 if STEP == 1 else 40
VERSIONS = 46 if STEP == 1 else 10
COLUMNS = (TableColumn("x", "long"), TableColumn("d", "integer"), TableColumn("h", "integer"))
INLINE = 20
"""Files in a partition, which are listed in its row."""


class Watched:
    """A store that counts the rows it gives away, and their bytes; otherwise it is the one that it wraps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows = self.bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: bytes) -> bytes | None:
        value = self._store.get(key)
        self._count([] if value is None else [value])
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values = self._store.get_many(keys)
        self._count(value for value in values if value is not None)
        return values

    def scan(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._watched(self._store.scan(*arguments, **options))

    def scan_ranges(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._watched(self._store.scan_ranges(*arguments, **options))

    def _watched(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        for row in rows:
            self._count([row[1]])
            yield row

    def _count(self, values: Iterable[bytes]) -> None:
        for value in values:
            self.rows += 1
            self.bytes += len(value)


def make(store: Store, *partition_by: str, location: str = "/lake/t") -> TableSnapshot:
    fields = metadata(columns=COLUMNS, partition_by=partition_by, location=location)
    return Metastore(store, "/lake").create_table("default", "t", fields)


def replace(table: TableSnapshot, partitions: Iterable[tuple[Any, ...]], name: str = "f") -> TableSnapshot:
    transaction = Transaction(table, "replace")
    for values in partitions:
        transaction.replace(values, [file(f"{name}{number:04}") for number in range(INLINE)])
    return commit(transaction)


def cost(table: TableSnapshot, text: str | None = None) -> tuple[int, int, int]:
    """Plan, read the partitions, and return their number, and the rows and bytes that were read."""
    store = Watched(table.store)
    then = Metastore(cast(Store, store), "/lake").table("default", "t", version=table.version)
    store.rows = store.bytes = 0
    plan = None if text is None else cheapest_plan(then, parse_filter(text, then.key_schema.types))
    found = sum(1 for _ in then.partitions(plan))
    return found, store.rows, store.bytes


def test_a_table_without_partitions(store: Store) -> None:
    """After hundreds of commits a plan reads as many rows and bytes as after one commit."""
    table = replace(make(store), [()])
    first = cost(table)
    assert first[:2] == (1, 2)  # the partition, and the head
    for number in range(COMMITS):
        table = replace(table, [()], f"{number % 10}")
    for text in (None, "true"):
        found, rows, size = cost(table, text)
        assert (found, rows) == first[:2]
        assert size <= first[2] + 16  # a later head has longer numbers in it


def test_few_partitions_with_many_versions(store: Store) -> None:
    """A plan of 10 partitions reads no more rows with dozens of versions of each than with one of each.

    The head, which lists them, is all that grows.
    """
    partitions = [(day, hour) for day in range(5) for hour in range(2)]
    table = replace(make(store, "d", "h"), partitions)
    conditions = [None, "d = 2 and h = 1", "d in (1, 3) and h in (0, 1)", "d between 1 and 3", "h = 1"]
    before = [cost(table, text) for text in conditions]
    for number in range(VERSIONS * 10 - 10):
        table = replace(table, partitions[number % 10 :][:1], f"{number % 7}")
    head = read_head(store, table.id)
    assert head is not None
    assert 0 < len(head.newest) <= 9 * len(partitions)
    listed = len(encode({"newest": head.newest}))
    for text, (found, rows, size) in zip(conditions, before, strict=True):
        now = cost(table, text)
        assert now[0] == found
        assert now[1] <= rows, text
        assert now[2] <= size + listed + 16, text


def test_index_entries_and_records_of_files(store: Store) -> None:
    """Entries of an index, and records of files taken out, are skipped alike when they are old."""
    table = replace(make(store, "d", "h"), [(day, 1) for day in range(200)])
    table = create_index(table, ["h"])
    for number in range(60 if STEP == 1 else 20):
        table = replace(table, [(7, 2), (8, 2)], f"{number % 7}")
    # HBase sends a page of entries: as many as it has in the time of a request.
    page = FIRST_BATCH_ROWS if isinstance(store, HBaseStore) else 0
    found, rows, _ = cost(table, "h = 2")
    assert found == 2
    assert rows <= 2 * 2 + 1 + 2 * 3 + page  # two entries and rows, the head, small pages to choose a way
    examined = Examined()
    filter = parse_filter("h = 2", table.key_schema.types)
    plan = cheapest_plan(table, filter, examined)
    # PostgreSQL tests 200 keys in less time than two more requests take.
    assert plan.index is None or not isinstance(store, PostgreSQLStore)
    (index,) = table.metadata.indexes
    plan = plan_by_index(filter, table.key_schema, IndexOrder(index.name, index.id, index.order))
    assert sum(1 for _ in table.partitions(plan, examined=examined)) == 2
    assert examined.keys <= 10 + 2 * page  # HBase reads a sample to choose a way, too


def test_files_taken_out_again_and_again(store: Store) -> None:
    """A file that is taken in and out by many commits has one record that is read."""
    table = make(store)
    foreign = [file("theirs.parquet")]
    for _ in range(40):
        transaction = Transaction(table, "append")
        transaction.append((), foreign)
        table = commit(transaction)
        transaction = Transaction(table, "drop")
        transaction.drop(())
        table = commit(transaction)
    store_watched = Watched(store)
    then = Metastore(cast(Store, store_watched), "/lake").table("default", "t")
    store_watched.rows = 0
    assert [record.path for record in files_removed(then)] == ["theirs.parquet"]
    assert store_watched.rows <= 1 + 3


@pytest.mark.parametrize("hidden", [1, 40])
def test_commits_under_way(store: Store, hidden: int) -> None:
    """Rows of commits that were not published are passed over, and no row behind the wanted one is read."""
    table = replace(make(store, "d"), [(1,), (2,)])
    for number in range(100 if STEP == 1 else 30):
        table = replace(table, [(1,), (2,)], f"{number % 7}")
    expected = [partition.key for partition in table.partitions()]
    rows = [
        (key[:-8] + (int.from_bytes(key[-8:], "big") - offset).to_bytes(8, "big"), b"\x01not published")
        for key, _ in _newest_rows(table)
        for offset in range(1, hidden + 1)
    ]
    store.put_many(rows)
    assert [partition.key for partition in table.partitions()] == expected
    assert cost(table)[1] <= 1 + 2 * (2 + 3)


def _newest_rows(table: TableSnapshot) -> list[tuple[bytes, bytes]]:
    prefix = b"\x07" + table.id
    return [(prefix + key + age, value) for key, age, value in table.visible.scan([(b"", None)])]


def test_every_version_is_found(store: Store) -> None:
    """A reader of any version finds its partitions among those before and after it."""
    table = make(store, "d")
    live: dict[tuple[Any, ...], str] = {}
    expected = {}
    for number in range(30):
        transaction = Transaction(table, "replace")
        for day in range(number % 7, 12, 1 + number % 3):
            if (number + day) % 4:
                transaction.replace((day,), [file(f"f{number}")])
                live[(day,)] = f"f{number}"
            elif live.pop((day,), None):
                transaction.drop((day,))
        table = commit(transaction)
        expected[table.version] = dict(live)
    for version, partitions in expected.items():
        then = Metastore(store, "/lake").table("default", "t", version=version)
        assert {p.values: p.files[0].path for p in then.partitions()} == partitions
        for day in range(12):
            found = then.partition((day,))
            assert (None if found is None else found.files[0].path) == partitions.get((day,))
