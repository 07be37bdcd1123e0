"""Measure what the old versions of a table hold, and what a vacuum would take from time travel."""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.metastore.cleanup.retention import oldest_commit, oldest_needed_commit
from parquetry.metastore.cleanup.upkeep_record import read_record
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import live_head
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.vacuuming.clocks import HOUR_MS
from parquetry.metastore.vacuuming.vacuum import KEPT_HOURS
from parquetry.metastore.versions.snapshot import TableSnapshot

_KEPT_MS = KEPT_HOURS * HOUR_MS


@dataclass(frozen=True, slots=True)
class OldVersions:
    """The readable versions of a table before the newest one.

    Attributes:
        count: their number.
        oldest: the oldest version that can be read.
        newest: the newest version.
        bytes: size of the files that only they list.
        expired: number of versions that a vacuum with the default time takes now.
        expired_bytes: size of the files that it deletes with them.
        since: when the oldest readable version was made, in milliseconds since the epoch.
        until: when a vacuum with the default time takes the oldest, or None if there are no old versions, or
            if a tag keeps it.
        is_exact: whether the sizes are exact. Versions of older libraries do not record what they removed.
        vacuumed_at: when the last vacuum ended, in milliseconds since the epoch, or None if it is not known.
        tag: the tag, or the branch, that keeps the oldest version that is kept so, or None.
    """

    count: int
    oldest: int
    newest: int
    bytes: int
    expired: int
    expired_bytes: int
    since: int
    until: int | None
    is_exact: bool
    vacuumed_at: int | None
    tag: str | None = None


def old_versions(table: TableSnapshot) -> OldVersions:
    """Return what the old versions of a table hold, from the records of its commits alone.

    Args:
        table: the newest version.

    Raises:
        TableNotFoundError: the table was dropped or vacuumed meanwhile.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    limit = store_now_ms(table.store) - _KEPT_MS
    held = expired_bytes = expired = 0
    is_exact = True
    later, until = head.commit, None
    kept = head.kept_versions
    tag = min(kept, key=lambda name: (kept[name], name), default=None)
    for commit in table.history(head.oldest):
        if commit.version != later.version:
            removed, known = _bytes_released(commit, later)
            is_exact &= known
            held += removed
            is_tagged = tag is not None and kept[tag] <= commit.version
            until = None if is_tagged else later.committed_at + _KEPT_MS
            if later.committed_at <= limit and not is_tagged:
                expired += 1
                expired_bytes += removed
        later = commit
    return OldVersions(
        count=head.commit.version - head.oldest,
        oldest=head.oldest,
        newest=head.commit.version,
        bytes=max(0, held),
        expired=expired,
        expired_bytes=max(0, min(expired_bytes, held)),
        since=later.committed_at,
        until=until,
        is_exact=is_exact,
        vacuumed_at=read_record(table.store, table.id).vacuumed_at or None,
        tag=tag,
    )


def _bytes_released(before: CommitRecord, commit: CommitRecord) -> tuple[int, bool]:
    """Return the bytes that a commit has left to older versions, and whether their number is exact.

    A rollback lists files again that only older versions had.
    """
    if commit.changes is None:
        return max(0, before.totals.bytes - commit.totals.bytes), False
    again = commit.changes.bytes_added if commit.operation == "rollback" else 0
    return commit.changes.bytes_removed - again, True


@dataclass(frozen=True, slots=True)
class LostVersions:
    """The versions that a vacuum would take.

    Attributes:
        first: the first of them.
        last: the last of them.
        replaced_at: when the last was replaced, in milliseconds since the epoch.
        kept: the oldest version that stays.
    """

    first: int
    last: int
    replaced_at: int
    kept: int


def lost_versions(table: TableSnapshot, older_than: int) -> LostVersions | None:
    """Return the versions that a vacuum would take, or None if it takes none.

    Args:
        table: any version of the table.
        older_than: the time of the vacuum, in milliseconds since the epoch.

    Raises:
        TableNotFoundError: the table was dropped or vacuumed meanwhile.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    oldest = oldest_needed_commit(table.store, table.id, head, older_than)
    if oldest.version <= oldest_commit(table.store, table.id, head).version:
        return None
    return LostVersions(head.oldest, oldest.version - 1, oldest.committed_at, oldest.version)


def oldest_version(table: TableSnapshot) -> int:
    """Return the oldest version of a table that can be read.

    Args:
        table: any version of the table.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    return live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.").oldest


def store_time(table: TableSnapshot) -> int:
    """Return the time that a vacuum of a table goes by, in milliseconds since the epoch."""
    return store_now_ms(table.store)
