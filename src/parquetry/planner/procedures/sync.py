"""`CALL system.sync`, and MSCK REPAIR TABLE, which gives the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from parquetry.adoption import Difference, SyncOptions, synchronise
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar


class Sync(Arguments, frozen=True, kw_only=True):
    """See `synchronise`."""

    where: Annotated[str | None, "A condition on partition columns: only these partitions."] = None
    dry_run: Annotated[bool, "Whether to report only."] = False
    readopt: Annotated[bool, "Whether to adopt files again that commits removed on purpose."] = False
    buckets: Annotated[bool, "Whether to check files again whose buckets were refused before."] = False


def rows(differences: Iterable[Difference]) -> Iterator[Row]:
    """Yield a row for each difference."""
    for each in differences:
        yield each.action, each.partition, each.files, each.rows, each.bytes, each.detail


def _run(lake: Lake, arguments: Sync) -> Iterator[Row]:
    with progress_bar() as progress:
        return rows(
            synchronise(
                lake.find(arguments.table),
                lake.engine,
                SyncOptions(
                    arguments.where, arguments.dry_run, readopt=arguments.readopt, buckets=arguments.buckets
                ),
                progress,
            )
        )


SYNC = Procedure(
    "sync",
    "Makes a table agree with the files below its location.",
    Sync,
    (
        ("action", "string"),
        ("partition", "string"),
        ("files", "long"),
        ("rows", "long"),
        ("bytes", "long"),
        ("detail", "string"),
    ),
    _run,
    changes=True,
)
