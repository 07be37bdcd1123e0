"""Plans by range manifests select what plans by the partitions' own rows select, and read fewer rows."""

from __future__ import annotations

import random

import pytest

from parquetry.metastore import TableSnapshot, Transaction, open_ranges, refresh_ranges
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.range_manifests.records import LIST, SUMMARY, read_list, row_key
from parquetry.metastore.storage.keyspace import PARTITIONS, RANGE_MANIFESTS
from parquetry.predicate import And, Not, Or
from tests.support.planning.ranged_tables import (
    CountingStore,
    append,
    compare,
    new_table,
    plan,
    record,
    state_of,
    view,
    with_ranges,
    without_ranges,
)


def test_an_ordered_column_reads_one_range() -> None:
    """A plan whose files are in one partition reads the list, the summaries, one range and one partition."""
    store = CountingStore()
    table = append(new_table(store), range(100))
    conditions = compare(">=", 500), compare("<=", 505)
    expected = plan(without_ranges(table), *conditions)
    store.counts.clear()
    assert plan(table, *conditions) == expected
    assert store.counts[PARTITIONS] == 0
    assert store.counts[RANGE_MANIFESTS] == 4  # list, summaries, files and keys of a range
    (files, *_) = expected
    assert [values for values, _, _ in files] == [(50,)]  # type: ignore[attr-defined]


def test_a_stale_range_is_read_by_its_rows() -> None:
    """A commit marks the ranges of the partitions that it writes; the others are still read in columns."""
    store = CountingStore()
    table = append(new_table(store), range(100))
    assert not any(state_of(table).flags(10))
    table = append(table, [42, 45, 991], "g")
    assert state_of(table).flags(10).tolist() == [number in (4, 9) for number in range(10)]
    conditions = [compare(">=", 0)]
    expected = plan(without_ranges(table), *conditions)
    store.counts.clear()
    assert plan(table, *conditions) == expected
    assert (
        store.counts[PARTITIONS] == 10 + 11 + 2
    )  # of the two stale ranges, with two rows of versions before


def test_an_older_version_is_read_by_ranges_that_are_older_still() -> None:
    """A list serves each version since the one that it was made at, and no version before."""
    first = append(new_table(), range(100))
    second = append(first, [5], "g")
    third = append(second, [6], "h")
    assert plan(second, compare("<", 70)) == plan(without_ranges(second), compare("<", 70))
    refresh_ranges(third)
    now = third.refresh()
    assert open_ranges(with_ranges(first, now.ranges)) is None
    assert open_ranges(with_ranges(second, now.ranges)) is None
    assert len(view(now)) == 100


def test_conditions_of_both_kinds() -> None:
    """A condition on partition and data columns is judged by each partition's values, not by a summary."""
    table = append(new_table(), range(100))
    mixed = Or((compare("=", 17, "p"), compare("=", 903)))
    for condition in (mixed, Not(mixed), And((mixed, compare("<", 300)))):
        assert plan(table, condition) == plan(without_ranges(table), condition)


def test_partitions_that_no_range_can_list() -> None:
    """A range with an own location, a long list or an absolute path is read by its partitions' rows."""
    table = append(new_table(), range(100))
    transaction = Transaction(table, "append")
    transaction.replace((13,), [record("x", 1)], "/elsewhere/13")
    transaction.replace((33,), [record(f"y{number}", number) for number in range(690)])
    transaction.append((53,), [record("z", 2, path="/outside/z.parquet")])
    commit(transaction)
    table = table.refresh()
    assert refresh_ranges(table) == 3
    table = table.refresh()
    ranges = read_list(table.store, table.id, state_of(table).id) or ()
    assert [number for number, each in enumerate(ranges) if not each.has_rows] == [1, 3, 5]
    for condition in (compare("<", 5), compare(">", 400)):
        assert plan(table, condition) == plan(without_ranges(table), condition)


def test_conditions_on_keys_and_data() -> None:
    """Where ranges of keys decide, only the ranges at their ends are read by rows."""
    store = CountingStore()
    table = append(new_table(store), range(100))
    between = compare(">=", 15, "p"), compare("<=", 74, "p")
    for conditions in (
        [*between, compare(">=", 500), compare("<", 520)],
        [*between, compare("<", 0)],
        [Or((compare("<", 30, "p"), compare(">", 80, "p"))), compare(">=", 250)],
        [compare(">", 500, "p"), compare(">=", 250)],
    ):
        assert plan(table, *conditions) == plan(without_ranges(table), *conditions)
    store.counts.clear()
    plan(table, *between, compare(">=", 500), compare("<", 520))
    assert store.counts[PARTITIONS] == 5 + 5  # partitions 15 to 19, and 70 to 74


@pytest.mark.parametrize("lost", ["list", "summaries", "files", "keys"])
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_lost_row_costs_time_only(lost: str, how: str) -> None:
    """Where a row of a list is missing or damaged, the partitions' own rows are read."""
    table = append(new_table(), range(100))
    list = state_of(table).id
    ranges = read_list(table.store, table.id, list) or ()
    files, keys = ranges[5].row_keys(table.id)
    key = {
        "list": row_key(table.id, list, LIST),
        "summaries": row_key(table.id, list, SUMMARY),
        "files": files,
        "keys": keys,
    }[lost]
    if how == "missing":
        table.store.delete_many([key])
    else:
        table.store.put_many([(key, b"\xc1damaged")])
    for condition in (compare(">=", 480), compare("<", 0)):
        assert plan(table, condition) == plan(without_ranges(table), condition)


def test_a_library_that_does_not_know_the_field() -> None:
    """An older library makes a commit without the field, and the list is not used."""
    table = append(new_table(), range(100))
    assert open_ranges(table) is not None
    assert open_ranges(without_ranges(table)) is None


def test_positions() -> None:
    """The n-th partition is the version's n-th in key order, from either end and in slices."""
    table = append(append(new_table(), range(100)), [7, 95], "g")
    ranged = view(table)
    keys = [partition.key for partition in table.partitions()]
    assert [partition.key for partition in ranged] == keys
    assert [ranged[place].key for place in (0, 7, 50, -1)] == [keys[place] for place in (0, 7, 50, -1)]
    assert [partition.key for partition in ranged[40:60]] == keys[40:60]
    assert [partition.files for partition in ranged[5:9]] == [
        partition.files for partition in list(table.partitions())[5:9]
    ]


@pytest.mark.parametrize("seed", range(24))
def test_histories(seed: int) -> None:
    """After any commits, with a list refreshed at times, plans are those by the partitions' own rows."""
    chance = random.Random(seed)
    table = append(new_table(), range(0, 200, 2))
    for step in range(12):
        table = _change(table, chance, step)
        if chance.random() < 0.3:
            refresh_ranges(table)
            table = table.refresh()
            assert len(view(table)) == table.totals.partitions
        low = chance.randrange(-100, 2100)
        conditions = [compare(">=", low), compare("<", low + chance.choice((5, 300, 3000)))]
        if chance.random() < 0.4:
            first = chance.randrange(-20, 200)
            conditions += [compare(">=", first, "p"), compare("<", first + chance.choice((10, 60, 500)), "p")]
        elif chance.random() < 0.4:
            conditions = [Or((compare("=", chance.randrange(200), "p"), conditions[0]))]
        assert plan(table, *conditions) == plan(without_ranges(table), *conditions)


def _change(table: TableSnapshot, chance: random.Random, step: int) -> TableSnapshot:
    transaction = Transaction(table, "any")
    there = [partition.values for partition in table.partitions()]
    for values in chance.sample(there, 3):
        if chance.random() < 0.3:
            transaction.drop(values)
        elif chance.random() < 0.5:
            transaction.replace(values, [record(f"r{step}", chance.randrange(2000), columns=None)])
        else:
            files = [record(f"a{step}-{number}", chance.randrange(2000)) for number in range(2)]
            transaction.append(values, files)
    for _ in range(chance.choice((0, 1, 30))):
        transaction.append((chance.randrange(-50, 400),), [record(f"n{step}", chance.randrange(2000))])
    commit(transaction)
    return table.refresh()
