"""The epoch of a store: bytes that change when the files of an unchanged version get other places.

A version never changes, except that `relocate` gives its files other locations. And somebody may fill a store
anew while a program has it open. The restored metastore has another identity then, as after a claim. A
manifest for other readers has absolute paths of a version's files, so it names the epoch beside the version.
"""

from __future__ import annotations

import secrets

from parquetry.metastore.storage.keyspace import IDENTITY, LOCATIONS_EPOCH
from parquetry.store import Store

_EPOCH_BYTES = 8


def locations_epoch(store: Store) -> bytes:
    """Return bytes that differ after each call of `relocate`, after a restore, and after a claim."""
    rewritten, identity = store.get_many([LOCATIONS_EPOCH, IDENTITY])
    return (rewritten or bytes(_EPOCH_BYTES)) + (identity or b"")


def renew_locations_epoch(store: Store) -> None:
    """Say that locations are rewritten. Of two writers at once, either may be the last."""
    store.put_many([(LOCATIONS_EPOCH, secrets.token_bytes(_EPOCH_BYTES))])
