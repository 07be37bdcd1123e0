"""The mark of a warehouse: a small JSON file in its folder, which names the metastore that it belongs to.

{"format": "parquetry warehouse", "metastore": "5a…", "store": "postgresql://ann@db/lake", …}

The file is beside the folder `_parquetry`, not in it. Who moves an old metastore away leaves the mark.

The mark names a metastore by its identity: a row of its store, made once.

A metastore that gave its warehouse to another one is *retired*: its format row says who has the warehouse
now. Older libraries do not know that, so a retired metastore has format `RETIRED`, which they refuse.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from parquetry._version import __version__
from parquetry.errors import WarehouseError
from parquetry.locations import join_location, storage_path, take_apart
from parquetry.metastore.storage.format import OWN_FOLDER, read_successor, retire_format
from parquetry.metastore.storage.head import swap
from parquetry.metastore.storage.keyspace import IDENTITY
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.open_files import open_files_error
from parquetry.store import EMBEDDED, METASTORE_FOLDER, Store

MARK_FILE = "_parquetry_metastore.json"
"""Name of the mark in the warehouse's folder. Spark's readers skip names that begin with `_`."""
_FORMAT = "parquetry warehouse"
_REMOTE_REMEDY = (
    "Outside of Spark, address and credentials come from the environment (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, "
    "profiles), `--storage-option`, or parquetry.open's storage_options."
)


class Mark(msgspec.Struct, frozen=True):
    """The record in the mark.

    Attributes:
        format: always `_FORMAT`.
        metastore: id of the metastore's identity.
        store: URL of its store without a password, or `EMBEDDED` for the file inside the warehouse.
        warehouse: the folder when it was marked, in one spelling; see `canonical`.
        written_by: version of the library.
    """

    format: str
    metastore: str
    store: str
    warehouse: str
    written_by: str = ""


def new_mark(metastore: str, store: str, warehouse: str) -> Mark:
    """Return the mark of a warehouse that belongs to a metastore."""
    return Mark(_FORMAT, metastore, store, canonical(warehouse), __version__)


def canonical(warehouse: str) -> str:
    """Return a warehouse's location in one spelling; links are resolved.

    >>> canonical("s3a://bucket/lake"), canonical("s3://bucket//lake")
    ('s3://bucket/lake', 's3://bucket/lake')
    """
    path = storage_path(warehouse)
    return f"{path.root}{path.path}" if path.root else os.path.realpath(path.path)


def mark_location(warehouse: str) -> str:
    """Return the location of a warehouse's mark."""
    return join_location(warehouse, MARK_FILE)


def read_mark(warehouse: str) -> Mark | None:
    """Return the mark of a warehouse, or None if it has none.

    Raises:
        WarehouseError: it cannot be read, or is damaged.
    """
    from parquetry.locations import read_small_file  # opens PyArrow, which reading a metastore does not need

    with _access_errors(warehouse, "read"):
        text = read_small_file(mark_location(warehouse))
    return None if text is None else _decode(warehouse, text)


def create_mark(warehouse: str, mark: Mark) -> Mark:
    """Mark a warehouse unless it has a mark, and return the mark that it has then.

    Raises:
        WarehouseError: the mark cannot be written, or is damaged.
    """
    from parquetry.locations import create_small_file

    with _access_errors(warehouse, "written"):
        text = create_small_file(mark_location(warehouse), _encode(mark))
    return _decode(warehouse, text)


def replace_mark(warehouse: str, mark: Mark) -> None:
    """Mark a warehouse, over the mark that it has.

    Raises:
        WarehouseError: the mark cannot be written, or another process wrote one at the same time.
    """
    from parquetry.locations import replace_small_file

    with _access_errors(warehouse, "written"):
        replace_small_file(mark_location(warehouse), _encode(mark))
    if read_mark(warehouse) != mark:
        raise WarehouseError(
            f"The mark {mark_location(warehouse)} was written by another process meanwhile: look whose it is, and "
            "run it again."
        )


def is_same_folder(one: str, other: str) -> bool:
    """Return whether two local locations are one folder, as by two mounts."""
    if not (take_apart(one).is_local and take_apart(other).is_local):
        return False
    try:
        return os.path.samefile(storage_path(one).path, storage_path(other).path)
    except OSError:
        return False


def store_name(store: str, warehouse: str) -> str:
    """Return a store's name for messages.

    >>> store_name("sqlite", "/lake")
    "the warehouse's own folder (/lake/_parquetry)"
    """
    return f"{OWN_FOLDER} ({join_location(warehouse, METASTORE_FOLDER)})" if store == EMBEDDED else store


@contextmanager
def _access_errors(warehouse: str, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if at_limit := open_files_error(error):
            raise at_limit from None
        location = mark_location(warehouse)
        where = "" if take_apart(location).is_local else f" {_REMOTE_REMEDY}"
        raise WarehouseError(
            f"{location} cannot be {done}: {str(error.strerror or error).rstrip('.')}. It names the metastore that the warehouse "
            f"belongs to: give this user the right to read and write it.{where}"
        ) from None


def _encode(mark: Mark) -> bytes:
    return msgspec.json.format(msgspec.json.encode(mark)) + b"\n"


def _decode(warehouse: str, text: bytes) -> Mark:
    try:
        mark = msgspec.json.decode(text, type=Mark)
    except msgspec.MsgspecError:
        mark = None
    if mark is None or mark.format != _FORMAT:
        raise WarehouseError(
            f"{mark_location(warehouse)} should name the metastore that the warehouse belongs to, and cannot be "
            "read: if this metastore is the one, delete the file; the next write makes it anew."
        )
    return mark


_ID_BYTES = 16


class Identity(msgspec.Struct, frozen=True):
    """The record of the identity row.

    Attributes:
        id: random, hexadecimal.
        shared: hexadecimal ids of tables whose files outside of the warehouse belong to the metastore that
            this one is a copy of. They are read here, and neither written nor deleted.
        originals: the folder of that metastore's warehouse for each of these tables, as far as it is known.
    """

    id: str
    shared: tuple[str, ...] = ()
    originals: dict[str, str] = {}


def read_identity(store: Store) -> Identity | None:
    """Return the identity of a metastore, or None if no write has made it yet.

    Args:
        store: the store itself.
    """
    value = store.get(IDENTITY)
    return None if value is None else decoder(Identity).decode(value)


def make_identity(store: Store) -> Identity:
    """Return the identity of a metastore, and make it if there is none. Of several writers, one makes it."""
    while (identity := read_identity(store)) is None:
        swap(store, IDENTITY, None, encode(Identity(secrets.token_hex(_ID_BYTES))))
    return identity


def renew_identity(store: Store, shared: Mapping[str, str], id: str | None = None) -> Identity:
    """Give a metastore a new identity.

    Args:
        store: the store itself.
        shared: see `Identity.shared`, each with its folder in `Identity.originals`, or with an empty text.
        id: the id to keep, or None for a new one.
    """
    originals = {table: folder for table, folder in sorted(shared.items()) if folder}
    identity = Identity(id or secrets.token_hex(_ID_BYTES), tuple(sorted(shared)), originals)
    while True:
        value = store.get(IDENTITY)
        if swap(store, IDENTITY, value, encode(identity)):
            return identity


def retire(store: Store, id: str | None, successor: str) -> bool:
    """Retire a metastore that has an identity, or none if `id` is None. Return whether this is the metastore.

    Args:
        store: the store itself.
        id: of its identity.
        successor: the store that has the warehouse now, as the mark names it.
    """
    identity = read_identity(store)
    if (identity.id if identity else None) != id:
        return False
    retire_format(store, successor)
    return True


def reinstate(store: Store) -> None:
    """Take back that a metastore was retired."""
    if read_successor(store):
        retire_format(store, "")
