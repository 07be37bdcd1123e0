"""Operations with other writers and readers: `publish`, `sync` and `claim`.

`publish` enters a table into a Hive metastore, or writes a Delta log into its folder. `sync` takes in the
files of others.

MSCK REPAIR TABLE gives the same rows as `sync`.

By `claim`, this metastore becomes the owner of the warehouse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from parquetry import adoption, data_files, metastore as ms, publishing, texts
from parquetry.config import check_properties
from parquetry.errors import UnsupportedError
from parquetry.exchange import DELTA
from parquetry.identifiers import parse_name
from parquetry.operations.operation import Context, DryRun, Option, Presentation, TableName, Where, operation
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
        "Either 'once', for the versions until now, or 'follow', to publish each later version with its commit.",
    ] = "once",
    read_only: Annotated[
        bool,
        "Whether Hive gets folders of hard links, in which nobody can write, in place of the table's own (Hive alone; always so with 'follow').",
    ] = False,
    metastore: Annotated[
        str | None, "The server of the Hive metastore that is to follow, as 'thrift://host:9083'."
    ] = None,
) -> list[publishing.Published]:
    """Publish a table. The command of this name starts Spark for Hive, and calls the procedure."""
    snapshot = context.find(table)
    _check(format, publish, hive_table, metastore)
    if format == "delta" and read_only:
        raise UnsupportedError("A Delta log is for reading anyway: leave read_only out.")
    if format == "delta":
        with progress_bar() as progress:
            published = publishing.publish_delta(snapshot, progress)
        if publish == "follow":
            follow_with_delta_log(snapshot)
        return published
    if metastore is not None:
        return follow_with_hive(snapshot, metastore, hive_table)
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
    return _set_follower(snapshot, "delta")


def follow_with_hive(
    snapshot: ms.TableSnapshot, metastore: str, hive_table: str | None
) -> list[publishing.Published]:
    """Bring a Hive metastore to a table's newest version, and have it follow from now on.

    If it follows already, all partitions are compared with what it has.

    See `Catalog.publish_hive`.

    Args:
        snapshot: the newest version.
        metastore: the metastore's server, such as `thrift://hive:9083`; several have commas between them.
        hive_table: the table's name there, or None for its own.
    """
    database, name = (snapshot.database, snapshot.name) if hive_table is None else _name_parts(hive_table)
    servers = ",".join(each.strip().removeprefix("thrift://").rstrip("/") for each in metastore.split(","))
    value = f"thrift://{servers}/{database}.{name}"
    check_properties({ms.PUBLISH: value})
    metadata = msgspec.structs.replace(
        snapshot.metadata, properties={**snapshot.metadata.properties, ms.PUBLISH: value}
    )
    publishing.require_followable(snapshot, metadata)
    follower = ms.follower_of(metadata.properties)
    assert follower is not None
    follower.require(snapshot, value)
    followed = snapshot.metadata.properties.get(ms.PUBLISH) == value
    changes: list[publishing.Published] = follower.publish(snapshot, value, followed)
    _set_follower(snapshot, value)
    return changes


def _set_follower(snapshot: ms.TableSnapshot, value: str) -> ms.TableSnapshot:
    """Set the property that names a table's follower, unless it does so."""
    if snapshot.metadata.properties.get(ms.PUBLISH) == value:
        return snapshot
    transaction = ms.Transaction(snapshot, "alter")
    properties = {**snapshot.metadata.properties, ms.PUBLISH: value}
    transaction.set_metadata(msgspec.structs.replace(snapshot.metadata, properties=properties))
    return ms.commit(transaction)


def _check(format: str, publish: str, hive_table: str | None, metastore: str | None) -> None:
    if format not in ("hive", "delta"):
        raise UnsupportedError(f"Format {format!r} is not known: say 'hive' or 'delta'.")
    if publish not in ("once", "follow"):
        raise UnsupportedError(f"The value {publish!r} of publish is not known: say 'once' or 'follow'.")
    if format == "hive" and publish == "follow" and metastore is None:
        raise UnsupportedError(
            "Every process that commits tells the Hive metastore, so its server is needed: say metastore => 'thrift://host:9083'."
        )
    if metastore is not None and (format, publish) != ("hive", "follow"):
        raise UnsupportedError(
            "A metastore is named for format 'hive' and publish => 'follow'. Otherwise the session's is taken: leave it out."
        )
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


@operation(
    "Makes a table agree with the files below its location.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "sync sales.orders \"day >= '2026-03-01'\" --dry-run",
        empty="The table and the files agree.",
    ),
)
def sync(
    context: Context,
    table: TableName,
    where: Where = None,
    dry_run: DryRun = False,
    readopt: Annotated[bool, "Whether to adopt files again that commits removed on purpose."] = False,
    buckets: Annotated[bool, "Whether to check files again whose buckets were refused before."] = False,
    time_zone: Annotated[
        str | None,
        "The time zone of directories that are named for timestamps, such as Europe/Berlin.",
        Option(metavar="ZONE", of_call=False),
    ] = None,
) -> list[adoption.Difference]:
    """Make a table agree with the files below it.

    This is for tables of Parquet. Files that others wrote or changed are adopted, and files that others
    deleted are dropped, in one commit. Only Spark reads ORC files: CALL system.sync.
    """
    reader = context.engine if time_zone is None else data_files.ArrowFooters(time_zone)
    options = adoption.SyncOptions(where, dry_run, readopt=readopt, buckets=buckets)
    with progress_bar() as progress:
        return adoption.synchronise(context.find(table), reader, options, progress)


def _sentences(_context: Context, records: list[ms.Claimed], _arguments: Mapping[str, Any]) -> str:
    (done,) = records
    lines = [f"The warehouse {done.warehouse} belongs to the metastore in {done.store}."]
    if done.before is not None:
        state = "was retired" if done.retired else "was not reached, and is refused writes by the mark"
        lines.append(f"The metastore in {done.before} {state}.")
    if done.original is not None:
        lines.append(f"It is a copy of {done.original}.")
    if done.original is not None and done.shared:
        verb = "is" if done.shared == 1 else "are"
        lines.append(f"{texts.quantity(done.shared, 'table')} with files outside of it {verb} only read.")
    return "\n".join(lines)


@operation(
    "Makes this metastore the owner of the warehouse; another one may only be read from then on.",
    renamed={
        "metastore": "",
        "before": "store_before",
        "original": "copy_of",
        "shared": "tables_of_original",
    },
    command=Presentation("Set up and move a warehouse", "claim -w /data/lake-copy", sentence=_sentences),
)
def claim(
    context: Context,
    copy: Annotated[bool, "Whether the warehouse is a copy of one that is not seen from here."] = False,
    outside: Annotated[
        bool,
        "Whether tables outside of a copied warehouse are this one's: they were copied, or it is no more.",
        Option(
            "Tables outside of a copied warehouse are this one's: they were copied, or the original is no more."
        ),
    ] = False,
) -> list[ms.Claimed]:
    """Make this metastore the owner of the warehouse.

    A file in the warehouse's folder names the metastore that the warehouse belongs to; all others may only
    read. Use this command if that metastore is no more, or to give a copy of a warehouse an identity of its
    own. In a copy, tables outside of the warehouse belong to the original still: they are read, and not
    written.
    """
    return [context.metastore.claim(copy=copy, outside=outside)]
