"""Tables that are made out of sight: they are filled first, and then get their name in one step.

`CREATE TABLE … AS SELECT` needs a table that others see complete or not at all. `commits.replacement`
replaces the content of an existing table.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator

import msgspec

from parquetry import errors
from parquetry.metastore.cleanup.retention import delete_table
from parquetry.metastore.namespace.names import TableNames, new_token
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import FIRST, format_of, require_format
from parquetry.metastore.storage.head import Head, State, edit_head, live_head, read_head, swap
from parquetry.metastore.storage.keyspace import TABLE_ID_BYTES, head_key, metadata_key
from parquetry.metastore.storage.model import CommitRecord, TableMetadata, Totals
from parquetry.metastore.storage.origin import ChangeCounts, Origin, current_author
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_again
from parquetry.store import Store


def create_staged(store: Store, metadata: TableMetadata, author: Owner) -> bytes:
    """Write the rows of an empty table without a name, and return its id."""
    _ = metadata.partition_types  # a partition column that is not among the columns fails here
    metadata.require_arrangeable(metadata.arrangement)
    require_format(store, format_of(metadata))
    id, now = os.urandom(TABLE_ID_BYTES), store_now_ms(store)
    first = CommitRecord(
        version=0,
        ticket=0,
        id=os.urandom(8).hex(),
        committed_at=now,
        operation="create",
        summary={},
        metadata=0,
        totals=Totals(),
        next_ticket=1,
        origin=Origin(current_author(metadata.properties), ChangeCounts()),
    )
    # The head comes first, as it says whose the other rows are. It is written by compare-and-set, because a
    # plain write that arrives late would undo all commits.
    head = Head("staged", "", "", b"", 1, {}, (), first, author=author, kind=metadata.kind)
    if not swap(store, head_key(id), None, encode(head)):
        raise errors.StoreError(f"The head of a new table, {id.hex()}, could not be written; try again.")
    store.put_many([(metadata_key(id, 0), encode(metadata))])
    return id


class StagedTable:
    """A table that has no name yet. It becomes an orphan when the last reference to this object ends.

    Args:
        store: store of the metastore.
        names: names of the metastore's tables.
        metadata: metadata of the table.
        database: database of its future name.
        name: its future name.

    Attributes:
        id: id of the table.
    """

    def __init__(
        self, store: Store, names: TableNames, metadata: TableMetadata, database: str, name: str
    ) -> None:
        now = store_now_ms(store)
        author = msgspec.structs.replace(owner.enter(), started_at=now)
        self._leave = weakref.finalize(self, owner.leave, author)
        with self._leave_on_failure():
            self.id = create_staged(store, metadata, author)
        self._store = store
        self._names = names
        self._database = database
        self._name = name
        self._kind = metadata.kind

    @contextlib.contextmanager
    def _leave_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._leave()  # now: the error may keep this object alive for long
            raise

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

    def make_visible(self) -> TableSnapshot:
        """Give the table its name, or leave it as an orphan if that fails and it has not got the name.

        Raises:
            NamespaceNotFoundError: the database was dropped meanwhile.
            TableExistsError: a table or a view has the name.
            TableNotFoundError: the table was discarded.
        """
        with self._leave_on_failure():
            return self._take_name()

    def _take_name(self) -> TableSnapshot:
        before = self.snapshot
        while True:
            token = new_token()
            head = self._set_name(self._database, self._name, token, "staged", "live")
            try:
                self._names.take(self._database, self._name, self.id, token)
            except errors.TableExistsError:
                self._set_name("", "", b"", "live", "staged")
                raise
            except errors.NamespaceNotFoundError:
                with contextlib.suppress(errors.TableNotFoundError):  # it was dropped with the database
                    self._set_name("", "", b"", "live", "staged")
                self._names.release(self._database, self._name, self.id + token)
                raise
            if self._names.finish(self.id, token):
                return load_again(before, read_head(self._store, self.id) or head)
            # The database was dropped and made anew, which withdrew the name: begin again.

    def _set_name(self, database: str, name: str, token: bytes, before: State, after: State) -> Head:
        def change(head: Head) -> Head:
            if after == "live":
                require_format(self._store, FIRST)  # a restore elsewhere may have retired the metastore
            if head.state == after == "staged":  # a new database of this name has withdrawn it
                return head
            if head.state != before:
                raise errors.TableNotFoundError(
                    f"The table staged as {self._database}.{self._name} was discarded or published already."
                )
            renaming = (database, name, token) if after == "live" else None
            return msgspec.structs.replace(
                head, state=after, database=database, name=name, token=token, renaming=renaming
            )

        return edit_head(
            self._store, self.id, change, lambda head: head.state == after and head.token == token
        )

    def discard(self, delete_files: Callable[[], None] = lambda: None) -> None:
        """Remove the table, unless it has got its name.

        Args:
            delete_files: deletes the files, before the rows. If this process dies, a vacuum finds both.
        """

        def change(head: Head) -> Head:
            if head.state not in ("staged", "dropped"):
                raise errors.UnsupportedError(
                    f"Table {self._database}.{self._name} is published already; drop it by its name."
                )
            return msgspec.structs.replace(head, state="dropped") if head.state == "staged" else head

        try:
            edit_head(self._store, self.id, change, lambda head: head.state == "dropped")
        except errors.TableNotFoundError:
            return
        delete_files()
        delete_table(self._store, self.id)
