"""`CALL system.vacuum`."""

from __future__ import annotations

from typing import Annotated

from parquetry.maintenance.deletion import GRACE_MS, HOUR_MS, grace_from_hours
from parquetry.maintenance.deletion.vacuum import vacuum
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
        int,
        "The age at which a file that no version lists is deleted. No running write may have older files.",
    ] = GRACE_MS // HOUR_MS
    force: Annotated[
        bool, "Whether to go on if this machine's clock and that of the metastore's server differ by minutes."
    ] = False


def _run(lake: Lake, arguments: Vacuum) -> list[Row]:
    older_than = None if arguments.older_than is None else arguments.older_than // 1000
    removed = vacuum(
        lake.find(arguments.table),
        older_than=older_than,
        dry_run=arguments.dry_run,
        grace=grace_from_hours(arguments.grace_hours),
        force=arguments.force,
    )
    return [(row.kind, row.path, row.count, row.bytes) for row in removed]


VACUUM = Procedure(
    "vacuum",
    "Deletes files and records that only old versions of a table need.",
    Vacuum,
    (("kind", "string"), ("path", "string"), ("count", "long"), ("bytes", "long")),
    _run,
    changes=True,
)
