"""Two writers commit with their steps and messages in any order.

Either both commits are visible, or one of them fails with a conflict.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest

from parquetry.errors import CommitAbortedError, CommitConflictError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.head import read_head
from parquetry.store import MemoryStore
from tests.support.effort import steps
from tests.support.stores.commits import (
    ACTIONS,
    NEW,
    OLD,
    basenames,
    big_change,
    check_next_commit,
    committed,
    conflicts,
    count_writes,
    interleave,
)
from tests.support.stores.metastores import (
    Content,
    Crash,
    FaultyStore,
    LateStore,
    OnceStore,
    content,
    file,
    leftovers,
    new_table,
)


@pytest.mark.parametrize("second", ACTIONS)
@pytest.mark.parametrize("first", ACTIONS)
def test_two_writers_interleaved_at_every_step(first: str, second: str) -> None:
    """At whichever write the other comes in between: appends both succeed, changes of one thing conflict."""
    for step in steps(first, second):
        inner = MemoryStore()
        outcome = interleave(inner, first, second, step)
        if "second" not in outcome:
            break
        after = Metastore(inner, "/lake").table("default", "t")
        order = [commit.operation for commit in after.history()][::-1][2:]
        expected = {
            "first": not (order[:1] == ["second"] and conflicts(first, second)),
            "second": not (order[:1] == ["first"] and conflicts(second, first)),
        }
        assert outcome == expected
        assert sorted(order) == sorted(name for name, committed in expected.items() if committed)
        serial, _ = new_table()
        for name in order:
            committed(serial.table("default", "t"), name, first if name == "first" else second)
        assert basenames(after) == basenames(serial.table("default", "t"))
        assert after.metadata == serial.table("default", "t").metadata
        check_next_commit(inner, content(after))


def test_conflicts_say_what_to_do() -> None:
    """A conflict names table, partition and versions, and the remedy."""
    _, base = new_table()
    assert committed(base, "early", "append")
    late = Transaction(base, "late")
    ACTIONS["overwrite"](late)
    with pytest.raises(CommitConflictError) as error:
        commit(late)
    assert error.value.message == (
        "Table default.t: partition d=1/s=a was changed by version 2 (early), while 'late' was being "
        "prepared on version 1; nothing was written: run it again."
    )


@pytest.mark.parametrize("fate", ["stays", "drop", "rename"])
@pytest.mark.parametrize("twice", [False, True])
def test_an_added_partition_must_not_have_come_and_gone_meanwhile(fate: str, twice: bool) -> None:
    """An adoption conflicts with files that others have adopted since, whether these files stayed or not.

    An older tombstone makes no difference.
    """
    _, base = new_table()
    if twice:  # there is a tombstone in the base
        transaction = Transaction(base, "drop")
        transaction.drop((1, "a"))
        base = commit(transaction)
    values = (1, "a") if twice else (7, "n")
    late = Transaction(base, "sync")
    late.add(values, None, [file("theirs")])
    early = Transaction(base, "sync")
    early.add(values, None, [file("theirs")])
    now = commit(early)
    if fate != "stays":
        transaction = Transaction(now, fate)
        transaction.drop(values) if fate == "drop" else transaction.rename(values, (8, "m"))
        now = commit(transaction)
    with pytest.raises(CommitConflictError, match="was changed by version"):
        commit(late)
    assert content(base.refresh()) == content(now)


def test_no_trace_of_attempts_that_lost() -> None:
    """A head does not grow with the tickets that live writers gave up."""
    inner = MemoryStore()
    _, base = new_table(inner)
    for n in range(20):
        transaction = Transaction(base, "append")
        transaction.append((1, "a"), [file(f"f{n}")])
        commit(transaction)
        loser = Transaction(base, "overwrite")
        ACTIONS["overwrite"](loser)
        with pytest.raises(CommitConflictError):
            commit(loser)
    head = read_head(inner, base.id)
    assert head is not None
    assert (head.aborted, head.pending) == ((), {})


def test_appends_that_start_over_leave_nothing() -> None:
    """An append that had to take a later ticket has removed all traces of the earlier one."""
    for step in range(count_writes(ACTIONS["append"])):
        inner = MemoryStore()
        outcome = interleave(inner, "append", "append", step)
        assert outcome == {"first": True, "second": True}
        table = Metastore(inner, "/lake").table("default", "t")
        assert leftovers(inner, table.id) == []
        head = read_head(inner, table.id)
        assert head is not None
        assert (head.aborted, head.pending) == ((), {})


def overtake(store: FaultyStore, mine: str, rivals: str) -> dict[str, bool]:
    """Let a rival with an earlier ticket publish just before the writer, whose rows are written by then."""
    rival = FaultyStore(store.store)
    allocated, go_on = threading.Event(), threading.Event()
    outcome: dict[str, bool] = {}

    def wait(swap: int, do: Callable[[], bool]) -> bool:
        answer = do()
        if swap == 0:
            allocated.set()
            assert go_on.wait(30)
        return answer

    rival.answer = wait
    base = Metastore(store.store, "/lake").table("default", "t").version
    table = Metastore(rival, "/lake").table("default", "t", version=base)
    thread = threading.Thread(target=lambda: outcome.update(second=committed(table, "second", rivals)))
    thread.start()
    assert allocated.wait(30)

    def let_rival_publish(swap: int, do: Callable[[], bool]) -> bool:
        if swap == 1:
            go_on.set()
            thread.join()
        return do()

    store.answer = let_rival_publish
    outcome["first"] = committed(Metastore(store, "/lake").table("default", "t", version=base), "first", mine)
    thread.join()
    return outcome


def all_versions(store: MemoryStore) -> list[Content]:
    metastore = Metastore(store, "/lake")
    newest = metastore.table("default", "t").version
    return [content(metastore.table("default", "t", version=version)) for version in range(newest + 1)]


def check_late_arrival(store: LateStore) -> None:
    """Check that writes that arrive late appear in no version, now or later."""
    assert isinstance(store.store, MemoryStore)
    before = all_versions(store.store)
    store.arrive()
    assert all_versions(store.store) == before
    for name in ("next", "after"):
        transaction = Transaction(Metastore(store.store, "/lake").table("default", "t"), name)
        transaction.append((9, name), [file(name)])
        before.append({**before[-1], (9, name): [file(name).path]})
        commit(transaction)
    assert all_versions(store.store) == before


@pytest.mark.parametrize("second", ACTIONS)
@pytest.mark.parametrize("first", ACTIONS)
def test_writes_that_arrive_late(first: str, second: str) -> None:
    """A store that tried a write twice may apply the first try later, and that changes no version.

    The writer may have built its rows again after a rival's earlier ticket, taken another ticket after a
    rival's later one, or given up.
    """
    inner = MemoryStore()
    new_table(inner)
    store = LateStore(inner)
    outcome = overtake(store, first, second)
    assert outcome == {"first": not conflicts(first, second), "second": True}
    check_late_arrival(store)
    for step in steps(first, second):
        inner = MemoryStore()
        store = LateStore(inner)
        if "second" not in interleave(inner, first, second, step, store):
            break
        check_late_arrival(store)


@pytest.mark.parametrize("second", ACTIONS)
@pytest.mark.parametrize("first", ACTIONS)
def test_no_row_is_given_a_second_value(first: str, second: str) -> None:
    """A row is written with one value only, for any rival, so writes may arrive in any order."""
    inner = MemoryStore()
    new_table(inner)
    outcome = overtake(OnceStore(inner), first, second)
    assert outcome == {"first": not conflicts(first, second), "second": True}
    assert len(all_versions(inner)) == 2 + sum(outcome.values())
    for step in steps(first, second):
        inner = MemoryStore()
        if "second" not in interleave(inner, first, second, step, OnceStore(inner)):
            break


@pytest.mark.parametrize("rival_at", range(1, 8))
def test_others_leave_the_journal_of_a_living_writer_alone(rival_at: int) -> None:
    """A crash is cleaned up although someone else had committed, and cleaned up, while the writer lived."""
    for stop in range(rival_at + 1, count_writes(big_change)):
        inner = MemoryStore()
        other, table = new_table(inner)
        store = FaultyStore(inner)
        transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
        big_change(transaction)

        def come_between(writes: int, base: TableSnapshot = table) -> None:
            if writes == rival_at:
                committed(base, "rival", "overwrite other" if rival_at % 2 else "append other")

        store.before_write = come_between
        store.crash_at = stop
        with contextlib.suppress(Crash, CommitConflictError):
            commit(transaction)
        check_next_commit(inner, content(other.table("default", "t")))


def count_stalls() -> range:
    return range(count_writes(big_change))


@pytest.mark.parametrize("stalled_at", count_stalls())
def test_a_stalled_writer_finds_itself_aborted(stalled_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wakes up after its lease has run out cannot commit; nothing of it is visible, then or later."""
    inner = MemoryStore()
    other, table = new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "stalled")
    big_change(transaction)
    seen: list[Content] = []

    def stall(writes: int) -> None:
        if writes == stalled_at and not seen:
            with monkeypatch.context() as context:
                context.setattr(owner, "LEASE_MS", -1)
                rival = Transaction(other.table("default", "t"), "rival")
                rival.append((9, "z"), [file("rival")])
                seen.append(content(commit(rival)))

    store.before_write = stall
    try:
        commit(transaction)
        committed = True
    except CommitAbortedError:
        committed = False
    expected = {**(NEW if committed else OLD), (9, "z"): ["rival"]}
    assert content(other.table("default", "t")) == expected
    if 1 <= stalled_at <= 8:
        assert not committed
    for name in ("next", "after"):
        transaction = Transaction(other.table("default", "t"), name)
        transaction.append((10, "y"), [file(name)])
        commit(transaction)
    assert leftovers(inner, table.id) == []
