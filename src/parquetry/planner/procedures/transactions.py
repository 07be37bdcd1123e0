"""Which transaction of several tables a session has: its questions name it while it is under way."""

from __future__ import annotations

from parquetry.operations import TRANSACTIONS, Operation
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.signature import Rows

TRANSACTION_OPTION = "transaction"
"""The option of a catalog that names the transaction under way, in questions."""
NEW = frozenset(TRANSACTIONS) - {"rollback"}
"""Names that no other procedure has."""


def transaction_operation(lake: Lake, name: str) -> Operation | None:
    """Return the operation of this name that begins or ends a transaction, or None.

    While a transaction is under way, `rollback` gives it up. Otherwise it takes a table back to a version.
    """
    return TRANSACTIONS.get(name) if name in NEW or lake.draft is not None else None


def session_transaction(operation: Operation, rows: Rows) -> str | None:
    """Return the transaction that the session has after a call: empty for none, None if it stays as it is."""
    if operation is TRANSACTIONS["begin"]:
        return rows[0][0]
    return "" if operation in TRANSACTIONS.values() else None
