"""The names that a commit of several tables gives to tables, takes away, and moves; see `storage.intents`.

A table that a transaction has made is a staged table until the commit, which gives it its name. A table that
it has dropped or renamed keeps its name until then. As heads decide what a name leads to, one record makes
all of it count at once. This is how a name passes from one table to another:

    row `t`: table A          head A: live, t, token 1          head B: staged
    row `t`: A, then B        head A: then t_old, token 2       head B: then live, t, token 3     intents
    row `t`: B                head A: live, t_old, token 2      head B: live, t, token 3          committed

Others who want the name wait for the transaction, or abort it. A row that leads to a table without the name
is stale, as ever, and is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parquetry.errors import CommitAbortedError, CommitConflictError, TableNotFoundError
from parquetry.metastore.namespace.databases import Databases
from parquetry.metastore.namespace.names import TableNames
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.intents import HeadName, NameIntent, fate_of, read_intent
from parquetry.metastore.storage.keyspace import name_key
from parquetry.metastore.storage.wire import encode
from parquetry.store import Store


class NamesOfTransaction:
    """The changes of names of one transaction.

    Args:
        store: store of the metastore.
        before: heads of the tables before the transaction; None for a table that it has made.
        names: their names after it.

    Attributes:
        store: store of the metastore.
        names: the names after the transaction.
        keys: keys of the rows of names that get a table, in order.
        labels: the names before it and after it, for messages.
    """

    def __init__(
        self, store: Store, before: Mapping[bytes, Head | None], names: Mapping[bytes, HeadName]
    ) -> None:
        self.store = store
        self.names = names
        self._before = before
        self._names = TableNames(store, Databases(store))
        taken = {
            (name.database, name.name): table + name.token
            for table, name in names.items()
            if name.state == "live"
        }
        self._taken = dict(sorted(taken.items(), key=lambda each: name_key(*each[0])))
        self.keys: Sequence[bytes] = [name_key(*name) for name in self._taken]
        left = [(head.database, head.name) for head in before.values() if head is not None]
        self.labels: Sequence[str] = sorted({".".join(name) for name in (*left, *self._taken)})

    def require(self, table: bytes, head: Head | None) -> None:
        """Make sure that a table still has the name that the transaction takes from it.

        A table that it drops must also have the version that it has read: rows that others have added since
        would be lost.

        Raises:
            CommitConflictError: others have renamed it, or changed it before it is dropped.
            TableNotFoundError: others have dropped it.
        """
        before = self._before[table]
        if before is None:
            if head is None or head.state != "staged":
                label = f"{self.names[table].database}.{self.names[table].name}"
                raise TableNotFoundError(
                    f"Table {label}, which a transaction made, was taken for abandoned; nothing was written: run "
                    "the transaction again."
                )
            return
        label = f"{before.database}.{before.name}"
        if head is None or head.is_deleted:
            raise TableNotFoundError(f"Table {label} was dropped meanwhile; nothing was written.")
        if head.token != before.token:
            raise CommitConflictError(
                f"Table {label} became {head.database}.{head.name} meanwhile; nothing was written: run the "
                "transaction again."
            )
        if self.names[table].state == "dropped" and head.commit.id != before.commit.id:
            raise CommitConflictError(
                f"Table {label} was changed in version {head.commit.version} by {head.commit.operation!r}, after the transaction "
                "that drops it has read it; nothing was written: run the transaction again."
            )

    def put_rows(self, transaction: bytes) -> None:
        """Put intents in the place of the names' rows, after the intents of all heads.

        Raises:
            CommitConflictError: another table has got one of the names.
            CommitAbortedError: others have aborted the transaction.
            NamespaceNotFoundError: a database was dropped.
        """
        for (database, name), after in self._taken.items():
            self._put_row(transaction, database, name, after)
        # A process that drops a database marks it first, and then waits for the intents in it.
        for database in sorted({database for database, _ in self._taken}):
            self._names.pin(database)

    def _put_row(self, transaction: bytes, database: str, name: str, after: bytes) -> None:
        key = name_key(database, name)
        while fate_of(self.store, transaction) == "pending":
            intent = read_intent(self.store, key)
            if intent is not None and intent.transaction == transaction:
                return
            row = self.store.get(key)
            self._names.settle_name(database, name)
            named = self._names.find(database, name)
            if named is not None and named.id not in self.names:
                raise CommitConflictError(
                    f"{named.head.kind.capitalize()} {database}.{name} was made by others since the transaction "
                    "began; nothing was written: run the transaction again."
                )
            if self.store.compare_and_set(key, row, encode(NameIntent(transaction, row, after))):
                return
        raise CommitAbortedError(
            f"A transaction of {' and '.join(self.labels)} was given up, because another writer waited too long for it; "
            "nothing was written: run it again."
        )

    def are_in_force(self) -> bool | None:
        """Return whether the names are changed, or None if others have changed them since."""
        for table, name in self.names.items():
            head = read_head(self.store, table)
            if head is None:
                continue
            if head.token == name.token:
                return True
            before = self._before[table]
            if head.token == (b"" if before is None else before.token):
                return False
        return None

    def release_names(self) -> None:
        """Remove the rows of names that lead nowhere any more."""
        for table, head in self._before.items():
            if head is not None and (head.database, head.name) not in self._taken:
                self._names.release(head.database, head.name, table + head.token)
