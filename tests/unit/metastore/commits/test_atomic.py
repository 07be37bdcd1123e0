"""Commits are atomic, wherever a writer stops, and for any answer of the store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from parquetry.errors import CommitUnknownError, StoreError
from parquetry.metastore import Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.metastore.storage.head import read_head
from parquetry.store import MemoryStore
from tests.support.stores.commits import NEW, OLD, big_change, check_next_commit, count_writes
from tests.support.stores.metastores import Crash, FaultyStore, content, file, leftovers, new_table


def test_all_kinds_of_change() -> None:
    """One commit makes all its changes visible, in one version."""
    metastore, table = new_table()
    transaction = Transaction(table, "change")
    big_change(transaction)
    after = commit(transaction, {"by": "test"})
    assert content(after) == NEW == content(metastore.table("default", "t"))
    assert (after.version, after.operation, after.commit.summary) == (2, "change", {"by": "test"})
    assert after.metadata.comment == "changed"
    assert content(table) == OLD
    assert table.metadata.comment is None
    assert leftovers(metastore.store, table.id) == []


@pytest.mark.parametrize("stop", range(count_writes(big_change)))
def test_crash_at_every_write(stop: int) -> None:
    """If the process dies at any row it writes, the table is the old version or the new one, and works."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    store.crash_at = stop
    with pytest.raises(Crash):
        commit(transaction)
    table = Metastore(inner, "/lake").table("default", "t")
    found = content(table)
    assert found == (OLD if table.version == 1 else NEW)
    assert [commit.version for commit in table.history()] == list(range(table.version, -1, -1))
    check_next_commit(inner, found)


@pytest.mark.parametrize("stop", range(count_writes(big_change)))
def test_store_failure_at_every_write(stop: int) -> None:
    """If the store refuses a row, the commit either takes place or fails without a leftover row."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    store.fail_at = stop
    try:
        after = commit(transaction)
    except StoreError:
        expected = OLD
    else:
        expected = NEW
        assert content(after) == NEW
    assert content(Metastore(inner, "/lake").table("default", "t")) == expected
    check_next_commit(inner, expected)


@pytest.mark.parametrize("stop", range(30))
def test_crash_while_chunks_are_written(stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a commit that died are cleared away with its partitions."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 100)
    monkeypatch.setattr(entries, "MAX_CHUNK_BYTES", 100)
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "append")
    names = [f"file-{n}" for n in range(40)]
    transaction.append((1, "a"), [file(name) for name in names])
    store.crash_at = stop
    with contextlib.suppress(Crash):
        commit(transaction)
    table = Metastore(inner, "/lake").table("default", "t")
    found = content(table)
    assert found == (OLD if table.version == 1 else {**OLD, (1, "a"): ["a", *names]})
    check_next_commit(inner, found)


@pytest.mark.parametrize("lost", range(4))
@pytest.mark.parametrize("how", ["raises", "says False", "raises, not applied"])
def test_lost_replies(lost: int, how: str) -> None:
    """A compare-and-set that was applied without saying so, or refused, counts exactly once."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        if number != lost:
            return swap()
        if how == "raises, not applied":
            raise StoreError("no connection")
        assert swap()
        if how == "says False":
            return False
        raise StoreError("no answer")

    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    store.answer = answer
    after = commit(transaction)
    assert content(after) == NEW
    assert after.version == 2
    check_next_commit(inner, NEW)


def test_lost_reply_and_then_others_commit() -> None:
    """A commit that was applied without an answer finds itself in the history.

    That holds even if others have committed since.
    """
    inner = MemoryStore()
    other, _ = new_table(inner)
    store = FaultyStore(inner)

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        result = swap()
        if number == 1:
            transaction = Transaction(other.table("default", "t"), "other")
            transaction.append((1, "a"), [file("other")])
            commit(transaction)
            raise StoreError("no answer")
        return result

    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    transaction.append((1, "a"), [file("mine")])
    store.answer = answer
    mine = commit(transaction)
    assert (mine.version, content(mine)[1, "a"]) == (2, ["a", "mine"])
    assert content(other.table("default", "t"))[1, "a"] == ["a", "mine", "other"]


@pytest.mark.parametrize("applied", [False, True])
def test_unknown_outcome(applied: bool) -> None:
    """If the store cannot be asked after the decisive step, the error says that the outcome is not known."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        if number == 0:
            return swap()
        if applied:
            swap()
        store.get = no_get  # type: ignore[method-assign]
        raise StoreError("no answer")

    def no_get(key: bytes) -> bytes | None:
        raise StoreError("no connection")

    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    store.answer = answer
    with pytest.raises(CommitUnknownError, match="look for commit"):
        commit(transaction)
    expected = NEW if applied else OLD
    assert content(Metastore(inner, "/lake").table("default", "t")) == expected
    check_next_commit(inner, expected)


def test_outcome_found_after_the_store_came_back() -> None:
    """If the answer and the first look after it are lost, but the store comes back, the commit is found."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    failures = iter([True])

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        result = swap()
        if number != 1:
            return result
        store.after_get = fail_once
        raise StoreError("no answer")

    def fail_once() -> None:
        if next(failures, False):
            raise StoreError("no connection")

    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    store.answer = answer
    after = commit(transaction)
    assert next(failures, None) is None
    assert content(after) == NEW
    check_next_commit(inner, NEW)


class LostAfter(FaultyStore):
    """A store that cannot be reached any more once an operation has been committed."""

    def __init__(self, store: MemoryStore, table: bytes, operation: str) -> None:
        super().__init__(store)
        self._table, self._operation = table, operation

    def get(self, key: bytes) -> bytes | None:
        head = read_head(self.store, self._table)
        if head is not None and head.commit.operation == self._operation:
            raise StoreError("gone")
        return super().get(key)


def test_store_lost_after_a_commit() -> None:
    """A commit that took place is never reported as a store failure.

    After such a failure the caller could run it again.
    """
    inner = MemoryStore()
    _, table = new_table(inner)
    store = LostAfter(inner, table.id, "change")
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    with pytest.raises(CommitUnknownError, match="look for commit"):
        commit(transaction)
    assert content(table.refresh()) == NEW


def test_readers_see_one_version_at_every_step() -> None:
    """Before each write of a commit a reader sees the old version as a whole, or the new one."""
    inner = MemoryStore()
    other, _ = new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    big_change(transaction)
    seen = []

    def look(_: int) -> None:
        seen.append(content(other.table("default", "t")))

    store.before_write = look
    commit(transaction)
    changed = seen.index(NEW)
    assert seen == [OLD] * changed + [NEW] * (len(seen) - changed)
