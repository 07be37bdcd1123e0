"""Secondary indexes give the same partitions as the keys do, after any operation.

They are used if they examine fewer keys.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.errors import (
    ColumnNotFoundError,
    IndexExistsError,
    IndexNotFoundError,
    ParquetryError,
    UnsupportedError,
)
from parquetry.metastore import Examined, Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.cleanup.index_upkeep import missing_entries
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.operations.indexes import create_index, drop_index, rebuild_index
from parquetry.metastore.partition_rows.indexes import new_index
from parquetry.metastore.storage.keyspace import INDEXES, delete_prefix, index_prefix, prefix_range
from parquetry.metastore.storage.owner import now_ms
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import ScanPlan
from parquetry.scan.plan_text import plan_text
from parquetry.store import MemoryStore, Store
from tests.support.effort import STEP, steps
from tests.support.stores.metastores import Crash, FaultyStore, file, metadata

COLUMNS = (
    TableColumn("x", "long"),
    TableColumn("ds", "integer"),
    TableColumn("hour", "integer"),
    TableColumn("region", "string"),
)
Values = tuple[Any, ...]


def make(days: int = 10, store: Store | None = None, **changes: Any) -> TableSnapshot:
    """Return a table by day, hour (three) and region (four)."""
    metastore = Metastore(store or MemoryStore(), "/lake")
    fields = {"columns": COLUMNS, "partition_by": ("ds", "hour", "region"), **changes}
    table = metastore.create_table("default", "t", metadata(**fields))
    return add(table, itertools.product(range(days), range(3), ("eu", "us", None, "ap"))) if days else table


def add(table: TableSnapshot, partitions: Any) -> TableSnapshot:
    transaction = Transaction(table, "fill")
    for values in partitions:
        transaction.append(values, [file("f")])
    return commit(transaction)


def plan(table: TableSnapshot, text: str, examined: Examined | None = None) -> ScanPlan:
    return cheapest_plan(table, parse_filter(text, table.key_schema.types), examined)


def found(table: TableSnapshot, text: str) -> list[Values]:
    """Return the partitions of a filter, which are the same by index and by their own keys."""
    predicate = parse_filter(text, table.key_schema.types)
    by_key = plan_scan(predicate, table.key_schema)
    expected = [partition.values for partition in table.partitions(by_key)]
    assert [partition.values for partition in table.partitions(cheapest_plan(table, predicate))] == expected
    return expected


def healthy(table: TableSnapshot) -> None:
    """Assert that every index leads to every partition, and that nothing else is wrong."""
    now = table.refresh()
    for index in now.metadata.indexes:
        assert (
            not index.ready
            or list(missing_entries(now.store, now.id, index, [(p.key, p.ticket) for p in now.partitions()]))
            == []
        )
    assert [f for f in fsck(now) if f.kind not in ("missing file", "unfinished index")] == []


def entries(table: TableSnapshot) -> int:
    return sum(1 for _ in table.store.scan(*prefix_range(INDEXES + table.id)))


# -- which way is taken


def test_an_index_is_used_where_it_examines_fewer_keys() -> None:
    """The index is used if its entries and their partitions are fewer than the partitions' keys.

    The estimates are counts of keys.
    """
    table = create_index(make(), ["region"])
    by_region = plan(table, "region = 'eu'")
    assert by_region.index is not None
    assert [scan.kind for scan in by_region.scans] == ["index"]
    assert [str(estimate) for estimate in by_region.estimates] == [
        "index region: 60",
        "the partitions' keys: 120",
    ]
    assert plan_text(by_region, table.key_schema).splitlines() == [
        "by index region",
        "scan index region = 'eu'",
        "keys to examine by index region: 60; by the partitions' keys: 120",
    ]
    assert len(found(table, "region = 'eu'")) == 30
    # a day has twelve keys, too few to look at an index, which has three entries and three partitions
    assert plan(table, "ds = 3 AND region = 'eu'").index is None
    # nine tenths of the table
    assert plan(table, "region IN ('eu', 'us', 'ap') OR region IS NULL").index is None
    # the index knows nothing of days
    assert plan(table, "ds = 3").index is None
    assert plan(table, "ds = 3").estimates == ()
    assert plan(table, "ds = 3 AND hour = 1 AND region = 'eu'").index is None
    assert plan(table, "region = 'eu' AND region = 'us'").scans == ()


def test_what_is_examined_is_counted() -> None:
    """The store counts keys for the choice and returns none; the reading returns entries and their rows."""
    table = create_index(make(), ["region"])
    examined = Examined()
    way = plan(table, "region = 'eu' AND hour = 1", examined)
    assert examined.keys == 0
    assert str(way.estimates[0]) == "index region: about 60"  # thirty entries of eu, and at most as many rows
    rows = list(table.partitions(way, examined=examined))
    assert len(rows) == 10
    assert examined.keys == 10 + 10  # the store leaves out the other entries


@pytest.mark.parametrize(
    "text",
    [
        "region = 'eu'", "region IN ('eu', 'us') AND hour = 2", "region LIKE 'e%' AND ds BETWEEN 3 AND 5", "region IS NULL",
        "region IS NOT NULL AND ds = 9", "hour = 1", "hour IN (0, 2) AND region = 'ap'", "hour > 1 OR region = 'us'",
        "NOT region = 'eu'", "region <=> NULL AND hour < 1", "(hour, region) IN ((1, 'eu'), (2, 'us'))", "region > 'eu' AND ds > 7",
        "region = 'nowhere'", "hour = 1 AND region LIKE '%s'", "region = 'eu' OR region = 'us' AND hour = 0",
    ],
)  # fmt: skip
@pytest.mark.parametrize("descending", [(), (True, False, True), (False, True, False)])
def test_by_index_or_by_keys(text: str, descending: tuple[bool, ...]) -> None:
    """An index gives the same partitions in the same order, NULLs and descending columns included."""
    table = make(descending=descending)
    expected = [partition.values for partition in table.partitions(plan(table, text))]
    for columns in (["region"], ["hour"], ["region", "hour"], ["hour", "region"]):
        table = create_index(table, columns)
    assert found(table, text) == expected
    limited = [partition.values for partition in table.partitions(plan(table, text), limit=2)]
    assert limited == expected[:2]


# -- made, dropped, built anew


def test_an_index_of_a_new_table_is_ready_at_once() -> None:
    """It needs no building, and every commit keeps it."""
    empty = metadata(columns=COLUMNS, partition_by=("ds", "hour", "region"))
    table = make(5, indexes=(new_index(empty, ["region"], ready=True),))
    assert plan(table, "region = 'eu'").index is not None
    assert len(found(table, "region = 'eu'")) == 15
    healthy(table)


def test_commits_keep_the_index() -> None:
    """Appends, overwrites, drops, renames, partitions that come again, rollbacks."""
    table = create_index(make(2), ["region"])
    before = table
    steps: list[Callable[[Any], object]] = [
        lambda t: t.append((7, 0, "mars"), [file("a")]),
        lambda t: t.replace((7, 0, "mars"), [file("b")]),
        lambda t: t.rename((7, 0, "mars"), (7, 0, "moon")),
        lambda t: t.drop((7, 0, "moon")),
        lambda t: t.add((7, 0, "moon")),
        lambda t: t.replace_where(None),
        lambda t: t.append((7, 0, "mars"), [file("c")]),
    ]
    expected = [["mars"], ["mars"], ["moon"], [], ["moon"], [], ["mars"]]
    versions = []
    for step, regions in zip(steps, expected, strict=True):
        transaction = Transaction(table, "step")
        step(transaction)
        table = commit(transaction)
        versions.append(table)
        assert [values[2] for values in found(table, "region IN ('mars', 'moon')")] == regions
        healthy(table)
    for version, regions in zip(versions, expected, strict=True):
        assert [values[2] for values in found(version, "region IN ('mars', 'moon')")] == regions
    # rolled back by hand: the files of these tables are names only
    transaction = Transaction(table, "rollback")
    for partition in before.partitions():
        transaction.restore(before, partition)
    table = commit(transaction)
    assert len(found(table, "region = 'eu'")) == 6
    healthy(table)


def test_an_index_outlives_a_rollback(tmp_path: Path) -> None:
    """A version from before the index, or from when it was another, is gone back to with the index of now."""
    table = make(0, location=f"file:{tmp_path}")
    transaction = Transaction(table, "add")
    transaction.add((1, 1, "eu"))
    old = commit(transaction)
    table = create_index(old, ["region"])
    transaction = Transaction(table, "add")
    transaction.add((2, 1, "us"))
    table = rollback(commit(transaction), old)
    assert [index.name for index in table.metadata.indexes] == ["region"]
    assert found(table, "region >= 'a'") == [(1, 1, "eu")]
    healthy(table)


def test_writers_that_began_before_the_index() -> None:
    """A commit that is under way when an index is announced writes its entries, too."""
    announced = 0
    for at in range(12):
        fresh = make(1, inner := MemoryStore())
        hook = FaultyStore(inner)
        seen = Metastore(hook, "/lake").table("default", "t")
        late = Transaction(seen, "late")
        late.append((9, 9, "late"), [file("f")])
        late.append((0, 0, "eu"), [file("f")])

        def announce(writes: int, at: int = at, fresh: TableSnapshot = fresh) -> None:
            if writes == at:
                create_index(fresh, ["region"])

        hook.before_write = announce
        commit(late)
        after = fresh.refresh()
        if after.metadata.indexes:
            announced += 1
            assert len(found(after, "region IN ('late', 'eu')")) == 4
            healthy(after)
    assert announced >= 5


def test_drop_and_build_anew() -> None:
    """The old index is used until the new one is ready; a dropped one's entries go with the next vacuum."""
    table = create_index(make(3), ["region"])
    (old,) = table.metadata.indexes
    rebuilt = rebuild_index(table, "REGION")
    (new,) = rebuilt.metadata.indexes
    assert (new.name, new.order, new.ready) == (old.name, old.order, True)
    assert new.id != old.id
    assert entries(table) == 2 * 36
    assert len(found(rebuilt, "region = 'eu'")) == len(found(table, "region = 'eu'")) == 9
    dropped = drop_index(rebuilt, ["region"])
    assert dropped.metadata.indexes == ()
    assert plan(dropped, "region = 'eu'").index is None
    assert len(found(table, "region = 'eu'")) == 9  # the old version is still read by its index
    vacuum(dropped, older_than=now_ms() + 1)
    assert entries(table) == 0
    with pytest.raises(ParquetryError, match="vacuumed away"):
        found(table, "region = 'eu'")


def _begin(table: TableSnapshot) -> None:
    def crash(*_: object) -> None:
        raise Crash

    with pytest.raises(Crash):
        create_index(table, ["region"], progress=crash)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda t: create_index(t, ["region"]), "has built the index 'region' on (region) meanwhile. It is in"),
        (lambda t: create_index(t, ["region", "ds"], "by_region"), "has built the index 'by_region' on (region, ds)"),
        (lambda t: create_index(t, ["hour"], "region"), "has built the index 'region' on (hour) meanwhile"),
        (_begin, "has begun to build the index 'region' on (region) meanwhile. Wait for that, or create it again"),
    ],
)  # fmt: skip
def test_two_that_create_one_index(other: Callable[[TableSnapshot], Any], words: str) -> None:
    """The process that finishes second gets an error with the other's work and a remedy. The other's index is
    whole.
    """
    table = make(2)
    with pytest.raises(IndexExistsError, match=re.escape(words)):
        create_index(table, ["region"], progress=lambda *_: other(table))
    now = table.refresh()
    healthy(now)
    assert [index.ready for index in now.metadata.indexes] == [other is not _begin]


def test_two_that_rebuild_one_index() -> None:
    """The error for the second process says that the index is built, or, if it was dropped meanwhile, to
    create it again.
    """
    table = create_index(make(2), ["region"])
    with pytest.raises(IndexExistsError, match=r"has built the index 'region' on \(region\)"):
        rebuild_index(table, ["region"], progress=lambda *_: rebuild_index(table, ["region"]) and None)
    healthy(table)
    with pytest.raises(IndexNotFoundError, match=r"was dropped, or the table replaced, .*: create it again"):
        rebuild_index(table, ["region"], progress=lambda *_: drop_index(table, ["region"]) and None)
    assert table.refresh().metadata.indexes == ()


def test_vacuum_removes_entries_of_partitions_that_are_gone() -> None:
    """And none that a version, now or later, needs."""
    table = create_index(make(3), ["region"])
    transaction = Transaction(table, "drop")
    for hour in range(3):
        transaction.drop((0, hour, "eu"))
    table = commit(transaction)
    again = Transaction(table, "again")
    again.add((0, 0, "eu"))
    table = commit(again)
    assert entries(table) == 36 + 3 + 1
    vacuum(table, older_than=now_ms() + 1)
    assert entries(table) == 36 - 2
    assert len(found(table, "region = 'eu'")) == 9 - 2
    healthy(table)


def test_fsck_writes_what_is_missing_and_removes_what_is_not_needed() -> None:
    """fsck reports each missing entry, and each entry that leads to no row."""
    table = create_index(make(2), ["region"])
    (index,) = table.metadata.indexes
    delete_prefix(table.store, index_prefix(table.id, index.id))
    table.store.put_many([(index_prefix(table.id, "ab" * 8) + b"stray", b"\x01")])
    missing = [f for f in fsck(table) if f.kind == "missing index entry"]
    assert [f.partition for f in missing] == [table.describe(p.key) for p in table.partitions()]
    kinds = {f.kind for f in fsck(table, repair=True) if f.repaired}
    assert {"missing index entry", "unneeded index entry"} <= kinds
    healthy(table)
    assert len(found(table, "region = 'eu'")) == 6
    assert (
        entries(table) == 24 + 24
    )  # the files are names only, so repairing has made a row without them of each


def test_a_dump_restores_the_index(tmp_path: Path) -> None:
    """Entries are not in the dump; restoring writes them."""
    table = create_index(make(2), ["region"])
    dump(Metastore(table.store, "/lake"), tmp_path / "dump")
    other = Metastore(MemoryStore(), "/lake")
    restore(other, tmp_path / "dump")
    restored = other.table("default", "t")
    assert restored.metadata == table.metadata
    assert len(found(restored, "region = 'eu'")) == 6
    healthy(restored)


def test_dropped_tables_leave_no_entries() -> None:
    """An index goes with its table."""
    table = create_index(make(1), ["region"])
    Metastore(table.store, "/lake").drop_table("default", "t")
    assert entries(table) == 0


# -- crashes


def _create(table: TableSnapshot) -> None:
    create_index(table, ["hour"])


def _append(table: TableSnapshot) -> None:
    add(table, [(5, 0, "new"), (0, 0, "eu")])


def _drop(table: TableSnapshot) -> None:
    drop_index(table, "region")


def _rebuild(table: TableSnapshot) -> None:
    rebuild_index(table, "region")


def _vacuum(table: TableSnapshot) -> None:
    transaction = Transaction(table, "drop")
    transaction.drop((0, 0, "eu"))
    vacuum(commit(transaction), older_than=now_ms() + 1)


@pytest.mark.parametrize("operation", [_create, _append, _drop, _rebuild, _vacuum])
@pytest.mark.parametrize("loses_answer", [False, True])
def test_crash_at_every_write(operation: Callable[[TableSnapshot], None], loses_answer: bool) -> None:
    """Wherever it stops, every index that is read leads to every partition, and the next can go on."""
    for stop in steps(operation.__name__, str(loses_answer)):
        store = FaultyStore(MemoryStore())
        table = create_index(make(1, store), ["region"])
        store.crash_at = None if loses_answer else store.writes + stop
        store.fail_at = store.writes + stop if loses_answer else None
        crashed = False
        try:
            operation(table)
        except (Crash, ParquetryError):
            crashed = True
        assert stop < 200 + STEP
        crashed = crashed or (loses_answer and store.writes > store.fail_at if store.fail_at else crashed)
        after = Metastore(store.store, "/lake").table("default", "t")
        healthy_after_crash(after)
        for columns in (["region"], ["hour"]):
            if not any(i.ready and i.name == columns[0] for i in after.metadata.indexes):
                after = create_index(after, columns)
        after = add(after, [(6, 1, "late")])
        assert found(after, "region = 'late' OR region = 'new'")[-1] == (6, 1, "late")
        assert (6, 1, "late") in found(after, "hour = 1")
        fsck(after, repair=True)
        healthy(after)
        if not crashed:
            break


def healthy_after_crash(table: TableSnapshot) -> None:
    """Assert that no entry is missing; unneeded entries may exist."""
    found(table, "region IN ('eu', 'new')")
    harmless = ("missing file", "unfinished index", "unneeded index entry", "journal", "dead commit")
    assert [f for f in fsck(table) if f.kind not in harmless] == []


@pytest.mark.parametrize("operation", [create_index, rebuild_index])
def test_fsck_says_how_an_unfinished_index_is_finished(operation: Callable[..., TableSnapshot]) -> None:
    """fsck names the call that finishes an unfinished index, and that call does so."""
    table = make(1)
    table = table if operation is create_index else create_index(table, ["region"])

    def die(*_: object) -> None:
        raise Crash

    with pytest.raises(Crash):
        operation(table, ["region"], progress=die)
    (finding,) = (each for each in fsck(table.refresh()) if each.kind == "unfinished index")
    calls = {
        "system.create_partition_index on (region)": create_index,
        "system.rebuild_partition_index": rebuild_index,
    }
    assert [call for text, call in calls.items() if text in finding.detail] == [operation]
    table = operation(table, ["region"])
    assert [(index.name, index.ready) for index in table.metadata.indexes] == [("region", True)]
    healthy(table)
    with pytest.raises(Crash):
        rebuild_index(table, ["region"], progress=die)
    assert any("system.drop_partition_index drops both" in each.detail for each in fsck(table.refresh()))
    assert drop_index(table, "region").metadata.indexes == ()


# -- bad input


@pytest.mark.parametrize(
    ("columns", "error", "text"),
    [
        (["nope"], ColumnNotFoundError, "'nope'.*ds, hour, region"),
        (["x"], ColumnNotFoundError, "not a partition column"),
        ([], UnsupportedError, "name one or more"),
        (["hour", "HOUR"], UnsupportedError, "each once"),
        (["ds"], UnsupportedError, "of no use"),
        (["ds", "hour", "region"], UnsupportedError, "of no use"),
        (["Region"], IndexExistsError, "'region'.*rebuild_partition_index"),
    ],
)
def test_indexes_that_make_no_sense(columns: list[str], error: type[Exception], text: str) -> None:
    """Each is refused by name, and nothing changes."""
    table = create_index(make(1), ["region"])
    with pytest.raises(error, match=text):
        create_index(table, columns)
    with pytest.raises(IndexNotFoundError, match=r"'nope'.*region"):
        drop_index(table, "nope")
    with pytest.raises(IndexNotFoundError, match=r"hour.*region"):
        rebuild_index(table, ["hour"])
    assert table.refresh().version == table.version


def test_a_plan_is_for_its_version() -> None:
    """A plan by an index that another version does not have is refused rather than read."""
    table = make(1)
    indexed = create_index(table, ["region"])
    way = plan(indexed, "region = 'eu'")
    with pytest.raises(UnsupportedError, match="'region' does not lead to all partitions of version"):
        list(table.partitions(way))
    with pytest.raises(UnsupportedError, match="for an index"):
        Transaction(indexed, "x").replace_where(way)
