"""A store on one table of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from parquetry.errors import StoreError, WarehouseError
from parquetry.store.base import Fields
from parquetry.store.batches import MAX_BATCH_BYTES, next_batch
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups, KeyPage, Leading, Range, ReadCosts, Row
from parquetry.store.passwords import NO_PASSWORDS
from parquetry.store.postgresql.address import Address
from parquetry.store.postgresql.connections import PostgreSQLConnections, StatementError
from parquetry.store.postgresql.pages import FIRST_BATCH, Pages
from parquetry.store.postgresql.statements import Statements, array_of_bytes

ROWS_PER_WRITE = 1000
_COLUMNS = [("key", "bytea"), ("value", "bytea"), ("fields", "bytea[]")]


class PostgreSQLStore:
    """An ordered map in a table of PostgreSQL, shared by machines.

    A call runs one or more statements, each a transaction of its own. No lock outlives a call.

    Args:
        address: the server and the table.
        create: whether to create the table if it does not exist.

    Raises:
        StoreError: the server cannot be reached.
        WarehouseError: the table does not exist and `create` is False, or it is not a store.
    """

    leaves_out = True
    costs = ReadCosts(request=50, seek=2, lookup=3, tested=0.1, counted=0.05)

    def __init__(self, address: Address, *, create: bool = True) -> None:
        self._label = address.label
        self._connections = PostgreSQLConnections(address)
        self._statements = Statements(address.table)
        self._pages = Pages(self._connections, self._statements)
        try:
            self._require_table(create)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls, url: str, *, create: bool = False, passwords: Mapping[str, str] = NO_PASSWORDS
    ) -> PostgreSQLStore:
        """Open the store that ``postgresql://user@host:port/database?table=NAME`` names.

        Raises:
            ConfigurationError: the URL has another form.
        """
        return cls(Address.parse(url, passwords), create=create)

    def _require_table(self, create: bool) -> None:
        columns = self._columns()
        if not columns:
            if not create:
                raise WarehouseError(
                    f"There is no {self._label}; create the metastore first, or correct the store's URL."
                )
            try:
                self._connections.run(self._statements.create)
            except WarehouseError as error:
                raise WarehouseError(
                    f"The {self._label} cannot be made: {error.message.removesuffix('.')} and CREATE on its schema."
                ) from error
            except StatementError:
                columns = self._columns()  # another client was quicker
                if not columns:
                    raise
            else:
                return
        if columns != _COLUMNS:
            raise WarehouseError(
                f"The {self._label} is not a metastore: its columns are {', '.join(name for name, _ in columns)}; "
                "name another: postgresql://…?table=NAME."
            )

    def _columns(self) -> list[tuple[str, str]]:
        name = self._statements.table.as_string()
        return [(name, type) for name, type in self._rows(self._statements.columns, [name])]

    def server_time(self) -> int:
        """Return the server's time, in milliseconds since the epoch."""
        time: int = self._rows(self._statements.time, [])[0][0]
        return time

    # -- reading

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        rows = self._rows(self._statements.get, [key])
        value: bytes | None = rows[0][0] if rows else None
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values: list[bytes | None] = []
        size = FIRST_BATCH
        while len(values) < len(keys):
            batch = keys[len(values) : len(values) + size]
            rows = self._rows(self._statements.get_many, [list(batch)])
            values += map(dict(rows).get, batch)
            size = next_batch(size, rows)
        return values

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the rows with start <= key < stop in key order, or in reverse order."""
        return self._pages.scan(start, stop, limit, reverse)

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
        return islice(self._pages.scan_ranges(ranges, limit, each, where, groups), limit)

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        return self._pages.count(ranges, limit)

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop."""
        return self._pages.first_keys(start, stop, leading, limit)

    # -- writing

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        """Write rows, a thousand at a time; return whether an earlier try may write some of them again."""
        in_doubt = False
        batch: dict[bytes, bytes] = {}
        size = 0
        for key, value in rows:
            batch[key] = value
            size += len(key) + len(value)
            if len(batch) == ROWS_PER_WRITE or size > MAX_BATCH_BYTES:
                in_doubt |= self._put(batch, fields)
                batch, size = {}, 0
        if batch:
            in_doubt |= self._put(batch, fields)
        return in_doubt

    def _put(self, rows: dict[bytes, bytes], fields: Fields | None) -> bool:
        """Write rows in key order, so that two writers of the same rows never deadlock."""
        keys = sorted(rows)
        arguments: list[list[Any]] = [keys, [rows[key] for key in keys]]
        if fields is None:
            return self._connections.run(self._statements.put, arguments)[2]
        arguments.append([array_of_bytes(fields(key)) for key in keys])
        return self._connections.run(self._statements.put_with_fields, arguments)[2]

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows, a thousand at a time."""
        remaining = iter(keys)
        while batch := list(islice(remaining, ROWS_PER_WRITE)):
            self._connections.run(self._statements.delete, [sorted(set(batch))])

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent).

        Raises:
            StoreError: the server went away, and the row may or may not have been written.
        """
        if value is None:
            if expected is None:
                return self.get(key) is None
            return self._change(key, self._statements.remove, [key, expected])
        if expected is None:
            return self._change(key, self._statements.insert, [key, value])
        return self._change(key, self._statements.swap, [value, key, expected])

    def swap_together(self, swaps: Sequence[tuple[bytes, bytes, bytes]]) -> bool:
        """Write rows if all of them now have the expected values.

        Raises:
            StoreError: the server went away, and all rows or none may have been written.
        """
        columns = [list(column) for column in zip(*swaps, strict=True)]
        return self._change(swaps[0][0], self._statements.swap_together, columns, len(swaps))

    def _change(self, key: bytes, statement: Any, arguments: Sequence[Any], rows: int = 1) -> bool:
        try:
            return self._connections.run(statement, arguments, repeat=False)[1] == rows
        except StatementError as error:
            if not error.sent:
                raise
            raise StoreError(
                f"Whether row {key.hex()} of the {self._label} was changed is not known "
                f"({error.message.removesuffix('.')}); read it before trying again."
            ) from error

    def _rows(self, statement: Any, arguments: Sequence[Any]) -> list[Any]:
        return self._connections.run(statement, arguments)[0]

    def scrub(self, *, whole: bool) -> str:  # noqa: ARG002
        """Say who removes the bytes of deleted rows; see `KeepsDeletedRows`."""
        table = self._statements.table.as_string()
        return (
            f"The {self._label} has deleted rows in free space of its pages until VACUUM (FULL) {table}, which locks it "
            "meanwhile (VACUUM alone leaves the bytes), and in its write-ahead log, in replicas and in backups."
        )

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()
