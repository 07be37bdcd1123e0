"""Commits on HBase: atomic at every point at which they can be interrupted, and done exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from parquetry.errors import CommitConflictError, CommitUnknownError, StoreError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import Store
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Fate, Proxy
from tests.support.stores.commits import NEW, OLD, begin, check_next_commit, clear, table_of
from tests.support.stores.metastores import FaultyStore, content, file, metadata, new_table


@pytest.mark.parametrize("fate", ["reply lost", "request lost"])
def test_any_message_lost(store: HBaseStore, proxy: Proxy, table: str, fate: Fate) -> None:
    """Whichever message of a commit is lost, before it was applied or after, the commit takes place once."""
    lost = 0
    while True:
        new_table(store)
        client = HBaseStore("127.0.0.1", proxy.port, table)
        transaction = begin(client)
        proxy.requests.clear()
        proxy.fate = lambda _, lost=lost: fate if len(proxy.requests) == lost + 1 else "delivered"
        after = commit(transaction)
        complete = len(proxy.requests) <= lost
        client.close()
        assert content(after) == NEW
        assert [commit.operation for commit in table_of(store).history()].count("change") == 1
        check_next_commit(store, NEW)
        clear(store)
        if complete:
            break
        lost += 1
    assert lost > 5


def test_message_lost_for_good(store: HBaseStore, proxy: Proxy, table: str) -> None:
    """Where HBase cannot be reached any more, a commit fails, and what there is afterwards is old or new."""
    for lost in range(0, 12, 3):
        new_table(store)
        client = HBaseStore("127.0.0.1", proxy.port, table, patience=0.1)
        transaction = begin(client)
        proxy.requests.clear()
        proxy.fate = lambda _, lost=lost: "request lost" if len(proxy.requests) > lost else "delivered"
        try:
            commit(transaction)
        except (StoreError, CommitUnknownError):
            pass
        else:  # what is lost after the compare-and-set that counts is only cleaning up
            assert "checkAndMutate" not in proxy.requests[lost:]
        client.close()
        proxy.fate = lambda _: "delivered"
        found = content(table_of(store))
        assert found == (OLD if table_of(store).version == 1 else NEW)
        check_next_commit(store, found)
        clear(store)


def publish_between(
    store: Store, table: TableSnapshot, name: str, kind: str
) -> tuple[threading.Event, threading.Thread]:
    """Have a rival take a ticket and wait; once the event is set, it commits."""
    rival = FaultyStore(store)
    go_on, allocated = threading.Event(), threading.Event()

    def wait(swap: int, do: Callable[[], bool]) -> bool:
        answer = do()
        if swap == 0:
            allocated.set()
            assert go_on.wait(60)
        return answer

    rival.answer = wait
    transaction = Transaction(table_of(rival), name)
    assert transaction.base.version == table.version
    getattr(transaction, kind)((1, "a"), [file(name)])
    thread = threading.Thread(target=commit, args=[transaction])
    thread.start()
    assert allocated.wait(60)
    return go_on, thread


@pytest.mark.parametrize("kind", ["append", "replace"])
@pytest.mark.parametrize("rivals", ["append", "replace"])
def test_puts_that_arrive_late(store: HBaseStore, proxy: Proxy, table: str, kind: str, rivals: str) -> None:
    """A put whose connection broke was made again; if HBase carries out the first late, nothing changes."""
    _, base = new_table(store)
    client = HBaseStore("127.0.0.1", proxy.port, table)
    transaction = Transaction(table_of(client), "mine")
    getattr(transaction, kind)((1, "a"), [file("mine")])
    go_on, rival = publish_between(store, base, "rival", rivals)
    late: list[str] = []

    def fate(name: str) -> Fate:
        if name == "checkAndMutate" and late and not go_on.is_set():  # about to publish
            go_on.set()
            rival.join()
        # The first put writes the journal, the second one the rows.
        if name == "putMultiple" and proxy.requests.count(name) == 2 and not late:
            late.append(name)
            return "late"
        return "delivered"

    proxy.requests.clear()
    proxy.fate = fate
    if kind == "append":
        commit(transaction)
    else:
        with pytest.raises(CommitConflictError):
            commit(transaction)
    client.close()
    metastore = Metastore(store, "/lake")
    versions = range(table_of(store).version + 1)
    before = [content(metastore.table("default", "t", version=version)) for version in versions]
    expected = {"append": ["a", "rival"], "replace": ["rival"]}[rivals] + ["mine"] * (kind == "append")
    assert before[-1][1, "a"] == expected
    assert proxy.deliver() == 1
    assert [content(metastore.table("default", "t", version=version)) for version in versions] == before
    transaction = Transaction(table_of(store), "next")
    transaction.append((9, "z"), [file("z")])
    assert content(commit(transaction)) == {**before[-1], (9, "z"): ["z"]}


@pytest.mark.parametrize("rivals", ["append", "replace"])
def test_a_clock_that_is_set_back(hbase: HBaseServer, store: HBaseStore, rivals: str) -> None:
    """A region server stamps a commit's rows with earlier times than the rows before: the last ones count."""
    _, base = new_table(store)
    mine = FaultyStore(store)
    transaction = Transaction(table_of(mine), "mine")
    transaction.append((1, "a"), [file("mine")])
    go_on, rival = publish_between(store, base, "rival", rivals)

    def let_rival_publish(swap: int, do: Callable[[], bool]) -> bool:
        if swap == 1:
            go_on.set()
            rival.join()
            hbase.ask("clock -60000")
        return do()

    mine.answer = let_rival_publish
    try:
        after = commit(transaction)
    finally:
        hbase.ask("clock 0")
    expected = {"append": ["a", "rival", "mine"], "replace": ["rival", "mine"]}[rivals]
    assert content(after)[1, "a"] == expected


def test_a_new_tables_head_that_arrives_late(store: HBaseStore, proxy: Proxy, table: str) -> None:
    """The first row of a new table is written twice after a broken connection, and later rows stay valid."""
    Metastore(store, "/lake")
    client = HBaseStore("127.0.0.1", proxy.port, table)
    metastore = Metastore(client, "/lake")
    proxy.requests.clear()
    writes = ("putMultiple", "checkAndMutate")
    proxy.fate = lambda name: (
        "late" if name in writes and sum(map(proxy.requests.count, writes)) == 1 else "delivered"
    )
    try:
        made = metastore.create_table("default", "t", metadata())
    except StoreError:
        made = metastore.create_table("default", "t", metadata())
    transaction = Transaction(made, "fill")
    transaction.append((1, "a"), [file("a")])
    commit(transaction)
    assert proxy.deliver() == 1
    assert content(table_of(store)) == {(1, "a"): ["a"]}
    assert metastore.tables("default") == ["t"]
    client.close()
