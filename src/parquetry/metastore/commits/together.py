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
from functools import partial
from typing import Literal, NamedTuple, Protocol

from parquetry.counters import CONFLICTS, COUNTERS
from parquetry.errors import (
    CommitAbortedError,
    CommitConflictError,
    CommitUnknownError,
    ParquetryError,
    StoreError,
    UnsupportedError,
)
from parquetry.metastore.commits.committer import Committer, after_commit, task_of
from parquetry.metastore.commits.swap_head import CommitMoment, put_intent, put_name_intent
from parquetry.metastore.commits.ticket import find_commit
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import TOGETHER, require_format
from parquetry.metastore.storage.head import Head, live_head, pause, read_head
from parquetry.metastore.storage.intents import (
    TRANSACTION,
    HeadName,
    begin,
    decide,
    remove_record,
    take_effect,
)
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import Store

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
    parts: Sequence[TablePart], id: str | None = None, naming: NameChanges | None = None
) -> list[TableSnapshot]:
    """Make the changes of several tables visible at once.

    Args:
        parts: the changes; each of another table of one metastore.
        id: names the transaction in the tables' history: 16 hexadecimal digits. None: a new one.
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
    note = {TRANSACTION: id or os.urandom(8).hex()} if id or len(parts) > 1 else {}
    versions = {part.transaction.base.id: part.transaction.base for part in parts}
    tasks = [task for part in parts if (task := task_of(part.transaction, {**part.summary, **note}))]
    tasks.sort(key=lambda task: task.table)
    try:
        for version in _commit_tasks(tasks, naming):
            versions[version.id] = version
    except CommitConflictError:
        COUNTERS.add(CONFLICTS)
        raise
    for task in tasks:
        after_commit(task, versions[task.table])
    return [versions[part.transaction.base.id] for part in parts]


def _commit_tasks(tasks: Sequence[CommitTask], naming: NameChanges | None) -> list[TableSnapshot]:
    if not tasks and naming is None:
        return []
    with active_owner() as owner:
        if len(tasks) == 1 and naming is None:
            return [Committer(tasks[0], owner).run()]
        for attempt in range(MAX_TRIES):
            together = _Together(tasks, owner, naming)
            with contextlib.suppress(CommitAbortedError):
                return together.run()
            pause(attempt)
    raise CommitConflictError(
        f"Others wanted to change {together.label} so often that a transaction of these tables could not be "
        f"committed; nothing was written: run it again."
    )


class _Together:
    """One try of the protocol above.

    Args:
        tasks: the commits, in the order of their tables' ids.
        owner: this process, as their author.
        naming: the changes of names, or None.

    Attributes:
        label: the tables' names, for messages.
    """

    def __init__(self, tasks: Sequence[CommitTask], owner: Owner, naming: NameChanges | None) -> None:
        self._tasks = tasks
        self._naming = naming
        self._store = tasks[0].store if naming is None else naming.store
        self.label = " and ".join(
            dict.fromkeys([*(task.base.label for task in tasks), *(naming.labels if naming else ())])
        )
        names = naming.names if naming else {}
        self._tables = tuple(sorted({*names, *(task.table for task in tasks)}))
        self._names = tuple(naming.keys) if naming else ()
        self._ready = False
        self._owner = owner
        self._id = os.urandom(8)
        self._committers: list[Committer] = []
        self._heads: list[Head] = []

    def run(self) -> list[TableSnapshot]:
        """Commit, and return the versions."""
        try:
            self._prepare()
            if not self._decide("committed"):
                raise self._abort_error()
        except BaseException as error:
            if not self._is_committed_after(error) or not isinstance(error, Exception):
                raise
        self._end()
        return [each.result(head) for each, head in zip(self._committers, self._heads, strict=True)]

    def _prepare(self) -> None:
        """Write all rows, and put an intent into the place of each head, and of each name."""
        require_format(self._store, TOGETHER)
        for task in self._tasks:
            self._committers.append(Committer(task, self._owner))
        for each in self._committers:
            each.check_files()
        begin(self._store, self._id, self._owner, self._tables, self._names)
        heads = [self._head_of(each) for each in self._committers]
        time = max([store_now_ms(self._store), *(head.commit.committed_at for head in heads)])
        committers = {each.task.table: each for each in self._committers}
        for table in self._tables:
            name = self._naming.names.get(table) if self._naming else None
            if (committer := committers.get(table)) is not None:
                put = partial(put_intent, moment=CommitMoment(self._id, time), name=name)
                self._heads.append(committer.work(put))
            elif self._naming and name:
                put_name_intent(self._store, table, self._id, name, partial(self._naming.require, table))
        if self._naming:
            self._naming.put_rows(self._id)
        self._ready = True

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
        decided = decide(self._store, self._id, fate)
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

    def _end(self) -> None:
        """Let the decision take effect in all heads, and remove the record, as far as possible."""
        try:
            for key in (*map(head_key, self._tables), *self._names):
                take_effect(self._store, key, self._id)
            remove_record(self._store, self._id)
        except Exception as error:  # noqa: BLE001  # whatever it is, the transaction is decided
            _LOG.info("A transaction of %s is left to others to finish: %s", self.label, error)

    def _head_of(self, committer: Committer) -> Head:
        base = committer.task.base
        return live_head(self._store, base.id, f"Table {base.label} was dropped meanwhile.")

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
