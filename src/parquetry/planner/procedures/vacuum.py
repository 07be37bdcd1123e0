"""`CALL system.vacuum`."""

from __future__ import annotations

from typing import Annotated

from parquetry.config import VACUUM_RETENTION_CHECK, settle
from parquetry.errors import UnsupportedError
from parquetry.metastore import HOUR_MS, KEPT_MS, TableSnapshot, grace_of, store_now_ms, vacuum
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row, Timestamp


class Vacuum(Arguments, frozen=True, kw_only=True):
    """See `vacuum`."""

    older_than: Annotated[
        Timestamp | None,
        "Delete versions that were replaced before this time; the default is seven days ago.",
    ] = None
    dry_run: Annotated[bool, "Whether to report only."] = False
    grace_hours: Annotated[
        int | None,
        "The age at which a file that no version lists is deleted; the default is the table property "
        "vacuum-grace-hours. No running write may have older files.",
    ] = None
    force: Annotated[
        bool,
        "Whether to go on if the clocks of this machine and of the metastore's server differ by minutes.",
    ] = False
    retain_hours: Annotated[
        int | None,
        "Instead of older_than: delete versions that were replaced more hours ago. Fewer than 168 need the table "
        "property vacuum-retention-check = false.",
    ] = None


def _run(lake: Lake, arguments: Vacuum) -> list[Row]:
    table = lake.find(arguments.table)
    older_than = None if arguments.older_than is None else arguments.older_than // 1000
    if arguments.retain_hours is not None:
        if older_than is not None:
            raise UnsupportedError(
                f"Vacuum of table {table.label} has older_than and retain_hours, which say the same: give one."
            )
        older_than = store_now_ms(table.store) - _checked_hours(table, arguments) * HOUR_MS
    removed = vacuum(
        table,
        older_than=older_than,
        dry_run=arguments.dry_run,
        grace=grace_of(table, arguments.grace_hours),
        force=arguments.force,
    )
    return [(row.kind, row.path, row.count, row.bytes) for row in removed]


def _checked_hours(table: TableSnapshot, arguments: Vacuum) -> int:
    """Return the hours that replaced versions are kept, once it is certain that the user means so few.

    Raises:
        UnsupportedError: they are fewer than the default, and the table does not allow it.
    """
    hours = arguments.retain_hours or 0
    if hours < 0:
        raise UnsupportedError(
            f"Vacuum of table {table.label}: retain_hours is {hours}: give 0 or a greater number."
        )
    checks = settle(properties=table.metadata.properties)[VACUUM_RETENTION_CHECK]
    if hours * HOUR_MS < KEPT_MS and checks and not arguments.dry_run:
        raise UnsupportedError(
            f"VACUUM {table.label} RETAIN {hours} HOURS would end time travel and rollback to versions of the last "
            f"{KEPT_MS // HOUR_MS} hours, and queries that still read them. If that is meant, say ALTER TABLE {table.label} SET "
            f"TBLPROPERTIES ('{VACUUM_RETENTION_CHECK}' = 'false') before. DRY RUN shows what would be deleted."
        )
    return hours


VACUUM = Procedure(
    "vacuum",
    "Deletes files and records that only old versions of a table need.",
    Vacuum,
    (("kind", "string"), ("path", "string"), ("count", "long"), ("bytes", "long")),
    _run,
    changes=True,
)
