"""`CALL system.publish`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from parquetry.errors import UnsupportedError
from parquetry.identifiers import parse_name
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar
from parquetry.publishing import publish


class Publish(Arguments, frozen=True, kw_only=True):
    """See `publish`."""

    hive_table: Annotated[str | None, "Its name in Hive, as 'database.table'; NULL: the same as here."] = None


def _run(lake: Lake, arguments: Publish) -> Iterator[Row]:
    database, name = (None, None) if arguments.hive_table is None else _parts(arguments.hive_table)
    with progress_bar() as progress:
        differences = publish(lake.find(arguments.table), lake.engine.hive(), database, name, progress)
    for each in differences:
        yield each.action, each.count, each.detail


def _parts(name: str) -> tuple[str, str]:
    try:
        database, table = parse_name(name)
    except ValueError:
        raise UnsupportedError(
            f"{name!r} cannot be read as the name of a table in Hive: say 'database.table'."
        ) from None
    return database, table


PUBLISH = Procedure(
    "publish",
    "Publishes a table to the session's Hive metastore, so that Hive reads its files in place.",
    Publish,
    (("action", "string"), ("count", "long"), ("detail", "string")),
    _run,
    by_engine=True,
)
