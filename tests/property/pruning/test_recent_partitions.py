"""One query asks several times: what was found before is narrowed, and says what planning at once would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import event, given, settings, strategies as st

from parquetry.errors import TableNotFoundError
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Opaque
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune import query_cache as module
from parquetry.prune.condition import Condition
from parquetry.prune.partition_plans import candidates
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.rules import files as file_rule
from parquetry.prune.select import Selection, select_files
from parquetry.store.base import Range
from parquetry.store.condition import Condition as StoreCondition
from parquetry.store.groups import Groups
from parquetry.store.memory import MemoryStore
from tests.support.effort import examples
from tests.support.planning.filters import make_filter

COLUMNS = (TableColumn("v", "integer"), TableColumn("p", "integer"), TableColumn("q", "string"))
TYPES = {column.name: column.column_type for column in COLUMNS}
TEXTS = [
    "p = 1", "p IN (1, 2)", "p IN (2, 7, 9)", "p IS NOT NULL", "p IS NULL", "p > 1", "q = 'a'", "q LIKE 'a%'",
    "q IS NOT NULL", "p = 1 OR q = 'b'", "p = 1 OR v > 5", "v > 5", "v IS NULL", "(p = 2 AND v < 3) OR p = 3",
    "NOT (p = 1 AND q = 'a')", "p <> 2", "q <=> NULL",
]  # fmt: skip
OPAQUE = [
    Opaque("upper(q) = 'A'", ("q",), "function on the column"),
    Opaque("f(v)", ("v",), "function on the column"),
]


class CountingStore(MemoryStore):
    """Counts how often ranges of rows are read, and how many rows by their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.scans = 0
        self.gets = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.gets += len(keys)
        return super().get_many(keys)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: StoreCondition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        self.scans += 1
        return super().scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)


def make() -> tuple[Metastore, TableSnapshot]:
    """Return a table of partitions with a few files each."""
    metastore = Metastore(CountingStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("p", "q"), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in (None, 0, 1, 2, 3):
        for q in (None, "a", "ab", "b"):
            low = 3 * (p or 0)
            known = {"v": ColumnStatistics(40, int(q is None), low, low + 3)}
            transaction.append((p, q), [FileRecord("f", 100, 10, 1, known), FileRecord("bare", 50, 5, 1)])
    return metastore, commit(transaction)


METASTORE, TABLE = make()


def told(selection: Selection) -> Any:
    """Return all that a selection says."""
    return (
        [partition.values for partition in selection.partitions],
        selection.files,
        selection.bytes,
        selection.exact,
        selection.certain,
        selection.report,
    )


FILTERS = st.sampled_from(
    [parse_filter(text, TYPES) for text in TEXTS] + [make_filter(node) for node in OPAQUE]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.lists(FILTERS, max_size=4, unique=True), min_size=2, max_size=5))
def test_what_is_narrowed_is_what_is_planned_at_once(questions: list[list[Filter]]) -> None:
    """Files and report are the same after any earlier questions: the same conditions, fewer, or others."""
    recent = PartitionCache()
    asked: list[Condition] = []
    for filters in questions:
        asked = (
            [*asked, *map(Condition.from_filter, filters)]
            if len(asked) < 5
            else [Condition.from_filter(f) for f in filters]
        )
        before = _scans()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file_rule, "MIN_CACHED_FILES", 0)  # what is left of files is kept, too
            narrowed = select_files(TABLE, asked, ["v"], recent=recent)
        event("nothing read" if _scans() == before else "read")
        assert told(narrowed) == told(select_files(TABLE, asked, ["v"]))
        plain = [condition.filter for condition in asked]
        both = candidates(TABLE, plain, recent), candidates(TABLE, plain)
        assert [each.key for each in both[0]] == [each.key for each in both[1]]


def _counting(table: TableSnapshot) -> CountingStore:
    """Return the store below the one that knows where the warehouse is."""
    assert isinstance(table.store, WarehouseStore)
    assert isinstance(table.store.rows, CountingStore)
    return table.store.rows


def _scans() -> int:
    return _counting(TABLE).scans


def _reads(recent: PartitionCache, table: TableSnapshot, *texts: str) -> int:
    """Return how often ranges of the metastore were read to select by conditions."""
    store = _counting(table)
    before = store.scans
    select_files(table, [parse_filter(text, TYPES) for text in texts], recent=recent)
    return store.scans - before


def test_one_query_reads_partitions_once() -> None:
    """A query's partitions are read once: for its aggregate, for its scan, and again with a join's values.

    The `IS NOT NULL` that Spark adds makes no difference.
    """
    recent = PartitionCache()
    assert _reads(recent, TABLE, "p IN (1, 2)", "p IS NOT NULL") > 0
    assert _reads(recent, TABLE, "p IN (1, 2)", "p IS NOT NULL") == 0
    assert _reads(recent, TABLE, "p IN (1, 2)") == 0
    assert _reads(recent, TABLE, "p IN (1, 2)", "v > 5") == 0
    assert _reads(recent, TABLE, "p IN (1, 2)", "p IN (2, 7, 9)") == 0
    assert _reads(recent, TABLE, "p > 0") > 0
    assert _reads(PartitionCache(), TABLE, "p IN (1, 2)") > 0


def test_long_lists_of_files_are_judged_once() -> None:
    """A query reads a list of 3,000 files once for its aggregate and its scan; another condition rereads."""
    store = CountingStore()
    metastore = Metastore(store, "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS[:1], (), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    files = [FileRecord(f"f{n}", 100, 10, 1, {"v": ColumnStatistics(40, 0, n, n + 9)}) for n in range(3000)]
    transaction.append((), files)
    table = commit(transaction)
    recent = PartitionCache()

    def found(text: str, *about: str) -> tuple[int, int]:
        before = store.gets
        selection = select_files(table, [parse_filter(text, TYPES)], ["v"], about=about, recent=recent)
        return len(selection.files), store.gets - before

    count, rows_read = found("v BETWEEN 100 AND 200", "v")
    assert count == 110
    assert rows_read > 0
    assert found("v BETWEEN 100 AND 200", "v") == (110, 0)
    assert found("v BETWEEN 100 AND 200") == (110, 0)
    assert found("v BETWEEN 100 AND 201")[1] > 0


def test_other_versions_and_what_is_gone_are_noticed() -> None:
    """Partitions cached for one version are not used for another, nor for a table that was dropped."""
    metastore, table = make()
    recent = PartitionCache()
    assert _reads(recent, table, "p = 1") > 0
    transaction = Transaction(table, "append")
    transaction.append((1, "z"), [FileRecord("new", 1, 1)])
    newer = commit(transaction)
    assert _reads(recent, newer, "p = 1") > 0
    found = select_files(newer, [parse_filter("q = 'z' AND p = 1", TYPES)], recent=recent)
    assert [each.file.path for each in found.files] == ["new"]
    assert _reads(recent, table, "p = 1") == 0
    metastore.drop_table("db", "t")
    with pytest.raises(TableNotFoundError, match="was dropped"):
        _reads(recent, table, "p = 1")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is bounded by answers and bytes, and drops the oldest.

    Too many partitions are not narrowed.
    """
    recent = PartitionCache()
    monkeypatch.setattr(module, "_CACHED_PARTITION_SELECTIONS", 2)
    for text in ("p = 0", "p = 1", "p = 2"):
        assert _reads(recent, TABLE, text) > 0
    assert [_reads(recent, TABLE, text) > 0 for text in ("p = 2", "p = 1", "p = 0")] == [False, False, True]
    monkeypatch.setattr(module, "MAX_NARROWED_PARTITIONS", 3)
    assert _reads(recent, TABLE, "p = 0") == 0
    assert _reads(recent, TABLE, "p = 0", "q = 'a'") > 0
    monkeypatch.setattr(module, "_MAX_CACHED_PARTITION_BYTES", 50)
    recent = PartitionCache()
    assert [_reads(recent, TABLE, "p = 0") > 0 for _ in range(2)] == [True, True]
