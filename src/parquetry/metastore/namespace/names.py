"""The names of tables.

The row of a name has a table's id and a token. It is in force only if the table's head has the same name and
the same token. So a row that a crash left behind means nothing, and may be overwritten. A stale row stays
stale, because a token is never used twice. In metastores of earlier formats a table may have replaced another
one; then the head of the old table leads to the new one.

A name is taken in three steps, for a renaming and for the first name of a new table:

1. The head announces the name and the token.
2. The row of the name is written.
3. The head says that the name is in force.

So a process that finds a row can finish what another process began. A live head that announces nothing has
its name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from parquetry.errors import CommitConflictError, NamespaceNotFoundError, TableExistsError, TableNotFoundError
from parquetry.metastore.namespace.databases import Databases
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.format import FIRST, require_format
from parquetry.metastore.storage.head import Head, Kind, decode_head, edit_head, read_head, swap
from parquetry.metastore.storage.intents import settle_intents
from parquetry.store import Store, in_batches

_HEADS_PER_BATCH = 1000
MAX_NAME_SCANS = 4
"""Scans of a database's names while they keep changing. After them, all heads are read instead."""


class NamedTable(NamedTuple):
    """A live table that the row of a name leads to.

    Attributes:
        id: id of the table.
        head: head of the table.
        token: the token in the name's row, or in the head of the table that this one replaced.
        row: the value of the name's row.
    """

    id: bytes
    head: Head
    token: bytes
    row: bytes


def new_token() -> bytes:
    """Return a token that was never used."""
    return os.urandom(8)


class TableNames:
    """The names of a metastore's tables. Callers pass normalised names."""

    def __init__(self, store: Store, databases: Databases) -> None:
        self._store = store
        self._databases = databases

    def find(self, database: str, name: str) -> NamedTable | None:
        """Return the table of a name, or None if no table has it."""
        key = keyspace.name_key(database, name)
        row = self._store.get(key)
        while row is not None:
            named = self._follow(row, lambda table: read_head(self._store, table))
            if named is not None and _agrees(named, database, name):
                return named
            again = self._store.get(key)
            if again == row:
                return None
            row = again  # another process took the name between the two reads
        return None

    def find_by_id(self, table: bytes) -> NamedTable | None:
        """Return a table, or None if it was dropped or the name in its head does not lead to it."""
        head = read_head(self._store, table)
        while head is not None and head.state == "live":
            named = self.find(head.database, head.name)
            if named is not None and named.id == table and self._databases.exists(head.database):
                return named
            before, head = head, read_head(self._store, table)
            if head is not None and head.token == before.token:
                return None
        return None

    def ids(self) -> tuple[set[bytes], set[bytes]]:
        """Return the ids of live tables and views: first the ones that their names lead to, then the others.

        A table that is renamed meanwhile is not missed, because its head keeps its key.
        """
        reached: set[bytes] = set()
        others: set[bytes] = set()
        databases = set(self._databases.names())
        for batch in in_batches(self._store.scan(*keyspace.prefix_range(keyspace.HEADS)), _HEADS_PER_BATCH):
            heads = [(key[len(keyspace.HEADS) :], decode_head(value)) for key, value in batch]
            live = [(id, head) for id, head in heads if head.state == "live"]
            rows = self._store.get_many([keyspace.name_key(head.database, head.name) for _, head in live])
            for (id, head), row in zip(live, rows, strict=True):
                as_said = row == id + head.token and head.database in databases
                (reached if as_said or self.find_by_id(id) is not None else others).add(id)
        return reached, others

    def orphans(self) -> list[tuple[bytes, Head]]:
        """Return the live tables and views that had a name once and that no name leads to now."""
        orphans = []
        for id in sorted(self.ids()[1]):
            head = read_head(self._store, id)
            if (
                head is not None
                and head.state == "live"
                and not head.is_first_name
                and self.find_by_id(id) is None
            ):
                orphans.append((id, head))
        return orphans

    def _follow(self, row: bytes, head_of: Callable[[bytes], Head | None]) -> NamedTable | None:
        """Return the live table that the row of a name leads to, even if it has another name by now."""
        id, token = row[: keyspace.TABLE_ID_BYTES], row[keyspace.TABLE_ID_BYTES :]
        head = head_of(id)
        while head is not None and head.state == "replaced" and head.successor is not None:
            id, token = head.successor[: keyspace.TABLE_ID_BYTES], head.successor[keyspace.TABLE_ID_BYTES :]
            head = head_of(id)
        if head is None or head.state != "live":
            return None
        return NamedTable(id, head, token, row)

    def list(self, database: str, kind: Kind | None = None) -> list[str]:
        """Return the sorted names of a database's tables or views, or of both, as of one moment."""
        names: set[str] = set()
        rows, heads = self._read(database)
        for key, row in rows:
            # A table that is being renamed has two rows, and one head, which knows its name.
            each = self._follow(row, lambda table: heads.get(table) or read_head(self._store, table))
            if each is None:  # since the row was read, another table may have taken the name
                each = self.find(database, key[len(keyspace.names_prefix(database)) :].decode())
            if each is not None and each.head.database == database and kind in (None, each.head.kind):
                names.add(each.head.name)
        return sorted(names)

    def _read(self, database: str) -> tuple[Sequence[tuple[bytes, bytes]], dict[bytes, Head]]:
        """Return the rows of a database's names, and the heads that they lead to, as of one moment.

        One scan may miss a table that is renamed meanwhile. It may pass the key of the new name before the
        row is written, and reach the key of the old name after that row is deleted. A transaction may also
        rename one table and make another. So rows and heads are read until both are the same twice. If they
        keep changing, all heads are read, and a table that exists the whole time is among them.
        """
        last: tuple[dict[bytes, bytes], dict[bytes, Head]] | None = None
        for _ in range(MAX_NAME_SCANS):
            again = dict(self._store.scan(*keyspace.prefix_range(keyspace.names_prefix(database))))
            heads = self._heads(again)
            if last is not None and again == last[0] and _names_in(heads) == _names_in(last[1]):
                return [*again.items()], heads
            last = again, heads
        assert last is not None
        rows = dict.fromkeys(last[0].items())
        for key, value in self._store.scan(*keyspace.prefix_range(keyspace.HEADS)):
            head = decode_head(value)
            if head.state == "live" and head.database == database and not head.is_first_name:
                rows[keyspace.name_key(database, head.name), key[len(keyspace.HEADS) :] + head.token] = None
        return [*rows], {}

    def _heads(self, rows: dict[bytes, bytes]) -> dict[bytes, Head]:
        """Return the heads that rows of names lead to, by the tables' ids."""
        ids = list(dict.fromkeys(row[: keyspace.TABLE_ID_BYTES] for row in rows.values()))
        values = self._store.get_many([keyspace.head_key(id) for id in ids])
        return {id: decode_head(value) for id, value in zip(ids, values, strict=True) if value is not None}

    def take(self, database: str, name: str, table: bytes, token: bytes) -> None:
        """Write the row of a name. The head must already have, or have announced, the name and the token.

        Raises:
            TableExistsError: another table has the name.
            NamespaceNotFoundError: the database was dropped. The row may have been written; to undo it,
                change the head first and then `release` the row.
        """
        key, mine = keyspace.name_key(database, name), table + token
        while True:
            row = self._store.get(key)
            if row == mine:
                break
            if row is not None:
                self._settle(row, database)
                if (other := self.find(database, name)) is not None:
                    raise _exists(other)
                # The row was stale when it was read, and is replaced only if it is still the same.
            if swap(self._store, key, row, mine):
                break
        self.pin(database)

    def finish(self, table: bytes, token: bytes) -> bool:
        """Put a new table's first name in force, once its row is written; return False if it was withdrawn.

        From here on, no vacuum takes the table for one that was never finished.
        """
        try:
            return self._finish(table, token).state != "staged"
        except TableNotFoundError:  # dropped by its name since
            return True

    def withdraw_new(self, database: str) -> None:
        """Withdraw the names announced in a database that was dropped, both first names and renamings.

        Otherwise their tables would appear in a new database of the same name. A process that is still at
        work on one notices, and tries again.
        """
        for key, row in self._store.scan(*keyspace.prefix_range(keyspace.names_prefix(database))):
            id, token = row[: keyspace.TABLE_ID_BYTES], row[keyspace.TABLE_ID_BYTES :]
            head = read_head(self._store, id)
            if head is None or head.renaming is None or head.renaming[2] != token:
                continue
            with contextlib.suppress(TableNotFoundError):  # another process has removed it
                if self.withdraw(id, token):
                    swap(self._store, key, row, None)

    def pin(self, database: str) -> None:
        """Make sure that a process that drops a database sees the names that were just written into it.

        Raises:
            NamespaceNotFoundError: the database was dropped.
        """
        if not self._databases.pin(database):
            raise NamespaceNotFoundError(f"Database {database!r} does not exist; CREATE DATABASE makes it.")

    def settle_name(self, database: str, name: str) -> None:
        """Finish the renaming, or the creation, that has reserved a name.

        Raises:
            NamespaceNotFoundError: the database was dropped.
            TableNotFoundError: the table was dropped meanwhile.
        """
        row = self._store.get(keyspace.name_key(database, name))
        if row is not None:
            self._settle(row, database)

    def settle(self, database: str) -> None:
        """Finish the renamings, and the transactions, that have reserved a name in a database."""
        settle_intents(self._store, keyspace.names_prefix(database))
        for _, row in self._store.scan(*keyspace.prefix_range(keyspace.names_prefix(database))):
            self._settle(row, database)

    def _settle(self, row: bytes, database: str) -> None:
        """Finish the renaming that reserved a name, so that the name's row is either in force or stale."""
        id, token = row[: keyspace.TABLE_ID_BYTES], row[keyspace.TABLE_ID_BYTES :]
        head = read_head(self._store, id)
        if head is not None and head.renaming is not None and head.renaming[2] == token:
            self.pin(database)
            self._finish(id, token)

    def release(self, database: str, name: str, row: bytes) -> None:
        """Remove the row of a name if it has not changed."""
        swap(self._store, keyspace.name_key(database, name), row, None)

    def move(self, database: str, name: str, row: bytes, successor: bytes) -> bool:
        """Write another table into the row of a name, if the row has not changed."""
        return swap(self._store, keyspace.name_key(database, name), row, successor)

    def rename(self, table: NamedTable, database: str, name: str) -> Head | None:
        """Give a table another name.

        The head announces the name first, then the row of the name is written, then the head takes the name.
        A process that finds the row in between finishes what the head announces.

        Returns:
            the new head, or None if the head had changed; then nothing was done.

        Raises:
            TableExistsError: another table has the name.
            NamespaceNotFoundError: the database was dropped.
            CommitConflictError: another process renamed or dropped the table.
        """
        if (other := self.find(database, name)) is not None:
            raise _exists(other)
        before = table.head.renaming
        if before is not None and self._store.get(keyspace.name_key(*before[:2])) == table.id + before[2]:
            self._settle(table.id + before[2], before[0])
            settled = read_head(self._store, table.id)
            # A crash may have left the same renaming half done; then this call has finished it.
            return settled if settled and (settled.database, settled.name) == (database, name) else None
        token = new_token()
        if not self._announce(table, (database, name, token)):
            return None
        try:
            head = self._take_announced(table, (database, name, token))
        except TableNotFoundError:
            if (dropped := self._dropped_after(table, (database, name, token))) is None:
                raise
            return dropped
        if head.token != token:
            if head.is_deleted and (head.database, head.name) == (database, name):
                return head  # others finished the renaming, and dropped the table under its new name
            raise CommitConflictError(
                f"Table {table.head.database}.{table.head.name} was renamed or dropped meanwhile."
            )
        self.release(table.head.database, table.head.name, table.row)
        return head

    def _take_announced(self, table: NamedTable, renaming: tuple[str, str, bytes]) -> Head:
        """Take the name that a table's head has announced, and return the head."""
        database, name, token = renaming
        try:
            self.take(database, name, table.id, token)
        except (TableExistsError, NamespaceNotFoundError):
            if self.withdraw(table.id, token):
                self.release(database, name, table.id + token)
                # CASCADE may have finished the renaming, and dropped the table with its new database
                if (dropped := self._dropped_after(table, renaming)) is not None:
                    return dropped
                raise
        return self._finish(table.id, token)

    def _dropped_after(self, table: NamedTable, renaming: tuple[str, str, bytes]) -> Head | None:
        """Return the head of a table that others renamed and then dropped, or None if it was not renamed.

        If the head is gone, the row of the old name tells: a DROP under that name removes it first.
        """
        database, name, token = renaming
        head = read_head(self._store, table.id)
        if head is not None:
            is_renamed = head.is_deleted and (head.database, head.name) == (database, name)
            return head if is_renamed else None
        before = table.head
        if self._store.get(keyspace.name_key(before.database, before.name)) != table.row:
            return None
        self.release(before.database, before.name, table.row)
        return msgspec.structs.replace(
            before, state="dropped", database=database, name=name, token=token, renaming=None
        )

    def _announce(self, table: NamedTable, renaming: tuple[str, str, bytes]) -> bool:
        def change(head: Head) -> Head:
            require_format(self._store, FIRST)  # a restore elsewhere may have retired the metastore
            if head.state != "live" or head.token != table.token or head.renaming != table.head.renaming:
                return head
            return msgspec.structs.replace(head, renaming=renaming)

        def is_done(head: Head) -> bool:
            return head.renaming == renaming or head.token == renaming[2]

        return is_done(edit_head(self._store, table.id, change, is_done))

    def withdraw(self, table: bytes, token: bytes) -> bool:
        """Withdraw an announced name; return False if another process has finished the renaming."""

        def is_done(head: Head) -> bool:
            return head.renaming is None or head.renaming[2] != token

        def change(head: Head) -> Head:
            if is_done(head):
                return head
            if head.is_first_name:
                return msgspec.structs.replace(
                    head, state="staged", database="", name="", token=b"", renaming=None
                )
            return msgspec.structs.replace(head, renaming=None)

        return edit_head(self._store, table, change, is_done).token != token

    def _finish(self, table: bytes, token: bytes) -> Head:
        """Give a table the name that it has announced and reserved.

        The returned head shows whether it has it now.
        """

        def change(head: Head) -> Head:
            if head.state != "live" or head.renaming is None or head.renaming[2] != token:
                return head
            database, name, _ = head.renaming
            return msgspec.structs.replace(
                head, database=database, name=name, token=token, renaming=None, author=None
            )

        return edit_head(self._store, table, change, lambda head: head.token == token)


def _names_in(heads: dict[bytes, Head]) -> dict[bytes, tuple[str, str, str, bytes]]:
    """Return what heads say about names, which most commits do not change."""
    return {id: (head.state, head.database, head.name, head.token) for id, head in heads.items()}


def _exists(other: NamedTable) -> TableExistsError:
    head = other.head
    return TableExistsError(f"{head.kind.capitalize()} {head.database}.{head.name} exists already.")


def _agrees(table: NamedTable, database: str, name: str) -> bool:
    head = table.head
    return (head.database, head.name, head.token) == (database, name, table.token)
