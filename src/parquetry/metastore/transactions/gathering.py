"""Drafts of transactions of several tables, as the code of commits knows them; see `metastore.drafts`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from parquetry.errors import UnsupportedError
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import Store


@runtime_checkable
class DraftRows(Protocol):
    """The rows of a transaction of several tables that is under way."""

    def require_possible(self, transaction: Transaction) -> None:
        """Make sure that changes of one table can be part of the transaction.

        Raises:
            UnsupportedError: they cannot.
        """
        ...

    def gather(self, task: CommitTask) -> None:
        """Note a commit to the draft."""
        ...

    def keeps_rows_of(self, table: bytes) -> bool:
        """Return whether others still see a table, so that a DROP deletes nothing before the commit."""
        ...


def draft_of(table: TableSnapshot) -> DraftRows | None:
    """Return the draft that a version belongs to, or None if it is a version for everyone."""
    rows = getattr(table.store, "rows", None)
    return rows if isinstance(rows, DraftRows) else None


def keeps_rows_of(store: Store, table: bytes) -> bool:
    """Return whether a store is a transaction's, and others still see a table that it drops."""
    rows = getattr(store, "rows", None)
    return isinstance(rows, DraftRows) and rows.keeps_rows_of(table)


def require_no_draft(table: TableSnapshot, what: str) -> None:
    """Make sure that an operation does not work on the draft of a transaction.

    Raises:
        UnsupportedError: the version belongs to a draft.
    """
    if draft_of(table) is not None:
        raise UnsupportedError(
            f"{what} of table {table.label} cannot be part of a transaction of several tables: do it before the "
            "transaction or after it."
        )
