"""Statements to a server: each is a transaction of its own, and is tried again for a bounded time.

If a connection breaks, the server may have carried out the statement, or may still. The caller says whether
such a statement may be repeated.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import errors, pq, sql

from parquetry.errors import StoreError, WarehouseError
from parquetry.store.postgresql.address import Address

CONNECT_SECONDS = 10.0
"""Seconds to try to reach a server that never answered before."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
IDLE_SECONDS = 120.0
"""Seconds after which an unused connection is closed."""
_SESSION = (
    "SELECT set_config('statement_timeout', %s, false), "
    "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
_PASSING = ("starting up", "shutting down", "recovery", "too many", "remaining connection slots", "read-only")
"""Parts of the messages of a server that refuses a new connection now and may accept it later."""
_Statement = sql.SQL | sql.Composed
_NOT_DONE = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
"""Errors of a statement that the server has undone, and that may succeed when it is repeated."""


class StatementError(StoreError):
    """A statement failed.

    Attributes:
        sent: whether the server may have carried out the statement, or may still.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class PostgreSQLConnections:
    """The connections of a store, shared by its threads; a forked child has its own.

    Why not psycopg's pool? It connects in threads of its own. So it cannot report why a server is out of
    reach, and it does not survive a fork.

    Args:
        address: the server and the table.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._reached = False
        self._pool = _Pool(address.connections)
        _all.add(self)

    def run(
        self, statement: _Statement, arguments: Sequence[Any] = (), *, repeat: bool = True
    ) -> tuple[list[tuple[Any, ...]], int, bool]:
        """Run a statement, and try again while the server is away.

        Args:
            statement: a statement that is a transaction of its own.
            arguments: its arguments.
            repeat: whether to repeat the statement if the server may have carried it out already.

        Returns:
            the rows, the number of rows changed, and whether an earlier try may still be carried out.

        Raises:
            StatementError: no answer came, or the server refused.
        """
        started, pause, in_doubt = time.monotonic(), FIRST_PAUSE, False
        while True:
            try:
                return (*self._run_once(statement, arguments), in_doubt)
            except _Retry as error:
                in_doubt |= error.sent
                patience = self._address.patience
                if not self._reached:
                    patience = min(CONNECT_SECONDS, patience)
                over = time.monotonic() + pause > started + patience
                if over or (error.sent and not repeat):
                    raise StatementError(error.message, sent=error.sent) from error.__cause__
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    def _run_once(self, statement: _Statement, arguments: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        label = self._address.label
        with self._connection() as connection:
            try:
                cursor = connection.execute(statement, arguments, binary=True)
                return (cursor.fetchall() if cursor.description else []), cursor.rowcount
            except errors.QueryCanceled as error:
                raise StatementError(
                    f"The {label} did not answer within {self._address.timeout:g} s ({_reason(error)}); look for locks and "
                    "load there, or give it more time: postgresql://…?timeout=SECONDS.",
                    sent=False,
                ) from error
            except _NOT_DONE as error:
                raise _Retry(f"The {label} undid a statement: {_reason(error)}.", sent=False) from error
            except errors.ReadOnlySqlTransaction as error:
                connection.close()  # a primary that has become a standby: the next connection goes to the new one
                raise _Retry(f"The {label} cannot be written: {_reason(error)}.", sent=False) from error
            except psycopg.Error as error:
                if connection.closed or isinstance(error, errors.AdminShutdown | errors.CrashShutdown):
                    connection.close()
                    raise _Retry(
                        f"The connection to the {label} broke: {_reason(error)}; run the server and try again.",
                        sent=True,
                    ) from error
                raise _refusal(error, label) from error

    @contextlib.contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection that the server has not closed."""
        pool = self._pool
        if not pool.slots.acquire(timeout=max(self._address.timeout, self._address.patience)):
            raise StatementError(
                f"All {self._address.connections} connections to the {self._address.label} have been in use for long; "
                "allow more: postgresql://…?connections=NUMBER.",
                sent=False,
            )
        try:
            connection = pool.take() or self._connect()
            try:
                yield connection
            finally:
                if connection.info.transaction_status == pq.TransactionStatus.IDLE:
                    pool.idle.append((time.monotonic(), connection))
                else:  # broken, or interrupted in the middle of a statement
                    connection.close()
        finally:
            pool.slots.release()

    def _connect(self) -> psycopg.Connection[Any]:
        """Open a connection with durable acknowledged writes, and with a timeout of statements."""
        label = self._address.label
        try:
            with contextlib.ExitStack() as opened:
                connection = psycopg.connect(**self._address.parameters, autocommit=True)  # type: ignore[arg-type]
                opened.callback(connection.close)
                connection.execute(_SESSION, (f"{max(1, round(self._address.timeout * 1000))}ms",))
                opened.pop_all()
        except psycopg.Error as error:
            message = (
                f"The {label} cannot be reached: {_reason(error)}; check the address and the credentials."
            )
            if "FATAL" in str(error) and not any(text in str(error) for text in _PASSING):
                raise StatementError(message, sent=False) from error  # such as a wrong password
            raise _Retry(message, sent=False) from error
        self._reached = True
        return connection

    def close(self) -> None:
        """Close all connections that are not in use."""
        _close(self._pool.idle)


class _Pool:
    """The idle connections of one process.

    Attributes:
        slots: one is taken for each connection in use.
        idle: idle connections and the time since they are; the one used last is at the end.
        close: closes the idle connections.

    Args:
        connections: number of connections that may be in use at once.
    """

    def __init__(self, connections: int) -> None:
        self.slots = threading.BoundedSemaphore(connections)
        self.idle: list[tuple[float, psycopg.Connection[Any]]] = []
        self.close = weakref.finalize(self, _close, self.idle)

    def take(self) -> psycopg.Connection[Any] | None:
        """Return the connection used last, or None if none is open; close connections idle for too long."""
        connection = None
        with contextlib.suppress(IndexError):  # another thread took the last one
            while connection is None:
                connection = self.idle.pop()[1]
                if not _is_open(connection):
                    connection.close()
                    connection = None
            while self.idle and self.idle[0][0] < time.monotonic() - IDLE_SECONDS:
                self.idle.pop(0)[1].close()
        return connection


def _close(idle: list[tuple[float, psycopg.Connection[Any]]]) -> None:
    while idle:
        idle.pop()[1].close()


def _is_open(connection: psycopg.Connection[Any]) -> bool:
    """Return whether an idle connection is still open.

    One that the server has closed has something to read.
    """
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


_all: weakref.WeakSet[PostgreSQLConnections] = weakref.WeakSet()
_inherited: list[object] = []


def _leave_inherited() -> None:
    """Keep a forked child from using, or closing, its parent's connections."""
    for connections in list(_all):
        connections._pool.close.detach()
        _inherited.append(connections._pool)
        connections._pool = _Pool(connections._address.connections)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_inherited)


class _Retry(StoreError):
    """A statement failed that may succeed at another try. `sent`: the server may have carried it out."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


def _refusal(error: psycopg.Error, label: str) -> StoreError | WarehouseError:
    match error:
        case errors.UndefinedTable():
            return WarehouseError(
                f"There is no {label} any more; restore it from a dump, or correct the store's URL."
            )
        case errors.InsufficientPrivilege():
            return WarehouseError(
                f"The {label} may not be used: {_reason(error)}; have its owner GRANT SELECT, INSERT, UPDATE, DELETE on it."
            )
        case errors.ProgramLimitExceeded():
            return StoreError(
                f"The {label} does not take so long a key: {_reason(error)}. Values of partition columns, and paths, may have "
                "some 2,500 bytes together there: shorten them."
            )
        case _:
            return StatementError(f"The {label} failed: {_reason(error)}.", sent=False)


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__
