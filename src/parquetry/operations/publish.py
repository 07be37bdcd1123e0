"""`publish`: enter a table into a Hive metastore."""

from __future__ import annotations

from typing import Annotated

from parquetry import publishing
from parquetry.errors import UnsupportedError
from parquetry.identifiers import parse_name
from parquetry.operations.operation import Context, TableName, operation
from parquetry.progress import progress_bar


@operation(
    "Publishes a table to the session's Hive metastore, so that Hive reads its files in place.",
    by_engine=True,
)
def publish(
    context: Context,
    table: TableName,
    hive_table: Annotated[
        str | None, "Its name in Hive, as 'database.table'; NULL: the same as here."
    ] = None,
) -> list[publishing.Published]:
    """Publish a table. The command of this name starts Spark, and calls the procedure."""
    database, name = (None, None) if hive_table is None else _name_parts(hive_table)
    with progress_bar() as progress:
        return publishing.publish(context.find(table), context.engine.hive(), database, name, progress)


def _name_parts(name: str) -> tuple[str, str]:
    try:
        database, table = parse_name(name)
    except ValueError:
        raise UnsupportedError(
            f"{name!r} cannot be read as the name of a table in Hive: say 'database.table'."
        ) from None
    return database, table
