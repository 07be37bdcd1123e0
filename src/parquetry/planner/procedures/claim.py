"""`CALL system.claim`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Procedure, Row


class ClaimWarehouse(msgspec.Struct, frozen=True, kw_only=True):
    """See `metastore.ownership.claim`."""

    copy: Annotated[bool, "Whether the warehouse is a copy of one that is not seen from here."] = False
    outside: Annotated[
        bool,
        "Whether tables outside of a copied warehouse are this one's: they were copied, or it is no more.",
    ] = False


def _run(lake: Lake, arguments: ClaimWarehouse) -> list[Row]:
    done = lake.metastore.claim(copy=arguments.copy, outside=arguments.outside)
    return [(done.warehouse, done.store, done.before, done.retired, done.original, done.shared)]


CLAIM = Procedure(
    "claim",
    "Makes this metastore the owner of the warehouse; another one may only be read from then on.",
    ClaimWarehouse,
    (
        ("warehouse", "string"),
        ("store", "string"),
        ("store_before", "string"),
        ("retired", "boolean"),
        ("copy_of", "string"),
        ("tables_of_original", "long"),
    ),
    _run,
)
