"""The list of newest rows in a table's head: its content and its writers.

A missing list costs time only.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.partition_rows import newest_rows
from parquetry.metastore.partition_rows.newest_rows import (
    NewestRow,
    complete_ticket,
    decode_newest,
    encode_newest,
)
from parquetry.metastore.partition_rows.visible_rows import Examined, VisibleRows
from parquetry.metastore.storage.head import Head, edit_head, read_head
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.metastore.versions.snapshot import load, load_commit
from parquetry.store import MemoryStore, Store
from tests.support.stores.metastores import Crash, FaultyStore, content, file, metadata

ROUNDS = 12
"""Commits to each partition; several rows of each partition then exist."""


def head_of(table: TableSnapshot) -> Head:
    head = read_head(table.store, table.id)
    assert head is not None
    return head


def listed(table: TableSnapshot) -> dict[bytes, NewestRow]:
    return dict(decode_newest(head_of(table).newest))


def in_store(table: TableSnapshot) -> dict[bytes, NewestRow]:
    """Find the newest rows without a list."""
    rows = VisibleRows(table.store, table.id, head_of(table).commit).all_newest()
    return {key: NewestRow(found.ticket, found.is_tombstone) for key, found in rows}


def new_table(store: Store | None = None, **changes: object) -> TableSnapshot:
    return Metastore(store or MemoryStore(), "/lake").create_table("default", "t", metadata(**changes))


def append(table: TableSnapshot, *days: int) -> TableSnapshot:
    transaction = Transaction(table, "append")
    for day in days:
        name = f"f{table.version}-{day}"
        transaction.append((day, "a"), [file(name, bytes=1)])
        if table.metadata.external:
            folder = Path(table.placement.default_location((day, "a")))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"x")
    return commit(transaction)


def drop(table: TableSnapshot, day: int) -> TableSnapshot:
    transaction = Transaction(table, "drop")
    transaction.drop((day, "a"))
    return commit(transaction)


def filled(days: int = 3, store: Store | None = None, folder: Path | None = None) -> TableSnapshot:
    """Make a table with several rows of each partition; with real files if it is given a folder."""
    table = new_table(store, **({"location": str(folder), "external": True} if folder else {}))
    for number in range(days * ROUNDS):
        table = append(table, number % days)
    return table


def versions(table: TableSnapshot, lists: bytes) -> Iterator[tuple[TableSnapshot, TableSnapshot]]:
    """Yield each version that is kept, read with a list and without one."""
    head = head_of(table)
    for number in range(head.oldest, head.commit.version + 1):
        commit = load_commit(table.store, table.id, head, number)
        assert commit is not None
        yield tuple(  # type: ignore[misc]
            load(table.store, table.id, msgspec.structs.replace(head, newest=each), commit)
            for each in (lists, b"")
        )


@given(
    st.dictionaries(
        st.binary(min_size=1, max_size=30),
        st.builds(NewestRow, st.integers(1, 1 << 40), st.booleans()),
        max_size=40,
    )
)
def test_a_list_is_read_as_it_was_written(rows: dict[bytes, NewestRow]) -> None:
    """A list names the rows that it was made of, in the order of the partitions' keys."""
    assert decode_newest(encode_newest(rows)) == tuple(sorted(rows.items()))


def test_a_list_is_bounded() -> None:
    """A list of too many partitions, or of long keys, has only the partitions written last.

    It has only the last 64 tombstones.
    """
    random.seed(9)
    long = {random.randbytes(40): NewestRow(ticket) for ticket in range(1, 1001)}
    data = encode_newest(long)
    assert newest_rows.MAX_LIST_BYTES // 3 < len(data) <= newest_rows.MAX_LIST_BYTES
    named = dict(decode_newest(data))
    assert named == {key: row for key, row in long.items() if row.ticket > 1000 - len(named)}
    gone = {b"%03d" % n: NewestRow(n + 1, True) for n in range(500)}
    there = {b"%03d-" % n: NewestRow(1) for n in range(500)}
    expected = {
        key: row for key, row in gone.items() if row.ticket > 500 - newest_rows.MAX_LISTED_TOMBSTONES
    } | there
    assert dict(decode_newest(encode_newest({**gone, **there}))) == expected
    assert decode_newest(encode_newest({random.randbytes(5000): NewestRow(1)})) == ()


@pytest.mark.parametrize("data", [b"", b"\x00", b"x\x9c", encode_newest({b"k": NewestRow(7)})[:-3]])
def test_a_list_that_cannot_be_read(data: bytes) -> None:
    """Bytes that are not a list name no partition."""
    assert decode_newest(data) == ()


def test_tables_with_several_rows_of_each_partition_have_a_list() -> None:
    """The list begins with the fourth commit to each partition, and ends when partitions are added.

    It names all newest rows after each commit.
    """
    table = new_table()
    for number in range(3 * ROUNDS):
        base = head_of(table).commit
        table = append(table, number % 3)
        expected = base.totals.partitions > 0 and base.next_ticket >= 4 * base.totals.partitions
        assert listed(table) == (in_store(table) if expected else {}), number
    assert len(listed(table)) == 3
    table = append(drop(table, 1), *range(10, 17))
    assert listed(table) == in_store(table)
    assert [row.is_tombstone for row in listed(table).values()].count(True) == 1
    table = append(append(table, *range(20, 40)), 1)
    assert head_of(table).newest == b""


def test_tables_without_partitions_or_with_many_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without partition columns has no list, as its one row is found without it.

    A table with many partitions has none, as each reader of the head would pay for it.
    """
    table = new_table(partition_by=())
    for number in range(ROUNDS):
        transaction = Transaction(table, "append")
        transaction.append((), [file(f"f{number}")])
        table = commit(transaction)
    assert head_of(table).newest == b""
    monkeypatch.setattr(newest_rows, "MAX_LISTED_PARTITIONS", 2)
    assert head_of(filled(3)).newest == b""
    assert head_of(filled(2)).newest != b""


def test_every_version_is_read_alike_with_every_list(tmp_path: Path) -> None:
    """Each version reads the same with the list of any later head, or without a list.

    The history has appends, drops, rollbacks and vacuums.
    """
    random.seed(12)
    table = filled(4, folder=tmp_path)
    lists = []
    done = Counter[str]()
    for _ in range(60):
        there = [part.values[0] for part in table.partitions()]
        what = random.choice(["append", "append", "append", "drop", "roll back", "vacuum"])
        done[what] += 1
        if what == "drop" and there:
            table = drop(table, random.choice(there))
        elif what == "roll back":
            target = random.randint(head_of(table).oldest, table.version)
            table = rollback(
                table, Metastore(table.store, "/lake").table("default", "t", version=target)
            ).refresh()
        elif what == "vacuum":
            kept = random.randint(max(head_of(table).oldest, table.version - 8), table.version)
            commit = load_commit(table.store, table.id, head_of(table), kept)
            assert commit is not None
            vacuum(table, older_than=commit.committed_at)
        else:
            table = append(table, *random.sample(range(6), 2))
        lists.append(head_of(table).newest)
        for informed, uninformed in versions(table, lists[-1]):
            assert content(informed) == content(uninformed)
    assert all(lists)
    assert min(done.values()) > 4
    for old in lists:
        for informed, uninformed in versions(table, old):
            assert content(informed) == content(uninformed)


def test_a_list_of_all_partitions_is_all_that_is_read() -> None:
    """With a complete list of its version, a reader reads exactly the listed rows.

    A list that was shortened does not claim to be complete.
    """
    table = append(drop(filled(5), 3), 9, 0).refresh()
    assert complete_ticket(head_of(table).newest) == table.commit.ticket
    examined = Examined()
    days = [partition.values[0] for partition in table.partitions(examined=examined)]
    assert days == [0, 1, 2, 4, 9]
    assert examined.keys == 5
    earlier = load(
        table.store, table.id, head_of(table), load_commit(table.store, table.id, head_of(table), 40)
    )
    examined = Examined()
    assert len(list(earlier.partitions(examined=examined))) == 5
    assert examined.keys > 5
    rows = {b"%d" % n: NewestRow(n + 1, n == 2) for n in range(5)}
    assert complete_ticket(encode_newest(rows, 7)) == 7
    many = {random.randbytes(40): NewestRow(ticket) for ticket in range(1, 1001)}
    assert complete_ticket(encode_newest(many, 1000)) is None
    gone = {b"%03d" % n: NewestRow(n + 1, True) for n in range(500)}
    assert complete_ticket(encode_newest({**rows, **gone}, 8)) == 8


def test_a_library_that_knows_of_no_list() -> None:
    """A library without the list writes a head without it, and partitions are found as before.

    The next commit lists all partitions again.
    """
    table = filled()
    before = content(table)
    edit_head(
        table.store,
        table.id,
        lambda head: msgspec.structs.replace(head, newest=b""),
        lambda head: not head.newest,
    )
    assert content(table.refresh()) == before
    table = append(table.refresh(), 2)
    assert listed(table) == in_store(table)
    assert len(listed(table)) == 3


def test_rows_from_when_the_table_had_other_partition_columns() -> None:
    """After a change of partition columns, new keys follow tombstones of old keys.

    Readers skip none of the new keys.
    """
    days = metadata().columns[1:2]
    both = metadata()
    table = new_table(columns=(both.columns[0], *days), partition_by=(days[0].name,))
    for number in range(3 * ROUNDS):
        transaction = Transaction(table, "append")
        transaction.append((number % 3,), [file(f"f{number}")])
        table = commit(transaction)
    assert listed(table)
    transaction = Transaction(table, "drop")
    for day in range(3):
        transaction.drop((day,))
    table = commit(transaction)
    transaction = Transaction(table, "other columns")
    transaction.set_metadata(msgspec.structs.replace(both, location=table.metadata.location))
    table = commit(transaction)
    for number in range(6 * ROUNDS):
        table = append(table, number % 3)
    table = table.refresh()
    assert listed(table)
    assert [partition.values for partition in table.partitions()] == [(0, "a"), (1, "a"), (2, "a")]


def test_a_damaged_list_is_made_anew() -> None:
    """A list that cannot be read changes nothing that is read, and two commits later there is one again."""
    table = filled()
    before = content(table)
    edit_head(
        table.store,
        table.id,
        lambda head: msgspec.structs.replace(head, newest=b"damaged"),
        lambda head: head.newest == b"damaged",
    )
    assert content(table.refresh()) == before
    table = append(append(table.refresh(), 2), 1)
    assert listed(table) == in_store(table)


@pytest.mark.parametrize("stop", range(8))
def test_a_crash_at_every_write(stop: int) -> None:
    """After a crash at any write, the list names the newest published rows.

    The next writer's list does, too.
    """
    inner = MemoryStore()
    filled(store=inner)
    dying = FaultyStore(inner)
    table = Metastore(dying, "/lake").table("default", "t")
    dying.crash_at = stop
    try:
        append(table, 0, 1)
    except Crash:
        pass
    else:
        assert stop == 7
    after = Metastore(inner, "/lake").table("default", "t")
    assert listed(after) == in_store(after)
    assert len(listed(after)) == 3
    after = append(after, 1, 2)
    assert listed(after) == in_store(after)


@pytest.mark.parametrize(("row", "day"), [*itertools.product(range(6), [0, 1])])
def test_writers_that_meet(row: int, day: int) -> None:
    """A rival commits before any of the writer's rows, to the same partition or another one.

    The list names the rows of both.
    """
    inner = MemoryStore()
    filled(store=inner)
    slow = FaultyStore(inner)
    table = Metastore(slow, "/lake").table("default", "t")
    first = slow.writes
    begun = []

    def meet(writes: int) -> None:
        if writes - first == row and not begun:
            begun.append(append(Metastore(inner, "/lake").table("default", "t"), day))

    slow.before_write = meet
    append(table, 0)
    assert begun
    after = Metastore(inner, "/lake").table("default", "t")
    assert listed(after) == in_store(after)
    for informed, uninformed in versions(after, head_of(after).newest):
        assert content(informed) == content(uninformed)
