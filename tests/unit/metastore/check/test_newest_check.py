"""fsck holds the list of newest rows in a table's head against the rows."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from parquetry.metastore.check.fsck import Finding, fsck
from parquetry.metastore.partition_rows.newest_rows import NewestRow, decode_newest, encode_newest
from parquetry.metastore.storage.head import Head, edit_head, read_head
from parquetry.metastore.vacuuming.vacuum import vacuum
from tests.support.tables.lakes import NOW, TableLake

ROUNDS = 8
A, B = (1, "a"), (2, "b")


@pytest.fixture
def lake(tmp_path: Path) -> TableLake:
    """A table of two partitions whose newest rows are listed."""
    lake = TableLake(tmp_path)
    for number in range(ROUNDS):
        lake.append(A, f"a{number}")
        lake.append(B, f"b{number}")
    return lake


def head_of(lake: TableLake) -> Head:
    head = read_head(lake.store, lake.id)
    assert head is not None
    assert head.newest
    return head


def write(lake: TableLake, *, without: tuple[int, str] | None = None, **changed: NewestRow) -> None:
    """Write the list without a partition, or with other rows of partitions a and b.

    The list still claims to name all partitions.
    """
    head = head_of(lake)
    keys = {name: lake.table().key_of(key) for name, key in (("a", A), ("b", B))}
    rows = dict(decode_newest(head.newest)) | {keys[name]: row for name, row in changed.items()}
    if without is not None:
        del rows[lake.table().key_of(without)]
    newest = encode_newest(rows, head.commit.ticket)
    edit_head(
        lake.store,
        lake.id,
        lambda head: msgspec.structs.replace(head, newest=newest),
        lambda head: head.newest == newest,
    )


def told(found: list[Finding]) -> list[tuple[str, str | None, bool]]:
    return [(each.kind, each.partition, each.repaired) for each in found]


def mended(lake: TableLake, partition: str) -> None:
    """Assert that fsck reports exactly one partition, and repairs the list only on request.

    After the repair readers see all files, and the next commits list the newest rows again.
    """
    head = head_of(lake)
    assert told(fsck(lake.table())) == [("newest rows", partition, False)]
    assert read_head(lake.store, lake.id) == head
    assert told(fsck(lake.table(), repair=True)) == [("newest rows", partition, True)]
    assert fsck(lake.table(), repair=True) == []
    assert len(lake.listed()) == 2 * ROUNDS
    lake.append(A, "more")
    lake.append(A, "more again")
    assert {row.ticket for _, row in decode_newest(head_of(lake).newest)} == {2 * ROUNDS, 2 * ROUNDS + 2}
    assert fsck(lake.table()) == []


def test_a_partition_that_readers_miss(lake: TableLake) -> None:
    """A list that is said to name all partitions and does not is found, and dropped on request."""
    write(lake, without=B)
    assert {name[0] for name in lake.listed()} == {"a"}  # the harm that it does
    mended(lake, "d=2/s=b")


def test_a_row_that_is_not_the_newest(lake: TableLake) -> None:
    """A partition that readers see as it was is found."""
    write(lake, a=NewestRow(1))
    assert len(lake.listed()) == ROUNDS + 1
    mended(lake, "d=1/s=a")


def test_a_partition_that_is_said_to_be_gone(lake: TableLake) -> None:
    """A partition that the list calls dropped, by a row that does not say so, is found."""
    write(lake, b=NewestRow(2 * ROUNDS, is_tombstone=True))
    assert {name[0] for name in lake.listed()} == {"a"}
    mended(lake, "d=2/s=b")


def test_a_row_that_is_not_there(lake: TableLake) -> None:
    """fsck finds a partition whose listed newest row does not exist."""
    write(lake, a=NewestRow(2 * ROUNDS - 1, is_tombstone=False), b=NewestRow(99))
    found = fsck(lake.table())
    assert told(found) == [("newest rows", "d=2/s=b", False)]
    assert "ticket 99, and the newest is written by ticket 16" in found[0].detail


def test_a_dropped_partition_is_listed_rightly(lake: TableLake) -> None:
    """A tombstone that is listed is no fault, neither before it is vacuumed nor after."""

    lake.drop(B)
    assert any(row.is_tombstone for _, row in decode_newest(head_of(lake).newest))
    assert fsck(lake.table()) == []
    lake.append(A, "more")
    vacuum(lake.table(), older_than=NOW)
    assert fsck(lake.table()) == []
