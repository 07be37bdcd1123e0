"""Make sure before each write that the warehouse belongs to the metastore, so that no other one loses files.

| the warehouse's mark | a write |
|---|---|
| names this metastore | goes on |
| is missing | makes it, unless this metastore is new and the folder has one of its own |
| names another metastore | is refused. Exception: the mark names the file inside the warehouse, and this store is that file: the other metastore is no more |
| names this metastore, at another folder | goes on if the warehouse was moved. If the other folder still has such a mark, this folder is its copy |

**Copies.** A warehouse that was copied with the metastore inside it may be written: both own what is in their
folders. What is outside belongs to the original (`Ownership.shares`). If the store is elsewhere, the two
folders would have one metastore, and a copy is not written.

**Cost.** On a local disk each write reads the mark, which takes some microseconds. Elsewhere the mark is read
at the first write, before files are deleted, and else at most once in `SECONDS_BETWEEN_READS`. A restore also
retires the old store where it can reach it (`mark.retire`): each commit reads the row that says so.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from parquetry.errors import ForeignWarehouseError, WarehouseError
from parquetry.locations import is_below, storage_path, take_apart
from parquetry.metastore.ownership.mark import (
    Identity,
    Mark,
    canonical,
    create_mark,
    is_same_folder,
    make_identity,
    new_mark,
    read_identity,
    read_mark,
    replace_mark,
    store_name,
)
from parquetry.metastore.storage.format import FIRST, require_format
from parquetry.metastore.storage.keyspace import NAMES, prefix_range
from parquetry.metastore.storage.owner import uptime_s
from parquetry.store import EMBEDDED, IN_MEMORY, Store, open_store

SECONDS_BETWEEN_READS = 60.0
"""Seconds after which a write reads a mark on another file system again, at a cost of two requests."""


class Unmarked:
    """Stands in for a metastore without a mark: in memory, or of a program that opens its store itself."""

    def require(self, *, now: bool = False) -> None:
        """Allow everything."""

    def refusal(self) -> ForeignWarehouseError | None:
        """Return None: no write is refused."""
        return None

    def shares(self, table: bytes) -> bool:  # noqa: ARG002
        """Return False: no table has files that belong to another metastore."""
        return False

    def is_inside(self, location: str) -> bool:  # noqa: ARG002
        """Return True: nothing needs to be distinguished."""
        return True


def ownership_of(store: Store) -> Unmarked:
    """Return what tells whether the metastore of a store may write; for a store that no metastore has opened,
    it always may.
    """
    ownership = getattr(store, "ownership", None)
    return ownership if isinstance(ownership, Unmarked) else Unmarked()


class Ownership(Unmarked):
    """Compares the identity of a metastore with the mark of its warehouse.

    Args:
        rows: the store itself.
        store: its URL, as the mark records it; see `store.opening.url_for_mark`.
        warehouse: absolute path, or URI.

    Attributes:
        rows: the store itself.
        store: its URL.
        warehouse: absolute path, or URI.
        is_guest: whether the store ends with the process. Such a metastore makes no mark, and writes to a
            warehouse without one. Of a warehouse on another file system it reads no mark.
    """

    def __init__(self, rows: Store, store: str, warehouse: str) -> None:
        self.rows = rows
        self.store = store
        self.warehouse = warehouse
        self._identity: Identity | None = None
        self._original: str | None = None
        self.is_guest = store == IN_MEMORY
        self._is_local = take_apart(warehouse).is_local
        self._believed_until = 0.0
        self._receives = False
        self._lock = threading.Lock()

    def require(self, *, now: bool = False) -> None:
        """Make sure that this metastore may write to its warehouse.

        Args:
            now: whether to read the mark and the format row in any case, as before files are deleted.

        Raises:
            ForeignWarehouseError: the warehouse belongs to another metastore.
            WarehouseError: the mark cannot be read or made.
        """
        if self._receives or not (now or self._is_local or uptime_s() > self._believed_until):
            return
        if self.is_guest:
            if (mark := self.foreign_mark()) is not None:
                raise self.refuse(mark)
            return
        with self._lock:
            if now or self._identity is None:
                require_format(self.rows, FIRST)  # refuses a retired metastore
            self._compare(read_mark(self.warehouse))
            self._believed_until = uptime_s() + SECONDS_BETWEEN_READS

    def refusal(self, *, of_new: bool = False) -> ForeignWarehouseError | None:
        """Return the error that a write would raise, or None. This writes nothing.

        Args:
            of_new: whether to read the mark only if the metastore has no identity yet.

        Raises:
            WarehouseError: the mark cannot be read.
        """
        try:
            require_format(self.rows, FIRST)
        except ForeignWarehouseError as error:
            return error
        if of_new and read_identity(self.rows) is not None:
            return None
        mark = self.foreign_mark()
        return None if mark is None else self.refuse(mark)

    def foreign_mark(self) -> Mark | None:
        """Return the mark of the warehouse if it names another metastore, or None. This writes nothing.

        Raises:
            WarehouseError: the mark cannot be read.
        """
        if self.is_guest and not self._is_local:
            return None
        mark, own = read_mark(self.warehouse), read_identity(self.rows)
        if mark is None or (own is not None and own.id == mark.metastore) or self._is_successor_of(mark):
            return None
        return mark

    def shares(self, table: bytes) -> bool:
        """Return whether files of a table that are outside of the warehouse belong to another metastore.

        It is the metastore that this one is a copy of, or whose dump it was restored from.

        Args:
            table: id of the table.
        """
        if self.is_guest:
            return False
        try:
            if self._identity is None:
                self.require(now=True)
            if not self._has_shared(table):
                return False
            self._identity = None  # `relocate` or `claim` may have given the table to this metastore
            self.require(now=True)
        except ForeignWarehouseError:
            return True
        return self._has_shared(table)

    def _has_shared(self, table: bytes) -> bool:
        identity = self._identity
        return self._original is not None or (identity is not None and table.hex() in identity.shared)

    def original(self) -> str | None:
        """Return the folder that this one is a copy of without an identity of its own, or None.

        Raises:
            ForeignWarehouseError: the warehouse belongs to another metastore.
        """
        self.require(now=True)
        return self._original

    def is_inside(self, location: str) -> bool:
        """Return whether a file or folder is inside the warehouse."""
        path = storage_path(location)
        return any(is_below(path, storage_path(root)) for root in {self.warehouse, canonical(self.warehouse)})

    def forget(self) -> None:
        """Forget what was read of identity and mark, after either was changed."""
        self._identity = self._original = None
        self._believed_until = 0.0

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Allow writes in a block that ends with the warehouse given to this metastore."""
        self._receives = True
        try:
            yield
        finally:
            self._receives = False
            self.forget()

    def refuse(self, mark: Mark) -> ForeignWarehouseError:
        """Return the error of a write to a warehouse whose mark names another metastore."""
        return ForeignWarehouseError(
            f"The warehouse {self.warehouse} belongs to the metastore in {store_name(mark.store, self.warehouse)}, and the one "
            f"in {store_name(self.store, self.warehouse)} may only be read: {_remedy(mark)}, or, if that metastore is no more, give "
            "the warehouse to this one by `parquetry claim` or CALL system.claim()."
        )

    def _compare(self, mark: Mark | None) -> None:
        if mark is None:
            mark = self._mark()
        if self._identity is None or self._identity.id != mark.metastore:
            self._identity = make_identity(self.rows)
        if self._identity.id != mark.metastore:
            if not self._is_successor_of(mark):
                self._identity = None
                raise self.refuse(mark)
            replace_mark(self.warehouse, new_mark(self._identity.id, self.store, self.warehouse))
        elif mark.warehouse != canonical(self.warehouse):
            self._compare_folders(mark)
        else:
            self._original = None

    def _mark(self) -> Mark:
        """Make the mark of a warehouse that has none.

        Raises:
            ForeignWarehouseError: this metastore is new, and the folder has another one.
        """
        if self.store != EMBEDDED and self._is_local and read_identity(self.rows) is None:
            self._require_no_embedded()
        identity = make_identity(self.rows)
        return create_mark(self.warehouse, new_mark(identity.id, self.store, self.warehouse))

    def _require_no_embedded(self) -> None:
        if next(iter(self.rows.scan(*prefix_range(NAMES), limit=1)), None) is not None:
            return
        try:
            open_store(None, self.warehouse).close()
        except WarehouseError:
            return
        raise self.refuse(new_mark("", EMBEDDED, self.warehouse))

    def _is_successor_of(self, mark: Mark) -> bool:
        """Return whether the mark names the file inside the warehouse, and this store is a new file there."""
        return self.store == mark.store == EMBEDDED

    def _compare_folders(self, mark: Mark) -> None:
        """Find out whether a warehouse that was marked in another folder was moved, or is a copy."""
        if self._original == mark.warehouse:
            return
        self._original = None
        if is_same_folder(mark.warehouse, self.warehouse):
            return
        try:
            original = read_mark(mark.warehouse)
        except WarehouseError:  # this process cannot reach it
            original = None
        if original is None or original.metastore != mark.metastore:
            replace_mark(self.warehouse, new_mark(mark.metastore, self.store, self.warehouse))
        elif self.store != EMBEDDED:
            raise ForeignWarehouseError(
                f"The warehouse {self.warehouse} is a copy of {mark.warehouse}, which has the same metastore, in {self.store}, and "
                "two folders cannot share one: name the original folder, or give the copy a metastore of its own by "
                "`parquetry dump` and `parquetry restore`."
            )
        else:
            self._original = mark.warehouse


def _remedy(mark: Mark) -> str:
    if mark.store == EMBEDDED:
        return "leave out the store (--store, PARQUETRY_STORE, the catalog's option store)"
    return "name that store (--store, PARQUETRY_STORE, the catalog's option store)"
