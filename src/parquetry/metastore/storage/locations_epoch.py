"""A random number of the store that changes whenever `relocate` rewrites locations in place.

A version never changes, except that `relocate` gives its files other locations. What is made of a version with
absolute paths in it, such as a manifest for other readers, therefore names this number beside the version.
"""

from __future__ import annotations

import secrets

from parquetry.metastore.storage.keyspace import LOCATIONS_EPOCH
from parquetry.store import Store

_BYTES = 8


def locations_epoch(store: Store) -> bytes:
    """Return the number, which is empty until the first call of `relocate`."""
    return store.get(LOCATIONS_EPOCH) or b""


def renew_locations_epoch(store: Store) -> None:
    """Give the store another number. Of two writers at once, either may be the last."""
    store.put_many([(LOCATIONS_EPOCH, secrets.token_bytes(_BYTES))])
