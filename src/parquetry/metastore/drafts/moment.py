"""Tables as they were when other tables had certain versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from parquetry.errors import CommitConflictError
from parquetry.metastore.drafts.draft_store import DraftStore
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.versions.snapshot import TableSnapshot, load_commit


def load_beside(
    metastore: Metastore,
    beside: Sequence[TableSnapshot],
    load: Callable[[Metastore], Sequence[TableSnapshot | None]],
) -> list[tuple[TableSnapshot | None, bool]]:
    """Load tables as of a moment at which other tables had these versions.

    Usually the other tables have no later versions, and that is now. If they have, the times of commits tell
    what was there, as in a transaction (`draft_store`).

    Args:
        metastore: of all tables.
        beside: versions that were loaded before.
        load: loads the tables out of a metastore.

    Returns:
        Each table, and whether it is its newest version as far as is known.

    Raises:
        CommitConflictError: one of the other tables was renamed or dropped since, a vacuum has removed a
            version of that moment, or the tables change so often that no moment is found.
    """
    tables = metastore.at_once(
        lambda: load(metastore), lambda some: [each for each in some if each is not None]
    )
    if metastore.are_newest([*(each for each in tables if each is not None), *beside]):
        return [(each, True) for each in tables]
    store = DraftStore(metastore.store, "", moment=_moment(metastore, beside))
    for table in beside:
        head = read_head(metastore.store, table.id)
        if head is None or (head.state, head.database, head.name) != ("live", table.database, table.name):
            raise CommitConflictError(
                f"Table {table.label} was renamed or dropped while the statement was being analysed: run it again."
            )
        store.heads[table.id] = msgspec.structs.replace(head, commit=table.commit, newest=b"")
    past = load(Metastore(store, metastore.warehouse))
    return [(None if each is None else _for_everyone(metastore, each), False) for each in past]


def _moment(metastore: Metastore, beside: Sequence[TableSnapshot]) -> int | None:
    """Return the last millisecond before the next commit of one of the tables, or None if there is none."""
    ends = []
    for table in beside:
        head = read_head(metastore.store, table.id)
        if head is not None and head.commit.version > table.version:
            following = load_commit(metastore.store, table.id, head, table.version + 1)
            if following is not None:
                ends.append(following.committed_at - 1)
    first = max(table.commit.committed_at for table in beside)
    return max(first, min(ends)) if ends else None


def _for_everyone(metastore: Metastore, table: TableSnapshot) -> TableSnapshot:
    """Return a version that was read from a draft as one of the metastore, so that writes go there."""
    about = table.database, table.name, table.commit, table.metadata
    return TableSnapshot(metastore.store, table.id, *about).of_branch(table.branch_of)
