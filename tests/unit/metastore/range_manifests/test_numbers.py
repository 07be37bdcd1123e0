"""Range manifests give the numbers that the partitions' own rows have, and read fewer rows."""

from __future__ import annotations

import random

import pytest

from parquetry.metastore import TableSnapshot, Transaction, commit, partition_numbers
from parquetry.metastore.storage.keyspace import PARTITIONS
from tests.support.planning.ranged_tables import (
    CountingStore,
    append,
    new_table,
    record,
    view,
    without_ranges,
)


def numbers(table: TableSnapshot) -> list[tuple[object, ...]]:
    """Return key, ticket, files, rows and bytes of each partition."""
    return [
        (key, *each)
        for some in partition_numbers(table)
        for key, *each in zip(
            some.keys,
            *(column.tolist() for column in (some.tickets, some.files, some.rows, some.bytes)),
            strict=True,
        )
    ]


def by_rows(table: TableSnapshot) -> list[tuple[object, ...]]:
    """Return the same from each partition's record."""
    return [
        (each.key, each.ticket, each.file_count, -1 if each.rows is None else each.rows, each.bytes)
        for each in table.partitions()
    ]


def test_fresh_ranges_read_no_rows_of_partitions() -> None:
    """The numbers of a table that has not changed come from two rows for each range."""
    store = CountingStore()
    table = append(new_table(store), range(100))
    expected = by_rows(table)
    store.counts.clear()
    assert numbers(table) == expected
    assert store.counts[PARTITIONS] == 0


@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_those_of_the_rows(seed: int) -> None:
    """After random appends, replacements and drops, with unknown rows and several files, both ways agree."""
    chance = random.Random(seed)
    table = append(new_table(), range(0, 300, chance.choice((1, 3))))
    for step in range(chance.randrange(1, 5)):
        change = Transaction(table.refresh(), "overwrite")
        for p in chance.sample(range(310), chance.choice((1, 8, 40))):
            files = [
                record(f"{step}-{p}-{n}", p, rows=chance.choice((None, n, 7)), bytes=chance.randrange(10**10))
                for n in range(chance.randrange(0, 4))
            ]
            if files:
                change.replace((p,), files)
            elif table.partition((p,)) is not None:
                change.drop((p,))
        commit(change)
        table = table.refresh()
    assert numbers(table) == by_rows(table) == numbers(without_ranges(table))
    assert len(by_rows(table)) == table.totals.partitions


def test_a_missing_row_of_a_range_is_replaced_by_rows() -> None:
    """If the row of a range is gone or damaged, its partitions' own rows are read."""
    store = CountingStore()
    table = append(new_table(store), range(100))
    expected = by_rows(table)
    manifest = view(table).in_columns()[2].manifest
    for position, damage in ((0, None), (1, None), (0, b"\xc1"), (1, b"\xc1")):
        key = manifest.row_keys(table.id)[position]
        kept = store.get(key)
        assert kept is not None
        if damage is None:
            store.delete_many([key])
        else:
            store.put_many([(key, damage)])
        assert numbers(table) == expected
        store.put_many([(key, kept)])
