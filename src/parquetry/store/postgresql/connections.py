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
_ENDED = (errors.AdminShutdown, errors.CrashShutdown, errors.IdleSessionTimeout, errors.DatabaseDropped)
"""Errors after which a connection is closed: the server has ended it."""
_TIMEOUT_SHARE = 0.95
"""Share of the timeout that makes a cancelled statement too slow, if the server's words do not say it."""


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
        with self._connection() as connection:
            started = time.monotonic()
            try:
                cursor = connection.execute(statement, arguments, binary=True)
                return (cursor.fetchall() if cursor.description else []), cursor.rowcount
            except psycopg.Error as error:
                broken = connection.closed or isinstance(error, _ENDED)
                if broken or isinstance(error, errors.ReadOnlySqlTransaction):
                    # a primary that became a standby is read-only: the next connection goes to the new one
                    connection.close()
                reason = self._address.without_passwords(_reason(error))
                seconds = time.monotonic() - started
                failure = _failure(error, reason, self._address, seconds, broken=broken)
                raise failure from (error if reason == _reason(error) else None)

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
            reason = self._address.without_passwords(_reason(error))
            message = f"The {label} cannot be reached: {reason}; check the address and the credentials."
            cause = error if reason == _reason(error) else None
            if "FATAL" in str(error) and not any(text in str(error) for text in _PASSING):
                raise StatementError(message, sent=False) from cause  # such as a wrong password
            raise _Retry(message, sent=False) from cause
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


def _failure(
    error: psycopg.Error, reason: str, address: Address, seconds: float, *, broken: bool
) -> StoreError | WarehouseError:
    """Return the error of a statement: one to try again after, or a refusal.

    Args:
        error: psycopg's.
        reason: its text without passwords.
        address: of the server.
        seconds: that the statement took.
        broken: whether the connection is of no use any more.
    """
    label = address.label
    if broken:
        who = "was ended by the server" if isinstance(error, _ENDED) else "broke"
        return _Retry(
            f"The connection to the {label} {who}: {reason}; run the server and try again.", sent=True
        )
    match error:
        case errors.QueryCanceled() if _took_too_long(error, seconds, address.timeout):
            return StatementError(
                f"The {label} did not answer within {address.timeout:g} s ({reason}); look for locks and "
                "load there, or give it more time: postgresql://…?timeout=SECONDS.",
                sent=False,
            )
        case errors.QueryCanceled():  # the server has undone it: pg_cancel_backend, of an administrator
            return _Retry(
                f"A statement to the {label} was cancelled there, each time that it was tried ({reason}); look for who "
                "cancels statements, such as pg_cancel_backend in an administrator's script.",
                sent=False,
            )
        case _ if isinstance(error, _NOT_DONE):
            return _Retry(f"The {label} undid a statement: {reason}.", sent=False)
        case errors.ReadOnlySqlTransaction():
            return _Retry(f"The {label} cannot be written: {reason}.", sent=False)
    return _refusal(error, label, reason)


def _took_too_long(error: psycopg.Error, seconds: float, timeout: float) -> bool:
    """Return whether our own timeout cancelled a statement. The server may speak another language."""
    text = str(error)
    if "statement timeout" in text or "user request" in text:
        return "statement timeout" in text
    return seconds >= timeout * _TIMEOUT_SHARE


def _refusal(error: psycopg.Error, label: str, reason: str) -> StoreError | WarehouseError:
    match error:
        case errors.UndefinedTable():
            return WarehouseError(
                f"There is no {label} any more; restore it from a dump, or correct the store's URL."
            )
        case errors.InsufficientPrivilege():
            return WarehouseError(
                f"The {label} may not be used: {reason}; have its owner GRANT SELECT, INSERT, UPDATE, DELETE on it."
            )
        case errors.ProgramLimitExceeded():
            return StoreError(
                f"The {label} does not take so long a key: {reason}. Values of partition columns, and paths, may have "
                "some 2,500 bytes together there: shorten them."
            )
        case _:
            return StatementError(f"The {label} failed: {reason}.", sent=False)


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__
