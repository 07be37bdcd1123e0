"""Remove the bytes of deleted rows from a store's own files, as far as the store can."""

from __future__ import annotations

from parquetry.store import KeepsDeletedRows, Store


def scrub(store: Store, *, whole: bool = False) -> str | None:
    """Remove the bytes of deleted rows, and return what may keep them, as a sentence, or None.

    Args:
        store: the store of a metastore.
        whole: whether to write the store's files anew; see `KeepsDeletedRows.scrub`.
    """
    rows = getattr(store, "rows", store)  # of a store that is seen with absolute locations
    return rows.scrub(whole=whole) if isinstance(rows, KeepsDeletedRows) else None
