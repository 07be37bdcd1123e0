"""The choice of an access path works for tables with a history.

They had other partition columns, or have many versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import Examined, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.store import MemoryStore, Store
from parquetry.store.sqlite import SQLiteStore
from tests.support.stores.metastores import file, metadata


def by(columns: dict[str, str]) -> TableMetadata:
    """Return metadata of a table that is partitioned by columns of these types."""
    described = (TableColumn("x", "long"), *(TableColumn(name, type) for name, type in columns.items()))
    return metadata(columns=described, partition_by=tuple(columns))


def filled(table: TableSnapshot, rows: Sequence[tuple[Any, ...]]) -> TableSnapshot:
    transaction = Transaction(table, "fill")
    for row in rows:
        transaction.append(row, [file("f")])
    return commit(transaction)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "metastore")
    yield opened
    opened.close()


DIGITS = [(n // 100, n // 10 % 10, n % 10) for n in range(2000)]


@pytest.mark.parametrize(
    ("before", "old", "after", "new", "texts"),
    [
        (
            {"y": "integer"}, [(n,) for n in range(300)], {"y": "integer", "m": "integer", "d": "integer"}, DIGITS,
            ["d = 3", "d = 2 OR y = 3", "d != 4", "m > 3 AND d > 3", "d > 3 OR y < 3", "d = 3 AND y < 30"],
        ),
        (
            {"b": "tinyint"}, [(n,) for n in range(-128, 128)], {"y": "integer", "d": "integer"},
            [(n // 100, n % 100) for n in range(2000)], ["d = 3", "d = 2 OR y = 3", "d != 4", "d > 3 OR y < 3"],
        ),
        (  # keys with as many fields, which are no text
            {"b": "integer", "c": "binary"}, [(n, bytes([255, 254, n % 256])) for n in range(1000)],
            {"y": "integer", "d": "string"}, [(n // 100, str(n % 100)) for n in range(2000)],
            ["d LIKE '%3'", "d LIKE '%3' OR y = 900", "d NOT LIKE '%3' AND y < 30", "y < 18 AND d != '5'"],
        ),
        (  # old keys among the few that are counted of the new ones
            {"b": "tinyint"}, [(n,) for n in range(-128, 128)], {"y": "tinyint", "d": "string"},
            [(n // 100 - 100, str(n % 100)) for n in range(20000)], ["y > 50 AND y < 53 AND d LIKE '%3'", "y = -50 AND d != 'q'"],
        ),
    ],
)  # fmt: skip
def test_keys_from_before_a_replacement(
    store: Store,
    before: dict[str, str],
    old: list[tuple[Any, ...]],
    after: dict[str, str],
    new: list[tuple[Any, ...]],
    texts: list[str],
) -> None:
    """Rows with other partition columns stay until a vacuum; no access path counts or tests them."""
    table = filled(Metastore(store, "/lake").create_table("default", "t", by(before)), old)
    replacement = Replacement(table, by(after))
    filled(replacement.snapshot, new)
    table = create_index(replacement.make_visible(), ["d"])
    for text in texts:
        filter = parse_filter(text, table.key_schema.types)
        found = [partition.values for partition in table.partitions(cheapest_plan(table, filter))]
        own = [partition.values for partition in table.partitions(plan_scan(filter, table.key_schema))]
        assert found == own, text
        assert found, text


class Counting(MemoryStore):
    """Counts scans, as each scan is at least one request to HBase."""

    scans = 0

    def scan(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        self.scans += "reverse" in options  # others are of `scan_ranges`
        return super().scan(*arguments, **options)

    def scan_ranges(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        self.scans += 1
        return super().scan_ranges(*arguments, **options)


def test_the_choice_for_an_older_version() -> None:
    """A sample of an older version takes as few seeks as one of the newest version.

    The head's list of newest rows is about the newest version only.
    """
    store = Counting()
    metastore = Metastore(store, "/lake")
    pairs = [(n // 10, f"r{n % 10}") for n in range(500)]
    table = filled(metastore.create_table("default", "t", by({"d": "integer", "s": "string"})), pairs)
    table = create_index(table, ["s"])
    for n in range(2200):
        transaction = Transaction(table, "append")
        transaction.append(pairs[n % 500], [file(f"g{n}")])
        table = commit(transaction)
    older = metastore.table("default", "t", version=table.version - 1)
    for text in ("s != 'r1'", "s = 'r1'"):
        store.scans, examined = 0, Examined()
        cheapest_plan(older, parse_filter(text, older.key_schema.types), examined)
        assert store.scans <= 20
        assert examined.keys <= 100
