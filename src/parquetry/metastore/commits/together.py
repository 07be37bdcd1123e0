"""Commit transactions of several tables at once: all of their versions become visible, or none.

Each table's commit takes a ticket and writes its rows as any commit does (`committer`). Its head gets an
intent instead of the new version, and the record of the transaction makes all intents count
(`storage.intents`). A table costs one compare-and-set more than its commit alone, which removes the intent.

A commit may meet others at any step. Commits of other processes before the intent of a table are merged or
conflict, as with one table. Later ones wait for this transaction, and abort it if they wait too long. Then it
is tried again, with new tickets.

A transaction may also change the names of tables (`NameChanges`). Their heads get intents, too, and the rows
of the names.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, Protocol, cast

from parquetry.counters import CONFLICTS, COUNTERS
from parquetry.errors import (
    CommitAbortedError,
    CommitConflictError,
    CommitUnknownError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
)
from parquetry.metastore.cleanup import retention
from parquetry.metastore.commits.attempt import write_all
from parquetry.metastore.commits.committer import Committer, after_commit, task_of
from parquetry.metastore.commits.conflicts import check_read
from parquetry.metastore.commits.read_bases import read_bases
from parquetry.metastore.commits.swap_head import (
    CommitMoment,
    MovedError,
    prepare_intent,
    put_intent,
    put_name_intent,
)
from parquetry.metastore.commits.ticket import find_commit, tickets_of, with_ticket
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import TOGETHER, require_format
from parquetry.metastore.storage.head import Head, decode_head, live_head, pause, read_head
from parquetry.metastore.storage.intents import (
    TRANSACTION,
    TRANSACTION_TABLES,
    HeadName,
    Intent,
    SwappingStore,
    begin,
    decide,
    fate_of,
    read_intent,
    remove_record,
    take_effect,
    take_effect_together,
)
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.transactions.changes import ReadScope
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.store import Store, Swap

_LOG = logging.getLogger("parquetry")

MAX_TRIES = 5
"""How often a transaction is tried if others abort it."""


class TablePart(NamedTuple):
    """The changes of one table in a commit of several tables.

    Attributes:
        transaction: the changes.
        summary: texts by key, for the table's history.
    """

    transaction: Transaction
    summary: Mapping[str, str]


class NameChanges(Protocol):
    """The names that a transaction gives to tables, takes away, and moves.

    Attributes:
        store: store of the metastore.
        labels: the names before it and after it, for messages.
        names: the names after it, by the ids of the tables. A table may have changes of its content, too.
        keys: keys of the rows of names that get a table, in order.
    """

    store: Store
    labels: Sequence[str]
    names: Mapping[bytes, HeadName]
    keys: Sequence[bytes]

    def require(self, table: bytes, head: Head | None) -> None:
        """Make sure that a table still has the name that the transaction takes from it.

        Raises:
            CommitConflictError: others have renamed it.
            TableNotFoundError: others have dropped it.
        """
        ...

    def put_rows(self, transaction: bytes) -> None:
        """Put intents in the place of the names' rows, after the intents of all heads.

        Raises:
            CommitConflictError: another table has got one of the names.
            NamespaceNotFoundError: a database was dropped.
        """
        ...

    def are_in_force(self) -> bool | None:
        """Return whether the names are changed, or None if others have changed them since."""
        ...


def commit_together(
    parts: Sequence[TablePart],
    id: str | None = None,
    reads: Sequence[ReadScope] = (),
    naming: NameChanges | None = None,
) -> list[TableSnapshot]:
    """Make the changes of several tables visible at once.

    Args:
        parts: the changes; each of another table of one metastore.
        id: names the transaction in the tables' history: 16 hexadecimal digits. None: a new one.
        reads: partitions of other tables on which the changes depend.
        naming: the changes of names, or None.

    Returns:
        The new versions, in the order of the parts. A part without changes has its base.

    Raises:
        what `commit` raises for one of the tables; then none was changed.
        CommitUnknownError: the store does not answer whether the commit took place.
        UnsupportedError: two parts are of one table.
    """
    if len({part.transaction.base.id for part in parts}) < len(parts):
        raise UnsupportedError("A transaction commits the changes of a table once; put them together.")
    versions = {part.transaction.base.id: part.transaction.base for part in parts}
    known = read_bases([part.transaction for part in parts])
    tasks = [
        task
        for part in parts
        if (task := task_of(part.transaction, part.summary, known.get(part.transaction.base.id)))
    ]
    if id or len(parts) > 1:
        note = {TRANSACTION: id or os.urandom(8).hex(), TRANSACTION_TABLES: str(len(tasks))}
        tasks = [replace(task, summary={**task.summary, **note}) for task in tasks]
    tasks.sort(key=lambda task: task.table)
    try:
        for version in _commit_tasks(tasks, reads, naming):
            versions[version.id] = version
    except CommitConflictError:
        COUNTERS.add(CONFLICTS)
        raise
    for task in tasks:
        after_commit(task, versions[task.table])
    return [versions[part.transaction.base.id] for part in parts]


def _commit_tasks(
    tasks: Sequence[CommitTask], reads: Sequence[ReadScope], naming: NameChanges | None
) -> list[TableSnapshot]:
    if not tasks and naming is None:
        return []
    if len(tasks) == 1 and not reads and naming is None:
        with active_owner() as owner:
            return [Committer(tasks[0], owner).run()]
    for attempt in range(MAX_TRIES):
        # A ticket is found by its owner, and a try must not take one that an earlier try could not give up.
        with active_owner() as owner:
            together = _Together(tasks, owner, reads, naming)
            with contextlib.suppress(CommitAbortedError):
                return together.run()
        pause(attempt)
    raise CommitConflictError(
        f"Others wanted to change {together.label} so often that a transaction of these tables could not be "
        f"committed; nothing was written: run it again."
    )


class _Together:
    """One try of the protocol above.

    Each step of all tables is one request, if the store can change several rows together and no one else has
    changed the tables meanwhile. Otherwise the step is done table by table, from where it is.

    Args:
        tasks: the commits, in the order of their tables' ids.
        owner: this process, as their author.
        reads: partitions of other tables that must still be as they were.
        naming: the changes of names, or None.

    Attributes:
        label: the tables' names, for messages.
    """

    def __init__(
        self,
        tasks: Sequence[CommitTask],
        owner: Owner,
        reads: Sequence[ReadScope],
        naming: NameChanges | None,
    ) -> None:
        self._tasks = tasks
        self._reads = reads
        self._naming = naming
        self._store = cast(SwappingStore, tasks[0].store if naming is None else naming.store)
        self.label = " and ".join(
            dict.fromkeys([*(task.base.label for task in tasks), *(naming.labels if naming else ())])
        )
        self._new_names = naming.names if naming else {}
        self._tables = tuple(sorted({*self._new_names, *(task.table for task in tasks)}))
        self._name_rows = tuple(naming.keys) if naming else ()
        self._ready = False
        self._owner = owner
        self._id = os.urandom(8)
        self._record: bytes | None = None
        self._committers: list[Committer] = []
        self._heads: list[Head] = []
        self._intents: dict[bytes, Intent] = {}

    def run(self) -> list[TableSnapshot]:
        """Commit, and return the versions."""
        try:
            self._prepare()
            if not self._decide("committed"):
                raise self._abort_error()
        except BaseException as error:
            if not self._is_committed_after(error) or not isinstance(error, Exception):
                raise
        self._end(self._intents)
        return [
            each.result(head, swept=True) for each, head in zip(self._committers, self._heads, strict=True)
        ]

    def _prepare(self) -> None:
        """Write all rows, and put an intent into the place of each head, and of each name."""
        self._take_tickets()
        for each in self._committers:
            each.check_files()
        self._record = begin(self._store, self._id, self._owner, self._tables, self._name_rows)
        are_on_bases = bool(self._committers) and all(each.is_on_base for each in self._committers)
        if are_on_bases:
            gathered = [each.gather() for each in self._committers]
            write_all([each.attempt for each in self._committers], gathered)
        self._put_intents(are_written=are_on_bases)
        if self._naming:
            self._naming.put_rows(self._id)
        for read in self._reads:
            self._check_read(read)
        self._ready = True

    def _take_tickets(self) -> None:
        """Take a ticket of each table."""
        values = self._store.get_many([head_key(task.table) for task in self._tasks])
        heads = [None if value is None else decode_head(value) for value in values]
        require_format(self._store, max([TOGETHER, *(task.format for task in self._tasks)]))
        swaps, changed = [], []
        for task, value, head in zip(self._tasks, values, heads, strict=True):
            if value is None or head is None:
                break  # and the error comes below
            changed.append(with_ticket(task, self._owner, head))
            swaps.append((head_key(task.table), value, encode(changed[-1])))
        if swaps and len(swaps) == len(self._tasks) and self._swap(swaps):
            taken: list[Head | None] = [*changed]
        else:
            taken = [read_head(self._store, task.table) for task in self._tasks]
        tickets = [[] if head is None else tickets_of(head, self._owner) for head in taken]
        known = {
            task.table: (head, own[0])
            for task, head, own in zip(self._tasks, taken, tickets, strict=True)
            if head is not None and own
        }
        self._committers = [
            Committer(task, self._owner, known[task.table]) for task in self._tasks if task.table in known
        ]
        for task in self._tasks:
            if task.table not in known:
                self._committers.append(Committer(task, self._owner))
        self._committers.sort(key=lambda each: each.task.table)

    def _put_intents(self, *, are_written: bool) -> None:
        """Put an intent into the place of each head.

        Args:
            are_written: whether the rows of all tables were written, on their bases.
        """
        values = self._store.get_many([head_key(task.table) for task in self._tasks])
        heads = [_live(task, value) for task, value in zip(self._tasks, values, strict=True)]
        time = max([store_now_ms(self._store), *(head.commit.committed_at for head in heads)])
        together = are_written and len(self._tasks) == len(self._tables)
        if together and self._put_together([value or b"" for value in values], time):
            return
        committers = {each.task.table: each for each in self._committers}
        for table in self._tables:
            if (committer := committers.get(table)) is not None:
                put = partial(put_intent, moment=self._moment(table, time), in_doubt=together)
                self._heads.append(committer.work(put))
            elif self._naming:
                name = self._new_names[table]
                put_name_intent(self._store, table, self._id, name, partial(self._naming.require, table))

    def _moment(self, table: bytes, time: int) -> CommitMoment:
        return CommitMoment(self._id, time, self._new_names.get(table))

    def _put_together(self, values: Sequence[bytes], time: int) -> bool:
        """Put all intents at once, and return whether this succeeded."""
        intents: dict[bytes, Intent] = {}
        for each, value in zip(self._committers, values, strict=True):
            try:
                intents[each.task.table] = prepare_intent(
                    each.task, each.attempt, value, self._moment(each.task.table, time)
                )
            except MovedError:
                return False
        swaps = [
            (head_key(table), value, encode(intent))
            for (table, intent), value in zip(intents.items(), values, strict=True)
        ]
        if not self._swap(swaps):
            return False
        self._intents = intents
        self._heads = [intent.committed_head() for intent in intents.values()]
        return True

    def _check_read(self, read: ReadScope) -> None:
        """Compare partitions of another table with its newest version, after all intents were put.

        Of two transactions that each read what the other changes, the one whose intents come last sees the
        other's intent, or its version.

        Raises:
            CommitConflictError: they have changed.
            CommitAbortedError: a transaction that may change them is being committed.
            TableNotFoundError: the table was dropped.
        """
        version = read.version
        intent = read_intent(self._store, head_key(version.id))
        if intent is not None and fate_of(self._store, intent.transaction) == "pending":
            raise self._abort_error()
        head = live_head(self._store, version.id, f"Table {version.label} was dropped meanwhile.")
        if head.commit.id != version.commit.id:
            if head.oldest > version.version:
                raise CommitConflictError(
                    f"Table {version.label}: version {version.version}, which was read for a transaction, was vacuumed away "
                    "meanwhile; nothing was written: run it again."
                )
            now = load(self._store, version.id, head)
            check_read(read, now, "a transaction", version.version)

    def _swap(self, swaps: Sequence[Swap]) -> bool:
        """Change rows together, and return whether all surely were changed."""
        try:
            return self._store.swap_together(swaps)
        except StoreError:
            return False  # some may have been changed: the caller looks

    def _is_committed_after(self, error: BaseException) -> bool:
        """Return whether the transaction took place before an error came; else make sure that it never does.

        Raises:
            CommitUnknownError: the store does not answer.
        """
        try:
            if self._decide("aborted"):
                return True
        except StoreError as failure:
            visible = any(each.task.transaction.may_be_visible for each in self._committers)
            if visible or (self._naming and self._ready):
                raise self._unknown(f"the store fails ({failure.message.removesuffix('.')})") from error
        self._end()
        for each in self._committers:
            each.give_up(error if isinstance(error, ParquetryError) else self._abort_error())
        return False

    def _decide(self, fate: Literal["committed", "aborted"]) -> bool:
        """Decide the transaction, unless another process has. Return whether it is committed.

        Raises:
            CommitUnknownError: others have ended it, and its tables have no history any more.
            StoreError: the store failed.
        """
        decided = decide(self._store, self._id, fate, self._record)
        if decided is not None or not self._ready:
            return decided == "committed"
        for task in self._tasks:
            head = read_head(self._store, task.table)
            if head is None or head.is_deleted:
                continue
            if find_commit(task, head) is not None:
                return True
            if head.oldest <= task.base.version:
                return False
        if self._naming and (is_committed := self._naming.are_in_force()) is not None:
            return is_committed
        raise self._unknown("others have ended it, and vacuums have shortened the tables' history")

    def _end(self, intents: Mapping[bytes, Intent] | None = None) -> None:
        """Let the decision take effect in all heads, and remove the record and journals, as far as possible.

        Args:
            intents: of a committed transaction, by the tables' ids, as far as this process knows them; None
                for an aborted one.
        """
        try:
            if not (intents and take_effect_together(self._store, intents)):
                for table in self._tables:
                    take_effect(self._store, head_key(table), self._id)
            for key in self._name_rows:
                take_effect(self._store, key, self._id)
            remove_record(self._store, self._id, self._record if intents else None)
            if intents is not None:
                heads = zip(self._tasks, self._heads, strict=True)
                retention.sweep(self._store, {task.table: head for task, head in heads})
        except Exception as error:  # noqa: BLE001  # whatever it is, the transaction is decided
            _LOG.info("A transaction of %s is left to others to finish: %s", self.label, error)

    def _abort_error(self) -> CommitAbortedError:
        return CommitAbortedError(
            f"A transaction of {self.label} was given up, because another writer waited too long for it, or took its "
            "author for dead; nothing was written: run it again."
        )

    def _unknown(self, why: str) -> CommitUnknownError:
        about = ", ".join(f"commit {task.id} of {task.base.label}" for task in self._tasks) or "the new names"
        return CommitUnknownError(
            f"Whether a transaction of {self.label} took place is not known, because {why}; "
            f"look for {about} in the tables' history before running it again."
        )


def _live(task: CommitTask, value: bytes | None) -> Head:
    """Return the head in a row's value.

    Raises:
        TableNotFoundError: the table was dropped or replaced.
    """
    head = None if value is None else decode_head(value)
    if head is None or head.is_deleted:
        raise TableNotFoundError(f"Table {task.base.label} was dropped meanwhile.")
    return head
