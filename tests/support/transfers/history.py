"""One history: writers move files between tables, while readers count them, in a random order of all calls.

Files stand for money. A transfer takes some out of one table and puts them into another, in one transaction.
Some transfers replace a table by a new one of its name, as dbt does, or rename tables. Writers may crash.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from greenlet import GreenletExit, getcurrent, greenlet

from parquetry.errors import ParquetryError
from parquetry.metastore import Draft, FileRecord, Metastore, TableSnapshot, Transaction, load_beside
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage import head, intents, owner
from parquetry.store import MemoryStore
from tests.support.interleavings.steps import SteppedStore, StoreCall
from tests.support.stores.metastores import file, metadata

TABLES = ("a", "b", "c")
FILES = 4
"""Files of each table at first."""
SUM = FILES * len(TABLES)
VALUES = (1, "a")


class TransferHistory:
    """A history of transfers.

    Args:
        seed: of its random choices.

    Attributes:
        counts: the number of transfers and reads by their outcome.
        faults: sums that a reader has seen and that were wrong.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._store = MemoryStore()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def run(self) -> None:
        """Run it."""
        pause, patience = head.MAX_PAUSE_SECONDS, intents.PATIENCE
        head.MAX_PAUSE_SECONDS, intents.PATIENCE = 0.0, 3
        try:
            metastore = Metastore(self._store, "/lake")
            for name in TABLES:
                _make(metastore, name, [file(f"{name}{number}") for number in range(FILES)])
            self._interleave()
            owner._active.clear()
            if (names := metastore.tables("default")) != [*TABLES]:
                self.faults.append(f"the tables at the end are {names}")
            self._check("the end", [*_tables(metastore, TABLES)])
            self._check_histories(metastore)
        finally:
            head.MAX_PAUSE_SECONDS, intents.PATIENCE = pause, patience

    def _interleave(self) -> None:
        hub, thread = getcurrent(), threading.get_ident()
        killed: set[greenlet] = set()

        def step(_: StoreCall) -> None:
            if threading.get_ident() != thread:
                return  # a heartbeat, of a history that takes long
            hub.switch()
            if getcurrent() in killed:
                raise GreenletExit

        def actor(action: Callable[[Metastore], None]) -> greenlet:
            return greenlet(lambda: self._repeat(action, Metastore(SteppedStore(self._store, step), "/lake")))

        writers = [actor(self._transfer) for _ in range(2)]
        alive = [*writers, actor(self._read)]
        dies = self._chance.choice(writers) if self._chance.random() < 0.25 else None
        left = self._chance.randrange(20, 400)
        patience = self._chance.choice((0.0, 0.6, 0.9))
        current = alive[0]
        while alive:
            if current not in alive or self._chance.random() >= patience:
                current = self._chance.choice(alive)
            left -= current is dies
            if current is dies and left <= 0:
                killed.add(current)
                current.throw(GreenletExit)
                self.counts["crash"] += 1
            else:
                current.switch()
            alive = [each for each in alive if not each.dead and each not in killed]

    def _repeat(self, action: Callable[[Metastore], None], metastore: Metastore) -> None:
        for _ in range(3):
            try:
                action(metastore)
            except ParquetryError as error:
                self.counts[f"{action.__name__.strip('_')}: {error.code}"] += 1
            else:
                self.counts[action.__name__.strip("_")] += 1

    def _transfer(self, metastore: Metastore) -> None:
        giver, taker = self._chance.sample(TABLES, 2)
        draft = Draft(metastore)
        try:
            there = draft.metastore.table("default", giver)
            kept = _files(there)
            moved = kept.pop(self._chance.randrange(len(kept))) if kept else None
            if moved is None:
                draft.rollback()
                return
            if self._chance.random() < 0.3:  # a new table takes the place
                _make(draft.metastore, f"{giver}_new", kept)
                draft.metastore.rename_table("default", giver, "default", f"{giver}_old")
                draft.metastore.rename_table("default", f"{giver}_new", "default", giver)
                draft.metastore.drop_table("default", f"{giver}_old")
            else:
                give = Transaction(there, "overwrite")
                give.replace(VALUES, kept)
                commit(give)
            take = Transaction(draft.metastore.table("default", taker), "append")
            take.append(VALUES, [moved])
            commit(take)
        except BaseException:
            draft.rollback()
            raise
        draft.commit()

    def _read(self, metastore: Metastore) -> None:
        names = [("default", name) for name in TABLES]
        kind = self._chance.choice(("a query", "a transaction", "a view's tables"))
        if kind == "a query":
            tables: Sequence[TableSnapshot] = metastore.tables_at_once(names)
        elif kind == "a transaction":
            draft = Draft(metastore)
            tables = [draft.metastore.table(*name) for name in names]
            self._check(kind, tables)
            tables = [draft.metastore.table(*name) for name in names]
        else:
            first = metastore.table(*names[0])
            found = load_beside(metastore, [first], lambda some: [some.table(*name) for name in names[1:]])
            tables = [first, *(table for table, _ in found if table is not None)]
        self._check(kind, tables)

    def _check(self, kind: str, tables: Sequence[TableSnapshot]) -> None:
        files = [each.path for table in tables for each in _files(table)]
        if len(files) != SUM or len({*files}) != SUM:
            versions = [(table.label, table.version, table.operation) for table in tables]
            self.faults.append(f"{kind} sees {len(files)} files, {len({*files})} different, in {versions}")

    def _check_histories(self, metastore: Metastore) -> None:
        """Make sure that the versions of each transaction add up to nothing, as streams read them.

        A table that another one has replaced has no history any more, so its transactions are left out.
        """
        changes: defaultdict[str, list[int]] = defaultdict(list)
        for table in _tables(metastore, TABLES):
            for each in table.history():
                if each.version > 1 and (id := each.summary.get(intents.TRANSACTION)) is not None:
                    before = metastore.table(table.database, table.name, version=each.version - 1)
                    changes[id].append(each.totals.files - before.totals.files)
        for id, parts in changes.items():
            if len(parts) == 2 and sum(parts):
                self.faults.append(f"the versions of transaction {id} change the sum by {sum(parts)}")
            self.counts["versions of both tables"] += len(parts) == 2


def _make(metastore: Metastore, name: str, files: Sequence[FileRecord]) -> None:
    staged = metastore.stage_table("default", name, metadata())
    transaction = Transaction(staged.snapshot, "append")
    transaction.append(VALUES, files)
    commit(transaction)
    staged.make_visible()


def _files(table: TableSnapshot) -> list[FileRecord]:
    partition = table.partition(VALUES)
    return [] if partition is None else [*partition.files]


def _tables(metastore: Metastore, names: Sequence[str]) -> Iterator[TableSnapshot]:
    yield from metastore.tables_at_once([("default", name) for name in names])
