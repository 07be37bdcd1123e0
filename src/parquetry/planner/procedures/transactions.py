"""`begin`, `commit` and `rollback` of a transaction of several tables: each session has at most one.

While it is under way, the session's questions name it, and are answered from its draft (`metastore.drafts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parquetry.errors import UnsupportedError
from parquetry.metastore import Draft
from parquetry.operations import Operation
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.signature import Rows

TRANSACTION_OPTION = "transaction"
"""The option of a catalog that names the transaction under way, in questions."""


class BegunTransaction(NamedTuple):
    """A transaction that has begun."""

    transaction: str


class CommittedTable(NamedTuple):
    """A table that a transaction has changed, and its new version."""

    table: str
    version: int


class UndoneTable(NamedTuple):
    """A table whose changes a transaction has given up."""

    table: str


def begin(lake: Lake) -> list[BegunTransaction]:
    """Begin a transaction.

    Raises:
        UnsupportedError: the session has one already.
    """
    if lake.draft is not None:
        raise UnsupportedError(
            f"Transaction {lake.draft.id} of catalog {lake.name} is under way in this session: CALL "
            f"{lake.name}.system.commit() or rollback() before you begin another."
        )
    return [BegunTransaction(lake.begin().id)]


def commit(lake: Lake) -> list[CommittedTable]:
    """Commit the transaction of a session.

    Raises:
        UnsupportedError: the session has none.
        CommitConflictError: others have changed what it changes or has read.
    """
    return [CommittedTable(version.label, version.version) for version in _draft(lake, "commit").commit()]


def rollback(lake: Lake) -> list[UndoneTable]:
    """End the transaction of a session without a change.

    Raises:
        UnsupportedError: the session has none.
    """
    draft = _draft(lake, "rollback")
    draft.rollback()
    return [UndoneTable(table) for table in draft.tables]


def _draft(lake: Lake, what: str) -> Draft:
    if lake.draft is None:
        raise UnsupportedError(
            f"No transaction of catalog {lake.name} is under way in this session, so there is none to {what}: CALL "
            f"{lake.name}.system.begin() first."
        )
    return lake.draft


def _operation(run: Callable[[Lake], Sequence[object]], title: str) -> Operation:
    return Operation(
        run.__name__, title, (), run, changes=run is not rollback, by_engine=True, renamed={}, command=None
    )


BEGIN = _operation(
    begin,
    "Begins a transaction of several tables: statements of this session see their own changes, and others see them "
    "all at once, after CALL system.commit().",
)
COMMIT = _operation(commit, "Makes the changes of the session's transaction visible, in all tables at once.")
ROLLBACK = _operation(rollback, "Gives up the changes of the session's transaction.")
NEW = ("begin", "commit")
"""Names that no operation outside of transactions has."""


def transaction_operation(lake: Lake, name: str) -> Operation | None:
    """Return the operation of this name that begins or ends a transaction, or None.

    While a transaction is under way, `rollback` gives it up. Otherwise it takes a table back to a version.
    """
    if name == ROLLBACK.name and lake.draft is not None:
        return ROLLBACK
    return {BEGIN.name: BEGIN, COMMIT.name: COMMIT}.get(name)


def session_transaction(operation: Operation, rows: Rows) -> str | None:
    """Return the transaction that the session has after a call: empty for none, None if it stays as it is."""
    if operation is BEGIN:
        return rows[0][0]
    return "" if operation is COMMIT or operation is ROLLBACK else None
