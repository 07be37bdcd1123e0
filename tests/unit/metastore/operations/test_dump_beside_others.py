"""A dump or listing has every table that exists all the time, even if others rename it meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.metastore import Metastore
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.store import MemoryStore
from tests.support.effort import steps
from tests.support.interleavings.steps import SteppedStore, StoreCall, interrupted
from tests.support.stores.metastores import metadata

RIVALS: dict[str, Callable[[Metastore], object]] = {
    "renamed to an earlier name": lambda metastore: metastore.rename_table("x", "t", "x", "a"),
    "renamed to a later name": lambda metastore: metastore.rename_table("x", "t", "x", "z"),
    "moved": lambda metastore: metastore.rename_table("x", "t", "default", "t"),
    "moved into a new database": lambda metastore: [
        metastore.create_database("y"),
        metastore.rename_table("x", "t", "y", "t"),
    ],
    "moved, and its database dropped": lambda metastore: [
        metastore.rename_table("x", "t", "default", "t"),
        metastore.drop_database("x", cascade=True),
    ],
    "another in its place": lambda metastore: [
        metastore.rename_table("x", "t", "x", "a"),
        metastore.create_table("x", "t", metadata()),
    ],
    "one dropped, another in its place": lambda metastore: [
        metastore.drop_table("x", "u"),
        metastore.rename_table("x", "t", "x", "u"),
    ],
    "names changed among three": lambda metastore: [
        metastore.rename_table("x", "t", "x", "b"),
        metastore.rename_table("x", "u", "x", "t"),
        metastore.rename_table("x", "b", "x", "u"),
    ],
}


def world() -> MemoryStore:
    store = MemoryStore()
    metastore = Metastore(store, "/lake")
    metastore.create_database("x")
    for name in ("m", "t", "u"):
        metastore.create_table("x", name, metadata(comment=name))
    return store


def ids(metastore: Metastore) -> set[bytes]:
    return {
        metastore.table(database, name).id
        for database in metastore.databases()
        for name in metastore.tables(database)
    }


@pytest.mark.parametrize("rival", RIVALS)
def test_a_dump_beside_others(tmp_path: Path, rival: str) -> None:
    """A rival's change between any two steps leaves each table once in the dump, under a name of its own.

    The dump can be restored.
    """
    for number in steps(rival):
        store = world()
        other = Metastore(store, "/lake")
        before = ids(other)
        came: list[object] = []

        def come_between(other: Metastore = other, came: list[object] = came) -> None:
            came.append(RIVALS[rival](other))

        dump(
            Metastore(interrupted(store, number, come_between, singly=True), "/lake"), tmp_path / str(number)
        )
        if not came:
            break
        restored = Metastore(MemoryStore(), "/lake")
        restore(restored, tmp_path / str(number))
        assert ids(restored) >= before & ids(other)
    assert number > 20


@pytest.mark.parametrize(
    "rival", ["renamed to an earlier name", "renamed to a later name", "another in its place"]
)
def test_a_listing_beside_a_renaming(rival: str) -> None:
    """A table that is renamed within its database during SHOW TABLES is listed by one name or the other."""
    for number in itertools.count():
        store = world()
        other = Metastore(store, "/lake")
        came: list[object] = []

        def come_between(other: Metastore = other, came: list[object] = came) -> None:
            came.append(RIVALS[rival](other))

        names = Metastore(interrupted(store, number, come_between, singly=True), "/lake").tables("x")
        if not came:
            break
        assert tuple(names) in {("m", "t", "u"), ("a", "m", "u"), ("m", "u", "z"), ("a", "m", "t", "u")}
    assert number > 5


def test_a_listing_while_names_change_all_the_time() -> None:
    """A table whose name goes on changing during SHOW TABLES is listed all the same."""
    store = world()
    other = Metastore(store, "/lake")
    names = ["t", "a"]

    def rename(call: StoreCall) -> None:
        if call.kind == "scan":
            other.rename_table("x", names[0], "x", names[1])
            names.reverse()

    for rows in range(4):
        if rows:  # the other way round relative to the rows that are read
            other.create_table("x", f"b{rows}", metadata())
        listed = Metastore(SteppedStore(store, rename, singly=True), "/lake").tables("x")
        assert len(set(listed) & {"a", "t"}) in (1, 2)
        assert set(listed) >= {"m", "u"}
