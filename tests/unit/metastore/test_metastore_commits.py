"""Commits: atomic whatever stops, whoever else writes, and whatever the store answers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.errors import (
    CommitAbortedError,
    CommitConflictError,
    CommitUnknownError,
    PartitionExistsError,
    PartitionNotFoundError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
    ValueTypeError,
)
from parquetry.metastore import Metastore, TableSnapshot, Transaction, entries, owner
from parquetry.metastore.head import read_head
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.store import MemoryStore, SQLiteStore
from tests.support.effort import examples, steps
from tests.support.metastores import (
    Content,
    Crash,
    FaultyStore,
    LateStore,
    OnceStore,
    content,
    file,
    leftovers,
    metadata,
    new_table,
    whole_day,
)

OLD: Content = {(1, "a"): ["a"], (2, "b"): ["b"]}


def big_change(transaction: Transaction) -> None:
    """Change partitions in every way there is."""
    transaction.append((1, "a"), [file("a2")])
    transaction.append((3, "new"), [file("c")])
    transaction.drop((2, "b"))
    transaction.add((4, None), location="/elsewhere/4")
    transaction.set_metadata(metadata(comment="changed"))


NEW: Content = {(1, "a"): ["a", "a2"], (3, "new"): ["c"], (4, None): []}


def check_next_commit(store: MemoryStore, before: Content) -> None:
    """A commit after an accident works, and clears away what is left of it."""
    metastore = Metastore(store, "/lake")
    transaction = metastore.table("default", "t").begin("next")
    transaction.append((9, "z"), [file("z")])
    assert content(transaction.commit()) == {**before, (9, "z"): ["z"]}
    assert leftovers(store, metastore.table("default", "t").id) == []


def count_writes(change: Callable[[Transaction], None]) -> int:
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    change(transaction)
    transaction.commit()
    return store.writes


def test_all_kinds_of_change() -> None:
    """One commit makes all its changes visible, in one version."""
    metastore, table = new_table()
    transaction = table.begin("change")
    big_change(transaction)
    after = transaction.commit({"by": "test"})
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
    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    store.crash_at = stop
    with pytest.raises(Crash):
        transaction.commit()
    table = Metastore(inner, "/lake").table("default", "t")
    found = content(table)
    assert found == (OLD if table.version == 1 else NEW)
    assert [commit.version for commit in table.history()] == list(range(table.version, -1, -1))
    check_next_commit(inner, found)


@pytest.mark.parametrize("stop", range(count_writes(big_change)))
def test_store_failure_at_every_write(stop: int) -> None:
    """If the store refuses a row, the commit takes place or says that it did not, and nothing is left."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    store.fail_at = stop
    try:
        after = transaction.commit()
    except StoreError:
        expected = OLD
    else:
        expected = NEW
        assert content(after) == NEW
    assert content(Metastore(inner, "/lake").table("default", "t")) == expected
    check_next_commit(inner, expected)


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

    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    store.answer = answer
    after = transaction.commit()
    assert content(after) == NEW
    assert after.version == 2
    check_next_commit(inner, NEW)


def test_lost_reply_and_then_others_commit() -> None:
    """Whose commit was applied without an answer finds it in the history, even if others committed since."""
    inner = MemoryStore()
    other, _ = new_table(inner)
    store = FaultyStore(inner)

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        result = swap()
        if number == 1:
            transaction = other.table("default", "t").begin("other")
            transaction.append((1, "a"), [file("other")])
            transaction.commit()
            raise StoreError("no answer")
        return result

    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    transaction.append((1, "a"), [file("mine")])
    store.answer = answer
    mine = transaction.commit()
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

    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    store.answer = answer
    with pytest.raises(CommitUnknownError, match="look for commit"):
        transaction.commit()
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

    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    store.answer = answer
    after = transaction.commit()
    assert next(failures, None) is None
    assert content(after) == NEW
    check_next_commit(inner, NEW)


def test_readers_see_one_version_at_every_step() -> None:
    """Before each write of a commit a reader sees the old version as a whole, or the new one."""
    inner = MemoryStore()
    other, _ = new_table(inner)
    store = FaultyStore(inner)
    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    seen = []

    def look(_: int) -> None:
        seen.append(content(other.table("default", "t")))

    store.before_write = look
    transaction.commit()
    changed = seen.index(NEW)
    assert seen == [OLD] * changed + [NEW] * (len(seen) - changed)


# -- two writers

Change = Callable[[Transaction], None]
ACTIONS: dict[str, Change] = {
    "append": lambda transaction: transaction.append((1, "a"), [file(transaction.operation)]),
    "append new": lambda transaction: transaction.append((7, "n"), [file(transaction.operation)]),
    "append other": lambda transaction: transaction.append((2, "b"), [file(transaction.operation)]),
    "overwrite": lambda transaction: transaction.replace((1, "a"), [file(transaction.operation)]),
    "overwrite other": lambda transaction: transaction.replace((2, "b"), [file(transaction.operation)]),
    "drop": lambda transaction: transaction.drop((1, "a")),
    "add": lambda transaction: transaction.add((7, "n"), files=[file(transaction.operation)]),
    "rename": lambda transaction: transaction.rename((1, "a"), (7, "n")),
    "replace day": lambda transaction: transaction.replace_where(whole_day(transaction.base, 1)),
    "replace all": lambda transaction: transaction.replace_where(None),
    "comment": lambda transaction: transaction.set_metadata(metadata(comment=transaction.operation)),
    "move table": lambda transaction: transaction.set_metadata(metadata(location="/lake/new")),
}


def touched(action: str) -> set[object]:
    """Return what an action looks at and changes."""
    return {
        "append": {(1, "a")},
        "append new": {(7, "n")},
        "append other": {(2, "b")},
        "overwrite": {(1, "a")},
        "overwrite other": {(2, "b")},
        "drop": {(1, "a")},
        "add": {(7, "n")},
        "rename": {(1, "a"), (7, "n")},
        "replace day": {(1, "a")},
        "replace all": {(1, "a"), (2, "b"), (7, "n")},
        "comment": {"metadata"},
        "move table": {"metadata", "layout", (1, "a"), (2, "b"), (7, "n")},
    }[action]


def basenames(table: TableSnapshot) -> Content:
    """Return the content without the places: those depend on where a writer thought the partition to be."""
    return {values: [path.rpartition("/")[2] for path in paths] for values, paths in content(table).items()}


def conflicts(late: str, early: str) -> bool:
    """Return whether an action fails if another was committed since its base."""
    if late.startswith("append"):
        return early == "move table"
    if early == "move table":
        return True
    changed = touched(early) - ({(7, "n")} if early == "replace all" else set())  # there was none to drop
    return bool(touched(late) & changed)


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
            commit(serial.table("default", "t"), name, first if name == "first" else second)
        assert basenames(after) == basenames(serial.table("default", "t"))
        assert after.metadata == serial.table("default", "t").metadata
        check_next_commit(inner, content(after))


def commit(base: TableSnapshot, name: str, action: str) -> bool:
    """Return whether the action could be committed."""
    transaction = base.begin(name)
    ACTIONS[action](transaction)
    try:
        transaction.commit()
    except CommitConflictError:
        return False
    return True


def interleave(
    inner: MemoryStore, first: str, second: str, step: int, store: FaultyStore | None = None
) -> dict[str, bool]:
    """Run the second action before the given write of the first; both are based on the same version."""
    other, base = new_table(inner)
    store = store or FaultyStore(inner)
    outcome: dict[str, bool] = {}

    def come_between(writes: int) -> None:
        if writes == step and not outcome:
            outcome["second"] = commit(base, "second", second)

    table = Metastore(store, "/lake").table("default", "t")
    assert other.table("default", "t").version == table.version
    store.before_write = come_between
    outcome["first"] = commit(table, "first", first)
    return outcome


def test_conflicts_say_what_to_do() -> None:
    """A conflict names table, partition and versions, and the remedy."""
    _, base = new_table()
    assert commit(base, "early", "append")
    late = base.begin("late")
    ACTIONS["overwrite"](late)
    with pytest.raises(CommitConflictError) as error:
        late.commit()
    assert error.value.message == (
        "Table default.t: partition d=1/s=a was changed by version 2 (early), while 'late' was being "
        "prepared on version 1; nothing was written: run it again."
    )


@pytest.mark.parametrize("fate", ["stays", "drop", "rename"])
@pytest.mark.parametrize("twice", [False, True])
def test_an_added_partition_must_not_have_come_and_gone_meanwhile(fate: str, twice: bool) -> None:
    """Who takes files in cannot list those that others took in since, whatever became of them, and whatever was before."""
    _, base = new_table()
    if twice:  # there is a tombstone in the base
        transaction = base.begin("drop")
        transaction.drop((1, "a"))
        base = transaction.commit()
    values = (1, "a") if twice else (7, "n")
    late = base.begin("sync")
    late.add(values, None, [file("theirs")])
    early = base.begin("sync")
    early.add(values, None, [file("theirs")])
    now = early.commit()
    if fate != "stays":
        transaction = now.begin(fate)
        transaction.drop(values) if fate == "drop" else transaction.rename(values, (8, "m"))
        now = transaction.commit()
    with pytest.raises(CommitConflictError, match="was changed by version"):
        late.commit()
    assert content(base.refresh()) == content(now)


def test_no_trace_of_attempts_that_lost() -> None:
    """A head does not grow with the tickets that live writers gave up."""
    inner = MemoryStore()
    _, base = new_table(inner)
    for n in range(20):
        transaction = base.begin("append")
        transaction.append((1, "a"), [file(f"f{n}")])
        transaction.commit()
        loser = base.begin("overwrite")
        ACTIONS["overwrite"](loser)
        with pytest.raises(CommitConflictError):
            loser.commit()
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


@pytest.mark.parametrize("rival_at", range(1, 8))
def overtake(store: FaultyStore, mine: str, rivals: str) -> dict[str, bool]:
    """Have a rival, who took an earlier ticket, publish right before a writer does, whose rows are there by then."""
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
    thread = threading.Thread(target=lambda: outcome.update(second=commit(table, "second", rivals)))
    thread.start()
    assert allocated.wait(30)

    def let_rival_publish(swap: int, do: Callable[[], bool]) -> bool:
        if swap == 1:
            go_on.set()
            thread.join()
        return do()

    store.answer = let_rival_publish
    outcome["first"] = commit(Metastore(store, "/lake").table("default", "t", version=base), "first", mine)
    thread.join()
    return outcome


def all_versions(store: MemoryStore) -> list[Content]:
    metastore = Metastore(store, "/lake")
    newest = metastore.table("default", "t").version
    return [content(metastore.table("default", "t", version=version)) for version in range(newest + 1)]


def check_late_arrival(store: LateStore) -> None:
    """What arrives late is in no version, now or later."""
    assert isinstance(store.store, MemoryStore)
    before = all_versions(store.store)
    store.arrive()
    assert all_versions(store.store) == before
    for name in ("next", "after"):
        transaction = Metastore(store.store, "/lake").table("default", "t").begin(name)
        transaction.append((9, name), [file(name)])
        before.append({**before[-1], (9, name): [file(name).path]})
        transaction.commit()
    assert all_versions(store.store) == before


@pytest.mark.parametrize("second", ACTIONS)
@pytest.mark.parametrize("first", ACTIONS)
def test_writes_that_arrive_late(first: str, second: str) -> None:
    """A store that tried twice may carry out the first try after all that followed: no version is changed by it.

    Neither where a rival with an earlier ticket made the rows be built again, nor where one with a later ticket
    made the writer take another, nor where the writer gave up.
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
    """Whoever comes in between, a row is put with one value, so it does not matter in which order puts arrive."""
    inner = MemoryStore()
    new_table(inner)
    outcome = overtake(OnceStore(inner), first, second)
    assert outcome == {"first": not conflicts(first, second), "second": True}
    assert len(all_versions(inner)) == 2 + sum(outcome.values())
    for step in steps(first, second):
        inner = MemoryStore()
        if "second" not in interleave(inner, first, second, step, OnceStore(inner)):
            break


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
    """A commit that took place is never told as a failure of the store, after which it could be run again."""
    inner = MemoryStore()
    _, table = new_table(inner)
    store = LostAfter(inner, table.id, "change")
    transaction = Metastore(store, "/lake").table("default", "t").begin("change")
    big_change(transaction)
    with pytest.raises(CommitUnknownError, match="look for commit"):
        transaction.commit()
    assert content(table.refresh()) == NEW


@pytest.mark.parametrize("rival_at", range(1, 8))
def test_others_leave_the_journal_of_a_living_writer_alone(rival_at: int) -> None:
    """A crash is cleaned up although someone else had committed, and cleaned up, while the writer lived."""
    for stop in range(rival_at + 1, count_writes(big_change)):
        inner = MemoryStore()
        other, table = new_table(inner)
        store = FaultyStore(inner)
        transaction = Metastore(store, "/lake").table("default", "t").begin("change")
        big_change(transaction)

        def come_between(writes: int, base: TableSnapshot = table) -> None:
            if writes == rival_at:
                commit(base, "rival", "overwrite other" if rival_at % 2 else "append other")

        store.before_write = come_between
        store.crash_at = stop
        with contextlib.suppress(Crash, CommitConflictError):
            transaction.commit()
        check_next_commit(inner, content(other.table("default", "t")))


def count_stalls() -> range:
    return range(count_writes(big_change))


@pytest.mark.parametrize("stalled_at", count_stalls())
def test_a_stalled_writer_finds_itself_aborted(stalled_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wakes up after its lease has run out cannot commit; nothing of it is visible, then or later."""
    inner = MemoryStore()
    other, table = new_table(inner)
    store = FaultyStore(inner)
    transaction = Metastore(store, "/lake").table("default", "t").begin("stalled")
    big_change(transaction)
    seen: list[Content] = []

    def stall(writes: int) -> None:
        if writes == stalled_at and not seen:
            with monkeypatch.context() as context:
                context.setattr(owner, "LEASE_MS", -1)
                rival = other.table("default", "t").begin("rival")
                rival.append((9, "z"), [file("rival")])
                seen.append(content(rival.commit()))

    store.before_write = stall
    try:
        transaction.commit()
        committed = True
    except CommitAbortedError:
        committed = False
    expected = {**(NEW if committed else OLD), (9, "z"): ["rival"]}
    assert content(other.table("default", "t")) == expected
    if 1 <= stalled_at <= 8:
        assert not committed
    for name in ("next", "after"):
        transaction = other.table("default", "t").begin(name)
        transaction.append((10, "y"), [file(name)])
        transaction.commit()
    assert leftovers(inner, table.id) == []


# -- threads and processes

DECODE = """
import sys, threading, types
import msgspec
from parquetry.metastore.wire import decoder
sys.setswitchinterval(1e-6)
data = msgspec.msgpack.encode([1, "x", None, [[2, "y", None, []]]])
for number in range(100):
    module = types.ModuleType("records")
    sys.modules["records"] = module
    source = ["from __future__ import annotations", "import msgspec"]
    for n in range(6):
        source.append(f"class S{n}(msgspec.Struct, frozen=True, array_like=True):")
        source.append(f" a: int; b: str; c: dict[str, str] | None; d: tuple[S{max(0, n - 1)}, ...]")
    exec("\\n".join(source), module.__dict__)
    together = threading.Barrier(4)
    def work():
        together.wait()
        assert decoder(module.S5).decode(data).d[0].a == 2
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_decode_a_type_for_the_first_time() -> None:
    """Threads that meet a type of record at the same time all read it, and the process lives."""
    source = str(Path(__file__).parents[3] / "src")
    for _ in range(examples(3, least=1)):
        run = subprocess.run(
            [sys.executable, "-c", DECODE],
            env={**os.environ, "PYTHONPATH": source},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr[-2000:]


def append_many(path: str, worker: int, commits: int) -> None:
    metastore = Metastore(SQLiteStore(path), "/lake")
    for n in range(commits):
        transaction = metastore.table("default", "t").begin("append")
        transaction.append((1, "a"), [file(f"{worker}-{n}")])
        transaction.append((worker, "own"), [file(f"{worker}-{n}")])
        transaction.commit()


def test_processes_append_to_one_partition(tmp_path: Path) -> None:
    """Blind appends of several processes to one partition all succeed, and none is lost or doubled."""
    path = str(tmp_path / "rows.sqlite")
    metastore, _ = new_table(SQLiteStore(path))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(path, worker, 12)) for worker in (11, 12, 13)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    table = metastore.table("default", "t")
    found = content(table)
    wanted = {f"{worker}-{n}" for worker in (11, 12, 13) for n in range(12)}
    assert sorted(found[1, "a"]) == sorted({"a", *wanted})
    assert found[12, "own"] == [f"12-{n}" for n in range(12)]
    assert table.version == 1 + 36
    assert leftovers(metastore.store, table.id) == []
    metastore.close()


def test_killed_processes(tmp_path: Path) -> None:
    """After kill -9 in the middle of commits each commit is there in full or not at all."""
    path = str(tmp_path / "rows.sqlite")
    metastore, _ = new_table(SQLiteStore(path))
    context = multiprocessing.get_context("fork")
    for worker in (11, 12, 13, 14):
        process = context.Process(target=append_many, args=(path, worker, 1000))
        process.start()
        while metastore.table("default", "t").partition((worker, "own")) is None:
            time.sleep(0.01)
        time.sleep(0.03)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        found = content(metastore.table("default", "t"))
        own = found.get((worker, "own"), [])
        assert [path for path in found[1, "a"] if path.startswith(f"{worker}-")] == own
        assert own == [f"{worker}-{n}" for n in range(len(own))]
        assert own
    transaction = metastore.table("default", "t").begin("next")
    transaction.append((9, "z"), [file("z")])
    assert leftovers(metastore.store, transaction.commit().id) == []
    metastore.close()


def test_threads_append_to_one_partition() -> None:
    """Threads that share a metastore append without losing anything."""
    metastore, _ = new_table()

    def work(worker: int) -> None:
        for n in range(10):
            transaction = metastore.table("default", "t").begin("append")
            transaction.append((1, "a"), [file(f"{worker}-{n}")])
            transaction.commit()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(content(metastore.table("default", "t"))[1, "a"]) == 41


# -- what the changes mean


def test_appends_add_up() -> None:
    """Several appends to one partition in one commit come after the files that are there, in order."""
    _, table = new_table()
    transaction = table.begin("append")
    transaction.append((1, "a"), [file("one")])
    transaction.append((1, "a"), [file("two"), file("three")])
    after = transaction.commit()
    assert content(after)[1, "a"] == ["a", "one", "two", "three"]
    part = after.partition((1, "a"))
    assert part is not None
    assert (part.rows, part.bytes, part.file_count) == (40, 400, 4)


def test_rows_are_unknown_as_long_as_one_file_does_not_know() -> None:
    """The number of rows is None while some file's is not known, and comes back when the file goes."""
    _, table = new_table()
    transaction = table.begin("append")
    transaction.append((1, "a"), [file("unknown", rows=None)])
    after = transaction.commit()
    assert after.totals.rows is None
    assert content(after)
    transaction = after.begin("overwrite")
    transaction.replace((1, "a"), [file("known", rows=5)])
    assert transaction.commit().totals.rows == 15


def test_locations() -> None:
    """Files lie where their writer put them: in the default place, the given one, or the partition's own."""
    _, table = new_table()
    transaction = table.begin("add")
    transaction.add((5, "e/f"), location="/elsewhere/5/")
    transaction.append((6, None), [file("six")])
    transaction.append((1, "a"), [file("far")], location="/far")
    transaction.append((2, "b"), [file("near")], location="/lake/t/d=2/s=b/")
    table = transaction.commit()
    places = {part.values: part.location for part in table.partitions()}
    assert places == {
        (1, "a"): "/lake/t/d=1/s=a",
        (2, "b"): "/lake/t/d=2/s=b",
        (5, "e/f"): "/elsewhere/5",
        (6, None): "/lake/t/d=6/s=__HIVE_DEFAULT_PARTITION__",
    }
    assert content(table)[1, "a"] == ["a", "/far/far"]
    assert content(table)[2, "b"] == ["b", "near"]
    transaction = table.begin("append")
    transaction.append((5, "e/f"), [file("g")])
    transaction.replace((2, "b"), [file("h")], location="/moved")
    table = transaction.commit()
    part = table.partition((5, "e/f"))
    assert part is not None
    assert (part.location, [each.path for each in part.files]) == ("/elsewhere/5", ["g"])
    moved = table.partition((2, "b"))
    assert moved is not None
    assert (moved.location, content(table)[2, "b"]) == ("/moved", ["h"])


def test_append_keeps_its_place_when_the_partition_moves() -> None:
    """Files written to the default place are found there, though the partition went elsewhere meanwhile."""
    _, table = new_table()
    late = table.begin("append")
    late.append((1, "a"), [file("late"), file("s3a://bucket/absolute")])
    late.append((8, "n"), [file("late")])
    early = table.begin("move")
    early.replace((1, "a"), [file("a")], location="/moved")
    early.add((8, "n"), location="/other", files=[file("n")])
    early.commit()
    found = content(late.commit())
    assert found[1, "a"] == ["a", "/lake/t/d=1/s=a/late", "s3a://bucket/absolute"]
    assert found[8, "n"] == ["n", "/lake/t/d=8/s=n/late"]


def test_rename_keeps_files_in_place() -> None:
    """A partition with other values has the same files, where they are."""
    _, table = new_table()
    transaction = table.begin("rename")
    transaction.rename((1, "a"), (3, "x"))
    table = transaction.commit()
    assert content(table) == {(2, "b"): ["b"], (3, "x"): ["a"]}
    part = table.partition((3, "x"))
    assert part is not None
    assert part.location == "/lake/t/d=1/s=a"
    transaction = table.begin("back")
    transaction.rename((3, "x"), (1, "a"))
    back = transaction.commit().partition((1, "a"))
    assert back is not None
    assert (back.location, back.entry.location) == ("/lake/t/d=1/s=a", None)


def test_replace_where() -> None:
    """A scope is emptied but for what the same commit writes into it, and parts outside are left alone."""
    _, table = new_table()
    transaction = table.begin("overwrite")
    transaction.append((1, "c"), [file("c")])
    table = transaction.commit()
    transaction = table.begin("overwrite")
    transaction.replace_where(whole_day(table, 1))
    transaction.append((1, "a"), [file("fresh")])
    transaction.append((1, "new"), [file("new")])
    table = transaction.commit()
    assert content(table) == {(1, "a"): ["fresh"], (1, "new"): ["new"], (2, "b"): ["b"]}
    transaction = table.begin("truncate")
    transaction.replace_where(None)
    assert content(transaction.commit()) == {}


@pytest.mark.parametrize("what", ["append", "append beside", "drop"])
def test_scopes_conflict_with_what_happens_in_them(what: str) -> None:
    """A partition that others add, change or drop in a scope is a conflict that names it."""
    _, table = new_table()
    scoped = table.begin("overwrite")
    scoped.replace_where(whole_day(table, 1))
    early = table.begin("early")
    if what == "append":
        early.append((1, "a"), [file("x")])
    elif what == "append beside":
        early.append((1, "beside"), [file("x")])
    else:
        early.drop((1, "a"))
    after = early.commit()
    name = "d=1/s=beside" if what == "append beside" else "d=1/s=a"
    with pytest.raises(CommitConflictError, match=name) as error:
        scoped.commit()
    assert "version 2" in error.value.message
    assert "version 1" in error.value.message
    assert content(after.refresh()) == content(after)


def test_several_changes_of_one_partition() -> None:
    """Within a commit a partition may be dropped and made again, or made and dropped."""
    _, table = new_table()
    transaction = table.begin("change")
    transaction.drop((1, "a"))
    transaction.append((1, "a"), [file("again")])
    transaction.drop((2, "b"))
    transaction.add((2, "b"), files=[file("b2")])
    transaction.add((3, "c"))
    transaction.drop((3, "c"))
    transaction.replace((4, "d"), [file("d")])
    transaction.append((4, "d"), [file("d2")])
    assert content(transaction.commit()) == {(1, "a"): ["again"], (2, "b"): ["b2"], (4, "d"): ["d", "d2"]}


def test_wrong_input_writes_nothing() -> None:
    """What cannot be done is refused by name before anything is written."""
    store = FaultyStore(MemoryStore())
    _, table = new_table(store)
    before = store.writes

    def refused(error: type[Exception], match: str, change: Change) -> None:
        transaction = table.begin("wrong")
        transaction.append((1, "a"), [file("x")])
        with pytest.raises(error, match=match):
            (change(transaction), transaction.commit())

    refused(PartitionNotFoundError, "d=7/s=n", lambda transaction: transaction.drop((7, "n")))
    refused(PartitionNotFoundError, "d=7/s=n", lambda transaction: transaction.rename((7, "n"), (8, "n")))
    refused(PartitionExistsError, "d=2/s=b", lambda transaction: transaction.add((2, "b")))
    refused(PartitionExistsError, "d=1/s=a", lambda transaction: transaction.add((1, "a")))
    refused(UnsupportedError, "make two", lambda transaction: transaction.rename((1, "a"), (3, "c")))
    refused(ValueTypeError, "2 partition columns", lambda transaction: transaction.drop((1,)))
    refused(ValueTypeError, "x", lambda transaction: transaction.drop(("x", "a")))
    refused(
        UnsupportedError,
        "partition columns",
        lambda transaction: transaction.set_metadata(metadata(partition_by=("s",))),
    )
    assert store.writes == before
    done = table.begin("append")
    done.append((1, "a"), [])
    done.commit()
    with pytest.raises(UnsupportedError, match="begin another"):
        done.commit()


def test_nothing_to_do_makes_no_version() -> None:
    """A transaction without changes returns its base."""
    _, table = new_table()
    assert table.begin("nothing").commit().version == table.version
    same = table.begin("same")
    same.set_metadata(metadata())
    assert same.commit().version == table.version


def test_long_lists_of_files_are_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond a row's size go to chunks, which later versions share; their order and number stay."""
    monkeypatch.setattr(entries, "INLINE_BYTES", 300)
    monkeypatch.setattr(entries, "CHUNK_BYTES", 200)
    metastore, table = new_table()
    wanted = ["a"]
    for n in range(40):
        transaction = table.begin("append")
        names = [f"file-{n}-{m}" for m in range(n % 7)]
        wanted += names
        transaction.append((1, "a"), [file(name) for name in names])
        table = transaction.commit()
        part = table.partition((1, "a"))
        assert part is not None
        assert [each.path for each in part.files] == wanted
    assert part.file_count == len(wanted)
    assert len(part.entry.chunks) > 3
    transaction = table.begin("rename")
    transaction.rename((1, "a"), (5, "moved"))
    table = transaction.commit()
    assert content(table)[5, "moved"] == wanted
    old = metastore.table("default", "t", version=30)
    assert content(old)[1, "a"] == wanted[: len(content(old)[1, "a"])]


@pytest.mark.parametrize("stop", range(30))
def test_crash_while_chunks_are_written(stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a commit that died are cleared away with its partitions."""
    monkeypatch.setattr(entries, "INLINE_BYTES", 100)
    monkeypatch.setattr(entries, "CHUNK_BYTES", 100)
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Metastore(store, "/lake").table("default", "t").begin("append")
    names = [f"file-{n}" for n in range(40)]
    transaction.append((1, "a"), [file(name) for name in names])
    store.crash_at = stop
    with contextlib.suppress(Crash):
        transaction.commit()
    table = Metastore(inner, "/lake").table("default", "t")
    found = content(table)
    assert found == (OLD if table.version == 1 else {**OLD, (1, "a"): ["a", *names]})
    check_next_commit(inner, found)


def test_unpartitioned_tables() -> None:
    """A table without partition columns has one partition, which lies where the table does."""
    metastore = Metastore(MemoryStore(), "/lake")
    table = metastore.create_table("default", "u", metadata(partition_by=()))
    assert content(table) == {}
    for n in range(3):
        transaction = table.begin("append")
        transaction.append((), [file(f"f{n}")])
        table = transaction.commit()
    assert content(table) == {(): ["f0", "f1", "f2"]}
    part = table.partition(())
    assert part is not None
    assert part.location == "/lake/t"
    transaction = table.begin("overwrite")
    transaction.replace_where(None)
    transaction.append((), [file("new")])
    assert content(transaction.commit()) == {(): ["new"]}


def test_dropped_tables_refuse_commits() -> None:
    """Who commits to a table that was dropped meanwhile is told so."""
    metastore, table = new_table()
    transaction = table.begin("append")
    transaction.append((1, "a"), [file("x")])
    metastore.drop_table("default", "t")
    with pytest.raises(TableNotFoundError, match="dropped"):
        transaction.commit()
    with pytest.raises(TableNotFoundError, match="dropped"):
        list(table.partitions())
    with pytest.raises(TableNotFoundError, match="dropped"):
        table.partition((1, "a"))


@pytest.mark.parametrize(
    "text",
    [
        "d = 3",
        "d > 5 AND s LIKE '%b'",
        "s = 'a'",
        "d IN (1, 4, 7) AND s IN ('a', 'c')",
        "d = 1 OR s = 'b'",
        "d = 99",
    ],
)
def test_plans_select_partitions(text: str) -> None:
    """A plan finds the partitions that fulfil its filter, residuals included, in the order of the keys."""
    _, table = new_table()
    transaction = table.begin("fill")
    transaction.replace_where(None)
    rows = [(d, s) for d in range(10) for s in ("a", "ab", "b", "c")]
    for values in rows:
        transaction.append(values, [file("f")])
    table = transaction.commit()
    condition = parse_filter(text, table.key_schema.types)
    found = [part.values for part in table.partitions(plan_scan(condition, table.key_schema))]
    assert found == [
        values for values in rows if evaluate(condition.node, dict(zip("ds", values, strict=True)))
    ]
