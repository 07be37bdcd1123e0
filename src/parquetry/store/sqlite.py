"""A store in one SQLite file: the embedded default, shared by the threads and processes of one machine.

The file has a write-ahead log and synchronous=FULL, so that acknowledged writes outlive a crash. Its pages
have 16 KiB: in smaller ones, rows without rowid spill into overflow pages as soon as values pass 300 bytes,
and scans take ten times as long. The module `sqlite_layout` describes the tables.

SQLite writes into the file that it opened, even if somebody has since deleted or moved it and put a copy in
its place. So each write compares the file at the path with the opened one, before it begins and after its
commit. Each look takes a few microseconds.

Deleted rows are overwritten with zeros (`secure_delete`). The write-ahead log may have them still, until
`scrub` empties it. When pages are divided, copies of rows may stay in their free space: only `VACUUM`, which
writes the whole file anew, is certain to leave none.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import urllib.parse
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

from parquetry._version import __version__
from parquetry.errors import MetastoreVersionError, ParquetryError, StoreError, WarehouseError
from parquetry.open_files import open_files_error
from parquetry.store import sqlite_layout
from parquetry.store.base import Fields
from parquetry.store.batches import largest_batch, next_batch
from parquetry.store.condition import Condition
from parquetry.store.groups import (
    Groups,
    KeyPage,
    Leading,
    PageReader,
    Range,
    ReadCosts,
    RowPage,
    first_row,
    first_rows,
    one_by_one_keys,
)
from parquetry.store.sqlite_layout import Layout, plain_page, skipping_page

T = TypeVar("T")

BUSY_SECONDS = 30
_SCRUB_BUSY_SECONDS = 2
"""Seconds that emptying the log waits for readers. A vacuum must not stand still for a reader that lasts."""
CACHE_KIB = 16 << 10
"""KiB of pages that a connection caches: enough for the inner pages of a million partitions. SQLite's default
is 2 MiB."""
FIRST_BATCH_ROWS = 64

_stores: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()
_inherited: list[_Connections] = []


class _Connections:
    """The connections of one process, each used by one thread.

    Attributes:
        local: per thread, its connection, the signature of the file if it is opened as unchanging, and the
            layout.
        open: the connections of the threads that have not ended, by numbers.
    """

    def __init__(self) -> None:
        self.local = threading.local()
        self.open: dict[int, sqlite3.Connection] = {}

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        while self.open:
            with contextlib.suppress(KeyError):  # a thread that ends has just closed its own
                self.open.popitem()[1].close()


class _ThreadConnection:
    """A thread's hold on its connection. The thread's end deletes its locals, and so closes the connection.

    In a forked child, the parent's threads end, too. Then the connection stays open: SQLite forbids to close
    it there.
    """

    def __init__(self, connection: sqlite3.Connection, of: dict[int, sqlite3.Connection]) -> None:
        self.connection = connection
        self._open = of
        self._process = os.getpid()
        of[id(self)] = connection

    def __del__(self) -> None:
        if os.getpid() == self._process:
            self._open.pop(id(self), self.connection).close()


class SQLiteStore:
    """An ordered map in a SQLite file.

    If neither the file nor its folder can be written, the store can still be read.

    Args:
        path: path of the file.
        create: whether to create the file and its folder if they do not exist. If not, opening creates
            nothing.

    Raises:
        WarehouseError: the file does not exist and `create` is False, or it cannot be made or opened.
        MetastoreVersionError: a later library has changed its tables.
    """

    leaves_out = False
    costs = ReadCosts(request=0, seek=12, lookup=3, tested=1, counted=0.03)

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = os.path.abspath(path)
        self._connections = _Connections()
        self._file: tuple[int, int] | None = None
        self._is_in_doubt = False
        _stores.add(self)
        if create and not self._holds_rows():
            self._create()
        elif not os.path.exists(self.path):
            raise WarehouseError(
                f"There is no metastore at {self.path}; correct the path, or make one: a Spark session does "
                "(parquetry.configure), and `parquetry restore` of a dump."
            )
        if not self._holds_rows():
            raise WarehouseError(
                f"{self.path} is not a metastore; correct the path, or create one elsewhere."
            )
        self._file = self._file_now()

    # -- the file

    def _file_now(self) -> tuple[int, int] | None:
        """Return the device and inode of the file at the path, or None if there is none."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _require_same_file(self) -> None:
        """Make sure that the file at the path is the one that was opened, before something is written.

        Raises:
            WarehouseError: it is another one, or there is none.
        """
        if self._file is not None and self._file_now() != self._file:
            raise WarehouseError(
                f"The metastore {self.path} was moved, deleted or replaced since this session opened it, so nothing was written: "
                "open the warehouse anew."
            )

    def _require_kept_file(self) -> None:
        """Make sure after a commit that the file was not replaced under it.

        Raises:
            StoreError: it was. Until it is back, reads fail, too: they would show the commit.
        """
        self._is_in_doubt = self._file_now() != self._file
        if self._is_in_doubt:
            raise StoreError(
                f"The metastore {self.path} was moved, deleted or replaced while it was written: open the warehouse anew, and look "
                "whether the write is there."
            )

    # -- connections

    def _create(self) -> None:
        try:
            self._create_file()
            with contextlib.closing(self._connect(self.path)) as connection:
                connection.execute("PRAGMA page_size = 16384")
                self._switch_to_wal(connection)
                connection.execute("BEGIN IMMEDIATE")
                sqlite_layout.create(connection)
                connection.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise WarehouseError(
                f"Cannot create a metastore at {self.path}: {error}; is the folder writable?"
            ) from error

    def _create_file(self) -> None:
        """Create the empty file and the missing folders, with the rights of the nearest folder that exists.

        SQLite creates its side files with the rights of this file. An existing file must not be opened here.
        In POSIX, closing it would release all locks of this process's connections on it. Another process that
        closes the file would then delete the write-ahead log while this process still writes to it. So the
        file is created under another name, and linked.
        """
        missing = [os.path.dirname(self.path)]
        while not os.path.exists(missing[-1]):
            missing.append(os.path.dirname(missing[-1]))
        rights = os.stat(missing.pop()).st_mode & 0o777 | 0o700
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process makes it, too
                os.mkdir(folder, rights)
        if os.path.exists(self.path):
            return
        temporary = f"{self.path}.{uuid.uuid4().hex}"
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, rights & 0o666))
        try:
            os.link(temporary, self.path)
        except FileExistsError:  # another process, or another thread, was quicker
            pass
        except OSError:  # a file system without hard links
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, rights & 0o666))
        finally:
            os.unlink(temporary)

    @staticmethod
    def _switch_to_wal(connection: sqlite3.Connection) -> None:
        # The switch needs the file for itself and does not wait; another process may be making it, too.
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _holds_rows(self) -> bool:
        if not os.path.exists(self.path):
            return False
        table = self._read(
            lambda connection: connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone()
        )
        return table is not None

    @staticmethod
    def _connect(target: str, uri: bool = False) -> sqlite3.Connection:
        # Only one thread uses a connection, but any thread may close it once it is no longer needed.
        return sqlite3.connect(
            target, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri
        )

    def _connection(self) -> sqlite3.Connection:
        if self._is_in_doubt:
            self._require_kept_file()
        ours = self._connections
        held: _ThreadConnection | None = getattr(ours.local, "connection", None)
        if held is not None:
            frozen = ours.local.frozen
            if frozen is None or frozen == self._signature():
                return held.connection
        connection, frozen = self._open_file()
        try:
            ours.local.layout = self._layout(connection)
        except BaseException:
            connection.close()
            raise
        ours.local.connection, ours.local.frozen = _ThreadConnection(connection, ours.open), frozen
        return connection

    def _open_file(self) -> tuple[sqlite3.Connection, tuple[int, int, bool] | None]:
        """Open the file. If SQLite cannot write its side files, open it as a file that does not change.

        Returns:
            the connection; and, if the file is opened as unchanging, its signature, which shows later
            changes.
        """
        address = urllib.parse.quote(self.path)
        connection = self._connect(f"file:{address}?mode=rw", uri=True)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            return connection, None
        except sqlite3.Error as error:
            connection.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise
            signature = self._signature()
            if signature[2]:
                raise WarehouseError(
                    f"{self.path} has changes in its write-ahead log, which can only be read by someone who "
                    f"may write the folder: {error}; open the metastore once as its owner."
                ) from error
        return self._connect(f"file:{address}?mode=ro&immutable=1", uri=True), signature

    def _layout(self, connection: sqlite3.Connection) -> Layout:
        """Return the layout of the file's tables. Another process may raise it at any time."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        try:
            return Layout(version)
        except ValueError:
            raise MetastoreVersionError(
                f"{self.path} has tables of version {version}, this is Parquetry {__version__}, which knows "
                f"versions {min(Layout):d} to {max(Layout):d}; use one that fits, or correct the path."
            ) from None

    def _signature(self) -> tuple[int, int, bool]:
        status = os.stat(self.path)
        try:
            logged = os.stat(self.path + "-wal").st_size > 0
        except FileNotFoundError:
            logged = False
        return status.st_mtime_ns, status.st_size, logged

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connection())
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _write(self, work: Callable[[sqlite3.Connection, Layout], T]) -> T:
        try:
            connection = self._connection()
            self._require_same_file()
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._connections.local.layout = self._layout(connection)
                result = work(connection, self._connections.local.layout)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._require_kept_file()
            return result
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error) -> ParquetryError:
        if "unable to open" in str(error) and (at_limit := open_files_error(error)):
            return at_limit
        if "readonly" in str(error):
            return WarehouseError(
                f"The metastore {self.path} cannot be written: {error}; it is open for reading."
            )
        if "not a database" in str(error):
            return WarehouseError(
                f"{self.path} is not a metastore; correct the path, or create one elsewhere."
            )
        return StoreError(f"The metastore {self.path} failed: {error}.")

    # -- the methods of Store

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        return self._read(
            lambda connection: sqlite_layout.get(connection, self._connections.local.layout, key)
        )

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        return self._read(
            lambda connection: sqlite_layout.get_many(connection, self._connections.local.layout, keys)
        )

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows with start <= key < stop in key order, or in reverse order.

        No read transaction outlives a batch: an abandoned iterator must not keep the log from being emptied.
        """
        order = "DESC" if reverse else "ASC"
        bounded = f"SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k {order} LIMIT ?"
        unbounded = f"SELECT k, v FROM kv WHERE k >= ? ORDER BY k {order} LIMIT ?"
        size = FIRST_BATCH_ROWS
        remaining = limit
        while remaining is None or remaining > 0:
            if remaining is not None:
                size = min(size, remaining)
            batch = (
                self._fetch(bounded, (start, stop, size))
                if stop is not None
                else self._fetch(unbounded, (start, size))
            )
            yield from batch
            if len(batch) < size:
                return
            if remaining is not None:
                remaining -= len(batch)
                if remaining == 0:
                    return
            last = batch[-1][0]
            start, stop = (start, last) if reverse else (last + b"\0", stop)
            size = max(FIRST_BATCH_ROWS, next_batch(size, batch))

    def _fetch(self, statement: str, arguments: tuple[bytes | int, ...]) -> list[tuple[bytes, bytes]]:
        try:
            return self._connection().execute(statement, arguments).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,  # noqa: ARG002 - no network to spare: the caller tests a row as fast as SQLite would
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of disjoint ranges, in key order."""
        if groups is not None:
            wanted = self._first_row if each == 1 else self._first_rows
            yield from islice(chain.from_iterable(wanted(range, groups, limit) for range in ranges), limit)
            return
        if limit is None:
            for start, stop in ranges:
                yield from self.scan(start, stop, limit=each)
            return
        remaining = limit
        for start, stop in ranges:
            size = remaining if each is None else min(each, remaining)
            for row in self.scan(start, stop, limit=size):
                yield row
                remaining -= 1
            if remaining == 0:
                return

    def _first_rows(self, range: Range, groups: Groups, limit: int | None) -> Iterator[tuple[bytes, bytes]]:
        start, stop = range

        def plain(start: bytes, count: int) -> RowPage:
            return self._read(lambda connection: plain_page(connection, start, stop, count, groups))

        def skipping(start: bytes, count: int) -> RowPage:
            return self._read(lambda connection: skipping_page(connection, start, stop, count, groups))

        reader = PageReader(plain, skipping, largest_batch, size=FIRST_BATCH_ROWS, several=FIRST_BATCH_ROWS)
        return first_rows(groups, start, reader, limit)

    def _first_row(self, range: Range, groups: Groups, _limit: int | None) -> Iterator[tuple[bytes, bytes]]:
        start, stop = range
        for row in self.scan(start, stop, limit=1):
            yield row
            if not groups.wants(row[0]):
                start = groups.after([row], row[0])
                yield from first_row(groups, start, lambda start, count: self._page(start, stop, count))

    def _page(self, start: bytes, stop: bytes | None, count: int) -> RowPage:
        rows = list(self.scan(start, stop, limit=count))
        return RowPage(rows, rows[-1][0] if len(rows) == count else None)

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        return self._read(
            lambda connection: sqlite_layout.count(connection, self._connections.local.layout, ranges, limit)
        )

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop."""

        def seek(connection: sqlite3.Connection) -> KeyPage:
            layout = self._connections.local.layout
            return one_by_one_keys(
                lambda key: sqlite_layout.first_key(connection, layout, key, stop),
                start,
                stop,
                leading,
                limit,
            )

        return self._read(seek)

    def put_many(
        self,
        rows: Iterable[tuple[bytes, bytes]],
        fields: Fields | None = None,  # noqa: ARG002 - nothing here compares them
    ) -> bool:
        """Write rows in one transaction: all or none."""
        self._write(lambda connection, layout: sqlite_layout.put(connection, layout, rows))
        return False

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows in one transaction."""
        self._write(lambda connection, layout: sqlite_layout.delete(connection, layout, keys))

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent)."""
        return self._write(
            lambda connection, layout: sqlite_layout.swap(connection, layout, key, expected, value)
        )

    def swap_together(self, swaps: Sequence[tuple[bytes, bytes, bytes]]) -> bool:
        """Write rows if all of them now have the expected values."""

        def work(connection: sqlite3.Connection, layout: Layout) -> bool:
            if any(sqlite_layout.get(connection, layout, key) != expected for key, expected, _ in swaps):
                return False
            sqlite_layout.put(connection, layout, [(key, value) for key, _, value in swaps])
            return True

        return self._write(work)

    def scrub(self, *, whole: bool) -> str | None:
        """Empty the write-ahead log, and write the file anew if `whole`; see `KeepsDeletedRows`."""
        try:
            connection = self._connection()
            self._require_same_file()
            if whole:
                connection.execute("VACUUM")
            connection.execute(f"PRAGMA busy_timeout = {_SCRUB_BUSY_SECONDS * 1000}")
            try:
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
            reason = "another connection reads it" if busy else None
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "full" not in str(error):
                raise self._failure(error) from error
            reason = str(error)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        if reason is None:
            return None
        return f"The files {self.path} and {self.path}-wal may have bytes of deleted rows ({reason}): do it again later."

    def close(self) -> None:
        """Close the connections of all threads."""
        self._connections.close()
        self._connections = _Connections()


def _leave_inherited() -> None:
    """Keep a forked child from using, or closing, its parent's connections: SQLite forbids both."""
    for store in list(_stores):
        _inherited.append(store._connections)
        store._connections = _Connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_inherited)
