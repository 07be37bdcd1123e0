"""The versions of a table as a page of a time line, and what its old versions hold."""

from __future__ import annotations

from itertools import islice
from typing import Any

from parquetry.metastore import KEPT_HOURS, TableSnapshot, old_versions
from parquetry.operations import readable_versions

MAX_VERSIONS = 200
"""Versions on a page, at most."""
_MICROSECONDS = 1_000


def version_page(snapshot: TableSnapshot, before: int | None, limit: int) -> dict[str, Any]:
    """Return a page of versions, the newest first, with who made each and what it changed.

    Args:
        snapshot: the newest version.
        before: the version before which the page begins, or None for the newest.
        limit: how many versions at most.
    """
    limit = max(1, min(limit, MAX_VERSIONS))
    last = None if before is None else before - 1
    if last is not None and last < 0:
        return {"rows": [], "next": None}
    versions = list(islice(readable_versions(snapshot, 0, last), limit + 1))
    rows = [{**each._asdict(), "time": each.committed_at // _MICROSECONDS} for each in versions[:limit]]
    return {"rows": rows, "next": rows[-1]["version"] if len(versions) > limit else None}


def old_versions_answer(snapshot: TableSnapshot) -> dict[str, Any]:
    """Return how many old versions a table has, and how many bytes only they need."""
    old = old_versions(snapshot)
    return {
        "count": old.count,
        "oldest": old.oldest,
        "bytes": old.bytes,
        "expired": old.expired,
        "expired_bytes": old.expired_bytes,
        "is_exact": old.is_exact,
        "since": old.since,
        "until": old.until,
        "vacuumed_at": old.vacuumed_at,
        "kept_hours": KEPT_HOURS,
    }
