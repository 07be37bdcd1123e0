"""`begin`, `commit` and `rollback` of a transaction of several tables, for clients that have SQL alone.

Each session of a catalog has at most one. While it is under way, the session's statements are answered from
its draft (`metastore.drafts`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from parquetry.errors import UnsupportedError
from parquetry.metastore import Draft
from parquetry.operations.operation import Context, operation


class TransactionContext(Context, Protocol):
    """A catalog of a session; `planner.lake.Lake` is one."""

    @property
    def name(self) -> str:
        """Return the catalog's name."""
        ...

    @property
    def draft(self) -> Draft | None:
        """Return the session's transaction, or None."""
        ...

    def begin(self) -> Draft:
        """Begin a transaction."""
        ...


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


@operation(
    "Begins a transaction of several tables: statements of this session see their own changes, and others see "
    "them all at once, after CALL system.commit().",
    changes=True,
)
def begin(context: TransactionContext) -> list[BegunTransaction]:
    """Begin a transaction.

    Raises:
        UnsupportedError: the session has one already.
    """
    if context.draft is not None:
        raise UnsupportedError(
            f"Transaction {context.draft.id} of catalog {context.name} is under way in this session: CALL "
            f"{context.name}.system.commit() or rollback() before you begin another."
        )
    return [BegunTransaction(context.begin().id)]


@operation("Makes the changes of the session's transaction visible, in all tables at once.", changes=True)
def commit(context: TransactionContext) -> list[CommittedTable]:
    """Commit the transaction of a session.

    Raises:
        UnsupportedError: the session has none.
        CommitConflictError: others have changed what it changes or has read.
    """
    return [CommittedTable(version.label, version.version) for version in _draft(context, "commit").commit()]


@operation("Gives up the changes of the session's transaction.")
def rollback(context: TransactionContext) -> list[UndoneTable]:
    """Leave all tables as they were before the transaction.

    Raises:
        UnsupportedError: the session has none.
    """
    draft = _draft(context, "rollback")
    draft.rollback()
    return [UndoneTable(table) for table in draft.tables]


def _draft(context: TransactionContext, what: str) -> Draft:
    if context.draft is None:
        raise UnsupportedError(
            f"No transaction of catalog {context.name} is under way in this session, so there is none to {what}: CALL "
            f"{context.name}.system.begin() first."
        )
    return context.draft


TRANSACTIONS = {"begin": begin, "commit": commit, "rollback": rollback}
"""The operations by name."""
