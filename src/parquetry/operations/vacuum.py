"""`vacuum`: delete what only old versions of a table need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

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


@operation(
    "Deletes files and records that only old versions of a table need.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "vacuum sales.orders --dry-run",
        {"kind": "kind", "count": "count", "bytes": "size", "path": "path"},
        sentence=lambda _, removed, arguments: None if removed else _nothing(arguments),
    ),
)
def vacuum(
    context: Context,
    table: TableName,
    older_than: Annotated[
        Timestamp | None,
        "Delete versions that were replaced before this time; the default is seven days ago.",
        Option(
            "Delete versions that were replaced before this time, such as 2026-03-01T00:00:00+00:00, "
            "or 2026-03-01 in this machine's time zone. The default is seven days ago.",
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
        "Instead of older_than: delete versions that were replaced more hours ago. Fewer than 168 need the table "
        "property vacuum-retention-check = false.",
        Option(of_command=False),
    ] = None,
) -> list[ms.Removed]:
    """Delete what only old versions of a table need.

    These are files and records, and files that no version lists.
    """
    snapshot = context.find(table)
    before = None if older_than is None else older_than // 1000
    if retain_hours is not None:
        if before is not None:
            raise UnsupportedError(
                f"Vacuum of table {snapshot.label} has older_than and retain_hours, which say the same: give one."
            )
        _check_hours(snapshot, context.full_name(snapshot), retain_hours, dry_run)
    return ms.vacuum(
        snapshot,
        older_than=before,
        retain_hours=retain_hours,
        dry_run=dry_run,
        grace=ms.grace_of(snapshot, grace_hours),
        force=force,
    )


def _nothing(arguments: Mapping[str, Any]) -> str:
    """Return the text for people after a vacuum without deletions."""
    if arguments["older_than"] is not None:
        return "Nothing to delete."
    return (
        "Nothing to delete. Versions that were replaced less than seven days ago are kept (see --older-than)."
    )


def _check_hours(table: ms.TableSnapshot, name: str, hours: int, dry_run: bool) -> None:
    """Make sure that the user means to keep replaced versions for so few hours.

    Raises:
        UnsupportedError: they are fewer than the default, and the table does not allow it.
    """
    if hours < 0:
        raise UnsupportedError(
            f"Vacuum of table {table.label}: retain_hours is {hours}: give 0 or a greater number."
        )
    checks = config.settle(properties=table.metadata.properties)[config.VACUUM_RETENTION_CHECK]
    if hours < ms.KEPT_HOURS and checks and not dry_run:
        raise UnsupportedError(
            f"VACUUM {name} RETAIN {hours} HOURS would end time travel and rollback to versions of the last "
            f"{ms.KEPT_HOURS} hours, and queries that still read them. If that is meant, say ALTER TABLE {name} SET "
            f"TBLPROPERTIES ('{config.VACUUM_RETENTION_CHECK}' = 'false') before. DRY RUN shows what would be deleted."
        )
