"""A store on one table of HBase."""

from __future__ import annotations

import contextlib
import threading
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from parquetry.errors import ConfigurationError, StoreError, WarehouseError
from parquetry.store.base import Fields
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups, KeyPage, Leading, Range, ReadCosts
from parquetry.store.hbase.client import Cell, HBaseTable
from parquetry.store.hbase.connection import Connections, RequestError
from parquetry.store.hbase.filters import Row, put_cell, swap_cell, value_of
from parquetry.store.hbase.scans import (
    FIRST_BATCH_ROWS,
    MAX_BATCH_BYTES,
    backward,
    count,
    first_keys,
    firsts,
    forward,
    leading,
    next_size,
)
from parquetry.store.passwords import without_password

DEFAULT_PORT = 9090
TIMEOUT_SECONDS, PATIENCE_SECONDS = 60.0, 30.0
ROWS_PER_WRITE = 1000


class HBaseStore:
    """An ordered map in a table of HBase, reached through a Thrift2 server.

    Args:
        host: host of the Thrift2 server.
        port: port of the Thrift2 server.
        table: name of the table, with or without ``namespace:``.
        create: whether to create the table if it does not exist.
        splits: keys at which a new table is split into regions.
        timeout: seconds to wait for an answer.
        patience: seconds to try again while servers are away.

    Raises:
        StoreError: the server cannot be reached.
        WarehouseError: the table does not exist and `create` is False, or it is not a store.
    """

    leaves_out = True
    costs = ReadCosts(request=40, seek=40, lookup=3, tested=0.2, counted=0.5)

    def __init__(
        self,
        host: str,
        port: int,
        table: str,
        *,
        create: bool = True,
        splits: Sequence[bytes] = (),
        timeout: float = TIMEOUT_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._connections = Connections(host, port, timeout, patience)
        self._table = HBaseTable(self._connections, table)
        self._local = threading.local()
        if not self._table.exists():
            if not create:
                self.close()
                raise WarehouseError(
                    f"There is no {self._table.label}; create the metastore first, or correct the store's URL."
                )
            self._table.create(splits)

    @classmethod
    def open(cls, url: str, *, create: bool = False) -> HBaseStore:
        """Open the store that ``hbase://host[:port]/[namespace:]table`` names.

        Parameters of `HBaseStore` may follow a question mark: ``timeout`` and ``patience`` in seconds,
        ``splits`` in hexadecimal digits with commas between them.

        Raises:
            ConfigurationError: the URL has another form.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            host, port = parts.hostname, _port(parts)
            table = urllib.parse.unquote(parts.path.removeprefix("/"))
            options = dict(urllib.parse.parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            timeout = float(options.pop("timeout", TIMEOUT_SECONDS))
            patience = float(options.pop("patience", PATIENCE_SECONDS))
            splits = [bytes.fromhex(key) for key in options.pop("splits", "").split(",") if key]
            if not host or not table or "/" in table or options or timeout <= 0 or patience < 0:
                raise ValueError(
                    f"unknown option {min(options)!r}" if options else "a part is missing or wrong"
                )
        except ValueError as error:
            raise ConfigurationError(
                f"Store {without_password(url)!r} is not understood: {error}; write hbase://host:port/table, optionally with "
                "?timeout=SECONDS&patience=SECONDS&splits=HEX,HEX."
            ) from None
        return cls(host, port, table, create=create, splits=splits, timeout=timeout, patience=patience)

    # -- reading

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        cell = self._table.get([key])[0]
        # A compare-and-set mostly follows a get of the same row by the same thread.
        self._local.seen = (key, cell)
        return _value(cell)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values: list[bytes | None] = []
        size = FIRST_BATCH_ROWS
        while len(values) < len(keys):
            cells = self._table.get(keys[len(values) : len(values) + size])
            values += map(_value, cells)
            size = next_size(size, [cell.stored for cell in cells if cell is not None])
        return values

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the rows with start <= key < stop in key order, or in reverse order."""
        if stop is not None and start >= stop:
            return iter(())  # HBase takes equal bounds for a Get
        rows = (
            backward(self._table, start, stop, limit)
            if reverse
            else forward(self._table, [(start, stop)], limit)
        )
        return rows if limit is None else islice(rows, limit)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of disjoint ranges in key order, without most of the rows that may be left out."""
        wanted = [(start, stop) for start, stop in ranges if stop is None or start < stop]
        if groups is not None:
            rows = leading(self._table, wanted, groups, each is not None, limit, where)
        elif each is None:
            rows = forward(self._table, wanted, limit, len(wanted), where)
        else:
            rows = firsts(self._table, wanted, each, where)
        return rows if limit is None else islice(rows, limit)

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more.

        Rows that a compare-and-set has removed may count.
        """
        return count(
            self._table, [(start, stop) for start, stop in ranges if stop is None or start < stop], limit
        )

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop; it may be a removed row's."""
        return first_keys(self._table, start, stop, leading, limit)

    # -- writing

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        """Write rows, a thousand at a time; return whether an earlier try may write some of them again."""
        in_doubt = False
        batch: dict[bytes, tuple[bytes, bytes, Sequence[bytes]]] = {}
        size = 0
        for key, value in rows:
            batch[key] = (key, put_cell(value), () if fields is None else fields(key))
            size += len(key) + len(value)
            if len(batch) == ROWS_PER_WRITE or size > MAX_BATCH_BYTES:
                in_doubt |= self._table.put(batch.values())
                batch, size = {}, 0
        if batch:
            in_doubt |= self._table.put(batch.values())
        return in_doubt

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows, a thousand at a time."""
        remaining = iter(keys)
        while batch := list(dict.fromkeys(islice(remaining, ROWS_PER_WRITE))):
            self._table.delete(batch)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent).

        Raises:
            StoreError: the store failed, and the row may or may not have been written.
        """
        if expected is None and value is None:
            return self.get(key) is None
        stored = swap_cell(value)
        if not self._swap(key, expected, stored):
            return False
        if value is None:
            with contextlib.suppress(StoreError):  # a tombstone does as well
                self._table.remove(key, stored)
        return True

    def _swap(self, key: bytes, expected: bytes | None, stored: bytes) -> bool:
        seen_key, cell = getattr(self._local, "seen", (None, None))
        self._local.seen = (None, None)
        if seen_key != key or _value(cell) != expected:
            cell = self._table.get([key])[0]
        while _value(cell) == expected:
            failure = None
            try:
                if self._table.swap(key, cell, stored):
                    return True
            except RequestError as error:
                if not error.sent:
                    raise
                failure = error
            # False proves nothing: the Thrift2 server may have tried twice, and stored it the first time.
            cell = self._table.get([key])[0]
            if cell is not None and cell.stored == stored:
                return True
            if failure is not None:
                raise StoreError(
                    f"Whether row {key.hex()} of the {self._table.label} was changed is not known "
                    f"({failure.message.removesuffix('.')}); read it before trying again."
                ) from failure
        return False

    def scrub(self, *, whole: bool) -> str:  # noqa: ARG002
        """Say who removes the bytes of deleted rows; see `KeepsDeletedRows`."""
        return (
            f"The {self._table.label} has deleted rows in its files until flush and major_compact in HBase's shell, in its "
            "archive for some minutes more, and in write-ahead logs, replicas and snapshots."
        )

    def close(self) -> None:
        """Close the connections of all threads."""
        self._connections.close()


def _value(cell: Cell | None) -> bytes | None:
    return None if cell is None else value_of(cell.stored)


def _port(parts: urllib.parse.SplitResult) -> int:
    """Return the port of a URL.

    Raises:
        ValueError: it is not a number. The message does not repeat it: it may be a part of a password.
    """
    try:
        return parts.port or DEFAULT_PORT
    except ValueError:
        raise ValueError("the port is not a number") from None
