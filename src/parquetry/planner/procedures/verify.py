"""`CALL system.verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar
from parquetry.verification.verify import verify


class Verify(Arguments, frozen=True, kw_only=True):
    """See `verify`."""

    where: Annotated[str | None, "A condition on partition columns: only these partitions."] = None


def _run(lake: Lake, arguments: Verify) -> Iterator[Row]:
    with progress_bar() as progress:
        zone = lake.engine.time_zone if arguments.where is not None else "UTC"
        for each in verify(lake.find(arguments.table), arguments.where, zone=zone, progress=progress):
            yield each.problem, each.partition, each.path, each.bucket, each.rows, each.detail


VERIFY = Procedure(
    "verify",
    "Reads the rows of a table's buckets, and reports files with rows in a wrong bucket or out of order.",
    Verify,
    (
        ("problem", "string"),
        ("partition", "string"),
        ("path", "string"),
        ("bucket", "integer"),
        ("rows", "long"),
        ("detail", "string"),
    ),
    _run,
)
