"""Tables of many small partitions, for tests of range manifests."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    RangedPartitions,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_ranges,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.range_manifests.records import ListState, decode_state
from parquetry.predicate import Compare, Filter, Predicate
from parquetry.prune.select import select_files
from parquetry.store import MemoryStore
from parquetry.types import parse_type

INT, LONG = parse_type("int"), parse_type("bigint")
COLUMNS = (TableColumn("p", "int"), TableColumn("v", "bigint"), TableColumn("w", "string"))


class CountingStore(MemoryStore):
    """Counts the rows that a caller reads, by the first byte of their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[bytes] = Counter()

    def get(self, key: bytes) -> bytes | None:
        self.counts[key[:1]] += 1
        return super().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.counts.update(key[:1] for key in keys)
        return super().get_many(keys)

    def scan_ranges(self, *arguments: object, **options: object) -> Iterator[tuple[bytes, bytes]]:
        for row in super().scan_ranges(*arguments, **options):  # type: ignore[arg-type]
            self.counts[row[0][:1]] += 1
            yield row


def new_table(store: MemoryStore | None = None) -> TableSnapshot:
    """Return an empty table with an int partition column `p`, and data columns `v` and `w`."""
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/lake/t")
    return Metastore(store or CountingStore(), "/lake").create_table("default", "t", metadata)


def record(name: str, value: int, **changes: object) -> FileRecord:
    """Return a file with values from `value` to `value + 9` in `v`."""
    known = {"v": ColumnStatistics(40, 0, value, value + 9), "w": ColumnStatistics(40, 1, "a", "b")}
    return msgspec.structs.replace(FileRecord(f"{name}.parquet", 100, 10, 5, known), **changes)


def append(table: TableSnapshot, values: Iterable[int], name: str = "f") -> TableSnapshot:
    """Append a file to each of some partitions; in partition `p`, `v` is at least `10 * p`."""
    transaction = Transaction(table.refresh(), "append")
    for p in values:
        transaction.append((p,), [record(f"{name}{p}", 10 * p)])
    commit(transaction)
    return table.refresh()


def without_ranges(table: TableSnapshot) -> TableSnapshot:
    """Return the same version, read by the partitions' own rows."""
    return with_ranges(table, b"")


def with_ranges(table: TableSnapshot, ranges: bytes) -> TableSnapshot:
    """Return the same version with another state of range manifests."""
    other = copy.copy(table)
    other.commit = msgspec.structs.replace(table.commit, ranges=ranges)
    return other


def state_of(table: TableSnapshot) -> ListState:
    """Return the state of the newest version."""
    state = decode_state(table.refresh().ranges)
    assert state is not None
    return state


def view(table: TableSnapshot) -> RangedPartitions:
    """Return the partitions by range manifests."""
    ranged = open_ranges(table)
    assert ranged is not None
    return ranged


def compare(operator: str, value: int, column: str = "v") -> Predicate:
    """Return a comparison."""
    return Compare(operator, column, value, INT if column == "p" else LONG)  # type: ignore[arg-type]


def plan(table: TableSnapshot, *predicates: Predicate) -> list[object]:
    """Return the files that a plan selects, with their partitions and records, and its report."""
    selection = select_files(table, [Filter(each) for each in predicates], ["v"])
    files = [(each.values, each.path, each.file) for each in selection.files]
    return [files, selection.bytes, selection.certain, selection.report]
