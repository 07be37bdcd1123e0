"""`vacuum`: delete what only old versions of a table need.

All doors go through `checked_vacuum`. It asks what time travel would lose, however the time was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from parquetry import config, metastore as ms
from parquetry.errors import UnsupportedError
from parquetry.operations.operation import (
    Context,
    DryRun,
    Option,
    Presentation,
    TableName,
    Timestamp,
    operation,
)
from parquetry.texts import quantity, size_text

_HOUR_MS = 60 * 60 * 1000
_CLOCK_TOLERANCE_MS = 5 * 60 * 1000
"""Milliseconds that a time may be ahead of the clock: a vacuum accepts clocks that differ so much."""
KEPT_VERSIONS = "kept versions"
"""The kind of the row that says what a vacuum without deletions keeps."""


@dataclass(frozen=True, slots=True)
class VacuumOptions:
    """How a vacuum is to be done.

    Attributes:
        older_than: milliseconds since the epoch: versions that were replaced before go. None: seven days ago.
        retain_hours: instead of `older_than`, in hours before now.
        dry_run: only report.
        grace_hours: the age at which a file that no version lists is deleted.
        force: whether to go on if clocks differ.
        allow_recent: whether versions may go that were replaced less than 168 hours ago.
    """

    older_than: int | None = None
    retain_hours: int | None = None
    dry_run: bool = False
    grace_hours: int | None = None
    force: bool = False
    allow_recent: bool = False


@operation(
    "Deletes files and records that only old versions of a table need.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "vacuum sales.orders --dry-run",
        {"kind": "kind", "count": "count", "bytes": "size", "path": "path", "detail": "detail"},
        sentence=lambda _, removed, __: _nothing(removed),
    ),
)
def vacuum(
    context: Context,
    table: TableName,
    older_than: Annotated[
        Timestamp | None,
        "Delete versions that were replaced before this time; the default is seven days ago. It cannot be in the "
        "future.",
        Option(
            "Delete versions that were replaced before this time, such as 2026-03-01T00:00:00+00:00, "
            "2026-03-01 in this machine's time zone, 30d or now. The default is seven days ago.",
            "TIME",
        ),
    ] = None,
    dry_run: DryRun = False,
    grace_hours: Annotated[
        int | None,
        "The age at which a file that no version lists is deleted; the default is the table property "
        "vacuum-grace-hours. No running write may have older files.",
    ] = None,
    force: Annotated[
        bool,
        "Whether to go on if the clocks of this machine and of the metastore's server differ by minutes.",
    ] = False,
    retain_hours: Annotated[
        int | None,
        "Instead of older_than: delete versions that were replaced more hours ago.",
        Option(metavar="HOURS"),
    ] = None,
    allow_recent: Annotated[
        bool,
        "Whether versions may go that were replaced less than 168 hours ago. Time travel and rollback to them "
        "end. The table property vacuum-retention-check = false allows it for every vacuum.",
    ] = False,
) -> list[ms.Removed]:
    """Delete what only old versions of a table need.

    These are files and records, and files that no version lists. A tag keeps its version and all later ones.
    """
    snapshot = context.find(table)
    before = None if older_than is None else older_than // 1000
    options = VacuumOptions(before, retain_hours, dry_run, grace_hours, force, allow_recent)
    removed = checked_vacuum(snapshot, context.full_name(snapshot), options)
    return removed or [_describe_kept(context.find(table))]


def checked_vacuum(table: ms.TableSnapshot, name: str, options: VacuumOptions) -> list[ms.Removed]:
    """Vacuum a table, unless time travel would lose more than the user means.

    Args:
        table: any version of the table.
        name: the table's name for messages.
        options: of the vacuum.

    Raises:
        UnsupportedError: versions would go that were replaced less than 168 hours ago, or the time is in the
            future or given twice.
    """
    before = _time(table, options)
    if before is not None:
        _require_past(table, before)
        checks = config.settle(properties=table.metadata.properties)[config.VACUUM_RETENTION_CHECK]
        if checks and not (options.dry_run or options.allow_recent):
            _require_old(table, name, before)
    return ms.vacuum(
        table,
        older_than=before,
        dry_run=options.dry_run,
        grace=ms.grace_of(table, options.grace_hours),
        force=options.force,
    )


def _time(table: ms.TableSnapshot, options: VacuumOptions) -> int | None:
    """Return the time before which replaced versions go, or None for the default."""
    if options.retain_hours is None:
        return options.older_than
    if options.older_than is not None:
        raise UnsupportedError(
            f"Vacuum of table {table.label} has older_than and retain_hours, which say the same: give one."
        )
    if options.retain_hours < 0:
        raise UnsupportedError(
            f"Vacuum of table {table.label}: retain_hours is {options.retain_hours}: give 0 or a greater number."
        )
    return ms.store_time(table) - options.retain_hours * _HOUR_MS


def _require_past(table: ms.TableSnapshot, before: int) -> None:
    """Make sure that a time is not in the future: it would be a slip of the pen."""
    now = ms.store_time(table)
    if before > now + _CLOCK_TOLERANCE_MS:
        raise UnsupportedError(
            f"Vacuum of table {table.label}: older_than is {time_text(before)}, and it is {time_text(now)} now: give a time "
            "that is past."
        )


def _require_old(table: ms.TableSnapshot, name: str, before: int) -> None:
    """Make sure that no version goes that was replaced a short time ago."""
    lost = ms.lost_versions(table, before)
    if lost is None or lost.replaced_at <= ms.store_time(table) - ms.KEPT_HOURS * _HOUR_MS:
        return
    versions = f"version {lost.first}" if lost.first == lost.last else f"versions {lost.first} to {lost.last}"
    raise UnsupportedError(
        f"VACUUM {name} would end time travel and rollback to {versions}, of which the last was replaced on "
        f"{time_text(lost.replaced_at)}, less than {ms.KEPT_HOURS} hours ago, and queries that still read them; version {lost.kept} "
        "would be the oldest. If that is meant, say allow_recent => true (--allow-recent), or ALTER TABLE "
        f"{name} SET TBLPROPERTIES ('{config.VACUUM_RETENTION_CHECK}' = 'false') before. DRY RUN shows what would be deleted."
    )


def _describe_kept(table: ms.TableSnapshot) -> ms.Removed:
    """Return the row that says what is kept after a vacuum that had nothing to delete."""
    old = ms.old_versions(table)
    if not old.count:
        detail = f"version {old.newest} only, of {time_text(old.since)}: there are no old versions"
        return ms.Removed(KEPT_VERSIONS, None, 0, 0, detail)
    until = (
        f"tag {old.tag!r} keeps them"
        if old.until is None
        else f"a vacuum takes the first after {time_text(old.until)}"
    )
    detail = f"versions {old.oldest} to {old.newest - 1}, since {time_text(old.since)}; {until}"
    return ms.Removed(KEPT_VERSIONS, None, old.count, old.bytes, detail)


def _nothing(removed: list[ms.Removed]) -> str | None:
    """Return the text for people after a vacuum without deletions."""
    match removed:
        case [ms.Removed(kind, _, count, size, detail)] if kind == KEPT_VERSIONS:
            held = f" ({quantity(count, 'old version')}, {size_text(size or 0)})" if count else ""
            return f"Nothing to delete. Kept: {detail}{held}."
    return None


def time_text(milliseconds: int) -> str:
    """Return a time for people, in UTC.

    >>> time_text(0)
    '1970-01-01 00:00:00 UTC'
    """
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
