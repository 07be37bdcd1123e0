"""Commits of several tables: all of their versions become visible at once, or none."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from parquetry.errors import CommitConflictError, CommitUnknownError, ParquetryError, StoreError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.cleanup.transactions import finish_transactions
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.together import TablePart, commit_together
from parquetry.metastore.storage.format import TOGETHER
from parquetry.metastore.storage.intents import TRANSACTION
from parquetry.metastore.storage.keyspace import FORMAT, TRANSACTIONS, prefix_range
from parquetry.store import MemoryStore, SQLiteStore, Store, Swap, SwapsTogether
from tests.support.effort import examples
from tests.support.interleavings.steps import SteppedStore, StoreCall
from tests.support.stores.metastores import Crash, FaultyStore, content, file, metadata

NAMES = [("default", "t"), ("default", "u")]
ERRORS = {"interrupt": KeyboardInterrupt, "memory": MemoryError, "store": StoreError}


class SwappingSteps(SteppedStore):
    """A stepped store that changes several rows in one step."""

    def swap_together(self, swaps: Sequence[Swap]) -> bool:
        self._step(StoreCall("swap_together", writes=tuple(key for key, _, _ in swaps)))
        store = self.store
        assert isinstance(store, SwapsTogether)
        return store.swap_together(swaps)


def two_tables(store: Store) -> Metastore:
    """Make two tables with a file each."""
    metastore = Metastore(store, "/lake")
    for _, name in NAMES:
        transaction = Transaction(metastore.create_table("default", name, metadata()), "append")
        transaction.append((1, "a"), [file("old")])
        commit(transaction)
    return metastore


def parts(metastore: Metastore, name: str = "x") -> list[TablePart]:
    """Return appends to both tables."""
    made = []
    for base in metastore.tables_at_once(NAMES):
        transaction = Transaction(base, "append")
        transaction.append((1, "a"), [file(name)])
        made.append(TablePart(transaction, {}))
    return made


def has(table: TableSnapshot, name: str) -> bool:
    """Return whether a table has a file."""
    return name in content(table)[1, "a"]


def shown(metastore: Metastore, name: str = "x") -> bool:
    """Return whether both tables have a file, and make sure that it is not one of them alone."""
    t, u = (has(table, name) for table in metastore.tables_at_once(NAMES))
    assert t == u
    return t


def records(store: Store) -> int:
    """Return how many records of transactions there are."""
    return sum(1 for _ in store.scan(*prefix_range(TRANSACTIONS)))


def test_the_histories_name_the_transaction() -> None:
    """Each table gets one version, of one time, whose summary has the transaction's id; no record stays."""
    store = MemoryStore()
    metastore = two_tables(store)
    versions = commit_together(parts(metastore), "00112233aabbccdd")
    assert [(version.label, version.version) for version in versions] == [("default.t", 2), ("default.u", 2)]
    assert {version.commit.summary[TRANSACTION] for version in versions} == {"00112233aabbccdd"}
    assert len({version.commit.committed_at for version in versions}) == 1
    assert shown(metastore)
    assert records(store) == 0


def test_the_first_one_raises_the_format() -> None:
    """Libraries that do not know of intents refuse the store; a commit of one table leaves its format."""
    store = MemoryStore()
    metastore = two_tables(store)
    commit_together(parts(metastore)[:1])
    before = store.get(FORMAT)
    commit_together(parts(metastore, "y"))
    assert before != store.get(FORMAT)
    assert bytes([TOGETHER]) in (store.get(FORMAT) or b"")
    assert Metastore(store, "/lake").tables("default") == ["t", "u"]


def test_a_conflict_in_one_table_leaves_both() -> None:
    """If others have changed one of the tables, none is changed, and the error names that table."""
    metastore = two_tables(MemoryStore())
    late = []
    for base in metastore.tables_at_once(NAMES):
        transaction = Transaction(base, "overwrite")
        transaction.replace((1, "a"), [file("x")])
        late.append(TablePart(transaction, {}))
    commit(parts(metastore, "theirs")[1].transaction)
    with pytest.raises(CommitConflictError, match=r"Table default\.u: partition d=1/s=a was changed"):
        commit_together(late)
    assert not shown(metastore)
    assert not any(part.transaction.may_be_visible for part in late)
    commit_together(parts(metastore, "y"))
    assert shown(metastore, "y")


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("moved", [0, 1])
def test_another_append_at_each_call_of_the_store(together: bool, moved: int) -> None:
    """If another appends to one of the tables at any time, no table lacks a file."""
    kind = SwappingSteps if together else SteppedStore
    for number in range(1000):
        store = MemoryStore()
        metastore = two_tables(store)
        left = [number]

        def step(_: StoreCall, metastore: Metastore = metastore, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                commit(parts(metastore, "theirs")[moved].transaction)

        mine = kind(store, lambda _: None)
        bases = parts(Metastore(cast(Store, mine), "/lake"))
        mine._step = step
        commit_together(bases)
        assert shown(metastore)
        assert has(metastore.tables_at_once(NAMES)[moved], "theirs") is (left[0] < 0)
        if left[0] >= 0:
            break
    assert number == (17 if together else 20)  # all calls of the first commit, which raises the format


@pytest.mark.parametrize("kind", [SteppedStore, SwappingSteps])
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_at_each_call_of_the_store(error: str, lasting: bool, kind: type[SteppedStore]) -> None:
    """One that took place never looks failed, one that looks failed never shows, and none shows by half."""
    outcomes = set()
    for number in itertools.count():
        store = MemoryStore()
        two_tables(store)
        calls = itertools.count()
        armed: list[bool] = []

        def step(
            _: StoreCall, number: int = number, calls: itertools.count[int] = calls, armed: list[bool] = armed
        ) -> None:
            call = next(calls) if armed else -1
            if call == number or (lasting and call > number):
                raise ERRORS[error]("as the test asked")

        changes = parts(Metastore(kind(store, step), "/lake"))
        armed.append(True)
        raised: BaseException | None = None
        try:
            commit_together(changes)
        except (ParquetryError, KeyboardInterrupt, MemoryError) as caught:
            raised = caught
        if next(calls) <= number:
            break
        metastore = Metastore(store, "/lake")
        took_place = shown(metastore)
        may_be_visible = any(part.transaction.may_be_visible for part in changes)
        if took_place:
            assert may_be_visible
            assert raised is None or isinstance(raised, (CommitUnknownError, KeyboardInterrupt))
        else:
            assert raised is not None
        if not may_be_visible:
            assert not isinstance(raised, CommitUnknownError)
        commit_together(parts(metastore, "y"))
        finish_transactions(metastore.store)
        assert shown(metastore, "y")
        assert shown(metastore) is took_place
        assert records(store) == 0
        outcomes.add(took_place)
    assert outcomes == {True, False}


def test_a_kill_at_each_row() -> None:
    """A process that dies leaves both versions or none; vacuum's clean-up removes record and intents."""
    outcomes = set()
    for number in itertools.count():
        store = MemoryStore()
        two_tables(store)
        faulty = FaultyStore(store)
        changes = parts(Metastore(faulty, "/lake"))
        faulty.crash_at = faulty.writes + number
        try:
            commit_together(changes)
        except Crash:
            metastore = Metastore(store, "/lake")
            before = shown(metastore)
            finish_transactions(metastore.store)
            assert shown(metastore) is before
            assert records(store) == 0
            commit(parts(metastore, "y")[0].transaction)
            outcomes.add(before)
        else:
            break
    assert outcomes == {True, False}


def test_readers_at_each_step() -> None:
    """A reader of both tables at once, at any step of the commit, sees it in both or in none."""
    seen = []
    store = MemoryStore()
    two_tables(store)
    reading = threading.local()

    def look(_: StoreCall) -> None:
        if not getattr(reading, "now", False):
            reading.now = True
            seen.append(shown(Metastore(store, "/lake")))
            reading.now = False

    commit_together(parts(Metastore(SteppedStore(store, look), "/lake")))
    assert seen == sorted(seen)
    assert set(seen) == {True, False}


def test_transfers_never_change_the_sum(tmp_path: Path) -> None:
    """Threads move rows between three tables in a file; each read of all three finds the same number."""
    url = tmp_path / "store.sqlite"
    names = [("default", name) for name in "abc"]
    with Metastore(SQLiteStore(str(url)), "/lake") as metastore:
        for _, name in names:
            transaction = Transaction(metastore.create_table("default", name, metadata()), "append")
            transaction.append((1, "a"), [file(f"{name}{number}") for number in range(20)])
            commit(transaction)
    count, sums, failures = examples(60, 10), [], []

    def transfer(seed: int) -> None:
        chance = random.Random(seed)
        with Metastore(SQLiteStore(str(url)), "/lake") as mine:
            for _ in range(count):
                source, target = chance.sample(names, 2)
                giver, taker = mine.tables_at_once([source, target])
                partition = giver.partition((1, "a"))
                assert partition is not None
                kept = list(partition.files)
                moved = kept.pop(chance.randrange(len(kept))) if kept else None
                if moved is None:
                    continue
                give, take = Transaction(giver, "overwrite"), Transaction(taker, "append")
                give.replace((1, "a"), kept)
                take.append((1, "a"), [moved])
                try:
                    commit_together([TablePart(give, {}), TablePart(take, {})])
                except CommitConflictError:
                    failures.append(seed)
                sums.append(sum(table.totals.files for table in mine.tables_at_once(names)))

    threads = [threading.Thread(target=transfer, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(sums) == {60}
    assert len(failures) < len(sums)
