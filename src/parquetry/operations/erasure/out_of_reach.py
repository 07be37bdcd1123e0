"""The places that may have copies of erased rows, and that `erase` cannot reach: what to do there."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry import metastore as ms
from parquetry.locations import take_apart
from parquetry.operations.erasure.record import NOT_REACHED, Erased

_EVERYWHERE = {
    "other tables": "Copies in other tables and their histories, and in views' texts: erase there, too. Clones and CREATE TABLE AS "
    "are tables of their own.",
    "dumps": "parquetry dump before now has bounds of columns, partition values and statements: delete old dumps, and dump anew.",
    "backups": "Backups and copies of the warehouse or of the metastore, replicas, and snapshots of disks: end them by their own means.",
    "streams": "Checkpoints and state of streams that read the table: state of joins, aggregates and deduplication has rows.",
    "sessions": "Spark's event logs, logs of drivers and the statements in them; cached tables and shuffle files of sessions that run; "
    "files of failed audits (parquetry-audit in the driver's temporary folder). Close the sessions, and delete logs and files.",
    "other catalogs": "A Hive metastore that the table was published to has partition values: publish again. Caches of readers end with "
    "their processes.",
    "definition": "Names, comments, properties, defaults, constraints and SKEWED BY … ON (values) of the table: ALTER TABLE if they have "
    "the value.",
}  # fmt: skip
"""Places of every table, and what to do there."""


def out_of_reach(snapshot: ms.TableSnapshot, store: str | None) -> Iterator[Erased]:
    """Yield the places that may have copies, each with what to do.

    Args:
        snapshot: the newest version.
        store: what keeps bytes of deleted rows in the store, or None.
    """
    if store is not None:
        yield Erased("store", NOT_REACHED, detail=store)
    for name, detail in _EVERYWHERE.items():
        yield Erased(name, NOT_REACHED, detail=detail)
    if snapshot.metadata.partition_by:
        yield Erased(
            "partition values", NOT_REACHED,
            detail=f"Values of {', '.join(snapshot.metadata.partition_by)} are names of folders. Empty ones are deleted; object stores and "
            "logs of servers may keep names.",
        )  # fmt: skip
    if not take_apart(snapshot.metadata.location).is_local:
        yield Erased(
            "object versions", NOT_REACHED,
            detail="A bucket with versioning keeps deleted objects, and HDFS may have snapshots: expire them, and look at rules of retention.",
        )  # fmt: skip
    else:
        yield Erased(
            "disk", NOT_REACHED,
            detail="Free blocks of the disk have bytes of deleted files until they are written over: encrypt disks.",
        )  # fmt: skip
