"""Give a warehouse to another metastore: by a restore of the owner's dump, or by a claim.

The mark decides. Then the metastore that had the warehouse is retired in its store, if it can be reached. So
a session that has it open commits nothing more, and libraries that do not know marks refuse it.

Changes of a metastore since a dump of it would be lost by a restore that gives its warehouse away.

A restore retires the dumped metastore, touches the head of each of its tables, and then compares. Others
begin commits, drops and the like by a compare-and-set of the head. Between reading it and that, they see that
the metastore is not retired. So either the restore finds the change, or it is tried again and refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from parquetry.errors import ConfigurationError, ForeignWarehouseError, ParquetryError, WarehouseError
from parquetry.metastore.ownership.mark import (
    Identity,
    Mark,
    canonical,
    is_same_folder,
    make_identity,
    new_mark,
    read_identity,
    read_mark,
    reinstate,
    renew_identity,
    replace_mark,
    retire,
    store_name,
)
from parquetry.metastore.ownership.owner import Ownership
from parquetry.metastore.storage.checksums import with_checksum, without_checksum
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.keyspace import HEADS, prefix_range
from parquetry.metastore.storage.wire import encode
from parquetry.store import EMBEDDED, Store, reopen_store

_UNKNOWN = "a warehouse that is not seen from here"
SharedWith = Callable[[str | None], Iterable[bytes]]
"""Return the ids of tables with files outside of the warehouse that belong to the original.

The argument is the original's folder. If it is unknown (None), all tables with files outside are returned.
"""

_LOG = logging.getLogger("parquetry")


class Claimed(NamedTuple):
    """The result of a claim.

    Attributes:
        warehouse: absolute path, or URI.
        metastore: id of the metastore that owns the warehouse now.
        store: its store, for messages.
        before: the store of the metastore that owned it before, for messages; or None.
        retired: whether that metastore was reached and retired.
        original: the folder that this one is a copy of, or None.
        shared: number of tables whose files outside of a copied warehouse belong to the original.
    """

    warehouse: str
    metastore: str
    store: str
    before: str | None
    retired: bool
    original: str | None
    shared: int


def claim(
    ownership: Ownership,
    shared_with: SharedWith,
    *,
    copy: bool = False,
    outside: bool = False,
) -> Claimed:
    """Give a warehouse to a metastore, although the mark may name another one.

    The metastore gets a new identity. If the warehouse is a copy, files outside of it stay the original's.

    Args:
        ownership: of the metastore.
        shared_with: see `SharedWith`.
        copy: whether the warehouse is a copy of one that is not seen from here.
        outside: whether files outside of a copied warehouse belong to this metastore, too: they were copied,
            or the original is no more.

    Raises:
        WarehouseError: the mark cannot be written.
        StoreError: the store fails.
    """
    warehouse = ownership.warehouse
    try:
        mark = read_mark(warehouse)
    except WarehouseError:
        mark = None  # damaged: it is written anew
    original = None if mark is None else original_of(mark, warehouse)
    if copy and original is None:
        original = _UNKNOWN
    before = read_identity(ownership.rows)
    shared = {} if before is None or outside else _still_shared(before, shared_with)
    if original is not None and not outside:
        folder = "" if original == _UNKNOWN else original
        known = () if before is None else before.shared
        new = {table.hex(): folder for table in shared_with(folder or None)}
        shared |= {table: new[table] for table in new if table not in known}
    identity = renew_identity(ownership.rows, shared)
    replace_mark(warehouse, new_mark(identity.id, ownership.store, warehouse))
    reinstate(ownership.rows)
    is_other = mark is not None and (before is None or before.id != mark.metastore)
    retired = mark is not None and is_other and _retire_marked(mark, original, ownership)
    ownership.forget()
    return Claimed(
        warehouse,
        identity.id,
        store_name(ownership.store, warehouse),
        store_name(mark.store, warehouse) if mark is not None and is_other else None,
        retired,
        original,
        len(shared),
    )


def review_shared(ownership: Ownership, shared_with: SharedWith) -> int:
    """Find out anew which tables of a copied warehouse have files that belong to the original.

    A copy without an identity of its own gets one, by a claim.

    Args:
        ownership: of the metastore, whose tables have got other locations.
        shared_with: see `SharedWith`.

    Returns:
        The number of tables whose files outside of the warehouse still belong to the original.

    Raises:
        WarehouseError: the mark cannot be written.
    """
    if ownership.original() is not None:
        return claim(ownership, shared_with).shared
    before = read_identity(ownership.rows)
    if before is None or not before.shared:
        return 0
    shared = _still_shared(before, shared_with)
    if set(shared) != set(before.shared):
        renew_identity(ownership.rows, shared, before.id)
        ownership.forget()
    return len(shared)


def _still_shared(identity: Identity, shared_with: SharedWith) -> dict[str, str]:
    """Return the tables of `Identity.shared` that still are, each with its original, or an empty text."""
    still_shared: dict[str, str] = {}
    for folder in {identity.originals.get(table, "") for table in identity.shared}:
        now = {table.hex() for table in shared_with(folder or None)}
        still_shared |= {
            table: folder
            for table in identity.shared
            if table in now and identity.originals.get(table, "") == folder
        }
    return still_shared


class Source(NamedTuple):
    """The metastore that a dump was made of.

    Attributes:
        metastore: id of its identity, or None if the dump names none.
        store: URL of its store without a password, or None if the dump names none.
        warehouse: location of its warehouse.
        shared: hexadecimal ids of tables; see `Identity.shared`.
    """

    metastore: str | None
    store: str | None
    warehouse: str
    shared: Sequence[str] = ()


@contextmanager
def receive(
    ownership: Ownership, source: Source, shared_with: SharedWith, *, claims: bool
) -> Iterator[Callable[[], None]]:
    """Let a restore write in a block, which gives the warehouse to its metastore by the yielded function.

    Args:
        ownership: of the metastore that is filled.
        source: the dumped metastore.
        shared_with: see `SharedWith`.
        claims: whether to take the warehouse from any metastore that has it.

    Raises:
        ForeignWarehouseError: the warehouse belongs to neither of both metastores.
    """
    warehouse = ownership.warehouse
    mark = _receivable(ownership, source, claims)
    is_here = canonical(source.warehouse) == canonical(warehouse) or is_same_folder(
        source.warehouse, warehouse
    )
    original = None if is_here else _living(source.warehouse, source.metastore)
    if original is None and mark is not None:
        original = original_of(mark, warehouse)

    def take() -> None:
        identity = make_identity(ownership.rows)
        shared = dict.fromkeys(source.shared, "")
        if source.metastore is None:  # nothing says whose the files outside of the warehouse are
            shared |= {table.hex(): "" for table in shared_with(None)}
        if original is not None:
            shared |= {table.hex(): original for table in shared_with(None) if table.hex() not in shared}
        shared |= {table: identity.originals.get(table, "") for table in identity.shared}
        if set(shared) != set(identity.shared):
            identity = renew_identity(ownership.rows, shared)
            _LOG.warning(
                "%d tables have files outside of the warehouse %s, which belong to %s: they are read here, and neither "
                "written nor deleted.", len(shared), warehouse, original or "the warehouse that it is a copy of",
            )  # fmt: skip
        before: tuple[str | None, str] | None = None
        if mark is None and is_here:
            before = source.metastore, source.store or EMBEDDED
        elif mark is not None and mark.metastore != identity.id and not (original and mark.store != EMBEDDED):
            before = mark.metastore, mark.store
        with _retiring(before, ownership, verify=not claims):
            replace_mark(warehouse, new_mark(identity.id, ownership.store, warehouse))
            reinstate(ownership.rows)

    with ownership.receiving():
        yield take


@contextmanager
def _retiring(before: tuple[str | None, str] | None, ownership: Ownership, *, verify: bool) -> Iterator[None]:
    """Retire a metastore, if it can be reached, before a block that gives its warehouse away.

    Args:
        before: the metastore's id and store, or None for no metastore.
        ownership: of the metastore that gets the warehouse, and that has the tables of a dump.
        verify: whether the dump must be of the present state of the metastore.

    Raises:
        ForeignWarehouseError: the metastore has changed since the dump. It is not retired then.
    """
    opened = None if before is None else _reach(before[1], ownership)
    if before is None or opened is None:
        yield
        return
    try:
        retired = retire(opened, before[0], store_name(ownership.store, ownership.warehouse))
        try:
            if retired and verify and (change := find_changed_table(opened, ownership.rows)) is not None:
                raise ForeignWarehouseError(
                    f"The warehouse {ownership.warehouse} belongs to the metastore in {store_name(before[1], ownership.warehouse)}, "
                    f"and the dump is not of its present state: {change}. Dump it again and restore the new dump, or, to give "
                    "up all changes since this dump, say `parquetry restore --claim`."
                )
            yield
        except BaseException:
            if retired:
                reinstate(opened)
            raise
    finally:
        opened.close()


def _retire_marked(mark: Mark, original: str | None, ownership: Ownership) -> bool:
    """Retire the metastore that a warehouse had, and return whether it was reached.

    The metastore of a warehouse that this one is a copy of is not retired. Only the one in the copy is.
    """
    if original is not None and mark.store != EMBEDDED:
        return False
    return _retire(mark.metastore, mark.store, ownership)


def original_of(mark: Mark, warehouse: str) -> str | None:
    """Return the folder that a warehouse is a copy of: it has the same mark still. None if there is none."""
    if mark.warehouse == canonical(warehouse) or is_same_folder(mark.warehouse, warehouse):
        return None
    return _living(mark.warehouse, mark.metastore)


def _living(warehouse: str, metastore: str | None) -> str | None:
    """Return a warehouse if its mark names a metastore, or else None."""
    try:
        mark = read_mark(warehouse)
    except (WarehouseError, ConfigurationError):  # this process cannot reach it
        return None
    return warehouse if mark is not None and mark.metastore == metastore else None


def _receivable(ownership: Ownership, source: Source, claims: bool) -> Mark | None:
    """Return the mark of a warehouse that a restore may take, or None if it has none.

    Raises:
        ForeignWarehouseError: it belongs to neither the dumped metastore nor the one that is filled.
    """
    try:
        mark = read_mark(ownership.warehouse)
    except WarehouseError:
        if claims:
            return None
        raise
    if mark is None or claims or mark.metastore == source.metastore or ownership.foreign_mark() is None:
        return mark
    raise ForeignWarehouseError(
        f"The warehouse {ownership.warehouse} belongs to the metastore in {store_name(mark.store, ownership.warehouse)}, and the "
        "dump is of another one or of an earlier time: dump that metastore and restore the new dump, or, if it is no "
        "more, say `parquetry restore --claim`."
    )


def _retire(id: str | None, store: str, ownership: Ownership) -> bool:
    """Retire the metastore of a store, and return whether it was reached."""
    opened = _reach(store, ownership)
    if opened is None:
        return False
    try:
        return retire(opened, id, store_name(ownership.store, ownership.warehouse))
    finally:
        opened.close()


def _reach(store: str, ownership: Ownership) -> Store | None:
    """Open the store of a metastore that is to be retired, or return None if it cannot be reached."""
    if store == ownership.store:
        return None
    try:
        return reopen_store(store, ownership.warehouse)
    except (ParquetryError, ImportError, OSError) as error:
        if store != EMBEDDED or not isinstance(error, (WarehouseError, ConfigurationError)):
            _LOG.warning("The metastore in %s was not reached to retire it: %s", store, error)
        return None


def find_changed_table(source: Store, restored: Store) -> str | None:
    """Return the first change of a table since a metastore was dumped, as a clause, or None.

    Args:
        source: store of the dumped metastore, which is retired.
        restored: store that has the dump's tables.
    """
    for key, value in list(source.scan(*prefix_range(HEADS))):
        _touch(source, key, value)
    dumped, now = dict(_tables(restored)), store_now_ms(source)
    for key, head in _tables(source):
        before, name = dumped.pop(key, None), f"{head.database}.{head.name}"
        if any(not owner.is_dead(now) for owner in head.pending.values()):
            return f"a commit of table {name} is under way"
        if before is None:
            return f"table {name} was made"
        if head.branches:
            return f"table {name} has branches, which no dump has (publish or drop {', '.join(sorted(head.branches))})"
        if before.commit.id != head.commit.id:
            return f"table {name} has version {head.commit.version}, and the dump has {before.commit.version}"
        if before.oldest != head.oldest:
            return f"a vacuum has deleted versions of table {name}"
        if (before.database, before.name) != (head.database, head.name):
            return f"table {before.database}.{before.name} was renamed to {name}"
    gone = next(iter(dumped.values()), None)
    return None if gone is None else f"table {gone.database}.{gone.name} was dropped"


def _touch(store: Store, key: bytes, value: bytes | None) -> None:
    """Change a head, so that no compare-and-set of a value from before succeeds. A ticket stays unused."""
    while value is not None:
        plain = without_checksum(key, value)
        head = decode_head(plain)
        if head.is_deleted:
            return
        new = encode(msgspec.structs.replace(head, next_ticket=head.next_ticket + 1))
        if store.compare_and_set(key, value, new if plain == value else with_checksum(key, new)):
            return
        value = store.get(key)


def _tables(store: Store) -> Iterator[tuple[bytes, Head]]:
    for key, value in store.scan(*prefix_range(HEADS)):
        head = decode_head(without_checksum(key, value))
        if head.state == "live":
            yield key, head
