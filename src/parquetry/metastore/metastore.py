"""The metastore: databases, tables by name, and making, renaming and dropping tables.

A table is a head under a random id. Its name is another row, which points to the head (`namespace.names`).
Each operation takes place at one compare-and-set, and may stop at any step. What it leaves half done is
invisible, or the next process that finds it finishes it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from parquetry.errors import (
    CommitConflictError,
    NamespaceNotEmptyError,
    OtherKindError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from parquetry.locations import warehouse_location
from parquetry.metastore.cleanup.retention import delete_table, end_branches
from parquetry.metastore.copies import shared_tables
from parquetry.metastore.followers import notify_of_drop
from parquetry.metastore.namespace.databases import Databases
from parquetry.metastore.namespace.names import NamedTable, TableNames, new_token
from parquetry.metastore.namespace.staging import StagedTable
from parquetry.metastore.ownership.handover import Claimed, claim, review_shared
from parquetry.metastore.ownership.owner import Ownership
from parquetry.metastore.refs.heads import branch_in, tagged_version
from parquetry.metastore.refs.names import branch_name, name_parts, split_branch
from parquetry.metastore.storage.clock import server_time
from parquetry.metastore.storage.format import FIRST, check_format, require_format
from parquetry.metastore.storage.head import Head, Kind, decode_head, edit_head, live_head, pause, read_head
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.model import Database, TableMetadata
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.storage.valid_names import DEFAULT_DATABASE, name_fault, normalise_name
from parquetry.metastore.transactions.gathering import DraftRows, keeps_rows_of
from parquetry.metastore.versions.snapshot import TableSnapshot, commit_as_of, load, load_again, load_commit
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.store import (
    NO_PASSWORDS,
    ChangeMark,
    SQLiteStore,
    Store,
    open_store,
    read_change_mark,
    url_for_mark,
)
from parquetry.types import ColumnType, text_from_value

_LOG = logging.getLogger("parquetry")
_TIMESTAMP = ColumnType("timestamp")

_T = TypeVar("_T")

MAX_DROP_ATTEMPTS = 10
MAX_MOMENTS = 100
"""How often heads are read to find a moment at which none of them changes: some seconds."""


class Metastore:
    """The databases and tables of a warehouse.

    Args:
        store: store of the metastore's rows.
        warehouse: path or URI of the default folder of tables.
        create: whether to make an empty store into a metastore.
        ownership: compares the warehouse's mark before writes; None if the warehouse has no mark.

    Attributes:
        store: the same store, seen with absolute locations and without checksums; see `warehouse_store`.
        warehouse: absolute path, or URI, without a trailing slash.

    Raises:
        MetastoreVersionError: a later version wrote the metastore, or the store holds something else.
        WarehouseError: the store is empty and `create` is False.
    """

    def __init__(
        self, store: Store, warehouse: str, *, create: bool = True, ownership: Ownership | None = None
    ) -> None:
        version = check_format(store, create=create)
        self.warehouse = warehouse_location(warehouse)
        self.ownership = ownership
        self.store = WarehouseStore(store, self.warehouse, version, ownership)
        self._databases = Databases(self.store)
        self._names = TableNames(self.store, self._databases)

    def require_owned(self, *, now: bool = False) -> None:
        """Make sure that the warehouse belongs to this metastore, before any work for a write.

        Args:
            now: whether to read the warehouse's mark in any case.

        Raises:
            ForeignWarehouseError: it belongs to another one.
            WarehouseError: the mark cannot be read or made.
        """
        if self.ownership is not None:
            require_format(self.store, FIRST)  # refuses a retired metastore
            self.ownership.require(now=now)

    def claim(self, *, copy: bool = False, outside: bool = False) -> Claimed:
        """Make this metastore the owner of the warehouse; see `ownership.handover.claim`.

        Raises:
            UnsupportedError: the metastore is in memory, and ends with the process.
        """
        if self.ownership is None or self.ownership.is_guest:
            raise UnsupportedError(
                f"The metastore of {self.warehouse} is in memory and ends with the process: open the warehouse with a "
                "store that stays."
            )
        return claim(self.ownership, self.tables_shared_with, copy=copy, outside=outside)

    def tables_shared_with(self, original: str | None) -> set[bytes]:
        """Return the ids of tables with files that belong to the original; see `copies.shared_tables`."""
        return shared_tables(self.store, self.warehouse, original)

    def review_shared(self) -> int:
        """Find out anew which tables of a copied warehouse have files of the original.

        Return the number of these tables. See `ownership.handover.review_shared`.
        """
        if self.ownership is None or self.ownership.is_guest:
            return 0
        return review_shared(self.ownership, self.tables_shared_with)

    def server_time(self) -> int | None:
        """Return the time of the store's server in milliseconds since the epoch, or None if it tells none."""
        return server_time(self.store)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Metastore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- databases

    def databases(self) -> list[str]:
        """Return the names of the databases, sorted."""
        return self._databases.names()

    def database(self, name: str) -> Database:
        """Return a database. Raise NamespaceNotFoundError if it does not exist."""
        return self._databases.get(name)

    def create_database(self, name: str, properties: Mapping[str, str] | None = None) -> Database:
        """Make a database. Raise NamespaceExistsError if it exists."""
        if not self._databases.exists(name):
            self._names.withdraw_new(normalise_name("database", name))
        return self._databases.create(name, properties or {})

    def alter_database(self, name: str, properties: Mapping[str, str]) -> Database:
        """Replace the properties of a database. Raise NamespaceNotFoundError if it does not exist."""
        return self._databases.alter(name, properties)

    def drop_database(
        self, name: str, cascade: bool = False, drop: Callable[[str, str], object] | None = None
    ) -> None:
        """Remove a database.

        Args:
            name: name of the database.
            cascade: whether to drop its tables and views, too.
            drop: drops a table or a view, given its database and its name. None is `drop_table`, which leaves
                files alone.

        Raises:
            NamespaceNotFoundError: the database does not exist.
            NamespaceNotEmptyError: it has tables or views and `cascade` is False, or others keep making some.
            UnsupportedError: it is the default database.
        """
        name = self.database(name).name
        if name == DEFAULT_DATABASE:
            raise UnsupportedError(f"Database {DEFAULT_DATABASE!r} is always there and cannot be dropped.")
        for _ in range(MAX_DROP_ATTEMPTS):
            mark = self._databases.mark(name)
            self._names.settle(name)
            tables = self._names.list(name)
            if tables and not cascade:
                self._databases.unmark(name, mark)
                break
            for table in tables:
                with contextlib.suppress(TableNotFoundError):  # another process has dropped or renamed it
                    if drop is not None:
                        drop(name, table)
                    else:
                        self.drop_table(name, table, kind=None)
            if self._databases.remove(name, mark):
                return
        raise NamespaceNotEmptyError(
            f"Database {name!r} has tables or views: {', '.join(self._names.list(name)[:5])}…; "
            "drop them first, or use CASCADE."
        )

    def database_location(self, name: str) -> str:
        """Return the default folder of a database's tables: its ``location``, or Hive's default."""
        database = self.database(name)
        default = (
            self.warehouse if database.name == DEFAULT_DATABASE else f"{self.warehouse}/{database.name}.db"
        )
        return database.properties.get("location", default).rstrip("/")

    def table_location(self, database: str, name: str) -> str:
        """Return the default location of a table."""
        return f"{self.database_location(database)}/{normalise_name('table', name)}"

    # -- tables

    def tables(self, database: str) -> list[str]:
        """Return the sorted names of a database's tables.

        Raise NamespaceNotFoundError if it does not exist.
        """
        return self._names.list(self.database(database).name, "table")

    def views(self, database: str) -> list[str]:
        """Return the sorted names of a database's views.

        Raise NamespaceNotFoundError if it does not exist.
        """
        return self._names.list(self.database(database).name, "view")

    def table(
        self,
        database: str,
        name: str,
        *,
        version: int | str | None = None,
        as_of: int | None = None,
        kind: Kind | None = "table",
    ) -> TableSnapshot:
        """Return a version of a table or a view, by default the newest.

        Args:
            database: name of the database, in any case.
            name: name of the table or view, in any case; or of a branch (`refs.names`).
            version: number of the version, or its tag, or None; or a branch, whose newest version is meant.
            as_of: milliseconds since the epoch, or None. It selects the newest version made until then.
            kind: kind that it must have, or None for either.

        Raises:
            NamespaceNotFoundError: the database does not exist.
            TableNotFoundError: the table or view does not exist.
            VersionNotFoundError: it never had this version, or has it no longer, or has no such tag.
        """
        named = self._find(database, name, kind)
        while True:
            try:
                return self._load(named, version, as_of)
            except TableNotFoundError:
                # Since the head was read, another table may have taken its place and its rows may be deleted.
                again = self._find(database, name, kind)
                if again.id == named.id:
                    raise
                named = again

    def tables_at_once(
        self, names: Sequence[tuple[str, str]], kind: Kind | None = "table"
    ) -> list[TableSnapshot]:
        """Return the newest versions of several tables or views, all of one moment; see `at_once`.

        Args:
            names: databases and names, in any case.
            kind: kind that all must have, or None for either.

        Raises:
            NamespaceNotFoundError: a database does not exist.
            TableNotFoundError: a table or view does not exist.
            CommitConflictError: the tables change so often that no moment could be found.
        """

        def load() -> list[TableSnapshot]:
            return [self.table(database, name, kind=kind) for database, name in names]

        return self.at_once(load, lambda tables: tables)

    def at_once(self, load: Callable[[], _T], tables_in: Callable[[_T], Sequence[TableSnapshot]]) -> _T:
        """Load tables until all are of one moment.

        No commit of several tables is seen in one of them and not in another. Heads are read once more after
        the tables were loaded. As no head returns to an earlier value, equal ones had these values at once in
        between.

        Args:
            load: loads the newest versions of tables.
            tables_in: returns the tables in what was loaded.

        Raises:
            CommitConflictError: the tables change so often that no moment could be found.
        """
        for attempt in range(MAX_MOMENTS):
            loaded = load()
            tables = tables_in(loaded)
            if len(tables) < 2 or self.are_newest(tables):
                return loaded
            pause(attempt)
        raise CommitConflictError(
            f"Tables {', '.join(table.label for table in tables)} change so often that they cannot be read at one "
            "moment: ask again, or name versions."
        )

    def are_newest(self, tables: Sequence[TableSnapshot]) -> bool:
        """Return whether no table has a later version than these, or another name, or was dropped."""
        values = self.store.get_many([head_key(table.id) for table in tables])
        heads = [None if value is None else decode_head(value) for value in values]
        return all(
            head is not None
            and (not head.is_deleted and head.state != "staged")
            and (head.database, head.name, head.commit.id) == (table.database, table.name, table.commit.id)
            for head, table in zip(heads, tables, strict=True)
        )

    def ids(self) -> set[bytes]:
        """Return the ids of all tables and views. A table that is renamed meanwhile is not missed."""
        return self._names.ids()[0]

    def table_of(self, id: bytes) -> TableSnapshot | None:
        """Return the newest version of a table or a view, or None if it was dropped."""
        while (named := self._names.find_by_id(id)) is not None:
            with contextlib.suppress(TableNotFoundError):  # dropped since
                return load(self.store, named.id, named.head)
        return None

    def names_of(self, ids: Iterable[bytes]) -> dict[bytes, tuple[str, str]]:
        """Return the database and the name of each of these tables, by id; dropped ones are left out."""
        tables = {id: self._names.find_by_id(id) for id in ids}
        return {id: (each.head.database, each.head.name) for id, each in tables.items() if each is not None}

    def _load(self, named: NamedTable, version: int | str | None, as_of: int | None) -> TableSnapshot:
        head = named.head
        if isinstance(version, str):
            if version not in head.tags and version.lower() in head.branches:
                return load(self.store, *self._find_branch(named, version.lower())[:2])
            version = tagged_version(head, version)
        if version is None and as_of is None:
            return load(self.store, named.id, head)
        if version is not None:
            commit = load_commit(self.store, named.id, head, version)
            wanted = f"version {version}"
        else:
            assert as_of is not None
            commit = commit_as_of(self.store, named.id, head, as_of)
            wanted = f"version as of {_time(as_of)}"
        if commit is None:
            first = load_commit(self.store, named.id, head, head.oldest)
            since = "" if first is None else f", the first of {_time(first.committed_at)}"
            label = ".".join((head.database, *name_parts(head.name)))
            if head.oldest and (version is None or 0 <= version < head.oldest):
                raise VersionNotFoundError(
                    f"Table {label} has no {wanted} any more: a vacuum took the versions before {head.oldest}. It has "
                    f"{_versions(head)}{since}."
                )
            raise VersionNotFoundError(f"Table {label} has no {wanted}; it has {_versions(head)}{since}.")
        return load(self.store, named.id, head, commit)

    def _find(self, database: str, name: str, kind: Kind | None) -> NamedTable:
        database, name = database.lower(), name.lower()
        fault = name_fault(name)
        base, branch = split_branch(name)
        if branch is not None and name_fault(base) is None and name_fault(database) is None:
            table = self._names.find(database, base)
            if table is not None and table.head.kind == "table":
                return self._find_branch(table, branch)
        named = None if fault or name_fault(database) else self._names.find(database, name)
        if named is None:
            self.database(database)
            wanted = kind or "table"
            listed = f"SHOW {wanted.upper()}S IN {database} lists those that do"
            remedy = f"no {wanted} can have this name: {fault}" if fault else listed
            raise TableNotFoundError(f"{wanted.capitalize()} {database}.{name} does not exist; {remedy}.")
        if kind not in (None, named.head.kind):
            raise OtherKindError(
                f"{database}.{name} is a {named.head.kind}, not a {kind}: name a {kind}, or use a statement for "
                f"{named.head.kind}s."
            )
        return named

    def _find_branch(self, table: NamedTable, name: str) -> NamedTable:
        """Return a branch of a table.

        Raises:
            TableNotFoundError: there is none of this name.
            UnsupportedError: the metastore is the view of a transaction of several tables.
        """
        label = f"{table.head.database}.{table.head.name}"
        if isinstance(getattr(self.store, "rows", None), DraftRows):
            raise UnsupportedError(
                f"Branch {name!r} of table {label} cannot be part of a transaction of several tables: read and write it "
                "before the transaction or after it."
            )
        branch = branch_in(table.head, name)
        head = live_head(self.store, branch.id, f"Branch {name!r} of table {label} was dropped meanwhile.")
        names = table.head.database, branch_name(table.head.name, name)
        if (head.database, head.name) != names:  # the table was renamed since
            head = edit_head(
                self.store,
                branch.id,
                lambda head: msgspec.structs.replace(head, database=names[0], name=names[1]),
                lambda head: (head.database, head.name) == names,
            )
        return NamedTable(branch.id, head, head.token, b"")

    def create_table(self, database: str, name: str, metadata: TableMetadata) -> TableSnapshot:
        """Make an empty table, or a view.

        Raises:
            NamespaceNotFoundError: the database does not exist.
            TableExistsError: a table or a view has the name.
        """
        staged = self.stage_table(database, name, metadata)
        try:
            return staged.make_visible()
        except ParquetryError as error:
            if not isinstance(error, StoreError):  # after a failure of the store the table may exist
                staged.discard()
            raise

    def stage_table(self, database: str, name: str, metadata: TableMetadata) -> StagedTable:
        """Make an empty table that is invisible until it has its name. It can already be committed to.

        Raises:
            NamespaceNotFoundError: the database does not exist.
        """
        database = self.database(database).name
        name = normalise_name("table", name)
        return StagedTable(self.store, self._names, metadata, database, name)

    def drop_table(
        self,
        database: str,
        name: str,
        *,
        kind: Kind | None = "table",
        before: Callable[[TableSnapshot], bool] | None = None,
        author: Owner | None = None,
    ) -> TableSnapshot:
        """Remove a table or a view. Files are left alone.

        Once the head says that the table is dropped, no error is raised: the next vacuum removes what is
        left.

        Args:
            database: name of the database, in any case.
            name: name of the table or view, in any case.
            kind: kind that it must have, or None for either.
            before: called with the table while its rows can still be read. It returns whether exactly this
                version must be dropped. If so and the table changes, or if another table gets the name, it is
                called again. The table of its last call is the dropped one.
            author: the process that deletes the table's files next, and then its rows by `finish_drop`. Until
                then the dropped head stays. If the process dies, a vacuum deletes the files and the rows.
                None: the rows are deleted now.

        Returns:
            the last version, for its metadata and totals; its partitions can no longer be listed.

        Raises:
            NamespaceNotFoundError: the database does not exist.
            TableNotFoundError: the table does not exist; another process may have just dropped it.
        """
        self.require_owned(now=True)
        named = self._find(database, name, kind)
        _require_no_branch(named, "dropped", "CALL system.drop_branch drops it")
        while True:
            try:
                last = load(self.store, named.id, named.head)
                exactly = before is not None and before(last)
                head = self._mark_dropped(named, last.version if exactly else None, author)
            except TableNotFoundError:
                earlier, named = named, self._find(database, name, kind)
                if _is_as_it_was(named, earlier):
                    raise
                continue
            if head is not None:
                break
            named = self._find(database, name, kind)
        last = load_again(last, head)
        with _drop_goes_on(last.label):
            self._names.release(named.head.database, named.head.name, named.row)
        if author is None or head.kind == "view":
            self.finish_drop(named.id, last.label)
        notify_of_drop(last)
        return last

    def finish_drop(self, table: bytes, label: str) -> None:
        """Remove the rows of a dropped table, after its files. If that fails, the next vacuum does it.

        In a transaction of several tables, the commit does it.
        """
        if keeps_rows_of(self.store, table):
            return
        with _drop_goes_on(label):
            head = read_head(self.store, table)
            if head is not None:
                end_branches(self.store, head)
                for branch in head.branches.values():
                    delete_table(self.store, branch.id)
            delete_table(self.store, table)

    def _mark_dropped(self, named: NamedTable, version: int | None, author: Owner | None) -> Head | None:
        """Mark a table's head as dropped and return it, or return None if the table has changed."""
        mine = new_token()  # shows which of two processes dropped it

        def change(head: Head) -> Head:
            require_format(self.store, FIRST)  # a restore elsewhere may have retired the metastore
            if head.state != "live" or head.token != named.token:
                return head
            if version not in (None, head.commit.version):
                return head
            return msgspec.structs.replace(head, state="dropped", token=mine, author=author)

        def is_done(head: Head) -> bool:
            return head.token == mine

        head = edit_head(self.store, named.id, change, is_done)
        return head if is_done(head) else None

    def rename_table(
        self, database: str, name: str, new_database: str, new_name: str, *, kind: Kind = "table"
    ) -> TableSnapshot:
        """Give a table or a view another name. A table's location stays.

        Raises:
            NamespaceNotFoundError: the database does not exist.
            TableNotFoundError: the table or view does not exist.
            TableExistsError: a table or a view has the new name.
            CommitConflictError: another process renamed or dropped it at the same time.
        """
        new_database, new_name = self.database(new_database).name, normalise_name("table", new_name)
        named = self._find(database, name, kind)
        _require_no_branch(named, "renamed", "make another branch, and drop this one")
        while True:
            try:
                before = load(self.store, named.id, named.head)
                if (named.head.database, named.head.name) == (new_database, new_name):
                    return before
                renamed = self._names.rename(named, new_database, new_name)
            except TableNotFoundError:
                earlier, named = named, self._find(database, name, kind)
                if _is_as_it_was(named, earlier):
                    raise
                continue
            if renamed is not None:
                return load_again(before, renamed)
            named = self._find(database, name, kind)


def open_metastore(
    warehouse: str,
    store: str | None = None,
    *,
    create: bool = False,
    passwords: Mapping[str, str] = NO_PASSWORDS,
) -> Metastore:
    """Open the metastore of a warehouse.

    Args:
        warehouse: path or URI.
        store: URL of the store, see `parquetry.store.open_store`; None for a SQLite file inside the
            warehouse.
        create: whether to make the metastore if it does not exist. If not, opening writes nothing.
        passwords: of the store, see `parquetry.store.open_store`.

    Raises:
        WarehouseError: the metastore does not exist and `create` is False, or it cannot be made or opened.
        ConfigurationError: the store is not understood, or must be named because the warehouse is remote.
        MetastoreVersionError: a later version wrote the metastore, or the store holds something else.
    """
    warehouse = warehouse_location(warehouse)
    opened = open_store(store, warehouse, create=create, passwords=passwords)
    try:
        ownership = Ownership(opened, url_for_mark(store, opened, warehouse), warehouse)
        return Metastore(opened, warehouse, create=create or store == "memory", ownership=ownership)
    except BaseException:
        opened.close()
        raise


def _require_no_branch(named: NamedTable, done: str, remedy: str) -> None:
    """Make sure that a name does not lead to a branch.

    Args:
        named: where the name leads.
        done: for the message: what is not done with a branch.
        remedy: for the message.

    Raises:
        UnsupportedError: it does.
    """
    if named.head.branch_of:
        label = ".".join((named.head.database, *name_parts(named.head.name)))
        raise UnsupportedError(f"{label} is a branch of a table, and cannot be {done}: {remedy}.")


def _is_as_it_was(named: NamedTable, earlier: NamedTable) -> bool:
    """Return whether a name leads to the same version of the same table as earlier."""
    return (named.id, named.head.commit.version) == (earlier.id, earlier.head.commit.version)


@contextlib.contextmanager
def _drop_goes_on(label: str) -> Iterator[None]:
    """Log an error that comes after a table was dropped."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # a full disk, or whatever a store does
        _LOG.warning("Table %s is dropped, and the next vacuum removes its last rows: %s", label, error)


def _time(milliseconds: int) -> str:
    return f"{text_from_value(_TIMESTAMP, 1000 * milliseconds)} UTC"


def _versions(head: Head) -> str:
    newest = head.commit.version
    return f"version {newest} only" if head.oldest == newest else f"versions {head.oldest} to {newest}"


def metastore_file(metastore: Metastore) -> tuple[int, int] | None:
    """Return the device and inode of an embedded metastore's file; a later file at its path has others."""
    rows = metastore.store.rows
    if not isinstance(rows, SQLiteStore):
        return None
    try:
        status = os.stat(rows.path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def change_mark(metastore: Metastore) -> ChangeMark | None:
    """Return a mark that stays equal until someone writes to the metastore, or None if it shows none."""
    path = change_file(metastore)
    return None if path is None else read_change_mark(path)


def change_file(metastore: Metastore) -> str | None:
    """Return the path of an embedded metastore's file, or None.

    The index of its write-ahead log, beside it, changes with each write that readers see.
    """
    rows = metastore.store.rows
    return rows.path if isinstance(rows, SQLiteStore) else None
