"""A SQLite file that is moved, deleted or put back under an open session: no acknowledged write is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parquetry.errors import StoreError, WarehouseError
from parquetry.store.sqlite import SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    made = SQLiteStore(tmp_path / "m/file.sqlite")
    made.put_many([(b"k", b"1")])
    return made


def put_back(store: SQLiteStore) -> None:
    """Replace the folder of a store by a copy of it."""
    folder = Path(store.path).parent
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("copy"), folder)


@pytest.mark.parametrize("how", ["put back", "moved", "deleted"])
def test_a_write_after_the_file_was_replaced_is_refused(store: SQLiteStore, how: str) -> None:
    """The write is refused in words, and a new session sees what the file at the path holds."""
    folder = Path(store.path).parent
    {
        "put back": lambda: put_back(store),
        "moved": lambda: folder.rename(folder.with_name("away")),
        "deleted": lambda: shutil.rmtree(folder),
    }[how]()
    for write in (
        lambda: store.put_many([(b"k", b"2")]),
        lambda: store.compare_and_set(b"k", b"1", b"2"),
        lambda: store.delete_many([b"k"]),
    ):
        with pytest.raises(
            WarehouseError, match="was moved, deleted or replaced since this session opened it"
        ):
            write()
    if how == "put back":
        assert SQLiteStore(store.path).get(b"k") == b"1"


def test_a_folder_that_is_moved_and_moved_back(store: SQLiteStore) -> None:
    """The file is the same one again, and the session goes on."""
    folder = Path(store.path).parent
    folder.rename(folder.with_name("away"))
    with pytest.raises(WarehouseError):
        store.put_many([(b"k", b"2")])
    folder.with_name("away").rename(folder)
    store.put_many([(b"k", b"3")])
    assert SQLiteStore(store.path).get(b"k") == b"3"


def test_a_file_that_is_replaced_during_a_commit(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write is not acknowledged, and no read shows it, until the file is back."""
    looks = [store._file, (0, 0), (0, 0), store._file, store._file]
    monkeypatch.setattr(store, "_file_now", lambda: looks.pop(0))
    with pytest.raises(StoreError, match="look whether the write is there"):
        store.put_many([(b"k", b"2")])
    with pytest.raises(StoreError, match="replaced while it was written"):
        store.get(b"k")
    assert store.get(b"k") == b"2"
