"""No table loses its name, and no name stays without its table, despite other clients."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.errors import NamespaceNotEmptyError, NamespaceNotFoundError, TableNotFoundError
from parquetry.metastore import Metastore, Transaction
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.namespace import orphans
from parquetry.metastore.storage.keyspace import HEADS, NAMES, name_key, prefix_range
from parquetry.metastore.vacuuming.vacuum import remove_orphans
from parquetry.store import MemoryStore, Store
from tests.support.interleavings.steps import interrupted
from tests.support.stores.failing_client import Client
from tests.support.stores.metastores import Crash, content, file, metadata, new_table


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "MIN_RENAMING_S", 0.0)


def count(store: Store, prefix: bytes) -> int:
    return sum(1 for _ in store.scan(*prefix_range(prefix)))


def test_the_row_of_a_renaming_that_begins_meanwhile_is_not_left_over() -> None:
    """A vacuum never counts the new name of a running rename as left over."""
    for number in itertools.count():
        store = MemoryStore()
        new_table(store)
        came: list[bool] = []

        def rename_in_part(store: Store = store, came: list[bool] = came) -> None:
            came.append(True)
            with contextlib.suppress(Crash):  # it has announced the name, and written the row
                Metastore(Client(store, 2), "/lake").rename_table("default", "t", "default", "u")

        found = orphans.Orphans(Metastore(interrupted(store, number, rename_in_part), "/lake").store).names()
        assert found == []
        if not came:
            break
        assert store.get(name_key("default", "u")) is not None
    assert number >= 2


def test_a_table_that_has_lost_its_name(tmp_path: Path) -> None:
    """A table without its name keeps its rows and files.

    fsck of another table reports it, and gives its name back.
    """
    store = MemoryStore()
    metastore, _ = new_table(store)
    folder = tmp_path / "lost" / "d=1" / "s=a"
    folder.mkdir(parents=True)
    table = metastore.create_table("default", "lost", metadata(location=str(tmp_path / "lost")))
    path = folder / f"pq-{table.id.hex()}-1"
    path.write_text("x" * 100)
    transaction = Transaction(table, "fill")
    transaction.append((1, "a"), [file(path.name, rows=None)])
    commit(transaction)
    row = store.get(name_key("default", "lost"))
    store.delete_many([name_key("default", "lost")])
    for _ in range(2):
        assert remove_orphans(Metastore(store, "/lake").store, FileAccess()).tables == 0
    assert path.exists()
    other = metastore.table("default", "t")
    (finding,) = [each for each in fsck(other) if each.kind.startswith("lost")]
    assert finding.kind == "lost table"
    assert "default.lost" in finding.detail
    assert not finding.repaired
    (finding,) = [each for each in fsck(other, repair=True) if each.kind.startswith("lost")]
    assert finding.repaired
    assert store.get(name_key("default", "lost")) == row
    assert content(metastore.table("default", "lost")) == {(1, "a"): [path.name]}
    assert [each for each in fsck(other) if each.kind.startswith("lost")] == []


def test_a_lost_table_whose_name_is_taken() -> None:
    """fsck does not take a name from the table that has it."""
    store = MemoryStore()
    metastore, table = new_table(store)
    metastore.create_table("default", "u", metadata())
    store.delete_many([name_key("default", "u")])
    new = metastore.create_table("default", "u", metadata())
    (finding,) = [each for each in fsck(table, repair=True) if each.kind.startswith("lost")]
    assert not finding.repaired
    assert "default.u exists already" in finding.detail
    assert metastore.table("default", "u").id == new.id


def create_in_part(store: Store, calls: int, location: str) -> bool:
    """Begin to make a table `x.t`, and crash after so many calls of the store; return whether it crashed."""
    try:
        Metastore(interrupted(store, calls, _die), "/lake").create_table(
            "x", "t", metadata(location=location)
        )
    except Crash:
        return True
    except (NamespaceNotFoundError, TableNotFoundError):
        pass
    return False


def _die() -> None:
    raise Crash


@pytest.mark.parametrize("vacuumed", [False, True])
def test_a_creation_cut_short_in_a_database_that_goes(tmp_path: Path, vacuumed: bool) -> None:
    """A creation that was cut short leaves no table in a dropped database.

    No vacuum skips such a table, and a new database of that name does not show it.
    """
    for calls, number in itertools.product(range(2, 40), range(40)):
        store = MemoryStore()
        metastore, _ = new_table(store)
        metastore.create_database("x")
        crashed: list[bool] = []

        def come_between(store: Store = store, calls: int = calls, crashed: list[bool] = crashed) -> None:
            crashed.append(create_in_part(store, calls, str(tmp_path)))

        with contextlib.suppress(NamespaceNotEmptyError):
            Metastore(interrupted(store, number, come_between), "/lake").drop_database("x")
        if crashed == [False]:  # it makes fewer calls
            break
        if "x" in metastore.databases():
            continue
        if vacuumed:
            remove_orphans(Metastore(store, "/lake").store, FileAccess())
            assert count(store, HEADS) == count(store, NAMES) == 1
        metastore.create_database("x")
        assert metastore.tables("x") == []
        metastore.create_table("x", "t", metadata(location=str(tmp_path)))
        remove_orphans(Metastore(store, "/lake").store, FileAccess())
        assert count(store, HEADS) == count(store, NAMES) == 2
    assert calls > 10


def told(operation: Callable[[Metastore], object], metastore: Metastore) -> str:
    """Return the outcome of an operation for its caller."""
    try:
        operation(metastore)
    except (TableNotFoundError, NamespaceNotFoundError):
        return "not found"
    return "done"


def drop_t(metastore: Metastore) -> None:
    metastore.drop_table("default", "t")


def drop_u(metastore: Metastore) -> None:
    metastore.drop_table("default", "u")


def test_of_two_who_drop_a_table_one_is_told_so() -> None:
    """Wherever the other one comes between, one has dropped it, and the other did not find it."""
    for number in itertools.count():
        store = MemoryStore()
        metastore, _ = new_table(store)
        others: list[str] = []

        def drop(metastore: Metastore = metastore, others: list[str] = others) -> None:
            others.append(told(drop_t, metastore))

        one = Metastore(interrupted(store, number, drop), "/lake")
        mine = told(drop_t, one)
        if not others:
            break
        assert {mine, *others} == {"done", "not found"}
    assert number > 5


OPERATIONS: dict[str, Callable[[Metastore], object]] = {
    "rename": lambda metastore: metastore.rename_table("default", "t", "default", "u"),
    "create": lambda metastore: metastore.create_table("default", "u", metadata()),
    "append": lambda metastore: _append(metastore),
}


def _append(metastore: Metastore) -> None:
    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((1, "a"), [file("x")])
    commit(transaction)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_was_done_is_not_told_as_not_found(operation: str) -> None:
    """Where the table is dropped right after an operation on it took place, the operation is done."""
    for number in itertools.count():
        store = MemoryStore()
        metastore, _ = new_table(store)
        others: list[str] = []
        name = "t" if operation == "append" else "u"

        def drop(metastore: Metastore = metastore, others: list[str] = others, name: str = name) -> None:
            if operation == "append" and "x" not in content(metastore.table("default", "t"))[1, "a"]:
                others.append("too early")
                return
            others.append(told(drop_t if name == "t" else drop_u, metastore))

        one = Metastore(interrupted(store, number, drop), "/lake")
        mine = told(OPERATIONS[operation], one)
        if not others:
            break
        if others == ["done"]:
            assert mine == "done"
    assert number > 5
