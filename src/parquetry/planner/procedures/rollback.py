"""`CALL system.rollback`."""

from __future__ import annotations

from typing import Annotated

from parquetry.metastore import rollback
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row


class Rollback(Arguments, frozen=True, kw_only=True):
    """See `rollback`."""

    version: Annotated[int, "The version to go back to."]


def _run(lake: Lake, arguments: Rollback) -> list[Row]:
    current = lake.find(arguments.table)
    target = lake.metastore.table(current.database, current.name, version=arguments.version)
    return [(current.version, lake.cache(rollback(current, target)).version)]


ROLLBACK = Procedure(
    "rollback",
    "Makes a table what it was in an earlier version, as a new version.",
    Rollback,
    (("version_before", "long"), ("version", "long")),
    _run,
    changes=True,
)
