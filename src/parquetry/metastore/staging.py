"""Tables that are made out of sight: filled first, then given their name in one step.

`CREATE TABLE … AS SELECT` and `REPLACE TABLE` need a table that others see complete or not at all.
"""

from __future__ import annotations

import os
import weakref

import msgspec

from parquetry.errors import (
    MetastoreDamagedError,
    NamespaceNotFoundError,
    StoreError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from parquetry.layout.places import join_location, path_below
from parquetry.metastore import owner
from parquetry.metastore.format import format_of, require_format
from parquetry.metastore.head import Head, State, edit_head, live_head, read_head, swap
from parquetry.metastore.keyspace import TABLE_ID_BYTES, head_key, metadata_key
from parquetry.metastore.model import Commit, TableMetadata, TakenOut, Totals
from parquetry.metastore.names import Named, Names, new_token
from parquetry.metastore.owner import Owner, now_ms
from parquetry.metastore.recovery import delete_table
from parquetry.metastore.snapshot import TableSnapshot, load
from parquetry.metastore.taken_out import live_files, taken_out
from parquetry.metastore.transaction import Transaction
from parquetry.metastore.wire import encode
from parquetry.store.base import Store


def create_staged(store: Store, metadata: TableMetadata, author: Owner) -> bytes:
    """Write the rows of an empty table without a name, and return its id."""
    _ = metadata.partition_types  # a partition column that is not among the columns fails here
    metadata.require_arrangeable(metadata.arrangement)
    require_format(store, format_of(metadata))
    id = os.urandom(TABLE_ID_BYTES)
    first = Commit(
        version=0,
        ticket=0,
        id=os.urandom(8).hex(),
        committed_at=now_ms(),
        operation="create",
        summary={},
        metadata=0,
        totals=Totals(),
        next_ticket=1,
    )
    # The head comes first: it tells whose the other rows are. A put that arrived late would undo all commits.
    head = Head("staged", "", "", b"", 1, {}, (), first, author=author, kind=metadata.kind)
    if not swap(store, head_key(id), None, encode(head)):
        raise StoreError(f"The head of a new table, {id.hex()}, could not be written; try again.")
    store.put_many([(metadata_key(id, 0), encode(metadata))])
    return id


class StagedTable:
    """A table that has no name yet. It is given up when the last reference to this object goes.

    Args:
        store: of the metastore.
        names: of the metastore.
        metadata: of the table.
        database: that it is for.
        name: that it is for.

    Attributes:
        id: of the table.
    """

    def __init__(self, store: Store, names: Names, metadata: TableMetadata, database: str, name: str) -> None:
        author = owner.enter()
        weakref.finalize(self, owner.leave, author)
        try:
            self.id = create_staged(store, metadata, author)
        except BaseException:
            owner.leave(author)  # now, however long the error is kept, and this object with it
            raise
        self._store = store
        self._names = names
        self._database = database
        self._name = name
        self._kind = metadata.kind

    @property
    def snapshot(self) -> TableSnapshot:
        """Return the newest version.

        Raises:
            TableNotFoundError: the table was discarded.
        """
        head = live_head(
            self._store, self.id, f"The table staged as {self._database}.{self._name} was discarded."
        )
        return load(self._store, self.id, head)

    def begin(self, operation: str) -> Transaction:
        """Begin a transaction on top of the newest version."""
        return self.snapshot.begin(operation)

    def publish(self, replace: bool = False) -> TableSnapshot:
        """Give the table its name.

        Args:
            replace: take the place of the table that has the name, if there is one; its rows are deleted, its
                files left alone. There is no moment at which the name stands for no table.

        Raises:
            NamespaceNotFoundError: the database was dropped meanwhile.
            TableExistsError: the name is taken, and `replace` is not given, or it is a view's, and this is a table, or the
                other way round.
            TableNotFoundError: the table was discarded.
        """
        token = new_token()
        head = self._set_name(self._database, self._name, token, "staged", "live")
        while True:
            found = self._names.find(self._database, self._name) if replace else None
            if found is not None and found.id != self.id:
                if found.head.kind != self._kind:
                    self._set_name("", "", b"", "live", "staged")
                    raise TableExistsError(
                        f"{self._database}.{self._name} is a {found.head.kind}, whose place no {self._kind} takes: "
                        f"DROP {found.head.kind.upper()} it first, or choose another name."
                    )
                if self._take_place_of(found, token):
                    break
                continue
            try:
                self._names.take(self._database, self._name, self.id, token)
                break
            except TableExistsError:
                if not replace:
                    self._set_name("", "", b"", "live", "staged")
                    raise
            except NamespaceNotFoundError:
                self._set_name("", "", b"", "live", "staged")
                self._names.release(self._database, self._name, self.id + token)
                raise
        return load(self._store, self.id, read_head(self._store, self.id) or head)

    def _set_name(self, database: str, name: str, token: bytes, before: State, after: State) -> Head:
        def change(head: Head) -> Head:
            if head.state != before:
                raise TableNotFoundError(
                    f"The table staged as {self._database}.{self._name} was discarded or published already."
                )
            return msgspec.structs.replace(head, state=after, database=database, name=name, token=token)

        return edit_head(
            self._store, self.id, change, lambda head: head.state == after and head.token == token
        )

    def _take_place_of(self, other: Named, token: bytes) -> bool:
        successor = self.id + token

        def change(head: Head) -> Head:
            if head.state != "live" or head.token != other.token:
                return head
            if passed_over not in (None, head.commit.version):  # it has left other files by now
                return head
            return msgspec.structs.replace(head, state="replaced", successor=successor)

        passed_over = self._pass_over(other)
        # This is the step that counts: from here on the old table's head leads to the new table.
        head = edit_head(self._store, other.id, change, lambda head: head.successor == successor)
        if head.successor != successor:
            return False
        # The old head is the only way to the new table until the row of the name has been changed; if this
        # fails because someone else has changed it, nobody needs the old head either.
        self._names.move(self._database, self._name, other.row, successor)
        delete_table(self._store, other.id)
        return True

    def _pass_over(self, other: Named) -> int | None:
        """Record what the table that is replaced leaves where this one lies; it was not meant to come back.

        Returns:
            the version of that table which was looked at; None: it lies elsewhere, or cannot be read.
        """
        head = read_head(self._store, other.id)
        mine = self.snapshot
        if head is None or head.state != "live":
            return None
        try:
            theirs = load(self._store, other.id, head)
            places = [f"{each.metadata.location.rstrip('/')}/" for each in (mine, theirs)]
            if not any(first.startswith(second) for first, second in (places, places[::-1])):
                return None
            left = {path: TakenOut(file.bytes, file.modified) for path, file in live_files(theirs)}
            for each in taken_out(theirs):
                left.setdefault(join_location(theirs.metadata.location, each.path), each.record)
        except (TableNotFoundError, MetastoreDamagedError):  # it may be replaced all the same
            return None
        known = {file.path: file.record for file in taken_out(mine)}
        below = {path_below(mine.metadata.location, path): record for path, record in left.items()}
        transaction = mine.begin("replace")
        transaction.record_taken_out({p: r for p, r in below.items() if p is not None and known.get(p) != r})
        transaction.commit()
        return theirs.version

    def discard(self) -> None:
        """Remove the table, unless it has been published."""

        def change(head: Head) -> Head:
            if head.state not in ("staged", "dropped"):
                raise UnsupportedError(
                    f"Table {self._database}.{self._name} is published already; drop it by its name."
                )
            return msgspec.structs.replace(head, state="dropped") if head.state == "staged" else head

        try:
            edit_head(self._store, self.id, change, lambda head: head.state == "dropped")
        except TableNotFoundError:
            return
        delete_table(self._store, self.id)
