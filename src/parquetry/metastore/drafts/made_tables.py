"""Tables that a transaction of several tables makes.

In the store, such a table is a staged table of this process. It has no name, but it has all of its rows. So a
large one takes no memory, and if the process dies, a vacuum removes it. Only the transaction sees it under
its name, which the commit of the transaction gives to it.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator

import msgspec

from parquetry.errors import TableNotFoundError
from parquetry.metastore.cleanup.retention import delete_table
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles
from parquetry.metastore.storage import keyspace, owner
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, State, decode_head, edit_head
from parquetry.metastore.storage.intents import TRANSACTION, HeadName
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions.snapshot import load
from parquetry.store import Store

_LOG = logging.getLogger("parquetry")
_STAGED = {"state": "staged", "database": "", "name": "", "token": b"", "renaming": None}
"""The fields of a head that the transaction alone sees otherwise."""


class _View(msgspec.Struct, frozen=True):
    """The fields of a head that the transaction sees in place of `_STAGED` and of the author."""

    state: State
    database: str
    name: str
    token: bytes
    renaming: tuple[str, str, bytes] | None
    author: Owner | None


class MadeTables:
    """The tables that a transaction has made.

    Args:
        store: store of the metastore, seen with absolute locations and without checksums.
        transaction: id of the transaction, for the tables' histories.
    """

    def __init__(self, store: Store, transaction: str) -> None:
        self._store = store
        self._transaction = transaction
        self._views: dict[bytes, _View] = {}
        self._author: Owner | None = None
        self.leave: Callable[[], object] = lambda: None
        """Ends the life of the tables' author: a vacuum removes the tables that have got no name."""

    def __contains__(self, table: bytes) -> bool:
        """Return whether the transaction has made a table."""
        return table in self._views

    def has_row(self, key: bytes) -> bool:
        """Return whether a row belongs to a table that the transaction has made."""
        return keyspace.is_row_of_table(key) and keyspace.table_in(key) in self._views

    def make(self, table: bytes, head: Head) -> bool:
        """Write the head of a new table into the store, with this process as its author."""
        if self._author is None:
            self._author = msgspec.structs.replace(owner.enter(), started_at=store_now_ms(self._store))
            self.leave = weakref.finalize(self, owner.leave, self._author)  # also if the session is lost
        commit = msgspec.structs.replace(head.commit, summary=self._note(head.commit.summary))
        staged = msgspec.structs.replace(head, author=self._author, commit=commit, **_STAGED)
        if not self._store.compare_and_set(keyspace.head_key(table), None, encode(staged)):
            return False
        self._views[table] = _view(head)
        return True

    def read_head(self, table: bytes) -> bytes | None:
        """Return the head of a table as the transaction sees it, or None if it was discarded."""
        value = self._store.get(keyspace.head_key(table))
        if value is None:
            return None
        return encode(
            msgspec.structs.replace(decode_head(value), **msgspec.structs.asdict(self._views[table]))
        )

    def change_head(self, table: bytes, changed: Head) -> bool:
        """Change the head of a table: the store has all of it but the name, which is kept here."""
        key = keyspace.head_key(table)
        value = self._store.get(key)
        if value is None:
            return False
        before = decode_head(value)
        commit = changed.commit
        if commit.id != before.commit.id:
            commit = msgspec.structs.replace(commit, summary=self._note(commit.summary))
        after = msgspec.structs.replace(changed, author=before.author, commit=commit, **_STAGED)
        if after != before and not self._store.compare_and_set(key, value, encode(after)):
            return False
        self._views[table] = _view(changed)
        return True

    def forget(self, table: bytes) -> None:
        """Take note that a table was discarded, with its rows."""
        self._views.pop(table, None)

    @property
    def labels(self) -> list[str]:
        """Return the names of the tables."""
        return [f"{each.database}.{each.name}" for each in self._views.values() if each.state == "live"]

    def names(self) -> Iterator[tuple[bytes, HeadName]]:
        """Yield the tables that the transaction has not dropped again, with their names."""
        for table, each in self._views.items():
            if each.state == "live":
                yield table, HeadName("live", each.database, each.name, each.token)

    def discard(self, published: bool) -> None:
        """Remove tables with their files, and end the life of the others' author.

        Args:
            published: whether the tables that `names` yields have their names now, so that they stay.
        """
        kept = {table for table, _ in self.names()} if published else set()
        try:
            for table in [table for table in self._views if table not in kept]:
                try:
                    self._discard(table)
                except TableNotFoundError:  # the statement that made it has discarded it
                    continue
                except Exception as error:  # noqa: BLE001  # whatever a store or a file system does
                    _LOG.warning("A table of a transaction that is not needed is left to a vacuum: %s", error)
        finally:
            self.leave()

    def _discard(self, table: bytes) -> None:
        def change(head: Head) -> Head:
            return msgspec.structs.replace(head, state="dropped") if head.state == "staged" else head

        head = edit_head(self._store, table, lambda head: head, lambda _: True)
        files = (
            None if head.kind == "view" else DroppedTableFiles(load(self._store, table, head), given_up=True)
        )
        edit_head(self._store, table, change, lambda head: head.state == "dropped")
        for failure in files.delete() if files is not None else ():
            _LOG.warning("A file of a table that a transaction made and gave up is left: %s", failure)
        delete_table(self._store, table)

    def _note(self, summary: dict[str, str]) -> dict[str, str]:
        return {**summary, TRANSACTION: self._transaction}


def _view(head: Head) -> _View:
    return _View(*(getattr(head, field) for field in _View.__struct_fields__))
