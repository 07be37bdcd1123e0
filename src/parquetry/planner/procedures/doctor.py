"""`CALL system.doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from parquetry.metastore import check_storage
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Procedure, Row


class Doctor(msgspec.Struct, frozen=True, kw_only=True):
    """See `check_storage`."""

    write: Annotated[bool, "Whether to write a small file, read it back and delete it."] = False


def _run(lake: Lake, arguments: Doctor) -> Iterator[Row]:
    for check in lake.engine.storage_checks(lake.metastore.warehouse):
        yield check.name, check.ok, check.found, check.remedy
    for check in check_storage(lake.metastore, write=arguments.write):
        yield check.name, check.ok, check.found, check.remedy


DOCTOR = Procedure(
    "doctor",
    "Checks the reach of the warehouse and the metastore, rights, clocks, and settings of the file system.",
    Doctor,
    (("check", "string"), ("ok", "boolean"), ("found", "string"), ("remedy", "string")),
    _run,
)
