"""Commit transactions of several tables at once: all of their versions become visible, or none.

Each table's commit takes a ticket and writes its rows as any commit does (`committer`). Its head gets an
intent instead of the new version, and the record of the transaction makes all intents count
(`storage.intents`). A table costs one compare-and-set more than its commit alone, which removes the intent.

A commit may meet others at any step. Commits of other processes before the intent of a table are merged or
conflict, as with one table. Later ones wait for this transaction, and abort it if they wait too long. Then it
is tried again, with new tickets.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

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
from parquetry.metastore.commits.swap_head import put_intent
from parquetry.metastore.commits.ticket import find_commit
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import TOGETHER, require_format
from parquetry.metastore.storage.head import Head, live_head, pause, read_head
from parquetry.metastore.storage.intents import (
    TRANSACTION,
    TRANSACTION_TABLES,
    begin,
    decide,
    remove_record,
    take_effect,
)
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot

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


def commit_together(parts: Sequence[TablePart], id: str | None = None) -> list[TableSnapshot]:
    """Make the changes of several tables visible at once.

    Args:
        parts: the changes; each of another table of one metastore.
        id: names the transaction in the tables' history: 16 hexadecimal digits. None: a new one.

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
    tasks = [task for part in parts if (task := task_of(part.transaction, part.summary))]
    if id or len(parts) > 1:
        note = {TRANSACTION: id or os.urandom(8).hex(), TRANSACTION_TABLES: str(len(tasks))}
        tasks = [replace(task, summary={**task.summary, **note}) for task in tasks]
    tasks.sort(key=lambda task: task.table)
    try:
        for version in _commit_tasks(tasks):
            versions[version.id] = version
    except CommitConflictError:
        COUNTERS.add(CONFLICTS)
        raise
    for task in tasks:
        after_commit(task, versions[task.table])
    return [versions[part.transaction.base.id] for part in parts]


def _commit_tasks(tasks: Sequence[CommitTask]) -> list[TableSnapshot]:
    if not tasks:
        return []
    with active_owner() as owner:
        if len(tasks) == 1:
            return [Committer(tasks[0], owner).run()]
        require_format(tasks[0].store, TOGETHER)
        for attempt in range(MAX_TRIES):
            with contextlib.suppress(CommitAbortedError):
                return _Together(tasks, owner).run()
            pause(attempt)
    raise CommitConflictError(
        f"Others wanted to change {_names(tasks)} so often that a transaction of these tables could not be "
        f"committed; nothing was written: run it again."
    )


class _Together:
    """One try of the protocol above.

    Args:
        tasks: the commits, in the order of their tables' ids.
        owner: this process, as their author.
    """

    def __init__(self, tasks: Sequence[CommitTask], owner: Owner) -> None:
        self._tasks = tasks
        self._store = tasks[0].store
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
        """Write all rows, and put an intent into the place of each head."""
        for task in self._tasks:
            self._committers.append(Committer(task, self._owner))
        for each in self._committers:
            each.check_files()
        begin(self._store, self._id, self._owner, tuple(task.table for task in self._tasks))
        heads = [self._head_of(each) for each in self._committers]
        time = max(store_now_ms(self._store), *(head.commit.committed_at for head in heads))
        self._heads = [
            each.work(partial(put_intent, transaction=self._id, time=time)) for each in self._committers
        ]

    def _is_committed_after(self, error: BaseException) -> bool:
        """Return whether the transaction took place before an error came; else make sure that it never does.

        Raises:
            CommitUnknownError: the store does not answer.
        """
        try:
            if self._decide("aborted"):
                return True
        except StoreError as failure:
            if any(each.task.transaction.may_be_visible for each in self._committers):
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
        if decided is not None or not self._heads:
            return decided == "committed"
        for task in self._tasks:
            head = read_head(self._store, task.table)
            if head is None or head.is_deleted:
                continue
            if find_commit(task, head) is not None:
                return True
            if head.oldest <= task.base.version:
                return False
        raise self._unknown("others have ended it, and vacuums have shortened the tables' history")

    def _end(self) -> None:
        """Let the decision take effect in all heads, and remove the record, as far as possible."""
        try:
            for task in self._tasks:
                take_effect(self._store, task.table, self._id)
            remove_record(self._store, self._id)
        except Exception as error:  # noqa: BLE001  # whatever it is, the transaction is decided
            _LOG.info("A transaction of %s is left to others to finish: %s", _names(self._tasks), error)

    def _head_of(self, committer: Committer) -> Head:
        base = committer.task.base
        return live_head(self._store, base.id, f"Table {base.label} was dropped meanwhile.")

    def _abort_error(self) -> CommitAbortedError:
        return CommitAbortedError(
            f"A transaction of {_names(self._tasks)} was given up, because another writer waited too long for it, or took its "
            "author for dead; nothing was written: run it again."
        )

    def _unknown(self, why: str) -> CommitUnknownError:
        about = ", ".join(f"commit {task.id} of {task.base.label}" for task in self._tasks)
        return CommitUnknownError(
            f"Whether a transaction of {_names(self._tasks)} took place is not known, because {why}; "
            f"look for {about} in the tables' history before running it again."
        )


def _names(tasks: Sequence[CommitTask]) -> str:
    return " and ".join(task.base.label for task in tasks)
