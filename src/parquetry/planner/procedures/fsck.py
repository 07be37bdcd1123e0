"""`CALL system.fsck`."""

from __future__ import annotations

from typing import Annotated

from parquetry.metastore import fsck
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row


class Fsck(Arguments, frozen=True, kw_only=True):
    """See `fsck`."""

    repair: Annotated[bool, "Whether to repair what can be repaired."] = False
    footers: Annotated[bool, "Whether to read the footers of Parquet files that others wrote."] = True


def _run(lake: Lake, arguments: Fsck) -> list[Row]:
    found = fsck(lake.find(arguments.table), repair=arguments.repair, footers=arguments.footers)
    return [(each.kind, each.partition, each.path, each.detail, each.repaired) for each in found]


FSCK = Procedure(
    "fsck",
    "Compares the metadata of a table with itself and with the files.",
    Fsck,
    (
        ("kind", "string"),
        ("partition", "string"),
        ("path", "string"),
        ("detail", "string"),
        ("repaired", "boolean"),
    ),
    _run,
    changes=True,
)
