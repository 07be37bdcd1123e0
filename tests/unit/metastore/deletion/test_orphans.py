"""A vacuum of any table removes unreachable rows and files, and keeps rows and files in use."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import pytest

from parquetry.errors import CommitConflictError, TableNotFoundError
from parquetry.metastore import FileRecord, Metastore, Replacement, StagedTable, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.namespace import orphans
from parquetry.metastore.namespace.names import TableNames
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import RESTORING, UPKEEP, head_key
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, Store
from tests.support.stores.crashes import leftovers
from tests.support.stores.failing_client import Client
from tests.support.stores.metastores import Crash, content, file, metadata, new_table


def clear(store: Store, *, dry_run: bool = False) -> dict[str, int]:
    """Vacuum `default.t`; return how many of each kind were removed."""
    counts: dict[str, int] = {}
    row: Removed
    for row in vacuum(Metastore(store, "/lake").table("default", "t"), older_than=0, dry_run=dry_run):
        counts[row.kind] = counts.get(row.kind, 0) + row.count
    return counts


def stage(store: Store, folder: Path) -> StagedTable:
    """Return a table in the making that has one file."""
    table = Metastore(store, "/lake").stage_table("default", "new", metadata(location=str(folder)))
    transaction = Transaction(table.snapshot, "fill")
    place = Path(table.snapshot.placement.default_location((1, "a")))
    place.mkdir(parents=True)
    name = f"pq-{table.id.hex()}-1"
    (place / name).write_bytes(b"12345")
    transaction.append((1, "a"), [FileRecord(name, 5, 1)])
    commit(transaction)
    return table


def test_a_table_in_the_making(tmp_path: Path) -> None:
    """Rows and files of an unpublished table stay while its process may publish it.

    They are removed when that process can no longer do so.
    """
    store = MemoryStore()
    new_table(store)
    table = stage(store, tmp_path)
    (tmp_path / "theirs").write_bytes(b"x")
    assert clear(store) == {}
    assert content(table.snapshot) == {(1, "a"): [f"pq-{table.id.hex()}-1"]}
    del table
    expected = {"left-over file": 1, "left-over tables": 1}
    assert clear(store, dry_run=True) == expected
    assert clear(store) == expected
    assert leftovers(store) == []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["theirs"]
    assert clear(store) == {}


def test_a_published_table_has_no_author(tmp_path: Path) -> None:
    """A published table stays after a rename and after a replacement."""
    store = MemoryStore()
    metastore, _ = new_table(store)
    stage(store, tmp_path).make_visible()
    metastore.rename_table("default", "new", "default", "renamed")
    stage(store, tmp_path / "2").make_visible()
    Replacement(metastore.table("default", "new"), metadata(comment="replaced")).make_visible()
    assert clear(store) == {}
    assert metastore.tables("default") == ["new", "renamed", "t"]
    assert content(metastore.table("default", "new")) == {}


def test_a_table_that_is_published_just_before_it_is_given_up(tmp_path: Path) -> None:
    """An orphan is checked again before it is removed."""
    store = MemoryStore()
    metastore, _ = new_table(store)
    table = stage(store, tmp_path)
    head = read_head(store, table.id)
    assert head is not None
    assert head.author is not None
    dead = msgspec.structs.replace(head, author=msgspec.structs.replace(head.author, nonce=b"dead"))
    store.put_many([(head_key(table.id), encode(dead))])
    known = orphans.Orphans(metastore.store)
    (found,) = known.tables()
    assert found.id == table.id
    table.make_visible()
    assert not known.claim(found)
    assert metastore.tables("default") == ["new", "t"]


def test_rows_written_after_their_table_was_dropped() -> None:
    """A writer that learns too late that its table is gone leaves rows, which go."""
    store = MemoryStore()
    metastore, _ = new_table(store)
    other = metastore.create_table("default", "other", metadata())
    client = Client(store)
    transaction = Transaction(Metastore(client, "/lake").table("default", "other"), "append")
    transaction.append((1, "a"), [file("x")])

    def drop() -> None:
        if client.writes == 2 and "other" in metastore.tables("default"):
            metastore.drop_table("default", "other")

    client.before_write = drop
    with pytest.raises(TableNotFoundError):
        commit(transaction)
    assert [row for row in leftovers(store) if other.id.hex() in row]
    assert clear(store) == {"left-over tables": 1}
    assert leftovers(store) == []


def test_a_metastore_that_is_being_restored() -> None:
    """While a dump is being restored, tables that have no name yet are no orphans."""
    store = MemoryStore()
    new_table(store)
    other = MemoryStore()
    new_table(other)
    store.put_many([(RESTORING, b"x"), *(row for row in other.scan(b"\x04", None))])
    before = list(store.scan(b"", None))
    assert clear(store) == {}
    assert [row for row in store.scan(b"", None) if not row[0].startswith(UPKEEP)] == before
    store.delete_many([RESTORING])
    assert clear(store) == {"left-over tables": 1}
    assert leftovers(store) == []


@pytest.mark.parametrize("row", range(4))
def test_a_renaming_cut_short(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done or taken back; a name that was reserved is free again."""
    monkeypatch.setattr(orphans, "MIN_RENAMING_S", 0.0)
    store = MemoryStore()
    new_table(store)
    metastore, _ = new_table_beside(store)
    with contextlib.suppress(Crash):
        Metastore(Client(store, row), "/lake").rename_table("default", "u", "default", "z")
    (name,) = set(metastore.tables("default")) - {"t"}
    clear(store)
    assert leftovers(store) == []
    assert metastore.tables("default") == ["t", name]
    metastore.create_table("default", "z" if name == "u" else "u", metadata())
    assert metastore.tables("default") == ["t", "u", "z"]


def new_table_beside(store: Store) -> tuple[Metastore, object]:
    metastore = Metastore(store, "/lake")
    return metastore, metastore.create_table("default", "u", metadata())


def test_a_renaming_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum takes back a running rename, which then fails with a conflict and changes no name."""
    monkeypatch.setattr(orphans, "MIN_RENAMING_S", 0.0)
    store = MemoryStore()
    new_table(store)
    metastore, _ = new_table_beside(store)
    client = Client(store)
    renamer = Metastore(client, "/lake")

    def interfere() -> None:
        if client.writes == 2:
            client.before_write = None
            clear(store)

    client.before_write = interfere
    with pytest.raises(CommitConflictError, match="renamed or dropped"):
        renamer.rename_table("default", "u", "default", "z")
    assert metastore.tables("default") == ["t", "u"]
    clear(store)
    assert leftovers(store) == []
    assert TableNames(store, metastore._databases).find("default", "z") is None


def test_a_table_in_the_making_with_a_partition_elsewhere(tmp_path: Path) -> None:
    """A vacuum also deletes an abandoned table's own files outside of its folder.

    Other files there stay.
    """
    store = MemoryStore()
    new_table(store)
    table = stage(store, tmp_path / "new")
    own = [f"pq-{table.id.hex()}-{number}" for number in (2, 3)]
    (tmp_path / "away").mkdir()
    for name in (*own, "theirs", "pq-0011223344556677-1"):
        (tmp_path / "away" / name).write_bytes(b"x")
    transaction = Transaction(table.snapshot, "fill")
    transaction.add((2, "b"), f"file:{tmp_path}/away", [FileRecord(own[0], 1, 1)])
    commit(transaction)
    assert clear(store) == {}
    del table, transaction
    assert clear(store) == {"left-over file": 3, "left-over tables": 1}
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "theirs",
        "pq-0011223344556677-1",
    }
