"""The identity of a metastore: a row of its store, made once, which the mark in the warehouse's folder names.

A metastore that gave its warehouse to another one is *retired*: its format row says who has the warehouse
now. Older libraries do not know that, so a retired metastore has format `RETIRED`, which they refuse.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import msgspec

from parquetry.metastore.storage.format import read_successor, retire_format
from parquetry.metastore.storage.head import swap
from parquetry.metastore.storage.keyspace import IDENTITY
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

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
