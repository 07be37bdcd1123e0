"""A plan of single keys reads the store once if all keys exist, and never misses a vacuum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from parquetry.errors import TableNotFoundError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan import plan_scan
from parquetry.store import MemoryStore
from parquetry.store.base import Range
from tests.support.stores.metastores import file, metadata


class Counting(MemoryStore):
    """A store that counts its requests by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: Counter[str] = Counter()

    def get(self, key: bytes) -> bytes | None:
        self.requests["get"] += 1
        return super().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.requests["get many"] += 1
        return super().get_many(keys)

    def scan_ranges(self, ranges: Sequence[Range], **more: object) -> Iterator[tuple[bytes, bytes]]:  # type: ignore[override]
        self.requests["scan"] += 1
        return super().scan_ranges(ranges, **more)  # type: ignore[arg-type]


def filled(store: MemoryStore) -> TableSnapshot:
    table = Metastore(store, "/lake").create_table("default", "t", metadata())
    transaction = Transaction(table, "append")
    for day in range(5):
        transaction.append((day, "a"), [file(f"f{day}", bytes=1)])
    return commit(transaction)


def found(table: TableSnapshot, condition: str, limit: int | None = None) -> list[int]:
    types = dict(zip(table.metadata.partition_by, table.partition_types, strict=True))
    plan = plan_scan(parse_filter(condition, types), table.key_schema)
    return [partition.values[0] for partition in table.partitions(plan, limit)]


@pytest.mark.parametrize(
    ("condition", "days", "gets"),
    [
        ("d = 3 AND s = 'a'", [3], 0),
        ("d IN (1, 3) AND s = 'a'", [1, 3], 0),
        ("d = 9 AND s = 'a'", [], 1),
        ("d IN (3, 9) AND s = 'a'", [3], 1),
        ("d = 3", [3], 1),
    ],
)
def test_requests(condition: str, days: list[int], gets: int) -> None:
    """The store is asked a second time only where a row may be missing."""
    store = Counting()
    table = filled(store)
    store.requests.clear()
    assert found(table, condition) == days
    assert store.requests["get"] == gets
    assert store.requests["scan"] + store.requests["get many"] == 1


def test_a_row_that_a_vacuum_took() -> None:
    """A plan of a vacuumed version fails if one of its keys is missing; a row that exists is right."""
    table = filled(MemoryStore())
    transaction = Transaction(table, "drop")
    transaction.drop((3, "a"))
    newer = commit(transaction)
    vacuum(newer, older_than=2**60)
    assert found(table, "d = 1 AND s = 'a'") == [1]
    for condition in ("d = 3 AND s = 'a'", "d IN (1, 3) AND s = 'a'"):
        with pytest.raises(TableNotFoundError, match="vacuumed away"):
            found(table, condition)
