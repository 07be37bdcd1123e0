"""Turn what a caller names, versions or times, into the first and the last version whose changes are wanted.

Both ends are included: the changes of versions 3 to 9 are the difference of version 2 and version 9. An end
that is excluded is the version after it, or before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.errors import VersionNotFoundError
from parquetry.metastore import TableVersions


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """One end of a range of versions.

    Attributes:
        version: its number, or None if a time is given.
        time: microseconds since the epoch, or None. The first version made at that time or later begins a
            range, and the last one made until then ends it.
        included: whether the version, or a version of just this time, is in the range.
    """

    version: int | None = None
    time: int | None = None
    included: bool = True


def changed_versions(
    versions: TableVersions, table: str, start: RangeEnd, end: RangeEnd | None
) -> tuple[int, int]:
    """Return the first and the last version of a range; the last is one less than the first if it is empty.

    Args:
        versions: of the table.
        table: its name, for messages.
        start: the beginning.
        end: the end, or None for the newest version.

    Raises:
        VersionNotFoundError: the table never had such a version, or what it changed is no longer known.
    """
    newest, oldest = versions.number, versions.oldest
    first = _first(versions, start)
    last = newest if end is None else _last(versions, end)
    if first > newest + 1 or last > newest:
        raise VersionNotFoundError(
            f"Table {table} has no version {first if first > newest + 1 else last}: the newest is {newest}."
        )
    if last < first - 1:
        raise VersionNotFoundError(
            f"The changes of table {table} cannot begin with version {first} and end with version {last}: give "
            "the earlier version first."
        )
    if last < first:
        first = max(first, oldest + 1)
        return first, first - 1
    if first and first - 1 < oldest:
        raise VersionNotFoundError(
            f"What version {first} of table {table} changed is not known any more: the versions before {oldest} "
            f"have been vacuumed away, and {oldest} is the oldest that remains. Begin with version {oldest + 1} or "
            f"later."
        )
    return first, last


def _first(versions: TableVersions, start: RangeEnd) -> int:
    if start.version is not None:
        return start.version + (not start.included)
    assert start.time is not None
    # commits have milliseconds: the newest version before the time
    before = versions.as_of(-(-start.time // 1000) - 1 if start.included else start.time // 1000)
    if before is not None:
        return before + 1
    return versions.oldest + 1 if versions.oldest else 0


def _last(versions: TableVersions, end: RangeEnd) -> int:
    if end.version is not None:
        return end.version - (not end.included)
    assert end.time is not None
    found = versions.as_of(end.time // 1000 if end.included else -(-end.time // 1000) - 1)
    return versions.oldest - 1 if found is None else found
