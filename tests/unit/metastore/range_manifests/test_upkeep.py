"""Range manifests are written anew where partitions have changed, and nowhere else."""

from __future__ import annotations

import msgspec
import pytest

from parquetry.metastore import (
    Replacement,
    TableSnapshot,
    Transaction,
    compact_metadata,
    refresh_ranges,
    vacuum,
)
from parquetry.metastore.check.manifest_check import check_ranges
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.range_manifests import upkeep
from parquetry.metastore.range_manifests.records import RangeManifest, read_list, row_key
from parquetry.metastore.storage.head import edit_head
from parquetry.metastore.storage.keyspace import RANGE_MANIFESTS, prefix_range
from parquetry.store import MemoryStore
from tests.support.planning.ranged_tables import (
    append,
    compare,
    new_table,
    plan,
    record,
    state_of,
    view,
    without_ranges,
)


def ranges_of(table: TableSnapshot) -> list[RangeManifest]:
    """Return the ranges of a table's list."""
    return list(read_list(table.store, table.id, state_of(table).id) or ())


def rows_of(table: TableSnapshot) -> set[bytes]:
    """Return the keys of all rows of range manifests."""
    return {key for key, _ in table.store.scan(*prefix_range(RANGE_MANIFESTS + table.id))}


def named_rows(table: TableSnapshot) -> set[bytes]:
    """Return the keys of the rows that the table's list names, and its own."""
    own = {row_key(table.id, state_of(table).id, number) for number in (0, 1)}
    return own | {key for each in ranges_of(table) if each.has_rows for key in each.row_keys(table.id)}


def test_only_stale_ranges_are_written() -> None:
    """A refresh writes the stale ranges, shares the rows of the others, and deletes the rows replaced."""
    table = append(append(new_table(), range(100)), [42], "g")
    before = ranges_of(table)
    assert refresh_ranges(table) == 1
    after = ranges_of(table)
    assert [one == other for one, other in zip(before, after, strict=True)] == [n != 4 for n in range(10)]
    assert rows_of(table) == named_rows(table)
    assert refresh_ranges(table) == 0


@pytest.mark.parametrize("way", ["vacuum", "compact_metadata"])
def test_upkeep_refreshes(way: str) -> None:
    """Vacuum and compact_metadata bring the list up to date; before, a small commit left it stale."""
    table = append(append(new_table(), range(100)), [42], "g")
    assert state_of(table).flags(10).any()
    if way == "vacuum":
        vacuum(table)
    else:
        compact_metadata(table)
    assert not state_of(table).flags(10).any()


def test_commits_write_lists_within_their_own_cost() -> None:
    """A table that grows by small commits gets its list when it is large, and later parts as they come."""
    table = new_table()
    written: list[int] = []
    for first in range(0, 400, 8):
        table = append(table, range(first, first + 8))
        written.append(sum(each.partitions for each in ranges_of(table)) if table.ranges else 0)
    partitions = [8 * number for number in range(1, 51)]
    assert written[3] == 0  # 32 partitions, too few
    assert written[4] == 40
    assert all(of - listed < 40 for of, listed in zip(partitions[4:], written[4:], strict=True))
    assert plan(table, compare("<", 50)) == plan(without_ranges(table), compare("<", 50))


def test_a_small_change_of_a_large_table_writes_no_list() -> None:
    """A commit to a few partitions of a table without a list does not read the others."""
    table = append(new_table(), range(400))
    edit_head(
        table.store,
        table.id,
        lambda head: msgspec.structs.replace(head, commit=msgspec.structs.replace(head.commit, ranges=b"")),
        lambda head: not head.commit.ranges,
    )
    assert append(table, [3], "g").ranges == b""


class CommitsBetween(MemoryStore):
    """A store with another commit before a refresh writes its list."""

    def __init__(self) -> None:
        super().__init__()
        self.other = False
        self.table: TableSnapshot | None = None

    def put_many(self, rows, fields=None):  # type: ignore[no-untyped-def]
        rows = list(rows)
        done = super().put_many(rows, fields)
        if self.other and self.table is not None and rows[-1][0][:1] == RANGE_MANIFESTS:
            self.other = False
            append(self.table, [71, 500], "between")
        return done


def test_a_commit_during_a_refresh_is_marked() -> None:
    """A commit during a refresh makes its ranges stale in the new list."""
    store = CommitsBetween()
    table = append(append(new_table(store), range(100)), [42], "g")
    store.table, store.other = table, True
    refresh_ranges(table)
    table = table.refresh()
    stale = state_of(table).flags(10).tolist()
    assert stale == [number in (7, 9) for number in range(10)]
    assert len(view(table)) == 101
    assert plan(table, compare(">=", 0)) == plan(without_ranges(table), compare(">=", 0))


def test_rows_of_an_interrupted_refresh_go_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum leaves the rows of a list that another process may be writing, and deletes old ones."""
    table = append(new_table(), range(100))
    now = upkeep.store_now_ms(table.store)
    left = {
        row_key(table.id, (now - minutes * 60_000).to_bytes(6, "big") + b"xx", 2): minutes
        for minutes in (1, 59, 61, 600)
    }
    table.store.put_many([(key, b"row") for key in left])
    vacuum(table)
    assert {left[key] for key in rows_of(table) - named_rows(table)} == {1, 59}


def test_fsck_compares_ranges_with_rows() -> None:
    """A range that is not what its partitions' rows say is found, and written anew."""
    table = append(new_table(), range(100))
    one, other = ranges_of(table)[3], ranges_of(table)[4]
    values = table.store.get_many(list(other.row_keys(table.id)))
    assert kinds(table) == []
    table.store.put_many(
        (key, value) for key, value in zip(one.row_keys(table.id), values, strict=True) if value is not None
    )
    assert kinds(table) == [("range manifest", "p=30", False)]
    assert kinds(table, repair=True) == [("range manifest", "p=30", True)]
    assert kinds(table) == []
    table = table.refresh()
    assert plan(table, compare(">=", 0)) == plan(without_ranges(table), compare(">=", 0))


def kinds(table: TableSnapshot, repair: bool = False) -> list[tuple[str, str | None, bool]]:
    """Return the findings about range manifests."""
    return [(each.kind, each.partition, each.repaired) for each in check_ranges(table, repair)]


def test_replace_table_has_no_list_of_the_table_before() -> None:
    """A REPLACE TABLE begins without a list, and a list for its own partitions is made again."""
    table = append(new_table(), range(100))
    replacement = Replacement(table, table.metadata)
    transaction = Transaction(replacement.snapshot, "append")
    for p in range(60):
        transaction.append((p,), [record(f"n{p}", p)])
    commit(transaction)
    replacement.make_visible()
    now = table.refresh()
    assert now.totals.partitions == 60
    refresh_ranges(now)
    now = now.refresh()
    assert plan(now, compare("<", 30)) == plan(without_ranges(now), compare("<", 30))
    assert len(view(now)) == 60
