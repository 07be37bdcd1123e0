"""`publish`: enter a table into a Hive metastore, or write a Delta log into its folder."""

from __future__ import annotations

from typing import Annotated

import msgspec

from parquetry import metastore as ms, publishing
from parquetry.errors import UnsupportedError
from parquetry.exchange import DELTA
from parquetry.identifiers import parse_name
from parquetry.operations.operation import Context, TableName, operation
from parquetry.progress import progress_bar


@operation(
    "Publishes a table to the session's Hive metastore, so that Hive reads its files in place, or as a Delta log in its folder.",
    by_engine=True,
)
def publish(
    context: Context,
    table: TableName,
    hive_table: Annotated[
        str | None, "Its name in Hive, as 'database.table'; NULL: the same as here."
    ] = None,
    format: Annotated[str, "Either 'hive' or 'delta'."] = "hive",
    publish: Annotated[
        str,
        "Either 'once', for the versions until now, or 'follow', to publish each later version with its commit (Delta alone).",
    ] = "once",
    read_only: Annotated[
        bool,
        "Whether Hive gets folders of hard links, in which nobody can write, in place of the table's own (Hive alone).",
    ] = False,
) -> list[publishing.Published]:
    """Publish a table. The command of this name starts Spark for Hive, and calls the procedure."""
    snapshot = context.find(table)
    _check(format, publish, hive_table)
    if format == "delta" and read_only:
        raise UnsupportedError("A Delta log is for reading anyway: leave read_only out.")
    if format == "delta":
        with progress_bar() as progress:
            published = publishing.publish_delta(snapshot, progress)
        if publish == "follow":
            follow_with_delta_log(snapshot)
        return published
    database, name = (None, None) if hive_table is None else _name_parts(hive_table)
    with progress_bar() as progress:
        return publishing.publish(
            snapshot, context.engine.hive(), database, name, progress, read_only=read_only
        )


def follow_with_delta_log(snapshot: ms.TableSnapshot) -> ms.TableSnapshot:
    """Set the table property that publishes each later version; return the version that has it.

    Args:
        snapshot: the newest version, which has been published.
    """
    DELTA.raise_if_refused(snapshot.label, DELTA.definition_refusal(snapshot.metadata))
    if snapshot.metadata.properties.get(ms.PUBLISH) == "delta":
        return snapshot
    transaction = ms.Transaction(snapshot, "alter")
    properties = {**snapshot.metadata.properties, ms.PUBLISH: "delta"}
    transaction.set_metadata(msgspec.structs.replace(snapshot.metadata, properties=properties))
    return ms.commit(transaction)


def _check(format: str, publish: str, hive_table: str | None) -> None:
    if format not in ("hive", "delta"):
        raise UnsupportedError(f"Format {format!r} is not known: say 'hive' or 'delta'.")
    if publish not in ("once", "follow"):
        raise UnsupportedError(f"The value {publish!r} of publish is not known: say 'once' or 'follow'.")
    if format == "hive" and publish == "follow":
        raise UnsupportedError("Hive's metastore cannot follow a table: publish again after writing.")
    if format == "delta" and hive_table is not None:
        raise UnsupportedError(
            f"A Delta log is in the table's folder and has no name: leave {hive_table!r} out."
        )


def _name_parts(name: str) -> tuple[str, str]:
    try:
        database, table = parse_name(name)
    except ValueError:
        raise UnsupportedError(
            f"{name!r} cannot be read as the name of a table in Hive: say 'database.table'."
        ) from None
    return database, table
