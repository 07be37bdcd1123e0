"""What tells two states of a store apart in which one version of a table has files in different places.

A version never changes, except that `relocate` gives its files other locations. And a store may be filled anew
under the eyes of a program that has it open: a restored metastore has another identity, as after a claim. What
is made of a version with absolute paths in it, such as a manifest for other readers, names both beside the
version.
"""

from __future__ import annotations

import secrets

from parquetry.metastore.storage.keyspace import IDENTITY, LOCATIONS_EPOCH
from parquetry.store import Store

_BYTES = 8


def locations_epoch(store: Store) -> bytes:
    """Return bytes that differ after each call of `relocate`, after a restore, and after a claim."""
    rewritten, identity = store.get_many([LOCATIONS_EPOCH, IDENTITY])
    return (rewritten or bytes(_BYTES)) + (identity or b"")


def renew_locations_epoch(store: Store) -> None:
    """Say that locations are rewritten. Of two writers at once, either may be the last."""
    store.put_many([(LOCATIONS_EPOCH, secrets.token_bytes(_BYTES))])
